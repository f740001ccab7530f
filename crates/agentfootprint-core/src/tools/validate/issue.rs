//! From validator errors to issues: paths, type names, order, no values.

use std::fmt::Write as _;

use footprint::value::Value;
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use serde_json::Value as Json;

use super::type_name;

/// The most issues one refusal lists.
pub const MAX_ISSUES: usize = 10;

/// One thing wrong with the arguments of a call (TOOL-17).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgIssue {
    /// Where: `a.b[2]`, empty for the arguments as a whole.
    pub path: String,
    /// What was expected there.
    pub expected: String,
    /// The type that came, or `missing`.
    pub got: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Property(String),
    Index(usize),
}

/// Which rule was broken at a node; the order is the order of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    Type,
    Enum,
    Required,
    Inside,
    Additional,
}

struct Found {
    path: Vec<Segment>,
    order: Vec<(Rule, usize)>,
    /// The node a failed `type` or `enum` was checked at: nothing below it is reported.
    stops: bool,
    issue: ArgIssue,
}

pub(super) fn collect<'a>(
    schema: &Json,
    args: &Value,
    errors: impl Iterator<Item = ValidationError<'a>>,
) -> Vec<ArgIssue> {
    let mut found = Vec::new();
    for error in errors {
        read(schema, args, &error, &mut found);
    }
    found.sort_by(|a, b| a.order.cmp(&b.order));
    let mut kept: Vec<Found> = Vec::new();
    for next in found {
        if !kept.iter().any(|earlier| earlier.stops && next.path.starts_with(&earlier.path)) {
            kept.push(next);
        }
    }
    kept.into_iter().map(|found| found.issue).take(MAX_ISSUES).collect()
}

/// The path of the instance an error is about.
pub(super) fn place(error: &ValidationError<'_>) -> String {
    spell(&path_of(error))
}

fn path_of(error: &ValidationError<'_>) -> Vec<Segment> {
    let segments = error.instance_path().iter().map(|segment| match segment {
        LocationSegment::Property(name) => Segment::Property(name.into_owned()),
        LocationSegment::Index(at) => Segment::Index(at),
    });
    segments.collect()
}

fn read(schema: &Json, args: &Value, error: &ValidationError<'_>, found: &mut Vec<Found>) {
    let path = path_of(error);
    let place = Place::of(schema, args, &path);
    match error.kind() {
        ValidationErrorKind::Type { kind } => found.push(place.at(path, Rule::Type, expected_type(kind))),
        ValidationErrorKind::Enum { options } => {
            found.push(place.at(path, Rule::Enum, expected_enum(options)))
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let at = place.required_index(name);
            found.push(place.below(path, name, Rule::Required, at, "required", "missing"));
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            for name in unexpected {
                let (at, got) = place.member(name);
                found.push(place.below(
                    path.clone(),
                    name,
                    Rule::Additional,
                    at,
                    "no additional properties",
                    got,
                ));
            }
        }
        // Nothing else is left in a reduced schema.
        _ => {}
    }
}

/// The node an error is about, in the schema, in the arguments and in the order of the report.
struct Place<'a> {
    schema: Option<&'a Json>,
    value: Option<&'a Value>,
    order: Vec<(Rule, usize)>,
}

impl<'a> Place<'a> {
    fn of(schema: &'a Json, args: &'a Value, path: &[Segment]) -> Self {
        let mut place = Self { schema: Some(schema), value: Some(args), order: Vec::new() };
        for segment in path {
            match segment {
                Segment::Property(name) => {
                    let properties = place.schema.and_then(|schema| schema.get("properties"));
                    let at = properties
                        .and_then(Json::as_object)
                        .and_then(|properties| properties.keys().position(|key| key == name))
                        .unwrap_or(usize::MAX);
                    place.order.push((Rule::Inside, at));
                    place.schema = properties.and_then(|properties| properties.get(name));
                    place.value = place.value.and_then(|value| value.get(name));
                }
                Segment::Index(at) => {
                    place.order.push((Rule::Inside, *at));
                    place.schema = place.schema.and_then(|schema| schema.get("items"));
                    place.value = place.value.and_then(|value| value.at(*at));
                }
            }
        }
        place
    }

    fn at(&self, path: Vec<Segment>, rule: Rule, expected: String) -> Found {
        let got = self.value.map_or("missing", type_name);
        let issue = ArgIssue { path: spell(&path), expected, got };
        Found { path, order: self.ordered(rule, 0), stops: true, issue }
    }

    fn below(
        &self,
        mut path: Vec<Segment>,
        name: &str,
        rule: Rule,
        at: usize,
        expected: &str,
        got: &'static str,
    ) -> Found {
        path.push(Segment::Property(name.to_owned()));
        let issue = ArgIssue { path: spell(&path), expected: expected.to_owned(), got };
        Found { path, order: self.ordered(rule, at), stops: false, issue }
    }

    fn ordered(&self, rule: Rule, at: usize) -> Vec<(Rule, usize)> {
        let mut order = self.order.clone();
        order.push((rule, at));
        order
    }

    fn required_index(&self, name: &str) -> usize {
        let required = self.schema.and_then(|schema| schema.get("required")).and_then(Json::as_array);
        required
            .and_then(|names| names.iter().position(|other| other.as_str() == Some(name)))
            .unwrap_or(usize::MAX)
    }

    fn member(&self, name: &str) -> (usize, &'static str) {
        let members = self.value.and_then(Value::as_object);
        let at = members.and_then(|members| members.keys().position(|key| &**key == name));
        let got = members.and_then(|members| members.get(name)).map_or("missing", type_name);
        (at.unwrap_or(usize::MAX), got)
    }
}

fn expected_type(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.as_str().to_owned(),
        TypeKind::Multiple(several) => {
            several.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn expected_enum(options: &Json) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let listed: Vec<String> = options.iter().map(Json::to_string).collect();
    format!("one of {}", listed.join(", "))
}

/// `a.b[2]`; a name that would read as something else is quoted: `a["b.c"]`.
fn spell(path: &[Segment]) -> String {
    let mut out = String::new();
    for segment in path {
        match segment {
            Segment::Index(at) => {
                let _ = write!(out, "[{at}]");
            }
            Segment::Property(name) => {
                let plain = !name.is_empty() && !name.contains(['.', '[', ']', '"']);
                if !plain {
                    let _ = write!(out, "[{name:?}]");
                } else {
                    if !out.is_empty() {
                        out.push('.');
                    }
                    out.push_str(name);
                }
            }
        }
    }
    out
}
