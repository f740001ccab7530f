//! Many runs of one chart at once.

use std::sync::Arc;
use std::time::Duration;

use footprint::chart::{Branch, Chart, Decider, FanOut, Mount, Stage, Step};
use footprint::report::Outcome;
use footprint::scope::Scope;
use footprint::value;
use footprint::value::Value;
use footprint::walk::RunOptions;

use super::support::*;

fn busy_chart() -> Chart {
    let add = |id: &'static str| {
        Stage::new(id, |scope: Scope| async move {
            tokio::task::yield_now().await;
            let seed = scope.value("seed")?.and_then(|v| v.as_i64()).unwrap_or(0);
            let n = scope.value("n")?.and_then(|v| v.as_i64()).unwrap_or(0);
            Ok(scope.set_value("n", n + seed)?)
        })
    };
    let inner = build(Chart::builder(Stage::new("in", |scope: Scope| async move {
        tokio::time::sleep(Duration::from_micros(200)).await;
        let seed = scope.args::<Value>()?["seed"].as_i64().unwrap_or(0);
        Ok(scope.set_value("out", seed * 100)?)
    })));
    let check = Decider::new("check", |scope: Scope| async move {
        let seed = scope.value("seed")?.and_then(|v| v.as_i64()).unwrap_or(0);
        let n = scope.value("n")?.and_then(|v| v.as_i64()).unwrap_or(0);
        Ok(if n < seed * 5 { "again" } else { "go" })
    })
    .branch(Branch::stage(idle("again")).loop_to("add"))
    .branch(idle("go"));
    let ask = Stage::pausable(
        "ask",
        |scope: Scope| async move {
            let seed = scope.value("seed")?.and_then(|v| v.as_i64()).unwrap_or(0);
            Ok(if seed % 3 == 0 { Step::Pause(seed) } else { Step::Continue })
        },
        |scope: Scope, answer: Value| async move { Ok(scope.set_value("answer", answer)?) },
    );
    let seed = Stage::new("seed", |scope: Scope| async move {
        let seed = scope.args::<Value>()?["seed_value"].clone();
        Ok(scope.set_value("seed", seed)?)
    });
    build(
        Chart::builder(seed)
            .then(add("add"))
            .decide(check)
            .mount(Mount::of("sf", &inner).input_keys([("seed", "seed")]).output_keys([("out", "out")]))
            .then(idle("before-fork"))
            .fork([add("left"), add("right")], FanOut::AllSettled)
            .then(ask),
    )
}

/// Proves ENG-1, ENG-8, ENG-154 and acceptance item 4 of ENG §15: 64 concurrent runs, with cancellations and
/// pauses mixed in, leave the records they leave alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_runs() {
    let chart = busy_chart();
    let mut alone = Vec::new();
    for seed in 0..64i64 {
        let report = chart.run(RunOptions::new().input(value!({ "seed_value": seed }))).await;
        alone.push((commits(&report), state(&report)));
    }
    let mut running = Vec::new();
    for seed in 0..64i64 {
        let run = chart.run(RunOptions::new().input(value!({ "seed_value": seed })));
        let handle = run.handle();
        running.push((seed, handle, tokio::spawn(run)));
    }
    for (seed, handle, _) in &running {
        if seed % 7 == 0 {
            handle.cancel("mixed in");
        }
    }
    for (seed, _, run) in running {
        let report = run.await.unwrap();
        assert_folds(&report);
        if matches!(report.outcome(), Outcome::Failed(_)) {
            assert_eq!(seed % 7, 0);
            continue;
        }
        let (expected_commits, expected_state) = &alone[seed as usize];
        assert_eq!(state(&report), *expected_state);
        let sorted = |list: &[String]| {
            let mut list = list.to_vec();
            list.sort();
            list
        };
        assert_eq!(sorted(&commits(&report)), sorted(expected_commits));
        if let Some(paused) = report.paused() {
            let report = paused.resume(seed * 2).unwrap().await;
            assert_eq!(state(&report)["answer"], value!(seed * 2));
        }
    }
}

/// Proves ENG-69, ENG-143: frames are gone after the run; a snapshot taken mid-run does not grow.
#[tokio::test]
async fn nothing_is_kept_alive_and_snapshots_are_frozen() {
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let chart = build(
        Chart::builder(Stage::new("a", move |scope: Scope| {
            let held = Arc::clone(&held);
            async move {
                tokio::task::yield_now().await;
                scope.set_value("a", 1)?;
                drop(held);
                Ok(())
            }
        }))
        .then(mark("b")),
    );
    let run = chart.run(RunOptions::new().extend(Arc::clone(&alive)));
    let handle = run.handle();
    let mut run = Box::pin(run);
    let first = futures_poll(run.as_mut());
    assert!(first.is_none());
    let frozen = handle.snapshot();
    assert_eq!((frozen.commit_log.len(), frozen.execution_tree.len()), (0, 1));
    let report = run.await;
    assert_eq!((frozen.commit_log.len(), frozen.execution_tree.len()), (0, 1));
    assert_eq!(report.snapshot().commit_log.len(), 2);
    drop((report, handle, chart));
    assert_eq!(Arc::strong_count(&alive), 1);
}

fn futures_poll<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

/// Proves ENG-140, ENG-14: with a fixed clock and fixed ids, two runs leave the same bytes.
#[tokio::test]
async fn records_are_reproducible() {
    use footprint::clock::ManualClock;
    use footprint::ids::CountedRunIds;
    let record = || async {
        let clock = Arc::new(ManualClock::at(1_000));
        let options = RunOptions::new()
            .clock(clock.clone())
            .run_ids(Arc::new(CountedRunIds::new(clock)))
            .label("turn-1")
            .input(value!({ "seed_value": 2 }));
        let report = busy_chart().run(options).await;
        report.snapshot().to_json()
    };
    let first = record().await;
    assert_eq!(first, record().await);
    assert!(first.contains(r#""runId":"1000-0000000000""#) && first.contains(r#""runLabel":"turn-1""#));
}
