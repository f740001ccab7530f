//! Every reader of outside bytes against every kind of damage: cut short, of wrong types, cyclic, huge, deep, of unknown versions. Each
//! time there is an answer or a typed error of readable length, and what was accepted can be used: asked, resumed, written and read again.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

#[path = "../../../fuzz/src/doors.rs"]
mod doors;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use footprint::chart::{Chart, FanOut, ForEach, Mount, Stage, Step};
use footprint::ids::RuntimeStageId;
use footprint::pause::FlowchartCheckpoint;
use footprint::scope::Scope;
use footprint::snapshot::Snapshot;
use footprint::structure::{Structure, StructureBuilder, StructureNode};
use footprint::value;
use footprint::value::{Array, Object, Value};
use footprint::walk::RunOptions;

/// Nothing here waits for anything but itself.
fn ready<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..1_000 {
        if let Poll::Ready(done) = work.as_mut().poll(&mut cx) {
            return done;
        }
    }
    panic!("it waits for something");
}

fn writes(id: &'static str) -> Stage {
    Stage::new(id, move |s: Scope| async move {
        s.value("n")?;
        Ok(s.set_value(id, value!({ "list": [1, 2.5, "x\u{e9}"], "none": null }))?)
    })
}

fn asks(id: &'static str) -> Stage {
    Stage::pausable(
        id,
        |_: Scope| async { Ok(Step::Pause("?")) },
        move |s: Scope, answer: Value| async move { Ok(s.set_value(id, answer)?) },
    )
}

/// Questions in a parallel branch, in a mount below a for-each, and in a row: every part of a checkpoint is there.
fn chart() -> Chart {
    let inner = Chart::builder(writes("in")).then(asks("q")).build().unwrap();
    let each = ForEach::new("each", |_: Scope| Ok(vec![1_u64, 2]), move |_: &u64, _| inner.clone());
    let deep = Chart::builder(writes("first")).for_each(each.max_branches(2).into("all")).build().unwrap();
    Chart::builder(writes("a"))
        .fork([asks("x"), asks("y")], FanOut::AllSettled)
        .mount(Mount::of("sf", &deep).output_keys([("all", "all")]))
        .then(asks("end"))
        .build()
        .unwrap()
}

/// Checkpoints of every pause on the way through the chart, and the snapshot at the end.
fn documents() -> (Vec<String>, String, String) {
    let chart = chart();
    let mut report = ready(chart.run(RunOptions::new()));
    let mut checkpoints = Vec::new();
    while let Some(paused) = report.paused() {
        checkpoints.push(paused.checkpoint().to_json());
        let next = ready(paused.resume(1).unwrap());
        report = next;
    }
    assert!(report.error().is_none() && checkpoints.len() >= 5, "{:?} {}", report.error(), checkpoints.len());
    (checkpoints, report.snapshot().to_json(), chart.structure().to_json())
}

/// Reads a document and uses it; the error as text.
type Read = fn(&str) -> Result<(), String>;

fn read_snapshot(text: &str) -> Result<(), String> {
    doors::snapshot(text.as_bytes());
    Snapshot::from_json(text).map(drop).map_err(|error| error.to_string())
}

fn read_structure(text: &str) -> Result<(), String> {
    doors::structure(text.as_bytes());
    Structure::from_json(text).map(drop).map_err(|error| error.to_string())
}

fn read_checkpoint(text: &str) -> Result<(), String> {
    doors::checkpoint(text.as_bytes());
    let checkpoint = FlowchartCheckpoint::from_json(text).map_err(|error| error.to_string())?;
    match chart().resume(checkpoint, 7, RunOptions::new().max_iterations(50)) {
        Ok(run) => {
            let report = ready(run);
            let text = report.snapshot().to_json();
            assert_eq!(Snapshot::from_json(&text).unwrap().to_json(), text);
            if let Some(error) = report.error() {
                assert!(error.to_string().len() < 4_000, "{} bytes of error", error.to_string().len());
            }
        }
        Err(error) => assert!(error.to_string().len() < 4_000, "{} bytes of error", error.to_string().len()),
    }
    Ok(())
}

fn doors() -> Vec<(String, Read)> {
    let (checkpoints, snapshot, structure) = documents();
    let checkpoints = checkpoints.into_iter().map(|text| (text, read_checkpoint as Read));
    [(snapshot, read_snapshot as Read), (structure, read_structure as Read)]
        .into_iter()
        .chain(checkpoints)
        .collect()
}

/// The reader's errors name what is wrong; they do not repeat what was read.
fn refused(read: Read, text: &str) -> bool {
    match read(text) {
        Ok(()) => false,
        Err(error) => {
            assert!(error.len() < 1_000, "an error of {} bytes", error.len());
            true
        }
    }
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(entries) => entries.values().map(size).sum(),
        _ => 0,
    }
}

