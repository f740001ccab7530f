//! A run as a reader tells it: who asked whom, who forwarded, who answered (REC §4.2).
//!
//! | file | idea |
//! |---|---|
//! | `told` | the events of one level, with the paths of what they belong to |
//! | `root` | what kind of runner stands at that level |
//! | `react` | the steps of a model call or an agent |
//! | `composed` | the steps of a composition |
//!
//! What a composition is, its own events say; forks and deciders of the engine never do (REC-46). A composition shows its own
//! steps and hides those of its members until one drills into a member by its path.
//!
//! ```
//! use agentfootprint_debug::steps::RunSteps;
//! use agentfootprint_record::recording::RecordedEvent;
//! use footprint::value;
//!
//! let said = |kind: &str, payload| RecordedEvent::from(value!({
//!     "type": format!("agentfootprint.stream.{kind}"), "payload": payload,
//!     "meta": { "runtimeStageId": "call-llm#1", "wallClockMs": 5, "runOffsetMs": 0, "compositionPath": ["LLMCall:ask"],
//!               "subflowPath": [], "runId": "run-1-1" },
//! }));
//! let steps = RunSteps::of(&[
//!     said("llm_start", value!({ "iteration": 1, "model": "m" })),
//!     said("llm_end", value!({ "iteration": 1, "content": "hi", "toolCallCount": 0 })),
//! ]);
//! assert_eq!(steps.labels(), ["user→llm", "llm→user"]);
//! ```

mod composed;
mod react;
mod root;
#[cfg(test)]
mod tests;
mod told;

use agentfootprint_record::recording::RecordedEvent;
use footprint::value::Value;
use serde::Serialize;

pub use root::Root;
use told::Told;

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// A member is asked, forwards, or answers.
    Sequential,
    /// A Parallel starts its branches.
    Fork,
    /// It joins them.
    Merge,
    /// A Conditional chose.
    Decide,
    /// A pass of a Loop.
    Iteration,
    /// The end of a Loop.
    IterationExit,
    /// One arrow between user, model and tools.
    React,
}

/// How one gets from one actor to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// One after the other.
    Next,
    /// Into a branch.
    ForkBranch,
    /// Into the chosen member.
    DecisionBranch,
    /// Into another pass.
    LoopIteration,
    /// Between user, model and tools.
    ActorArrow,
}

/// From one actor to another: `actor:user`, `stage:llm:<id>` or `stage:tool:<id>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transition {
    /// Whence.
    pub from: String,
    /// Whither.
    pub to: String,
    /// How.
    pub via: Via,
    /// What stands at the arrow: a branch's name, a tool call's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// Where in the record a step stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Anchor {
    /// The step of the event.
    pub runtime_stage_id: String,
    /// The level one drills into to see more.
    pub subflow_path: Vec<String>,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStep {
    /// From 1, at every level anew.
    pub seq: u64,
    /// What it is.
    pub kind: StepKind,
    /// Who passes to whom.
    pub transitions: Vec<Transition>,
    /// The step of the event that made it.
    pub runtime_stage_id: String,
    /// Where to look.
    pub anchor: Anchor,
    /// In words.
    pub label: String,
    /// When, Unix milliseconds.
    pub ts_ms: u64,
    /// Further facts of the kind: a rationale, a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// The steps of one level of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSteps {
    /// What stands at this level.
    pub root: Root,
    /// The level: mount ids, outermost first.
    pub path: Vec<String>,
    /// The members one can drill into, in order of appearance, as mount ids.
    pub members: Vec<String>,
    /// The steps, in order.
    pub steps: Vec<RunStep>,
}

impl RunSteps {
    /// The steps of a run, at its own level.
    #[must_use]
    pub fn of(events: &[RecordedEvent]) -> Self {
        Self::at(events, &[] as &[&str])
    }

    /// The steps inside a member: `["step-a"]`. A level that nothing was said at has no steps.
    #[must_use]
    pub fn at<S: AsRef<str>>(events: &[RecordedEvent], path: &[S]) -> Self {
        let told = Told::at(events, path);
        let root = root::of(&told);
        let mut steps = match root {
            Root::Member => {
                // A composition of one: what its only member did is what happened.
                let inner: Vec<&str> =
                    told.path.iter().map(String::as_str).chain(told.only_member()).collect();
                return Self::at(events, &inner);
            }
            Root::Leaf => react::steps(&told),
            Root::Parallel => composed::parallel(&told),
            Root::Conditional => composed::conditional(&told),
            Root::Loop => composed::looping(&told),
            Root::Sequence => composed::sequence(&told),
        };
        for (step, seq) in steps.iter_mut().zip(1..) {
            step.seq = seq;
        }
        let members = told.members.iter().map(|member| member.id.clone()).collect();
        Self { root, path: told.path, members, steps }
    }

    /// What each step says.
    #[must_use]
    pub fn labels(&self) -> Vec<&str> {
        self.steps.iter().map(|step| step.label.as_str()).collect()
    }
}

/// The id of whoever asks.
pub(crate) const USER: &str = "actor:user";

fn llm(id: &str) -> String {
    format!("stage:llm:{id}")
}

fn tool(id: &str) -> String {
    format!("stage:tool:{id}")
}
