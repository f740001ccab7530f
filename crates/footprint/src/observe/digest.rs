//! A bounded digest of a value (OBS-125), and events whose values are digests.

use super::Payload;
use crate::value::utf16;
use crate::value::{Array, Object, Value, ValueKind};

const MAX_DEPTH: usize = 3;
const MAX_ENTRIES: usize = 16;
const MAX_NODES: usize = 128;
const MAX_PREVIEW: usize = 80;

/// The digest of a value: `{__payloadSummary: true, type, size?, preview?, fields?, items?, truncated?,
/// depthClipped?}`. Recursion is bounded by the depth limit.
///
/// ```
/// use footprint::observe::digest;
/// use footprint::value;
/// let shown = digest(&value!({ "a": [1, 2, 3] }));
/// assert_eq!(shown["size"], value!(1));
/// assert_eq!(shown["fields"]["a"]["size"], value!(3));
/// ```
pub fn digest(value: &Value) -> Value {
    let mut nodes = 0;
    let mut out = Object::new();
    out.insert("__payloadSummary", Value::from(true));
    for (key, part) in &node(value, 0, &mut nodes) {
        out.insert(key.clone(), part.clone());
    }
    Value::Object(out)
}

fn node(value: &Value, depth: usize, nodes: &mut usize) -> Object {
    *nodes += 1;
    let mut out = Object::new();
    let kind = match value.kind() {
        ValueKind::Bool => "boolean",
        kind => kind.as_str(),
    };
    out.insert("type", Value::from(kind));
    match value {
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) => {
            out.insert("preview", Value::from(value.to_string()));
        }
        Value::String(text) => {
            out.insert("size", Value::from(utf16::len(text) as u64));
            out.insert("preview", Value::from(utf16::prefix(text, MAX_PREVIEW)));
        }
        Value::Array(items) => {
            out.insert("size", Value::from(items.len() as u64));
            if depth >= MAX_DEPTH {
                out.insert("depthClipped", Value::from(true));
                return out;
            }
            let mut shown = Vec::new();
            for item in items.iter().take(MAX_ENTRIES) {
                if *nodes >= MAX_NODES {
                    break;
                }
                shown.push(Value::Object(node(item, depth + 1, nodes)));
            }
            if shown.len() < items.len() {
                out.insert("truncated", Value::from(true));
            }
            out.insert("items", Value::Array(shown.into_iter().collect::<Array>()));
        }
        Value::Object(entries) => {
            out.insert("size", Value::from(entries.len() as u64));
            if depth >= MAX_DEPTH {
                out.insert("depthClipped", Value::from(true));
                return out;
            }
            let mut shown = Object::new();
            for (key, item) in entries.iter().take(MAX_ENTRIES) {
                if *nodes >= MAX_NODES {
                    break;
                }
                shown.insert(key.clone(), Value::Object(node(item, depth + 1, nodes)));
            }
            if shown.len() < entries.len() {
                out.insert("truncated", Value::from(true));
            }
            out.insert("fields", Value::Object(shown));
        }
    }
    out
}

impl Payload {
    /// The same event with digests instead of values.
    pub(super) fn digested(&self) -> Self {
        let shorten = |value: &mut Option<Value>| {
            if let Some(value) = value {
                *value = digest(value);
            }
        };
        let mut out = self.clone();
        match &mut out {
            Self::Read(e) => shorten(&mut e.value),
            Self::Write(e) => shorten(&mut e.value),
            Self::Commit(e) => {
                e.mutations = e
                    .mutations
                    .iter()
                    .cloned()
                    .map(|mut mutation| {
                        shorten(&mut mutation.value);
                        mutation
                    })
                    .collect();
            }
            Self::ScopePause(e) => shorten(&mut e.pause_data),
            Self::FlowPause(e) => shorten(&mut e.pause_data),
            Self::SubflowEntry(e) => shorten(&mut e.mapped_input),
            Self::SubflowExit(e) => shorten(&mut e.output_state),
            Self::RunStart(e) => shorten(&mut e.payload),
            Self::RunEnd(e) => shorten(&mut e.payload),
            Self::Emit(e) => e.payload = digest(&e.payload),
            _ => {}
        }
        out
    }
}
