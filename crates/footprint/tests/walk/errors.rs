//! Errors keep the record; panics are contained at every author hook.

use std::sync::Arc;
use std::time::Duration;

use footprint::chart::{Chart, Decider, FanOut, ForEach, Mount, Retry, Selector, Stage, Step};
use footprint::error::{MapperSide, RunError, StageError};
use footprint::observe::{EventCx, HookResult, Payload, Recorder};
use footprint::report::Outcome;
use footprint::scope::Scope;
use footprint::value;
use footprint::value::{Object, Value};
use footprint::walk::RunOptions;

use super::support::*;

fn error_name(report: &footprint::report::RunReport) -> String {
    report.error().and_then(|e| e.structured().name).unwrap_or_default()
}

/// Proves ENG-116, ENG-5: a panic at any author hook is an ordinary error of that step; the run reports, and the
/// record folds.
#[tokio::test]
async fn panics_are_contained_everywhere() {
    fn quiet<T>() -> T {
        std::panic::panic_any("boom")
    }
    let inner = build(Chart::builder(idle("in")));
    let at_call = Stage::new("x", |_: Scope| -> std::future::Ready<Result<(), StageError>> { quiet() });
    let in_poll = Stage::new("x", |_: Scope| async { Ok::<(), StageError>(quiet()) });
    let items = ForEach::new("x", |_: Scope| -> Result<Vec<u8>, _> { quiet() }, {
        let inner = inner.clone();
        move |_: &u8, _| inner.clone()
    })
    .max_branches(1)
    .into("out");
    let factory = ForEach::new("x", |_: Scope| Ok(vec![1u8]), |_: &u8, _| -> Chart { quiet() })
        .max_branches(1)
        .into("out");
    let charts = [
        build(Chart::builder(mark("a")).then(at_call)),
        build(Chart::builder(mark("a")).then(in_poll)),
        build(Chart::builder(mark("a")).decide(
            Decider::new("x", |_: Scope| async { Ok::<&str, StageError>(quiet()) }).branch(idle("b")),
        )),
        build(Chart::builder(mark("a")).select(
            Selector::new("x", |_: Scope| async { Ok::<[&str; 1], StageError>(quiet()) }).branch(idle("b")),
        )),
        build(Chart::builder(mark("a")).mount(Mount::of("x", &inner).input(|_| quiet()))),
        build(Chart::builder(mark("a")).mount(Mount::of("x", &inner).output(|_| quiet()))),
        build(Chart::builder(mark("a")).mount(Mount::lazy("x", || -> Chart { quiet() }))),
        build(Chart::builder(mark("a")).for_each(items)),
        build(Chart::builder(mark("a")).for_each(factory)),
        build(Chart::builder(mark("a")).then(Stage::pausable(
            "x",
            |_: Scope| async { Ok::<Step<()>, StageError>(quiet()) },
            |_: Scope, _: Value| async { Ok(()) },
        ))),
    ];
    for chart in charts {
        let report = chart.run(RunOptions::new()).await;
        assert_eq!(error_name(&report), "Panic", "{:?}", report.outcome());
        assert_eq!(state(&report)["a"], value!(true));
        assert!(report.snapshot().execution_tree.len() >= 2);
        assert_folds(&report);
    }
}

/// Proves ENG-116: panics of backoff functions, throttle classifiers and destructors change nothing else.
#[tokio::test]
async fn panics_beside_the_stage() {
    let retry = Retry::attempts(3).backoff(|_| panic!("backoff"));
    let report = build(Chart::builder(failing("x").retry(retry))).run(RunOptions::new()).await;
    assert_eq!(error_name(&report), "Error");

    let chart = build(Chart::builder(idle("a")).fork([failing("x"), mark("y")], FanOut::AllSettled));
    let report = chart.run(RunOptions::new().throttle(|_| panic!("throttle"))).await;
    assert!(matches!(report.outcome(), Outcome::Completed(_)));

    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("destructor");
            }
        }
    }
    let bomb = Stage::new("x", |_: Scope| {
        let bomb = Bomb;
        async move {
            let _held = &bomb;
            std::future::pending::<()>().await;
            drop(bomb);
            Ok(())
        }
    });
    let report = build(Chart::builder(bomb)).run(RunOptions::new().timeout(Duration::from_millis(5))).await;
    assert!(matches!(report.error(), Some(RunError::TimedOut { .. })));
}

