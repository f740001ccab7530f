//! Bedrock's Converse: from a recorded request to one of ours, and our body against the recorded one.

use std::sync::Arc;

use agentfootprint_core::llm::{
    CacheField, CacheMarker, CacheTtl, LlmRequest, SystemSegment, ToolChoice, ToolSchema,
};
use agentfootprint_providers::Bedrock;
use agentfootprint_record::message::{Message, ThinkingBlock, ToolCall};
use footprint::value::{Str, Value};
use serde_json::{Value as Json, json};

use super::Notes;
use super::case::Request;
use super::check::{Prepared, shorten};
use super::replay::Replay;

/// Request fields that are compared; any other has no counterpart on the port.
const COMPARED: &[&str] = &[
    "messages",
    "system",
    "toolConfig",
    "inferenceConfig",
    "additionalModelRequestFields",
    "guardrailConfig",
    // Some recorders put the model of the path into the body too.
    "modelId",
];

/// The recorded exchange asks for a stream.
pub(super) fn streams(path: &str) -> bool {
    path.ends_with("/converse-stream")
}

pub(super) fn prepare(
    recorded: &Request,
    replay: Arc<Replay>,
    notes: &mut Notes,
) -> Result<Prepared, String> {
    let body = recorded.json();
    let fields = body.as_object().into_iter().flat_map(|fields| fields.keys());
    fields
        .filter(|field| !COMPARED.contains(&field.as_str()))
        .for_each(|field| notes.add(format!("bedrock: request field `{field}`")));
    let model = model_of(&recorded.path).ok_or_else(|| format!("no model in the path {}", recorded.path))?;
    let mut builder = Bedrock::builder()
        .region("us-east-1")
        .endpoint("http://replay.invalid")
        .key("replayed-traffic")
        .prompt_caching(true)
        .exchange(replay)
        .max_tokens(None);
    if let Some(guardrail) = body.get("guardrailConfig") {
        builder =
            builder.guardrail(text(guardrail, "guardrailIdentifier"), text(guardrail, "guardrailVersion"));
        if guardrail.get("trace").is_some() {
            notes.add("bedrock: `guardrailConfig.trace`");
        }
    }
    if let Some(fields) = body.get("additionalModelRequestFields").filter(|fields| fields.is_object()) {
        builder = builder.additional_fields(Value::from(fields.clone()));
    }
    let provider = builder.build().map_err(|error| error.to_string())?;
    Ok(Prepared { provider: Arc::new(provider), request: request_of(&model, &body, notes) })
}

/// The model in the path, decoded.
fn model_of(path: &str) -> Option<String> {
    let encoded = path.strip_prefix("/model/")?.rsplit_once("/converse")?.0;
    let mut bytes = Vec::new();
    let mut rest = encoded.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match (first, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

fn list<'a>(json: &'a Json, name: &str) -> impl Iterator<Item = &'a Json> {
    json.get(name).and_then(Json::as_array).into_iter().flatten()
}

