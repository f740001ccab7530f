//! How a run ends badly.

use std::fmt;
use std::time::Duration;

use super::{Issue, StageError, StageSource, StructuredError};
use crate::ids::RuntimeStageId;
use crate::value::Str;

/// Which of a mount's two mappers failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapperSide {
    /// The mapper from parent state to the mounted chart's arguments.
    Input,
    /// The mapper from the mounted chart's end to parent state.
    Output,
}

impl fmt::Display for MapperSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Output => "output",
        })
    }
}

/// The findings of an input or output that breaks the chart's contract.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{side} does not fit the chart's contract: {}", summary(issues))]
pub struct InputValidationError {
    /// `input` or `output`.
    pub side: &'static str,
    /// One finding per violation.
    pub issues: Vec<Issue>,
}

fn summary(issues: &[Issue]) -> String {
    let mut text = String::new();
    for (n, issue) in issues.iter().enumerate() {
        if n > 0 {
            text.push_str("; ");
        }
        text.push_str(&issue.message);
    }
    text
}

/// How a run ends badly. Every variant names the address where one exists; the original error of a
/// stage, mapper, resolver or branch factory is its `source()`.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A stage function failed.
    #[error("stage {address} failed: {source}")]
    Stage {
        /// Address of the visit.
        address: RuntimeStageId,
        /// What the stage returned.
        source: StageSource,
    },
    /// The run options cannot work. Nothing ran.
    #[error(transparent)]
    Options(crate::walk::OptionsError),
    /// The run's input breaks the chart's contract. Nothing ran.
    #[error("{0}")]
    InputInvalid(InputValidationError),
    /// The chart's output breaks its contract. The record is complete.
    #[error("{0}")]
    OutputInvalid(InputValidationError),
    /// A decider answered with a branch it does not have, and has no default.
    #[error("decider {decider} returned branch `{returned}`, which is not one of [{}] and no default is declared", available.join(", "))]
    UnknownBranch {
        /// Address of the decider's visit.
        decider: RuntimeStageId,
        /// The id it returned.
        returned: String,
        /// The declared branch ids.
        available: Vec<String>,
    },
    /// No rule of a decider matched, and there is no default.
    #[error(
        "decider {decider}: none of {rules} rules matched ({failed} could not be evaluated) and no default is declared"
    )]
    NoBranchMatched {
        /// Address of the decider's visit.
        decider: RuntimeStageId,
        /// Number of rules.
        rules: usize,
        /// How many of them failed to evaluate.
        failed: usize,
    },
    /// A selector answered with unknown or repeated branch ids.
    #[error("selector {selector} selected [{}]: unknown or repeated; available: [{}]", offenders.join(", "), available.join(", "))]
    UnknownSelection {
        /// Address of the selector's visit.
        selector: RuntimeStageId,
        /// The ids that are not declared, or given twice.
        offenders: Vec<String>,
        /// The declared branch ids.
        available: Vec<String>,
    },
    /// A loop edge was taken more often than allowed.
    #[error("loop to `{target}` exceeded its limit of {limit} passes; raise it with `{option}`")]
    LoopLimit {
        /// Prefixed id of the loop's target.
        target: Str,
        /// The limit in force.
        limit: u64,
        /// The option that sets it.
        option: &'static str,
    },
    /// Dynamic chains exceeded the run-total budget.
    #[error(
        "stage {stage} exceeded the run's budget of {limit} dynamic continuations; raise it with `max_iterations`"
    )]
    DynamicLimit {
        /// Address of the stage that returned the continuation.
        stage: RuntimeStageId,
        /// The limit in force.
        limit: u64,
    },
    /// Nesting went too deep.
    #[error("nesting is deeper than {limit} at `{stage}`; raise it with `max_depth`")]
    DepthExceeded {
        /// The limit in force.
        limit: usize,
        /// Prefixed id of the stage that would have been entered.
        stage: Str,
    },
    /// A mount's mapper failed.
    #[error("{side} mapper of mount {mount} failed: {source}")]
    Mapper {
        /// Address of the mount's visit.
        mount: RuntimeStageId,
        /// Which mapper.
        side: MapperSide,
        /// What it failed with.
        source: StageSource,
    },
    /// A lazy mount could not be resolved.
    #[error("resolver of mount {mount} failed: {source}")]
    Resolver {
        /// Address of the mount's visit.
        mount: RuntimeStageId,
        /// What it failed with.
        source: StageSource,
    },
    /// A for-each could not start its branches.
    #[error("for-each {stage}: {what}: {source}")]
    ForEach {
        /// Address of the visit.
        stage: RuntimeStageId,
        /// Which part failed.
        what: &'static str,
        /// What it failed with.
        source: StageSource,
    },
    /// A commit could not be written.
    #[error("commit of {stage} failed at key `{key}`")]
    CommitFailed {
        /// Address of the visit.
        stage: RuntimeStageId,
        /// The key that could not be committed.
        key: String,
    },
    /// The run was cancelled.
    #[error("run cancelled: {reason}")]
    Cancelled {
        /// Who cancelled, or why.
        reason: String,
    },
    /// The run used up its time.
    #[error("run exceeded its time budget of {after:?}")]
    TimedOut {
        /// The budget.
        after: Duration,
    },
    /// A checkpoint could not be taken or used.
    #[error("checkpoint field `{field}`: {what}")]
    Checkpoint {
        /// Which field.
        field: String,
        /// What is wrong with it.
        what: String,
    },
}

