//! Compiling and running the validator; the words of the findings.

use std::sync::Arc;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};

use crate::error::Issue;
use crate::value::Value;

/// Names of unexpected fields are listed up to this many.
const NAMES_SHOWN: usize = 5;

pub(super) fn compile(document: &Value) -> Result<Arc<Validator>, String> {
    // `offline`: a remote `$ref` is a problem of the schema, not a request.
    jsonschema::options()
        .offline()
        .build(&document.to_json())
        .map(Arc::new)
        .map_err(|error| error.to_string())
}

pub(super) fn findings(validator: &Validator, instance: Option<&Value>) -> Vec<Issue> {
    let json = instance.map_or(serde_json::Value::Null, Value::to_json);
    let mut issues: Vec<Issue> =
        validator.iter_errors(&json).map(|error| issue(&error, &json, instance.is_none())).collect();
    // Stable: inside each group the validator's order stays.
    issues.sort_by_key(|issue| issue.code.as_deref() != Some("missing_field"));
    issues
}

fn issue(error: &ValidationError<'_>, root: &serde_json::Value, absent: bool) -> Issue {
    let mut path = path_of(error, root);
    let at_root = path.is_empty();
    let mut finding = Finding::of(error.kind());
    if let Some(field) = finding.field.take() {
        path.push(Value::from(field));
    }
    let received = finding.expected.is_some().then(|| {
        if absent && at_root { "absent".to_owned() } else { type_word(error.instance()).to_owned() }
    });
    let message = match (&finding.expected, &received) {
        (Some(expected), Some(received)) => {
            format!("{} must be {expected}, received {received}", place(&path))
        }
        _ => format!("{} {}", place(&path), finding.says),
    };
    Issue { path, message, code: Some(finding.code.to_owned()), expected: finding.expected, received }
}

/// Segments of the finding's place; an index only where an array stands.
fn path_of(error: &ValidationError<'_>, root: &serde_json::Value) -> Vec<Value> {
    let mut at = Some(root);
    let mut path = Vec::new();
    for segment in error.instance_path() {
        let text = segment.to_string();
        match (at, text.parse::<usize>()) {
            (Some(serde_json::Value::Array(items)), Ok(index)) => {
                at = items.get(index);
                path.push(Value::from(index as u64));
            }
            _ => {
                at = at.and_then(|value| value.get(&text));
                path.push(Value::from(text));
            }
        }
    }
    path
}

fn place(path: &[Value]) -> String {
    if path.is_empty() {
        return "the value".to_owned();
    }
    let segments: Vec<String> = path
        .iter()
        .map(|segment| segment.as_str().map_or_else(|| segment.to_string(), str::to_owned))
        .collect();
    format!("`{}`", segments.join("."))
}

fn type_word(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "boolean",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}

struct Finding {
    code: &'static str,
    says: String,
    expected: Option<String>,
    /// The missing field, which belongs to the path.
    field: Option<String>,
}

impl Finding {
    fn new(code: &'static str, says: impl Into<String>) -> Finding {
        Finding { code, says: says.into(), expected: None, field: None }
    }

    /// Words for one kind of finding. Limits, options and patterns come from the schema; nothing comes from the instance but the
    /// names of fields the schema does not know.
    fn of(kind: &ValidationErrorKind) -> Finding {
        use ValidationErrorKind as Kind;
        match kind {
            Kind::Required { property } => Finding {
                field: Some(property.as_str().map_or_else(|| property.to_string(), str::to_owned)),
                ..Finding::new("missing_field", "is required and missing")
            },
            Kind::Type { kind } => {
                let expected = match kind {
                    TypeKind::Single(one) => one.as_str().to_owned(),
                    TypeKind::Multiple(some) => {
                        some.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(" or ")
                    }
                };
                Finding { expected: Some(expected), ..Finding::new("invalid_type", "has the wrong type") }
            }
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                Finding::new(
                    "unknown_field",
                    format!("has fields the schema does not know: {}", names(unexpected)),
                )
            }
            Kind::Enum { options } => {
                let count = options.as_array().map_or(0, Vec::len);
                Finding::new("invalid_value", format!("must be one of the {count} values the schema lists"))
            }
            Kind::Constant { .. } => Finding::new("invalid_value", "must be the one value the schema names"),
            Kind::Minimum { limit } => Finding::new("too_small", format!("must be at least {limit}")),
            Kind::ExclusiveMinimum { limit } => {
                Finding::new("too_small", format!("must be greater than {limit}"))
            }
            Kind::Maximum { limit } => Finding::new("too_big", format!("must be at most {limit}")),
            Kind::ExclusiveMaximum { limit } => Finding::new("too_big", format!("must be less than {limit}")),
            Kind::MinLength { limit } => {
                Finding::new("too_small", format!("must have at least {limit} characters"))
            }
            Kind::MaxLength { limit } => {
                Finding::new("too_big", format!("must have at most {limit} characters"))
            }
            Kind::MinItems { limit } => {
                Finding::new("too_small", format!("must have at least {limit} items"))
            }
            Kind::MaxItems { limit } => Finding::new("too_big", format!("must have at most {limit} items")),
            Kind::AdditionalItems { limit } => {
                Finding::new("too_big", format!("must have at most {limit} items"))
            }
            Kind::MinProperties { limit } => {
                Finding::new("too_small", format!("must have at least {limit} fields"))
            }
            Kind::MaxProperties { limit } => {
                Finding::new("too_big", format!("must have at most {limit} fields"))
            }
            Kind::MultipleOf { multiple_of } => {
                Finding::new("not_multiple_of", format!("must be a multiple of {multiple_of}"))
            }
            Kind::Pattern { pattern } => {
                Finding::new("invalid_format", format!("must match the pattern {pattern}"))
            }
            Kind::Format { format } => {
                Finding::new("invalid_format", format!("must have the format {format}"))
            }
            Kind::UniqueItems => Finding::new("not_unique", "must not contain an item twice"),
            Kind::UnevaluatedItems { .. } => Finding::new("too_big", "has items the schema does not know"),
            Kind::Contains => Finding::new("invalid_items", "has no item of the required kind"),
            Kind::PropertyNames { .. } => {
                Finding::new("invalid_field_name", "has a field name the schema forbids")
            }
            Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => {
                Finding::new("invalid_union", "fits none of the alternatives")
            }
            Kind::OneOfMultipleValid { .. } => {
                Finding::new("invalid_union", "fits more than one of the exclusive alternatives")
            }
            Kind::Not { .. } => Finding::new("forbidden", "has a form the schema excludes"),
            Kind::FalseSchema => Finding::new("forbidden", "is not allowed here"),
            other => Finding::new("invalid", format!("does not satisfy `{}`", other.keyword())),
        }
    }
}

fn names(unexpected: &[String]) -> String {
    let shown: Vec<String> = unexpected.iter().take(NAMES_SHOWN).map(|name| format!("`{name}`")).collect();
    match unexpected.len().checked_sub(NAMES_SHOWN) {
        Some(more) if more > 0 => format!("{} and {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}
