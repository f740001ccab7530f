use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Ids for tool calls of wires that send none: `<fixed>-call-<instance>-<n>`.
///
/// The fixed part tells an invented id from a vendor's, also after a restart. The part of the instance keeps a
/// restored conversation from meeting an id it already has.
#[derive(Debug)]
pub(crate) struct InventedIds {
    fixed: &'static str,
    instance: u32,
    next: AtomicU64,
}

impl InventedIds {
    pub(crate) fn new(fixed: &'static str) -> Self {
        // RandomState is seeded by the operating system; no secret depends on it.
        let instance = RandomState::new().hash_one(fixed) as u32;
        InventedIds { fixed, instance, next: AtomicU64::new(1) }
    }

    pub(crate) fn next(&self) -> String {
        format!("{}-call-{:08x}-{}", self.fixed, self.instance, self.next.fetch_add(1, Ordering::Relaxed))
    }
}
