//! From the end of a walk to the outcome of a run (AGT §4, AGT-26, AGT-27).

use std::sync::Arc;

use agentfootprint_record::conventions::state;
use footprint::error::{RunError as EngineError, StageError};
use footprint::value::{Object, Str, Value};

use super::configure::INVALID_RUN_CONFIG;
use crate::llm::LlmError;
use crate::run::{AgentRunCheckpoint, CANCELLED, DeliveryError, RunError};

/// A message that cannot be delivered, as a stage failure.
pub(crate) fn delivery_failed(error: DeliveryError) -> StageError {
    StageError::named("DeliveryError", error.to_string()).with_code("ERR_DELIVERY").with_source(error)
}

/// The structured failures a stage wrote before it stopped the chart, first match wins. Renaming such a key would silently
/// disable its error, so each is read here and nowhere else.
pub(crate) fn failure_in(final_state: &Object) -> Option<RunError> {
    reliability(final_state)
        .or_else(|| policy_halt(final_state))
        .or_else(|| message_denied(final_state))
        .or_else(|| unsupported_values(final_state))
        .or_else(|| answer_blocked(final_state))
}

fn text(from: &Object, key: &str) -> Option<Str> {
    from.get(key).and_then(Value::as_shared_str).cloned()
}

fn reliability(from: &Object) -> Option<RunError> {
    Some(RunError::ReliabilityFailFast {
        kind: text(from, state::RELIABILITY_FAIL_KIND)?,
        reason: text(from, state::RELIABILITY_FAIL_REASON).unwrap_or_default(),
        cause_name: text(from, state::RELIABILITY_FAIL_CAUSE_NAME),
        cause_message: text(from, state::RELIABILITY_FAIL_CAUSE_MESSAGE),
        payload: from.get(state::RELIABILITY_FAIL_PAYLOAD).cloned().unwrap_or_default(),
    })
}

fn policy_halt(from: &Object) -> Option<RunError> {
    let history = from.get(state::HISTORY).and_then(Value::as_array).cloned().unwrap_or_default();
    let target = text(from, state::POLICY_HALT_TARGET).unwrap_or_default();
    let mut sequence = crate::tools::dispatched(&history).to_value().as_array().cloned().unwrap_or_default();
    let mut proposed = Object::new();
    proposed.insert("name", Value::from(target.clone()));
    proposed.insert("args", from.get(state::POLICY_HALT_ARGS).cloned().unwrap_or_default());
    sequence.push(Value::from(proposed));
    let iteration = from.get(state::POLICY_HALT_ITERATION).and_then(Value::as_u64).unwrap_or_default();
    Some(RunError::PolicyHalt {
        reason: text(from, state::POLICY_HALT_REASON)?,
        target,
        iteration: u32::try_from(iteration).unwrap_or(u32::MAX),
        checker_id: text(from, state::POLICY_HALT_CHECKER_ID),
        tell_llm: text(from, state::POLICY_HALT_TELL_LLM),
        sequence: Value::from(sequence),
        history: Value::from(history),
    })
}

fn message_denied(from: &Object) -> Option<RunError> {
    Some(RunError::MessageDenied {
        reason: text(from, state::MESSAGE_DENIED_REASON)?,
        phase: text(from, state::MESSAGE_DENIED_PHASE).unwrap_or_default(),
        middleware: text(from, state::MESSAGE_DENIED_BY).unwrap_or_default(),
    })
}

fn unsupported_values(from: &Object) -> Option<RunError> {
    let found = from.get(state::UNSUPPORTED_VALUES)?;
    let refused = found.get("refused").and_then(Value::as_bool).unwrap_or_default();
    refused.then(|| RunError::UnsupportedValues { values: found.get("values").cloned().unwrap_or_default() })
}

fn answer_blocked(from: &Object) -> Option<RunError> {
    let blocked = from.get(state::ANSWER_VALIDATION_BLOCKED).and_then(Value::as_bool).unwrap_or_default();
    if !blocked {
        return None;
    }
    let report = from.get(state::ANSWER_VALIDATION).cloned().unwrap_or_default();
    let word = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let failing = |check: &&Value| !matches!(&*word(check, "disposition"), "checked-pass" | "not-applicable");
    let listed = report.get("checks").and_then(Value::as_array).into_iter().flatten().filter(failing);
    let mut checks: Vec<String> =
        listed.map(|check| format!("{} ({})", word(check, "id"), word(check, "disposition"))).collect();
    let reason = word(&report, "reason");
    if checks.is_empty() && !reason.is_empty() {
        checks.push(reason);
    }
    Some(RunError::AnswerValidation { validator: word(&report, "validatorId"), checks, report })
}

