use footprint::value::Str;

use crate::events::record::record;
use crate::events::words::{CircuitState, JudgeStage, RecoveredVia, ReliabilityPhase, RetryAction};

record! {
    /// A provider decorator retries.
    pub struct ErrorRetried {
        req attempt: u64,
        req max_attempts = "maxAttempts": u64,
        req last_error = "lastError": Str,
        req backoff_ms = "backoffMs": u64,
        req reason: Str,
        /// The wait the provider asked for.
        opt stated_wait_ms = "statedWaitMs": u64,
    }

    /// It then succeeded.
    pub struct ErrorRecovered {
        req attempt: u64,
        req total_duration_ms = "totalDurationMs": u64,
    }

    /// The run failed; always dispatched (EVT-6), exactly once (REC-37).
    pub struct ErrorFatal {
        req error: Str,
        req stage: Str as name,
        req scope: Str as name,
    }

    /// A breaker changed its state.
    pub struct ErrorCircuitChanged {
        req state: CircuitState,
        req reason: Str,
        req provider_name = "providerName": Str as name,
    }

    /// A reliability rule gave up.
    pub struct ReliabilityFailFast {
        req phase: ReliabilityPhase,
        req kind: Str as name,
        req attempt: u64,
        opt label: Str as name,
        opt reason: Str,
        opt provider_used = "providerUsed": Str as name,
        opt error_kind = "errorKind": Str as name,
        opt error_message = "errorMessage": Str,
    }

    /// A reliability rule retried.
    pub struct ReliabilityRetried {
        req attempt: u64,
        req action: RetryAction,
        req error_kind = "errorKind": Str as name,
        opt error_message = "errorMessage": Str,
        req from_provider = "fromProvider": Str as name,
        req to_provider = "toProvider": Str as name,
    }

    /// A retry or fallback succeeded.
    pub struct ReliabilityRecovered {
        req attempt: u64,
        req recovered_via = "recoveredVia": RecoveredVia,
        req prior_failures = "priorFailures": u64,
        req error_kind = "errorKind": Str as name,
    }

    /// A typed read used the fallback, after the run.
    pub struct ResilienceOutputFallbackTriggered {
        req stage: JudgeStage,
        req raw_output_preview = "rawOutputPreview": Str,
        req primary_error_message = "primaryErrorMessage": Str,
        opt retries_spent = "retriesSpent": u64,
    }

    /// A typed read used the canned value, after the run.
    pub struct ResilienceOutputCannedUsed {
        req raw_output_preview = "rawOutputPreview": Str,
        req fallback_error_message = "fallbackErrorMessage": Str,
        opt retries_spent = "retriesSpent": u64,
    }
}
