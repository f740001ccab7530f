//! A small multiplicative hasher for the index's short keys. Recordings may be hostile, but a table of crafted collisions costs time
//! only, bounded by `OpenLimits`; the maps keyed by whole texts keep the standard hasher's strength where it matters least here.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with the fast hasher.
pub(super) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

const SEED: u64 = 0x517c_c1b7_2722_0a95;

/// Rotate, xor, multiply per word.
#[derive(Clone, Copy, Default)]
pub(super) struct FastHasher(u64);

impl FastHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(SEED);
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.add(chunk.try_into().map_or(0, u64::from_le_bytes));
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            let word = rest.iter().rev().fold(0_u64, |word, byte| (word << 8) | u64::from(*byte));
            self.add(word ^ ((rest.len() as u64) << 56));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.add(u64::from(n));
    }

    fn write_u32(&mut self, n: u32) {
        self.add(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.add(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.add(n as u64);
    }

    fn finish(&self) -> u64 {
        // The table uses the high bits for its tags and the low ones for buckets: mix them.
        self.0 ^ (self.0 >> 32)
    }
}
