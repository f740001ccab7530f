//! What a tool declares about itself (TOOL §1). An absent declaration stays absent; nothing is guessed.

mod assert;
mod error;
mod meta;

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::events::words::{ContextSource, CredentialMode, PermissionCapability, Word as _};
use footprint::value::{Array, Object, Str, Value};
use indexmap::IndexMap;

pub use self::assert::{
    assert_arguments_from, assert_composed_of, assert_needs, assert_owner, assert_result_ceiling,
    assert_result_columns, assert_result_kind, assert_wants,
};
pub use self::error::{ToolDefError, ToolDefProblem};
use crate::run::Reexecution;
use crate::tools::people::{AskComponent, CheckIn};

/// All declarations of one tool. Every field is optional: an empty list or map declares nothing.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolDeclarations {
    /// A credential resolved before the tool runs.
    pub needs: Option<CredentialNeed>,
    /// Arguments that are artifact references, and the kind each must have.
    pub wants: IndexMap<Str, Str>,
    /// When a person must approve the call first.
    pub check_in: Option<CheckIn>,
    /// The screen that collects that decision.
    pub check_in_component: Option<AskComponent>,
    /// The MCP server that supplied the tool; absent for the agent's own.
    pub source: Option<Str>,
    /// What the tool touches, for permission checkers; an empty list says "nothing".
    pub capabilities: Option<Vec<PermissionCapability>>,
    /// The size above which a result is refused.
    pub result_ceiling: Option<ResultCeiling>,
    /// What kind of answer it gives, for the semantics gate.
    pub result_class: Option<ResultClass>,
    /// Artifact kind of a placed result.
    pub result_kind: Option<Str>,
    /// Types of the columns of a tabular result.
    pub result_columns: IndexMap<Str, ColumnType>,
    /// Who the offer is attributed to.
    pub owner: Option<ToolOwner>,
    /// Tools whose results are the ground of this tool's arguments.
    pub arguments_from: Vec<Str>,
    /// Tools this one calls through `ctx.tools`.
    pub composed_of: Vec<Str>,
    /// Whether its procedure can raise an approval gate.
    pub gates: Option<bool>,
    /// What makes a call a repeated one.
    pub repeated_when: RepeatedWhen,
    /// What a durable host may do with a call that was in flight at a crash.
    pub reexecution: Option<Reexecution>,
}

/// A credential a tool needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialNeed {
    /// The service.
    pub credential: Str,
    /// Scopes asked for.
    pub scopes: Option<Vec<Str>>,
    /// For whom; absent means the machine.
    pub mode: Option<CredentialMode>,
}

impl CredentialNeed {
    /// A credential for a service.
    pub fn new(service: impl Into<Str>) -> Self {
        Self { credential: service.into(), scopes: None, mode: None }
    }

    /// Asks for these scopes.
    #[must_use]
    pub fn scopes<S: Into<Str>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Asks on behalf of the user or the machine.
    #[must_use]
    pub fn mode(mut self, mode: CredentialMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// The recorded form: `{credential, scopes?, mode?}`.
    pub(crate) fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("credential", Value::from(self.credential.clone()));
        if let Some(scopes) = &self.scopes {
            out.insert("scopes", Value::from(scopes.iter().cloned().map(Value::from).collect::<Array>()));
        }
        if let Some(mode) = &self.mode {
            out.insert("mode", Value::from(mode.word()));
        }
        Value::from(out)
    }

    /// Reads the recorded form; what is malformed is no need.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_shared_str().cloned();
        Some(Self {
            credential: value.get("credential").and_then(text)?,
            scopes: value
                .get("scopes")
                .and_then(Value::as_array)
                .map(|scopes| scopes.iter().filter_map(text).collect()),
            mode: value.get("mode").and_then(text).map(|word| CredentialMode::read(&word)),
        })
    }
}

/// The refusing ceiling of a result (TOOL-73).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultCeiling {
    /// The most characters the model may read of one result.
    pub max_chars: usize,
    /// Parameters a narrower call can use; absent when the author named none.
    pub narrow_by: Option<Vec<Str>>,
}

/// What kind of answer a tool gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultClass {
    /// Something a reader acts on.
    Triage,
    /// A list of what there is.
    Inventory,
}

impl ResultClass {
    /// The recorded word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Triage => "triage",
            Self::Inventory => "inventory",
        }
    }
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnType {
    /// What its values are.
    pub kind: ColumnKind,
    /// Whether a value may be missing.
    pub nullable: bool,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Numbers.
    Number,
    /// Texts.
    String,
    /// Yes or no.
    Boolean,
    /// Dates.
    Date,
}

impl ColumnKind {
    /// The recorded word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::String => "string",
            Self::Boolean => "boolean",
            Self::Date => "date",
        }
    }
}

impl From<ColumnKind> for ColumnType {
    fn from(kind: ColumnKind) -> Self {
        Self { kind, nullable: false }
    }
}

/// Who a tool is attributed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOwner {
    /// The kind of context it came with.
    pub kind: ContextSource,
    /// Its id.
    pub id: Str,
}

/// What makes two calls the same call (TOOL-74).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatedWhen {
    /// Equal arguments and an equal result (default).
    #[default]
    CallAndResult,
    /// Equal arguments.
    Arguments,
}

/// A type-keyed bag a tool carries along: an inner-run store, facts of code runs, a session map. Invisible in the
/// schema, kept when the tool is cloned or wrapped.
#[derive(Clone, Default)]
pub struct ToolExtensions(Option<Arc<Vec<Arc<dyn std::any::Any + Send + Sync>>>>);

impl ToolExtensions {
    /// The extension of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.as_ref()?.iter().find_map(|extension| Arc::clone(extension).downcast::<T>().ok())
    }

    /// Adds an extension; the newest of a type is the one found.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(self, extension: Arc<T>) -> Self {
        let mut list: Vec<Arc<dyn std::any::Any + Send + Sync>> = vec![extension];
        list.extend(self.0.iter().flat_map(|old| old.iter().cloned()));
        Self(Some(Arc::new(list)))
    }
}

impl fmt::Debug for ToolExtensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolExtensions({})", self.0.as_ref().map_or(0, |list| list.len()))
    }
}

impl ToolDeclarations {
    /// Checks everything that can be known from the tool alone (TOOL-9).
    pub(crate) fn check(&self, name: &str, input_schema: &Value, problems: &mut Vec<ToolDefProblem>) {
        let mut note = |result: Result<(), ToolDefProblem>| problems.extend(result.err());
        if let Some(needs) = &self.needs {
            note(assert_needs(needs));
        }
        if !self.wants.is_empty() {
            note(assert_wants(&self.wants, input_schema));
        }
        if let Some(ceiling) = &self.result_ceiling {
            note(assert_result_ceiling(ceiling));
        }
        if let Some(kind) = &self.result_kind {
            note(assert_result_kind(kind));
        }
        if let Some(owner) = &self.owner {
            note(assert_owner(owner));
        }
        if !self.result_columns.is_empty() {
            note(assert_result_columns(&self.result_columns));
        }
        if !self.arguments_from.is_empty() {
            note(assert_arguments_from(name, &self.arguments_from));
        }
        if !self.composed_of.is_empty() {
            note(assert_composed_of(name, &self.composed_of));
        }
        if let Some(component) = &self.check_in_component {
            note(assert::check_in_component(self.check_in.is_some(), component));
        }
    }
}

#[cfg(test)]
mod tests;