/// Proves OBS-2, OBS-44, OBS-45, OBS-46, ENG-7: an observer that fails and panics in every hook changes neither
/// outcome nor record nor other observers; its failures are evidence.
#[tokio::test]
async fn failing_observers_change_nothing() {
    struct Failing(bool);
    impl Recorder for Failing {
        fn id(&self) -> &str {
            "failing"
        }
        fn on_event(&self, _: &EventCx<'_>, _: &Payload) -> HookResult {
            if self.0 { panic!("observer") } else { Err(footprint::observe::RecorderError::new("observer")) }
        }
        fn snapshot(&self, _: &footprint::ids::RunId) -> Option<footprint::observe::RecorderBundle> {
            panic!("row")
        }
    }
    let chart = || {
        build(Chart::builder(mark("a")).fork([mark("x"), failing("y")], FanOut::AllSettled).then(idle("z")))
    };
    let (plain, told_alone) = told(&chart(), RunOptions::new()).await;
    for panics in [false, true] {
        let (report, mut told_beside) =
            told(&chart(), RunOptions::new().observe(Arc::new(Failing(panics)))).await;
        assert_eq!(state(&report), state(&plain));
        assert_eq!(commits(&report), commits(&plain));
        let reported = told_beside.iter().filter(|line| line.starts_with("scope_error")).count();
        assert_eq!(reported, told_alone.len());
        told_beside.retain(|line| !line.starts_with("scope_error"));
        assert_eq!(told_beside, told_alone);
        let failures = &report.snapshot().recorder_failures;
        assert!(failures.iter().any(|f| &*f.id == "failing" && &*f.hook == "onCommit" && f.count > 1));
        assert!(failures.iter().any(|f| &*f.hook == "snapshot"));
    }
}

/// Proves ENG-115, ENG-117, ENG-118, ENG-119: the caller gets the original source, the report keeps the record.
#[tokio::test]
async fn errors_keep_their_source_and_the_report() {
    #[derive(Debug, thiserror::Error)]
    #[error("no such order")]
    struct NoOrder;
    let stage = Stage::new("find", |scope: Scope| async move {
        scope.set_value("looked", true)?;
        Err::<(), StageError>(NoOrder.into())
    });
    let inner = build(Chart::builder(stage));
    let report = build(Chart::builder(Mount::of("sf", &inner))).run(RunOptions::new()).await;
    let failure = report.into_result().unwrap_err();
    let RunError::Stage { address, source } = failure.error() else { panic!("{failure}") };
    assert_eq!(address.to_string(), "sf/find#1");
    assert!(source.source_error().unwrap().downcast_ref::<NoOrder>().is_some());
    let chain: Vec<String> = std::iter::successors(Some(&failure as &dyn std::error::Error), |e| e.source())
        .map(ToString::to_string)
        .collect();
    assert!(chain.iter().any(|text| text == "no such order"), "{chain:?}");
    assert!(failure.report().snapshot().subflow_results.contains_key("sf"));
}

/// Proves ENG-36: mapper failures fail the mount by side and name; the inner record is kept.
#[tokio::test]
async fn mapper_failures() {
    let inner = build(Chart::builder(mark("in")));
    let refuse = |side| {
        move |report: &footprint::report::RunReport| match report.error() {
            Some(RunError::Mapper { side: found, mount, .. }) => {
                assert_eq!((*found, mount.to_string().as_str()), (side, "sf#0"));
            }
            other => panic!("{other:?}"),
        }
    };
    let chart = build(Chart::builder(Mount::of("sf", &inner).input(|_| Err(StageError::new("no")))));
    let (report, lines) = told(&chart, RunOptions::new()).await;
    refuse(MapperSide::Input)(&report);
    assert_eq!(lines[1..], ["commit sf#0", "flow_error sf#0", "run_failed __root__#0"]);
    let errors = &report.snapshot().execution_tree.iter().next().unwrap().1.errors;
    assert_eq!(errors.get("inputMapperError"), Some(&value!("no")));

    let chart = build(Chart::builder(Mount::of("sf", &inner).output(|_| Err(StageError::new("no")))));
    let (report, lines) = told(&chart, RunOptions::new()).await;
    refuse(MapperSide::Output)(&report);
    assert_eq!(
        lines[lines.len() - 4..],
        ["subflow_exit sf#0", "commit sf#0", "flow_error sf#0", "run_failed __root__#0"]
    );
    let errors = &report.snapshot().execution_tree.iter().next().unwrap().1.errors;
    assert_eq!(errors.get("outputMapperError"), Some(&value!("no")));
    assert_eq!(report.snapshot().subflow_results["sf#0"].tree_context.history.len(), 1);
}

/// Proves ENG-63, ENG-30, ENG-31: mappers cannot bring in keys state cannot hold.
#[tokio::test]
async fn mapped_reserved_keys_are_refused() {
    let inner = build(Chart::builder(idle("in")));
    for key in ["runs", "__proto__", "a\u{1f}b", ""] {
        let mapped: Object = [(key, value!(1))].into_iter().collect();
        let chart = build(Chart::builder(Mount::of("sf", &inner).input(move |_| Ok(mapped.clone()))));
        let report = chart.run(RunOptions::new()).await;
        assert!(matches!(report.error(), Some(RunError::Mapper { side: MapperSide::Input, .. })), "{key:?}");
    }
}

