//! From this wire's bytes to a response. Pure.

use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse, StopReason, Usage};
use footprint::value::Value;
use serde_json::{Value as Json, json};

use super::gather::{Gathered, GatheredCall, Misshapen, Shape};
use super::refusal::read_json;
use crate::finish::{Finish, FinishedCall, WireArgs};
use crate::http::{HeaderMap, describe_body};
use crate::wire_json;

/// A plain completion.
pub(super) fn from_wire(body: &[u8], headers: &HeaderMap, finish: &Finish) -> Result<LlmResponse, LlmError> {
    let scene = &finish.scene;
    let unreadable = |what: &str| {
        let message = format!(
            "{} answered with {what} instead of a completion; {}",
            scene.door(),
            scene.identity().address_hint
        );
        scene.error(LlmErrorKind::UnreadableResponse, message).with_status(200)
    };
    let Ok(json) = wire_json::parse(body) else {
        return Err(unreadable(&describe_body(headers, body)));
    };
    if let Some(error) = reported_error(&json) {
        return Err(scene.error_in_success(headers, body, read_json(error)));
    }
    let has_choice = json.get("choices").and_then(Json::as_array).is_some_and(|choices| !choices.is_empty());
    if !has_choice {
        return Err(unreadable(&describe_body(headers, body)));
    }
    let mut gathered = Gathered::default();
    gathered
        .take(&json, Shape::Whole, &mut Vec::new())
        .map_err(|Misshapen(what)| unreadable(&format!("an odd completion ({what})")))?;
    response(finish, gathered)
}

/// The error that a body, or the data of a frame, reports: at its top, as the whole of it (vLLM, Mistral), at its choice
/// (OpenRouter) or in a server's own corner (Groq).
pub(super) fn reported_error(json: &Json) -> Option<Json> {
    // Some servers send the field with nothing in it.
    let is_error = |error: &&Json| match error {
        Json::Null | Json::Bool(false) => false,
        Json::String(text) => !text.is_empty(),
        Json::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    if json.get("error").filter(is_error).is_some() || json.get("object").is_some_and(|kind| kind == "error")
    {
        return Some(json.clone());
    }
    let in_choice = json.get("choices").and_then(|choices| choices.get(0)?.get("error"));
    let in_corner = json.get("x_groq").and_then(|corner| corner.get("error"));
    let inner = [in_choice, in_corner].into_iter().flatten().find(is_error);
    inner.map(|error| json!({"error": error}))
}

/// The response of a whole answer.
pub(super) fn response(finish: &Finish, mut gathered: Gathered) -> Result<LlmResponse, LlmError> {
    let gathered_calls = gathered.take_calls();
    let stop_reason = gathered.stop_reason(!gathered_calls.is_empty());
    if stop_reason == StopReason::ToolUse && gathered_calls.is_empty() {
        return Err(finish.tool_use_lost());
    }
    let finished = |(block_index, call): (u64, GatheredCall)| {
        let args = WireArgs::Text(call.args);
        finish.tool_call(FinishedCall { block_index, id: call.id, name: call.name, args }, &stop_reason)
    };
    let tool_calls = (0..).zip(gathered_calls).map(finished).collect::<Result<_, _>>()?;
    Ok(finish.stamp(LlmResponse {
        content: gathered.content,
        tool_calls,
        usage: gathered.usage.unwrap_or_else(Usage::unmeasured),
        stop_reason,
        provider_ref: gathered.id,
        raw_thinking: (!gathered.thinking.is_empty()).then(|| Value::from(gathered.thinking)),
        ..LlmResponse::default()
    }))
}
