//! The decider after a model call: tools, another question, or the answer (AGT §11.3).

use agentfootprint_record::conventions::{ids, state};
use agentfootprint_record::events::payload::{
    AgentBudgetExhausted, AgentOutputContractUnmet, AgentRouteDecided, CostLimitHit,
};
use agentfootprint_record::events::words::{
    AgentRoute, ExhaustedAction, LimitAction, LimitKind, LimitReason, Word as _,
};
use footprint::error::StageError;
use footprint::value::{Object, Str, Value};

use crate::agent::moments::{self, OutputVerdict};
use crate::agent::options::OnExceed;
use crate::agent::output::{Output, OutputSchemaError, OutputStrategy, judge};
use crate::run::StageCx;
use crate::validation;

/// Carrier of the failure for the retry branch.
pub(crate) const OUTPUT_SCHEMA_FAILURE: &str = state::OUTPUT_SCHEMA_FAILURE;

/// What the decider looks at.
struct Situation {
    iteration: u32,
    max_iterations: u32,
    pending_calls: u64,
    wrap_up_asked: bool,
    limit: Option<LimitReason>,
}

/// Decides. Whatever must influence the decision happens here, not in a branch (AGT-42).
pub(crate) async fn route(cx: StageCx) -> Result<&'static str, StageError> {
    let now = situation(&cx)?;
    if now.pending_calls > 0 && now.limit.is_none() {
        let rationale = || {
            let plural = if now.pending_calls == 1 { "tool call" } else { "tool calls" };
            format!("the model asked for {} {plural}", now.pending_calls)
        };
        return decided(&cx, &now, AgentRoute::ToolCalls, rationale);
    }
    if now.limit == Some(LimitReason::MaxIterations) && cx.agent.mounts_wrap_up() && !now.wrap_up_asked {
        let route = decided(&cx, &now, AgentRoute::WrapUp, || limit_rationale(&now))?;
        settle(&cx, &now, true)?;
        return Ok(route);
    }
    let moment = moments::output(&cx, now.iteration).await?;
    let (branch, judged) = match moment.verdict {
        OutputVerdict::Denied => (AgentRoute::Final, None),
        OutputVerdict::Delivered => judge_answer(&cx, &now, &moment)?,
    };
    let route = decided(&cx, &now, branch.clone(), || match (&branch, &now.limit, judged) {
        (AgentRoute::OutputRetry, _, _) => {
            "the answer does not meet its declared form; it is asked again".to_owned()
        }
        (_, Some(_), _) => limit_rationale(&now),
        _ => "no tool calls: the answer is final".to_owned(),
    })?;
    moment.tell(&cx);
    if now.limit.is_some() {
        settle(&cx, &now, false)?;
    }
    let denied = moment.verdict == OutputVerdict::Denied;
    if route == ids::FINAL {
        validation::judge(&cx, denied).await?;
    }
    if denied {
        moment.deny(&cx)?;
    }
    Ok(route)
}

fn situation(cx: &StageCx) -> Result<Situation, StageError> {
    let pending_calls = cx.list(state::LLM_LATEST_TOOL_CALLS)?.len() as u64;
    let iteration = cx.iteration()?;
    let max_iterations = u32::try_from(cx.count(state::MAX_ITERATIONS)?).unwrap_or(u32::MAX);
    let cost_halt = cx.flag(state::COST_BUDGET_HIT)?
        && cx.agent.options.cost_budget.is_some_and(|budget| budget.on_exceed == OnExceed::Halt);
    let wrap_up_asked = cx.agent.mounts_wrap_up() && cx.flag(state::WRAP_UP_ASKED)?;
    let limit = (pending_calls > 0 || wrap_up_asked)
        .then(|| {
            if iteration >= max_iterations {
                Some(LimitReason::MaxIterations)
            } else {
                cost_halt.then_some(LimitReason::CostBudget)
            }
        })
        .flatten();
    Ok(Situation { iteration, max_iterations, pending_calls, wrap_up_asked, limit })
}

/// Says the decision, once per iteration, and answers the branch id.
fn decided(
    cx: &StageCx,
    now: &Situation,
    branch: AgentRoute,
    rationale: impl FnOnce() -> String,
) -> Result<&'static str, StageError> {
    let id = match branch {
        AgentRoute::ToolCalls => ids::TOOL_CALLS,
        AgentRoute::OutputRetry => ids::OUTPUT_RETRY,
        AgentRoute::StepNudge => ids::STEP_NUDGE,
        AgentRoute::EvidenceRecheck => ids::EVIDENCE_RECHECK,
        AgentRoute::WrapUp => ids::WRAP_UP,
        _ => ids::FINAL,
    };
    cx.emit(|| AgentRouteDecided::new(0_u64, now.iteration, branch).rationale(rationale()));
    Ok(id)
}

fn limit_rationale(now: &Situation) -> String {
    match now.limit {
        Some(LimitReason::CostBudget) => format!(
            "the cost budget is spent and halts the loop; {} requested calls are not executed",
            now.pending_calls
        ),
        _ => format!(
            "iteration {} of {} was the last; {} requested calls are not executed",
            now.iteration, now.max_iterations, now.pending_calls
        ),
    }
}

/// The judges, in their order: schema, steps, evidence, claims. An earlier one that asks again ends the judging; under an
/// early stop none may ask again (AGT-75).
fn judge_answer(
    cx: &StageCx,
    now: &Situation,
    moment: &moments::OutputMoment,
) -> Result<(AgentRoute, Option<()>), StageError> {
    if let Some(output) = &cx.agent.output
        && let Some(route) = judge_schema(cx, now, output, moment)?
    {
        return Ok((route, Some(())));
    }
    Ok((AgentRoute::Final, None))
}

