//! The passes of a run: one per model call, with what was served, what came back and what was done about it.

use agentfootprint_record::recording::{RecordedEvent, Recording};
use footprint::value::{Object, Value};

use crate::calls::{is, text};

/// A piece of context that a slot served.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServedPiece {
    /// The slot: `system-prompt`, `messages` or `tools`.
    pub slot: String,
    /// What kind of source.
    pub source: String,
    /// Which one, when it has an id.
    pub source_id: Option<String>,
    /// The text.
    pub text: String,
}

/// One tool call of a pass.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PassToolCall {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it was called with.
    pub args: Value,
    /// What it returned.
    pub result: Option<Value>,
    /// Whether it failed.
    pub failed: bool,
    /// Milliseconds.
    pub duration_ms: Option<u64>,
    /// The step.
    pub step: String,
}

/// One pass: a model call and what belongs to it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Pass {
    /// Position in the run, from 1.
    pub number: usize,
    /// The iteration the events state.
    pub iteration: Option<u64>,
    /// The step of the model call.
    pub step: String,
    /// Provider and model.
    pub model: String,
    /// Pieces of context that the slots reported since the call before: those that entered for this one (AGT-68).
    pub served: Vec<ServedPiece>,
    /// Names of the tools offered.
    pub offered: Vec<String>,
    /// Size of the system prompt as sent, UTF-16 units.
    pub system_chars: Option<u64>,
    /// Messages sent.
    pub messages: Option<u64>,
    /// What the model wrote; absent when the call did not end.
    pub output: Option<String>,
    /// Tokens read and written.
    pub tokens: (u64, u64),
    /// Milliseconds of the model call.
    pub duration_ms: Option<u64>,
    /// Where the run went next.
    pub route: Option<String>,
    /// The step of that decision.
    pub route_step: String,
    /// Tool calls.
    pub tools: Vec<PassToolCall>,
}

/// All passes of a recording, in run order. Empty when there are no events, which is not the same as no model calls.
///
/// ```
/// use agentfootprint_debug::loops::passes;
/// use agentfootprint_record::recording::Recording;
/// assert!(passes(&Recording::default()).is_empty());
/// ```
#[must_use]
pub fn passes(recording: &Recording) -> Vec<Pass> {
    let mut passes: Vec<Pass> = Vec::new();
    let mut served: Vec<ServedPiece> = Vec::new();
    for event in recording.events() {
        let payload = || event.payload();
        if is(event, "context.injected") {
            served.push(piece(&payload()));
        } else if is(event, "stream.llm_start") {
            passes.push(begun(event, passes.len() + 1, std::mem::take(&mut served)));
        } else if is(event, "stream.llm_end") {
            let at = event.runtime_stage_id().unwrap_or_default();
            if let Some(pass) = passes.iter_mut().rev().find(|pass| pass.step == at) {
                let payload = payload();
                pass.output = Some(text(&payload, "content"));
                pass.duration_ms = payload.get("durationMs").and_then(Value::as_u64);
                let tokens =
                    |part: &str| payload.walk(&["usage", part]).and_then(Value::as_u64).unwrap_or_default();
                pass.tokens = (tokens("input"), tokens("output"));
            }
        } else if is(event, "agent.route_decided") {
            if let Some(pass) = passes.last_mut() {
                pass.route = Some(text(&payload(), "chosen"));
                pass.route_step = event.runtime_stage_id().unwrap_or_default().into_owned();
            }
        } else if is(event, "stream.tool_start") {
            if let Some(pass) = passes.last_mut() {
                let payload = payload();
                pass.tools.push(PassToolCall {
                    id: text(&payload, "toolCallId"),
                    name: text(&payload, "toolName"),
                    args: payload.get("args").cloned().unwrap_or(Value::Null),
                    step: event.runtime_stage_id().unwrap_or_default().into_owned(),
                    ..PassToolCall::default()
                });
            }
        } else if is(event, "stream.tool_end") {
            let payload = payload();
            let id = text(&payload, "toolCallId");
            let call =
                passes.iter_mut().rev().flat_map(|pass| pass.tools.iter_mut()).find(|call| call.id == id);
            if let Some(call) = call {
                call.result = payload.get("result").cloned();
                call.failed = payload.get("error").and_then(Value::as_bool) == Some(true);
                call.duration_ms = payload.get("durationMs").and_then(Value::as_u64);
            }
        }
    }
    passes
}

fn piece(payload: &Value) -> ServedPiece {
    let raw = text(payload, "rawContent");
    ServedPiece {
        slot: text(payload, "slot"),
        source: text(payload, "source"),
        source_id: payload.get("sourceId").and_then(Value::as_str).map(str::to_owned),
        text: if raw.is_empty() { text(payload, "contentSummary") } else { raw },
    }
}

fn begun(event: &RecordedEvent, number: usize, served: Vec<ServedPiece>) -> Pass {
    let payload = event.payload();
    let offered = payload.get("tools").and_then(Value::as_array).cloned().unwrap_or_default();
    Pass {
        number,
        iteration: payload.get("iteration").and_then(Value::as_u64),
        step: event.runtime_stage_id().unwrap_or_default().into_owned(),
        model: format!("{} {}", text(&payload, "provider"), text(&payload, "model")),
        served,
        offered: offered.iter().map(|tool| text(tool, "name")).collect(),
        system_chars: payload.get("systemPromptChars").and_then(Value::as_u64),
        messages: payload.get("messagesCount").and_then(Value::as_u64),
        ..Pass::default()
    }
}

impl Pass {
    /// One row of a summary.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("number", self.number.into());
        out.insert("runtimeStageId", Value::from(self.step.as_str()));
        out.insert("model", Value::from(self.model.as_str()));
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                out.insert(key, value);
            }
        };
        put("iteration", self.iteration.map(Value::from));
        put("systemPromptChars", self.system_chars.map(Value::from));
        put("messagesCount", self.messages.map(Value::from));
        put("route", self.route.as_deref().map(Value::from));
        put("durationMs", self.duration_ms.map(Value::from));
        out.insert("toolsOffered", self.offered.len().into());
        out.insert("inputTokens", self.tokens.0.into());
        out.insert("outputTokens", self.tokens.1.into());
        let calls = self.tools.iter().map(|call| {
            let mut row = Object::new();
            row.insert("toolCallId", Value::from(call.id.as_str()));
            row.insert("toolName", Value::from(call.name.as_str()));
            row.insert("failed", call.failed.into());
            Value::Object(row)
        });
        out.insert("toolCalls", calls.collect::<Vec<_>>().into());
        Value::Object(out)
    }
}
