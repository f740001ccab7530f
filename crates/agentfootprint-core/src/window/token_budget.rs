//! The window that counts tokens.

use async_trait::async_trait;

use super::drop_notice::drop_span;
use super::input::{WindowError, WindowInput, WindowStrategy};
use super::outcome::WindowOutcome;

/// Turns that stay unless the caller says otherwise.
pub(super) const KEEP_RECENT_TURNS: usize = 6;

/// Drops the oldest turns once the provider reports a prompt above the threshold.
///
/// ```
/// use agentfootprint_core::window::{TokenBudget, WindowStrategy};
/// assert!(TokenBudget::tokens(8_000).keep_recent_turns(4).problem().is_none());
/// assert!(TokenBudget::tokens(0).problem().is_some());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokenBudget {
    threshold_tokens: u64,
    keep_recent_turns: usize,
}

impl TokenBudget {
    /// Drops when the last prompt had more than this many tokens; at least 1.
    #[must_use]
    pub const fn tokens(threshold: u64) -> Self {
        Self { threshold_tokens: threshold, keep_recent_turns: KEEP_RECENT_TURNS }
    }

    /// Turns that stay in any case, 6 by default; at least 1.
    #[must_use]
    pub const fn keep_recent_turns(mut self, turns: usize) -> Self {
        self.keep_recent_turns = turns;
        self
    }
}

/// What the options of a budget may not be.
pub(super) fn problem(threshold: u64, keep: usize) -> Option<String> {
    match (threshold, keep) {
        (0, _) => Some("its threshold is 0 tokens; give it a positive one".to_owned()),
        (_, 0) => Some("it keeps 0 turns; keep at least 1".to_owned()),
        _ => None,
    }
}

/// The measured prompt, when it is over the threshold.
pub(super) fn over(
    input: &WindowInput<'_>,
    strategy: &str,
    threshold: u64,
) -> Result<Option<u64>, WindowError> {
    let Some(usage) = input.measured() else { return Ok(None) };
    let total = usage.prompt_total();
    if total == 0 {
        return Err(WindowError::Unmeasurable {
            strategy: strategy.into(),
            provider: input.provider_name().into(),
        });
    }
    Ok((total > threshold).then_some(total))
}

#[async_trait]
impl WindowStrategy for TokenBudget {
    fn name(&self) -> &str {
        "token-budget"
    }

    fn problem(&self) -> Option<String> {
        problem(self.threshold_tokens, self.keep_recent_turns)
    }

    async fn plan(&self, input: &WindowInput<'_>) -> Result<Option<WindowOutcome>, WindowError> {
        let Some(measured) = over(input, self.name(), self.threshold_tokens)? else { return Ok(None) };
        let plan = input.plan_removal(self.keep_recent_turns);
        let outcome = drop_span(plan, self.name(), input.iteration());
        Ok(Some(
            outcome.budget(self.threshold_tokens, measured).field("keepRecentTurns", self.keep_recent_turns),
        ))
    }
}
