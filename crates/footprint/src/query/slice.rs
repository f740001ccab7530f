//! The step slice: what led to a step (OBS-155…164).

use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::hash::FastMap;
use super::lookup::ReadKey;
use super::notes::add;
use super::{
    ControlSource, EdgeAttribution, LogView, Note, NoteCode, QueryError, ReadSource, SliceOptions, StateKey,
};
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::state::Untracked;
use crate::value::Str;

/// A node's place in its [`Slice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SliceNodeId(pub u32);

/// Why one step depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// It read what the other wrote.
    Data,
    /// The other decided that it runs.
    Control,
}

impl EdgeKind {
    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Control => "control",
        }
    }
}

/// One dependency of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceEdge {
    /// The step depended on.
    pub parent: SliceNodeId,
    /// Why.
    pub kind: EdgeKind,
    /// The key read, or the label of the decision.
    pub key: Option<Str>,
    /// The weight a caller gave; 1 by default.
    pub weight: f64,
}

/// A mount whose inner log is in the recording: a tool can go on there (OBS-169).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descend {
    /// The mount's address.
    pub mount: RuntimeStageId,
    /// Its subflow path.
    pub subflow_id: Str,
}

/// One step of a slice.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceNode {
    /// The step.
    pub runtime_stage_id: RuntimeStageId,
    /// Prefixed stage id.
    pub stage_id: Str,
    /// Stage name as recorded.
    pub stage_name: Str,
    /// The step's first commit.
    pub commit_idx: CommitIdx,
    /// Distinct paths the step wrote, with dots, in order of first touch.
    pub keys_written: Vec<Str>,
    /// The first data key that led here; none for the start and for deciders.
    pub linked_by: Option<Str>,
    /// Distance from the start when it was found.
    pub depth: usize,
    /// The steps it depends on, each once.
    pub parents: Vec<SliceNodeId>,
    /// Its dependencies, one per step, kind and key.
    pub parent_edges: Vec<SliceEdge>,
    /// Sources it consumed that no edge shows.
    pub incomplete_sources: Untracked,
    /// Set when this is a mount whose inside can be looked into.
    pub descend: Option<Descend>,
}

/// What limits cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truncated {
    /// Dependencies of steps at the depth limit were left out.
    pub by_depth: bool,
    /// Steps beyond the node limit were left out.
    pub by_nodes: bool,
}

/// Steps and dependencies: a directed graph without cycles, each step once, in order of discovery. Node 0 is the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    pub(super) nodes: Vec<SliceNode>,
    /// What limits cut; absent when complete.
    pub truncated: Option<Truncated>,
    /// What the answer must say about itself.
    pub notes: Vec<Note>,
    /// Where control edges come from.
    pub control: ControlSource,
}

impl Slice {
    /// The start.
    pub fn root(&self) -> Option<&SliceNode> {
        self.nodes.first()
    }

    /// The node with this id.
    pub fn get(&self, id: SliceNodeId) -> Option<&SliceNode> {
        self.nodes.get(id.0 as usize)
    }

    /// The node of a step.
    pub fn find(&self, step: &RuntimeStageId) -> Option<&SliceNode> {
        self.nodes.iter().find(|n| n.runtime_stage_id == *step)
    }

    /// All steps, each once, breadth-first from the start.
    pub fn flatten(&self) -> &[SliceNode] {
        &self.nodes
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

impl LogView {
    /// What led to a step: for each key it read, the last writer before it, and so on backwards; with control edges, the decisions that let
    /// the steps run.
    ///
    /// # Errors
    /// [`QueryError::StepNotInLog`], [`QueryError::InvalidLimit`].
    pub fn causal_chain(&self, step: &RuntimeStageId, options: &SliceOptions) -> Result<Slice, QueryError> {
        options.check()?;
        let start = self.step_or_error(step)?;
        let first = self.index().step(start).map_or(0, |s| s.first);
        Ok(Slicer::new(self, options).run(start, first))
    }

    pub(super) fn slice_from(&self, commit: u32, options: &SliceOptions) -> Option<Slice> {
        let start = self.index().step_at(commit)?;
        Some(Slicer::new(self, options).run(start, commit))
    }

    /// Symbols of the keys a step read, by this source; `None` when nothing is recorded for it.
    pub(super) fn reads_by(&self, source: &ReadSource, step: u32) -> Option<Vec<Str>> {
        let id = self.step_id(step)?;
        match source {
            ReadSource::ExecutionTree => {
                let index = self.index();
                Some(index.reads_of(step).iter().map(|s| Str::from(index.name(*s))).collect())
            }
            ReadSource::Map(map) => map.get(id).cloned(),
            ReadSource::Custom(of) => catch_unwind(AssertUnwindSafe(|| of(id))).ok().flatten(),
        }
    }
}

/// Reads still to be followed at a node.
enum Reads {
    All,
    Keys(Vec<u32>),
}

struct Work {
    node: u32,
    reads: Reads,
    /// Control edges are drawn at a node's first expansion only.
    first: bool,
}

struct Slicer<'a> {
    view: &'a LogView,
    options: &'a SliceOptions,
    nodes: Vec<SliceNode>,
    /// Step of each node, and reads it was expanded with.
    steps: Vec<u32>,
    followed: Vec<HashSet<u32>>,
    by_step: FastMap<u32, u32>,
    edges: HashSet<(u32, u32, EdgeKind, Option<Str>)>,
    work: VecDeque<Work>,
    truncated: Truncated,
    notes: Vec<Note>,
}

impl<'a> Slicer<'a> {
    fn new(view: &'a LogView, options: &'a SliceOptions) -> Self {
        Self {
            view,
            options,
            nodes: Vec::new(),
            steps: Vec::new(),
            followed: Vec::new(),
            by_step: FastMap::default(),
            edges: HashSet::new(),
            work: VecDeque::new(),
            truncated: Truncated::default(),
            notes: Vec::new(),
        }
    }

