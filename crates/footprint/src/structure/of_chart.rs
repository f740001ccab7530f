//! A chart's structure, made when it is first asked for and kept with the chart.

use crate::chart::{Body, Chart, Edge, MountedChart, Node, NodeKind};
use crate::structure::{NodeType, Structure, StructureBuilder, StructureNode, StructureNodeId};
use crate::value::Str;

impl Chart {
    /// The structure of this chart and of every chart it mounts.
    pub fn structure(&self) -> &Structure {
        if let Some(ready) = self.structure_cell().get() {
            return ready;
        }
        // Inner charts first, so that depth of nesting costs no stack.
        let mut waiting: Vec<&Chart> = inner_without_structure(self).collect();
        while let Some(chart) = waiting.last().copied() {
            let before = waiting.len();
            if chart.structure_cell().get().is_none() {
                waiting.extend(inner_without_structure(chart));
            }
            if waiting.len() == before {
                chart.structure_cell().get_or_init(|| of_chart(chart));
                waiting.pop();
            }
        }
        self.structure_cell().get_or_init(|| of_chart(self))
    }
}

fn inner_without_structure(chart: &Chart) -> impl Iterator<Item = &Chart> {
    chart.nodes().filter_map(|(_, node)| eager(node)).filter(|inner| inner.structure_cell().get().is_none())
}

fn eager(node: &Node) -> Option<&Chart> {
    match &node.kind {
        NodeKind::Mount(mount) => match &mount.chart {
            MountedChart::Eager(inner) => Some(inner),
            MountedChart::Lazy(_) => None,
        },
        _ => None,
    }
}

/// Precondition: every eagerly mounted chart has its structure.
fn of_chart(chart: &Chart) -> Structure {
    let mut builder = StructureBuilder::new();
    let slots: Vec<StructureNodeId> =
        chart.nodes().map(|(_, node)| builder.add(fields(chart, node))).collect();
    for (idx, node) in chart.nodes() {
        let Some(&slot) = slots.get(idx.position()) else { continue };
        let children: Vec<_> = match &node.kind {
            NodeKind::Fork(fork) => fork.children.clone(),
            NodeKind::Decider(decider) => decider.branches.iter().map(|branch| branch.node).collect(),
            NodeKind::Selector(selector) => selector.branches.iter().map(|branch| branch.node).collect(),
            _ => Vec::new(),
        };
        for child in children {
            if let Some(&child) = slots.get(child.position()) {
                builder.add_child(slot, child);
            }
        }
        if let Some(inner) = eager(node) {
            builder.set_subflow(slot, inner.structure_cell().get_or_init(|| of_chart(inner)).clone());
        }
        match node.next {
            Some(Edge::Next(next)) => {
                if let Some(&next) = slots.get(next.position()) {
                    builder.set_next(slot, next);
                }
            }
            Some(Edge::Loop(target)) => {
                let stub = builder.add(loop_stub(&chart.node(target).id));
                builder.set_next(slot, stub);
            }
            None => {}
        }
    }
    builder.finish_or_empty()
}

fn loop_stub(target: &Str) -> StructureNode {
    StructureNode {
        name: target.clone(),
        id: target.clone(),
        node_type: NodeType::Loop,
        is_loop_reference: true,
        ..StructureNode::default()
    }
}

/// The fields of one chart node, as the structure shows them.
fn fields(chart: &Chart, node: &Node) -> StructureNode {
    let mut shown = StructureNode {
        name: node.name.clone(),
        id: node.id.clone(),
        description: node.description.clone(),
        icon: node.icon.clone(),
        tags: node.tags.as_ref().map(|tags| tags.to_vec()),
        retry_attempts: node.retry.as_ref().map(|retry| u64::from(retry.max_attempts())),
        ..StructureNode::default()
    };
    match &node.kind {
        NodeKind::Stage(body) => body_fields(&mut shown, body),
        NodeKind::Fork(fork) => {
            if let Some(body) = &fork.body {
                body_fields(&mut shown, body);
            }
            shown.node_type = NodeType::Fork;
        }
        NodeKind::Decider(decider) => {
            shown.node_type = NodeType::Decider;
            shown.has_decider = true;
            shown.branch_ids = Some(decider.branches.iter().map(|branch| branch.id.clone()).collect());
            let default = decider.default.filter(|_| decider.default_declared);
            shown.default_branch =
                default.and_then(|at| decider.branches.get(at)).map(|branch| branch.id.clone());
        }
        NodeKind::Selector(selector) => {
            shown.node_type = NodeType::Selector;
            shown.has_selector = true;
            shown.branch_ids = Some(selector.branches.iter().map(|branch| branch.id.clone()).collect());
        }
        NodeKind::Mount(mount) => {
            shown.is_subflow_root = true;
            shown.subflow_id = Some(node.id.clone());
            shown.subflow_name = Some(node.name.clone());
            shown.is_lazy = matches!(mount.chart, MountedChart::Lazy(_));
            shown.converge_at = mount.converge_at.clone();
        }
        NodeKind::ForEach(_) => {
            shown.node_type = NodeType::Fork;
            shown.is_dynamic_parallel = true;
        }
    }
    if let Some(Edge::Loop(target)) = node.next {
        shown.loop_target = Some(chart.node(target).id.clone());
    }
    if let Some(parent) = node.parent.map(|parent| chart.node(parent))
        && matches!(parent.kind, NodeKind::Fork(_))
    {
        shown.is_parallel_child = true;
        shown.parallel_group_id = Some(parent.id.clone());
    }
    shown
}

fn body_fields(shown: &mut StructureNode, body: &Body) {
    match body {
        Body::Plain { .. } => {}
        Body::Streaming { stream_id, .. } => {
            shown.node_type = NodeType::Streaming;
            shown.is_streaming = true;
            shown.stream_id = Some(stream_id.clone());
        }
        Body::Pausable { .. } => shown.is_pausable = true,
    }
}
