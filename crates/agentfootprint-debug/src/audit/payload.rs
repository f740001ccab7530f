//! Payloads of audit records: bounded, with content replaced by markers (REC-78).

use footprint::value::{Array, Object, Value, utf16};

/// How much of a payload a record keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadMode {
    /// Content as markers such as `[42 chars]`, everything else cut to bounds.
    #[default]
    Bounded,
    /// Payloads as they are.
    Full,
}

/// What stands for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Keys,
    Type,
    Chars,
    Messages,
    Blocks,
    Summaries,
}

/// Fields that carry content, by event.
pub(super) const CONTENT: &[(&str, &str, Marker)] = &[
    ("agent.turn_start", "userPrompt", Marker::Chars),
    ("agent.turn_end", "finalContent", Marker::Chars),
    ("agent.iteration_end", "history", Marker::Messages),
    ("agent.output_schema_validation_failed", "rawOutput", Marker::Chars),
    ("stream.llm_end", "content", Marker::Chars),
    ("stream.token", "content", Marker::Chars),
    ("stream.thinking_delta", "content", Marker::Chars),
    ("stream.thinking_end", "blocks", Marker::Blocks),
    ("stream.tool_start", "args", Marker::Keys),
    ("stream.tool_end", "result", Marker::Type),
    ("context.injected", "rawContent", Marker::Chars),
    ("context.injected", "contentSummary", Marker::Chars),
    ("context.slot_composed", "droppedSummaries", Marker::Summaries),
    ("composition.merge_end", "resultSummary", Marker::Chars),
    ("memory.attached", "contentSummary", Marker::Chars),
    ("memory.written", "contentSummary", Marker::Chars),
    ("pause.request", "questionPayload", Marker::Type),
    ("pause.resume", "resumeInput", Marker::Type),
    ("risk.flagged", "evidence", Marker::Chars),
    ("eval.score", "evidence", Marker::Chars),
    ("memory.strategy_applied", "scoreEvidence", Marker::Type),
];

/// Strings that carry content wherever they stand.
const FAILURES: [&str; 3] = ["error", "errorMessage", "lastError"];
const MAX_TEXT: usize = 256;
const MAX_ITEMS: usize = 32;
const MAX_DEPTH: usize = 8;

impl PayloadMode {
    /// The word in the genesis record.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bounded => "bounded",
            Self::Full => "full",
        }
    }

    pub(super) fn of(self, event: &str, payload: &Value) -> Value {
        let Value::Object(members) = payload else {
            return if self == Self::Full { payload.clone() } else { bounded(payload, 0) };
        };
        if self == Self::Full {
            return payload.clone();
        }
        let name = event.strip_prefix("agentfootprint.").unwrap_or(event);
        let mut out = Object::new();
        for (key, value) in members.iter() {
            let listed = CONTENT.iter().find(|(of, field, _)| *of == name && **field == **key);
            let shown = match listed {
                Some((.., marker)) => marked(*marker, value),
                None if FAILURES.contains(&&**key) && value.as_str().is_some() => {
                    marked(Marker::Chars, value)
                }
                None => bounded(value, 1),
            };
            out.insert(key.clone(), shown);
        }
        Value::Object(out)
    }
}

fn marked(marker: Marker, value: &Value) -> Value {
    let count = value.as_array().map_or(0, Array::len);
    Value::from(match (marker, value) {
        (Marker::Keys, Value::Object(members)) => {
            let keys: Vec<String> = members.keys().take(MAX_ITEMS).map(|key| cut(key)).collect();
            let more = members.len().saturating_sub(MAX_ITEMS);
            let more = if more > 0 { format!(", …+{more} more") } else { String::new() };
            format!("[keys: {}{more}]", keys.join(", "))
        }
        (Marker::Chars, Value::String(text)) => format!("[{} chars]", utf16::len(text)),
        (Marker::Messages, Value::Array(_)) => format!("[{count} messages]"),
        (Marker::Blocks, Value::Array(_)) => format!("[{count} blocks]"),
        (Marker::Summaries, Value::Array(_)) => format!("[{count} summaries]"),
        (_, other) => format!("[type: {}]", other.kind()),
    })
}

