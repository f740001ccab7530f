//! Messages: from a recorded request to one of ours, and our body against the recorded one.
//!
//! Every recorded block becomes as many of our messages as its order needs; the adapter joins neighbours of one role
//! into one turn again, so the order of blocks is compared too.

use std::sync::Arc;

use agentfootprint_core::llm::{
    CacheField, CacheMarker, CacheTtl, LlmRequest, SystemSegment, Thinking, ThinkingMode, ToolChoice,
    ToolSchema,
};
use agentfootprint_providers::Anthropic;
use agentfootprint_record::message::{Message, Role, ThinkingBlock, ToolCall};
use footprint::value::Value;
use serde_json::{Value as Json, json};

use super::Notes;
use super::case::Request;
use super::check::{Prepared, shorten};
use super::openai::{equal, text};
use super::replay::Replay;

/// Request fields that are compared; any other has no counterpart on the port.
const COMPARED: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "temperature",
    "stop_sequences",
    "thinking",
    "output_config",
    "stream",
];

/// Blocks of a conversation that have a counterpart.
const BLOCKS: &[&str] = &["text", "tool_use", "tool_result", "thinking", "redacted_thinking"];

pub(super) fn prepare(
    recorded: &Request,
    replay: Arc<Replay>,
    notes: &mut Notes,
) -> Result<Prepared, String> {
    let body = recorded.json();
    note_fields(&body, notes);
    let path = recorded.path.split('?').next().unwrap_or_default();
    let base = path.strip_suffix("/v1/messages").unwrap_or(path);
    let mut builder = Anthropic::builder()
        .base_url(format!("http://replay.invalid{base}"))
        .key("replayed-traffic")
        .exchange(replay)
        .forced_tool_choice(true)
        .system_turns(true)
        .thinking_mode(thinking_mode(&body));
    if serial(&body) {
        builder = builder.parallel_tool_calls(false);
    }
    if let Some(effort) = body.pointer("/output_config/effort").and_then(Json::as_str) {
        builder = builder.effort(effort);
    }
    let provider = builder.build().map_err(|error| error.to_string())?;
    Ok(Prepared { provider: Arc::new(provider), request: request_of(&body) })
}

fn note_fields(body: &Json, notes: &mut Notes) {
    let mut note = |what: String| notes.add(format!("anthropic: {what}"));
    let fields = body.as_object().into_iter().flat_map(|fields| fields.keys());
    fields
        .filter(|field| !COMPARED.contains(&field.as_str()))
        .for_each(|field| note(format!("request field `{field}`")));
    if body.pointer("/output_config/format").is_some() {
        note("`output_config.format`; the port asks for structured output through tools or text".into());
    }
    match body.pointer("/thinking/type").and_then(Json::as_str) {
        None | Some("enabled" | "adaptive") => {}
        Some(other) => note(format!("`thinking.type: {other}`")),
    }
    match body.pointer("/tool_choice/type").and_then(Json::as_str) {
        None | Some("tool") => {}
        Some(other) => note(format!("`tool_choice.type: {other}`; the port forces one named tool or none")),
    }
    for tool in list(body.get("tools")) {
        if !is_custom(tool) {
            note(format!("server tool `{}`", text(tool, "type")));
        }
        let fields = tool.as_object().into_iter().flat_map(|fields| fields.keys());
        let known = ["name", "description", "input_schema", "cache_control", "type"];
        for field in fields.filter(|field| is_custom(tool) && !known.contains(&field.as_str())) {
            note(format!("tool field `{field}`"));
        }
    }
    for block in list(body.get("messages")).flat_map(|message| list(message.get("content"))) {
        let kind = text(block, "type");
        if !BLOCKS.contains(&kind.as_str()) {
            note(format!("content block `{kind}`; the port carries text and calls"));
        }
        if kind == "thinking" && text(block, "signature").is_empty() {
            note("thinking without a signature; it is not sent back".into());
        }
        if block.get("is_error").is_some() {
            note("block field `is_error`".into());
        }
        if kind == "tool_result" && list(block.get("content")).any(|part| text(part, "type") != "text") {
            note("tool result with parts that are not text".into());
        }
    }
    if without_tools(body) {
        note("tool blocks in a request without tools are written as text (LLM-45)".into());
    }
    if list(body.get("system")).filter(|part| part.get("cache_control").is_some()).count() > 1 {
        note("several cache marks in the system prompt; the last one holds".into());
    }
}