/// The `n`-th node of a value, counted in walking order, by another.
fn replaced(value: &Value, n: &mut usize, by: &dyn Fn(&Value) -> Value) -> Value {
    if *n == 0 {
        *n = usize::MAX;
        return by(value);
    }
    *n -= 1;
    match value {
        Value::Array(items) => Value::Array(items.iter().map(|v| replaced(v, n, by)).collect::<Array>()),
        Value::Object(entries) => {
            Value::Object(entries.iter().map(|(k, v)| (k.clone(), replaced(v, n, by))).collect::<Object>())
        }
        other => other.clone(),
    }
}

/// Proves ENG-127, ENG-161, OBS-184, OBS-187: a document that ends early is refused.
#[test]
fn cut_short() {
    for (good, read) in doors() {
        assert!(!refused(read, &good));
        for end in (0..good.len()).step_by(good.len() / 120 + 1).filter(|end| good.is_char_boundary(*end)) {
            assert!(refused(read, &good[..end]), "{end} of {}", good.len());
        }
    }
    for text in ["", "sf", "sf/", "sf/a", "sf/a#", "sf/a#1"] {
        doors::addresses(text.as_bytes());
    }
}

/// Proves ENG-127, ENG-161, OBS-184, OBS-187: whatever stands in the place of whatever.
#[test]
fn of_wrong_types() {
    let others = [
        Value::Null,
        value!(true),
        value!(-1),
        value!(18446744073709551615_u64),
        value!(1e300),
        value!(""),
        value!("x#18446744073709551615"),
        value!([]),
        value!({}),
        value!([[{}], null]),
        value!({ "next": { "next": 1 }, "branches": [], "settled": { "0": 1 } }),
    ];
    for (good, read) in doors() {
        let value: Value = good.parse().unwrap();
        for at in 0..size(&value) {
            // Not each by each: a few others in each place, other ones in the next.
            for other in others.iter().cycle().skip(at * 3).take(3) {
                let damaged = replaced(&value, &mut at.clone(), &|_| other.clone()).to_string();
                refused(read, &damaged);
            }
        }
    }
    for text in
        ["#", "##", "/#/", "~#1", "a#-1", "a#1.5", "a#99999999999999999999", "a#\u{0}", "\u{1f}#\u{1f}"]
    {
        doors::addresses(text.as_bytes());
    }
}

/// Proves ENG-127, ENG-130: counters as large as they can be end the run, if anything, with an error.
#[test]
fn counters_at_their_end() {
    let (checkpoints, ..) = documents();
    for good in checkpoints {
        for count in [u64::MAX, u64::MAX - 1, i64::MAX as u64, 1 << 53] {
            let mut checkpoint = FlowchartCheckpoint::from_json(&good).unwrap();
            checkpoint.execution_count = Some(count);
            checkpoint.visit_counts.values_mut().for_each(|visits| *visits = count);
            checkpoint.paused_at = count;
            match read_checkpoint(&checkpoint.to_json()) {
                Ok(()) => assert_eq!(count, 1 << 53),
                Err(error) => {
                    assert_eq!(
                        error,
                        "checkpoint field `executionCount`: is more than 9007199254740992, which no run counts to"
                    );
                }
            }
            // One that was never text.
            let report = ready(chart().resume(checkpoint, 7, RunOptions::new()).unwrap());
            // A mount that a pause left again has no bundle, but its node.
            assert!(!report.snapshot().execution_tree.is_empty());
        }
    }
}

/// Text has no cycles, but what is put together by hand may, and so may a path.
///
/// Proves ENG-127, ENG-132, ENG-145, OBS-167.
#[test]
fn cyclic() {
    let (checkpoints, ..) = documents();
    for good in checkpoints {
        let mut checkpoint = FlowchartCheckpoint::from_json(&good).unwrap();
        let root = checkpoint.execution_tree.root().unwrap();
        let frame = checkpoint.execution_tree.get_mut(root).unwrap();
        frame.next = Some(root);
        frame.children = vec![root, root];
        read_checkpoint(&checkpoint.to_json()).unwrap();
        if let Some(first) = checkpoint.subflow_path.first().cloned() {
            checkpoint.subflow_path = vec![first; 10_000];
            read_checkpoint(&checkpoint.to_json()).unwrap();
        }
    }
    let mut builder = StructureBuilder::new();
    let node = |id: &str| StructureNode { id: id.into(), name: id.into(), ..StructureNode::default() };
    let (a, b, c) = (builder.add(node("a")), builder.add(node("b")), builder.add(node("c")));
    builder.set_next(a, b);
    builder.set_next(b, a);
    builder.add_child(b, c);
    builder.add_child(b, c);
    builder.set_subflow_root(c, b);
    builder.set_next(c, c);
    let structure = builder.finish().unwrap();
    assert_eq!(structure.node_count(), 3);
    let text = structure.to_json();
    assert_eq!(Structure::from_json(&text).unwrap(), structure);
    assert_eq!(structure.clone(), structure);
    assert_eq!(structure.root().level().count(), 3);
}

