//! What a run keeps and hands over: reports, handles, flow messages, words.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use footprint::chart::{Branch, Chart, Decider, FanOut, ForEach, Mount, Next, Selector, Stage};
use footprint::error::RunError;
use footprint::observe::{
    Channel, EventCx, Hook, HookResult, Interest, Payload, Recorder, StageType, WriteOp,
};
use footprint::pause::FlowchartCheckpoint;
use footprint::scope::Scope;
use footprint::snapshot::Snapshot;
use footprint::state::{CommitValues, Key, ListKey, Phase};
use footprint::value;
use footprint::value::Value;
use footprint::verbs::Verb;
use footprint::walk::{Diagnostics, RunOptions, Warning};

use super::support::*;

/// Proves ENG-68: what a stage read stays what it was; a changed copy changes nothing until it is written.
#[tokio::test]
async fn read_values_cannot_be_changed_in_place() {
    const LIST: Key<Vec<i64>> = Key::new("list");
    let chart =
        build(Chart::builder(Stage::new("a", |s: Scope| async move { Ok(s.set(LIST, vec![1, 2])?) })).then(
            Stage::new("b", |s: Scope| async move {
                let before = s.get(LIST)?;
                let mut copy = (*before).clone();
                copy.push(3);
                assert_eq!(*s.get(LIST)?, [1, 2]);
                s.set(LIST, copy)?;
                assert_eq!((&before[..], &s.get(LIST)?[..]), (&[1, 2][..], &[1, 2, 3][..]));
                Ok(())
            }),
        ));
    let report = chart.run(RunOptions::new()).await;
    assert!(report.error().is_none());
    assert_eq!(state(&report), value!({ "list": [1, 2, 3] }));
}

fn frames(snapshot: &Snapshot) -> Vec<serde_json::Value> {
    let text: serde_json::Value = serde_json::from_str(&snapshot.to_json()).unwrap();
    let mut waiting = vec![text["executionTree"].clone()];
    let mut found = Vec::new();
    while let Some(frame) = waiting.pop() {
        waiting.extend(frame.get("next").cloned());
        waiting.extend(frame["children"].as_array().cloned().unwrap_or_default());
        found.push(frame);
    }
    found
}

/// Proves ENG-101: every kind of flow message has its shape, the texts name what they must, and frames keep the contract's
/// log keys.
#[tokio::test]
async fn flow_messages_and_frame_logs() {
    let inner = build(Chart::builder(mark("in")));
    let again = Decider::new("again", |s: Scope| async move {
        let passes = s.value("passes")?.and_then(|n| n.as_i64()).unwrap_or_default() + 1;
        s.set_value("passes", passes)?;
        Ok(if passes < 2 { "back" } else { "somewhere" })
    });
    let pick = Selector::new("pick", |_: Scope| async { Ok(vec!["p", "q"]) });
    let none = Selector::new("none", |_: Scope| async { Ok(Vec::<String>::new()) });
    let each = ForEach::new("each", |_: Scope| Ok(vec![1, 2, 3]), {
        let inner = inner.clone();
        move |_: &i32, _| inner.clone()
    });
    let chart = build(
        Chart::builder(mark("start"))
            .fork([mark("x"), mark("y")], FanOut::AllSettled)
            .mount(Mount::of("sf", &inner))
            .select(pick.branch(mark("p")).branch(mark("q")).branch(mark("r")))
            .select(none.branch(mark("s")))
            .for_each(each.max_branches(2).into("results"))
            .decide(
                again
                    .branch(Branch::stage(mark("back")).loop_to("start"))
                    .branch(mark("end"))
                    .default_branch("end"),
            )
            .then(Stage::new("dyn", |_: Scope| async { Ok(Next::Chain(vec![mark("extra")])) })),
    );
    let report = chart.run(RunOptions::new()).await;
    assert!(report.error().is_none(), "{:?}", report.error());
    let frames = frames(report.snapshot());
    let mut kinds = BTreeSet::new();
    for message in
        frames.iter().flat_map(|frame| frame["flowMessages"].as_array().cloned().unwrap_or_default())
    {
        let kind = message["type"].as_str().unwrap().to_owned();
        let text = message["description"].as_str().unwrap();
        assert!(message["timestamp"].as_u64().is_some(), "{message}");
        match &*kind {
            "loop" => {
                assert_eq!((&message["targetStage"], &message["iteration"]), (&"start".into(), &1.into()));
                assert!(text.contains("start") && text.contains('1'), "{text}");
            }
            "branch" => {
                assert!(
                    text.contains("back") || (text.contains("somewhere") && text.contains("end")),
                    "{text}"
                );
            }
            "children" => assert!(
                message["count"].as_u64().is_some() && text.chars().any(|c| c.is_ascii_digit()),
                "{message}"
            ),
            "selected" => assert!(message["count"].as_u64().is_some(), "{message}"),
            "next" => assert!(message["targetStage"].as_str().is_some(), "{message}"),
            "subflow" => {
                assert!(text.contains("sf") || text.contains("each") || text.contains("in"), "{text}")
            }
            other => unreachable!("{other}"),
        }
        kinds.insert(kind);
    }
    let expected = ["branch", "children", "loop", "next", "selected", "subflow"].map(str::to_owned);
    assert_eq!(kinds, expected.into_iter().collect());
    let logs =
        |id: &str| frames.iter().find(|frame| frame["id"] == id).map(|frame| frame["logs"].clone()).unwrap();
    assert_eq!(
        (&logs("start")["totalChildren"], &logs("start")["orderOfExecution"]),
        (&2.into(), &"ChildrenAfterStage".into())
    );
    assert_eq!(logs("pick")["selectedChildIds"], serde_json::json!(["p", "q"]));
    assert_eq!(logs("pick")["skippedChildIds"], serde_json::json!(["r"]));
    assert_eq!(logs("pick")["selectorPattern"], "scope-based-multi-choice");
    assert_eq!(logs("none")["skippedAllChildren"], true);
    assert_eq!(logs("each")["parallelForEach"]["truncated"], true);
    assert_eq!(logs("dyn")["isDynamic"], true);
}

