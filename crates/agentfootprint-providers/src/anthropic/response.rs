//! From this wire's bytes to a response. Pure.

use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse, StopReason};
use serde_json::Value as Json;

use super::gather::{Block, Gathered, Kind, Misshapen};
use super::refusal::read_json;
use crate::finish::{Finish, FinishedCall, WireArgs};
use crate::http::{HeaderMap, describe_body};
use crate::wire_json;

/// A plain message.
pub(super) fn from_wire(body: &[u8], headers: &HeaderMap, finish: &Finish) -> Result<LlmResponse, LlmError> {
    let scene = &finish.scene;
    let unreadable = |what: &str| {
        let message = format!(
            "{} answered with {what} instead of a message; {}",
            scene.door(),
            scene.identity().address_hint
        );
        scene.error(LlmErrorKind::UnreadableResponse, message).with_status(200)
    };
    let Ok(json) = wire_json::parse(body) else {
        return Err(unreadable(&describe_body(headers, body)));
    };
    if is_error(&json) {
        return Err(scene.error_in_success(headers, body, read_json(json)));
    }
    if json.get("content").is_none_or(|content| !content.is_array()) {
        return Err(unreadable(&describe_body(headers, body)));
    }
    let mut gathered = Gathered::default();
    gathered
        .take_message(&json)
        .map_err(|Misshapen(what)| unreadable(&format!("an odd message ({what})")))?;
    response(finish, gathered)
}

/// Whether a body, or the data of a frame, reports an error.
pub(super) fn is_error(json: &Json) -> bool {
    json.get("type").and_then(Json::as_str) == Some("error")
        || json.get("error").is_some_and(|error| !error.is_null())
}

/// The response of a whole answer.
pub(super) fn response(finish: &Finish, mut gathered: Gathered) -> Result<LlmResponse, LlmError> {
    let calls = gathered.take_calls();
    let stop_reason = gathered.our_stop_reason(!calls.is_empty());
    if stop_reason == StopReason::ToolUse && calls.is_empty() {
        return Err(finish.tool_use_lost());
    }
    let mut tool_calls = Vec::with_capacity(calls.len());
    for Block { index, closed, kind } in calls {
        let Kind::Tool { id, name, fragments, whole } = kind else { continue };
        if !closed {
            return Err(finish.unclosed_call(index, id, name, &fragments));
        }
        let args = if fragments.is_empty() { WireArgs::Json(whole) } else { WireArgs::Text(fragments) };
        tool_calls.push(finish.tool_call(FinishedCall { block_index: index, id, name, args }, &stop_reason)?);
    }
    Ok(finish.stamp(LlmResponse {
        tool_calls,
        usage: gathered.usage(),
        stop_reason,
        raw_thinking: gathered.raw_thinking(),
        content: gathered.content,
        provider_ref: gathered.id,
        ..LlmResponse::default()
    }))
}
