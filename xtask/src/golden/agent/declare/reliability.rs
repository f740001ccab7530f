//! The reliability gate of a scenario's agent.

use agentfootprint_core::agent::AgentBuilder;
use agentfootprint_core::llm::LlmResponse;
use agentfootprint_core::reliability::{Post, Pre, Reliability, ReliabilityScope, Rule};
use serde_json::{Value, json};

use super::{Given, list};
use crate::golden::expr::holds;
use crate::golden::text;

pub(super) fn gated(builder: AgentBuilder, declared: &Value) -> Result<AgentBuilder, String> {
    let mut gate = Reliability::new();
    for rule in list(declared, "preCheck") {
        let then = match text(rule, "then").as_str() {
            "continue" => Pre::Continue,
            "fail-fast" => Pre::FailFast,
            other => return Err(format!("pre-check decision `{other}` is not built yet")),
        };
        gate = gate.pre_check(ruled(rule, then));
    }
    for rule in list(declared, "postDecide") {
        let then = match text(rule, "then").as_str() {
            "ok" => Post::Ok,
            "retry" => Post::Retry,
            "retry-other" => Post::RetryOther,
            "fallback" => Post::Fallback,
            "fail-fast" => Post::FailFast,
            other => return Err(format!("post decision `{other}` is not built yet")),
        };
        let made = ruled(rule, then);
        gate = gate.post(match rule.get("feedback").and_then(Value::as_str) {
            Some(feedback) => made.feedback(feedback),
            None => made,
        });
    }
    if let Some(answer) = declared.get("fallback") {
        let answer: LlmResponse =
            serde_json::from_value(answer.clone()).map_err(|error| format!("fallback: {error}"))?;
        gate = gate.fallback(move |_, _| {
            let answer = answer.clone();
            async move { Ok(answer) }
        });
    }
    Ok(builder.reliability(gate))
}

fn ruled<D: Copy>(declared: &Value, then: D) -> Rule<D> {
    let condition = declared.get("when").cloned().unwrap_or_default();
    let rule = Rule::when(
        // A condition that throws is a predicate that panics: no match.
        move |scope| holds(&condition, &Given(seen(scope))).unwrap_or_default(),
        then,
        text(declared, "kind"),
    );
    match declared.get("label").and_then(Value::as_str) {
        Some(label) => rule.label(label),
        None => rule,
    }
}

/// What `$in` of a rule's condition reads.
fn seen(scope: &ReliabilityScope<'_>) -> Value {
    json!({
        "attempt": scope.attempt,
        "errorKind": scope.error_kind.as_str(),
        "providersCount": scope.providers_count,
        "hasFallback": scope.has_fallback,
        "providerIdx": scope.provider_idx,
        "currentProvider": scope.current_provider,
        "canSwitchProvider": scope.can_switch_provider,
        "response": scope.response,
        "error": scope.error.map(|error| json!({"name": error.record_name(), "message": error.to_string()})),
        "latencyMs": scope.latency_ms,
        "validationError": scope.validation_error.map(|failure| json!({
            "message": failure.message, "path": failure.path, "rawOutput": &*failure.raw_output,
        })),
        "cumulativeCostUsd": scope.cumulative_cost_usd,
        "cumulativeInputTokens": scope.cumulative_input_tokens,
        "cumulativeOutputTokens": scope.cumulative_output_tokens,
    })
}
