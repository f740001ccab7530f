//! One tool call, joined from four sources by its id (`inspect_tool_call`, REC-90).

use footprint::ids::CommitIdx;
use footprint::query::StateKey;
use footprint::value::Value;
use indexmap::IndexMap;

use super::answer::Answer;
use super::args::Args;
use super::{TraceTools, near};
use crate::calls::{is, text};
use crate::plain::excerpt;

const ARGS: usize = 800;
const RESULT: usize = 400;

/// How a tool call ended, as far as the record says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolOutcome {
    /// It returned.
    Ok,
    /// It failed.
    Error,
    /// It was not allowed to run.
    Denied,
    /// It waits for a person.
    Paused,
    /// Nothing says.
    #[default]
    Unknown,
}

impl ToolOutcome {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Paused => "paused",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Debug, Default)]
struct Call {
    name: String,
    /// As the model wrote them.
    proposed: Option<Value>,
    /// As the tool was started with.
    started: Option<Value>,
    result: Option<Value>,
    delivered: Option<String>,
    duration_ms: Option<u64>,
    failed: bool,
    ended: bool,
    denied: Option<String>,
    paused: bool,
    ran_at: Option<String>,
    told: Vec<String>,
    decisions: Vec<Value>,
}

impl Call {
    fn outcome(&self) -> ToolOutcome {
        if self.denied.is_some() {
            ToolOutcome::Denied
        } else if self.ended {
            if self.failed { ToolOutcome::Error } else { ToolOutcome::Ok }
        } else if self.paused {
            ToolOutcome::Paused
        } else {
            ToolOutcome::Unknown
        }
    }
}

/// All tool calls of the run, in the order they are met: events first, then the conversation.
#[derive(Debug)]
pub(super) struct ToolCalls(IndexMap<String, Call>);

impl ToolCalls {
    pub(super) fn of(tools: &TraceTools) -> Self {
        let mut calls = Self(IndexMap::new());
        calls.read_events(tools);
        for place in tools.places().all() {
            let view = place.view();
            let Some(last) = view.len().checked_sub(1).map(CommitIdx) else { continue };
            let value = |key: &str| {
                let key = StateKey::key(key).ok()?;
                let at = view.value_at(&key, last).ok()?;
                Some(tools.hidden.mask(&key, at.value.value()?))
            };
            if let Some(Value::Array(history)) = value("history") {
                history.iter().for_each(|message| calls.read_message(message));
            }
            if let Some(Value::Array(ledger)) = value("middlewareDecisions").filter(|_| place.mount.is_none())
            {
                ledger.iter().for_each(|row| calls.read_decision(row));
            }
            if let Some(Value::String(id)) = value("pausedToolCallId").filter(|_| place.mount.is_none())
                && let Some(call) = calls.0.get_mut(&*id)
            {
                call.paused = true;
            }
        }
        calls
    }

    fn call(&mut self, id: String) -> &mut Call {
        self.0.entry(id).or_default()
    }

    fn read_events(&mut self, tools: &TraceTools) {
        let mut latest: IndexMap<(String, String), String> = IndexMap::new();
        for event in tools.opened.recording().events() {
            let payload = event.payload();
            let at = event.runtime_stage_id().unwrap_or_default().into_owned();
            let id = text(&payload, "toolCallId");
            if is(event, "stream.tool_start") {
                latest.insert((at.clone(), text(&payload, "toolName")), id.clone());
                let call = self.call(id);
                call.name = text(&payload, "toolName");
                call.started = payload.get("args").cloned();
                call.ran_at = Some(at);
            } else if is(event, "stream.tool_end") {
                let call = self.call(id);
                call.ended = true;
                call.failed = payload.get("error").and_then(Value::as_bool) == Some(true);
                call.result = payload.get("result").cloned();
                call.duration_ms = payload.get("durationMs").and_then(Value::as_u64);
                let status = text(&payload, "status");
                if status == "denied" {
                    call.denied.get_or_insert_with(|| "its status is denied".to_owned());
                }
                call.ran_at.get_or_insert(at);
            } else if is(event, "permission.check") {
                let result = text(&payload, "result");
                let target = (at, text(&payload, "target"));
                if let Some(call) = latest.get(&target).and_then(|id| self.0.get_mut(id)) {
                    let why = ["rationale", "reason"].map(|key| text(&payload, key)).concat();
                    call.told.push(format!(
                        "permission {result}: rule {} {}",
                        text(&payload, "policyRuleId"),
                        excerpt(&why, 160)
                    ));
                    if result == "deny" || result == "halt" {
                        call.denied = Some(format!("permission {result}: {}", excerpt(&why, 160)));
                    }
                }
            } else if is(event, "validation.args_invalid") {
                let issues =
                    payload.get("issues").map(|issues| excerpt(&issues.to_string(), 300)).unwrap_or_default();
                self.call(id).told.push(format!("arguments failed their schema: {issues}"));
            } else if is(event, "checkin.request") {
                let call = self.call(id);
                call.paused = true;
                call.told.push("it asked a person before it ran".to_owned());
            } else if is(event, "checkin.decision") {
                let approved = payload.get("approved").and_then(Value::as_bool) == Some(true);
                let call = self.call(id);
                let by = excerpt(&text(&payload, "by"), 60);
                call.told.push(format!("{} by {by}", if approved { "approved" } else { "declined" }));
                if !approved {
                    call.denied = Some(format!("declined by {by}"));
                }
            } else if is(event, "pause.request") {
                let asked =
                    payload.get("questionPayload").map(|asked| text(asked, "toolCallId")).unwrap_or_default();
                if let Some(call) = self.0.get_mut(&asked) {
                    call.paused = true;
                    call.told.push("the run paused for it".to_owned());
                }
            }
        }
    }

