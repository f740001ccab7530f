use footprint::value::{Array, Value};

use super::parts::Role;
use super::{Message, MessageView, ProviderMessages};
use crate::conventions::{Frame, frame_from_prefix};
use crate::events::field::{Class, Field, Misfit, Shape, items};

/// A conversation: a view over one persistent list of messages.
///
/// Cloning is one reference count, so handing a request of n messages to a provider, an event or a recorder
/// costs the same for any n.
///
/// ```
/// use agentfootprint_record::message::{Message, Messages};
/// let mut history = Messages::new();
/// history.push(&Message::user("Where is order A-1001?"));
/// let sent = history.clone(); // shares everything
/// history.push(&Message::assistant("It is on its way."));
/// assert_eq!((sent.len(), history.len()), (1, 2));
/// assert_eq!(history.last().unwrap().content(), "It is on its way.");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages(Array);

/// Whether a history carries marks of who wrote its turns (EVD-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryMarks {
    /// It does, or its writer is known to write them: text is never looked at.
    Present,
    /// It does not: turns of the library are recognised by their prefix.
    Absent,
}

/// A message that cannot be part of a conversation: where, what it says it is, and what is wrong (AGT-109).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("message {position} ({role}{origin}): {problem}")]
pub struct MessageFault {
    /// Its position in the conversation.
    pub position: usize,
    /// Its role as it stands there, or `no role`.
    pub role: String,
    /// Where it came from, when it says so: `, injected by …`, `, answer to …`.
    pub origin: String,
    /// What is wrong.
    pub problem: String,
}

impl Messages {
    /// An empty conversation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The list as JSON: O(1), everything shared.
    #[must_use]
    pub fn as_array(&self) -> &Array {
        &self.0
    }

    /// The list as a value: O(1), everything shared.
    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::Array(self.0.clone())
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
    pub fn get(&self, position: usize) -> Option<MessageView<'_>> {
        self.0.get(position).map(MessageView)
    }

    /// The last message.
    #[must_use]
    pub fn last(&self) -> Option<MessageView<'_>> {
        self.0.last().map(MessageView)
    }

    /// The messages in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = MessageView<'_>> + ExactSizeIterator {
        self.0.iter().map(MessageView)
    }

    /// Appends a message; everything before it stays shared with earlier clones.
    pub fn push(&mut self, message: &Message) {
        self.0.push(message.to_value());
    }

    /// Appends a message as it stands in a record.
    pub fn push_value(&mut self, message: Value) {
        self.0.push(message);
    }

    /// The messages from a position on.
    #[must_use]
    pub fn tail(&self, from: usize) -> Self {
        Self(self.0.tail(from))
    }

    /// Whether both are one shared list.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// The same conversation as a provider may see it (LLM-2): O(1), nothing is copied.
    #[must_use]
    pub fn for_provider(&self) -> ProviderMessages {
        ProviderMessages::new(self.clone())
    }

    /// Whether any message carries a mark of who wrote it (EVD-16).
    #[must_use]
    pub fn marks(&self) -> HistoryMarks {
        if self.iter().any(MessageView::is_marked) { HistoryMarks::Present } else { HistoryMarks::Absent }
    }

    /// Which library text the turn at `position` is: by its mark, or, in a history without any marks, by its
    /// beginning (AGT-77, EVD-16). `marks` is [`Messages::marks`], or [`HistoryMarks::Present`] where the
    /// writer is known to write them.
    ///
    /// ```
    /// use agentfootprint_record::conventions::Frame;
    /// use agentfootprint_record::message::{HistoryMarks, Message, Messages};
    /// let older: Messages = [Message::user("[schema check — not JSON]")].into_iter().collect();
    /// assert_eq!(older.frame_at(0, older.marks()), Some(Frame::SchemaCheck));
    /// assert_eq!(older.frame_at(0, HistoryMarks::Present), None); // a person typed it
    /// ```
    #[must_use]
    pub fn frame_at(&self, position: usize, marks: HistoryMarks) -> Option<Frame> {
        let message = self.get(position)?;
        match marks {
            HistoryMarks::Present => message.frame(),
            HistoryMarks::Absent if message.is(&Role::User) || message.is(&Role::System) => {
                frame_from_prefix(message.content())
            }
            HistoryMarks::Absent => None,
        }
    }

    /// Whether a person said the turn at `position`: a `user` message the library did not write and no
    /// injection delivered (EVD-17).
    #[must_use]
    pub fn is_persons_turn(&self, position: usize, marks: HistoryMarks) -> bool {
        self.get(position).is_some_and(|message| {
            message.is(&Role::User)
                && message.injected_by().is_none()
                && self.frame_at(position, marks).is_none()
        })
    }

    /// Checks every message of a conversation that comes from outside — a checkpoint, a restored history
    /// (AGT-109): each has a listed role and text, and only an assistant turn with calls may be empty.
    ///
    /// # Errors
    /// A [`MessageFault`] naming position, role and origin of the first message that cannot stand.
    pub fn validate(&self) -> Result<(), MessageFault> {
        self.iter().enumerate().try_for_each(|(position, message)| {
            problem_of(message).map_or(Ok(()), |problem| Err(fault(position, message, problem)))
        })
    }
}

fn problem_of(message: MessageView<'_>) -> Option<String> {
    let decoded = match message.decode() {
        Ok(decoded) => decoded,
        Err(misfit) => return Some(misfit.to_string()),
    };
    if let Role::Other(word) = &decoded.role {
        return Some(format!("`{}` is no role", word.as_str()));
    }
    let may_be_empty = decoded.role == Role::Assistant && message.has_tool_calls();
    (decoded.content.is_empty() && !may_be_empty).then(|| "has no text".to_owned())
}

fn fault(position: usize, message: MessageView<'_>, problem: String) -> MessageFault {
    let origin = if let Some(by) = message.injected_by() {
        format!(", injected by `{}`", by.injection_id)
    } else if let Some(call) = message.tool_call_id() {
        format!(", answer to call `{call}`")
    } else {
        String::new()
    };
    let role = message.role().map_or_else(|| "no role".to_owned(), |role| role.to_string());
    MessageFault { position, role, origin, problem }
}

impl From<Array> for Messages {
    fn from(messages: Array) -> Self {
        Self(messages)
    }
}

impl From<Messages> for Value {
    fn from(messages: Messages) -> Self {
        Self::Array(messages.0)
    }
}

impl FromIterator<Message> for Messages {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        Self(messages.into_iter().map(|message| message.to_value()).collect())
    }
}

impl Field for Messages {
    const SHAPE: Shape = Shape::List(&Shape::Json);
    const CLASS: Class = Class::Content;

    fn to_value(&self) -> Value {
        Messages::to_value(self)
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        items(value).cloned().map(Self)
    }
}
