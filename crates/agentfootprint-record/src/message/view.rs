use footprint::value::{Array, Str, Value};

use super::parts::{InjectedBy, Role, ThinkingBlock, ToolCall};
use super::{Message, fields};
use crate::conventions::{Frame, ResultOrigin, ResultReason};
use crate::events::field::{Field, Misfit};
use crate::events::shared::NotDispatched;

/// One message of a conversation, decoded field by field when asked.
///
/// An accessor of an optional field answers `None` both when the field is absent and when it does not have
/// its shape; [`MessageView::decode`] tells the two apart.
#[derive(Clone, Copy, Debug)]
pub struct MessageView<'a>(pub(super) &'a Value);

impl<'a> MessageView<'a> {
    /// The message as JSON.
    #[must_use]
    pub fn value(self) -> &'a Value {
        self.0
    }

    /// All fields, owned.
    ///
    /// # Errors
    /// A [`Misfit`] naming the first field that does not have its shape.
    pub fn decode(self) -> Result<Message, Misfit> {
        Message::from_value(self.0)
    }

    fn field<T: Field>(self, name: &str) -> Option<T> {
        self.0.get(name).and_then(|value| T::from_value(value).ok())
    }

    fn text(self, name: &str) -> Option<&'a Str> {
        self.0.get(name).and_then(Value::as_shared_str)
    }

    /// Who speaks.
    #[must_use]
    pub fn role(self) -> Option<Role> {
        self.field(fields::ROLE)
    }

    /// Whether this role speaks.
    #[must_use]
    pub fn is(self, role: &Role) -> bool {
        self.role().as_ref() == Some(role)
    }

    /// The text; empty when it is missing.
    #[must_use]
    pub fn content(self) -> &'a str {
        self.text(fields::CONTENT).map_or("", |text| text)
    }

    /// The text, shared; `None` when it is missing.
    #[must_use]
    pub fn shared_content(self) -> Option<&'a Str> {
        self.text(fields::CONTENT)
    }

    /// What the tool itself said: the text without the notes the library appended to it.
    #[must_use]
    pub fn tool_text(self) -> &'a str {
        let content = self.content();
        let end = self
            .tool_chars()
            .and_then(|units| usize::try_from(units).ok())
            .and_then(|units| crate::text::utf16_to_byte(content, units));
        end.and_then(|end| content.get(..end)).unwrap_or(content)
    }

    /// The call a tool message answers.
    #[must_use]
    pub fn tool_call_id(self) -> Option<&'a Str> {
        self.text(fields::TOOL_CALL_ID)
    }

    /// The tool a tool message comes from.
    #[must_use]
    pub fn tool_name(self) -> Option<&'a Str> {
        self.text(fields::TOOL_NAME)
    }

    /// The calls an assistant message requests, undecoded.
    #[must_use]
    pub fn raw_tool_calls(self) -> Option<&'a Array> {
        self.0.get(fields::TOOL_CALLS).and_then(Value::as_array)
    }

    /// Whether the message requests calls.
    #[must_use]
    pub fn has_tool_calls(self) -> bool {
        self.raw_tool_calls().is_some_and(|calls| !calls.is_empty())
    }

    /// The calls an assistant message requests; none when the field is absent or does not have its shape.
    #[must_use]
    pub fn tool_calls(self) -> Vec<ToolCall> {
        self.field(fields::TOOL_CALLS).unwrap_or_default()
    }

    /// The model's thinking; none when the field is absent or does not have its shape.
    #[must_use]
    pub fn thinking_blocks(self) -> Vec<ThinkingBlock> {
        self.field(fields::THINKING_BLOCKS).unwrap_or_default()
    }

    /// Whether the message is never kept.
    #[must_use]
    pub fn is_ephemeral(self) -> bool {
        self.field(fields::EPHEMERAL).unwrap_or(false)
    }

    /// Which injection delivered it.
    #[must_use]
    pub fn injected_by(self) -> Option<InjectedBy> {
        self.field(fields::INJECTED_BY)
    }

    /// The mark of a turn the library wrote. Ask [`Messages::frame_at`](super::Messages::frame_at), which
    /// also knows histories without marks.
    #[must_use]
    pub fn frame(self) -> Option<Frame> {
        self.field(fields::FRAME)
    }

    /// Who wrote this tool result.
    #[must_use]
    pub fn result_origin(self) -> Option<ResultOrigin> {
        self.field(fields::RESULT_ORIGIN)
    }

    /// Why the library wrote it.
    #[must_use]
    pub fn result_reason(self) -> Option<ResultReason> {
        self.field(fields::RESULT_REASON)
    }

    /// The call at which the batch stopped, when this message answers a call that never ran.
    #[must_use]
    pub fn not_dispatched(self) -> Option<NotDispatched> {
        self.field(fields::NOT_DISPATCHED)
    }

    /// Where the tool's own text ends, in UTF-16 units.
    #[must_use]
    pub fn tool_chars(self) -> Option<u64> {
        self.field(fields::TOOL_CHARS)
    }

    /// Exemption lineage of a fold.
    #[must_use]
    pub fn folded_exempt(self) -> Vec<Str> {
        self.field(fields::FOLDED_EXEMPT).unwrap_or_default()
    }

    /// Whether the message carries a mark that only a writer of marks sets (EVD-16).
    pub(super) fn is_marked(self) -> bool {
        [
            fields::FRAME,
            fields::RESULT_ORIGIN,
            fields::RESULT_REASON,
            fields::NOT_DISPATCHED,
            fields::TOOL_CHARS,
        ]
        .iter()
        .any(|key| self.0.get(key).is_some())
    }
}