/// The run's failure for the engine's.
pub(crate) fn failure_of(error: EngineError) -> RunError {
    let at_stage = error.address().map(|address| Str::from(address.to_string()));
    let Some(stage_error) = error.stage_error().cloned() else {
        return match &error {
            EngineError::Cancelled { .. } | EngineError::TimedOut { .. } => {
                RunError::Cancelled { reason: error.to_string(), at_stage }
            }
            _ => RunError::Engine(Arc::new(error)),
        };
    };
    if let Some(source) = stage_error.source_error() {
        if let Some(llm) = source.downcast_ref::<LlmError>() {
            return RunError::Llm(llm.clone());
        }
        if let Some(known) = source.downcast_ref::<RunError>() {
            return known.clone();
        }
        if let Some(delivery) = source.downcast_ref::<DeliveryError>() {
            return RunError::Delivery(delivery.clone());
        }
    }
    match stage_error.name() {
        CANCELLED => RunError::Cancelled { reason: stage_error.message().to_owned(), at_stage },
        INVALID_RUN_CONFIG => RunError::InvalidRunConfig { what: stage_error.message().to_owned() },
        _ => RunError::Stage { stage: at_stage.unwrap_or_default(), error: stage_error },
    }
}

/// Wraps a failure in its checkpoint, unless it ends the turn for good or there is nothing to resume from (AGT-27).
pub(crate) fn with_checkpoint(error: RunError, checkpoint: Option<AgentRunCheckpoint>) -> RunError {
    match checkpoint {
        Some(checkpoint) if !error.is_terminal() => {
            RunError::Checkpoint { cause: Box::new(error), checkpoint: Box::new(checkpoint) }
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    fn failure(state: Value) -> Option<RunError> {
        failure_in(state.as_object().unwrap())
    }

    /// Proves AGT-26: one test per key that carries a failure.
    #[test]
    fn each_carrier_key_is_decoded() {
        assert!(failure(value!({})).is_none());
        let fail_fast = failure(value!({
            "reliabilityFailKind": "throttled", "reliabilityFailReason": "r", "reliabilityFailCauseName": "ServiceError",
            "reliabilityFailCauseMessage": "slow down", "reliabilityFailPayload": { "attempt": 1 },
        }))
        .unwrap();
        assert_eq!(
            (fail_fast.name(), fail_fast.code()),
            ("ReliabilityFailFastError", Some("ERR_RELIABILITY_FAIL_FAST"))
        );
        let halt = failure(value!({
            "policyHaltReason": "too-many-calls", "policyHaltTarget": "read_file", "policyHaltIteration": 2,
            "policyHaltCheckerId": "tripwire", "policyHaltTellLLM": "no",
        }))
        .unwrap();
        assert!(matches!(
            &halt,
            RunError::PolicyHalt { iteration: 2, checker_id: Some(_), tell_llm: Some(_), .. }
        ));
        let denied = failure(value!({
            "messageDeniedReason": "not allowed here", "messageDeniedPhase": "input", "messageDeniedBy": "gate",
        }))
        .unwrap();
        assert!(
            matches!(&denied, RunError::MessageDenied { phase, middleware, .. } if &**phase == "input" && &**middleware == "gate")
        );
        let values = value!([{ "value": "px-2210", "shape": "identifier" }]);
        assert!(
            failure(value!({ "unsupportedValues": { "refused": false, "values": (values.clone()) } }))
                .is_none()
        );
        let refused =
            failure(value!({ "unsupportedValues": { "refused": true, "values": values } })).unwrap();
        assert_eq!(refused.to_string(), "the answer states values no tool result supports: px-2210");
        assert!(failure(value!({ "answerValidationBlocked": false })).is_none());
        let checks = value!([
            { "id": "total", "disposition": "checked-fail" }, { "id": "name", "disposition": "checked-pass" },
        ]);
        let blocked = failure(value!({
            "answerValidationBlocked": true,
            "answerValidation": { "validatorId": "totals", "status": "failed", "checks": (checks) },
        }))
        .unwrap();
        assert_eq!(
            blocked.to_string(),
            "the answer did not pass its validation `totals`: total (checked-fail)"
        );
    }

    /// Proves AGT-26: the order of resolution.
    #[test]
    fn the_first_match_wins() {
        let both = failure(
            value!({ "messageDeniedReason": "x", "policyHaltReason": "y", "reliabilityFailKind": "z" }),
        );
        assert!(matches!(both, Some(RunError::ReliabilityFailFast { .. })));
    }
}
