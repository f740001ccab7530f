//! generateContent: from a recorded request to one of ours, and our body against the recorded one.

use std::sync::Arc;

use agentfootprint_core::llm::{LlmRequest, Thinking, ToolChoice, ToolSchema};
use agentfootprint_providers::Gemini;
use agentfootprint_record::message::{Message, ToolCall};
use footprint::value::{Object, Value};
use serde_json::{Value as Json, json};

use super::Notes;
use super::case::Request;
use super::check::{Prepared, shorten};
use super::openai::{equal, text};
use super::replay::Replay;

/// Request fields that are compared; any other has no counterpart on the port.
const COMPARED: &[&str] = &["contents", "systemInstruction", "tools", "toolConfig", "generationConfig"];
const COMPARED_GENERATION: &[&str] = &["temperature", "maxOutputTokens", "stopSequences", "thinkingConfig"];

pub(super) fn prepare(
    recorded: &Request,
    replay: Arc<Replay>,
    notes: &mut Notes,
) -> Result<Prepared, String> {
    let body = recorded.json();
    note_fields(&body, notes);
    let (base, model) = door(&recorded.path);
    let mut builder = Gemini::builder()
        .base_url(format!("http://replay.invalid{base}"))
        .key("replayed-traffic")
        .exchange(replay)
        .include_thoughts(includes_thoughts(&body));
    if let Some(level) = body.pointer("/generationConfig/thinkingConfig/thinkingLevel").and_then(Json::as_str)
    {
        builder = builder.thinking_level(level);
    }
    let provider = builder.build().map_err(|error| error.to_string())?;
    Ok(Prepared { provider: Arc::new(provider), request: request_of(&body, model) })
}

