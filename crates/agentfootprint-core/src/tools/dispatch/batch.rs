//! The batch: its working copy of the conversation, and the only ways anything gets into it.

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::{PermissionHalt, StreamToolEnd, StreamToolStart};
use agentfootprint_record::events::shared::{NotDispatched, PausedCall};
use footprint::error::StageError;
use footprint::value::{Array, Object, Str, Value};

use super::call::{Attempt, Call};
use super::door::Door;
use super::finish::Delivered;
use super::permission::Halt;
use super::resolve;
use crate::agent::stages::reask::next_iteration;
use crate::run::{CANCELLED, StageCx, message};

/// All calls of one assistant turn.
pub(super) struct Batch {
    pub(super) cx: StageCx,
    pub(super) iteration: u32,
    /// The working conversation; written when the batch is left.
    pub(super) history: Array,
    pub(super) calls: Vec<Call>,
    results: Array,
    /// Position of the next call.
    next: usize,
    /// Calls that landed or were settled at this door.
    settled: u64,
}

impl Batch {
    /// The prologue: barrier, assistant turn, fresh results.
    pub(super) async fn begin(cx: StageCx) -> Result<Self, StageError> {
        if let Some(barrier) = &cx.run.barrier {
            cx.unless_cancelled(barrier()).await??;
        }
        let requested = cx.list(state::LLM_LATEST_TOOL_CALLS)?;
        let iteration = cx.iteration()?;
        let mut history = cx.list(state::HISTORY)?;
        history.push(assistant_turn(&cx, &requested)?);
        cx.set(state::TOOL_RESULTS, Array::new())?;
        resolve::note_offer(&cx);
        let calls = Call::read_all(&requested);
        Ok(Self { cx, iteration, history, calls, results: Array::new(), next: 0, settled: 0 })
    }

    /// A batch that was left for an answer: what the state says of it. `paused` is the call that waits.
    pub(super) fn reopen(cx: StageCx, paused: &str) -> Result<Self, StageError> {
        let iteration = cx.iteration()?;
        let history = cx.list(state::HISTORY)?;
        let results = cx.list(state::TOOL_RESULTS)?;
        let calls = asking_turn(&history, paused).map(Call::read_all).unwrap_or_default();
        let next = calls.iter().position(|call| &*call.id == paused).map_or(calls.len(), |at| at + 1);
        Ok(Self { cx, iteration, history, calls, results, next, settled: 0 })
    }

    /// The next call, announced and resolved.
    pub(super) fn next(&mut self, door: Door) -> Result<Option<Attempt>, StageError> {
        let Some(call) = self.calls.get(self.next).cloned() else { return Ok(None) };
        self.next += 1;
        if self.cx.run.cancel.is_cancelled() {
            return Err(StageError::named(CANCELLED, "the run was cancelled"));
        }
        self.cx.turn.tracker.tool_started(&call.name);
        let resolved = resolve::resolve(&self.cx, &call, self.iteration);
        self.announce(&call, None);
        let args = call.args.clone();
        Ok(Some(Attempt {
            door,
            resolved,
            spoken: args.clone(),
            delivered: args,
            started_ms: self.cx.now_ms(),
            decision: None,
            credential: None,
            wanted: None,
            call,
        }))
    }

    fn announce(&self, call: &Call, not_dispatched: Option<&NotDispatched>) {
        let asked = self.calls.len();
        self.cx.emit(|| {
            let mut event = StreamToolStart::new(call.name.clone(), call.id.clone(), call.args.clone());
            event.parallel_count = (asked > 1).then(|| u64::try_from(asked).unwrap_or(u64::MAX));
            event.not_dispatched = not_dispatched.cloned();
            event
        });
    }

    /// Lands a finished call: the tool message, `lastToolResult`, `toolResults` (step 30).
    pub(super) fn land(&mut self, delivered: Delivered) -> Result<(), StageError> {
        self.push(&delivered);
        self.write_landing(&delivered)
    }

    /// The tool message alone; what a resumed batch does first.
    pub(super) fn push(&mut self, delivered: &Delivered) {
        self.history.push(delivered.message());
        self.settled += 1;
        self.cx.turn.tracker.tool_ended();
    }

    /// The routing half of a landing.
    pub(super) fn write_landing(&mut self, delivered: &Delivered) -> Result<(), StageError> {
        self.results.push(delivered.result_row());
        self.cx.set(state::LAST_TOOL_RESULT, delivered.last_result())?;
        self.cx.set(state::TOOL_RESULTS, self.results.clone())
    }

