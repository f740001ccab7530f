//! The errors of a run: what a stage fails with ([`StageError`]), what a scope method refuses
//! ([`ScopeError`]), how a run ends badly ([`RunError`]), and the serialised form all of them share
//! ([`StructuredError`]).
//!
//! No message in here repeats a state value: errors name stages, keys, kinds and limits, never what
//! was stored under a key (law 10).

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::RuntimeStageId;
use crate::value::{Str, Value};

/// One finding of a validator: where, what, and how it differs from what was expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    /// Segments from the root of the validated value; `[]` is the value itself.
    pub path: Vec<Value>,
    /// What is wrong, for people.
    pub message: String,
    /// Machine-readable kind, e.g. `missing_field`, `invalid_type`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The expected kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The received kind (never the received value).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<String>,
}

/// The recorded form of any failure: `{message, name?, code?, issues?}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StructuredError {
    /// Display message, without the name.
    pub message: String,
    /// Class of the error, e.g. `Error`, `TypeError`, `Panic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Machine-readable code, when the error has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Validator findings, when there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issues: Option<Vec<Issue>>,
}

impl StructuredError {
    /// A structured error with the default name `Error`.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), name: Some("Error".to_owned()), code: None, issues: None }
    }

    /// The recorded JSON object.
    pub fn to_value(&self) -> Value {
        Value::from_serialize(self).unwrap_or(Value::Null)
    }
}

/// What a stage function fails with.
///
/// Any `std` error converts with `?`; build one by hand with [`StageError::new`] or
/// [`StageError::named`]. The original error stays reachable through [`StageError::source_error`].
///
/// ```
/// use footprint::error::StageError;
/// let plain = StageError::new("no such order");
/// assert_eq!(plain.to_string(), "Error: no such order");
/// let quota = StageError::named("QuotaError", "quota exceeded").with_code("E_QUOTA");
/// assert_eq!(quota.code(), Some("E_QUOTA"));
/// ```
#[derive(Clone)]
pub struct StageError(Arc<StageErrorInner>);

#[derive(Clone)]
struct StageErrorInner {
    message: String,
    name: String,
    code: Option<String>,
    issues: Option<Vec<Issue>>,
    source: Option<Arc<dyn StdError + Send + Sync + 'static>>,
}

impl StageError {
    /// An error named `Error`.
    pub fn new(message: impl Into<String>) -> Self {
        Self::named("Error", message)
    }

    /// An error of a named class.
    pub fn named(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Arc::new(StageErrorInner {
            message: message.into(),
            name: name.into(),
            code: None,
            issues: None,
            source: None,
        }))
    }

    /// Wraps a source error; message is its text.
    pub fn from_error(error: impl StdError + Send + Sync + 'static) -> Self {
        let mut inner = StageErrorInner {
            message: error.to_string(),
            name: "Error".to_owned(),
            code: None,
            issues: None,
            source: None,
        };
        if (&error as &dyn StdError).is::<ScopeError>() {
            "ScopeError".clone_into(&mut inner.name);
        }
        inner.source = Some(Arc::new(error));
        Self(Arc::new(inner))
    }

    fn edit(mut self, change: impl FnOnce(&mut StageErrorInner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Adds a machine-readable code.
    #[must_use]
    pub fn with_code(self, code: impl Into<String>) -> Self {
        self.edit(|inner| inner.code = Some(code.into()))
    }

    /// Replaces the class name.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        self.edit(|inner| inner.name = name.into())
    }

    /// Adds validator findings.
    #[must_use]
    pub fn with_issues(self, issues: Vec<Issue>) -> Self {
        self.edit(|inner| inner.issues = Some(issues))
    }

    /// Adds the original error.
    #[must_use]
    pub fn with_source(self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.edit(|inner| inner.source = Some(Arc::new(source)))
    }

    /// The display message, without the name.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The class name, `Error` by default.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The machine-readable code, if any.
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// Validator findings, if any.
    pub fn issues(&self) -> Option<&[Issue]> {
        self.0.issues.as_deref()
    }

    /// The original error, if this one wraps one.
    pub fn source_error(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.0.source.as_deref()
    }

    /// This error as a `std` error. (`StageError` is not one itself, so that `?` can convert every
    /// `std` error into it.)
    pub fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.0
    }

    /// The recorded form.
    pub fn structured(&self) -> StructuredError {
        StructuredError {
            message: self.0.message.clone(),
            name: Some(self.0.name.clone()),
            code: self.0.code.clone(),
            issues: self.0.issues.clone(),
        }
    }

    /// An error for a caught panic of author code.
    pub(crate) fn from_panic(payload: &(dyn std::any::Any + Send)) -> Self {
        Self::named("Panic", panic_text(payload))
    }
}

