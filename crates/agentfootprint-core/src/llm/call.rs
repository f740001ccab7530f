//! What travels beside a request: cancellation, reports, the run's id, its clock and its randomness.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use footprint::clock::{Clock, SystemClock};
use tokio_util::sync::CancellationToken;

use super::report::{NoReports, ReportSink, ResilienceReport};

/// The context of one model call. It is a required argument of the port, so that no wrapper can lose
/// cancellation or the report channel by forgetting an optional parameter.
///
/// ```
/// use agentfootprint_core::llm::CallCx;
///
/// let cx = CallCx::detached().with_run_id("run-1");
/// assert_eq!(cx.run_id(), Some("run-1"));
/// assert!(!cx.is_cancelled());
/// cx.cancel_token().cancel();
/// assert!(cx.is_cancelled());
/// ```
#[derive(Clone)]
pub struct CallCx {
    cancel: CancellationToken,
    reports: Arc<dyn ReportSink>,
    run_id: Option<Arc<str>>,
    clock: Arc<dyn Clock>,
    rng: CallRng,
}

impl CallCx {
    /// A context outside any run: reports go nowhere, the clock is the system's, nothing cancels until the token
    /// of this context is used.
    pub fn detached() -> Self {
        CallCx {
            cancel: CancellationToken::new(),
            reports: Arc::new(NoReports),
            run_id: None,
            clock: Arc::new(SystemClock::new()),
            rng: CallRng::seeded(0),
        }
    }

    /// Replaces the cancellation token.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Replaces the report sink.
    #[must_use]
    pub fn with_reports(mut self, reports: Arc<dyn ReportSink>) -> Self {
        self.reports = reports;
        self
    }

    /// Names the run.
    #[must_use]
    pub fn with_run_id(mut self, run_id: impl Into<Arc<str>>) -> Self {
        self.run_id = Some(run_id.into());
        self
    }

    /// Replaces the clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Seeds the randomness of this call (jitter, simulated latency).
    #[must_use]
    pub fn with_rng(mut self, rng: CallRng) -> Self {
        self.rng = rng;
        self
    }

    /// The token that cancels this call.
    pub fn cancel_token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Whether the call is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Resolves when the call is cancelled.
    pub async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    /// The run this call belongs to.
    pub fn run_id(&self) -> Option<&str> {
        self.run_id.as_deref()
    }

    /// The clock of the run.
    pub fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// The randomness of the run.
    pub fn rng(&self) -> &CallRng {
        &self.rng
    }

    /// Hands a decorator's report to the run. A failing sink never breaks a call.
    pub fn report(&self, report: &ResilienceReport) {
        let handed_over =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.reports.report(report)));
        if handed_over.is_err() {
            tracing::warn!(target: "agentfootprint", "a resilience report sink panicked; the call goes on");
        }
    }
}

impl Default for CallCx {
    fn default() -> Self {
        CallCx::detached()
    }
}

impl fmt::Debug for CallCx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallCx")
            .field("run_id", &self.run_id)
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// Seeded randomness, shared by the clones of a context. Good for jitter and simulated latency, for nothing that
/// has to be secret.
#[derive(Debug, Clone)]
pub struct CallRng(Arc<AtomicU64>);

impl CallRng {
    /// The sequence of `seed`.
    pub fn seeded(seed: u64) -> Self {
        CallRng(Arc::new(AtomicU64::new(seed)))
    }

    /// The next number (SplitMix64).
    pub fn next_u64(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number between `low` and `high`, both included.
    pub fn between(&self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low).saturating_add(1);
        low.saturating_add(self.next_u64().checked_rem(span).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Panics;
    impl ReportSink for Panics {
        fn report(&self, _report: &ResilienceReport) {
            panic!("sink");
        }
    }

    #[test]
    fn a_panicking_sink_is_contained() {
        let cx = CallCx::detached().with_reports(Arc::new(Panics));
        cx.report(&ResilienceReport::FellBack {
            primary: "a".into(),
            fallback: "b".into(),
            reason: "r".into(),
        });
    }

    #[test]
    fn randomness_repeats_by_seed_and_stays_in_range() {
        let (a, b) = (CallRng::seeded(7), CallRng::seeded(7));
        for _ in 0..100 {
            let drawn = a.between(30, 80);
            assert_eq!(drawn, b.between(30, 80));
            assert!((30..=80).contains(&drawn));
        }
        assert_eq!(a.between(5, 5), 5);
    }
}
