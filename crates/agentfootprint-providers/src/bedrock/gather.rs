//! One answer of this wire, put together from its blocks. A plain answer brings them whole, a stream in pieces; both
//! go through [`Gathered`], which is why they cannot disagree.

use std::collections::BTreeMap;

use agentfootprint_core::llm::{LlmError, LlmResponse, StopReason, Usage};
use aws_smithy_types::base64;
use footprint::value::{Object, Value};
use serde_json::Value as Json;

use crate::finish::{Finish, FinishedCall, WireArgs};
use crate::http::{HeaderMap, Piece, describe_body};
use crate::wire_json;

/// What has arrived so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    content: String,
    blocks: BTreeMap<u64, Block>,
    stop_reason: Option<String>,
    usage: Option<Usage>,
    /// The counts have come, with or without numbers: nothing follows.
    metadata: bool,
}

#[derive(Debug)]
enum Block {
    /// Text goes to the content as it arrives.
    Text,
    Call {
        id: String,
        name: String,
        args: WireArgs,
        /// The block was closed; an open one is not a call.
        closed: bool,
    },
    /// A tool the vendor runs itself, and anything that is not read.
    Other,
    Reasoning {
        text: String,
        signature: String,
        /// Encrypted reasoning: base64, one text per piece.
        redacted: Vec<String>,
    },
}

/// A piece that is not the wire's shape: says where, never what stood there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Misshapen(pub(super) &'static str);

impl Gathered {
    pub(super) fn is_stopped(&self) -> bool {
        self.stop_reason.is_some()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.stop_reason.is_some() && self.metadata
    }

