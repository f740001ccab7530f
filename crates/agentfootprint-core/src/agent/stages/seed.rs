//! `seed`: the state a turn begins with (AGT §10.1, §9.1).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::AgentTurnStart;
use agentfootprint_record::events::words::MessagePhase;
use agentfootprint_record::message::Messages;
use footprint::error::StageError;
use footprint::value::{Array, Str, Value};

use crate::agent::configure::{self, Resolved};
use crate::agent::moments;
use crate::run::{IdentitySource, StageCx, identity_value, message};

/// Tokens a memory pipeline may take it that are left; nobody measures it.
const CONTEXT_TOKENS: u64 = 32_000;

pub(crate) async fn seed(cx: StageCx) -> Result<(), StageError> {
    let start = cx.turn_start();
    let input = moments::input(&cx, start.message.clone()).await?;
    let history = history(&cx, &input.message);
    let resolved = match &input.denied {
        None => configure::resolve(&cx, &input.message).await?,
        Some(_) => Resolved::default(),
    };
    write(&cx, &input.message, history, &resolved)?;
    if let Some(denial) = &input.denied {
        moments::file_denial(&cx, denial, &MessagePhase::Input)?;
    }
    cx.emit(|| AgentTurnStart::new(0_u64, input.message.clone()));
    Ok(())
}

/// Fresh, restored with this turn's message, or restored alone.
fn history(cx: &StageCx, text: &Str) -> Array {
    let start = cx.turn_start();
    let mut history = start.restored.as_ref().map(|restored| restored.history.clone()).unwrap_or_default();
    if start.append_message {
        history.push(Value::from(message("user", text.clone())));
    }
    history
}

fn turn_number(history: &Array) -> usize {
    let messages = Messages::from(history.clone());
    let marks = messages.marks();
    (0..messages.len()).filter(|at| messages.is_persons_turn(*at, marks)).count().max(1)
}

fn write(cx: &StageCx, text: &Str, history: Array, resolved: &Resolved) -> Result<(), StageError> {
    let (agent, empty) = (&cx.agent, Array::new);
    let turn_number = turn_number(&history);
    let started = cx.now_ms();
    cx.set(state::USER_MESSAGE, text.clone())?;
    cx.set(state::HISTORY, history)?;
    cx.set(state::RUN_IDENTITY, identity_value(cx.run.identity().value()))?;
    if cx.run.identity().source() == IdentitySource::Session {
        cx.set(state::RUN_IDENTITY_SOURCE, "session")?;
    }
    cx.set(state::NEW_MESSAGES, empty())?;
    cx.set(state::TURN_NUMBER, turn_number)?;
    cx.set(state::CONTEXT_TOKENS_REMAINING, CONTEXT_TOKENS)?;
    cx.set(state::ITERATION, 1)?;
    cx.set(state::MAX_ITERATIONS, agent.options.max_iterations)?;
    cx.set(state::FINAL_CONTENT, "")?;
    cx.set(state::TOTAL_INPUT_TOKENS, 0)?;
    cx.set(state::TOTAL_OUTPUT_TOKENS, 0)?;
    cx.set(state::TURN_START_MS, started)?;
    for key in [state::SYSTEM_PROMPT_INJECTIONS, state::MESSAGES_INJECTIONS, state::TOOLS_INJECTIONS] {
        cx.set(key, empty())?;
    }
    cx.set(state::LLM_LATEST_CONTENT, "")?;
    cx.set(state::LLM_LATEST_TOOL_CALLS, empty())?;
    cx.set(state::THINKING_BLOCKS, empty())?;
    cx.set(state::PAUSED_TOOL_CALL_ID, "")?;
    cx.set(state::PAUSED_TOOL_NAME, "")?;
    cx.set(state::PAUSED_TOOL_START_MS, 0)?;
    for key in [state::CUM_TOKENS_INPUT, state::CUM_TOKENS_OUTPUT, state::CUM_ESTIMATED_USD] {
        cx.set(key, 0)?;
    }
    cx.set(state::COST_BUDGET_HIT, false)?;
    if let Some(budget) = agent.options.cost_budget {
        cx.set(state::COST_BUDGET_ON_EXCEED, budget.on_exceed.as_str())?;
    }
    cx.set(state::ACTIVE_INJECTIONS, empty())?;
    cx.set(state::ACTIVATED_INJECTION_IDS, empty())?;
    cx.set(state::DYNAMIC_TOOL_SCHEMAS, agent.static_offer.schemas.clone())?;
    cx.set(state::DELIVERED_MESSAGE_KEYS, empty())?;
    cx.set(state::CACHE_MARKERS, empty())?;
    cx.set(state::CACHING_DISABLED, !agent.options.caching)?;
    cx.set(state::SKILL_HISTORY, empty())?;
    if let Some(folded) = cx.turn_start().restored.as_ref().and_then(|restored| restored.folded.clone()) {
        cx.set(state::FOLDED_SPANS, folded)?;
    }
    if let Some(model) = &resolved.model {
        cx.set(state::RESOLVED_MODEL, model.clone())?;
    }
    if let Some(instructions) = &resolved.instructions {
        cx.set(state::RESOLVED_INSTRUCTIONS, instructions.clone())?;
    }
    Ok(())
}
