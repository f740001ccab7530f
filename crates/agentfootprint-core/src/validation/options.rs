//! What is declared (EVD-901).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use footprint::value::{Str, Value};
use tokio_util::sync::CancellationToken;

use super::check::AnswerCheck;
use super::evidence::AnswerEvidence;
use crate::injection::BoxError;

/// What happens to an answer that does not pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerValidationMode {
    /// The run fails with `AnswerValidationError`; the draft reaches no event and no memory.
    #[default]
    Enforce,
    /// The answer is delivered, with the report on the record.
    Observe,
}

impl AnswerValidationMode {
    /// The recorded word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Observe => "observe",
        }
    }
}

/// How much one validation may read, answer and take. Every limit is positive; none can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerValidationLimits {
    /// Different artifacts it may read.
    pub max_reads: usize,
    /// Bytes of them together.
    pub max_bytes: u64,
    /// Checks it may answer.
    pub max_checks: usize,
    /// Bytes of the answer it can be asked about.
    pub max_candidate_bytes: usize,
    /// How long it may take; at most 2147483647 ms.
    pub timeout: Duration,
}

impl Default for AnswerValidationLimits {
    fn default() -> Self {
        Self {
            max_reads: 16,
            max_bytes: 4 << 20,
            max_checks: 100,
            max_candidate_bytes: 1 << 20,
            timeout: Duration::from_millis(5_000),
        }
    }
}

/// What a validator may do while it runs. Cheap to clone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AnswerValidationContext {
    /// Cancelled when nobody waits for the validation any more.
    pub cancel: CancellationToken,
    /// The run's artifacts.
    pub artifacts: AnswerEvidence,
}

type Validated = Pin<Box<dyn Future<Output = Result<Vec<AnswerCheck>, BoxError>> + Send>>;
type Validate = dyn Fn(Value, AnswerValidationContext) -> Validated + Send + Sync;

/// A comparison of the final answer with evidence; see [`AgentBuilder::answer_validation`](crate::agent::AgentBuilder::answer_validation).
///
/// ```
/// use agentfootprint_core::validation::{AnswerCheck, AnswerValidation};
/// use footprint::value::Value;
///
/// let totals = AnswerValidation::new("totals", "1", |answer, cx| async move {
///     let Some(cited) = answer.get("source").and_then(Value::as_str) else {
///         return Ok(vec![AnswerCheck::not_applicable("total")]);
///     };
///     let rows = cx.artifacts.resolve(cited, "table").await?;
///     let stated = answer.get("bytes").and_then(Value::as_u64);
///     let check = if stated == Some(rows.meta.bytes) { AnswerCheck::pass("total") } else { AnswerCheck::fail("total") };
///     Ok(vec![check.evidence([cited])])
/// });
/// assert_eq!(totals.id(), "totals");
/// ```
#[derive(Clone)]
pub struct AnswerValidation {
    pub(crate) id: Str,
    pub(crate) version: Str,
    pub(crate) mode: AnswerValidationMode,
    pub(crate) limits: AnswerValidationLimits,
    validate: Arc<Validate>,
}

impl AnswerValidation {
    /// A validator with its id and version, 1 to 128 characters each.
    ///
    /// It is dropped at its deadline; what it does without awaiting anything cannot be interrupted. A panic or an error is a
    /// report, never a pass.
    pub fn new<F, Fut>(id: impl Into<Str>, version: impl Into<Str>, validate: F) -> Self
    where
        F: Fn(Value, AnswerValidationContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<AnswerCheck>, BoxError>> + Send + 'static,
    {
        Self {
            id: id.into(),
            version: version.into(),
            mode: AnswerValidationMode::default(),
            limits: AnswerValidationLimits::default(),
            validate: Arc::new(move |answer, cx| Box::pin(validate(answer, cx))),
        }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What happens to an answer that does not pass.
    #[must_use]
    pub fn mode(mut self, mode: AnswerValidationMode) -> Self {
        self.mode = mode;
        self
    }

    /// Other limits.
    #[must_use]
    pub fn limits(mut self, limits: AnswerValidationLimits) -> Self {
        self.limits = limits;
        self
    }

    pub(super) fn validate(&self, answer: Value, cx: AnswerValidationContext) -> Validated {
        (self.validate)(answer, cx)
    }

    /// What is wrong with the declaration: option, value, rule.
    pub(crate) fn problems(&self) -> Vec<(&'static str, String, &'static str)> {
        let mut out = Vec::new();
        let mut text = |option, text: &str| {
            let chars = text.chars().count();
            if text.trim().is_empty() || chars > 128 {
                out.push((
                    option,
                    format!("{chars} characters"),
                    "it must be 1 to 128 characters, not blank",
                ));
            }
        };
        text("answer_validation id", &self.id);
        text("answer_validation version", &self.version);
        let limits = &self.limits;
        let mut positive = |option, zero: bool| {
            if zero {
                out.push((option, "0".to_owned(), "it must be at least 1"));
            }
        };
        positive("answer_validation max_reads", limits.max_reads == 0);
        positive("answer_validation max_bytes", limits.max_bytes == 0);
        positive("answer_validation max_checks", limits.max_checks == 0);
        positive("answer_validation max_candidate_bytes", limits.max_candidate_bytes == 0);
        let ms = limits.timeout.as_millis();
        if ms == 0 || ms > i32::MAX as u128 {
            out.push((
                "answer_validation timeout",
                format!("{ms} ms"),
                "it must be between 1 and 2147483647 ms",
            ));
        }
        out
    }
}

impl fmt::Debug for AnswerValidation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerValidation")
            .field("id", &self.id)
            .field("version", &self.version)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}
