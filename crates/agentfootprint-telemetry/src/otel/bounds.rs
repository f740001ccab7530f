//! What may leave as an attribute, and how much of it (REC-74).

use agentfootprint_record::events::Event;
use footprint::value::{Str, Value};
use opentelemetry::{Array, KeyValue, StringValue};

const MAX_CHARS: usize = 256;
const MAX_ITEMS: usize = 20;

/// A text of at most 256 characters; a longer one ends with `…`.
pub(super) fn text(text: &str) -> String {
    if text.chars().nth(MAX_CHARS).is_none() {
        return text.to_owned();
    }
    text.chars().take(MAX_CHARS - 1).chain(['…']).collect()
}

pub(super) fn word(key: &'static str, value: &str) -> KeyValue {
    KeyValue::new(key, text(value))
}

pub(super) fn count(key: &'static str, value: u64) -> KeyValue {
    KeyValue::new(key, i64::try_from(value).unwrap_or(i64::MAX))
}

pub(super) fn words<'a>(key: &'static str, values: impl IntoIterator<Item = &'a str>) -> KeyValue {
    KeyValue::new(key, list(values))
}

fn list<'a>(values: impl IntoIterator<Item = &'a str>) -> opentelemetry::Value {
    let items = values.into_iter().take(MAX_ITEMS).map(|item| StringValue::from(text(item))).collect();
    opentelemetry::Value::Array(Array::String(items))
}

/// The fields of an event that hold no content, as attributes under its domain: numbers, flags, words and lists of words.
pub(super) fn structure(event: &Event) -> Vec<KeyValue> {
    let domain = event.name().map_or("event", |name| name.domain().as_str());
    flat(domain, &event.structure())
}

pub(super) fn flat(domain: &str, payload: &Value) -> Vec<KeyValue> {
    let Value::Object(fields) = payload else { return Vec::new() };
    fields
        .iter()
        .filter_map(|(key, value)| {
            let key = format!("agentfootprint.{domain}.{}", snake(key));
            Some(KeyValue::new(key, attribute(value)?))
        })
        .collect()
}

fn attribute(value: &Value) -> Option<opentelemetry::Value> {
    Some(match value {
        Value::Bool(flag) => (*flag).into(),
        Value::String(word) => text(word).into(),
        Value::Number(_) => match (value.as_i64(), value.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(number)) => number.into(),
            (None, None) => return None,
        },
        Value::Array(_) => {
            let words: Option<Vec<&str>> = value.as_array()?.iter().map(Value::as_str).collect();
            list(words?)
        }
        _ => return None,
    })
}

fn snake(key: &Str) -> String {
    let mut out = String::new();
    for letter in key.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

/// What kind of value a result is; nothing of the value itself.
pub(super) fn kind(value: Option<&Value>) -> &'static str {
    match value {
        None => "absent",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves REC-74: 256 characters and 20 items, whatever the alphabet.
    #[test]
    fn texts_and_lists_are_bounded() {
        assert_eq!(text(&"ä".repeat(256)), "ä".repeat(256));
        let cut = text(&"ä".repeat(257));
        assert_eq!((cut.chars().count(), cut.ends_with("ä…")), (256, true));
        let many: Vec<String> = (0..50).map(|at| at.to_string()).collect();
        let KeyValue { value: opentelemetry::Value::Array(Array::String(items)), .. } =
            words("k", many.iter().map(String::as_str))
        else {
            unreachable!("a list of words")
        };
        assert_eq!(items.len(), 20);
        assert_eq!(snake(&"toolCallId".into()), "tool_call_id");
    }
}
