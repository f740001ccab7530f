use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentfootprint_core::llm::{
    CallCx, LlmChunk, LlmDecorator, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse, LlmStream,
    ResilienceReport, Usage,
};
use async_trait::async_trait;
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::{refused, waited};

/// Client-side limits of one provider. Unset ones do not limit.
///
/// ```
/// use std::time::Duration;
/// use agentfootprint_providers::Mock;
/// use agentfootprint_providers::resilience::{ThrottleLimits, with_throttle};
///
/// let limits = ThrottleLimits::default().requests(60, Duration::from_secs(60)).max_in_flight(4);
/// let calm = with_throttle(Mock::new(), limits)?;
/// # let _ = calm;
/// # Ok::<(), agentfootprint_core::llm::LlmError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ThrottleLimits {
    requests: Option<(u64, Duration)>,
    tokens: Option<(u64, Duration)>,
    max_in_flight: Option<usize>,
    max_wait: Duration,
}

impl Default for ThrottleLimits {
    fn default() -> Self {
        ThrottleLimits {
            requests: None,
            tokens: None,
            max_in_flight: None,
            max_wait: Duration::from_secs(60),
        }
    }
}

impl ThrottleLimits {
    /// At most `count` requests in any span of `interval`.
    pub fn requests(mut self, count: u64, interval: Duration) -> Self {
        self.requests = Some((count, interval));
        self
    }

    /// At most about `count` tokens in any span of `interval`. They are known only after a call, from its reported
    /// usage: the call that crosses the limit is made, the next one waits.
    pub fn tokens(mut self, count: u64, interval: Duration) -> Self {
        self.tokens = Some((count, interval));
        self
    }

    /// At most `count` calls at once; a stream is one until it ends.
    pub fn max_in_flight(mut self, count: usize) -> Self {
        self.max_in_flight = Some(count);
        self
    }

    /// How long a call waits for its turn before it fails; a minute unless set.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = wait;
        self
    }
}

/// Makes calls to `inner` wait for their turn.
///
/// # Errors
/// When a limit is zero, so that no call could ever be made.
pub fn with_throttle(inner: impl LlmProvider, limits: ThrottleLimits) -> Result<Throttle, LlmError> {
    let nothing = |limit: &Option<(u64, Duration)>| {
        limit.is_some_and(|(count, interval)| count == 0 || interval.is_zero())
    };
    if nothing(&limits.requests) || nothing(&limits.tokens) || limits.max_in_flight == Some(0) {
        let message =
            "a limit is zero; leave it unset, or allow at least one request, token and call in flight";
        return Err(refused(inner.name(), message));
    }
    let in_flight =
        limits.max_in_flight.map(|count| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS))));
    Ok(Throttle { inner: Arc::new(inner), limits, in_flight, spent: Arc::default() })
}

/// See [`with_throttle`].
pub struct Throttle {
    inner: Arc<dyn LlmProvider>,
    limits: ThrottleLimits,
    in_flight: Option<Arc<Semaphore>>,
    spent: Arc<Mutex<Spent>>,
}

/// What was spent lately, oldest first.
#[derive(Default)]
struct Spent {
    requests: VecDeque<Instant>,
    tokens: VecDeque<(Instant, u64)>,
}

fn lock(spent: &Mutex<Spent>) -> MutexGuard<'_, Spent> {
    spent.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Spent {
    /// Takes a turn, or says how long until there may be one and which limit is in the way.
    fn take_turn(&mut self, limits: &ThrottleLimits, now: Instant) -> Result<(), (Duration, String)> {
        if let Some((count, interval)) = limits.tokens {
            while self.tokens.front().is_some_and(|(at, _)| now >= *at + interval) {
                self.tokens.pop_front();
            }
            let mut over = self.tokens.iter().map(|(_, tokens)| *tokens).fold(0, u64::saturating_add);
            let mut free_at = None;
            for (at, tokens) in &self.tokens {
                if over < count {
                    break;
                }
                over = over.saturating_sub(*tokens);
                free_at = Some(*at + interval);
            }
            if let Some(free_at) = free_at {
                return Err((free_at - now, format!("{count} tokens per {interval:?}")));
            }
        }
        if let Some((count, interval)) = limits.requests {
            while self.requests.front().is_some_and(|at| now >= *at + interval) {
                self.requests.pop_front();
            }
            let full = self.requests.len() as u64 >= count;
            if let Some(oldest) = self.requests.front().filter(|_| full) {
                return Err((*oldest + interval - now, format!("{count} requests per {interval:?}")));
            }
            self.requests.push_back(now);
        }
        Ok(())
    }

    fn charge(&mut self, limits: &ThrottleLimits, usage: &Usage, now: Instant) {
        if limits.tokens.is_some() && usage.is_measured() {
            let answered = usage.output.saturating_add(usage.thinking.unwrap_or(0));
            self.tokens.push_back((now, usage.prompt_total().saturating_add(answered)));
        }
    }
}

