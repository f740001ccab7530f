//! From rows to nodes and edges.

use std::collections::HashMap;

use agentfootprint_record::conventions::ids::PRIMITIVE_KINDS;
use agentfootprint_record::conventions::{is_agent_internal, local_segment};
use footprint::value::Value;

use super::{EdgeKind, NodeKind, NodeTokens, SlotBoundaries, SlotBoundary, StepEdge, StepGraph, StepNode};
use crate::boundary::{Boundaries, Row, RowKind};

/// What is known of one level — an agent, or a composition — while the rows pass.
#[derive(Default)]
struct Level {
    /// Nodes the next one follows.
    tails: Vec<usize>,
    /// Buffered for the next model call of this agent (REC-47).
    injections: Vec<Value>,
    slots: SlotBoundaries,
    calls: u64,
    /// The pass that begins with the next node.
    pass: Option<u64>,
}

struct Fold {
    graph: StepGraph,
    began: u64,
    levels: HashMap<Vec<String>, Level>,
    /// Nodes of subflows under way, by step, with the level they opened.
    open: HashMap<String, (usize, Vec<String>)>,
    /// Model calls under way, by step.
    asking: HashMap<String, usize>,
    /// Tool calls under way, by step and id of the call.
    calling: HashMap<(String, String), usize>,
}

pub(super) fn fold(boundaries: &Boundaries) -> StepGraph {
    let began = boundaries.events().first().map(|row| row.ts).unwrap_or_default();
    let mut fold = Fold {
        graph: StepGraph::default(),
        began,
        levels: HashMap::new(),
        open: HashMap::new(),
        asking: HashMap::new(),
        calling: HashMap::new(),
    };
    boundaries.events().iter().for_each(|row| fold.row(row));
    fold.graph
}

/// The level a path belongs to: slots and machinery are part of their agent.
fn level_of(path: &[String]) -> Vec<String> {
    path.iter().filter(|part| !is_agent_internal(part) && !is_slot(part)).cloned().collect()
}

fn is_slot(part: &str) -> bool {
    agentfootprint_record::conventions::slot_from_subflow_id(part).is_some()
}

impl Fold {
    fn row(&mut self, row: &Row) {
        match row.kind {
            RowKind::SubflowEntry => self.enter(row),
            RowKind::SubflowExit => self.leave(row),
            RowKind::Injected => {
                let level = self.level(row);
                level.slots_seen(row);
                level.injections.push(row.value.clone());
            }
            RowKind::LlmStart => self.ask(row),
            RowKind::LlmEnd => self.answer(row),
            RowKind::ToolStart => self.call(row),
            RowKind::ToolEnd => self.returned(row),
            RowKind::ForkBranch if !row.is_internal() => {
                let child = row.text("childName");
                let id = format!("fork-{}-{child}", row.runtime_stage_id);
                let node = self.node(row, id, NodeKind::ForkBranch, child);
                self.beside(row, node, EdgeKind::ForkBranch);
            }
            RowKind::Decision if !row.is_internal() => {
                let chosen = row.text("chosen");
                let id = format!("decision-{}-{chosen}", row.runtime_stage_id);
                let node = self.node(row, id, NodeKind::DecisionBranch, chosen);
                self.after(&level_of(&row.path), node, EdgeKind::DecisionBranch);
            }
            RowKind::Loop if !row.is_internal() => self.level(row).pass = row.count("iteration"),
            _ => {}
        }
    }

    fn level(&mut self, row: &Row) -> &mut Level {
        self.levels.entry(level_of(&row.path)).or_default()
    }

    fn node(&self, row: &Row, id: String, kind: NodeKind, label: &str) -> StepNode {
        StepNode {
            id,
            kind,
            label: label.to_owned(),
            start_offset_ms: row.ts.saturating_sub(self.began),
            end_offset_ms: None,
            tokens: None,
            tool_name: None,
            llm_model: None,
            subflow_path: row.path.clone(),
            injections: Vec::new(),
            iteration_index: None,
            slot_updated: None,
            is_agent_boundary: false,
            primitive_kind: None,
            is_primitive_boundary: false,
            entry_payload: None,
            exit_payload: None,
            assistant_text: None,
            tool_args: None,
            tool_result: None,
            runtime_stage_id: Some(row.runtime_stage_id.clone()),
            slot_boundaries: None,
        }
    }

    /// Adds a node that follows the tails of its level, and becomes the only tail.
    fn after(&mut self, level: &[String], node: StepNode, kind: EdgeKind) -> usize {
        let at = self.graph.nodes.len();
        let entry = self.levels.entry(level.to_vec()).or_default();
        let tails = std::mem::replace(&mut entry.tails, vec![at]);
        let pass = entry.pass.take();
        self.edges(&tails, &node.id, kind, pass);
        self.graph.nodes.push(node);
        at
    }