    fn run(mut self, start: u32, commit: u32) -> Slice {
        let per_write = self.options.edge_attribution == EdgeAttribution::PerWrite;
        let reads = match &self.options.root_link_keys {
            Some(keys) if per_write => self.reads_of_keys(commit, keys),
            _ => Reads::All,
        };
        if let Some(root) = self.node(start, 0, None) {
            self.work.push_back(Work { node: root, reads, first: true });
        }
        while let Some(work) = self.work.pop_front() {
            self.expand(work);
        }
        self.finish()
    }

    fn finish(mut self) -> Slice {
        let cut = self.truncated.by_depth || self.truncated.by_nodes;
        if cut {
            add(&mut self.notes, Note::of(NoteCode::Truncated));
        }
        if self.nodes.iter().any(|n| !n.incomplete_sources.is_empty()) {
            add(&mut self.notes, Note::of(NoteCode::IncompleteSources));
        }
        let index = self.view.index();
        if matches!(self.options.reads, ReadSource::ExecutionTree)
            && !index.reads_recorded
            && index.steps.len() > 1
        {
            add(&mut self.notes, Note::of(NoteCode::ReadsNotRecorded));
        }
        let control = self.view.control_source();
        if self.options.control && control == ControlSource::Unavailable {
            add(&mut self.notes, Note::of(NoteCode::ControlUnavailable));
        }
        if !self.view.parts.log.gaps().is_empty() {
            add(&mut self.notes, Note::of(NoteCode::LogGap));
        }
        Slice { nodes: self.nodes, truncated: cut.then_some(self.truncated), notes: self.notes, control }
    }

    /// The node of a step, made if there is room.
    fn node(&mut self, step: u32, depth: usize, linked_by: Option<Str>) -> Option<u32> {
        if let Some(node) = self.by_step.get(&step) {
            return Some(*node);
        }
        if self.nodes.len() >= self.options.max_nodes {
            self.truncated.by_nodes = true;
            return None;
        }
        let first = self.view.index().step(step)?.first;
        let bundle = self.view.bundle(first)?;
        let id = &bundle.runtime_stage_id;
        let descend = self.view.mounts.get(id);
        let node = self.nodes.len() as u32;
        self.nodes.push(SliceNode {
            runtime_stage_id: id.clone(),
            stage_id: bundle.stage_id.clone(),
            stage_name: bundle.stage.clone(),
            commit_idx: CommitIdx(first as usize),
            keys_written: self.view.written_by(step).into_iter().map(|p| p.to_string().into()).collect(),
            linked_by,
            depth,
            parents: Vec::new(),
            parent_edges: Vec::new(),
            incomplete_sources: self.view.untracked_of(step),
            descend: descend.map(|path| Descend { mount: id.clone(), subflow_id: path.clone() }),
        });
        self.steps.push(step);
        self.followed.push(HashSet::new());
        self.by_step.insert(step, node);
        Some(node)
    }

    /// The reads that came before the writes of these keys in a commit; all reads of the step when rows do not say.
    fn reads_of_keys(&self, commit: u32, keys: &[StateKey]) -> Reads {
        let index = self.view.index();
        let mut symbols = Vec::new();
        for key in keys {
            let Some(key) = ReadKey::of(index, key) else { continue };
            match self.reads_before(commit, &key) {
                Some(mut reads) => symbols.append(&mut reads),
                None => return Reads::All,
            }
        }
        Reads::Keys(symbols)
    }

    fn reads_before(&self, commit: u32, key: &ReadKey) -> Option<Vec<u32>> {
        let index = self.view.index();
        let mut symbols = Vec::new();
        for row in self.view.rows_of(commit, key) {
            let keys = row.read_keys.as_ref()?;
            symbols.extend(keys.iter().filter_map(|k| index.symbol_of(k)));
        }
        Some(symbols)
    }

