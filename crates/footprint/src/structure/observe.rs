//! Tells the observers of a build what was built, in document order (ENG-50, ENG-51).

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::chart::Chart;
use crate::error::panic_text;
use crate::structure::walk::chain_end;
use crate::structure::{
    DeciderComplete, EdgeAdded, EdgeKind, LoopEdgeAdded, StageAdded, StructureError, StructureRecorder,
    StructureRef, SubflowMounted,
};
use crate::value::Str;

/// Failures kept; one further entry says that there were more.
const ERROR_CAP: usize = 100;

/// Fires every hook for a finished chart and answers the observers' failures.
pub(crate) fn observe(chart: &Chart, observers: &[Arc<dyn StructureRecorder>]) -> Vec<StructureError> {
    let mut telling = Telling { observers, failures: Vec::new(), told: HashSet::new(), held: HashMap::new() };
    telling.chart(chart.structure().root());
    telling.failures
}

struct Telling<'a, 'o> {
    observers: &'o [Arc<dyn StructureRecorder>],
    failures: Vec<StructureError>,
    /// Ids whose `onStageAdded` has fired.
    told: HashSet<&'a str>,
    /// Edges whose target is still to come, by target.
    held: HashMap<&'a str, Vec<EdgeAdded<'a>>>,
}

/// What is left to tell, as a stack: children come between a node and the edges that leave it.
enum Step<'a> {
    Node(StructureRef<'a>),
    Branch { owner: StructureRef<'a>, child: StructureRef<'a> },
    Complete(StructureRef<'a>),
    Leave(StructureRef<'a>),
}

impl<'a> Telling<'a, '_> {
    fn chart(&mut self, root: StructureRef<'a>) {
        let mut waiting = vec![Step::Node(root)];
        while let Some(step) = waiting.pop() {
            match step {
                Step::Node(node) => {
                    self.added(node);
                    waiting.push(Step::Leave(node));
                    if node.has_decider || node.has_selector {
                        waiting.push(Step::Complete(node));
                    }
                    waiting.extend(node.children().rev().map(|child| Step::Branch { owner: node, child }));
                }
                Step::Branch { owner, child } => {
                    // The edge to a child needs the child to be told; `held` releases it then.
                    let decides = owner.has_decider || owner.has_selector;
                    let kind = if decides { EdgeKind::DecisionBranch } else { EdgeKind::ForkBranch };
                    let to = &child.node().id;
                    self.edge(EdgeAdded { from: &owner.node().id, to, kind, label: Some(to) });
                    waiting.push(Step::Node(child));
                }
                Step::Complete(node) => self.complete(node),
                Step::Leave(node) => {
                    if let Some(next) = self.leave(node) {
                        waiting.push(Step::Node(next));
                    }
                }
            }
        }
    }

    fn added(&mut self, node: StructureRef<'a>) {
        let fields = node.node();
        self.tell("onStageAdded", |observer| {
            observer.on_stage_added(&StageAdded {
                stage_id: &fields.id,
                name: &fields.name,
                node_type: fields.node_type.as_str(),
                is_pausable: fields.is_pausable,
                tags: fields.tags.as_deref().unwrap_or_default(),
                spec: node,
            });
        });
        self.told.insert(&fields.id);
        for edge in self.held.remove(&*fields.id).unwrap_or_default() {
            self.edge(edge);
        }
        if fields.is_subflow_root {
            let spec = node.subflow().filter(|_| !fields.is_lazy);
            self.tell("onSubflowMounted", |observer| {
                observer.on_subflow_mounted(&SubflowMounted {
                    subflow_id: &fields.id,
                    subflow_name: fields.subflow_name.as_ref().unwrap_or(&fields.name),
                    root_stage_id: spec.map(|root| &root.node().id),
                    is_lazy: fields.is_lazy,
                    subflow_spec: spec,
                    subflow_path: &fields.id,
                });
            });
        }
    }

    fn complete(&mut self, node: StructureRef<'a>) {
        let fields = node.node();
        self.tell("onDeciderComplete", |observer| {
            observer.on_decider_complete(&DeciderComplete {
                decider: &fields.id,
                node_type: fields.node_type.as_str(),
                branch_ids: fields.branch_ids.as_deref().unwrap_or_default(),
                default_branch: fields.default_branch.as_ref(),
            });
        });
    }

    /// Tells the edges that leave a node for what follows it, and answers what follows.
    fn leave(&mut self, node: StructureRef<'a>) -> Option<StructureRef<'a>> {
        let from = &node.node().id;
        let next = node.next()?;
        let to = &next.node().id;
        if next.is_loop_reference {
            self.tell("onLoopEdgeAdded", |observer| observer.on_loop_edge_added(&LoopEdgeAdded { from, to }));
            return None;
        }
        if node.children().len() == 0 {
            self.edge(EdgeAdded { from, to, kind: EdgeKind::Next, label: None });
            return Some(next);
        }
        // Fan-in: the children lead on, the parent does not (ENG-51).
        for child in node.children() {
            if let Some(end) = chain_end(child) {
                let to = child.node().converge_at.as_ref().unwrap_or(to);
                self.edge(EdgeAdded { from: &end.node().id, to, kind: EdgeKind::Next, label: None });
            }
        }
        Some(next)
    }

    fn edge(&mut self, edge: EdgeAdded<'a>) {
        if self.told.contains(&**edge.to) {
            self.tell("onEdgeAdded", |observer| observer.on_edge_added(&edge));
        } else {
            self.held.entry(&**edge.to).or_default().push(edge);
        }
    }

    fn tell(&mut self, method: &str, call: impl Fn(&dyn StructureRecorder)) {
        for observer in self.observers {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| call(&**observer))) {
                self.failed(&**observer, method, panic_text(&*panic));
            }
        }
    }

    fn failed(&mut self, observer: &dyn StructureRecorder, method: &str, message: String) {
        if self.failures.len() < ERROR_CAP {
            let recorder_id = catch_unwind(AssertUnwindSafe(|| Str::from(observer.id())))
                .unwrap_or_else(|_| Str::from("?"));
            self.failures.push(StructureError { recorder_id, method: Str::from(method), message });
        } else if self.failures.len() == ERROR_CAP {
            self.failures.push(StructureError {
                recorder_id: Str::from("__truncated__"),
                method: Str::from(method),
                message: format!("more than {ERROR_CAP} failures; the rest is not listed"),
            });
        }
    }
}
