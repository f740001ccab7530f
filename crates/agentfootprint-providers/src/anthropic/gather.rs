//! One answer of this wire, put together from its pieces.
//!
//! A plain message is its blocks, one after the other; a streamed one is the same blocks in deltas. Both go through
//! [`Gathered`], which is why they cannot disagree. Blocks of server tools (searches, fetches, code runs and their
//! results), citations and blocks this version does not know are not part of the text and are left out.

use agentfootprint_core::llm::{StopReason, Usage};
use footprint::value::{Array, Object, Value};
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
    pub(super) stop_reason: Option<String>,
    blocks: Vec<Block>,
    usage: Counts,
}

/// One block whose content is more than text shown at once.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) index: u64,
    pub(super) closed: bool,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Thinking {
        text: String,
        signature: String,
        signed_by_delta: bool,
    },
    Redacted {
        data: String,
    },
    /// `fragments` are the argument text of a stream, `whole` is what the block started with.
    Tool {
        id: String,
        name: String,
        fragments: String,
        whole: Json,
    },
    /// Text, or a block that is not the model's own.
    Passing,
}

impl Gathered {
    /// Takes a whole message.
    pub(super) fn take_message(&mut self, json: &Json) -> Result<(), Misshapen> {
        self.start(json);
        let blocks =
            json.get("content").and_then(Json::as_array).ok_or(Misshapen("`content` is not a list"))?;
        for (index, block) in (0..).zip(blocks) {
            self.start_block(index, block, &mut Vec::new())?;
            self.stop_block(index);
        }
        self.stop(json)
    }

    /// Takes what a message says of itself, whole or at the start of a stream.
    pub(super) fn start(&mut self, message: &Json) {
        if let Some(id) = message.get("id").and_then(Json::as_str).filter(|id| !id.is_empty()) {
            self.id = Some(id.to_owned());
        }
        self.usage.overlay(message.get("usage"));
    }

    /// Takes why a message ended.
    pub(super) fn stop(&mut self, holder: &Json) -> Result<(), Misshapen> {
        match holder.get("stop_reason") {
            None | Some(Json::Null) => Ok(()),
            Some(Json::String(reason)) => {
                self.stop_reason = Some(reason.clone());
                Ok(())
            }
            Some(_) => Err(Misshapen("`stop_reason` is not a string")),
        }
    }

    /// Takes the `message_delta` of a stream. Counts are cumulative; later ones take the place of earlier ones.
    pub(super) fn end(&mut self, event: &Json) -> Result<(), Misshapen> {
        self.usage.overlay(event.get("usage"));
        event.get("delta").map_or(Ok(()), |delta| self.stop(delta))
    }

    /// Takes the start of a block; a plain message has the whole block here.
    pub(super) fn start_block(
        &mut self,
        index: u64,
        block: &Json,
        out: &mut Vec<Piece>,
    ) -> Result<(), Misshapen> {
        if !block.is_object() {
            return Err(Misshapen("a content block is not an object"));
        }
        let text = |name| match block.get(name) {
            None | Some(Json::Null) => Ok(String::new()),
            Some(Json::String(text)) => Ok(text.clone()),
            Some(_) => Err(Misshapen("a text of a content block is not a string")),
        };
        let kind = match block.get("type").and_then(Json::as_str) {
            Some("text") => {
                self.say(&text("text")?, out);
                Kind::Passing
            }
            Some("thinking") => {
                let thought = text("thinking")?;
                show_thinking(&thought, out);
                Kind::Thinking { text: thought, signature: text("signature")?, signed_by_delta: false }
            }
            Some("redacted_thinking") => Kind::Redacted { data: text("data")? },
            Some("tool_use") => Kind::Tool {
                id: text("id")?,
                name: text("name")?,
                fragments: String::new(),
                whole: block.get("input").cloned().unwrap_or(Json::Null),
            },
            _ => Kind::Passing,
        };
        self.blocks.push(Block { index, closed: false, kind });
        Ok(())
    }

