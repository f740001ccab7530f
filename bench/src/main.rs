//! Our side of the benchmarks: each workload prints one JSON object per line, in the form the peers print too:
//! `{"workload", "steps", "totalMs", "perStepUs", "heapBytesPerStep", "allocationsPerStep", "windowsUs": [first, last]}`.
//!
//! Run it through `cargo xtask bench`, which builds it optimised, runs the peers and prints the ratios.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::alloc::System;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

mod agent;
mod engine;
mod model_server;
mod parse;
mod recording;

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The longest of the repetitions is warm-up; the best of the rest counts.
const REPETITIONS: usize = 5;

/// One timed execution of a workload.
pub struct Sample {
    /// Time of the run alone, without building the chart.
    pub total_ms: f64,
    /// Cost of a step among the first and among the last tenth of the run, in µs.
    pub windows_us: Option<[f64; 2]>,
    /// What must stay alive while retained memory is read.
    pub kept: Box<dyn Kept>,
}

/// What a run leaves. Looking at it may build more of it, so it is checked after its memory was read.
pub trait Kept {
    /// Whether it is what was asked for.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Kept as it is.
pub struct Held<T>(pub T);

impl<T> Kept for Held<T> {}

fn main() -> ExitCode {
    let only = std::env::args().nth(1);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    for workload in engine::workloads().into_iter().chain(agent::workloads()) {
        if only.as_deref().is_some_and(|only| !workload.name.contains(only)) {
            continue;
        }
        match runtime.block_on(measure(&workload)) {
            Ok(row) => println!("{row}"),
            Err(error) => {
                eprintln!("{}: {error}", workload.name);
                return ExitCode::FAILURE;
            }
        }
    }
    match runtime.block_on(recording::rows(only.as_deref())) {
        Ok(rows) => rows.iter().for_each(|row| println!("{row}")),
        Err(error) => {
            eprintln!("recording: {error}");
            return ExitCode::FAILURE;
        }
    }
    match runtime.block_on(parse::rows(only.as_deref())) {
        Ok(rows) => rows.iter().for_each(|row| println!("{row}")),
        Err(error) => {
            eprintln!("parse: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

async fn measure(workload: &engine::Workload) -> Result<Value, String> {
    let mut best: Option<Sample> = None;
    for _ in 0..REPETITIONS {
        let sample = (workload.run)(workload.steps).await?;
        if best.as_ref().is_none_or(|best| sample.total_ms < best.total_ms) {
            best = Some(sample);
        }
    }
    let windows = best.as_ref().and_then(|best| best.windows_us);
    let total_ms = best.map(|best| best.total_ms).unwrap_or_default();
    let region = Region::new(HEAP);
    let started = Instant::now();
    let sample = (workload.run)(workload.steps).await?;
    let counted_ms = started.elapsed().as_secs_f64() * 1000.0;
    let change = region.change();
    sample.kept.check()?;
    let steps = workload.steps as f64;
    let retained = change.bytes_allocated as f64 - change.bytes_deallocated as f64;
    let mut row = json!({
        "workload": workload.name,
        "steps": workload.steps,
        "totalMs": total_ms,
        "perStepUs": total_ms * 1000.0 / steps,
        "countedMs": counted_ms,
        "heapBytesPerStep": retained / steps,
        "payloadBytesPerStep": workload.payload_bytes,
        "allocationsPerStep": change.allocations as f64 / steps,
    });
    if let (Some(windows), Some(row)) = (windows, row.as_object_mut()) {
        row.insert("windowsUs".to_owned(), json!(windows));
    }
    Ok(row)
}
