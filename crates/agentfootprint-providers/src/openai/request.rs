//! From a request to this wire's body. Pure.

use agentfootprint_core::llm::{LlmErrorKind, LlmRequest, ToolChoice, ToolSchema};
use agentfootprint_record::message::{ProviderMessage, Role, ToolCall};
use footprint::value::{Str, Value};
use serde::Serialize;

use super::thinking::{self, HANDLER_ID};

/// What an endpoint wants to be told, and how.
#[derive(Debug, Clone, Default)]
pub(super) struct Dialect {
    /// `max_tokens` instead of `max_completion_tokens`, and no `stream_options` unless asked for.
    pub(super) legacy: bool,
    /// Ask for the usage frame of a stream.
    pub(super) stream_usage: bool,
    /// The model reasons; `None` = told by its id.
    pub(super) reasoning: Option<bool>,
    pub(super) reasoning_effort: Option<String>,
    pub(super) parallel_tool_calls: Option<bool>,
    /// Give the model its own reasoning back, as some compatible servers ask for.
    pub(super) replay_reasoning: bool,
    pub(super) forced_tool_choice: bool,
    pub(super) output_schema: bool,
    pub(super) max_tokens: Option<u64>,
}

/// A request that cannot be put on this wire; nothing is sent.
pub(super) type Unsendable = (LlmErrorKind, String);

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Function<FunctionName<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [Str],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: NamedSchema<'a>,
}

/// The form of an answer. `strict` asks for a guarantee, which is only given for a closed schema.
#[derive(Serialize)]
pub(super) struct NamedSchema<'a> {
    name: &'a str,
    strict: bool,
    schema: &'a Value,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    /// `null` where an assistant turn has no text.
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct WireCall {
    id: Str,
    #[serde(flatten)]
    function: Function<CallFunction>,
}

#[derive(Serialize)]
struct Function<F> {
    r#type: &'static str,
    function: F,
}

impl<F> Function<F> {
    fn of(function: F) -> Self {
        Function { r#type: "function", function }
    }
}

#[derive(Serialize)]
struct CallFunction {
    name: Str,
    /// JSON text.
    arguments: String,
}

#[derive(Serialize)]
struct FunctionName<'a> {
    name: &'a str,
}

type WireTool<'a> = Function<ToolFunction<'a>>;

#[derive(Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: &'a Value,
}

/// The body for `model`, in request order throughout, so that equal requests give equal bytes.
pub(super) fn to_wire(
    request: &LlmRequest,
    model: &str,
    dialect: &Dialect,
    stream: bool,
) -> Result<Vec<u8>, Unsendable> {
    let reasoning = dialect.reasoning.unwrap_or_else(|| is_reasoning_model(model));
    let system_role = if reasoning { "developer" } else { "system" };
    let system = request.system_prompt();
    let history = request.messages();
    let mut messages = Vec::with_capacity(history.len() + 1);
    if let Some(text) = &system {
        messages.push(plain(system_role, text));
    }
    for (position, message) in history.iter().enumerate() {
        messages.extend(wire_message(position, message, system_role, dialect)?);
    }
    let max_tokens = request.max_tokens.or(dialect.max_tokens);
    let has_tools = !request.tools.is_empty();
    let body = Body {
        model,
        messages,
        tools: request.tools.iter().map(wire_tool).collect(),
        tool_choice: tool_choice(request, dialect)?.filter(|_| has_tools),
        parallel_tool_calls: dialect.parallel_tool_calls.filter(|_| has_tools),
        response_format: named_schema(request, dialect)?
            .map(|json_schema| ResponseFormat { r#type: "json_schema", json_schema }),
        temperature: request.temperature.filter(|_| !reasoning),
        max_tokens: max_tokens.filter(|_| dialect.legacy),
        max_completion_tokens: max_tokens.filter(|_| !dialect.legacy),
        stop: &request.stop,
        reasoning_effort: dialect.reasoning_effort.as_deref(),
        stream: stream.then_some(true),
        stream_options: (stream && dialect.stream_usage).then_some(StreamOptions { include_usage: true }),
    };
    serde_json::to_vec(&body).map_err(|error| {
        (LlmErrorKind::Refused, format!("the request cannot be written as JSON ({:?})", error.classify()))
    })
}

/// `o1`, `o3-mini`, … : ids that start with `o` and a digit.
pub(super) fn is_reasoning_model(model: &str) -> bool {
    let mut chars = model.chars();
    chars.next() == Some('o') && chars.next().is_some_and(|c| c.is_ascii_digit())
}

fn plain<'a>(role: &'static str, text: &'a str) -> WireMessage<'a> {
    WireMessage {
        role,
        content: Some(text),
        reasoning_content: None,
        tool_calls: Vec::new(),
        tool_call_id: None,
    }
}

/// One message, or none for an assistant turn with nothing to send: blank content is an error on this wire.
fn wire_message<'a>(
    position: usize,
    message: ProviderMessage<'a>,
    system_role: &'static str,
    dialect: &Dialect,
) -> Result<Option<WireMessage<'a>>, Unsendable> {
    let refuse = |what: String| Err((LlmErrorKind::Refused, format!("message {position} {what}")));
    let text = message.content();
    match message.role() {
        Some(Role::System) => Ok(Some(plain(system_role, text))),
        Some(Role::User) => Ok(Some(plain("user", text))),
        Some(Role::Assistant) => {
            let calls = message.tool_calls();
            let reasoning_content = dialect
                .replay_reasoning
                .then(|| thinking::text_of(&message.thinking_blocks(), HANDLER_ID))
                .filter(|text| !text.is_empty());
            let is_empty = text.is_empty() && calls.is_empty();
            Ok((!is_empty).then(|| WireMessage {
                role: "assistant",
                content: (!text.is_empty()).then_some(text),
                reasoning_content,
                tool_calls: calls.into_iter().map(wire_call).collect(),
                tool_call_id: None,
            }))
        }
        Some(Role::Tool) => match message.tool_call_id() {
            Some(id) => Ok(Some(WireMessage { tool_call_id: Some(id), ..plain("tool", text) })),
            None => refuse(
                "is a tool result without `toolCallId`; this wire cannot say which call it answers".into(),
            ),
        },
        Some(Role::Other(role)) => {
            refuse(format!("has the role `{}`, which this wire does not know", role.as_str()))
        }
        None => refuse("has no role".into()),
    }
}

