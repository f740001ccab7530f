//! What every slot does at its end: composition record, events, budget report (AGT-67, AGT-68, CTX-40, CTX-41).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::Payload as _;
use agentfootprint_record::events::field::Field as _;
use agentfootprint_record::events::payload::{ContextBudgetPressure, ContextInjected};
use agentfootprint_record::events::words::{BudgetUnit, ContextSlot, PlanAction, Word as _};
use footprint::error::StageError;

use super::records::{Breakdown, Piece};
use crate::run::{StageCx, lock};

/// What a visit of a slot composed.
#[derive(Clone, Copy)]
pub(crate) struct SlotVisit<'a> {
    pub(crate) pieces: &'a [Piece],
    pub(crate) breakdown: &'a Breakdown,
    /// How many pieces at the beginning are those of the visit before, when the list only grew; else 0.
    pub(crate) unchanged: usize,
}

/// Writes the composition of a slot visit and says what was injected.
pub(crate) fn finish_slot(
    cx: &StageCx,
    slot: ContextSlot,
    visit: SlotVisit<'_>,
    cap: u64,
    ordering: Option<&'static str>,
) -> Result<(), StageError> {
    let SlotVisit { pieces, breakdown, .. } = visit;
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
        let entering = lock(&cx.turn.reported).entering(&slot, pieces, visit.unchanged);
        for piece in entering {
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
