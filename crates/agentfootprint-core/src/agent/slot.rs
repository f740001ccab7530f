//! What every slot does at its end: composition record, events, budget report (AGT-67, AGT-68, CTX-40, CTX-41).

use std::collections::HashSet;

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::Payload as _;
use agentfootprint_record::events::field::Field as _;
use agentfootprint_record::events::payload::{ContextBudgetPressure, ContextInjected};
use agentfootprint_record::events::words::{BudgetUnit, ContextSlot, PlanAction, Word as _};
use footprint::error::StageError;
use footprint::value::Str;

use super::records::{Breakdown, Piece};
use crate::run::StageCx;

/// Writes the composition of a slot visit and says what was injected.
pub(crate) fn finish_slot(
    cx: &StageCx,
    slot: ContextSlot,
    pieces: &[Piece],
    breakdown: &Breakdown,
    cap: u64,
    ordering: Option<&'static str>,
) -> Result<(), StageError> {
    let iteration = cx.iteration()?;
    let composed = breakdown.composed(slot.clone(), iteration, cap, ordering);
    cx.set(state::SLOT_COMPOSITIONS, composed.to_value())?;
    let pressure = (cap > 0 && breakdown.used > cap).then(|| {
        ContextBudgetPressure::new(
            slot.clone(),
            breakdown.used - cap,
            PlanAction::None,
            BudgetUnit::Chars,
            cap,
            breakdown.used,
        )
    });
    if let Some(pressure) = &pressure {
        cx.set(state::SLOT_BUDGET_PRESSURES, pressure.to_value())?;
    }
    if cx.wants(ContextInjected::NAME) {
        let mut seen: HashSet<&Str> = HashSet::with_capacity(pieces.len());
        for piece in pieces.iter().filter(|piece| seen.insert(&piece.payload.content_hash)) {
            cx.emit(|| (*piece.payload).clone());
        }
    }
    cx.emit(|| composed);
    if let Some(pressure) = pressure {
        cx.emit(|| pressure);
        if cx.agent.first_pressure(&slot) {
            tracing::warn!(
                target: "agentfootprint",
                agent = %cx.agent.id,
                "the {} slot holds {} characters, {} over its budget of {cap}; nothing was cut",
                slot.word(),
                breakdown.used,
                breakdown.used - cap
            );
        }
    }
    Ok(())
}
