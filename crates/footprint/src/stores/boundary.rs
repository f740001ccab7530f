//! The live state of open intervals (OBS-72).

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::{Deref, DerefMut};

use indexmap::IndexMap;

use crate::ids::RuntimeStageId;

/// Leaked keys a warning names.
const NAMED: usize = 10;
/// Misses of one key that are warned about.
const WARNED_MISSES: [u64; 3] = [1, 10, 100];

/// State that exists between the start and the stop of a boundary. One store per kind of boundary.
///
/// ```
/// use footprint::stores::BoundaryStateStore;
/// let mut calls: BoundaryStateStore<u32, &str> = BoundaryStateStore::new();
/// calls.start("call#4", 0);
/// calls.update(&"call#4", |tokens| *tokens += 7);
/// assert_eq!(calls.stop(&"call#4"), Some(7));
/// assert!(!calls.has_active());
/// ```
#[derive(Debug)]
pub struct BoundaryStateStore<S, K: Hash + Eq = RuntimeStageId> {
    open: IndexMap<K, S>,
    misses: HashMap<K, u64>,
}

impl<S, K: Hash + Eq> Default for BoundaryStateStore<S, K> {
    fn default() -> Self {
        Self { open: IndexMap::new(), misses: HashMap::new() }
    }
}

impl<S, K: Hash + Eq + Clone + Debug> BoundaryStateStore<S, K> {
    /// A store without open boundaries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a boundary. Opening an open one overwrites it — somewhere a stop was missed.
    pub fn start(&mut self, key: K, init: S) {
        if self.open.contains_key(&key) {
            tracing::warn!(target: "footprint", ?key, "boundary started again before it was stopped");
        }
        self.open.insert(key, init);
    }

    /// Opens a boundary that is stopped when the guard is dropped.
    pub fn start_guarded(&mut self, key: K, init: S) -> BoundaryGuard<'_, S, K> {
        self.start(key.clone(), init);
        BoundaryGuard { store: self, key }
    }

    /// Changes the state of an open boundary; without one nothing happens and `false` is returned.
    pub fn update(&mut self, key: &K, change: impl FnOnce(&mut S)) -> bool {
        if let Some(state) = self.open.get_mut(key) {
            change(state);
            return true;
        }
        let misses = self.misses.entry(key.clone()).or_default();
        *misses += 1;
        if WARNED_MISSES.contains(misses) {
            tracing::warn!(target: "footprint", ?key, misses = *misses, "update of a boundary that is not open");
        }
        false
    }

    /// Closes a boundary and returns its final state.
    pub fn stop(&mut self, key: &K) -> Option<S> {
        self.open.shift_remove(key)
    }

    /// The state of an open boundary.
    pub fn get(&self, key: &K) -> Option<&S> {
        self.open.get(key)
    }

    /// Open boundaries in order of opening.
    pub fn active(&self) -> impl Iterator<Item = (&K, &S)> {
        self.open.iter()
    }

    /// Whether any boundary is open.
    pub fn has_active(&self) -> bool {
        !self.open.is_empty()
    }

    /// How many boundaries are open.
    pub fn active_count(&self) -> usize {
        self.open.len()
    }

    /// How often a key was updated without being open.
    pub fn misses(&self, key: &K) -> u64 {
        self.misses.get(key).copied().unwrap_or(0)
    }

    /// Drops all open boundaries and returns their keys; they were leaked.
    pub fn clear(&mut self) -> Vec<K> {
        let leaked: Vec<K> = self.open.drain(..).map(|(key, _)| key).collect();
        self.misses.clear();
        if !leaked.is_empty() {
            let named: Vec<&K> = leaked.iter().take(NAMED).collect();
            tracing::warn!(target: "footprint", count = leaked.len(), ?named, "boundaries were never stopped");
        }
        leaked
    }
}

/// Keeps a boundary open; dropping it stops the boundary. The store stays usable through it.
#[derive(Debug)]
pub struct BoundaryGuard<'a, S, K: Hash + Eq = RuntimeStageId> {
    store: &'a mut BoundaryStateStore<S, K>,
    key: K,
}

impl<S, K: Hash + Eq> Deref for BoundaryGuard<'_, S, K> {
    type Target = BoundaryStateStore<S, K>;
    fn deref(&self) -> &Self::Target {
        self.store
    }
}

impl<S, K: Hash + Eq> DerefMut for BoundaryGuard<'_, S, K> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.store
    }
}

impl<S, K: Hash + Eq> Drop for BoundaryGuard<'_, S, K> {
    fn drop(&mut self) {
        self.store.open.shift_remove(&self.key);
    }
}
