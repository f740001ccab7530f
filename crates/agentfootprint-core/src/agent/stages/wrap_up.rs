//! The branch that asks for an answer when the action budget is spent (AGT-78, TOOL-112).

use agentfootprint_record::conventions::{Frame, state};
use footprint::error::StageError;

use super::reask::{framed, next_iteration};
use crate::run::StageCx;

/// Asks, with the tools withheld from the call that follows. The model's last fragment is not kept and its pending calls
/// are neither executed nor left unanswered: they never enter the conversation.
pub(crate) async fn wrap_up(cx: StageCx) -> Result<(), StageError> {
    let iteration = cx.iteration()?;
    let mut history = cx.list(state::HISTORY)?;
    history.push(framed(
        &Frame::WrapUp,
        " — the action budget of this turn was spent, so the tools last asked for were not run and no tools are offered \
         with this call. Answer now from what is already known: say what was done, what was left undone, and what is \
         missing.]",
    ));
    cx.set(state::HISTORY, history.clone())?;
    cx.set(state::WRAP_UP_ASKED, true)?;
    next_iteration(&cx, iteration, 0, &history)
}
