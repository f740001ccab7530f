//! What may leave at this visit: a span of turns, and why it is not longer (LLM-154, LLM-155).

use std::ops::Range;
use std::sync::Arc;

use agentfootprint_record::message::{Message, Messages};
use agentfootprint_record::text::utf16_len;
use footprint::value::{Object, Value};

use super::guards::Guards;
use super::outcome::WindowOutcome;
use super::pins::ToolResultPin;

/// Why a turn stays. A closed set; the recorded words are those of [`as_str`](Self::as_str).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WindowRefusalReason {
    /// It is what the person asked.
    CurrentRequest,
    /// It is a system message.
    SystemEnvelope,
    /// A check-in on one of its calls waits for a person.
    PendingCheckIn,
    /// One of its calls waits for an answer.
    PausedTool,
    /// One of its calls has no result.
    UnresolvedToolCall,
    /// It holds the newest result of a tool.
    LastToolResult,
    /// It holds a fact of the findings ledger.
    LedgerFact,
    /// It is recent.
    InsideKeepWindow,
    /// It is a summary, and nothing else would leave with it.
    OnlyExistingSummary,
    /// The summarizer failed.
    SummarizerFailed,
    /// What would stand in its place is not smaller.
    ReplacementNotSmaller,
}

impl WindowRefusalReason {
    /// The recorded word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CurrentRequest => "current-request",
            Self::SystemEnvelope => "system-envelope",
            Self::PendingCheckIn => "pending-check-in",
            Self::PausedTool => "paused-tool",
            Self::UnresolvedToolCall => "unresolved-tool-call",
            Self::LastToolResult => "last-tool-result",
            Self::LedgerFact => "ledger-fact",
            Self::InsideKeepWindow => "inside-keep-window",
            Self::OnlyExistingSummary => "only-existing-summary",
            Self::SummarizerFailed => "summarizer-failed",
            Self::ReplacementNotSmaller => "replacement-not-smaller",
        }
    }
}

/// One turn that stays, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRefusal {
    /// Why.
    pub reason: WindowRefusalReason,
    /// The turn.
    pub turn_index: usize,
    /// Its first message.
    pub message_index: usize,
}

impl WindowRefusal {
    pub(super) fn to_value(self) -> Value {
        let mut out = Object::new();
        out.insert("reason", Value::from(self.reason.as_str()));
        out.insert("turnIndex", Value::from(self.turn_index));
        out.insert("messageIndex", Value::from(self.message_index));
        Value::from(out)
    }
}

/// A contiguous span of turns that may leave, or none. Made by [`WindowInput::plan_removal`](super::WindowInput::plan_removal)
/// alone, so every strategy keeps every rule.
#[derive(Clone)]
pub struct RemovalPlan {
    pub(super) history: Messages,
    pub(super) guards: Arc<Guards>,
    pub(super) span: Option<Range<usize>>,
    pub(super) refusals: Vec<WindowRefusal>,
    pub(super) pinned: Vec<ToolResultPin>,
    pub(super) yielded: usize,
}

impl std::fmt::Debug for RemovalPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemovalPlan")
            .field("turns", &self.span)
            .field("refusals", &self.refusals)
            .finish_non_exhaustive()
    }
}

/// Plans over the conversation: the last `keep` turns stay; of the rest, the longest run that starts at the oldest turn that
/// may leave.
pub(super) fn plan(
    history: &Messages,
    guards: &Arc<Guards>,
    keep: usize,
    is_summary: Option<&dyn Fn(usize) -> bool>,
) -> RemovalPlan {
    let turns = &guards.turns;
    let candidates = turns.len().saturating_sub(keep);
    let (pinned, yielded) = guards.spend(candidates);
    let mut refusals = Vec::new();
    let refuse = |reason, turn: usize| WindowRefusal {
        reason,
        turn_index: turn,
        message_index: turns.get(turn).map_or(0, |turn| turn.start),
    };
    let mut span: Option<Range<usize>> = None;
    for turn in 0..candidates {
        match (guards.refusal(turn, &pinned), &mut span) {
            (None, Some(span)) => span.end = turn + 1,
            (None, none) => *none = Some(turn..turn + 1),
            (Some(reason), open) => {
                refusals.push(refuse(reason, turn));
                if open.is_some() {
                    break;
                }
            }
        }
    }
    if let (Some(only), Some(is_summary)) = (&span, is_summary)
        && only.len() == 1
        && turns.get(only.start).is_some_and(|turn| is_summary(turn.start))
    {
        refusals.push(refuse(WindowRefusalReason::OnlyExistingSummary, only.start));
        span = None;
    }
    refusals
        .extend((candidates..turns.len()).map(|turn| refuse(WindowRefusalReason::InsideKeepWindow, turn)));
    RemovalPlan { history: history.clone(), guards: Arc::clone(guards), span, refusals, pinned, yielded }
}

impl RemovalPlan {
    /// The turns that may leave, as indices.
    #[must_use]
    pub fn turns(&self) -> Option<Range<usize>> {
        self.span.clone()
    }

    /// The messages that may leave, as positions.
    #[must_use]
    pub fn positions(&self) -> Option<Range<usize>> {
        let span = self.span.as_ref()?;
        let turns = &self.guards.turns;
        Some(turns.get(span.start)?.start..turns.get(span.end.checked_sub(1)?)?.end)
    }

    /// Length of the contents that may leave, in UTF-16 units.
    #[must_use]
    pub fn chars(&self) -> usize {
        self.positions().map_or(0, |range| {
            range.filter_map(|at| self.history.get(at)).map(|message| utf16_len(message.content())).sum()
        })
    }

    /// What stays, and why.
    #[must_use]
    pub fn refusals(&self) -> &[WindowRefusal] {
        &self.refusals
    }

    /// The plan over fewer of its turns: the first `turns` of the span. More than there are changes nothing.
    #[must_use]
    pub fn narrow(mut self, turns: usize) -> Self {
        self.span = self.span.filter(|_| turns > 0).map(|span| span.start..span.end.min(span.start + turns));
        self
    }

    /// The span leaves and nothing stands in its place.
    #[must_use]
    pub fn drop(self) -> WindowOutcome {
        WindowOutcome::of(self, None)
    }

    /// The span leaves and this message stands in its place.
    #[must_use]
    pub fn drop_with(self, replacement: Message) -> WindowOutcome {
        WindowOutcome::of(self, Some(replacement))
    }

    /// Nothing leaves, for the reasons the plan names; the visit is recorded all the same.
    #[must_use]
    pub fn keep(mut self) -> WindowOutcome {
        self.span = None;
        WindowOutcome::of(self, None)
    }

    /// Nothing leaves, for a reason of the strategy, put first and placed at the span's first turn.
    #[must_use]
    pub fn refuse(mut self, reason: WindowRefusalReason) -> WindowOutcome {
        let turn_index = self.span.as_ref().map_or(0, |span| span.start);
        let message_index = self.positions().map_or(0, |range| range.start);
        self.refusals.insert(0, WindowRefusal { reason, turn_index, message_index });
        self.keep()
    }

    /// Whether the span reaches the front of the conversation: nothing before it but the kept request (LLM-167).
    pub(super) fn reaches_front(&self) -> bool {
        match self.span.as_ref().map(|span| span.start) {
            Some(0) => true,
            Some(1) => self.keeps_request_at_head(),
            _ => false,
        }
    }

    pub(super) fn keeps_request_at_head(&self) -> bool {
        self.refusals
            .iter()
            .any(|refusal| refusal.turn_index == 0 && refusal.reason == WindowRefusalReason::CurrentRequest)
    }
}
