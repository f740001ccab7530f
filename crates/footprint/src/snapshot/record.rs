//! The snapshot's own record types.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{CommitLog, ExecutionTree};
use crate::ids::is_execution_key;
use crate::state::{CommitValues, WriteProvenance};
use crate::value::{Object, Str, Value};

/// Which log a commit position belongs to (OBS §1.2): the run and the mounts passed on the way down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogAddress {
    /// Id of the run that owns the log.
    pub log_run_id: Str,
    /// Mount addresses from the top (`[]` for the run's own log).
    pub drill_path: Vec<Str>,
}

/// How a reader is meant to reduce a recorder's row (OBS-56).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PreferredOperation {
    /// One step's detail.
    Translate,
    /// Reduce over a visible set of steps.
    Accumulate,
    /// Reduce over all steps.
    Aggregate,
}

impl PreferredOperation {
    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Translate => "translate",
            Self::Accumulate => "accumulate",
            Self::Aggregate => "aggregate",
        }
    }

    /// The operation a JSON word names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Translate, Self::Accumulate, Self::Aggregate].into_iter().find(|op| op.word() == word)
    }
}

/// One recorder's contribution to a snapshot (OBS-53).
#[derive(Clone, Debug, PartialEq)]
pub struct RecorderRow {
    /// The id the recorder was attached under.
    pub id: Str,
    /// Kind name, e.g. `Narrative` (OBS-57).
    pub name: Str,
    /// For people.
    pub description: Option<Str>,
    /// Suggested read-time operation; an unknown word of a foreign writer is kept in `extra`.
    pub preferred_operation: Option<PreferredOperation>,
    /// The row's data, detached.
    pub data: Value,
    /// Facts about the row that readers branch on.
    pub meta: Option<Value>,
    /// Fields a newer or foreign writer added.
    pub extra: Object,
}

/// A contained observer failure (OBS-46).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecorderFailure {
    /// The failing recorder.
    pub id: Str,
    /// The JSON hook name, or `snapshot`.
    pub hook: Str,
    /// How often it failed.
    pub count: u64,
    /// The first failure's text.
    pub first_message: Str,
}

/// The inside of one subflow execution (`treeContext`, ENG-141).
#[derive(Clone, Debug, Default)]
pub struct SubflowContext {
    /// Final state of the subflow.
    pub global_context: Object,
    /// Its execution tree.
    pub stage_contexts: ExecutionTree,
    /// Its own commit log.
    pub history: CommitLog,
    /// Its fold base, when recorded.
    pub initial_state: Option<Object>,
    /// Its log's address, when recorded.
    pub log_address: Option<LogAddress>,
    /// Fields a newer or foreign writer added.
    pub extra: Object,
}

/// One execution of a mounted chart (ENG-141).
#[derive(Clone, Debug, Default)]
pub struct SubflowResult {
    /// Path-prefixed mount id.
    pub subflow_id: Str,
    /// The mount's display name.
    pub subflow_name: Str,
    /// State, tree and log of the inner walk.
    pub tree_context: SubflowContext,
    /// The mount frame's name (prefixed `<namespace>.` inside a parallel branch).
    pub parent_stage_id: Str,
    /// The inner chart's structure, when it was discovered at run time.
    pub pipeline_structure: Option<Value>,
    /// The same as JSON text, set instead when it nests deeper than a value may.
    pub pipeline_structure_text: Option<Str>,
    /// Fields a newer or foreign writer added.
    pub extra: Object,
}

/// The record of one run, detached and frozen (ENG §9).
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// This run's id; absent in old recordings.
    pub run_id: Option<Str>,
    /// Final state (in the redacted form: the mirror).
    pub shared_state: Object,
    /// Fold base; absent in the redacted form and in old recordings.
    pub initial_state: Option<Object>,
    /// One frame per executed step.
    pub execution_tree: ExecutionTree,
    /// The run's own log.
    pub commit_log: CommitLog,
    /// Log encoding in force (`full` for old recordings that do not say).
    pub commit_values: CommitValues,
    /// Write provenance in force (`off` for old recordings that do not say).
    pub write_provenance: WriteProvenance,
    /// Mount executions, keyed by mount path (the last one) and by mount address (each).
    pub subflow_results: IndexMap<Str, Arc<SubflowResult>>,
    /// Observer rows, one per id, in attach order.
    pub recorders: Vec<RecorderRow>,
    /// Deferred delivery statistics, when something was deferred.
    pub observer_stats: Option<Value>,
    /// Contained observer failures.
    pub recorder_failures: Vec<RecorderFailure>,
    /// The caller's label (ENG-170).
    pub run_label: Option<Str>,
    /// Which log this is.
    pub log_address: Option<LogAddress>,
    /// Fields a newer or foreign writer added, kept for rewriting (OBS-186).
    pub extra: Object,
}

impl Snapshot {
    /// One subflow execution, by mount address (that execution) or by mount path (the last one) — in that order (ENG-141, ENG-142).
    pub fn subtree(&self, address_or_path: &str) -> Option<&SubflowResult> {
        self.subflow_results.get(address_or_path).map(|result| &**result)
    }

    /// Mount paths that ran, each once.
    pub fn subflow_paths(&self) -> impl Iterator<Item = &Str> {
        self.subflow_results.keys().filter(|key| !is_execution_key(key))
    }
}
