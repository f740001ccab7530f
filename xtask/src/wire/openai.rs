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
    "reasoning_effort",
];
/// The same, inside a message and inside a function tool.
const COMPARED_MESSAGE: &[&str] = &["role", "content", "tool_calls", "tool_call_id", "reasoning_content"];
const ROLES: &[&str] = &["system", "developer", "user", "assistant", "tool"];
const COMPARED_TOOL: &[&str] = &["name", "description", "parameters"];

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
    note_tools(&body, notes);
    let path = recorded.path.split('?').next().unwrap_or_default();
    let base = path.strip_suffix("/chat/completions").unwrap_or(path);
    let mut builder = OpenAi::builder()
        .base_url(format!("http://replay.invalid{base}"))
        .key("replayed-traffic")
        .exchange(replay)
        .forced_tool_choice(true)
        .reasoning(messages(&body).any(is_developer))
        .legacy_endpoint(stated(&body, "max_completion_tokens").is_none())
        .reports_usage(asks_usage(&body));
    if let Some(parallel) = body.get("parallel_tool_calls").and_then(Json::as_bool) {
        builder = builder.parallel_tool_calls(parallel);
    }
    if let Some(effort) = body.get("reasoning_effort").and_then(Json::as_str) {
        builder = builder.reasoning_effort(effort);
    }
    let replays_reasoning = messages(&body).any(|message| stated(message, "reasoning_content").is_some());
    let provider = builder.replay_reasoning(replays_reasoning).build().map_err(|error| error.to_string())?;
    Ok(Prepared { provider: Arc::new(provider), request: request_of(&body, path, notes) })
}

/// The messages of a body. An assistant turn that says and calls nothing is not one: the wire rejects it, and ours has
/// none. Neither is a system prompt without text.
fn messages(body: &Json) -> impl Iterator<Item = &Json> {
    let all = body.get("messages").and_then(Json::as_array).into_iter().flatten();
    all.enumerate().filter(|(at, message)| is_sent(*at, message)).map(|(_, message)| message)
}

fn is_sent(at: usize, message: &Json) -> bool {
    let says = !content_text(message.get("content")).is_empty();
    match message.get("role").and_then(Json::as_str) {
        Some("assistant") => says || list(message.get("tool_calls")).any(is_function),
        Some("system" | "developer") => says || at > 0,
        _ => true,
    }
}

fn is_developer(message: &Json) -> bool {
    message.get("role") == Some(&json!("developer"))
}

/// A field that says something.
fn stated<'a>(json: &'a Json, name: &str) -> Option<&'a Json> {
    json.get(name).filter(|value| !value.is_null())
}

fn list(json: Option<&Json>) -> impl Iterator<Item = &Json> {
    json.and_then(Json::as_array).into_iter().flatten()
}

fn asks_usage(body: &Json) -> bool {
    body.pointer("/stream_options/include_usage") == Some(&json!(true))
}

/// A tool, or a call of one, that the caller runs with an object of arguments; the vendor has other kinds beside it.
fn is_function(tool: &Json) -> bool {
    tool.get("function").is_some_and(Json::is_object)
}