/// The text of a panic payload, when it has one.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "panicked with a value that is not text".to_owned()
    }
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, f)
    }
}

impl fmt::Debug for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for StageErrorInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

impl fmt::Debug for StageErrorInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageError")
            .field("name", &self.name)
            .field("message", &self.message)
            .field("code", &self.code)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl StdError for StageErrorInner {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|e| &**e as &(dyn StdError + 'static))
    }
}

/// A [`StageError`] where a `std` error is needed: the `source()` of a [`RunError`].
#[derive(Clone, Debug)]
pub struct StageSource(pub StageError);

impl std::ops::Deref for StageSource {
    type Target = StageError;

    fn deref(&self) -> &StageError {
        &self.0
    }
}

impl fmt::Display for StageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for StageSource {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.0.source()
    }
}

impl StageSource {
    pub(crate) fn of(error: StageError) -> Self {
        Self(error)
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for StageError {
    fn from(error: E) -> Self {
        Self::from_error(error)
    }
}

/// Why a scope method refused. Every variant names the stage, and the key where there is one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// The key has no value in the stage's view.
    #[error("stage `{stage}`: state has no key `{key}`; use `try_get` where absence is expected")]
    Missing {
        /// Stage that asked.
        stage: Str,
        /// Key that was asked for.
        key: Str,
    },
    /// The value under the key is of another shape.
    #[error("stage `{stage}`: key `{key}` holds {found}, which is not {expected}")]
    TypeMismatch {
        /// Stage that asked.
        stage: Str,
        /// Key that was asked for.
        key: Str,
        /// The type that was asked for.
        expected: String,
        /// The kind that is there.
        found: String,
    },
    /// The value cannot be represented in state.
    #[error("stage `{stage}`: the value for key `{key}` cannot be stored: {reason}")]
    NotSerializable {
        /// Stage that wrote.
        stage: Str,
        /// Key that was written.
        key: Str,
        /// Why.
        reason: String,
    },
    /// The key is a read-only argument of this level.
    #[error("stage `{stage}`: key `{key}` is a read-only argument of this chart; cannot {op} it")]
    ReadOnlyKey {
        /// Stage that wrote.
        stage: Str,
        /// Key that was written.
        key: Str,
        /// `set`, `update`, `delete` or `append`.
        op: &'static str,
    },
    /// The key is reserved by the engine.
    #[error("stage `{stage}`: key `{key}` is reserved")]
    ReservedKey {
        /// Stage that wrote.
        stage: Str,
        /// Key that was written.
        key: Str,
    },
    /// The key is not a legal key.
    #[error("stage `{stage}`: `{key}` is not a legal key: {reason}")]
    InvalidKey {
        /// Stage that asked.
        stage: Str,
        /// Key that was given.
        key: Str,
        /// Why.
        reason: String,
    },
    /// The stage is over; its handle only answers reads.
    #[error("stage `{stage}` ({runtime_stage_id}) is over: its scope no longer accepts writes")]
    FrameClosed {
        /// Stage of the handle.
        stage: Str,
        /// Address of the visit.
        runtime_stage_id: RuntimeStageId,
    },
}

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
