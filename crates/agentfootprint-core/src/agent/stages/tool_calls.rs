//! The branch that executes the tool calls of one assistant turn. What it does is the one dispatch pipeline (TOOL §5).

use footprint::chart::Step;
use footprint::error::StageError;
use footprint::value::Value;

use crate::run::StageCx;

/// Runs the batch; a call may ask a person, and then the run pauses.
pub(crate) async fn run(cx: StageCx) -> Result<Step<Value>, StageError> {
    crate::tools::run_batch(cx).await
}

/// Goes on with the answer to the question the batch paused at.
pub(crate) async fn resume(cx: StageCx, answer: Value) -> Result<(), StageError> {
    crate::tools::resume_batch(cx, answer).await
}
