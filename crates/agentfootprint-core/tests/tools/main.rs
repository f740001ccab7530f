//! The dispatch pipeline, driven by whole runs of an agent.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

mod artifacts;
mod basics;
mod charts;
mod code;
mod coverage;
mod inside;
mod laws;
mod parties;
mod people;
mod permissions;
mod providers;
mod runbook_walks;
mod runbooks;
mod support;
