//! What an agent is told about artifacts.

use std::fmt;
use std::sync::Arc;

use super::port::ArtifactStore;

/// A store, and how the loop uses it. Placement cannot be spelled without a store.
///
/// ```
/// use agentfootprint_core::artifacts::{ArtifactOptions, in_memory_artifacts};
/// let options = ArtifactOptions::new(in_memory_artifacts()).place_above(4_000);
/// assert_eq!(options.max_inline_chars(), Some(4_000));
/// ```
#[derive(Clone)]
pub struct ArtifactOptions {
    store: Arc<dyn ArtifactStore>,
    max_inline_chars: Option<u64>,
}

impl ArtifactOptions {
    /// A store that is used by name only: `ctx.artifacts()`, `wants`, `present`.
    pub fn new(store: impl ArtifactStore) -> Self {
        Self { store: Arc::new(store), max_inline_chars: None }
    }

    /// Puts results longer than this into the store: the model reads a ticket instead (UTF-16 units; at least 1).
    #[must_use]
    pub fn place_above(mut self, max_inline_chars: u64) -> Self {
        self.max_inline_chars = Some(max_inline_chars);
        self
    }

    /// The longest result that enters the conversation itself.
    pub fn max_inline_chars(&self) -> Option<u64> {
        self.max_inline_chars
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn ArtifactStore> {
        &self.store
    }
}

impl<S: ArtifactStore> From<S> for ArtifactOptions {
    fn from(store: S) -> Self {
        Self::new(store)
    }
}

impl fmt::Debug for ArtifactOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactOptions")
            .field("store", &self.store.traits().name)
            .field("max_inline_chars", &self.max_inline_chars)
            .finish()
    }
}
