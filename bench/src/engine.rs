//! Workloads of the engine: a counting loop, a history that grows by one 1 KB item per step, and in the modules below
//! observers, other shapes of charts, and questions to a long log.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use footprint::chart::{Chart, Stage};
use footprint::error::StageError;
use footprint::report::Outcome;
use footprint::scope::Scope;
use footprint::state::{CommitValues, Key, ListKey};
use footprint::walk::RunOptions;

use crate::{Kept, Sample};

mod explain;
mod observed;
mod shapes;

const COUNT: Key<u64> = Key::new("count");
const HISTORY: ListKey<String> = ListKey::new("history");
const ITEM_BYTES: usize = 1024;

type Running = Pin<Box<dyn Future<Output = Result<Sample, String>>>>;

/// A named workload of a fixed length.
pub(crate) struct Workload {
    pub name: &'static str,
    pub steps: usize,
    /// Bytes of the caller's own data that a step adds to the state.
    pub payload_bytes: usize,
    pub run: fn(usize) -> Running,
}

/// Every engine workload.
pub(crate) fn workloads() -> Vec<Workload> {
    let append = |name, steps| Workload {
        name,
        steps,
        payload_bytes: ITEM_BYTES,
        run: |steps| Box::pin(append(steps)),
    };
    let mut all = vec![
        Workload { name: "loop-10000", steps: 10_000, payload_bytes: 0, run: |steps| Box::pin(count(steps)) },
        append("append-200", 200),
        append("append-500", 500),
        append("append-1000", 1_000),
        append("append-2000", 2_000),
        append("append-20000", 20_000),
    ];
    all.extend(observed::workloads());
    all.extend(shapes::workloads());
    all.extend(explain::workloads());
    all
}

/// One counter, read and written by the only stage of a loop; full commit log, no observer.
async fn count(steps: usize) -> Result<Sample, String> {
    count_with(steps, |options| options).await
}

async fn count_with(steps: usize, more: impl FnOnce(RunOptions) -> RunOptions) -> Result<Sample, String> {
    let last = steps as u64;
    let stage = Stage::new("count", move |scope: Scope| async move {
        let next = scope.try_get(COUNT)?.map_or(0, |count| *count) + 1;
        scope.set(COUNT, next)?;
        if next >= last {
            scope.stop("counted")?;
        }
        Ok::<_, StageError>(())
    });
    let chart = Chart::builder(stage).loop_to("count").build().map_err(|errors| errors.to_string())?;
    let options = more(RunOptions::new().max_iterations(steps as u64 + 10).commit_values(CommitValues::Full));
    let started = Instant::now();
    let report = chart.run(options).await;
    let total_ms = started.elapsed().as_secs_f64() * 1000.0;
    Ok(Sample { total_ms, windows_us: None, kept: Box::new(Walked { report, steps }) })
}

/// One item of 1 KB appended per step; the log holds what was appended.
async fn append(steps: usize) -> Result<Sample, String> {
    let stamps = Arc::new(Mutex::new(Vec::with_capacity(steps)));
    let seen = Arc::clone(&stamps);
    let item = "x".repeat(ITEM_BYTES);
    let stage = Stage::new("append", move |scope: Scope| {
        let (seen, item) = (Arc::clone(&seen), item.clone());
        async move {
            let passes = seen.lock().map_or(0, |mut stamps| {
                stamps.push(Instant::now());
                stamps.len()
            });
            scope.push(HISTORY, item)?;
            if passes >= steps {
                scope.stop("appended")?;
            }
            Ok::<_, StageError>(())
        }
    });
    let chart = Chart::builder(stage).loop_to("append").build().map_err(|errors| errors.to_string())?;
    let started = Instant::now();
    let report = chart
        .run(RunOptions::new().max_iterations(steps as u64 + 10).commit_values(CommitValues::Delta))
        .await;
    let total_ms = started.elapsed().as_secs_f64() * 1000.0;
    let windows_us = stamps.lock().ok().and_then(|stamps| windows(&stamps));
    Ok(Sample { total_ms, windows_us, kept: Box::new(Walked { report, steps }) })
}

/// A finished walk and the number of commits it must have made.
struct Walked {
    report: footprint::report::RunReport,
    steps: usize,
}

impl Kept for Walked {
    fn check(&self) -> Result<(), String> {
        let commits = self.report.snapshot().commit_log.len();
        match self.report.outcome() {
            Outcome::Completed(_) if commits == self.steps => Ok(()),
            _ => Err(format!("the run did not end as planned: {commits} commits of {}", self.steps)),
        }
    }
}

/// Mean cost of a step among the first and among the last tenth.
fn windows(stamps: &[Instant]) -> Option<[f64; 2]> {
    let width = (stamps.len() / 10).max(2);
    let mean = |part: &[Instant]| {
        let (first, last) = part.first().zip(part.last())?;
        Some(last.duration_since(*first).as_secs_f64() * 1e6 / (part.len() - 1) as f64)
    };
    Some([mean(stamps.get(..width)?)?, mean(stamps.get(stamps.len() - width..)?)?])
}
