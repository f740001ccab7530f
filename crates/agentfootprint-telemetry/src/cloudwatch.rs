//! Events as log lines of CloudWatch, over a client that is given (REC-72).

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agentfootprint_core::injection::BoxError;
use agentfootprint_core::observe::{
    ObservabilityStrategy, SinkConfigError, Strategy, StrategyCapabilities, StrategyLife,
};
use agentfootprint_record::events::Event;
use async_trait::async_trait;

use crate::batch::{Batcher, Entry, Limits, Transport};

/// What CloudWatch counts for each entry beside its text.
const ENTRY_OVERHEAD: usize = 26;

/// One log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Unix milliseconds.
    pub timestamp_ms: u64,
    /// The event as JSON.
    pub message: String,
}

/// Why a logs client did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogsError {
    /// The group or stream does not exist.
    #[error("the log group or stream does not exist")]
    NotFound,
    /// What was to be created is there already.
    #[error("it exists already")]
    AlreadyExists,
    /// Anything else.
    #[error("{0}")]
    Other(BoxError),
}

/// The two operations of CloudWatch logs that are used. Implemented over a vendor's client by whoever has one, called by
/// [`CloudWatchSink`] off the run.
#[async_trait]
pub trait LogsClient: Send + Sync + 'static {
    /// `PutLogEvents`.
    ///
    /// # Errors
    /// [`LogsError::NotFound`] when the stream is missing, which makes the sink create it once.
    async fn put(&self, group: &str, stream: &str, entries: Vec<LogEntry>) -> Result<(), LogsError>;

    /// `CreateLogStream`.
    ///
    /// # Errors
    /// [`LogsError::AlreadyExists`], which is as good as having created it.
    async fn create_stream(&self, group: &str, stream: &str) -> Result<(), LogsError>;
}

/// Where log lines go, and in what batches.
#[derive(Clone, Debug)]
pub struct CloudWatchOptions {
    group: String,
    stream: String,
    max_batch_events: usize,
    max_batch_bytes: usize,
    flush_interval: Duration,
}

impl CloudWatchOptions {
    /// To the stream `agentfootprint` of a group, which is never created; at most 100 events or 10 240 bytes, at least every second.
    pub fn new(log_group_name: impl Into<String>) -> Self {
        Self {
            group: log_group_name.into(),
            stream: "agentfootprint".to_owned(),
            max_batch_events: 100,
            max_batch_bytes: 10_240,
            flush_interval: Duration::from_millis(1000),
        }
    }

    /// To another stream. It is created when it is missing.
    #[must_use]
    pub fn log_stream_name(mut self, name: impl Into<String>) -> Self {
        self.stream = name.into();
        self
    }

    /// At most this many events at once.
    #[must_use]
    pub fn max_batch_events(mut self, events: NonZeroUsize) -> Self {
        self.max_batch_events = events.get();
        self
    }

    /// At most this many bytes at once; a longer event goes alone.
    #[must_use]
    pub fn max_batch_bytes(mut self, bytes: NonZeroUsize) -> Self {
        self.max_batch_bytes = bytes.get();
        self
    }

    /// At the latest this long after an event.
    #[must_use]
    pub fn flush_interval(mut self, interval: Duration) -> Self {
        self.flush_interval = interval;
        self
    }
}

/// Ships every event as a log line: the event's JSON. AgentCore reads the same lines.
pub struct CloudWatchSink {
    name: &'static str,
    batcher: Batcher,
    life: Arc<StrategyLife>,
}

impl CloudWatchSink {
    /// Ships through a client.
    ///
    /// # Errors
    /// [`SinkConfigError`] when the group or stream has no name.
    pub fn new(options: CloudWatchOptions, client: Arc<dyn LogsClient>) -> Result<Self, SinkConfigError> {
        Self::named("cloudwatch", options, client, StrategyLife::new())
    }

