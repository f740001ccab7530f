//! The injection engine: `gather → evaluate → route → delta` (CTX §2.3).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::{ContextEvaluated, SkippedInjection};
use footprint::chart::SubflowEnd;
use footprint::error::StageError;
use footprint::scope::StateView;
use footprint::value::{Array, Object, Str, Value};
use indexmap::IndexMap;

use crate::injection::{ActiveInjection, Evaluation, InjectionContext, diff, evaluate, route_active};
use crate::run::StageCx;

/// Inner key of the previous pass's buckets.
pub(crate) const PRIOR_ACTIVE_BY_SLOT: &str = "priorActiveByslot";
const CONTEXT_SUMMARY: &str = "injectionContextSummary";
const SLOT_DELTA: &str = "slotDelta";

/// What enters the engine. Absent keys stay absent, so that a feature nobody uses leaves no trace.
pub(crate) fn input(parent: &StateView) -> Object {
    let mut seed = Object::new();
    copy(parent, &mut seed, [state::ITERATION, state::MAX_ITERATIONS, state::USER_MESSAGE, state::HISTORY]);
    copy(parent, &mut seed, [state::LAST_TOOL_RESULT, state::TOOL_RESULTS, state::ACTIVATED_INJECTION_IDS]);
    let prior =
        parent.value(state::ACTIVE_BY_SLOT).unwrap_or_else(|| crate::injection::BySlot::default().to_value());
    seed.insert(PRIOR_ACTIVE_BY_SLOT, prior);
    copy(parent, &mut seed, [state::CURRENT_SKILL_ID, state::PENDING_SKILL_PICK, state::STEP_POINTER]);
    seed
}

/// Copies the keys that are there.
pub(crate) fn copy<const N: usize>(from: &StateView, into: &mut Object, keys: [&'static str; N]) {
    for key in keys {
        if let Some(value) = from.value(key) {
            into.insert(key, value);
        }
    }
}

/// What leaves it: the active set and the buckets.
pub(crate) fn output(end: &SubflowEnd) -> Object {
    let mut out = Object::new();
    copy(&end.state, &mut out, [state::ACTIVE_INJECTIONS, state::ACTIVE_BY_SLOT]);
    out
}

/// Notes what this pass is judged on.
pub(crate) async fn gather(cx: StageCx) -> Result<(), StageError> {
    let mut summary = Object::new();
    summary.insert("iteration", Value::from(cx.iteration()?));
    summary.insert("historyLength", Value::from(cx.list(state::HISTORY)?.len()));
    if let Some(name) = cx.get(state::LAST_TOOL_RESULT)?.and_then(|last| last.get("toolName").cloned()) {
        summary.insert("lastToolName", name);
    }
    summary.insert("activatedInjectionCount", Value::from(cx.list(state::ACTIVATED_INJECTION_IDS)?.len()));
    cx.set(CONTEXT_SUMMARY, summary)
}

/// Judges every injection on one context and projects the winners (CTX-29, CTX-33).
pub(crate) async fn evaluate_stage(cx: StageCx) -> Result<(), StageError> {
    let context = context(&cx)?;
    let pass = evaluate(&cx.agent.injections, &context);
    cx.set(state::ACTIVE_INJECTIONS, pass.projections.clone())?;
    cx.emit(|| evaluated(&pass, &context, cx.agent.injections.len()));
    Ok(())
}

fn context(cx: &StageCx) -> Result<InjectionContext, StageError> {
    let iteration = cx.iteration()?;
    // A batch counts in the pass after it landed and in no other; loops without a batch must not see it again (CTX-9).
    let fresh = cx.turn.batch_is_fresh(iteration);
    let max = cx.get(state::MAX_ITERATIONS)?.and_then(|max| max.as_u64());
    Ok(InjectionContext {
        iteration,
        max_iterations: max.map(|max| u32::try_from(max).unwrap_or(u32::MAX)),
        user_message: cx.text(state::USER_MESSAGE)?,
        history: cx.list(state::HISTORY)?.into(),
        activated_injection_ids: cx.list(state::ACTIVATED_INJECTION_IDS)?,
        tool_results: if fresh { cx.list(state::TOOL_RESULTS)? } else { Array::new() },
        last_tool_result: if fresh { cx.get(state::LAST_TOOL_RESULT)? } else { None },
        current_skill_id: cx.get(state::CURRENT_SKILL_ID)?.and_then(|skill| skill.as_shared_str().cloned()),
        lease_active_ids: Vec::new(),
        parked: Vec::new(),
        more: Object::new(),
    })
}

fn evaluated(pass: &Evaluation, context: &InjectionContext, total: usize) -> ContextEvaluated {
    let counts: IndexMap<Str, u64> = pass
        .trigger_kind_counts()
        .iter()
        .map(|(kind, count)| (kind.clone(), count.as_u64().unwrap_or_default()))
        .collect();
    let skipped: Vec<SkippedInjection> = pass
        .skipped
        .iter()
        .map(|row| {
            SkippedInjection::new(&row.id, row.reason.clone()).error(row.error.as_deref().map(Str::from))
        })
        .collect();
    ContextEvaluated::new(
        context.iteration(),
        pass.active.len(),
        skipped.len(),
        total,
        pass.active.iter().map(|injection| injection.id().clone()).collect::<Vec<Str>>(),
        skipped,
        counts,
        Vec::new(),
    )
}

/// Sorts the active pieces by slot, with the slots' own filters.
pub(crate) async fn route(cx: StageCx) -> Result<(), StageError> {
    let active = cx.list(state::ACTIVE_INJECTIONS)?;
    let slots = route_active(&active, |piece| slot_entry(&cx, piece));
    cx.set(state::ACTIVE_BY_SLOT, slots.to_value())
}

fn slot_entry(cx: &StageCx, piece: ActiveInjection<'_>) -> Value {
    if let Some(declared) = cx.agent.injection(piece.id()) {
        return declared.slot_entry().clone();
    }
    let mut entry = Object::new();
    entry.insert("id", Value::from(piece.id()));
    entry.insert("source", Value::from(piece.flavor()));
    entry.insert("reason", Value::from(active_reason(piece)));
    Value::from(entry)
}

/// Why a piece that is not declared on the agent is there.
pub(crate) fn active_reason(piece: ActiveInjection<'_>) -> String {
    piece.description().map_or_else(|| format!("{} `{}`", piece.flavor(), piece.id()), str::to_owned)
}

/// What changed per slot since the previous pass.
pub(crate) async fn delta(cx: StageCx) -> Result<(), StageError> {
    let before = cx.get(PRIOR_ACTIVE_BY_SLOT)?.unwrap_or_default();
    let now = cx.get(state::ACTIVE_BY_SLOT)?.unwrap_or_default();
    let mut delta = Object::new();
    for slot in ["systemPrompt", "messages", "tools"] {
        let bucket =
            |buckets: &Value| buckets.get(slot).and_then(Value::as_array).cloned().unwrap_or_default();
        delta.insert(slot, diff(&bucket(&before), &bucket(&now)));
    }
    cx.set(SLOT_DELTA, delta)
}
