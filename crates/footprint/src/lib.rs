//! **footprint** — a flowchart engine in which nothing that happens in a run is invisible.
//!
//! You describe work as a chart of stages. Walking the chart records it: every visit leaves an address, a commit and a place
//! in a tree, and the whole folds back to the state at any step. Afterwards *"why is this value what it is?"* is a query over
//! the record, not a guess over logs.
//!
//! ```
//! use footprint::prelude::*;
//!
//! const SCORE: Key<u32> = Key::new("score");
//! const ANSWER: Key<String> = Key::new("answer");
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let chart = Chart::builder(Stage::new("seed", |s: Scope| async move {
//!     s.set(SCORE, 710u32)?;
//!     Ok(())
//! }))
//! .decide(
//!     Decider::new("route", |s: Scope| async move {
//!         Ok(decide(&s, &[Rule::when(field("score").gte(700), "approve").label("good score")], "review")?)
//!     })
//!     .branch(Branch::stage(Stage::new("approve", |s: Scope| async move { Ok(s.set(ANSWER, "yes")?) })))
//!     .branch(Branch::stage(Stage::new("review", |s: Scope| async move { Ok(s.set(ANSWER, "ask a person")?) }))),
//! )
//! .build()?;
//!
//! let report = chart.run(RunOptions::new()).await;
//! assert_eq!(report.state().get("answer").and_then(|v| v.as_str()), Some("yes"));
//!
//! // Why? A query over the record: who wrote `answer`, and what that step depended on.
//! let trace = TraceQuery::new(report.snapshot().clone());
//! let why = trace.root().slice_for_key(&footprint::query::StateKey::key("answer")?, None, &Default::default())?;
//! assert!(why.format().contains("approve#2"));
//! # Ok(()) }
//! ```
//!
//! # The words
//!
//! | word | meaning | where |
//! |---|---|---|
//! | chart | an immutable graph of nodes, cheap to clone, walked by any number of runs | [`chart`] |
//! | stage, decider, selector, fork, for-each, mount | the kinds of nodes | [`chart`] |
//! | structure | the JSON tree of a chart | [`structure`] |
//! | run | one walk: owns its state, log and observers | [`walk`], [`report`] |
//! | scope | the handle a stage function receives | [`scope`] |
//! | value, key | shared JSON data and typed names for it | [`mod@value`], [`state`] |
//! | bundle | what one visit changed; bundles make the commit log | [`state`] |
//! | address | `path/stage#7`, the one name that joins everything | [`ids`] |
//! | recorder | an observer of runs | [`observe`], [`recorders`] |
//! | snapshot | the finished record | [`snapshot`] |
//! | slice | the earlier steps that explain a value | [`query`] |
//!
//! # What holds
//!
//! - Folding `initialState` and all bundles gives the final state, also after failures, pauses and cancellation.
//! - Executed means recorded; nothing rolls back. A stage that failed still has its bundle and its tree node.
//! - Observers cannot change a run: a slow, failing or panicking one alters no state, order or outcome.
//! - A run owns everything it changes. There is no engine-wide mutable state but the default run-id counter.
//! - A hook nobody declared costs one branch; values are shared, never copied for the record.
//!
//! # Features
//!
//! `derive` (default): `#[derive(State)]`. `schema` (default): contracts checked against JSON Schema. `rt`: timers and detach
//! drivers on the tokio runtime.

pub mod chart;
pub mod clock;
pub mod decide;
pub mod detach;
pub mod env;
pub mod error;
pub mod ids;
pub mod json;
pub mod observe;
pub mod pause;
pub mod query;
pub mod recorders;
pub mod report;
pub mod scope;
pub mod snapshot;
pub mod state;
pub mod stores;
pub mod stream;
pub mod structure;
pub mod value;
pub mod verbs;
pub mod walk;

pub use chart::{Branch, BuildErrors, Chart, Decider, FanOut, ForEach, Mount, Retry, Selector, Stage, Step};
pub use error::{RunError, ScopeError, StageError};
pub use ids::{RunId, RuntimeStageId, StageId};
pub use observe::Recorder;
pub use query::TraceQuery;
pub use report::{Outcome, RunReport};
pub use scope::Scope;
pub use snapshot::Snapshot;
pub use state::{Key, ListKey, MapKey};
pub use structure::Structure;
pub use value::{Array, Number, Object, Str, Value};
pub use walk::{Run, RunOptions};

#[cfg(feature = "derive")]
pub use footprint_macros::State;

/// What a program that builds and runs charts usually needs.
pub mod prelude {
    pub use crate::chart::{
        ArrayMergeMode, Branch, Chart, Contract, Decider, FanOut, ForEach, Mount, Next, Retry, Selector,
        Stage, Step, SubflowEnd,
    };
    pub use crate::decide::{Rule, decide, field, select};
    pub use crate::error::{RunError, StageError};
    pub use crate::pause::Ask;
    pub use crate::query::TraceQuery;
    pub use crate::report::{Outcome, RunReport};
    pub use crate::scope::{Scope, StateView};
    pub use crate::state::{CommitValues, Key, ListKey, MapKey, Tracking, WriteProvenance};
    pub use crate::value::{Array, Object, Value};
    pub use crate::walk::RunOptions;

    #[cfg(feature = "derive")]
    pub use footprint_macros::State;
}