pub(super) fn text(json: &Json, name: &str) -> String {
    json.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

/// The recorded request on our port, as far as it has a counterpart.
fn request_of(body: &Json, path: &str, notes: &mut Notes) -> LlmRequest {
    let mut request = LlmRequest::new(model_of(body, path));
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
    let tools: Vec<ToolSchema> = list(body.get("tools"))
        .filter_map(|tool| {
            let function = tool.get("function")?;
            let schema = Value::from(function.get("parameters").cloned().unwrap_or(Json::Null));
            Some(ToolSchema::new(text(function, "name"), text(function, "description"), schema))
        })
        .collect();
    request = request.with_tools(tools);
    request.temperature = body.get("temperature").and_then(Json::as_f64);
    let limit = stated(body, "max_completion_tokens").or_else(|| stated(body, "max_tokens"));
    request.max_tokens = limit.and_then(Json::as_u64);
    request.stop = stop_words(body).into_iter().map(Into::into).collect();
    request.tool_choice = forced_tool(body).map(|name| ToolChoice::Tool { name: name.into() });
    if let (None, Some(other)) =
        (&request.tool_choice, body.get("tool_choice").filter(|choice| !choice.is_null()))
    {
        notes.add(format!("openai-chat: `tool_choice: {other}`; the port forces one named tool or none"));
    }
    request
}

/// The model of a body, or on Azure the deployment in the path.
fn model_of(body: &Json, path: &str) -> String {
    let deployment = path.split_once("/deployments/").and_then(|(_, rest)| rest.split('/').next());
    match body.get("model").and_then(Json::as_str) {
        Some(model) => model.to_owned(),
        None => deployment.unwrap_or("recorded").to_owned(),
    }
}

/// One word, or a list of them.
fn stop_words(body: &Json) -> Vec<&str> {
    match body.get("stop") {
        Some(Json::String(word)) => vec![word.as_str()],
        words => list(words).filter_map(Json::as_str).collect(),
    }
}

fn forced_tool(body: &Json) -> Option<&str> {
    body.get("tool_choice")?.get("function")?.get("name")?.as_str()
}

fn note_tools(body: &Json, notes: &mut Notes) {
    for tool in list(body.get("tools")) {
        let Some(function) = tool.get("function").and_then(Json::as_object) else {
            notes.add(format!(
                "openai-chat: tool of the type `{}`; the port has functions",
                text(tool, "type")
            ));
            continue;
        };
        for field in function.keys().filter(|field| !COMPARED_TOOL.contains(&field.as_str())) {
            notes.add(format!("openai-chat: tool field `{field}`"));
        }
    }
    if stated(body, "max_tokens").is_some() && stated(body, "max_completion_tokens").is_some() {
        notes.add("openai-chat: both limits in one request; the newer one is compared");
    }
}

fn assistant(message: &Json, content: String) -> Message {
    let calls: Vec<ToolCall> = list(message.get("tool_calls"))
        .filter_map(|call| {
            let function = call.get("function")?;
            let args = arguments(function).as_object().cloned().unwrap_or_default();
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

/// The arguments of a call as what they say: text that is no JSON object says none.
fn arguments(function: &Json) -> Value {
    let json = match function.get("arguments") {
        Some(Json::String(text)) => serde_json::from_str(text).unwrap_or(Json::Null),
        Some(other) => other.clone(),
        None => Json::Null,
    };
    Value::from(if json.is_object() { json } else { json!({}) })
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
    let fields = message.as_object().into_iter().flatten();
    let unknown =
        fields.filter(|(field, value)| !value.is_null() && !COMPARED_MESSAGE.contains(&field.as_str()));
    unknown.for_each(|(field, _)| notes.add(format!("openai-chat: message field `{field}`")));
    let role = text(message, "role");
    if !ROLES.contains(&role.as_str()) {
        notes.add(format!("openai-chat: role `{role}`; the message is not compared"));
    }
    for call in list(message.get("tool_calls")) {
        match call.get("function") {
            None => notes.add("openai-chat: a call of a tool that is no function"),
            Some(function) => {
                let readable = match function.get("arguments") {
                    Some(Json::String(text)) => {
                        serde_json::from_str::<Json>(text).is_ok_and(|args| args.is_object())
                    }
                    _ => true,
                };
                if !readable {
                    notes.add("openai-chat: arguments in the history that are no JSON object; ours are `{}`");
                }
            }
        }
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
    let path = path.split('?').next().unwrap_or_default();
    differ("path", &json!(sent_path), &json!(path));
    let null = Json::Null;
    let limit = |body: &Json| match stated(body, "max_completion_tokens") {
        Some(limit) => json!({"max_completion_tokens": limit}),
        None => json!({"max_tokens": body.get("max_tokens")}),
    };
    differ("model", &json!(model_of(sent, path)), &json!(model_of(recorded, path)));
    differ("limit", &limit(sent), &limit(recorded));
    // The developer role means a model that reasons, and those take no temperature.
    if !messages(recorded).any(is_developer) {
        differ(
            "temperature",
            sent.get("temperature").unwrap_or(&null),
            recorded.get("temperature").unwrap_or(&null),
        );
    }
    differ("stop", &json!(stop_words(sent)), &json!(stop_words(recorded)));
    let streams = |body: &Json| json!(body.get("stream") == Some(&json!(true)));
    differ("stream", &streams(sent), &streams(recorded));
    differ("stream_options", &json!(asks_usage(sent)), &json!(asks_usage(recorded)));
    differ("tools", &plain_tools(sent), &plain_tools(recorded));
    let effort = |body: &Json| body.get("reasoning_effort").cloned().unwrap_or(Json::Null);
    differ("reasoning_effort", &effort(sent), &effort(recorded));
    if list(recorded.get("tools")).any(is_function) {
        let parallel = |body: &Json| body.get("parallel_tool_calls").cloned().unwrap_or(Json::Null);
        differ("parallel_tool_calls", &parallel(sent), &parallel(recorded));
        if forced_tool(recorded).is_some() {
            differ("forced tool", &json!(forced_tool(sent)), &json!(forced_tool(recorded)));
        }
    }
    // Where both names of the role stand in one conversation, ours has one of them throughout.
    let has = |role: &str| messages(recorded).any(|message| text(message, "role") == role);
    let mixed = has("system") && has("developer");
    let (ours, theirs): (Vec<_>, Vec<_>) = (messages(sent).collect(), messages(recorded).collect());
    differ("number of messages", &json!(ours.len()), &json!(theirs.len()));
    for (at, (ours, theirs)) in ours.into_iter().zip(theirs).enumerate() {
        if is_one_text(theirs.get("content")) && ROLES.contains(&text(theirs, "role").as_str()) {
            differ(&format!("message {at}"), &plain_message(ours, mixed), &plain_message(theirs, mixed));
        }
    }
    differences
}

/// Function tools without the freedoms of the wire: no description is an empty one.
fn plain_tools(body: &Json) -> Json {
    let functions =
        list(body.get("tools")).filter(|tool| is_function(tool)).filter_map(|tool| tool.get("function"));
    functions
        .map(|function| {
            json!({
                "name": function.get("name"), "description": text(function, "description"),
                "parameters": function.get("parameters")
            })
        })
        .collect()
}

/// A message with the freedoms of the wire taken out: one text part is a string, an absent content is none, a call needs
/// no `index` outside a stream, and arguments are what they say, not how they are spaced.
fn plain_message(message: &Json, mixed: bool) -> Json {
    let calls: Vec<Json> = list(message.get("tool_calls"))
        .filter_map(|call| {
            let function = call.get("function")?;
            let arguments = serde_json::to_value(arguments(function)).unwrap_or(Json::Null);
            Some(json!({"id": text(call, "id"), "name": function.get("name"), "arguments": arguments}))
        })
        .collect();
    let role = text(message, "role");
    let role = if mixed && role == "developer" { "system".to_owned() } else { role };
    json!({
        "role": role, "content": content_text(message.get("content")), "calls": calls,
        "answers": text(message, "tool_call_id"), "reasoning": text(message, "reasoning_content")
    })
}

/// Equal as JSON, numbers by value.
pub(super) fn equal(ours: &Json, theirs: &Json) -> bool {
    Value::from(ours.clone()) == Value::from(theirs.clone())
}