    /// Adds a node beside its siblings of the same step: branches of a fork, calls of one batch.
    fn beside(&mut self, row: &Row, node: StepNode, kind: EdgeKind) -> usize {
        let level = level_of(&row.path);
        let at = self.graph.nodes.len();
        let tails = self.levels.get(&level).map(|level| level.tails.clone()).unwrap_or_default();
        let sibling = |tail: &usize| {
            self.graph.nodes.get(*tail).is_some_and(|tail| {
                tail.kind == node.kind && tail.runtime_stage_id.as_deref() == Some(&row.runtime_stage_id)
            })
        };
        let (siblings, before): (Vec<usize>, Vec<usize>) = tails.into_iter().partition(sibling);
        // A later sibling follows what the first one follows.
        let before: Vec<usize> = match siblings.first().and_then(|first| self.graph.nodes.get(*first)) {
            Some(first) => {
                let id = first.id.clone();
                let sources = self.graph.edges.iter().filter(|edge| edge.to == id).map(|edge| &edge.from);
                sources.filter_map(|from| self.graph.nodes.iter().position(|node| node.id == *from)).collect()
            }
            None => before,
        };
        let pass = self.levels.entry(level.clone()).or_default().pass.take();
        self.edges(&before, &node.id, kind, pass);
        self.graph.nodes.push(node);
        self.levels.entry(level).or_default().tails = siblings.into_iter().chain([at]).collect();
        at
    }

    fn edges(&mut self, from: &[usize], to: &str, kind: EdgeKind, pass: Option<u64>) {
        let kind = if pass.is_some() { EdgeKind::LoopIteration } else { kind };
        for from in from.iter().filter_map(|from| self.graph.nodes.get(*from)) {
            let id = format!("{}→{to}", from.id);
            let from = from.id.clone();
            self.graph.edges.push(StepEdge { id, from, to: to.to_owned(), kind, iteration: pass });
        }
    }

    fn enter(&mut self, row: &Row) {
        if let Some(slot) = slot_of(row) {
            let boundary = SlotBoundary {
                runtime_stage_id: row.runtime_stage_id.clone(),
                entry_payload: row.value.get("payload").cloned(),
                exit_payload: None,
            };
            *self.level(row).slots.at(slot) = Some(boundary);
            return;
        }
        if row.is_internal() {
            return;
        }
        let primitive = Some(row.text("primitiveKind")).filter(|kind| PRIMITIVE_KINDS.contains(kind));
        let id = format!("subflow-{}", row.runtime_stage_id);
        let mut node = self.node(row, id, NodeKind::Subflow, row.text("subflowName"));
        node.primitive_kind = primitive.map(str::to_owned);
        node.is_primitive_boundary = primitive.is_some();
        node.is_agent_boundary = primitive == Some("Agent");
        node.entry_payload = row.value.get("payload").cloned();
        let (inner, outer) = (level_of(&row.path), parent(&level_of(&row.path)));
        let at = self.graph.nodes.len();
        let entry = self.levels.entry(outer).or_default();
        let pass = entry.pass.take();
        // In a branch it follows the node of that branch, else whatever came last.
        let local = local_segment(row.text("subflowId")).to_owned();
        let into = |node: &StepNode| match node.kind {
            NodeKind::ForkBranch | NodeKind::DecisionBranch => {
                local_segment(&node.label) == local || node.label == row.text("subflowName")
            }
            _ => false,
        };
        let nodes = &self.graph.nodes;
        let branch = entry.tails.iter().copied().find(|tail| nodes.get(*tail).is_some_and(into));
        let from = match branch {
            Some(branch) => {
                entry.tails.retain(|tail| *tail != branch);
                vec![branch]
            }
            None => std::mem::take(&mut entry.tails),
        };
        self.edges(&from, &node.id, EdgeKind::Next, pass);
        self.graph.nodes.push(node);
        self.levels.insert(inner.clone(), Level { tails: vec![at], ..Level::default() });
        self.open.insert(row.runtime_stage_id.clone(), (at, inner));
    }

    fn leave(&mut self, row: &Row) {
        let payload = row.value.get("payload").cloned();
        if let Some(slot) = slot_of(row) {
            if let Some(boundary) = self.level(row).slots.at(slot) {
                boundary.exit_payload = payload;
            }
            return;
        }
        let Some((at, inner)) = self.open.remove(&row.runtime_stage_id) else { return };
        let ended = row.ts.saturating_sub(self.began);
        if let Some(node) = self.graph.nodes.get_mut(at) {
            node.end_offset_ms = Some(ended);
            node.exit_payload = payload;
        }
        let tails = self.levels.get(&inner).map(|level| level.tails.clone()).unwrap_or_default();
        self.levels.entry(parent(&inner)).or_default().tails.extend(tails);
    }

