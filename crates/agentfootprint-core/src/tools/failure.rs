//! How a tool does not answer: an error, or a question to a person.

use std::error::Error as StdError;
use std::fmt;

use footprint::value::{Object, Value};

use super::dispatch_door::InnerCallError;

/// What a handler returns instead of a result.
///
/// Any error converts into it, so `?` works inside a handler; so does a request to ask a person:
///
/// ```
/// use agentfootprint_core::tools::{ToolFailure, ask_human};
/// use footprint::value;
///
/// fn charge(cents: u64) -> Result<String, ToolFailure> {
///     if cents > 10_000 {
///         return Err(ask_human(value!({ "question": "Charge more than 100?" })));
///     }
///     let rate: f64 = "1.1".parse()?;
///     Ok(format!("charged {}", cents as f64 * rate))
/// }
/// assert!(matches!(charge(20_000), Err(ToolFailure::Pause(_))));
/// ```
#[derive(Debug)]
pub enum ToolFailure {
    /// The tool failed: the model reads the error's own text.
    Error(ToolError),
    /// The tool asks a person: the run pauses, and the person's answer becomes the tool's result.
    Pause(PauseRequest),
}

impl ToolFailure {
    /// A failure with this text.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Error(ToolError::new(text))
    }
}

impl fmt::Display for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => error.fmt(f),
            Self::Pause(_) => f.write_str("the tool asks a person"),
        }
    }
}

// `ToolFailure` is deliberately no `std::error::Error`: this conversion is what makes `?` work on any error.
impl<E> From<E> for ToolFailure
where
    E: StdError + Send + Sync + 'static,
{
    fn from(error: E) -> Self {
        match inner_error_behind(&error, asked) {
            // A question of an inner tool is the outer call's question (TOOL-75).
            Some(pause) => Self::Pause(pause),
            None => Self::Error(ToolError::from_boxed(Box::new(error))),
        }
    }
}

/// How far an inner call's error is looked for behind another one.
const HOPS: usize = 8;

fn asked(error: &InnerCallError) -> Option<PauseRequest> {
    match error {
        InnerCallError::Paused { pause, .. } => Some(pause.clone()),
        _ => None,
    }
}

/// What `pick` takes of an inner call's error that an error was made from; engines and tools wrap what they pass on.
pub(super) fn inner_error_behind<T>(
    error: &(dyn StdError + 'static),
    pick: impl Fn(&InnerCallError) -> Option<T>,
) -> Option<T> {
    let mut next = Some(error);
    for _ in 0..HOPS {
        let error = next?;
        if let Some(found) = error.downcast_ref().and_then(&pick) {
            return Some(found);
        }
        next = error.source();
    }
    None
}

impl From<PauseRequest> for ToolFailure {
    fn from(pause: PauseRequest) -> Self {
        Self::Pause(pause)
    }
}

/// An error a tool reports. Its text is what the model reads.
#[derive(Debug)]
pub struct ToolError {
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ToolError {
    /// An error with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// Wraps any error; the text is the error's own.
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::from_boxed(error.into())
    }

    pub(crate) fn from_boxed(error: Box<dyn StdError + Send + Sync>) -> Self {
        match error.downcast::<ToolError>() {
            Ok(error) => *error,
            Err(error) => Self { message: error.to_string(), source: Some(error) },
        }
    }

    /// The text the model reads.
    pub fn text(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for ToolError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// A question the run cannot go on without: it pauses here, and the answer becomes the call's result (TOOL-58).
#[derive(Clone, Debug, PartialEq)]
pub struct PauseRequest {
    /// What the person is asked. Members of an object are spread into the pause data; anything else travels under
    /// `data`.
    pub data: Value,
}

impl PauseRequest {
    /// A pause asking with this data.
    pub fn new(data: impl Into<Value>) -> Self {
        Self { data: data.into() }
    }

    /// Its members in the pause data: an object is spread, anything else travels under `data`. So does an object with a
    /// key the pause data keeps for itself: a tool's question must not read as another kind of gate.
    pub(crate) fn members(&self) -> Object {
        match &self.data {
            Value::Object(members) if !RESERVED.iter().any(|key| members.contains_key(key)) => {
                members.clone()
            }
            Value::Null => Object::new(),
            other => {
                let mut out = Object::new();
                out.insert("data", other.clone());
                out
            }
        }
    }
}

/// Keys of the pause data that say which call and which gate it is about.
const RESERVED: [&str; 5] = ["toolCallId", "toolName", "ask", "checkIn", "authorization"];

/// Pauses the run with a question for a person; the answer becomes the tool's result.
///
/// The handler is not entered again on resume: the answer *is* its result.
///
/// ```
/// use agentfootprint_core::tools::ask_human;
/// let failure = ask_human(footprint::value!({ "question": "Which colour?" }));
/// ```
pub fn ask_human(data: impl Into<Value>) -> ToolFailure {
    ToolFailure::Pause(PauseRequest::new(data))
}

/// The same as [`ask_human`], for pauses that wait for something other than a person.
pub fn pause_here(data: impl Into<Value>) -> ToolFailure {
    ask_human(data)
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    /// Proves TOOL-58.
    #[test]
    fn pause_data_is_spread_unless_it_would_pass_for_something_else() {
        let members = |data: Value| Value::Object(PauseRequest::new(data).members());
        assert_eq!(members(value!({ "question": "Which?" })), value!({ "question": "Which?" }));
        assert_eq!(members(value!("Which?")), value!({ "data": "Which?" }));
        assert_eq!(members(Value::Null), value!({}));
        let forged = value!({ "ask": { "question": "?" }, "toolCallId": "other" });
        assert_eq!(members(forged.clone()), value!({ "data": (forged) }));
    }

    #[test]
    fn any_error_converts_and_keeps_its_text() {
        let failure: ToolFailure = "x".parse::<u8>().unwrap_err().into();
        assert_eq!(failure.to_string(), "invalid digit found in string");
        let failure: ToolFailure = ToolError::new("card declined by issuer").into();
        let ToolFailure::Error(error) = failure else { panic!("an error stays an error") };
        assert_eq!(error.text(), "card declined by issuer");
        assert!(StdError::source(&error).is_none());
    }
}
