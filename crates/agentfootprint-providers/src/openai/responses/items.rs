//! What the items of one answer say. A plain answer brings them at once, a stream one by one and then all of them.

use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse, StopReason, Usage};
use footprint::value::{Object, Value};
use serde_json::Value as Json;

use super::super::refusal::read_json;
use crate::finish::{Finish, FinishedCall, WireArgs};
use crate::http::{HeaderMap, describe_body};
use crate::wire_json;

/// A piece that is not the wire's shape: says where, never what stood there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Misshapen(pub(super) &'static str);

/// The text of an answer's items, and whether it is a refusal.
pub(super) fn text_of(items: &[Json]) -> (String, bool) {
    let (mut text, mut refused) = (String::new(), false);
    let messages = items.iter().filter(|item| kind(item) == "message");
    for part in messages.filter_map(|item| item.get("content")?.as_array()).flatten() {
        if let Some(said) = part.get("text").and_then(Json::as_str) {
            text.push_str(said);
        } else if let Some(refusal) = part.get("refusal").and_then(Json::as_str) {
            refused = true;
            text.push_str(refusal);
        }
    }
    (text, refused)
}

fn kind(item: &Json) -> &str {
    item.get("type").and_then(Json::as_str).unwrap_or_default()
}

/// The response of a finished `response` object whose items are `items` and whose text was handed on as `content`.
pub(super) fn response(
    json: &Json,
    items: &[Json],
    content: String,
    finish: &Finish,
) -> Result<LlmResponse, LlmError> {
    let (_, refused) = text_of(items);
    let calls: Vec<(u64, &Json)> =
        (0..).zip(items).filter(|(_, item)| kind(item) == "function_call").collect();
    let reason = json.get("incomplete_details").and_then(|details| details.get("reason")?.as_str());
    let stop_reason = match reason {
        Some("max_output_tokens") => StopReason::MaxTokens,
        Some(other) => StopReason::from(other),
        None if refused => StopReason::ContentFilter,
        None if !calls.is_empty() => StopReason::ToolUse,
        None => match json.get("status").and_then(Json::as_str) {
            Some("completed") | None => StopReason::Stop,
            Some(other) => StopReason::from(other),
        },
    };
    let text = |item: &Json, name: &str| item.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let tool_calls = calls
        .into_iter()
        .map(|(block_index, item)| {
            // JSON text; some compatible servers send the object itself.
            let args = WireArgs::Json(item.get("arguments").cloned().unwrap_or(Json::Null));
            let call =
                FinishedCall { block_index, id: text(item, "call_id"), name: text(item, "name"), args };
            finish.tool_call(call, &stop_reason)
        })
        .collect::<Result<_, _>>()?;
    let thoughts: Vec<Value> =
        items.iter().filter(|item| kind(item) == "reasoning").filter_map(thought).collect();
    Ok(finish.stamp(LlmResponse {
        content,
        tool_calls,
        usage: json.get("usage").and_then(usage_of).unwrap_or_else(Usage::unmeasured),
        stop_reason,
        provider_ref: json.get("id").and_then(Json::as_str).filter(|id| !id.is_empty()).map(str::to_owned),
        raw_thinking: (!thoughts.is_empty()).then(|| Value::Array(thoughts.into_iter().collect())),
        ..LlmResponse::default()
    }))
}

/// A reasoning item for the handler: what is shown, and what is to be sent back.
fn thought(item: &Json) -> Option<Value> {
    let parts = |name: &str| -> Vec<&str> {
        let parts = item.get(name).and_then(Json::as_array).into_iter().flatten();
        parts.filter_map(|part| part.get("text").and_then(Json::as_str)).collect()
    };
    let shown = [parts("summary"), parts("content")].concat().join("\n\n");
    let text = |name| item.get(name).and_then(Json::as_str).unwrap_or_default();
    let fields = [("id", text("id")), ("text", &shown), ("encrypted", text("encrypted_content"))];
    let mut raw = Object::new();
    for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
        raw.insert(name, Value::from(value));
    }
    (raw.get("text").is_some() || raw.get("encrypted").is_some()).then(|| Value::Object(raw))
}

/// The counts, made disjoint.
fn usage_of(json: &Json) -> Option<Usage> {
    let count = |name: &str| json.get(name).and_then(Json::as_u64);
    let detail = |group: &str, name: &str| json.get(group).and_then(|details| details.get(name)?.as_u64());
    let (input, output) = (count("input_tokens"), count("output_tokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let cached = detail("input_tokens_details", "cached_tokens");
    let reasoning = detail("output_tokens_details", "reasoning_tokens");
    let mut usage = Usage::new(
        input.unwrap_or(0).saturating_sub(cached.unwrap_or(0)),
        output.unwrap_or(0).saturating_sub(reasoning.unwrap_or(0)),
    );
    usage.cache_read = cached;
    usage.thinking = reasoning;
    Some(usage)
}

/// The error a `response` object reports: the run failed at the vendor.
pub(super) fn failure(json: &Json, otherwise: LlmErrorKind, finish: &Finish) -> Option<LlmError> {
    let error = json.get("error").filter(|error| !error.is_null());
    let failed = json.get("status").and_then(Json::as_str) == Some("failed");
    if error.is_none() && !failed {
        return None;
    }
    let read = read_json(serde_json::json!({ "error": error }));
    let kind = kind_of(read.code.as_deref()).unwrap_or(otherwise);
    Some(finish.scene.in_band_error(kind, read))
}

/// What a failure's code means.
pub(super) fn kind_of(code: Option<&str>) -> Option<LlmErrorKind> {
    match code? {
        "rate_limit_exceeded" => Some(LlmErrorKind::RateLimited),
        "server_error" | "vector_store_timeout" => Some(LlmErrorKind::Transient),
        "invalid_prompt" => Some(LlmErrorKind::InvalidRequest),
        _ => None,
    }
}

/// A plain answer.
pub(super) fn from_wire(body: &[u8], headers: &HeaderMap, finish: &Finish) -> Result<LlmResponse, LlmError> {
    let unreadable = |what: &str| finish.unreadable_answer(what);
    let Ok(json) = wire_json::parse(body) else {
        return Err(unreadable(&describe_body(headers, body)));
    };
    if let Some(error) = failure(&json, LlmErrorKind::UnreadableResponse, finish) {
        return Err(error);
    }
    let Some(items) = json.get("output").and_then(Json::as_array) else {
        return Err(unreadable(&describe_body(headers, body)));
    };
    let (content, _) = text_of(items);
    response(&json, items, content, finish)
}
