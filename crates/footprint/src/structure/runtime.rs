//! The runtime structure: a chart's structure plus what one run discovered (ENG-59). It is put together when asked for.

use std::collections::{HashMap, HashSet};

use crate::ids::prefixed;
use crate::structure::{NodeType, Structure, StructureBuilder, StructureNode, StructureNodeId, StructureRef};
use crate::value::Str;

/// What a run found out about its chart. All keys are prefixed stage ids.
///
/// ```
/// use footprint::chart::{Chart, Mount, Stage};
/// use footprint::scope::Scope;
/// use footprint::structure::RuntimeFacts;
///
/// let inner = Chart::builder(Stage::new("in", |_: Scope| async { Ok(()) })).build()?;
/// let lazy = inner.clone();
/// let chart = Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) }))
///     .mount(Mount::lazy("deep", move || lazy.clone()))
///     .build()?;
/// let mut facts = RuntimeFacts::new();
/// facts.resolved("deep", inner.structure().clone());
/// let found = facts.apply(chart.structure());
/// assert!(found.find("deep/in").is_some());
/// # Ok::<(), footprint::chart::BuildErrors>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RuntimeFacts {
    resolved: HashMap<Str, Structure>,
    branches: HashMap<Str, Vec<(Str, Str, Structure)>>,
    chains: HashMap<Str, Vec<Structure>>,
    iterations: HashMap<Str, u64>,
}

impl RuntimeFacts {
    /// Nothing found out yet.
    pub fn new() -> RuntimeFacts {
        RuntimeFacts::default()
    }

    /// A lazy mount at this path was resolved to this chart.
    pub fn resolved(&mut self, mount: impl Into<Str>, structure: Structure) {
        self.resolved.insert(mount.into(), structure);
    }

    /// A for-each made a branch: its segment (`review~2`), display name and chart. The same segment again replaces the earlier one.
    pub fn branch(
        &mut self,
        for_each: impl Into<Str>,
        segment: impl Into<Str>,
        name: impl Into<Str>,
        structure: Structure,
    ) {
        let (segment, name) = (segment.into(), name.into());
        let branches = self.branches.entry(for_each.into()).or_default();
        match branches.iter_mut().find(|(known, ..)| *known == segment) {
            Some(known) => *known = (segment, name, structure),
            None => branches.push((segment, name, structure)),
        }
    }

    /// A stage continued with nodes that are not part of the chart.
    pub fn continuation(&mut self, stage: impl Into<Str>, fragment: Structure) {
        let known = self.chains.entry(stage.into()).or_default();
        if !known.contains(&fragment) {
            known.push(fragment);
        }
    }

    /// A node was looped back to this often.
    pub fn iterations(&mut self, stage: impl Into<Str>, count: u64) {
        self.iterations.insert(stage.into(), count);
    }

    /// The structure with these facts in it. Mounted charts without facts stay shared.
    pub fn apply(&self, structure: &Structure) -> Structure {
        if self.resolved.is_empty()
            && self.branches.is_empty()
            && self.chains.is_empty()
            && self.iterations.is_empty()
        {
            return structure.clone();
        }
        Copying {
            facts: self,
            below: self.paths_with_facts(),
            builder: StructureBuilder::new(),
            waiting: Vec::new(),
        }
        .run(structure.root())
    }

    /// Every mount path that has a fact somewhere below it.
    fn paths_with_facts(&self) -> HashSet<&str> {
        let keys = self
            .resolved
            .keys()
            .chain(self.branches.keys())
            .chain(self.chains.keys())
            .chain(self.iterations.keys());
        let mut paths = HashSet::new();
        for key in keys {
            let mut path = &**key;
            while let Some((parent, _)) = path.rsplit_once(crate::ids::PATH_MARK) {
                if !paths.insert(parent) {
                    break;
                }
                path = parent;
            }
        }
        paths
    }
}

struct Copying<'f, 'a> {
    facts: &'f RuntimeFacts,
    below: HashSet<&'f str>,
    builder: StructureBuilder,
    /// Nodes whose fields are copied and whose links are not.
    waiting: Vec<(StructureRef<'a>, StructureNodeId, Str)>,
}

impl<'f: 'a, 'a> Copying<'f, 'a> {
    fn run(mut self, root: StructureRef<'a>) -> Structure {
        self.copy(root, &Str::from(""));
        while let Some((node, copy, path)) = self.waiting.pop() {
            self.links(node, copy, &path);
        }
        self.builder.finish_or_empty()
    }

    fn copy(&mut self, node: StructureRef<'a>, path: &Str) -> StructureNodeId {
        let mut fields = node.node().clone();
        if !fields.is_loop_reference
            && let Some(count) = self.facts.iterations.get(&prefixed(path, &node.id))
        {
            fields.iteration_count = Some(*count);
        }
        let copy = self.builder.add(fields);
        self.waiting.push((node, copy, path.clone()));
        copy
    }

    fn links(&mut self, node: StructureRef<'a>, copy: StructureNodeId, path: &Str) {
        let facts = self.facts;
        if node.has_children() {
            self.builder.open_children(copy);
        }
        for child in node.children() {
            let child = self.copy(child, path);
            self.builder.add_child(copy, child);
        }
        if let Some(next) = node.next() {
            let next = self.copy(next, path);
            self.builder.set_next(copy, next);
        }
        if node.is_loop_reference {
            return;
        }
        let id = prefixed(path, &node.id);
        match (facts.resolved.get(&id), node.shared_subflow(), node.subflow()) {
            (Some(found), ..) | (None, Some(found), _) => self.inner(found, copy, &id),
            (None, None, Some(inner)) => {
                let inner = self.copy(inner, &id);
                self.builder.set_subflow_root(copy, inner);
            }
            (None, None, None) => {}
        }
        for (segment, name, structure) in facts.branches.get(&id).map(Vec::as_slice).unwrap_or_default() {
            let branch = self.builder.add(generated(segment, name));
            self.builder.add_child(copy, branch);
            self.inner(structure, branch, &prefixed(path, segment));
        }
        for (at, fragment) in facts.chains.get(&id).into_iter().flatten().enumerate() {
            self.continuation(node, copy, path, fragment, at == 0);
        }
    }

    /// A returned fork's children are children of the stage; a returned chain follows a stage that nothing else follows, and hangs
    /// below it otherwise.
    fn continuation(
        &mut self,
        node: StructureRef<'a>,
        copy: StructureNodeId,
        path: &Str,
        fragment: &'a Structure,
        first: bool,
    ) {
        let root = fragment.root();
        if root.node().id == node.node().id {
            for child in root.children() {
                let child = self.copy(child, path);
                self.builder.add_child(copy, child);
            }
        } else if first && node.next().is_none() {
            let next = self.copy(root, path);
            self.builder.set_next(copy, next);
        } else {
            let child = self.copy(root, path);
            self.builder.add_child(copy, child);
        }
    }

    /// Mounts an inner chart: shared when no fact lies below it, copied otherwise.
    fn inner(&mut self, structure: &'a Structure, at: StructureNodeId, path: &Str) {
        if self.below.contains(&**path) {
            let inner = self.copy(structure.root(), path);
            self.builder.set_subflow_root(at, inner);
        } else {
            self.builder.set_subflow(at, structure.clone());
        }
    }
}

fn generated(segment: &Str, name: &Str) -> StructureNode {
    StructureNode {
        id: segment.clone(),
        name: name.clone(),
        node_type: NodeType::Subflow,
        is_subflow_root: true,
        subflow_id: Some(segment.clone()),
        subflow_name: Some(name.clone()),
        ..StructureNode::default()
    }
}
