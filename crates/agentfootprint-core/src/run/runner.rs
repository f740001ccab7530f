//! What everything that runs has in common (AGT §2).

use std::fmt;
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
use crate::agent::AgentCore;
use crate::events::EventHub;
use crate::record::{RecordBuilder, RecordOptions};

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

    /// What a run that mounts this runner has to provide. A runner of your own leaves the default.
    fn needs(&self) -> RunNeeds {
        RunNeeds::default()
    }
}

impl<T: ChartRunner + ?Sized> ChartRunner for Arc<T> {
    fn id(&self) -> &str {
        (**self).id()
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn spec(&self) -> Chart {
        (**self).spec()
    }

    fn ui_group(&self) -> UiGroup {
        (**self).ui_group()
    }

    fn needs(&self) -> RunNeeds {
        (**self).needs()
    }
}

/// What a run has to provide for the runners its chart mounts: passes for their loops, and what each agent among them
/// wants checked before the run and told after it.
#[derive(Clone, Default)]
pub struct RunNeeds {
    pub(crate) agents: Vec<Arc<AgentCore>>,
    pub(crate) passes: u64,
}

impl RunNeeds {
    pub(crate) fn of_agent(core: Arc<AgentCore>) -> Self {
        let passes = u64::from(core.options.max_iterations) * 2 + 10;
        Self { agents: vec![core], passes }
    }

    /// A runner whose loops pass at most this often.
    #[must_use]
    pub fn passes(passes: u64) -> Self {
        Self { agents: Vec::new(), passes }
    }

    /// Together with what another member needs.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.passes = self.passes.max(other.passes);
        for agent in other.agents {
            if !self.agents.iter().any(|known| Arc::ptr_eq(known, &agent)) {
                self.agents.push(agent);
            }
        }
        self
    }
}

impl fmt::Debug for RunNeeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunNeeds").field("agents", &self.agents.len()).field("passes", &self.passes).finish()
    }
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

    /// Declares a run that will be recorded. Plain [`run`](Self::run) does not record.
    fn record(&self, input: impl Into<RunInput>) -> RecordBuilder<Self::Output>
    where
        Self: Clone + Sized,
    {
        self.run(input).record(RecordOptions::default())
    }

    /// Goes on from a pause and records the new leg. As [`resume`](Self::resume).
    fn record_resume(
        &self,
        checkpoint: FlowchartCheckpoint,
        answer: Option<Value>,
    ) -> RecordBuilder<Self::Output>
    where
        Self: Clone + Sized,
    {
        RecordBuilder::of_resume(self.clone(), checkpoint, answer)
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
