//! What the code written by `#[tool]` uses. Not part of the public interface.

use std::fmt::Display;

pub use schemars;
pub use serde;

pub use super::builder::ToolBuilder;
pub use super::context::ToolContext;
pub use super::declare::ToolDefError;
use super::failure::ToolFailure;
use super::output::{IntoToolOutput, ToolOutput};
pub use super::tool::{IntoTool, Tool};

/// Turns a returned value into an output.
pub fn output<Kind, T: IntoToolOutput<Kind>>(value: T) -> Result<ToolOutput, ToolFailure> {
    value.into_tool_output()
}

/// A failure from anything that converts into one: any error, a pause.
pub struct Failure;
/// A failure from anything that only displays: a text, an `anyhow::Error`.
pub struct Shown;

/// Chosen by the macro when the error converts (`(&error).failure_kind()` finds this first).
pub trait FailureKind: Sized {
    /// The kind.
    fn failure_kind(&self) -> Failure {
        Failure
    }
}

impl<E: Into<ToolFailure>> FailureKind for E {}

/// Chosen otherwise.
pub trait DisplayKind: Sized {
    /// The kind.
    fn failure_kind(&self) -> Shown {
        Shown
    }
}

impl<E: Display> DisplayKind for &E {}

impl Failure {
    /// Converts.
    pub fn failure<E: Into<ToolFailure>>(self, error: E) -> ToolFailure {
        error.into()
    }
}

impl Shown {
    /// Takes the error's own text.
    pub fn failure<E: Display>(self, error: E) -> ToolFailure {
        ToolFailure::message(error.to_string())
    }
}
