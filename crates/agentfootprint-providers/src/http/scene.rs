use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmRequest, TimeoutPhase, Vendor};

use super::exchange::{FaultPhase, HttpFault};
use crate::key::Redactor;

/// Who an adapter is, for its errors.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// The label in front of messages.
    pub(crate) adapter: Cow<'static, str>,
    /// The family.
    pub(crate) vendor: Vendor,
    /// Where a key can come from: "set OPENAI_API_KEY or pass .key(…)".
    pub(crate) key_hint: &'static str,
    /// What to check when the address is wrong.
    pub(crate) address_hint: &'static str,
}

/// One call, as far as its errors need to know it. Every error of an HTTP adapter is made here, so that every text
/// in it passes the redactor.
#[derive(Clone)]
pub(crate) struct Scene(Arc<Inner>);

struct Inner {
    identity: Identity,
    model: String,
    door: String,
    host: String,
    redactor: Redactor,
    request: LlmRequest,
}

/// A shared run of this many bytes between a vendor's sentence and the conversation is taken for a quotation.
const QUOTE: usize = 24;

impl Scene {
    pub(crate) fn new(
        identity: &Identity,
        model: &str,
        url: &url::Url,
        redactor: Redactor,
        request: &LlmRequest,
    ) -> Self {
        let door = redactor.redact(&super::door(url)).into_owned();
        let host = url.host_str().map_or_else(String::new, |host| {
            url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
        });
        Scene::behind(identity, model, door, host, redactor, request)
    }

    /// A call whose address is known in words only.
    pub(crate) fn behind(
        identity: &Identity,
        model: &str,
        door: String,
        host: String,
        redactor: Redactor,
        request: &LlmRequest,
    ) -> Self {
        Scene(Arc::new(Inner {
            identity: identity.clone(),
            model: model.to_owned(),
            door,
            host,
            redactor,
            request: request.clone(),
        }))
    }

    /// The address called, as it may be shown.
    pub(crate) fn door(&self) -> &str {
        &self.0.door
    }

    pub(crate) fn model(&self) -> &str {
        &self.0.model
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// An error of this call.
    pub(crate) fn error(&self, kind: LlmErrorKind, message: impl AsRef<str>) -> LlmError {
        let message = self.0.redactor.redact(message.as_ref()).into_owned();
        self.dress(LlmError::new(kind, self.0.identity.adapter.clone(), message))
    }

    /// Puts this call's facts on an error made elsewhere from redacted texts.
    pub(crate) fn dress(&self, error: LlmError) -> LlmError {
        error.with_vendor(self.0.identity.vendor).with_model(self.0.model.clone())
    }

    pub(crate) fn aborted(&self) -> LlmError {
        self.dress(LlmError::aborted(self.0.identity.adapter.clone()))
    }

    /// A deadline passed.
    pub(crate) fn timeout(&self, phase: TimeoutPhase, limit: Duration) -> LlmError {
        let (what, option) = match phase {
            TimeoutPhase::Connect => ("no connection", "connect"),
            TimeoutPhase::Headers => ("no response head", "headers"),
            TimeoutPhase::Body => ("no further bytes of the body", "idle"),
            TimeoutPhase::Idle => ("no further bytes of the stream", "idle"),
            TimeoutPhase::Total => ("no complete answer", "total"),
        };
        let message = format!(
            "{what} from {} within {limit:?} ({phase} timeout); raise Deadlines::{option} with .deadlines(…)",
            self.0.door
        );
        self.error(LlmErrorKind::Timeout { phase, limit }, message)
    }

    /// The network failed before a response head was there.
    pub(crate) fn unreachable(&self, fault: &HttpFault, connect: Duration) -> LlmError {
        let Inner { host, identity, .. } = &*self.0;
        let error = match fault.phase {
            FaultPhase::ConnectTimeout => self.timeout(TimeoutPhase::Connect, connect),
            FaultPhase::Dns => self.error(
                LlmErrorKind::Network,
                format!("the host {host} cannot be resolved ({}); {}", fault.cause, identity.address_hint),
            ),
            FaultPhase::Connect => self.error(
                LlmErrorKind::Network,
                format!("no connection to {host} ({}); {}", fault.cause, identity.address_hint),
            ),
            FaultPhase::Head | FaultPhase::Body => self.error(
                LlmErrorKind::Network,
                format!("{host} closed the connection without an answer ({})", fault.cause),
            ),
        };
        error.with_source(self.source(fault))
    }

    /// A redacted copy of a fault, for the source chain.
    pub(crate) fn source(&self, fault: &HttpFault) -> HttpFault {
        HttpFault { phase: fault.phase, cause: self.0.redactor.redact(&fault.cause).into_owned() }
    }

    /// A text from the vendor as it may be repeated: without keys, and without anything it quotes from the
    /// conversation. Some servers echo the whole request in a validation error.
    pub(crate) fn vendor_text(&self, text: &str) -> String {
        let text = self.0.redactor.redact(text);
        without_quotes(&text, &self.0.request)
    }
}

/// Replaces every run of at least [`QUOTE`] bytes that also stands in the conversation.
fn without_quotes(text: &str, request: &LlmRequest) -> String {
    let windows: HashSet<&[u8]> = text.as_bytes().windows(QUOTE).collect();
    if windows.is_empty() {
        return text.to_owned();
    }
    let mut quoted: HashSet<&[u8]> = HashSet::new();
    request.for_each_text(&mut |said: &str| {
        for window in said.as_bytes().windows(QUOTE) {
            if let Some(found) = windows.get(window) {
                quoted.insert(found);
            }
        }
    });
    if quoted.is_empty() {
        return text.to_owned();
    }
    let mut covered = vec![false; text.len()];
    for (at, window) in text.as_bytes().windows(QUOTE).enumerate() {
        if quoted.contains(window) {
            covered.iter_mut().skip(at).take(QUOTE).for_each(|byte| *byte = true);
        }
    }
    let mut kept = String::with_capacity(text.len());
    let mut inside = false;
    for (at, c) in text.char_indices() {
        let quoted_here =
            covered.get(at..at + c.len_utf8()).is_some_and(|bytes| bytes.iter().any(|byte| *byte));
        if !quoted_here {
            kept.push(c);
        } else if !inside {
            kept.push_str("[conversation text]");
        }
        inside = quoted_here;
    }
    kept
}

#[cfg(test)]
mod tests {
    use agentfootprint_core::llm::LlmRequest;

    use super::*;

    /// Proves LLM-29.
    #[test]
    fn quotations_of_the_conversation_are_taken_out_of_vendor_texts() {
        let secret = "my social security number is 078-05-1120, ünïcode";
        let request = LlmRequest::new("m").user(secret);
        let text = format!("invalid body: {{\"input\": \"{secret}\"}} at messages.0");
        let shown = without_quotes(&text, &request);
        assert_eq!(shown, "invalid body: {\"input\": \"[conversation text]\"} at messages.0");
        let partly = without_quotes("got 'social security number is 078-05' instead", &request);
        assert_eq!(partly, "got '[conversation text]' instead");
        assert_eq!(without_quotes("max_tokens must be positive", &request), "max_tokens must be positive");
        assert_eq!(without_quotes("short", &request), "short");
    }
}
