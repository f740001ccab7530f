//! The window that counts turns.

use async_trait::async_trait;

use super::drop_notice::drop_span;
use super::input::{WindowError, WindowInput, WindowStrategy};
use super::outcome::WindowOutcome;

/// Keeps the last turns and drops older ones. It needs no measurement and works with every provider.
///
/// ```
/// use agentfootprint_core::window::{SlidingWindow, WindowStrategy};
/// assert!(SlidingWindow::keep(6).problem().is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SlidingWindow {
    keep_recent_turns: usize,
}

impl SlidingWindow {
    /// Keeps the last `turns` turns; at least 1.
    #[must_use]
    pub const fn keep(turns: usize) -> Self {
        Self { keep_recent_turns: turns }
    }
}

#[async_trait]
impl WindowStrategy for SlidingWindow {
    fn name(&self) -> &str {
        "sliding-window"
    }

    fn problem(&self) -> Option<String> {
        (self.keep_recent_turns == 0).then(|| "it keeps 0 turns; keep at least 1".to_owned())
    }

    async fn plan(&self, input: &WindowInput<'_>) -> Result<Option<WindowOutcome>, WindowError> {
        let before = input.turns().len();
        if before <= self.keep_recent_turns {
            return Ok(None);
        }
        let outcome = drop_span(input.plan_removal(self.keep_recent_turns), self.name(), input.iteration());
        let left = outcome.plan.turns().map_or(0, |turns| turns.len());
        let after = before - left + usize::from(outcome.replacement.is_some());
        let outcome = outcome.field("keepRecentTurns", self.keep_recent_turns);
        Ok(Some(outcome.field("turnsBefore", before).field("turnsAfter", after)))
    }
}
