//! The messages of a request as the turns of this wire.
//!
//! The wire wants alternating turns of blocks: neighbours of one role become one turn, results of tools stand first in
//! theirs, and a turn with nothing to say is left out, because blank text is an error there. A cache mark goes on the
//! last block a message contributed; a message that is not on the wire takes its mark with it.

use agentfootprint_core::llm::{CacheField, LlmErrorKind};
use agentfootprint_record::message::{ProviderMessage, ProviderMessages, Role, ToolCall};
use footprint::value::{Str, Value};
use serde::{Serialize, Serializer};

use super::marks::{CacheControl, Marks};
use super::request::Unsendable;
use super::thinking::{Sendable, sendable};

/// One turn.
pub(super) struct Turn<'a> {
    role: &'static str,
    blocks: Vec<Block<'a>>,
    /// How many of the blocks are results; they stand first.
    results: usize,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    kind: BlockKind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockKind<'a> {
    Thinking { thinking: Str, signature: Str },
    RedactedThinking { data: Str },
    Text { text: Str },
    ToolUse { id: Str, name: Str, input: Value },
    ToolResult { tool_use_id: &'a str, content: &'a str },
}

/// The turns, and what was learnt on the way.
pub(super) struct Built<'a> {
    pub(super) turns: Vec<Turn<'a>>,
    /// The last assistant turn calls tools and does not start with thinking that can be sent.
    pub(super) loop_without_thinking: bool,
}

/// A turn of one unmarked text is written as that text.
impl Serialize for Turn<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'t, C: Serialize + ?Sized> {
            role: &'static str,
            content: &'t C,
        }
        match self.blocks.as_slice() {
            [Block { kind: BlockKind::Text { text }, cache_control: None }] => {
                Written { role: self.role, content: &**text }.serialize(serializer)
            }
            blocks => Written { role: self.role, content: blocks }.serialize(serializer),
        }
    }
}

/// Builds the turns. Without tools in the request, calls and results of the history are written as text: the wire
/// takes tool blocks only beside tools.
pub(super) fn build<'a>(
    history: &'a ProviderMessages,
    marks: &Marks,
    has_tools: bool,
    system_turns: bool,
) -> Result<Built<'a>, Unsendable> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for (position, message) in history.iter().enumerate() {
        let mark = marks.at(CacheField::Messages, position);
        let (role, mut kinds) = match message.role() {
            Some(Role::User) => ("user", text_of(message.content()).into_iter().collect()),
            Some(Role::Assistant) => ("assistant", assistant(message, has_tools)),
            Some(Role::Tool) => ("user", vec![result(position, message, history, has_tools)?]),
            Some(Role::System) if system_turns => {
                ("system", text_of(message.content()).into_iter().collect())
            }
            Some(Role::System) => {
                tracing::warn!(
                    target: "agentfootprint",
                    position,
                    "this model takes no system turns among the messages; the one at this position is not sent"
                );
                continue;
            }
            Some(Role::Other(role)) => {
                return refuse(
                    position,
                    &format!("has the role `{}`, which this wire does not know", role.as_str()),
                );
            }
            None => return refuse(position, "has no role"),
        };
        // A user turn must be there even when it is empty: the vendor then says what it thinks of it.
        let alone = turns.last().is_none_or(|turn| turn.role != "user");
        if kinds.is_empty() && alone && message.role() == Some(Role::User) {
            kinds.push(BlockKind::Text { text: message.content().into() });
        }
        push(&mut turns, role, kinds, mark);
    }
    let last = turns.iter().rev().find(|turn| turn.role == "assistant");
    let loop_without_thinking = last.is_some_and(Turn::calls_without_thinking);
    Ok(Built { turns, loop_without_thinking })
}

impl Turn<'_> {
    fn calls_without_thinking(&self) -> bool {
        let thinks = matches!(
            self.blocks.first().map(|block| &block.kind),
            Some(BlockKind::Thinking { .. } | BlockKind::RedactedThinking { .. })
        );
        !thinks && self.blocks.iter().any(|block| matches!(block.kind, BlockKind::ToolUse { .. }))
    }
}

fn refuse<T>(position: usize, what: &str) -> Result<T, Unsendable> {
    Err((LlmErrorKind::Refused, format!("message {position} {what}")))
}

/// Adds blocks to the turn of this role, or to a new one, and puts the mark on the last that can carry it.
fn push<'a>(
    turns: &mut Vec<Turn<'a>>,
    role: &'static str,
    kinds: Vec<BlockKind<'a>>,
    mark: Option<CacheControl>,
) {
    if kinds.is_empty() {
        return;
    }
    let mut blocks: Vec<Block<'a>> =
        kinds.into_iter().map(|kind| Block { kind, cache_control: None }).collect();
    if let Some(mark) = mark {
        let markable = blocks.iter_mut().rev().find(|block| match &block.kind {
            BlockKind::Thinking { .. } | BlockKind::RedactedThinking { .. } => false,
            BlockKind::Text { text } => !text.is_empty(),
            BlockKind::ToolUse { .. } | BlockKind::ToolResult { .. } => true,
        });
        if let Some(block) = markable {
            block.cache_control = Some(mark);
        }
    }
    if turns.last().is_none_or(|turn| turn.role != role) {
        turns.push(Turn { role, blocks: Vec::new(), results: 0 });
    }
    let Some(turn) = turns.last_mut() else { return };
    for block in blocks {
        if matches!(block.kind, BlockKind::ToolResult { .. }) {
            turn.blocks.insert(turn.results, block);
            turn.results += 1;
        } else {
            turn.blocks.push(block);
        }
    }
}

fn text_of<'a>(text: &str) -> Option<BlockKind<'a>> {
    (!text.is_empty()).then(|| BlockKind::Text { text: text.into() })
}

/// Thinking first, then text, then calls. White space alone is blank to this wire.
fn assistant<'a>(message: ProviderMessage<'_>, has_tools: bool) -> Vec<BlockKind<'a>> {
    let thinking = sendable(message.thinking_blocks()).map(|block| match block {
        Sendable::Thinking { thinking, signature } => BlockKind::Thinking { thinking, signature },
        Sendable::Redacted { data } => BlockKind::RedactedThinking { data },
    });
    let mut kinds: Vec<BlockKind<'a>> = thinking.collect();
    let text = message.content();
    let calls = message.tool_calls();
    if !text.trim().is_empty() {
        kinds.extend(text_of(text));
    }
    kinds.extend(calls.into_iter().map(|call| call_block(call, has_tools)));
    kinds
}

fn call_block<'a>(call: ToolCall, has_tools: bool) -> BlockKind<'a> {
    let input = Value::Object(call.args);
    if has_tools {
        BlockKind::ToolUse { id: call.id, name: call.name, input }
    } else {
        BlockKind::Text { text: format!("[called the tool {} with {input}]", call.name).into() }
    }
}

fn result<'a>(
    position: usize,
    message: ProviderMessage<'a>,
    history: &ProviderMessages,
    has_tools: bool,
) -> Result<BlockKind<'a>, Unsendable> {
    let Some(id) = message.tool_call_id() else {
        return refuse(
            position,
            "is a tool result without `toolCallId`; this wire cannot say which call it answers",
        );
    };
    if has_tools {
        return Ok(BlockKind::ToolResult { tool_use_id: id, content: message.content() });
    }
    let name = crate::tool_name::tool_name(history, position).unwrap_or_else(|| id.clone());
    Ok(BlockKind::Text { text: format!("[result of the tool {name}]\n{}", message.content()).into() })
}