    /// Takes a delta of a block.
    pub(super) fn extend_block(
        &mut self,
        index: u64,
        delta: &Json,
        out: &mut Vec<Piece>,
    ) -> Result<(), Misshapen> {
        let text = |name| delta.get(name).and_then(Json::as_str).ok_or(Misshapen("a delta holds no text"));
        match delta.get("type").and_then(Json::as_str) {
            Some("text_delta") => {
                let more = text("text")?;
                self.say(more, out);
            }
            Some("thinking_delta") => {
                let more = text("thinking")?;
                if let Kind::Thinking { text, .. } = self.open(index)? {
                    text.push_str(more);
                    show_thinking(more, out);
                }
            }
            Some("signature_delta") => {
                let more = text("signature")?;
                if let Kind::Thinking { signature, signed_by_delta, .. } = self.open(index)? {
                    // What the block started with was a placeholder.
                    if !std::mem::replace(signed_by_delta, true) {
                        signature.clear();
                    }
                    signature.push_str(more);
                }
            }
            Some("input_json_delta") => {
                let more = text("partial_json")?;
                if let Kind::Tool { fragments, .. } = self.open(index)? {
                    fragments.push_str(more);
                }
            }
            _ => {} // citations, and deltas of blocks that are not the model's own
        }
        Ok(())
    }

    pub(super) fn stop_block(&mut self, index: u64) {
        if let Some(block) = self.blocks.iter_mut().rev().find(|block| block.index == index) {
            block.closed = true;
        }
    }

    fn open(&mut self, index: u64) -> Result<&mut Kind, Misshapen> {
        let block = self.blocks.iter_mut().rev().find(|block| block.index == index);
        block.map(|block| &mut block.kind).ok_or(Misshapen("a delta belongs to no block"))
    }

    fn say(&mut self, text: &str, out: &mut Vec<Piece>) {
        if !text.is_empty() {
            self.content.push_str(text);
            out.push(Piece::Text(text.to_owned()));
        }
    }

    /// Takes the tool calls out, in the order of their blocks.
    pub(super) fn take_calls(&mut self) -> Vec<Block> {
        self.blocks.sort_by_key(|block| block.index);
        let (calls, rest) = std::mem::take(&mut self.blocks)
            .into_iter()
            .partition(|block| matches!(block.kind, Kind::Tool { .. }));
        self.blocks = rest;
        calls
    }

    /// The thinking as the wire has it: signed and redacted blocks, in order.
    pub(super) fn raw_thinking(&self) -> Option<Value> {
        let blocks: Array = self
            .blocks
            .iter()
            .filter_map(|block| {
                let mut raw = Object::new();
                match &block.kind {
                    Kind::Thinking { text, signature, .. } => {
                        raw.insert("type", Value::from("thinking"));
                        raw.insert("thinking", Value::from(text));
                        if !signature.is_empty() {
                            raw.insert("signature", Value::from(signature));
                        }
                    }
                    Kind::Redacted { data } => {
                        raw.insert("type", Value::from("redacted_thinking"));
                        raw.insert("data", Value::from(data));
                    }
                    Kind::Tool { .. } | Kind::Passing => return None,
                }
                Some(Value::Object(raw))
            })
            .collect();
        (!blocks.is_empty()).then_some(Value::Array(blocks))
    }

    /// Why the model stopped, in our words.
    pub(super) fn our_stop_reason(&self, has_calls: bool) -> StopReason {
        match self.stop_reason.as_deref() {
            None if has_calls => StopReason::ToolUse,
            None | Some("end_turn") => StopReason::Stop,
            Some(other) => StopReason::from(other),
        }
    }

    pub(super) fn usage(&self) -> Usage {
        self.usage.usage()
    }
}

fn show_thinking(text: &str, out: &mut Vec<Piece>) {
    if !text.is_empty() {
        out.push(Piece::Thinking(text.to_owned()));
    }
}

/// The counts of this wire, which are disjoint by themselves. Thinking is inside `output`.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
}

impl Counts {
    /// What is stated takes the place of what was; what is absent or null changes nothing.
    fn overlay(&mut self, usage: Option<&Json>) {
        let Some(usage) = usage else { return };
        let count = |name: &str| usage.get(name).and_then(Json::as_u64);
        // The writes per lifetime (5 minutes, 1 hour) stand beside their sum, and in its place where it is missing.
        let per_lifetime = || {
            let writes = usage.get("cache_creation")?.as_object()?;
            let counts: Vec<u64> = writes.values().filter_map(Json::as_u64).collect();
            (!counts.is_empty()).then(|| counts.iter().sum())
        };
        self.input = count("input_tokens").or(self.input);
        self.output = count("output_tokens").or(self.output);
        self.cache_read = count("cache_read_input_tokens").or(self.cache_read);
        self.cache_write = count("cache_creation_input_tokens").or_else(per_lifetime).or(self.cache_write);
    }

    fn usage(&self) -> Usage {
        let Counts { input, output, cache_read, cache_write } = *self;
        if input.is_none() && output.is_none() {
            return Usage::unmeasured();
        }
        let mut usage = Usage::new(input.unwrap_or(0), output.unwrap_or(0));
        usage.cache_read = cache_read;
        usage.cache_write = cache_write;
        usage
    }
}
