//! Argument validation: the honest subset of JSON Schema, enforced before anything of a call is touched
//! (TOOL-15 to TOOL-17).
//!
//! A tool's schema is [reduced](reduce) to the keywords this framework promises to enforce, and the reduced schema
//! is what the `jsonschema` crate judges. Nothing is coerced, everything outside the subset is ignored, and a
//! malformed schema rejects nothing. Issues name a path, what was expected and the *type* that came; a value is
//! never repeated (TOOL-5).

mod adapter;
mod issue;
mod reduce;

use footprint::value::{Object, Value};
use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;

use self::adapter::Shared;
pub use self::issue::{ArgIssue, MAX_ISSUES};
pub use self::reduce::reduce_schema;

/// The compiled check of one tool's arguments.
pub struct ArgValidator {
    /// `None` when the schema enforces nothing.
    validator: Option<Validator<Shared>>,
    reduced: serde_json::Value,
}

impl ArgValidator {
    /// Compiles the enforced part of an input schema.
    pub fn new(input_schema: &Value) -> Self {
        let reduced = reduce_schema(input_schema);
        let enforces = reduced.as_object().is_some_and(|members| !members.is_empty());
        let validator =
            if enforces { jsonschema::options_for::<Shared>().build(&reduced).ok() } else { None };
        Self { validator, reduced }
    }

    /// What is wrong with `args`, at most [`MAX_ISSUES`], in the order of the schema. Absent arguments (`null`)
    /// count as `{}`.
    pub fn check(&self, args: &Value) -> Vec<ArgIssue> {
        let Some(validator) = &self.validator else { return Vec::new() };
        let empty = Value::Object(Object::new());
        let args = if matches!(args, Value::Null) { &empty } else { args };
        if validator.is_valid(args) {
            return Vec::new();
        }
        issue::collect(&self.reduced, args, validator.iter_errors(args))
    }

    /// The top-level arguments a call must give.
    #[expect(dead_code, reason = "asked by the `wants` step (TOOL-28)")]
    pub(crate) fn required(&self) -> impl Iterator<Item = &str> {
        self.reduced
            .get("required")
            .and_then(serde_json::Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(serde_json::Value::as_str)
    }
}

/// Where a schema is no JSON Schema. What it refers to elsewhere is not looked up.
pub(crate) fn schema_fault(schema: &Value) -> Option<String> {
    let error = jsonschema::options().build(&schema.to_json()).err()?;
    (!matches!(error.kind(), ValidationErrorKind::Referencing(_))).then(|| issue::place(&error))
}

/// Where arguments first break the *whole* schema; looked up only after they failed to decode.
pub(crate) fn first_misfit(schema: &Value, args: &Value) -> Option<String> {
    let validator = jsonschema::options_for::<Shared>().build(&schema.to_json()).ok()?;
    let error = validator.iter_errors(args).next()?;
    Some(issue::place(&error))
}

impl std::fmt::Debug for ArgValidator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArgValidator").field("reduced", &self.reduced).finish_non_exhaustive()
    }
}

/// The type name used in issues and refusals: `null`, `array`, `object`, `string`, `number`, `boolean`.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests;
