//! What a recording promises: that it is whole, that it is the run's own, and that making it changes nothing.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use agentfootprint_core::record::{RecordedRun, RecordingHandle};
use agentfootprint_core::run::{RunOptions, Runner as _};
use agentfootprint_core::tools::{Tool, ask_human};
use agentfootprint_record::recording::{Recording, RecordingError};
use footprint::recorders::CombinedNarrative;
use footprint::value::Value;
use futures_util::future::join_all;

use crate::support::*;

fn two_calls() -> Script {
    Script::by(|at, _| Ok(if at % 2 == 0 { look("c1") } else { say("done") }))
}

fn looking_agent() -> agentfootprint_core::agent::Agent {
    agent(&two_calls()).tool(looking("seen")).build().unwrap()
}

fn row_names(recording: &Recording) -> Vec<String> {
    recording.snapshot.recorders.iter().map(|row| row.name.to_string()).collect()
}

fn boundaries(recording: &Recording) -> Vec<Value> {
    let rows = recording.snapshot.recorders.iter().find(|row| &*row.name == "BoundaryEvents").unwrap();
    rows.data.as_array().unwrap().iter().cloned().collect()
}

fn text(recording: &Recording) -> String {
    recording.to_json()
}

/// Proves REC-6, REC-7: recording starts before the first stage, with the three parts it needs; what else is kept is the caller's.
#[tokio::test]
async fn a_recording_starts_before_the_first_stage() {
    let run = looking_agent().record("go").await.unwrap();
    let recording = run.recording();
    let first: Vec<String> =
        recording.events().iter().take(2).map(|event| event.name_str().to_owned()).collect();
    assert_eq!(first, ["agentfootprint.agent.run_configured", "agentfootprint.agent.turn_start"]);
    let rows = boundaries(recording);
    assert_eq!(rows[0]["type"], json!("run.entry"));
    assert_eq!(rows[0]["commitIdxBefore"], json!(0));
    assert_eq!(row_names(recording), ["BoundaryEvents", "ControlDeps"]);

    let narrating = RunOptions::new().observe(Arc::new(CombinedNarrative::new()));
    let run = looking_agent().record("go").options(narrating).await.unwrap();
    let mut names = row_names(run.recording());
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().any(|name| name.contains("Narrative")), "{names:?}");
}

/// Proves REC-8: what was taken while the run went on stays as it was.
#[tokio::test]
async fn a_recording_shares_nothing_that_changes() {
    let slot: Arc<Mutex<Option<RecordingHandle>>> = Arc::default();
    let taken: Arc<Mutex<Vec<(Recording, String)>>> = Arc::default();
    let (handle, kept) = (Arc::clone(&slot), Arc::clone(&taken));
    let peeks = Tool::builder("look").description("Looks.").handler(move |_: Value, _| {
        let recording = handle.lock().unwrap().as_ref().unwrap().to_recording().unwrap();
        let now = text(&recording);
        kept.lock().unwrap().push((recording, now));
        async { "seen" }
    });
    let agent = agent(&two_calls()).tool(peeks).build().unwrap();
    let (run, handle) = agent.record("go").start().unwrap();
    *slot.lock().unwrap() = Some(handle.clone());
    assert!(run.await.answer().is_ok());
    let (early, then) = taken.lock().unwrap().remove(0);
    let whole = handle.to_recording().unwrap();
    assert!(early.snapshot.commit_log.len() < whole.snapshot.commit_log.len());
    assert!(early.events().len() < whole.events().len());
    assert_eq!(text(&early), then);
}

/// Proves REC-9: a failed and a paused run have their evidence; a run that reached nothing says that there is none.
#[tokio::test]
async fn every_end_has_its_recording() {
    let run = agent(&Script::new([])).build().unwrap().record("go").await.unwrap();
    assert!(run.answer().is_err());
    let last = boundaries(run.recording()).pop().unwrap();
    assert_eq!(last["type"], json!("run.exit"));
    assert!(last["payload"].get("error").is_some(), "{last}");

    let asks = Tool::builder("look")
        .description("Looks.")
        .handler(|_: Value, _| async { Err::<String, _>(ask_human(json!({"question": "Which?"}))) });
    let run = agent(&two_calls()).tool(asks).build().unwrap().record("go").await.unwrap();
    assert!(run.report().paused().is_some());
    assert!(
        boundaries(run.recording()).iter().all(|row| row["type"] != json!("run.exit")),
        "it is still open"
    );

    let unstarted = looking_agent().record("go").recording();
    let error = unstarted.to_recording().unwrap_err();
    assert!(matches!(error, RecordingError::Unavailable { .. }));
    assert!(error.to_string().contains("has not reached its first stage"), "{error}");
}