fn cut(text: &str) -> String {
    if utf16::len(text) <= MAX_TEXT {
        text.to_owned()
    } else {
        format!("{}…", utf16::prefix(text, MAX_TEXT - 1))
    }
}

fn bounded(value: &Value, depth: usize) -> Value {
    match value {
        Value::String(text) => Value::from(cut(text)),
        Value::Array(_) | Value::Object(_) if depth > MAX_DEPTH => Value::from("[truncated: depth]"),
        Value::Array(items) => {
            let mut out: Array = items.iter().take(MAX_ITEMS).map(|item| bounded(item, depth + 1)).collect();
            if items.len() > MAX_ITEMS {
                out.push(Value::from(format!("…+{} more", items.len() - MAX_ITEMS)));
            }
            Value::Array(out)
        }
        Value::Object(members) => {
            let entry = |(key, value): (&footprint::value::Str, &Value)| {
                let failure = FAILURES.contains(&&**key) && value.as_str().is_some();
                (key.clone(), if failure { marked(Marker::Chars, value) } else { bounded(value, depth + 1) })
            };
            Value::Object(members.iter().map(entry).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use agentfootprint_record::events::EventName;
    use footprint::value;

    use super::*;

    /// Proves REC-78.
    #[test]
    fn the_table_names_registered_events_and_their_fields() {
        for (event, field, _) in CONTENT {
            let name = EventName::parse(&format!("agentfootprint.{event}"))
                .unwrap_or_else(|| panic!("no event {event}"));
            assert!(name.fields().iter().any(|known| known.name == *field), "{event} has no {field}");
        }
        // What is named like content is content, wherever the registry has it.
        let suspicious = [
            "content",
            "rawContent",
            "contentSummary",
            "history",
            "userPrompt",
            "finalContent",
            "rawOutput",
            "questionPayload",
            "resumeInput",
            "resultSummary",
            "droppedSummaries",
        ];
        for name in EventName::ALL {
            for field in name.fields().iter().filter(|field| suspicious.contains(&field.name)) {
                let short = name.as_str().trim_start_matches("agentfootprint.");
                assert!(
                    CONTENT.iter().any(|(event, listed, _)| *event == short && *listed == field.name),
                    "{short}.{} is not in the table",
                    field.name
                );
            }
        }
    }

    /// Proves REC-78.
    #[test]
    fn everything_else_is_bounded() {
        let long = "é".repeat(300);
        let payload = value!({ "note": long, "list": (0..40).collect::<Vec<i32>>(), "error": "boom", "nested": { "lastError": "deep" } });
        let shown = PayloadMode::Bounded.of("agentfootprint.agent.anything", &payload);
        assert_eq!(shown["note"], format!("{}…", "é".repeat(255)).as_str());
        assert_eq!(shown["list"][32], "…+8 more");
        assert_eq!(shown["error"], "[4 chars]");
        assert_eq!(shown["nested"]["lastError"], "[4 chars]");
        let mut deep = Value::from(1);
        for _ in 0..12 {
            deep = value!([deep]);
        }
        assert!(
            PayloadMode::Bounded
                .of("x", &value!({ "deep": deep.clone() }))
                .to_string()
                .contains("[truncated: depth]")
        );
        assert_eq!(PayloadMode::Full.of("x", &deep), deep);
        let start = PayloadMode::Bounded
            .of("agentfootprint.stream.tool_start", &value!({ "args": { "a": 1, "b": "s" } }));
        assert_eq!(start["args"], "[keys: a, b]");
        let end =
            PayloadMode::Bounded.of("agentfootprint.stream.tool_end", &value!({ "result": { "a": 1 } }));
        assert_eq!(end["result"], "[type: object]");
    }
}
