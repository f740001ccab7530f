//! The last of the judges (EVD-902 to EVD-908).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use agentfootprint_record::conventions::state;
use agentfootprint_record::text::artifact_digest;
use footprint::error::StageError;
use footprint::value::{Array, Object, Str, Value};
use futures_util::FutureExt as _;

use super::candidate::canonical;
use super::check::{AnswerCheck, Tally, well_formed};
use super::evidence::AnswerEvidence;
use super::options::{AnswerValidation, AnswerValidationContext, AnswerValidationMode};
use crate::agent::output;
use crate::run::{EffectFailure, EffectKind, EffectOutcome, Journaled, Reexecution, StageCx};

/// What the judging came to so far.
#[derive(Default)]
struct Judged {
    checks: Vec<AnswerCheck>,
    reason: Option<Str>,
    digest: Option<String>,
    resolved: Vec<Str>,
    schema_accepted: bool,
    /// What will be delivered.
    canonical: Option<Str>,
}

/// Validates the answer that is about to become final, files the report, and stops the chart when it may not be delivered.
/// `denied` says that an earlier judge refused it.
pub(crate) async fn judge(cx: &StageCx, denied: bool) -> Result<(), StageError> {
    let Some(declared) = cx.agent.answer_validation.clone() else { return Ok(()) };
    let refused_before = denied || cx.run.consent.refusal().is_some() || refused_by_evidence(cx)?;
    if refused_before {
        let judged = Judged { reason: Some("prior-refusal".into()), ..Judged::default() };
        file(cx, &declared, &judged)?;
        // The error is the earlier refusal's own; this only keeps the answer from being captured.
        return stop(cx);
    }
    let raw = cx.text(state::LLM_LATEST_CONTENT)?;
    let mut judged = Judged::default();
    let mut cut_off = None;
    if let Some(answer) = candidate(cx, &declared, &raw, &mut judged) {
        cut_off = compare(cx, &declared, answer, &mut judged).await.err();
    }
    let passed = file(cx, &declared, &judged)?;
    if let Some(cancelled) = cut_off {
        return Err(cancelled);
    }
    if !passed && declared.mode == AnswerValidationMode::Enforce {
        cx.set(state::ANSWER_VALIDATION_BLOCKED, true)?;
        return stop(cx);
    }
    match judged.canonical {
        Some(text) if text != raw => cx.set(state::LLM_LATEST_CONTENT, text),
        _ => Ok(()),
    }
}

/// The second guard: an answer is captured only with its report (TOOL §18).
pub(crate) fn committed(cx: &StageCx) -> Result<(), StageError> {
    if cx.agent.answer_validation.is_none() {
        return Ok(());
    }
    if cx.get(state::ANSWER_VALIDATION)?.is_none() {
        return Err(StageError::named(
            "AnswerValidationError",
            "the answer reached its capture without a validation report; a branch of the chart bypassed the judge",
        )
        .with_code("ERR_ANSWER_VALIDATION"));
    }
    cx.set(state::ANSWER_VALIDATION_COMMITTED, true)
}

fn stop(cx: &StageCx) -> Result<(), StageError> {
    cx.scope.stop("answer validation")?;
    Ok(())
}

fn refused_by_evidence(cx: &StageCx) -> Result<bool, StageError> {
    let found = cx.get(state::UNSUPPORTED_VALUES)?;
    let refused = found.as_ref().and_then(|found| found.get("refused")).and_then(Value::as_bool);
    Ok(refused.unwrap_or_default())
}

/// The parsed answer, when it can be compared at all.
fn candidate(cx: &StageCx, declared: &AnswerValidation, raw: &Str, judged: &mut Judged) -> Option<Value> {
    let most = declared.limits.max_candidate_bytes;
    let refuse = |judged: &mut Judged, reason: &str| judged.reason = Some(reason.into());
    if raw.len() > most {
        refuse(judged, "candidate-limit");
        return None;
    }
    let contract = &cx.agent.output.as_ref()?.contract;
    let answer = match output::judge(&**contract, raw) {
        Ok(answer) => answer,
        Err(failure) => {
            use agentfootprint_record::events::words::JudgeStage;
            let is_json = failure.stage != JudgeStage::JsonParse;
            refuse(judged, if is_json { "schema-rejected" } else { "non-json-candidate" });
            return None;
        }
    };
    judged.schema_accepted = true;
    let Some(text) = canonical(raw, &answer) else {
        refuse(judged, "non-json-candidate");
        return None;
    };
    if text.len() > most {
        refuse(judged, "candidate-limit");
        return None;
    }
    judged.digest = Some(artifact_digest(&text));
    judged.canonical = Some(text.into());
    Some(answer)
}

