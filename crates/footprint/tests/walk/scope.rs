//! The scope's methods.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use footprint::chart::{Chart, Stage};
use footprint::env::Env;
use footprint::error::{ScopeError, StageError};
use footprint::scope::{Scope, SetOpts, StateView};
use footprint::state::{CommitValues, Key, ListKey, MapKey, RedactionPolicy, Tracking, WriteProvenance};
use footprint::value;
use footprint::value::Value;
use footprint::walk::{Diagnostics, RunOptions, Warning};

use super::support::*;

const N: Key<i64> = Key::new("n");
const LIST: ListKey<String> = ListKey::new("list");
const MAP: MapKey<i64> = MapKey::new("map");

/// Runs one stage.
async fn one<F, Fut>(options: RunOptions, stage: F) -> footprint::report::RunReport
where
    F: Fn(Scope) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), StageError>> + Send + 'static,
{
    build(Chart::builder(Stage::new("s", stage))).run(options).await
}

/// Proves ENG-62, ENG-66, ENG-72, ENG-85, ENG-167: typed access, read-your-writes, errors that name stage and
/// key.
#[tokio::test]
async fn typed_access() {
    let report = one(RunOptions::new(), |scope| async move {
        assert!(matches!(scope.get(N), Err(ScopeError::Missing { .. })));
        assert_eq!(scope.try_get(N)?, None);
        scope.set(N, 1)?;
        assert_eq!(*scope.get(N)?, 1);
        scope.modify(N, |n| {
            *n += 1;
            Ok(())
        })?;
        assert!(scope.modify(N, |_| Err::<(), _>(StageError::new("no"))).is_err());
        assert_eq!(*scope.get(N)?, 2);
        let wrong = scope.get(Key::<String>::new("n"));
        let Err(ScopeError::TypeMismatch { stage, key, found, .. }) = wrong else { panic!("{wrong:?}") };
        assert_eq!((&*stage, &*key, found.as_str()), ("s", "n", "number"));
        scope.push(LIST, "a")?;
        scope.extend(LIST, ["b".to_owned(), "c".to_owned()])?;
        assert_eq!(*scope.get(LIST)?, ["a", "b", "c"]);
        assert!(Arc::ptr_eq(&scope.get(LIST)?, &scope.get(LIST)?));
        scope.update(MAP, value!({ "x": 1 }))?;
        scope.update(MAP, value!({ "y": 2 }))?;
        assert_eq!(scope.get(MAP)?.len(), 2);
        assert_eq!(scope.read_path(MAP, "y")?, Some(value!(2)));
        assert_eq!(scope.read_path("map", "z.z")?, None);
        scope.set_value("gone", 1)?;
        scope.delete("gone")?;
        assert_eq!(scope.value("gone")?, None);
        assert_eq!(scope.address().to_string(), "s#0");
        assert_eq!(scope.commit_count(), 0);
        Ok(())
    })
    .await;
    completed(&report);
    assert_eq!(state(&report), value!({ "n": 2, "list": ["a", "b", "c"], "map": { "x": 1, "y": 2 } }));
    assert_folds(&report);
}

/// Proves ENG-63, ENG-164: what state cannot hold is refused at the write.
#[tokio::test]
async fn refused_writes() {
    completed(
        &one(RunOptions::new(), |scope| async move {
            assert!(matches!(scope.set_value("runs", 1), Err(ScopeError::ReservedKey { .. })));
            assert!(matches!(scope.set_value("constructor", 1), Err(ScopeError::ReservedKey { .. })));
            assert!(matches!(scope.set_value("", 1), Err(ScopeError::InvalidKey { .. })));
            assert!(matches!(scope.set_value("a\u{1f}b", 1), Err(ScopeError::InvalidKey { .. })));
            assert!(matches!(scope.set_value("x", f64::NAN), Err(ScopeError::NotSerializable { .. })));
            let odd: std::collections::HashMap<u8, u8> = [(1, 1)].into();
            let pairs: std::collections::HashMap<(u8, u8), u8> = [((1, 1), 1)].into();
            let _ = scope.set_value("odd", odd);
            assert!(matches!(scope.set_value("x", pairs), Err(ScopeError::NotSerializable { .. })));
            let mut deep = Value::Null;
            for _ in 0..600 {
                deep = Value::Array(std::iter::once(deep).collect());
            }
            assert!(matches!(scope.set_value("x", deep), Err(ScopeError::NotSerializable { .. })));
            assert_eq!(scope.value("x")?, None);
            Ok(())
        })
        .await,
    );
}