fn text(json: &Json, name: &str) -> String {
    json.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn marker(field: CacheField, boundary_index: usize, point: &Json) -> CacheMarker {
    let long = point.get("ttl").and_then(Json::as_str) == Some("1h");
    let ttl = if long { CacheTtl::Long } else { CacheTtl::Short };
    CacheMarker { field, boundary_index, ttl, reason: "recorded".into() }
}

/// The recorded request on our port, as far as it has a counterpart.
fn request_of(model: &str, body: &Json, notes: &mut Notes) -> LlmRequest {
    let mut request = LlmRequest::new(model);
    let mut markers = Vec::new();
    let mut segments: Vec<SystemSegment> = Vec::new();
    for part in list(body, "system") {
        if let Some(point) = part.get("cachePoint") {
            if let Some(last) = segments.len().checked_sub(1) {
                markers.push(marker(CacheField::System, last, point));
            }
        } else if let Some(text) = part.get("text").and_then(Json::as_str) {
            segments.push(SystemSegment { source: "recorded".into(), text: text.into() });
        } else {
            notes.add("bedrock: a system part that is not text");
        }
    }
    request = request.with_system_segments(segments);
    let tools = body.get("toolConfig").cloned().unwrap_or(Json::Null);
    let mut schemas: Vec<ToolSchema> = Vec::new();
    for tool in list(&tools, "tools") {
        if let Some(spec) = tool.get("toolSpec") {
            let schema = spec.get("inputSchema").and_then(|schema| schema.get("json")).cloned();
            let schema = Value::from(schema.unwrap_or(Json::Null));
            schemas.push(ToolSchema::new(text(spec, "name"), text(spec, "description"), schema));
        } else if let (Some(point), Some(last)) = (tool.get("cachePoint"), schemas.len().checked_sub(1)) {
            markers.push(marker(CacheField::Tools, last, point));
        } else {
            notes.add("bedrock: a tool that the vendor runs");
        }
    }
    request = request.with_tools(schemas);
    if let Some(fields) = body.get("inferenceConfig").and_then(Json::as_object) {
        let known = ["maxTokens", "temperature", "stopSequences"];
        fields
            .keys()
            .filter(|field| !known.contains(&field.as_str()))
            .for_each(|field| notes.add(format!("bedrock: `inferenceConfig.{field}`")));
    }
    if without_tools(body) {
        notes.add("bedrock: tool blocks in a request without tools are written as text (LLM-45)");
    }
    let mut count = 0;
    for message in list(body, "messages") {
        let (messages, points) = messages_of(message, count, notes);
        count += messages.len();
        markers.extend(points);
        request = messages.into_iter().fold(request, LlmRequest::message);
    }
    request.cache_markers = markers;
    let inference = body.get("inferenceConfig").cloned().unwrap_or(Json::Null);
    request.temperature = inference.get("temperature").and_then(Json::as_f64);
    request.max_tokens = inference.get("maxTokens").and_then(Json::as_u64);
    request.stop =
        list(&inference, "stopSequences").filter_map(|word| word.as_str().map(Str::from)).collect();
    match tools.get("toolChoice") {
        None | Some(Json::Null) => {}
        Some(choice) => match choice.get("tool") {
            Some(tool) => request.tool_choice = Some(ToolChoice::Tool { name: text(tool, "name").into() }),
            None => {
                notes.add(format!("bedrock: `toolChoice: {choice}`; the port forces one named tool or none"))
            }
        },
    }
    request
}

/// A turn of the wire as messages of ours: results first, as the wire wants them, then the text.
fn messages_of(turn: &Json, first: usize, notes: &mut Notes) -> (Vec<Message>, Vec<CacheMarker>) {
    let is_assistant = turn.get("role").and_then(Json::as_str) == Some("assistant");
    let (mut messages, mut markers) = (Vec::new(), Vec::new());
    let (mut said, mut calls, mut thoughts) = (String::new(), Vec::new(), Vec::new());
    for block in list(turn, "content") {
        if let Some(text) = block.get("text").and_then(Json::as_str) {
            if is_assistant { said.push_str(text) } else { messages.push(Message::user(text)) }
        } else if let Some(call) = block.get("toolUse") {
            let args = Value::from(call.get("input").cloned().unwrap_or(Json::Null));
            let args = args.as_object().cloned().unwrap_or_default();
            calls.push(ToolCall::new(text(call, "toolUseId"), text(call, "name"), args));
        } else if let Some(result) = block.get("toolResult") {
            messages.push(Message::tool(text(result, "toolUseId"), "", result_text(result)));
        } else if let Some(reasoning) = block.get("reasoningContent") {
            thoughts.extend(thought(reasoning));
        } else if let Some(point) = block.get("cachePoint") {
            match messages.len().checked_sub(1) {
                _ if is_assistant => markers.push(marker(CacheField::Messages, first, point)),
                Some(last) => markers.push(marker(CacheField::Messages, first + last, point)),
                None => notes.add("bedrock: a cache point behind a block that the port does not carry"),
            }
        } else {
            let kind = block.as_object().and_then(|block| block.keys().next().cloned()).unwrap_or_default();
            notes.add(format!("bedrock: content block `{kind}`; the port carries text only"));
        }
    }
    if is_assistant {
        messages.push(Message::assistant(said).with_tool_calls(calls).with_thinking(thoughts));
    }
    (messages, markers)
}

fn result_text(result: &Json) -> String {
    let part = |part: &Json| match part.get("text").and_then(Json::as_str) {
        Some(text) => text.to_owned(),
        None => part.get("json").map(Json::to_string).unwrap_or_default(),
    };
    list(result, "content").map(part).collect()
}

fn thought(reasoning: &Json) -> Option<ThinkingBlock> {
    let mut block = match reasoning.get("reasoningText") {
        Some(plain) => {
            let mut block = ThinkingBlock::thinking(text(plain, "text"));
            block.signature = plain.get("signature").and_then(Json::as_str).map(Str::from);
            block
        }
        None => {
            let mut block = ThinkingBlock::redacted("");
            block.signature = reasoning.get("redactedContent").and_then(Json::as_str).map(Str::from);
            block
        }
    };
    block.origin = Some("anthropic".into());
    Some(block)
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
    let part = |body: &Json, name: &str| {
        body.get(name).filter(|part| !is_empty(part)).cloned().unwrap_or(Json::Null)
    };
    // A path may hold `:` encoded or as it is.
    if path != sent_path && model_of(path) != model_of(sent_path) {
        differ("path", &json!(sent_path), &json!(path));
    }
    let fields = |body: &Json| part(body, "additionalModelRequestFields");
    differ("additionalModelRequestFields", &fields(sent), &fields(recorded));
    let inference = |body: &Json| {
        let config = part(body, "inferenceConfig");
        json!([part(&config, "maxTokens"), part(&config, "temperature"), part(&config, "stopSequences")])
    };
    differ("inferenceConfig", &inference(sent), &inference(recorded));
    differ("system", &system(sent), &system(recorded));
    differ("toolConfig", &tools(sent), &tools(recorded));
    let guardrail = |body: &Json| {
        let config = part(body, "guardrailConfig");
        json!([part(&config, "guardrailIdentifier"), part(&config, "guardrailVersion")])
    };
    differ("guardrailConfig", &guardrail(sent), &guardrail(recorded));
    if !without_tools(recorded) {
        let (ours, theirs) = (plain_turns(sent), plain_turns(recorded));
        differ("number of turns", &json!(ours.len()), &json!(theirs.len()));
        for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            differ(&format!("turn {at}"), ours, theirs);
        }
    }
    differences
}