    /// The same for AgentCore, whose observability reads a log group: the strategy is called `agentcore`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn agentcore(
        options: CloudWatchOptions,
        client: Arc<dyn LogsClient>,
    ) -> Result<Self, SinkConfigError> {
        Self::named("agentcore", options, client, StrategyLife::new())
    }

    /// As [`new`](Self::new), telling its failures where `life` says.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_life(
        options: CloudWatchOptions,
        client: Arc<dyn LogsClient>,
        life: StrategyLife,
    ) -> Result<Self, SinkConfigError> {
        Self::named("cloudwatch", options, client, life)
    }

    fn named(
        name: &'static str,
        options: CloudWatchOptions,
        client: Arc<dyn LogsClient>,
        life: StrategyLife,
    ) -> Result<Self, SinkConfigError> {
        for (option, value) in [("log_group_name", &options.group), ("log_stream_name", &options.stream)] {
            if value.trim().is_empty() {
                return Err(SinkConfigError::new(
                    option,
                    "blank",
                    "the name of one that exists or may be written to",
                ));
            }
        }
        let life = Arc::new(life);
        let limits = Limits {
            entries: options.max_batch_events,
            bytes: options.max_batch_bytes,
            interval: options.flush_interval,
            overhead: ENTRY_OVERHEAD,
        };
        let puts = Puts {
            client,
            group: options.group,
            stream: options.stream,
            created: AtomicBool::new(false),
            unavailable: AtomicBool::new(false),
        };
        let batcher = Batcher::new(name, Arc::clone(&life), limits, Box::new(puts));
        Ok(Self { name, batcher, life })
    }
}

impl fmt::Debug for CloudWatchSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudWatchSink")
            .field("name", &self.name)
            .field("life", &self.life)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Strategy for CloudWatchSink {
    fn name(&self) -> &str {
        self.name
    }

    fn life(&self) -> &StrategyLife {
        &self.life
    }

    fn capabilities(&self) -> StrategyCapabilities {
        StrategyCapabilities::EVENTS.or(StrategyCapabilities::LOGS)
    }

    async fn flush(&self) -> Result<(), BoxError> {
        self.batcher.flush().await
    }
}

impl ObservabilityStrategy for CloudWatchSink {
    fn export_event(&self, event: &Arc<Event>) {
        self.batcher.put(Entry { at_ms: event.meta.wall_clock_ms, text: event.to_value().to_string() });
    }
}

struct Puts {
    client: Arc<dyn LogsClient>,
    group: String,
    stream: String,
    /// The one try to create the stream was made.
    created: AtomicBool,
    /// There is no stream and none can be created: nothing is tried any more.
    unavailable: AtomicBool,
}

#[async_trait]
impl Transport for Puts {
    async fn ship(&self, batch: Vec<Entry>) -> Result<(), BoxError> {
        if self.unavailable.load(Ordering::Relaxed) {
            return Err(format!("{}; {} entries were dropped", self.missing(), batch.len()).into());
        }
        let mut entries: Vec<LogEntry> = batch
            .into_iter()
            .map(|entry| LogEntry { timestamp_ms: entry.at_ms, message: entry.text })
            .collect();
        // The service takes entries in the order of time only; runs at once may interleave by a millisecond.
        entries.sort_by_key(|entry| entry.timestamp_ms);
        match self.client.put(&self.group, &self.stream, entries.clone()).await {
            Ok(()) => return Ok(()),
            Err(LogsError::NotFound) => {}
            Err(other) => return Err(other.into()),
        }
        if self.created.swap(true, Ordering::Relaxed) {
            self.unavailable.store(true, Ordering::Relaxed);
            return Err(self.missing().into());
        }
        match self.client.create_stream(&self.group, &self.stream).await {
            Ok(()) | Err(LogsError::AlreadyExists) => {}
            Err(error) => {
                self.unavailable.store(true, Ordering::Relaxed);
                return Err(format!("{}: {error}", self.missing()).into());
            }
        }
        self.client.put(&self.group, &self.stream, entries).await.map_err(|error| {
            self.unavailable.store(matches!(error, LogsError::NotFound), Ordering::Relaxed);
            error.into()
        })
    }
}

impl Puts {
    fn missing(&self) -> String {
        format!(
            "the log stream `{}` of the group `{}` is missing and could not be created",
            self.stream, self.group
        )
    }
}