/// Proves ENG-127, ENG-164, OBS-187: ten megabytes of text anywhere.
#[test]
fn huge() {
    let huge: String = "SECRET ".chars().cycle().take(10 << 20).collect();
    for (good, read) in doors().into_iter().take(4) {
        let value: Value = good.parse().unwrap();
        let nodes = size(&value);
        for place in 0..6 {
            let mut at = place * nodes / 6 + 1;
            refused(read, &replaced(&value, &mut at, &|_| Value::from(huge.as_str())).to_string());
        }
        let keyed = format!("{{\"{huge}\":1,{}", &good[1..]);
        assert!(!refused(read, &keyed));
        let mut named = value.as_object().unwrap().clone();
        for key in ["pausedStageId", "id", "runId", "checkpointVersion"] {
            if named.contains_key(key) {
                named.insert(key, Value::from(huge.as_str()));
                refused(read, &Value::Object(named.clone()).to_string());
            }
        }
    }
    let address = format!("{huge}#3");
    doors::addresses(address.as_bytes());
    assert_eq!(RuntimeStageId::parse(&address).index().0, 3);
}

/// Proves ENG-145, ENG-164: a hundred thousand levels, by every way to nest, on a small stack.
#[test]
fn deep() {
    const LEVELS: usize = 100_000;
    let work = || {
        let nested = |open: &str, end: &str| format!("{}1{}", open.repeat(LEVELS), end.repeat(LEVELS));
        let (checkpoints, snapshot, structure) = documents();
        // A value of its own is too deep, and said to be.
        for (open, end) in [("[", "]"), ("{\"x\":", "}")] {
            for (good, read) in [
                (&snapshot, read_snapshot as Read),
                (&checkpoints[0], read_checkpoint),
                (&structure, read_structure),
            ] {
                assert!(refused(read, &format!("{{\"added\":{},{}", nested(open, end), &good[1..])));
            }
        }
        // Frames and nodes follow one another and stand in one another as deep as a run was long.
        let frame = r#"{"id":"s","name":"s","runtimeStageId":"s#1","#;
        for link in [r#""next":"#, r#""children":["#, r#""subflowStructure":"#] {
            let end = if link.ends_with('[') { "]}" } else { "}" };
            let text = format!(
                "{}{}}}{}",
                format!("{frame}{link}").repeat(LEVELS),
                frame.trim_end_matches(','),
                end.repeat(LEVELS)
            );
            assert!(!refused(read_structure, &text));
            let subflow = link.contains("subflow");
            let recorded = format!("{{\"commitLog\":[],\"executionTree\":{text}}}");
            assert_eq!(refused(read_snapshot, &recorded), subflow);
            let (from, to) = tree_of(&checkpoints[0]);
            let paused = format!("{}{text}{}", &checkpoints[0][..from], &checkpoints[0][to..]);
            assert_eq!(refused(read_checkpoint, &paused), subflow);
        }
        let address = format!("{}s#7", "sf/".repeat(LEVELS));
        doors::addresses(address.as_bytes());
        assert_eq!(RuntimeStageId::parse(&address).depth(), LEVELS);
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

/// Where the tree stands in a checkpoint's text: it is the last but one member, before the finished mounts.
fn tree_of(checkpoint: &str) -> (usize, usize) {
    let from = checkpoint.find("\"executionTree\":").unwrap() + "\"executionTree\":".len();
    let to = checkpoint.find(",\"subflowResults\":").unwrap_or(checkpoint.len() - 1);
    (from, to)
}

/// Proves ENG-127, ENG-160, OBS-185, OBS-186: what a newer writer says is refused by name or kept, never taken for something else.
#[test]
fn of_unknown_versions() {
    let (checkpoints, snapshot, structure) = documents();
    let with = |text: &str, key: &str, value: Value| {
        let mut fields = text.parse::<Value>().unwrap().as_object().unwrap().clone();
        fields.insert(key, value);
        Value::Object(fields).to_string()
    };
    for version in [value!(2), value!(99), value!(-1), value!(1.5), value!("1"), value!([1]), value!(true)] {
        let error = read_checkpoint(&with(&checkpoints[0], "checkpointVersion", version)).unwrap_err();
        assert_eq!(error, "checkpoint field `checkpointVersion`: is a version this engine does not know");
    }
    for (key, value) in [
        ("snapshotVersion", value!(99)),
        ("commitValues", value!("zipped")),
        ("writeProvenance", value!("per-cell")),
        ("logAddress", value!(7)),
        ("recorderFailures", value!([{ "id": 1 }])),
    ] {
        let text = with(&snapshot, key, value.clone());
        assert!(!refused(read_snapshot, &text));
        let again: Value = Snapshot::from_json(&text).unwrap().to_json().parse().unwrap();
        assert_eq!(again[key], value, "{key}");
    }
    let text = with(&structure, "type", value!("teleport"));
    assert_eq!(Structure::from_json(&text).unwrap().to_value().unwrap()["type"], value!("teleport"));
}
