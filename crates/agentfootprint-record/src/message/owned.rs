use footprint::value::{Object, Str, Value};

use super::fields;
use super::parts::{InjectedBy, Role, ThinkingBlock, ToolCall, unknown, with_extra};
use crate::conventions::{Frame, ResultOrigin, ResultReason};
use crate::events::field::{Field, Misfit, Shape, object};
use crate::events::record::{optional, required};
use crate::events::shared::NotDispatched;

/// One message with owned fields (LLM §1.1).
///
/// ```
/// use agentfootprint_record::message::Message;
/// let answer = Message::tool("t1", "get_order", "shipped");
/// assert_eq!(
///     serde_json::to_string(&answer)?,
///     r#"{"role":"tool","content":"shipped","toolCallId":"t1","toolName":"get_order"}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Recorded as `role`.
    pub role: Role,
    /// Recorded as `content`: always text.
    pub content: Str,
    /// Recorded as `toolCallId`: of a tool message, the call it answers.
    pub tool_call_id: Option<Str>,
    /// Recorded as `toolName`: of a tool message; may be missing in restored histories.
    pub tool_name: Option<Str>,
    /// Recorded as `toolCalls`: of an assistant message.
    pub tool_calls: Option<Vec<ToolCall>>,
    /// Recorded as `thinkingBlocks`: of an assistant message.
    pub thinking_blocks: Option<Vec<ThinkingBlock>>,
    /// Recorded as `ephemeral`: sent and observed, never kept in history or memory.
    pub ephemeral: Option<bool>,
    /// Recorded as `injectedBy`; framework-only.
    pub injected_by: Option<InjectedBy>,
    /// Recorded as `frame`; framework-only: the library wrote this turn.
    pub frame: Option<Frame>,
    /// Recorded as `resultOrigin`; framework-only: who wrote this tool result.
    pub result_origin: Option<ResultOrigin>,
    /// Recorded as `resultReason`; framework-only: why the library did.
    pub result_reason: Option<ResultReason>,
    /// Recorded as `notDispatched`; framework-only: the call never ran.
    pub not_dispatched: Option<NotDispatched>,
    /// Recorded as `toolChars`; framework-only: where the tool's own text ends and the library's notes
    /// begin, in UTF-16 units.
    pub tool_chars: Option<u64>,
    /// Recorded as `foldedExempt`; framework-only.
    pub folded_exempt: Option<Vec<Str>>,
    /// Fields this version does not know.
    pub extra: Object,
}

impl Message {
    /// A message of this role with nothing but text.
    #[must_use]
    pub fn new(role: Role, content: impl Into<Str>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_call_id: None,
            tool_name: None,
            tool_calls: None,
            thinking_blocks: None,
            ephemeral: None,
            injected_by: None,
            frame: None,
            result_origin: None,
            result_reason: None,
            not_dispatched: None,
            tool_chars: None,
            folded_exempt: None,
            extra: Object::new(),
        }
    }

    /// What a person (or the app) says.
    #[must_use]
    pub fn user(content: impl Into<Str>) -> Self {
        Self::new(Role::User, content)
    }

    /// What the model says.
    #[must_use]
    pub fn assistant(content: impl Into<Str>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// What the app instructs inside the conversation.
    #[must_use]
    pub fn system(content: impl Into<Str>) -> Self {
        Self::new(Role::System, content)
    }

    /// The result of a call.
    #[must_use]
    pub fn tool(tool_call_id: impl Into<Str>, tool_name: impl Into<Str>, content: impl Into<Str>) -> Self {
        let mut message = Self::new(Role::Tool, content);
        message.tool_call_id = Some(tool_call_id.into());
        message.tool_name = Some(tool_name.into());
        message
    }

    /// A turn the library wrote, marked as such (EVD-15).
    #[must_use]
    pub fn framed(role: Role, frame: Frame, content: impl Into<Str>) -> Self {
        let mut message = Self::new(role, content);
        message.frame = Some(frame);
        message
    }

    /// With these calls requested.
    #[must_use]
    pub fn with_tool_calls(mut self, calls: Vec<ToolCall>) -> Self {
        self.tool_calls = Some(calls);
        self
    }

    /// With these blocks of thinking; none leave the key absent.
    #[must_use]
    pub fn with_thinking(mut self, blocks: Vec<ThinkingBlock>) -> Self {
        self.thinking_blocks = (!blocks.is_empty()).then_some(blocks);
        self
    }

    /// A tool result the library settled instead of the tool (EVD-15).
    #[must_use]
    pub fn settled_by_library(mut self, reason: ResultReason) -> Self {
        self.result_origin = Some(ResultOrigin::Library);
        self.result_reason = Some(reason);
        self
    }
}

impl Field for Message {
    const SHAPE: Shape = Shape::Json;

    fn to_value(&self) -> Value {
        fn optional<T: Field>(field: &Option<T>) -> Option<Value> {
            field.as_ref().map(Field::to_value)
        }
        let mut message = Object::new();
        message.insert(fields::ROLE, self.role.to_value());
        message.insert(fields::CONTENT, self.content.to_value());
        let rest = [
            (fields::TOOL_CALL_ID, optional(&self.tool_call_id)),
            (fields::TOOL_NAME, optional(&self.tool_name)),
            (fields::TOOL_CALLS, optional(&self.tool_calls)),
            (fields::THINKING_BLOCKS, optional(&self.thinking_blocks)),
            (fields::EPHEMERAL, optional(&self.ephemeral)),
            (fields::INJECTED_BY, optional(&self.injected_by)),
            (fields::FRAME, optional(&self.frame)),
            (fields::RESULT_ORIGIN, optional(&self.result_origin)),
            (fields::RESULT_REASON, optional(&self.result_reason)),
            (fields::NOT_DISPATCHED, optional(&self.not_dispatched)),
            (fields::TOOL_CHARS, optional(&self.tool_chars)),
            (fields::FOLDED_EXEMPT, optional(&self.folded_exempt)),
        ];
        for (key, value) in rest {
            if let Some(value) = value {
                message.insert(key, value);
            }
        }
        with_extra(message, &self.extra)
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        let message = object(value)?;
        Ok(Self {
            role: required(message, fields::ROLE)?,
            content: required(message, fields::CONTENT)?,
            tool_call_id: optional(message, fields::TOOL_CALL_ID)?,
            tool_name: optional(message, fields::TOOL_NAME)?,
            tool_calls: optional(message, fields::TOOL_CALLS)?,
            thinking_blocks: optional(message, fields::THINKING_BLOCKS)?,
            ephemeral: optional(message, fields::EPHEMERAL)?,
            injected_by: optional(message, fields::INJECTED_BY)?,
            frame: optional(message, fields::FRAME)?,
            result_origin: optional(message, fields::RESULT_ORIGIN)?,
            result_reason: optional(message, fields::RESULT_REASON)?,
            not_dispatched: optional(message, fields::NOT_DISPATCHED)?,
            tool_chars: optional(message, fields::TOOL_CHARS)?,
            folded_exempt: optional(message, fields::FOLDED_EXEMPT)?,
            extra: unknown(message, &fields::KNOWN),
        })
    }
}
