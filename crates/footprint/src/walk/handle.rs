//! A handle on a run that is under way.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::shared::RunShared;
use crate::ids::RunId;
use crate::observe::DrainReport;
use crate::recorders::{CombinedNarrative, NarrativeEntry};
use crate::snapshot::Snapshot;

/// Looks at a run, and cancels it, from anywhere.
#[derive(Clone)]
pub struct RunHandle {
    pub(super) shared: Arc<RunShared>,
}

impl RunHandle {
    /// The run's id.
    pub fn run_id(&self) -> &RunId {
        &self.shared.run_id
    }

    /// Commits in the run's log so far.
    pub fn commit_count(&self) -> usize {
        self.shared.root.commit_count()
    }

    /// The record so far; detached and frozen.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.snapshot(false, true)
    }

    /// The record so far with the redacted mirrors, when the run redacts; else as [`snapshot`](Self::snapshot).
    pub fn snapshot_redacted(&self) -> Snapshot {
        self.shared.snapshot(self.shared.is_redacting(), true)
    }

    /// The combined narrative so far, when it is recorded (by the run option or an attached recorder).
    pub fn narrative_entries(&self) -> Vec<NarrativeEntry> {
        let narrative = self.shared.observers.get::<CombinedNarrative>("combined-narrative");
        narrative.map(|narrative| narrative.entries_of(&self.shared.run_id)).unwrap_or_default()
    }

    /// Delivers what deferred observers have not seen yet, then waits for the futures of asynchronous ones, at
    /// most this long. For shutdown; without deferred observers it answers at once.
    pub async fn drain_observers(&self, timeout: Duration) -> DrainReport {
        match self.shared.observers.queue() {
            Some(queue) => queue.drain(timeout).await,
            None => DrainReport::default(),
        }
    }

    /// Ends the run: running stages are dropped at their next await, commit what they staged, and the run
    /// fails as cancelled. The report still comes.
    pub fn cancel(&self, reason: &str) {
        self.shared.stop.cancel(reason);
    }
}

impl fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunHandle").field("run_id", &self.shared.run_id).finish_non_exhaustive()
    }
}
