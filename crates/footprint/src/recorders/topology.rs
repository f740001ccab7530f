//! Subflows and branches of a run as a graph (OBS-93).

use std::collections::HashMap;

use super::per_run::{PerRun, close_on_end};
use crate::ids::{RunId, RuntimeStageId, split_stage_id};
use crate::observe::*;
use crate::snapshot::PreferredOperation;
use crate::value::{Object, Str, Value};

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TopologyKind {
    /// A subflow execution.
    Subflow,
    /// A parallel child that was started.
    ForkBranch,
    /// A decider branch that was taken.
    DecisionBranch,
}

impl TopologyKind {
    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Subflow => "subflow",
            Self::ForkBranch => "fork-branch",
            Self::DecisionBranch => "decision-branch",
        }
    }
}

/// One subflow execution or branch.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyNode {
    /// Mount path (`#n` from the first re-entry on), or a synthetic branch id.
    pub id: Str,
    /// What it is.
    pub kind: TopologyKind,
    /// Display name.
    pub name: Str,
    /// The node it is inside of.
    pub parent_id: Option<Str>,
    /// Nesting depth, from 0.
    pub depth: usize,
    /// How it was reached: `root`, `next`, `fork-branch`, `decision-branch` or `loop-iteration`.
    pub incoming_kind: &'static str,
    /// Unix milliseconds.
    pub entered_at: u64,
    /// Unix milliseconds; absent while open.
    pub exited_at: Option<u64>,
    /// Facts about a branch: who decided.
    pub metadata: Option<Value>,
}

/// How one node follows another.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyEdge {
    /// Node before.
    pub from: Str,
    /// Node after.
    pub to: Str,
    /// `next`, `fork-branch`, `decision-branch` or `loop-iteration`.
    pub kind: &'static str,
    /// Unix milliseconds.
    pub at: u64,
}

/// The graph of one run.
#[derive(Clone, Debug, Default)]
pub struct TopologyGraph {
    /// Nodes in order of appearance.
    pub nodes: Vec<TopologyNode>,
    /// Edges in order of appearance.
    pub edges: Vec<TopologyEdge>,
    by_id: HashMap<Str, usize>,
    /// Open execution of each mount path, by mount address.
    open: HashMap<RuntimeStageId, Str>,
    open_path: HashMap<Str, Str>,
    entries: HashMap<Str, u32>,
    last_child: HashMap<Option<Str>, Str>,
    /// Branch nodes waiting for the subflow that realises them, by deciding step and name.
    awaited: HashMap<(RuntimeStageId, Str), Str>,
}

impl TopologyGraph {
    /// The node with this id.
    pub fn node(&self, id: &str) -> Option<&TopologyNode> {
        self.nodes.get(*self.by_id.get(id)?)
    }

    /// Nodes inside a node (`None` = at the top).
    pub fn children(&self, id: Option<&str>) -> Vec<&TopologyNode> {
        self.nodes.iter().filter(|n| n.parent_id.as_deref() == id).collect()
    }

    /// Nodes of one kind.
    pub fn by_kind(&self, kind: TopologyKind) -> Vec<&TopologyNode> {
        self.nodes.iter().filter(|n| n.kind == kind).collect()
    }

    /// All subflow executions.
    pub fn subflow_nodes(&self) -> Vec<&TopologyNode> {
        self.by_kind(TopologyKind::Subflow)
    }

    /// The other parallel children of the fork a node belongs to.
    pub fn parallel_siblings(&self, id: &str) -> Vec<&TopologyNode> {
        let Some(node) = self.node(id).filter(|n| n.kind == TopologyKind::ForkBranch) else { return vec![] };
        let fork = node.metadata.as_ref().and_then(|m| m.get("runtimeStageId"));
        let sibling = |n: &&TopologyNode| {
            n.kind == TopologyKind::ForkBranch
                && n.id != node.id
                && n.metadata.as_ref().and_then(|m| m.get("runtimeStageId")) == fork
        };
        self.nodes.iter().filter(sibling).collect()
    }

    /// The subflow entered last that is still open.
    pub fn active(&self) -> Option<&TopologyNode> {
        self.nodes.iter().rev().find(|n| n.kind == TopologyKind::Subflow && n.exited_at.is_none())
    }