/// What stands before the model in a path, and the model.
fn door(path: &str) -> (String, String) {
    let path = path.split('?').next().unwrap_or_default();
    let path = path.rsplit_once(':').map_or(path, |(head, _)| head);
    let segments: Vec<&str> = path.split('/').collect();
    let is_version = |segment: &&str| {
        segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let end = segments.iter().position(is_version).map_or(0, |at| at + 1);
    let (base, model) = segments.split_at_checked(end).unwrap_or((&[], &segments));
    (base.join("/"), model.join("/"))
}

fn note_fields(body: &Json, notes: &mut Notes) {
    let mut note = |what: String| notes.add(format!("gemini: {what}"));
    for (field, _) in fields(Some(body)).filter(|(field, _)| !COMPARED.contains(&field.as_str())) {
        note(format!("request field `{field}`"));
    }
    for (field, _) in fields(body.get("generationConfig")) {
        if !COMPARED_GENERATION.contains(&field.as_str()) {
            note(format!("`generationConfig.{field}`"));
        }
    }
    if body.pointer("/generationConfig/thinkingConfig/thinkingBudget").is_some_and(|budget| !budget.is_u64())
    {
        note("a thinking budget below zero (the model decides)".into());
    }
    for tool in list(body.get("tools")) {
        for (kind, _) in fields(Some(tool)).filter(|(kind, _)| *kind != "functionDeclarations") {
            note(format!("the vendor's tool `{kind}`"));
        }
    }
    for declaration in declarations(body) {
        if declaration.get("parameters").is_some_and(|schema| !schema.is_null()) {
            note(
                "`parameters` of a tool; ours is `parametersJsonSchema` (LLM-64), the schema is compared"
                    .into(),
            );
        }
        let known = ["name", "description", "parameters", "parametersJsonSchema"];
        for (field, _) in fields(Some(declaration)).filter(|(field, _)| !known.contains(&field.as_str())) {
            note(format!("tool field `{field}`"));
        }
    }
    if forced(body).is_none() && body.get("toolConfig").is_some_and(|config| !config.is_null()) {
        note(format!("`toolConfig: {}`; the port forces one named tool or none", body["toolConfig"]));
    }
    for part in list(body.get("contents")).flat_map(|content| list(content.get("parts"))) {
        let plain = ["text", "functionCall", "functionResponse"];
        if !plain.iter().any(|kind| part.get(*kind).is_some_and(|part| !part.is_null())) {
            let kinds: Vec<_> = fields(Some(part)).map(|(kind, _)| kind.as_str()).collect();
            note(format!("content part `{}`; the port carries text and calls", kinds.join(", ")));
        }
        if is_thought(part) {
            note("a thought in the conversation; thoughts are not sent back".into());
        } else if part.get("thoughtSignature").is_some() && part.get("functionCall").is_none() {
            note("`thoughtSignature` of a part that is no call".into());
        }
        if let Some(response) = part.pointer("/functionResponse/response") {
            let inner = fields(Some(response)).map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            note(format!(
                "`functionResponse.response` with `{inner}`; ours has `output`, the text is compared"
            ));
        }
    }
}

/// The fields of an object that say something.
fn fields(json: Option<&Json>) -> impl Iterator<Item = (&String, &Json)> {
    let fields = json.and_then(Json::as_object).into_iter().flatten();
    fields.filter(|(_, value)| !value.is_null())
}

fn list(json: Option<&Json>) -> impl Iterator<Item = &Json> {
    json.and_then(Json::as_array).into_iter().flatten()
}

fn declarations(body: &Json) -> impl Iterator<Item = &Json> {
    list(body.get("tools")).flat_map(|tool| list(tool.get("functionDeclarations")))
}

fn schema(declaration: &Json) -> Json {
    let given = |name| declaration.get(name).filter(|schema| !schema.is_null()).cloned();
    given("parametersJsonSchema").or_else(|| given("parameters")).unwrap_or(Json::Null)
}

fn is_thought(part: &Json) -> bool {
    part.get("thought") == Some(&json!(true)) && part.get("text").is_some()
}

fn includes_thoughts(body: &Json) -> bool {
    body.pointer("/generationConfig/thinkingConfig/includeThoughts") == Some(&json!(true))
}

/// The tool a request forces: one that alone is allowed, where some must be called.
fn forced(body: &Json) -> Option<&str> {
    let config = body.pointer("/toolConfig/functionCallingConfig")?;
    let any = config.get("mode").and_then(Json::as_str).is_some_and(|mode| mode.eq_ignore_ascii_case("any"));
    match config.get("allowedFunctionNames")?.as_array()?.as_slice() {
        [only] if any => only.as_str(),
        _ => None,
    }
}

/// The recorded request on our port, as far as it has a counterpart.
fn request_of(body: &Json, model: String) -> LlmRequest {
    let mut request = LlmRequest::new(model).system(instruction(body));
    for message in list(body.get("contents")).flat_map(messages_of) {
        request = request.message(message);
    }
    let tools: Vec<ToolSchema> = declarations(body)
        .map(|tool| ToolSchema::new(text(tool, "name"), text(tool, "description"), Value::from(schema(tool))))
        .collect();
    request = request.with_tools(tools);
    let generation = |name: &str| body.get("generationConfig").and_then(|config| config.get(name));
    request.temperature = generation("temperature").and_then(Json::as_f64);
    request.max_tokens = generation("maxOutputTokens").and_then(Json::as_u64);
    request.stop =
        list(generation("stopSequences")).filter_map(|word| word.as_str().map(Into::into)).collect();
    let budget = generation("thinkingConfig").and_then(|config| config.get("thinkingBudget"));
    request.thinking = budget.and_then(Json::as_u64).map(|budget| Thinking { budget });
    request.tool_choice = forced(body).map(|name| ToolChoice::Tool { name: name.into() });
    request
}

fn instruction(body: &Json) -> String {
    let parts = body.get("systemInstruction").and_then(|instruction| instruction.get("parts"));
    list(parts).map(|part| text(part, "text")).collect()
}

/// One message per part; the adapter joins neighbours of one role again.
fn messages_of(content: &Json) -> Vec<Message> {
    let is_model = content.get("role") == Some(&json!("model"));
    let parts = list(content.get("parts")).filter(|part| !is_thought(part));
    let messages = parts.filter_map(|part| {
        if let Some(call) = part.get("functionCall").filter(|call| !call.is_null()) {
            let args = call.get("args").cloned().unwrap_or_else(|| json!({}));
            let args = Value::from(args).as_object().cloned().unwrap_or_default();
            let mut ours = ToolCall::new(id_of(call), text(call, "name"), args);
            if let Some(signature) = part.get("thoughtSignature").filter(|signature| !signature.is_null()) {
                let mut meta = Object::new();
                meta.insert("thoughtSignature", Value::from(signature.clone()));
                ours.provider_meta = Some(Value::Object(meta));
            }
            return Some(Message::assistant("").with_tool_calls(vec![ours]));
        }
        if let Some(response) = part.get("functionResponse").filter(|response| !response.is_null()) {
            return Some(Message::tool(id_of(response), text(response, "name"), output(response)));
        }
        let words = part.get("text")?.as_str()?;
        Some(if is_model { Message::assistant(words) } else { Message::user(words) })
    });
    messages.collect()
}

/// The recorded id, or one of the kind that is never sent.
fn id_of(holder: &Json) -> String {
    let id = text(holder, "id");
    if id.is_empty() { "gemini-call-recorded".to_owned() } else { id }
}

/// The text of a tool's result: the only text of the response, or the response as JSON.
fn output(response: &Json) -> String {
    let response = response.get("response").unwrap_or(&Json::Null);
    let only =
        response.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.values().next());
    match only.unwrap_or(response) {
        Json::String(text) => text.clone(),
        other => other.to_string(),
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
    differ("path", &json!(sent_path), &json!(path.split('?').next()));
    differ("system instruction", &json!(instruction(sent)), &json!(instruction(recorded)));
    differ("tools", &plain_tools(sent), &plain_tools(recorded));
    if forced(recorded).is_some() && declarations(recorded).next().is_some() {
        differ("forced tool", &json!(forced(sent)), &json!(forced(recorded)));
    }
    differ("generation config", &plain_generation(sent), &plain_generation(recorded));
    let (ours, theirs) = (plain_turns(sent), plain_turns(recorded));
    differ("number of turns", &json!(ours.len()), &json!(theirs.len()));
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        differ(&format!("turn {at}"), ours, theirs);
    }
    differences
}

