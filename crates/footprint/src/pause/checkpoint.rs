//! The stored form of a paused run (ENG §7). JSON in and out: `json`.

use std::sync::Arc;

use indexmap::IndexMap;

use super::record::{FanOutMemory, PauseRecord};
use crate::ids::split_stage_id;
use crate::snapshot::{ExecutionTree, SubflowResult};
use crate::state::Path;
use crate::value::{Object, Str, Value};

/// The version this engine writes.
pub const CHECKPOINT_VERSION: u64 = 1;

/// A link to the visit that asked; used for the resume event, never to plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedExecution {
    /// Engine run id of the leg.
    pub run_id: Str,
    /// Address of the visit.
    pub runtime_stage_id: Str,
}

/// A parallel sibling that also asks, and is asked after the first one was answered.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingPause {
    /// Prefixed id of the stage.
    pub paused_stage_id: Str,
    /// Mount paths, outer first.
    pub subflow_path: Vec<Str>,
    /// State of every mount on the path.
    pub subflow_states: IndexMap<Str, Object>,
    /// The question.
    pub pause_data: Option<Value>,
    /// Asked by `interrupt` (as opposed to a pausable stage).
    pub by_interrupt: bool,
    /// The visit that asked.
    pub paused_execution: Option<PausedExecution>,
    /// Answers it was given already (ours).
    pub interrupt_answers: Vec<Value>,
    /// The answer a pausable stage was resumed with, when that half asks again (ours).
    pub resumed_with: Option<Value>,
}

/// A paused run as plain data. It holds real values: a resume must compute on them (ENG-90).
///
/// What follows a resume comes from the chart, so an edited checkpoint cannot redirect a run.
#[derive(Clone, Debug, Default)]
pub struct FlowchartCheckpoint {
    /// The top level's state.
    pub shared_state: Object,
    /// The tree so far.
    pub execution_tree: ExecutionTree,
    /// Prefixed id of the stage that asks.
    pub paused_stage_id: Str,
    /// The visit that asked.
    pub paused_execution: Option<PausedExecution>,
    /// Mount paths, outer first.
    pub subflow_path: Vec<Str>,
    /// The question.
    pub pause_data: Option<Value>,
    /// State of every mount on the path.
    pub subflow_states: IndexMap<Str, Object>,
    /// The next execution index.
    pub execution_count: Option<u64>,
    /// Visits per prefixed stage id.
    pub visit_counts: IndexMap<Str, u64>,
    /// Finished mounts, path keys only, without logs.
    pub subflow_results: IndexMap<Str, Arc<SubflowResult>>,
    /// The decider, selector or fork that dispatched the stage.
    pub invoker_stage_id: Option<Str>,
    /// Parallel siblings that also ask.
    pub pending_pauses: Vec<PendingPause>,
    /// Asked by `interrupt` (as opposed to a pausable stage).
    pub by_interrupt: bool,
    /// Answers the visit was given already, in call order (ours).
    pub interrupt_answers: Vec<Value>,
    /// The answer a pausable stage was resumed with, when that half asks again (ours).
    pub resumed_with: Option<Value>,
    /// Unix milliseconds.
    pub paused_at: u64,
    /// Addresses of the deciders, selectors and forks a resume returns to, by prefixed id (ours). They
    /// stamp events and never plan.
    pub dispatched_by: IndexMap<Str, Str>,
    /// Settled children of the fan-outs on the path, by prefixed id (ours).
    pub fan_outs: IndexMap<Str, FanOutMemory>,
    /// Per-call redaction marks in force (ours).
    pub redaction_marks: Vec<Path>,
}

impl FlowchartCheckpoint {
    /// The question as a record to plan with.
    pub(crate) fn question(&self) -> PauseRecord {
        PauseRecord {
            stage_id: self.paused_stage_id.clone(),
            stage_name: self.paused_stage_id.clone(),
            execution: link(self.paused_execution.as_ref()),
            path: self.subflow_path.clone(),
            states: self.subflow_states.clone(),
            data: self.pause_data.clone(),
            by_interrupt: self.by_interrupt,
            answers: self.interrupt_answers.clone(),
            resumed_with: self.resumed_with.clone(),
            invoker: self.invoker_stage_id.clone(),
            dispatchers: on_path(&self.dispatched_by, &self.subflow_path),
            fans: on_path(&self.fan_outs, &self.subflow_path),
            top: None,
            told: false,
        }
    }

    /// The queued questions.
    pub(crate) fn queued(&self) -> Vec<PauseRecord> {
        self.pending_pauses
            .iter()
            .map(|pending| PauseRecord {
                stage_id: pending.paused_stage_id.clone(),
                stage_name: pending.paused_stage_id.clone(),
                execution: link(pending.paused_execution.as_ref()),
                path: pending.subflow_path.clone(),
                states: pending.subflow_states.clone(),
                data: pending.pause_data.clone(),
                by_interrupt: pending.by_interrupt,
                answers: pending.interrupt_answers.clone(),
                resumed_with: pending.resumed_with.clone(),
                invoker: None,
                dispatchers: on_path(&self.dispatched_by, &pending.subflow_path),
                fans: on_path(&self.fan_outs, &pending.subflow_path),
                top: None,
                told: false,
            })
            .collect()
    }
}

/// What one question knows of the nodes on its own path. A checkpoint keeps one table for all of its questions; a
/// question that carried another's entries along would write them back when they have become old, and results that
/// its siblings gave meanwhile would be lost.
fn on_path<T: Clone>(table: &IndexMap<Str, T>, path: &[Str]) -> IndexMap<Str, T> {
    table
        .iter()
        .filter(|(id, _)| split_stage_id(id).0.is_none_or(|level| path.iter().any(|at| **at == *level)))
        .map(|(id, known)| (id.clone(), known.clone()))
        .collect()
}

fn link(execution: Option<&PausedExecution>) -> Option<(Str, Str)> {
    execution.map(|at| (at.run_id.clone(), at.runtime_stage_id.clone()))
}

pub(crate) fn unlink(execution: Option<&(Str, Str)>) -> Option<PausedExecution> {
    execution.map(|(run_id, address)| PausedExecution {
        run_id: run_id.clone(),
        runtime_stage_id: address.clone(),
    })
}

impl From<&PauseRecord> for PendingPause {
    fn from(record: &PauseRecord) -> Self {
        Self {
            paused_stage_id: record.stage_id.clone(),
            subflow_path: record.path.clone(),
            subflow_states: record.states.clone(),
            pause_data: record.data.clone(),
            by_interrupt: record.by_interrupt,
            paused_execution: unlink(record.execution.as_ref()),
            interrupt_answers: record.answers.clone(),
            resumed_with: record.resumed_with.clone(),
        }
    }
}
