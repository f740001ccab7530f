//! How much of a run a recording keeps.

use std::num::NonZeroUsize;

/// Bound of kept events unless the caller sets another one.
const DEFAULT_MAX_EVENTS: usize = 10_000;

/// What boundary rows carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoundaryDetail {
    /// Everything.
    #[default]
    Full,
    /// Without `payload`, `args`, `result`, `content` and `contentSummary`. It makes recordings smaller; it is **not** a
    /// privacy control: events and commits still hold all of it.
    Lean,
}

/// Options of a recording.
///
/// ```
/// use agentfootprint_core::record::{BoundaryDetail, RecordOptions};
/// use std::num::NonZeroUsize;
///
/// let options = RecordOptions::new().boundary_detail(BoundaryDetail::Lean).max_events(NonZeroUsize::MIN);
/// assert_eq!(options, options.clone());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    pub(crate) max_events: NonZeroUsize,
    pub(crate) boundary_detail: BoundaryDetail,
    pub(crate) record_embeddings: bool,
}

impl Default for RecordOptions {
    fn default() -> Self {
        Self {
            max_events: NonZeroUsize::new(DEFAULT_MAX_EVENTS).unwrap_or(NonZeroUsize::MIN),
            boundary_detail: BoundaryDetail::Full,
            record_embeddings: false,
        }
    }
}

impl RecordOptions {
    /// 10 000 events, full boundary rows, embeddings summarised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps at most this many events; the oldest leave first and are counted.
    #[must_use]
    pub fn max_events(mut self, bound: NonZeroUsize) -> Self {
        self.max_events = bound;
        self
    }

    /// What boundary rows carry.
    #[must_use]
    pub fn boundary_detail(mut self, detail: BoundaryDetail) -> Self {
        self.boundary_detail = detail;
        self
    }

    /// Keeps embedding vectors as they are instead of their dimension and norm.
    #[must_use]
    pub fn record_embeddings(mut self, keep: bool) -> Self {
        self.record_embeddings = keep;
        self
    }
}
