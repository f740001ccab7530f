//! Giving up: what is said, what is written, and the end of the chart (LLM-129, AGT-70).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::ReliabilityFailFast;
use agentfootprint_record::events::words::{ReliabilityPhase, Word as _};
use footprint::error::StageError;
use footprint::value::{Object, Str, Value};

use crate::llm::ErrorKind;
use crate::run::StageCx;

/// Kinds that no rule declares.
pub(super) mod kinds {
    pub(crate) const PRE_CHECK: &str = "pre-check-failed";
    pub(crate) const MAX_LOOP: &str = "max-loop-exceeded";
    pub(crate) const NO_MORE_PROVIDERS: &str = "no-more-providers";
    pub(crate) const NO_FALLBACK: &str = "fallback-not-configured";
    pub(crate) const NO_RESPONSE: &str = "no-response";
    pub(crate) const MID_STREAM: &str = "mid-stream-not-retryable";
}

/// What went wrong underneath.
#[derive(Clone)]
pub(super) struct Cause {
    pub(super) name: Str,
    pub(super) message: Str,
}

/// Why the gate gives up.
pub(super) struct GiveUp {
    pub(super) phase: ReliabilityPhase,
    pub(super) kind: Str,
    pub(super) label: Option<Str>,
    pub(super) attempt: u32,
    pub(super) provider: Str,
    pub(super) error_kind: ErrorKind,
    pub(super) cause: Option<Cause>,
}

impl GiveUp {
    /// Files it. The stage does not fail: outcome resolution reads the keys and raises the error.
    pub(super) fn file(self, cx: &StageCx) -> Result<(), StageError> {
        let message = self.cause.as_ref().map(|cause| cause.message.clone());
        cx.emit(|| {
            ReliabilityFailFast::new(self.phase.clone(), &self.kind, u64::from(self.attempt))
                .label(self.label.clone())
                .provider_used(Some(self.provider.clone()))
                .error_kind(Some(Str::from(self.error_kind.as_str())))
                .error_message(message.clone())
        });
        let phase = self.phase.word();
        let reason = format!("reliability-{phase}: {}", self.label.as_ref().unwrap_or(&self.kind));
        let mut payload = Object::new();
        payload.insert("phase", Value::from(phase));
        payload.insert("attempt", Value::from(self.attempt));
        payload.insert("providerUsed", Value::from(self.provider));
        payload.insert("errorKind", Value::from(self.error_kind.as_str()));
        if let Some(message) = message {
            payload.insert("errorMessage", Value::from(message));
        }
        cx.set(state::RELIABILITY_FAIL_KIND, self.kind)?;
        cx.set(state::RELIABILITY_FAIL_PAYLOAD, payload)?;
        cx.set(state::RELIABILITY_FAIL_REASON, reason.as_str())?;
        if let Some(cause) = self.cause {
            cx.set(state::RELIABILITY_FAIL_CAUSE_MESSAGE, cause.message)?;
            cx.set(state::RELIABILITY_FAIL_CAUSE_NAME, cause.name)?;
        }
        Ok(cx.scope.stop(reason)?)
    }
}
