//! One answer of this wire, put together from its pieces.
//!
//! A plain completion is one big piece and a streamed one is many small ones; both go through [`Gathered`], which
//! is why they cannot disagree.

use agentfootprint_core::llm::{StopReason, Usage};
use serde_json::Value as Json;

use crate::http::Piece;

/// Whether a piece is a whole completion or one frame of a stream. Some servers send both kinds of message in either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Whole,
    Frame,
}

impl Shape {
    /// The message of a choice.
    fn message(self, choice: &Json) -> Option<&Json> {
        let present = |name| choice.get(name).filter(|message: &&Json| !message.is_null());
        match self {
            Shape::Whole => present("message"),
            Shape::Frame => present("delta").or_else(|| present("message")),
        }
    }
}

/// What has arrived so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) id: Option<String>,
    pub(super) content: String,
    pub(super) thinking: String,
    pub(super) calls: Vec<GatheredCall>,
    /// The wire's older form of a call (`function_call`), of which an answer has one.
    older: Option<GatheredCall>,
    pub(super) finish_reason: Option<String>,
    pub(super) usage: Option<Usage>,
    refused: bool,
}

/// One tool call so far.
#[derive(Debug, Default)]
pub(super) struct GatheredCall {
    /// The wire's index of the call; orders the calls.
    index: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments as JSON text.
    pub(super) args: String,
}

/// A piece that is not the wire's shape: says where, never what stood there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Misshapen(pub(super) &'static str);

impl GatheredCall {
    /// Takes a fragment.
    fn extend(&mut self, id: &str, function: Option<&Json>) {
        let field = |name| function.and_then(|function| function.get(name));
        if self.id.is_empty() {
            id.clone_into(&mut self.id);
        }
        self.extend_name(field("name").and_then(Json::as_str).unwrap_or_default());
        match field("arguments") {
            None | Some(Json::Null) => {}
            Some(Json::String(fragment)) => self.args.push_str(fragment),
            // A call that arrives whole, with its arguments as JSON; what is no object there is told apart at the end.
            Some(whole) => self.args.push_str(&whole.to_string()),
        }
    }
}

impl GatheredCall {
    /// The arguments are an object already.
    fn is_whole(&self) -> bool {
        self.args.trim_end().ends_with('}')
            && serde_json::from_str::<serde::de::IgnoredAny>(&self.args).is_ok()
    }

    /// A name comes once, again with every fragment, growing, or in pieces before the arguments begin.
    fn extend_name(&mut self, name: &str) {
        if name.starts_with(self.name.as_str()) {
            name.clone_into(&mut self.name);
        } else if !name.is_empty() && self.args.is_empty() {
            self.name.push_str(name);
        }
    }
}

impl Gathered {
    /// Takes a completion object, or one chunk of it. Text and thinking that can be shown go to `out`.
    ///
    /// Usage is read before anything else: it arrives on a chunk without choices.
    pub(super) fn take(&mut self, json: &Json, shape: Shape, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        if let Some(usage) = stated_usage(json) {
            self.usage = Some(usage);
        }
        if let (None, Some(id)) = (&self.id, json.get("id").and_then(Json::as_str)) {
            self.id = Some(id.to_owned()).filter(|id| !id.is_empty());
        }
        let choices = match json.get("choices") {
            None | Some(Json::Null) => return Ok(()),
            Some(choices) => choices.as_array().ok_or(Misshapen("`choices` is not a list"))?,
        };
        // One choice is asked for; an endpoint that sends more is read as far as the first goes.
        let first = |choice: &&Json| choice.get("index").and_then(Json::as_u64).unwrap_or(0) == 0;
        for choice in choices.iter().filter(first).take(1) {
            self.take_choice(choice, shape, out)?;
        }
        Ok(())
    }

    fn take_choice(&mut self, choice: &Json, shape: Shape, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        if let Some(message) = shape.message(choice) {
            if !message.is_object() {
                return Err(Misshapen("a choice's message is not an object"));
            }
            self.take_message(message, out)?;
        }
        match choice.get("finish_reason") {
            None | Some(Json::Null) => {}
            Some(Json::String(reason)) if reason.is_empty() => {}
            Some(Json::String(reason)) => self.finish_reason = Some(reason.clone()),
            Some(_) => return Err(Misshapen("`finish_reason` is not a string")),
        }
        Ok(())
    }

