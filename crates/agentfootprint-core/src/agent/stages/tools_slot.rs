//! The tools slot: `discover → compose` (AGT-66, CTX-49, TOOL-21…23).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::words::ContextSlot;
use footprint::chart::SubflowEnd;
use footprint::error::StageError;
use footprint::scope::StateView;
use footprint::value::Object;

use super::engine::copy;
use crate::agent::slot::{SlotVisit, finish_slot};
use crate::run::StageCx;

const TOOL_SCHEMAS: &str = "toolSchemas";

pub(crate) fn input(parent: &StateView) -> Object {
    let mut seed = Object::new();
    copy(
        parent,
        &mut seed,
        [
            state::ITERATION,
            state::ACTIVE_INJECTIONS,
            state::PARKED_TOOL_NAMES,
            state::ACTIVATED_INJECTION_IDS,
            state::RUN_IDENTITY,
            state::CURRENT_SKILL_ID,
            state::STEP_POINTER,
        ],
    );
    seed
}

pub(crate) fn output(end: &SubflowEnd) -> Object {
    let mut out = Object::new();
    copy(&end.state, &mut out, [state::TOOLS_INJECTIONS]);
    if let Some(schemas) = end.state.value(TOOL_SCHEMAS) {
        out.insert(state::DYNAMIC_TOOL_SCHEMAS, schemas);
    }
    copy(&end.state, &mut out, [state::HIDDEN_SKILL_IDS]);
    out
}

/// Asks the tool provider, when there is one. What it answers lives in the run and is what dispatch reads.
pub(crate) async fn discover(cx: StageCx) -> Result<(), StageError> {
    let iteration = cx.iteration()?;
    crate::agent::discover::discover(&cx, iteration).await
}

/// Merges registry, provider and active injections; the first occurrence of a name wins.
pub(crate) async fn compose(cx: StageCx) -> Result<(), StageError> {
    let offer = crate::agent::offer::compose(&cx)?;
    cx.set(state::TOOLS_INJECTIONS, offer.records.clone())?;
    cx.set(TOOL_SCHEMAS, offer.schemas.clone())?;
    let ordering = if cx.agent.tool_provider_id().is_some() {
        "registry+provider+injections"
    } else {
        "registry+injections"
    };
    let cap = cx.agent.options.context_budget.tools;
    let visit = SlotVisit { pieces: &offer.pieces, breakdown: &offer.breakdown, unchanged: 0 };
    finish_slot(&cx, ContextSlot::Tools, visit, cap, Some(ordering))
}
