//! How often each stage was visited, over all levels of a run and all its legs.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::value::Str;

/// Visits per prefixed stage id.
#[derive(Default)]
pub(crate) struct Visits {
    counts: HashMap<Str, u64, BuildHasherDefault<ShortText>>,
}

/// Hashes short ids; every visit looks one up. Their number is bounded by charts and limits.
#[derive(Default)]
pub(crate) struct ShortText(u64);

impl Hasher for ShortText {
    fn write(&mut self, bytes: &[u8]) {
        const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            for (slot, byte) in word.iter_mut().zip(chunk) {
                *slot = *byte;
            }
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(MIX);
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 ^= u64::from(byte);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
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
