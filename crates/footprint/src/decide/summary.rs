//! The value summariser (OBS-77), shared by evidence and narrative.

use std::borrow::Cow;

use crate::value::{Object, Value, utf16};

/// Default length of a summary in UTF-16 code units.
pub const SUMMARY_MAX: usize = 80;
/// How many key names an object's summary lists.
const KEYS_SHOWN: usize = 4;

/// A short text for a value: `undefined` for an absent one, scalars as they are, strings quoted and cut at `max` UTF-16 units with
/// three dots, arrays as a count of items, objects as their first key names.
///
/// ```
/// use footprint::{decide::summarize, value::Value};
/// assert_eq!(summarize(Some(&Value::from(0.38)), 80), "0.38");
/// assert_eq!(summarize(None, 80), "undefined");
/// ```
pub fn summarize(value: Option<&Value>, max: usize) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(Value::String(text)) => format!("\"{}\"", cut_utf16(text, max)),
        Some(Value::Array(items)) => match items.len() {
            0 => "[]".to_owned(),
            1 => "(1 item)".to_owned(),
            n => format!("({n} items)"),
        },
        Some(Value::Object(object)) => summarize_object(object, max),
        Some(scalar) => scalar.to_string(),
    }
}

fn summarize_object(object: &Object, max: usize) -> String {
    let count = object.len();
    if count == 0 {
        return "{}".to_owned();
    }
    let mut names = object.keys().take(KEYS_SHOWN).map(|k| &**k).collect::<Vec<_>>().join(", ");
    if count > KEYS_SHOWN {
        names = format!("{names}, ... ({count} keys)");
    }
    if utf16::len(&names) + 2 > max {
        return if count == 1 { "{1 key}".to_owned() } else { format!("{{{count} keys}}") };
    }
    format!("{{{names}}}")
}

/// The text cut to `max` UTF-16 code units, three dots included; a scalar value is never split.
pub fn cut_utf16(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max || utf16::len(text) <= max {
        return text.into();
    }
    let kept = utf16::prefix(text, max.saturating_sub(3));
    format!("{kept}{}", ".".repeat(max.min(3))).into()
}
