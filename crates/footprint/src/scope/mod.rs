//! The scope: what a stage function receives (ENG §5.5).
//!
//! A [`Scope`] is an owned, cheap handle on one visit. All methods take `&self`; clones share the visit;
//! spawned tasks may use it while the stage runs. After the visit has committed, the handle is sealed:
//! writes, emits and diagnostics are refused by name, reads answer from the visit's last view.
//!
//! | file | idea |
//! |---|---|
//! | `read` | tracked, silent and typed reads, branches, arguments |
//! | `write` | set, update, delete, push, modify |
//! | `diag` | emits and diagnostic bags |
//! | `view` | the read-only view mappers get |

pub(crate) mod bags;
mod diag;
mod env;
mod read;
mod view;
mod write;

use std::fmt;
use std::sync::Arc;

use crate::chart::IntoChart;
use crate::detach::{DetachDriver, DetachHandle};
use crate::error::ScopeError;
use crate::ids::RuntimeStageId;
use crate::pause::{Ask, Interrupt};
use crate::stream::TokenSink;
use crate::value::{Str, Value};
use crate::walk::RunOptions;
use crate::walk::frame::FrameHandle;

pub use env::EnvView;
pub use read::{BranchView, KeyName};
pub use view::StateView;
pub use write::SetOpts;

/// The handle of one visit; see the [module](self).
#[derive(Clone)]
pub struct Scope(pub(crate) Arc<FrameHandle>);

impl Scope {
    pub(crate) fn of(frame: &Arc<FrameHandle>) -> Self {
        Self(Arc::clone(frame))
    }

    /// This visit's address.
    pub fn address(&self) -> RuntimeStageId {
        self.0.address()
    }

    /// Commits in the run's log so far.
    pub fn commit_count(&self) -> usize {
        self.0.run.root.commit_count()
    }

    /// The run's environment: a closed record of facts, and extensions by type.
    pub fn env(&self) -> EnvView<'_> {
        EnvView::new(self)
    }

    /// Ends this chart after the current visit: a clean stop, no error. The function runs on to its end; the
    /// first reason wins.
    ///
    /// ```
    /// # use footprint::{error::StageError, scope::Scope};
    /// async fn stage(scope: Scope) -> Result<(), StageError> {
    ///     scope.stop("nothing left")?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`ScopeError::FrameClosed`] after the stage is over.
    pub fn stop(&self, reason: impl Into<Str>) -> Result<(), ScopeError> {
        self.0.check_open()?;
        self.0.request_stop(Some(reason.into()));
        Ok(())
    }

    /// As [`Scope::stop`], without a reason.
    ///
    /// # Errors
    /// [`ScopeError::FrameClosed`] after the stage is over.
    pub fn stop_silently(&self) -> Result<(), ScopeError> {
        self.0.check_open()?;
        self.0.request_stop(None);
        Ok(())
    }

    /// Asks whoever resumes the run. On the asking run the await never returns; on the resumed run the stage
    /// **runs again from its top** and the await returns the answer, so everything before it happens twice.
    /// Several questions of one visit are answered in call order.
    ///
    /// ```
    /// # use footprint::{error::StageError, pause::Ask, scope::Scope, value::Value};
    /// async fn refund(scope: Scope) -> Result<(), StageError> {
    ///     let decision: Value = scope.interrupt(Ask::new("Refund 99?")).await?;
    ///     scope.set_value("decision", decision)?;
    ///     Ok(())
    /// }
    /// ```
    pub fn interrupt<A: serde::de::DeserializeOwned + 'static>(&self, ask: Ask) -> Interrupt<A> {
        Interrupt::new(Arc::clone(&self.0), ask)
    }

    /// Where a streaming stage sends its tokens; silent for other stages and when nobody listens.
    pub fn tokens(&self) -> TokenSink {
        TokenSink(self.0.stream())
    }

    /// Starts another chart as a run of its own and keeps its handle.
    pub fn detach_join(
        &self,
        driver: &Arc<dyn DetachDriver>,
        child: &(impl IntoChart + ?Sized),
        input: Option<Value>,
    ) -> DetachHandle {
        self.start_detached(driver, child, input)
    }

    /// Starts another chart as a run of its own and forgets it; a failure still reaches observers.
    pub fn detach_forget(
        &self,
        driver: &Arc<dyn DetachDriver>,
        child: &(impl IntoChart + ?Sized),
        input: Option<Value>,
    ) {
        self.start_detached(driver, child, input);
    }

    fn start_detached(
        &self,
        driver: &Arc<dyn DetachDriver>,
        child: &(impl IntoChart + ?Sized),
        input: Option<Value>,
    ) -> DetachHandle {
        let run = &self.0.run;
        let detacher = run.detacher.clone().unwrap_or_default();
        let mut options = RunOptions::new().clock(Arc::clone(&run.clock)).run_ids(Arc::clone(&run.run_ids));
        if let Some(policy) = &run.redaction_policy {
            options = options.redaction(policy.clone());
        }
        if let Some(input) = input {
            options = options.input(input);
        }
        crate::walk::detached::start(&self.0, &detacher, driver, child.to_chart(), options)
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("address", &self.address()).finish_non_exhaustive()
    }
}
