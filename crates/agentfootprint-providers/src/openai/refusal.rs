use serde_json::Value as Json;

use crate::http::Refusal;

/// Reads an error body of this wire. Compatible servers word theirs differently; the common shapes are read:
/// `{error: {message, code, type}}`, `{error: "…"}`, `{message}`, `{detail}`.
pub(super) fn read_refusal(_status: u16, body: &[u8]) -> Refusal {
    match serde_json::from_slice::<Json>(body) {
        Ok(json) if json.is_object() || json.is_array() => read_json(json),
        _ => Refusal::default(),
    }
}

pub(super) fn read_json(json: Json) -> Refusal {
    // Google's compatible endpoint wraps the object in a list.
    let top = json.get(0).unwrap_or(&json);
    let error = top.get("error").unwrap_or(top);
    let text = |name| match error.get(name).or_else(|| top.get(name)) {
        Some(Json::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Json::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let detail = top.get("detail").and_then(|detail| match detail {
        Json::String(text) => Some(text.clone()),
        // FastAPI lists what it did not like; its `input` fields quote the request and are left out.
        Json::Array(items) => items.iter().find_map(|item| item.get("msg")?.as_str().map(str::to_owned)),
        _ => None,
    });
    let sentence = error.as_str().map(str::to_owned).or_else(|| text("message")).or(detail);
    let code = text("code");
    let kind = text("type");
    let says = |word: &str| [&code, &kind].into_iter().flatten().any(|text| text.contains(word));
    let unknown_model = says("model_not_found")
        || says("DeploymentNotFound")
        || says("invalid_model")
        || sentence.as_deref().is_some_and(names_an_unknown_model);
    Refusal { sentence, code, kind, unknown_model, body: Some(json) }
}

/// "The model `x` does not exist", in the wordings seen.
fn names_an_unknown_model(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let starts = ["the model", "model ", "model '", "model \"", "model `", "invalid model", "unknown model"];
    let ends = ["does not exist", "not found", "invalid model", "unknown model", "is not a valid model"];
    starts.iter().any(|start| lower.starts_with(start)) && ends.iter().any(|end| lower.contains(end))
}