fn list(json: Option<&Json>) -> impl Iterator<Item = &Json> {
    json.and_then(Json::as_array).into_iter().flatten()
}

/// A tool of the caller's own.
fn is_custom(tool: &Json) -> bool {
    matches!(tool.get("type").and_then(Json::as_str), None | Some("custom"))
}

fn thinking_mode(body: &Json) -> ThinkingMode {
    match body.pointer("/thinking/type").and_then(Json::as_str) {
        Some("enabled") => ThinkingMode::Budget,
        _ => ThinkingMode::Adaptive,
    }
}

fn serial(body: &Json) -> bool {
    let choice = body.get("tool_choice");
    choice.is_some_and(|choice| {
        choice.get("type") == Some(&json!("auto"))
            && choice.get("disable_parallel_tool_use") == Some(&json!(true))
    })
}

/// Whether tool blocks stand in a conversation to which no tool of the caller's is offered.
fn without_tools(body: &Json) -> bool {
    let mut blocks = list(body.get("messages")).flat_map(|message| list(message.get("content")));
    !list(body.get("tools")).any(is_custom)
        && blocks.any(|block| ["tool_use", "tool_result"].contains(&text(block, "type").as_str()))
}

/// The recorded request on our port, as far as it has a counterpart.
fn request_of(body: &Json) -> LlmRequest {
    let mut request = LlmRequest::new(text(body, "model"));
    let mut markers = Vec::new();
    let mut mark = |field, index: usize, holder: &Json| {
        if let Some(control) = holder.get("cache_control").filter(|control| !control.is_null()) {
            let long = control.get("ttl") == Some(&json!("1h"));
            let ttl = if long { CacheTtl::Long } else { CacheTtl::Short };
            markers.push(CacheMarker { field, boundary_index: index, ttl, reason: "recorded".into() });
        }
    };
    let custom = || list(body.get("tools")).filter(|tool| is_custom(tool));
    let tools: Vec<ToolSchema> = custom()
        .map(|tool| {
            let schema = Value::from(tool.get("input_schema").cloned().unwrap_or(Json::Null));
            ToolSchema::new(text(tool, "name"), text(tool, "description"), schema)
        })
        .collect();
    custom().enumerate().for_each(|(at, tool)| mark(CacheField::Tools, at, tool));
    request = match body.get("system") {
        Some(Json::String(prompt)) => request.system(prompt.as_str()),
        Some(Json::Array(parts)) => {
            let segments: Vec<SystemSegment> = parts
                .iter()
                .map(|part| SystemSegment { source: "recorded".into(), text: text(part, "text").into() })
                .collect();
            parts.iter().enumerate().for_each(|(at, part)| mark(CacheField::System, at, part));
            request.with_system_segments(segments)
        }
        _ => request,
    };
    let mut position = 0;
    for message in list(body.get("messages")) {
        for (ours, marked) in messages_of(message) {
            if let Some(block) = marked {
                mark(CacheField::Messages, position, block);
            }
            request = request.message(ours);
            position += 1;
        }
    }
    request = request.with_tools(tools);
    request.cache_markers = markers;
    request.temperature = body.get("temperature").and_then(Json::as_f64);
    request.max_tokens = body.get("max_tokens").and_then(Json::as_u64);
    request.stop =
        list(body.get("stop_sequences")).filter_map(|word| word.as_str().map(Into::into)).collect();
    request.tool_choice = forced(body).map(|name| ToolChoice::Tool { name: name.into() });
    request.thinking = match body.pointer("/thinking/type").and_then(Json::as_str) {
        Some("enabled") => {
            let budget = body.pointer("/thinking/budget_tokens").and_then(Json::as_u64).unwrap_or(0);
            Some(Thinking { budget })
        }
        Some("adaptive") => Some(Thinking { budget: 1024 }),
        _ => None,
    };
    request
}