/// Proves ENG-134: the reference's markers of what it could not store are ordinary texts when read.
#[test]
fn markers_of_unstorable_values_are_read() {
    let text = r#"{"checkpointVersion":1,"sharedState":{"f":"[non-serializable: function]"},
        "executionTree":{"id":"a","runtimeStageId":"a#0","name":"a","isDecider":false,"isFork":false,
        "logs":{"x":"[non-serializable: Symbol]"},"errors":{},"metrics":{},"evals":{}},
        "pausedStageId":"a","subflowPath":[],"subflowStates":{},"pauseData":"[non-serializable: BigInt]","pausedAt":1}"#;
    let checkpoint = FlowchartCheckpoint::from_json(text).unwrap();
    assert_eq!(checkpoint.shared_state.get("f"), Some(&value!("[non-serializable: function]")));
    assert_eq!(checkpoint.pause_data, Some(value!("[non-serializable: BigInt]")));
}

/// Proves ENG-137, ENG-144, ENG-155: a handle looks at a run under way and ends it; counts equal the log's length at any time;
/// the report has the rest at hand.
#[tokio::test]
async fn a_handle_on_a_run_under_way() {
    let (reached, waits) = tokio::sync::oneshot::channel::<usize>();
    let reached = Mutex::new(Some(reached));
    let reached = Arc::new(reached);
    let chart =
        build(Chart::builder(mark("a")).then(mark("b")).then(Stage::new("waits", move |s: Scope| {
            let reached = reached.clone();
            async move {
                s.set_value("half", 1)?;
                if let Some(tell) = reached.lock().unwrap().take() {
                    tell.send(s.commit_count()).ok();
                }
                std::future::pending::<()>().await;
                Ok(())
            }
        })));
    let run = chart.run(RunOptions::new());
    let handle = run.handle();
    let under_way = tokio::spawn(run);
    assert_eq!(waits.await.unwrap(), 2);
    assert_eq!(handle.commit_count(), 2);
    let seen = handle.snapshot();
    assert_eq!((seen.commit_log.len(), seen.run_id.as_deref()), (2, Some(&*handle.run_id().to_string())));
    assert_eq!(Value::Object(seen.shared_state.clone()), value!({ "a": true, "b": true }));
    handle.cancel("enough");
    let report = under_way.await.unwrap();
    assert!(matches!(report.error(), Some(RunError::Cancelled { reason }) if &**reason == "enough"));
    assert_eq!((seen.commit_log.len(), handle.commit_count()), (2, 3));
    assert_eq!(state(&report), value!({ "a": true, "b": true, "half": 1 }));
    let snapshot = report.snapshot();
    assert_eq!((snapshot.commit_log.len(), snapshot.execution_tree.len()), (3, 3));
    let whole = build(Chart::builder(mark("a"))).run(RunOptions::new()).await;
    assert_eq!(whole.output().unwrap(), value!({ "a": true }));
}

