//! The deferred tier: one bounded queue per run (OBS §9).

use std::time::Duration;

use super::{Event, HookResult, Interest};

/// What happens to an event that arrives at a full queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// The oldest waiting event is lost.
    #[default]
    DropOldest,
    /// One in `sample_every` arrivals is admitted while the queue is full; the rest are lost.
    Sample,
    /// The producer delivers from the head itself until there is room.
    Block,
}

/// How much of an event is kept while it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Capture {
    /// The whole event; values are shared, so this costs pointers.
    #[default]
    Clone,
    /// A bounded digest of the payload.
    Summary,
    /// Accepted as a synonym of [`Capture::Clone`].
    Ref,
}

/// Settings of a run's observer queue (OBS-121).
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
    pub fn check(&self) -> Result<(), InvalidQueueOption> {
        let refuse = |option, value: String| Err(InvalidQueueOption { option, value });
        if self.max_queue == 0 {
            return refuse("max_queue", "0".to_owned());
        }
        if self.sample_every == 0 {
            return refuse("sample_every", "0".to_owned());
        }
        if self.max_inflight == 0 {
            return refuse("max_inflight", "0".to_owned());
        }
        if self.flush_budget == Some(Duration::ZERO) {
            return refuse("flush_budget", "zero".to_owned());
        }
        Ok(())
    }
}

/// One captured event on its way to deferred listeners.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// The event, with its context.
    pub event: std::sync::Arc<Event>,
}

/// A listener whose hook is asynchronous; deferred by nature (OBS-33).
pub trait AsyncRecorder: Send + Sync + 'static {
    /// Unique name of this observer.
    fn id(&self) -> &str;

    /// The hooks this observer wants.
    fn interest(&self) -> Interest {
        Interest::ALL
    }

    /// Receives every event it is interested in, started in order.
    fn on_envelope(
        &self,
        envelope: Envelope,
    ) -> std::pin::Pin<Box<dyn std::future::Future<Output = HookResult> + Send + 'static>>;
}
