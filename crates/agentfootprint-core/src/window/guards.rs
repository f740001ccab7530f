//! Which turns may not leave, and why: one resolver (LLM-154, LLM-182).

use std::collections::HashSet;

use agentfootprint_record::message::{Messages, Role};
use footprint::value::{Str, Value};

use super::pins::{ToolResultPin, tool_result_pins_of};
use super::plan::WindowRefusalReason as Reason;
use super::turns::WindowTurn;

/// What the guards of one visit are made of.
pub(super) struct Guards {
    pub(super) turns: Vec<WindowTurn>,
    pub(super) request: Option<usize>,
    /// The turn of the current request.
    request_turn: Option<usize>,
    /// Turns of tool calls that nobody answered.
    unresolved: HashSet<usize>,
    system: HashSet<usize>,
    waiting: Option<(usize, Reason)>,
    /// Newest first, of the whole window; the ceiling is spent where a plan is made.
    pins: Vec<ToolResultPin>,
    pub(super) limit: usize,
    /// The pins were left out because they blocked the two visits before.
    pub(super) stood_down: bool,
}

/// What waits for a person, if anything does.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    pub(super) call: Option<Str>,
    pub(super) is_check_in: bool,
}

impl Guards {
    pub(super) fn new(
        history: &Messages,
        turns: Vec<WindowTurn>,
        request: Option<usize>,
        waiting: &Waiting,
        limit: usize,
        stood_down: bool,
    ) -> Self {
        let turn_of = |position: usize| turns.iter().position(|turn| turn.holds(position));
        let unresolved = unanswered(history).into_iter().filter_map(turn_of).collect();
        let system = turns
            .iter()
            .enumerate()
            .filter(|(_, turn)| history.get(turn.start).is_some_and(|message| message.is(&Role::System)))
            .map(|(at, _)| at)
            .collect();
        let waiting = waiting.call.as_ref().and_then(|id| {
            let at = (0..history.len()).rev().find(|at| calls(history, *at).any(|call| call == *id))?;
            let reason = if waiting.is_check_in { Reason::PendingCheckIn } else { Reason::PausedTool };
            Some((turn_of(at)?, reason))
        });
        let request_turn = request.and_then(turn_of);
        let pins = if limit == 0 || stood_down {
            Vec::new()
        } else {
            tool_result_pins_of(history, &turns, request_turn, usize::MAX)
        };
        Self { turns, request, request_turn, unresolved, system, waiting, pins, limit, stood_down }
    }

    /// The pins a plan over the first `candidates` turns spends, and how many it has to let go.
    pub(super) fn spend(&self, candidates: usize) -> (Vec<ToolResultPin>, usize) {
        let inside = self.pins.iter().filter(|pin| pin.turn_index < candidates);
        let pinned: Vec<_> = inside.clone().take(self.limit).cloned().collect();
        let yielded = inside.count() - pinned.len();
        (pinned, yielded)
    }

    /// Why this turn may not leave: the first reason that applies.
    pub(super) fn refusal(&self, turn: usize, pinned: &[ToolResultPin]) -> Option<Reason> {
        if self.request_turn == Some(turn) {
            return Some(Reason::CurrentRequest);
        }
        if self.system.contains(&turn) {
            return Some(Reason::SystemEnvelope);
        }
        if let Some((waiting, reason)) = &self.waiting
            && *waiting == turn
        {
            return Some(*reason);
        }
        if self.unresolved.contains(&turn) {
            return Some(Reason::UnresolvedToolCall);
        }
        pinned.iter().any(|pin| pin.turn_index == turn).then_some(Reason::LastToolResult)
    }
}

fn calls(history: &Messages, at: usize) -> impl Iterator<Item = Str> + '_ {
    let calls = history.get(at).and_then(|message| message.raw_tool_calls());
    calls
        .into_iter()
        .flat_map(|calls| calls.iter())
        .filter_map(|call| call.get("id").and_then(Value::as_shared_str).cloned())
}

/// Positions of messages with a call that has no result: a result answers the nearest call with its id before it that is still
/// open, because a provider may use an id again (LLM-156).
fn unanswered(history: &Messages) -> Vec<usize> {
    let mut open: Vec<(Str, usize)> = Vec::new();
    for (at, message) in history.iter().enumerate() {
        if message.is(&Role::Tool) {
            if let Some(id) = message.tool_call_id()
                && let Some(answered) = open.iter().rposition(|(asked, _)| asked == id)
            {
                open.remove(answered);
            }
        } else {
            open.extend(calls(history, at).map(|id| (id, at)));
        }
    }
    open.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use agentfootprint_record::message::{Message, ToolCall};
    use footprint::value::Object;

    use super::super::turns::turns_of;
    use super::*;

    fn asks(ids: &[&str]) -> Message {
        let calls = ids.iter().map(|id| ToolCall::new(*id, "look", Object::new())).collect();
        Message::assistant("").with_tool_calls(calls)
    }

    fn reason(history: &[Message], request: Option<usize>, waiting: &Waiting, turn: usize) -> Option<Reason> {
        let history: Messages = history.iter().cloned().collect();
        let guards = Guards::new(&history, turns_of(&history), request, waiting, 4, false);
        let (pinned, _) = guards.spend(guards.turns.len());
        guards.refusal(turn, &pinned)
    }

    /// Proves LLM-154: where several reasons apply, the first of the closed list is the one that is filed.
    #[test]
    fn the_first_reason_that_applies_is_the_one() {
        let none = Waiting::default();
        let waits = |is_check_in| Waiting { call: Some("a".into()), is_check_in };
        let system = [Message::user("hi"), Message::system("rules"), Message::user("bye")];
        assert_eq!(reason(&system, Some(1), &none, 1), Some(Reason::CurrentRequest), "also a system message");
        assert_eq!(reason(&system, Some(0), &none, 1), Some(Reason::SystemEnvelope));
        assert_eq!(reason(&system, Some(0), &none, 2), None);
        // One turn that waits, has an open call and holds the newest result.
        let open = [Message::user("hi"), asks(&["a", "b"]), Message::tool("b", "look", "seen")];
        assert_eq!(reason(&open, Some(0), &waits(true), 1), Some(Reason::PendingCheckIn));
        assert_eq!(reason(&open, Some(0), &waits(false), 1), Some(Reason::PausedTool));
        assert_eq!(reason(&open, Some(0), &none, 1), Some(Reason::UnresolvedToolCall));
        let closed = [Message::user("hi"), asks(&["b"]), Message::tool("b", "look", "seen")];
        assert_eq!(reason(&closed, Some(0), &none, 1), Some(Reason::LastToolResult));
        let words = [
            Reason::CurrentRequest,
            Reason::SystemEnvelope,
            Reason::PendingCheckIn,
            Reason::PausedTool,
            Reason::UnresolvedToolCall,
            Reason::LastToolResult,
            Reason::LedgerFact,
            Reason::InsideKeepWindow,
            Reason::OnlyExistingSummary,
            Reason::SummarizerFailed,
            Reason::ReplacementNotSmaller,
        ]
        .map(Reason::as_str);
        assert_eq!(
            words,
            [
                "current-request",
                "system-envelope",
                "pending-check-in",
                "paused-tool",
                "unresolved-tool-call",
                "last-tool-result",
                "ledger-fact",
                "inside-keep-window",
                "only-existing-summary",
                "summarizer-failed",
                "replacement-not-smaller"
            ]
        );
    }
}
