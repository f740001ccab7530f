//! Settings of the deferred tier, and what its listeners receive.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::{Event, HookResult, Interest};
use crate::value::{Object, Value};

/// What happens to an event that arrives at a full queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// The oldest waiting event is lost.
    #[default]
    DropOldest,
    /// One in `sample_every` arrivals is admitted while the queue is full, in place of the oldest; the rest
    /// are lost.
    Sample,
    /// The producer delivers from the head itself until there is room. Nothing is lost, order is kept.
    Block,
}

/// How much of an event is kept while it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Capture {
    /// The whole event; values are shared, so this costs pointers.
    #[default]
    Clone,
    /// Values are replaced by a bounded digest (OBS-125).
    Summary,
    /// Accepted as a synonym of [`Capture::Clone`].
    Ref,
}

/// Settings of a run's observer queue (OBS-121).
///
/// ```
/// use footprint::observe::{ObserverQueueConfig, Overflow};
/// let config = ObserverQueueConfig { overflow: Overflow::Block, ..ObserverQueueConfig::default() };
/// assert!(config.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ObserverQueueConfig {
    /// Bound of the queue; at least 1.
    pub max_queue: usize,
    /// What happens at the bound.
    pub overflow: Overflow,
    /// Sampling rate of [`Overflow::Sample`]; at least 1.
    pub sample_every: u32,
    /// Time one delivery batch may take; `None` is unlimited.
    pub flush_budget: Option<Duration>,
    /// How much of an event is kept.
    pub capture: Capture,
    /// Unfinished futures one asynchronous listener may have before its events wait; at least 1.
    pub max_inflight: usize,
}

impl Default for ObserverQueueConfig {
    fn default() -> Self {
        Self {
            max_queue: 10_000,
            overflow: Overflow::default(),
            sample_every: 10,
            flush_budget: Some(Duration::from_millis(2)),
            capture: Capture::default(),
            max_inflight: 64,
        }
    }
}

/// A queue option that cannot work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("observer queue option `{option}` cannot be {value}")]
pub struct InvalidQueueOption {
    /// The option's name.
    pub option: &'static str,
    /// The refused value.
    pub value: String,
}

impl ObserverQueueConfig {
    /// Refuses values that cannot work.
    ///
    /// # Errors
    /// [`InvalidQueueOption`] names option and value.
    pub fn check(&self) -> Result<(), InvalidQueueOption> {
        let zero = |option| Err(InvalidQueueOption { option, value: "0".to_owned() });
        match self {
            Self { max_queue: 0, .. } => zero("max_queue"),
            Self { sample_every: 0, .. } => zero("sample_every"),
            Self { max_inflight: 0, .. } => zero("max_inflight"),
            Self { flush_budget: Some(Duration::ZERO), .. } => zero("flush_budget"),
            _ => Ok(()),
        }
    }
}

/// One captured event on its way to deferred listeners.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// The event, with its context.
    pub event: Arc<Event>,
}

impl Envelope {
    /// `{seq, channel, method, runtimeStageId, runId, payload, capturedAt}`.
    pub fn to_json(&self) -> Value {
        let (cx, hook) = (&self.event.cx, self.event.hook());
        let mut out = Object::new();
        out.insert("seq", Value::from(cx.seq));
        out.insert("channel", Value::from(hook.channel().as_str()));
        out.insert("method", Value::from(hook.json_name()));
        out.insert("runtimeStageId", Value::from(cx.traversal.runtime_stage_id.to_string()));
        out.insert("runId", Value::from(cx.run_id.to_string()));
        out.insert("payload", self.event.to_json());
        out.insert("capturedAt", Value::from(cx.timestamp));
        Value::Object(out)
    }
}

/// A future an asynchronous observer returns.
pub type EnvelopeFuture = Pin<Box<dyn Future<Output = HookResult> + Send + 'static>>;

/// An observer whose hook is asynchronous; deferred by nature (OBS-33).
///
/// Events start in order; their futures run beside the run and are not awaited by it. Inside a tokio runtime
/// they are spawned there, elsewhere on a thread.
pub trait AsyncRecorder: Send + Sync + 'static {
    /// Unique name of this observer.
    fn id(&self) -> &str;

    /// The hooks this observer wants.
    fn interest(&self) -> Interest {
        Interest::ALL
    }

    /// Receives every event it is interested in.
    fn on_envelope(&self, envelope: Envelope) -> EnvelopeFuture;
}

/// What [`crate::walk::RunHandle::drain_observers`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrainReport {
    /// Futures of asynchronous observers that ended well.
    pub done: u64,
    /// Futures that failed.
    pub failed: u64,
    /// Events and futures still open when the time was over; 0 means complete.
    pub pending: u64,
}