    fn take_message(&mut self, message: &Json, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        // Servers name the reasoning text differently, and some send it under both names.
        let reasoning = ["reasoning_content", "reasoning"]
            .iter()
            .find_map(|name| message.get(*name).and_then(Json::as_str).filter(|text| !text.is_empty()));
        match reasoning {
            Some(text) => self.think(text, out),
            // Where the text stands in the details alone (OpenRouter); what is encrypted there has none.
            None => texts_of(message.get("reasoning_details")).iter().for_each(|text| self.think(text, out)),
        }
        match message.get("content") {
            None | Some(Json::Null) => {}
            Some(Json::String(text)) => self.say(text, out),
            Some(Json::Array(parts)) => parts.iter().for_each(|part| self.take_part(part, out)),
            Some(_) => return Err(Misshapen("`content` is neither text nor a list of parts")),
        }
        if let Some(refusal) = message.get("refusal").and_then(Json::as_str) {
            self.refuse(refusal, out);
        }
        if let Some(function @ Json::Object(_)) = message.get("function_call") {
            self.older.get_or_insert_default().extend("", Some(function));
        }
        match message.get("tool_calls") {
            None | Some(Json::Null) => Ok(()),
            Some(Json::Array(calls)) => {
                let alone = calls.len() == 1;
                calls.iter().enumerate().for_each(|(position, call)| self.take_call(position, alone, call));
                Ok(())
            }
            Some(_) => Err(Misshapen("`tool_calls` is not a list")),
        }
    }

    /// A part of a content list: some servers (Mistral) interleave text and thinking this way.
    fn take_part(&mut self, part: &Json, out: &mut Vec<Piece>) {
        match part.get("type").and_then(Json::as_str) {
            Some("thinking" | "reasoning") => {
                let thought = part.get("thinking").or_else(|| part.get("text"));
                match thought {
                    Some(Json::String(text)) => self.think(text, out),
                    texts => texts_of(texts).iter().for_each(|text| self.think(text, out)),
                }
            }
            Some("refusal") => {
                if let Some(refusal) = part.get("refusal").and_then(Json::as_str) {
                    self.refuse(refusal, out);
                }
            }
            _ => {
                if let Some(text) = part.get("text").and_then(Json::as_str) {
                    self.say(text, out);
                }
            }
        }
    }

    fn refuse(&mut self, refusal: &str, out: &mut Vec<Piece>) {
        if !refusal.is_empty() {
            self.refused = true;
            self.say(refusal, out);
        }
    }

    fn say(&mut self, text: &str, out: &mut Vec<Piece>) {
        if !text.is_empty() {
            self.content.push_str(text);
            out.push(Piece::Text(text.to_owned()));
        }
    }

    fn think(&mut self, text: &str, out: &mut Vec<Piece>) {
        if !text.is_empty() {
            self.thinking.push_str(text);
            out.push(Piece::Thinking(text.to_owned()));
        }
    }

    fn take_call(&mut self, position: usize, alone: bool, call: &Json) {
        let function = call.get("function").filter(|function| !function.is_null());
        let id = call.get("id").and_then(Json::as_str).unwrap_or("");
        let name = function.and_then(|function| function.get("name")).and_then(Json::as_str).unwrap_or("");
        let index = call.get("index").and_then(Json::as_u64);
        // A lone fragment without index and id continues the last call: no other can still be open.
        let position = if alone && id.is_empty() { self.calls.len().saturating_sub(1) } else { position };
        let slot =
            self.slot(position, index, id, name, function.and_then(|function| function.get("arguments")));
        if let Some(slot) = self.calls.get_mut(slot) {
            slot.extend(id, function);
        }
    }

