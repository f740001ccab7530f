//! What everything that runs has in common (AGT §2).

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use agentfootprint_record::events::{CustomEvent, ReservedEventNameError};
use footprint::chart::Chart;
use footprint::clock::{Clock as _, SystemClock};
use footprint::observe::{DrainReport, Recorder};
use footprint::pause::FlowchartCheckpoint;
use footprint::value::{Str, Value};

use super::builder::RunBuilder;
use super::error::RunRefusal;
use super::handle::RunHandle;
use super::input::RunInput;
use super::options::RunOptions;
use crate::agent::AgentCore;
use crate::events::EventHub;
use crate::observe::{
    self, Attachment, Enable, Observers, SessionSelector, ShutdownOptions, ShutdownReport, Which,
};
use crate::record::{RecordBuilder, RecordOptions};
use crate::tools::CloseReport;

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

    /// How it is drawn by a translator; nothing is kept of it.
    fn ui_group_with(&self, translator: &UiTranslator) -> Value {
        self.ui_group().translate(translator)
    }

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

    /// What watches all its runs.
    fn observers(&self) -> &Observers;

    /// Observes every later run with one recorder, until the attachment is dropped. Attaching an id again replaces what was
    /// attached under it (AGT-6).
    fn attach(&self, recorder: Arc<dyn Recorder>) -> Attachment {
        self.observers().attach(recorder)
    }

    /// Observes every later run with a recorder of its own.
    fn attach_per_run(&self, make: impl Fn(&Str) -> Arc<dyn Recorder> + Send + Sync + 'static) -> Attachment
    where
        Self: Sized,
    {
        self.observers().attach_per_run(make)
    }

    /// Publishes a consumer's event that belongs to no run; with nobody listening it is gone (AGT-7).
    ///
    /// # Errors
    /// [`ReservedEventNameError`] when the name is the library's.
    fn emit(&self, event: CustomEvent) -> Result<(), ReservedEventNameError> {
        self.events().emit(event, SystemClock::new().now_ms())
    }

    /// The grouped door to exporters, bills and viewers (AGT-8).
    fn enable(&self) -> Enable<'_> {
        Enable::new(self.events(), self.observers())
    }

    /// Delivers what deferred observers of finished runs still hold, at most this long; `pending: 0` means that nothing is left.
    fn drain_observers(&self, timeout: Duration) -> impl Future<Output = DrainReport> + Send
    where
        Self: Sized,
    {
        let observers = self.observers().clone();
        async move { observe::drain(&observers, timeout).await }
    }

    /// Closes the tool sessions of one session, or of all sessions, of every agent in this runner. Each cleanup runs within its
    /// agent's teardown timeout; what fails is in the report and on the runner's events, never an error.
    fn close_tool_sessions(
        &self,
        which: impl Into<SessionSelector>,
    ) -> impl Future<Output = CloseReport> + Send
    where
        Self: Sized,
    {
        let (agents, hub, which) =
            (self.needs().agents, self.events().clone(), Which::Selected(which.into()));
        async move { observe::close_sessions(&agents, &hub, &which).await }
    }

    /// Flushes every strategy and deferred observer, closes every tool session of whatever scope, and then, when asked to, stops
    /// the strategies. Calls at the same time share one pass; the runner stays usable (AGT-10).
    fn shutdown(&self, options: ShutdownOptions) -> impl Future<Output = ShutdownReport> + Send
    where
        Self: Sized,
    {
        observe::shut_down(self.observers().clone(), self.needs().agents, self.events().clone(), options)
    }

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
    /// What a translator made of this group, once its parent's translator looks at it.
    pub translated: Option<Value>,
    translator: Option<UiTranslator>,
}

/// Turns a group into what a viewer of your own draws. It sees complete metadata: every member is already translated.
#[derive(Clone)]
pub struct UiTranslator(Arc<dyn Fn(&UiGroup) -> Value + Send + Sync>);

impl UiTranslator {
    /// A translator.
    pub fn new(translate: impl Fn(&UiGroup) -> Value + Send + Sync + 'static) -> Self {
        Self(Arc::new(translate))
    }
}

impl PartialEq for UiTranslator {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for UiTranslator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UiTranslator")
    }
}

/// A member that is drawn by a translator of its own, whatever its parent's is (AGT-14); see [`translated`].
#[derive(Clone, Debug)]
pub struct Translated<R> {
    runner: R,
    translator: UiTranslator,
}

/// Gives a member of a composition a translator of its own.
///
/// ```
/// # use agentfootprint_core::llm::*;
/// # struct Echo;
/// # #[async_trait::async_trait]
/// # impl LlmProvider for Echo {
/// #     fn name(&self) -> &str { "echo" }
/// #     fn capabilities(&self, _: &str) -> Capabilities { Capabilities::default() }
/// #     async fn complete(&self, _: &LlmRequest, _: &CallCx) -> Result<LlmResponse, LlmError> { Ok(LlmResponse::text("")) }
/// # }
/// use agentfootprint_core::compose::{LlmCall, Sequence};
/// use agentfootprint_core::run::{ChartRunner as _, UiTranslator, translated};
/// use footprint::value::Value;
///
/// let call = LlmCall::builder(Echo, "echo-1").build()?;
/// let boxed = UiTranslator::new(|group| Value::from(format!("[{}]", group.id)));
/// let flow = Sequence::builder("flow").step("a", call.clone()).step("b", translated(call, boxed)).build()?;
/// let drawn = flow.ui_group_with(&UiTranslator::new(|group| {
///     let members = group.members.iter().filter_map(|(_, member)| member.translated.clone());
///     footprint::value!({ "id": (group.id.clone()), "members": (members.collect::<footprint::value::Array>()) })
/// }));
/// assert_eq!(drawn.to_string(), r#"{"id":"flow","members":[{"id":"llm-call","members":[]},"[llm-call]"]}"#);
/// # Ok::<(), agentfootprint_core::compose::ComposeErrors>(())
/// ```
pub fn translated<R: ChartRunner>(runner: R, translator: UiTranslator) -> Translated<R> {
    Translated { runner, translator }
}

impl<R: ChartRunner> ChartRunner for Translated<R> {
    fn id(&self) -> &str {
        self.runner.id()
    }

    fn name(&self) -> &str {
        self.runner.name()
    }

    fn spec(&self) -> Chart {
        self.runner.spec()
    }

    fn ui_group(&self) -> UiGroup {
        UiGroup { translator: Some(self.translator.clone()), ..self.runner.ui_group() }
    }

    fn needs(&self) -> RunNeeds {
        self.runner.needs()
    }
}

impl UiGroup {
    pub(crate) fn new(kind: &'static str, id: Str, name: Str, extra: Option<Value>) -> Self {
        Self { kind, id, name, members: Vec::new(), extra, translated: None, translator: None }
    }

    /// Members first; a member's own translator wins over the one that is handed down, and is handed down below it.
    fn translate(&self, handed_down: &UiTranslator) -> Value {
        let translator = self.translator.as_ref().unwrap_or(handed_down);
        let mut complete = self.clone();
        for (_, member) in &mut complete.members {
            member.translated = Some(member.translate(translator));
        }
        (translator.0)(&complete)
    }
}
