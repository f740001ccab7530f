//! The errors of a run: what a stage fails with ([`StageError`]), what a scope method refuses
//! ([`ScopeError`]), how a run ends badly ([`RunError`]), and the serialised form all of them share
//! ([`StructuredError`]).
//!
//! No message in here repeats a state value: errors name stages, keys, kinds and limits, never what
//! was stored under a key (law 10).

mod run;
mod scope;
mod stage;

pub use run::{InputValidationError, MapperSide, RunError};
pub use scope::ScopeError;
pub(crate) use stage::panic_text;
pub use stage::{Issue, StageError, StageSource, StructuredError};
