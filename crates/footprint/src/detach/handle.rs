//! The fate of one detached child.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::error::StructuredError;
use crate::value::{Str, Value};

/// Where a detached child stands. It only ever moves forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DetachStatus {
    /// Accepted, not started.
    Queued,
    /// Started.
    Running,
    /// Ended well.
    Done,
    /// Ended badly, or could not be scheduled.
    Failed,
}

impl DetachStatus {
    /// The recorded word.
    pub fn as_str(self) -> &'static str {
        match self {
            DetachStatus::Queued => "queued",
            DetachStatus::Running => "running",
            DetachStatus::Done => "done",
            DetachStatus::Failed => "failed",
        }
    }

    /// Whether the child has ended.
    pub fn is_settled(self) -> bool {
        matches!(self, DetachStatus::Done | DetachStatus::Failed)
    }
}

/// A view of one detached child. Dropping it does not cancel the child, and it is no future: ask [`DetachHandle::wait`].
#[derive(Clone)]
pub struct DetachHandle {
    id: Str,
    status: watch::Receiver<DetachStatus>,
    fate: Arc<Fate>,
}

/// How a child ended; set before the status says so.
#[derive(Default)]
struct Fate {
    end: Mutex<Option<Result<Option<Value>, StructuredError>>>,
}

/// The writing end of a handle; owned by whoever runs the child.
pub(crate) struct Settler {
    status: watch::Sender<DetachStatus>,
    fate: Arc<Fate>,
}

/// A handle and the settler that moves it.
pub(crate) fn handle(id: Str) -> (DetachHandle, Settler) {
    let (sender, receiver) = watch::channel(DetachStatus::Queued);
    let fate = Arc::new(Fate::default());
    (DetachHandle { id, status: receiver, fate: fate.clone() }, Settler { status: sender, fate })
}

impl Settler {
    /// Marks the child as started.
    pub(crate) fn running(&self) {
        self.status.send_if_modified(|status| {
            let started = *status == DetachStatus::Queued;
            if started {
                *status = DetachStatus::Running;
            }
            started
        });
    }

    /// Records the end; only the first one counts. Answers whether this was it.
    pub(crate) fn settle(&self, end: Result<Option<Value>, StructuredError>) -> bool {
        let status = if end.is_ok() { DetachStatus::Done } else { DetachStatus::Failed };
        {
            let mut slot = self.fate.end.lock().unwrap_or_else(PoisonError::into_inner);
            if slot.is_some() {
                return false;
            }
            *slot = Some(end);
        }
        self.status.send_replace(status);
        true
    }
}

impl DetachHandle {
    /// The child's reference id, `<runtimeStageId>:detach:<n>`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where the child stands.
    pub fn status(&self) -> DetachStatus {
        *self.status.borrow()
    }

    /// What the child's run answered, once it is done.
    pub fn result(&self) -> Option<Value> {
        self.end().and_then(Result::ok).flatten()
    }

    /// Why the child failed, once it has.
    pub fn error(&self) -> Option<StructuredError> {
        self.end().and_then(Result::err)
    }

    fn end(&self) -> Option<Result<Option<Value>, StructuredError>> {
        self.fate.end.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the end; every waiter gets the same answer.
    ///
    /// # Errors
    /// The child's failure, or the scheduling problem that kept it from running.
    pub async fn wait(&self) -> Result<Option<Value>, StructuredError> {
        let mut status = self.status.clone();
        // A closed channel means the settler is gone, and it settles before it goes.
        let _ = status.wait_for(|status| status.is_settled()).await;
        self.end()
            .unwrap_or_else(|| Err(StructuredError::new("the detached child was given up by its driver")))
    }
}

impl fmt::Debug for DetachHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DetachHandle").field("id", &self.id).field("status", &self.status()).finish()
    }
}
