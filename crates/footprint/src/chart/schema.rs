//! JSON Schema as contracts use it: one compiled validator, and findings that never quote a value.
//!
//! The validator is the `jsonschema` crate (feature `schema`, on by default). References are resolved inside the document only:
//! building a chart touches no network and no file.

#[cfg(feature = "schema")]
mod check;

use std::fmt;
use std::sync::Arc;

use crate::error::Issue;
use crate::value::Value;

/// A JSON Schema document with its compiled validator.
///
/// ```
/// use footprint::chart::JsonSchema;
/// use footprint::value;
///
/// let schema = JsonSchema::new(value!({ "type": "object", "required": ["who"] }));
/// let issues = schema.check(Some(&value!({})))?;
/// assert_eq!(issues[0].code.as_deref(), Some("missing_field"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone)]
pub struct JsonSchema {
    document: Value,
    compiled: Result<Arc<Compiled>, String>,
}

#[cfg(feature = "schema")]
type Compiled = jsonschema::Validator;
#[cfg(not(feature = "schema"))]
type Compiled = ();

impl JsonSchema {
    /// Compiles a schema document. A document that is no schema is kept; [`JsonSchema::problem`] says what is wrong.
    pub fn new(document: Value) -> JsonSchema {
        let compiled = compile(&document);
        JsonSchema { document, compiled }
    }

    /// The schema of a Rust type.
    #[cfg(feature = "schema")]
    pub fn of<T: schemars::JsonSchema>() -> JsonSchema {
        JsonSchema::new(Value::from(schemars::schema_for!(T).to_value()))
    }

    /// The document as it was given.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Why this is no usable schema, if it is none.
    pub fn problem(&self) -> Option<&str> {
        self.compiled.as_ref().err().map(String::as_str)
    }

    /// Everything an instance does wrong: missing fields first, then the rest in schema order. An absent instance is checked as
    /// `null` and named as absent.
    ///
    /// # Errors
    /// The schema's own [`problem`](JsonSchema::problem).
    pub fn check(&self, instance: Option<&Value>) -> Result<Vec<Issue>, String> {
        match &self.compiled {
            Ok(compiled) => Ok(findings(compiled, instance)),
            Err(problem) => Err(problem.clone()),
        }
    }
}

#[cfg(feature = "schema")]
use check::{compile, findings};

#[cfg(not(feature = "schema"))]
fn compile(_document: &Value) -> Result<Arc<Compiled>, String> {
    Err("this build cannot validate JSON Schema: enable the feature `schema`".to_owned())
}

#[cfg(not(feature = "schema"))]
fn findings(_compiled: &Compiled, _instance: Option<&Value>) -> Vec<Issue> {
    Vec::new()
}

impl fmt::Debug for JsonSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonSchema").field("problem", &self.problem()).finish_non_exhaustive()
    }
}
