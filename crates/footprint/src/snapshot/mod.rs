//! What a finished, failed, paused or still running walk hands over, and how it becomes JSON and back (ENG §9, §12; OBS §3, §12).
//!
//! | type | what it is |
//! |---|---|
//! | [`Snapshot`] | the whole record of one run, detached from it |
//! | [`ExecutionTree`], [`FrameRecord`] | one node per executed step, in an arena (never nested boxes, OBS-204) |
//! | [`CommitLog`], [`LogGap`] | the commits in order; a row that could not be read keeps its index |
//! | [`SubflowResult`] | one execution of a mounted chart: its own state, log and tree |
//! | [`RecorderRow`], [`RecorderFailure`] | what observers contributed, and what failed among them |
//! | [`LogAddress`] | which log a commit position belongs to |
//! | [`RecordWriter`] | makes the record of something that ran without the engine |
//!
//! Everything here is cheap to clone: state, bundles and frames are shared by reference count.

mod log;
mod read;
pub(crate) mod read_tree;
mod record;
mod recorder;
#[cfg(test)]
mod tests;
mod tree;
mod write;

pub use log::{CommitLog, LogGap};
pub use read::{OpenLimits, OpenRecordingError, Recording, read_snapshot, read_snapshot_from};
pub use record::{
    LogAddress, PreferredOperation, RecorderFailure, RecorderRow, Snapshot, SubflowContext, SubflowResult,
};
pub use recorder::{RecordStep, RecordWriter};
pub use tree::{ExecutionTree, FrameRecord, NodeId};
pub use write::{write_recording, write_snapshot};
