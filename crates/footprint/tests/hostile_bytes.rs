//! Damaged documents at every reader: the functions of the fuzz targets, driven on stable from a fixed seed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout)]

#[path = "../../../fuzz/src/doors.rs"]
mod doors;

use footprint::chart::{Chart, FanOut, Mount, Stage, Step};
use footprint::recorders::CombinedNarrative;
use footprint::scope::Scope;
use footprint::snapshot::Snapshot;
use footprint::value;
use footprint::walk::RunOptions;

/// A small generator: the same bytes for the same seed, everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Pieces a JSON reader looks at closely.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\u0000",
    "\\ud800",
    "null",
    "-1",
    "1e999",
    "18446744073709551616",
    "\"#\"",
    "\"~\"",
    "\"next\":",
    "\"children\":[",
    "\"trace\":",
    "\"verb\":\"frobnicate\"",
    "\u{1f}",
    "\u{feff}",
    "9007199254740993",
    "true",
];

fn damaged(source: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = source.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        match dice.below(6) {
            0 if at < bytes.len() => bytes[at] = dice.next() as u8,
            1 => bytes.truncate(at),
            2 => {
                let piece = PIECES[dice.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            3 => {
                let end = (at + dice.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let end = (at + dice.below(200)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = dice.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            _ => {
                // Words swap places: the grammar holds, the shape does not.
                let other = dice.below(bytes.len() + 1);
                let (low, high) = (at.min(other), at.max(other));
                let end = (high + dice.below(30)).min(bytes.len());
                let moved: Vec<u8> = bytes.drain(high..end).collect();
                bytes.splice(low..low, moved);
            }
        }
    }
    bytes
}

/// Executions per door: few in the suite, as many as `FUZZ_EXECS` says elsewhere.
fn executions() -> usize {
    std::env::var("FUZZ_EXECS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000)
}

fn drive(name: &str, sources: &[String], door: fn(&[u8])) {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for source in sources {
        door(source.as_bytes());
    }
    for round in 0..executions() {
        let bytes = damaged(sources[round % sources.len()].as_bytes(), &mut dice);
        door(&bytes);
    }
    println!("{name}: {} executions", executions());
}

async fn documents() -> (String, String, String) {
    let stage = |id: &'static str| {
        Stage::new(id, move |s: Scope| async move {
            s.value("n")?;
            s.set_value(id, value!({ "list": [1, 2.5, "x\u{e9}"], "none": null }))?;
            s.emit("app.seen", id)?;
            Ok(())
        })
    };
    let inner = Chart::builder(stage("in")).build().unwrap();
    let chart = Chart::builder(stage("a"))
        .fork([stage("x"), stage("y")], FanOut::AllSettled)
        .mount(Mount::of("sf", &inner).output_keys([("in", "out")]))
        .then(Stage::pausable(
            "ask",
            |_: Scope| async { Ok(Step::Pause("?")) },
            |s: Scope, answer: i64| async move { Ok(s.set_value("answer", answer)?) },
        ))
        .build()
        .unwrap();
    let options = RunOptions::new().observe(std::sync::Arc::new(CombinedNarrative::new()));
    let report = chart.run(options).await;
    let checkpoint = report.paused().unwrap().checkpoint().to_json();
    let done = report.paused().unwrap().resume(1).unwrap().await;
    (done.snapshot().to_json(), checkpoint, chart.structure().to_json())
}

/// Proves ENG-127, ENG-161, OBS-184, OBS-187: no damaged document panics a reader, and what a reader accepts it can read again.
#[tokio::test]
async fn damaged_documents() {
    let (snapshot, checkpoint, structure) = documents().await;
    let recording = format!("{{\"events\":[],\"snapshot\":{snapshot}}}");
    drive("snapshot", &[snapshot, recording], doors::snapshot);
    drive("checkpoint", &[checkpoint], doors::checkpoint);
    drive("structure", &[structure], doors::structure);
    let addresses = ["sf-a/sf-b/score#14", "review~2/score#3", "__root__#0", "plain", "#", "a#b#1"];
    drive("addresses", &addresses.map(str::to_owned), doors::addresses);
}

/// Proves ENG-145, ENG-164, OBS-204: a tree a hundred thousand steps deep and a text of ten megabytes are read, written and dropped
/// with a flat stack; an unknown version is refused by name.
#[test]
fn large_documents() {
    const STEPS: usize = 100_000;
    let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        let mut text = String::from("{\"sharedState\":{\"big\":\"");
        text.extend(std::iter::repeat_n('x', 10 << 20));
        text.push_str("\"},\"commitLog\":[],\"executionTree\":");
        for step in 0..STEPS {
            text.push_str(&format!(
                "{{\"id\":\"s\",\"runtimeStageId\":\"s#{step}\",\"name\":\"s\",\"next\":"
            ));
        }
        text.push_str("null");
        text.extend(std::iter::repeat_n('}', STEPS + 1));
        let snapshot = Snapshot::from_json(&text).unwrap();
        assert_eq!(snapshot.execution_tree.len(), STEPS);
        assert_eq!(
            snapshot.shared_state.get("big").and_then(|big| big.as_str()).map(str::len),
            Some(10 << 20)
        );
        let written = snapshot.to_json();
        assert_eq!(written.matches("\"runtimeStageId\"").count(), STEPS);
    });
    worker.unwrap().join().unwrap();
    let future = r#"{"checkpointVersion":99,"sharedState":{},"executionTree":null,"pausedStageId":"a","subflowPath":[],"subflowStates":{}}"#;
    let error = footprint::pause::FlowchartCheckpoint::from_json(future).unwrap_err().to_string();
    assert!(error.contains("checkpointVersion") && error.contains("does not know"), "{error}");
}
