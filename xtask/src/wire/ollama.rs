//! Ollama's `/api/chat`: from a recorded request to one of ours, and our body against the recorded one.

use std::sync::Arc;

use agentfootprint_core::llm::{LlmRequest, ToolSchema};
use agentfootprint_providers::Ollama;
use agentfootprint_providers::ollama::Think;
use agentfootprint_record::message::{Message, Role, ThinkingBlock, ToolCall};
use footprint::value::Value;
use serde_json::{Value as Json, json};

use super::Notes;
use super::case::Request;
use super::check::{Prepared, shorten};
use super::replay::Replay;

/// Request fields that are compared; any other has no counterpart on the port.
const COMPARED: &[&str] =
    &["model", "messages", "tools", "stream", "think", "format", "keep_alive", "options"];
/// The same, inside `options`.
const OPTIONS: &[&str] = &["num_predict", "temperature", "stop", "num_ctx"];

pub(super) fn prepare(
    recorded: &Request,
    replay: Arc<Replay>,
    notes: &mut Notes,
) -> Result<Prepared, String> {
    let body = recorded.json();
    let unknown = |fields: &Json, known: &[&str]| -> Vec<String> {
        let names = fields.as_object().into_iter().flat_map(|fields| fields.keys());
        names.filter(|field| !known.contains(&field.as_str())).cloned().collect()
    };
    let options = body.get("options").cloned().unwrap_or(Json::Null);
    unknown(&body, COMPARED).iter().for_each(|field| notes.add(format!("ollama: request field `{field}`")));
    unknown(&options, OPTIONS)
        .iter()
        .for_each(|field| notes.add(format!("ollama: request field `options.{field}`")));
    let path = recorded.path.split('?').next().unwrap_or_default();
    let base = path.strip_suffix("/api/chat").unwrap_or("");
    let mut builder = Ollama::builder().base_url(format!("http://replay.invalid{base}")).exchange(replay);
    builder = match body.get("think") {
        Some(Json::Bool(false)) => builder.think(Think::Off),
        Some(Json::Bool(true)) => builder.think(Think::On),
        Some(Json::String(level)) => match level.as_str() {
            "low" => builder.think(Think::Low),
            "medium" => builder.think(Think::Medium),
            "high" => builder.think(Think::High),
            _ => builder.think(Think::Max),
        },
        _ => builder,
    };
    if let Some(format) = body.get("format").filter(|format| !format.is_null()) {
        builder = builder.format(Value::from(format.clone()));
    }
    if let Some(tokens) = options.get("num_ctx").and_then(Json::as_u64) {
        builder = builder.num_ctx(tokens);
    }
    if let Some(keep_alive) = body.get("keep_alive").and_then(Json::as_str) {
        builder = builder.keep_alive(keep_alive);
    }
    let provider = builder.build().map_err(|error| error.to_string())?;
    Ok(Prepared { provider: Arc::new(provider), request: request_of(&body, &options, notes) })
}

fn messages(body: &Json) -> impl Iterator<Item = &Json> {
    body.get("messages").and_then(Json::as_array).into_iter().flatten()
}

