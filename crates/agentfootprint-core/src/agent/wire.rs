//! What receipts say about each message, kept between iterations (AGT-90).
//!
//! A conversation only grows between two calls, except when a window strategy rewrites it, so each message is hashed once.

use agentfootprint_record::text::{
    FILE_SEPARATOR, GROUP_SEPARATOR, RECORD_SEPARATOR, ReceiptHasher, canonical_json,
};
use footprint::value::{Array, Object, Str, Value};

use super::records::continues;

/// The receipt entries of the conversation.
#[derive(Default)]
pub(crate) struct ReceiptEntries {
    source: Array,
    entries: Array,
}

impl ReceiptEntries {
    /// One entry per message, extending what the last call built.
    pub(crate) fn of(&mut self, history: &Array, run_id: &Str) -> Array {
        if !continues(&self.source, history) {
            *self = Self::default();
        }
        for message in history.iter_from(self.source.len()) {
            self.entries.push(entry(message, run_id));
        }
        self.source = history.clone();
        self.entries.clone()
    }
}

/// `{role, hash, key?}` of a message on a receipt; the key is the delivery's.
fn entry(message: &Value, run_id: &Str) -> Value {
    let mut entry = Object::new();
    entry.insert("role", message.get("role").cloned().unwrap_or_default());
    entry.insert("hash", Value::from(message_receipt(message, run_id)));
    Value::from(entry)
}

/// The receipt hash of a message: role, content, tool call id, tool name, calls and thinking blocks (AGT-90).
pub(crate) fn message_receipt(message: &Value, run_id: &str) -> String {
    let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut hash = ReceiptHasher::new(run_id);
    for field in ["role", "content", "toolCallId", "toolName"] {
        hash = hash.text(text(field)).separator(RECORD_SEPARATOR);
    }
    let calls = message.get("toolCalls").and_then(Value::as_array).cloned().unwrap_or_default();
    for (at, call) in calls.iter().enumerate() {
        if at > 0 {
            hash = hash.separator(FILE_SEPARATOR);
        }
        let part = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
        let json = |key: &str| call.get(key).map(canonical_json).unwrap_or_default();
        hash = hash
            .text(part("id"))
            .separator(GROUP_SEPARATOR)
            .text(part("name"))
            .separator(GROUP_SEPARATOR)
            .text(&json("args"))
            .separator(GROUP_SEPARATOR)
            .text(&json("providerMeta"));
    }
    hash = hash.separator(RECORD_SEPARATOR);
    if let Some(blocks) = message.get("thinkingBlocks") {
        hash = hash.text(&canonical_json(blocks));
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    /// Proves AGT-90.
    #[test]
    fn entries_grow_with_the_conversation() {
        let run: Str = "run-1-1".into();
        let mut history: Array = [value!({ "role": "user", "content": "a" })].into_iter().collect();
        let mut entries = ReceiptEntries::default();
        let first = entries.of(&history, &run);
        history.push(value!({ "role": "assistant", "content": "", "toolCalls": [{ "id": "t", "name": "n", "args": {} }] }));
        let second = entries.of(&history, &run);
        assert!(first.is_prefix_of(&second));
        assert_eq!(second, ReceiptEntries::default().of(&history, &run));
    }

    /// Proves AGT-91.
    #[test]
    fn receipts_of_two_runs_cannot_be_joined_by_content() {
        let message = value!({ "role": "user", "content": "a" });
        assert_eq!(message_receipt(&message, "run-1-1"), message_receipt(&message, "run-1-1"));
        assert_ne!(message_receipt(&message, "run-1-1"), message_receipt(&message, "run-1-2"));
    }
}
