//! What observers see: context, order, gating, per-run recorders.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use footprint::chart::{Chart, FanOut, Mount, Stage};
use footprint::observe::{
    Event, EventCx, Hook, HookResult, Interest, LegKind, Payload, Recorder, RunLeg, TraversalContext,
};
use footprint::scope::Scope;
use footprint::value;
use footprint::value::Value;
use footprint::walk::RunOptions;

use super::support::*;

#[derive(Default)]
struct Kept(Mutex<Vec<Event>>);

impl Recorder for Kept {
    fn id(&self) -> &str {
        "kept"
    }
    fn on_event(&self, cx: &EventCx<'_>, e: &Payload) -> HookResult {
        self.0.lock().unwrap().push(Event::capture(cx, e));
        Ok(())
    }
}

fn nested_chart() -> Chart {
    let inner = build(Chart::builder(mark("in")).then(idle("in2")));
    build(
        Chart::builder(idle("a"))
            .fork([slow("x", 1), mark("y")], FanOut::AllSettled)
            .mount(Mount::of("sf", &inner).output_keys([("in", "got")]))
            .then(idle("z")),
    )
}

/// Proves OBS-27, OBS-28, OBS-31: `seq` is a total order, commit counts never go back, logs are addressed.
#[tokio::test]
async fn contexts() {
    let kept = Arc::new(Kept::default());
    nested_chart().run(RunOptions::new().observe(kept.clone())).await;
    let events = kept.0.lock().unwrap();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event.cx.seq, at as u64);
    }
    assert!(events.windows(2).all(|pair| pair[0].cx.root_commits <= pair[1].cx.root_commits));
    let commits: Vec<usize> = events
        .iter()
        .filter(|e| e.hook() == Hook::Commit && e.cx.log_address().drill_path.is_empty())
        .map(|e| e.cx.log_commits)
        .collect();
    assert_eq!(commits, (1..=commits.len()).collect::<Vec<_>>());
    let inside = events.iter().find(|e| &*e.cx.traversal.stage_id == "sf/in").unwrap();
    assert_eq!(inside.cx.log_address().drill_path, ["sf#3".into()]);
    assert_eq!(inside.cx.traversal.depth, 1);
}

/// Proves ENG §2 (traversal context), ENG-10: parents, subflow ids, branch namespaces.
#[tokio::test]
async fn traversal() {
    let kept = Arc::new(Kept::default());
    nested_chart().run(RunOptions::new().observe(kept.clone())).await;
    let of = |id: &str| -> TraversalContext {
        let events = kept.0.lock().unwrap();
        events.iter().find(|e| &*e.cx.traversal.stage_id == id).unwrap().cx.traversal.clone()
    };
    let parent = |cx: &TraversalContext| cx.parent_runtime_stage_id.as_ref().map(ToString::to_string);
    assert_eq!(parent(&of("a")), None);
    let x = of("x");
    assert_eq!((parent(&x), x.fork_branch.as_deref()), (Some("a#0".into()), Some("x")));
    let mount = of("sf");
    assert_eq!((parent(&mount), mount.subflow_id.as_deref()), (Some("a#0".into()), Some("sf")));
    assert_eq!(mount.subflow_path, None);
    let first = of("sf/in");
    assert_eq!((parent(&first), first.parent_stage_id.as_deref()), (Some("sf#3".into()), None));
    assert_eq!((first.subflow_id.as_deref(), first.subflow_path.as_deref()), (Some("sf"), Some("sf")));
    assert_eq!(&*first.stage_name, "sf/in");
    let second = of("sf/in2");
    assert_eq!(second.parent_stage_id.as_deref(), Some("sf/in"));
    assert_eq!(parent(&of("z")), Some("sf#3".into()));
    let json = first.to_value();
    assert!(json.get("parentStageId").is_none() && json.get("loopIteration").is_none());
}

