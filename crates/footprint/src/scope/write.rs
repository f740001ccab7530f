//! Writing state through a scope.

use serde::Serialize;

use super::{KeyName, Scope};
use crate::error::{ScopeError, StageError};
use crate::observe::WriteOp;
use crate::state::{KeyProblem, ListKey, Path, StateKey, check_key};
use crate::value::{Array, Value, ValueError};
use crate::walk::frame::Bag;
use crate::walk::warn::Warning;

/// What a write may say besides its value.
///
/// ```
/// use footprint::scope::SetOpts;
/// let opts = SetOpts::new().redact().note("stored for the next step");
/// ```
#[derive(Clone, Debug, Default)]
pub struct SetOpts {
    redact: bool,
    note: Option<String>,
}

impl SetOpts {
    /// Nothing more.
    pub fn new() -> Self {
        Self::default()
    }

    /// Marks the key as redacted for the rest of the run, until it is deleted.
    #[must_use]
    pub fn redact(mut self) -> Self {
        self.redact = true;
        self
    }

    /// Leaves a message in the step's log.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

impl Scope {
    /// Writes a key.
    ///
    /// ```
    /// # use footprint::{error::StageError, scope::Scope, state::Key};
    /// const STATUS: Key<String> = Key::new("status");
    /// async fn stage(scope: Scope) -> Result<(), StageError> {
    ///     scope.set(STATUS, "closed")?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// What state cannot hold is refused here, by stage and key.
    pub fn set<K: StateKey>(&self, key: K, value: impl Into<K::Value>) -> Result<(), ScopeError>
    where
        K::Value: Serialize,
    {
        let value = value.into();
        let stored = self.encode(key.name(), &value)?;
        self.check_lossless(key, &stored);
        self.write(key.name(), stored)
    }

    /// Writes a key and says more about the write.
    ///
    /// # Errors
    /// As [`Scope::set`].
    pub fn set_with<K: StateKey>(
        &self,
        key: K,
        value: impl Into<K::Value>,
        opts: SetOpts,
    ) -> Result<(), ScopeError>
    where
        K::Value: Serialize,
    {
        self.set_value_with(key.name(), value.into(), opts)
    }

    /// Writes a key by name.
    ///
    /// # Errors
    /// As [`Scope::set`].
    pub fn set_value(&self, key: &str, value: impl Serialize) -> Result<(), ScopeError> {
        let stored = self.encode(key, &value)?;
        self.write(key, stored)
    }

    /// Writes a key by name and says more about the write.
    ///
    /// # Errors
    /// As [`Scope::set`].
    pub fn set_value_with(&self, key: &str, value: impl Serialize, opts: SetOpts) -> Result<(), ScopeError> {
        let stored = self.encode(key, &value)?;
        self.check_key(key, "set")?;
        if opts.redact {
            let path = Path::key(key);
            self.0.run.mark([path.clone()]);
            self.0.staged(|staging, _| staging.note_mark(path));
        }
        self.write(key, stored)?;
        if let Some(note) = opts.note {
            self.0.bag(Bag::Logs, "message", Value::from(note));
        }
        Ok(())
    }

    /// Merges a patch into a key: objects deeply, lists as unions, the rest replaces.
    ///
    /// # Errors
    /// As [`Scope::set`].
    pub fn update(&self, key: impl KeyName, patch: impl Serialize) -> Result<(), ScopeError> {
        let key = key.key_name();
        let patch = self.encode(key, &patch)?;
        self.check_key(key, "update")?;
        self.0.staged(|staging, live| staging.merge(live, key, patch.clone()));
        self.0.tell_write(key, Some(&patch), WriteOp::Update);
        Ok(())
    }

    /// Removes a key; its redaction mark goes with it.
    ///
    /// # Errors
    /// As [`Scope::set`].
    pub fn delete(&self, key: impl KeyName) -> Result<(), ScopeError> {
        let key = key.key_name();
        self.check_key(key, "delete")?;
        let path = Path::key(key);
        let marked = self.0.run.is_marked(&path);
        self.0.staged(|staging, live| {
            staging.delete(live, key);
            if marked {
                // What this visit wrote under the key before stays redacted in its record.
                staging.note_mark(path.clone());
            }
        });
        if marked {
            self.0.run.unmark(&path);
        }
        self.0.tell_write(key, None, WriteOp::Delete);
        Ok(())
    }

    /// Adds an item to a list. Costs O(1), however long the list is.
    ///
    /// ```
    /// # use footprint::{error::StageError, scope::Scope, state::ListKey};
    /// const LOG: ListKey<String> = ListKey::new("log");
    /// async fn stage(scope: Scope) -> Result<(), StageError> {
    ///     scope.push(LOG, "priced")?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Scope::set`].
    pub fn push<T: Serialize>(&self, key: ListKey<T>, item: impl Into<T>) -> Result<(), ScopeError> {
        let item = self.encode(key.name(), &item.into())?;
        self.append(key.name(), std::iter::once(item).collect())
    }

    /// Adds items to a list.
    ///
    /// # Errors
    /// As [`Scope::set`].
    pub fn extend<T: Serialize>(
        &self,
        key: ListKey<T>,
        items: impl IntoIterator<Item = T>,
    ) -> Result<(), ScopeError> {
        let items: Result<Array, _> = items.into_iter().map(|item| self.encode(key.name(), &item)).collect();
        self.append(key.name(), items?)
    }

