use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use agentfootprint_core::llm::{
    CallCx, CallRng, LlmDecorator, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse, LlmStream,
    ResilienceReport,
};
use async_trait::async_trait;

use super::opening::begin;
use super::{refused, waited};

type ShouldRetry = Arc<dyn Fn(&LlmError, u32) -> bool + Send + Sync>;
type OnRetry = Arc<dyn Fn(&LlmError, u32, Duration) + Send + Sync>;

/// When and how often a failed call is made again.
///
/// By default: three attempts, 200 ms before the second, twice as long before each further one, at most 10 s; a wait
/// the vendor states is kept if it is longer, up to the same maximum. Tried again is what may pass: never a cancelled
/// call, of the client errors only 429, and never an error that says it is not retryable.
#[derive(Clone)]
#[must_use]
pub struct RetryPolicy {
    max_attempts: u32,
    initial_delay: Duration,
    factor: f64,
    max_delay: Duration,
    jitter: bool,
    should_retry: ShouldRetry,
    on_retry: Option<OnRetry>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            max_attempts: 3,
            initial_delay: Duration::from_millis(200),
            factor: 2.0,
            max_delay: Duration::from_secs(10),
            jitter: false,
            should_retry: Arc::new(|error, _| may_pass(error)),
            on_retry: None,
        }
    }
}

/// Whether asking again may help.
fn may_pass(error: &LlmError) -> bool {
    let client_error = error.status.is_some_and(|status| (400..500).contains(&status) && status != 429);
    !matches!(error.kind, LlmErrorKind::Aborted) && !client_error && error.retryable()
}

impl RetryPolicy {
    /// How many attempts are made at most, the first included.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// The wait before the second attempt.
    pub fn initial_delay(mut self, delay: Duration) -> Self {
        self.initial_delay = delay;
        self
    }

    /// How much longer each further wait is.
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = factor;
        self
    }

    /// The longest wait, also of those a vendor states.
    pub fn max_delay(mut self, delay: Duration) -> Self {
        self.max_delay = delay;
        self
    }

    /// Draws each scheduled wait between its half and its whole, from the call's own randomness.
    pub fn jitter(mut self, on: bool) -> Self {
        self.jitter = on;
        self
    }

    /// Decides in place of the default; the number is that of the failed attempt, from 1.
    pub fn should_retry(mut self, decide: impl Fn(&LlmError, u32) -> bool + Send + Sync + 'static) -> Self {
        self.should_retry = Arc::new(decide);
        self
    }

    /// Is told of every further attempt: the failure, the number of the attempt about to start, and the wait before it.
    pub fn on_retry(mut self, tell: impl Fn(&LlmError, u32, Duration) + Send + Sync + 'static) -> Self {
        self.on_retry = Some(Arc::new(tell));
        self
    }

    /// The wait after failed attempt number `failed`.
    fn wait(&self, failed: u32, error: &LlmError, rng: &CallRng) -> Duration {
        let exponent = i32::try_from(failed.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.initial_delay.as_secs_f64() * self.factor.powi(exponent);
        let mut scheduled =
            Duration::try_from_secs_f64(seconds).unwrap_or(self.max_delay).min(self.max_delay);
        if self.jitter {
            let micros = u64::try_from(scheduled.as_micros()).unwrap_or(u64::MAX);
            scheduled = Duration::from_micros(rng.between(micros / 2, micros));
        }
        scheduled.max(error.retry_after.unwrap_or_default()).min(self.max_delay)
    }
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryPolicy")
            .field("max_attempts", &self.max_attempts)
            .field("initial_delay", &self.initial_delay)
            .field("factor", &self.factor)
            .field("max_delay", &self.max_delay)
            .field("jitter", &self.jitter)
            .finish_non_exhaustive()
    }
}

/// Asks `inner` again after failures that may pass. A stream is tried again until its first chunk.
///
/// # Errors
/// When no attempt is allowed, or the schedule is none.
pub fn with_retry(inner: impl LlmProvider, policy: RetryPolicy) -> Result<Retry, LlmError> {
    let label = format!("{}+retry", inner.name());
    if policy.max_attempts == 0 {
        return Err(refused(&label, "max_attempts is 0; allow at least one attempt"));
    }
    if !(policy.factor.is_finite() && policy.factor >= 1.0) {
        return Err(refused(&label, "factor must be a number of at least 1; waits do not get shorter"));
    }
    Ok(Retry { inner: Arc::new(inner), label, policy })
}

/// See [`with_retry`].
pub struct Retry {
    inner: Arc<dyn LlmProvider>,
    label: String,
    policy: RetryPolicy,
}

impl Retry {
    /// Makes attempts until one succeeds or the policy says no. `attempt` answers `None` for "cannot be done at all".
    async fn attempts<T, F>(&self, cx: &CallCx, attempt: impl Fn() -> F) -> Option<Result<T, LlmError>>
    where
        F: Future<Output = Option<Result<T, LlmError>>> + Send,
    {
        let started = cx.clock().monotonic();
        let mut number = 1;
        loop {
            let error = match attempt().await? {
                Ok(answer) => {
                    if number > 1 {
                        let total_duration = cx.clock().monotonic().saturating_sub(started);
                        cx.report(&ResilienceReport::Recovered { attempt: number, total_duration });
                    }
                    return Some(Ok(answer));
                }
                Err(error) => error,
            };
            let aborted = matches!(error.kind, LlmErrorKind::Aborted);
            if aborted || number >= self.policy.max_attempts || !(self.policy.should_retry)(&error, number) {
                return Some(Err(error));
            }
            let wait = self.policy.wait(number, &error, cx.rng());
            if !waited(wait, cx).await {
                return Some(Err(LlmError::aborted(self.label.clone())));
            }
            number += 1;
            cx.report(&ResilienceReport::Retried {
                attempt: number,
                max_attempts: self.policy.max_attempts,
                last_error: error.to_string(),
                backoff: wait,
                reason: reason(error.status),
                stated_wait: error.retry_after,
            });
            if let Some(tell) = &self.policy.on_retry {
                tell(&error, number, wait);
            }
        }
    }
}

/// The class of a failure.
fn reason(status: Option<u16>) -> String {
    match status {
        Some(429) => "http-429".into(),
        Some(400..=499) => "http-4xx".into(),
        Some(500..=599) => "http-5xx".into(),
        Some(other) => format!("http-{other}"),
        None => "no-status".into(),
    }
}

#[async_trait]
impl LlmDecorator for Retry {
    fn inner(&self) -> &dyn LlmProvider {
        &*self.inner
    }

    fn label(&self) -> &str {
        &self.label
    }

    async fn call(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        let attempt = || async { Some(self.inner.complete(request, cx).await) };
        self.attempts(cx, attempt).await.unwrap_or_else(|| Err(LlmError::aborted(self.label.clone())))
    }

    async fn call_streaming(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        let begun = self.attempts(cx, || begin(&*self.inner, request, cx)).await?;
        Some(begun.map(|begun| begun.into_stream()))
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("label", &self.label)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
