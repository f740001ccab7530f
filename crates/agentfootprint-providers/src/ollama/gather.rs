//! One answer of this wire, put together from its pieces. A plain completion is one piece, a streamed one many.

use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse, StopReason, Usage};
use serde_json::Value as Json;

use super::refusal::read_json;
use super::thinking;
use crate::finish::{Finish, FinishedCall, WireArgs};
use crate::http::{HeaderMap, Piece, describe_body};
use crate::wire_json;

/// What has arrived so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    content: String,
    thinking: String,
    calls: Vec<GatheredCall>,
    done: bool,
    done_reason: Option<String>,
    usage: Option<Usage>,
}

#[derive(Debug)]
struct GatheredCall {
    id: String,
    name: String,
    args: Json,
}

/// A piece that is not the wire's shape: says where, never what stood there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Misshapen(pub(super) &'static str);

impl Gathered {
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Takes a completion object, or one line of it. Counts are read before anything else.
    pub(super) fn take(&mut self, json: &Json, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        let count = |name| json.get(name).and_then(count);
        let (prompt, completion) = (count("prompt_eval_count"), count("eval_count"));
        if prompt.is_some() || completion.is_some() {
            self.usage = Some(Usage::new(prompt.unwrap_or(0), completion.unwrap_or(0)));
        }
        match json.get("message") {
            None | Some(Json::Null) => {}
            Some(message @ Json::Object(_)) => self.take_message(message, out)?,
            Some(_) => return Err(Misshapen("`message` is not an object")),
        }
        match json.get("done_reason") {
            None | Some(Json::Null) => {}
            Some(Json::String(reason)) if reason.is_empty() => {}
            Some(Json::String(reason)) => self.done_reason = Some(reason.clone()),
            Some(_) => return Err(Misshapen("`done_reason` is not a string")),
        }
        self.done |= json.get("done").and_then(Json::as_bool).unwrap_or(false);
        Ok(())
    }

    fn take_message(&mut self, message: &Json, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        let text = |name, wrong| match message.get(name) {
            None | Some(Json::Null) => Ok(""),
            Some(Json::String(text)) => Ok(text.as_str()),
            Some(_) => Err(Misshapen(wrong)),
        };
        let thinking = text("thinking", "`thinking` is not a string")?;
        if !thinking.is_empty() {
            self.thinking.push_str(thinking);
            out.push(Piece::Thinking(thinking.to_owned()));
        }
        let content = text("content", "`content` is not a string")?;
        if !content.is_empty() {
            self.content.push_str(content);
            out.push(Piece::Text(content.to_owned()));
        }
        match message.get("tool_calls") {
            None | Some(Json::Null) => Ok(()),
            Some(Json::Array(calls)) => calls.iter().try_for_each(|call| self.take_call(call)),
            Some(_) => Err(Misshapen("`tool_calls` is not a list")),
        }
    }

    /// Calls arrive whole on this wire.
    fn take_call(&mut self, call: &Json) -> Result<(), Misshapen> {
        let function = call.get("function").filter(|function| function.is_object());
        let function = function.ok_or(Misshapen("a tool call has no `function`"))?;
        let text =
            |from: &Json, name: &str| from.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        self.calls.push(GatheredCall {
            id: text(call, "id"),
            name: text(function, "name"),
            args: function.get("arguments").cloned().unwrap_or(Json::Null),
        });
        Ok(())
    }

    fn stop_reason(&self) -> StopReason {
        match self.done_reason.as_deref() {
            Some("stop") | None if !self.calls.is_empty() => StopReason::ToolUse,
            Some("stop") | None => StopReason::Stop,
            Some("length") => StopReason::MaxTokens,
            Some(other) => StopReason::from(other),
        }
    }

    /// The response of a whole answer.
    pub(super) fn response(self, finish: &Finish) -> Result<LlmResponse, LlmError> {
        let stop_reason = self.stop_reason();
        if stop_reason == StopReason::ToolUse && self.calls.is_empty() {
            return Err(finish.tool_use_lost());
        }
        let tool_calls = (0..)
            .zip(self.calls)
            .map(|(block_index, GatheredCall { id, name, args })| {
                let call = FinishedCall { block_index, id, name, args: WireArgs::Json(args) };
                finish.tool_call(call, &stop_reason)
            })
            .collect::<Result<_, _>>()?;
        Ok(finish.stamp(LlmResponse {
            raw_thinking: thinking::raw(self.thinking, &self.content),
            content: self.content,
            tool_calls,
            usage: self.usage.unwrap_or_else(Usage::unmeasured),
            stop_reason,
            ..LlmResponse::default()
        }))
    }
}

fn count(json: &Json) -> Option<u64> {
    json.as_u64().or_else(|| {
        json.as_f64().filter(|count| *count >= 0.0 && count.fract() == 0.0).map(|count| count as u64)
    })
}

/// A plain completion.
pub(super) fn from_wire(body: &[u8], headers: &HeaderMap, finish: &Finish) -> Result<LlmResponse, LlmError> {
    let Ok(json) = wire_json::parse(body) else {
        return Err(finish.unreadable_answer(&describe_body(headers, body)));
    };
    if json.get("error").is_some_and(|error| !error.is_null()) {
        return Err(finish.scene.in_band_error(LlmErrorKind::UnreadableResponse, read_json(json)));
    }
    if !json.get("message").is_some_and(Json::is_object) {
        return Err(finish.unreadable_answer(&describe_body(headers, body)));
    }
    let mut gathered = Gathered::default();
    gathered
        .take(&json, &mut Vec::new())
        .map_err(|Misshapen(what)| finish.unreadable_answer(&format!("an odd completion ({what})")))?;
    gathered.response(finish)
}
