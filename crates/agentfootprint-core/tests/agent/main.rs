//! What an agent promises, run by run, against a scripted model.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bad_parties;
mod caching;
mod call_order;
mod chart;
mod conversations;
mod effects;
mod errors;
mod events;
mod laws;
mod limits;
mod model_call;
mod moments;
mod output;
mod promises;
mod receipts;
mod refusals;
mod reliability;
mod reliability_answers;
mod runs;
mod streaming;
mod support;
mod windows;