    /// Adds items to a list by name.
    ///
    /// # Errors
    /// As [`Scope::set`].
    pub fn extend_value(
        &self,
        key: &str,
        items: impl IntoIterator<Item = impl Serialize>,
    ) -> Result<(), ScopeError> {
        let items: Result<Array, _> = items.into_iter().map(|item| self.encode(key, &item)).collect();
        self.append(key, items?)
    }

    fn append(&self, key: &str, items: Array) -> Result<(), ScopeError> {
        self.check_key(key, "append")?;
        let list = self.0.staged(|staging, live| staging.push(live, key, items));
        self.0.tell_write(key, Some(&Value::Array(list)), WriteOp::Set);
        Ok(())
    }

    /// Reads a key, changes the value, writes it back: one read and one write, or, when the closure fails,
    /// one read and nothing staged.
    ///
    /// ```
    /// # use footprint::{error::StageError, scope::Scope, state::Key};
    /// const COUNT: Key<u64> = Key::new("count");
    /// async fn stage(scope: Scope) -> Result<(), StageError> {
    ///     scope.modify(COUNT, |count| { *count += 1; Ok(()) })
    /// }
    /// ```
    ///
    /// # Errors
    /// The closure's, or as [`Scope::get`] and [`Scope::set`].
    pub fn modify<K: StateKey, R>(
        &self,
        key: K,
        change: impl FnOnce(&mut K::Value) -> Result<R, StageError>,
    ) -> Result<R, StageError>
    where
        K::Value: Serialize,
    {
        self.check_key(key.name(), "set")?;
        let value = self
            .value(key.name())?
            .ok_or_else(|| ScopeError::Missing { stage: self.0.id().clone(), key: key.name().into() })?;
        let mut typed: K::Value = value.decode().map_err(|_| ScopeError::TypeMismatch {
            stage: self.0.id().clone(),
            key: key.name().into(),
            expected: std::any::type_name::<K::Value>().to_owned(),
            found: value.kind().to_string(),
        })?;
        let result = change(&mut typed)?;
        let stored = self.encode(key.name(), &typed)?;
        self.write(key.name(), stored)?;
        Ok(result)
    }

    fn write(&self, key: &str, value: Value) -> Result<(), ScopeError> {
        self.check_key(key, "set")?;
        if self.0.is_wanted(crate::observe::Hook::Write) {
            self.0.staged(|staging, live| staging.set(live, key, value.clone()));
            self.0.tell_write(key, Some(&value), WriteOp::Set);
        } else {
            self.0.staged(|staging, live| staging.set(live, key, value));
        }
        Ok(())
    }

    fn encode(&self, key: &str, value: &impl Serialize) -> Result<Value, ScopeError> {
        let stored = Value::from_serialize(value).and_then(|stored| {
            stored.check_depth()?;
            Ok(stored)
        });
        let stored = stored.map_err(|error| self.not_serializable(key, &error))?;
        if self.0.run.warnings.is_dev() {
            self.inspect(key, &stored);
        }
        Ok(stored)
    }

    fn not_serializable(&self, key: &str, error: &ValueError) -> ScopeError {
        ScopeError::NotSerializable { stage: self.0.id().clone(), key: key.into(), reason: error.to_string() }
    }

    fn check_key(&self, key: &str, op: &'static str) -> Result<(), ScopeError> {
        self.0.check_open()?;
        let named = || (self.0.id().clone(), key.into());
        match check_key(key) {
            Ok(()) => {}
            Err(KeyProblem::Reserved) => {
                let (stage, key) = named();
                return Err(ScopeError::ReservedKey { stage, key });
            }
            Err(problem) => {
                let (stage, key) = named();
                return Err(ScopeError::InvalidKey { stage, key, reason: problem.to_string() });
            }
        }
        if !self.0.level.args.is_empty() && self.0.level.args.contains_key(key) {
            let (stage, key) = named();
            return Err(ScopeError::ReadOnlyKey { stage, key, op });
        }
        Ok(())
    }

    /// Dev diagnostics: what another reader of the record would see differently.
    fn inspect(&self, key: &str, stored: &Value) {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let mut waiting = vec![stored.clone()];
        while let Some(value) = waiting.pop() {
            match &value {
                Value::Number(number) if number.is_integer() && number.as_f64().abs() > EXACT => {
                    let warning = Warning::LargeInteger { stage: self.0.id().clone(), key: key.into() };
                    self.0.run.warnings.add(warning);
                }
                Value::Array(items) => waiting.extend(items.iter().cloned()),
                Value::Object(entries) => waiting.extend(entries.values().cloned()),
                _ => {}
            }
        }
    }

    /// Dev diagnostics: a typed value whose stored form decodes to something else would be another value
    /// after a resume (ENG-65).
    fn check_lossless<K: StateKey>(&self, key: K, stored: &Value)
    where
        K::Value: Serialize,
    {
        if !self.0.run.warnings.is_dev() {
            return;
        }
        let again = stored.decode::<K::Value>().ok().and_then(|v| Value::from_serialize(&v).ok());
        if again.as_ref() != Some(stored) {
            let warning = Warning::LossyValue { stage: self.0.id().clone(), key: key.name().into() };
            self.0.run.warnings.add(warning);
        }
    }
}
