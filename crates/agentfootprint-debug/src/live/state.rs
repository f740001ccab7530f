//! What is under way, by run.

use std::collections::{BTreeMap, HashMap};

use agentfootprint_record::conventions::is_agent_internal;
use agentfootprint_record::events::payload::{
    AgentTurnEnd, AgentTurnStart, StreamLlmEnd, StreamLlmStart, StreamToken, StreamToolEnd, StreamToolStart,
};
use agentfootprint_record::events::{Event, EventMeta, EventName};
use footprint::value::{Str, Value};
use indexmap::IndexMap;

/// A model call under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveLlm {
    /// What it has said so far.
    pub partial: String,
    /// Chunks so far.
    pub tokens: u64,
    /// Its iteration.
    pub iteration: u64,
    /// Who serves it.
    pub provider: Str,
    /// The model.
    pub model: Str,
    /// When it began, Unix milliseconds.
    pub started_at_ms: u64,
    level: String,
}

/// A tool call under way.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveTool {
    /// The tool.
    pub tool_name: Str,
    /// What it was called with.
    pub args: Value,
    /// The call.
    pub tool_call_id: Str,
    /// When it began, Unix milliseconds.
    pub started_at_ms: u64,
    level: String,
}

/// A turn under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveTurn {
    /// What was asked.
    pub user_prompt: Str,
    /// When it began, Unix milliseconds.
    pub started_at_ms: u64,
    level: String,
}

/// What is under way in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveRun {
    llm: IndexMap<String, LiveLlm>,
    tools: IndexMap<Str, LiveTool>,
    turns: BTreeMap<u64, LiveTurn>,
}

impl LiveRun {
    /// Whether a model is at work.
    #[must_use]
    pub fn is_llm_in_flight(&self) -> bool {
        !self.llm.is_empty()
    }

    /// The model call of a step.
    #[must_use]
    pub fn llm(&self, step: &str) -> Option<&LiveLlm> {
        self.llm.get(step)
    }

    /// What the model call of a step has said so far; empty when it is over.
    #[must_use]
    pub fn partial_text(&self, step: &str) -> &str {
        self.llm.get(step).map_or("", |call| &call.partial)
    }

    /// What the newest model call has said so far.
    #[must_use]
    pub fn partial(&self) -> &str {
        self.llm.last().map_or("", |(_, call)| &call.partial)
    }

    /// Whether a tool is at work.
    #[must_use]
    pub fn is_tool_executing(&self) -> bool {
        !self.tools.is_empty()
    }

    /// The tools at work, in order of their start.
    pub fn executing_tools(&self) -> impl Iterator<Item = &LiveTool> {
        self.tools.values()
    }

    /// Whether a turn is under way.
    #[must_use]
    pub fn is_in_turn(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The newest turn under way.
    #[must_use]
    pub fn current_turn_index(&self) -> Option<u32> {
        self.turns.last_key_value().and_then(|(index, _)| u32::try_from(*index).ok())
    }

    /// The turn of an index.
    #[must_use]
    pub fn turn(&self, index: u64) -> Option<&LiveTurn> {
        self.turns.get(&index)
    }

    fn is_idle(&self) -> bool {
        self.llm.is_empty() && self.tools.is_empty() && self.turns.is_empty()
    }

    /// Forgets what lies at a level or below it; at the root that is everything.
    fn clear(&mut self, level: &str) {
        self.llm.retain(|_, call| !within(&call.level, level));
        self.tools.retain(|_, call| !within(&call.level, level));
        self.turns.retain(|_, turn| !within(&turn.level, level));
    }
}

fn within(inner: &str, outer: &str) -> bool {
    outer.is_empty() || inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// The runner an event belongs to: its path without an agent's own machinery.
fn level(meta: &EventMeta) -> String {
    meta.subflow_path().filter(|part| !is_agent_internal(part)).collect::<Vec<_>>().join("/")
}

/// What is under way in every run that is heard, keyed by run: one agent may have many (REC-50).
///
/// ```
/// use agentfootprint_debug::live::LiveState;
/// use agentfootprint_record::events::payload::{ErrorFatal, StreamToolStart};
/// use agentfootprint_record::events::{Event, EventMeta, Moment, RunFacts};
/// use footprint::value;
///
/// let meta = EventMeta::build(Some("tool-calls#9".into()), Moment::default(), &RunFacts::new("run-1-1", ["Agent:a"]));
/// let mut live = LiveState::default();
/// live.hear(&Event::new(StreamToolStart::new("clock", "t1", value!({})), meta));
/// assert!(live.is_tool_executing("run-1-1") && !live.is_tool_executing("run-2-1"));
/// live.run_over("run-1-1"); // the run was dropped
/// assert!(!live.is_tool_executing("run-1-1"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveState {
    runs: HashMap<String, LiveRun>,
}

impl LiveState {
    /// What is under way in a run; `None` when nothing is.
    #[must_use]
    pub fn run(&self, run_id: &str) -> Option<&LiveRun> {
        self.runs.get(run_id)
    }

