use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentfootprint_core::llm::{
    CallCx, CircuitState, LlmDecorator, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse,
    LlmStream, ResilienceReport,
};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::opening::begin;
use super::refused;

type ShouldCount = Arc<dyn Fn(&LlmError) -> bool + Send + Sync>;
type OnStateChange = Arc<dyn Fn(CircuitState, &str) + Send + Sync>;

/// When a breaker opens and closes.
///
/// By default: it opens after 5 failures in a row, lets one call through 30 s later, and closes after 2 such calls
/// succeeded. Every failure counts except a cancelled call and an error that was refused before sending.
#[derive(Clone)]
#[must_use]
pub struct BreakerPolicy {
    failure_threshold: u32,
    cooldown: Duration,
    half_open_successes: u32,
    should_count: ShouldCount,
    on_state_change: Option<OnStateChange>,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        BreakerPolicy {
            failure_threshold: 5,
            cooldown: Duration::from_secs(30),
            half_open_successes: 2,
            should_count: Arc::new(|error| {
                !matches!(error.kind, LlmErrorKind::Aborted) && !error.refused_before_send()
            }),
            on_state_change: None,
        }
    }
}

impl BreakerPolicy {
    /// How many failures in a row open the breaker.
    pub fn failure_threshold(mut self, failures: u32) -> Self {
        self.failure_threshold = failures;
        self
    }

    /// How long it stays open before a call is let through.
    pub fn cooldown(mut self, cooldown: Duration) -> Self {
        self.cooldown = cooldown;
        self
    }

    /// How many such calls must succeed before it closes.
    pub fn half_open_successes(mut self, successes: u32) -> Self {
        self.half_open_successes = successes;
        self
    }

    /// Decides in place of the default which failures count.
    pub fn should_count(mut self, decide: impl Fn(&LlmError) -> bool + Send + Sync + 'static) -> Self {
        self.should_count = Arc::new(decide);
        self
    }

    /// Is told of every transition and its reason.
    pub fn on_state_change(mut self, tell: impl Fn(CircuitState, &str) + Send + Sync + 'static) -> Self {
        self.on_state_change = Some(Arc::new(tell));
        self
    }
}

impl fmt::Debug for BreakerPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BreakerPolicy")
            .field("failure_threshold", &self.failure_threshold)
            .field("cooldown", &self.cooldown)
            .field("half_open_successes", &self.half_open_successes)
            .finish_non_exhaustive()
    }
}

/// What a breaker remembers; serializable, so that an application can keep it across restarts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakerState {
    /// Closed, open or half open.
    pub state: CircuitState,
    /// Failures in a row while closed.
    pub consecutive_failures: u32,
    /// Successes in a row while half open.
    pub consecutive_successes: u32,
    /// When it opened last, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<u64>,
    /// The failure that counted last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error_message: Option<String>,
}

impl Default for BreakerState {
    fn default() -> Self {
        BreakerState {
            state: CircuitState::Closed,
            consecutive_failures: 0,
            consecutive_successes: 0,
            opened_at: None,
            last_error_message: None,
        }
    }
}

/// Stops asking `inner` while it keeps failing. The state belongs to this instance: it is shared by all calls and runs
/// through it, and by no other process.
///
/// # Errors
/// When a threshold is zero.
pub fn with_circuit_breaker(
    inner: impl LlmProvider,
    policy: BreakerPolicy,
) -> Result<CircuitBreaker, LlmError> {
    let refuse = |message| Err(refused(inner.name(), message));
    if policy.failure_threshold == 0 {
        return refuse(
            "failure_threshold is 0; a breaker that opens without a failure never lets a call through",
        );
    }
    if policy.half_open_successes == 0 {
        return refuse("half_open_successes is 0; at least one call must show that it works again");
    }
    Ok(CircuitBreaker { inner: Arc::new(inner), policy, shared: Arc::default() })
}

/// See [`with_circuit_breaker`].
pub struct CircuitBreaker {
    inner: Arc<dyn LlmProvider>,
    policy: BreakerPolicy,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    state: BreakerState,
    /// While half open one call at a time is let through.
    probing: bool,
}

