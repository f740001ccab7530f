//! Placeholder crate documentation: the integrator writes the one-page engine tour here.

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
