use footprint::value::{Str, Value};

use super::{AgentEvent, EventName, field::Misfit};

/// An event outside the registry: read from a record of a newer version, or emitted by a consumer.
///
/// A consumer makes one through [`AgentEvent::custom`], which keeps the `agentfootprint.` names for
/// registered events.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownEvent {
    name: Str,
    payload: Value,
    misfit: Option<Misfit>,
}

impl UnknownEvent {
    pub(crate) fn new(name: Str, payload: Value) -> Self {
        Self { name, payload, misfit: None }
    }

    pub(crate) fn misfitting(name: Str, payload: Value, misfit: Misfit) -> Self {
        Self { name, payload, misfit: Some(misfit) }
    }

    /// The name as recorded.
    #[must_use]
    pub fn name(&self) -> &Str {
        &self.name
    }

    /// The payload as recorded.
    #[must_use]
    pub fn payload(&self) -> &Value {
        &self.payload
    }

    /// Why an event with a *registered* name is here: its payload does not have the registered shape.
    #[must_use]
    pub fn misfit(&self) -> Option<&Misfit> {
        self.misfit.as_ref()
    }
}

/// An event of a consumer's own: what `emit` takes (EVT-16).
#[derive(Clone, Debug, PartialEq)]
pub struct CustomEvent {
    /// The name; `agentfootprint.` only for a registered event, whose payload is then checked.
    pub name: Str,
    /// The payload.
    pub payload: Value,
}

/// A custom event uses a name that belongs to the library (EVT-16).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReservedEventNameError {
    /// The name starts with `agentfootprint.` but is not registered.
    #[error(
        "`{name}` is not a registered event, and names starting with `agentfootprint.` are reserved; choose a \
         prefix of your own"
    )]
    Unregistered {
        /// The name.
        name: Str,
    },
    /// The name is registered, but the payload does not have its shape.
    #[error("the payload of `{name}` does not fit: {misfit}")]
    Misfit {
        /// The name.
        name: Str,
        /// Where it does not fit.
        misfit: Misfit,
    },
}

impl ReservedEventNameError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "ERR_RESERVED_EVENT_NAME"
    }
}

/// The prefix of every registered event.
pub const RESERVED_EVENT_PREFIX: &str = "agentfootprint.";

impl AgentEvent {
    /// The event for what a consumer emits (EVT-16): typed when the name is registered, open otherwise.
    ///
    /// # Errors
    /// [`ReservedEventNameError`] when the name is reserved and not registered, or registered and the
    /// payload does not have its shape.
    ///
    /// ```
    /// use agentfootprint_record::events::{AgentEvent, CustomEvent};
    /// use footprint::value;
    /// let ours = CustomEvent { name: "shop.cart_opened".into(), payload: value!({ "items": 2 }) };
    /// assert_eq!(AgentEvent::custom(ours).unwrap().name_str(), "shop.cart_opened");
    ///
    /// let typo = CustomEvent { name: "agentfootprint.eval.scored".into(), payload: value!({}) };
    /// assert!(AgentEvent::custom(typo).is_err());
    /// ```
    pub fn custom(event: CustomEvent) -> Result<Self, ReservedEventNameError> {
        let CustomEvent { name, payload } = event;
        if let Some(known) = EventName::parse(&name) {
            return Self::read(known, &payload)
                .map_err(|misfit| ReservedEventNameError::Misfit { name, misfit });
        }
        if name.starts_with(RESERVED_EVENT_PREFIX) {
            return Err(ReservedEventNameError::Unregistered { name });
        }
        Ok(Self::Unknown(UnknownEvent::new(name, payload)))
    }

    /// The name as recorded, registered or not.
    #[must_use]
    pub fn name_str(&self) -> &str {
        match self {
            Self::Unknown(event) => event.name(),
            known => known.name().map_or("", EventName::as_str),
        }
    }

    /// Reads an event leniently (EVT-21): what is not registered, or does not have the registered shape, is
    /// kept whole as [`AgentEvent::Unknown`].
    #[must_use]
    pub fn read_any(name: &Str, payload: &Value) -> Self {
        match EventName::parse(name) {
            Some(known) => Self::read(known, payload).unwrap_or_else(|misfit| {
                Self::Unknown(UnknownEvent::misfitting(name.clone(), payload.clone(), misfit))
            }),
            None => Self::Unknown(UnknownEvent::new(name.clone(), payload.clone())),
        }
    }
}
