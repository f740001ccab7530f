//! `compact`: one visit of the window, in one commit (LLM-148…150, LLM-163).

use std::ops::Range;
use std::sync::Arc;

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::{ContextBudgetPressure, ContextEvicted};
use agentfootprint_record::events::words::{BudgetUnit, ContextSlot, EvictionReason, PlanAction};
use agentfootprint_record::message::Messages;
use agentfootprint_record::text::utf16_len;
use footprint::error::StageError;
use footprint::value::{Array, Object, Str, Value};

use super::fold::FoldFacts;
use super::guards::{Guards, Waiting};
use super::input::{WindowError, WindowInput};
use super::meter::{Origin, Origins, reading};
use super::outcome::WindowOutcome;
use super::pins::tools_in;
use super::plan::WindowRefusalReason;
use super::turns::{current_request_index_of, turns_of};
use crate::agent::{cost, records};
use crate::run::{RunError, StageCx};

pub(crate) async fn compact(cx: StageCx) -> Result<(), StageError> {
    let Some(window) = &cx.agent.window else { return Ok(()) };
    let iteration = cx.iteration()?;
    let history = Messages::from(cx.list(state::HISTORY)?);
    let request = current_request_index_of(&history, &cx.text(state::USER_MESSAGE)?);
    let records = cx.list(state::COMPACTIONS)?;
    let limit = cx.agent.options.keep_last_tool_results as usize;
    let stood_down = limit > 0 && blocked_twice(&records);
    let turns = turns_of(&history);
    let guards = Guards::new(&history, turns, request, &waiting(&cx)?, limit, stood_down);
    let input = WindowInput {
        cx: &cx,
        history,
        guards: Arc::new(guards),
        measured: reading(&cx, iteration),
        iteration,
    };
    if iteration > 1 && input.measured.is_none() {
        cx.warn_once("window.unmeasured", || {
            format!("`{}` reported no usage for the last call", cx.agent.provider.name())
        });
    }
    let planned = cx.unless_cancelled(window.strategy.plan(&input)).await?;
    match planned.map_err(failed)? {
        Some(outcome) => apply(&cx, window.strategy.name(), &input, outcome, records),
        None => Ok(()),
    }
}

/// The typed failure of the run travels inside.
fn failed(error: WindowError) -> StageError {
    let message = error.to_string();
    match error {
        WindowError::Unmeasurable { strategy, provider } => {
            StageError::named("CompactionUnmeasurableError", message)
                .with_code("ERR_COMPACTION_UNMEASURABLE")
                .with_source(RunError::CompactionUnmeasurable { strategy, provider })
        }
        failed @ WindowError::Failed { .. } => {
            StageError::named("WindowError", message).with_code("ERR_WINDOW").with_source(failed)
        }
    }
}

/// The call that waits for a person, when the turn was resumed into one.
fn waiting(cx: &StageCx) -> Result<Waiting, StageError> {
    let call = cx.text(state::PAUSED_TOOL_CALL_ID)?;
    let is_check_in = cx.get(state::PAUSED_CHECK_IN)?.is_some_and(|flag| flag.as_bool() != Some(false));
    Ok(Waiting { call: (!call.is_empty()).then_some(call), is_check_in })
}

/// Whether pins blocked the two visits before: then they stand down for this one (LLM-160).
fn blocked_twice(records: &Array) -> bool {
    let blocked = |record: &Value| {
        let refusals = record.get("refusals").and_then(Value::as_array);
        let pinned = WindowRefusalReason::LastToolResult.as_str();
        record.get("removedMessageCount").and_then(Value::as_u64) == Some(0)
            && refusals.is_some_and(|refusals| {
                refusals.iter().any(|one| one.get("reason").and_then(Value::as_str) == Some(pinned))
            })
    };
    records.len() >= 2 && records.iter().rev().take(2).all(blocked)
}

