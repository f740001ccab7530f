//! A recorded run: the answer beside the evidence.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use agentfootprint_record::events::{Event, UnknownEventPattern};
use agentfootprint_record::recording::{Recording, save_atomically};
use footprint::value::Str;

use super::options::RecordOptions;
use super::producer::RecordingHandle;
use crate::agent::Agent;
use crate::events::IntoPattern;
use crate::run::{RunBuilder, RunError, RunHandle, RunInput, RunOptions, RunOutcome, RunRecord, RunRefusal, RunReport, Runner};

/// A declared run that will be recorded. Await it for the [`RecordedRun`].
#[must_use = "a run does nothing until it is awaited or started"]
pub struct RecordBuilder<R: Runner> {
    run: RunBuilder<R>,
    handle: RecordingHandle,
}

impl<R: Runner> RunBuilder<R> {
    /// Records this run, from before its first stage.
    pub fn record(self, options: RecordOptions) -> RecordBuilder<R> {
        let handle = RecordingHandle::new(options, self.structure());
        RecordBuilder { run: self, handle }
    }
}

impl Agent {
    /// Runs the agent and records the run. Plain `run` does not record.
    pub fn record(&self, input: impl Into<RunInput>) -> RecordBuilder<Self> {
        self.run(input).record(RecordOptions::default())
    }
}

impl<R: Runner> RecordBuilder<R> {
    /// The options of the run. What was declared before is replaced; the recording stays attached.
    pub fn options(mut self, options: RunOptions) -> Self {
        self.run = self.run.options(options);
        self
    }

    /// How much is kept.
    pub fn record_options(mut self, options: RecordOptions) -> Self {
        self.handle = RecordingHandle::new(options, self.run.structure());
        self
    }

    /// Listens to this run, from its first event on.
    ///
    /// # Errors
    /// [`UnknownEventPattern`] when the pattern names nothing.
    pub fn listen(
        mut self,
        pattern: impl IntoPattern,
        listener: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Result<Self, UnknownEventPattern> {
        self.run = self.run.listen(pattern, listener)?;
        Ok(self)
    }

    /// Where the recording can be looked at while the run goes on.
    #[must_use]
    pub fn recording(&self) -> RecordingHandle {
        self.handle.clone()
    }

    /// Starts the run; the second value makes the recording, during the run and after it.
    ///
    /// # Errors
    /// [`RunRefusal`] when the run cannot begin.
    pub fn start(self) -> Result<(RunHandle<R::Output>, RecordingHandle), RunRefusal> {
        let handle = self.handle;
        let attached = handle.clone();
        Ok((self.run.with(move |options| attached.attach(options)).start()?, handle))
    }
}

impl<R: Runner> IntoFuture for RecordBuilder<R> {
    type Output = Result<RecordedRun<R::Output>, RunRefusal>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        match self.start() {
            Ok((run, handle)) => Box::pin(async move {
                let report = run.await;
                let recording = handle.of_finished(&report.record);
                Ok(RecordedRun { report, recording, dropped_events: handle.dropped_events() })
            }),
            Err(refusal) => Box::pin(std::future::ready(Err(refusal))),
        }
    }
}

impl<R: Runner> fmt::Debug for RecordBuilder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordBuilder").field("run", &self.run).finish_non_exhaustive()
    }
}

/// A finished, failed or paused run with its recording.
#[derive(Clone, Debug)]
pub struct RecordedRun<T> {
    report: RunReport<T>,
    recording: Recording,
    dropped_events: u64,
}

impl<T> RecordedRun<T> {
    /// The answer.
    ///
    /// # Errors
    /// Why there is none: the run failed, or it is paused ([`RunError::PausedInstead`]). The record is here either way.
    pub fn answer(&self) -> Result<&T, RunError> {
        match &self.report.outcome {
            Ok(RunOutcome::Completed(answer)) => Ok(answer),
            Ok(RunOutcome::Paused(pause)) => Err(RunError::PausedInstead { pause: pause.clone() }),
            Err(error) => Err(error.clone()),
        }
    }

    /// The outcome and the run's record.
    pub fn report(&self) -> &RunReport<T> {
        &self.report
    }

    /// The run's record: state, snapshot, checkpoint.
    pub fn record(&self) -> &RunRecord {
        &self.report.record
    }

    /// The run's id, as on every event.
    pub fn run_id(&self) -> &Str {
        self.report.record.run_id()
    }

    /// The recording.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Events that left the recording because there were more than its bound.
    pub fn dropped_events(&self) -> u64 {
        self.dropped_events
    }

    /// Writes the recording as JSON. The file is whole or it is not there: a crash leaves what was there before.
    ///
    /// # Errors
    /// [`SaveError`] names the file and what stood in the way.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveError> {
        let path = path.as_ref();
        save_atomically(path, |out| self.recording.write_io(out))
            .map_err(|source| SaveError { path: path.to_path_buf(), source })
    }
}

/// A recording could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the recording could not be written to {}: {source}; choose a folder that exists and is writable", path.display())]
pub struct SaveError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}
