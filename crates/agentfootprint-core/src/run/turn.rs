//! One agent's turn inside a run: its latches, counters and caches.
//!
//! A run may hold several: every agent mounted in a composition has its own, found by the path it is mounted at.
//! Nothing here explains the answer; what does is written to scope. A resumed leg starts with an empty one.

use std::any::{Any, TypeId};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use footprint::value::Str;

use super::context::lock;
use super::tracker::CheckpointTracker;
use crate::agent::records::MessageRecords;
use crate::agent::reported::ReportedPieces;
use crate::agent::wire::ReceiptEntries;

/// Per-agent, per-run data.
pub(crate) struct AgentTurn {
    prefix: Str,
    /// What receipts say of each message, extended as the conversation grows.
    pub(crate) receipt_entries: Mutex<ReceiptEntries>,
    /// The records of the messages slot, extended as the conversation grows.
    pub(crate) message_records: Mutex<MessageRecords>,
    /// What the events of the slots have said.
    pub(crate) reported: Mutex<ReportedPieces>,
    /// Where the turn could be continued.
    pub(crate) tracker: CheckpointTracker,
    /// The iteration that landed the last batch of tool results, 0 before the first (CTX-9).
    batch_iteration: AtomicU32,
    warned: Mutex<BTreeSet<&'static str>>,
    more: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl AgentTurn {
    pub(crate) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.into(),
            receipt_entries: Mutex::default(),
            message_records: Mutex::default(),
            reported: Mutex::default(),
            tracker: CheckpointTracker::default(),
            batch_iteration: AtomicU32::new(0),
            warned: Mutex::default(),
            more: Mutex::default(),
        }
    }

    /// Where the agent is mounted; `""` at the root.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Notes that `iteration` landed a batch of tool results.
    pub(crate) fn note_batch(&self, iteration: u32) {
        self.batch_iteration.store(iteration, Ordering::Relaxed);
    }

    /// Whether the batch in state is the one of the iteration before `iteration` (CTX-9).
    pub(crate) fn batch_is_fresh(&self, iteration: u32) -> bool {
        let landed = self.batch_iteration.load(Ordering::Relaxed);
        landed > 0 && landed + 1 == iteration
    }

    /// The conversation was rewritten rather than appended to: what was kept of it is void.
    pub(crate) fn forget_conversation(&self) {
        *lock(&self.receipt_entries) = ReceiptEntries::default();
        *lock(&self.message_records) = MessageRecords::default();
    }

    /// True the first time this is asked for `key`.
    pub(crate) fn first_warning(&self, key: &'static str) -> bool {
        lock(&self.warned).insert(key)
    }

    /// The turn's own instance of `T`, created on first use: where a feature keeps its per-run data.
    pub(crate) fn of<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let entry =
            Arc::clone(lock(&self.more).entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default())));
        // The map is keyed by the type, so the downcast always succeeds.
        entry.downcast::<T>().unwrap_or_default()
    }
}