    fn add(&mut self, mut node: TopologyNode) {
        node.depth = node.parent_id.as_deref().and_then(|p| self.node(p)).map_or(0, |p| p.depth + 1);
        self.by_id.insert(node.id.clone(), self.nodes.len());
        self.nodes.push(node);
    }

    fn edge(&mut self, from: Option<Str>, to: &Str, kind: &'static str, at: u64) {
        if let Some(from) = from {
            self.edges.push(TopologyEdge { from, to: to.clone(), kind, at });
        }
    }

    /// The node of the subflow a step runs in.
    fn enclosing(&self, path: Option<&str>) -> Option<Str> {
        self.open_path.get(path?).cloned()
    }

    fn branch(&mut self, cx: &EventCx<'_>, kind: TopologyKind, id: String, name: &Str) {
        let step = &cx.traversal.runtime_stage_id;
        let (id, at) = (Str::from(id), cx.timestamp());
        let parent_id = self.enclosing(step.subflow_path());
        let mut metadata = Object::new();
        metadata.insert("runtimeStageId", step.to_string().into());
        metadata.insert("stageName", Value::from(&cx.traversal.stage_name));
        self.awaited.insert((step.clone(), name.clone()), id.clone());
        self.edge(parent_id.clone(), &id, kind.word(), at);
        self.add(TopologyNode {
            id,
            kind,
            name: name.clone(),
            parent_id,
            depth: 0,
            incoming_kind: kind.word(),
            entered_at: at,
            exited_at: None,
            metadata: Some(Value::Object(metadata)),
        });
    }

    fn enter(&mut self, cx: &EventCx<'_>, path: &Str, name: &Str) {
        let at = cx.timestamp();
        let entered = self.entries.entry(path.clone()).or_default();
        let again = *entered;
        *entered += 1;
        let id: Str = if again == 0 { path.clone() } else { format!("{path}#{again}").into() };
        let realises = cx
            .traversal
            .parent_runtime_stage_id
            .as_ref()
            .and_then(|parent| self.awaited.remove(&(parent.clone(), name.clone())));
        let parent_id = realises.clone().or_else(|| self.enclosing(split_stage_id(path).0));
        let incoming_kind = match realises.as_deref().and_then(|r| self.node(r)) {
            Some(branch) => branch.kind.word(),
            None if again > 0 => "loop-iteration",
            None if self.last_child.contains_key(&parent_id) => "next",
            None => "root",
        };
        let from = if realises.is_some() { realises } else { self.last_child.get(&parent_id).cloned() };
        self.edge(from, &id, if incoming_kind == "root" { "next" } else { incoming_kind }, at);
        self.last_child.insert(parent_id.clone(), id.clone());
        self.open.insert(cx.traversal.runtime_stage_id.clone(), id.clone());
        self.open_path.insert(path.clone(), id.clone());
        self.add(TopologyNode {
            id,
            kind: TopologyKind::Subflow,
            name: name.clone(),
            parent_id,
            depth: 0,
            incoming_kind,
            entered_at: at,
            exited_at: None,
            metadata: None,
        });
    }

    fn leave(&mut self, cx: &EventCx<'_>, path: &Str) {
        let Some(id) = self.open.remove(&cx.traversal.runtime_stage_id) else { return };
        self.open_path.remove(path);
        let mut close = |id: &str| -> Option<Str> {
            let node = self.nodes.get_mut(*self.by_id.get(id)?)?;
            node.exited_at = Some(cx.timestamp());
            node.parent_id.clone()
        };
        // The branch a subflow realises ends with it.
        if let Some(parent) = close(&id)
            && self.node(&parent).is_some_and(|n| n.kind != TopologyKind::Subflow)
            && let Some(branch) = self.by_id.get(&parent).and_then(|at| self.nodes.get_mut(*at))
        {
            branch.exited_at = Some(cx.timestamp());
        }
    }

    fn to_value(&self) -> Value {
        let mut data = Object::new();
        data.insert("nodes", Value::Array(self.nodes.iter().map(node_row).collect()));
        data.insert("edges", Value::Array(self.edges.iter().map(edge_row).collect()));
        data.insert("activeNodeId", self.active().map_or(Value::Null, |n| Value::from(&n.id)));
        data.insert("rootId", self.nodes.first().map_or(Value::Null, |n| Value::from(&n.id)));
        Value::Object(data)
    }
}

