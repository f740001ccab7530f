//! From this wire's bytes to a response. Pure.

use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse, StopReason, Usage};
use footprint::value::Value;
use serde_json::Value as Json;

use super::gather::{Gathered, GatheredCall, Misshapen, Shape};
use super::refusal::read_json;
use crate::finish::{Finish, WireArgs};
use crate::http::{HeaderMap, Scene, describe_body};

/// A plain completion.
pub(super) fn from_wire(body: &[u8], headers: &HeaderMap, finish: &Finish) -> Result<LlmResponse, LlmError> {
    let scene = &finish.scene;
    let unreadable = |what: &str| finish.unreadable_answer(what);
    let Ok(json) = serde_json::from_slice::<Json>(body) else {
        return Err(unreadable(&describe_body(headers, body)));
    };
    if json.get("error").is_some_and(|error| !error.is_null()) {
        return Err(error_body(json, headers, body, scene));
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

/// An error with a success status: some gateways put the real status into the body.
fn error_body(json: Json, headers: &HeaderMap, body: &[u8], scene: &Scene) -> LlmError {
    let read = read_json(json);
    let status = read.code.as_deref().and_then(|code| code.parse::<u16>().ok());
    match status.filter(|code| (400..600).contains(code)) {
        Some(status) => scene.refused(status, headers, body, read, 0),
        None => scene.in_band_error(LlmErrorKind::UnreadableResponse, read),
    }
}

/// The response of a whole answer.
pub(super) fn response(finish: &Finish, mut gathered: Gathered) -> Result<LlmResponse, LlmError> {
    let calls = gathered.take_calls();
    let stop_reason = gathered.stop_reason(!calls.is_empty());
    if stop_reason == StopReason::ToolUse && calls.is_empty() {
        return Err(finish.tool_use_lost());
    }
    let tool_calls = (0..)
        .zip(calls)
        .map(|(block_index, GatheredCall { id, name, args, .. })| {
            finish.tool_call(block_index, id, name, WireArgs::Text(args), &stop_reason)
        })
        .collect::<Result<_, _>>()?;
    Ok(LlmResponse {
        content: gathered.content,
        tool_calls,
        usage: gathered.usage.unwrap_or_else(Usage::unmeasured),
        stop_reason,
        provider_ref: gathered.id,
        raw_thinking: (!gathered.thinking.is_empty()).then(|| Value::from(gathered.thinking)),
        wire_manifest: finish.manifest(),
        served_by: finish.served_by(),
    })
}
