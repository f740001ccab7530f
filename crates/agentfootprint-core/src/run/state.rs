//! Reading and writing agent state by its key names.
//!
//! Agent state is a fixed set of keys with fixed shapes (AGT §9), not one Rust struct: a key that belongs to a feature exists
//! only when the feature did something. These accessors are tracked reads and writes like any other; what is missing reads as
//! the seeded value, so that a stage never fails over a key an older checkpoint did not have.

use agentfootprint_record::conventions::state::HISTORY;
use footprint::error::StageError;
use footprint::value::{Array, Str, Value};

use super::context::StageCx;
use crate::window::Origins;

impl StageCx {
    /// The value under `key`, if any.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Value>, StageError> {
        Ok(self.scope.value(key)?)
    }

    /// A list; absent reads as empty.
    pub(crate) fn list(&self, key: &str) -> Result<Array, StageError> {
        Ok(self.get(key)?.and_then(|value| value.as_array().cloned()).unwrap_or_default())
    }

    /// A text; absent reads as empty.
    pub(crate) fn text(&self, key: &str) -> Result<Str, StageError> {
        Ok(self.get(key)?.and_then(|value| value.as_shared_str().cloned()).unwrap_or_default())
    }

    /// A count; absent reads as 0.
    pub(crate) fn count(&self, key: &str) -> Result<u64, StageError> {
        Ok(self.get(key)?.and_then(|value| value.as_u64()).unwrap_or_default())
    }

    /// An amount; absent reads as 0.
    pub(crate) fn amount(&self, key: &str) -> Result<f64, StageError> {
        Ok(self.get(key)?.and_then(|value| value.as_f64()).unwrap_or_default())
    }

    /// A flag; absent reads as false.
    pub(crate) fn flag(&self, key: &str) -> Result<bool, StageError> {
        Ok(self.get(key)?.and_then(|value| value.as_bool()).unwrap_or_default())
    }

    /// The iteration, from 1.
    pub(crate) fn iteration(&self) -> Result<u32, StageError> {
        let iteration = self.count(agentfootprint_record::conventions::state::ITERATION)?;
        Ok(u32::try_from(iteration).unwrap_or(u32::MAX))
    }

    /// Writes a key.
    pub(crate) fn set(&self, key: &'static str, value: impl Into<Value>) -> Result<(), StageError> {
        let value = value.into();
        if key == HISTORY && self.agent.window.is_some() {
            self.note_origins(&value)?;
        }
        Ok(self.scope.set_value(key, value)?)
    }

    /// Messages that were not there before are put there by this stage (LLM-152). Looking is not a tracked read.
    fn note_origins(&self, history: &Value) -> Result<(), StageError> {
        let length = |value: &Value| value.as_array().map_or(0, Array::len);
        let before = self.scope.peek_value(HISTORY)?.as_ref().map_or(0, length);
        let origins = self.turn.of::<Origins>();
        origins.extend(before, "", 0);
        origins.extend(length(history), &self.address().to_string(), self.now_ms());
        Ok(())
    }

    /// Removes a key, if it is there. Looking is not a tracked read.
    pub(crate) fn clear(&self, key: &'static str) -> Result<(), StageError> {
        if self.scope.peek_value(key)?.is_some() {
            self.scope.delete(key)?;
        }
        Ok(())
    }

    /// Appends to a list.
    pub(crate) fn append(
        &self,
        key: &'static str,
        items: impl IntoIterator<Item = Value>,
    ) -> Result<(), StageError> {
        let mut list = self.list(key)?;
        list.extend(items);
        self.set(key, list)
    }
}

/// A message of the conversation.
pub(crate) fn message(role: &'static str, content: impl Into<Value>) -> footprint::value::Object {
    let mut message = footprint::value::Object::new();
    message.insert("role", Value::from(role));
    message.insert("content", content.into());
    message
}
