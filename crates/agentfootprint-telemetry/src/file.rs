//! Events as NDJSON in a file, with one rotated generation.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentfootprint_core::injection::BoxError;
use agentfootprint_core::observe::{
    ObservabilityStrategy, SinkConfigError, Strategy, StrategyCapabilities, StrategyLife,
};
use agentfootprint_record::events::{Event, Pattern};
use async_trait::async_trait;

use crate::batch::{Batcher, Entry, Limits, Transport};
use crate::lock;

/// How a [`FileSink`] writes.
///
/// ```
/// use agentfootprint_telemetry::file::FileOptions;
/// let options = FileOptions::new("runs.ndjson").max_bytes(10_000_000);
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
pub struct FileOptions {
    path: PathBuf,
    max_buffer_events: usize,
    max_buffer_bytes: usize,
    flush_interval: Duration,
    max_bytes: Option<u64>,
    event_types: Vec<Pattern>,
}

impl FileOptions {
    /// Appends to the file at this path; buffers 100 events or 64 KiB, at most a second; no rotation; all events.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            max_buffer_events: 100,
            max_buffer_bytes: 65_536,
            flush_interval: Duration::from_millis(1000),
            max_bytes: None,
            event_types: vec![Pattern::All],
        }
    }

    /// Writes when this many events wait.
    #[must_use]
    pub fn max_buffer_events(mut self, events: NonZeroUsize) -> Self {
        self.max_buffer_events = events.get();
        self
    }

    /// Writes when this many bytes wait.
    #[must_use]
    pub fn max_buffer_bytes(mut self, bytes: NonZeroUsize) -> Self {
        self.max_buffer_bytes = bytes.get();
        self
    }

    /// Writes at the latest this long after an event.
    #[must_use]
    pub fn flush_interval(mut self, interval: Duration) -> Self {
        self.flush_interval = interval;
        self
    }

    /// Moves the file to `<path>.1`, over the one that is there, before it would grow longer than this.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Writes only these events.
    #[must_use]
    pub fn event_types(mut self, patterns: impl IntoIterator<Item = Pattern>) -> Self {
        self.event_types = patterns.into_iter().collect();
        self
    }
}

/// Writes events as they are recorded, one JSON object per line, in the order they were said.
pub struct FileSink {
    batcher: Batcher,
    event_types: Vec<Pattern>,
    life: Arc<StrategyLife>,
}

impl FileSink {
    /// Opens the file.
    ///
    /// # Errors
    /// [`SinkConfigError`] when the path is blank or cannot be written, or nothing would ever be written.
    pub fn new(options: FileOptions) -> Result<Self, SinkConfigError> {
        Self::with_life(options, StrategyLife::new())
    }

    /// As [`new`](Self::new), telling its failures where `life` says.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_life(options: FileOptions, life: StrategyLife) -> Result<Self, SinkConfigError> {
        if options.path.as_os_str().to_string_lossy().trim().is_empty() {
            return Err(SinkConfigError::new("path", "blank", "the path of a file that can be written"));
        }
        if options.event_types.is_empty() {
            return Err(SinkConfigError::new("event_types", "empty", "at least one pattern"));
        }
        if options.max_bytes == Some(0) {
            return Err(SinkConfigError::new("max_bytes", "0", "at least 1, or no limit at all"));
        }
        let writer = Writer::open(&options.path, options.max_bytes).map_err(|error| {
            let value = format!("`{}` ({error})", options.path.display());
            SinkConfigError::new("path", value, "the path of a file that can be written")
        })?;
        let life = Arc::new(life);
        let limits = Limits {
            entries: options.max_buffer_events,
            bytes: options.max_buffer_bytes,
            interval: options.flush_interval,
            overhead: 1,
        };
        let batcher =
            Batcher::new("file", Arc::clone(&life), limits, Box::new(Appends(Arc::new(Mutex::new(writer)))));
        Ok(Self { batcher, event_types: options.event_types, life })
    }
}

impl fmt::Debug for FileSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSink").field("life", &self.life).finish_non_exhaustive()
    }
}

#[async_trait]
impl Strategy for FileSink {
    fn name(&self) -> &str {
        "file"
    }

    fn life(&self) -> &StrategyLife {
        &self.life
    }

    fn relevant_event_types(&self) -> Vec<Pattern> {
        self.event_types.clone()
    }

    fn capabilities(&self) -> StrategyCapabilities {
        StrategyCapabilities::EVENTS
    }

    async fn flush(&self) -> Result<(), BoxError> {
        self.batcher.flush().await
    }
}

impl ObservabilityStrategy for FileSink {
    fn export_event(&self, event: &Arc<Event>) {
        let at_ms = event.meta.wall_clock_ms;
        self.batcher.put(Entry { at_ms, text: event.to_value().to_string() });
    }
}

struct Appends(Arc<Mutex<Writer>>);

#[async_trait]
impl Transport for Appends {
    async fn ship(&self, batch: Vec<Entry>) -> Result<(), BoxError> {
        let writer = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || lock(&writer).append(&batch)).await??;
        Ok(())
    }
}

struct Writer {
    path: PathBuf,
    file: File,
    size: u64,
    max_bytes: Option<u64>,
}

impl Writer {
    fn open(path: &Path, max_bytes: Option<u64>) -> std::io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, size, max_bytes })
    }

    fn append(&mut self, batch: &[Entry]) -> std::io::Result<()> {
        let mut text = String::new();
        for entry in batch {
            let grown = self.size + (text.len() + entry.text.len()) as u64 + 1;
            let written = self.size > 0 || !text.is_empty();
            if written && self.max_bytes.is_some_and(|max| grown > max) {
                self.write(&std::mem::take(&mut text))?;
                self.rotate()?;
            }
            text.push_str(&entry.text);
            text.push('\n');
        }
        self.write(&text)
    }

    fn write(&mut self, text: &str) -> std::io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        self.size += text.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> std::io::Result<()> {
        let mut old = self.path.clone().into_os_string();
        old.push(".1");
        std::fs::rename(&self.path, old)?;
        *self = Self::open(&self.path, self.max_bytes)?;
        Ok(())
    }
}
