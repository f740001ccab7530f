//! One model call as a runner (AGT §6).

mod chart;

use std::sync::Arc;

use footprint::value::{Object, Str, Value};

use super::errors::{ComposeError, ComposeErrors, Problems, chart_failed};
use super::runner::{Core, Parts, runner};
use crate::agent::{Agent, AgentBuilder, AgentCore, ContextBudget, CostBudget, OnExceed};
use crate::llm::{LlmProvider, PricingTable};
use crate::run::{RunNeeds, UiGroup};

const KIND: &str = "LLMCall";
const DEFAULT_ID: &str = "llm-call";

/// One question, one answer: no tools, no loop, no conversation.
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
/// use agentfootprint_core::compose::LlmCall;
/// use agentfootprint_core::run::Runner;
///
/// let translate = LlmCall::builder(Echo, "echo-1").system("Translate to French.").build()?;
/// assert_eq!(translate.run("Bonjour").await.into_answer()?, "Bonjour");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct LlmCall {
    core: Core<String>,
}

runner!(LlmCall, String);

impl LlmCall {
    /// Begins the declaration of a call of `model` at `provider`.
    pub fn builder(provider: impl LlmProvider, model: impl Into<Str>) -> LlmCallBuilder {
        LlmCallBuilder::new(Agent::builder(provider, model))
    }
}

/// Declares a model call.
#[must_use = "a call exists only after `build()`"]
pub struct LlmCallBuilder {
    call: AgentBuilder,
    id: Str,
    name: Str,
    system: Option<Str>,
    budget: Option<CostBudget>,
    skip_blank: bool,
    problems: Problems,
}

impl LlmCallBuilder {
    fn new(call: AgentBuilder) -> Self {
        Self {
            call,
            id: DEFAULT_ID.into(),
            name: KIND.into(),
            system: None,
            budget: None,
            skip_blank: false,
            problems: Problems::default(),
        }
    }

    /// Its id; `llm-call` by default.
    pub fn id(mut self, id: impl Into<Str>) -> Self {
        self.id = id.into();
        self
    }

    /// Its name; `LLMCall` by default.
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = name.into();
        self
    }

    /// The system prompt. Call it once.
    pub fn system(mut self, text: impl Into<Str>) -> Self {
        if self.system.replace(text.into()).is_some() {
            self.problems.twice("system");
        }
        self
    }

    /// Sampling temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.call = self.call.temperature(temperature);
        self
    }

    /// Limit of the answer, in tokens.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.call = self.call.max_tokens(tokens);
        self
    }

    /// How many characters of each slot are worth a report. Nothing is ever truncated because of it.
    pub fn context_budget(mut self, budget: ContextBudget) -> Self {
        self.call = self.call.context_budget(budget);
        self
    }

    /// Whether events hold the whole system prompt; off by default.
    pub fn record_system_prompt(mut self, on: bool) -> Self {
        self.call = self.call.record_system_prompt(on);
        self
    }

    /// Whether the call leaves a receipt of what reached the provider; on by default.
    pub fn record_receipt(mut self, on: bool) -> Self {
        self.call = self.call.record_receipt(on);
        self
    }

    /// What tokens cost. Without a table no cost is reported.
    pub fn pricing(mut self, table: impl PricingTable) -> Self {
        self.call = self.call.pricing(table);
        self
    }

    /// A budget that is said when it is crossed. It needs a pricing table; it cannot halt.
    pub fn cost_budget(mut self, budget: impl Into<CostBudget>) -> Self {
        self.budget = Some(budget.into());
        self
    }

    /// A blank message is answered with nothing, and not sent.
    pub(crate) fn skipping_blank(mut self) -> Self {
        self.skip_blank = true;
        self
    }

    /// Checks everything and answers the runner.
    ///
    /// # Errors
    /// All problems of the declaration, each naming the offender and the fix.
    pub fn build(self) -> Result<LlmCall, ComposeErrors> {
        let mut problems = self.problems;
        problems.runner_id("call", &self.id);
        let mut call = self.call;
        if let Some(system) = self.system {
            if system.trim().is_empty() {
                problems.push(ComposeError::Empty { option: "system" });
            } else {
                call = call.system(system);
            }
        }
        if let Some(budget) = self.budget {
            if budget.on_exceed == OnExceed::Halt {
                problems.push(ComposeError::HaltWithoutNextCall);
            }
            call = call.cost_budget(CostBudget::warn(budget.usd));
        }
        let core = match call.wrap_up_at_max_iterations(false).name(self.name.clone()).build() {
            Ok(agent) => Some(agent.core().clone()),
            Err(errors) => {
                errors.into_iter().for_each(|problem| problems.push(ComposeError::Call(problem)));
                None
            }
        };
        problems.into_result(KIND, &self.id)?;
        let Some(core) = core else { return Err(ComposeErrors::new(KIND, &self.id, Vec::new())) };
        assemble(&core, self.id, self.name, self.skip_blank)
    }
}

impl std::fmt::Debug for LlmCallBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LlmCallBuilder").field("id", &self.id).finish_non_exhaustive()
    }
}

fn assemble(core: &Arc<AgentCore>, id: Str, name: Str, skip_blank: bool) -> Result<LlmCall, ComposeErrors> {
    let chart = chart::build(core, skip_blank).map_err(chart_failed(KIND, &id))?;
    let mut extra = Object::new();
    extra.insert("slots", footprint::value!(["system-prompt", "messages"]));
    let group = UiGroup::new(KIND, id, name, Some(Value::from(extra)));
    Ok(LlmCall { core: Core::of_text(Parts { word: KIND, chart, group, needs: RunNeeds::default() }) })
}
