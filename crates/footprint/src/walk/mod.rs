//! The walk: a run as a set of strands driven by one hand-written future (ENG §6).
//!
//! | file | idea |
//! |---|---|
//! | `options` | what a caller says about one run |
//! | `setup`, `run`, `handle` | what a run is made of; the run as a future, begin and end; a handle on it |
//! | `driver` | the scheduler: which strand walks next |
//! | `strand` | one sequential walk with an explicit stack |
//! | `visit` | one visit of a node: attempts, commit, answer |
//! | `hop` | going on after a node |
//! | `branch` | deciders and selectors |
//! | `fanout`, `foreach` | parallel children |
//! | `mount` | entering and leaving another chart |
//! | `pausing`, `resume` | how a visit pauses, and how a leg comes back to it |
//! | `frame`, `level`, `tree`, `namespace` | what a visit, a chart's own walk, its tree and a branch own |
//! | `shared` | what everything in one run shares |
//! | `warn` | findings of dev diagnostics |
//!
//! Nothing recurses over a chart, so neither long chains and loops nor deep nesting grow the native stack.

mod branch;
pub(crate) mod detached;
mod driver;
mod fanout;
mod foreach;
pub(crate) mod frame;
mod handle;
mod hop;
pub(crate) mod level;
mod mount;
pub(crate) mod namespace;
mod options;
mod pausing;
mod resume;
mod run;
mod setup;
pub(crate) mod shared;
mod strand;
mod timer;
mod tree;
mod visit;
mod visits;
pub(crate) mod warn;

pub use handle::RunHandle;
pub use options::{Diagnostics, OptionsError, RunOptions};
pub use run::Run;
pub use warn::Warning;

pub(crate) use resume::{Reentry, child_of};
pub(crate) use run::{LegStart, output_of};
pub(crate) use setup::{policy_of, root_level};
pub(crate) use shared::RunShared;
pub(crate) use timer::sleep;
pub(crate) use visits::Visits;
