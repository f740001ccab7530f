//! One requested call, and one attempt at it.

use std::sync::Arc;

use footprint::value::{Array, Object, Str, Value};
use indexmap::IndexMap;

use super::door::Door;
use super::resolve::Resolved;
use crate::artifacts::ArtifactMeta;
use crate::tools::credentials::Credential;
use crate::tools::people::CheckInDecision;

/// A call as the model asked for it.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) id: Str,
    pub(super) name: Str,
    /// The model's own arguments: an object.
    pub(super) args: Value,
    /// What the parser said, when the arguments could not be read (LLM-16).
    pub(super) args_error: Option<Str>,
}

impl Call {
    pub(super) fn read(value: &Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_shared_str).cloned().unwrap_or_default();
        let args = match value.get("args") {
            Some(args @ Value::Object(_)) => args.clone(),
            _ => Value::Object(Object::new()),
        };
        let args_error = value
            .get("argsError")
            .map(|error| error.get("message").and_then(Value::as_shared_str).cloned().unwrap_or_default());
        Self { id: text("id"), name: text("name"), args, args_error }
    }

    pub(super) fn read_all(calls: &Array) -> Vec<Self> {
        calls.iter().map(Self::read).collect()
    }
}

/// One call on its way through the pipeline.
pub(super) struct Attempt {
    pub(super) call: Call,
    pub(super) door: Door,
    pub(super) resolved: Resolved,
    /// What the model said, after middleware: what a checkpoint carries (TOOL-29).
    pub(super) spoken: Value,
    /// What the handler receives: spoken arguments with references replaced by data.
    pub(super) delivered: Value,
    /// When the call began, Unix milliseconds; for a resumed call, when it first began.
    pub(super) started_ms: u64,
    /// The decision this dispatch exists by.
    pub(super) decision: Option<CheckInDecision>,
    /// What its `needs` was answered with.
    pub(super) credential: Option<Arc<dyn Credential>>,
    /// The tickets whose data is among the delivered arguments.
    pub(super) wanted: Option<Arc<IndexMap<Str, ArtifactMeta>>>,
}