fn forced(body: &Json) -> Option<&str> {
    let choice = body.get("tool_choice").filter(|choice| choice.get("type") == Some(&json!("tool")))?;
    choice.get("name")?.as_str()
}

/// Our messages for one recorded message, each with the block whose cache mark it carries.
fn messages_of(message: &Json) -> Vec<(Message, Option<&Json>)> {
    let role = text(message, "role");
    let ours = |content: String| match role.as_str() {
        "assistant" => Message::assistant(content),
        "system" => Message::new(Role::System, content),
        _ => Message::user(content),
    };
    let Some(Json::Array(blocks)) = message.get("content") else {
        return vec![(ours(text(message, "content")), None)];
    };
    blocks
        .iter()
        .filter_map(|block| {
            let message = match text(block, "type").as_str() {
                "text" => ours(text(block, "text")),
                "tool_use" => {
                    let args = block.get("input").cloned().unwrap_or_else(|| json!({}));
                    let args = Value::from(args).as_object().cloned()?;
                    ours(String::new()).with_tool_calls(vec![ToolCall::new(
                        text(block, "id"),
                        text(block, "name"),
                        args,
                    )])
                }
                "tool_result" => {
                    Message::tool(text(block, "tool_use_id"), "", result_text(block.get("content")))
                }
                "thinking" => {
                    let mut thought = ThinkingBlock::thinking(text(block, "thinking"));
                    thought.signature = Some(text(block, "signature").into())
                        .filter(|signed: &footprint::value::Str| !signed.is_empty());
                    thinking(ours(String::new()), thought)
                }
                "redacted_thinking" => {
                    let mut thought = ThinkingBlock::redacted("");
                    thought.signature = Some(text(block, "data").into());
                    thinking(ours(String::new()), thought)
                }
                _ => return None,
            };
            Some((message, Some(block)))
        })
        .collect()
}

fn thinking(message: Message, mut block: ThinkingBlock) -> Message {
    block.origin = Some("anthropic".into());
    message.with_thinking(vec![block])
}

/// The text of a result, whether it is a string or a list of parts.
fn result_text(content: Option<&Json>) -> String {
    match content {
        Some(Json::String(text)) => text.clone(),
        other => list(other).map(|part| text(part, "text")).collect(),
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
    for field in ["model", "temperature"] {
        differ(field, sent.get(field).unwrap_or(&null), recorded.get(field).unwrap_or(&null));
    }
    // The wire demands a limit; where a recording has none, the vendor refused it.
    if let Some(limit) = recorded.get("max_tokens").filter(|limit| !limit.is_null()) {
        differ("max_tokens", sent.get("max_tokens").unwrap_or(&null), limit);
    }
    let stop = |body: &Json| json!(list(body.get("stop_sequences")).collect::<Vec<_>>());
    differ("stop_sequences", &stop(sent), &stop(recorded));
    let streams = |body: &Json| json!(body.get("stream") == Some(&json!(true)));
    differ("stream", &streams(sent), &streams(recorded));
    differ("thinking", &plain_thinking(sent), &plain_thinking(recorded));
    let effort = |body: &Json| body.pointer("/output_config/effort").cloned().unwrap_or(Json::Null);
    differ("effort", &effort(sent), &effort(recorded));
    differ("system", &plain_system(sent), &plain_system(recorded));
    differ("tools", &plain_tools(sent), &plain_tools(recorded));
    if list(recorded.get("tools")).any(is_custom) {
        if forced(recorded).is_some() {
            differ("forced tool", &json!(forced(sent)), &json!(forced(recorded)));
        }
        differ("serial tools", &json!(serial(sent)), &json!(serial(recorded)));
    }
    if !without_tools(recorded) {
        let (ours, theirs) = (plain_turns(sent), plain_turns(recorded));
        differ("number of turns", &json!(ours.len()), &json!(theirs.len()));
        for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            differ(&format!("turn {at}"), ours, theirs);
        }
    }
    differences
}

