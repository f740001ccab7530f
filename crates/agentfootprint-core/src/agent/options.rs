//! The agent's options (AGT §7).

use std::sync::Arc;
use std::time::Duration;

use footprint::observe::{Delivery, ObserverQueueConfig};
use footprint::state::{CommitValues, Tracking, WriteProvenance};

use crate::llm::{PricingTable, Usd};

/// Where the loop runs its context assembly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentReactMode {
    /// Every slot is composed anew in every iteration, in the main chart.
    #[default]
    Dynamic,
    /// System prompt and tools are composed once, in iteration 1; later iterations compose the messages only.
    Classic,
    /// Like dynamic, with everything of one model call inside one mounted chart.
    DynamicGrouped,
}

impl AgentReactMode {
    /// The recorded word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dynamic => "dynamic",
            Self::Classic => "classic",
            Self::DynamicGrouped => "dynamic-grouped",
        }
    }
}

/// What happens when the cost budget is crossed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExceed {
    /// It is said, once.
    #[default]
    Warn,
    /// The loop also ends at the next route boundary. A call in flight is never cut.
    Halt,
}

impl OnExceed {
    /// The recorded word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Halt => "halt",
        }
    }
}

/// A budget in US dollars for one turn. It needs a pricing table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostBudget {
    /// The limit.
    pub usd: Usd,
    /// What happens when it is crossed.
    pub on_exceed: OnExceed,
}

impl CostBudget {
    /// A budget that warns.
    pub const fn warn(usd: Usd) -> Self {
        Self { usd, on_exceed: OnExceed::Warn }
    }

    /// A budget that ends the loop.
    pub const fn halt(usd: Usd) -> Self {
        Self { usd, on_exceed: OnExceed::Halt }
    }
}

impl From<Usd> for CostBudget {
    fn from(usd: Usd) -> Self {
        Self::warn(usd)
    }
}

/// How many characters of a slot are worth a report. Nothing is ever truncated because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextBudget {
    /// For the system prompt; 0 = no budget.
    pub system_prompt: u64,
    /// For the conversation.
    pub messages: u64,
    /// For the tools.
    pub tools: u64,
}

impl Default for ContextBudget {
    fn default() -> Self {
        Self { system_prompt: 4000, messages: 10_000, tools: 2000 }
    }
}

/// How findings of the integrity checks are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Posture {
    /// Rows only.
    #[default]
    Observe,
    /// A check that never ran although there was work ends the run.
    Dev,
}

/// How arguments are validated (TOOL-15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArgValidation {
    /// A misfit is not executed; the model reads why.
    #[default]
    Enforce,
    /// A misfit is said, and executed.
    Warn,
    /// Arguments are not looked at.
    Off,
}

/// What happens when a tool's credential needs a person's consent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnAuthorizationRequired {
    /// The run pauses.
    #[default]
    Pause,
    /// The model is told.
    TellModel,
}

/// The options that are plain values. Defaults are those of AGT §7.
#[derive(Clone)]
pub(crate) struct AgentOptions {
    pub(crate) temperature: Option<f64>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) max_iterations: u32,
    pub(crate) pricing: Option<Arc<dyn PricingTable>>,
    pub(crate) cost_budget: Option<CostBudget>,
    pub(crate) context_budget: ContextBudget,
    pub(crate) arg_validation: ArgValidation,
    pub(crate) max_tool_result_chars: Option<u64>,
    pub(crate) tool_teardown_timeout: Duration,
    pub(crate) repeated_call_nudge: bool,
    pub(crate) keep_last_tool_results: u32,
    pub(crate) read_tracking: Tracking,
    pub(crate) commit_values: CommitValues,
    pub(crate) write_provenance: WriteProvenance,
    pub(crate) record_system_prompt: bool,
    pub(crate) record_receipt: bool,
    pub(crate) posture: Posture,
    pub(crate) wrap_up: bool,
    /// Whether the tools' limits are put under the answer.
    pub(crate) limits_travel: bool,
    pub(crate) on_authorization_required: OnAuthorizationRequired,
    pub(crate) caching: bool,
    pub(crate) react_mode: AgentReactMode,
    pub(crate) thinking_budget: Option<u64>,
    pub(crate) observer_delivery: Delivery,
    pub(crate) observer_queue: Option<ObserverQueueConfig>,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            temperature: None,
            max_tokens: None,
            max_iterations: 10,
            pricing: None,
            cost_budget: None,
            context_budget: ContextBudget::default(),
            arg_validation: ArgValidation::default(),
            max_tool_result_chars: None,
            tool_teardown_timeout: Duration::from_millis(5000),
            repeated_call_nudge: true,
            keep_last_tool_results: 2,
            read_tracking: Tracking::Summary,
            commit_values: CommitValues::Delta,
            write_provenance: WriteProvenance::Off,
            record_system_prompt: false,
            record_receipt: true,
            posture: Posture::default(),
            wrap_up: true,
            limits_travel: false,
            on_authorization_required: OnAuthorizationRequired::default(),
            caching: true,
            react_mode: AgentReactMode::default(),
            thinking_budget: None,
            observer_delivery: Delivery::Inline,
            observer_queue: None,
        }
    }
}
