//! What provider decorators report, as events of the run.

use std::sync::Arc;

use agentfootprint_record::events::Payload;
use agentfootprint_record::events::payload::{
    ErrorCircuitChanged, ErrorRecovered, ErrorRetried, FallbackTriggered,
};
use agentfootprint_record::events::words::FallbackKind;
use footprint::ids::RuntimeStageId;

use crate::llm::{ReportSink, ResilienceReport};
use crate::run::{RunContext, StageCx, Trail, millis, said};

/// The sink of one call.
pub(crate) struct RunReports {
    run: Arc<RunContext>,
    step: RuntimeStageId,
    trail: Trail,
}

impl RunReports {
    pub(crate) fn of(cx: &StageCx, trail: Trail) -> Self {
        Self { run: Arc::clone(&cx.run), step: cx.address(), trail }
    }

    /// Says an event, and keeps it for a replay.
    fn say<P: Payload>(&self, build: impl Fn() -> P) {
        self.trail.note(|| said(&build().into()));
        self.run.say(&self.step, build);
    }

    /// The sink of a call that no agent makes.
    pub(crate) fn at(run: Arc<RunContext>, step: RuntimeStageId, trail: Trail) -> Self {
        Self { run, step, trail }
    }
}

impl ReportSink for RunReports {
    fn report(&self, report: &ResilienceReport) {
        match report {
            ResilienceReport::FellBack { primary, fallback, reason } => self.say(|| {
                FallbackTriggered::new(
                    FallbackKind::Provider,
                    primary.as_str(),
                    fallback.as_str(),
                    reason.as_str(),
                )
            }),
            ResilienceReport::Retried { attempt, max_attempts, last_error, backoff, reason, stated_wait } => {
                self.say(|| {
                    ErrorRetried::new(
                        *attempt,
                        *max_attempts,
                        last_error.as_str(),
                        millis(*backoff),
                        reason.as_str(),
                    )
                    .stated_wait_ms(stated_wait.map(millis))
                });
            }
            ResilienceReport::Recovered { attempt, total_duration } => {
                self.say(|| ErrorRecovered::new(*attempt, millis(*total_duration)));
            }
            ResilienceReport::CircuitChanged { state, reason, provider_name } => {
                self.say(|| ErrorCircuitChanged::new(state.clone(), reason.as_str(), provider_name.as_str()))
            }
            // A throttle reports through tracing only; it has no event (LLM-115).
            ResilienceReport::Throttled { provider_name, wait, limit } => {
                tracing::debug!(target: "agentfootprint", provider = %provider_name, ?wait, %limit, "throttled");
            }
        }
    }
}