fn text(json: &Json, name: &str) -> String {
    json.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

/// The recorded request on our port, as far as it has a counterpart.
fn request_of(body: &Json, options: &Json, notes: &mut Notes) -> LlmRequest {
    let mut request = LlmRequest::new(text(body, "model"));
    for (at, message) in messages(body).enumerate() {
        let content = text(message, "content");
        if message.get("images").is_some() {
            notes.add("ollama: message field `images`; the port carries text only");
        }
        match message.get("role").and_then(Json::as_str) {
            Some("system") if at == 0 => request = request.system(content),
            Some("system") => request = request.message(Message::new(Role::System, content)),
            Some("assistant") => request = request.message(assistant(at, message, content)),
            Some("tool") => {
                let id = text(message, "tool_call_id");
                request = request.message(Message::tool(id, text(message, "tool_name"), content));
            }
            _ => request = request.user(content),
        }
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
    request.temperature = options.get("temperature").and_then(Json::as_f64);
    request.max_tokens = options.get("num_predict").and_then(Json::as_u64);
    request.stop = stop_words(options).into_iter().map(Into::into).collect();
    if options.get("num_predict").is_some_and(|limit| !limit.is_null() && !limit.is_u64()) {
        notes.add("ollama: a limit below zero (none, or the context's); the port has none then");
    }
    request
}

/// One word, or a list of them.
fn stop_words(options: &Json) -> Vec<&str> {
    match options.get("stop") {
        Some(Json::String(word)) => vec![word.as_str()],
        words => words.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect(),
    }
}

fn assistant(at: usize, message: &Json, content: String) -> Message {
    let calls = message.get("tool_calls").and_then(Json::as_array).into_iter().flatten().enumerate();
    let calls: Vec<ToolCall> = calls
        .filter_map(|(call_at, call)| {
            let function = call.get("function")?;
            let args = Value::from(function.get("arguments").cloned().unwrap_or(Json::Null));
            let id = call.get("id").and_then(Json::as_str).map(str::to_owned);
            let id = id.unwrap_or_else(|| format!("recorded-{at}-{call_at}"));
            Some(ToolCall::new(id, text(function, "name"), args.as_object().cloned().unwrap_or_default()))
        })
        .collect();
    let ours = Message::assistant(content).with_tool_calls(calls);
    match message.get("thinking").and_then(Json::as_str).filter(|thought| !thought.is_empty()) {
        Some(thought) => {
            let mut block = ThinkingBlock::thinking(thought);
            block.origin = Some("ollama".into());
            ours.with_thinking(vec![block])
        }
        None => ours,
    }
}

/// What differs between our body and the recorded one, in the parts that have a counterpart.
pub(super) fn compare(path: &str, recorded: &Json, sent_path: &str, sent: &Json) -> Vec<String> {
    let mut differences = Vec::new();
    let mut differ = |what: &str, ours: &Json, theirs: &Json| {
        if Value::from(ours.clone()) != Value::from(theirs.clone()) {
            let (ours, theirs) = (ours.to_string(), theirs.to_string());
            differences.push(format!("request {what} {} instead of {}", shorten(&ours), shorten(&theirs)));
        }
    };
    differ("path", &json!(sent_path), &json!(path.split('?').next()));
    let part = |body: &Json, name: &str| body.get(name).cloned().unwrap_or(Json::Null);
    for field in ["model", "stream", "think", "format"] {
        // An absent `stream` means true on this wire; ours always says it.
        let theirs = part(recorded, field);
        if field != "stream" || !theirs.is_null() {
            differ(field, &part(sent, field), &theirs);
        }
    }
    differ("tools", &plain_tools(sent), &plain_tools(recorded));
    let (ours, theirs) = (part(sent, "options"), part(recorded, "options"));
    for option in ["temperature", "num_ctx"] {
        differ(&format!("options.{option}"), &part(&ours, option), &part(&theirs, option));
    }
    let limit = |options: &Json| json!(options.get("num_predict").and_then(Json::as_u64));
    differ("options.num_predict", &limit(&ours), &limit(&theirs));
    differ("options.stop", &json!(stop_words(&ours)), &json!(stop_words(&theirs)));
    let (ours, theirs): (Vec<_>, Vec<_>) = (messages(sent).collect(), messages(recorded).collect());
    differ("number of messages", &json!(ours.len()), &json!(theirs.len()));
    for (at, (ours, theirs)) in ours.into_iter().zip(theirs).enumerate() {
        let (mut ours, theirs) = (plain_message(ours), plain_message(theirs));
        // Ours always names the tool that answered; older clients do not.
        if let (Some(fields), None) = (ours.as_object_mut(), theirs.get("tool_name")) {
            fields.remove("tool_name");
        }
        differ(&format!("message {at}"), &ours, &theirs);
    }
    differences
}

fn plain_tools(body: &Json) -> Json {
    let tools = body.get("tools").and_then(Json::as_array).into_iter().flatten();
    let plain = tools.filter_map(|tool| tool.get("function")).map(|function| {
        json!({
            "name": function.get("name"), "description": text(function, "description"),
            "parameters": function.get("parameters")
        })
    });
    plain.collect()
}

/// A message with the freedoms of the wire taken out: ids, which older servers do not know, an absent content, empty
/// lists, and images, which the port does not carry.
fn plain_message(message: &Json) -> Json {
    let mut plain = message.clone();
    let Some(fields) = plain.as_object_mut() else { return plain };
    for field in ["tool_call_id", "images"] {
        fields.remove(field);
    }
    fields.retain(|_, value| match value {
        Json::Null => false,
        Json::Array(items) => !items.is_empty(),
        _ => true,
    });
    fields.entry("content").or_insert_with(|| json!(""));
    if fields.get("thinking") == Some(&json!("")) {
        fields.remove("thinking");
    }
    let calls = fields.get_mut("tool_calls").and_then(Json::as_array_mut).into_iter().flatten();
    for call in calls.filter_map(Json::as_object_mut) {
        call.remove("id");
        call.remove("type");
        if let Some(function) = call.get_mut("function").and_then(Json::as_object_mut) {
            function.remove("index");
        }
    }
    plain
}
