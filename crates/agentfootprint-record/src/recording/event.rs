use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use footprint::value::{Object, Value};
use serde::{Serialize, Serializer};

use crate::events::field::{Misfit, object};
use crate::events::{AgentEvent, Event, EventMeta, EventName, Payload, read_kind, read_meta};

/// One event of a recording: said by a run of this process, or read from a file.
///
/// What was read is kept as it stood — unknown fields, unknown events, even a row that is no event — and
/// decoded when somebody asks, payload and meta separately: an event whose meta cannot be read still says
/// what it says.
#[derive(Clone, Debug)]
pub struct RecordedEvent(Repr);

#[derive(Clone, Debug)]
enum Repr {
    Said(Arc<Event>),
    Read(Arc<ReadEvent>),
}

#[derive(Debug)]
struct ReadEvent {
    value: Value,
    kind: OnceLock<Result<AgentEvent, Misfit>>,
    meta: OnceLock<Result<EventMeta, Misfit>>,
}

impl RecordedEvent {
    /// What is said; [`AgentEvent::Unknown`] for an event outside the registry or of an unfit shape.
    ///
    /// # Errors
    /// A [`Misfit`] when the row is no event at all.
    pub fn kind(&self) -> Result<&AgentEvent, &Misfit> {
        match &self.0 {
            Repr::Said(event) => Ok(&event.kind),
            Repr::Read(read) => read.kind.get_or_init(|| read_kind(object(&read.value)?)).as_ref(),
        }
    }

    /// When, where and for whom it was said.
    ///
    /// # Errors
    /// A [`Misfit`] when the row has no meta, or one of another shape.
    pub fn meta(&self) -> Result<&EventMeta, &Misfit> {
        match &self.0 {
            Repr::Said(event) => Ok(&event.meta),
            Repr::Read(read) => read.meta.get_or_init(|| read_meta(object(&read.value)?)).as_ref(),
        }
    }

    /// The payload, when the event is of this kind: `event.of::<StreamToolEnd>()`.
    #[must_use]
    pub fn of<P: Payload>(&self) -> Option<&P> {
        self.kind().ok().and_then(P::of)
    }

    /// The name as recorded; empty for a row that has none.
    #[must_use]
    pub fn name_str(&self) -> &str {
        match &self.0 {
            Repr::Said(event) => event.name_str(),
            Repr::Read(read) => read.value.get("type").and_then(Value::as_str).unwrap_or_default(),
        }
    }

    /// The registered name; `None` for an event outside the registry. Decodes nothing.
    #[must_use]
    pub fn name(&self) -> Option<EventName> {
        EventName::parse(self.name_str())
    }

    /// The step at which it was said. Decodes nothing.
    #[must_use]
    pub fn runtime_stage_id(&self) -> Option<Cow<'_, str>> {
        match &self.0 {
            Repr::Said(event) => Some(Cow::Owned(event.meta.runtime_stage_id.to_string())),
            Repr::Read(read) => {
                read.value.walk(&["meta", "runtimeStageId"]).and_then(Value::as_str).map(Cow::Borrowed)
            }
        }
    }

    /// The payload as JSON: as read, or made from what was said; `{}` when there is none.
    #[must_use]
    pub fn payload(&self) -> Value {
        match &self.0 {
            Repr::Said(event) => event.kind.payload(),
            Repr::Read(read) => {
                read.value.get("payload").cloned().unwrap_or_else(|| Value::Object(Object::new()))
            }
        }
    }

    /// The row as JSON, sharing what can be shared.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match &self.0 {
            Repr::Said(event) => event.to_value(),
            Repr::Read(read) => read.value.clone(),
        }
    }
}

impl From<Arc<Event>> for RecordedEvent {
    fn from(event: Arc<Event>) -> Self {
        Self(Repr::Said(event))
    }
}

impl From<Event> for RecordedEvent {
    fn from(event: Event) -> Self {
        Self::from(Arc::new(event))
    }
}

impl From<Value> for RecordedEvent {
    fn from(value: Value) -> Self {
        Self(Repr::Read(Arc::new(ReadEvent { value, kind: OnceLock::new(), meta: OnceLock::new() })))
    }
}

/// By what they record.
impl PartialEq for RecordedEvent {
    fn eq(&self, other: &Self) -> bool {
        self.to_value() == other.to_value()
    }
}

impl Serialize for RecordedEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}
