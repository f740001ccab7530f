//! What a rule sees.

use std::collections::BTreeMap;

use agentfootprint_record::events::words::JudgeStage;
use footprint::value::Str;

use super::rules::{Post, Rule};
use crate::llm::{CircuitState, ErrorKind, LlmError, LlmRequest, LlmResponse};

/// An answer that does not meet the declared form.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ValidationFailure {
    /// What is wrong.
    pub message: String,
    /// Where, as a dotted path.
    pub path: Option<String>,
    /// Which step of the judge found it.
    pub stage: JudgeStage,
    /// The answer as it came.
    pub raw_output: Str,
}

/// One pass of the gate, as its rules see it: read only.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReliabilityScope<'a> {
    /// The request of this pass, with the feedback so far.
    pub request: &'a LlmRequest,
    /// How many providers the gate has; 1 when it asks the agent's own.
    pub providers_count: usize,
    /// Whether there is a fallback.
    pub has_fallback: bool,
    /// Number of the pass, from 1; passes that a breaker rejected count.
    pub attempt: u32,
    /// Position of the provider in the list.
    pub provider_idx: usize,
    /// Its name.
    pub current_provider: &'a str,
    /// Whether another provider follows.
    pub can_switch_provider: bool,
    /// The answer, if one came. Before the call there is none.
    pub response: Option<&'a LlmResponse>,
    /// The failure, if the call failed.
    pub error: Option<&'a LlmError>,
    /// The failure's kind; `ok` when there is none.
    pub error_kind: ErrorKind,
    /// How long the call took, in milliseconds.
    pub latency_ms: u64,
    /// Why the answer does not meet the declared form.
    pub validation_error: Option<&'a ValidationFailure>,
    /// All such failures of this visit, oldest first, this one included.
    pub validation_error_history: &'a [ValidationFailure],
    /// Real calls per provider in this visit.
    pub attempts_per_provider: &'a BTreeMap<Str, u32>,
    /// The breakers, by provider; those that never were used are missing.
    pub breaker_states: &'a BTreeMap<Str, CircuitState>,
    /// What the turn cost so far, in US dollars; `None` without a pricing table.
    pub cumulative_cost_usd: Option<f64>,
    /// Input tokens of the turn so far.
    pub cumulative_input_tokens: u64,
    /// Output tokens of the turn so far.
    pub cumulative_output_tokens: u64,
}

/// Whether the last `n` answers of this visit failed in the same way: the same message at the same place.
pub fn last_n_validation_errors_match(scope: &ReliabilityScope<'_>, n: usize) -> bool {
    let history = scope.validation_error_history;
    let Some(last) = history.len().checked_sub(n.max(1)).and_then(|from| history.get(from..)) else {
        return false;
    };
    last.iter()
        .all(|one| last.first().is_some_and(|first| one.message == first.message && one.path == first.path))
}

/// Gives up, as `schema-stuck-loop`, when two answers in a row failed in the same way: the model does not get further.
pub fn default_stuck_loop_rule() -> Rule<Post> {
    Rule::when(
        |scope| scope.validation_error.is_some() && last_n_validation_errors_match(scope, 2),
        Post::FailFast,
        "schema-stuck-loop",
    )
    .label("two answers in a row fail in the same way")
}
