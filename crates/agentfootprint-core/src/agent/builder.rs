//! The agent builder: it collects declarations; `build` checks all of them and reports every problem at once.

use std::sync::Arc;
use std::time::Duration;

use footprint::observe::{Delivery, ObserverQueueConfig, Recorder};
use footprint::state::{CommitValues, Tracking, WriteProvenance};
use footprint::value::{Str, Value};

use super::Agent;
use super::cache::CacheStrategy;
use super::checks;
use super::configure::{ConfigureFn, RunConfig, RunConfigContext};
use super::errors::{AgentBuildError, AgentBuildErrors};
use super::options::{
    AgentOptions, AgentReactMode, ArgValidation, ContextBudget, CostBudget, OnAuthorizationRequired, Posture,
};
use super::output::{FallbackFn, OutputContract, OutputOptions, OutputSchemaError};
use crate::events::EventHub;
use crate::injection::{BoxError, CachePolicy, Injection, IntoInjection};
use crate::llm::{LlmProvider, PricingTable, ThinkingHandler};
use crate::reliability::Reliability;
use crate::tools::Tooling;
use crate::tools::{CredentialProvider, IntoTool, Tool};
use crate::validation::AnswerValidation;
use crate::window::{SummarizeOldest, Window, WindowDoor, WindowStrategy};

/// Declares an agent. Every method consumes and returns the builder; nothing is checked before [`build`](Self::build), which
/// reports all problems together.
///
/// ```
/// use agentfootprint_core::agent::Agent;
/// use agentfootprint_core::injection::Fact;
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
/// let agent = Agent::builder(Echo, "echo-1")
///     .id("support")
///     .system("You answer order questions.")
///     .fact(Fact::new("hours", "Open 9 to 5."))
///     .build()?;
/// assert_eq!(agent.id(), "support");
///
/// let refused = Agent::builder(Echo, "echo-1").id("sf-mine").max_iterations(0).build().unwrap_err();
/// assert_eq!(refused.problems().len(), 2);
/// # Ok::<(), agentfootprint_core::agent::AgentBuildErrors>(())
/// ```
#[must_use = "an agent exists only after `build()`"]
pub struct AgentBuilder {
    pub(super) provider: Arc<dyn LlmProvider>,
    pub(super) model: Str,
    pub(super) id: Option<Str>,
    pub(super) name: Option<Str>,
    pub(super) options: AgentOptions,
    pub(super) system: Option<(Str, CachePolicy)>,
    pub(super) injections: Vec<Injection>,
    pub(super) tools: Vec<Tool>,
    pub(super) tooling: Tooling,
    pub(super) output: Option<(Arc<dyn OutputContract>, OutputOptions)>,
    pub(super) fallback: Option<(FallbackFn, Option<Value>)>,
    pub(super) answer_validation: Option<AnswerValidation>,
    pub(super) thinking_handler: Option<Option<Arc<dyn ThinkingHandler>>>,
    pub(super) cache_strategy: Option<Arc<dyn CacheStrategy>>,
    pub(super) configure: Option<ConfigureFn>,
    pub(super) windows: Vec<Window>,
    /// Whether `act` was called.
    pub(super) acts: bool,
    pub(super) reliability: Option<Reliability>,
    pub(super) recorders: Vec<Arc<dyn Recorder>>,
    pub(super) hub: EventHub,
    pub(super) problems: Vec<AgentBuildError>,
}

impl AgentBuilder {
    pub(super) fn new(provider: Arc<dyn LlmProvider>, model: Str) -> Self {
        Self {
            provider,
            model,
            id: None,
            name: None,
            options: AgentOptions::default(),
            system: None,
            injections: Vec::new(),
            tools: Vec::new(),
            tooling: Tooling::default(),
            output: None,
            fallback: None,
            answer_validation: None,
            thinking_handler: None,
            cache_strategy: None,
            configure: None,
            windows: Vec::new(),
            acts: false,
            reliability: None,
            recorders: Vec::new(),
            hub: EventHub::new(),
            problems: Vec::new(),
        }
    }

    pub(super) fn twice(&mut self, method: &'static str) {
        self.problems.push(AgentBuildError::CalledTwice { method });
    }

    /// The agent's id; `agent` by default. An id that is given is held against a checkpoint's.
    pub fn id(mut self, id: impl Into<Str>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The agent's name; `Agent` by default.
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The base system prompt.
    pub fn system(self, text: impl Into<Str>) -> Self {
        self.system_with(text, CachePolicy::Always)
    }

    /// The base system prompt with its cache policy.
    pub fn system_with(mut self, text: impl Into<Str>, cache: CachePolicy) -> Self {
        if self.system.replace((text.into(), cache)).is_some() {
            self.twice("system");
        }
        self
    }

    /// Sampling temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.options.temperature = Some(temperature);
        self
    }

