//! Reducing an input schema to the keywords that are enforced.

use footprint::value::{Object, Value};
use serde_json::{Map, Value as Json};

const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "integer", "string"];

/// The enforced part of a schema (TOOL-16): `type`, `enum` of primitives, `required`, `properties`, `items` as one
/// schema, and an explicit `additionalProperties: false` beside `properties`. A keyword whose value is malformed is
/// left out: it can only have been meant, never enforced.
///
/// ```
/// use agentfootprint_core::tools::reduce_schema;
/// let reduced = reduce_schema(&footprint::value!({
///     "type": "object",
///     "properties": { "nights": { "type": "integer", "minimum": 1 }, "room": { "enum": [["a"]] } },
///     "required": "nights",
/// }));
/// assert_eq!(reduced, serde_json::json!({
///     "type": "object",
///     "properties": { "nights": { "type": "integer" }, "room": {} },
/// }));
/// ```
pub fn reduce_schema(schema: &Value) -> Json {
    let mut out = Map::new();
    if let Value::Object(schema) = schema {
        reduce_type(schema, &mut out);
        reduce_enum(schema, &mut out);
        reduce_required(schema, &mut out);
        if let Some(Value::Object(properties)) = schema.get("properties") {
            let reduced: Map<String, Json> =
                properties.iter().map(|(name, schema)| (name.to_string(), reduce_schema(schema))).collect();
            out.insert("properties".to_owned(), Json::Object(reduced));
            // A property admitted by a pattern would be rejected once the pattern is out of the picture.
            let closed = matches!(schema.get("additionalProperties"), Some(Value::Bool(false)));
            if closed && !schema.contains_key("patternProperties") {
                out.insert("additionalProperties".to_owned(), Json::Bool(false));
            }
        }
        if let Some(items @ Value::Object(_)) = schema.get("items") {
            out.insert("items".to_owned(), reduce_schema(items));
        }
    }
    Json::Object(out)
}

fn reduce_type(schema: &Object, out: &mut Map<String, Json>) {
    let known = |value: &Value| TYPES.iter().find(|word| value.as_str() == Some(**word)).copied();
    match schema.get("type") {
        Some(word @ Value::String(_)) => {
            if let Some(word) = known(word) {
                out.insert("type".to_owned(), Json::from(word));
            }
        }
        Some(Value::Array(words)) if !words.is_empty() => {
            let Some(words) = words.iter().map(known).collect::<Option<Vec<_>>>() else { return };
            let unique: Vec<&str> = TYPES.into_iter().filter(|word| words.contains(word)).collect();
            out.insert("type".to_owned(), Json::from(unique));
        }
        _ => {}
    }
}

fn reduce_enum(schema: &Object, out: &mut Map<String, Json>) {
    let Some(Value::Array(options)) = schema.get("enum") else { return };
    let primitive = |value: &Value| !matches!(value, Value::Array(_) | Value::Object(_));
    if options.is_empty() || !options.iter().all(primitive) {
        return;
    }
    out.insert("enum".to_owned(), Json::Array(options.iter().map(Value::to_json).collect()));
}

fn reduce_required(schema: &Object, out: &mut Map<String, Json>) {
    let Some(Value::Array(names)) = schema.get("required") else { return };
    let Some(names) = names.iter().map(Value::as_str).collect::<Option<Vec<&str>>>() else { return };
    let mut unique: Vec<&str> = Vec::with_capacity(names.len());
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    if !unique.is_empty() {
        out.insert("required".to_owned(), Json::from(unique));
    }
}
