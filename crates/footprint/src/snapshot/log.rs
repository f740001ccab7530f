//! The commit log as a value: append-only, shared in chunks, gaps keep their index.

use std::sync::Arc;

use crate::state::Bundle;
use crate::value::Value;

/// Bundles per shared chunk. A clone copies `len / CHUNK` pointers plus the open tail.
const CHUNK: usize = 256;

/// One row of a stored log that could not be read (ENG-161). It keeps its place, contributes no state and is reported.
#[derive(Clone, Debug, PartialEq)]
pub struct LogGap {
    /// Position in the log.
    pub index: usize,
    /// Why it could not be read.
    pub reason: String,
    /// The row as it stood, kept so that a rewrite loses nothing.
    pub raw: Value,
}

/// The commits of one log in order.
///
/// Cloning is cheap (full chunks are shared), so a snapshot taken mid-run neither grows nor copies bundles (ENG-143).
#[derive(Clone, Debug, Default)]
pub struct CommitLog {
    chunks: Vec<Arc<[Arc<Bundle>]>>,
    tail: Vec<Arc<Bundle>>,
    gaps: Vec<LogGap>,
}

impl CommitLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of positions, gaps included.
    pub fn len(&self) -> usize {
        self.chunks.len() * CHUNK + self.tail.len()
    }

    /// Whether the log has no position at all.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.tail.is_empty()
    }

    /// Appends one bundle.
    pub fn push(&mut self, bundle: Arc<Bundle>) {
        self.tail.push(bundle);
        if self.tail.len() == CHUNK {
            self.chunks.push(Arc::from(std::mem::take(&mut self.tail)));
            self.tail.reserve(CHUNK);
        }
    }

    /// Appends a position that could not be read; `placeholder` is an empty bundle that stands in for it.
    pub(crate) fn push_gap(&mut self, reason: String, raw: Value, placeholder: Arc<Bundle>) {
        self.gaps.push(LogGap { index: self.len(), reason, raw });
        self.push(placeholder);
    }

    /// The bundle at a position; for a gap this is an empty placeholder (ask [`CommitLog::gap`]).
    pub fn get(&self, index: usize) -> Option<&Arc<Bundle>> {
        match self.chunks.get(index / CHUNK) {
            Some(chunk) => chunk.get(index % CHUNK),
            None => self.tail.get(index.checked_sub(self.chunks.len() * CHUNK)?),
        }
    }

    /// The gap at a position, if that row could not be read.
    pub fn gap(&self, index: usize) -> Option<&LogGap> {
        self.gaps.binary_search_by_key(&index, |g| g.index).ok().and_then(|at| self.gaps.get(at))
    }

    /// All gaps, ascending by position.
    pub fn gaps(&self) -> &[LogGap] {
        &self.gaps
    }

    /// The bundles in order, gap placeholders included.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Bundle>> + '_ {
        self.chunks.iter().flat_map(|c| c.iter()).chain(self.tail.iter())
    }

    /// The last bundle.
    pub fn last(&self) -> Option<&Arc<Bundle>> {
        self.len().checked_sub(1).and_then(|i| self.get(i))
    }
}

impl FromIterator<Arc<Bundle>> for CommitLog {
    fn from_iter<I: IntoIterator<Item = Arc<Bundle>>>(iter: I) -> Self {
        let mut log = Self::new();
        iter.into_iter().for_each(|b| log.push(b));
        log
    }
}

impl From<Vec<Arc<Bundle>>> for CommitLog {
    fn from(bundles: Vec<Arc<Bundle>>) -> Self {
        bundles.into_iter().collect()
    }
}