    fn read_message(&mut self, message: &Value) {
        if let Some(asked) = message.get("toolCalls").and_then(Value::as_array) {
            for asked in asked.iter() {
                let id = text(asked, "id");
                if id.is_empty() {
                    continue;
                }
                let call = self.call(id);
                call.name = text(asked, "name");
                call.proposed = asked.get("args").cloned();
            }
        }
        if text(message, "role") == "tool" {
            let id = text(message, "toolCallId");
            if let Some(call) = self.0.get_mut(&id) {
                call.delivered = Some(text(message, "content"));
            }
        }
    }

    fn read_decision(&mut self, row: &Value) {
        let Some(call) = self.0.get_mut(&text(row, "toolCallId")) else { return };
        if text(row, "moment") == "before-tool" && text(row, "outcome") == "deny" {
            call.denied =
                Some(format!("middleware {}: {}", text(row, "middleware"), excerpt(&text(row, "why"), 160)));
        }
        call.decisions.push(row.clone());
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    pub(super) fn name_of(&self, id: &str) -> String {
        self.0.get(id).map(|call| call.name.clone()).unwrap_or_default()
    }

    /// Calls that were not allowed to run: id, tool, step and why.
    pub(super) fn refused(&self) -> impl Iterator<Item = (&str, &str, &str, &str)> {
        self.0.iter().filter_map(|(id, call)| {
            let why = call.denied.as_deref()?;
            Some((id.as_str(), call.name.as_str(), call.ran_at.as_deref().unwrap_or_default(), why))
        })
    }
}

pub(super) fn answer(tools: &TraceTools, args: &Args) -> Answer {
    let id = args.required("toolCallId");
    let Some(call) = tools.calls().0.get(id) else { return near::no_call(tools, id) };
    let took = call.duration_ms.map(|ms| format!(", {ms} ms")).unwrap_or_default();
    let mut answer = Answer::new(format!(
        "Call `{}` of {}: {}{took}",
        excerpt(id, 120),
        excerpt(&call.name, 80),
        call.outcome().word()
    ));
    if let Some(why) = &call.denied {
        answer.head(format!("not executed: {why}"));
    }
    match &call.ran_at {
        Some(step) => answer.head(format!("at step {}", excerpt(step, 120))),
        None => answer.warn("no event says where it ran"),
    }
    if tools.opened.recording().events.is_none() {
        answer.warn("the recording has no events: outcome, duration and what really ran are not known");
    } else if call.outcome() == ToolOutcome::Unknown {
        answer.warn("no event says how it ended");
    }
    let changed =
        call.decisions.iter().filter(|row| row.get("changed").and_then(Value::as_bool) == Some(true));
    let rewritten = changed
        .filter(|row| text(row, "moment") == "before-tool")
        .filter_map(|row| row.get("after"))
        .next_back();
    let ran = rewritten.or(call.started.as_ref());
    let shown = |value: &Value, max: usize| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let text = tools.hidden.scrub(&text);
        let cut = excerpt(&text, max);
        let length = footprint::value::utf16::len(&text);
        if length > max { format!("{cut} ({length} characters)") } else { cut }
    };
    answer.section("arguments");
    match (&call.proposed, ran) {
        (Some(proposed), Some(ran)) if proposed != ran => {
            answer.long_line(format!("  proposed by the model: {}", shown(proposed, ARGS)));
            answer.long_line(format!("  what ran:              {}", shown(ran, ARGS)));
        }
        (Some(args), _) | (None, Some(args)) => answer.long_line(format!("  {}", shown(args, ARGS))),
        (None, None) => answer.line("  not on record"),
    }
    if call.proposed.is_none() {
        answer.warn("the conversation on record does not hold the model's request, so arguments as proposed are not known");
    }
    answer.list(
        "on the way",
        12,
        call.told.iter().cloned().chain(call.decisions.iter().map(|row| {
            format!(
                "middleware {} {}: {} {}",
                text(row, "middleware"),
                text(row, "moment"),
                text(row, "outcome"),
                excerpt(&text(row, "why"), 160)
            )
        })),
    );
    answer.section("result");
    match (&call.result, &call.delivered) {
        (Some(result), Some(delivered)) => {
            answer.long_line(format!("  {}", shown(result, RESULT)));
            let same =
                result.as_str().map_or_else(|| result.to_string() == *delivered, |text| text == delivered);
            if !same {
                answer.long_line(format!("  the model read: {}", shown(&Value::from(delivered), RESULT)));
            }
        }
        (Some(result), None) => {
            answer.long_line(format!("  {}", shown(result, RESULT)));
            answer.warn("the result is not in the conversation on record");
        }
        (None, Some(delivered)) => {
            answer.long_line(format!("  the model read: {}", shown(&Value::from(delivered), RESULT)))
        }
        (None, None) => answer.line("  none on record"),
    }
    answer.next("trace_node on its step; inspect_tool_run when the tool is a chart");
    answer
}