fn node_row(node: &TopologyNode) -> Value {
    let mut row = Object::new();
    row.insert("id", Value::from(&node.id));
    row.insert("kind", node.kind.word().into());
    row.insert("name", Value::from(&node.name));
    if let Some(parent) = &node.parent_id {
        row.insert("parentId", Value::from(parent));
    }
    row.insert("depth", node.depth.into());
    row.insert("incomingKind", node.incoming_kind.into());
    row.insert("enteredAt", node.entered_at.into());
    if let Some(at) = node.exited_at {
        row.insert("exitedAt", at.into());
    }
    if let Some(metadata) = &node.metadata {
        row.insert("metadata", metadata.clone());
    }
    Value::Object(row)
}

fn edge_row(edge: &TopologyEdge) -> Value {
    let mut row = Object::new();
    row.insert("from", Value::from(&edge.from));
    row.insert("to", Value::from(&edge.to));
    row.insert("kind", edge.kind.into());
    row.insert("at", edge.at.into());
    Value::Object(row)
}

/// Draws the run: subflow executions, parallel children and taken branches, each where it really was.
#[derive(Debug)]
pub struct Topology {
    id: Str,
    runs: PerRun<TopologyGraph>,
}

impl Default for Topology {
    fn default() -> Self {
        Self::with_id("topology-1")
    }
}

impl Topology {
    /// Under the id `topology-1`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Under this id.
    pub fn with_id(id: impl Into<Str>) -> Self {
        Self { id: id.into(), runs: PerRun::default() }
    }

    /// The graph of a run (`None` = the newest).
    pub fn graph(&self, run: Option<&RunId>) -> TopologyGraph {
        self.runs.read(run, Clone::clone).unwrap_or_default()
    }
}

impl Recorder for Topology {
    fn id(&self) -> &str {
        &self.id
    }

    fn interest(&self) -> Interest {
        Interest::hooks([
            Hook::SubflowEntry,
            Hook::SubflowExit,
            Hook::Fork,
            Hook::Decision,
            Hook::RunEnd,
            Hook::RunFailed,
            Hook::FlowPause,
        ])
    }

    fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
        self.runs.leg(leg);
        Ok(())
    }

    fn on_fork(&self, cx: &EventCx<'_>, e: &ForkEvent) -> HookResult {
        self.runs.with(cx.run_id, |graph| {
            for (i, child) in e.children.iter().enumerate() {
                let id = format!("fork-{}-{i}-{child}", cx.traversal.runtime_stage_id);
                graph.branch(cx, TopologyKind::ForkBranch, id, child);
            }
        });
        Ok(())
    }

    fn on_decision(&self, cx: &EventCx<'_>, e: &DecisionEvent) -> HookResult {
        let id = format!("decision-{}-{}", cx.traversal.runtime_stage_id, e.chosen);
        self.runs.with(cx.run_id, |graph| graph.branch(cx, TopologyKind::DecisionBranch, id, &e.chosen));
        Ok(())
    }

    fn on_subflow_entry(&self, cx: &EventCx<'_>, e: &SubflowEntryEvent) -> HookResult {
        let path = e.subflow_id.as_ref().unwrap_or(&cx.traversal.stage_id);
        self.runs.with(cx.run_id, |graph| graph.enter(cx, path, &e.name));
        Ok(())
    }

    fn on_subflow_exit(&self, cx: &EventCx<'_>, e: &SubflowExitEvent) -> HookResult {
        let path = e.subflow_id.as_ref().unwrap_or(&cx.traversal.stage_id);
        self.runs.with(cx.run_id, |graph| graph.leave(cx, path));
        Ok(())
    }

    close_on_end!(runs);

    fn snapshot(&self, run: &RunId) -> Option<RecorderBundle> {
        Some(RecorderBundle {
            name: "Topology".into(),
            description: Some("Subflows and branches as a graph".into()),
            preferred_operation: Some(PreferredOperation::Translate),
            data: self.runs.read(Some(run), TopologyGraph::to_value)?,
            meta: self.runs.meta(run).map(Value::Object),
        })
    }
}
