//! The reliability gate: rules around one model call (LLM §11).
//!
//! Decorators of a provider repeat a request; the gate *judges an answer*. Its rules see what came back — a failure by its kind,
//! an answer that does not meet the declared form, the cost so far — and say what happens next. Everything takes place inside
//! one visit of `call-llm`: the loop around it sees one call, and nothing of an attempt enters the conversation.
//!
//! | file | holds |
//! |---|---|
//! | `rules` | what a rule is and what it can decide |
//! | `scope` | what a rule sees |
//! | `config` | the declaration and what a build refuses |
//! | `breaker` | circuit breakers per provider, shared by the runs of an agent |
//! | `gate` | the passes of one visit |
//! | `fail_fast` | giving up, on the record |
//!
//! ```
//! use agentfootprint_core::agent::Agent;
//! use agentfootprint_core::llm::*;
//! use agentfootprint_core::reliability::{Post, Pre, Reliability, Rule};
//! use agentfootprint_core::run::Runner;
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! /// Busy the first time.
//! struct Busy(AtomicU32);
//! #[async_trait::async_trait]
//! impl LlmProvider for Busy {
//!     fn name(&self) -> &str { "busy" }
//!     fn capabilities(&self, _: &str) -> Capabilities { Capabilities::default() }
//!     async fn complete(&self, _: &LlmRequest, _: &CallCx) -> Result<LlmResponse, LlmError> {
//!         match self.0.fetch_add(1, Ordering::Relaxed) {
//!             0 => Err(LlmError::foreign("ServiceError", "busy").with_status(503)),
//!             _ => Ok(LlmResponse::text("here now")),
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let gate = Reliability::new()
//!     .pre_check(Rule::when(|s| s.cumulative_cost_usd.is_some_and(|usd| usd >= 5.0), Pre::FailFast, "cost-cap"))
//!     .post(Rule::when(
//!         |s| s.error_kind == ErrorKind::Transient && s.attempt < 3,
//!         Post::Retry,
//!         "transient-retry",
//!     ));
//! let agent = Agent::builder(Busy(AtomicU32::new(0)), "m").reliability(gate).build()?;
//! assert_eq!(agent.run("hi").await.into_answer()?, "here now");
//! # Ok(()) }
//! ```

mod breaker;
mod config;
mod fail_fast;
mod gate;
mod rules;
mod scope;

pub use breaker::{BreakerConfig, BreakerSnapshot, BreakerStore};
pub use config::{Delivery, FailoverEntry, Reliability};
pub use rules::{Backoff, Post, Pre, Rule};
pub use scope::{
    ReliabilityScope, ValidationFailure, default_stuck_loop_rule, last_n_validation_errors_match,
};

pub(crate) use config::{Gate, Surroundings, check};
pub(crate) use gate::guarded;