/// Proves ENG-151: interests are asked once a run, and an event goes to those who want its hook.
#[tokio::test]
async fn listeners_are_listed_once() {
    #[derive(Default)]
    struct Asked(AtomicUsize, AtomicUsize);
    impl Recorder for Asked {
        fn id(&self) -> &str {
            "asked"
        }
        fn interest(&self) -> Interest {
            self.0.fetch_add(1, Ordering::Relaxed);
            Interest::of(Hook::Commit)
        }
        fn on_event(&self, _: &EventCx<'_>, _: &Payload) -> HookResult {
            self.1.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }
    let chart = |stages: usize| {
        let rest = (1..stages).fold(Chart::builder(idle("s")), |chart, n| {
            chart.then(Stage::new(format!("s{n}"), |_: Scope| async { Ok(()) }))
        });
        build(rest)
    };
    let asked_for = async |stages: usize| {
        let asked = Arc::new(Asked::default());
        chart(stages).run(RunOptions::new().observe(asked.clone())).await;
        assert_eq!(asked.1.load(Ordering::Relaxed), stages);
        asked.0.load(Ordering::Relaxed)
    };
    assert_eq!(asked_for(2).await, asked_for(200).await);
}

/// Proves ENG-152: a list that grows in a loop is linear in memory and quadratic in `full` JSON; diagnostics say so, and `delta`
/// is linear in both.
#[tokio::test]
async fn growing_lists_in_both_encodings() {
    const LIST: ListKey<i64> = ListKey::new("list");
    let size = async |passes: i64, dial: CommitValues| {
        let chart = build(
            Chart::builder(Stage::new("grow", move |s: Scope| async move {
                let pass = s.commit_count() as i64;
                s.push(LIST, pass)?;
                if pass + 1 >= passes {
                    s.stop_silently()?;
                }
                Ok(())
            }))
            .loop_to("grow"),
        );
        let options = RunOptions::new()
            .commit_values(dial)
            .diagnostics(Diagnostics::Dev)
            .write_tracking(footprint::state::Tracking::Off)
            .read_tracking(footprint::state::Tracking::Off);
        let report = chart.run(options).await;
        let warned = report
            .warnings()
            .iter()
            .any(|w| matches!(w, Warning::FullValuesInLoop { key, .. } if &**key == "list"));
        (report.snapshot().to_json().len(), warned)
    };
    let (small, large) = (size(100, CommitValues::Full).await, size(400, CommitValues::Full).await);
    assert!(large.0 > 5 * small.0 && large.1, "{small:?} {large:?}");
    let (small, large) = (size(100, CommitValues::Delta).await, size(400, CommitValues::Delta).await);
    assert!(large.0 < 5 * small.0 && !large.1, "{small:?} {large:?}");
}

/// Proves ENG-159: the words of recorded enums are fixed.
#[test]
fn recorded_words() {
    assert_eq!(
        [Verb::Set, Verb::Merge, Verb::Append, Verb::Delete].map(|v| v.to_string()),
        ["set", "merge", "append", "delete"]
    );
    assert_eq!([Phase::Exit, Phase::Repeat].map(Phase::as_str), ["exit", "repeat"]);
    assert_eq!(
        [Channel::Scope, Channel::Flow, Channel::Emit].map(Channel::as_str),
        ["scope", "flow", "emit"]
    );
    assert_eq!(
        [WriteOp::Set, WriteOp::Update, WriteOp::Delete].map(WriteOp::as_str),
        ["set", "update", "delete"]
    );
    let types = [
        StageType::Linear,
        StageType::Decider,
        StageType::Fork,
        StageType::Selector,
        StageType::SubflowMount,
    ];
    assert_eq!(types.map(StageType::as_str), ["linear", "decider", "fork", "selector", "subflow-mount"]);
    assert_eq!([CommitValues::Full, CommitValues::Delta].map(|v| v.to_string()), ["full", "delta"]);
}

/// Proves ENG-170: the caller's label goes to the record and nowhere else.
#[tokio::test]
async fn labels() {
    let chart = build(Chart::builder(mark("a")));
    let labelled = chart.run(RunOptions::new().label("agent-7")).await;
    assert_eq!(labelled.snapshot().run_label.as_deref(), Some("agent-7"));
    assert!(labelled.snapshot().to_json().contains(r#""runLabel":"agent-7""#));
    assert_eq!(
        Snapshot::from_json(&labelled.snapshot().to_json()).unwrap().run_label.as_deref(),
        Some("agent-7")
    );
    let bare = chart.run(RunOptions::new()).await;
    assert!(bare.snapshot().run_label.is_none() && !bare.snapshot().to_json().contains("runLabel"));
    assert_eq!(state(&labelled), state(&bare));
}

/// Proves ENG-91: a mark is gone with its key, but what the same visit wrote under it before stays out of the record.
#[tokio::test]
async fn a_deleted_key_keeps_its_earlier_writes_redacted() {
    use footprint::scope::SetOpts;
    let chart = build(
        Chart::builder(Stage::new("mark", |s: Scope| async move {
            Ok(s.set_value_with("pin", "SECRET-1", SetOpts::new().redact())?)
        }))
        .then(Stage::new("change", |s: Scope| async move {
            s.set_value("pin", "SECRET-2")?;
            s.delete("pin")?;
            Ok(())
        }))
        .then(Stage::new("after", |s: Scope| async move { Ok(s.set_value("pin", "plain")?) })),
    );
    let report = chart.run(RunOptions::new()).await;
    let served = report.snapshot_redacted().to_json();
    assert!(!served.contains("SECRET") && served.contains("plain"), "{served}");
}
