//! Chat Completions: from a recorded request to one of ours, and our body against the recorded one.

use std::sync::Arc;

use agentfootprint_core::llm::{LlmRequest, ToolChoice, ToolSchema};
use agentfootprint_providers::OpenAi;
use agentfootprint_record::message::{Message, Role, ThinkingBlock, ToolCall};
use footprint::value::Value;
use serde_json::{Value as Json, json};

use super::Notes;
use super::case::Request;
use super::check::{Prepared, shorten};
use super::replay::Replay;

/// Request fields that are compared; any other has no counterpart on the port.
const COMPARED: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "temperature",
    "max_tokens",
    "max_completion_tokens",
    "stop",
    "stream",
    "stream_options",
    "parallel_tool_calls",
];

pub(super) fn prepare(
    recorded: &Request,
    replay: Arc<Replay>,
    notes: &mut Notes,
) -> Result<Prepared, String> {
    let body = recorded.json();
    body.as_object()
        .into_iter()
        .flat_map(|fields| fields.keys())
        .filter(|field| !COMPARED.contains(&field.as_str()))
        .for_each(|field| notes.add(format!("openai-chat: request field `{field}`")));
    let base = recorded.path.strip_suffix("/chat/completions").unwrap_or(&recorded.path);
    let mut builder = OpenAi::builder()
        .base_url(format!("http://replay.invalid{base}"))
        .key("replayed-traffic")
        .exchange(replay)
        .forced_tool_choice(true)
        .legacy_endpoint(body.get("max_completion_tokens").is_none())
        .reports_usage(body.get("stream_options").is_some());
    if let Some(parallel) = body.get("parallel_tool_calls").and_then(Json::as_bool) {
        builder = builder.parallel_tool_calls(parallel);
    }
    let replays_reasoning =
        messages(&body).any(|message| message.get("reasoning_content").is_some_and(|text| !text.is_null()));
    let provider = builder.replay_reasoning(replays_reasoning).build().map_err(|error| error.to_string())?;
    Ok(Prepared { provider: Arc::new(provider), request: request_of(&body, notes) })
}

fn messages(body: &Json) -> impl Iterator<Item = &Json> {
    body.get("messages").and_then(Json::as_array).into_iter().flatten()
}

pub(super) fn text(json: &Json, name: &str) -> String {
    json.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

/// The recorded request on our port, as far as it has a counterpart.
fn request_of(body: &Json, notes: &mut Notes) -> LlmRequest {
    let mut request = LlmRequest::new(text(body, "model"));
    for (at, message) in messages(body).enumerate() {
        let content = content_text(message.get("content"));
        match message.get("role").and_then(Json::as_str) {
            Some("system" | "developer") if at == 0 => request = request.system(content),
            Some("system" | "developer") => request = request.message(Message::new(Role::System, content)),
            Some("assistant") => request = request.message(assistant(message, content)),
            Some("tool") => {
                request = request.message(Message::tool(text(message, "tool_call_id"), "", content))
            }
            _ => request = request.user(content),
        }
        note_parts(message, notes);
    }
    let tools = body.get("tools").and_then(Json::as_array).into_iter().flatten();
    let tools: Vec<ToolSchema> = tools
        .filter_map(|tool| {
            let function = tool.get("function")?;
            let schema = Value::from(function.get("parameters").cloned().unwrap_or(Json::Null));
            Some(ToolSchema::new(text(function, "name"), text(function, "description"), schema))
        })
        .collect();
    request = request.with_tools(tools);
    request.temperature = body.get("temperature").and_then(Json::as_f64);
    let limit = body.get("max_tokens").or_else(|| body.get("max_completion_tokens"));
    request.max_tokens = limit.and_then(Json::as_u64);
    let stop = body.get("stop").and_then(Json::as_array).into_iter().flatten();
    request.stop = stop.filter_map(|word| word.as_str().map(Into::into)).collect();
    request.tool_choice = forced_tool(body).map(|name| ToolChoice::Tool { name: name.into() });
    if let (None, Some(other)) =
        (&request.tool_choice, body.get("tool_choice").filter(|choice| !choice.is_null()))
    {
        notes.add(format!("openai-chat: `tool_choice: {other}`; the port forces one named tool or none"));
    }
    request
}

fn forced_tool(body: &Json) -> Option<&str> {
    body.get("tool_choice")?.get("function")?.get("name")?.as_str()
}

fn assistant(message: &Json, content: String) -> Message {
    let calls = message.get("tool_calls").and_then(Json::as_array).into_iter().flatten();
    let calls: Vec<ToolCall> = calls
        .filter_map(|call| {
            let function = call.get("function")?;
            let args: Json = serde_json::from_str(&text(function, "arguments")).ok()?;
            let args = Value::from(args).as_object().cloned()?;
            Some(ToolCall::new(text(call, "id"), text(function, "name"), args))
        })
        .collect();
    let mut message_of_ours = Message::assistant(content).with_tool_calls(calls);
    if let Some(reasoning) = message.get("reasoning_content").and_then(Json::as_str) {
        let mut block = ThinkingBlock::thinking(reasoning);
        block.origin = Some("openai".into());
        message_of_ours = message_of_ours.with_thinking(vec![block]);
    }
    message_of_ours
}

/// The text of a content, whether it is a string or a list of parts.
fn content_text(content: Option<&Json>) -> String {
    match content {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Json::as_str))
            .collect::<Vec<_>>()
            .join(""),
        _ => String::new(),
    }
}