    /// Takes one event of a stream; unknown events are new ones.
    pub(super) fn event(&mut self, kind: &str, json: &Json, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        match kind {
            "contentBlockStart" => self.start(index(json)?, json.get("start").unwrap_or(&Json::Null)),
            "contentBlockDelta" => {
                let delta = json.get("delta").filter(|delta| delta.is_object());
                self.delta(index(json)?, delta.ok_or(Misshapen("a delta is not an object"))?, out)
            }
            "contentBlockStop" => {
                if let Some(Block::Call { closed, .. }) = self.blocks.get_mut(&index(json)?) {
                    *closed = true;
                }
                Ok(())
            }
            "messageStop" => self.stop(json),
            "metadata" => {
                self.metadata = true;
                self.count(json.get("usage"));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, index: u64, start: &Json) -> Result<(), Misshapen> {
        let block = match start.get("toolUse") {
            Some(tool) => call(tool, WireArgs::Text(String::new()), false),
            None if start.get("toolResult").is_some() || start.get("image").is_some() => Block::Other,
            None => return Ok(()),
        };
        self.blocks.insert(index, block);
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: &Json, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        match delta.get("text") {
            None | Some(Json::Null) => {}
            Some(Json::String(text)) => {
                self.blocks.entry(index).or_insert(Block::Text);
                self.say(text, out);
            }
            Some(_) => return Err(Misshapen("a text delta is not a string")),
        }
        if let Some(tool) = delta.get("toolUse") {
            let unnamed = || call(&Json::Null, WireArgs::Text(String::new()), false);
            match self.blocks.entry(index).or_insert_with(unnamed) {
                Block::Call { args: WireArgs::Text(args), .. } => match tool.get("input") {
                    None | Some(Json::Null) => {}
                    Some(Json::String(fragment)) => args.push_str(fragment),
                    // A call that arrives whole.
                    Some(object @ Json::Object(_)) => args.push_str(&object.to_string()),
                    Some(_) => return Err(Misshapen("a fragment of tool input is not a string")),
                },
                _ => return Ok(()), // a tool the vendor runs itself
            }
        }
        match delta.get("reasoningContent") {
            Some(reasoning) => self.reason(index, reasoning, out),
            None => Ok(()),
        }
    }

    /// A piece of reasoning, in the shape of a stream: its parts stand side by side.
    fn reason(&mut self, index: u64, reasoning: &Json, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        let part = |name| match reasoning.get(name) {
            None | Some(Json::Null) => Ok(""),
            Some(Json::String(text)) => Ok(text.as_str()),
            Some(_) => Err(Misshapen("a part of the reasoning is not a string")),
        };
        let (more, signed, encrypted) = (part("text")?, part("signature")?, part("redactedContent")?);
        let fresh =
            || Block::Reasoning { text: String::new(), signature: String::new(), redacted: Vec::new() };
        if let Block::Reasoning { text, signature, redacted } = self.blocks.entry(index).or_insert_with(fresh)
        {
            text.push_str(more);
            signature.push_str(signed);
            redacted.extend((!encrypted.is_empty()).then(|| encrypted.to_owned()));
            if !more.is_empty() {
                out.push(Piece::Thinking(more.to_owned()));
            }
        }
        Ok(())
    }

    /// Takes a whole answer.
    fn whole(&mut self, json: &Json) -> Result<(), Misshapen> {
        let message = json.get("output").and_then(|output| output.get("message"));
        let content = match message.and_then(|message| message.get("content")) {
            None | Some(Json::Null) => &[],
            Some(Json::Array(blocks)) => blocks.as_slice(),
            Some(_) => return Err(Misshapen("`content` is not a list")),
        };
        let mut out = Vec::new();
        for (index, block) in (0..).zip(content) {
            if let Some(tool) = block.get("toolUse") {
                let args = WireArgs::Json(tool.get("input").cloned().unwrap_or(Json::Null));
                self.blocks.insert(index, call(tool, args, true));
            } else if let Some(reasoning) = block.get("reasoningContent") {
                // The text and its signature stand one level deeper than in a stream.
                self.reason(index, reasoning.get("reasoningText").unwrap_or(reasoning), &mut out)?;
            } else if let Some(cited) = block.get("citationsContent") {
                let parts = cited.get("content").and_then(Json::as_array).into_iter().flatten();
                parts
                    .filter_map(|part| part.get("text").and_then(Json::as_str))
                    .for_each(|text| self.say(text, &mut out));
            } else {
                match block.get("text") {
                    None | Some(Json::Null) => {}
                    Some(Json::String(text)) => self.say(text, &mut out),
                    Some(_) => return Err(Misshapen("a text block is not a string")),
                }
            }
        }
        self.count(json.get("usage"));
        self.stop(json)
    }

    fn say(&mut self, text: &str, out: &mut Vec<Piece>) {
        if !text.is_empty() {
            self.content.push_str(text);
            out.push(Piece::Text(text.to_owned()));
        }
    }

    fn stop(&mut self, json: &Json) -> Result<(), Misshapen> {
        match json.get("stopReason") {
            Some(Json::String(reason)) => {
                self.stop_reason = Some(reason.clone());
                Ok(())
            }
            None | Some(Json::Null) => Err(Misshapen("there is no `stopReason`")),
            Some(_) => Err(Misshapen("`stopReason` is not a string")),
        }
    }

    fn count(&mut self, usage: Option<&Json>) {
        let count = |names: &[&str]| names.iter().find_map(|name| usage?.get(*name)?.as_u64());
        let (input, output) = (count(&["inputTokens"]), count(&["outputTokens"]));
        if input.is_none() && output.is_none() {
            return;
        }
        let mut counted = Usage::new(input.unwrap_or(0), output.unwrap_or(0));
        counted.cache_read = count(&["cacheReadInputTokens", "cacheReadInputTokenCount"]);
        counted.cache_write = count(&["cacheWriteInputTokens", "cacheWriteInputTokenCount"]);
        self.usage = Some(counted);
    }

    /// The response of a whole answer.
    pub(super) fn response(
        self,
        finish: &Finish,
        request_id: Option<String>,
    ) -> Result<LlmResponse, LlmError> {
        let stop_reason = match self.stop_reason.as_deref() {
            Some("end_turn") | None => StopReason::Stop,
            Some("guardrail_intervened" | "content_filtered") => StopReason::ContentFilter,
            Some(other) => StopReason::from(other),
        };
        let (mut tool_calls, mut thinking) = (Vec::new(), Vec::new());
        for (block_index, block) in self.blocks {
            match block {
                Block::Call { id, name, args, closed: true } => {
                    let call = FinishedCall { block_index, id, name, args };
                    tool_calls.push(finish.tool_call(call, &stop_reason)?);
                }
                Block::Reasoning { text, signature, redacted } => {
                    thinking.extend(raw_block(text, signature, redacted));
                }
                Block::Call { .. } | Block::Text | Block::Other => {}
            }
        }
        if stop_reason == StopReason::ToolUse && tool_calls.is_empty() {
            return Err(finish.tool_use_lost());
        }
        Ok(finish.stamp(LlmResponse {
            content: self.content,
            tool_calls,
            usage: self.usage.unwrap_or_else(Usage::unmeasured),
            stop_reason,
            provider_ref: request_id,
            raw_thinking: (!thinking.is_empty()).then(|| Value::Array(thinking.into_iter().collect())),
            ..LlmResponse::default()
        }))
    }
}

fn index(json: &Json) -> Result<u64, Misshapen> {
    // Some models behind the door leave the index of their only block out.
    match json.get("contentBlockIndex") {
        None | Some(Json::Null) => Ok(0),
        Some(index) => index.as_u64().ok_or(Misshapen("`contentBlockIndex` is not a whole number")),
    }
}

fn call(tool: &Json, args: WireArgs, closed: bool) -> Block {
    let text = |name| tool.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    match tool.get("type").and_then(Json::as_str) {
        // The vendor runs it and puts the result into the same answer.
        Some("server_tool_use") => Block::Other,
        _ => Block::Call { id: text("toolUseId"), name: text("name"), args, closed },
    }
}

/// Reasoning in Anthropic's shape, which the handler reads.
fn raw_block(text: String, signature: String, redacted: Vec<String>) -> Vec<Value> {
    let block = |fields: [(&str, String); 3]| {
        let mut block = Object::new();
        for (name, value) in
            fields.into_iter().filter(|(name, value)| *name == "thinking" || !value.is_empty())
        {
            block.insert(name, Value::from(value));
        }
        Value::Object(block)
    };
    let mut blocks = Vec::new();
    if !(text.is_empty() && signature.is_empty()) {
        blocks.push(block([("type", "thinking".into()), ("thinking", text), ("signature", signature)]));
    }
    if !redacted.is_empty() {
        let data = joined(redacted);
        blocks.push(block([("type", "redacted_thinking".into()), ("data", data), ("", String::new())]));
    }
    blocks
}

/// One base64 text of several; a single one stays as it is, byte for byte.
fn joined(mut pieces: Vec<String>) -> String {
    if pieces.len() <= 1 {
        return pieces.pop().unwrap_or_default();
    }
    let decoded: Option<Vec<Vec<u8>>> = pieces.iter().map(|piece| base64::decode(piece).ok()).collect();
    decoded.map_or_else(|| pieces.concat(), |bytes| base64::encode(bytes.concat()))
}

/// The vendor's id of this exchange.
pub(super) fn request_id(headers: &HeaderMap) -> Option<String> {
    headers.get("x-amzn-requestid")?.to_str().ok().map(str::to_owned)
}

/// A plain answer.
pub(super) fn from_wire(body: &[u8], headers: &HeaderMap, finish: &Finish) -> Result<LlmResponse, LlmError> {
    let Ok(json) = wire_json::parse(body) else {
        return Err(finish.unreadable_answer(&describe_body(headers, body)));
    };
    if !json.get("output").is_some_and(Json::is_object) {
        return Err(finish.unreadable_answer(&describe_body(headers, body)));
    }
    let mut gathered = Gathered::default();
    gathered
        .whole(&json)
        .map_err(|Misshapen(what)| finish.unreadable_answer(&format!("an odd completion ({what})")))?;
    gathered.response(finish, request_id(headers))
}
