//! What everything that runs has in common (AGT §2).

use std::sync::Arc;

use footprint::chart::Chart;
use footprint::observe::Recorder;
use footprint::pause::FlowchartCheckpoint;
use footprint::value::{Str, Value};

use super::builder::RunBuilder;
use super::error::RunRefusal;
use super::handle::RunHandle;
use super::input::RunInput;
use super::options::RunOptions;
use crate::events::EventHub;

/// What a composition needs of a member.
pub trait ChartRunner: Send + Sync + 'static {
    /// The runner's id.
    fn id(&self) -> &str;

    /// Its name.
    fn name(&self) -> &str;

    /// Its chart: built once, the same one for the life of the value (AGT-1).
    fn spec(&self) -> Chart;

    /// How it is drawn.
    fn ui_group(&self) -> UiGroup;
}

/// Anything with `run(message) → answer` that owns a chart.
pub trait Runner: ChartRunner {
    /// What it answers.
    type Output: Send + 'static;

    /// Starts a run. Nothing of it happens before the handle is awaited.
    ///
    /// # Errors
    /// [`RunRefusal`] when the run cannot begin; then no run id exists and nothing was said.
    fn start(&self, input: RunInput, options: RunOptions) -> Result<RunHandle<Self::Output>, RunRefusal>;

    /// Goes on from a pause with an answer.
    ///
    /// # Errors
    /// [`RunRefusal`] when the answer does not fit the question, or the checkpoint does not fit the chart.
    fn resume(
        &self,
        checkpoint: FlowchartCheckpoint,
        answer: Option<Value>,
        options: RunOptions,
    ) -> Result<RunHandle<Self::Output>, RunRefusal>;

    /// Where all its runs are listened to.
    fn events(&self) -> &EventHub;

    /// Observes every later run. Attaching an id again replaces what was attached under it.
    fn attach(&self, recorder: Arc<dyn Recorder>);

    /// Declares a run: awaiting it runs it, [`start`](RunBuilder::start) gives a handle instead.
    fn run(&self, input: impl Into<RunInput>) -> RunBuilder<Self>
    where
        Self: Clone + Sized,
    {
        RunBuilder::new(self.clone(), input.into())
    }
}

/// How a runner is drawn: its kind, its members, and what else a viewer shows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UiGroup {
    /// `Agent`, `LLMCall`, `Sequence`, `Parallel`, `Conditional` or `Loop`.
    pub kind: &'static str,
    /// The runner's id.
    pub id: Str,
    /// Its name.
    pub name: Str,
    /// Its members, by member id.
    pub members: Vec<(Str, UiGroup)>,
    /// Further facts of the kind.
    pub extra: Option<Value>,
}

impl UiGroup {
    pub(crate) fn new(kind: &'static str, id: Str, name: Str, extra: Option<Value>) -> Self {
        Self { kind, id, name, members: Vec::new(), extra }
    }
}
