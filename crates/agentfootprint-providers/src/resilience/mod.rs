//! Decorators: providers that wrap a provider and change who answers and when, never what is asked.
//!
//! | decorator | what it does | name |
//! |---|---|---|
//! | [`with_retry`] | asks again after a failure that may pass | `<inner>+retry` |
//! | [`with_fallback`], [`fallback_chain`] | asks somebody else | `<a>\|<b>` |
//! | [`with_circuit_breaker`] | stops asking somebody who keeps failing | unchanged |
//! | [`with_throttle`] | keeps a client-side limit | unchanged |
//!
//! They stack in any order. Each forwards capabilities, reports and cancellation of what it wraps; each reports what it
//! did through the call's context, where a run turns it into an event. None of them acts once a chunk of the answer
//! was handed on: what a reader has seen is never asked for again.
//!
//! ```
//! use agentfootprint_core::llm::{CallCx, LlmProvider, LlmRequest};
//! use agentfootprint_providers::Mock;
//! use agentfootprint_providers::resilience::{BreakerPolicy, FallbackArm, RetryPolicy};
//! use agentfootprint_providers::resilience::{with_circuit_breaker, with_fallback, with_retry};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), agentfootprint_core::llm::LlmError> {
//! let first = with_circuit_breaker(with_retry(Mock::new(), RetryPolicy::default())?, BreakerPolicy::default())?;
//! let both = with_fallback(first, FallbackArm::new(Mock::new(), "mock-2"))?;
//! assert_eq!(both.name(), "mock+retry|mock");
//! let answer = both.complete(&LlmRequest::new("mock-1").user("hi"), &CallCx::detached()).await?;
//! assert_eq!(answer.content, "echo: hi");
//! # Ok(()) }
//! ```

mod breaker;
mod fallback;
mod opening;
mod retry;
#[cfg(test)]
mod tests;
mod throttle;

pub use breaker::{BreakerPolicy, BreakerState, CircuitBreaker, with_circuit_breaker};
pub use fallback::{Fallback, FallbackArm, fallback_chain, with_fallback};
pub use retry::{Retry, RetryPolicy, with_retry};
pub use throttle::{Throttle, ThrottleLimits, with_throttle};

use agentfootprint_core::llm::{CallCx, LlmError, LlmErrorKind};
use std::time::Duration;

/// A setting of a decorator that can never work.
fn refused(name: &str, message: &str) -> LlmError {
    LlmError::new(LlmErrorKind::Refused, name.to_owned(), message)
}

/// Waits; false when the call was cancelled meanwhile.
async fn waited(wait: Duration, cx: &CallCx) -> bool {
    tokio::select! {
        biased;
        () = cx.cancelled() => false,
        () = tokio::time::sleep(wait) => !cx.is_cancelled(),
    }
}
