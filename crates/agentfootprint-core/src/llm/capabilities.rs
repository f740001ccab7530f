//! What a provider declares about itself, and what an absent declaration means.
//!
//! Cache strategy, thinking handler, message delivery and forced output are all chosen from these declarations,
//! never from a provider's name: a decorator that renames a provider must not change how it is used.

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::message::Role;

use super::thinking::{self, ThinkingHandler};

/// The declarations of one provider for one model.
///
/// Every absence is the *weaker* claim: no role beyond user and assistant, no forced tool, no metered cache, no
/// thinking, no stream.
///
/// ```
/// use agentfootprint_core::llm::{Capabilities, PromptCaching, RoleSet};
///
/// let ours = Capabilities::default()
///     .carrying(RoleSet::ALL)
///     .with_forced_tool_choice(true)
///     .with_prompt_caching(PromptCaching::Automatic { reports_usage: true });
/// let both = ours.paired_with(&Capabilities::default());
/// assert_eq!(both.carries_in_messages, RoleSet::FLOOR);
/// assert!(both.prompt_caching.is_none());
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Capabilities {
    /// Roles an injection may take inside the message list.
    pub carries_in_messages: RoleSet,
    /// Whether the model can be forced to call one named tool.
    pub carries_forced_tool_choice: bool,
    /// Whether the endpoint can hold an answer to a JSON schema.
    pub carries_output_schema: bool,
    /// How prompts are cached, when the agent can drive or meter it.
    pub prompt_caching: Option<PromptCaching>,
    /// Who turns this provider's raw thinking into blocks.
    pub thinking_handler: Option<Arc<dyn ThinkingHandler>>,
    /// How this model thinks, when known.
    pub thinking_mode: Option<ThinkingMode>,
    /// Whether the provider streams.
    pub streams: bool,
}

/// Roles a provider carries inside the message list. `tool` is never one: a tool message answers a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RoleSet {
    system: bool,
    user: bool,
    assistant: bool,
}

impl RoleSet {
    /// What every provider carries: `user` and `assistant`. Also what an absent declaration means.
    pub const FLOOR: RoleSet = RoleSet { system: false, user: true, assistant: true };
    /// `system`, `user` and `assistant`.
    pub const ALL: RoleSet = RoleSet { system: true, user: true, assistant: true };

    /// Whether `role` is carried.
    pub fn carries(self, role: &Role) -> bool {
        match role {
            Role::System => self.system,
            Role::User => self.user,
            Role::Assistant => self.assistant,
            Role::Tool | Role::Other(_) => false,
        }
    }

    /// The roles both carry.
    #[must_use]
    pub fn intersection(self, other: RoleSet) -> RoleSet {
        RoleSet {
            system: self.system && other.system,
            user: self.user && other.user,
            assistant: self.assistant && other.assistant,
        }
    }

    /// The words of the carried roles, for messages.
    pub fn names(self) -> Vec<&'static str> {
        [(self.system, "system"), (self.user, "user"), (self.assistant, "assistant")]
            .into_iter()
            .filter_map(|(carried, name)| carried.then_some(name))
            .collect()
    }
}

impl Default for RoleSet {
    fn default() -> Self {
        RoleSet::FLOOR
    }
}

impl fmt::Debug for RoleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// How a provider caches prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptCaching {
    /// The request carries markers.
    Breakpoints {
        /// How many markers one request may carry.
        max_breakpoints: u32,
        /// Whether usage states what was read and written.
        reports_usage: bool,
    },
    /// The vendor caches stable prefixes by itself.
    Automatic {
        /// Whether usage states what was read.
        reports_usage: bool,
    },
}

impl PromptCaching {
    fn paired_with(self, other: PromptCaching) -> Option<PromptCaching> {
        match (self, other) {
            (
                PromptCaching::Breakpoints { max_breakpoints: a, reports_usage: ra },
                PromptCaching::Breakpoints { max_breakpoints: b, reports_usage: rb },
            ) => Some(PromptCaching::Breakpoints { max_breakpoints: a.min(b), reports_usage: ra && rb }),
            (
                PromptCaching::Automatic { reports_usage: ra },
                PromptCaching::Automatic { reports_usage: rb },
            ) => Some(PromptCaching::Automatic { reports_usage: ra && rb }),
            _ => None,
        }
    }
}

/// How a model thinks, from the least to the most that can be asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThinkingMode {
    /// Not at all.
    None,
    /// As much as it sees fit.
    Adaptive,
    /// Up to a budget of tokens.
    Budget,
}

/// A declaration that cannot be true.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("provider `{provider}` declares {what}; fix its capabilities()")]
pub struct MalformedCapabilities {
    /// The provider.
    pub provider: String,
    /// What it declares.
    pub what: &'static str,
}

impl Capabilities {
    /// Declares the roles carried inside the message list.
    #[must_use]
    pub fn carrying(mut self, roles: RoleSet) -> Self {
        self.carries_in_messages = roles;
        self
    }

    /// Declares whether one named tool can be forced.
    #[must_use]
    pub fn with_forced_tool_choice(mut self, carried: bool) -> Self {
        self.carries_forced_tool_choice = carried;
        self
    }

