//! From a request to this wire's body. Pure.

use agentfootprint_core::llm::{LlmErrorKind, LlmRequest, ToolChoice};
use agentfootprint_record::message::{ProviderMessage, ProviderMessages, Role, ToolCall};
use footprint::value::{Str, Value};
use serde::Serialize;

use super::{INVENTED_PREFIX, SIGNATURE};
use crate::tool_name::tool_name;

/// What the builder decided about every request.
#[derive(Debug, Clone, Default)]
pub(super) struct Dialect {
    pub(super) include_thoughts: bool,
    pub(super) thinking_level: Option<String>,
    pub(super) max_tokens: Option<u64>,
}

/// A request that cannot be put on this wire; nothing is sent.
pub(super) type Unsendable = (LlmErrorKind, String);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Instruction>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<GenerationConfig<'a>>,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
    /// How many of the parts are results; they stand first.
    #[serde(skip)]
    results: usize,
}

#[derive(Serialize)]
struct Instruction {
    parts: [TextPart; 1],
}

#[derive(Serialize)]
struct TextPart {
    text: Str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Text {
        text: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: FunctionCall,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<Str>,
    },
    #[serde(rename_all = "camelCase")]
    Result {
        function_response: FunctionResponse<'a>,
    },
}

#[derive(Serialize)]
struct FunctionCall {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Str>,
    name: Str,
    args: Value,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Str,
    response: Output<'a>,
}

#[derive(Serialize)]
struct Output<'a> {
    output: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireTools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    /// The field that takes JSON Schema as it is; the older `parameters` takes a dialect of its own.
    #[serde(skip_serializing_if = "Value::is_null")]
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: CallingConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallingConfig<'a> {
    mode: &'static str,
    allowed_function_names: [&'a str; 1],
}

#[derive(Serialize, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [Str],
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    /// The field that takes JSON Schema as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig<'a>>,
}

#[derive(Serialize, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include_thoughts: Option<bool>,
}

/// The body, in request order throughout, so that equal requests give equal bytes.
pub(super) fn to_wire(request: &LlmRequest, dialect: &Dialect) -> Result<Vec<u8>, Unsendable> {
    let history = request.messages();
    let declarations: Vec<_> = request
        .tools
        .iter()
        .map(|tool| Declaration {
            name: &tool.name,
            description: &tool.description,
            parameters_json_schema: &tool.input_schema,
        })
        .collect();
    let has_tools = !declarations.is_empty();
    let generation = generation_config(request, dialect);
    let body = Body {
        contents: contents(&history)?,
        system_instruction: request.system_prompt().map(|text| Instruction { parts: [TextPart { text }] }),
        tools: has_tools.then_some(WireTools { function_declarations: declarations }).into_iter().collect(),
        tool_config: tool_config(request)?.filter(|_| has_tools),
        generation_config: (generation != GenerationConfig::default()).then_some(generation),
    };
    serde_json::to_vec(&body).map_err(|error| {
        (LlmErrorKind::Refused, format!("the request cannot be written as JSON ({:?})", error.classify()))
    })
}

fn generation_config<'a>(request: &'a LlmRequest, dialect: &'a Dialect) -> GenerationConfig<'a> {
    let thinking = ThinkingConfig {
        thinking_budget: request.thinking.map(|wish| wish.budget),
        thinking_level: dialect.thinking_level.as_deref(),
        include_thoughts: dialect.include_thoughts.then_some(true),
    };
    GenerationConfig {
        temperature: request.temperature,
        max_output_tokens: request.max_tokens.or(dialect.max_tokens),
        stop_sequences: &request.stop,
        response_mime_type: request.output_schema.as_ref().map(|_| "application/json"),
        response_json_schema: request.output_schema.as_ref().map(|form| &form.schema),
        thinking_config: (thinking != ThinkingConfig::default()).then_some(thinking),
    }
}

