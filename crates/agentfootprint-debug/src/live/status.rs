//! The one line to show to whoever waits (REC-52…55).

use agentfootprint_record::events::payload::{
    PauseRequest, StreamLlmEnd, StreamLlmStart, StreamToken, StreamToolEnd, StreamToolStart,
};
use agentfootprint_record::events::{Event, EventName};
use footprint::value::{Str, Value};
use indexmap::IndexMap;

use super::progress::progress_message_of;
use super::templates::{Templates, render};

/// What a run is doing, as one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It waits for an answer of a person.
    Paused {
        /// What is asked.
        question: String,
    },
    /// A tool is at work.
    Tool {
        /// The tool.
        name: Str,
        /// What it last reported, fit to be shown.
        message: Option<String>,
        /// How many reports it made.
        reports: u64,
    },
    /// A model has begun to answer.
    Streaming {
        /// What it has said so far.
        partial: String,
    },
    /// A model is at work and has said nothing yet.
    Idle,
    /// Nothing is under way.
    None,
}

impl Status {
    /// The word of the state: `paused`, `tool`, `streaming`, `idle` or `none`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Paused { .. } => "paused",
            Self::Tool { .. } => "tool",
            Self::Streaming { .. } => "streaming",
            Self::Idle => "idle",
            Self::None => "none",
        }
    }

    /// The line, by the first key of the ladder that the map has; `None` when it has none of them (REC-53).
    #[must_use]
    pub fn line(&self, templates: &Templates) -> Option<String> {
        let find = |keys: &[&str]| keys.iter().find_map(|key| templates.get(*key)).map(String::as_str);
        match self {
            Self::None => None,
            Self::Idle => Some(render(find(&["idle"])?, |_| None)),
            Self::Streaming { partial } => {
                Some(render(find(&["streaming"])?, |name| (name == "partial").then_some(partial.as_str())))
            }
            Self::Paused { question } => {
                Some(render(find(&["paused"])?, |name| (name == "question").then_some(question.as_str())))
            }
            Self::Tool { name, message, reports } => {
                let own = format!("tool.{name}");
                let (own_progress, own_generic) =
                    (format!("tool.{name}.progress"), format!("tool.{name}.progress.generic"));
                let template = match (message, reports) {
                    (_, 0) => find(&[&own, "tool"]),
                    (Some(_), _) => find(&[&own_progress, "tool.progress", &own, "tool"]),
                    (None, _) => find(&[&own_generic, "tool.progress.generic", &own, "tool"]),
                }?;
                let count = reports.to_string();
                Some(render(template, |place| match place {
                    "toolName" => Some(&**name),
                    "progressMessage" => message.as_deref(),
                    "progressCount" => Some(&count),
                    _ => None,
                }))
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Tool {
    name: Str,
    message: Option<String>,
    reports: u64,
    /// When it last moved, on the fold's own count: its newest report, else its start.
    reported: Option<u64>,
    started: u64,
}

/// Folds the events of **one run** into its status. It keeps what is under way and no events.
///
/// ```
/// use agentfootprint_debug::live::{StatusFold, default_templates};
/// use agentfootprint_record::events::payload::{StreamLlmStart, StreamToken};
/// use agentfootprint_record::events::{Event, EventMeta, Moment, RunFacts};
///
/// let meta = || EventMeta::build(Some("call-llm#1".into()), Moment::default(), &RunFacts::new("run-1-1", ["Agent:a"]));
/// let (mut status, texts) = (StatusFold::default(), default_templates());
/// status.hear(&Event::new(StreamLlmStart::new(1, "mock", "m", 0, 1, 0), meta()));
/// assert_eq!(status.status().line(&texts).as_deref(), Some("Thinking…"));
/// status.hear(&Event::new(StreamToken::new(1, 0, "Hel"), meta()));
/// assert_eq!(status.status().line(&texts).as_deref(), Some("Hel"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct StatusFold {
    question: Option<String>,
    tools: IndexMap<Str, Tool>,
    /// Model calls under way, by step.
    calls: IndexMap<String, String>,
    count: u64,
}

impl StatusFold {
    /// The status now: an open pause before a tool, a tool before a model (REC §5.2).
    #[must_use]
    pub fn status(&self) -> Status {
        if let Some(question) = &self.question {
            return Status::Paused { question: question.clone() };
        }
        // The newest report wins; without any, the newest start (REC-52).
        if let Some(tool) = self.tools.values().max_by_key(|tool| (tool.reported, tool.started)) {
            let (name, message, reports) = (tool.name.clone(), tool.message.clone(), tool.reports);
            return Status::Tool { name, message, reports };
        }
        // A call that speaks before one that does not.
        match self.calls.values().rev().find(|partial| !partial.is_empty()) {
            Some(partial) => Status::Streaming { partial: partial.clone() },
            None if self.calls.is_empty() => Status::None,
            None => Status::Idle,
        }
    }

    /// The run is over: nothing is under way.
    pub fn run_over(&mut self) {
        *self = Self::default();
    }

    /// Takes an event of the run.
    pub fn hear(&mut self, event: &Event) {
        self.count += 1;
        let step = || event.meta.runtime_stage_id.to_string();
        match event.name_str() {
            "agentfootprint.stream.tool_progress" => return self.report(&event.kind.payload()),
            "agentfootprint.pause.resume" => return self.question = None,
            _ => {}
        }
        if let Some(token) = event.of::<StreamToken>() {
            if let Some(partial) = self.calls.get_mut(&step()) {
                partial.push_str(&token.content);
            }
        } else if event.of::<StreamLlmStart>().is_some() {
            self.calls.insert(step(), String::new());
        } else if event.of::<StreamLlmEnd>().is_some() {
            self.calls.shift_remove(&step());
        } else if let Some(start) = event.of::<StreamToolStart>() {
            let tool = Tool {
                name: start.tool_name.clone(),
                message: None,
                reports: 0,
                reported: None,
                started: self.count,
            };
            self.tools.insert(start.tool_call_id.clone(), tool);
        } else if let Some(end) = event.of::<StreamToolEnd>() {
            self.tools.shift_remove(&end.tool_call_id);
        } else if let Some(pause) = event.of::<PauseRequest>() {
            self.run_over();
            self.question = Some(question(pause));
        } else if event.name() == Some(EventName::ErrorFatal)
            || (event.name() == Some(EventName::AgentTurnEnd) && is_root(event))
        {
            self.run_over();
        }
    }

    fn report(&mut self, payload: &Value) {
        let id = payload.get("toolCallId").and_then(Value::as_str).unwrap_or_default();
        let tool = match (id, self.tools.len()) {
            ("", 1) => self.tools.first_mut().map(|(_, tool)| tool),
            ("", _) => None,
            (id, _) => self.tools.get_mut(id),
        };
        if let Some(tool) = tool {
            tool.reports += 1;
            tool.reported = Some(self.count);
            tool.message = payload.get("payload").and_then(progress_message_of);
        }
    }
}

/// Whether a turn is the run's own, not the one of a member.
fn is_root(event: &Event) -> bool {
    event.meta.subflow_path().all(agentfootprint_record::conventions::is_agent_internal)
}

/// What the person is asked: the question's own words, else the reason of the pause.
fn question(pause: &PauseRequest) -> String {
    let asked = ["question", "message", "prompt"]
        .into_iter()
        .find_map(|key| pause.question_payload.get(key).and_then(Value::as_str))
        .or_else(|| pause.question_payload.as_str());
    asked.unwrap_or(&pause.reason).to_owned()
}
