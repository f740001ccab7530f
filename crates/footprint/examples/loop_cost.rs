//! What a long loop costs: one stage that reads a counter, writes it back, and loops to itself.
//!
//! ```text
//! cargo run --release -p footprint-engine --example loop_cost
//! ```
//!
//! Three questions, each answered with the best of several runs:
//!
//! 1. time per step of a counter loop, with the whole commit log kept and nobody observing;
//! 2. memory the process gains per silent visit (a stage that does nothing);
//! 3. whether appending to a growing list of 1 KB items costs the same at step 2 000 as at step 20.
//!
//! Allocations are counted by the test `walk_alloc`, so that no counting slows these figures down.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use footprint::chart::{Chart, Stage};
use footprint::report::RunReport;
use footprint::scope::Scope;
use footprint::state::{CommitValues, Key, ListKey};
use footprint::walk::RunOptions;

const COUNT: Key<u64> = Key::new("count");
const HISTORY: ListKey<String> = ListKey::new("history");

fn main() {
    counter_loop(10_000);
    silent_visits(200_000);
    history(CommitValues::Full, 2_000);
    history(CommitValues::Delta, 2_000);
}

fn counter_loop(steps: u64) {
    let chart = Chart::builder(Stage::new("seed", |scope: Scope| async move { Ok(scope.set(COUNT, 0u64)?) }))
        .then(Stage::new("step", move |scope: Scope| async move {
            let next = *scope.get(COUNT)? + 1;
            scope.set(COUNT, next)?;
            if next == steps {
                scope.stop("done")?;
            }
            Ok(())
        }))
        .loop_to("step")
        .build()
        .expect("a legal chart");
    let mut best = Duration::MAX;
    for _ in 0..15 {
        let run = chart.run(RunOptions::new().max_iterations(steps));
        let started = Instant::now();
        let report = block_on(run);
        best = best.min(started.elapsed());
        assert_eq!(report.snapshot().commit_log.len() as u64, steps + 1);
    }
    println!(
        "counter loop: {:.3} us per step ({steps} steps, best of 15)",
        best.as_secs_f64() * 1e6 / steps as f64
    );
}

fn silent_visits(steps: u64) {
    let passes = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&passes);
    let chart = Chart::builder(Stage::new("idle", move |scope: Scope| {
        let last = seen.fetch_add(1, Ordering::Relaxed) as u64 + 1 == steps;
        async move {
            if last {
                scope.stop("done")?;
            }
            Ok(())
        }
    }))
    .loop_to("idle")
    .build()
    .expect("a legal chart");
    let before = resident();
    let started = Instant::now();
    let report = block_on(chart.run(RunOptions::new().max_iterations(steps)));
    let took = started.elapsed();
    println!(
        "silent visit: {} bytes kept, {:.3} us per visit ({steps} visits)",
        resident().saturating_sub(before) / steps,
        took.as_secs_f64() * 1e6 / steps as f64
    );
    drop(report);
}

fn history(encoding: CommitValues, steps: usize) {
    let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let item = "x".repeat(1024);
    let clock = Arc::clone(&times);
    let chart = Chart::builder(Stage::new("append", move |scope: Scope| {
        let taken = {
            let mut times = clock.lock().expect("no panic holds it");
            times.push(Instant::now());
            times.len()
        };
        let item = item.clone();
        async move {
            scope.push(HISTORY, item)?;
            if taken == steps {
                scope.stop("done")?;
            }
            Ok(())
        }
    }))
    .loop_to("append")
    .build()
    .expect("a legal chart");
    let mut early = Vec::new();
    let mut late = Vec::new();
    for _ in 0..9 {
        times.lock().expect("no panic holds it").clear();
        let options = RunOptions::new().commit_values(encoding).max_iterations(steps as u64);
        drop(block_on(chart.run(options)));
        let times = times.lock().expect("no panic holds it");
        early.push(mean(&times, 20, 40));
        late.push(mean(&times, steps - 21, steps - 1));
    }
    early.sort();
    late.sort();
    println!(
        "history ({encoding}): step 20 {:?}, step {steps} {:?}",
        early.first().copied().unwrap_or_default(),
        late.first().copied().unwrap_or_default(),
    );
}

fn mean(times: &[Instant], from: usize, to: usize) -> Duration {
    match (times.get(from), times.get(to)) {
        (Some(a), Some(b)) => b.duration_since(*a) / (to - from) as u32,
        _ => Duration::ZERO,
    }
}

/// A loop that never waits needs no runtime: polling it is enough.
fn block_on(run: impl Future<Output = RunReport>) -> RunReport {
    let mut run = pin!(run);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(report) = run.as_mut().poll(&mut cx) {
            return report;
        }
    }
}

/// Memory of this process in bytes, where the system tells it.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}
