//! The immutable definition of an agent: what its stages may look at, shared by all its runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use agentfootprint_record::events::words::{ContextSlot, Word as _};
use agentfootprint_record::message::Role;
use footprint::value::Str;

use super::cache::CacheStrategy;
use super::configure::ConfigureFn;
use super::offer::Offer;
use super::options::{AgentOptions, AgentReactMode};
use super::output::Output;
use super::records::{Piece, system_piece};
use crate::injection::{CachePolicy, Injection};
use crate::llm::{Capabilities, LlmProvider, ThinkingHandler};
use crate::reliability::Gate;
use crate::run::{IntegrityCheck, IntegrityLedger};
use crate::tools::Tooling;
use crate::tools::{Tool, ToolSessions};
use crate::validation::{AnswerValidation, AnswerValidationMode};
use crate::window::Window;

/// The base system prompt, with its record built once.
pub(crate) struct BasePrompt {
    pub(crate) text: Str,
    pub(crate) cache: CachePolicy,
    pub(crate) piece: Piece,
}

/// The definition. Stage closures capture it and nothing else.
pub(crate) struct AgentCore {
    pub(crate) id: Str,
    /// Whether the id was given, so that a checkpoint may hold it against another agent's (AGT-103).
    pub(crate) id_explicit: bool,
    pub(crate) name: Str,
    pub(crate) provider: Arc<dyn LlmProvider>,
    pub(crate) capabilities: Capabilities,
    pub(crate) model: Str,
    pub(crate) options: AgentOptions,
    pub(crate) base_prompt: Option<BasePrompt>,
    pub(crate) injections: Vec<Injection>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) tooling: Tooling,
    pub(crate) static_offer: Arc<Offer>,
    pub(crate) output: Option<Output>,
    pub(crate) answer_validation: Option<AnswerValidation>,
    pub(crate) thinking_handler: Option<Arc<dyn ThinkingHandler>>,
    pub(crate) cache_strategy: Arc<dyn CacheStrategy>,
    pub(crate) configure: Option<ConfigureFn>,
    pub(crate) window: Option<Window>,
    pub(crate) reliability: Option<Gate>,
    pub(crate) index: Index,
    /// What tools left open beyond a call: it belongs to turns and sessions, not to a run.
    pub(crate) sessions: ToolSessions,
}

/// What is looked up by id, built once.
pub(crate) struct Index {
    injections: HashMap<Str, usize>,
    /// Records of the system text of injections without a template.
    system_pieces: HashMap<Str, Piece>,
    /// Bit set of the slots whose budget was already warned about.
    warned_slots: AtomicU8,
}

impl Index {
    pub(crate) fn of(injections: &[Injection]) -> Self {
        let system_pieces = injections
            .iter()
            .filter(|injection| injection.template().is_none())
            .filter_map(|injection| {
                let text = injection.content().system_prompt.as_ref()?;
                let piece =
                    system_piece(injection.flavor().clone(), injection.id(), text, injection.reason());
                Some((injection.id().clone(), piece))
            })
            .collect();
        Self {
            injections: injections.iter().enumerate().map(|(at, one)| (one.id().clone(), at)).collect(),
            system_pieces,
            warned_slots: AtomicU8::new(0),
        }
    }
}

impl AgentCore {
    /// The declared injection of this id.
    pub(crate) fn injection(&self, id: &str) -> Option<&Injection> {
        self.injections.get(*self.index.injections.get(id)?)
    }

    /// The record of an injection's system text, when it is the declared one.
    pub(crate) fn system_piece(&self, id: &str, text: &str) -> Option<&Piece> {
        self.index.system_pieces.get(id).filter(|piece| piece.payload.raw_content.as_deref() == Some(text))
    }

    /// The registered tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// The id under which the tool provider is recorded, when there is one.
    pub(crate) fn tool_provider_id(&self) -> Option<Str> {
        self.tooling.provider_id()
    }

    /// Whether the wrap-up branch is mounted (AGT-35).
    pub(crate) fn mounts_wrap_up(&self) -> bool {
        self.options.wrap_up && (!self.tools.is_empty() || self.tooling.has_provider())
    }

    /// Whether `deliver` is mounted: some injection declares messages.
    pub(crate) fn mounts_deliver(&self) -> bool {
        self.injections.iter().any(|injection| !injection.content().messages.is_empty())
    }

    /// Whether the branch that asks for the form again is mounted.
    pub(crate) fn mounts_output_retry(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.retries > 0)
    }

    /// Whether drafts are kept from events: an answer may yet be refused, and then nobody has seen it (AGT-97).
    pub(crate) fn withholds_drafts(&self) -> bool {
        self.answer_validation.as_ref().is_some_and(|declared| declared.mode == AnswerValidationMode::Enforce)
    }

    /// Whether everything of one model call is one mounted chart.
    pub(crate) fn is_grouped(&self) -> bool {
        self.options.react_mode == AgentReactMode::DynamicGrouped
    }

    /// Whether the provider carries messages of this role; otherwise the roles it carries.
    pub(crate) fn carries(&self, role: &str) -> Result<(), Vec<String>> {
        let carried = self.capabilities.carries_in_messages;
        if carried.carries(&Role::read(&Str::from(role))) {
            Ok(())
        } else {
            Err(carried.names().into_iter().map(str::to_owned).collect())
        }
    }

    /// True the first time a slot of this agent is over its budget.
    pub(crate) fn first_pressure(&self, slot: &ContextSlot) -> bool {
        let bit = ContextSlot::WORDS.iter().position(|word| *word == slot.word()).map_or(0, |at| 1_u8 << at);
        self.index.warned_slots.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// The ledger of a new run: which checks this agent arms (EVD-410).
    pub(crate) fn integrity_ledger(&self) -> IntegrityLedger {
        let grounds = self.tools.iter().any(|tool| !tool.declared().arguments_from.is_empty());
        IntegrityLedger::new(|check| match check {
            IntegrityCheck::WireInvariant => true,
            IntegrityCheck::DanglingReference | IntegrityCheck::UnsupportedArgument => grounds,
            _ => false,
        })
    }
}
