//! How much of a run a strategy is told, when it is flushed, and on whose time (REC-66, REC-67).

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use agentfootprint_record::events::{Domain, Event, EventName};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinHandle;

/// A sink or strategy was configured with something it cannot work with; said at construction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{option}` cannot be {value}: {accepted}")]
#[non_exhaustive]
pub struct SinkConfigError {
    /// The option.
    pub option: &'static str,
    /// What was given.
    pub value: String,
    /// What is accepted.
    pub accepted: String,
}

impl SinkConfigError {
    /// An option, what was given for it, and what would be accepted.
    pub fn new(option: &'static str, value: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self { option, value: value.into(), accepted: accepted.into() }
    }
}

/// How many kinds of events a strategy is told. A tier limits volume; it is **not** a privacy control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// `error.*` and `agent.*`.
    Minimal,
    /// All but single tokens.
    #[default]
    Standard,
    /// All.
    Firehose,
}

impl Tier {
    /// Whether events of this kind are told.
    ///
    /// ```
    /// use agentfootprint_core::observe::Tier;
    /// use agentfootprint_record::events::{Event, EventMeta, payload::StreamToken};
    /// let token = Event::new(StreamToken::new(1_u64, 0_u64, "a"), EventMeta::consumer(0));
    /// assert!(Tier::Firehose.admits(&token) && !Tier::Standard.admits(&token));
    /// ```
    #[must_use]
    pub fn admits(self, event: &Event) -> bool {
        match self {
            Self::Minimal => {
                matches!(event.name().map(EventName::domain), Some(Domain::Error | Domain::Agent))
            }
            Self::Standard => !event.name_str().starts_with("agentfootprint.stream.token"),
            Self::Firehose => true,
        }
    }
}

/// Which share of runs a strategy is told of, from 0 to 1. The choice is made by the run's id, for whole runs: half a run is
/// no evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRate(f64);

impl SampleRate {
    /// Every run.
    pub const ALL: Self = Self(1.0);

    /// A share of runs.
    ///
    /// # Errors
    /// [`SinkConfigError`] when it is not between 0 and 1.
    ///
    /// ```
    /// use agentfootprint_core::observe::SampleRate;
    /// let half = SampleRate::new(0.5)?;
    /// assert_eq!(half.takes("run-1-1"), half.takes("run-1-1"));
    /// assert!(SampleRate::new(1.5).is_err());
    /// # Ok::<(), agentfootprint_core::observe::SinkConfigError>(())
    /// ```
    pub fn new(rate: f64) -> Result<Self, SinkConfigError> {
        if (0.0..=1.0).contains(&rate) {
            return Ok(Self(rate));
        }
        Err(SinkConfigError::new("sample_rate", rate.to_string(), "a number from 0 to 1"))
    }

    /// Whether the run with this id is taken; the same for whoever asks.
    #[must_use]
    pub fn takes(self, run_id: &str) -> bool {
        if self.0 >= 1.0 {
            return true;
        }
        let digest = Sha256::digest(run_id.as_bytes());
        let bits = digest.iter().take(4).fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte));
        f64::from(bits) / 4_294_967_296.0 < self.0
    }
}

impl Default for SampleRate {
    fn default() -> Self {
        Self::ALL
    }
}

/// When a strategy is flushed without being asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushOn {
    /// Never: somebody flushes its handle, or shuts the runner down.
    #[default]
    Manual,
    /// When a turn or a composition ends, a run fails or pauses. The flush is started, never awaited.
    RunEnd,
}

/// On whose time a strategy takes events.
#[derive(Clone, Debug, Default)]
pub enum Delivery {
    /// Inside the run, as the event is said.
    #[default]
    Inline,
    /// From a bounded queue, in a task of its own; when it runs full the oldest events are dropped and counted.
    Detached {
        /// How many events may wait.
        capacity: NonZeroUsize,
        /// What becomes of the tasks.
        join: Join,
    },
}

impl Delivery {
    /// Detached, at most 10 000 events waiting.
    #[must_use]
    pub fn detached(join: Join) -> Self {
        Self::Detached { capacity: NonZeroUsize::new(10_000).unwrap_or(NonZeroUsize::MIN), join }
    }
}

/// What becomes of the tasks that deliver detached events.
#[derive(Clone)]
pub enum Join {
    /// Nobody waits for them.
    Forget,
    /// Each task's handle is handed over, to be awaited by its receiver.
    JoinLater(Arc<dyn Fn(JoinHandle<()>) + Send + Sync>),
}

impl fmt::Debug for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forget => "Forget",
            Self::JoinLater(_) => "JoinLater(..)",
        })
    }
}

/// How a strategy is enabled.
///
/// ```
/// use agentfootprint_core::observe::{EnableOptions, FlushOn, SampleRate, Tier};
/// let options = EnableOptions::new()
///     .tier(Tier::Minimal)
///     .sample_rate(SampleRate::new(0.1)?)
///     .flush_on(FlushOn::RunEnd);
/// # let _ = options;
/// # Ok::<(), agentfootprint_core::observe::SinkConfigError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct EnableOptions {
    pub(super) tier: Tier,
    pub(super) sample_rate: SampleRate,
    pub(super) flush_on: FlushOn,
    pub(super) delivery: Delivery,
}

impl EnableOptions {
    /// The standard tier of every run, inline, flushed by hand.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many kinds of events.
    #[must_use]
    pub fn tier(mut self, tier: Tier) -> Self {
        self.tier = tier;
        self
    }

    /// Which share of runs.
    #[must_use]
    pub fn sample_rate(mut self, rate: SampleRate) -> Self {
        self.sample_rate = rate;
        self
    }

    /// When it is flushed.
    #[must_use]
    pub fn flush_on(mut self, when: FlushOn) -> Self {
        self.flush_on = when;
        self
    }

    /// On whose time it takes events.
    #[must_use]
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }
}
