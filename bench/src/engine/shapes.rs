//! Other shapes of charts: a wide for-each, deep mounts, stages that read much state, and a pause through JSON.

use std::time::Instant;

use footprint::chart::{Chart, ForEach, Mount, Stage, Step};
use footprint::error::StageError;
use footprint::pause::FlowchartCheckpoint;
use footprint::report::Outcome;
use footprint::scope::Scope;
use footprint::state::Key;
use footprint::walk::RunOptions;

use super::Workload;
use crate::{Held, Sample};

const BIG: Key<Vec<String>> = Key::new("big");

pub(super) fn workloads() -> Vec<Workload> {
    vec![
        Workload { name: "for-each-1000", steps: 1_000, payload_bytes: 0, run: |n| Box::pin(for_each(n)) },
        Workload { name: "mounts-50", steps: 50, payload_bytes: 0, run: |n| Box::pin(mounts(n)) },
        Workload { name: "read-1mb", steps: 1_000, payload_bytes: 0, run: |n| Box::pin(read_heavy(n)) },
        Workload { name: "pause-resume", steps: 200, payload_bytes: 0, run: |n| Box::pin(pauses(n)) },
    ]
}

fn built(builder: footprint::chart::ChartBuilder) -> Result<Chart, String> {
    builder.build().map_err(|errors| errors.to_string())
}

fn writes(id: String) -> Stage {
    Stage::new(id, |s: Scope| async move {
        s.set_value("n", 1)?;
        Ok(())
    })
}

async fn timed(chart: &Chart, options: RunOptions) -> Result<Sample, String> {
    let started = Instant::now();
    let report = chart.run(options).await;
    let total_ms = started.elapsed().as_secs_f64() * 1000.0;
    match report.outcome() {
        Outcome::Completed(_) => Ok(Sample { total_ms, windows_us: None, kept: Box::new(Held(report)) }),
        other => Err(format!("the run did not complete: {other:?}")),
    }
}

/// One branch per item, each a chart of one writing stage.
async fn for_each(items: usize) -> Result<Sample, String> {
    let branch = built(Chart::builder(writes("work".to_owned())))?;
    let each = ForEach::new(
        "each",
        move |_: Scope| Ok((0..items).collect::<Vec<usize>>()),
        move |_: &usize, _| branch.clone(),
    );
    let chart = built(Chart::builder(each.max_branches(items).into("results")))?;
    timed(&chart, RunOptions::new()).await
}

/// Charts mounted in one another.
async fn mounts(depth: usize) -> Result<Sample, String> {
    let mut chart = built(Chart::builder(writes("in".to_owned())))?;
    for level in 0..depth {
        let mount = Mount::of(format!("sf{level}"), &chart).output_keys([("n", "n")]);
        chart = built(Chart::builder(writes("before".to_owned())).mount(mount))?;
    }
    timed(&chart, RunOptions::new()).await
}

/// Each pass reads 1 MB of state, typed, and writes one number.
async fn read_heavy(passes: usize) -> Result<Sample, String> {
    let last = passes as i64;
    let chart = built(
        Chart::builder(Stage::new("seed", |s: Scope| async move {
            s.set(BIG, vec!["x".repeat(1_024); 1_024])?;
            Ok(())
        }))
        .then(Stage::new("read", move |s: Scope| async move {
            let big = s.get(BIG)?;
            let pass = s.value("pass")?.and_then(|n| n.as_i64()).unwrap_or_default() + 1;
            s.set_value("pass", pass + i64::from(big.is_empty()))?;
            if pass >= last {
                s.stop("read")?;
            }
            Ok::<_, StageError>(())
        }))
        .loop_to("read"),
    )?;
    timed(&chart, RunOptions::new().max_iterations(passes as u64 + 10)).await
}

/// Runs to a question, stores the checkpoint as text, and goes on from the text.
async fn pauses(rounds: usize) -> Result<Sample, String> {
    let ask = Stage::pausable(
        "ask",
        |_: Scope| async { Ok(Step::Pause("?")) },
        |s: Scope, answer: i64| async move { Ok(s.set_value("answer", answer)?) },
    );
    let chart = built(Chart::builder(writes("first".to_owned())).then(ask).then(writes("last".to_owned())))?;
    let started = Instant::now();
    let mut kept = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let report = chart.run(RunOptions::new()).await;
        let text = report.paused().ok_or("no pause")?.checkpoint().to_json();
        let checkpoint = FlowchartCheckpoint::from_json(&text).map_err(|error| error.to_string())?;
        let resumed =
            chart.resume(checkpoint, 7, RunOptions::new()).map_err(|error| error.to_string())?.await;
        if resumed.error().is_some() || resumed.paused().is_some() {
            return Err("the resumed leg did not complete".to_owned());
        }
        kept.push(resumed);
    }
    let total_ms = started.elapsed().as_secs_f64() * 1000.0;
    Ok(Sample { total_ms, windows_us: None, kept: Box::new(Held(kept)) })
}
