//! A started run: look at it, cancel it, drive it to its end.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agentfootprint_record::events::{AgentEvent, CustomEvent, EventMeta, ReservedEventNameError};
use agentfootprint_record::events::{Moment, RunFacts};
use footprint::ids::RuntimeStageId;
use footprint::observe::DrainReport;
use footprint::snapshot::Snapshot;
use footprint::value::Str;
use footprint::walk;

use super::context::RunContext;
use super::report::RunReport;
use crate::events::EventHub;

/// Reads a run's live record from any thread, without slowing it (AGT-110).
///
/// Before the walk has begun there is nothing to read.
#[derive(Clone, Default)]
pub struct RunProbe(Arc<OnceLock<walk::RunHandle>>);

impl RunProbe {
    pub(crate) fn attach(&self, handle: walk::RunHandle) {
        // Set once, right after the run is made.
        let _ = self.0.set(handle);
    }

    /// Commits in the run's log so far: the run's time axis. Events fire before their stage commits.
    pub fn commit_count(&self) -> usize {
        self.0.get().map_or(0, walk::RunHandle::commit_count)
    }

    /// The committed record so far.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.0.get().map(walk::RunHandle::snapshot)
    }

    /// The committed record so far as a recording may hold it: with a redaction policy its redacted mirror.
    pub(crate) fn recorded(&self) -> Option<Snapshot> {
        self.0.get().map(walk::RunHandle::snapshot_redacted)
    }

    /// The run in words so far, when it tells itself ([`RunOptions::narrative`](super::RunOptions::narrative)); else nothing (AGT-111).
    pub fn narrative(&self) -> Vec<String> {
        let entries = self.0.get().map(walk::RunHandle::narrative_entries).unwrap_or_default();
        entries.into_iter().map(|entry| entry.text).collect()
    }

    /// Delivers what deferred observers have not seen yet, at most this long.
    pub(crate) async fn drain(&self, timeout: Duration) -> DrainReport {
        match self.0.get() {
            Some(handle) => handle.drain_observers(timeout).await,
            None => DrainReport::default(),
        }
    }
}

impl fmt::Debug for RunProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunProbe").field("commits", &self.commit_count()).finish()
    }
}

type Drive<T> = Pin<Box<dyn Future<Output = RunReport<T>> + Send>>;

/// A started run. It proceeds while [`finish`](Self::finish) is awaited; dropping the handle drops the run.
#[must_use = "a run proceeds only while it is awaited"]
pub struct RunHandle<T> {
    run: Arc<RunContext>,
    probe: RunProbe,
    drive: Drive<T>,
}

impl<T> RunHandle<T> {
    pub(crate) fn new(run: Arc<RunContext>, probe: RunProbe, drive: Drive<T>) -> Self {
        Self { run, probe, drive }
    }

    /// The run's id.
    pub fn run_id(&self) -> &Str {
        self.run.run_id()
    }

    /// The run's live record.
    pub fn probe(&self) -> RunProbe {
        self.probe.clone()
    }

    /// The run's own hub; it hears this run only. What is subscribed before the run is first awaited hears all of it.
    pub fn events(&self) -> &EventHub {
        self.run.events.hub()
    }

    /// Cancels the run. Running stages are dropped at their next await; the report still comes.
    pub fn cancel(&self) {
        self.run.cancel_token().cancel();
    }

    /// A door to cancel and to speak in the run while it is awaited elsewhere.
    pub fn remote(&self) -> RunRemote {
        RunRemote { run: Arc::clone(&self.run) }
    }

    /// Drives the run to its end.
    pub async fn finish(self) -> RunReport<T> {
        self.drive.await
    }
}

impl<T> IntoFuture for RunHandle<T> {
    type Output = RunReport<T>;
    type IntoFuture = Drive<T>;

    fn into_future(self) -> Self::IntoFuture {
        self.drive
    }
}

impl<T> fmt::Debug for RunHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunHandle").field("run_id", self.run.run_id()).finish_non_exhaustive()
    }
}

/// Speaks to a run that is awaited elsewhere.
#[derive(Clone, Debug)]
pub struct RunRemote {
    run: Arc<RunContext>,
}

impl RunRemote {
    /// The run's id.
    pub fn run_id(&self) -> &Str {
        self.run.run_id()
    }

    /// Cancels the run.
    pub fn cancel(&self) {
        self.run.cancel_token().cancel();
    }

    /// Publishes a consumer's event with this run's id.
    ///
    /// # Errors
    /// [`ReservedEventNameError`] when the name is the library's.
    pub fn emit(&self, event: CustomEvent) -> Result<(), ReservedEventNameError> {
        let kind = AgentEvent::custom(event)?;
        let facts: &RunFacts = &self.run.facts;
        let at = Moment { wall_clock_ms: self.run.now_ms(), run_offset_ms: self.run.offset_ms() };
        let step = RuntimeStageId::parse(agentfootprint_record::conventions::ids::CONSUMER_EMIT);
        self.run.events.dispatch(kind, EventMeta::build(Some(step), at, facts));
        Ok(())
    }
}
