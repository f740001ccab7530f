//! From declarations to the arena: one pass over the builder's calls, in document order.
//!
//! Problems are collected, never returned early: a chart with three mistakes is refused once, with all three.

use std::sync::Arc;

use crate::chart::branch::BranchNodeValue;
use crate::chart::builder::ChainItem;
use crate::chart::check::Checker;
use crate::chart::stage::{Label, StageBody};
use crate::chart::{
    Body, Branch, BranchNode, BuildError, BuildErrors, Chart, Contract, Decider, DeciderNode, Edge, FanOut,
    ForEach, ForEachNode, ForkChild, ForkNode, Mount, MountNode, Next, NextPlan, Node, NodeIdx, NodeKind,
    Position, Selector, SelectorNode, Stage,
};
use crate::value::Str;

/// Builds a chart from the builder's calls.
pub(crate) fn build(items: Vec<ChainItem>, contract: Option<Contract>) -> Result<Chart, BuildErrors> {
    Lowering::new(Checker::default()).run(items, contract)
}

struct Lowering {
    nodes: Vec<Node>,
    checker: Checker,
    /// Last node of the main chain.
    tail: Option<Tail>,
}

#[derive(Clone)]
struct Tail {
    idx: NodeIdx,
    id: Str,
    /// The loop target that closed the chain, if one did.
    closed_by: Option<Str>,
}

impl Lowering {
    fn new(checker: Checker) -> Lowering {
        Lowering { nodes: Vec::new(), checker, tail: None }
    }

    fn run(mut self, items: Vec<ChainItem>, contract: Option<Contract>) -> Result<Chart, BuildErrors> {
        for item in items {
            self.item(item);
        }
        if let Some(contract) = &contract {
            self.checker.contract(contract);
        }
        let Lowering { mut nodes, checker, .. } = self;
        checker.finish(&mut nodes)?;
        let mut nodes = nodes.into_iter();
        match nodes.next() {
            Some(root) => Ok(Chart::assemble(root, nodes.collect(), contract)),
            // Cannot happen: a builder starts with a root. Said rather than assumed.
            None => Err(BuildErrors(vec![BuildError::NoBranches { owner: Str::from(""), kind: "chart" }])),
        }
    }

    fn item(&mut self, item: ChainItem) {
        match item {
            ChainItem::Stage(stage) => self.stage(stage),
            ChainItem::Decider(decider) => self.decider(decider),
            ChainItem::Selector(selector) => self.selector(selector),
            ChainItem::Mount(mount) => {
                let (label, node) = mount_parts(mount);
                self.chain_node(label, node, Position::Mount);
            }
            ChainItem::ForEach(for_each) => self.for_each(for_each),
            ChainItem::Fork(children, mode) => self.fork(children, mode),
            ChainItem::LoopTo(target) => self.loop_to(target),
        }
    }

    fn stage(&mut self, stage: Stage) {
        let (label, body, retry) = (stage.label, stage.body, stage.retry);
        let idx = self.chain_node(label.clone(), NodeKind::Stage(settle_body(body, &label)), Position::Stage);
        self.set_retry(idx, retry);
    }

    fn decider(&mut self, decider: Decider) {
        let Decider { label, run, branches, default, retry } = decider;
        let id = label.id.clone();
        let kind = NodeKind::Decider(DeciderNode {
            run,
            branches: Vec::new(),
            default: None,
            default_declared: default.is_some(),
        });
        let idx = self.chain_node(label, kind, Position::Decider);
        self.set_retry(idx, retry);
        let built = self.branches(idx, &id, "decider", branches);
        let fallback = self.checker.default_branch(&id, &built, default.as_deref());
        if let Some(NodeKind::Decider(node)) = self.nodes.get_mut(idx.position()).map(|node| &mut node.kind) {
            node.default = fallback;
            node.branches = built;
        }
    }

    fn selector(&mut self, selector: Selector) {
        let Selector { label, run, branches, mode, retry } = selector;
        let id = label.id.clone();
        let kind = NodeKind::Selector(SelectorNode { run, branches: Vec::new(), mode });
        let idx = self.chain_node(label, kind, Position::Selector);
        self.set_retry(idx, retry);
        let built = self.branches(idx, &id, "selector", branches);
        if let Some(NodeKind::Selector(node)) = self.nodes.get_mut(idx.position()).map(|node| &mut node.kind)
        {
            node.branches = built;
        }
    }

