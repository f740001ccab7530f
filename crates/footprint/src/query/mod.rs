//! Why did it happen: questions about a recording (OBS §11, §12).
//!
//! Everything here is pure and offline: a [`TraceQuery`] is opened from a snapshot — of a live run, of a file of ours, of a file of the
//! reference implementation — and answers without engine, recorder or I/O. A [`LogView`] is one log (the run's, or one subflow
//! execution's); its index is built on the first question and kept.
//!
//! | question | call |
//! |---|---|
//! | who wrote this key, and when | [`LogView::last_writer`], [`LogView::writers`], [`LogView::find_commit`] |
//! | what stood there at commit 7 | [`LogView::value_at`], [`LogView::state_at`] |
//! | what led to this step | [`LogView::causal_chain`] |
//! | what led to this value | [`LogView::slice_for_key`] |
//! | which step put this list item there | [`LogView::element_birth`], [`LogView::array_births`] |
//! | what came of this value | [`LogView::forward_slice`], [`LogView::key_timeline`] |
//! | what is known about this step | [`TraceQuery::step`], [`TraceQuery::search`], [`TraceQuery::overview`] |
//! | walk through time | [`Cursor`] |
//!
//! ```
//! use footprint::query::{StateKey, TraceQuery};
//! use footprint::snapshot::Snapshot;
//!
//! let recording = r#"{"sharedState": {"total": 42}, "executionTree": {"id": "add", "runtimeStageId": "add#0", "name": "Add"},
//!   "commitLog": [{"idx": 0, "stage": "Add", "stageId": "add", "runtimeStageId": "add#0",
//!                  "trace": [{"path": "total", "verb": "set"}], "overwrite": {"total": 42}, "updates": {}, "redactedPaths": []}]}"#;
//! let query = TraceQuery::new(Snapshot::from_json(recording)?);
//! let writer = query.root().last_writer(&StateKey::key("total")?, None).ok_or("no writer")?;
//! assert_eq!(writer.runtime_stage_id, "add#0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod births;
mod control;
mod cursor;
mod format;
mod forward;
mod hash;
mod index;
mod key;
mod lookup;
mod notes;
mod options;
mod overview;
mod quality;
mod search;
mod slice;
mod step;
mod symbols;
#[cfg(test)]
mod tests;
mod trace;
mod tree;
mod values;
mod variable;
mod view;

pub use births::{ArrayBirths, ArrayMissing, BirthBasis, ElementBirth};
pub use control::ControlSource;
pub use cursor::{Cursor, Move, MoveMiss, Stop, StopKind};
pub use forward::{ForwardEdge, ForwardNode, ForwardNodeId, ForwardSlice, KeyTimeline, Moment, MomentKind};
pub use index::LogIndex;
pub use key::StateKey;
pub use lookup::CommitRef;
pub use notes::{Note, NoteCode, QueryError};
pub use options::{EdgeAttribution, ReadFn, ReadSource, SliceOptions, Weigh};
pub use overview::Overview;
pub use quality::{QualityFrame, QualityTrace, RootCause};
pub use search::{Hit, HitKind, SearchHits, SearchQuery};
pub use slice::{Descend, EdgeKind, Slice, SliceEdge, SliceNode, SliceNodeId, Truncated};
pub use step::{StepFacts, WrittenKey};
pub use trace::{SubflowView, TraceQuery};
pub use values::{Basis, KeyValue, Partial, StateAt, ValueAt};
pub use variable::{KeyMissing, KeySlice, ReadsCoverage};
pub use view::{LogParts, LogView};
