//! What a stage fails with, and the serialised form all errors share.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ScopeError;
use crate::value::Value;

/// One finding of a validator: where, what, and how it differs from what was expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    /// Segments from the root of the validated value; `[]` is the value itself.
    pub path: Vec<Value>,
    /// What is wrong, for people.
    pub message: String,
    /// Machine-readable kind, e.g. `missing_field`, `invalid_type`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The expected kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The received kind (never the received value).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<String>,
}

/// The recorded form of any failure: `{message, name?, code?, issues?}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StructuredError {
    /// Display message, without the name.
    pub message: String,
    /// Class of the error, e.g. `Error`, `TypeError`, `Panic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Machine-readable code, when the error has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Validator findings, when there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issues: Option<Vec<Issue>>,
}

impl StructuredError {
    /// A structured error with the default name `Error`.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), name: Some("Error".to_owned()), code: None, issues: None }
    }

    /// The recorded JSON object.
    pub fn to_value(&self) -> Value {
        Value::from_serialize(self).unwrap_or(Value::Null)
    }
}

/// What a stage function fails with.
///
/// Any `std` error converts with `?`; build one by hand with [`StageError::new`] or
/// [`StageError::named`]. The original error stays reachable through [`StageError::source_error`].
///
/// ```
/// use footprint::error::StageError;
/// let plain = StageError::new("no such order");
/// assert_eq!(plain.to_string(), "Error: no such order");
/// let quota = StageError::named("QuotaError", "quota exceeded").with_code("E_QUOTA");
/// assert_eq!(quota.code(), Some("E_QUOTA"));
/// ```
#[derive(Clone)]
pub struct StageError(Arc<StageErrorInner>);

#[derive(Clone)]
struct StageErrorInner {
    message: String,
    name: String,
    code: Option<String>,
    issues: Option<Vec<Issue>>,
    source: Option<Arc<dyn StdError + Send + Sync + 'static>>,
}

impl StageError {
    /// An error named `Error`.
    pub fn new(message: impl Into<String>) -> Self {
        Self::named("Error", message)
    }

    /// An error of a named class.
    pub fn named(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Arc::new(StageErrorInner {
            message: message.into(),
            name: name.into(),
            code: None,
            issues: None,
            source: None,
        }))
    }

    /// Wraps a source error; message is its text.
    pub fn from_error(error: impl StdError + Send + Sync + 'static) -> Self {
        let mut inner = StageErrorInner {
            message: error.to_string(),
            name: "Error".to_owned(),
            code: None,
            issues: None,
            source: None,
        };
        if (&error as &dyn StdError).is::<ScopeError>() {
            "ScopeError".clone_into(&mut inner.name);
        }
        inner.source = Some(Arc::new(error));
        Self(Arc::new(inner))
    }

    fn edit(mut self, change: impl FnOnce(&mut StageErrorInner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Adds a machine-readable code.
    #[must_use]
    pub fn with_code(self, code: impl Into<String>) -> Self {
        self.edit(|inner| inner.code = Some(code.into()))
    }

    /// Replaces the class name.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        self.edit(|inner| inner.name = name.into())
    }

    /// Adds validator findings.
    #[must_use]
    pub fn with_issues(self, issues: Vec<Issue>) -> Self {
        self.edit(|inner| inner.issues = Some(issues))
    }

    /// Adds the original error.
    #[must_use]
    pub fn with_source(self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.edit(|inner| inner.source = Some(Arc::new(source)))
    }

    /// The display message, without the name.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The class name, `Error` by default.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The machine-readable code, if any.
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// Validator findings, if any.
    pub fn issues(&self) -> Option<&[Issue]> {
        self.0.issues.as_deref()
    }

    /// The original error, if this one wraps one.
    pub fn source_error(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.0.source.as_deref()
    }

    /// This error as a `std` error. (`StageError` is not one itself, so that `?` can convert every
    /// `std` error into it.)
    pub fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.0
    }

    /// The recorded form.
    pub fn structured(&self) -> StructuredError {
        StructuredError {
            message: self.0.message.clone(),
            name: Some(self.0.name.clone()),
            code: self.0.code.clone(),
            issues: self.0.issues.clone(),
        }
    }

    /// An error for a caught panic of author code.
    pub(crate) fn from_panic(payload: &(dyn std::any::Any + Send)) -> Self {
        Self::named("Panic", panic_text(payload))
    }
}

/// The text of a panic payload, when it has one.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "panicked with a value that is not text".to_owned()
    }
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, f)
    }
}

impl fmt::Debug for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for StageErrorInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

impl fmt::Debug for StageErrorInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageError")
            .field("name", &self.name)
            .field("message", &self.message)
            .field("code", &self.code)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl StdError for StageErrorInner {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|e| &**e as &(dyn StdError + 'static))
    }
}

/// A [`StageError`] where a `std` error is needed: the `source()` of a [`RunError`](super::RunError).
#[derive(Clone, Debug)]
pub struct StageSource(pub StageError);

impl std::ops::Deref for StageSource {
    type Target = StageError;

    fn deref(&self) -> &StageError {
        &self.0
    }
}

impl fmt::Display for StageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for StageSource {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.0.source()
    }
}

impl StageSource {
    pub(crate) fn of(error: StageError) -> Self {
        Self(error)
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for StageError {
    fn from(error: E) -> Self {
        Self::from_error(error)
    }
}
