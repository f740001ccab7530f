//! What every adapter does at the end of an answer: read the arguments of its tool calls, and say who served it.

use std::sync::Arc;

use agentfootprint_core::llm::{
    ArgsError, LlmError, LlmErrorKind, LlmResponse, ServedBy, StopReason, WireManifest,
};
use agentfootprint_record::message::ToolCall;
use agentfootprint_record::text::utf16_len;
use footprint::value::{Object, Str, Value};
use serde_json::Value as Json;

use crate::MalformedArgs;
use crate::http::Scene;
use crate::ids::InventedIds;
use crate::tool_args::{UnreadableArgs, read_tool_args};

/// What the end of an answer needs besides the answer itself.
#[derive(Clone)]
pub(crate) struct Finish {
    pub(crate) scene: Scene,
    /// The tools that stood in the body.
    pub(crate) tool_names: Option<Vec<Str>>,
    pub(crate) malformed_args: MalformedArgs,
    /// The adapter's name.
    pub(crate) provider: String,
    pub(crate) ids: Arc<InventedIds>,
}

/// One tool call as a wire has it.
pub(crate) struct FinishedCall {
    /// Where it stands in the answer.
    pub(crate) block_index: u64,
    /// Empty where the wire sent none.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) args: WireArgs,
}

/// Arguments as a wire has them.
#[derive(Debug)]
#[allow(dead_code, reason = "which forms are used depends on the adapters built in")]
pub(crate) enum WireArgs {
    /// JSON text.
    Text(String),
    /// JSON.
    Json(Json),
}

impl WireArgs {
    fn read(self, stop: &StopReason) -> Result<Object, UnreadableArgs> {
        match self {
            WireArgs::Text(text) | WireArgs::Json(Json::String(text)) => read_tool_args(&text, stop),
            WireArgs::Json(Json::Null) => Ok(Object::new()),
            WireArgs::Json(json @ Json::Object(_)) => match Value::from(json) {
                Value::Object(args) => Ok(args),
                _ => Ok(Object::new()),
            },
            WireArgs::Json(other) => read_tool_args(&other.to_string(), stop),
        }
    }
}

#[allow(dead_code, reason = "which ends are used depends on the adapters built in")]
impl Finish {
    /// A tool call of ours.
    pub(crate) fn tool_call(&self, call: FinishedCall, stop: &StopReason) -> Result<ToolCall, LlmError> {
        let FinishedCall { block_index, id, name, args } = call;
        if name.is_empty() {
            let message = format!("{} asked for a tool call without saying which tool", self.scene.door());
            return Err(self.scene.error(LlmErrorKind::UnreadableResponse, message));
        }
        let id = if id.is_empty() { self.ids.next() } else { id };
        match args.read(stop) {
            Ok(args) => Ok(ToolCall::new(id, name, args)),
            Err(UnreadableArgs { sentence, length })
                if self.malformed_args == MalformedArgs::ReturnWithError =>
            {
                let mut call = ToolCall::new(id, name, Object::new());
                ArgsError { message: sentence, length: length as u64 }.put_on(&mut call);
                Ok(call)
            }
            Err(UnreadableArgs { sentence, length }) => {
                Err(self.malformed(block_index, id, name, &sentence, length))
            }
        }
    }

    /// A tool call whose end never came, in an answer that says it is whole.
    pub(crate) fn unclosed_call(&self, block_index: u64, id: String, name: String, args: &str) -> LlmError {
        self.malformed(block_index, id, name, "the call was never closed", utf16_len(args))
    }

    fn malformed(
        &self,
        block_index: u64,
        id: String,
        name: String,
        sentence: &str,
        length: usize,
    ) -> LlmError {
        let message = format!("tool call `{id}` of `{name}` ({length} chars of arguments): {sentence}");
        let kind = LlmErrorKind::MalformedToolArgs {
            tool_name: name,
            tool_use_id: id,
            block_index,
            raw_length: length,
        };
        self.scene.error(kind, message)
    }

    /// The model said that it calls tools, and no call arrived.
    pub(crate) fn tool_use_lost(&self) -> LlmError {
        let message =
            format!("the model at {} stopped to call a tool, and no call arrived", self.scene.door());
        self.scene.error(LlmErrorKind::ToolUseLost, message)
    }

    /// Puts on a response what was sent and who served it.
    pub(crate) fn stamp(&self, mut response: LlmResponse) -> LlmResponse {
        response.wire_manifest = self.tool_names.clone().map(|tool_names| WireManifest { tool_names });
        response.served_by =
            Some(ServedBy { provider: self.provider.clone(), model: self.scene.model().to_owned() });
        response
    }
}
