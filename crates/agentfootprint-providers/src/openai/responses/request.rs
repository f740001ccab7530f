//! From a request to this wire's body. Pure.

use agentfootprint_core::llm::{LlmErrorKind, LlmRequest, ToolChoice};
use agentfootprint_record::message::{ProviderMessage, Role};
use footprint::value::{Str, Value};
use serde_json::{Map, Value as Json, json};

use super::super::request::{Dialect, Unsendable, is_reasoning_model, named_schema};
use super::thinking;

/// The body for `model`, in request order throughout, so that equal requests give equal bytes.
pub(super) fn to_wire(
    request: &LlmRequest,
    model: &str,
    dialect: &Dialect,
    stream: bool,
) -> Result<Vec<u8>, Unsendable> {
    if !request.stop.is_empty() {
        let message =
            "the Responses API has no stop sequences; leave them out, or use the chat door (.build())";
        return Err((LlmErrorKind::Refused, message.to_owned()));
    }
    let reasoning =
        dialect.reasoning.unwrap_or_else(|| is_reasoning_model(model) || model.starts_with("gpt-5"));
    let system_role = if reasoning { "developer" } else { "system" };
    let mut input = Vec::new();
    for (position, message) in request.messages().iter().enumerate() {
        push_items(position, message, system_role, &mut input)?;
    }
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    if let Some(instructions) = request.system_prompt() {
        body.insert("instructions".into(), json!(&*instructions));
    }
    body.insert("input".into(), Json::Array(input));
    if !request.tools.is_empty() {
        let tools: Vec<Json> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "type": "function", "name": &*tool.name, "description": &*tool.description,
                    "parameters": json_of(&tool.input_schema), "strict": false
                })
            })
            .collect();
        body.insert("tools".into(), Json::Array(tools));
        if let Some(choice) = tool_choice(request, dialect)? {
            body.insert("tool_choice".into(), choice);
        }
        if let Some(parallel) = dialect.parallel_tool_calls {
            body.insert("parallel_tool_calls".into(), json!(parallel));
        }
    }
    if let Some(temperature) = request.temperature.filter(|_| !reasoning) {
        body.insert("temperature".into(), json!(temperature));
    }
    if let Some(tokens) = request.max_tokens.or(dialect.max_tokens) {
        body.insert("max_output_tokens".into(), json!(tokens));
    }
    if reasoning {
        let mut how = Map::new();
        if let Some(effort) = &dialect.reasoning_effort {
            how.insert("effort".into(), json!(effort));
        }
        // Only who asks for thinking gets to see a summary of it.
        if request.thinking.is_some() {
            how.insert("summary".into(), json!("auto"));
        }
        if !how.is_empty() {
            body.insert("reasoning".into(), Json::Object(how));
        }
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    if let Some(form) = named_schema(request, dialect)? {
        let mut format = json!(form);
        if let Some(fields) = format.as_object_mut() {
            fields.insert("type".into(), json!("json_schema"));
        }
        body.insert("text".into(), json!({ "format": format }));
    }
    body.insert("store".into(), json!(false));
    if stream {
        body.insert("stream".into(), json!(true));
    }
    serde_json::to_vec(&body).map_err(|error| {
        (LlmErrorKind::Refused, format!("the request cannot be written as JSON ({:?})", error.classify()))
    })
}

fn tool_choice(request: &LlmRequest, dialect: &Dialect) -> Result<Option<Json>, Unsendable> {
    let unsupported = |message: &str| Err((LlmErrorKind::UnsupportedToolChoice, message.to_owned()));
    match &request.tool_choice {
        None => Ok(None),
        Some(_) if !dialect.forced_tool_choice => unsupported(
            "this endpoint does not declare that it can force one tool; use the `instruct` strategy, or declare it with \
             .forced_tool_choice(true)",
        ),
        Some(ToolChoice::Tool { name }) => Ok(Some(json!({ "type": "function", "name": &**name }))),
        Some(_) => unsupported("this wire can only force one named tool"),
    }
}

/// One message as items. An assistant turn is its reasoning, its text, its calls; an empty one is none.
fn push_items(
    position: usize,
    message: ProviderMessage<'_>,
    system_role: &str,
    input: &mut Vec<Json>,
) -> Result<(), Unsendable> {
    let refuse = |what: String| Err((LlmErrorKind::Refused, format!("message {position} {what}")));
    let text = message.content();
    match message.role() {
        Some(Role::System) => input.push(json!({ "role": system_role, "content": text })),
        Some(Role::User) => input.push(json!({ "role": "user", "content": text })),
        Some(Role::Assistant) => {
            let calls = message.tool_calls();
            if text.is_empty() && calls.is_empty() {
                return Ok(()); // reasoning must be followed by what it led to
            }
            input.extend(message.thinking_blocks().iter().filter_map(thinking::item));
            if !text.is_empty() {
                input.push(json!({ "role": "assistant", "content": text }));
            }
            for call in calls {
                let arguments = Value::Object(call.args).to_string();
                input.push(json!({
                    "type": "function_call", "call_id": &*call.id, "name": &*call.name, "arguments": arguments
                }));
            }
        }
        Some(Role::Tool) => match message.tool_call_id() {
            Some(id) => {
                input.push(json!({ "type": "function_call_output", "call_id": &**id, "output": text }));
            }
            None => {
                return refuse(
                    "is a tool result without `toolCallId`; this wire cannot say which call it answers"
                        .into(),
                );
            }
        },
        Some(Role::Other(role)) => {
            return refuse(format!("has the role `{}`, which this wire does not know", role.as_str()));
        }
        None => return refuse("has no role".into()),
    }
    Ok(())
}

/// A value of ours as JSON, in its order.
fn json_of(value: &Value) -> Json {
    serde_json::to_value(value).unwrap_or(Json::Null)
}

/// The tools that really stand in a finished body.
pub(super) fn tool_names(body: &[u8]) -> Option<Vec<Str>> {
    let body: Json = serde_json::from_slice(body).ok()?;
    let tools = body.get("tools").and_then(Json::as_array).into_iter().flatten();
    Some(tools.filter_map(|tool| tool.get("name")?.as_str().map(Str::from)).collect())
}
