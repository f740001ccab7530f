//! Where the arguments of tool calls came from: values that an earlier result held (REC §5.6).
//!
//! ```
//! use agentfootprint_debug::lineage::{LineageOptions, lineage};
//! use agentfootprint_record::recording::RecordedEvent;
//! use footprint::value;
//!
//! let said = |name: &str, payload| RecordedEvent::from(value!({
//!     "type": format!("agentfootprint.stream.{name}"), "payload": payload, "meta": { "runtimeStageId": "tool-calls#1" },
//! }));
//! let edges = lineage(&[
//!     said("tool_start", value!({ "toolCallId": "t1", "toolName": "find", "args": {} })),
//!     said("tool_end", value!({ "toolCallId": "t1", "durationMs": 1, "result": { "order": "A-1001" } })),
//!     said("llm_start", value!({ "iteration": 2 })),
//!     said("tool_start", value!({ "toolCallId": "t2", "toolName": "ship", "args": { "id": "A-1001" } })),
//! ], LineageOptions::default());
//! assert_eq!((edges[0].from.as_str(), edges[0].to.as_str(), edges[0].value.as_str()), ("t1", "t2", "A-1001"));
//! ```

use std::collections::HashMap;

use agentfootprint_record::recording::RecordedEvent;
use footprint::value::Value;
use serde::Serialize;

use crate::calls::{is, text};

/// What counts as the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineageOptions {
    /// Shortest text, in characters, that says where it came from.
    pub min_value_length: usize,
    /// Whether numbers are matched too: many numbers are equal by chance.
    pub match_numbers: bool,
    /// How deep arguments and results are looked into.
    pub max_depth: usize,
}

impl Default for LineageOptions {
    fn default() -> Self {
        Self { min_value_length: 4, match_numbers: false, max_depth: 6 }
    }
}

/// An argument of one call that an earlier result held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineageEdge {
    /// The call that returned it.
    pub from: String,
    /// The call that was given it.
    pub to: String,
    /// The value.
    pub value: String,
}

/// The edges of a run: only results of earlier iterations count, and of several the last.
#[must_use]
pub fn lineage(events: &[RecordedEvent], options: LineageOptions) -> Vec<LineageEdge> {
    // What earlier iterations returned, and what this one has returned so far.
    let (mut known, mut fresh): (HashMap<String, String>, Vec<(String, String)>) = Default::default();
    let mut edges = Vec::new();
    for event in events {
        if is(event, "stream.llm_start") {
            known.extend(fresh.drain(..));
        } else if is(event, "stream.tool_end") {
            let payload = event.payload();
            let mut found = Vec::new();
            payload.get("result").inspect(|result| leaves(result, options, options.max_depth, &mut found));
            fresh.extend(found.into_iter().map(|value| (value, text(&payload, "toolCallId"))));
        } else if is(event, "stream.tool_start") {
            let payload = event.payload();
            let mut given = Vec::new();
            payload.get("args").inspect(|args| leaves(args, options, options.max_depth, &mut given));
            for value in given {
                if let Some(from) = known.get(&value) {
                    let edge = LineageEdge { from: from.clone(), to: text(&payload, "toolCallId"), value };
                    if !edges.contains(&edge) {
                        edges.push(edge);
                    }
                }
            }
        }
    }
    edges
}

/// The values of a tree; a text that is JSON itself is looked into.
fn leaves(value: &Value, options: LineageOptions, depth: usize, out: &mut Vec<String>) {
    let Some(deeper) = depth.checked_sub(1) else { return };
    match value {
        Value::Array(items) => items.iter().for_each(|item| leaves(item, options, deeper, out)),
        Value::Object(object) => object.values().for_each(|item| leaves(item, options, deeper, out)),
        Value::Number(number) if options.match_numbers => out.push(number.to_string()),
        Value::String(string) => {
            let trimmed = string.trim();
            let inner = trimmed.starts_with(['{', '[']).then(|| serde_json::from_str::<Value>(trimmed).ok());
            if let Some(inner) = inner.flatten() {
                leaves(&inner, options, deeper, out);
            } else if trimmed.chars().count() >= options.min_value_length {
                out.push(trimmed.to_owned());
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    fn said(name: &str, payload: Value) -> RecordedEvent {
        RecordedEvent::from(value!({
            "type": format!("agentfootprint.stream.{name}"), "payload": payload, "meta": { "runtimeStageId": "x#1" },
        }))
    }

    fn call(id: &str, args: Value) -> RecordedEvent {
        said("tool_start", value!({ "toolCallId": id, "toolName": "t", "args": args }))
    }

    fn result(id: &str, result: Value) -> RecordedEvent {
        said("tool_end", value!({ "toolCallId": id, "durationMs": 1, "result": result }))
    }

    fn ask() -> RecordedEvent {
        said("llm_start", value!({ "iteration": 1 }))
    }

    /// Only earlier iterations, the last producer, texts long enough, and JSON inside a text is read.
    #[test]
    fn an_argument_is_traced_to_the_last_earlier_result_that_held_it() {
        let events = [
            ask(),
            call("t1", value!({})),
            result("t1", value!({ "order": "A-1001", "short": "abc", "n": 4711 })),
            call("t2", value!({ "id": "A-1001" })), // same iteration: no edge
            result("t2", Value::from(r#"{"order":"A-1001","box":["B-77"]}"#)),
            ask(),
            call("t3", value!({ "id": "A-1001", "box": ["B-77"], "s": "abc", "n": 4711, "again": "A-1001" })),
        ];
        let edges = lineage(&events, LineageOptions::default());
        let edge =
            |from: &str, value: &str| LineageEdge { from: from.into(), to: "t3".into(), value: value.into() };
        assert_eq!(edges, [edge("t2", "A-1001"), edge("t2", "B-77")]);
        let loose = LineageOptions { min_value_length: 3, match_numbers: true, max_depth: 6 };
        assert_eq!(
            lineage(&events, loose),
            [edge("t2", "A-1001"), edge("t2", "B-77"), edge("t1", "abc"), edge("t1", "4711")]
        );
        let shallow = LineageOptions { max_depth: 2, ..LineageOptions::default() };
        assert_eq!(lineage(&events, shallow), [edge("t1", "A-1001")]);
    }
}