/// Window, record and fold are written together: a crash between them would lose the originals.
fn apply(
    cx: &StageCx,
    strategy: &str,
    input: &WindowInput<'_>,
    outcome: WindowOutcome,
    records: Array,
) -> Result<(), StageError> {
    let removed = outcome.plan.positions().unwrap_or_default();
    let origins = cx.turn.of::<Origins>();
    let evicted = evicted(input, &removed, &origins);
    let stages = stage_ids(&evicted);
    let before = chars(&input.history);
    let window = match &outcome.plan.span {
        None => input.history.clone(),
        Some(_) => replaced(input.history.as_array(), &removed, outcome.replacement.as_ref()),
    };
    if outcome.removes() {
        let born = Origin { stage: cx.address().to_string().into(), born_ms: cx.now_ms() };
        origins.splice(removed.clone(), outcome.replacement.is_some().then_some(born));
        cx.turn.forget_conversation();
        cx.set(state::HISTORY, window.as_array().clone())?;
    }
    let mut record = Object::new();
    record.insert("strategy", Value::from(strategy));
    record.insert("iteration", Value::from(input.iteration));
    for (name, value) in outcome.fields.iter() {
        record.insert(name.clone(), value.clone());
    }
    record.insert("removedStageIds", stages.clone());
    record.insert("removedMessageCount", Value::from(removed.len()));
    record.insert("windowCharsBefore", Value::from(before));
    record.insert("windowCharsAfter", Value::from(chars(&window)));
    let refusals = outcome.plan.refusals().iter().map(|refusal| refusal.to_value());
    record.insert("refusals", Value::from(refusals.collect::<Array>()));
    let dropped = tools_in(&input.history, removed.clone());
    if !dropped.is_empty() {
        record.insert(
            "droppedObservations",
            Value::from(dropped.into_iter().map(Value::from).collect::<Array>()),
        );
    }
    if let Some(observations) = observations(&outcome) {
        record.insert("observations", observations);
    }
    let mut records = records;
    records.push(Value::from(record));
    cx.set(state::COMPACTIONS, records)?;
    if let Some(draft) = &outcome.fold {
        let originals: Array = removed
            .clone()
            .filter_map(|at| input.history.get(at))
            .map(|message| message.value().clone())
            .collect();
        let facts = FoldFacts {
            run_id: input.run_id(),
            iteration: input.iteration,
            now_ms: cx.now_ms(),
            removed_stage_ids: stages,
        };
        cx.append(state::FOLDED_SPANS, [draft.to_value(&originals, facts)])?;
    }
    say(cx, &outcome, evicted);
    match &outcome.billed {
        Some(billed) => cost::file_tick(cx, &billed.provider, &billed.model, &billed.usage),
        None => Ok(()),
    }
}

fn chars(history: &Messages) -> usize {
    history.iter().map(|message| utf16_len(message.content())).sum()
}

fn replaced(
    history: &Array,
    removed: &Range<usize>,
    replacement: Option<&agentfootprint_record::message::Message>,
) -> Messages {
    let mut window = Messages::from(history.iter().take(removed.start).cloned().collect::<Array>());
    if let Some(message) = replacement {
        window.push(message);
    }
    history.iter().skip(removed.end).for_each(|message| window.push_value(message.clone()));
    window
}

struct Evicted {
    hash: String,
    stage: Str,
    survival_ms: u64,
}

/// One entry per message that leaves, with its position before the change.
fn evicted(input: &WindowInput<'_>, removed: &Range<usize>, origins: &Origins) -> Vec<Evicted> {
    let now = input.now_ms();
    removed
        .clone()
        .filter_map(|at| {
            let message = input.history.get(at)?;
            let origin = origins.of(at);
            let role = message.value().get("role").and_then(Value::as_str).unwrap_or_default();
            Some(Evicted {
                hash: records::message_hash(role, at, message.content()),
                survival_ms: origin
                    .as_ref()
                    .filter(|origin| origin.born_ms > 0)
                    .map_or(0, |origin| now.saturating_sub(origin.born_ms)),
                stage: origin.map(|origin| origin.stage).unwrap_or_default(),
            })
        })
        .collect()
}

/// The stages whose messages left, each once.
fn stage_ids(evicted: &[Evicted]) -> Value {
    let mut ids: Vec<Str> = Vec::new();
    for one in evicted {
        if !one.stage.is_empty() && !ids.contains(&one.stage) {
            ids.push(one.stage.clone());
        }
    }
    Value::from(ids.into_iter().map(Value::from).collect::<Array>())
}

/// What the pins of this visit did; absent when they had nothing to do.
fn observations(outcome: &WindowOutcome) -> Option<Value> {
    let (plan, guards) = (&outcome.plan, &outcome.plan.guards);
    if guards.limit == 0 || (plan.pinned.is_empty() && plan.yielded == 0 && !guards.stood_down) {
        return None;
    }
    let pinned = plan.pinned.iter().map(|pin| {
        let mut out = Object::new();
        out.insert("toolName", Value::from(pin.tool_name.clone()));
        out.insert("turnIndex", Value::from(pin.turn_index));
        out.insert("chars", Value::from(pin.chars));
        Value::from(out)
    });
    let mut out = Object::new();
    out.insert("pinned", Value::from(pinned.collect::<Array>()));
    out.insert("yielded", Value::from(plan.yielded));
    out.insert("limit", Value::from(guards.limit));
    if guards.stood_down {
        out.insert("standDown", Value::from(true));
    }
    Some(Value::from(out))
}

fn say(cx: &StageCx, outcome: &WindowOutcome, evicted: Vec<Evicted>) {
    for one in evicted {
        cx.emit(|| {
            ContextEvicted::new(ContextSlot::Messages, one.hash, EvictionReason::Budget, one.survival_ms)
        });
    }
    let Some(pressure) = outcome.pressure else { return };
    cx.emit(|| {
        let action = match (outcome.removes(), pressure.summarizes) {
            (false, _) => PlanAction::None,
            (true, true) => PlanAction::Summarize,
            (true, false) => PlanAction::Evict,
        };
        ContextBudgetPressure::new(
            ContextSlot::Messages,
            pressure.measured.saturating_sub(pressure.cap),
            action,
            BudgetUnit::Tokens,
            pressure.cap,
            pressure.measured,
        )
    });
}