fn tool_config(request: &LlmRequest) -> Result<Option<ToolConfig<'_>>, Unsendable> {
    match &request.tool_choice {
        None => Ok(None),
        Some(ToolChoice::Tool { name }) => Ok(Some(ToolConfig {
            function_calling_config: CallingConfig { mode: "ANY", allowed_function_names: [name] },
        })),
        Some(_) => {
            Err((LlmErrorKind::UnsupportedToolChoice, "this wire can only force one named tool".to_owned()))
        }
    }
}

/// The messages as alternating turns: neighbours of one role are one turn, results stand first in theirs.
fn contents(history: &ProviderMessages) -> Result<Vec<Content<'_>>, Unsendable> {
    let mut contents: Vec<Content<'_>> = Vec::new();
    for (position, message) in history.iter().enumerate() {
        let (role, parts) = match message.role() {
            Some(Role::User) => ("user", vec![Part::Text { text: message.content() }]),
            Some(Role::Assistant) => ("model", assistant(message)),
            Some(Role::Tool) => ("user", vec![result(position, message, history)?]),
            Some(Role::System) => {
                tracing::warn!(
                    target: "agentfootprint",
                    position,
                    "this wire takes no system turns among the messages; the one at this position is not sent"
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
        if contents.last().is_none_or(|content| content.role != role) {
            contents.push(Content { role, parts: Vec::new(), results: 0 });
        }
        let Some(content) = contents.last_mut() else { continue };
        for part in parts {
            if matches!(part, Part::Result { .. }) {
                content.parts.insert(content.results, part);
                content.results += 1;
            } else {
                content.parts.push(part);
            }
        }
    }
    Ok(contents)
}

fn refuse<T>(position: usize, what: &str) -> Result<T, Unsendable> {
    Err((LlmErrorKind::Refused, format!("message {position} {what}")))
}

/// Text, then calls. A turn with neither keeps its place with an empty text.
fn assistant(message: ProviderMessage<'_>) -> Vec<Part<'_>> {
    let text = message.content();
    let calls = message.tool_calls();
    let mut parts = Vec::with_capacity(calls.len() + 1);
    if !text.is_empty() || calls.is_empty() {
        parts.push(Part::Text { text });
    }
    parts.extend(calls.into_iter().map(call_part));
    parts
}

fn call_part<'a>(call: ToolCall) -> Part<'a> {
    let signature = call.provider_meta.as_ref().and_then(|meta| meta.get(SIGNATURE));
    let thought_signature = signature.and_then(Value::as_shared_str).cloned();
    let id = (!is_invented(&call.id)).then_some(call.id);
    let function_call = FunctionCall { id, name: call.name, args: Value::Object(call.args) };
    Part::Call { function_call, thought_signature }
}

fn result<'a>(
    position: usize,
    message: ProviderMessage<'a>,
    history: &ProviderMessages,
) -> Result<Part<'a>, Unsendable> {
    let Some(name) = tool_name(history, position) else {
        return refuse(
            position,
            "is a tool result that names no tool and answers no call of this conversation; this wire needs the name",
        );
    };
    let id = message.tool_call_id().map(|id| &**id).filter(|id| !is_invented(id) && !id.is_empty());
    let response = Output { output: message.content() };
    Ok(Part::Result { function_response: FunctionResponse { id, name, response } })
}

/// Whether the vendor never saw this id. Told by its prefix, so that it holds after a restart too.
fn is_invented(id: &str) -> bool {
    id.starts_with(INVENTED_PREFIX)
}

/// The tools that really stand in a finished body.
pub(super) fn tool_names(body: &[u8]) -> Option<Vec<Str>> {
    #[derive(serde::Deserialize)]
    struct Read {
        #[serde(default)]
        tools: Vec<Declared>,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Declared {
        #[serde(default)]
        function_declarations: Vec<Named>,
    }
    #[derive(serde::Deserialize)]
    struct Named {
        name: Str,
    }
    let read: Read = serde_json::from_slice(body).ok()?;
    let declared = read.tools.into_iter().flat_map(|tools| tools.function_declarations);
    Some(declared.map(|tool| tool.name).collect())
}
