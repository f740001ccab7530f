//! The system prompt slot: base prompt first, then the active pieces in evaluation order (AGT-64, CTX-42).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::words::{ContextSlot, ContextSource, Word as _};
use footprint::chart::SubflowEnd;
use footprint::error::StageError;
use footprint::scope::StateView;
use footprint::value::{Array, Object, Str, Value};

use super::engine::{active_reason, copy};
use crate::agent::records::{Breakdown, Piece, base_piece, system_piece};
use crate::agent::slot::{SlotVisit, finish_slot};
use crate::injection::ActiveInjection;
use crate::run::StageCx;

pub(crate) fn input(parent: &StateView) -> Object {
    let mut seed = Object::new();
    copy(
        parent,
        &mut seed,
        [state::USER_MESSAGE, state::ITERATION, state::ACTIVE_INJECTIONS, state::RESOLVED_INSTRUCTIONS],
    );
    seed
}

pub(crate) fn output(end: &SubflowEnd) -> Object {
    let mut out = Object::new();
    copy(&end.state, &mut out, [state::SYSTEM_PROMPT_INJECTIONS]);
    out
}

pub(crate) async fn compose(cx: StageCx) -> Result<(), StageError> {
    let mut pieces: Vec<Piece> = Vec::new();
    match cx.get(state::RESOLVED_INSTRUCTIONS)?.as_ref().and_then(Value::as_shared_str) {
        Some(resolved) => pieces.push(base_piece(resolved, "Agent.configure()")),
        None => pieces.extend(cx.agent.base_prompt.as_ref().map(|base| base.piece.clone())),
    }
    for value in cx.list(state::ACTIVE_INJECTIONS)?.iter() {
        let active = ActiveInjection::new(value);
        if let Some(text) = active.served_system_text() {
            pieces.push(piece_of(&cx, active, text));
        }
    }
    let mut breakdown = Breakdown::default();
    pieces.iter().for_each(|piece| breakdown.add(piece));
    let records: Array = pieces.iter().map(|piece| piece.value.clone()).collect();
    cx.set(state::SYSTEM_PROMPT_INJECTIONS, records)?;
    let cap = cx.agent.options.context_budget.system_prompt;
    let visit = SlotVisit { pieces: &pieces, breakdown: &breakdown, unchanged: 0 };
    finish_slot(&cx, ContextSlot::SystemPrompt, visit, cap, None)
}

/// The record of an active piece: built once when the injection is declared and not a template.
fn piece_of(cx: &StageCx, active: ActiveInjection<'_>, text: &str) -> Piece {
    if let Some(built) = cx.agent.system_piece(active.id(), text) {
        return built.clone();
    }
    let flavor = ContextSource::read(&Str::from(active.flavor()));
    let reason: Str = match cx.agent.injection(active.id()) {
        Some(declared) => declared.reason().clone(),
        None => active_reason(active).into(),
    };
    let piece = system_piece(flavor, active.id(), &Str::from(text), &reason);
    match active.retrieval() {
        None => piece,
        Some(retrieval) => {
            let number = |key: &str| retrieval.get(key).and_then(Value::as_f64);
            let mut payload = (*piece.payload).clone();
            payload.retrieval_score = number("score");
            payload.rank_position = retrieval.get("rank").and_then(Value::as_u64);
            payload.threshold = number("threshold");
            Piece::new(payload)
        }
    }
}
