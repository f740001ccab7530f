use agentfootprint_record::message::ToolCall;
use footprint::value::{Str, Value};
use serde::{Deserialize, Serialize};

use super::{StopReason, Usage};

/// A model's whole answer.
///
/// ```
/// use agentfootprint_core::llm::{LlmResponse, StopReason};
///
/// let answer = LlmResponse::text("It is Tuesday.");
/// assert_eq!(answer.stop_reason, StopReason::Stop);
/// assert!(answer.tool_calls.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LlmResponse {
    /// The text; empty when there is none.
    pub content: String,
    /// The tool calls asked for.
    pub tool_calls: Vec<ToolCall>,
    /// What the call consumed.
    pub usage: Usage,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// The vendor's id of the response; absent when the wire has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_ref: Option<String>,
    /// What the model thought, as the wire has it; for the thinking handler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_thinking: Option<Value>,
    /// What was really sent, read back from the final body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_manifest: Option<WireManifest>,
    /// Who answered, stamped by the leaf; not part of the recorded response.
    #[serde(skip)]
    pub served_by: Option<ServedBy>,
}

impl LlmResponse {
    /// An answer that is only text, with unmeasured usage.
    pub fn text(content: impl Into<String>) -> Self {
        LlmResponse { content: content.into(), usage: Usage::unmeasured(), ..LlmResponse::default() }
    }

    /// An answer that asks for tools, with unmeasured usage.
    pub fn tools(tool_calls: Vec<ToolCall>) -> Self {
        LlmResponse {
            tool_calls,
            usage: Usage::unmeasured(),
            stop_reason: StopReason::ToolUse,
            ..LlmResponse::default()
        }
    }
}

/// What stood in the body that was sent. An absent manifest says nothing; an empty list states that no tool was
/// offered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireManifest {
    /// The names of the tools offered, in order.
    pub tool_names: Vec<Str>,
}

/// Who served a call, below every decorator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedBy {
    /// The leaf provider's name.
    pub provider: String,
    /// The model id it was asked for.
    pub model: String,
}
