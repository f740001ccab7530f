//! The messages slot: one record per message of the conversation (AGT-65).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::words::ContextSlot;
use footprint::chart::SubflowEnd;
use footprint::error::StageError;
use footprint::scope::StateView;
use footprint::value::Object;

use super::engine::copy;
use crate::agent::outcome::delivery_failed;
use crate::agent::slot::finish_slot;
use crate::run::{StageCx, lock};

const MESSAGES: &str = "messages";

pub(crate) fn input(parent: &StateView) -> Object {
    let mut seed = Object::new();
    if let Some(history) = parent.value(state::HISTORY) {
        seed.insert(MESSAGES, history);
    }
    copy(parent, &mut seed, [state::ITERATION, state::ACTIVE_INJECTIONS]);
    seed
}

pub(crate) fn output(end: &SubflowEnd) -> Object {
    let mut out = Object::new();
    copy(&end.state, &mut out, [state::MESSAGES_INJECTIONS]);
    out
}

pub(crate) async fn compose(cx: StageCx) -> Result<(), StageError> {
    let messages = cx.list(MESSAGES)?;
    let mut records = lock(&cx.turn.message_records);
    let composed = records.compose(&messages).map_err(delivery_failed)?;
    cx.set(state::MESSAGES_INJECTIONS, composed.values.clone())?;
    let cap = cx.agent.options.context_budget.messages;
    finish_slot(&cx, ContextSlot::Messages, composed.visit, cap, Some("history-order"))
}
