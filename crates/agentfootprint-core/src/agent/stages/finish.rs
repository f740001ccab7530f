//! The branch that delivers the answer: `prepare-final → … → break-final` (AGT §11.6).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::{AgentIterationEnd, AgentTurnEnd, StoppedEarly};
use agentfootprint_record::events::words::{LimitReason, Word as _};
use footprint::chart::SubflowEnd;
use footprint::error::StageError;
use footprint::scope::StateView;
use footprint::value::{Array, Object, Str, Value};

use super::engine::copy;
use crate::run::{StageCx, message};
use crate::tools::with_limits;

/// Everything the parent knows, except what this branch itself makes.
pub(crate) fn input(parent: &StateView) -> Object {
    let mut seed = parent.to_object();
    seed.remove(state::FINAL_CONTENT);
    seed.remove(state::NEW_MESSAGES);
    seed
}

pub(crate) fn output(end: &SubflowEnd) -> Object {
    let mut out = Object::new();
    copy(&end.state, &mut out, [state::FINAL_CONTENT, state::ANSWER_VALIDATION_COMMITTED]);
    out
}

/// Captures the answer and says that the turn is over.
pub(crate) async fn prepare(cx: StageCx) -> Result<(), StageError> {
    crate::validation::committed(&cx)?;
    let answer = with_its_limits(&cx, cx.text(state::LLM_LATEST_CONTENT)?)?;
    let iteration = cx.iteration()?;
    cx.set(state::FINAL_CONTENT, answer.clone())?;
    let user = message("user", cx.text(state::USER_MESSAGE)?);
    let mut assistant = message("assistant", answer.clone());
    let thinking = cx.list(state::THINKING_BLOCKS)?;
    if !thinking.is_empty() {
        assistant.insert("thinkingBlocks", Value::from(thinking));
    }
    let turn: Array = [Value::from(user), Value::from(assistant)].into_iter().collect();
    cx.set(state::NEW_MESSAGES, turn)?;
    cx.emit(|| AgentIterationEnd::new(0_u64, iteration, 0_u64));
    let (input, output) = (cx.count(state::TOTAL_INPUT_TOKENS)?, cx.count(state::TOTAL_OUTPUT_TOKENS)?);
    let started = cx.count(state::TURN_START_MS)?;
    let stopped = cx.get(state::STOPPED_EARLY)?;
    cx.emit(|| {
        let duration = cx.now_ms().saturating_sub(started);
        AgentTurnEnd::new(0_u64, answer, input, output, iteration, duration)
            .stopped_early(stopped.as_ref().map(stopped_early))
    });
    Ok(())
}

/// The answer with what its tools declared under it, when that was asked for (EVD-130). Text under JSON would break whoever reads
/// it, so an answer with a schema or a validation stays as it was judged (EVD-133).
fn with_its_limits(cx: &StageCx, answer: Str) -> Result<Str, StageError> {
    let agent = &cx.agent;
    if !agent.options.limits_travel || agent.output.is_some() || agent.answer_validation.is_some() {
        return Ok(answer);
    }
    let declared = cx.list(state::COVERAGE_DECLARED)?;
    Ok(with_limits(&answer, &declared).map_or(answer, Str::from))
}

fn stopped_early(record: &Value) -> StoppedEarly {
    let number = |key: &str| record.get(key).and_then(Value::as_u64).unwrap_or_default();
    let reason =
        record.get("reason").and_then(Value::as_shared_str).cloned().unwrap_or_else(|| Str::from(""));
    StoppedEarly::new(LimitReason::read(&reason), number("iteration"), number("pendingToolCalls"))
        .wrapped_up(record.get("wrappedUp").and_then(Value::as_bool).unwrap_or_default())
}

/// Ends the loop with the answer.
pub(crate) async fn end(cx: StageCx) -> Result<Value, StageError> {
    let answer = cx.text(state::FINAL_CONTENT)?;
    cx.scope.stop("final")?;
    Ok(Value::from(answer))
}
