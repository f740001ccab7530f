//! How often each stage was visited, over all levels of a run and all its legs.

use foldhash::HashMap;

use crate::value::Str;

/// Visits per prefixed stage id.
#[derive(Default)]
pub(crate) struct Visits {
    counts: HashMap<Str, u64>,
}

impl Visits {
    /// Counts one visit; the number of visits before it.
    pub(super) fn count(&mut self, id: &Str) -> u64 {
        match self.counts.get_mut(id) {
            Some(count) => {
                let before = *count;
                // A checkpoint made by hand may say anything.
                *count = count.saturating_add(1);
                before
            }
            None => {
                self.counts.insert(id.clone(), 1);
                0
            }
        }
    }

    /// The counts of the legs before.
    pub(crate) fn restored(counts: impl IntoIterator<Item = (Str, u64)>) -> Self {
        Self { counts: counts.into_iter().collect() }
    }

    /// All counts, by id.
    pub(crate) fn all(&self) -> Vec<(Str, u64)> {
        let mut all: Vec<_> = self.counts.iter().map(|(id, count)| (id.clone(), *count)).collect();
        all.sort();
        all
    }
}
