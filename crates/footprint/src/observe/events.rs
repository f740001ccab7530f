//! One payload struct per hook (OBS §2.2). Fields are cheap to clone: text is `Arc<str>` and values share
//! structure, so keeping an event costs pointer copies and can never expose a later mutation (OBS-8).

use std::sync::Arc;

use crate::decide::{DecisionEvidence, SelectionEvidence};
use crate::error::{StageError, StructuredError};
use crate::state::Bundle;
use crate::value::{Str, Value};

/// How a write changed its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteOp {
    /// The value was replaced (an append reports the whole new list).
    Set,
    /// A patch was merged.
    Update,
    /// The key was removed.
    Delete,
}

impl WriteOp {
    /// The JSON word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// What kind of step reports itself executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StageType {
    /// A plain stage.
    Linear,
    /// A decider, after it resolved.
    Decider,
    /// A fork or for-each, after its fork event.
    Fork,
    /// A selector, after it resolved.
    Selector,
    /// A mount, on entry.
    SubflowMount,
}

impl StageType {
    /// The JSON word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Decider => "decider",
            Self::Fork => "fork",
            Self::Selector => "selector",
            Self::SubflowMount => "subflow-mount",
        }
    }
}

/// Which operation of a step the failing recorder was told about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailedOperation {
    /// A read.
    Read,
    /// A write (and every other hook).
    Write,
    /// A commit.
    Commit,
}

impl FailedOperation {
    /// The JSON word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Commit => "commit",
        }
    }
}

/// One tracked read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadEvent {
    /// Root key; absent for a read of the whole state.
    pub key: Option<Str>,
    /// What was read (served form); absent when the key has no value.
    pub value: Option<Value>,
    /// The value was selected by the redaction policy or a mark.
    pub redacted: bool,
}

/// One write, before its commit.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteEvent {
    /// Root key.
    pub key: Str,
    /// New value or patch (served form); absent for a delete.
    pub value: Option<Value>,
    /// Kind of write.
    pub operation: WriteOp,
    /// The value was selected by the redaction policy or a mark.
    pub redacted: bool,
}

/// One write as the commit reports it: the last operation per key.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// Root key (dotted for a mount's nested merge-back).
    pub key: Str,
    /// Served value or summary marker; absent for a delete under full tracking.
    pub value: Option<Value>,
    /// Kind of write.
    pub operation: WriteOp,
}

/// One recorded bundle.
#[derive(Clone, Debug)]
pub struct CommitEvent {
    /// The bundle's own mutations; none for `exit` and `repeat` bundles.
    pub mutations: Arc<[Mutation]>,
    /// The bundle itself (in memory only).
    pub bundle: Arc<Bundle>,
}

/// An attempt begins.
#[derive(Clone, Debug, PartialEq)]
pub struct StageStartEvent {
    /// 1-based attempt (in memory only).
    pub attempt: u32,
}

/// The function of an attempt returned.
#[derive(Clone, Debug, PartialEq)]
pub struct StageEndEvent {
    /// Milliseconds since the attempt began.
    pub duration: Option<u64>,
}

/// Another recorder failed (contained).
#[derive(Clone, Debug, PartialEq)]
pub struct ScopeErrorEvent {
    /// Id of the failing recorder (in memory only).
    pub recorder: Str,
    /// What it failed with.
    pub error: StructuredError,
    /// What it was told about.
    pub operation: FailedOperation,
    /// Key of the read or write it was told about.
    pub key: Option<Str>,
}

/// The pausable function returned a pause.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopePauseEvent {
    /// The question (served form).
    pub pause_data: Option<Value>,
}

/// A step is resumed (scope channel).
#[derive(Clone, Debug, PartialEq)]
pub struct ScopeResumeEvent {
    /// Whether an answer was given.
    pub has_input: bool,
}

/// A step completed its work.
#[derive(Clone, Debug, PartialEq)]
pub struct StageExecutedEvent {
    /// Prefixed stage name.
    pub stage_name: Str,
    /// The stage's description.
    pub description: Option<Str>,
    /// Kind of step.
    pub stage_type: StageType,
}

/// A static next edge is followed.
#[derive(Clone, Debug, PartialEq)]
pub struct NextEvent {
    /// Name of the stage left.
    pub from: Str,
    /// Name of the stage entered.
    pub to: Str,
    /// Description of the stage entered.
    pub description: Option<Str>,
}

/// A decider resolved its branch.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionEvent {
    /// Name of the decider.
    pub decider: Str,
    /// Display name of the branch.
    pub chosen: Str,
    /// Local id of the branch (in memory only).
    pub chosen_id: Str,
    /// Whether the default took over for an id that is no branch (in memory only).
    pub fell_back: bool,
    /// Free text given by the decider.
    pub rationale: Option<Str>,
    /// Description of the decider.
    pub description: Option<Str>,
    /// Evidence of `decide` (OBS §7.2).
    pub evidence: Option<Arc<DecisionEvidence>>,
}

