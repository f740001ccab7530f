//! Emitting events and keeping diagnostics.

use serde::Serialize;

use super::Scope;
use crate::error::ScopeError;
use crate::observe::{EmitEvent, Hook};
use crate::value::{Array, Object, Value};
use crate::walk::frame::Bag;
use crate::walk::warn::Warning;

impl Scope {
    /// Emits an event at once, in order, before this stage's commit. Nothing is built when nobody listens.
    ///
    /// ```
    /// # use footprint::{error::StageError, scope::Scope, value};
    /// async fn stage(scope: Scope) -> Result<(), StageError> {
    ///     scope.emit("shop.priced", value!({ "total": 45 }))?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`ScopeError::FrameClosed`] after the stage is over. A payload that cannot be represented is no error:
    /// it is sent as `{"unserializable": reason}`.
    pub fn emit(&self, name: &str, payload: impl Serialize) -> Result<(), ScopeError> {
        self.emit_with(name, || payload)
    }

    /// Emits an event whose payload is only made when somebody listens.
    ///
    /// # Errors
    /// As [`Scope::emit`].
    pub fn emit_with<P: Serialize>(&self, name: &str, payload: impl FnOnce() -> P) -> Result<(), ScopeError> {
        self.0.check_open()?;
        if name.trim().is_empty() {
            self.0.run.warnings.add(Warning::EmptyEmitName { stage: self.0.id().clone() });
            return Ok(());
        }
        if self.0.is_wanted(Hook::Emit) {
            let payload = match Value::from_serialize(&payload()) {
                Ok(value) => value,
                Err(error) => {
                    let (stage, name) = (self.0.id().clone(), name.into());
                    self.0.run.warnings.add(Warning::UnserializableEmit { stage, name });
                    let mut out = Object::new();
                    out.insert("unserializable", Value::from(error.to_string()));
                    Value::Object(out)
                }
            };
            self.send(name, payload);
        }
        Ok(())
    }

    fn send(&self, name: &str, payload: Value) {
        self.0.tell(Hook::Emit, || {
            let payload = if self.0.run.is_redacting() {
                self.0.run.redaction(&[], |redaction| redaction.serve_emit(name, &payload))
            } else {
                payload
            };
            EmitEvent { name: name.into(), payload }.into()
        });
    }

    /// Keeps a debug fact in the step's `logs`, and emits `log.debug.<key>`.
    ///
    /// # Errors
    /// [`ScopeError::FrameClosed`] after the stage is over.
    pub fn debug(&self, key: &str, value: impl Serialize) -> Result<(), ScopeError> {
        self.diagnose(Bag::Logs, key, value, "log.debug", Some("debug"))
    }

    /// Adds a message to the step's `logs.messages`, and emits `log.debug.messages`.
    ///
    /// # Errors
    /// [`ScopeError::FrameClosed`] after the stage is over.
    pub fn log(&self, message: impl Serialize) -> Result<(), ScopeError> {
        self.0.check_open()?;
        let value = self.served_diagnostic("messages", &message);
        self.0.bag(Bag::Logs, "messages", Value::Array(std::iter::once(value.clone()).collect::<Array>()));
        if self.0.is_wanted(Hook::Emit) {
            let mut payload = Object::new();
            payload.insert("value", value);
            payload.insert("level", Value::from("debug"));
            self.send("log.debug.messages", Value::Object(payload));
        }
        Ok(())
    }

    /// Keeps an error fact in the step's `errors`, and emits `log.error.<key>`. The stage does not fail.
    ///
    /// # Errors
    /// [`ScopeError::FrameClosed`] after the stage is over.
    pub fn error(&self, key: &str, value: impl Serialize) -> Result<(), ScopeError> {
        self.diagnose(Bag::Errors, key, value, "log.error", Some("error"))
    }

    /// Keeps a metric of the step, and emits `metric.<name>`.
    ///
    /// # Errors
    /// [`ScopeError::FrameClosed`] after the stage is over.
    pub fn metric(&self, name: &str, value: impl Serialize) -> Result<(), ScopeError> {
        self.diagnose(Bag::Metrics, name, value, "metric", None)
    }

    /// Keeps an evaluation of the step, and emits `eval.<name>`.
    ///
    /// # Errors
    /// [`ScopeError::FrameClosed`] after the stage is over.
    pub fn eval(&self, name: &str, value: impl Serialize) -> Result<(), ScopeError> {
        self.diagnose(Bag::Evals, name, value, "eval", None)
    }

    fn diagnose(
        &self,
        bag: Bag,
        key: &str,
        value: impl Serialize,
        prefix: &str,
        level: Option<&str>,
    ) -> Result<(), ScopeError> {
        self.0.check_open()?;
        let value = self.served_diagnostic(key, &value);
        self.0.bag(bag, key, value.clone());
        if self.0.is_wanted(Hook::Emit) {
            let mut payload = Object::new();
            payload.insert(if level.is_some() { "key" } else { "name" }, Value::from(key));
            payload.insert("value", value);
            if let Some(level) = level {
                payload.insert("level", Value::from(level));
            }
            self.send(&format!("{prefix}.{key}"), Value::Object(payload));
        }
        Ok(())
    }

    /// Diagnostics never fail a run: what cannot be represented is kept as its reason.
    fn served_diagnostic(&self, key: &str, value: &impl Serialize) -> Value {
        let value = Value::from_serialize(value)
            .unwrap_or_else(|error| Value::from(format!("unserializable: {error}")));
        if self.0.run.is_redacting() {
            self.0.run.redaction(&[], |redaction| redaction.serve_diagnostic(key, &value))
        } else {
            value
        }
    }
}
