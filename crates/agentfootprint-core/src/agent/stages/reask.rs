//! What the re-asking branches share (AGT §11.4): close the iteration and go round again.

use agentfootprint_record::conventions::{Frame, state};
use agentfootprint_record::events::payload::AgentIterationEnd;
use agentfootprint_record::events::words::Word as _;
use agentfootprint_record::message::Messages;
use footprint::error::StageError;
use footprint::value::{Array, Value};

use crate::run::StageCx;
use crate::run::message;

/// A user turn the library wrote: marked with its frame, and opening with the frame's prefix (CTX-10, AGT-77).
pub(crate) fn framed(frame: &Frame, rest: &str) -> Value {
    let text = match frame.prefix() {
        Some(prefix) => format!("{prefix}{rest}"),
        None => rest.to_owned(),
    };
    let mut turn = message("user", text);
    turn.insert("frame", Value::from(frame.word()));
    Value::from(turn)
}

/// Closes the iteration with this history and starts the next one. Whatever else the branch writes comes before.
pub(crate) fn next_iteration(
    cx: &StageCx,
    iteration: u32,
    tool_calls: u64,
    history: &Array,
) -> Result<(), StageError> {
    cx.emit(|| AgentIterationEnd::new(0_u64, iteration, tool_calls).history(Messages::from(history.clone())));
    cx.turn.tracker.iteration_ended(iteration, history.clone());
    cx.set(state::ITERATION, iteration.saturating_add(1))
}