/// Runs the comparison. An error is the run's cancellation; the reason is filed all the same.
async fn compare(
    cx: &StageCx,
    declared: &AnswerValidation,
    answer: Value,
    judged: &mut Judged,
) -> Result<(), StageError> {
    let store = cx.agent.tooling.artifacts.as_ref();
    let store = store.map(|options| (Arc::clone(options.store()), cx.run.identity().value().clone()));
    let evidence = AnswerEvidence::new(store, &declared.limits);
    let cancel = cx.run.cancel.child_token();
    let context = AnswerValidationContext { cancel: cancel.clone(), artifacts: evidence.clone() };
    let input = || Value::from(judged.digest.clone().unwrap_or_default());
    let work = async {
        let validated = AssertUnwindSafe(async { declared.validate(answer, context).await }).catch_unwind();
        let ended = tokio::time::timeout(declared.limits.timeout, validated).await;
        let (refusal, resolved) = evidence.close();
        let (checks, failure) = match ended {
            Err(_) => (Vec::new(), Some("timeout".to_owned())),
            Ok(Ok(Ok(checks))) => (checks, None),
            Ok(Ok(Err(_)) | Err(_)) => (Vec::new(), Some("validator-error".to_owned())),
        };
        let timed_out = failure.as_deref() == Some("timeout");
        let refused = refusal.filter(|_| !timed_out).map(|refusal| format!("evidence-{}", refusal.as_str()));
        Compared { checks, resolved, reason: refused.or(failure).map(Str::from) }
    };
    let policy = Reexecution::Idempotent;
    let compared = cx.effect(EffectKind::Validate, &declared.id, policy, &input, work);
    let outcome = cx.unless_cancelled(compared).await;
    // Whatever still runs on behalf of the validation learns that nobody waits for it.
    cancel.cancel();
    evidence.close();
    let compared = match outcome {
        Ok(compared) => compared,
        Err(cancelled) => {
            judged.reason = Some("aborted".into());
            return Err(cancelled);
        }
    };
    let tally = Tally::of(&compared.checks);
    judged.reason = compared.reason.or_else(|| {
        let malformed = !well_formed(&compared.checks, declared.limits.max_checks, &compared.resolved);
        let reason = match tally {
            _ if malformed => "invalid-validator-result",
            Tally { unreachable: 1.., .. } => "unreachable-checks",
            Tally { checked: 0, .. } => "no-comparable-checks",
            _ => return None,
        };
        Some(reason.into())
    });
    // What is no answer is not counted as one.
    let usable = judged.reason.as_deref() != Some("invalid-validator-result");
    judged.checks = if usable { compared.checks } else { Vec::new() };
    judged.resolved = compared.resolved;
    Ok(())
}

/// Writes the report; whether the answer passed.
fn file(cx: &StageCx, declared: &AnswerValidation, judged: &Judged) -> Result<bool, StageError> {
    let tally = Tally::of(&judged.checks);
    let status = match (&judged.reason, tally.failed) {
        (Some(_), _) => "unverified",
        (None, 0) => "passed",
        (None, _) => "failed",
    };
    let mut report = Object::new();
    report.insert("validatorId", Value::from(declared.id.clone()));
    report.insert("validatorVersion", Value::from(declared.version.clone()));
    report.insert("mode", Value::from(declared.mode.as_str()));
    report.insert("status", Value::from(status));
    for (key, count) in [
        ("checked", tally.checked),
        ("failed", tally.failed),
        ("unreachable", tally.unreachable),
        ("notApplicable", tally.not_applicable),
    ] {
        report.insert(key, Value::from(count));
    }
    report.insert("checks", Value::Array(judged.checks.iter().map(AnswerCheck::to_value).collect()));
    if let Some(reason) = &judged.reason {
        report.insert("reason", Value::from(reason.clone()));
    }
    if let Some(digest) = &judged.digest {
        report.insert("candidateDigest", Value::from(digest.as_str()));
    }
    report.insert(
        "resolvedRefs",
        Value::Array(judged.resolved.iter().cloned().map(Value::from).collect::<Array>()),
    );
    report.insert("schemaAccepted", Value::from(judged.schema_accepted));
    cx.set(state::ANSWER_VALIDATION, report)?;
    Ok(status == "passed")
}

/// What a comparison came to, as a journal keeps it.
#[derive(Debug, PartialEq)]
struct Compared {
    checks: Vec<AnswerCheck>,
    resolved: Vec<Str>,
    reason: Option<Str>,
}

impl Journaled for Compared {
    fn to_outcome(&self) -> EffectOutcome {
        let mut out = Object::new();
        out.insert("checks", Value::Array(self.checks.iter().map(AnswerCheck::to_value).collect()));
        out.insert(
            "resolved",
            Value::Array(self.resolved.iter().cloned().map(Value::from).collect::<Array>()),
        );
        if let Some(reason) = &self.reason {
            out.insert("reason", Value::from(reason.clone()));
        }
        EffectOutcome::Ok(Value::Object(out))
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        let unreadable =
            || Self { checks: Vec::new(), resolved: Vec::new(), reason: Some("validator-error".into()) };
        let recorded = match outcome {
            EffectOutcome::Ok(value) => value,
            EffectOutcome::Err(EffectFailure { .. }) => return unreadable(),
        };
        let list = |key: &str| recorded.get(key).and_then(Value::as_array).cloned();
        let (Some(checks), Some(resolved)) = (list("checks"), list("resolved")) else { return unreadable() };
        let Some(checks) = checks.iter().map(AnswerCheck::read).collect::<Option<Vec<_>>>() else {
            return unreadable();
        };
        Self {
            checks,
            resolved: resolved.iter().filter_map(|one| one.as_shared_str().cloned()).collect(),
            reason: recorded.get("reason").and_then(Value::as_shared_str).cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves HOST-118 for answer validation: what a comparison came to survives the journal.
    #[test]
    fn a_comparison_survives_the_journal() {
        let compared = Compared {
            checks: vec![AnswerCheck::fail("total").reason("off by one").evidence(["art_1"])],
            resolved: vec!["art_1".into()],
            reason: None,
        };
        assert_eq!(Compared::from_outcome(compared.to_outcome()), compared);
        let torn = Compared::from_outcome(EffectOutcome::Ok(Value::from("torn")));
        assert_eq!(torn.reason.as_deref(), Some("validator-error"));
    }
}