/// Proves ENG-69, ENG-84: a handle is sealed with its frame; reads answer from the last view.
#[tokio::test]
async fn sealed_handles() {
    let held: Arc<Mutex<Option<Scope>>> = Arc::default();
    let keep = Arc::clone(&held);
    let chart = build(
        Chart::builder(Stage::new("a", move |scope: Scope| {
            *keep.lock().unwrap() = Some(scope.clone());
            async move { Ok(scope.set(N, 1)?) }
        }))
        .then(Stage::new("b", |scope: Scope| async move { Ok(scope.set(N, 2)?) })),
    );
    let report = chart.run(RunOptions::new()).await;
    let scope = held.lock().unwrap().take().unwrap();
    let refused = scope.set(N, 3).unwrap_err();
    assert!(
        matches!(&refused, ScopeError::FrameClosed { stage, runtime_stage_id } if &**stage == "a" && *runtime_stage_id == "a#0")
    );
    for refused in [
        scope.update(N, 1),
        scope.delete(N),
        scope.push(LIST, "x"),
        scope.emit("e", 1),
        scope.debug("d", 1),
        scope.metric("m", 1),
        scope.stop("late"),
    ] {
        assert!(matches!(refused, Err(ScopeError::FrameClosed { .. })));
    }
    assert_eq!(*scope.get(N).unwrap(), 1);
    assert_eq!(state(&report), value!({ "n": 2 }));
}

/// Proves ENG-84: tasks a stage spawned share the frame while the stage runs.
#[tokio::test]
async fn spawned_tasks_share_the_frame() {
    let report = one(RunOptions::new(), |scope| async move {
        let tasks: Vec<_> = (0..8)
            .map(|n| {
                let scope = scope.clone();
                tokio::spawn(async move { scope.set_value(&format!("t{n}"), n) })
            })
            .collect();
        for task in tasks {
            task.await.unwrap()?;
        }
        Ok(())
    })
    .await;
    assert_eq!(report.state().len(), 8);
}

/// Proves ENG-89, OBS-141, ENG-169: markers for arguments, environment facts and silent reads; extensions mark
/// nothing.
#[tokio::test]
async fn untracked_sources() {
    let words = |report: &footprint::report::RunReport| -> Vec<&'static str> {
        report.snapshot().commit_log.get(0).unwrap().untracked.words().collect()
    };
    let stage = |scope: Scope| async move {
        scope.args_value();
        scope.env().trace_id();
        scope.env().deadline();
        scope.peek_value("k")?;
        assert_eq!(*scope.env().get::<String>().unwrap(), "service");
        assert_eq!(scope.env().get::<u8>(), None);
        Ok(())
    };
    let extended = || RunOptions::new().extend(Arc::new("service".to_owned()));
    let report = one(extended().input(value!({ "a": 1 })).env(Env::new().trace_id("t")), stage).await;
    assert_eq!(words(&report), ["args", "env", "silent"]);
    let report = one(extended(), stage).await;
    assert_eq!(words(&report), ["silent"]);
    let report = one(RunOptions::new(), |scope| async move {
        scope.peek_value("k")?;
        scope.value("k")?;
        scope.env().get::<String>();
        Ok(())
    })
    .await;
    assert!(words(&report).is_empty());
}

