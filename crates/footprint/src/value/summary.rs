//! One-line summaries of values, and the markers that stand for values when a tracking dial says `summary`.

use super::{Object, Str, Value, ValueKind, utf16};

/// Default length limit of a summary, and the length of a marker's preview, in UTF-16 code units.
pub const PREVIEW: usize = 80;

/// How many key names an object's summary shows.
const SHOWN_KEYS: usize = 4;

/// What ends a text that was cut.
const DOTS: &str = "...";

/// One line for people: what narrative entries show for a value.
///
/// Text is quoted and cut so that it is `max` UTF-16 code units long with its three dots; lists are counted;
/// objects name up to four keys.
/// `None` is an absent value.
///
/// ```
/// use footprint::value;
/// use footprint::value::summary::summarise;
/// assert_eq!(summarise(Some(&value!("tea")), 80), "\"tea\"");
/// assert_eq!(summarise(Some(&value!([1, 2, 3])), 80), "(3 items)");
/// assert_eq!(summarise(Some(&value!({"a": 1, "b": 2})), 80), "{a, b}");
/// assert_eq!(summarise(None, 80), "undefined");
/// ```
pub fn summarise(value: Option<&Value>, max: usize) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(Value::String(text)) => {
            if utf16::len(text) <= max {
                return format!("\"{text}\"");
            }
            format!("\"{}{DOTS}\"", utf16::prefix(text, max.saturating_sub(DOTS.len())))
        }
        Some(Value::Array(items)) => match items.len() {
            0 => "[]".to_owned(),
            1 => "(1 item)".to_owned(),
            n => format!("({n} items)"),
        },
        Some(Value::Object(object)) => summarise_object(object, max),
        Some(scalar) => scalar.to_string(),
    }
}

fn summarise_object(object: &Object, max: usize) -> String {
    let total = object.len();
    if total == 0 {
        return "{}".to_owned();
    }
    let mut text = String::from("{");
    for (at, key) in object.keys().take(SHOWN_KEYS).enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        text.push_str(key);
    }
    if total > SHOWN_KEYS {
        text.push_str(&format!(", ... ({total} keys)"));
    }
    text.push('}');
    if utf16::len(&text) > max {
        return if total == 1 { "{1 key}".to_owned() } else { format!("{{{total} keys}}") };
    }
    text
}

/// Which dial a marker belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerKind {
    /// `readTracking: summary`
    Read,
    /// `writeTracking: summary`
    Write,
}

/// What stands instead of a value: its type, size and a short preview. Small enough to be kept for every read; the
/// object that a record shows is made when somebody looks.
#[derive(Debug, Clone)]
pub(crate) struct Marker {
    kind: MarkerKind,
    seen: Seen,
}

#[derive(Debug, Clone)]
enum Seen {
    Absent,
    /// Null, a flag or a number.
    Scalar(Value),
    /// The whole text, which the log shares; it is measured and cut when it is shown.
    Text(Str),
    Array(usize),
    Object(usize),
}

impl Marker {
    pub(crate) fn of(kind: MarkerKind, value: Option<&Value>) -> Self {
        let seen = match value {
            None => Seen::Absent,
            Some(Value::String(text)) => Seen::Text(text.clone()),
            Some(Value::Array(items)) => Seen::Array(items.len()),
            Some(Value::Object(entries)) => Seen::Object(entries.len()),
            Some(scalar @ (Value::Null | Value::Bool(_) | Value::Number(_))) => Seen::Scalar(scalar.clone()),
        };
        Self { kind, seen }
    }

    pub(crate) fn to_value(&self) -> Value {
        let flag = match self.kind {
            MarkerKind::Read => "__readSummary",
            MarkerKind::Write => "__writeSummary",
        };
        let kind_word = |kind: ValueKind| if kind == ValueKind::Bool { "boolean" } else { kind.as_str() };
        let (type_name, size, preview) = match &self.seen {
            Seen::Absent => ("undefined", None, Some(Value::from("undefined"))),
            Seen::Scalar(Value::Null) => (kind_word(ValueKind::Null), None, None),
            Seen::Scalar(scalar) => (kind_word(scalar.kind()), None, Some(scalar.to_string().into())),
            Seen::Text(text) => (
                kind_word(ValueKind::String),
                Some(utf16::len(text)),
                Some(Value::from(utf16::prefix(text, PREVIEW))),
            ),
            Seen::Array(length) => (kind_word(ValueKind::Array), Some(*length), None),
            Seen::Object(length) => (kind_word(ValueKind::Object), Some(*length), None),
        };
        let fields = [
            Some((flag, Value::from(true))),
            Some(("type", type_name.into())),
            size.map(|size| ("size", size.into())),
            preview.map(|preview| ("preview", preview)),
        ];
        Value::Object(fields.into_iter().flatten().collect())
    }
}

/// The marker stored instead of a value: type, size and a short preview. `None` is a delete.
///
/// ```
/// use footprint::value;
/// use footprint::value::summary::{marker, MarkerKind};
/// assert_eq!(
///     marker(MarkerKind::Read, Some(&value!("tea"))),
///     value!({ "__readSummary": true, "type": "string", "size": 3, "preview": "tea" }),
/// );
/// ```
pub fn marker(kind: MarkerKind, value: Option<&Value>) -> Value {
    Marker::of(kind, value).to_value()
}
