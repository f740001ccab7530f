//! What a run allocates when nobody listens: counted, so that the bound holds on any machine.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::alloc::System;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use footprint::chart::{Chart, Mount, Stage};
use footprint::observe::{Delivery, EventCx, HookResult, Payload, Recorder};
use footprint::recorders::CombinedNarrative;
use footprint::report::RunReport;
use footprint::scope::Scope;
use footprint::state::{CommitValues, Key, ListKey};
use footprint::walk::RunOptions;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const COUNT: Key<u64> = Key::new("count");
const LIST: ListKey<u64> = ListKey::new("list");

fn block_on(run: impl Future<Output = RunReport>) -> RunReport {
    let mut run = pin!(run);
    loop {
        if let Poll::Ready(report) = run.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return report;
        }
    }
}

/// One test at a time: all allocations of the process are counted.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocations and kept bytes of one run, averaged over its last steps.
fn per_step(chart: &Chart, options: impl Fn(u64) -> RunOptions) -> (f64, f64) {
    let measure = |steps: u64| {
        let options = options(steps);
        let region = Region::new(GLOBAL);
        let report = block_on(chart.run(options));
        let change = region.change();
        let kept = change.bytes_allocated as f64 - change.bytes_deallocated as f64;
        drop(report);
        (change.allocations as f64, kept)
    };
    let (few, many) = (measure(1_000), measure(4_000));
    ((many.0 - few.0) / 3_000.0, (many.1 - few.1) / 3_000.0)
}

fn looping(stage: Stage) -> Chart {
    Chart::builder(stage).loop_to("step").build().unwrap()
}

/// Ends a loop after as many passes as the run's input says.
async fn stop_at(scope: &Scope, pass: u64) -> Result<(), footprint::error::StageError> {
    if scope.env().get::<u64>().is_some_and(|last| pass >= *last) {
        scope.stop_silently()?;
    }
    Ok(())
}

fn options(steps: u64) -> RunOptions {
    RunOptions::new().max_iterations(steps).extend(Arc::new(steps))
}

/// Proves ENG-146, ENG-147, ENG-148, ENG-149, OBS-42: a bounded number of allocations and bytes per visit with no
/// listener, whatever the length of the run; a growing list costs what is pushed.
#[test]
fn visits_without_listeners_are_cheap() {
    let _alone = alone();
    let silent = looping(Stage::new("step", |scope: Scope| async move {
        stop_at(&scope, scope.commit_count() as u64 + 1).await
    }));
    let (allocations, bytes) = per_step(&silent, options);
    println!("silent: {allocations:.2} allocations, {bytes:.0} bytes per visit");
    assert!(allocations <= 6.0, "{allocations}");
    assert!(bytes <= 512.0, "{bytes}");

    let counting = counting();
    let (allocations, bytes) = per_step(&counting, options);
    println!("counting: {allocations:.2} allocations, {bytes:.0} bytes per visit");
    assert!(allocations <= 14.0, "{allocations}");
    assert!(bytes <= 1024.0, "{bytes}");

    let pushing = looping(Stage::new("step", |scope: Scope| async move {
        let pass = scope.commit_count() as u64 + 1;
        scope.push(LIST, pass)?;
        stop_at(&scope, pass).await
    }));
    for encoding in [CommitValues::Full, CommitValues::Delta] {
        let (allocations, bytes) = per_step(&pushing, |steps| options(steps).commit_values(encoding));
        println!("pushing ({encoding}): {allocations:.2} allocations, {bytes:.0} bytes per visit");
        assert!(allocations <= 24.0, "{allocations}");
        assert!(bytes <= 2048.0, "{bytes}");
    }
}

/// A loop that reads and writes one number.
fn counting() -> Chart {
    looping(Stage::new("step", |scope: Scope| async move {
        let next = scope.try_get(COUNT)?.map_or(1, |count| *count + 1);
        scope.set(COUNT, next)?;
        stop_at(&scope, next).await
    }))
}

/// Hears everything and keeps nothing.
struct Deaf;

impl Recorder for Deaf {
    fn id(&self) -> &str {
        "deaf"
    }
    fn on_event(&self, _: &EventCx<'_>, _: &Payload) -> HookResult {
        Ok(())
    }
}

/// Proves OBS-8, OBS-43, OBS-123: what an event says is shared with what it is about, so telling seven events a visit
/// allocates next to nothing, at once or from the queue.
#[test]
fn events_are_shared_not_copied() {
    let _alone = alone();
    let chart = counting();
    for delivery in [Delivery::Inline, Delivery::Deferred] {
        let (allocations, _) =
            per_step(&chart, |steps| options(steps).observe_with(Arc::new(Deaf), delivery));
        println!("{delivery:?}: {allocations:.2} allocations per visit");
        assert!(allocations <= 12.0, "{delivery:?}: {allocations}");
    }
}

/// Proves ENG-149, OBS-78: the combined narrative keeps facts, and finds its words when it is read.
#[test]
fn a_story_is_cheap_until_it_is_read() {
    let _alone = alone();
    let chart = counting();
    let (allocations, bytes) =
        per_step(&chart, |steps| options(steps).observe(Arc::new(CombinedNarrative::new())));
    println!("narrative: {allocations:.2} allocations, {bytes:.0} bytes per visit");
    assert!(allocations <= 12.0, "{allocations}");
    assert!(bytes <= 1_536.0, "{bytes}");
}

/// Proves ENG-27, ENG-148: entering and leaving a mount costs a bounded number of allocations.
#[test]
fn mounts_are_cheap() {
    let _alone = alone();
    let inner = Chart::builder(Stage::new("in", |scope: Scope| async move { Ok(scope.set_value("n", 1)?) }));
    let mount = Mount::of("sf", &inner.build().unwrap()).output_keys([("n", "n")]);
    let stage = Stage::new("step", |scope: Scope| async move {
        stop_at(&scope, scope.commit_count() as u64 / 3 + 1).await
    });
    let chart = Chart::builder(stage).mount(mount).loop_to("step").build().unwrap();
    let (allocations, bytes) = per_step(&chart, options);
    println!("mount: {allocations:.2} allocations, {bytes:.0} bytes per pass");
    assert!(allocations <= 48.0, "{allocations}");
    assert!(bytes <= 4_608.0, "{bytes}");
}
