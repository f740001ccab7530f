//! From a request to this wire's body. Pure.

use agentfootprint_core::llm::{
    CacheField, LlmErrorKind, LlmRequest, ThinkingMode, ThinkingRefusal, ToolChoice,
};
use footprint::value::{Str, Value};
use serde::Serialize;

use super::marks::{CacheControl, Marks};
use super::turns::{self, Turn};

/// The budget below which the vendor does not think.
const MIN_BUDGET: u64 = 1024;
/// What is left for the answer when a budget would take all of it.
const ROOM_FOR_ANSWER: u64 = 1024;

/// How this endpoint and this model want to be told.
#[derive(Debug, Clone)]
pub(super) struct Dialect {
    pub(super) thinking: ThinkingMode,
    pub(super) forced_tool: bool,
    pub(super) structured_output: bool,
    pub(super) system_turns: bool,
    pub(super) parallel_tool_calls: Option<bool>,
    pub(super) effort: Option<String>,
    pub(super) max_tokens: u64,
}

/// A request that cannot be put on this wire; nothing is sent.
pub(super) type Unsendable = (LlmErrorKind, String);

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<System>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [Str],
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<WireThinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum System {
    Text(Str),
    Parts(Vec<SystemPart>),
}

#[derive(Serialize)]
struct SystemPart {
    r#type: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum WireThinking {
    Enabled { budget_tokens: u64 },
    Adaptive { display: &'static str },
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat<'a>>,
}

#[derive(Serialize)]
struct OutputFormat<'a> {
    r#type: &'static str,
    schema: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum WireToolChoice<'a> {
    Tool { name: &'a str },
    Auto { disable_parallel_tool_use: bool },
}

/// The body for `model`, in request order throughout, so that equal requests give equal bytes.
pub(super) fn to_wire(
    request: &LlmRequest,
    model: &str,
    dialect: &Dialect,
    stream: bool,
) -> Result<Vec<u8>, Unsendable> {
    let history = request.messages();
    let marks = Marks::of(request);
    let has_tools = !request.tools.is_empty();
    let thinking = thinking(request, model, dialect)?;
    let built = turns::build(&history, &marks, has_tools, dialect.system_turns)?;
    // With a budget the vendor insists that the running tool loop started with thinking; a history from elsewhere
    // has none, and this one request then goes without.
    let thinking = thinking.filter(|thinking| {
        let fits = !matches!(thinking, WireThinking::Enabled { .. }) || !built.loop_without_thinking;
        if !fits {
            tracing::warn!(
                target: "agentfootprint",
                "the running tool loop carries no thinking that could be sent back; this request goes without thinking"
            );
        }
        fits
    });
    let max_tokens = request.max_tokens.unwrap_or(dialect.max_tokens);
    let max_tokens = match &thinking {
        Some(WireThinking::Enabled { budget_tokens }) if max_tokens <= *budget_tokens => {
            budget_tokens.saturating_add(ROOM_FOR_ANSWER)
        }
        _ => max_tokens,
    };
    let body = Body {
        model,
        max_tokens,
        messages: built.turns,
        system: system(request, &marks),
        tools: request
            .tools
            .iter()
            .enumerate()
            .map(|(position, tool)| WireTool {
                name: &tool.name,
                description: &tool.description,
                input_schema: &tool.input_schema,
                cache_control: marks.at(CacheField::Tools, position),
            })
            .collect(),
        temperature: request.temperature,
        stop_sequences: &request.stop,
        thinking,
        output_config: output_config(request, model, dialect)?,
        tool_choice: tool_choice(request, dialect)?.filter(|_| has_tools),
        stream: stream.then_some(true),
    };
    serde_json::to_vec(&body).map_err(|error| {
        (LlmErrorKind::Refused, format!("the request cannot be written as JSON ({:?})", error.classify()))
    })
}

fn output_config<'a>(
    request: &'a LlmRequest,
    model: &str,
    dialect: &'a Dialect,
) -> Result<Option<OutputConfig<'a>>, Unsendable> {
    let effort = dialect.effort.as_deref();
    let format = match &request.output_schema {
        Some(_) if !dialect.structured_output => {
            let message = format!(
                "the model `{model}` is not known to hold an answer to a JSON schema; use the `instruct` strategy, or declare \
                 it with .structured_output(true)"
            );
            return Err((LlmErrorKind::Refused, message));
        }
        form => form.as_ref().map(|form| OutputFormat { r#type: "json_schema", schema: &form.schema }),
    };
    Ok((effort.is_some() || format.is_some()).then_some(OutputConfig { effort, format }))
}

/// The system prompt: a text, or with a mark the stable part and the rest. Joined, the parts are the prompt.
fn system(request: &LlmRequest, marks: &Marks) -> Option<System> {
    let segments = &request.system_segments;
    let marked = (0..segments.len()).rev().find_map(|at| Some((at, marks.at(CacheField::System, at)?)));
    let Some((boundary, mark)) = marked else { return request.system_prompt().map(System::Text) };
    let join = |parts: &[agentfootprint_core::llm::SystemSegment]| -> String {
        parts.iter().map(|segment| &*segment.text).collect()
    };
    let (stable, rest) = segments.split_at_checked(boundary + 1).unwrap_or((segments, &[]));
    let part = |text: String, cache_control| SystemPart { r#type: "text", text, cache_control };
    let parts: Vec<_> = [part(join(stable), Some(mark)), part(join(rest), None)]
        .into_iter()
        .filter(|part| !part.text.is_empty())
        .collect();
    (!parts.is_empty()).then_some(System::Parts(parts))
}

/// The wish to think, in the form this model takes, or why it cannot be granted.
fn thinking(
    request: &LlmRequest,
    model: &str,
    dialect: &Dialect,
) -> Result<Option<WireThinking>, Unsendable> {
    let Some(wish) = request.thinking else { return Ok(None) };
    let refuse = |reason, message: String| Err((LlmErrorKind::UnsupportedThinking { reason }, message));
    if dialect.thinking == ThinkingMode::None {
        return refuse(
            ThinkingRefusal::NoThinking,
            format!(
                "the model `{model}` cannot think; leave thinking out, or choose a newer model. If the model can, say \
                 how with .thinking_mode(…)"
            ),
        );
    }
    if let Some(temperature) = request.temperature.filter(|temperature| *temperature != 1.0) {
        return refuse(
            ThinkingRefusal::Temperature,
            format!("`{model}` thinks only at temperature 1, not {temperature}; leave one of the two out"),
        );
    }
    if dialect.thinking == ThinkingMode::Adaptive {
        return Ok(Some(WireThinking::Adaptive { display: "summarized" }));
    }
    if wish.budget < MIN_BUDGET {
        return refuse(
            ThinkingRefusal::Budget,
            format!(
                "a thinking budget of {} tokens is too small for `{model}`; give at least {MIN_BUDGET}",
                wish.budget
            ),
        );
    }
    if request.tool_choice.is_some() && !request.tools.is_empty() {
        return refuse(
            ThinkingRefusal::ForcedToolChoice,
            format!(
                "`{model}` cannot think and be forced to a tool in one call; leave thinking out of this call, or use \
                 the `instruct` strategy"
            ),
        );
    }
    Ok(Some(WireThinking::Enabled { budget_tokens: wish.budget }))
}

fn tool_choice<'a>(
    request: &'a LlmRequest,
    dialect: &Dialect,
) -> Result<Option<WireToolChoice<'a>>, Unsendable> {
    match &request.tool_choice {
        None if dialect.parallel_tool_calls == Some(false) => {
            Ok(Some(WireToolChoice::Auto { disable_parallel_tool_use: true }))
        }
        None => Ok(None),
        Some(ToolChoice::Tool { .. }) if !dialect.forced_tool => Err((
            LlmErrorKind::UnsupportedToolChoice,
            "this model cannot be forced to one tool; use the `instruct` strategy, or declare that it can with \
             .forced_tool_choice(true)"
                .to_owned(),
        )),
        Some(ToolChoice::Tool { name }) => Ok(Some(WireToolChoice::Tool { name })),
        Some(_) => {
            Err((LlmErrorKind::UnsupportedToolChoice, "this wire can only force one named tool".to_owned()))
        }
    }
}

/// The tools that really stand in a finished body.
pub(super) fn tool_names(body: &[u8]) -> Option<Vec<Str>> {
    #[derive(serde::Deserialize)]
    struct Tools {
        #[serde(default)]
        tools: Vec<Named>,
    }
    #[derive(serde::Deserialize)]
    struct Named {
        name: Str,
    }
    let read: Tools = serde_json::from_slice(body).ok()?;
    Some(read.tools.into_iter().map(|tool| tool.name).collect())
}
