//! The port of a strategy, and what it may look at.

use std::sync::Arc;

use agentfootprint_record::conventions::Frame;
use agentfootprint_record::message::Messages;
use async_trait::async_trait;
use footprint::value::{Str, Value};
use tokio_util::sync::CancellationToken;

use super::guards::Guards;
use super::outcome::WindowOutcome;
use super::plan::{RemovalPlan, plan};
use super::turns::WindowTurn;
use crate::llm::{CallCx, CallRng, LlmError, LlmProvider, LlmRequest, LlmResponse, Usage};
use crate::run::{EffectKind, Reexecution, StageCx};

/// Which model a strategy spends money on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Billing {
    /// Name of the provider.
    pub provider: Str,
    /// The model.
    pub model: Str,
}

/// Why a strategy failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// The strategy needs a measurement and the provider reports none. The turn ends; running it again would not help.
    #[error(
        "window strategy `{strategy}` cannot measure this conversation: `{provider}` reported 0 tokens in and out. Windows are \
         counted, not guessed: use a provider that reports usage, or `SlidingWindow`, which needs none"
    )]
    Unmeasurable {
        /// The strategy.
        strategy: Str,
        /// The provider.
        provider: Str,
    },
    /// A strategy of yours failed.
    #[error("window strategy `{strategy}` failed: {reason}")]
    Failed {
        /// The strategy.
        strategy: Str,
        /// Why.
        reason: String,
    },
}

/// Decides what leaves the conversation. Implemented by [`SlidingWindow`](super::SlidingWindow),
/// [`TokenBudget`](super::TokenBudget), [`SummarizeOldest`](super::SummarizeOldest) and by you; called once per iteration by the
/// agent's stage `compact`.
///
/// ```
/// use agentfootprint_core::window::{WindowError, WindowInput, WindowOutcome, WindowStrategy};
///
/// /// Drops the oldest turns as soon as there are more than ten.
/// struct Ten;
///
/// #[async_trait::async_trait]
/// impl WindowStrategy for Ten {
///     fn name(&self) -> &str { "ten" }
///     async fn plan(&self, input: &WindowInput<'_>) -> Result<Option<WindowOutcome>, WindowError> {
///         if input.turns().len() <= 10 {
///             return Ok(None);
///         }
///         Ok(Some(input.plan_removal(10).drop()))
///     }
/// }
/// assert_eq!(Ten.name(), "ten");
/// ```
#[async_trait]
pub trait WindowStrategy: Send + Sync + 'static {
    /// Its name, as recorded.
    fn name(&self) -> &str;

    /// The model it spends money on, if it does.
    fn billing(&self) -> Option<Billing> {
        None
    }

    /// What is wrong with its options; asked when the agent is built.
    fn problem(&self) -> Option<String> {
        None
    }

    /// The model and provider it calls itself, so that the build can refuse a provider that would behave in two ways.
    fn summarizer(&self) -> Option<(&Arc<dyn LlmProvider>, &str)> {
        None
    }

    /// Decides. `None`: it does not engage, and nothing is recorded.
    ///
    /// # Errors
    /// [`WindowError`] ends the turn.
    async fn plan(&self, input: &WindowInput<'_>) -> Result<Option<WindowOutcome>, WindowError>;
}

/// What a strategy may look at. It sees the conversation and a way to plan, never the guards.
pub struct WindowInput<'a> {
    pub(super) cx: &'a StageCx,
    pub(super) history: Messages,
    pub(super) guards: Arc<Guards>,
    pub(super) measured: Option<Usage>,
    pub(super) iteration: u32,
}

impl WindowInput<'_> {
    /// The conversation.
    #[must_use]
    pub fn history(&self) -> &Messages {
        &self.history
    }

    /// Its turns.
    #[must_use]
    pub fn turns(&self) -> &[WindowTurn] {
        &self.guards.turns
    }

    /// What the provider reported for the call before this visit. Older readings do not count: `None`.
    #[must_use]
    pub fn measured(&self) -> Option<&Usage> {
        self.measured.as_ref()
    }

    /// The iteration about to begin, from 1.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    /// The run's id.
    #[must_use]
    pub fn run_id(&self) -> &Str {
        self.cx.run.run_id()
    }

    /// The agent's model.
    #[must_use]
    pub fn agent_model(&self) -> &str {
        &self.cx.agent.model
    }

    /// Name of the agent's provider.
    #[must_use]
    pub fn provider_name(&self) -> &str {
        self.cx.agent.provider.name()
    }

    /// Trips when the run is cancelled.
    #[must_use]
    pub fn cancel(&self) -> &CancellationToken {
        self.cx.run.cancel_token()
    }

    /// The run's clock, in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.cx.now_ms()
    }

    /// Position of the message the work is about. Knowing it grants nothing.
    #[must_use]
    pub fn current_request_index(&self) -> Option<usize> {
        self.guards.request
    }

    /// What may leave when the last `keep` turns stay.
    #[must_use]
    pub fn plan_removal(&self, keep: usize) -> RemovalPlan {
        plan(&self.history, &self.guards, keep, None)
    }

    /// The same for a strategy that pays for a summary: a summary alone is no span worth folding.
    #[must_use]
    pub fn plan_fold(&self, keep: usize) -> RemovalPlan {
        let marks = self.history.marks();
        let is_summary =
            |position: usize| self.history.frame_at(position, marks) == Some(Frame::CompactionSummary);
        plan(&self.history, &self.guards, keep, Some(&is_summary))
    }

    /// Asks a model, through the run's effects: one attempt, undecorated.
    pub(super) async fn ask(
        &self,
        provider: &Arc<dyn LlmProvider>,
        request: &LlmRequest,
    ) -> Result<LlmResponse, LlmError> {
        let port = CallCx::detached()
            .with_cancel(self.cancel().clone())
            .with_run_id(self.run_id().clone())
            .with_clock(Arc::clone(self.cx.run.clock()))
            .with_rng(CallRng::seeded(u64::from(self.iteration)));
        let input = || serde_json::to_value(request).map(Value::from).unwrap_or_default();
        let work = async { provider.complete(request, &port).await };
        self.cx.effect(EffectKind::Llm, &request.model, Reexecution::AtLeastOnce, &input, work).await
    }
}