impl Throttle {
    /// Waits for a turn; the permit counts the call as in flight until it is dropped.
    async fn turn(&self, cx: &CallCx) -> Result<Option<OwnedSemaphorePermit>, LlmError> {
        let deadline = Instant::now() + self.limits.max_wait;
        let permit = match &self.in_flight {
            None => None,
            Some(semaphore) => Some(self.permit(semaphore.clone(), deadline, cx).await?),
        };
        loop {
            let now = Instant::now();
            let taken = lock(&self.spent).take_turn(&self.limits, now);
            let Err((wait, limit)) = taken else { return Ok(permit) };
            if now + wait > deadline {
                return Err(self.no_turn(wait, &limit));
            }
            self.tell(wait, &limit, cx);
            if !waited(wait, cx).await {
                return Err(LlmError::aborted(self.inner.name().to_owned()));
            }
        }
    }

    async fn permit(
        &self,
        semaphore: Arc<Semaphore>,
        deadline: Instant,
        cx: &CallCx,
    ) -> Result<OwnedSemaphorePermit, LlmError> {
        if let Ok(permit) = semaphore.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let limit = format!("{} calls in flight", self.limits.max_in_flight.unwrap_or_default());
        let started = Instant::now();
        tokio::select! {
            biased;
            () = cx.cancelled() => Err(LlmError::aborted(self.inner.name().to_owned())),
            permit = semaphore.acquire_owned() => {
                self.tell(started.elapsed(), &limit, cx);
                permit.map_err(|_| self.no_turn(Duration::ZERO, &limit))
            }
            () = tokio::time::sleep_until(deadline) => Err(self.no_turn(Duration::ZERO, &limit)),
        }
    }

    fn tell(&self, wait: Duration, limit: &str, cx: &CallCx) {
        let provider_name = self.inner.name().to_owned();
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(target: "agentfootprint", provider_name, wait_ms, limit, "throttled");
        cx.report(&ResilienceReport::Throttled { provider_name, wait, limit: limit.to_owned() });
    }

    fn no_turn(&self, wait: Duration, limit: &str) -> LlmError {
        let message = format!(
            "the client-side limit of {limit} leaves no turn within {:?}; nothing was sent. Raise the limit or \
             max_wait, or make fewer calls",
            self.limits.max_wait
        );
        let error = LlmError::new(LlmErrorKind::RateLimited, self.inner.name().to_owned(), message);
        if wait.is_zero() { error } else { error.with_retry_after(wait) }
    }
}

#[async_trait]
impl LlmDecorator for Throttle {
    fn inner(&self) -> &dyn LlmProvider {
        &*self.inner
    }

    async fn call(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        let _in_flight = self.turn(cx).await?;
        let response = self.inner.complete(request, cx).await?;
        lock(&self.spent).charge(&self.limits, &response.usage, Instant::now());
        Ok(response)
    }

    async fn call_streaming(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        if !self.inner.capabilities(&request.model).streams {
            return None; // asked for as a whole, which takes the turn
        }
        let in_flight = match self.turn(cx).await {
            Ok(permit) => permit,
            Err(error) => return Some(Err(error)),
        };
        let stream = match self.inner.stream(request, cx).await? {
            Ok(stream) => stream,
            Err(error) => return Some(Err(error)),
        };
        let (spent, limits) = (self.spent.clone(), self.limits.clone());
        Some(Ok(Box::pin(stream.inspect(move |item| {
            let _until_the_stream_is_dropped = &in_flight;
            if let Ok(LlmChunk::Done { response, .. }) = item {
                lock(&spent).charge(&limits, &response.usage, Instant::now());
            }
        }))))
    }
}

impl fmt::Debug for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Throttle")
            .field("inner", &self.inner.name())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
