//! Watching runs: the hook table, the events, the [`Recorder`] trait, and how events reach observers.
//!
//! | file | idea |
//! |---|---|
//! | `hooks` | the one table of hooks; generates trait, masks and owned events |
//! | `events` | one payload per hook and its JSON form |
//! | `context` | where and when an event happened |
//! | `recorder` | what observers return and contribute |
//! | `dispatch` | lists per hook, isolation of failing observers |
//! | `queue_config`, `queue` | the deferred tier: settings and delivery |
//! | `digest` | bounded digests of values |

mod context;
mod digest;
mod dispatch;
mod events;
mod events_json;
mod hooks;
mod queue;
mod queue_config;
mod recorder;

pub use context::{
    EventCx, EventPlace, LegKind, NamespaceId, OwnedCx, ResumedFrom, RunLeg, RunMeta, TraversalContext,
};
pub use digest::digest;
pub use events::{
    BreakEvent, CommitEvent, DecisionEvent, EmitEvent, ErrorEvent, FailedOperation, FlowPauseEvent,
    FlowResumeEvent, ForkEvent, LoopEvent, Mutation, NextEvent, ReadEvent, RunEndEvent, RunFailedEvent,
    RunStartEvent, ScopeErrorEvent, ScopePauseEvent, ScopeResumeEvent, SelectedEvent, StageEndEvent,
    StageExecutedEvent, StageRetryEvent, StageStartEvent, StageType, SubflowEntryEvent, SubflowExitEvent,
    SubflowRegisteredEvent, ThrottledEvent, WriteEvent, WriteOp,
};
pub use hooks::{Channel, Event, Hook, Interest, Payload, Recorder};
pub use queue_config::{
    AsyncRecorder, Capture, DrainReport, Envelope, EnvelopeFuture, InvalidQueueOption, ObserverQueueConfig,
    Overflow,
};
pub use recorder::{Delivery, HookResult, RecorderBundle, RecorderError};

pub(crate) use dispatch::{At, Observers, interest_of, name_of, wish_of};
