//! Containers that recorders are built from (OBS §5). All are plain single-owner types; a recorder adds its own lock.
//!
//! | store | holds |
//! |---|---|
//! | [`SequenceStore`] | many entries per step, in order |
//! | [`KeyedStore`] | one entry per key, in order of first insertion |
//! | [`BoundaryStateStore`] | the live state of open intervals |
//! | [`CommitRangeIndex`] | labelled intervals over commit positions |

mod boundary;
mod keyed;
mod range;
mod sequence;
#[cfg(test)]
mod tests;

pub use boundary::{BoundaryGuard, BoundaryStateStore};
pub use keyed::KeyedStore;
pub use range::{CommitRange, CommitRangeIndex, RangeToken};
pub use sequence::{HasStep, SequenceStore, Visible};