/// Proves ENG-86, OBS-64, OBS-61, OBS-63: bags grow by kind; each entry is emitted; diagnostics are no state.
#[tokio::test]
async fn diagnostics() {
    let lines_recorder = Lines::new();
    let report = one(RunOptions::new().observe(lines_recorder.clone()), |scope| async move {
        scope.debug("list", [1])?;
        scope.debug("list", [2])?;
        scope.debug("map", value!({ "a": 1 }))?;
        scope.debug("map", value!({ "b": 2 }))?;
        scope.log("one")?;
        scope.log("two")?;
        scope.metric("latency", 12)?;
        scope.metric("latency", 15)?;
        scope.eval("quality", 0.5)?;
        scope.error("warning", "slow")?;
        scope.emit(" ", 1)?;
        scope.emit("bad", f64::NAN)?;
        Ok(())
    })
    .await;
    let frame = report.snapshot().execution_tree.iter().next().unwrap().1.clone();
    assert_eq!(
        Value::Object(frame.logs),
        value!({ "list": [1, 2], "map": { "a": 1, "b": 2 }, "messages": ["one", "two"] })
    );
    assert_eq!(Value::Object(frame.metrics), value!({ "latency": 15 }));
    assert_eq!(Value::Object(frame.evals), value!({ "quality": 0.5 }));
    assert_eq!(Value::Object(frame.errors), value!({ "warning": "slow" }));
    assert!(report.state().is_empty());
    assert_eq!(
        report.warnings(),
        [
            Warning::EmptyEmitName { stage: "s".into() },
            Warning::UnserializableEmit { stage: "s".into(), name: "bad".into() }
        ]
    );
    let emits: Vec<_> = lines_recorder.all().into_iter().filter(|line| line.starts_with("emit")).collect();
    assert_eq!(emits.len(), 11);
    assert_eq!(emits[0], "emit(log.debug.list) s#0");
    assert_eq!(emits[4], "emit(log.debug.messages) s#0");
    assert_eq!(emits[6], "emit(metric.latency) s#0");
    assert_eq!(emits[10], "emit(bad) s#0");
}

/// Proves ENG-88, OBS-139: what the tree keeps by dial; the log and the events stay the same.
#[tokio::test]
async fn tracking_dials() {
    let stage = |scope: Scope| async move {
        scope.set_value("text", "abc")?;
        scope.value("text")?;
        scope.value("missing")?;
        scope.set_value("gone", 1)?;
        scope.delete("gone")?;
        Ok(())
    };
    let frame = |report: &footprint::report::RunReport| {
        report.snapshot().execution_tree.iter().next().unwrap().1.clone()
    };
    let full = one(RunOptions::new(), stage).await;
    assert_eq!(frame(&full).stage_reads.map(Value::Object), Some(value!({ "text": "abc" })));
    assert_eq!(frame(&full).stage_writes.map(Value::Object), Some(value!({ "text": "abc" })));
    let dials = |dial| RunOptions::new().read_tracking(dial).write_tracking(dial);
    let summary = one(dials(Tracking::Summary), stage).await;
    assert_eq!(
        frame(&summary).stage_reads.map(Value::Object),
        Some(value!({ "text": { "__readSummary": true, "type": "string", "size": 3, "preview": "abc" } }))
    );
    let off = one(dials(Tracking::Off), stage).await;
    assert_eq!((frame(&off).stage_reads, frame(&off).stage_writes), (None, None));
    assert_eq!(commits(&full), commits(&off));
}

/// Proves ENG-75, ENG-78, ENG-87: pushes are append rows under `delta`, whole values under `full`; provenance
/// names what was read before.
#[tokio::test]
async fn encodings() {
    let chart = || {
        build(Chart::builder(Stage::new("a", |scope: Scope| async move { Ok(scope.push(LIST, "a")?) })).then(
            Stage::new("b", |scope: Scope| async move {
                scope.value("x")?;
                Ok(scope.push(LIST, "b")?)
            }),
        ))
    };
    let full = chart().run(RunOptions::new()).await;
    assert_eq!(commits(&full), ["a#0 [list set]", "b#1 [list set]"]);
    let options =
        RunOptions::new().commit_values(CommitValues::Delta).write_provenance(WriteProvenance::ReadsPrefix);
    let delta = chart().run(options).await;
    assert_eq!(commits(&delta), ["a#0 [list set]", "b#1 [list append]"]);
    let row = &delta.snapshot().commit_log.get(1).unwrap().rows[0];
    assert_eq!(row.read_keys.as_deref(), Some(&["x".into()][..]));
    assert_eq!(state(&full), state(&delta));
    assert_eq!(delta.snapshot().commit_values, CommitValues::Delta);
}