/// Proves REC-3, REC-176: runs of one agent at once have a recording each, and nothing of one is in another.
#[tokio::test]
async fn recordings_of_one_agent_are_disjoint() {
    let script = Script::by(|_, request| {
        let asked = request.messages().iter().any(|message| message.content() == "seen");
        Ok(if asked { say("done") } else { look("c1") })
    });
    let agent = agent(&script).tool(looking("seen")).build().unwrap();
    let runs = join_all((0..32).map(|n| agent.record(format!("question <{n}>")).into_future())).await;
    for (n, run) in runs.into_iter().enumerate() {
        let run: RecordedRun<String> = run.unwrap();
        let recording = text(run.recording());
        assert!(
            run.recording()
                .events()
                .iter()
                .all(|event| event.meta().unwrap().run_id.to_string() == **run.run_id())
        );
        let foreign: Vec<usize> =
            (0..32).filter(|at| recording.contains(&format!("question <{at}>"))).collect();
        assert_eq!(foreign, [n]);
    }
}

/// Proves REC-4: an event is said while its stage still runs, before that stage commits; the step id joins them.
#[tokio::test]
async fn events_and_commits_are_joined_by_step() {
    let run = looking_agent().record("go").await.unwrap();
    let recording = run.recording();
    let committed = |step: &str| {
        let log = recording.snapshot.commit_log.iter();
        log.filter(|bundle| bundle.runtime_stage_id == *step).count()
    };
    let started: Vec<Value> =
        boundaries(recording).into_iter().filter(|row| row["type"] == json!("llm.start")).collect();
    assert_eq!(started.len(), 2);
    for row in started {
        let step = row["runtimeStageId"].as_str().unwrap().to_owned();
        let at = row["commitIdxBefore"].as_u64().unwrap() as usize;
        let mut before = recording.snapshot.commit_log.iter().take(at);
        assert!(before.all(|bundle| bundle.runtime_stage_id != *step), "{step} had committed");
        assert_eq!(committed(&step), 1);
    }
}

/// Proves REC-175: with and without a recording the run answers, commits and says the same.
#[tokio::test]
async fn watching_changes_nothing() {
    let heard = Heard::default();
    let bare = looking_agent().run("go").options(heard.on(reproducible(RunOptions::new()))).await;
    let also = Heard::default();
    let recorded =
        looking_agent().record("go").options(also.on(reproducible(RunOptions::new()))).await.unwrap();
    assert_eq!(bare.answer().unwrap(), recorded.answer().unwrap());
    assert_eq!(heard.all(), also.all());
    let told = |snapshot: &footprint::snapshot::Snapshot| {
        let whole: Value = snapshot.to_json().parse().unwrap();
        let mut whole = whole.as_object().unwrap().clone();
        assert!(whole.remove("runId").is_some(), "counted by the process");
        whole.remove("recorders");
        Value::from(whole).to_string()
    };
    assert_eq!(told(bare.record.snapshot()), told(recorded.record().snapshot()));
}

/// Proves REC-177: with a clock and ids of the caller's, two runs give the same bytes.
#[tokio::test]
async fn recordings_can_be_made_again() {
    let make = async || {
        let options = reproducible(RunOptions::new());
        let run = looking_agent().record("go").options(options).await.unwrap();
        let engine = run.recording().snapshot.run_id.clone().unwrap();
        text(run.recording()).replace(&*engine, "ENGINE")
    };
    assert_eq!(make().await, make().await);
}

/// Proves REC-178: a run that is dropped leaves a recording of what it did, with its open ranges open.
#[tokio::test]
async fn a_dropped_run_leaves_its_recording() {
    let script = Script::by(|at, _| Ok(if at == 0 { look("c1") } else { say("never") }));
    let hangs = Tool::builder("look").description("Looks.").handler(|_: Value, _| async {
        std::future::pending::<()>().await;
        "never"
    });
    let agent = agent(&script).tool(hangs).build().unwrap();
    let (run, handle) = agent.record("go").start().unwrap();
    let mut run = run.into_future();
    poll_fn(|cx| {
        let waiting = std::future::Future::poll(run.as_mut(), cx).is_pending();
        assert!(waiting);
        let started = handle.to_recording().is_ok_and(|recording| {
            boundaries(&recording).iter().any(|row| row["type"] == json!("tool.start"))
        });
        if started {
            Poll::Ready(())
        } else {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
    drop(run);
    let recording = handle.to_recording().unwrap();
    let rows = boundaries(&recording);
    let kinds: Vec<&str> = rows.iter().map(|row| row["type"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"tool.start") && !kinds.contains(&"tool.end"), "{kinds:?}");
    assert!(recording.events().iter().all(|event| event.name_str() != "agentfootprint.agent.turn_end"));
}

/// Proves REC-2: one place of the product puts recordings together.
#[test]
fn one_place_makes_recordings() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut makers = Vec::new();
    let mut waiting = vec![crates.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("tests") {
                waiting.push(path);
            } else if path.extension().is_some_and(|end| end == "rs")
                && std::fs::read_to_string(&path).unwrap().contains("Recording::new(")
            {
                makers.push(path.strip_prefix(crates).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }
    assert_eq!(makers, ["agentfootprint-core/src/record/producer.rs"]);
}
