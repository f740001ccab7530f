//! First stage of the grouped model call: what crossed under an alias becomes writable, and the rest starts empty (AGT-44).

use agentfootprint_record::conventions::state::{self, Reset, StateKey};
use footprint::chart::SubflowEnd;
use footprint::error::StageError;
use footprint::scope::StateView;
use footprint::value::{Array, Object, Value};

use crate::run::StageCx;

/// Keys that cross in under their own name come first, those under an alias after them.
pub(crate) fn input(parent: &StateView) -> Object {
    let mut seed = Object::new();
    let mut aliased = Object::new();
    for key in IN_ORDER.iter().filter_map(|name| StateKey::named(name)) {
        enter(key, parent, &mut seed, &mut aliased);
    }
    for key in state::ALL.iter().filter(|key| !IN_ORDER.contains(&key.name)) {
        enter(key, parent, &mut seed, &mut aliased);
    }
    for (name, value) in
        parent.to_object().iter().filter(|(name, _)| name.starts_with(state::MEMORY_INJECTION_PREFIX))
    {
        seed.insert(name.clone(), value.clone());
    }
    for (name, value) in aliased.iter() {
        seed.insert(name.clone(), value.clone());
    }
    seed
}

fn enter(key: &StateKey, parent: &StateView, seed: &mut Object, aliased: &mut Object) {
    let Some(crossing) = key.entry else { return };
    if let Some(value) = parent.value(key.name) {
        let into = if crossing.inner == key.name { seed } else { aliased };
        into.insert(crossing.inner, value);
    }
}

/// The order in which the recordings have the keys that always cross.
const IN_ORDER: [&str; 16] = [
    state::USER_MESSAGE,
    state::ITERATION,
    state::MAX_ITERATIONS,
    state::RUN_IDENTITY,
    state::CACHING_DISABLED,
    state::ACTIVATED_INJECTION_IDS,
    state::LAST_TOOL_RESULT,
    state::TOOL_RESULTS,
    state::HISTORY,
    state::DELIVERED_MESSAGE_KEYS,
    state::TOTAL_INPUT_TOKENS,
    state::TOTAL_OUTPUT_TOKENS,
    state::CUM_TOKENS_INPUT,
    state::CUM_TOKENS_OUTPUT,
    state::CUM_ESTIMATED_USD,
    state::COST_BUDGET_HIT,
];

/// What leaves the group; replaced, never appended.
pub(crate) fn output(end: &SubflowEnd, evidence_gate: bool) -> Object {
    let mut out = Object::new();
    for key in OUT_ORDER.iter().filter_map(|name| StateKey::named(name)) {
        leave(key, end, &mut out, evidence_gate);
    }
    for key in state::ALL.iter().filter(|key| !OUT_ORDER.contains(&key.name)) {
        leave(key, end, &mut out, evidence_gate);
    }
    out
}

fn leave(key: &StateKey, end: &SubflowEnd, out: &mut Object, evidence_gate: bool) {
    let Some(crossing) = key.exit else { return };
    // The records of the system prompt leave only for the evidence gate, whose corpus exempts them.
    if key.name == state::SYSTEM_PROMPT_INJECTIONS && !evidence_gate {
        return;
    }
    if let (Some(value), _) = (end.state.value(crossing.inner), crossing.when) {
        out.insert(key.name, value);
    }
}

const OUT_ORDER: [&str; 3] =
    [state::LLM_LATEST_CONTENT, state::LLM_LATEST_TOOL_CALLS, state::THINKING_BLOCKS];

/// Copies aliases to writable keys and resets what each call makes anew.
pub(crate) async fn turn_seed(cx: StageCx) -> Result<(), StageError> {
    for name in COPIED {
        if let Some(key) = StateKey::named(name)
            && let Some(alias) = key.alias()
            && let Some(value) = cx.get(alias)?
        {
            cx.set(key.name, value)?;
        }
    }
    for key in state::ALL.iter().filter(|key| key.alias().is_some() && !COPIED.contains(&key.name)) {
        if let Some(alias) = key.alias()
            && let Some(value) = cx.get(alias)?
        {
            cx.set(key.name, value)?;
        }
    }
    for name in RESET {
        if let Some(reset) = StateKey::named(name).and_then(|key| key.reset) {
            let empty = match reset {
                Reset::EmptyList => Value::from(Array::new()),
                Reset::EmptyText => Value::from(""),
            };
            cx.set(name, empty)?;
        }
    }
    Ok(())
}

/// The order in which the recordings have the copied keys.
const COPIED: [&str; 9] = [
    state::TOTAL_INPUT_TOKENS,
    state::TOTAL_OUTPUT_TOKENS,
    state::CUM_TOKENS_INPUT,
    state::CUM_TOKENS_OUTPUT,
    state::CUM_ESTIMATED_USD,
    state::COST_BUDGET_HIT,
    state::SKILL_HISTORY,
    state::HISTORY,
    state::DELIVERED_MESSAGE_KEYS,
];

/// The order in which the recordings have the reset keys.
const RESET: [&str; 8] = [
    state::ACTIVE_INJECTIONS,
    state::SYSTEM_PROMPT_INJECTIONS,
    state::MESSAGES_INJECTIONS,
    state::TOOLS_INJECTIONS,
    state::CACHE_MARKERS,
    state::LLM_LATEST_CONTENT,
    state::LLM_LATEST_TOOL_CALLS,
    state::THINKING_BLOCKS,
];
