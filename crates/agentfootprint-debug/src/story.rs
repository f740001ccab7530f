//! What happened in a run, told in order, every line with its address.

use std::fmt;

use agentfootprint_record::recording::{OpenRecording, RecordedEvent, Recording};
use footprint::query::TraceQuery;
use footprint::value::{Object, Value};

use crate::calls::{is, text};
use crate::plain::{excerpt, plain};

/// Longest quotation of a text in a line.
const QUOTED: usize = 160;

/// One line of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Address of the step, empty for remarks about the recording.
    pub at: String,
    /// How deep it belongs: 0 for the run, 1 for what happens in an iteration.
    pub depth: usize,
    /// What happened.
    pub what: String,
}

/// The story of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Story {
    /// What the recording cannot say, as stable words.
    pub limits: Vec<String>,
    /// What happened, in order.
    pub lines: Vec<Line>,
    /// Lines left out by [`Story::bounded`].
    pub omitted: usize,
}

/// Tells what happened: from the typed events when there are any, else from the narrative, else from the commits.
pub fn explain(opened: &OpenRecording) -> Story {
    let recording = opened.recording();
    let mut lines = of_events(recording);
    if lines.is_empty() {
        lines = of_log(recording);
    }
    Story { limits: opened.limits().iter().map(ToString::to_string).collect(), lines, omitted: 0 }
}

impl Story {
    /// At most `limit` lines; the first and the last ones stay, and how many are left out is said.
    #[must_use]
    pub fn bounded(mut self, limit: usize) -> Self {
        if self.lines.len() > limit {
            let tail = limit / 4;
            let head = limit - tail;
            self.omitted = self.lines.len() - head - tail;
            self.lines.drain(head..head + self.omitted);
            self.lines.insert(
                head,
                Line {
                    at: String::new(),
                    depth: 0,
                    what: format!("… {} lines left out; raise the limit to see them …", self.omitted),
                },
            );
        }
        self
    }

    /// The same as JSON.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert(
            "limits",
            self.limits.iter().map(|limit| Value::from(limit.as_str())).collect::<Vec<_>>().into(),
        );
        let lines = self.lines.iter().map(|line| {
            let mut row = Object::new();
            row.insert("at", Value::from(line.at.as_str()));
            row.insert("depth", Value::from(line.depth as u64));
            row.insert("what", Value::from(line.what.as_str()));
            Value::Object(row)
        });
        out.insert("lines", lines.collect::<Vec<_>>().into());
        out.insert("omitted", Value::from(self.omitted as u64));
        Value::Object(out)
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.limits.is_empty() {
            writeln!(f, "this recording cannot say everything: {}", plain(&self.limits.join(", ")))?;
        }
        for line in &self.lines {
            let indent = "  ".repeat(line.depth);
            if line.at.is_empty() {
                writeln!(f, "{indent}{}", plain(&line.what))?;
            } else {
                writeln!(f, "{indent}{}  [{}]", plain(&line.what), plain(&line.at))?;
            }
        }
        Ok(())
    }
}

fn of_events(recording: &Recording) -> Vec<Line> {
    recording.events().iter().filter_map(|event| line_of(event, recording)).collect()
}