/// Proves ENG-102, ENG-118, OBS-102, OBS-108.
#[tokio::test]
async fn branches_that_do_not_exist() {
    let decider = Decider::new("d", |_: Scope| async { Ok("ghost") }).branch(idle("a"));
    let report = build(Chart::builder(decider)).run(RunOptions::new()).await;
    let Some(RunError::UnknownBranch { decider, returned, available }) = report.error() else { panic!() };
    assert_eq!((decider.to_string().as_str(), returned.as_str(), available.len()), ("d#0", "ghost", 1));
    let errors = &report.snapshot().execution_tree.iter().next().unwrap().1.errors;
    assert!(errors.contains_key("deciderError"));

    // `default` picks the declared default; an unknown id falls back to it, under its own id.
    for answer in ["default", "ghost"] {
        let decider = Decider::new("d", move |_: Scope| async move { Ok(answer) })
            .branch(idle("a"))
            .branch(mark("b"))
            .default_branch("b");
        let report = build(Chart::builder(decider)).run(RunOptions::new()).await;
        assert_eq!(commits(&report), ["d#0 []", "b#1 [b set]"]);
    }

    for answer in [vec!["a", "ghost"], vec!["a", "a"]] {
        let selector = Selector::new("s", move |_: Scope| {
            let answer = answer.clone();
            async move { Ok(answer) }
        })
        .branch(idle("a"));
        let report = build(Chart::builder(selector)).run(RunOptions::new()).await;
        assert!(
            matches!(report.error(), Some(RunError::UnknownSelection { offenders, .. }) if offenders.len() == 1)
        );
    }
    let none = Selector::new("s", |_: Scope| async { Ok(Vec::<&str>::new()) }).branch(idle("a"));
    let report = build(Chart::builder(none).then(mark("after"))).run(RunOptions::new()).await;
    assert_eq!(commits(&report), ["s#0 []", "after#1 [after set]"]);
}

/// Proves ENG-58, ENG-114: an input that does not fit is refused before anything happens, an absent one too.
#[tokio::test]
async fn contracts() {
    use footprint::chart::Contract;
    let contract = Contract::new()
        .input_schema(value!({ "type": "object", "required": ["amount"] }))
        .mapper(|view| Ok(view.value("fee").unwrap_or_default()));
    let chart = build(
        Chart::builder(Stage::new("calc", |scope: Scope| async move { Ok(scope.set_value("fee", 6)?) }))
            .contract(contract),
    );
    for options in [RunOptions::new(), RunOptions::new().input(value!({ "other": 1 }))] {
        let (report, told) = told(&chart, options).await;
        assert!(matches!(report.error(), Some(RunError::InputInvalid(_))));
        assert!(told.is_empty());
        assert!(report.snapshot().commit_log.is_empty());
    }
    let report = chart.run(RunOptions::new().input(value!({ "amount": 1 }))).await;
    assert_eq!(report.output().unwrap(), value!(6));
}

/// Proves ENG-154 (refusals of options), OBS-40, OBS-120, OBS-121.
#[tokio::test]
async fn options_that_cannot_work() {
    use footprint::observe::{Interest, ObserverQueueConfig};
    use footprint::walk::OptionsError;
    struct Blind;
    impl Recorder for Blind {
        fn id(&self) -> &str {
            "blind"
        }
        fn interest(&self) -> Interest {
            Interest::NONE
        }
    }
    let chart = build(Chart::builder(idle("a")));
    let refused = |options: RunOptions| {
        let run = chart.run(options);
        async move {
            match run.await.outcome() {
                Outcome::Failed(RunError::Options(error)) => error.clone(),
                other => panic!("{other:?}"),
            }
        }
    };
    assert_eq!(
        refused(RunOptions::new().max_depth(0)).await,
        OptionsError::LimitTooSmall { option: "max_depth" }
    );
    assert_eq!(
        refused(RunOptions::new().max_iterations(0)).await,
        OptionsError::LimitTooSmall { option: "max_iterations" }
    );
    assert_eq!(
        refused(RunOptions::new().observe(Arc::new(Blind))).await,
        OptionsError::RecorderObservesNothing { id: "blind".into() }
    );
    assert_eq!(
        refused(RunOptions::new().observer_queue(ObserverQueueConfig::default())).await,
        OptionsError::QueueOptionsWithoutDeferred
    );
    let zero = ObserverQueueConfig { max_queue: 0, ..ObserverQueueConfig::default() };
    assert!(matches!(
        refused(RunOptions::new().observer_queue(zero)).await,
        OptionsError::InvalidQueueOption(_)
    ));
}
