//! One answer of this wire, put together from its pieces.
//!
//! A plain answer and a chunk of a streamed one have the same shape, so the same code reads both: the plain answer is a
//! stream of one chunk. Code the vendor ran, its output, and media are not part of the text and are left out.

use agentfootprint_core::llm::{StopReason, Usage};
use serde_json::Value as Json;

use crate::http::Piece;

/// A piece that is not the wire's shape: says where, never what stood there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Misshapen(pub(super) &'static str);

/// What has arrived so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) id: Option<String>,
    pub(super) content: String,
    pub(super) thinking: String,
    pub(super) calls: Vec<GatheredCall>,
    pub(super) finish_reason: Option<String>,
    /// Why the prompt was blocked.
    pub(super) blocked: Option<String>,
    /// A candidate has been seen, with or without content.
    pub(super) has_candidate: bool,
    usage: Counts,
}

/// One tool call. Calls arrive whole.
#[derive(Debug)]
pub(super) struct GatheredCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) args: Json,
    pub(super) signature: Option<String>,
}

impl Gathered {
    /// Takes an answer, or one chunk of it. Text and thoughts that can be shown go to `out`.
    pub(super) fn take(&mut self, json: &Json, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        self.usage.overlay(json.get("usageMetadata"));
        if let Some(id) = json.get("responseId").and_then(Json::as_str).filter(|id| !id.is_empty()) {
            self.id = Some(id.to_owned());
        }
        let feedback = json.get("promptFeedback").and_then(|feedback| feedback.get("blockReason"));
        if let Some(reason) = feedback.and_then(Json::as_str) {
            self.blocked = Some(reason.to_owned());
        }
        let candidates = match json.get("candidates") {
            None | Some(Json::Null) => return Ok(()),
            Some(candidates) => candidates.as_array().ok_or(Misshapen("`candidates` is not a list"))?,
        };
        // One candidate is asked for; an endpoint that sends more is read as far as the first goes.
        let first = |candidate: &&Json| candidate.get("index").and_then(Json::as_u64).unwrap_or(0) == 0;
        for candidate in candidates.iter().filter(first).take(1) {
            self.has_candidate = true;
            self.take_candidate(candidate, out)?;
        }
        Ok(())
    }

    fn take_candidate(&mut self, candidate: &Json, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        match candidate.get("content").and_then(|content| content.get("parts")) {
            None | Some(Json::Null) => {}
            Some(Json::Array(parts)) => parts.iter().try_for_each(|part| self.take_part(part, out))?,
            Some(_) => return Err(Misshapen("`parts` is not a list")),
        }
        match candidate.get("finishReason") {
            None | Some(Json::Null) => Ok(()),
            Some(Json::String(reason)) if reason.is_empty() => Ok(()), // not yet
            Some(Json::String(reason)) => {
                // An answer in several rounds states a reason after each; the last one holds.
                self.finish_reason = Some(reason.clone());
                Ok(())
            }
            Some(_) => Err(Misshapen("`finishReason` is not a string")),
        }
    }

    fn take_part(&mut self, part: &Json, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        if let Some(call) = part.get("functionCall").filter(|call| !call.is_null()) {
            let text = |holder: &Json, name| holder.get(name).and_then(Json::as_str).map(str::to_owned);
            self.calls.push(GatheredCall {
                id: text(call, "id").unwrap_or_default(),
                name: text(call, "name").unwrap_or_default(),
                args: call.get("args").cloned().unwrap_or(Json::Null),
                signature: text(part, "thoughtSignature").or_else(|| text(part, "thought_signature")),
            });
            return Ok(());
        }
        let text = match part.get("text") {
            None | Some(Json::Null) => return Ok(()),
            Some(text) => text.as_str().ok_or(Misshapen("a part's text is not a string"))?,
        };
        if text.is_empty() {
            return Ok(());
        }
        if part.get("thought").and_then(Json::as_bool) == Some(true) {
            self.thinking.push_str(text);
            out.push(Piece::Thinking(text.to_owned()));
        } else {
            self.content.push_str(text);
            out.push(Piece::Text(text.to_owned()));
        }
        Ok(())
    }

    /// Whether the answer has said that it is whole.
    pub(super) fn is_whole(&self) -> bool {
        self.finish_reason.is_some() || self.blocked.is_some()
    }

    /// Why the model stopped, in our words. This wire says STOP when it calls tools too.
    pub(super) fn stop_reason(&self) -> StopReason {
        match self.finish_reason.as_deref() {
            None if self.blocked.is_some() && !self.has_candidate => StopReason::ContentFilter,
            None | Some("STOP") if !self.calls.is_empty() => StopReason::ToolUse,
            None | Some("STOP") => StopReason::Stop,
            Some("MAX_TOKENS") => StopReason::MaxTokens,
            Some("SAFETY" | "PROHIBITED_CONTENT" | "BLOCKLIST" | "SPII") => StopReason::ContentFilter,
            Some(other) => StopReason::from(other),
        }
    }

    pub(super) fn usage(&self) -> Usage {
        self.usage.usage()
    }
}

/// The counts of this wire: cached tokens stand inside the prompt, thoughts beside the candidates.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    prompt: Option<u64>,
    cached: Option<u64>,
    candidates: Option<u64>,
    thoughts: Option<u64>,
}

impl Counts {
    /// Chunks repeat the counts as they grow, and not every chunk has every count.
    fn overlay(&mut self, usage: Option<&Json>) {
        let Some(usage) = usage else { return };
        let count = |name: &str| usage.get(name).and_then(Json::as_u64);
        self.prompt = count("promptTokenCount").or(self.prompt);
        self.cached = count("cachedContentTokenCount").or(self.cached);
        self.candidates = count("candidatesTokenCount").or(self.candidates);
        self.thoughts = count("thoughtsTokenCount").or(self.thoughts);
    }

    fn usage(&self) -> Usage {
        let Counts { prompt, cached, candidates, thoughts } = *self;
        if prompt.is_none() && candidates.is_none() {
            return Usage::unmeasured();
        }
        let mut usage =
            Usage::new(prompt.unwrap_or(0).saturating_sub(cached.unwrap_or(0)), candidates.unwrap_or(0));
        usage.cache_read = cached;
        usage.thinking = thoughts;
        usage
    }
}
