//! What a run gives its stages besides state: a closed record of four facts, and typed extensions.
//!
//! Neither is state: nothing here enters a bundle, a snapshot or a checkpoint. Whatever explains a result
//! must be written to state.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::value::Str;

/// The facts a caller hands to a run. Inherited by every mount; nested runs started by a stage inherit
/// cancellation and deadline by taking them from the stage's scope.
///
/// ```
/// use footprint::env::Env;
/// use std::time::Duration;
/// let env = Env::new().trace_id("tr-1").timeout(Duration::from_secs(30));
/// assert_eq!(env.trace_id.as_deref(), Some("tr-1"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// Cancels whatever takes part in the run.
    pub cancel: Option<CancellationToken>,
    /// Unix milliseconds by which an answer is wanted; informs stages, enforces nothing.
    pub deadline: Option<u64>,
    /// Time budget; informs stages, enforces nothing (the run option `timeout` does).
    pub timeout: Option<Duration>,
    /// Id of the surrounding trace.
    pub trace_id: Option<Str>,
}

impl Env {
    /// An empty environment.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the cancellation token.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Sets the deadline, in Unix milliseconds.
    #[must_use]
    pub fn deadline(mut self, unix_ms: u64) -> Self {
        self.deadline = Some(unix_ms);
        self
    }

    /// Sets the time budget.
    #[must_use]
    pub fn timeout(mut self, budget: Duration) -> Self {
        self.timeout = Some(budget);
        self
    }

    /// Sets the trace id.
    #[must_use]
    pub fn trace_id(mut self, id: impl Into<Str>) -> Self {
        self.trace_id = Some(id.into());
        self
    }
}

/// One value per type (ENG-169).
#[derive(Clone, Default)]
pub(crate) struct Extensions(Option<Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>);

impl Extensions {
    pub(crate) fn insert<T: Any + Send + Sync>(&mut self, value: Arc<T>) {
        Arc::make_mut(self.0.get_or_insert_default()).insert(TypeId::of::<T>(), value);
    }

    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let any = self.0.as_ref()?.get(&TypeId::of::<T>())?;
        Arc::clone(any).downcast::<T>().ok()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} extensions", self.0.as_ref().map_or(0, |all| all.len()))
    }
}
