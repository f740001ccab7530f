//! From our request to rig's. Pure.

use std::collections::HashMap;

use agentfootprint_core::llm::{LlmErrorKind, LlmRequest, ThinkingRefusal, ToolChoice};
use agentfootprint_record::message::{ProviderMessage, Role, ToolCall};
use footprint::value::{Str, Value};
use rig_core::completion::{CompletionRequest, Reasoning, ToolDefinition};
use rig_core::message::{
    self, AssistantContent, AssistantMessage, CallId, Message, Origin, ToolFunction, ToolName, ToolResult,
    ToolResultContent, UserContent,
};
use serde_json::Value as Json;

use super::thinking::{CallItem, ThoughtItem};

/// A request that rig cannot be asked; nothing is sent.
pub(super) type Unsendable = (LlmErrorKind, String);

/// The request for the model `asked`, or for the handle's own.
pub(super) fn to_rig(request: &LlmRequest, asked: Option<&str>) -> Result<CompletionRequest, Unsendable> {
    let mut messages = Vec::new();
    if let Some(system) = request.system_prompt() {
        messages.push(Message::system(system.to_string()));
    }
    let history = request.messages();
    let mut ids = HashMap::new();
    for (position, message) in history.iter().enumerate() {
        add_message(&mut messages, &mut ids, position, message)?;
    }
    if request.output_schema.is_some() {
        let message = "this wire cannot hold an answer to a JSON schema; use the `instruct` or the `tool-forced` strategy";
        return Err((LlmErrorKind::Refused, message.to_owned()));
    }
    let mut rig = CompletionRequest::from(messages);
    rig.model = asked.map(str::to_owned);
    rig.temperature = request.temperature;
    rig.max_tokens = request.max_tokens;
    for tool in request.tools.iter() {
        let name = tool_name(&tool.name, || "a tool is offered".to_owned())?;
        rig.tools.push(ToolDefinition::new(name, tool.description.to_string(), json(&tool.input_schema)?));
    }
    match &request.tool_choice {
        None => {}
        Some(ToolChoice::Tool { name }) if !request.tools.is_empty() => {
            let function_names = vec![tool_name(name, || "a tool is forced".to_owned())?];
            rig.tool_choice = Some(message::ToolChoice::Specific { function_names });
        }
        Some(ToolChoice::Tool { .. }) => {}
        Some(_) => {
            let message = "rig can only be asked to force one named tool".to_owned();
            return Err((LlmErrorKind::UnsupportedToolChoice, message));
        }
    }
    if !request.stop.is_empty() {
        rig = rig.stop(request.stop.iter().map(Str::to_string));
    }
    if let Some(thinking) = request.thinking {
        let tokens = u32::try_from(thinking.budget).ok().filter(|tokens| *tokens > 0).ok_or_else(|| {
            let kind = LlmErrorKind::UnsupportedThinking { reason: ThinkingRefusal::Budget };
            (
                kind,
                format!(
                    "a thinking budget of {} tokens cannot be asked for; give 1 to {}",
                    thinking.budget,
                    u32::MAX
                ),
            )
        })?;
        rig = rig.reasoning(Reasoning::Budget { tokens });
    }
    Ok(rig)
}

fn add_message(
    messages: &mut Vec<Message>,
    ids: &mut HashMap<Str, CallId>,
    position: usize,
    message: ProviderMessage<'_>,
) -> Result<(), Unsendable> {
    let refuse = |what: String| Err((LlmErrorKind::Refused, format!("message {position} {what}")));
    let text = message.content();
    match message.role() {
        Some(Role::System) => messages.push(Message::system(text)),
        Some(Role::User) => messages.push(Message::user(text)),
        Some(Role::Assistant) => messages.extend(assistant(message, ids, position)?),
        Some(Role::Tool) => {
            let Some(id) = message.tool_call_id() else {
                return refuse(
                    "is a tool result without `toolCallId`; nothing says which call it answers".into(),
                );
            };
            let name = message.tool_name().map_or("tool", |name| name);
            let result = UserContent::ToolResult(ToolResult {
                call: ids.get(id).cloned().unwrap_or_else(|| CallId::from_wire(id.to_string())),
                name: tool_name(name, || format!("message {position} answers a tool"))?,
                content: vec![ToolResultContent::text(text)],
                is_error: false,
            });
            // Results in a row are one turn.
            match messages.last_mut() {
                Some(Message::User { content })
                    if content.iter().all(|part| matches!(part, UserContent::ToolResult(_))) =>
                {
                    content.push(result);
                }
                _ => messages.push(Message::User { content: vec![result] }),
            }
        }
        Some(Role::Other(role)) => {
            return refuse(format!("has the role `{}`, which rig does not know", role.as_str()));
        }
        None => return refuse("has no role".into()),
    }
    Ok(())
}

/// An assistant turn, or none where nothing of it can be sent. Blocks that rig made are given back to it as it made them.
fn assistant(
    message: ProviderMessage<'_>,
    ids: &mut HashMap<Str, CallId>,
    position: usize,
) -> Result<Option<Message>, Unsendable> {
    let mut origin: Option<Origin> = None;
    let mut content = Vec::new();
    for block in message.thinking_blocks() {
        if let Some(item) = ThoughtItem::of(&block) {
            let (from, reasoning) = item.restore(&block.content);
            origin.get_or_insert(from);
            content.push(AssistantContent::Reasoning(reasoning));
        }
    }
    let text = message.content();
    if !text.trim().is_empty() {
        content.push(AssistantContent::text(text));
    }
    for call in message.tool_calls() {
        content.push(AssistantContent::ToolCall(tool_call(&call, &mut origin, ids, position)?));
    }
    if content.is_empty() {
        return Ok(None);
    }
    Ok(Some(Message::Assistant(AssistantMessage::new(content).with_origin(origin))))
}

fn tool_call(
    call: &ToolCall,
    origin: &mut Option<Origin>,
    ids: &mut HashMap<Str, CallId>,
    position: usize,
) -> Result<message::ToolCall, Unsendable> {
    let name = tool_name(&call.name, || format!("message {position} calls a tool"))?;
    let function = ToolFunction::new(name, json(&Value::Object(call.args.clone()))?);
    let item = call.provider_meta.as_ref().and_then(CallItem::of);
    let id = match item.as_ref().and_then(|item| item.id.clone()) {
        Some(id) => id,
        None => CallId::from_wire(call.id.to_string()),
    };
    ids.insert(call.id.clone(), id.clone());
    let mut theirs = message::ToolCall::new(id, function);
    if let Some(CallItem { origin: Some(from), native, .. }) = item {
        origin.get_or_insert(from);
        theirs.native = native;
    }
    Ok(theirs)
}

fn tool_name(name: &str, what: impl FnOnce() -> String) -> Result<ToolName, Unsendable> {
    ToolName::new(name).map_err(|_| (LlmErrorKind::Refused, format!("{} without a name", what())))
}

fn json(value: &Value) -> Result<Json, Unsendable> {
    serde_json::to_value(value).map_err(|error| {
        (LlmErrorKind::Refused, format!("the request cannot be written as JSON ({:?})", error.classify()))
    })
}
