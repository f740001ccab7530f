//! How a query names a key (OBS-147, OBS-148).

use std::fmt;

use super::QueryError;
use crate::ids::UNIT_SEPARATOR;
use crate::state::Path;
use crate::value::{Object, Str, Value};

/// A top-level key or a path below one. The separator of stored paths never appears.
///
/// ```
/// use footprint::query::StateKey;
/// let key = StateKey::path(["cfg", "mode"])?;
/// assert_eq!(key.to_string(), "cfg.mode");
/// assert!(StateKey::key("").is_err());
/// # Ok::<(), footprint::query::QueryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateKey(Path);

impl StateKey {
    /// A top-level key.
    ///
    /// # Errors
    /// [`QueryError::InvalidStateKey`] for an empty key or one with U+001F.
    pub fn key(key: impl Into<Str>) -> Result<Self, QueryError> {
        Self::path([key])
    }

    /// A path of segments.
    ///
    /// # Errors
    /// [`QueryError::InvalidStateKey`] for an empty path and for an empty segment or one with U+001F.
    pub fn path<S: Into<Str>>(segments: impl IntoIterator<Item = S>) -> Result<Self, QueryError> {
        let path = Path::new(segments.into_iter().map(Into::into));
        let invalid = |reason| QueryError::InvalidStateKey { key: path.to_string(), reason };
        if path.is_empty() || path.segments().first().is_some_and(|s| s.is_empty()) {
            return Err(invalid("a key has at least one character"));
        }
        if path.segments().iter().any(|s| s.contains(UNIT_SEPARATOR)) {
            return Err(invalid("U+001F separates stored segments and is part of none"));
        }
        Ok(Self(path))
    }

    /// The form with dots, as people write it.
    ///
    /// # Errors
    /// See [`StateKey::path`].
    pub fn dotted(text: &str) -> Result<Self, QueryError> {
        Self::path(text.split('.'))
    }

    /// A path a recording holds; it was checked when it was written, or is at least not empty.
    pub(super) fn stored(path: Path) -> Self {
        Self(path)
    }

    /// The segments.
    pub fn segments(&self) -> &[Str] {
        self.0.segments()
    }

    /// The path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The root key.
    pub fn root(&self) -> &str {
        self.0.root_key().unwrap_or_default()
    }

    /// Whether this is below a root key.
    pub fn is_nested(&self) -> bool {
        self.0.len() > 1
    }

    /// The value at this key of a state.
    pub fn read<'a>(&self, state: &'a Object) -> Option<&'a Value> {
        state.walk(self.segments())
    }
}

impl fmt::Display for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
