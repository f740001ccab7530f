//! The one error type of the port.
//!
//! An [`LlmError`] is facts first and a sentence second: [`LlmErrorKind`] says what happened, the fields beside
//! it say where, and everything that decides (retry, fallback, gate, advice to a person) asks the facts. The
//! sentence is for whoever reads the log; it names the fix and never a key, the conversation or tool arguments.
//!
//! | file | holds |
//! |---|---|
//! | `kind` | the closed list of failures |
//! | `overflow` | recognising a context overflow in any vendor's words |
//! | `foreign` | classifying errors of providers we did not write |
//! | `human` | the sentence for somebody who is not a developer |

mod foreign;
mod human;
mod kind;
mod overflow;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

pub use foreign::{ForeignFacts, classify_foreign};
pub use human::humanise_text;
pub use kind::{ErrorKind, LlmErrorKind, OllamaReason, ThinkingRefusal, TimeoutPhase, Vendor};
pub use overflow::{Overflow, detect_overflow, looks_like_context_window_exceeded};

use agentfootprint_record::text::cut;

/// Longest body excerpt an error keeps, in UTF-16 units.
const MAX_EXCERPT: usize = 400;

/// A failed model call.
///
/// The facts are readable as fields through [`Deref`]. Building one is a chain:
///
/// ```
/// use agentfootprint_core::llm::{LlmError, LlmErrorKind};
///
/// let error = LlmError::new(LlmErrorKind::Transient, "acme", "the service answered 503").with_status(503);
/// assert_eq!(error.to_string(), "[acme] the service answered 503");
/// assert!(error.retryable());
/// assert_eq!(error.status, Some(503));
/// ```
#[derive(Clone)]
pub struct LlmError(Box<LlmErrorFacts>);

