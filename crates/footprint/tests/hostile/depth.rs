//! Values too deep for a reader must be refused where they enter a record, whichever door they come through.

use std::sync::Arc;

use footprint::chart::{Chart, FanOut, ForEach, Mount, Stage, Step};
use footprint::error::RunError;
use footprint::ids::RunId;
use footprint::observe::{Recorder, RecorderBundle};
use footprint::pause::{Ask, FlowchartCheckpoint};
use footprint::report::RunReport;
use footprint::scope::Scope;
use footprint::snapshot::{read_snapshot, write_snapshot};
use footprint::value;
use footprint::value::{Object, Value};
use footprint::walk::RunOptions;

use super::support::*;

fn deep(levels: usize) -> Value {
    (0..levels).fold(value!(1), |inside, _| Value::Array([inside].into_iter().collect()))
}

fn assert_readable(report: &RunReport) {
    let mut text = String::new();
    write_snapshot(report.snapshot(), &mut text);
    read_snapshot(text.as_bytes(), &Default::default()).unwrap();
}

/// Proves ENG-145, OBS-47: a row nobody could read back is left out and counted; it does not cost the record.
#[tokio::test]
async fn rows_of_recorders() {
    struct Rows(bool);
    impl Recorder for Rows {
        fn id(&self) -> &str {
            "rows"
        }
        fn snapshot(&self, _: &RunId) -> Option<RecorderBundle> {
            let (data, meta) = if self.0 { (deep(3000), None) } else { (value!(1), Some(deep(3000))) };
            let mut bundle = RecorderBundle::new("Rows", data);
            bundle.meta = meta;
            Some(bundle)
        }
    }
    for in_data in [true, false] {
        let report =
            build(Chart::builder(idle("a"))).run(RunOptions::new().observe(Arc::new(Rows(in_data)))).await;
        completed(&report);
        assert_readable(&report);
        assert!(report.snapshot().recorders.is_empty());
        let failures = &report.snapshot().recorder_failures;
        assert!(
            matches!(&failures[..], [row] if &*row.id == "rows" && &*row.hook == "snapshot"),
            "{failures:?}"
        );
    }
}

/// Proves ENG-164, ENG-145: state a run starts from is bounded as written state is, the branch namespaces of an
/// earlier run aside.
#[tokio::test]
async fn state_from_the_start() {
    let chart = build(Chart::builder(idle("a")));
    let state = |value: Value| -> Object { [(footprint::Str::from("k"), value)].into_iter().collect() };
    for options in [RunOptions::new().initial(state(deep(513))), RunOptions::new().defaults(state(deep(513)))]
    {
        let report = chart.run(options).await;
        let Some(RunError::Options(error)) = report.error() else { panic!("{:?}", report.outcome()) };
        assert!(error.to_string().contains("key `k`"), "{error}");
    }
    // What a branch may write, the next run may start from.
    let writes = Stage::new("k", |s: Scope| async move { Ok(s.set_value("v", deep(512))?) });
    let first =
        build(Chart::builder(idle("a")).fork([writes], FanOut::AllSettled)).run(RunOptions::new()).await;
    let second = chart.run(RunOptions::new().initial(first.state())).await;
    completed(&second);
    assert_readable(&second);
}

/// Proves ENG-134, ENG-164: a question that no checkpoint could hold is refused when it is asked, and an outcome
/// that would stand in one, in a list of results or in state is the error of its stage.
#[tokio::test]
async fn questions_and_results() {
    let asks = Stage::pausable(
        "q",
        |_: Scope| async { Ok(Step::Pause(deep(600))) },
        |_: Scope, _: Value| async { Ok(()) },
    );
    let interrupts = Stage::new("q", |s: Scope| async move {
        let _: Value = s.interrupt(Ask::new(deep(600))).await?;
        Ok(())
    });
    let returns = Stage::new("q", |_: Scope| async { Ok(deep(600)) });
    for stage in [asks, interrupts, returns.clone()] {
        let report = build(Chart::builder(stage)).run(RunOptions::new()).await;
        let Some(RunError::Stage { source, .. }) = report.error() else { panic!("{:?}", report.outcome()) };
        assert!(source.0.message().contains("512"), "{}", source.0.message());
        assert_readable(&report);
    }
    let inner = build(Chart::builder(returns.clone()));
    let branch = inner.clone();
    let each = ForEach::new("each", |_: Scope| Ok(vec![1_u8]), move |_: &u8, _| branch.clone());
    let report = build(Chart::builder(each.max_branches(1).into("out"))).run(RunOptions::new()).await;
    assert_eq!(completed(&report), Some(value!([null])));
    assert_readable(&report);
    let mapped = Mount::of("sf", &inner).output(|end| {
        Ok([(footprint::Str::from("x"), end.output.unwrap_or_default())].into_iter().collect())
    });
    assert!(build(Chart::builder(mapped)).run(RunOptions::new()).await.error().is_some());
    // Beside a question the results of settled siblings are kept.
    let asks = Stage::pausable(
        "ask",
        |_: Scope| async { Ok(Step::Pause("?")) },
        |_: Scope, _: Value| async { Ok(()) },
    );
    let fits = Stage::new("fits", |_: Scope| async { Ok(deep(512)) });
    let report = build(Chart::builder(idle("r")).fork([asks, returns, fits], FanOut::AllSettled))
        .run(RunOptions::new())
        .await;
    let text = report.paused().unwrap().checkpoint().to_json();
    assert_eq!(FlowchartCheckpoint::from_json(&text).unwrap().to_json(), text);
}
