//! An entry joined with its exit.

use std::collections::HashMap;

use footprint::value::Value;

use super::row::{Row, RowKind};

/// What a range is a range of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RangeKind {
    /// The whole run.
    Run,
    /// One visit of a subflow.
    Subflow,
    /// One composition.
    Composition,
    /// One model call.
    Llm,
    /// One tool call.
    Tool,
}

/// A range of the commit axis, from the crossing in to the crossing out.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// What it is a range of.
    pub kind: RangeKind,
    /// The step at which it opened.
    pub runtime_stage_id: String,
    /// Rooted path of what lies inside; a model or tool call has the path of its level.
    pub path: Vec<String>,
    /// Subflow, composition or tool call id; empty for the run and for model calls.
    pub id: String,
    /// What to call it.
    pub label: String,
    /// `Agent`, `LLMCall`, `Sequence`, `Parallel`, `Conditional` or `Loop`, when it is one.
    pub primitive: Option<String>,
    /// The slot, when it is one.
    pub slot: Option<String>,
    /// Whether it is an agent's own machinery.
    pub internal: bool,
    /// Commits at the entry.
    pub from: u64,
    /// Commits at the exit; `None` when it never closed.
    pub to: Option<u64>,
    /// When it opened, Unix milliseconds.
    pub started_at_ms: u64,
    /// When it closed.
    pub ended_at_ms: Option<u64>,
    /// The failure the run ended with, when it did.
    pub error: Option<Value>,
    /// Index of the entry row.
    pub entry: usize,
    /// Index of the exit row.
    pub exit: Option<usize>,
}

impl Range {
    /// Whether it never closed: the run failed, paused or was dropped inside it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.exit.is_none()
    }

    /// Whether it goes on after commit `commit`.
    pub(super) fn ends_after(&self, commit: u64) -> bool {
        self.to.is_none_or(|to| commit < to)
    }

    fn opened(row: &Row, at: usize, kind: RangeKind) -> Self {
        let text = |key: &str| Some(row.text(key)).filter(|text| !text.is_empty()).map(str::to_owned);
        let (id, label, primitive) = match kind {
            RangeKind::Run => (None, Some("run".to_owned()), None),
            RangeKind::Subflow => (text("subflowId"), text("subflowName"), text("primitiveKind")),
            RangeKind::Composition => (text("compositionId"), text("name"), text("kind")),
            RangeKind::Llm => (None, text("model"), None),
            RangeKind::Tool => (text("toolCallId"), text("toolName"), None),
        };
        let id = id.unwrap_or_default();
        Self {
            kind,
            runtime_stage_id: row.runtime_stage_id.clone(),
            path: row.path.clone(),
            label: label.unwrap_or_else(|| id.clone()),
            id,
            primitive,
            slot: text("slotKind"),
            internal: row.is_internal(),
            from: row.commit,
            to: None,
            started_at_ms: row.ts,
            ended_at_ms: None,
            error: None,
            entry: at,
            exit: None,
        }
    }

    fn close(&mut self, row: &Row, at: usize) {
        self.to = Some(row.commit);
        self.ended_at_ms = Some(row.ts);
        self.exit = Some(at);
        if self.kind == RangeKind::Run {
            self.error = row.value.walk(&["payload", "error"]).cloned();
        }
    }
}

/// What joins an exit with its entry. Compositions are paired by their id — entry and exit are said at different stages —
/// everything else by its step, and tool calls of one step by the id of the call.
type Key = (RangeKind, String, String);

fn key(row: &Row, kind: RangeKind) -> Key {
    let step = row.runtime_stage_id.clone();
    match kind {
        RangeKind::Run => (kind, String::new(), String::new()),
        RangeKind::Composition => (kind, String::new(), row.text("compositionId").to_owned()),
        RangeKind::Tool => (kind, step, row.text("toolCallId").to_owned()),
        RangeKind::Subflow | RangeKind::Llm => (kind, step, String::new()),
    }
}

pub(super) fn join(rows: &[Row]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    let mut open: HashMap<Key, Vec<usize>> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        let (kind, opens) = match row.kind {
            RowKind::RunEntry => (RangeKind::Run, true),
            RowKind::RunExit => (RangeKind::Run, false),
            RowKind::SubflowEntry => (RangeKind::Subflow, true),
            RowKind::SubflowExit => (RangeKind::Subflow, false),
            RowKind::CompositionStart => (RangeKind::Composition, true),
            RowKind::CompositionEnd => (RangeKind::Composition, false),
            RowKind::LlmStart => (RangeKind::Llm, true),
            RowKind::LlmEnd => (RangeKind::Llm, false),
            RowKind::ToolStart => (RangeKind::Tool, true),
            RowKind::ToolEnd => (RangeKind::Tool, false),
            _ => continue,
        };
        let waiting = open.entry(key(row, kind)).or_default();
        if opens {
            waiting.push(ranges.len());
            ranges.push(Range::opened(row, at, kind));
        } else if let Some(range) = waiting.pop().and_then(|range| ranges.get_mut(range)) {
            range.close(row, at);
        }
    }
    ranges
}
