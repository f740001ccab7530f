//! A structure as a flat sequence of stages, edges, loops and mounts (ENG-53).

use crate::ids::prefixed;
use crate::structure::{EdgeKind, NodeType, StructureNode, StructureRef};
use crate::value::Str;

/// One thing a walk meets. Ids carry the path of the mounts they are in, so they join to run addresses (ENG-47).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StructureItem<'a> {
    /// The nodes of a mounted chart follow, up to its last one.
    SubflowStart {
        /// Path of the mount.
        path: Str,
    },
    /// A node.
    Stage {
        /// Prefixed id.
        id: Str,
        /// Path of the mount it is in, `""` at the top.
        path: Str,
        /// Its fields.
        node: &'a StructureNode,
    },
    /// A plain edge. Fan-outs lead from each branch to the join; a decider leads there itself.
    Edge {
        /// Prefixed id.
        from: Str,
        /// Prefixed id.
        to: Str,
        /// What the edge means.
        kind: EdgeKind,
        /// Branch id on branch edges.
        label: Option<Str>,
    },
    /// A loop edge.
    Loop {
        /// Prefixed id of the node that loops.
        from: Str,
        /// Prefixed id of the node walked again.
        to: Str,
    },
    /// A mount; with `recurse` its nodes follow.
    Subflow {
        /// Path of the mount: its prefixed id.
        path: Str,
        /// Display name.
        name: Str,
        /// Local id of the mounted chart's first node; absent for a lazy mount that is not resolved.
        root: Option<Str>,
    },
}

/// Walks a structure from a node, whose ids are taken to lie below `path` (`""` at the top). With `recurse`, mounted charts are
/// walked where they are mounted.
///
/// ```
/// use footprint::chart::{Chart, Stage};
/// use footprint::scope::Scope;
/// use footprint::structure::{StructureItem, walk_structure};
///
/// let chart = Chart::builder(Stage::new("a", |_: Scope| async { Ok(()) }))
///     .then(Stage::new("b", |_: Scope| async { Ok(()) }))
///     .build()?;
/// let edges = walk_structure(chart.structure().root(), "", true)
///     .filter(|item| matches!(item, StructureItem::Edge { .. }))
///     .count();
/// assert_eq!(edges, 1);
/// # Ok::<(), footprint::chart::BuildErrors>(())
/// ```
pub fn walk_structure<'a>(from: StructureRef<'a>, path: &str, recurse: bool) -> StructureWalk<'a> {
    StructureWalk { recurse, waiting: vec![Step::Visit(from, Str::from(path))] }
}

/// Iterator made by [`walk_structure`]. It keeps its own stack.
#[derive(Debug)]
pub struct StructureWalk<'a> {
    recurse: bool,
    waiting: Vec<Step<'a>>,
}

#[derive(Debug)]
enum Step<'a> {
    Visit(StructureRef<'a>, Str),
    Give(StructureItem<'a>),
}

impl<'a> Iterator for StructureWalk<'a> {
    type Item = StructureItem<'a>;

    fn next(&mut self) -> Option<StructureItem<'a>> {
        match self.waiting.pop()? {
            Step::Give(item) => Some(item),
            Step::Visit(node, path) => {
                let id = prefixed(&path, &node.id);
                let first = self.waiting.len();
                self.expand(node, &path, &id);
                // Collected in order, taken from the end.
                self.waiting.get_mut(first..)?.reverse();
                Some(StructureItem::Stage { id, path, node: node.node() })
            }
        }
    }
}

impl<'a> StructureWalk<'a> {
    fn expand(&mut self, node: StructureRef<'a>, path: &Str, id: &Str) {
        self.subflow(node, id);
        let decides = node.has_decider || node.has_selector;
        let kind = if decides { EdgeKind::DecisionBranch } else { EdgeKind::ForkBranch };
        for child in node.children() {
            let label = Some(child.node().id.clone());
            self.give(StructureItem::Edge { from: id.clone(), to: prefixed(path, &child.id), kind, label });
            self.waiting.push(Step::Visit(child, path.clone()));
        }
        let Some(next) = node.next() else { return };
        let to = prefixed(path, &next.id);
        if next.is_loop_reference || next.node_type == NodeType::Loop {
            self.give(StructureItem::Loop { from: id.clone(), to });
            return;
        }
        let fans_in = node.children().len() > 0 && !node.has_decider;
        if fans_in {
            for child in node.children() {
                if let Some(end) = chain_end(child) {
                    let to =
                        child.node().converge_at.as_ref().map_or_else(|| to.clone(), |at| prefixed(path, at));
                    self.give(StructureItem::Edge {
                        from: prefixed(path, &end.id),
                        to,
                        kind: EdgeKind::Next,
                        label: None,
                    });
                }
            }
        } else {
            self.give(StructureItem::Edge { from: id.clone(), to, kind: EdgeKind::Next, label: None });
        }
        self.waiting.push(Step::Visit(next, path.clone()));
    }

    fn subflow(&mut self, node: StructureRef<'a>, id: &Str) {
        let inner = node.subflow();
        if !node.is_subflow_root && inner.is_none() {
            return;
        }
        let name = node.subflow_name.clone().unwrap_or_else(|| node.name.clone());
        let root = inner.map(|inner| inner.node().id.clone());
        self.give(StructureItem::Subflow { path: id.clone(), name, root });
        if let (true, Some(inner)) = (self.recurse, inner) {
            self.give(StructureItem::SubflowStart { path: id.clone() });
            self.waiting.push(Step::Visit(inner, id.clone()));
        }
    }

    fn give(&mut self, item: StructureItem<'a>) {
        self.waiting.push(Step::Give(item));
    }
}

/// The last node of a branch's chain; `None` when it ends in a loop.
pub(super) fn chain_end(first: StructureRef<'_>) -> Option<StructureRef<'_>> {
    let mut at = first;
    while let Some(next) = at.next() {
        if next.is_loop_reference {
            return None;
        }
        at = next;
    }
    Some(at)
}
