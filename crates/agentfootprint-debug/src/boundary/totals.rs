//! What lies inside a range, added up.

use footprint::value::Value;

use super::Boundaries;
use super::range::{Range, RangeKind};
use super::row::{Row, RowKind};

/// Tokens of model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
}

/// What happened inside one range.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// The step at which the range opened.
    pub runtime_stage_id: String,
    /// Its id.
    pub subflow_id: String,
    /// Its rooted path.
    pub subflow_path: Vec<String>,
    /// Its kind of runner, when it is one.
    pub primitive_kind: Option<String>,
    /// What to call it.
    pub label: String,
    /// Tokens of the model calls that answered inside.
    pub tokens: Tokens,
    /// Model calls that began inside.
    pub llm_calls: u64,
    /// Tool calls that began inside.
    pub tool_calls: u64,
    /// Passes: model calls of an agent's loop, or passes of a loop of compositions.
    pub iterations: u64,
    /// When it opened, Unix milliseconds.
    pub started_at_ms: u64,
    /// When it closed; `None` while it is open.
    pub ended_at_ms: Option<u64>,
    /// How long it took; `None` while it is open.
    pub duration_ms: Option<u64>,
}

pub(super) fn of(all: &Boundaries, range: &Range) -> Totals {
    let mut totals = Totals {
        runtime_stage_id: range.runtime_stage_id.clone(),
        subflow_id: range.id.clone(),
        subflow_path: range.path.clone(),
        primitive_kind: range.primitive.clone(),
        label: range.label.clone(),
        tokens: Tokens::default(),
        llm_calls: 0,
        tool_calls: 0,
        iterations: 0,
        started_at_ms: range.started_at_ms,
        ended_at_ms: range.ended_at_ms,
        duration_ms: range.ended_at_ms.map(|end| end.saturating_sub(range.started_at_ms)),
    };
    let last = range.exit.unwrap_or(all.rows.len());
    let rows = all.rows.iter().enumerate().skip(range.entry).take_while(|(at, _)| *at <= last);
    for (_, row) in rows.filter(|(_, row)| inside(range, row)) {
        match row.kind {
            RowKind::LlmStart => totals.llm_calls += 1,
            RowKind::ToolStart => totals.tool_calls += 1,
            RowKind::Loop => totals.iterations += 1,
            RowKind::LlmEnd => {
                let used =
                    |key: &str| row.value.walk(&["usage", key]).and_then(Value::as_u64).unwrap_or_default();
                totals.tokens.input += used("input");
                totals.tokens.output += used("output");
            }
            _ => {}
        }
    }
    totals
}

/// By path prefix; a call is known by its own step and id, since its path is that of its level.
fn inside(range: &Range, row: &Row) -> bool {
    match range.kind {
        RangeKind::Llm => row.runtime_stage_id == range.runtime_stage_id,
        RangeKind::Tool => {
            row.runtime_stage_id == range.runtime_stage_id && row.text("toolCallId") == range.id
        }
        RangeKind::Run | RangeKind::Subflow | RangeKind::Composition => row.path.starts_with(&range.path),
    }
}
