//! What a run is started with.

use agentfootprint_record::MemoryIdentity;
use footprint::value::{Array, Str, Value};

use super::checkpoint::AgentRunCheckpoint;
use super::error::RunRefusal;

/// The input of a run: a message, and for an agent who asks and what to continue from (AGT-19, AGT-20).
///
/// A bare string is an input:
///
/// ```
/// use agentfootprint_core::run::RunInput;
/// let input = RunInput::from("Where is my order?");
/// assert_eq!(input.message(), "Where is my order?");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunInput {
    message: Str,
    /// A value instead of a message, for a workflow or a graph.
    pub(crate) data: Option<Value>,
    /// Who asks; wins over the options' identity.
    pub identity: Option<MemoryIdentity>,
    /// A finished conversation to continue.
    pub continue_from: Option<AgentRunCheckpoint>,
}

impl RunInput {
    /// An input of one message.
    pub fn new(message: impl Into<Str>) -> Self {
        Self { message: message.into(), data: None, identity: None, continue_from: None }
    }

    /// An input that is a value instead of a message: what a [`Workflow`](crate::compose::Workflow) or a
    /// [`Graph`](crate::compose::Graph) takes. Every other runner refuses it.
    pub fn of_value(value: impl Into<Value>) -> Self {
        Self { data: Some(value.into()), ..Self::new("") }
    }

    /// The message as given.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The shared text.
    pub(crate) fn shared_message(&self) -> &Str {
        &self.message
    }

    /// Names who asks.
    #[must_use]
    pub fn identity(mut self, identity: MemoryIdentity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Continues a finished conversation with this message.
    #[must_use]
    pub fn continue_from(mut self, checkpoint: AgentRunCheckpoint) -> Self {
        self.continue_from = Some(checkpoint);
        self
    }

    /// Reads an input from data that crossed a boundary: text, or an object with a `message`.
    ///
    /// The refusal names `runner` and the shape that was received, never the value.
    pub fn from_value(runner: &str, value: &Value) -> Result<Self, RunRefusal> {
        let message = match value {
            Value::String(text) => text.clone(),
            Value::Object(fields) => match fields.get("message") {
                Some(Value::String(text)) => text.clone(),
                Some(other) => {
                    return Err(refused(runner, format!("an object whose message is {}", other.kind())));
                }
                None => return Err(refused(runner, "an object without a message")),
            },
            other => return Err(refused(runner, other.kind().to_string())),
        };
        let mut input = Self::new(message);
        if let Some(identity) = value.get("identity") {
            input.identity =
                Some(identity.decode().map_err(|_| refused(runner, "an identity without a conversationId"))?);
        }
        if let Some(checkpoint) = value.get("continueFrom") {
            input.continue_from = Some(AgentRunCheckpoint::from_value(checkpoint)?);
        }
        input.checked(runner)
    }

    /// Refuses a blank message.
    pub(crate) fn checked(self, runner: &str) -> Result<Self, RunRefusal> {
        if self.message.trim().is_empty() {
            let shape = if self.message.is_empty() { "empty text" } else { "blank text" };
            return Err(refused(runner, shape));
        }
        Ok(self)
    }
}

fn refused(runner: &str, received: impl Into<String>) -> RunRefusal {
    RunRefusal::InvalidInput { runner: runner.to_owned(), received: received.into() }
}

impl From<&str> for RunInput {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<String> for RunInput {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<Str> for RunInput {
    fn from(message: Str) -> Self {
        Self::new(message)
    }
}

/// What `seed` starts from.
#[derive(Clone, Debug)]
pub(crate) struct StartMaterial {
    /// The message as given; empty for resume-on-error, which adds none.
    pub(crate) message: Str,
    /// A restored conversation.
    pub(crate) restored: Option<Restored>,
    /// Whether this turn's message is appended to the restored history (continue) or not (resume-on-error).
    pub(crate) append_message: bool,
}

/// A conversation restored from a run checkpoint (AGT-101).
#[derive(Clone, Debug)]
pub(crate) struct Restored {
    pub(crate) history: Array,
    pub(crate) folded: Option<Value>,
}

impl StartMaterial {
    pub(crate) fn fresh(message: Str) -> Self {
        Self { message, restored: None, append_message: true }
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    /// Proves AGT-19.
    #[test]
    fn refusals_name_the_runner_and_the_shape_and_never_the_value() {
        let cases = [
            (value!("   "), "blank text"),
            (value!(""), "empty text"),
            (value!({ "message": 7 }), "number"),
            (value!({ "text": "secret" }), "without a message"),
            (value!(["secret"]), "array"),
            (value!(null), "null"),
        ];
        for (input, shape) in cases {
            let error = RunInput::from_value("Agent.run", &input).unwrap_err().to_string();
            assert!(error.contains("Agent.run") && error.contains(shape), "{error}");
            assert!(!error.contains("secret"));
        }
        let input = RunInput::from_value(
            "Agent.run",
            &value!({ "message": "Hi", "identity": { "conversationId": "c" } }),
        );
        assert_eq!(&*input.unwrap().identity.unwrap().conversation_id, "c");
    }
}
