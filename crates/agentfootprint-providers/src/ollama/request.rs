//! From a request to this wire's body. Pure.

use agentfootprint_core::llm::{LlmErrorKind, LlmRequest, ToolSchema};
use agentfootprint_record::message::{ProviderMessage, Role, ToolCall};
use footprint::value::{Object, Str, Value};
use serde::{Serialize, Serializer};

use super::thinking::{self, HANDLER_ID};
use crate::tool_name::tool_name;

/// Whether and how hard a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Think {
    /// Not at all.
    Off,
    /// As the model does by default.
    On,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
    /// As much as it can.
    Max,
}

impl Serialize for Think {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Think::Off => serializer.serialize_bool(false),
            Think::On => serializer.serialize_bool(true),
            Think::Low => serializer.serialize_str("low"),
            Think::Medium => serializer.serialize_str("medium"),
            Think::High => serializer.serialize_str("high"),
            Think::Max => serializer.serialize_str("max"),
        }
    }
}

/// What goes along with every request.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    pub(super) num_ctx: Option<u64>,
    pub(super) num_predict: Option<u64>,
    pub(super) think: Option<Think>,
    pub(super) keep_alive: Option<String>,
    pub(super) format: Option<Value>,
}

/// A request that cannot be put on this wire; nothing is sent.
pub(super) type Unsendable = (LlmErrorKind, String);

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<Think>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_alive: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<WireOptions<'a>>,
}

#[derive(Serialize)]
struct WireOptions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [Str],
    #[serde(skip_serializing_if = "Option::is_none")]
    num_ctx: Option<u64>,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    thinking: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<Str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct WireCall {
    id: Str,
    r#type: &'static str,
    function: CallFunction,
}

#[derive(Serialize)]
struct CallFunction {
    name: Str,
    arguments: Object,
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    function: ToolFunction<'a>,
}

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
    options: &Options,
    stream: bool,
) -> Result<Vec<u8>, Unsendable> {
    if request.tool_choice.is_some() && !request.tools.is_empty() {
        return Err((
            LlmErrorKind::UnsupportedToolChoice,
            format!(
                "Ollama cannot force the model `{model}` to call one tool; use the `instruct` strategy, or another \
                 provider"
            ),
        ));
    }
    let system = request.system_prompt();
    let history = request.messages();
    let mut messages = Vec::with_capacity(history.len() + 1);
    if let Some(text) = &system {
        messages.push(plain("system", text));
    }
    for (position, message) in history.iter().enumerate() {
        let asked = || tool_name(&history, position);
        messages.push(wire_message(position, message, asked)?);
    }
    let think = match (options.think, request.thinking) {
        (Some(Think::Off) | None, Some(_)) => Some(Think::On),
        (think, _) => think,
    };
    let wire_options = WireOptions {
        num_predict: request.max_tokens.or(options.num_predict),
        temperature: request.temperature,
        stop: &request.stop,
        num_ctx: options.num_ctx,
    };
    let says_something = wire_options.num_predict.is_some()
        || wire_options.temperature.is_some()
        || !wire_options.stop.is_empty()
        || wire_options.num_ctx.is_some();
    let body = Body {
        model,
        messages,
        tools: request.tools.iter().map(wire_tool).collect(),
        stream,
        think,
        format: request.output_schema.as_ref().map(|form| &form.schema).or(options.format.as_ref()),
        keep_alive: options.keep_alive.as_deref(),
        options: says_something.then_some(wire_options),
    };
    serde_json::to_vec(&body).map_err(|error| {
        (LlmErrorKind::Refused, format!("the request cannot be written as JSON ({:?})", error.classify()))
    })
}

fn plain<'a>(role: &'static str, content: &'a str) -> WireMessage<'a> {
    WireMessage {
        role,
        content,
        thinking: String::new(),
        tool_calls: Vec::new(),
        tool_name: None,
        tool_call_id: None,
    }
}

fn wire_message<'a>(
    position: usize,
    message: ProviderMessage<'a>,
    asked: impl FnOnce() -> Option<Str>,
) -> Result<WireMessage<'a>, Unsendable> {
    let refuse = |what: String| Err((LlmErrorKind::Refused, format!("message {position} {what}")));
    let text = message.content();
    match message.role() {
        Some(Role::System) => Ok(plain("system", text)),
        Some(Role::User) => Ok(plain("user", text)),
        Some(Role::Assistant) => {
            let calls = message.tool_calls();
            let blocks = message.thinking_blocks();
            let own = blocks.iter().filter(|block| block.origin.as_deref() == Some(HANDLER_ID));
            Ok(WireMessage {
                // What was thought inline still stands in the content.
                thinking: if thinking::is_inline(text) {
                    String::new()
                } else {
                    own.map(|block| &*block.content).collect()
                },
                tool_calls: calls.into_iter().map(wire_call).collect(),
                ..plain("assistant", text)
            })
        }
        Some(Role::Tool) => Ok(WireMessage {
            tool_name: asked(),
            tool_call_id: message.tool_call_id().map(|id| &**id).filter(|id| !id.is_empty()),
            ..plain("tool", text)
        }),
        Some(Role::Other(role)) => {
            refuse(format!("has the role `{}`, which this wire does not know", role.as_str()))
        }
        None => refuse("has no role".into()),
    }
}

fn wire_call(call: ToolCall) -> WireCall {
    WireCall {
        id: call.id,
        r#type: "function",
        function: CallFunction { name: call.name, arguments: call.args },
    }
}

fn wire_tool(tool: &ToolSchema) -> WireTool<'_> {
    WireTool {
        r#type: "function",
        function: ToolFunction {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
        },
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
