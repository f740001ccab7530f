use agentfootprint_core::llm::LlmErrorKind;
use serde_json::Value as Json;

use crate::http::Refusal;
use crate::wire_json;

/// Reads an error body of this wire. Compatible servers word theirs differently; the common shapes are read:
/// `{error: {message, code, type}}`, `{error: "…"}`, `{message}`, `{detail}`.
pub(super) fn read_refusal(_status: u16, body: &[u8]) -> Refusal {
    match wire_json::parse(body) {
        Ok(json) if json.is_object() || json.is_array() => read_json(json),
        _ => Refusal::default(),
    }
}

pub(super) fn read_json(json: Json) -> Refusal {
    let read = Refusal::of_json(json);
    let says = |word: &str| [&read.code, &read.kind].into_iter().flatten().any(|text| text.contains(word));
    let unknown_model = says("model_not_found")
        || says("DeploymentNotFound")
        || says("invalid_model")
        || read.sentence.as_deref().is_some_and(names_an_unknown_model);
    // Some gateways put the real status into the body.
    let status = read.code.as_deref().and_then(|code| code.parse().ok());
    Refusal { unknown_model, status, ..read }
}

/// What an error inside a stream means, by its code or type; it has no status there unless it states one.
pub(super) fn kind_in_stream(read: &Refusal) -> LlmErrorKind {
    let words = [read.code.as_deref(), read.kind.as_deref()];
    let says = |names: &[&str]| words.into_iter().flatten().any(|word| names.contains(&word));
    match () {
        () if read.unknown_model => LlmErrorKind::ModelNotFound,
        () if says(&["rate_limit_exceeded", "rate_limit_error", "insufficient_quota"]) => {
            LlmErrorKind::RateLimited
        }
        () if says(&["invalid_api_key", "authentication_error", "permission_error"]) => LlmErrorKind::Auth,
        () if says(&["invalid_request_error", "invalid_prompt"]) => LlmErrorKind::InvalidRequest,
        () => LlmErrorKind::StreamBroken { delivered: false },
    }
}

/// "The model `x` does not exist", in the wordings seen.
fn names_an_unknown_model(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let starts = ["the model", "model ", "model '", "model \"", "model `", "invalid model", "unknown model"];
    let ends = ["does not exist", "not found", "invalid model", "unknown model", "is not a valid model"];
    starts.iter().any(|start| lower.starts_with(start)) && ends.iter().any(|end| lower.contains(end))
}
