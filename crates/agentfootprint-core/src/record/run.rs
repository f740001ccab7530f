//! A recorded run: the answer beside the evidence.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::OnceLock;

use agentfootprint_record::events::{Event, UnknownEventPattern};
use agentfootprint_record::recording::{Recording, save_atomically};
use footprint::pause::FlowchartCheckpoint;
use footprint::structure::Structure;
use footprint::value::{Str, Value};

use super::options::RecordOptions;
use super::producer::RecordingHandle;
use crate::agent::Agent;
use crate::events::IntoPattern;
use crate::run::{
    AgentRunCheckpoint, ChartRunner as _, RunBuilder, RunError, RunHandle, RunInput, RunOptions, RunOutcome,
    RunRecord, RunRefusal, RunReport, Runner,
};

type Begin<T> = Box<dyn FnOnce(RunOptions) -> Result<RunHandle<T>, RunRefusal> + Send>;

/// A declared run that will be recorded. Await it for the [`RecordedRun`].
#[must_use = "a run does nothing until it is awaited or started"]
pub struct RecordBuilder<T> {
    begin: Begin<T>,
    options: RunOptions,
    handle: RecordingHandle,
    structure: Structure,
}

impl<R: Runner> RunBuilder<R> {
    /// Records this run, from before its first stage.
    pub fn record(self, options: RecordOptions) -> RecordBuilder<R::Output> {
        let structure = self.structure();
        let (runner, input, run_options) = self.into_parts();
        RecordBuilder::new(structure, move |options| runner.start(input, options))
            .record_options(options)
            .options(run_options)
    }
}

impl Agent {
    /// Runs the agent and records the run. Plain `run` does not record.
    pub fn record(&self, input: impl Into<RunInput>) -> RecordBuilder<String> {
        Runner::record(self, input)
    }

    /// Goes on from a pause and records the new leg. As [`Runner::resume`].
    pub fn record_resume(
        &self,
        checkpoint: FlowchartCheckpoint,
        answer: Option<Value>,
    ) -> RecordBuilder<String> {
        Runner::record_resume(self, checkpoint, answer)
    }

    /// Goes on after a failed run and records the new run. As [`Agent::resume_on_error`].
    pub fn record_resume_on_error(&self, checkpoint: AgentRunCheckpoint) -> RecordBuilder<String> {
        let agent = self.clone();
        let structure = self.spec().structure().clone();
        RecordBuilder::new(structure, move |options| agent.resume_on_error(checkpoint, options))
    }
}

impl<T> RecordBuilder<T> {
    pub(crate) fn of_resume<R: Runner<Output = T>>(
        runner: R,
        checkpoint: FlowchartCheckpoint,
        answer: Option<Value>,
    ) -> Self {
        let structure = runner.spec().structure().clone();
        Self::new(structure, move |options| runner.resume(checkpoint, answer, options))
    }

    fn new(
        structure: Structure,
        begin: impl FnOnce(RunOptions) -> Result<RunHandle<T>, RunRefusal> + Send + 'static,
    ) -> Self {
        let handle = RecordingHandle::new(RecordOptions::default(), structure.clone());
        Self { begin: Box::new(begin), options: RunOptions::default(), handle, structure }
    }

    /// The options of the run. What was declared before is replaced; the recording stays attached.
    pub fn options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// How much is kept.
    pub fn record_options(mut self, options: RecordOptions) -> Self {
        self.handle = RecordingHandle::new(options, self.structure.clone());
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
        self.options = self.options.listen(pattern.into_pattern()?, listener);
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
    pub fn start(self) -> Result<(RunHandle<T>, RecordingHandle), RunRefusal> {
        let options = self.handle.attach(self.options);
        Ok(((self.begin)(options)?, self.handle))
    }
}

impl<T: Send + 'static> IntoFuture for RecordBuilder<T> {
    type Output = Result<RecordedRun<T>, RunRefusal>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        match self.start() {
            Ok((run, handle)) => Box::pin(async move {
                let report = run.await;
                let dropped_events = handle.dropped_events();
                Ok(RecordedRun { report, handle, recording: OnceLock::new(), dropped_events })
            }),
            Err(refusal) => Box::pin(std::future::ready(Err(refusal))),
        }
    }
}

impl<T> fmt::Debug for RecordBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A finished, failed or paused run with its recording.
#[derive(Clone, Debug)]
pub struct RecordedRun<T> {
    report: RunReport<T>,
    handle: RecordingHandle,
    /// Put together when somebody first asks for it.
    recording: OnceLock<Recording>,
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
        self.recording.get_or_init(|| self.handle.of_finished(&self.report.record))
    }

    /// Events that left the recording because there were more than its bound.
    pub fn dropped_events(&self) -> u64 {
        self.dropped_events
    }

    /// Writes the recording as JSON. The file is whole or it is not there: a crash leaves what was there before.
    ///
    /// It is plain JSON as long as that is at most 32 MiB ([`PLAIN_FILE_BYTES`]); a longer recording is written in packed
    /// form, where what the steps repeat stands once. A path that ends in `.gz` gets the packed form compressed, whatever
    /// its size. [`Recording::open`], the command line and the viewer read all of them.
    ///
    /// [`PLAIN_FILE_BYTES`]: agentfootprint_record::recording::PLAIN_FILE_BYTES
    ///
    /// # Errors
    /// [`SaveError`] names the file and what stood in the way.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveError> {
        let path = path.as_ref();
        let compressed = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
        let write = |out: &mut dyn io::Write| match compressed {
            true => {
                let bytes = self.recording().to_compressed().map_err(io::Error::other)?;
                out.write_all(&bytes)
            }
            false => self.recording().write_file(out),
        };
        save_atomically(path, write).map_err(|source| SaveError { path: path.to_path_buf(), source })
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
