//! Questions to a log of 100 000 commits, each of which pushed one item and read what the one before wrote.
//!
//! The log is recorded once and shared by every run: what is counted is the index and the answers, not the recording.

use std::cell::RefCell;
use std::time::Instant;

use footprint::chart::{Chart, Stage};
use footprint::error::StageError;
use footprint::ids::CommitIdx;
use footprint::prelude::TraceQuery;
use footprint::query::{SliceOptions, StateKey};
use footprint::scope::Scope;
use footprint::snapshot::Snapshot;
use footprint::state::{CommitValues, Key, ListKey, WriteProvenance};
use footprint::walk::RunOptions;

use super::Workload;
use crate::{Held, Sample};

const COMMITS: usize = 100_000;
const PASS: Key<u64> = Key::new("pass");
const LIST: ListKey<u64> = ListKey::new("list");

pub(super) fn workloads() -> Vec<Workload> {
    vec![
        Workload { name: "index-100000", steps: COMMITS, payload_bytes: 0, run: |_| Box::pin(index()) },
        Workload { name: "causal-chain", steps: 100, payload_bytes: 0, run: |n| Box::pin(chains(n)) },
        Workload { name: "variable-slice", steps: 100, payload_bytes: 0, run: |n| Box::pin(slices(n)) },
        Workload { name: "element-birth", steps: 100, payload_bytes: 0, run: |n| Box::pin(births(n)) },
    ]
}

thread_local! {
    static RECORDED: RefCell<Option<Snapshot>> = const { RefCell::new(None) };
}

async fn recorded() -> Result<Snapshot, String> {
    if let Some(known) = RECORDED.with_borrow(Clone::clone) {
        return Ok(known);
    }
    let made = record().await?;
    RECORDED.set(Some(made.clone()));
    Ok(made)
}

async fn record() -> Result<Snapshot, String> {
    let stage = Stage::new("step", |s: Scope| async move {
        let pass = s.try_get(PASS)?.map_or(0, |pass| *pass) + 1;
        s.set(PASS, pass)?;
        s.push(LIST, pass)?;
        if pass >= COMMITS as u64 {
            s.stop("recorded")?;
        }
        Ok::<_, StageError>(())
    });
    let chart = Chart::builder(stage).loop_to("step").build().map_err(|errors| errors.to_string())?;
    let options = RunOptions::new()
        .max_iterations(COMMITS as u64)
        .commit_values(CommitValues::Delta)
        .write_provenance(WriteProvenance::ReadsPrefix);
    let snapshot = chart.run(options).await.snapshot().clone();
    match snapshot.commit_log.len() {
        COMMITS => Ok(snapshot),
        made => Err(format!("{made} commits of {COMMITS}")),
    }
}

fn key(name: &str) -> Result<StateKey, String> {
    StateKey::key(name).map_err(|error| error.to_string())
}

/// The first question, which builds the index: what led to the last step.
async fn index() -> Result<Sample, String> {
    let snapshot = recorded().await?;
    let last = snapshot.commit_log.last().map(|bundle| bundle.runtime_stage_id.clone()).ok_or("no commit")?;
    let started = Instant::now();
    let query = TraceQuery::new(snapshot);
    let chain = query.root().causal_chain(&last, &SliceOptions::default()).map_err(|e| e.to_string())?;
    let total_ms = started.elapsed().as_secs_f64() * 1000.0;
    if chain.len() > 1 {
        Ok(Sample { total_ms, windows_us: None, kept: Box::new(Held(query)) })
    } else {
        Err("the last step has no cause".to_owned())
    }
}

async fn warm() -> Result<TraceQuery, String> {
    let query = TraceQuery::new(recorded().await?);
    query.root().last_writer(&key("pass")?, None).ok_or("nobody wrote")?;
    Ok(query)
}

fn asked(
    query: TraceQuery,
    times: usize,
    mut ask: impl FnMut(&TraceQuery, usize) -> Result<bool, String>,
) -> Result<Sample, String> {
    let started = Instant::now();
    for round in 0..times {
        // A commit from another part of the log each time.
        if !ask(&query, (round + 1) * (COMMITS / (times + 1)))? {
            return Err(format!("no answer in round {round}"));
        }
    }
    let total_ms = started.elapsed().as_secs_f64() * 1000.0;
    Ok(Sample { total_ms, windows_us: None, kept: Box::new(Held(query)) })
}

async fn chains(times: usize) -> Result<Sample, String> {
    let query = warm().await?;
    asked(query, times, |query, at| {
        let step =
            query.root().log().get(at).map(|bundle| bundle.runtime_stage_id.clone()).ok_or("no commit")?;
        let chain = query.root().causal_chain(&step, &SliceOptions::default()).map_err(|e| e.to_string())?;
        Ok(chain.len() > 1)
    })
}

async fn slices(times: usize) -> Result<Sample, String> {
    let (query, pass) = (warm().await?, key("pass")?);
    asked(query, times, |query, at| {
        let before = Some(CommitIdx(at));
        let slice =
            query.root().slice_for_key(&pass, before, &SliceOptions::for_key()).map_err(|e| e.to_string())?;
        Ok(slice.slice.is_some())
    })
}

async fn births(times: usize) -> Result<Sample, String> {
    let (query, list) = (warm().await?, key("list")?);
    asked(query, times, |query, at| {
        Ok(query.root().element_birth(&list, at, None).is_some_and(|birth| birth.born.is_some()))
    })
}