fn plain_tools(body: &Json) -> Json {
    let tools = declarations(body).map(|tool| {
        json!({"name": tool.get("name"), "description": text(tool, "description"), "schema": schema(tool)})
    });
    tools.collect()
}

fn plain_generation(body: &Json) -> Json {
    let generation = |name: &str| body.get("generationConfig").and_then(|config| config.get(name));
    let thinking = generation("thinkingConfig");
    let budget = thinking.and_then(|config| config.get("thinkingBudget")).and_then(Json::as_u64);
    json!({
        "temperature": generation("temperature"), "limit": generation("maxOutputTokens"),
        "stop": list(generation("stopSequences")).collect::<Vec<_>>(), "budget": budget,
        "level": thinking.and_then(|config| config.get("thinkingLevel")), "thoughts": includes_thoughts(body)
    })
}

/// The turns without the freedoms of the wire: neighbours of one role are one turn, results stand first in theirs, empty
/// texts and parts without a counterpart are left out.
fn plain_turns(body: &Json) -> Vec<Json> {
    let mut turns: Vec<(bool, Vec<Json>)> = Vec::new();
    for content in list(body.get("contents")) {
        let is_model = content.get("role") == Some(&json!("model"));
        let parts: Vec<Json> =
            list(content.get("parts")).filter(|part| !is_thought(part)).filter_map(plain_part).collect();
        if parts.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some((last, all)) if *last == is_model => all.extend(parts),
            _ => turns.push((is_model, parts)),
        }
    }
    let plain = turns.into_iter().map(|(is_model, parts)| {
        let (results, rest): (Vec<Json>, Vec<Json>) =
            parts.into_iter().partition(|part| part.get("result").is_some());
        json!({"model": is_model, "parts": ([results, rest].concat())})
    });
    plain.collect()
}

fn plain_part(part: &Json) -> Option<Json> {
    if let Some(call) = part.get("functionCall").filter(|call| !call.is_null()) {
        let args = call.get("args").filter(|args| !args.is_null()).cloned().unwrap_or_else(|| json!({}));
        let signature = part.get("thoughtSignature");
        return Some(
            json!({"call": call.get("name"), "id": call.get("id"), "args": args, "signature": signature}),
        );
    }
    if let Some(response) = part.get("functionResponse").filter(|response| !response.is_null()) {
        return Some(
            json!({"result": output(response), "id": response.get("id"), "name": response.get("name")}),
        );
    }
    let words = part.get("text")?.as_str().filter(|words| !words.is_empty())?;
    Some(json!({"text": words}))
}
