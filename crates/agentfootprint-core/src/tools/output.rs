//! What a tool answers, and how a handler's return value becomes that.

use std::error::Error as StdError;

use footprint::value::{Str, Value};
use serde::Serialize;

use super::arms::{Arms, ERROR_ARM};
use super::coverage::{Absence, Covered};
use super::envelope::ToolEnvelope;
use super::failure::{PauseRequest, ToolError, ToolFailure};

/// The sentence the model reads when a tool returned nothing (TOOL-10): a stated fact, never an empty message.
pub const NO_TOOL_VALUE: &str = "The tool ran and reported no value.";

/// The one output type of a tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolOutput {
    /// The tool ran and has nothing to say; the model reads [`NO_TOOL_VALUE`].
    None,
    /// A text, read by the model as it is.
    Text(Str),
    /// A JSON value, read by the model in compact form with its key order.
    Json(Value),
    /// The tool looked and there is nothing (EVD-103).
    Absent(Absence),
    /// A result with what it stands on.
    Covered(Covered),
    /// Content with typed effects and a status (TOOL-69).
    Envelope(ToolEnvelope),
}

impl ToolOutput {
    /// A text.
    pub fn text(text: impl Into<Str>) -> Self {
        Self::Text(text.into())
    }

    /// A JSON value.
    pub fn json(value: impl Into<Value>) -> Self {
        Self::Json(value.into())
    }

    /// The plain value: what the record holds, and what reaches the model unless a later step changes it. `None`
    /// when the tool returned nothing.
    pub fn into_value(self) -> Option<Value> {
        match self {
            Self::None => None,
            Self::Text(text) => Some(Value::String(text)),
            Self::Json(value) => Some(value),
            Self::Absent(absence) => Some(absence.to_value()),
            Self::Covered(covered) => Some(covered.to_value()),
            Self::Envelope(envelope) => Some(envelope.into_value()),
        }
    }
}

impl From<Absence> for ToolOutput {
    fn from(absence: Absence) -> Self {
        Self::Absent(absence)
    }
}

impl From<Covered> for ToolOutput {
    fn from(covered: Covered) -> Self {
        Self::Covered(covered)
    }
}

/// Renders a result for the model: a text as it is, nothing as [`NO_TOOL_VALUE`], JSON compact in its key order.
pub fn render(value: Option<&Value>) -> Str {
    match value {
        None => Str::from(NO_TOOL_VALUE),
        Some(Value::String(text)) => text.clone(),
        Some(other) => Str::from(other.to_string()),
    }
}

/// Return types a tool handler may have.
///
/// | a handler returns | the tool answers |
/// |---|---|
/// | `String`, `&'static str` | the text |
/// | `()` or `None` | nothing |
/// | any `Serialize` value, among them [`Absence`] and [`Covered`] | its JSON |
/// | [`ToolOutput`] | itself |
/// | `Result<one of these, E>` | the value, or the error; `E` is any `std::error::Error`, a text, or a [`ToolFailure`] |
///
/// The type parameter only tells the implementations apart; nobody names it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not something a tool can return",
    note = "return a text, any value that implements `serde::Serialize`, `ToolOutput`, or a `Result` of one of these \
            whose error is a `std::error::Error`, a text or a `ToolFailure`"
)]
pub trait IntoToolOutput<Kind> {
    /// The output, or why there is none.
    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure>;
}

/// How [`IntoToolOutput`] tells return types apart.
#[doc(hidden)]
pub mod kind {
    pub struct Output;
    pub struct Serial;
    pub struct Fallible<T>(std::marker::PhantomData<T>);
}

impl IntoToolOutput<kind::Output> for ToolOutput {
    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
        Ok(self)
    }
}

impl<T: Serialize> IntoToolOutput<kind::Serial> for T {
    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
        match Value::from_serialize(&Arms(&self)) {
            Ok(value) => split(value),
            Err(error) => Err(ToolFailure::message(format!("the tool's result is not JSON: {error}"))),
        }
    }
}

impl<T, E, Kind> IntoToolOutput<kind::Fallible<Kind>> for Result<T, E>
where
    T: IntoToolOutput<Kind>,
    E: IntoToolFailure,
{
    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
        self.map_err(IntoToolFailure::into_tool_failure)?.into_tool_output()
    }
}

/// Error types of a fallible handler that are not plain serialisable values.
pub trait IntoToolFailure {
    /// The failure.
    fn into_tool_failure(self) -> ToolFailure;
}

impl IntoToolFailure for ToolFailure {
    fn into_tool_failure(self) -> ToolFailure {
        self
    }
}

impl IntoToolFailure for PauseRequest {
    fn into_tool_failure(self) -> ToolFailure {
        self.into()
    }
}

impl<E: StdError + Send + Sync + 'static> IntoToolFailure for E {
    fn into_tool_failure(self) -> ToolFailure {
        self.into()
    }
}

fn split(value: Value) -> Result<ToolOutput, ToolFailure> {
    match value {
        Value::Null => Ok(ToolOutput::None),
        Value::String(text) => Ok(ToolOutput::Text(text)),
        Value::Object(members) => match members.get(ERROR_ARM) {
            Some(Value::String(text)) => Err(ToolError::new(&**text).into()),
            Some(other) => Err(ToolError::new(other.to_string()).into()),
            None => Ok(ToolOutput::Json(Value::Object(members))),
        },
        other => Ok(ToolOutput::Json(other)),
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