/// Proves OBS-42, ENG-146, OBS-63: nothing is built for a hook nobody wants.
#[tokio::test]
async fn unwanted_hooks_build_nothing() {
    struct Commits(AtomicUsize);
    impl Recorder for Commits {
        fn id(&self) -> &str {
            "commits"
        }
        fn interest(&self) -> Interest {
            Interest::of(Hook::Commit)
        }
        fn on_event(&self, _: &EventCx<'_>, e: &Payload) -> HookResult {
            assert_eq!(e.hook(), Hook::Commit);
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }
    let built = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&built);
    let chart = build(Chart::builder(Stage::new("a", move |scope: Scope| {
        let counter = Arc::clone(&counter);
        async move {
            scope.emit_with("hello", || counter.fetch_add(1, Ordering::Relaxed))?;
            Ok(())
        }
    })));
    let commits = Arc::new(Commits(AtomicUsize::new(0)));
    chart.run(RunOptions::new().observe(commits.clone())).await;
    assert_eq!((built.load(Ordering::Relaxed), commits.0.load(Ordering::Relaxed)), (0, 1));
    chart.run(RunOptions::new().observe(Lines::new())).await;
    assert_eq!(built.load(Ordering::Relaxed), 1);
}

/// Proves OBS-35, OBS-36, OBS-39, ENG-136: replacement by id, per-run recorders, legs.
#[tokio::test]
async fn attaching() {
    struct Named(&'static str, Mutex<Vec<String>>);
    impl Recorder for Named {
        fn id(&self) -> &str {
            "named"
        }
        fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
            assert!(matches!(leg.kind, LegKind::Fresh));
            self.1.lock().unwrap().push(format!("{} {}", self.0, leg.label.unwrap_or("-")));
            Ok(())
        }
    }
    let (first, second) =
        (Arc::new(Named("first", Mutex::default())), Arc::new(Named("second", Mutex::default())));
    let chart = build(Chart::builder(idle("a")));
    let options = RunOptions::new().observe(first.clone()).observe(second.clone()).label("l");
    let report = chart.run(options).await;
    assert!(first.1.lock().unwrap().is_empty());
    assert_eq!(*second.1.lock().unwrap(), ["second l"]);
    assert_eq!(report.recorder::<Named>("named").unwrap().0, "second");

    let template = RunOptions::new().observe_per_run(|meta| {
        assert!(!meta.run_id.as_str().is_empty());
        Box::new(Kept::default())
    });
    let (one, two) = (chart.run(template.clone()).await, chart.run(template).await);
    let events = |report: &footprint::report::RunReport| {
        report.recorder::<Kept>("kept").unwrap().0.lock().unwrap().len()
    };
    assert_eq!((events(&one), events(&two)), (6, 6));
    assert_ne!(one.run_id(), two.run_id());
}

/// Proves ENG-156, ENG-166: an observer may look at the run while it is told, without deadlock.
#[tokio::test]
async fn observers_may_look() {
    struct Looking(Mutex<Option<footprint::walk::RunHandle>>, AtomicUsize);
    impl Recorder for Looking {
        fn id(&self) -> &str {
            "looking"
        }
        fn on_event(&self, cx: &EventCx<'_>, _: &Payload) -> HookResult {
            let handle = self.0.lock().unwrap().clone();
            if let Some(handle) = handle {
                let snapshot = handle.snapshot();
                assert_eq!(snapshot.commit_log.len(), cx.root_commits);
                assert_eq!(handle.commit_count(), cx.root_commits);
                self.1.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }
    }
    let looking = Arc::new(Looking(Mutex::default(), AtomicUsize::new(0)));
    let run = nested_chart().run(RunOptions::new().observe(looking.clone()));
    *looking.0.lock().unwrap() = Some(run.handle());
    run.await;
    assert!(looking.1.load(Ordering::Relaxed) > 30);
}

/// Proves OBS-59, ENG-138: the narrative run option adds entries and no row.
#[tokio::test]
async fn narrative_option() {
    let report = nested_chart().run(RunOptions::new().narrative(true)).await;
    assert!(report.narrative_entries().len() > 5);
    assert!(report.snapshot().recorders.is_empty());
}

/// Proves OBS-10, OBS-15: the scope channel's flat fields and the `channel` discriminator.
#[tokio::test]
async fn json_shapes() {
    let kept = Arc::new(Kept::default());
    nested_chart().run(RunOptions::new().observe(kept.clone())).await;
    let events = kept.0.lock().unwrap();
    let write =
        events.iter().find(|e| e.hook() == Hook::Write && &*e.cx.namespace.0 == "y").unwrap().to_json();
    assert_eq!(write["pipelineId"], value!("y"));
    assert_eq!(write["operation"], value!("set"));
    assert!(write["timestamp"].as_u64().is_some());
    assert_eq!(write.get("redacted"), None);
    let end = events.last().unwrap().to_json();
    assert_eq!(end["traversalContext"]["runtimeStageId"], value!("__root__#0"));
    assert_eq!(end.get("payload"), None::<&Value>);
}
