//! The one dispatch pipeline (TOOL §5): every call of every batch, at every door.
//!
//! | file | steps |
//! |---|---|
//! | `batch` | prologue, landing of results, settlement of calls that were not dispatched, epilogue |
//! | `resolve` | 1: which party answers a name |
//! | `gates` | 3–11: may it run, and with what |
//! | `permission`, `credential` | 3, 4, 8 and 11 |
//! | `artifacts` | 10, 21 and 23: what a store has to do with a call |
//! | `execute` | 12: the handler, contained |
//! | `coverage` | 15: what a result says it stands on |
//! | `finish` | 13–30: what the record holds and what the model reads |
//! | `pause`, `resume` | leaving a batch for a person's answer, and coming back |
//! | `verdict` | the outcome table |
//! | `inner`, `teardown` | what a handler may do besides answering: call other tools, leave cleanups |
//! | `size`, `repeat` | the operator's cap; the note on repeated calls |
//!
//! A door only chooses the first step and the capabilities ([`Door`](door::Door)); nothing can push a tool message
//! except [`finish`], whose [`Delivered`](finish::Delivered) no other file can make.

mod artifacts;
mod batch;
mod call;
mod component;
mod coverage;
mod credential;
mod door;
mod execute;
mod finish;
mod gates;
mod inner;
mod pause;
mod permission;
mod repeat;
mod resolve;
mod resume;
mod size;
mod teardown;
mod verdict;

use footprint::chart::Step;
use footprint::error::StageError;
use footprint::value::Value;

use self::batch::Batch;
pub(crate) use self::credential::OutstandingConsent;
use self::door::Door;
use self::gates::Gated;
pub(crate) use self::permission::dispatched;
pub(crate) use self::verdict::DENIED_PREFIX;
pub use self::verdict::{ToolFate, tool_fate};
use crate::run::StageCx;

/// The body of stage `tool-calls`: runs the calls of one assistant turn, in order.
pub(crate) async fn run_batch(cx: StageCx) -> Result<Step<Value>, StageError> {
    let mut batch = Batch::begin(cx).await?;
    while let Some(mut attempt) = batch.next(Door::INLINE)? {
        let outcome = match gates::pass(&batch, &mut attempt).await? {
            Gated::Execute => execute::execute(&batch, &mut attempt).await?,
            Gated::Settled(outcome) => Gated::Settled(outcome),
            Gated::Paused(pause) => Gated::Paused(pause),
        };
        match outcome {
            Gated::Paused(pause) => {
                pause.must_be_visible(&batch, &attempt).await?;
                return pause::leave(batch, &attempt, pause).map(Step::Pause);
            }
            Gated::Settled(outcome) => {
                let halt = outcome.halt.clone();
                let delivered = finish::finish(&batch, &attempt, outcome).await?;
                batch.land(delivered)?;
                if let Some(halt) = halt {
                    batch.halt(&attempt, halt)?;
                    return Ok(Step::Continue);
                }
            }
            Gated::Execute => {}
        }
    }
    batch.close()?;
    Ok(Step::Continue)
}

/// The resume entry of stage `tool-calls`: goes on with the answer to the question the batch paused at.
pub(crate) async fn resume_batch(cx: StageCx, answer: Value) -> Result<(), StageError> {
    resume::resume(cx, answer).await
}