    /// Which call a fragment belongs to: the one of its index, or without an index the one at its position. A
    /// fragment that brings its own name and another id than the call there starts a new call: some servers
    /// number every call 0, or not at all. Where there are no ids either, one that comes with a name and arguments after
    /// the arguments of the call there are whole is the next call.
    fn slot(
        &mut self,
        position: usize,
        index: Option<u64>,
        id: &str,
        name: &str,
        args: Option<&Json>,
    ) -> usize {
        let found = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index)),
            None => {
                let same_id = self.calls.iter().position(|call| !id.is_empty() && call.id == id);
                same_id.or_else(|| (position < self.calls.len()).then_some(position))
            }
        };
        let brings_args = args.is_some_and(|args| !args.is_null() && args != "");
        let is_new = |call: &GatheredCall| {
            let other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
            let next_whole = id.is_empty() && call.id.is_empty() && brings_args && call.is_whole();
            !name.is_empty() && !call.name.is_empty() && (other_id || next_whole)
        };
        match found {
            Some(at) if !self.calls.get(at).is_some_and(is_new) => at,
            _ => {
                self.calls.push(GatheredCall { index, ..GatheredCall::default() });
                self.calls.len() - 1
            }
        }
    }

    /// Takes the finished calls out, in the wire's order. Slots nothing was ever put into are dropped.
    pub(super) fn take_calls(&mut self) -> Vec<GatheredCall> {
        let mut calls = std::mem::take(&mut self.calls);
        calls.retain(|call| !(call.id.is_empty() && call.name.is_empty() && call.args.is_empty()));
        // A server that speaks both forms says the same call twice.
        if calls.is_empty() {
            calls.extend(self.older.take());
        }
        if calls.iter().all(|call| call.index.is_some()) {
            calls.sort_by_key(|call| call.index);
        }
        calls
    }

    /// Why the model stopped, in our words.
    pub(super) fn stop_reason(&self, has_calls: bool) -> StopReason {
        if self.refused {
            return StopReason::ContentFilter;
        }
        match self.finish_reason.as_deref() {
            Some("stop" | "function_call") | None if has_calls => StopReason::ToolUse,
            Some("stop") | None => StopReason::Stop,
            Some("tool_calls") => StopReason::ToolUse,
            Some("length") => StopReason::MaxTokens,
            Some(other) => StopReason::from(other),
        }
    }
}

/// The texts of a list of `{text}` or `{summary}`.
fn texts_of(list: Option<&Json>) -> Vec<&str> {
    let items = list.and_then(Json::as_array).into_iter().flatten();
    items.filter_map(|item| item.get("text").or_else(|| item.get("summary"))?.as_str()).collect()
}

/// The counts, where a server puts them: beside the choices, in its own corner (Groq), or in the choice (Moonshot).
fn stated_usage(json: &Json) -> Option<Usage> {
    let usage_in = |json: &Json| usage_of(json.get("usage")?);
    usage_in(json)
        .or_else(|| usage_in(json.get("x_groq")?))
        .or_else(|| usage_in(json.get("choices")?.get(0)?))
}

/// The counts, made disjoint: this wire counts cached tokens inside the prompt and reasoning inside the completion.
/// `None` for an object that states neither side.
pub(super) fn usage_of(json: &Json) -> Option<Usage> {
    let prompt = count(json.get("prompt_tokens"));
    let completion = count(json.get("completion_tokens"));
    if prompt.is_none() && completion.is_none() {
        return None;
    }
    let detail = |group, name| count(json.get(group).and_then(|details| details.get(name)));
    let cached = detail("prompt_tokens_details", "cached_tokens");
    let reasoning = detail("completion_tokens_details", "reasoning_tokens");
    // Some servers count reasoning with another tokenizer and report more of it than completion; the rest is
    // then nothing, not less than nothing.
    let mut usage = Usage::new(
        prompt.unwrap_or(0).saturating_sub(cached.unwrap_or(0)),
        completion.unwrap_or(0).saturating_sub(reasoning.unwrap_or(0)),
    );
    usage.cache_read = cached;
    usage.thinking = reasoning;
    Some(usage)
}

fn count(json: Option<&Json>) -> Option<u64> {
    let json = json?;
    json.as_u64().or_else(|| {
        json.as_f64().filter(|count| *count >= 0.0 && count.fract() == 0.0).map(|count| count as u64)
    })
}
