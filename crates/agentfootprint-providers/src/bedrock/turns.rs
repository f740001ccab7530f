//! From messages to the turns this wire accepts: user and assistant in alternation, tool results before text, nothing
//! blank. Every block remembers the message it came from, so that a cache boundary finds its place.

use agentfootprint_core::llm::{LlmErrorKind, LlmRequest};
use agentfootprint_record::message::{ProviderMessage, Role, ThinkingBlock, ToolCall};
use footprint::value::Value;
use serde_json::{Value as Json, json};

use super::family::HANDLER_ID;
use super::request::{Unsendable, json_of};
use crate::tool_name::tool_name;

/// One turn.
pub(super) struct Turn {
    pub(super) role: &'static str,
    pub(super) blocks: Vec<Placed>,
}

/// A block and the message it came from.
pub(super) struct Placed {
    pub(super) message: usize,
    pub(super) block: Json,
}

/// Whether the last tool loop can go on thinking: an assistant turn that called tools without any block to send back
/// came from elsewhere.
pub(super) fn loop_can_think(request: &LlmRequest) -> bool {
    let history = request.messages();
    let current_loop = history.iter().rev().take_while(|message| message.role() != Some(Role::User));
    current_loop
        .filter(|message| message.role() == Some(Role::Assistant) && !message.tool_calls().is_empty())
        .all(|message| message.thinking_blocks().iter().any(is_sendable))
}

/// Ours, and verifiable by the vendor.
fn is_sendable(block: &ThinkingBlock) -> bool {
    let signed = block.signature.as_deref().is_some_and(|signature| !signature.is_empty());
    block.origin.as_deref() == Some(HANDLER_ID) && signed
}

/// The turns of a request. Without tools the calls and results of the history are told as text: the wire rejects
/// them otherwise.
pub(super) fn turns(request: &LlmRequest) -> Result<Vec<Turn>, Unsendable> {
    let history = request.messages();
    let told = request.tools.is_empty();
    let mut turns: Vec<Turn> = Vec::new();
    for (position, message) in history.iter().enumerate() {
        let (role, blocks) = match message.role() {
            Some(Role::System) => continue, // never declared as carried
            Some(Role::User) => ("user", text_block(message.content()).into_iter().collect()),
            Some(Role::Assistant) => ("assistant", assistant(message, told)),
            Some(Role::Tool) => {
                let name = if told { tool_name(&history, position) } else { None };
                (
                    "user",
                    vec![result(position, message, told.then(|| name.unwrap_or_else(|| "a tool".into())))?],
                )
            }
            Some(Role::Other(role)) => {
                let what = format!("has the role `{}`, which this wire does not know", role.as_str());
                return Err((LlmErrorKind::Refused, format!("message {position} {what}")));
            }
            None => return Err((LlmErrorKind::Refused, format!("message {position} has no role"))),
        };
        let placed = blocks.into_iter().map(|block| Placed { message: position, block });
        match turns.last_mut() {
            Some(turn) if turn.role == role => turn.blocks.extend(placed),
            _ => turns.push(Turn { role, blocks: placed.collect() }),
        }
    }
    turns.retain(|turn| !turn.blocks.is_empty());
    Ok(merged(turns))
}

/// Turns that met because one between them was empty become one; tool results come first in theirs.
fn merged(turns: Vec<Turn>) -> Vec<Turn> {
    let mut merged: Vec<Turn> = Vec::with_capacity(turns.len());
    for turn in turns {
        match merged.last_mut() {
            Some(last) if last.role == turn.role => last.blocks.extend(turn.blocks),
            _ => merged.push(turn),
        }
    }
    for turn in &mut merged {
        turn.blocks.sort_by_key(|placed| turn.role == "user" && placed.block.get("toolResult").is_none());
    }
    merged
}

/// Blank text is an error on this wire.
fn text_block(text: &str) -> Option<Json> {
    (!text.trim().is_empty()).then(|| json!({ "text": text }))
}

fn assistant(message: ProviderMessage<'_>, told: bool) -> Vec<Json> {
    let calls = message.tool_calls();
    let thoughts = message.thinking_blocks();
    // Where calls are told as text the turn is no longer the one that was signed.
    let as_signed = !told || calls.is_empty();
    let thoughts = thoughts.iter().filter(|block| as_signed && is_sendable(block));
    let mut blocks: Vec<Json> = thoughts.map(reasoning).collect();
    blocks.extend(text_block(message.content()));
    blocks.extend(calls.into_iter().map(|call| tool_use(call, told)));
    // Reasoning alone is no turn.
    if blocks.iter().all(|block| block.get("reasoningContent").is_some()) { Vec::new() } else { blocks }
}

fn reasoning(block: &ThinkingBlock) -> Json {
    let signature = block.signature.as_deref().unwrap_or_default();
    if block.content.is_empty() && is_redacted(block) {
        return json!({ "reasoningContent": { "redactedContent": signature } });
    }
    json!({ "reasoningContent": { "reasoningText": { "text": &*block.content, "signature": signature } } })
}

fn is_redacted(block: &ThinkingBlock) -> bool {
    block.kind == ThinkingBlock::redacted("").kind
}

fn tool_use(call: ToolCall, told: bool) -> Json {
    let input = json_of(&Value::Object(call.args));
    if told {
        return json!({ "text": format!("[called the tool {} with {input}]", call.name) });
    }
    json!({ "toolUse": { "toolUseId": &*call.id, "name": &*call.name, "input": input } })
}

fn result(
    position: usize,
    message: ProviderMessage<'_>,
    told_of: Option<footprint::value::Str>,
) -> Result<Json, Unsendable> {
    let text = message.content();
    if let Some(name) = told_of {
        return Ok(json!({ "text": format!("[{name} returned: {text}]") }));
    }
    let Some(id) = message.tool_call_id() else {
        let what = "is a tool result without `toolCallId`; this wire cannot say which call it answers";
        return Err((LlmErrorKind::Refused, format!("message {position} {what}")));
    };
    let content: Vec<Json> = text_block(text).into_iter().collect();
    Ok(json!({ "toolResult": { "toolUseId": &**id, "content": content } }))
}
