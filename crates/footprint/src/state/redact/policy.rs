use std::sync::Arc;

use indexmap::IndexMap;
use regex::Regex;

use crate::state::Path;
use crate::value::Str;

/// A pattern of a redaction policy that is no regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid redaction pattern {pattern:?}: {reason}")]
pub struct InvalidPattern {
    /// The pattern.
    pub pattern: String,
    /// What the regex parser says.
    pub reason: String,
}

/// What to redact, by name. Patterns are compiled when they are given.
///
/// Field paths are dotted; a segment may be a list position, or `*` for every key or item.
///
/// ```
/// use footprint::state::RedactionPolicy;
/// let policy = RedactionPolicy::new()
///     .keys(["ssn"])
///     .patterns(["(?i)^secret"])?
///     .fields("history", ["*.content"])
///     .emit_patterns(["^billing\\."])?
///     .diagnostic_keys(["token"]);
/// assert!(RedactionPolicy::new().patterns(["("]).is_err());
/// # Ok::<(), footprint::state::InvalidPattern>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RedactionPolicy {
    state: Selection,
    diagnostics: Selection,
    emit: Vec<Regex>,
}

#[derive(Debug, Clone, Default)]
struct Selection {
    keys: Vec<Str>,
    patterns: Vec<Regex>,
    fields: IndexMap<Str, Vec<Path>>,
}

impl Selection {
    fn selects(&self, name: &str) -> bool {
        self.keys.iter().any(|key| **key == *name) || self.patterns.iter().any(|p| p.is_match(name))
    }

    fn fields_of(&self, key: &str) -> &[Path] {
        self.fields.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    fn add_keys<K: Into<Str>>(&mut self, keys: impl IntoIterator<Item = K>) {
        self.keys.extend(keys.into_iter().map(Into::into));
    }

    fn add_fields<P: AsRef<str>>(&mut self, key: Str, paths: impl IntoIterator<Item = P>) {
        let paths = paths.into_iter().map(|path| Path::dotted(path.as_ref())).filter(|path| !path.is_empty());
        self.fields.entry(key).or_default().extend(paths);
    }
}

fn compile<P: AsRef<str>>(sources: impl IntoIterator<Item = P>) -> Result<Vec<Regex>, InvalidPattern> {
    let compile = |source: P| {
        let source = source.as_ref();
        Regex::new(source)
            .map_err(|error| InvalidPattern { pattern: source.to_owned(), reason: error.to_string() })
    };
    sources.into_iter().map(compile).collect()
}

impl RedactionPolicy {
    /// A policy that selects nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Redacts everything under these root keys.
    pub fn keys<K: Into<Str>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.state.add_keys(keys);
        self
    }

    /// Redacts everything under root keys whose name matches.
    pub fn patterns<P: AsRef<str>>(
        mut self,
        sources: impl IntoIterator<Item = P>,
    ) -> Result<Self, InvalidPattern> {
        self.state.patterns.extend(compile(sources)?);
        Ok(self)
    }

    /// Redacts parts of the value under a key.
    pub fn fields<P: AsRef<str>>(mut self, key: impl Into<Str>, paths: impl IntoIterator<Item = P>) -> Self {
        self.state.add_fields(key.into(), paths);
        self
    }

    /// Redacts the payload of emitted events whose name matches.
    pub fn emit_patterns<P: AsRef<str>>(
        mut self,
        sources: impl IntoIterator<Item = P>,
    ) -> Result<Self, InvalidPattern> {
        self.emit.extend(compile(sources)?);
        Ok(self)
    }

    /// Redacts diagnostic entries with these names, besides those whose name state keys select.
    pub fn diagnostic_keys<K: Into<Str>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.diagnostics.add_keys(keys);
        self
    }

    /// Redacts diagnostic entries whose name matches.
    pub fn diagnostic_patterns<P: AsRef<str>>(
        mut self,
        sources: impl IntoIterator<Item = P>,
    ) -> Result<Self, InvalidPattern> {
        self.diagnostics.patterns.extend(compile(sources)?);
        Ok(self)
    }

    /// Redacts parts of the diagnostic entry with a name.
    pub fn diagnostic_fields<P: AsRef<str>>(
        mut self,
        name: impl Into<Str>,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        self.diagnostics.add_fields(name.into(), paths);
        self
    }
}

/// A policy in force: the one owner of every redaction decision. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RedactionRule(Arc<RedactionPolicy>);

impl RedactionRule {
    /// Puts a policy in force.
    pub fn new(policy: RedactionPolicy) -> Self {
        Self(Arc::new(policy))
    }

    /// Whether everything under a root key is redacted.
    pub fn selects_key(&self, key: &str) -> bool {
        self.0.state.selects(key)
    }

    /// Whether the payload of an emitted event is redacted.
    pub fn selects_emit(&self, name: &str) -> bool {
        self.0.emit.iter().any(|pattern| pattern.is_match(name))
    }

    pub(super) fn selects_diagnostic(&self, name: &str) -> bool {
        self.0.diagnostics.selects(name)
    }

    pub(super) fn diagnostic_fields(&self, name: &str) -> Option<&[Path]> {
        Some(self.0.diagnostics.fields_of(name)).filter(|fields| !fields.is_empty())
    }

    pub(super) fn fields_of(&self, key: &str) -> &[Path] {
        self.0.state.fields_of(key)
    }

    pub(super) fn key_names(&self) -> impl Iterator<Item = &Str> {
        self.0.state.keys.iter()
    }

    pub(super) fn pattern_sources(&self) -> Vec<Str> {
        self.0.state.patterns.iter().map(|pattern| pattern.as_str().into()).collect()
    }

    pub(super) fn field_names(&self) -> IndexMap<Str, Vec<Str>> {
        let names = |paths: &Vec<Path>| paths.iter().map(|path| path.to_string().into()).collect();
        self.0.state.fields.iter().map(|(key, paths)| (key.clone(), names(paths))).collect()
    }
}

impl From<RedactionPolicy> for RedactionRule {
    fn from(policy: RedactionPolicy) -> Self {
        Self::new(policy)
    }
}
