//! What explaining costs: counted in allocations, so that the bounds hold on any machine (OBS-145, ENG-153).
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::alloc::System;
use std::sync::Arc;

use footprint::ids::{CommitIdx, ExecutionIndex, RuntimeStageId};
use footprint::query::{LogParts, LogView, SliceOptions, StateKey};
use footprint::snapshot::{CommitLog, ExecutionTree, FrameRecord, NodeId};
use footprint::state::{Bundle, Path, Row};
use footprint::value::{Object, Str, Value};
use footprint::verbs::Verb;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A log of `n` commits with three rows and ten reads each; one row appends to a growing list.
fn parts(n: u64) -> LogParts {
    let names: Vec<Str> = (0..40).map(|i| Str::from(format!("key{i}"))).collect();
    let pick = |i: u64| names[(i % 40) as usize].clone();
    let (stage, history) = (Str::from("stage"), Str::from("history"));
    let mut log = CommitLog::new();
    let mut tree = ExecutionTree::new();
    for i in 0..n {
        let id = RuntimeStageId::new(stage.clone(), ExecutionIndex(i));
        let mut bundle = Bundle::empty(CommitIdx(i as usize), stage.clone(), stage.clone(), id.clone());
        let verb = if i == 0 { Verb::Set } else { Verb::Append };
        bundle.rows = [
            Row::new(Path::key(pick(i * 7)), Verb::Set, Value::from(i)),
            Row::new(Path::key(pick(i * 7 + 13)), Verb::Set, Value::from(i)),
            Row::new(Path::key(history.clone()), verb, Value::from(vec![Value::from(i)])),
        ]
        .into();
        log.push(Arc::new(bundle));
        let mut frame = FrameRecord::new(stage.clone(), stage.clone(), id);
        frame.stage_reads = Some((0..10).map(|r| (pick(i * 3 + r * 5), Value::Null)).collect::<Object>());
        frame.next = (i + 1 < n).then(|| NodeId(i as u32 + 1));
        tree.push(frame);
    }
    LogParts { log, tree, initial: Some(Object::new()), ..LogParts::default() }
}

fn counted<R>(work: impl FnOnce() -> R) -> (f64, f64) {
    let region = Region::new(GLOBAL);
    let result = work();
    let change = region.change();
    drop(result);
    let bytes = change.bytes_allocated as f64 + change.bytes_reallocated.unsigned_abs() as f64;
    (change.allocations as f64 + change.reallocations as f64, bytes)
}

/// Proves OBS-144, OBS-145: the index grows with the log, what is asked of it does not.
#[test]
fn the_index_is_linear_and_questions_do_not_grow_with_the_log() {
    let key = StateKey::key("key3").unwrap();
    let history = StateKey::key("history").unwrap();
    let measure = |n: u64| {
        let view = LogView::new(parts(n));
        let build = counted(|| view.last_writer(&key, None));
        let start = RuntimeStageId::new("stage", ExecutionIndex(n - 1));
        let slice = counted(|| view.causal_chain(&start, &SliceOptions::default()).unwrap());
        let writer = counted(|| view.last_writer(&key, Some(CommitIdx(n as usize / 2))));
        let births = counted(|| view.element_birth(&history, 7, None));
        let birth = counted(|| view.element_birth(&history, n as usize / 2, None));
        let _warm = view.value_at(&history, CommitIdx(n as usize)).unwrap();
        let value = counted(|| view.value_at(&history, CommitIdx(n as usize - 1)).unwrap());
        (build, slice, writer, births, birth, value)
    };
    let (small, large) = (measure(5_000), measure(20_000));
    // Four times the log: at most six times the work to index it, and ~32 bytes a row plus a fixed part a step.
    assert!(large.0.1 / small.0.1 < 6.0, "{:?} {:?}", small.0, large.0);
    assert!(large.0.1 / 20_000.0 < 800.0, "bytes a commit: {}", large.0.1 / 20_000.0);
    // One fold the first time a list is asked about, then a binary search.
    assert!(large.3.0 / small.3.0 < 6.0);
    for (what, small, large) in [
        ("slice", small.1, large.1),
        ("last writer", small.2, large.2),
        ("element birth", small.4, large.4),
        ("value", small.5, large.5),
    ] {
        assert!(large.0 <= 1.2 * small.0 + 4.0, "{what}: {small:?} {large:?}");
    }
}
