//! `conversation.json`: who said what, turn by turn.

use agentfootprint_record::recording::Recording;
use footprint::value::{Object, Value};

use super::ReportSource;
use crate::calls::{is, text};

pub(super) fn document(source: &ReportSource, chosen: &[usize]) -> Value {
    let rows = chosen.iter().filter_map(|at| {
        let opened = source.conversations.get(*at)?;
        let mut row = Object::new();
        row.insert("id", Value::from(format!("conv-{}", at + 1)));
        let session = opened.header().and_then(|header| header.run().ok()).and_then(|run| run.session_id);
        if let Some(session) = session {
            row.insert("sessionId", Value::from(session));
        }
        let (turns, marked) = turns(opened.recording());
        row.insert("turns", turns.into());
        if !marked {
            row.insert("derived", Value::from("no-turn-markers"));
        }
        Some(Value::Object(row))
    });
    let mut out = Object::new();
    out.insert("conversations", rows.collect::<Vec<_>>().into());
    Value::Object(out)
}

#[derive(Default)]
struct Turn {
    head: Object,
    steps: Vec<Value>,
}

impl Turn {
    fn finish(mut self, index: usize) -> Value {
        if !self.head.contains_key("index") {
            self.head.insert("index", index.into());
        }
        self.head.insert("steps", self.steps.into());
        Value::Object(self.head)
    }
}

/// The turns, and whether events mark them.
pub(super) fn turns(recording: &Recording) -> (Vec<Value>, bool) {
    let mut turns: Vec<Turn> = Vec::new();
    let mut marked = false;
    for event in recording.events() {
        let payload = event.payload();
        let take = |out: &mut Object, from: &str, to: &str| {
            if let Some(value) = payload.get(from) {
                out.insert(to, value.clone());
            }
        };
        if is(event, "agent.turn_start") {
            marked = true;
            let mut turn = Turn::default();
            take(&mut turn.head, "turnIndex", "index");
            take(&mut turn.head, "userPrompt", "user");
            turns.push(turn);
            continue;
        }
        let interesting = ["stream.llm_end", "stream.tool_start", "stream.tool_end", "agent.turn_end"];
        if !interesting.iter().any(|name| is(event, name)) {
            continue;
        }
        if turns.is_empty() {
            turns.push(Turn::default());
        }
        let Some(turn) = turns.last_mut() else { continue };
        let mut step = Object::new();
        if is(event, "stream.llm_end") {
            step.insert("kind", Value::from("assistant"));
            take(&mut step, "content", "content");
            take(&mut step, "stopReason", "stopReason");
            take(&mut step, "toolCallCount", "toolCallCount");
        } else if is(event, "stream.tool_start") {
            step.insert("kind", Value::from("tool"));
            take(&mut step, "toolName", "name");
            take(&mut step, "toolCallId", "toolCallId");
            take(&mut step, "args", "args");
        } else if is(event, "stream.tool_end") {
            let id = text(&payload, "toolCallId");
            let asked = turn.steps.iter_mut().rev().find(|step| text(step, "toolCallId") == id);
            if let Some(Value::Object(asked)) = asked {
                take(asked, "result", "result");
                take(asked, "error", "error");
            }
            continue;
        } else {
            take(&mut turn.head, "finalContent", "final");
            continue;
        }
        turn.steps.push(Value::Object(step));
    }
    (turns.into_iter().enumerate().map(|(at, turn)| turn.finish(at)).collect(), marked)
}
