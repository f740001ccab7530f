//! One crossing.

use agentfootprint_record::conventions::ids::ROOT_STAGE;
use agentfootprint_record::conventions::{
    is_agent_internal, is_internal_fork, is_internal_loop, without_index,
};
use footprint::value::Value;

/// What was crossed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// The run begins.
    RunEntry,
    /// The run ends, or failed.
    RunExit,
    /// A subflow is entered.
    SubflowEntry,
    /// A subflow is left.
    SubflowExit,
    /// A composition starts.
    CompositionStart,
    /// A composition ends.
    CompositionEnd,
    /// A fork takes a branch.
    ForkBranch,
    /// A decision was made.
    Decision,
    /// A loop goes back.
    Loop,
    /// A model is called.
    LlmStart,
    /// It answered.
    LlmEnd,
    /// A tool is called.
    ToolStart,
    /// Its result is settled.
    ToolEnd,
    /// A piece of context was injected.
    Injected,
    /// A kind this version does not know, kept as written.
    Other(String),
}

impl RowKind {
    fn read(word: &str) -> Self {
        match word {
            "run.entry" => Self::RunEntry,
            "run.exit" => Self::RunExit,
            "subflow.entry" => Self::SubflowEntry,
            "subflow.exit" => Self::SubflowExit,
            "composition.start" => Self::CompositionStart,
            "composition.end" => Self::CompositionEnd,
            "fork.branch" => Self::ForkBranch,
            "decision.branch" => Self::Decision,
            "loop.iteration" => Self::Loop,
            "llm.start" => Self::LlmStart,
            "llm.end" => Self::LlmEnd,
            "tool.start" => Self::ToolStart,
            "tool.end" => Self::ToolEnd,
            "context.injected" => Self::Injected,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The recorded word.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::RunEntry => "run.entry",
            Self::RunExit => "run.exit",
            Self::SubflowEntry => "subflow.entry",
            Self::SubflowExit => "subflow.exit",
            Self::CompositionStart => "composition.start",
            Self::CompositionEnd => "composition.end",
            Self::ForkBranch => "fork.branch",
            Self::Decision => "decision.branch",
            Self::Loop => "loop.iteration",
            Self::LlmStart => "llm.start",
            Self::LlmEnd => "llm.end",
            Self::ToolStart => "tool.start",
            Self::ToolEnd => "tool.end",
            Self::Injected => "context.injected",
            Self::Other(word) => word,
        }
    }

    /// Whether it closes a range.
    #[must_use]
    pub fn is_exit(&self) -> bool {
        matches!(
            self,
            Self::RunExit | Self::SubflowExit | Self::CompositionEnd | Self::LlmEnd | Self::ToolEnd
        )
    }
}

/// One row: what was crossed, where, when, and at which commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was crossed.
    pub kind: RowKind,
    /// The step.
    pub runtime_stage_id: String,
    /// Rooted path of the level it belongs to: `["__root__", …]`.
    pub path: Vec<String>,
    /// Unix milliseconds.
    pub ts: u64,
    /// How many commits there were: the index of the next one.
    pub commit: u64,
    /// The row as recorded.
    pub value: Value,
}

impl Row {
    /// Reads a row leniently. `None` when it is no object with a `type`.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let kind = RowKind::read(value.get("type")?.as_str()?);
        let number = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or_default();
        let runtime_stage_id =
            value.get("runtimeStageId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let path = path(value, &kind, &runtime_stage_id);
        Some(Self {
            kind,
            runtime_stage_id,
            path,
            ts: number("ts"),
            commit: number("commitIdxBefore"),
            value: value.clone(),
        })
    }

    /// How deep it lies: 0 for the run's own level.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.path.len().saturating_sub(1)
    }

    /// A text of the row; empty when there is none.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        self.value.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// A count of the row.
    #[must_use]
    pub fn count(&self, key: &str) -> Option<u64> {
        self.value.get(key).and_then(Value::as_u64)
    }

    /// Whether it is an agent's own machinery (REC-41): marked as such, or known by its id in rows of an older writer.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        if self.value.get("isAgentInternal").and_then(Value::as_bool) == Some(true) {
            return true;
        }
        match self.kind {
            RowKind::SubflowEntry | RowKind::SubflowExit => is_agent_internal(self.text("subflowId")),
            RowKind::Decision => is_agent_internal(&self.runtime_stage_id),
            RowKind::ForkBranch => is_internal_fork(self.text("parentSubflowId")),
            RowKind::Loop => is_internal_loop(self.text("target")),
            _ => false,
        }
    }
}

/// The recorded path, unless the step says that the row lies deeper: an older writer put decisions of a subflow at the root
/// (REC-42).
fn path(value: &Value, kind: &RowKind, step: &str) -> Vec<String> {
    let recorded: Vec<String> = value
        .get("subflowPath")
        .and_then(Value::as_array)
        .map(|path| path.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        .unwrap_or_default();
    let root = || std::iter::once(ROOT_STAGE.to_owned());
    if matches!(kind, RowKind::RunEntry | RowKind::RunExit) {
        return root().collect();
    }
    let (outer, _) = without_index(step).rsplit_once('/').unwrap_or_default();
    let derived: Vec<String> =
        root().chain(outer.split('/').filter(|part| !part.is_empty()).map(str::to_owned)).collect();
    if recorded.len() < derived.len() { derived } else { recorded }
}