/// The facts of an [`LlmError`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LlmErrorFacts {
    /// What happened.
    pub kind: LlmErrorKind,
    /// The adapter that reports it; the prefix of the message.
    pub adapter: Cow<'static, str>,
    /// The adapter's family, for the recorded error name.
    pub vendor: Vendor,
    /// The model asked for.
    pub model: Option<String>,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The vendor's own code.
    pub code: Option<String>,
    /// The vendor's id of the request.
    pub request_id: Option<String>,
    /// The wait the vendor stated.
    pub retry_after: Option<Duration>,
    /// The start of what the vendor answered, redacted.
    pub body_excerpt: Option<String>,
    message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl LlmError {
    /// An error of `adapter`. The message carries no prefix; displaying adds it, once.
    pub fn new(
        kind: LlmErrorKind,
        adapter: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        LlmError(Box::new(LlmErrorFacts {
            kind,
            adapter: adapter.into(),
            vendor: Vendor::Other,
            model: None,
            status: None,
            code: None,
            request_id: None,
            retry_after: None,
            body_excerpt: None,
            message: message.into(),
            source: None,
        }))
    }

    /// The run was cancelled: nobody's fault, never retried, never classified.
    pub fn aborted(adapter: impl Into<Cow<'static, str>>) -> Self {
        LlmError::new(LlmErrorKind::Aborted, adapter, "the call was cancelled")
    }

    /// An error of a provider that is not ours, kept under its own name and without a prefix.
    ///
    /// ```
    /// use agentfootprint_core::llm::{ErrorKind, LlmError};
    ///
    /// let error = LlmError::foreign("ServiceError", "slow down").with_status(429);
    /// assert_eq!(error.to_string(), "slow down");
    /// assert_eq!(error.record_name(), "ServiceError");
    /// assert_eq!(error.gate_kind(), ErrorKind::RateLimit);
    /// ```
    pub fn foreign(name: impl Into<String>, message: impl Into<String>) -> Self {
        LlmError::new(LlmErrorKind::Foreign { name: name.into() }, "", message)
    }

    /// The prompt does not fit. The message gives the remedies in the order they help, then the vendor's sentence.
    pub fn context_window_exceeded(
        adapter: impl Into<Cow<'static, str>>,
        overflow: Overflow,
        vendor_sentence: &str,
    ) -> Self {
        let sizes = match (overflow.actual, overflow.limit) {
            (Some(actual), Some(limit)) => format!(" ({actual} tokens sent, {limit} fit)"),
            (Some(actual), None) => format!(" ({actual} tokens sent)"),
            (None, Some(limit)) => format!(" ({limit} tokens fit)"),
            (None, None) => String::new(),
        };
        let message = format!(
            "the prompt does not fit into the model's context window{sizes}; nothing was generated and re-sending \
             the same request fails the same way. Fixes, in this order: cap the oversized tool result at its source; \
             use a small sliding_window; use compaction, but note that compaction sends the very span it folds, so \
             it cannot rescue one round that is already too big. The vendor says: {vendor_sentence}"
        );
        let kind = LlmErrorKind::ContextWindowExceeded { limit: overflow.limit, actual: overflow.actual };
        LlmError::new(kind, adapter, message)
    }

    /// Names the adapter's family.
    #[must_use]
    pub fn with_vendor(mut self, vendor: Vendor) -> Self {
        self.0.vendor = vendor;
        self
    }

    /// Names the model asked for.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.0.model = Some(model.into());
        self
    }

    /// Adds the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Adds the vendor's code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// Adds the vendor's request id.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.0.request_id = Some(id.into());
        self
    }

    /// Adds the wait the vendor stated.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Keeps the start of what the vendor answered. The caller has redacted it.
    #[must_use]
    pub fn with_body_excerpt(mut self, excerpt: &str) -> Self {
        self.0.body_excerpt = Some(cut(excerpt, MAX_EXCERPT).kept.to_owned());
        self
    }

    /// Adds the error underneath. Its texts must not hold secrets; adapters pass a redacted copy.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// The sentence without the adapter's prefix.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether asking again may help.
    pub fn retryable(&self) -> bool {
        match &self.kind {
            LlmErrorKind::RateLimited
            | LlmErrorKind::Transient
            | LlmErrorKind::Network
            | LlmErrorKind::Timeout { .. }
            | LlmErrorKind::MalformedToolArgs { .. }
            | LlmErrorKind::ToolUseLost => true,
            LlmErrorKind::StreamIncomplete { delivered } | LlmErrorKind::StreamBroken { delivered } => {
                !delivered
            }
            LlmErrorKind::OllamaUnavailable { reason, .. } => *reason == OllamaReason::DaemonUnreachable,
            LlmErrorKind::Foreign { .. } => match self.status {
                Some(status) => !(400..500).contains(&status) || status == 429,
                None => !self.gives_context_overflow(),
            },
            _ => false,
        }
    }

    /// Whether no request left this process: another provider would have been refused for the same declaration.
    pub fn refused_before_send(&self) -> bool {
        matches!(
            self.kind,
            LlmErrorKind::NoCredential
                | LlmErrorKind::Refused
                | LlmErrorKind::UnsupportedThinking { .. }
                | LlmErrorKind::UnsupportedToolChoice
        )
    }

    /// The reliability gate's word for this failure.
    pub fn gate_kind(&self) -> ErrorKind {
        match &self.kind {
            LlmErrorKind::RateLimited => ErrorKind::RateLimit,
            LlmErrorKind::Transient
            | LlmErrorKind::Network
            | LlmErrorKind::Timeout { .. }
            | LlmErrorKind::StreamIncomplete { .. }
            | LlmErrorKind::StreamBroken { .. }
            | LlmErrorKind::OllamaUnavailable { reason: OllamaReason::DaemonUnreachable, .. } => {
                ErrorKind::Transient
            }
            LlmErrorKind::CircuitOpen { .. } => ErrorKind::CircuitOpen,
            LlmErrorKind::Foreign { .. } => classify_foreign(&ForeignFacts {
                status: self.status,
                code: self.code.as_deref(),
                text: &self.message,
            }),
            _ => ErrorKind::Unknown,
        }
    }

    /// The name under which the failure is recorded.
    pub fn record_name(&self) -> &str {
        match &self.kind {
            LlmErrorKind::ContextWindowExceeded { .. } => "ContextWindowExceededError",
            LlmErrorKind::UnsupportedThinking { .. } => "UnsupportedThinkingError",
            LlmErrorKind::UnsupportedToolChoice => "UnsupportedToolChoiceError",
            LlmErrorKind::CircuitOpen { .. } => "CircuitOpenError",
            LlmErrorKind::OllamaUnavailable { .. } => "OllamaUnavailableError",
            LlmErrorKind::ScriptExhausted { .. } => "Error",
            LlmErrorKind::Aborted => "AbortError",
            LlmErrorKind::Foreign { name } => name,
            _ => self.vendor.error_name(),
        }
    }

    /// The code under which the failure is recorded, when it has one.
    pub fn record_code(&self) -> Option<&str> {
        match &self.kind {
            LlmErrorKind::ContextWindowExceeded { .. } => Some("ERR_CONTEXT_WINDOW_EXCEEDED"),
            LlmErrorKind::CircuitOpen { .. } => Some("ERR_CIRCUIT_OPEN"),
            LlmErrorKind::MalformedToolArgs { .. } => Some(self.vendor.tool_codes().0),
            LlmErrorKind::ToolUseLost => Some(self.vendor.tool_codes().1),
            LlmErrorKind::Foreign { .. } => self.code.as_deref(),
            _ => None,
        }
    }

    /// Whether running the same turn again from its checkpoint can succeed without a change.
    pub fn is_resumable(&self) -> bool {
        let refused = matches!(self.status, Some(400 | 404 | 422))
            || matches!(
                self.kind,
                LlmErrorKind::Auth | LlmErrorKind::InvalidRequest | LlmErrorKind::ModelNotFound
            );
        !refused && !self.gives_context_overflow()
    }

    /// A sentence for somebody who is not a developer: what it means and what to do.
    pub fn human_message(&self) -> String {
        human::human_message(self)
    }

    /// Whether the failure is "the prompt does not fit", also when a foreign provider reports it in words only.
    pub fn gives_context_overflow(&self) -> bool {
        match &self.kind {
            LlmErrorKind::ContextWindowExceeded { .. } => true,
            LlmErrorKind::Foreign { .. } => {
                let texts = [self.message.as_str(), self.code.as_deref().unwrap_or_default()];
                detect_overflow(self.status, texts, None).is_some()
            }
            _ => false,
        }
    }

    /// Marks a broken or incomplete stream as one that had already handed on a chunk; other failures keep their kind.
    #[must_use]
    pub fn after_delivery(mut self) -> Self {
        if let LlmErrorKind::StreamIncomplete { delivered } | LlmErrorKind::StreamBroken { delivered } =
            &mut self.0.kind
        {
            *delivered = true;
        }
        self
    }
}

impl Deref for LlmError {
    type Target = LlmErrorFacts;

    fn deref(&self) -> &LlmErrorFacts {
        &self.0
    }
}

impl fmt::Debug for LlmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for LlmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.adapter.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "[{}] {}", self.adapter, self.message)
        }
    }
}

impl Error for LlmError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
