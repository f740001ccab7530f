//! A run as a graph of what went between user, model and tools, and of the runners it went through (REC §4.3).
//!
//! The graph is a pure fold over boundary rows: it is always derived, never stored, so a live view and a file show the same.
//!
//! ```
//! use agentfootprint_debug::boundary::Boundaries;
//! use agentfootprint_debug::step_graph::{NodeKind, StepGraph};
//! use footprint::value;
//!
//! let rows = value!([
//!     { "type": "run.entry", "runtimeStageId": "__root__#0", "ts": 100 },
//!     { "type": "llm.start", "runtimeStageId": "call-llm#1", "ts": 105, "model": "m", "actorArrow": "user→llm" },
//!     { "type": "llm.end", "runtimeStageId": "call-llm#1", "ts": 109, "content": "hi", "toolCallCount": 0 },
//! ]);
//! let graph = StepGraph::of(&Boundaries::from_rows(&rows));
//! let kinds: Vec<NodeKind> = graph.nodes.iter().map(|node| node.kind).collect();
//! assert_eq!(kinds, [NodeKind::UserToLlm, NodeKind::LlmToUser]);
//! assert_eq!(graph.nodes[0].start_offset_ms, 5);
//! ```

mod fold;
#[cfg(test)]
mod tests;

use footprint::value::Value;
use serde::Serialize;

use crate::boundary::Boundaries;

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum NodeKind {
    /// The model is asked.
    #[serde(rename = "user->llm")]
    UserToLlm,
    /// The model calls a tool.
    #[serde(rename = "llm->tool")]
    LlmToTool,
    /// The model is asked again, with the results.
    #[serde(rename = "tool->llm")]
    ToolToLlm,
    /// The model answers.
    #[serde(rename = "llm->user")]
    LlmToUser,
    /// A subflow was entered.
    #[serde(rename = "subflow")]
    Subflow,
    /// A fork took a branch.
    #[serde(rename = "fork-branch")]
    ForkBranch,
    /// A decision was made.
    #[serde(rename = "decision-branch")]
    DecisionBranch,
}

/// How an edge is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// One after the other.
    Next,
    /// Another pass.
    LoopIteration,
    /// Into a branch.
    ForkBranch,
    /// Into the chosen branch.
    DecisionBranch,
}

/// Tokens of a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NodeTokens {
    /// Read.
    #[serde(rename = "in")]
    pub input: u64,
    /// Written.
    #[serde(rename = "out")]
    pub output: u64,
}

/// One visit of a slot, before the model call it was for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotBoundary {
    /// The step.
    pub runtime_stage_id: String,
    /// What went in, when it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_payload: Option<Value>,
    /// What came out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_payload: Option<Value>,
}

/// The three slots of one model call, as far as they were visited.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotBoundaries {
    /// The system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<SlotBoundary>,
    /// The messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<SlotBoundary>,
    /// The tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<SlotBoundary>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepNode {
    /// `step-llm-start-<step>-<iteration>` and so on: the same for the same run, however often it is derived.
    pub id: String,
    /// What it stands for.
    pub kind: NodeKind,
    /// What to call it.
    pub label: String,
    /// Milliseconds since the run began.
    pub start_offset_ms: u64,
    /// Milliseconds since the run began; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_offset_ms: Option<u64>,
    /// Of a model call that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<NodeTokens>,
    /// Of a tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Of a model call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm_model: Option<String>,
    /// Rooted path of its level.
    pub subflow_path: Vec<String>,
    /// Pieces of context injected for this model call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub injections: Vec<Value>,
    /// Which model call of its agent it is, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration_index: Option<u64>,
    /// The slot the last of the injections went to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot_updated: Option<String>,
    /// Whether it is the entry of an agent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_agent_boundary: bool,
    /// `Agent`, `LLMCall`, `Sequence`, `Parallel`, `Conditional` or `Loop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primitive_kind: Option<String>,
    /// Whether it is the entry of a runner.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_primitive_boundary: bool,
    /// What went into a subflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_payload: Option<Value>,
    /// What came out of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_payload: Option<Value>,
    /// What the model said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assistant_text: Option<String>,
    /// What a tool was called with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_args: Option<Value>,
    /// What it returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_result: Option<Value>,
    /// The step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_stage_id: Option<String>,
    /// The slots composed for this model call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot_boundaries: Option<SlotBoundaries>,
}

/// One edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepEdge {
    /// `<from>→<to>`.
    pub id: String,
    /// The id of the node it leaves.
    pub from: String,
    /// The id of the node it reaches.
    pub to: String,
    /// How it is followed.
    pub kind: EdgeKind,
    /// Which pass, on a loop's edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
}

/// The graph of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StepGraph {
    /// In order of appearance.
    pub nodes: Vec<StepNode>,
    /// In order of appearance.
    pub edges: Vec<StepEdge>,
}

impl StepGraph {
    /// Derives the graph from the rows there are: of a finished run, or of one that goes on.
    #[must_use]
    pub fn of(boundaries: &Boundaries) -> Self {
        fold::fold(boundaries)
    }

    /// The node with an id.
    #[must_use]
    pub fn node(&self, id: &str) -> Option<&StepNode> {
        self.nodes.iter().find(|node| node.id == id)
    }
}