    /// Limit of an answer, in tokens.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.options.max_tokens = Some(tokens);
        self
    }

    /// How many model calls may act; 10 by default. With wrap-up there is one further call without tools.
    pub fn max_iterations(mut self, iterations: u32) -> Self {
        self.options.max_iterations = iterations;
        self
    }

    /// What tokens cost. Without a table no cost is reported.
    pub fn pricing(mut self, table: impl PricingTable) -> Self {
        self.options.pricing = Some(Arc::new(table));
        self
    }

    /// A budget for one turn, in US dollars. It needs a pricing table.
    pub fn cost_budget(mut self, budget: impl Into<CostBudget>) -> Self {
        self.options.cost_budget = Some(budget.into());
        self
    }

    /// How many characters of each slot are worth a report. Nothing is ever truncated because of it.
    pub fn context_budget(mut self, budget: ContextBudget) -> Self {
        self.options.context_budget = budget;
        self
    }

    /// How arguments are validated; enforced by default.
    pub fn tool_arg_validation(mut self, mode: ArgValidation) -> Self {
        self.options.arg_validation = mode;
        self
    }

    /// The longest result that enters the conversation, in UTF-16 units. Without it none is measured.
    pub fn max_tool_result_chars(mut self, chars: u64) -> Self {
        self.options.max_tool_result_chars = Some(chars);
        self
    }

    /// How long closing a tool session may take; five seconds by default.
    pub fn tool_teardown_timeout(mut self, timeout: Duration) -> Self {
        self.options.tool_teardown_timeout = timeout;
        self
    }

    /// Whether the model is told when it repeats a call with the same result; on by default.
    pub fn repeated_call_nudge(mut self, on: bool) -> Self {
        self.options.repeated_call_nudge = on;
        self
    }

    /// How many turns keep their tool results in full; 2 by default, 0 keeps all.
    pub fn keep_last_tool_results(mut self, turns: u32) -> Self {
        self.options.keep_last_tool_results = turns;
        self
    }

    /// How reads are recorded; as summaries by default.
    pub fn read_tracking(mut self, dial: Tracking) -> Self {
        self.options.read_tracking = dial;
        self
    }

    /// How commits hold values; as deltas by default.
    pub fn commit_values(mut self, dial: CommitValues) -> Self {
        self.options.commit_values = dial;
        self
    }

    /// Whether each write keeps what was read before it; off by default.
    pub fn write_provenance(mut self, dial: WriteProvenance) -> Self {
        self.options.write_provenance = dial;
        self
    }

    /// Whether events hold the whole system prompt; off by default.
    pub fn record_system_prompt(mut self, on: bool) -> Self {
        self.options.record_system_prompt = on;
        self
    }

    /// Whether each call leaves a receipt of what reached the provider; on by default.
    pub fn record_receipt(mut self, on: bool) -> Self {
        self.options.record_receipt = on;
        self
    }

    /// How integrity checks are treated; rows only by default.
    pub fn integrity_posture(mut self, posture: Posture) -> Self {
        self.options.posture = posture;
        self
    }

    /// Whether the model gets one call without tools when its budget is spent; on by default.
    pub fn wrap_up_at_max_iterations(mut self, on: bool) -> Self {
        self.options.wrap_up = on;
        self
    }

    /// What happens when a credential needs a person's consent; the run pauses by default.
    pub fn on_authorization_required(mut self, what: OnAuthorizationRequired) -> Self {
        self.options.on_authorization_required = what;
        self
    }

    /// Whether prompts are cached as the provider declares; on by default.
    pub fn caching(mut self, on: bool) -> Self {
        self.options.caching = on;
        self
    }

    /// Another cache strategy than the provider's declaration asks for.
    pub fn cache_strategy(mut self, strategy: impl CacheStrategy) -> Self {
        self.cache_strategy = Some(Arc::new(strategy));
        self
    }

    /// Where the loop assembles its context; in every iteration by default.
    pub fn react_mode(mut self, mode: AgentReactMode) -> Self {
        self.options.react_mode = mode;
        self
    }

    /// One more tool.
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        match tool.into_tool() {
            Ok(tool) => self.tools.push(tool),
            Err(error) => self.problems.push(error.into()),
        }
        self
    }

    /// More tools.
    pub fn tools<T: IntoTool>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        for tool in tools {
            self = self.tool(tool);
        }
        self
    }

    /// Who vends the credentials tools need.
    pub fn credentials(mut self, provider: impl CredentialProvider + 'static) -> Self {
        if self.tooling.credentials.replace(Arc::new(provider)).is_some() {
            self.twice("credentials");
        }
        self
    }

    /// One more piece of engineered context.
    pub fn injection(mut self, injection: impl IntoInjection) -> Self {
        match injection.into_injection() {
            Ok(injection) => self.injections.push(injection),
            Err(error) => self.problems.push(error.into()),
        }
        self
    }

    /// Guidance that is always there.
    pub fn steering(self, steering: crate::injection::Steering) -> Self {
        self.injection(steering)
    }

    /// Something the model should do.
    pub fn instruction(self, instruction: crate::injection::Instruction) -> Self {
        self.injection(instruction)
    }

    /// Several things the model should do.
    pub fn instructions(mut self, list: impl IntoIterator<Item = crate::injection::Instruction>) -> Self {
        for instruction in list {
            self = self.injection(instruction);
        }
        self
    }

    /// Something the model should know.
    pub fn fact(self, fact: crate::injection::Fact) -> Self {
        self.injection(fact)
    }

    /// Decides model or base prompt per run.
    pub fn configure(
        self,
        hook: impl Fn(&RunConfigContext) -> Option<RunConfig> + Send + Sync + 'static,
    ) -> Self {
        self.configure_try(move |cx| Ok(hook(cx)))
    }

    /// Decides model or base prompt per run, or fails the run.
    pub fn configure_try(
        mut self,
        hook: impl Fn(&RunConfigContext) -> Result<Option<RunConfig>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        if self.configure.replace(Arc::new(hook)).is_some() {
            self.twice("configure");
        }
        self
    }

    /// What every answer has to be; it is judged, and asked for again as often as the options say.
    pub fn output_schema(mut self, contract: impl OutputContract, options: OutputOptions) -> Self {
        if self.output.replace((Arc::new(contract), options)).is_some() {
            self.twice("output_schema");
        }
        self
    }

    /// What a typed read falls back to when the answer does not meet its contract.
    pub fn output_fallback<F, Fut>(mut self, fallback: F, canned: Option<Value>) -> Self
    where
        F: Fn(OutputSchemaError, Str) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, String>> + Send + 'static,
    {
        let boxed: FallbackFn = Arc::new(move |error, raw| Box::pin(fallback(error, raw)));
        if self.fallback.replace((boxed, canned)).is_some() {
            self.twice("output_fallback");
        }
        self
    }

    /// Holds every final answer against evidence before it is delivered. Needs `output_schema`.
    pub fn answer_validation(mut self, validation: AnswerValidation) -> Self {
        if self.answer_validation.replace(validation).is_some() {
            self.twice("answer_validation");
        }
        self
    }

    /// Puts what the tools said about their coverage under every answer, in one block the model does not write. The block is not
    /// streamed. An answer that has a schema or is validated stays as it is; there the block is
    /// [`RunRecord::coverage_block`](crate::run::RunRecord::coverage_block).
    pub fn limits_travel_with_the_answer(mut self) -> Self {
        if std::mem::replace(&mut self.options.limits_travel, true) {
            self.twice("limits_travel_with_the_answer");
        }
        self
    }

    /// Reads the provider's thinking with this handler instead of the declared one.
    pub fn thinking_handler(mut self, handler: impl ThinkingHandler) -> Self {
        if self.thinking_handler.replace(Some(Arc::new(handler))).is_some() {
            self.twice("thinking_handler");
        }
        self
    }

    /// Reads no thinking.
    pub fn no_thinking_handler(mut self) -> Self {
        if self.thinking_handler.replace(None).is_some() {
            self.twice("thinking_handler");
        }
        self
    }

    /// Asks the model to think, within this many tokens.
    pub fn thinking(mut self, budget: u64) -> Self {
        if self.options.thinking_budget.replace(budget).is_some() {
            self.twice("thinking");
        }
        self
    }

    /// Observes every run of the agent.
    pub fn watch(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorders.push(recorder);
        self
    }

    /// How observers are told: inside the producing call, as by default, or from the run's queue.
    pub fn observer_delivery(mut self, delivery: Delivery) -> Self {
        self.options.observer_delivery = delivery;
        self
    }

    /// The queue of deferred observers. It needs [`Delivery::Deferred`].
    pub fn observer_queue(mut self, queue: ObserverQueueConfig) -> Self {
        self.options.observer_queue = Some(queue);
        self
    }

    /// What leaves the conversation when it grows. An agent has one window.
    pub fn window(self, strategy: impl WindowStrategy) -> Self {
        self.windowed(WindowDoor::Window, Arc::new(strategy))
    }

    /// Folds the oldest turns into a summary: [`window`](Self::window) with [`SummarizeOldest`].
    pub fn compaction(self, strategy: SummarizeOldest) -> Self {
        self.windowed(WindowDoor::Compaction, Arc::new(strategy))
    }

    pub(super) fn windowed(mut self, door: WindowDoor, strategy: Arc<dyn WindowStrategy>) -> Self {
        self.windows.push(Window { strategy, door });
        self
    }

    /// Rules around each model call: ask again, ask somebody else, fall back, or give up.
    pub fn reliability(mut self, gate: Reliability) -> Self {
        if self.reliability.replace(gate).is_some() {
            self.twice("reliability");
        }
        self
    }

    /// Checks everything and answers the agent.
    ///
    /// # Errors
    /// All problems of the declaration, each naming the offender and the fix.
    pub fn build(self) -> Result<Agent, AgentBuildErrors> {
        checks::build(self)
    }
}