/// Judges the answer against its contract. `Some` = ask again.
fn judge_schema(
    cx: &StageCx,
    now: &Situation,
    output: &Output,
    moment: &moments::OutputMoment,
) -> Result<Option<AgentRoute>, StageError> {
    let answer = cx.text(state::LLM_LATEST_CONTENT)?;
    let attempts = cx.list(state::OUTPUT_ATTEMPTS)?.len() as u64;
    let attempt = attempts + 1;
    let failure = match judge(&*output.contract, &answer) {
        Ok(_) => {
            file_attempt(cx, attempt, now.iteration, "passed", None, None)?;
            cx.set(state::ANSWER_GUARANTEE, guarantee(output))?;
            return Ok(None);
        }
        Err(failure) => failure,
    };
    let broken_by = moment.broken_by(|before| judge(&*output.contract, before).is_ok());
    let retries_left = u64::from(output.retries).saturating_sub(attempts);
    if retries_left > 0 && broken_by.is_none() && now.limit.is_none() {
        let mut carrier = Object::new();
        carrier.insert("attempt", Value::from(attempt));
        failure.describe_in(&mut carrier);
        cx.set(OUTPUT_SCHEMA_FAILURE, carrier)?;
        return Ok(Some(AgentRoute::OutputRetry));
    }
    exhausted(cx, now, output, attempt, &failure, broken_by.as_ref())?;
    Ok(None)
}

fn guarantee(output: &Output) -> &'static str {
    match output.strategy {
        OutputStrategy::ToolForced => "tool-forced",
        OutputStrategy::Native => "native",
        OutputStrategy::Instruct => "checked",
    }
}

fn exhausted(
    cx: &StageCx,
    now: &Situation,
    output: &Output,
    attempt: u64,
    failure: &OutputSchemaError,
    broken_by: Option<&Str>,
) -> Result<(), StageError> {
    file_attempt(cx, attempt, now.iteration, "exhausted", Some(failure), broken_by)?;
    let (retries_spent, fallback) = (attempt - 1, output.fallback.is_some());
    let mut unmet = Object::new();
    failure.describe_in(&mut unmet);
    unmet.insert("attempts", Value::from(attempt));
    unmet.insert("retriesSpent", Value::from(retries_spent));
    unmet.insert("fallbackConfigured", Value::from(fallback));
    if let Some(name) = broken_by {
        unmet.insert("brokenBy", Value::from(name.clone()));
    }
    cx.set(state::OUTPUT_CONTRACT_UNMET, unmet)?;
    cx.set(state::ANSWER_GUARANTEE, "none")?;
    cx.emit(|| {
        AgentOutputContractUnmet::new(
            failure.stage.clone(),
            failure.message.as_str(),
            attempt,
            retries_spent,
            fallback,
            now.iteration,
        )
        .path(failure.path.as_deref().map(Str::from))
        .broken_by(broken_by.cloned())
    });
    cx.warn_once("output-contract-unmet", || {
        format!(
            "the answer does not meet its declared form after {attempt} attempts: {}",
            failure.stage.word()
        )
    });
    Ok(())
}

/// One row of `outputAttempts`.
pub(crate) fn file_attempt(
    cx: &StageCx,
    attempt: u64,
    iteration: u32,
    outcome: &'static str,
    failure: Option<&OutputSchemaError>,
    broken_by: Option<&Str>,
) -> Result<(), StageError> {
    let mut row = Object::new();
    row.insert("attempt", Value::from(attempt));
    row.insert("iteration", Value::from(iteration));
    row.insert("outcome", Value::from(outcome));
    if let Some(failure) = failure {
        failure.describe_in(&mut row);
    }
    if let Some(name) = broken_by {
        row.insert("brokenBy", Value::from(name.clone()));
    }
    cx.append(state::OUTPUT_ATTEMPTS, [Value::from(row)])
}

/// The bookkeeping of an early stop (AGT-86, AGT-87).
fn settle(cx: &StageCx, now: &Situation, wraps_up: bool) -> Result<(), StageError> {
    let Some(reason) = &now.limit else { return Ok(()) };
    let empty = cx.text(state::LLM_LATEST_CONTENT)?.trim().is_empty();
    if now.wrap_up_asked {
        // The wrap-up answered: the record is rewritten, nothing is said a second time.
        let mut stopped = cx
            .get(state::STOPPED_EARLY)?
            .and_then(|stopped| stopped.as_object().cloned())
            .unwrap_or_default();
        stopped.insert("answerWasEmpty", Value::from(empty));
        stopped.insert("wrappedUp", Value::from(true));
        return cx.set(state::STOPPED_EARLY, stopped);
    }
    let mut stopped = Object::new();
    stopped.insert("reason", Value::from(reason.word()));
    stopped.insert("iteration", Value::from(now.iteration));
    stopped.insert("pendingToolCalls", Value::from(now.pending_calls));
    stopped.insert("answerWasEmpty", Value::from(empty));
    cx.set(state::STOPPED_EARLY, stopped)?;
    let by_iterations = *reason == LimitReason::MaxIterations;
    if by_iterations {
        cx.emit(|| {
            CostLimitHit::new(
                LimitKind::MaxIterations,
                f64::from(now.max_iterations),
                f64::from(now.iteration),
                LimitAction::Abort,
            )
        });
    }
    cx.emit(|| {
        let action = if wraps_up { ExhaustedAction::WrappedUp } else { ExhaustedAction::CutShort };
        AgentBudgetExhausted::new(reason.clone(), now.iteration, now.pending_calls, action)
            .limit(by_iterations.then(|| u64::from(now.max_iterations)))
    });
    if empty && !wraps_up {
        cx.warn_once("empty-early-stop", || {
            format!("the turn ends early ({}) with an empty answer", reason.word())
        });
    }
    Ok(())
}