impl RunError {
    /// The wrapped stage error, when there is one.
    pub fn stage_error(&self) -> Option<&StageError> {
        match self {
            Self::Stage { source, .. }
            | Self::Mapper { source, .. }
            | Self::Resolver { source, .. }
            | Self::ForEach { source, .. } => Some(source),
            _ => None,
        }
    }

    /// The address the error names, when there is one.
    pub fn address(&self) -> Option<&RuntimeStageId> {
        match self {
            Self::Stage { address, .. } => Some(address),
            Self::UnknownBranch { decider, .. } | Self::NoBranchMatched { decider, .. } => Some(decider),
            Self::UnknownSelection { selector, .. } => Some(selector),
            Self::DynamicLimit { stage, .. }
            | Self::ForEach { stage, .. }
            | Self::CommitFailed { stage, .. } => Some(stage),
            Self::Mapper { mount, .. } | Self::Resolver { mount, .. } => Some(mount),
            _ => None,
        }
    }

    /// The recorded form of this error, as the terminal event carries it.
    pub fn structured(&self) -> StructuredError {
        match self {
            Self::InputInvalid(e) | Self::OutputInvalid(e) => StructuredError {
                message: e.to_string(),
                name: Some("InputValidationError".to_owned()),
                code: Some("INPUT_VALIDATION_ERROR".to_owned()),
                issues: Some(e.issues.clone()),
            },
            Self::Cancelled { .. } => self.coded("RUN_CANCELLED"),
            Self::TimedOut { .. } => self.coded("RUN_TIMED_OUT"),
            _ => match self.stage_error() {
                Some(source) => source.structured(),
                None => StructuredError::new(self.to_string()),
            },
        }
    }

    fn coded(&self, code: &str) -> StructuredError {
        StructuredError { code: Some(code.to_owned()), ..StructuredError::new(self.to_string()) }
    }

    /// `<name>: <message>`, the text kept in `errors.stageExecutionError`.
    pub fn recorded_text(&self) -> String {
        let structured = self.structured();
        format!("{}: {}", structured.name.as_deref().unwrap_or("Error"), structured.message)
    }

    /// True for failures of the engine itself, which no fan-out contains.
    pub fn is_engine(&self) -> bool {
        matches!(
            self,
            Self::DepthExceeded { .. }
                | Self::CommitFailed { .. }
                | Self::Cancelled { .. }
                | Self::TimedOut { .. }
                | Self::Checkpoint { .. }
        )
    }
}
