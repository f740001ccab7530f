//! One entry per key (OBS-71).

use std::hash::Hash;

use indexmap::IndexMap;

use super::Visible;
use crate::ids::RuntimeStageId;

/// One entry per key, in order of first insertion.
///
/// ```
/// use footprint::stores::KeyedStore;
/// let mut store: KeyedStore<u32, &str> = KeyedStore::new();
/// store.set("a", 1);
/// store.set("b", 2);
/// store.set("a", 3); // replaces, keeps its place
/// assert_eq!(store.iter().collect::<Vec<_>>(), [(&"a", &3), (&"b", &2)]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedStore<T, K: Hash + Eq = RuntimeStageId> {
    entries: IndexMap<K, T>,
}

impl<T, K: Hash + Eq> Default for KeyedStore<T, K> {
    fn default() -> Self {
        Self { entries: IndexMap::new() }
    }
}

impl<T, K: Hash + Eq> KeyedStore<T, K> {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the entry of a key and returns the replaced one; a replaced entry keeps its place.
    pub fn set(&mut self, key: K, entry: T) -> Option<T> {
        self.entries.insert(key, entry)
    }

    /// The entry of a key.
    pub fn get(&self, key: &K) -> Option<&T> {
        self.entries.get(key)
    }

    /// The entry of a key, for changing.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut T> {
        self.entries.get_mut(key)
    }

    /// The entry of a key, made first if there is none.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> T) -> &mut T {
        self.entries.entry(key).or_insert_with(make)
    }

    /// Whether the key has an entry.
    pub fn has(&self, key: &K) -> bool {
        self.entries.contains_key(key)
    }

    /// Removes the entry of a key; the order of the others is kept.
    pub fn delete(&mut self, key: &K) -> Option<T> {
        self.entries.shift_remove(key)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &T)> + ExactSizeIterator {
        self.entries.iter()
    }

    /// Reduces over all entries.
    pub fn aggregate<R>(&self, init: R, mut reduce: impl FnMut(R, &K, &T) -> R) -> R {
        self.entries.iter().fold(init, |acc, (k, t)| reduce(acc, k, t))
    }

    /// Reduces over the entries of visible keys.
    pub fn accumulate<R>(
        &self,
        visible: Option<Visible<'_, K>>,
        init: R,
        mut reduce: impl FnMut(R, &K, &T) -> R,
    ) -> R {
        let shown = |(key, _): &(&K, &T)| visible.is_none_or(|visible| visible(key));
        self.entries.iter().filter(shown).fold(init, |acc, (k, t)| reduce(acc, k, t))
    }

    /// The entries whose key passes, in order.
    pub fn filter_by_keys(&self, visible: impl Fn(&K) -> bool) -> Vec<(&K, &T)> {
        self.entries.iter().filter(|(key, _)| visible(key)).collect()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}
