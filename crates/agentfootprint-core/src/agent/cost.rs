//! What a call costs, and the budget (AGT-73, LLM-139, LLM-140).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::{CostLimitHit, CostTick as CostTickEvent, CostTotals};
use agentfootprint_record::events::words::{CostScope, LimitAction, LimitKind};
use footprint::error::StageError;
use footprint::value::Str;

use super::options::OnExceed;
use crate::llm::{CostTick, CumulativeCost, TokenKind, Usage};
use crate::run::StageCx;

/// Files the cost of one billed response. Without a pricing table there is nothing to file.
pub(crate) fn file_tick(cx: &StageCx, provider: &str, model: &str, usage: &Usage) -> Result<(), StageError> {
    let Some(table) = &cx.agent.options.pricing else { return Ok(()) };
    let tick = CostTick::of(&**table, model, usage);
    let mut so_far = CumulativeCost {
        tokens_input: cx.count(state::CUM_TOKENS_INPUT)?,
        tokens_output: cx.count(state::CUM_TOKENS_OUTPUT)?,
        estimated_usd: cx.amount(state::CUM_ESTIMATED_USD)?,
    };
    so_far.add(&tick);
    cx.set(state::CUM_TOKENS_INPUT, so_far.tokens_input)?;
    cx.set(state::CUM_TOKENS_OUTPUT, so_far.tokens_output)?;
    cx.set(state::CUM_ESTIMATED_USD, so_far.estimated_usd)?;
    cx.emit(|| {
        let unpriced: Vec<Str> =
            tick.unpriced.iter().map(|kind: &TokenKind| Str::from(kind.as_str())).collect();
        CostTickEvent::new(
            CostScope::Iteration,
            model,
            tick.tokens_input,
            tick.tokens_output,
            tick.usd,
            CostTotals::new(so_far.tokens_input, so_far.tokens_output, so_far.estimated_usd),
        )
        .provider(Str::from(provider))
        .unpriced((!unpriced.is_empty()).then_some(unpriced))
    });
    budget(cx, so_far.estimated_usd)
}

/// The first crossing is said once per run and remembered.
fn budget(cx: &StageCx, spent: f64) -> Result<(), StageError> {
    let Some(budget) = cx.agent.options.cost_budget else { return Ok(()) };
    if spent <= budget.usd || cx.flag(state::COST_BUDGET_HIT)? {
        return Ok(());
    }
    cx.set(state::COST_BUDGET_HIT, true)?;
    cx.emit(|| {
        let action = match budget.on_exceed {
            OnExceed::Warn => LimitAction::Warn,
            OnExceed::Halt => LimitAction::Abort,
        };
        CostLimitHit::new(LimitKind::MaxCost, budget.usd, spent, action)
    });
    Ok(())
}
