//! State: keys and paths, what a stage stages, how a commit is encoded, recorded and replayed.
//!
//! | type | is |
//! |---|---|
//! | [`Key`], [`ListKey`], [`MapKey`] | a typed name of a root key |
//! | [`Path`] | where a value stands |
//! | [`Staging`] | what one frame owns while its stage runs |
//! | [`EncodedCommit`] | the rows a commit records, and how they land |
//! | [`Row`], [`Bundle`] | one change; one entry of the log |
//! | [`fold`] | state from a log |
//! | [`RunPolicy`] | the frozen dials of a run |
//! | [`Redaction`] | the one owner of what may be shown |
//!
//! Two laws hold for every commit, in both encodings: folding the bundle onto the state the stage began from
//! gives what the stage read back (ENG-3), and folding all bundles onto the initial state gives the live state
//! (ENG-4). With a policy, folding the log gives the redacted mirror.
//!
//! ```
//! use footprint::ids::{CommitIdx, RuntimeStageId};
//! use footprint::state::{apply_bundle, Bundle, CommitValues, Marks, Redaction, Staging, WriteProvenance};
//! use footprint::value;
//! use footprint::value::Object;
//!
//! let mut live = Object::new();
//! let marks = Marks::default();
//!
//! // One stage: stage, encode, land, record.
//! let mut staging = Staging::default();
//! staging.set(&live, "total", value!(40));
//! let redaction = Redaction::new(None, &marks);
//! let commit = staging.encode(CommitValues::Full, WriteProvenance::Off, redaction);
//! commit.land(&staging, &mut live);
//! let mut bundle = Bundle::empty(CommitIdx(0), "Seed", "seed", RuntimeStageId::parse("seed#0"));
//! bundle.rows = commit.rows;
//!
//! let mut replayed = Object::new();
//! apply_bundle(&mut replayed, &bundle);
//! assert_eq!(replayed, live);
//! ```

mod bundle;
mod bundle_json;
mod encode;
mod family;
mod fold;
mod keys;
mod merge_back;
mod path;
mod policy;
mod redact;
mod staging;

pub use bundle::{Bundle, Gap, Phase, Row, Untracked};
pub use encode::EncodedCommit;
pub use fold::{apply_bundle, apply_row, fold};
pub use keys::{Key, KeyProblem, ListKey, MapKey, RUNS_KEY, StateKey, check_key, check_segment};
pub(crate) use merge_back::first_seed;
pub use merge_back::{ArrayMergeMode, merge_back, seed_ops, starting_state};
pub use path::{Path, PathRelation};
pub use policy::{CommitValues, RunPolicy, Tracking, UnknownWord, WriteProvenance};
pub use redact::{
    InvalidPattern, LOG_PLACEHOLDER, MapperRead, Marks, Redaction, RedactionPolicy, RedactionReport,
    RedactionRule, SERVED_PLACEHOLDER, Served,
};
pub use staging::{StagedOp, Staging, TrackedRead, WriteOperation, WriteRecord};

#[cfg(test)]
pub(crate) mod tests;
