//! What an observer returns, contributes and wishes for.

use crate::snapshot::PreferredOperation;
use crate::value::{Str, Value};

/// A contained failure of an observer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RecorderError {
    /// What went wrong.
    pub message: String,
}

impl RecorderError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// What every hook returns.
pub type HookResult = Result<(), RecorderError>;

/// When an observer is told: inside the producing call, or from a bounded queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// Inside the producing call.
    Inline,
    /// From the run's queue, soon after.
    Deferred,
}

/// An observer's contribution to the snapshot. Its row's id is the attach id (OBS-53).
#[derive(Clone, Debug, PartialEq)]
pub struct RecorderBundle {
    /// Kind name readers know, e.g. `Narrative`.
    pub name: Str,
    /// For people.
    pub description: Option<Str>,
    /// Suggested read-time operation.
    pub preferred_operation: Option<PreferredOperation>,
    /// Plain detached data.
    pub data: Value,
    /// Facts about the data that readers branch on.
    pub meta: Option<Value>,
}

impl RecorderBundle {
    /// A bundle with a name and data.
    pub fn new(name: impl Into<Str>, data: Value) -> Self {
        Self { name: name.into(), description: None, preferred_operation: None, data, meta: None }
    }
}
