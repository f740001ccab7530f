//! JSON schemas, generated from the registry (EVT-20).

use footprint::value::{Object, Str, Value};

use super::field::{FieldInfo, Need, Shape};
use super::{EventName, META_FIELDS};

/// The JSON schema of a payload as a writer must produce it: required fields, listed words, no others.
///
/// ```
/// use agentfootprint_record::events::{EventName, payload_schema};
/// let schema = payload_schema(EventName::StreamToken);
/// assert_eq!(schema["required"].to_string(), r#"["iteration","tokenIndex","content"]"#);
/// ```
#[must_use]
pub fn payload_schema(event: EventName) -> Value {
    record_schema(event.fields())
}

/// The JSON schema of a whole event.
#[must_use]
pub fn event_schema(event: EventName) -> Value {
    let mut properties = Object::new();
    properties.insert("type", object([("const", Value::from(event.as_str()))]));
    properties.insert("payload", payload_schema(event));
    properties.insert("meta", record_schema(META_FIELDS));
    let required = ["type", "payload", "meta"].map(Value::from);
    object([
        ("type", Value::from("object")),
        ("properties", Value::Object(properties)),
        ("required", Value::from(required)),
        ("additionalProperties", Value::Bool(false)),
    ])
}

fn object<const N: usize>(entries: [(&'static str, Value); N]) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (Str::from(key), value)).collect())
}

fn of_type(name: &'static str) -> Value {
    object([("type", Value::from(name))])
}

fn record_schema(fields: &[FieldInfo]) -> Value {
    let properties: Object =
        fields.iter().map(|field| (Str::from(field.name), field_schema(field))).collect();
    let required: Vec<Value> = fields
        .iter()
        .filter(|field| field.need == Need::Required)
        .map(|field| Value::from(field.name))
        .collect();
    object([
        ("type", Value::from("object")),
        ("properties", Value::Object(properties)),
        ("required", Value::from(required)),
        ("additionalProperties", Value::Bool(false)),
    ])
}

fn field_schema(field: &FieldInfo) -> Value {
    match field.need {
        Need::True => object([("const", Value::Bool(true))]),
        Need::Required | Need::Optional => shape_schema(field.shape),
    }
}

fn shape_schema(shape: Shape) -> Value {
    match shape {
        Shape::Text => of_type("string"),
        Shape::Count => object([("type", Value::from("integer")), ("minimum", Value::from(0))]),
        Shape::Int => of_type("integer"),
        Shape::Number => of_type("number"),
        Shape::Bool => of_type("boolean"),
        Shape::Json => object([]),
        Shape::Word(words) => {
            object([("enum", Value::from(words.iter().map(|word| Value::from(*word)).collect::<Vec<_>>()))])
        }
        Shape::List(item) => object([("type", Value::from("array")), ("items", shape_schema(*item))]),
        Shape::Map(value) => {
            object([("type", Value::from("object")), ("additionalProperties", shape_schema(*value))])
        }
        Shape::Nullable(inner) => {
            object([("anyOf", Value::from(vec![shape_schema(*inner), of_type("null")]))])
        }
        // A writer writes the declared type.
        Shape::Loose(inner) => shape_schema(*inner),
        Shape::Record(fields) => record_schema(fields),
    }
}
