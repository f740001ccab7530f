use agentfootprint_core::llm::LlmErrorKind;
use serde_json::Value as Json;

use crate::http::Refusal;
use crate::wire_json;

/// Reads an error body of this wire: `{type: "error", error: {type, message}}`, or what a gateway answers instead.
pub(super) fn read_refusal(_status: u16, body: &[u8]) -> Refusal {
    match wire_json::parse(body) {
        Ok(json) if json.is_object() || json.is_array() => read_json(json),
        _ => Refusal::default(),
    }
}

pub(super) fn read_json(json: Json) -> Refusal {
    let read = Refusal::of_json(json);
    // The sentence about an unknown model is `model: <id>`; other things that are not found are addresses.
    let unknown_model = read.kind.as_deref() == Some("not_found_error")
        && read.sentence.as_deref().is_some_and(|sentence| sentence.starts_with("model:"));
    Refusal { unknown_model, ..read }
}

/// What an `error` event in the middle of a stream means; these errors have no status there.
pub(super) fn kind_in_stream(read: &Refusal) -> LlmErrorKind {
    match read.kind.as_deref() {
        Some("overloaded_error" | "api_error" | "timeout_error") => LlmErrorKind::Transient,
        Some("rate_limit_error") => LlmErrorKind::RateLimited,
        Some("authentication_error" | "permission_error") => LlmErrorKind::Auth,
        Some("invalid_request_error" | "request_too_large" | "billing_error") => LlmErrorKind::InvalidRequest,
        Some("not_found_error") => LlmErrorKind::ModelNotFound,
        _ => LlmErrorKind::StreamBroken { delivered: false },
    }
}