    /// Settles the calls behind the one at which the batch stopped: each gets a message, none of them ran (TOOL-31).
    pub(super) fn settle_rest(&mut self, stopped_at: &Call) {
        let pair = NotDispatched::new(PausedCall::new(stopped_at.id.clone(), stopped_at.name.clone()));
        while let Some(call) = self.calls.get(self.next).cloned() {
            self.next += 1;
            if self.is_answered(&call.id) {
                continue;
            }
            let delivered = Delivered::not_dispatched(&call, stopped_at, &pair);
            self.announce(&call, Some(&pair));
            self.cx.emit(|| {
                let mut event = StreamToolEnd::new(call.id.clone(), 0_u64);
                event.result = Some(Value::from(delivered.text().clone()));
                event.not_dispatched = Some(pair.clone());
                event
            });
            self.history.push(delivered.message());
            self.settled += 1;
        }
    }

    /// Whether a tool message of this batch answers the call. Looks at the batch's own messages only.
    fn is_answered(&self, call_id: &str) -> bool {
        for at in (0..self.history.len()).rev() {
            let Some(message) = self.history.get(at) else { return false };
            if message.get("role").and_then(Value::as_str) != Some("tool") {
                return false;
            }
            if message.get("toolCallId").and_then(Value::as_str) == Some(call_id) {
                return true;
            }
        }
        false
    }

    /// The halt sequence (TOOL-38): the message is pushed; settle, say, commit, stop.
    pub(super) fn halt(&mut self, attempt: &Attempt, halt: Halt) -> Result<(), StageError> {
        self.settle_rest(&attempt.call);
        let cx = &self.cx;
        cx.emit(|| {
            let mut event = PermissionHalt::new(
                halt.target.clone(),
                halt.reason.clone(),
                self.iteration,
                halt.sequence_length,
            );
            event.checker_id = Some(halt.checker_id.clone());
            event.tell_llm = halt.tell_llm.clone();
            event
        });
        cx.set(state::HISTORY, self.history.clone())?;
        cx.set(state::POLICY_HALT_REASON, halt.reason.clone())?;
        if let Some(text) = &halt.tell_llm {
            cx.set(state::POLICY_HALT_TELL_LLM, text.clone())?;
        }
        cx.set(state::POLICY_HALT_TARGET, halt.target.clone())?;
        cx.set(state::POLICY_HALT_ARGS, attempt.call.args.clone())?;
        cx.set(state::POLICY_HALT_ITERATION, self.iteration)?;
        cx.set(state::POLICY_HALT_CHECKER_ID, halt.checker_id)?;
        cx.scope.stop("policy halt")?;
        Ok(())
    }

    /// The epilogue of a batch that ran to its end.
    pub(super) fn close(self) -> Result<(), StageError> {
        self.cx.set(state::HISTORY, self.history.clone())?;
        let count = u64::try_from(self.calls.len()).unwrap_or(u64::MAX);
        self.end_iteration(count)
    }

    /// The epilogue of a resumed batch: the answered call and the settled ones count.
    pub(super) fn close_resumed(self) -> Result<(), StageError> {
        let count = self.settled;
        self.end_iteration(count)
    }

    fn end_iteration(self, count: u64) -> Result<(), StageError> {
        self.cx.turn.note_batch(self.iteration);
        next_iteration(&self.cx, self.iteration, count, &self.history)
    }
}

/// The assistant turn that asked: always pushed when there are calls, also with empty text; thinking unchanged.
fn assistant_turn(cx: &StageCx, requested: &Array) -> Result<Value, StageError> {
    let mut turn = message("assistant", cx.text(state::LLM_LATEST_CONTENT)?);
    turn.insert("toolCalls", Value::from(requested.clone()));
    let thinking = cx.list(state::THINKING_BLOCKS)?;
    if !thinking.is_empty() {
        turn.insert("thinkingBlocks", Value::from(thinking));
    }
    Ok(Value::Object(turn))
}

/// The calls of the assistant turn that asked for `call_id`.
fn asking_turn<'a>(history: &'a Array, call_id: &str) -> Option<&'a Array> {
    (0..history.len()).rev().filter_map(|at| history.get(at)).find_map(|message| {
        let calls = message.get("toolCalls").and_then(Value::as_array)?;
        calls.iter().any(|call| call.get("id").and_then(Value::as_str) == Some(call_id)).then_some(calls)
    })
}

/// A tool message answering a call.
pub(super) fn tool_message(call: &Call, content: Str) -> Object {
    let mut out = message("tool", content);
    out.insert("toolCallId", Value::from(call.id.clone()));
    out.insert("toolName", Value::from(call.name.clone()));
    out
}
