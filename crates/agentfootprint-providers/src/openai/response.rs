//! From this wire's bytes to a response. Pure.

use std::sync::Arc;

use agentfootprint_core::llm::{
    ArgsError, LlmError, LlmErrorKind, LlmResponse, ServedBy, StopReason, Usage, WireManifest,
};
use agentfootprint_record::message::ToolCall;
use footprint::value::{Object, Str, Value};
use serde_json::Value as Json;

use super::gather::{Gathered, GatheredCall, Misshapen, Shape};
use super::refusal::read_json;
use crate::MalformedArgs;
use crate::http::{HeaderMap, Scene, describe_body};
use crate::ids::InventedIds;
use crate::tool_args::{UnreadableArgs, read_tool_args};

/// What the end of an answer needs besides the answer itself.
#[derive(Clone)]
pub(super) struct Finish {
    pub(super) scene: Scene,
    pub(super) tool_names: Option<Vec<Str>>,
    pub(super) malformed_args: MalformedArgs,
    pub(super) provider: String,
    pub(super) ids: Arc<InventedIds>,
}

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
    finish.response(gathered)
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

impl Finish {
    /// The response of a whole answer.
    pub(super) fn response(&self, mut gathered: Gathered) -> Result<LlmResponse, LlmError> {
        let gathered_calls = gathered.take_calls();
        let stop_reason = gathered.stop_reason(!gathered_calls.is_empty());
        if stop_reason == StopReason::ToolUse && gathered_calls.is_empty() {
            let message =
                format!("the model at {} stopped to call a tool, and no call arrived", self.scene.door());
            return Err(self.scene.error(LlmErrorKind::ToolUseLost, message));
        }
        let tool_calls = (0..)
            .zip(gathered_calls)
            .map(|(block_index, call)| self.tool_call(block_index, call, &stop_reason))
            .collect::<Result<_, _>>()?;
        Ok(LlmResponse {
            content: gathered.content,
            tool_calls,
            usage: gathered.usage.unwrap_or_else(Usage::unmeasured),
            stop_reason,
            provider_ref: gathered.id,
            raw_thinking: (!gathered.thinking.is_empty()).then(|| Value::from(gathered.thinking)),
            wire_manifest: self.tool_names.clone().map(|tool_names| WireManifest { tool_names }),
            served_by: Some(ServedBy {
                provider: self.provider.clone(),
                model: self.scene.model().to_owned(),
            }),
        })
    }

    fn tool_call(
        &self,
        block_index: u64,
        call: GatheredCall,
        stop: &StopReason,
    ) -> Result<ToolCall, LlmError> {
        if call.name.is_empty() {
            let message = format!("{} asked for a tool call without saying which tool", self.scene.door());
            return Err(self.scene.error(LlmErrorKind::UnreadableResponse, message));
        }
        let id = if call.id.is_empty() { self.ids.next() } else { call.id };
        match read_tool_args(&call.args, stop) {
            Ok(args) => Ok(ToolCall::new(id, call.name, args)),
            Err(UnreadableArgs { sentence, length })
                if self.malformed_args == MalformedArgs::ReturnWithError =>
            {
                let mut call = ToolCall::new(id, call.name, Object::new());
                ArgsError { message: sentence, length: length as u64 }.put_on(&mut call);
                Ok(call)
            }
            Err(UnreadableArgs { sentence, length }) => {
                let message =
                    format!("tool call `{id}` of `{}` ({length} chars of arguments): {sentence}", call.name);
                let kind = LlmErrorKind::MalformedToolArgs {
                    tool_name: call.name,
                    tool_use_id: id,
                    block_index,
                    raw_length: length,
                };
                Err(self.scene.error(kind, message))
            }
        }
    }
}
