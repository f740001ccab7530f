//! What watches all runs of a runner, and how it is let go (AGT §2).
//!
//! | file | idea |
//! |---|---|
//! | `attached` | recorders, wires and strategies that belong to a runner |
//! | `strategy` | the ports of what is shipped elsewhere |
//! | `life` | who holds a strategy, and how it fares |
//! | `options` | how much it is told, when it is flushed, on whose time |
//! | `channel` | the way of an event to one strategy, and how it is emptied |
//! | `composed` | several strategies as one |
//! | `enable` | the grouped door to them |
//! | `end` | draining, closing tool sessions, shutting down |

mod attached;
mod channel;
mod composed;
mod enable;
mod end;
mod life;
mod options;
mod strategy;

pub(crate) use self::attached::Keeping;
pub use self::attached::{Attachment, Observers};
pub use self::composed::{Composed, compose, compose_cost};
pub use self::enable::{Enable, Enabled};
pub use self::end::{SessionSelector, ShutdownOptions, ShutdownReport};
pub(crate) use self::end::{Which, close_sessions, drain, shut_down};
pub use self::life::{StrategyFailure, StrategyLife};
pub use self::options::{Delivery, EnableOptions, FlushOn, Join, SampleRate, SinkConfigError, Tier};
pub use self::strategy::{
    CostStrategy, CostTick, FlowchartStrategy, ObservabilityStrategy, RecordingStrategy, Strategy,
    StrategyCapabilities,
};
