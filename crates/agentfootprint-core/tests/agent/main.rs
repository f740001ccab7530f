//! What an agent promises, run by run, against a scripted model.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod act;
mod bad_parties;
mod caching;
mod call_order;
mod chart;
mod context_rules;
mod conversations;
mod effects;
mod error_texts;
mod errors;
mod events;
mod laws;
mod limits;
mod model_call;
mod moments;
mod open_rules;
mod output;
mod promises;
mod receipts;
mod recordings;
mod refusals;
mod reliability;
mod reliability_answers;
mod runs;
mod streaming;
mod support;
mod validation;
mod windows;