    fn all_reads(&self, step: u32) -> Vec<u32> {
        let index = self.view.index();
        if matches!(self.options.reads, ReadSource::ExecutionTree) {
            return index.reads_of(step).to_vec();
        }
        let outside = self.view.reads_by(&self.options.reads, step).unwrap_or_default();
        let rows = index.step(step).into_iter().flat_map(|s| s.commits());
        let rows = rows.filter_map(|c| self.view.bundle(c)).flat_map(|b| b.rows.iter());
        let rows = rows.filter_map(|r| r.read_keys.as_ref()).flat_map(|k| k.iter());
        outside.iter().chain(rows).filter_map(|k| index.symbol_of(k)).collect()
    }

    fn expand(&mut self, work: Work) {
        let Work { node, reads, first } = work;
        let (Some(step), Some(depth)) =
            (self.steps.get(node as usize).copied(), self.nodes.get(node as usize).map(|n| n.depth))
        else {
            return;
        };
        let Some(before) = self.view.index().step(step).map(|s| s.first) else { return };
        let wanted = match reads {
            Reads::All => self.all_reads(step),
            Reads::Keys(keys) => keys,
        };
        let at_horizon = depth >= self.options.max_depth;
        for symbol in wanted {
            if !self.followed.get_mut(node as usize).is_some_and(|f| f.insert(symbol)) {
                continue;
            }
            let Some((key, writer)) = self.view.resolve_read(step, symbol, before) else { continue };
            if at_horizon {
                self.truncated.by_depth = true;
                return;
            }
            self.link_data(node, depth, &key, writer);
        }
        if first && self.options.control {
            self.link_control(node, depth, step, before, at_horizon);
        }
    }

    fn link_data(&mut self, node: u32, depth: usize, key: &ReadKey, writer: u32) {
        let index = self.view.index();
        let Some(parent_step) = index.step_at(writer) else { return };
        let label = key.label(index);
        let fresh = !self.by_step.contains_key(&parent_step);
        let Some(parent) = self.node(parent_step, depth + 1, Some(label.clone())) else { return };
        if parent == node {
            return;
        }
        if let Some(linked) = self.nodes.get_mut(parent as usize).filter(|n| n.depth > 0) {
            linked.linked_by.get_or_insert_with(|| label.clone());
        }
        self.edge(node, parent, EdgeKind::Data, Some(label));
        if self.view.rows_of(writer, key).all(|r| is_below(r, key)) {
            add(&mut self.notes, Note::of(NoteCode::NestedRows));
        }
        let per_write = self.options.edge_attribution == EdgeAttribution::PerWrite;
        match (per_write, fresh) {
            (false, true) => self.work.push_back(Work { node: parent, reads: Reads::All, first: true }),
            (false, false) => {}
            (true, _) => {
                let reads = self.reads_before(writer, key).map_or(Reads::All, Reads::Keys);
                self.work.push_back(Work { node: parent, reads, first: fresh });
            }
        }
    }

    fn link_control(&mut self, node: u32, depth: usize, step: u32, before: u32, at_horizon: bool) {
        let Some(id) = self.view.step_id(step) else { return };
        let Some(governor) = self.view.governor(id) else { return };
        let index = self.view.index();
        let Some(decider) = index.step_of_id(&governor.decider) else { return };
        // A decision is committed before what it lets run; anything else is a malformed record and could close a cycle.
        if decider == step || index.step(decider).is_none_or(|s| s.first >= before) {
            return;
        }
        if at_horizon {
            self.truncated.by_depth = true;
            return;
        }
        let fresh = !self.by_step.contains_key(&decider);
        let Some(parent) = self.node(decider, depth + 1, None) else { return };
        self.edge(node, parent, EdgeKind::Control, governor.label);
        let stage = self.options.edge_attribution == EdgeAttribution::Stage;
        if fresh || !stage {
            // A decider counts with all it read, whatever key else led to it.
            self.work.push_back(Work { node: parent, reads: Reads::All, first: fresh });
        }
    }

    fn edge(&mut self, node: u32, parent: u32, kind: EdgeKind, key: Option<Str>) {
        if !self.edges.insert((node, parent, kind, key.clone())) {
            return;
        }
        let weight = self.weight(node, parent, key.as_deref(), kind);
        let Some(child) = self.nodes.get_mut(node as usize) else { return };
        let id = SliceNodeId(parent);
        if !child.parents.contains(&id) {
            child.parents.push(id);
        }
        child.parent_edges.push(SliceEdge { parent: id, kind, key, weight });
    }

    fn weight(&self, node: u32, parent: u32, key: Option<&str>, kind: EdgeKind) -> f64 {
        let id = |n: u32| self.nodes.get(n as usize).map(|n| &n.runtime_stage_id);
        let (Some(weigh), Some(child), Some(parent)) = (&self.options.weigh, id(node), id(parent)) else {
            return 1.0;
        };
        let weighed = catch_unwind(AssertUnwindSafe(|| weigh(child, parent, key, kind)));
        weighed.ok().flatten().filter(|w| w.is_finite()).unwrap_or(1.0)
    }
}

/// Whether a row is strictly below a key.
fn is_below(row: &crate::state::Row, key: &ReadKey) -> bool {
    let depth = match key {
        ReadKey::Root(_) => 1,
        ReadKey::Nested(key) => key.segments().len(),
    };
    row.path.len() > depth
}
