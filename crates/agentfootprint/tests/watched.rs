//! What is read off a run while it happens and afterwards: the commit axis, run steps, the live state, the status line.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

#[path = "watched/support.rs"]
mod support;

#[path = "watched/axis.rs"]
mod axis;

#[path = "watched/steps.rs"]
mod steps;

#[path = "watched/live.rs"]
mod live;
