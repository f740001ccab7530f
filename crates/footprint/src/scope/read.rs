//! Reading state through a scope.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::Scope;
use crate::decide::ReadState;
use crate::error::ScopeError;
use crate::observe::{Hook, ReadEvent};
use crate::state::{Path, RUNS_KEY, StateKey, Untracked};
use crate::value::{Object, Str, Value, names};
use crate::walk::shared::lock;

impl Scope {
    /// Reads a key; tracked. The typed form is decoded once per value and shared.
    ///
    /// ```
    /// # use footprint::{error::StageError, scope::Scope, state::Key};
    /// const TOTAL: Key<f64> = Key::new("total");
    /// async fn stage(scope: Scope) -> Result<(), StageError> {
    ///     let total = scope.get(TOTAL)?;
    ///     assert!(*total > 0.0);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`ScopeError::Missing`] when the key has no value, [`ScopeError::TypeMismatch`] when it has another shape.
    pub fn get<K: StateKey>(&self, key: K) -> Result<Arc<K::Value>, ScopeError> {
        match self.try_get(key)? {
            Some(value) => Ok(value),
            None => Err(ScopeError::Missing { stage: self.0.id().clone(), key: key.name().into() }),
        }
    }

    /// Reads a key that may be absent; tracked.
    ///
    /// # Errors
    /// [`ScopeError::TypeMismatch`] when the value has another shape.
    pub fn try_get<K: StateKey>(&self, key: K) -> Result<Option<Arc<K::Value>>, ScopeError> {
        match self.value(key.name())? {
            Some(value) => self.typed(key.name(), &value).map(Some),
            None => Ok(None),
        }
    }

    /// Reads a key by name; tracked.
    ///
    /// # Errors
    /// None today; the form leaves room for refusing names.
    pub fn value(&self, key: &str) -> Result<Option<Value>, ScopeError> {
        if self.0.is_sealed() {
            return Ok(self.0.sealed_read(key));
        }
        let value = self.0.staged(|staging, live| staging.read(live, key));
        self.0.tell(Hook::Read, || {
            let (value, redacted) = self.0.served(key, value.as_ref());
            ReadEvent { key: Some(names::shared(key)), value, redacted }.into()
        });
        Ok(value)
    }

    /// Reads below a key; tracked as a read of the key itself.
    ///
    /// ```
    /// # use footprint::{error::StageError, scope::Scope};
    /// async fn stage(scope: Scope) -> Result<(), StageError> {
    ///     let city = scope.read_path("order", "address.city")?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Scope::value`].
    pub fn read_path(&self, key: impl KeyName, path: &str) -> Result<Option<Value>, ScopeError> {
        let Some(root) = self.value(key.key_name())? else { return Ok(None) };
        if path.is_empty() {
            return Ok(Some(root));
        }
        let segments: Vec<&str> = path.split('.').collect();
        Ok(root.walk(&segments).cloned())
    }

    /// Reads the whole state this stage sees at its level's root; tracked as one read without a key.
    ///
    /// # Errors
    /// As [`Scope::value`].
    pub fn state(&self) -> Result<Object, ScopeError> {
        if self.0.is_sealed() {
            return Ok(self.0.level.core().state.clone());
        }
        let state = self.0.staged(|staging, live| {
            staging.pin(live);
            if staging.namespace().is_empty() { staging.view().clone() } else { live.clone() }
        });
        self.0.tell(Hook::Read, || {
            let served = self.0.run.redaction(&[], |redaction| redaction.serve_state(&state));
            let redacted = self.0.run.is_redacting() && served != state;
            ReadEvent { key: None, value: Some(Value::Object(served)), redacted }.into()
        });
        Ok(state)
    }

    /// Reads a key without tracking it. The commit says so (`silent`), unless this visit also reads the key
    /// tracked.
    ///
    /// # Errors
    /// [`ScopeError::TypeMismatch`] when the value has another shape.
    pub fn peek<K: StateKey>(&self, key: K) -> Result<Option<Arc<K::Value>>, ScopeError> {
        match self.peek_value(key.name())? {
            Some(value) => self.typed(key.name(), &value).map(Some),
            None => Ok(None),
        }
    }

    /// As [`Scope::peek`], by name.
    ///
    /// # Errors
    /// As [`Scope::value`].
    pub fn peek_value(&self, key: &str) -> Result<Option<Value>, ScopeError> {
        if self.0.is_sealed() {
            return Ok(self.0.sealed_read(key));
        }
        Ok(self.0.staged(|staging, live| staging.peek(live, key)))
    }

