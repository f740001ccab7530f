//! The cache subflow: `decide-cache-markers → ⟨cache-gate⟩ → apply-markers | no-markers` (LLM-102, LLM-103).

use agentfootprint_record::conventions::{ids, state};
use footprint::chart::SubflowEnd;
use footprint::decide::{Decision, Rule, ScopeReader, decide};
use footprint::error::StageError;
use footprint::scope::StateView;
use footprint::value::{Array, Object, Value};

use super::engine::copy;
use crate::agent::AgentCore;
use crate::agent::cache::{CacheInputs, decide_markers, marker_value};
use crate::injection::{CachePolicyContext, iterations_remaining};
use crate::run::{StageCx, lock};

const LAST_TOOL_NAME: &str = "lastToolName";
const CUMULATIVE_INPUT_TOKENS: &str = "cumulativeInputTokens";
const SYSTEM_PROMPT_CACHE_POLICY: &str = "systemPromptCachePolicy";

/// Below this share of cached tokens, marking costs more than it saves.
pub(crate) const HIT_RATE_FLOOR: f64 = 0.30;
/// How many of the last skills are looked at.
const CHURN_WINDOW: usize = 5;
/// How many distinct skills among them are too many, and how many entries there must be to judge.
const CHURN_LIMIT: usize = 3;

pub(crate) fn input(agent: &AgentCore, parent: &StateView) -> Object {
    let mut seed = Object::new();
    copy(
        parent,
        &mut seed,
        [state::ACTIVE_INJECTIONS, state::ITERATION, state::MAX_ITERATIONS, state::USER_MESSAGE],
    );
    if let Some(name) = parent.value(state::LAST_TOOL_RESULT).and_then(|last| last.get("toolName").cloned()) {
        seed.insert(LAST_TOOL_NAME, name);
    }
    seed.insert(
        CUMULATIVE_INPUT_TOKENS,
        parent.value(state::TOTAL_INPUT_TOKENS).unwrap_or_else(|| Value::from(0)),
    );
    let policy = agent.base_prompt.as_ref().map_or("always", |base| base.cache.word());
    seed.insert(SYSTEM_PROMPT_CACHE_POLICY, Value::from(policy));
    copy(
        parent,
        &mut seed,
        [state::CACHING_DISABLED, state::RECENT_HIT_RATE, state::HISTORY, state::SKILL_HISTORY],
    );
    seed
}

pub(crate) fn output(end: &SubflowEnd) -> Object {
    let mut out = Object::new();
    copy(&end.state, &mut out, [state::CACHE_MARKERS]);
    out
}

/// Computes the markers for the composed slots.
pub(crate) async fn decide_markers_stage(cx: StageCx) -> Result<(), StageError> {
    let (active, history) = (cx.list(state::ACTIVE_INJECTIONS)?, cx.list(state::HISTORY)?);
    let iteration = cx.iteration()?;
    let max = u32::try_from(cx.count(state::MAX_ITERATIONS)?).unwrap_or(u32::MAX);
    let policy = CachePolicyContext {
        iteration,
        iterations_remaining: iterations_remaining(max, iteration),
        user_message: cx.text(state::USER_MESSAGE)?,
        last_tool_name: cx.get(LAST_TOOL_NAME)?.and_then(|name| name.as_shared_str().cloned()),
        cumulative_input_tokens: cx.count(CUMULATIVE_INPUT_TOKENS)?,
    };
    let records = lock(&cx.turn.message_records);
    let markers: Array = decide_markers(&CacheInputs {
        agent: &cx.agent,
        active: &active,
        history: &history,
        delivered: records.delivered(),
        policy: &policy,
    })
    .iter()
    .map(marker_value)
    .collect();
    drop(records);
    cx.set(state::CACHE_MARKERS, markers)
}

/// The gate, first match wins, each rule with its evidence on the record.
pub(crate) async fn gate(cx: StageCx) -> Result<Decision, StageError> {
    let rules = [
        Rule::test(caching_is_off, ids::NO_MARKERS).label("kill switch: caching is off"),
        Rule::test(hit_rate_is_low, ids::NO_MARKERS).label("hit rate: known and below 0.30"),
        Rule::test(skills_churn, ids::NO_MARKERS)
            .label("skill churn: 3 or more skills among the last 5 iterations"),
    ];
    Ok(decide(&cx.scope, &rules, (ids::APPLY_MARKERS, "nothing speaks against caching"))?)
}

fn caching_is_off(scope: &ScopeReader<'_>) -> Result<bool, footprint::error::ScopeError> {
    Ok(scope.value(state::CACHING_DISABLED)?.and_then(|off| off.as_bool()).unwrap_or_default())
}

fn hit_rate_is_low(scope: &ScopeReader<'_>) -> Result<bool, footprint::error::ScopeError> {
    let rate = scope.value(state::RECENT_HIT_RATE)?.and_then(|rate| rate.as_f64());
    Ok(rate.is_some_and(|rate| rate < HIT_RATE_FLOOR))
}

fn skills_churn(scope: &ScopeReader<'_>) -> Result<bool, footprint::error::ScopeError> {
    let history = scope.value(state::SKILL_HISTORY)?.and_then(|list| list.as_array().cloned());
    Ok(history.is_some_and(|history| churns(&history)))
}

/// Whether the last entries name too many skills; an iteration without one has no name.
fn churns(history: &Array) -> bool {
    if history.len() < CHURN_LIMIT {
        return false;
    }
    let mut distinct: Vec<&Value> = Vec::new();
    for skill in
        history.iter_from(history.len().saturating_sub(CHURN_WINDOW)).filter(|skill| !skill.is_null())
    {
        if !distinct.contains(&skill) {
            distinct.push(skill);
        }
    }
    distinct.len() >= CHURN_LIMIT
}

/// Keeps the markers.
pub(crate) async fn apply(_cx: StageCx) -> Result<(), StageError> {
    Ok(())
}

/// Clears them.
pub(crate) async fn skip(cx: StageCx) -> Result<(), StageError> {
    cx.set(state::CACHE_MARKERS, Array::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-103.
    #[test]
    fn three_skills_among_the_last_five_are_churn() {
        let churn = |names: &[Option<&str>]| {
            churns(&names.iter().map(|name| name.map_or(Value::Null, Value::from)).collect())
        };
        let (a, b, c, none) = (Some("a"), Some("b"), Some("c"), None);
        assert!(churn(&[a, b, c]) && churn(&[a, none, b, none, c]) && churn(&[a, a, a, a, b, a, c]));
        assert!(!churn(&[a, b]) && !churn(&[a, b, a, b, a]) && !churn(&[none, none, none]));
        assert!(!churn(&[a, b, c, a, a, a, a]), "what is older than five entries does not count");
    }
}
