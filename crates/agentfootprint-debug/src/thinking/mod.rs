//! The story of an agent's thinking: what it was asked, what it asked its tools, what came back, what it answered (REC §5.5).
//!
//! ```
//! use agentfootprint_debug::thinking::{Step, ThinkingTrace};
//! use agentfootprint_record::recording::RecordedEvent;
//! use footprint::value;
//!
//! let said = |name: &str, payload| RecordedEvent::from(value!({
//!     "type": format!("agentfootprint.{name}"), "payload": payload,
//!     "meta": { "runtimeStageId": "seed#0", "wallClockMs": 5, "runOffsetMs": 0, "compositionPath": ["Agent:desk"],
//!               "subflowPath": [], "runId": "run-1-1" },
//! }));
//! let trace = ThinkingTrace::of(&[said("agent.turn_start", value!({ "turnIndex": 0, "userPrompt": "Where is it?" }))], "user");
//! assert_eq!((trace.task.as_str(), trace.agent.as_str()), ("Where is it?", "desk"));
//! assert!(matches!(trace.steps[0], Step::Prompt { .. }));
//! ```

mod fold;
#[cfg(test)]
mod tests;

use agentfootprint_record::recording::RecordedEvent;
use footprint::value::Value;
use serde::Serialize;

/// What a step cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Milliseconds.
    pub ms: u64,
    /// Tokens read and written.
    pub tokens: u64,
    /// Tokens read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Tokens written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// Tokens read from a cache; absent when the provider does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_cached: Option<u64>,
}

/// A tool the model could have asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolSeen {
    /// Its name.
    pub name: String,
    /// What it says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What a tool's reply is for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplyType {
    /// Something to know.
    Data,
    /// Something to follow.
    Instruction,
    /// Both.
    Both,
}

/// Who spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BrainSource {
    /// The model.
    Model,
    /// The framework, in the model's place.
    Framework,
}

/// What the model does with a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BrainMode {
    /// Thinks about it.
    Reason,
    /// Acts by it.
    Act,
}

/// An answer, long and short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Its first line, at most [`HEADLINE`] characters.
    pub headline: String,
    /// All of it.
    pub text: String,
}

/// Longest headline, in characters.
pub const HEADLINE: usize = 140;

/// One beat of the story. `brain` is what the model said at that moment; empty when it said nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Step {
    /// The agent was asked.
    Prompt {
        /// What it was asked.
        brain: String,
        /// Nothing yet.
        cost: Cost,
    },
    /// It asks a tool.
    Ask {
        /// The call.
        tool: String,
        /// The tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_name: Option<String>,
        /// What it was asked.
        input: Value,
        /// What the model said.
        brain: String,
        /// The model call's cost, at the first ask of its iteration.
        cost: Cost,
        /// What the model thought, when that was recorded.
        #[serde(skip_serializing_if = "Option::is_none")]
        thinking: Option<String>,
        /// What else it could have asked.
        #[serde(skip_serializing_if = "Option::is_none")]
        tools_seen: Option<Vec<ToolSeen>>,
    },
    /// A tool replies.
    Return {
        /// The call.
        tool: String,
        /// The tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_name: Option<String>,
        /// What the reply is for the model.
        reply_type: ReplyType,
        /// The reply.
        output: Value,
        /// What the model made of it; empty, for the record does not say.
        brain: String,
        /// Who spoke in the model's place, when somebody did.
        #[serde(skip_serializing_if = "Option::is_none")]
        brain_source: Option<BrainSource>,
        /// What the tool took.
        cost: Cost,
        /// What the model does with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        brain_mode: Option<BrainMode>,
        /// The skill that was read.
        #[serde(skip_serializing_if = "Option::is_none")]
        skill: Option<String>,
        /// Whether it failed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        error: bool,
    },
    /// It answers.
    Answer {
        /// Whom.
        to: String,
        /// What the model said.
        brain: String,
        /// The answer.
        answer: Answer,
        /// The model call's cost.
        cost: Cost,
        /// Whether the run failed instead.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        error: bool,
        /// What the model thought, when that was recorded.
        #[serde(skip_serializing_if = "Option::is_none")]
        thinking: Option<String>,
        /// What it could have asked instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        tools_seen: Option<Vec<ToolSeen>>,
    },
}

/// The story of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThinkingTrace {
    /// What was asked.
    pub task: String,
    /// A title, when the caller gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The agent.
    pub agent: String,
    /// The model of its first call.
    pub model: String,
    /// Who asked.
    pub asker: String,
    /// What happened, in order.
    pub steps: Vec<Step>,
}

impl ThinkingTrace {
    /// Tells the story of a run's events; `asker` is what to call whoever asked.
    #[must_use]
    pub fn of(events: &[RecordedEvent], asker: &str) -> Self {
        fold::fold(events, asker)
    }
}

/// The first line of a text, cut with an ellipsis.
fn headline(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim_end();
    if line.chars().count() <= HEADLINE {
        return line.to_owned();
    }
    let cut: String = line.chars().take(HEADLINE - 1).collect();
    format!("{}…", cut.trim_end())
}