/// Whether a content is one text: a string, or a list of one text part, which means the same on this wire.
fn is_one_text(content: Option<&Json>) -> bool {
    match content {
        Some(Json::Array(parts)) => {
            matches!(parts.as_slice(), [only] if only.get("type") == Some(&json!("text")))
        }
        _ => true,
    }
}

fn note_parts(message: &Json, notes: &mut Notes) {
    let parts = message.get("content").and_then(Json::as_array).into_iter().flatten();
    for part in parts {
        if let Some(kind) = part.get("type").and_then(Json::as_str).filter(|kind| *kind != "text") {
            notes.add(format!("openai-chat: content part `{kind}`; the port carries text only"));
        }
    }
    if message.get("content").and_then(Json::as_array).is_some_and(|parts| parts.len() > 1) {
        notes.add("openai-chat: content in several parts; the port has one text per message");
    }
    if message.get("prefix").is_some() {
        notes.add("openai-chat: message field `prefix` (Mistral)");
    }
}

/// What differs between our body and the recorded one, in the parts that have a counterpart.
pub(super) fn compare(path: &str, recorded: &Json, sent_path: &str, sent: &Json) -> Vec<String> {
    let mut differences = Vec::new();
    let mut differ = |what: &str, ours: &Json, theirs: &Json| {
        if !equal(ours, theirs) {
            let (ours, theirs) = (ours.to_string(), theirs.to_string());
            differences.push(format!("request {what} {} instead of {}", shorten(&ours), shorten(&theirs)));
        }
    };
    if path != sent_path {
        differ("path", &json!(sent_path), &json!(path));
    }
    let null = Json::Null;
    for field in ["model", "tools", "temperature", "max_tokens", "max_completion_tokens", "stop", "stream"] {
        differ(field, sent.get(field).unwrap_or(&null), recorded.get(field).unwrap_or(&null));
    }
    for field in ["stream_options", "parallel_tool_calls"] {
        differ(field, sent.get(field).unwrap_or(&null), recorded.get(field).unwrap_or(&null));
    }
    if forced_tool(recorded).is_some() {
        differ(
            "tool_choice",
            sent.get("tool_choice").unwrap_or(&null),
            recorded.get("tool_choice").unwrap_or(&null),
        );
    }
    let (ours, theirs): (Vec<_>, Vec<_>) = (messages(sent).collect(), messages(recorded).collect());
    differ("number of messages", &json!(ours.len()), &json!(theirs.len()));
    for (at, (ours, theirs)) in ours.into_iter().zip(theirs).enumerate() {
        if is_one_text(theirs.get("content")) {
            differ(&format!("message {at}"), &plain_message(ours), &plain_message(theirs));
        }
    }
    differences
}

/// A message with the freedoms of the wire taken out: one text part is a string, an absent content is null, a call needs
/// no `index` outside a stream, and arguments are what they say, not how they are spaced.
fn plain_message(message: &Json) -> Json {
    let mut plain = message.clone();
    let Some(fields) = plain.as_object_mut() else { return plain };
    let content = content_text(fields.get("content"));
    let has_content = fields.get("content").is_some_and(|content| !content.is_null());
    fields.insert(
        "content".into(),
        if has_content && !content.is_empty() { json!(content) } else { Json::Null },
    );
    fields.remove("prefix");
    let calls = fields.get_mut("tool_calls").and_then(Json::as_array_mut).into_iter().flatten();
    for call in calls {
        if let Some(call) = call.as_object_mut() {
            call.remove("index");
        }
        if let Some(arguments) = call.get_mut("function").and_then(|function| function.get_mut("arguments")) {
            *arguments =
                arguments.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Json::Null);
        }
    }
    plain
}

/// Equal as JSON, numbers by value.
pub(super) fn equal(ours: &Json, theirs: &Json) -> bool {
    Value::from(ours.clone()) == Value::from(theirs.clone())
}