    /// Declares whether an answer can be held to a JSON schema.
    #[must_use]
    pub fn with_output_schema(mut self, carried: bool) -> Self {
        self.carries_output_schema = carried;
        self
    }

    /// Declares prompt caching.
    #[must_use]
    pub fn with_prompt_caching(mut self, caching: impl Into<Option<PromptCaching>>) -> Self {
        self.prompt_caching = caching.into();
        self
    }

    /// Declares the thinking handler.
    #[must_use]
    pub fn with_thinking_handler(mut self, handler: Arc<dyn ThinkingHandler>) -> Self {
        self.thinking_handler = Some(handler);
        self
    }

    /// Declares how the model thinks.
    #[must_use]
    pub fn with_thinking_mode(mut self, mode: impl Into<Option<ThinkingMode>>) -> Self {
        self.thinking_mode = mode.into();
        self
    }

    /// Declares whether the provider streams.
    #[must_use]
    pub fn with_streams(mut self, streams: bool) -> Self {
        self.streams = streams;
        self
    }

    /// What a pair of providers can claim together: only what is true whichever of the two answers.
    #[must_use]
    pub fn paired_with(&self, other: &Capabilities) -> Capabilities {
        Capabilities {
            carries_in_messages: self.carries_in_messages.intersection(other.carries_in_messages),
            carries_forced_tool_choice: self.carries_forced_tool_choice && other.carries_forced_tool_choice,
            carries_output_schema: self.carries_output_schema && other.carries_output_schema,
            prompt_caching: self.prompt_caching.zip(other.prompt_caching).and_then(|(a, b)| a.paired_with(b)),
            thinking_handler: thinking::paired_handlers(
                self.thinking_handler.clone(),
                other.thinking_handler.clone(),
            ),
            thinking_mode: self.thinking_mode.zip(other.thinking_mode).map(|(a, b)| a.min(b)),
            streams: self.streams || other.streams,
        }
    }

    /// Refuses declarations that cannot be true; asked once, when an agent is built.
    ///
    /// # Errors
    /// Names the provider and the declaration.
    pub fn check(&self, provider: &str) -> Result<(), MalformedCapabilities> {
        let refuse = |what| Err(MalformedCapabilities { provider: provider.to_owned(), what });
        if let Some(PromptCaching::Breakpoints { max_breakpoints: 0, .. }) = self.prompt_caching {
            return refuse("prompt caching by breakpoints with a maximum of 0 breakpoints");
        }
        if self.thinking_handler.as_ref().is_some_and(|handler| handler.id().trim().is_empty()) {
            return refuse("a thinking handler without an id");
        }
        Ok(())
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capabilities")
            .field("carries_in_messages", &self.carries_in_messages)
            .field("carries_forced_tool_choice", &self.carries_forced_tool_choice)
            .field("carries_output_schema", &self.carries_output_schema)
            .field("prompt_caching", &self.prompt_caching)
            .field("thinking_handler", &self.thinking_handler.as_ref().map(|handler| handler.id().to_owned()))
            .field("thinking_mode", &self.thinking_mode)
            .field("streams", &self.streams)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-6.
    #[test]
    fn tool_is_never_a_deliverable_role() {
        assert!(!RoleSet::ALL.carries(&Role::Tool));
        assert!(!RoleSet::default().carries(&Role::System));
        assert_eq!(RoleSet::default().names(), ["user", "assistant"]);
    }

    /// Proves LLM-9.
    #[test]
    fn impossible_declarations_are_refused_by_name() {
        let zero = Capabilities::default()
            .with_prompt_caching(PromptCaching::Breakpoints { max_breakpoints: 0, reports_usage: true });
        let error = zero.check("acme").unwrap_err();
        assert!(error.to_string().contains("`acme`") && error.to_string().contains("0 breakpoints"));
        assert!(Capabilities::default().check("acme").is_ok());
    }

    #[test]
    fn a_pair_claims_only_what_both_do() {
        let breakpoints =
            |max_breakpoints, reports_usage| PromptCaching::Breakpoints { max_breakpoints, reports_usage };
        let a = Capabilities::default()
            .carrying(RoleSet::ALL)
            .with_forced_tool_choice(true)
            .with_prompt_caching(breakpoints(4, true))
            .with_thinking_mode(ThinkingMode::Budget)
            .with_streams(true);
        let b = Capabilities::default()
            .carrying(RoleSet::ALL)
            .with_prompt_caching(breakpoints(2, false))
            .with_thinking_mode(ThinkingMode::Adaptive);
        let pair = a.paired_with(&b);
        assert_eq!(pair.carries_in_messages, RoleSet::ALL);
        assert!(!pair.carries_forced_tool_choice);
        assert_eq!(pair.prompt_caching, Some(breakpoints(2, false)));
        assert_eq!(pair.thinking_mode, Some(ThinkingMode::Adaptive));
        assert!(pair.streams);
        let automatic = b.with_prompt_caching(PromptCaching::Automatic { reports_usage: true });
        assert_eq!(a.paired_with(&automatic).prompt_caching, None);
        assert_eq!(a.paired_with(&Capabilities::default()).thinking_mode, None);
    }
}
