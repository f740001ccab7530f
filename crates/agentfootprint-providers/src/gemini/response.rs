//! From this wire's bytes to a response. Pure.

use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse};
use footprint::value::{Object, Value};
use serde_json::Value as Json;

use super::SIGNATURE;
use super::gather::{Gathered, Misshapen};
use super::refusal::read_json;
use crate::finish::{Finish, FinishedCall, WireArgs};
use crate::http::{HeaderMap, describe_body};
use crate::wire_json;

/// A plain answer.
pub(super) fn from_wire(body: &[u8], headers: &HeaderMap, finish: &Finish) -> Result<LlmResponse, LlmError> {
    let scene = &finish.scene;
    let unreadable = |what: &str| {
        let message = format!(
            "{} answered with {what} instead of candidates; {}",
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
    let mut gathered = Gathered::default();
    gathered
        .take(&json, &mut Vec::new())
        .map_err(|Misshapen(what)| unreadable(&format!("an odd answer ({what})")))?;
    if !gathered.has_candidate && gathered.blocked.is_none() {
        return Err(unreadable(&describe_body(headers, body)));
    }
    response(finish, gathered)
}

/// Whether a body, or the data of a frame, reports an error.
pub(super) fn is_error(json: &Json) -> bool {
    json.get(0).unwrap_or(json).get("error").is_some_and(|error| !error.is_null())
}

/// The response of a whole answer.
pub(super) fn response(finish: &Finish, gathered: Gathered) -> Result<LlmResponse, LlmError> {
    if let Some(reason) = &gathered.blocked {
        tracing::warn!(target: "agentfootprint", reason = reason.as_str(), "the vendor blocked the prompt");
    }
    let stop_reason = gathered.stop_reason();
    let usage = gathered.usage();
    let mut tool_calls = Vec::with_capacity(gathered.calls.len());
    for (block_index, call) in (0..).zip(gathered.calls) {
        let args = WireArgs::Json(call.args);
        let finished = FinishedCall { block_index, id: call.id, name: call.name, args };
        let mut tool_call = finish.tool_call(finished, &stop_reason)?;
        if let Some(signature) = call.signature {
            let mut meta = Object::new();
            meta.insert(SIGNATURE, Value::from(signature));
            tool_call.provider_meta = Some(Value::Object(meta));
        }
        tool_calls.push(tool_call);
    }
    Ok(finish.stamp(LlmResponse {
        content: gathered.content,
        tool_calls,
        usage,
        stop_reason,
        provider_ref: gathered.id,
        raw_thinking: (!gathered.thinking.is_empty()).then(|| Value::from(gathered.thinking)),
        ..LlmResponse::default()
    }))
}
