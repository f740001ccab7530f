//! How the story is worded: what each kind of entry knows, and the trait that may reword it (OBS-82).

use crate::decide::{DecisionEvidence, SelectionEvidence};
use crate::error::StructuredError;
use crate::observe::EventCx;
use crate::value::{Str, Value};

/// A renderer's answer for one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Render {
    /// These words.
    Text(String),
    /// No entry.
    Omit,
    /// The default words.
    Default,
}

/// Kind of a state operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// A tracked read.
    Read,
    /// A write.
    Write,
    /// A merge.
    Update,
    /// A removal.
    Delete,
    /// One mapped input of a subflow (a `set`).
    Input,
}

/// Facts of a `stage` entry.
#[derive(Clone, Debug)]
pub struct StageText<'a> {
    /// Stage name.
    pub name: &'a str,
    /// Description, when declared; it replaces the name.
    pub description: Option<&'a str>,
    /// Number of this headline in its flow, from 1.
    pub number: u32,
    /// Which repetition this is; absent on the first visit.
    pub pass: Option<u64>,
    /// Whether numbers are wanted.
    pub numbered: bool,
}

/// Facts of a `step` entry.
#[derive(Clone, Debug)]
pub struct OpText<'a> {
    /// What was done.
    pub kind: OpKind,
    /// To which key; absent for a read of the whole state.
    pub key: Option<&'a str>,
    /// The value summary, when values are wanted.
    pub summary: Option<&'a str>,
    /// The value, in its served form.
    pub value: Option<&'a Value>,
    /// Number among the step's buffered items; absent for mapped inputs.
    pub number: Option<u32>,
    /// Whether numbers are wanted.
    pub numbered: bool,
}

/// Facts of a `condition` entry.
#[derive(Clone, Debug)]
pub struct DecisionText<'a> {
    /// The decider's name.
    pub decider: &'a str,
    /// The chosen branch's name.
    pub chosen: &'a str,
    /// Whether the declared default took over for an id that is no branch.
    pub fell_back: bool,
    /// The decider's description.
    pub description: Option<&'a str>,
    /// Free text given by the decider.
    pub rationale: Option<&'a str>,
    /// How it was decided.
    pub evidence: Option<&'a DecisionEvidence>,
}

/// Facts of a `fork` entry.
#[derive(Clone, Debug)]
pub struct ForkText<'a> {
    /// Name of the fork, selector or for-each.
    pub parent: &'a str,
    /// Names of the children.
    pub children: &'a [Str],
}

/// Facts of a `selector` entry.
#[derive(Clone, Debug)]
pub struct SelectedText<'a> {
    /// The selector's name.
    pub parent: &'a str,
    /// Names of the selected branches.
    pub selected: &'a [Str],
    /// Number of declared branches.
    pub total: usize,
    /// How they were selected.
    pub evidence: Option<&'a SelectionEvidence>,
}

/// Facts of a `subflow` entry.
#[derive(Clone, Debug)]
pub struct SubflowText<'a> {
    /// The mount's name.
    pub name: &'a str,
    /// Description, on entry.
    pub description: Option<&'a str>,
    /// Entered or left.
    pub direction: super::Direction,
}

/// Facts of a `loop` entry.
#[derive(Clone, Debug)]
pub struct LoopText<'a> {
    /// Name of the target.
    pub target: &'a str,
    /// Description of the target.
    pub description: Option<&'a str>,
    /// Which pass, from 1.
    pub iteration: u64,
}

/// Facts of a `break` entry.
#[derive(Clone, Debug)]
pub struct BreakText<'a> {
    /// Where the chart stopped.
    pub stage: &'a str,
    /// Why.
    pub reason: Option<&'a str>,
    /// The subflow an inner stop came from.
    pub from_subflow: Option<&'a str>,
}

/// Facts of a `retry` entry.
#[derive(Clone, Debug)]
pub struct RetryText<'a> {
    /// The stage.
    pub stage: &'a str,
    /// The failed attempt, from 1.
    pub attempt: u32,
    /// Attempts allowed.
    pub max_attempts: u32,
    /// What it failed with.
    pub message: &'a str,
    /// Wait before the next attempt.
    pub delay_ms: u64,
}

/// Facts of an `error` entry.
#[derive(Clone, Debug)]
pub struct ErrorText<'a> {
    /// The stage.
    pub stage: &'a str,
    /// `<name>: <message>`.
    pub message: &'a str,
    /// The structured form, with validation issues.
    pub error: &'a StructuredError,
}

/// Facts of an `emit` entry.
#[derive(Clone, Debug)]
pub struct EmitText<'a> {
    /// Event name.
    pub name: &'a str,
    /// Payload summary, when values are wanted.
    pub summary: Option<&'a str>,
    /// The payload.
    pub payload: &'a Value,
}

/// Facts of a `pause` entry.
#[derive(Clone, Debug)]
pub struct PauseText<'a> {
    /// The stage that asks.
    pub stage: &'a str,
    /// The question.
    pub data: Option<&'a Value>,
}

/// Facts of a `resume` entry.
#[derive(Clone, Debug)]
pub struct ResumeText<'a> {
    /// The stage that goes on.
    pub stage: &'a str,
    /// Whether an answer was given.
    pub has_input: bool,
}

/// Rewords the narrative. Every method falls back to the default words; a renderer that panics yields the default words too, and the
/// failure is counted.
#[allow(unused_variables)]
pub trait Renderer: Send + Sync + 'static {
    /// A step's headline.
    fn render_stage(&self, cx: &EventCx<'_>, facts: &StageText<'_>) -> Render {
        Render::Default
    }
    /// A read, write, update, delete or mapped input.
    fn render_op(&self, cx: &EventCx<'_>, facts: &OpText<'_>) -> Render {
        Render::Default
    }
    /// A decision.
    fn render_decision(&self, cx: &EventCx<'_>, facts: &DecisionText<'_>) -> Render {
        Render::Default
    }
    /// Children start.
    fn render_fork(&self, cx: &EventCx<'_>, facts: &ForkText<'_>) -> Render {
        Render::Default
    }
    /// A selection.
    fn render_selected(&self, cx: &EventCx<'_>, facts: &SelectedText<'_>) -> Render {
        Render::Default
    }
    /// A subflow is entered or left.
    fn render_subflow(&self, cx: &EventCx<'_>, facts: &SubflowText<'_>) -> Render {
        Render::Default
    }
    /// A back edge is taken.
    fn render_loop(&self, cx: &EventCx<'_>, facts: &LoopText<'_>) -> Render {
        Render::Default
    }
    /// A stage stopped its chart.
    fn render_break(&self, cx: &EventCx<'_>, facts: &BreakText<'_>) -> Render {
        Render::Default
    }
    /// A failed attempt that will be retried.
    fn render_retry(&self, cx: &EventCx<'_>, facts: &RetryText<'_>) -> Render {
        Render::Default
    }
    /// A stage failed.
    fn render_error(&self, cx: &EventCx<'_>, facts: &ErrorText<'_>) -> Render {
        Render::Default
    }
    /// Something the author emitted.
    fn render_emit(&self, cx: &EventCx<'_>, facts: &EmitText<'_>) -> Render {
        Render::Default
    }
    /// The run suspends.
    fn render_pause(&self, cx: &EventCx<'_>, facts: &PauseText<'_>) -> Render {
        Render::Default
    }
    /// The run goes on.
    fn render_resume(&self, cx: &EventCx<'_>, facts: &ResumeText<'_>) -> Render {
        Render::Default
    }
}