/// How a request asks to think; what is shown of it is optional.
fn plain_thinking(body: &Json) -> Json {
    match body.pointer("/thinking/type").and_then(Json::as_str) {
        Some("enabled") => json!({"budget": body.pointer("/thinking/budget_tokens")}),
        Some("adaptive") => json!("adaptive"),
        _ => Json::Null,
    }
}

/// The prompt, and how much of it the last mark covers; where else it is cut means nothing.
fn plain_system(body: &Json) -> Json {
    let mut prompt = String::new();
    let mut mark = Json::Null;
    match body.get("system") {
        Some(Json::String(text)) => prompt.push_str(text),
        other => list(other).for_each(|part| {
            prompt.push_str(&text(part, "text"));
            if let Some(control) = plain_mark(part) {
                mark = json!([prompt.len(), control]);
            }
        }),
    }
    json!({"prompt": prompt, "mark": mark})
}

/// A mark; five minutes is what it lives without saying so.
fn plain_mark(holder: &Json) -> Option<Json> {
    let control = holder.get("cache_control").filter(|control| !control.is_null())?;
    Some(json!({"long": control.get("ttl") == Some(&json!("1h"))}))
}

fn plain_tools(body: &Json) -> Json {
    let tools = list(body.get("tools")).filter(|tool| is_custom(tool));
    tools
        .map(|tool| {
            json!({
                "name": tool.get("name"), "description": text(tool, "description"),
                "schema": tool.get("input_schema"), "mark": plain_mark(tool)
            })
        })
        .collect()
}

/// The turns without the freedoms of the wire: a string is one text block, neighbours of one role are one turn, results
/// stand first in theirs, blank texts of the assistant and blocks without a counterpart are left out.
fn plain_turns(body: &Json) -> Vec<Json> {
    let mut turns: Vec<(String, Vec<Json>)> = Vec::new();
    for message in list(body.get("messages")) {
        let role = text(message, "role");
        let blocks: Vec<Json> = match message.get("content") {
            Some(Json::String(words)) => vec![json!({"text": words})],
            other => list(other).filter_map(plain_block).collect(),
        };
        let blank = |block: &Json| {
            block.get("text").and_then(Json::as_str).is_some_and(|text| text.trim().is_empty())
        };
        let blocks: Vec<Json> =
            blocks.into_iter().filter(|block| role != "assistant" || !blank(block)).collect();
        if blocks.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    let plain = turns.into_iter().map(|(role, blocks)| {
        let (results, rest): (Vec<Json>, Vec<Json>) =
            blocks.into_iter().partition(|block| block.get("result").is_some());
        json!({"role": role, "blocks": ([results, rest].concat())})
    });
    plain.collect()
}

fn plain_block(block: &Json) -> Option<Json> {
    let mut plain = match text(block, "type").as_str() {
        "text" => json!({"text": block.get("text")}),
        "tool_use" => json!({"call": block.get("name"), "id": block.get("id"), "input": block.get("input")}),
        "tool_result" => {
            json!({"result": result_text(block.get("content")), "id": block.get("tool_use_id")})
        }
        // Thinking that nobody signed is not sent back.
        "thinking" if text(block, "signature").is_empty() => return None,
        "thinking" => json!({"thought": block.get("thinking"), "signature": block.get("signature")}),
        "redacted_thinking" => json!({"data": block.get("data")}),
        _ => return None,
    };
    if let (Some(mark), Some(fields)) = (plain_mark(block), plain.as_object_mut()) {
        fields.insert("mark".into(), mark);
    }
    Some(plain)
}