fn wire_call(call: ToolCall) -> WireCall {
    let arguments = Value::Object(call.args).to_string();
    WireCall { id: call.id, function: Function::of(CallFunction { name: call.name, arguments }) }
}

fn wire_tool(tool: &ToolSchema) -> WireTool<'_> {
    Function::of(ToolFunction {
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.input_schema,
    })
}

/// The form the answer is to have, for an endpoint that can hold the model to one.
pub(super) fn named_schema<'a>(
    request: &'a LlmRequest,
    dialect: &Dialect,
) -> Result<Option<NamedSchema<'a>>, Unsendable> {
    match &request.output_schema {
        Some(_) if !dialect.output_schema => Err((
            LlmErrorKind::Refused,
            "this endpoint does not declare that it can hold an answer to a JSON schema; use the `instruct` strategy, or \
             declare it with .structured_output(true)"
                .to_owned(),
        )),
        form => Ok(form.as_ref().map(|form| NamedSchema {
            name: &form.name,
            strict: form.is_closed(),
            schema: &form.schema,
        })),
    }
}

fn tool_choice<'a>(
    request: &'a LlmRequest,
    dialect: &Dialect,
) -> Result<Option<Function<FunctionName<'a>>>, Unsendable> {
    match &request.tool_choice {
        None => Ok(None),
        Some(ToolChoice::Tool { .. }) if !dialect.forced_tool_choice => Err((
            LlmErrorKind::UnsupportedToolChoice,
            "this endpoint does not declare that it can force one tool; use the `instruct` strategy, or declare it with \
             .forced_tool_choice(true)"
                .to_owned(),
        )),
        Some(ToolChoice::Tool { name }) => Ok(Some(Function::of(FunctionName { name }))),
        Some(_) => Err((LlmErrorKind::UnsupportedToolChoice, "this wire can only force one named tool".to_owned())),
    }
}

/// The tools that really stand in a finished body.
pub(super) fn tool_names(body: &[u8]) -> Option<Vec<Str>> {
    #[derive(serde::Deserialize)]
    struct Tools {
        #[serde(default)]
        tools: Vec<Tool>,
    }
    #[derive(serde::Deserialize)]
    struct Tool {
        function: Named,
    }
    #[derive(serde::Deserialize)]
    struct Named {
        name: Str,
    }
    let read: Tools = serde_json::from_slice(body).ok()?;
    Some(read.tools.into_iter().map(|tool| tool.function.name).collect())
}
