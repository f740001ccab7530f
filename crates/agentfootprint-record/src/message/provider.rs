use footprint::value::{Str, Value};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::fields::FRAMEWORK_ONLY;
use super::parts::{Role, ThinkingBlock, ToolCall};
use super::{MessageView, Messages};

/// A conversation as a provider may see it: the framework-only fields do not exist here (LLM-2).
///
/// It is the same shared list behind another door: making one costs nothing, positions stay true, and an
/// adapter that serialises messages whole cannot send what is not the provider's business.
///
/// ```
/// use agentfootprint_record::conventions::Frame;
/// use agentfootprint_record::message::{Message, Messages, Role};
/// let history: Messages = [Message::framed(Role::User, Frame::WrapUp, "Answer now.")].into_iter().collect();
/// assert_eq!(
///     serde_json::to_string(&history.for_provider())?,
///     r#"[{"role":"user","content":"Answer now."}]"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ProviderMessages(Messages);

impl ProviderMessages {
    pub(super) fn new(messages: Messages) -> Self {
        Self(messages)
    }

    /// The number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The message at a position.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<ProviderMessage<'_>> {
        self.0.get(position).map(ProviderMessage)
    }

    /// The messages in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = ProviderMessage<'_>> + ExactSizeIterator {
        self.0.iter().map(ProviderMessage)
    }

    /// The messages as JSON, without the framework-only fields; messages that have none are shared.
    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::Array(self.iter().map(ProviderMessage::to_value).collect())
    }
}

/// One message as a provider may see it.
#[derive(Clone, Copy, Debug)]
pub struct ProviderMessage<'a>(MessageView<'a>);

impl<'a> ProviderMessage<'a> {
    /// Who speaks.
    #[must_use]
    pub fn role(self) -> Option<Role> {
        self.0.role()
    }

    /// The text.
    #[must_use]
    pub fn content(self) -> &'a str {
        self.0.content()
    }

    /// The call a tool message answers.
    #[must_use]
    pub fn tool_call_id(self) -> Option<&'a Str> {
        self.0.tool_call_id()
    }

    /// The tool a tool message comes from.
    #[must_use]
    pub fn tool_name(self) -> Option<&'a Str> {
        self.0.tool_name()
    }

    /// The calls an assistant message requests.
    #[must_use]
    pub fn tool_calls(self) -> Vec<ToolCall> {
        self.0.tool_calls()
    }

    /// The model's thinking.
    #[must_use]
    pub fn thinking_blocks(self) -> Vec<ThinkingBlock> {
        self.0.thinking_blocks()
    }

    /// The message as JSON, without the framework-only fields.
    #[must_use]
    pub fn to_value(self) -> Value {
        let whole = self.0.value();
        let Value::Object(object) = whole else { return whole.clone() };
        if !FRAMEWORK_ONLY.iter().any(|key| object.contains_key(key)) {
            return whole.clone();
        }
        Value::Object(self.entries().map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn entries(self) -> impl Iterator<Item = (&'a Str, &'a Value)> {
        let object = self.0.value().as_object();
        object
            .into_iter()
            .flat_map(|object| object.iter())
            .filter(|(key, _)| !FRAMEWORK_ONLY.contains(&&***key))
    }
}

impl Serialize for ProviderMessages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        for message in self.iter() {
            list.serialize_element(&message)?;
        }
        list.end()
    }
}

impl Serialize for ProviderMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.entries() {
            map.serialize_entry(&**key, value)?;
        }
        map.end()
    }
}
