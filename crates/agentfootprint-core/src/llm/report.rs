//! What decorators tell the run they serve.

use std::sync::Mutex;
use std::time::Duration;

pub use agentfootprint_record::events::words::CircuitState;

/// Something a decorator did that belongs on the record of the run. Inside a run each becomes one typed event;
/// outside a run they go nowhere.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ResilienceReport {
    /// Another provider was asked.
    FellBack {
        /// Who failed.
        primary: String,
        /// Who was asked instead.
        fallback: String,
        /// The failure.
        reason: String,
    },
    /// The same provider is about to be asked again.
    Retried {
        /// The attempt about to start, from 2.
        attempt: u32,
        /// The limit.
        max_attempts: u32,
        /// The failure.
        last_error: String,
        /// The wait before the attempt.
        backoff: Duration,
        /// The class of the failure: `http-429`, `http-5xx`, `http-4xx`, `http-<n>` or `no-status`.
        reason: String,
        /// The wait the vendor stated.
        stated_wait: Option<Duration>,
    },
    /// An attempt after a failure succeeded.
    Recovered {
        /// The attempt that succeeded.
        attempt: u32,
        /// Time since the first attempt started.
        total_duration: Duration,
    },
    /// A breaker changed its state.
    CircuitChanged {
        /// The new state.
        state: CircuitState,
        /// Why.
        reason: String,
        /// Whose breaker.
        provider_name: String,
    },
    /// A client-side limit made the call wait.
    Throttled {
        /// Whose limit.
        provider_name: String,
        /// The wait.
        wait: Duration,
        /// Which limit.
        limit: String,
    },
}

/// Where reports go. Called inside the call, so it must be quick; a panic is contained by the caller.
pub trait ReportSink: Send + Sync + 'static {
    /// Takes one report.
    fn report(&self, report: &ResilienceReport);
}

/// Drops every report.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoReports;

impl ReportSink for NoReports {
    fn report(&self, _report: &ResilienceReport) {}
}

/// Keeps every report, for tests and for callers outside a run.
///
/// ```
/// use std::sync::Arc;
/// use agentfootprint_core::llm::{CallCx, CollectedReports, ResilienceReport};
///
/// let reports = Arc::new(CollectedReports::default());
/// let cx = CallCx::detached().with_reports(reports.clone());
/// cx.report(&ResilienceReport::FellBack { primary: "a".into(), fallback: "b".into(), reason: "503".into() });
/// assert_eq!(reports.take().len(), 1);
/// ```
#[derive(Debug, Default)]
pub struct CollectedReports(Mutex<Vec<ResilienceReport>>);

impl CollectedReports {
    /// Takes what was reported so far.
    pub fn take(&self) -> Vec<ResilienceReport> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl ReportSink for CollectedReports {
    fn report(&self, report: &ResilienceReport) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(report.clone());
    }
}