    fn branches(
        &mut self,
        owner: NodeIdx,
        owner_id: &Str,
        kind: &'static str,
        branches: Vec<Branch>,
    ) -> Vec<BranchNode> {
        self.checker.branch_ids(owner_id, kind, branches.iter().map(Branch::id));
        let position = if kind == "decider" {
            Position::DeciderBranch(owner_id.clone())
        } else {
            Position::SelectorBranch(owner_id.clone())
        };
        branches
            .into_iter()
            .map(|Branch { node, loop_to }| {
                let (idx, id) = self.child(node, owner, position.clone());
                self.checker.branch_loops(idx, &id, &position, loop_to);
                BranchNode { id, node: idx }
            })
            .collect()
    }

    fn for_each(&mut self, for_each: ForEach) {
        let ForEach { label, items, branch, max_branches, into, mode } = for_each;
        let (max_branches, into) = self.checker.for_each(&label.id, max_branches, into);
        let kind = NodeKind::ForEach(ForEachNode { items, branch, max_branches, into, mode });
        self.chain_node(label, kind, Position::ForEach);
    }

    /// Children hang on the stage before them; after any other node on a generated fork node (ENG-20).
    fn fork(&mut self, children: Vec<ForkChild>, mode: FanOut) {
        let Some(tail) = self.tail.clone() else { return };
        if let Some(target) = &tail.closed_by {
            self.checker.conflict(&tail.id, format!("a loop to `{target}`"), "a fork".to_owned());
        }
        let on_stage =
            matches!(self.nodes.get(tail.idx.position()).map(|node| &node.kind), Some(NodeKind::Stage(_)));
        let (idx, id) = if on_stage && tail.closed_by.is_none() {
            self.become_fork(tail.idx, mode);
            (tail.idx, tail.id)
        } else {
            let id = Str::from(format!("{}-fork", tail.id));
            let kind = NodeKind::Fork(ForkNode { body: None, children: Vec::new(), mode });
            let position = Position::GeneratedFork(tail.id);
            (self.chain_node(Label::new(id.clone()), kind, position), id)
        };
        self.fork_children(idx, &id, children);
    }

    fn fork_children(&mut self, owner: NodeIdx, owner_id: &Str, children: Vec<ForkChild>) {
        self.checker.branch_ids(owner_id, "fork", children.iter().map(child_id));
        let built = children
            .into_iter()
            .map(|ForkChild(child)| self.child(child, owner, Position::ForkChild(owner_id.clone())).0)
            .collect();
        if let Some(NodeKind::Fork(node)) = self.nodes.get_mut(owner.position()).map(|node| &mut node.kind) {
            node.children = built;
        }
    }

    /// The first node of a fragment: it stands for a stage that has been visited already.
    fn carrier(&mut self, source: &Node, kind: NodeKind) {
        self.nodes.push(Node { kind, retry: None, next: None, parent: None, tags: None, ..source.clone() });
    }

    fn become_fork(&mut self, idx: NodeIdx, mode: FanOut) {
        if let Some(node) = self.nodes.get_mut(idx.position())
            && let NodeKind::Stage(body) = &node.kind
        {
            node.kind = NodeKind::Fork(ForkNode { body: Some(body.clone()), children: Vec::new(), mode });
        }
    }

    fn loop_to(&mut self, target: Str) {
        let Some(tail) = &mut self.tail else { return };
        if let Some(earlier) = &tail.closed_by {
            self.checker.conflict(
                &tail.id,
                format!("a loop to `{earlier}`"),
                format!("a loop to `{target}`"),
            );
            return;
        }
        tail.closed_by = Some(target.clone());
        self.checker.chain_loop(tail.idx, &tail.id, target);
    }

    fn child(&mut self, node: BranchNodeValue, owner: NodeIdx, position: Position) -> (NodeIdx, Str) {
        let (label, kind, retry) = match node {
            BranchNodeValue::Stage(stage) => {
                let kind = NodeKind::Stage(settle_body(stage.body, &stage.label));
                (stage.label, kind, stage.retry)
            }
            BranchNodeValue::Mount(mount) => {
                let (label, kind) = mount_parts(mount);
                (label, kind, None)
            }
        };
        let id = label.id.clone();
        let idx = self.push(label, kind, position, Some(owner));
        self.set_retry(idx, retry);
        (idx, id)
    }