/// A call that was let through. Dropped without a result — cancelled — it leaves the state as it was.
pub(super) struct Admitted {
    probe: bool,
    shared: Arc<Mutex<Shared>>,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        if self.probe {
            lock(&self.shared).probing = false;
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CircuitBreaker {
    /// What the breaker remembers now.
    pub fn state(&self) -> BreakerState {
        lock(&self.shared).state.clone()
    }

    /// Goes on from what an earlier breaker remembered.
    #[must_use]
    pub fn restored(self, state: BreakerState) -> Self {
        lock(&self.shared).state = state;
        self
    }

    pub(super) fn admit(&self, cx: &CallCx) -> Result<Admitted, LlmError> {
        let now = cx.clock().now_ms();
        let (admitted, changed) = {
            let mut shared = lock(&self.shared);
            let cooldown = u64::try_from(self.policy.cooldown.as_millis()).unwrap_or(u64::MAX);
            let retry_at = shared.state.opened_at.unwrap_or(0).saturating_add(cooldown);
            match shared.state.state {
                CircuitState::Open if now >= retry_at => {
                    shared.state.state = CircuitState::HalfOpen;
                    shared.state.consecutive_successes = 0;
                    shared.probing = true;
                    (Ok(true), true)
                }
                CircuitState::HalfOpen if !shared.probing => {
                    shared.probing = true;
                    (Ok(true), false)
                }
                CircuitState::HalfOpen => (Err((now, shared.state.last_error_message.clone())), false),
                CircuitState::Open => (Err((retry_at, shared.state.last_error_message.clone())), false),
                // Also a restored word that is none of ours.
                _ => (Ok(false), false),
            }
        };
        if changed {
            self.tell(CircuitState::HalfOpen, "cooldown elapsed", cx);
        }
        match admitted {
            Ok(probe) => Ok(Admitted { probe, shared: self.shared.clone() }),
            Err((retry_at, last_error)) => Err(self.open_error(retry_at, last_error)),
        }
    }

    fn open_error(&self, retry_at: u64, last_error: Option<String>) -> LlmError {
        let name = self.inner.name();
        let at = i64::try_from(retry_at).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        let at = at.map_or_else(|| format!("{retry_at} ms"), |at| at.to_string());
        let last = last_error.as_deref().unwrap_or("unknown");
        let message = format!(
            "{name} failed too often and is not asked for now; the next call is let through at {at}. The last error was: \
             {last}"
        );
        LlmError::new(LlmErrorKind::CircuitOpen { retry_at, last_error }, name.to_owned(), message)
    }

    /// Books the result of a call. Results of calls that were let through before the state changed are old news.
    pub(super) fn book(&self, admitted: &Admitted, failure: Option<&LlmError>, cx: &CallCx) {
        if failure.is_some_and(|error| !(self.policy.should_count)(error)) {
            return;
        }
        let now = cx.clock().now_ms();
        let changed = {
            let mut shared = lock(&self.shared);
            let state = &mut shared.state;
            if let Some(error) = failure {
                state.last_error_message = Some(error.to_string());
            }
            match (state.state.clone(), failure) {
                (CircuitState::Closed, None) => {
                    state.consecutive_failures = 0;
                    None
                }
                (CircuitState::Closed, Some(_)) => {
                    state.consecutive_failures = state.consecutive_failures.saturating_add(1);
                    (state.consecutive_failures >= self.policy.failure_threshold).then(|| {
                        state.state = CircuitState::Open;
                        state.opened_at = Some(now);
                        (CircuitState::Open, format!("{} consecutive failures", state.consecutive_failures))
                    })
                }
                (CircuitState::HalfOpen, None) if admitted.probe => {
                    state.consecutive_successes = state.consecutive_successes.saturating_add(1);
                    (state.consecutive_successes >= self.policy.half_open_successes).then(|| {
                        state.state = CircuitState::Closed;
                        state.consecutive_failures = 0;
                        state.opened_at = None;
                        (CircuitState::Closed, format!("{} probe successes", state.consecutive_successes))
                    })
                }
                (CircuitState::HalfOpen, Some(_)) if admitted.probe => {
                    state.state = CircuitState::Open;
                    state.opened_at = Some(now);
                    Some((CircuitState::Open, "half-open probe failed".to_owned()))
                }
                _ => None,
            }
        };
        if let Some((state, reason)) = changed {
            self.tell(state, &reason, cx);
        }
    }

    fn tell(&self, state: CircuitState, reason: &str, cx: &CallCx) {
        cx.report(&ResilienceReport::CircuitChanged {
            state: state.clone(),
            reason: reason.to_owned(),
            provider_name: self.inner.name().to_owned(),
        });
        if let Some(tell) = &self.policy.on_state_change {
            tell(state, reason);
        }
    }
}

#[async_trait]
impl LlmDecorator for CircuitBreaker {
    fn inner(&self) -> &dyn LlmProvider {
        &*self.inner
    }

    async fn call(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        let admitted = self.admit(cx)?;
        let answer = self.inner.complete(request, cx).await;
        self.book(&admitted, answer.as_ref().err(), cx);
        answer
    }

    async fn call_streaming(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        let admitted = match self.admit(cx) {
            Ok(admitted) => admitted,
            Err(open) => return Some(Err(open)),
        };
        // What breaks after the first chunk was delivered and does not count.
        let begun = begin(&*self.inner, request, cx).await?;
        self.book(&admitted, begun.as_ref().err(), cx);
        Some(begun.map(|begun| begun.into_stream()))
    }
}

impl fmt::Debug for CircuitBreaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitBreaker")
            .field("inner", &self.inner.name())
            .field("policy", &self.policy)
            .field("state", &self.state().state)
            .finish()
    }
}
