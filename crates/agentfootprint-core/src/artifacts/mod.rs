//! Artifacts: payloads in a governed store, and the tickets that travel instead of them (MEM §12).
//!
//! A tool checks a payload in; the model and the record carry a short reference and its metadata; a later tool, a screen or
//! the host redeems the reference under the run's own scope. A reference alone opens nothing.
//!
//! | file | idea |
//! |---|---|
//! | `shape` | references, tickets, payloads |
//! | `port` | what a store has to do, and how it refuses |
//! | `mint` | what every store checks and computes before it keeps a payload |
//! | `retention` | which rows leave when a new one comes: one pure plan for all stores |
//! | `memory` | the store that keeps everything in the process |
//! | `placed` | a result that was put into the store, as the model reads it |
//! | `access` | the store as one tool call sees it: scope bound, origin stamped, every answer on the record |
//!
//! Where a store meets the loop (`wants`, placement, `present`) is the dispatch pipeline's business.

mod access;
mod memory;
mod mint;
mod options;
mod placed;
mod port;
mod retention;
mod shape;

pub use self::access::ArtifactAccess;
pub(crate) use self::access::{ArtifactFact, Binding, FactSink};
pub use self::memory::{InMemoryArtifacts, in_memory_artifacts};
pub use self::mint::{ARTIFACT_REF_CHARS, Entropy, Measured, measure, mint_ref, prove_input};
pub use self::options::ArtifactOptions;
pub(crate) use self::placed::placed_result;
pub use self::placed::{is_placed_tool_result, placed_result_kind};
pub use self::port::{
    ArtifactError, ArtifactStore, ArtifactTraits, DigestAlgorithm, Eviction, ListArtifacts, Page,
    PutArtifact, PutResult, Swept,
};
pub use self::retention::{Retention, RetentionRow, plan_retention};
pub use self::shape::{
    ArtifactData, ArtifactMeta, ArtifactOrigin, ArtifactRecord, ArtifactRef, ArtifactScope,
};
