//! What watches all runs of a runner, and how it is let go (AGT §2).
//!
//! | file | idea |
//! |---|---|
//! | `attached` | recorders, wires and strategies that belong to a runner |
//! | `strategy` | the ports of what is shipped elsewhere |
//! | `enable` | the grouped door to them |
//! | `end` | draining, closing tool sessions, shutting down |

mod attached;
mod enable;
mod end;
mod strategy;

pub(crate) use self::attached::Keeping;
pub use self::attached::{Attachment, Observers};
pub use self::enable::{Enable, Enabled};
pub use self::end::{SessionSelector, ShutdownOptions, ShutdownReport};
pub(crate) use self::end::{Which, close_sessions, drain, shut_down};
pub use self::strategy::{
    CostStrategy, CostTick, FlowchartStrategy, ObservabilityStrategy, RecordingStrategy, Strategy,
};
