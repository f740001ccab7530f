//! A result that was put into the store: what the model reads instead (MEM-136).

use footprint::value::{Object, Str, Value};

use super::shape::{ArtifactMeta, ArtifactRef};
use crate::tools::Tool;

/// The kind a tool's placed result gets: the declared one, else `tool-result/<tool>`.
pub fn placed_result_kind(tool: &Tool) -> Str {
    let declared = tool.declared().result_kind.clone();
    declared.unwrap_or_else(|| format!("tool-result/{}", tool.name()).into())
}

/// The ticket as a result.
pub(crate) fn placed_result(meta: &ArtifactMeta, reason: String) -> Value {
    let mut out = Object::new();
    out.insert("placed", Value::from(true));
    out.insert("ref", Value::from(meta.reference.to_str()));
    out.insert("kind", Value::from(meta.kind.clone()));
    out.insert("mediaType", Value::from(meta.media_type.clone()));
    out.insert("bytes", Value::from(meta.bytes));
    out.insert("reason", Value::from(reason));
    Value::Object(out)
}

/// The reference of a placed result, when the text of a tool message is one: the one recogniser.
///
/// ```
/// use agentfootprint_core::artifacts::is_placed_tool_result;
/// let ticket = r#"{"placed":true,"ref":"art_0123456789abcdefghijKL","kind":"k","mediaType":"m","bytes":1,"reason":"…"}"#;
/// assert_eq!(is_placed_tool_result(ticket).unwrap().as_str(), "art_0123456789abcdefghijKL");
/// assert!(is_placed_tool_result(r#"{"placed":true,"ref":"A-17"}"#).is_none());
/// ```
pub fn is_placed_tool_result(text: &str) -> Option<ArtifactRef> {
    // Cheap first: almost no result is a ticket.
    if !text.starts_with(r#"{"placed":true,"#) {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let says = |key: &str| value.get(key).and_then(serde_json::Value::as_str);
    (says("kind").is_some() && says("mediaType").is_some())
        .then(|| says("ref").and_then(ArtifactRef::parse))?
}
