//! What the end of an answer needs besides the answer itself, the same on every wire.

use std::sync::Arc;

use agentfootprint_core::llm::{ArgsError, LlmError, LlmErrorKind, ServedBy, StopReason, WireManifest};
use agentfootprint_record::message::ToolCall;
use footprint::value::{Object, Str, Value};
use serde_json::Value as Json;

use crate::MalformedArgs;
use crate::http::Scene;
use crate::ids::InventedIds;
use crate::tool_args::{UnreadableArgs, read_tool_args};

/// The facts of one call that its answer carries, and the errors its end can have.
#[derive(Clone)]
pub(crate) struct Finish {
    pub(crate) scene: Scene,
    pub(crate) tool_names: Option<Vec<Str>>,
    pub(crate) malformed_args: MalformedArgs,
    pub(crate) provider: String,
    pub(crate) ids: Arc<InventedIds>,
}

/// The arguments of a call, as a wire has them.
#[derive(Debug, Clone)]
pub(crate) enum WireArgs {
    /// JSON text, possibly of nothing or of something else than an object.
    Text(String),
    /// A JSON value.
    Json(Json),
}

impl Finish {
    pub(crate) fn manifest(&self) -> Option<WireManifest> {
        self.tool_names.clone().map(|tool_names| WireManifest { tool_names })
    }

    pub(crate) fn served_by(&self) -> Option<ServedBy> {
        Some(ServedBy { provider: self.provider.clone(), model: self.scene.model().to_owned() })
    }

    /// A finished call. An empty id means that the wire had none.
    pub(crate) fn tool_call(
        &self,
        block_index: u64,
        id: String,
        name: String,
        args: WireArgs,
        stop: &StopReason,
    ) -> Result<ToolCall, LlmError> {
        if name.is_empty() {
            let message = format!("{} asked for a tool call without saying which tool", self.scene.door());
            return Err(self.scene.error(LlmErrorKind::UnreadableResponse, message));
        }
        let id = if id.is_empty() { self.ids.next() } else { id };
        match read_args(args, stop) {
            Ok(args) => Ok(ToolCall::new(id, name, args)),
            Err(UnreadableArgs { sentence, length })
                if self.malformed_args == MalformedArgs::ReturnWithError =>
            {
                let mut call = ToolCall::new(id, name, Object::new());
                ArgsError { message: sentence, length: length as u64 }.put_on(&mut call);
                Ok(call)
            }
            Err(unreadable) => Err(self.malformed(block_index, id, name, unreadable)),
        }
    }

    fn malformed(&self, block_index: u64, id: String, name: String, args: UnreadableArgs) -> LlmError {
        let UnreadableArgs { sentence, length } = args;
        let message = format!("tool call `{id}` of `{name}` ({length} chars of arguments): {sentence}");
        let kind = LlmErrorKind::MalformedToolArgs {
            tool_name: name,
            tool_use_id: id,
            block_index,
            raw_length: length,
        };
        self.scene.error(kind, message)
    }

    /// The model said that it calls a tool, and no call came.
    pub(crate) fn tool_use_lost(&self) -> LlmError {
        let message =
            format!("the model at {} stopped to call a tool, and no call arrived", self.scene.door());
        self.scene.error(LlmErrorKind::ToolUseLost, message)
    }

    /// One frame of the stream is not this wire's shape.
    pub(crate) fn unreadable_frame(&self, what: &str) -> LlmError {
        let message = format!("a frame of the stream from {} cannot be read: {what}", self.scene.door());
        self.scene.error(LlmErrorKind::UnreadableFrame, message)
    }

    /// A success status with a body that is not this wire's shape; `what` says what it is.
    pub(crate) fn unreadable_answer(&self, what: &str) -> LlmError {
        let message = format!(
            "{} answered with {what} instead of a completion; {}",
            self.scene.door(),
            self.scene.identity().address_hint
        );
        self.scene.error(LlmErrorKind::UnreadableResponse, message).with_status(200)
    }
}

fn read_args(args: WireArgs, stop: &StopReason) -> Result<Object, UnreadableArgs> {
    match args {
        WireArgs::Text(text) | WireArgs::Json(Json::String(text)) => read_tool_args(&text, stop),
        WireArgs::Json(Json::Null) => Ok(Object::new()),
        WireArgs::Json(Json::Object(fields)) => match Value::from(Json::Object(fields)) {
            Value::Object(args) => Ok(args),
            _ => Ok(Object::new()), // an object stays an object
        },
        WireArgs::Json(other) => read_tool_args(&other.to_string(), stop),
    }
}
