//! Limits and long walks, on a 2 MiB stack in a debug build.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use footprint::chart::{Branch, Chart, Decider, FanOut, Mount, Stage};
use footprint::error::RunError;
use footprint::report::RunReport;
use footprint::scope::Scope;
use footprint::value;
use footprint::walk::RunOptions;

use super::support::*;

/// Polls to the end without any runtime.
fn block_on(run: impl Future<Output = RunReport>) -> RunReport {
    let mut run = pin!(run);
    loop {
        if let Poll::Ready(report) = run.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return report;
        }
    }
}

/// Runs on a thread with a 2 MiB stack.
fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(test).unwrap().join().unwrap();
}

fn counting(id: &'static str) -> Stage {
    Stage::new(id, |scope: Scope| async move {
        let n = scope.value("n")?.and_then(|n| n.as_i64()).unwrap_or(0);
        Ok(scope.set_value("n", n + 1)?)
    })
}

/// Proves ENG-113, ENG-118, ENG-6: limit + 1 visits, the record stays, revisits carry their pass in the name.
#[tokio::test]
async fn loop_limit() {
    let chart = build(Chart::builder(counting("spin")).loop_to("spin"));
    let report = chart.run(RunOptions::new().max_iterations(3)).await;
    assert!(
        matches!(report.error(), Some(RunError::LoopLimit { target, limit: 3, .. }) if &**target == "spin")
    );
    assert_eq!(state(&report), value!({ "n": 4 }));
    let names: Vec<_> = report.snapshot().commit_log.iter().map(|b| b.stage.to_string()).collect();
    assert_eq!(names, ["spin", "spin", "spin.1", "spin.2"]);
    let frames: Vec<_> = report.snapshot().execution_tree.iter().map(|(_, f)| f.clone()).collect();
    assert_eq!(frames[1].logs.get("dynamicNextIteration"), Some(&value!(1)));
    assert_eq!(frames[3].logs.get("dynamicNextTarget"), None);
    assert_eq!(report.runtime_structure().node_count(), chart.structure().node_count());
}

/// Proves ENG-113: counters start anew on each entry of a mount.
#[tokio::test]
async fn loop_limits_are_per_level_entry() {
    let spin = Stage::new("spin", |scope: Scope| async move {
        let n = scope.value("n")?.and_then(|n| n.as_i64()).unwrap_or(0) + 1;
        scope.set_value("n", n)?;
        if n == 4 {
            scope.stop("enough")?;
        }
        Ok(())
    });
    let inner = build(Chart::builder(spin).loop_to("spin"));
    let chart = build(Chart::builder(Mount::of("one", &inner)).mount(Mount::of("two", &inner)));
    completed(&chart.run(RunOptions::new().max_iterations(3)).await);
}

/// Proves ENG-97, ENG-48: 100 000 passes with flat stack, tree and log.
#[test]
fn a_hundred_thousand_passes() {
    on_small_stack(|| {
        let check = Decider::new("check", |scope: Scope| async move {
            let n = scope.value("n")?.and_then(|n| n.as_i64()).unwrap_or(0);
            Ok(if n < 50_000 { "again" } else { "done" })
        })
        .branch(Branch::stage(idle("again")).loop_to("work"))
        .branch(idle("done"));
        let chart = build(Chart::builder(counting("work")).decide(check).then(idle("after")));
        let report = block_on(chart.run(RunOptions::new().max_iterations(100_000)));
        assert_eq!(state(&report), value!({ "n": 50_000 }));
        assert_eq!(report.snapshot().commit_log.len(), 150_001);
        drop(report);
    });
}

/// Proves ENG-97, ENG-17: a chain of 50 000 stages.
#[test]
fn a_long_chain() {
    on_small_stack(|| {
        let mut builder = Chart::builder(idle("first"));
        for n in 0..50_000 {
            let id: &'static str = Box::leak(format!("s{n}").into_boxed_str());
            builder = builder.then(idle(id));
        }
        let chart = build(builder);
        let report = block_on(chart.run(RunOptions::new()));
        assert_eq!(report.snapshot().execution_tree.len(), 50_001);
        drop(report);
        drop(chart);
    });
}

fn nested(depth: usize) -> Chart {
    let mut chart = build(Chart::builder(counting("leaf")));
    for _ in 0..depth {
        chart = build(Chart::builder(Mount::of("m", &chart).output_keys([("n", "n")])));
    }
    chart
}

/// Proves ENG-98, ENG-97: 500 nested mounts run and merge back; one more is refused by name.
#[test]
fn deep_mounts() {
    on_small_stack(|| {
        let report = block_on(nested(500).run(RunOptions::new()));
        assert_eq!(state(&report), value!({ "n": 1 }));
        drop(report);
        let report = block_on(nested(501).run(RunOptions::new()));
        assert!(matches!(report.error(), Some(RunError::DepthExceeded { limit: 500, .. })));
        assert_eq!(report.snapshot().subflow_results.len(), 2 * 501);
    });
}

/// Proves ENG-98: a lazy chart that mounts itself stops at the limit.
#[test]
fn self_mounting() {
    on_small_stack(|| {
        fn again() -> Chart {
            Chart::builder(Mount::lazy("self", again)).build().unwrap()
        }
        let report = block_on(again().run(RunOptions::new().max_depth(100)));
        assert!(matches!(report.error(), Some(RunError::DepthExceeded { limit: 100, .. })));
    });
}

/// Proves ENG-98: fan-outs nest along a path without growing the stack.
#[test]
fn deep_fan_outs() {
    on_small_stack(|| {
        let mut chart = build(Chart::builder(counting("leaf")));
        for _ in 0..240 {
            chart = build(Chart::builder(idle("a")).fork([Mount::of("m", &chart)], FanOut::AllSettled));
        }
        let report = block_on(chart.run(RunOptions::new()));
        completed(&report);
        drop(report);
    });
}

/// Proves ENG-99: a chart that never awaits lets others run.
#[tokio::test(flavor = "current_thread")]
async fn pure_loops_yield() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let ticks = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&ticks);
    let ticking = tokio::spawn(async move {
        loop {
            counter.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let chart = build(Chart::builder(counting("spin")).loop_to("spin"));
    chart.run(RunOptions::new().max_iterations(1000)).await;
    ticking.abort();
    assert!(ticks.load(Ordering::Relaxed) >= 10, "{}", ticks.load(Ordering::Relaxed));
}