/// Proves ENG-90, ENG-92, ENG-93, ENG-94, OBS-113: a policy and a mark cover log, mirror, tree and events; the
/// live state stays real.
#[tokio::test]
async fn redaction() {
    #[derive(Default)]
    struct Texts(Mutex<String>);
    impl footprint::observe::Recorder for Texts {
        fn id(&self) -> &str {
            "texts"
        }
        fn on_event(
            &self,
            cx: &footprint::observe::EventCx<'_>,
            e: &footprint::observe::Payload,
        ) -> footprint::observe::HookResult {
            self.0.lock().unwrap().push_str(&e.to_json(cx).to_string());
            Ok(())
        }
    }
    let inner = build(Chart::builder(Stage::new("in", |scope: Scope| async move {
        scope.value("renamed")?;
        Ok(scope.set_value("copy", scope.args_value()["renamed"].clone())?)
    })));
    let stage = Stage::new("s", |scope: Scope| async move {
        scope.set_value("ssn", "SECRET-1")?;
        scope.set_value_with("pin", "SECRET-2", SetOpts::new().redact().note("kept"))?;
        scope.set_value("user", value!({ "name": "Ann", "zip": "SECRET-3" }))?;
        scope.value("ssn")?;
        scope.emit("secret.sent", "SECRET-4")?;
        scope.debug("ssn", "SECRET-5")?;
        Ok(())
    });
    let mount = footprint::chart::Mount::of("sf", &inner).input_keys([("ssn", "renamed")]);
    let chart = build(Chart::builder(stage).mount(mount));
    let policy = RedactionPolicy::new()
        .keys(["ssn", "copy"])
        .fields("user", ["zip"])
        .emit_patterns(["^secret"])
        .unwrap();
    let texts = Arc::new(Texts::default());
    let options = RunOptions::new()
        .redaction(policy)
        .observe(texts.clone())
        .input(value!({ "form": { "ssn": "SECRET-6" } }));
    let report = chart.run(options).await;
    completed(&report);
    let served = report.snapshot_redacted().to_json();
    for secret in ["SECRET-1", "SECRET-2", "SECRET-3", "SECRET-5", "SECRET-6"] {
        assert!(!served.contains(secret), "{secret} in {served}");
        assert!(!texts.0.lock().unwrap().contains(secret), "{secret} in the events");
    }
    assert!(!texts.0.lock().unwrap().contains("SECRET-4"));
    assert!(served.contains("Ann"));
    assert_eq!(state(&report)["ssn"], value!("SECRET-1"));
    assert!(report.snapshot_redacted().initial_state.is_none());
    let report = report.redaction_report();
    assert!(report.redacted_keys.contains(&"ssn".into()) && report.redacted_keys.contains(&"pin".into()));
}

/// Proves ENG-80: initial values win over defaults, deeply for objects.
#[tokio::test]
async fn starting_state() {
    let options = RunOptions::new()
        .defaults(object(value!({ "a": { "x": 1, "y": 1 }, "l": [1], "d": 1 })))
        .initial(object(value!({ "a": { "y": 2 }, "l": [2] })));
    let report = one(options, |_| async { Ok(()) }).await;
    let expected = value!({ "a": { "x": 1, "y": 2 }, "l": [2], "d": 1 });
    assert_eq!(state(&report), expected);
    assert_eq!(report.snapshot().initial_state.clone().map(Value::Object), Some(expected));
}

/// Proves ENG-139, ENG-64, ENG-65, ENG-168: dev diagnostics name likely mistakes, once.
#[tokio::test]
async fn dev_diagnostics() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Lossy {
        #[serde(skip_deserializing, default)]
        n: i64,
    }
    const LOSSY: Key<Lossy> = Key::new("lossy");
    let stage = |scope: Scope| async move {
        scope.set_value("big", 9_007_199_254_740_993u64)?;
        scope.set_value("big", 9_007_199_254_740_995u64)?;
        scope.set(LOSSY, Lossy { n: 1 })?;
        std::thread::sleep(Duration::from_millis(120));
        Ok(())
    };
    let report = one(RunOptions::new().diagnostics(Diagnostics::Dev), stage).await;
    let warnings = report.warnings();
    assert!(warnings.contains(&Warning::LargeInteger { stage: "s".into(), key: "big".into() }));
    assert!(warnings.contains(&Warning::LossyValue { stage: "s".into(), key: "lossy".into() }));
    assert!(warnings.contains(&Warning::HeldTask { stage: "s".into() }));
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(one(RunOptions::new(), stage).await.warnings().is_empty());
}

#[test]
fn views_answer_without_a_run() {
    let view = StateView::of(object(value!({ "a": { "b": [1] } })));
    assert_eq!(view.read_path("a.b.0"), Some(value!(1)));
    assert_eq!(view.to_object().len(), 1);
    assert!(matches!(view.get(N), Err(ScopeError::Missing { .. })));
}