    /// Runs in which something is under way.
    pub fn runs(&self) -> impl Iterator<Item = &str> {
        self.runs.keys().map(String::as_str)
    }

    /// Whether a model is at work in a run.
    #[must_use]
    pub fn is_llm_in_flight(&self, run_id: &str) -> bool {
        self.run(run_id).is_some_and(LiveRun::is_llm_in_flight)
    }

    /// What the model call of a step has said so far.
    #[must_use]
    pub fn partial_text(&self, run_id: &str, step: &str) -> &str {
        self.run(run_id).map_or("", |run| run.partial_text(step))
    }

    /// What the newest model call of a run has said so far.
    #[must_use]
    pub fn partial_for_run(&self, run_id: &str) -> &str {
        self.run(run_id).map_or("", LiveRun::partial)
    }

    /// Whether a tool is at work in a run.
    #[must_use]
    pub fn is_tool_executing(&self, run_id: &str) -> bool {
        self.run(run_id).is_some_and(LiveRun::is_tool_executing)
    }

    /// The tools at work in a run.
    pub fn executing_tools(&self, run_id: &str) -> impl Iterator<Item = &LiveTool> {
        self.run(run_id).into_iter().flat_map(LiveRun::executing_tools)
    }

    /// Whether a turn is under way in a run.
    #[must_use]
    pub fn is_in_turn(&self, run_id: &str) -> bool {
        self.run(run_id).is_some_and(LiveRun::is_in_turn)
    }

    /// The newest turn under way in a run.
    #[must_use]
    pub fn current_turn_index(&self, run_id: &str) -> Option<u32> {
        self.run(run_id).and_then(LiveRun::current_turn_index)
    }

    /// The run is over, however it ended: nothing of it is under way any more (REC-51).
    pub fn run_over(&mut self, run_id: &str) {
        self.runs.remove(run_id);
    }

    /// Takes an event.
    pub fn hear(&mut self, event: &Event) {
        let run_id = event.meta.run_id.as_str();
        match event.name() {
            Some(EventName::ErrorFatal | EventName::PauseRequest) => self.run_over(run_id),
            Some(
                EventName::AgentTurnStart
                | EventName::StreamLlmStart
                | EventName::StreamToolStart
                | EventName::AgentTurnEnd
                | EventName::StreamLlmEnd
                | EventName::StreamToolEnd
                | EventName::StreamToken,
            ) => {
                let run = self.runs.entry(run_id.to_owned()).or_default();
                take(run, event);
                if run.is_idle() {
                    self.runs.remove(run_id);
                }
            }
            _ => {}
        }
    }
}

fn take(run: &mut LiveRun, event: &Event) {
    let meta = &event.meta;
    let step = || meta.runtime_stage_id.to_string();
    let started_at_ms = meta.wall_clock_ms;
    if let Some(token) = event.of::<StreamToken>() {
        if let Some(call) = run.llm.get_mut(&step()) {
            call.partial.push_str(&token.content);
            call.tokens += 1;
        }
    } else if let Some(start) = event.of::<StreamLlmStart>() {
        let call = LiveLlm {
            partial: String::new(),
            tokens: 0,
            iteration: start.iteration,
            provider: start.provider.clone(),
            model: start.model.clone(),
            started_at_ms,
            level: level(meta),
        };
        // A call that is made again within its step is the newest.
        run.llm.shift_remove(&step());
        run.llm.insert(step(), call);
    } else if event.of::<StreamLlmEnd>().is_some() {
        run.llm.shift_remove(&step());
    } else if let Some(start) = event.of::<StreamToolStart>() {
        let call = LiveTool {
            tool_name: start.tool_name.clone(),
            args: start.args.clone(),
            tool_call_id: start.tool_call_id.clone(),
            started_at_ms,
            level: level(meta),
        };
        run.tools.insert(start.tool_call_id.clone(), call);
    } else if let Some(end) = event.of::<StreamToolEnd>() {
        run.tools.shift_remove(&end.tool_call_id);
    } else if let Some(start) = event.of::<AgentTurnStart>() {
        let turn = LiveTurn { user_prompt: start.user_prompt.clone(), started_at_ms, level: level(meta) };
        run.turns.insert(start.turn_index, turn);
    } else if event.of::<AgentTurnEnd>().is_some() {
        run.clear(&level(meta));
    }
}
