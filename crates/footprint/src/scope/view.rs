//! A read-only view of a level's state, for mappers and contracts.

use std::fmt;
use std::sync::{Arc, Mutex};

use serde::de::DeserializeOwned;

use crate::error::ScopeError;
use crate::state::{MapperRead, Path, StateKey};
use crate::value::{Object, Value};
use crate::walk::namespace::Namespace;
use crate::walk::shared::lock;

/// State as a mapper sees it: fixed, read-only, the mapper's own branch first and the level's root behind it.
///
/// ```
/// use footprint::scope::StateView;
/// use footprint::state::Key;
/// use footprint::value;
/// const TOTAL: Key<f64> = Key::new("total");
/// let view = StateView::of([("total", value!(40))].into_iter().collect());
/// assert_eq!(view.get(TOTAL)?, 40.0);
/// assert_eq!(view.value("missing"), None);
/// # Ok::<(), footprint::error::ScopeError>(())
/// ```
#[derive(Clone)]
pub struct StateView {
    state: Object,
    ns: Option<Arc<Namespace>>,
    /// What was read, kept only where redaction has to follow it (ENG-95).
    reads: Option<Arc<Mutex<Vec<MapperRead>>>>,
}

impl StateView {
    pub(crate) fn new(state: Object, ns: Option<Arc<Namespace>>, traced: bool) -> Self {
        Self { state, ns, reads: traced.then(Arc::default) }
    }

    /// A view of the given state.
    pub fn of(state: Object) -> Self {
        Self::new(state, None, false)
    }

    fn note(&self, key: &str, value: &Value) {
        if let Some(reads) = &self.reads {
            lock(reads).push(MapperRead { path: Path::key(key), value: value.clone() });
        }
    }

    pub(crate) fn reads(&self) -> Vec<MapperRead> {
        self.reads.as_ref().map(|reads| lock(reads).clone()).unwrap_or_default()
    }

    /// The value under a root key, if any.
    pub fn value(&self, key: &str) -> Option<Value> {
        let found = match &self.ns {
            None => self.state.get(key),
            Some(ns) => ns.lookup(&self.state, key),
        };
        let found = found.cloned();
        if let Some(value) = &found {
            self.note(key, value);
        }
        found
    }

    /// The typed value under a key.
    pub fn get<K: StateKey>(&self, key: K) -> Result<K::Value, ScopeError> {
        match self.try_get(key)? {
            Some(value) => Ok(value),
            None => Err(ScopeError::Missing { stage: "mapper".into(), key: key.name().into() }),
        }
    }

    /// The typed value under a key, if it is there.
    pub fn try_get<K: StateKey>(&self, key: K) -> Result<Option<K::Value>, ScopeError> {
        self.value(key.name()).map(|value| decode(&value, key.name())).transpose()
    }

    /// The value at a dotted path.
    pub fn read_path(&self, path: &str) -> Option<Value> {
        let mut segments = path.split('.');
        let root = self.value(segments.next()?)?;
        let rest: Vec<&str> = segments.collect();
        root.walk(&rest).cloned()
    }

    /// All of the level's state.
    pub fn to_object(&self) -> Object {
        for (key, value) in &self.state {
            self.note(key, value);
        }
        self.state.clone()
    }
}

fn decode<T: DeserializeOwned>(value: &Value, key: &str) -> Result<T, ScopeError> {
    value.decode().map_err(|_| ScopeError::TypeMismatch {
        stage: "mapper".into(),
        key: key.into(),
        expected: std::any::type_name::<T>().to_owned(),
        found: value.kind().to_string(),
    })
}

impl fmt::Debug for StateView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateView of {} keys", self.state.len())
    }
}
