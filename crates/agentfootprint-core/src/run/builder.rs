//! Declaring a run: whatever must be attached before the first stage can only be named here (AGT-135).

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;

use agentfootprint_record::events::{Event, UnknownEventPattern};
use footprint::observe::Recorder;
use std::sync::Arc;

use super::error::{RunError, RunRefusal};
use super::handle::RunHandle;
use super::input::RunInput;
use super::options::RunOptions;
use super::report::{RunRecord, RunReport};
use super::runner::Runner;
use crate::events::IntoPattern;

/// A declared run. Await it for the report, or [`start`](Self::start) it for a handle.
///
/// A run that is refused — a blank message, an injection the provider cannot carry — has no id and no record; awaited, it
/// is a report whose outcome is [`RunError::Refused`].
#[must_use = "a run does nothing until it is awaited or started"]
pub struct RunBuilder<R: Runner> {
    runner: R,
    input: RunInput,
    options: RunOptions,
}

impl<R: Runner> RunBuilder<R> {
    pub(crate) fn new(runner: R, input: RunInput) -> Self {
        Self { runner, input, options: RunOptions::default() }
    }

    /// The options. What was declared before is replaced.
    pub fn options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// Listens to this run, from its first event on.
    ///
    /// # Errors
    /// [`UnknownEventPattern`] when the pattern names nothing: it would hear nothing.
    pub fn listen(
        mut self,
        pattern: impl IntoPattern,
        listener: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Result<Self, UnknownEventPattern> {
        self.options = self.options.listen(pattern.into_pattern()?, listener);
        Ok(self)
    }

    /// Observes this run's walk.
    pub fn observe(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.options = self.options.observe(recorder);
        self
    }

    /// Changes the options declared so far.
    pub fn with(mut self, change: impl FnOnce(RunOptions) -> RunOptions) -> Self {
        self.options = change(self.options);
        self
    }

    pub(crate) fn into_parts(self) -> (R, RunInput, RunOptions) {
        (self.runner, self.input, self.options)
    }

    /// The structure of the chart this run will walk.
    pub(crate) fn structure(&self) -> footprint::structure::Structure {
        self.runner.spec().structure().clone()
    }

    /// Starts the run and answers its handle.
    ///
    /// # Errors
    /// [`RunRefusal`] when the run cannot begin.
    pub fn start(self) -> Result<RunHandle<R::Output>, RunRefusal> {
        self.runner.start(self.input, self.options)
    }
}

impl<R: Runner> IntoFuture for RunBuilder<R> {
    type Output = RunReport<R::Output>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        match self.start() {
            Ok(handle) => handle.into_future(),
            Err(refusal) => Box::pin(std::future::ready(RunReport::new(
                Err(RunError::Refused(refusal)),
                RunRecord::empty(),
            ))),
        }
    }
}

impl<R: Runner> fmt::Debug for RunBuilder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunBuilder").field("runner", &self.runner.id()).finish_non_exhaustive()
    }
}