/// Whether calls or results stand in a conversation to which no tool is offered.
fn without_tools(body: &Json) -> bool {
    let mut blocks = list(body, "messages").flat_map(|turn| list(turn, "content"));
    tools(body).is_null()
        && blocks.any(|block| block.get("toolUse").is_some() || block.get("toolResult").is_some())
}

fn is_empty(part: &Json) -> bool {
    part.as_object().is_some_and(|fields| fields.is_empty()) || part.as_array().is_some_and(Vec::is_empty)
}

/// The system prompt as its texts joined between cache points, which means the same.
fn system(body: &Json) -> Json {
    let mut parts: Vec<Json> = Vec::new();
    for part in list(body, "system") {
        match (part.get("text").and_then(Json::as_str), parts.last_mut()) {
            (Some(text), Some(Json::String(last))) => last.push_str(text),
            (Some(text), _) => parts.push(json!(text)),
            (None, _) if part.get("cachePoint").is_some() => parts.push(part.clone()),
            _ => {}
        }
    }
    Json::Array(parts)
}

/// Tools without choices the port cannot say.
fn tools(body: &Json) -> Json {
    let Some(config) = body.get("toolConfig") else { return Json::Null };
    let known = |tool: &&Json| tool.get("toolSpec").is_some() || tool.get("cachePoint").is_some();
    let tools: Vec<Json> = list(config, "tools").filter(known).map(plain_tool).collect();
    let forced = config.get("toolChoice").and_then(|choice| choice.get("tool")).cloned();
    if tools.is_empty() { Json::Null } else { json!([tools, forced]) }
}

/// A tool without what the port does not say; a cache point as it is.
fn plain_tool(tool: &Json) -> Json {
    match tool.get("toolSpec") {
        None => tool.clone(),
        Some(spec) => json!({
            "name": spec.get("name"), "description": text(spec, "description"), "schema": spec.get("inputSchema")
        }),
    }
}

/// The turns, neighbours of one role as one, without those of which the port carries nothing.
fn plain_turns(body: &Json) -> Vec<Json> {
    let mut turns: Vec<Json> = Vec::new();
    for turn in list(body, "messages") {
        let known = ["text", "toolUse", "toolResult", "reasoningContent", "cachePoint"];
        if !list(turn, "content").any(|block| known.iter().any(|kind| block.get(kind).is_some())) {
            continue;
        }
        let blocks = list(turn, "content").cloned().collect::<Vec<_>>();
        match turns.last_mut() {
            Some(last) if last.get("role") == turn.get("role") => {
                if let Some(all) = last.get_mut("content").and_then(Json::as_array_mut) {
                    all.extend(blocks);
                }
            }
            _ => turns.push(json!({"role": turn.get("role"), "content": blocks})),
        }
    }
    turns.iter().map(plain_turn).filter(|turn| turn.get(1) != Some(&json!([]))).collect()
}

/// A turn with the freedoms of the wire taken out: results before text, adjacent texts of an assistant as one, a
/// result's parts as one text, no blocks the port does not carry, and no reasoning that nobody signed, which is not
/// sent back.
fn plain_turn(turn: &Json) -> Json {
    let mut blocks: Vec<Json> = Vec::new();
    let is_assistant = turn.get("role").and_then(Json::as_str) == Some("assistant");
    for block in list(turn, "content") {
        if let Some(text) = block.get("text").and_then(Json::as_str) {
            let joined = blocks.iter_mut().find_map(|block| match block {
                Json::String(said) if is_assistant => Some(said),
                _ => None,
            });
            match joined {
                Some(said) => said.push_str(text),
                None if !text.trim().is_empty() => blocks.push(json!(text)),
                None => {}
            }
        } else if let Some(result) = block.get("toolResult") {
            blocks.push(json!({ "result": text(result, "toolUseId"), "text": result_text(result) }));
        } else if let Some(reasoning) = block.get("reasoningContent") {
            let signed = reasoning.get("reasoningText").is_none_or(|plain| plain.get("signature").is_some());
            blocks.extend(signed.then(|| block.clone()));
        } else if block.get("toolUse").is_some() || block.get("cachePoint").is_some() {
            blocks.push(block.clone());
        }
    }
    // Order counts inside a kind only: reasoning, text, calls; results, text.
    let rank = |block: &Json| match block {
        Json::String(_) => 1,
        other if other.get("reasoningContent").is_some() || other.get("result").is_some() => 0,
        _ => 2,
    };
    blocks.sort_by_key(rank);
    json!([turn.get("role"), blocks])
}
