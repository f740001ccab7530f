//! The records of walks inside tools: bounded, the least recently used goes first (TOOL-79).

use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;

use footprint::report::{Outcome, RunReport};
use footprint::snapshot::Snapshot;
use footprint::structure::Structure;
use footprint::value::Str;

use crate::run::lock;
use crate::tools::context::ToolContext;

/// How a walk inside a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InnerOutcome {
    /// It came to its end.
    Ok,
    /// It failed.
    Error,
    /// It paused.
    Paused,
}

/// The record of one walk inside a tool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InnerRunRecord {
    /// The call.
    pub tool_call_id: Str,
    /// The tool.
    pub tool_name: Str,
    /// How it ended.
    pub outcome: InnerOutcome,
    /// How many visits it has.
    pub steps: usize,
    /// The record itself; with a redaction policy its redacted mirror.
    pub snapshot: Snapshot,
    /// The structure with what the walk discovered.
    pub structure: Structure,
    /// The walk in words.
    pub narrative: Vec<String>,
    /// What went wrong, when something did.
    pub problem: Option<String>,
}

struct Kept {
    turn_id: Option<Str>,
    record: InnerRunRecord,
}

/// Keeps the records of one tool. It rides the tool as an extension.
pub struct InnerRunStore {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Least recently used first.
    kept: VecDeque<Kept>,
    dropped: u64,
}

impl InnerRunStore {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), state: Mutex::default() }
    }

    /// The record of a call. Calls of different turns may have one id, so the turn is part of the question; reading refreshes.
    pub fn get(&self, turn_id: Option<&str>, tool_call_id: &str) -> Option<InnerRunRecord> {
        let mut state = lock(&self.state);
        let at = state.kept.iter().position(|kept| {
            kept.turn_id.as_deref() == turn_id && &*kept.record.tool_call_id == tool_call_id
        })?;
        let kept = state.kept.remove(at)?;
        let record = kept.record.clone();
        state.kept.push_back(kept);
        Some(record)
    }

    /// How many records are kept.
    pub fn len(&self) -> usize {
        lock(&self.state).kept.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many were dropped to keep the bound.
    pub fn dropped(&self) -> u64 {
        lock(&self.state).dropped
    }

    pub(super) fn file(&self, ctx: &ToolContext, report: &RunReport, redacted: bool) {
        let snapshot = if redacted { report.snapshot_redacted() } else { report.snapshot() }.clone();
        let (outcome, problem) = match report.outcome() {
            Outcome::Completed(_) => (InnerOutcome::Ok, None),
            Outcome::Paused(_) => (InnerOutcome::Paused, None),
            Outcome::Failed(error) => (InnerOutcome::Error, Some(error.to_string())),
            _ => (InnerOutcome::Error, Some("the walk ended in an unknown way".to_owned())),
        };
        let record = InnerRunRecord {
            tool_call_id: ctx.tool_call_id().into(),
            tool_name: ctx.tool_name().into(),
            outcome,
            steps: snapshot.commit_log.len(),
            structure: report.runtime_structure(),
            narrative: report.narrative_entries().into_iter().map(|entry| entry.text).collect(),
            snapshot,
            problem,
        };
        let mut state = lock(&self.state);
        state.kept.push_back(Kept { turn_id: ctx.turn_id().map(Into::into), record });
        while state.kept.len() > self.limit {
            state.kept.pop_front();
            state.dropped += 1;
        }
    }
}

impl fmt::Debug for InnerRunStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InnerRunStore").field("kept", &self.len()).field("dropped", &self.dropped()).finish()
    }
}
