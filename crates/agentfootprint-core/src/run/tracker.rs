//! The checkpoint tracker: the last completed iteration of an agent's turn, and what was going on since (AGT-99).

use std::sync::Mutex;

use footprint::value::{Array, Str};

use super::checkpoint::{FailurePhase, FailurePoint};
use super::context::lock;

/// Follows one agent's turn. Stages report to it directly: it must not depend on who listens to events.
#[derive(Default)]
pub(crate) struct CheckpointTracker(Mutex<Tracked>);

#[derive(Default)]
struct Tracked {
    history: Option<Array>,
    last_completed: u32,
    current: u32,
    bracket: Bracket,
}

#[derive(Default)]
enum Bracket {
    /// Nothing was seen.
    #[default]
    Unseen,
    /// Between model call and tools.
    Between,
    Llm,
    Tool(Str),
}

impl CheckpointTracker {
    /// A model call is about to be made.
    pub(crate) fn llm_started(&self, iteration: u32) {
        let mut tracked = lock(&self.0);
        tracked.current = iteration;
        tracked.bracket = Bracket::Llm;
    }

    /// It answered.
    pub(crate) fn llm_ended(&self) {
        lock(&self.0).bracket = Bracket::Between;
    }

    /// A tool call is about to be dispatched.
    pub(crate) fn tool_started(&self, tool_name: &str) {
        lock(&self.0).bracket = Bracket::Tool(tool_name.into());
    }

    /// It settled.
    pub(crate) fn tool_ended(&self) {
        lock(&self.0).bracket = Bracket::Between;
    }

    /// An iteration closed with this history.
    pub(crate) fn iteration_ended(&self, iteration: u32, history: Array) {
        let mut tracked = lock(&self.0);
        tracked.history = Some(history);
        tracked.last_completed = iteration;
        tracked.bracket = Bracket::Between;
    }

    /// The history and number of the last completed iteration, when there is one to resume from.
    pub(crate) fn completed(&self) -> Option<(u32, Array)> {
        let tracked = lock(&self.0);
        let history = tracked.history.clone()?;
        (!history.is_empty()).then_some((tracked.last_completed, history))
    }

    /// The stage that waits for a model or a tool now.
    pub(crate) fn stage_under_way(&self) -> Option<Str> {
        match &lock(&self.0).bracket {
            Bracket::Unseen | Bracket::Between => None,
            Bracket::Llm => Some(Str::from("call-llm")),
            Bracket::Tool(_) => Some(Str::from("tool-calls")),
        }
    }

    /// Where it stands now.
    pub(crate) fn failure_point(&self) -> FailurePoint {
        let tracked = lock(&self.0);
        let (phase, stage) = match &tracked.bracket {
            Bracket::Unseen => (FailurePhase::Unknown, None),
            Bracket::Between => (FailurePhase::Iteration, None),
            Bracket::Llm => (FailurePhase::Llm, Some(Str::from("call-llm"))),
            Bracket::Tool(name) => (FailurePhase::Tool, Some(name.clone())),
        };
        FailurePoint {
            iteration: tracked.current.max(tracked.last_completed.saturating_add(1)),
            phase,
            stage,
        }
    }
}