    fn ask(&mut self, row: &Row) {
        let level = self.level(row);
        level.calls += 1;
        let calls = level.calls;
        let injections = std::mem::take(&mut level.injections);
        let slots = std::mem::take(&mut level.slots);
        let kind =
            if row.text("actorArrow") == "tool→llm" { NodeKind::ToolToLlm } else { NodeKind::UserToLlm };
        let id = format!("step-llm-start-{}-{calls}", row.runtime_stage_id);
        let mut node = self.node(row, id, kind, row.text("model"));
        node.llm_model = Some(row.text("model").to_owned());
        node.iteration_index = Some(calls);
        node.slot_updated = injections.last().and_then(|last| last.get("slot")?.as_str()).map(str::to_owned);
        node.injections = injections;
        node.slot_boundaries = Some(slots).filter(|slots| *slots != SlotBoundaries::default());
        let at = self.after(&level_of(&row.path), node, EdgeKind::Next);
        self.asking.insert(row.runtime_stage_id.clone(), at);
    }

    fn answer(&mut self, row: &Row) {
        let used = |key: &str| row.value.walk(&["usage", key]).and_then(Value::as_u64);
        let tokens = match (used("input"), used("output")) {
            (None, None) => None,
            (input, output) => {
                Some(NodeTokens { input: input.unwrap_or_default(), output: output.unwrap_or_default() })
            }
        };
        let text = row.value.get("content").and_then(Value::as_str).map(str::to_owned);
        let ended = row.ts.saturating_sub(self.began);
        let asked = self.asking.remove(&row.runtime_stage_id);
        let mut calls = None;
        if let Some(node) = asked.and_then(|at| self.graph.nodes.get_mut(at)) {
            node.end_offset_ms = Some(ended);
            node.tokens = tokens;
            node.assistant_text = text.clone();
            calls = node.iteration_index;
        }
        if row.count("toolCallCount").unwrap_or_default() > 0 {
            return;
        }
        let id = format!("step-llm-end-{}-{}", row.runtime_stage_id, calls.unwrap_or_default());
        let mut node = self.node(row, id, NodeKind::LlmToUser, "answer");
        node.end_offset_ms = Some(ended);
        node.iteration_index = calls;
        node.assistant_text = text;
        self.after(&level_of(&row.path), node, EdgeKind::Next);
    }

    fn call(&mut self, row: &Row) {
        let call = row.text("toolCallId");
        let id = format!("step-tool-start-{}-{call}", row.runtime_stage_id);
        let mut node = self.node(row, id, NodeKind::LlmToTool, row.text("toolName"));
        node.tool_name = Some(row.text("toolName").to_owned());
        node.tool_args = row.value.get("args").cloned();
        let at = self.beside(row, node, EdgeKind::Next);
        self.calling.insert((row.runtime_stage_id.clone(), call.to_owned()), at);
    }

    /// By the id of the call within the step: results come in any order (REC-48).
    fn returned(&mut self, row: &Row) {
        let key = (row.runtime_stage_id.clone(), row.text("toolCallId").to_owned());
        let ended = row.ts.saturating_sub(self.began);
        if let Some(node) = self.calling.remove(&key).and_then(|at| self.graph.nodes.get_mut(at)) {
            node.tool_result = row.value.get("result").cloned();
            node.end_offset_ms = Some(ended);
        }
    }
}

impl Level {
    /// A slot that was visited without a boundary of its own is still the step its pieces name.
    fn slots_seen(&mut self, row: &Row) {
        if let Some(slot) = Slot::of(row.text("slot")) {
            let step = row.runtime_stage_id.clone();
            self.slots.at(slot).get_or_insert(SlotBoundary {
                runtime_stage_id: step,
                entry_payload: None,
                exit_payload: None,
            });
        }
    }
}

#[derive(Clone, Copy)]
enum Slot {
    SystemPrompt,
    Messages,
    Tools,
}

impl Slot {
    fn of(word: &str) -> Option<Self> {
        match word {
            "system-prompt" => Some(Self::SystemPrompt),
            "messages" => Some(Self::Messages),
            "tools" => Some(Self::Tools),
            _ => None,
        }
    }
}

impl SlotBoundaries {
    fn at(&mut self, slot: Slot) -> &mut Option<SlotBoundary> {
        match slot {
            Slot::SystemPrompt => &mut self.system_prompt,
            Slot::Messages => &mut self.messages,
            Slot::Tools => &mut self.tools,
        }
    }
}

fn slot_of(row: &Row) -> Option<Slot> {
    Slot::of(row.text("slotKind"))
}

fn parent(level: &[String]) -> Vec<String> {
    level.iter().take(level.len().saturating_sub(1)).cloned().collect()
}
