//! What an agent promises, run by run, against a scripted model.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod chart;
mod conversations;
mod events;
mod limits;
mod moments;
mod receipts;
mod refusals;
mod runs;
mod streaming;
mod support;
mod windows;
