//! Reading the environment through a scope.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Scope;
use crate::env::Env;
use crate::state::Untracked;
use crate::value::Str;

/// The run's environment as a stage sees it. Reading one of the four facts marks the commit (`env`) when the
/// fact is there; extensions mark nothing.
pub struct EnvView<'a> {
    scope: &'a Scope,
}

impl<'a> EnvView<'a> {
    pub(super) fn new(scope: &'a Scope) -> Self {
        Self { scope }
    }

    fn mark<T>(&self, fact: Option<T>) -> Option<T> {
        if fact.is_some() && !self.scope.0.is_sealed() {
            self.scope.0.staged(|staging, _| staging.note_untracked(Untracked::ENV));
        }
        fact
    }

    /// A token that is cancelled when the run is: for nested runs and for work the stage spawns.
    pub fn cancel(&self) -> CancellationToken {
        let run = &self.scope.0.run;
        self.mark(run.env.cancel.as_ref());
        run.stop.token(run.env.cancel.as_ref())
    }

    /// Unix milliseconds by which an answer is wanted.
    pub fn deadline(&self) -> Option<u64> {
        self.mark(self.scope.0.run.env.deadline)
    }

    /// The time budget the caller named.
    pub fn timeout(&self) -> Option<Duration> {
        self.mark(self.scope.0.run.env.timeout)
    }

    /// Id of the surrounding trace.
    pub fn trace_id(&self) -> Option<Str> {
        self.mark(self.scope.0.run.env.trace_id.clone())
    }

    /// The value of this type that was put into the run with `RunOptions::extend` (ENG-169).
    ///
    /// ```
    /// # use footprint::{error::StageError, scope::Scope};
    /// struct Prices(f64);
    /// async fn stage(scope: Scope) -> Result<(), StageError> {
    ///     let prices = scope.env().get::<Prices>().ok_or_else(|| StageError::new("no prices"))?;
    ///     Ok(())
    /// }
    /// ```
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.scope.0.run.extensions.get::<T>()
    }

    /// The environment to give to a nested run: it inherits cancellation and deadline (ENG-123).
    pub fn inherit(&self) -> Env {
        let env = &self.scope.0.run.env;
        Env {
            cancel: Some(self.cancel()),
            deadline: self.deadline(),
            timeout: self.timeout(),
            trace_id: env.trace_id.clone(),
        }
    }
}

impl fmt::Debug for EnvView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.scope.0.run.env.fmt(f)
    }
}