fn line_of(event: &RecordedEvent, recording: &Recording) -> Option<Line> {
    let payload = event.payload();
    let quoted = |key: &str| excerpt(&text(&payload, key), QUOTED);
    let number = |key: &str| payload.get(key).and_then(Value::as_u64).unwrap_or_default();
    let name = event.name_str().strip_prefix("agentfootprint.")?;
    let (depth, what) = match name {
        "agent.run_configured" => {
            let model = payload
                .get("llm")
                .map(|llm| format!("{} {}", text(llm, "provider"), text(llm, "model")))
                .unwrap_or_default();
            (
                0,
                format!(
                    "agent `{}` starts ({model}, {})",
                    text(&payload, "agentId"),
                    text(&payload, "reactMode")
                ),
            )
        }
        "agent.turn_start" => (0, format!("the user says: \"{}\"", quoted("userPrompt"))),
        "context.slot_composed" => return None,
        "context.injected" if text(&payload, "slot") == "tools" || text(&payload, "source") == "user" => {
            return None;
        }
        "context.injected" => {
            let id = payload
                .get("sourceId")
                .and_then(Value::as_str)
                .map(|id| format!(" `{id}`"))
                .unwrap_or_default();
            (
                2,
                format!(
                    "context: {}{id} in {}: \"{}\"",
                    text(&payload, "source"),
                    text(&payload, "slot"),
                    quoted("contentSummary")
                ),
            )
        }
        "stream.llm_start" => {
            let (messages, tools) = (number("messagesCount"), number("toolsCount"));
            (
                1,
                format!(
                    "iteration {}: the model is asked with {messages} messages and {tools} tools",
                    number("iteration")
                ),
            )
        }
        "stream.llm_end" => {
            let asks = match number("toolCallCount") {
                0 => String::new(),
                count => format!(" and asks for {count} tool call(s)"),
            };
            (2, format!("the model says \"{}\"{asks} ({})", quoted("content"), tokens(&payload)))
        }
        "stream.tool_start" => {
            let args = payload.get("args").map(ToString::to_string).unwrap_or_default();
            (
                2,
                format!(
                    "tool `{}` is called with {} ({})",
                    text(&payload, "toolName"),
                    excerpt(&args, QUOTED),
                    text(&payload, "toolCallId")
                ),
            )
        }
        "stream.tool_end" => (2, tool_end(&payload, recording)),
        "agent.route_decided" => {
            (2, format!("route: {} ({})", text(&payload, "chosen"), quoted("rationale")))
        }
        "agent.budget_exhausted" => {
            (2, format!("the budget is spent: {} ({})", text(&payload, "reason"), text(&payload, "action")))
        }
        "agent.turn_end" => (0, format!("the answer: \"{}\"", quoted("finalContent"))),
        "cost.limit_hit" => {
            (2, format!("cost limit: {} {}", text(&payload, "kind"), text(&payload, "action")))
        }
        "error.fatal" => (0, format!("the run fails at {}: {}", text(&payload, "stage"), quoted("error"))),
        "integrity.context_error" => (2, format!("finding: {}", quoted("message"))),
        "pause.request" => (0, format!("the run pauses: {}", quoted("reason"))),
        "pause.resume" => (0, "the run goes on with an answer".to_owned()),
        "composition.enter" => (0, format!("{} `{}` begins", text(&payload, "kind"), text(&payload, "id"))),
        "composition.exit" => (
            0,
            format!(
                "{} `{}` ends: {}",
                text(&payload, "kind"),
                text(&payload, "id"),
                text(&payload, "status")
            ),
        ),
        "permission.check" => (
            2,
            format!(
                "permission {} for {}: {}",
                text(&payload, "capability"),
                text(&payload, "target"),
                text(&payload, "result")
            ),
        ),
        "validation.args_invalid" => {
            (2, format!("arguments of `{}` do not fit its schema", text(&payload, "toolName")))
        }
        _ => return None,
    };
    Some(Line { at: event.runtime_stage_id().unwrap_or_default().into_owned(), depth, what })
}

fn tokens(payload: &Value) -> String {
    let count = |key: &str| payload.walk(&["usage", key]).and_then(Value::as_u64);
    match (count("input"), count("output")) {
        (Some(input), Some(output)) => format!("{input} tokens in, {output} out"),
        _ => "tokens not measured".to_owned(),
    }
}

fn tool_end(payload: &Value, recording: &Recording) -> String {
    let id = text(payload, "toolCallId");
    let named = recording.events().iter().find(|event| {
        is(event, "stream.tool_start")
            && event.payload().get("toolCallId").and_then(Value::as_str) == Some(&id)
    });
    let name = named.map(|event| text(&event.payload(), "toolName")).unwrap_or_default();
    let result = match payload.get("result") {
        None => "nothing".to_owned(),
        Some(result) => result.as_str().map_or_else(|| result.to_string(), str::to_owned),
    };
    let verb = if payload.get("error").and_then(Value::as_bool).unwrap_or_default() {
        "fails with"
    } else {
        "returns"
    };
    format!("tool `{name}` {verb} {} ({id})", excerpt(&result, QUOTED))
}

/// The narrative when it is in the recording, else one line per commit.
fn of_log(recording: &Recording) -> Vec<Line> {
    let query = TraceQuery::new(recording.snapshot.clone());
    if let Some(entries) = query.narrative() {
        let told = entries.iter().map(|entry| Line {
            at: entry.runtime_stage_id.as_ref().map(ToString::to_string).unwrap_or_default(),
            depth: entry.depth as usize,
            what: entry.text.clone(),
        });
        return told.collect();
    }
    let mut lines = Vec::new();
    for bundle in query.root().log().iter() {
        let rows: Vec<String> =
            bundle.rows.iter().map(|row| format!("{} {}", row.verb.as_str(), row.path)).collect();
        let what = if rows.is_empty() {
            "changes nothing".to_owned()
        } else {
            format!("writes: {}", rows.join(", "))
        };
        lines.push(Line {
            at: bundle.runtime_stage_id.to_string(),
            depth: 0,
            what: format!("{} {what}", bundle.stage),
        });
    }
    for (step, error) in query.overview().errors {
        lines.push(Line { at: step.to_string(), depth: 0, what: format!("fails: {error}") });
    }
    lines
}
