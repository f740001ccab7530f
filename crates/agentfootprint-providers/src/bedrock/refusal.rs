//! What this vendor's errors say. Its names for them are the same in a status answer and inside a stream.

use agentfootprint_core::llm::LlmErrorKind;
use serde_json::Value as Json;

use crate::http::Refusal;
use crate::wire_json;

/// Reads an error body of this wire: `{message}` or `{Message}`, with the name in `__type` or in a header.
pub(super) fn read_refusal(_status: u16, body: &[u8]) -> Refusal {
    match wire_json::parse(body) {
        Ok(json) if json.is_object() => read_json(json),
        _ => Refusal::default(),
    }
}

pub(super) fn read_json(json: Json) -> Refusal {
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| json.get(*name)?.as_str());
        found.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let sentence = text(&["message", "Message", "originalMessage"]);
    let unknown_model = sentence.as_deref().is_some_and(|sentence| {
        let lower = sentence.to_lowercase();
        lower.contains("model identifier is invalid")
            || lower.contains("could not resolve the foundation model")
    });
    let code = text(&["__type", "code"]).map(|name| plain_name(&name).to_owned());
    Refusal { sentence, code, unknown_model, body: Some(json), ..Refusal::default() }
}

/// `com.amazon.coral.service#ThrottlingException:http://…` without its surroundings.
fn plain_name(name: &str) -> &str {
    let name = name.split(':').next().unwrap_or_default();
    name.rsplit('#').next().unwrap_or_default()
}

/// What an exception means, by its name; `None` for one that is not known.
pub(super) fn kind_of(name: &str) -> Option<LlmErrorKind> {
    let name = name.strip_suffix("Exception").unwrap_or(name);
    Some(match name.to_ascii_lowercase().as_str() {
        "throttling" | "toomanyrequests" | "modelnotready" | "servicequotaexceeded" => {
            LlmErrorKind::RateLimited
        }
        "internalserver" | "internalfailure" | "serviceunavailable" | "modelstreamerror" | "modeltimeout"
        | "modelerror" => LlmErrorKind::Transient,
        "accessdenied"
        | "unrecognizedclient"
        | "expiredtoken"
        | "missingauthenticationtoken"
        | "invalidsignature"
        | "incompletesignature"
        | "invalidclienttokenid" => LlmErrorKind::Auth,
        "validation" | "conflict" => LlmErrorKind::InvalidRequest,
        "resourcenotfound" => LlmErrorKind::ModelNotFound,
        _ => return None,
    })
}