    fn chain_node(&mut self, label: Label, kind: NodeKind, position: Position) -> NodeIdx {
        let id = label.id.clone();
        let generated = matches!(position, Position::GeneratedFork(_));
        let idx = self.push(label, kind, position, None);
        self.checker.on_chain(idx, &id, generated);
        if let Some(tail) = self.tail.take() {
            match &tail.closed_by {
                // A fork over a loop has already been reported with its own words.
                Some(_) if generated => {}
                Some(target) => {
                    self.checker.conflict(&tail.id, format!("a loop to `{target}`"), format!("`{id}`"))
                }
                None => {
                    if let Some(node) = self.nodes.get_mut(tail.idx.position()) {
                        node.next = Some(Edge::Next(idx));
                    }
                }
            }
        }
        self.tail = Some(Tail { idx, id, closed_by: None });
        idx
    }

    fn push(&mut self, label: Label, kind: NodeKind, position: Position, parent: Option<NodeIdx>) -> NodeIdx {
        let idx = NodeIdx::at(self.nodes.len());
        if let NodeKind::Mount(MountNode { converge_at: Some(target), .. }) = &kind {
            self.checker.converges(&label.id, &position, target.clone());
        }
        self.checker.node(idx, &label, &kind, position);
        let tags = if label.tags.is_empty() { None } else { Some(Arc::from(label.tags)) };
        self.nodes.push(Node {
            name: label.name.unwrap_or_else(|| label.id.clone()),
            id: label.id,
            description: label.description,
            icon: label.icon,
            tags,
            kind,
            retry: None,
            next: None,
            parent,
        });
        idx
    }

    fn set_retry(&mut self, idx: NodeIdx, retry: Option<crate::chart::Retry>) {
        if let (Some(node), Some(retry)) = (self.nodes.get_mut(idx.position()), retry) {
            self.checker.retry(&node.id, &retry);
            node.retry = Some(retry);
        }
    }
}

fn child_id(child: &ForkChild) -> &str {
    match &child.0 {
        BranchNodeValue::Stage(stage) => stage.id(),
        BranchNodeValue::Mount(mount) => mount.id(),
    }
}

fn settle_body(body: StageBody, label: &Label) -> Body {
    match body {
        StageBody::Ready(body) => body,
        StageBody::Streaming { run, stream_id } => {
            let named = || label.name.clone().unwrap_or_else(|| label.id.clone());
            Body::Streaming { run, stream_id: stream_id.unwrap_or_else(named) }
        }
    }
}

fn mount_parts(mount: Mount) -> (Label, NodeKind) {
    let Mount { label, chart, input, output, array_merge, propagate_break, converge_at } = mount;
    (label, NodeKind::Mount(MountNode { chart, input, output, array_merge, propagate_break, converge_at }))
}

/// Lays out a dynamic continuation: the same lowering, with the running chart's ids taken.
pub(crate) fn plan_next(next: Next, chart: &Chart, from: NodeIdx) -> Result<NextPlan, BuildErrors> {
    let source = chart.node(from);
    let fragment = |items: Vec<ChainItem>| {
        Lowering::new(Checker::for_continuation(chart, source.id.clone())).run(items, None)
    };
    match next {
        Next::Goto(target) => match chart.find(target.local_id()) {
            Some(idx) if chart.node(idx).parent.is_none() => Ok(NextPlan::Goto(idx)),
            found => Err(BuildErrors(vec![crate::chart::check::bad_goto(
                chart,
                source,
                target.local_id(),
                found.is_some(),
            )])),
        },
        Next::Chain(stages) => {
            if stages.is_empty() {
                let owner = source.id.clone();
                return Err(BuildErrors(vec![BuildError::NoBranches { owner, kind: "dynamic chain" }]));
            }
            fragment(stages.into_iter().map(ChainItem::Stage).collect()).map(NextPlan::Chain)
        }
        Next::Mount(mount) => fragment(vec![ChainItem::Mount(*mount)]).map(NextPlan::Mount),
        Next::Fork(children, mode) => {
            let mut lowering = Lowering::new(Checker::for_continuation(chart, source.id.clone()));
            // The carrier of the children stands for the returning stage, so its id is not checked against itself.
            let kind = NodeKind::Fork(ForkNode { body: None, children: Vec::new(), mode });
            lowering.carrier(source, kind);
            lowering.fork_children(NodeIdx::ROOT, &source.id.clone(), children);
            lowering.run(Vec::new(), None).map(NextPlan::Fork)
        }
    }
}
