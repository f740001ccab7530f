//! The agent: a ReAct loop as a flowchart.
//!
//! [`Agent::builder`] collects a declaration, [`AgentBuilder::build`] checks all of it and assembles the chart, and every
//! run is a walk of that one chart. An [`Agent`] is immutable and cheap to clone; it runs many turns at once.
//!
//! | file | idea |
//! |---|---|
//! | `builder`, `checks`, `errors`, `options` | declaring an agent |
//! | `core` | the immutable definition its stages work on |
//! | `chart` | which stages, in which order |
//! | `stages/` | what each of them does |
//! | `records`, `slot`, `discover`, `offer`, `cache` | composing the three parts of a request |
//! | `request`, `receipt`, `cost`, `wire_check` | around the model call |
//! | `outcome`, `settle` | from the end of a walk to the outcome of a run |

mod act;
mod builder;
mod builder_tools;
pub(crate) mod cache;
mod chart;
mod checks;
mod configure;
mod conversation;
mod core;
pub(crate) mod cost;
pub(crate) mod discover;
mod errors;
pub(crate) mod findings;
pub(crate) mod hit_rate;
mod journal;
mod manifest;
pub(crate) mod moments;
pub(crate) mod offer;
mod options;
pub(crate) mod outcome;
pub(crate) mod output;
pub(crate) mod receipt;
pub(crate) mod records;
pub(crate) mod reported;
pub(crate) mod reports;
pub(crate) mod request;
pub(crate) mod settle;
pub(crate) mod slot;
pub(crate) mod stages;

mod typed;
pub(crate) mod wire;
pub(crate) mod wire_check;

use std::fmt;
use std::sync::{Arc, OnceLock};

use footprint::chart::Chart;
use footprint::observe::Recorder;
use footprint::pause::FlowchartCheckpoint;
use footprint::value::{Object, Str, Value};

pub use self::act::Act;
pub use self::builder::AgentBuilder;
pub use self::cache::{
    Automatic, Breakpoints, CacheCapabilities, CacheMetrics, CacheStrategy, CacheStrategyContext, NoCaching,
    Prepared,
};
pub use self::configure::{RunConfig, RunConfigContext, RunConfigDefaults};
pub use self::conversation::{Conversation, DroppedQuestion};
pub(crate) use self::core::AgentCore;
pub use self::errors::{AgentBuildError, AgentBuildErrors};
pub use self::options::{
    AgentReactMode, ArgValidation, ContextBudget, CostBudget, OnAuthorizationRequired, OnExceed, Posture,
};
pub use self::output::{
    ContractViolation, OutputContract, OutputOptions, OutputSchemaError, OutputStrategy, Typed,
};
pub use self::typed::TypedReadError;
use crate::events::EventHub;
use crate::llm::LlmProvider;
use crate::observe::Observers;
use crate::run::{
    AgentRunCheckpoint, ChartRunner, RunHandle, RunInput, RunNeeds, RunOptions, RunRefusal, Runner, UiGroup,
};

/// An agent. Clones are the same agent; any number of its runs may be under way at once (AGT-15).
///
/// ```
/// # use agentfootprint_core::llm::*;
/// # struct Echo;
/// # #[async_trait::async_trait]
/// # impl LlmProvider for Echo {
/// #     fn name(&self) -> &str { "echo" }
/// #     fn capabilities(&self, _: &str) -> Capabilities { Capabilities::default() }
/// #     async fn complete(&self, r: &LlmRequest, _: &CallCx) -> Result<LlmResponse, LlmError> {
/// #         Ok(LlmResponse::text(r.last_user_text().unwrap_or_default()))
/// #     }
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use agentfootprint_core::agent::Agent;
/// use agentfootprint_core::run::Runner;
///
/// let agent = Agent::builder(Echo, "echo-1").system("Repeat.").build().unwrap();
/// let report = agent.run("hello").await;
/// assert_eq!(report.answer().unwrap(), "hello");
/// # });
/// ```
#[derive(Clone)]
pub struct Agent(Arc<Shared>);

struct Shared {
    core: Arc<AgentCore>,
    chart: Chart,
    hub: EventHub,
    observers: Observers,
    group: OnceLock<UiGroup>,
}

impl Agent {
    /// Begins the declaration of an agent that asks `model` of `provider`.
    pub fn builder(provider: impl LlmProvider, model: impl Into<Str>) -> AgentBuilder {
        AgentBuilder::new(Arc::new(provider), model.into())
    }

    pub(crate) fn assemble(
        core: Arc<AgentCore>,
        chart: Chart,
        hub: EventHub,
        recorders: Vec<Arc<dyn Recorder>>,
    ) -> Self {
        let observers = Observers::with(recorders);
        Self(Arc::new(Shared { core, chart, hub, observers, group: OnceLock::new() }))
    }

    pub(crate) fn core(&self) -> &Arc<AgentCore> {
        &self.0.core
    }

    pub(crate) fn chart(&self) -> &Chart {
        &self.0.chart
    }

    pub(crate) fn hub(&self) -> &EventHub {
        &self.0.hub
    }

    /// The agent's id.
    pub fn id(&self) -> &str {
        &self.core().id
    }

    /// The agent's name.
    pub fn name(&self) -> &str {
        &self.core().name
    }

    /// Goes on after a failed run from its checkpoint: the history is replayed, no message is added, and the budget starts
    /// anew. The tools of the interrupted iteration may run twice (AGT-100).
    ///
    /// # Errors
    /// [`RunRefusal`] when the checkpoint is not this agent's or not usable.
    pub fn resume_on_error(
        &self,
        checkpoint: AgentRunCheckpoint,
        options: RunOptions,
    ) -> Result<RunHandle<String>, RunRefusal> {
        settle::start_from_checkpoint(self, checkpoint, None, options)
    }

    /// A conversation with this agent: turns that share their history, one at a time.
    pub fn conversation(&self, options: RunOptions) -> Conversation {
        Conversation::new(self.clone(), options)
    }
}

impl ChartRunner for Agent {
    fn id(&self) -> &str {
        &self.core().id
    }

    fn name(&self) -> &str {
        &self.core().name
    }

    fn spec(&self) -> Chart {
        self.chart().clone()
    }

    fn ui_group(&self) -> UiGroup {
        self.0
            .group
            .get_or_init(|| {
                let core = self.core();
                let mut extra = Object::new();
                extra.insert("slots", footprint::value!(["system-prompt", "messages", "tools"]));
                let names = core
                    .tools
                    .iter()
                    .map(|tool| Value::from(tool.name()))
                    .collect::<footprint::value::Array>();
                extra.insert("toolNames", Value::from(names));
                extra.insert("maxIterations", Value::from(core.options.max_iterations));
                UiGroup::new("Agent", core.id.clone(), core.name.clone(), Some(Value::from(extra)))
            })
            .clone()
    }

    fn needs(&self) -> RunNeeds {
        RunNeeds::of_agent(Arc::clone(self.core()))
    }
}

impl Runner for Agent {
    type Output = String;

    fn start(&self, input: RunInput, options: RunOptions) -> Result<RunHandle<String>, RunRefusal> {
        settle::start(self, input, options)
    }

    fn resume(
        &self,
        checkpoint: FlowchartCheckpoint,
        answer: Option<Value>,
        options: RunOptions,
    ) -> Result<RunHandle<String>, RunRefusal> {
        settle::resume(self, checkpoint, answer, options)
    }

    fn events(&self) -> &EventHub {
        self.hub()
    }

    fn observers(&self) -> &Observers {
        &self.0.observers
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("id", &self.core().id).finish_non_exhaustive()
    }
}
