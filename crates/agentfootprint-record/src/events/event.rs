use footprint::value::{Object, Str, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::field::{Class, Field as _, FieldInfo, Misfit, Record, Shape};
use super::{AgentEvent, EventMeta, EventName};

/// One event as dispatched and recorded: `{type, payload, meta}`.
///
/// ```
/// use agentfootprint_record::events::{Event, EventMeta, Moment, RunFacts, payload::StreamToken};
/// let run = RunFacts::new("run-1-1", ["Agent:support"]);
/// let meta = EventMeta::build(Some("call-llm#18".into()), Moment { wall_clock_ms: 5, run_offset_ms: 2 }, &run);
/// let event = Event::new(StreamToken::new(1, 0, "Hel"), meta);
/// assert_eq!(event.name_str(), "agentfootprint.stream.token");
/// let text = serde_json::to_string(&event)?;
/// assert!(text.starts_with(r#"{"type":"agentfootprint.stream.token","payload":{"iteration":1,"#));
/// assert_eq!(serde_json::from_str::<Event>(&text)?, event);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What is said.
    pub kind: AgentEvent,
    /// When, where and for whom.
    pub meta: EventMeta,
}

/// A payload of the registry.
pub trait Payload: Record + Into<AgentEvent> {
    /// The event it belongs to.
    const NAME: EventName;

    /// The payload, when the event is of this kind.
    fn of(event: &AgentEvent) -> Option<&Self>;
}

impl EventName {
    /// The last part of the name: `token` of `agentfootprint.stream.token`.
    #[must_use]
    pub fn event(self) -> &'static str {
        self.as_str().rsplit('.').next().unwrap_or_default()
    }
}

impl std::fmt::Display for EventName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Display for super::Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Event {
    /// An event of a registered payload.
    #[must_use]
    pub fn new(payload: impl Into<AgentEvent>, meta: EventMeta) -> Self {
        Self { kind: payload.into(), meta }
    }

    /// The registered name; `None` for an event outside the registry.
    #[must_use]
    pub fn name(&self) -> Option<EventName> {
        self.kind.name()
    }

    /// The name as recorded.
    #[must_use]
    pub fn name_str(&self) -> &str {
        self.kind.name_str()
    }

    /// The payload, when the event is of this kind: `event.of::<StreamToken>()`.
    #[must_use]
    pub fn of<P: Payload>(&self) -> Option<&P> {
        P::of(&self.kind)
    }

    /// The event as JSON, sharing what can be shared.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let name = match &self.kind {
            AgentEvent::Unknown(event) => event.name().clone(),
            known => Str::from(known.name_str()),
        };
        let mut object = Object::new();
        object.insert("type", Value::String(name));
        object.insert("payload", self.kind.payload());
        object.insert("meta", self.meta.to_value());
        Value::Object(object)
    }

    /// Reads an event leniently: an unknown name or an unfit payload is kept as [`AgentEvent::Unknown`]
    /// (EVT-21).
    ///
    /// # Errors
    /// A [`Misfit`] when the value is not an object, has no text `type`, or its `meta` does not fit.
    pub fn from_value(value: &Value) -> Result<Self, Misfit> {
        let object = super::field::object(value)?;
        Ok(Self { kind: read_kind(object)?, meta: read_meta(object)? })
    }

    /// The payload without any content: what a sink may keep that must not hold words of people, models or
    /// tools (EVT-24). An event outside the registry has no known structure, hence an empty payload.
    ///
    /// ```
    /// use agentfootprint_record::events::{AgentEvent, payload::StreamToken, structure_of};
    /// let token = AgentEvent::from(StreamToken::new(2, 0, "secret"));
    /// assert_eq!(structure_of(&token).to_string(), r#"{"iteration":2,"tokenIndex":0}"#);
    /// ```
    #[must_use]
    pub fn structure(&self) -> Value {
        structure_of(&self.kind)
    }
}

pub(crate) fn read_kind(object: &Object) -> Result<AgentEvent, Misfit> {
    let name = match object.get("type") {
        Some(name) => super::field::text(name).map_err(|misfit| misfit.under("type"))?,
        None => return Err(Misfit::missing("type", "a string")),
    };
    let empty = Value::Object(Object::new());
    Ok(AgentEvent::read_any(name, object.get("payload").unwrap_or(&empty)))
}

pub(crate) fn read_meta(object: &Object) -> Result<EventMeta, Misfit> {
    match object.get("meta") {
        Some(meta) => EventMeta::from_value(meta).map_err(|misfit| misfit.under("meta")),
        None => Err(Misfit::missing("meta", "an object")),
    }
}

/// The payload of an event without any content (EVT-24); see [`Event::structure`].
#[must_use]
pub fn structure_of(event: &AgentEvent) -> Value {
    match event.name() {
        Some(name) => keep_structure(&event.payload(), name.fields()),
        None => Value::Object(Object::new()),
    }
}

fn keep_structure(value: &Value, fields: &[FieldInfo]) -> Value {
    let Value::Object(object) = value else { return Value::Object(Object::new()) };
    Value::Object(
        fields
            .iter()
            .filter_map(|field| {
                let kept = keep_field(object.get(field.name)?, field.shape, field.class)?;
                Some((Str::from(field.name), kept))
            })
            .collect(),
    )
}

fn keep_field(value: &Value, shape: Shape, class: Class) -> Option<Value> {
    match (shape, value) {
        // A word is structure only when it is one of the listed words; what a reader met may be anything.
        (Shape::Word(words), Value::String(word)) => words.contains(&&**word).then(|| value.clone()),
        (Shape::Record(fields), value) => Some(keep_structure(value, fields)),
        (Shape::List(item), Value::Array(items)) if has_structure(*item, class) => {
            Some(Value::Array(items.iter().filter_map(|value| keep_field(value, *item, class)).collect()))
        }
        (Shape::Map(item), Value::Object(object)) if class == Class::Structure => Some(Value::Object(
            object
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), keep_field(value, *item, class)?)))
                .collect(),
        )),
        (Shape::Nullable(inner), value) if !value.is_null() => keep_field(value, *inner, class),
        (Shape::Loose(inner), value) => fits(value, *inner).then(|| value.clone()),
        (Shape::Json, _) | (Shape::List(_) | Shape::Map(_), _) => None,
        (_, value) => (class == Class::Structure).then(|| value.clone()),
    }
}

/// A list of records keeps its records' own structure, whatever its class says.
fn has_structure(item: Shape, class: Class) -> bool {
    class == Class::Structure || matches!(item, Shape::Record(_) | Shape::List(_))
}

fn fits(value: &Value, shape: Shape) -> bool {
    match shape {
        Shape::Bool => matches!(value, Value::Bool(_)),
        Shape::Count | Shape::Int | Shape::Number => matches!(value, Value::Number(_)),
        _ => false,
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_value(&value).map_err(serde::de::Error::custom)
    }
}