/// Children start.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkEvent {
    /// Name of the fork, selector or for-each.
    pub parent: Str,
    /// Display names of the children, in declaration order.
    pub children: Arc<[Str]>,
    /// Local ids of the children (in memory only).
    pub child_ids: Arc<[Str]>,
}

/// A selector resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedEvent {
    /// Name of the selector.
    pub parent: Str,
    /// Display names of the selected branches, in declaration order.
    pub selected: Arc<[Str]>,
    /// Local ids of the selected branches (in memory only).
    pub selected_ids: Arc<[Str]>,
    /// Number of declared branches.
    pub total: usize,
    /// Evidence of `select` (OBS §7.2).
    pub evidence: Option<Arc<SelectionEvidence>>,
}

/// A mount is entered.
#[derive(Clone, Debug, PartialEq)]
pub struct SubflowEntryEvent {
    /// Display name of the mount.
    pub name: Str,
    /// Full mount path.
    pub subflow_id: Option<Str>,
    /// Description of the inner root, else of the mount.
    pub description: Option<Str>,
    /// What the input mapper produced (served form).
    pub mapped_input: Option<Value>,
}

/// A mount is left: normally, by a stop or by failure, never by a pause.
#[derive(Clone, Debug, PartialEq)]
pub struct SubflowExitEvent {
    /// Display name of the mount.
    pub name: Str,
    /// Full mount path.
    pub subflow_id: Option<Str>,
    /// Final inner state (served form).
    pub output_state: Option<Value>,
}

/// A subflow was registered at run time.
#[derive(Clone, Debug, PartialEq)]
pub struct SubflowRegisteredEvent {
    /// Full mount path.
    pub subflow_id: Str,
    /// Display name of the mount.
    pub name: Str,
    /// The mount's description.
    pub description: Option<Str>,
    /// The inner structure.
    pub spec_structure: Option<Value>,
}

/// A back edge is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopEvent {
    /// Name of the target.
    pub target: Str,
    /// Prefixed id of the target (in memory only).
    pub target_id: Str,
    /// 1-based pass.
    pub iteration: u64,
    /// Description of the target.
    pub description: Option<Str>,
}

/// A failing child the throttle classifier names.
#[derive(Clone, Debug, PartialEq)]
pub struct ThrottledEvent {
    /// Name of the child.
    pub stage_name: Str,
    /// Prefixed id of the child.
    pub stage_id: Str,
    /// `<name>: <message>`.
    pub message: Str,
    /// The failure (served form).
    pub structured_error: StructuredError,
}

/// The chart stops.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakEvent {
    /// Name of the stage that stopped, or of the mount that passes a stop on.
    pub stage_name: Str,
    /// Why.
    pub reason: Option<Str>,
    /// Mount path an inner stop came from.
    pub propagated_from_subflow: Option<Str>,
}

/// A stage failed.
#[derive(Clone, Debug)]
pub struct ErrorEvent {
    /// Name of the stage.
    pub stage_name: Str,
    /// `<name>: <message>`.
    pub message: Str,
    /// The failure (served form).
    pub structured_error: StructuredError,
    /// The live error; never serialised.
    pub error: Option<StageError>,
    /// Evidence of a decision that could not be followed (in memory only, OBS-108).
    pub evidence: Option<Arc<DecisionEvidence>>,
}

/// A failed attempt that will be retried.
#[derive(Clone, Debug, PartialEq)]
pub struct StageRetryEvent {
    /// Name of the stage.
    pub stage_name: Str,
    /// Prefixed id of the stage.
    pub stage_id: Str,
    /// The failed attempt, from 1.
    pub attempt: u32,
    /// Attempts the policy allows.
    pub max_attempts: u32,
    /// Wait before the next attempt.
    pub delay_ms: u64,
    /// Message of the failure, without its name.
    pub message: Str,
    /// The failure (served form).
    pub structured_error: StructuredError,
}

/// The run suspends.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPauseEvent {
    /// Name of the stage that asks.
    pub stage_name: Str,
    /// Prefixed id of the stage that asks.
    pub stage_id: Str,
    /// The question (served form).
    pub pause_data: Option<Value>,
}

/// The run resumes.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowResumeEvent {
    /// Name of the stage that is resumed.
    pub stage_name: Str,
    /// Prefixed id of the stage that is resumed.
    pub stage_id: Str,
    /// Whether an answer was given.
    pub has_input: bool,
}

/// Before the first step.
#[derive(Clone, Debug, PartialEq)]
pub struct RunStartEvent {
    /// Validated input (served form).
    pub payload: Option<Value>,
}

/// After the last commit.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEndEvent {
    /// The chart's value (served form).
    pub payload: Option<Value>,
}

/// Terminal failure, before the error reaches the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFailedEvent {
    /// The failure (served form).
    pub structured_error: StructuredError,
}

/// Something the author emitted.
#[derive(Clone, Debug, PartialEq)]
pub struct EmitEvent {
    /// Dotted name.
    pub name: Str,
    /// Detached payload (served form).
    pub payload: Value,
}
