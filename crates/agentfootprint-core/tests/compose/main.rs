//! The runners besides the agent, through their public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod concurrency;
mod failures;
mod graphs;
mod llm_call;
mod members;
mod nesting;
mod observers;
mod parallels;
mod patterns;
mod pauses;
mod refusals;
mod routers;
mod strategies;
mod support;