    /// What a parallel branch left behind, after its join (ENG-83).
    ///
    /// ```
    /// # use footprint::{error::StageError, scope::Scope, state::Key};
    /// const OUT: Key<i64> = Key::new("out");
    /// async fn join(scope: Scope) -> Result<(), StageError> {
    ///     let quick = scope.branch("quick").get(OUT)?;
    ///     Ok(())
    /// }
    /// ```
    pub fn branch(&self, child: impl Into<Str>) -> BranchView<'_> {
        BranchView { scope: self, child: child.into() }
    }

    /// The read-only arguments of this chart, decoded once per level.
    ///
    /// ```
    /// # use footprint::{error::StageError, scope::Scope};
    /// # #[derive(serde::Deserialize)]
    /// # struct Order { id: String }
    /// async fn stage(scope: Scope) -> Result<(), StageError> {
    ///     let order = scope.args::<Order>()?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`ScopeError::TypeMismatch`] when they have another shape.
    pub fn args<T: DeserializeOwned + Send + Sync + 'static>(&self) -> Result<Arc<T>, ScopeError> {
        let value = self.args_value();
        self.typed("args", &value)
    }

    /// The read-only arguments as a value; `null` when there are none.
    pub fn args_value(&self) -> Value {
        let Some(args) = &self.0.level.args_value else { return Value::Null };
        let empty = matches!(args, Value::Null) || args.as_object().is_some_and(Object::is_empty);
        if !empty && !self.0.is_sealed() {
            self.0.staged(|staging, _| staging.note_untracked(Untracked::ARGS));
        }
        args.clone()
    }

    fn typed<T>(&self, key: &str, value: &Value) -> Result<Arc<T>, ScopeError>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        // Decoding runs foreign `Deserialize` code, so it happens with the table taken out of its lock.
        let decoded = if value.is_container() {
            let mut views = std::mem::take(&mut *lock(&self.0.run.views));
            let decoded = views.get::<T>(value);
            *lock(&self.0.run.views) = views;
            decoded
        } else {
            value.decode::<T>().map(Arc::new)
        };
        decoded.map_err(|_| ScopeError::TypeMismatch {
            stage: self.0.id().clone(),
            key: key.into(),
            expected: std::any::type_name::<T>().to_owned(),
            found: value.kind().to_string(),
        })
    }
}

/// A key given by a typed key or by name.
pub trait KeyName {
    /// The recorded name.
    fn key_name(&self) -> &str;
}

impl KeyName for &str {
    fn key_name(&self) -> &str {
        self
    }
}

impl KeyName for &String {
    fn key_name(&self) -> &str {
        self
    }
}

impl KeyName for &Str {
    fn key_name(&self) -> &str {
        self
    }
}

macro_rules! typed_key_names {
    ($($key:ident),*) => {$(
        impl<T> KeyName for crate::state::$key<T> {
            fn key_name(&self) -> &str {
                self.name()
            }
        }
    )*};
}
typed_key_names!(Key, ListKey, MapKey);

/// The state one parallel branch wrote; see [`Scope::branch`].
#[derive(Debug)]
pub struct BranchView<'a> {
    scope: &'a Scope,
    child: Str,
}

impl BranchView<'_> {
    /// The typed value the branch wrote under a key.
    ///
    /// # Errors
    /// As [`Scope::get`].
    pub fn get<K: StateKey>(&self, key: K) -> Result<Arc<K::Value>, ScopeError> {
        match self.value(key.name())? {
            Some(value) => self.scope.typed(key.name(), &value),
            None => Err(ScopeError::Missing {
                stage: self.scope.0.id().clone(),
                key: Path::new([RUNS_KEY.into(), self.child.clone(), key.name().into()]).to_string().into(),
            }),
        }
    }

    /// The value the branch wrote under a key, if any. Tracked as a read of `runs`.
    ///
    /// # Errors
    /// As [`Scope::value`].
    pub fn value(&self, key: &str) -> Result<Option<Value>, ScopeError> {
        let runs = self.scope.value(RUNS_KEY)?;
        Ok(runs.and_then(|runs| runs.walk(&[&*self.child, key]).cloned()))
    }
}

impl ReadState for Scope {
    fn read_value(&self, key: &str) -> Result<Option<Value>, ScopeError> {
        self.value(key)
    }

    fn served_form(&self, key: &str, value: &Value) -> Option<Value> {
        if !self.0.run.is_redacting() {
            return Some(value.clone());
        }
        self.0.run.redaction(&[], |redaction| {
            if redaction.selects_key(key) {
                return None;
            }
            let served = redaction.serve(&Path::key(key), value);
            (!served.whole).then_some(served.value)
        })
    }
}
