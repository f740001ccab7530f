//! Pausing and resuming (ENG §7): questions, checkpoints, and the way back into a chart.
//!
//! | file | idea |
//! |---|---|
//! | `ask` | `scope.interrupt(..)`: a question from inside any stage |
//! | `record` | one question while the run unwinds |
//! | `checkpoint` | a paused run as plain data |
//! | `json` | its text form, read field by field |
//! | `plan` | the way back, found and checked before anything runs |

mod ask;
mod checkpoint;
mod json;
mod plan;
mod record;

pub use crate::chart::Step;
pub use ask::{Ask, Interrupt};
pub use checkpoint::{CHECKPOINT_VERSION, FlowchartCheckpoint, PausedExecution, PendingPause};
pub use json::InvalidCheckpoint;
pub use plan::ResumeError;
pub use record::FanOutMemory;

pub(crate) use checkpoint::unlink;
pub(crate) use plan::{Plan, PlanLevel, Resolved};
pub(crate) use record::{PauseRecord, TopFrames};
