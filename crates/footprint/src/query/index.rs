//! The index of one log: built once, extended commit by commit, asked by binary search (OBS-144, OBS-145).

use super::hash::FastMap;
use crate::ids::RuntimeStageId;
use crate::snapshot::{CommitLog, LogGap};
use crate::state::Bundle;
use crate::value::{Str, Value};
use crate::verbs::Verb;

/// The node every root key hangs under.
pub(super) const TOP: u32 = 0;
/// No step, no namespace.
pub(super) const NONE: u32 = u32::MAX;

/// One written path, or a prefix of one.
#[derive(Debug, Default)]
pub(super) struct PathNode {
    pub(super) parent: u32,
    pub(super) symbol: u32,
    /// Commits with a row exactly here, ascending, each once.
    pub(super) exact: Vec<u32>,
    /// Commits with a row here or below, ascending, each once.
    pub(super) touched: Vec<u32>,
    /// Commits that fix the whole value here (`set` or `delete`). Kept for root keys only.
    pub(super) totals: Vec<u32>,
    pub(super) children: Vec<u32>,
}

/// One step: all commits of one address. A commit without address is a step of its own.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) first: u32,
    /// Further commits; most steps have none.
    pub(super) more: Vec<u32>,
    /// Namespace of the step's frame ([`NONE`] at the level's root).
    pub(super) namespace: u32,
}

impl Step {
    pub(super) fn commits(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }
}

/// A row of a damaged bundle, as far as it could be made out.
#[derive(Clone, Debug)]
pub(super) struct GapRow {
    pub(super) commit: u32,
    pub(super) root: String,
    pub(super) path: String,
    /// Set when the verb is none of the four.
    pub(super) unknown_verb: Option<String>,
}

/// Where everything of a log is. Positions are `u32`: a log has at most `OpenLimits::max_commits` entries.
#[derive(Debug)]
pub struct LogIndex {
    pub(super) len: u32,
    symbols: FastMap<Str, u32>,
    pub(super) names: Vec<Str>,
    pub(super) nodes: Vec<PathNode>,
    edges: FastMap<(u32, u32), u32>,
    steps_by_id: FastMap<RuntimeStageId, u32>,
    pub(super) steps: Vec<Step>,
    pub(super) step_of: Vec<u32>,
    stages: FastMap<Str, Vec<u32>>,
    pub(super) namespaces: Vec<Vec<Str>>,
    namespace_ids: FastMap<Vec<Str>, u32>,
    /// Reads per step, as symbols: `reads[read_starts[s]..read_starts[s + 1]]`.
    read_starts: Vec<u32>,
    reads: Vec<u32>,
    pub(super) steps_with_reads: u32,
    pub(super) reads_recorded: bool,
    pub(super) gap_rows: Vec<GapRow>,
    pub(super) misnumbered: u32,
    pub(super) rows: u64,
}

impl Default for LogIndex {
    fn default() -> Self {
        Self {
            len: 0,
            symbols: FastMap::default(),
            names: Vec::new(),
            nodes: vec![PathNode { parent: NONE, symbol: NONE, ..PathNode::default() }],
            edges: FastMap::default(),
            steps_by_id: FastMap::default(),
            steps: Vec::new(),
            step_of: Vec::new(),
            stages: FastMap::default(),
            namespaces: Vec::new(),
            namespace_ids: FastMap::default(),
            read_starts: vec![0],
            reads: Vec::new(),
            steps_with_reads: 0,
            reads_recorded: false,
            gap_rows: Vec::new(),
            misnumbered: 0,
            rows: 0,
        }
    }
}

fn push_once(list: &mut Vec<u32>, commit: u32) {
    if list.last() != Some(&commit) {
        list.push(commit);
    }
}

impl LogIndex {
    /// An index of everything a log holds so far; reads are added by [`LogIndex::set_reads`].
    pub(super) fn of(log: &CommitLog) -> Self {
        let mut index = Self::default();
        index.steps_by_id.reserve(log.len());
        index.steps.reserve(log.len());
        index.step_of.reserve(log.len());
        index.extend(log);
        index
    }

    /// Takes up the commits that came since (a live log grows at its end only).
    pub(super) fn extend(&mut self, log: &CommitLog) {
        for (at, bundle) in log.iter().enumerate().skip(self.len as usize) {
            match log.gap(at) {
                Some(gap) => self.push_gap(gap),
                None => self.push(bundle),
            }
        }
    }

    fn push(&mut self, bundle: &Bundle) {
        let commit = self.len;
        self.len += 1;
        self.misnumbered += u32::from(bundle.idx.0 != commit as usize);
        self.push_step(&bundle.runtime_stage_id, commit);
        match self.stages.get_mut(&bundle.stage_id) {
            Some(commits) => commits.push(commit),
            None => {
                self.stages.insert(bundle.stage_id.clone(), vec![commit]);
            }
        }
        self.rows += bundle.rows.len() as u64;
        let mut own_namespace = None;
        for row in &bundle.rows {
            let segments = row.path.segments();
            if own_namespace.is_none() {
                own_namespace = namespace_of_row(segments);
            }
            let mut node = TOP;
            for segment in segments {
                node = self.child(node, segment);
                if let Some(n) = self.nodes.get_mut(node as usize) {
                    push_once(&mut n.touched, commit);
                }
            }
            if let Some(n) = self.nodes.get_mut(node as usize) {
                push_once(&mut n.exact, commit);
                if segments.len() == 1 && matches!(row.verb, Verb::Set | Verb::Delete) {
                    push_once(&mut n.totals, commit);
                }
            }
        }
        if let Some(namespace) = own_namespace {
            let namespace = self.namespace(namespace);
            let step = self.step_of.last().and_then(|s| self.steps.get_mut(*s as usize));
            if let Some(step) = step.filter(|s| s.namespace == NONE) {
                step.namespace = namespace;
            }
        }
    }

    /// A damaged bundle: no step, no writes, but what its rows would have touched is remembered.
    fn push_gap(&mut self, gap: &LogGap) {
        let commit = self.len;
        self.len += 1;
        self.step_of.push(NONE);
        let rows = gap.raw.get("trace").and_then(Value::as_array);
        for row in rows.into_iter().flat_map(|rows| rows.iter()) {
            let Some(path) = row.get("path").and_then(Value::as_str) else { continue };
            let path = crate::state::Path::from_wire(path);
            let word = row.get("verb").and_then(Value::as_str);
            let unknown_verb = word.filter(|w| w.parse::<Verb>().is_err()).map(ToOwned::to_owned);
            let root = path.root_key().unwrap_or_default().to_owned();
            self.gap_rows.push(GapRow { commit, root, path: path.to_string(), unknown_verb });
        }
    }

    fn push_step(&mut self, id: &RuntimeStageId, commit: u32) {
        let next = self.steps.len() as u32;
        let anonymous = id.stage_id().is_empty();
        let step = if anonymous {
            next
        } else {
            match self.steps_by_id.get(id) {
                Some(step) => *step,
                None => {
                    self.steps_by_id.insert(id.clone(), next);
                    next
                }
            }
        };
        if step == next {
            self.steps.push(Step { first: commit, more: Vec::new(), namespace: NONE });
        } else if let Some(known) = self.steps.get_mut(step as usize) {
            known.more.push(commit);
        }
        self.step_of.push(step);
    }

    pub(super) fn symbol(&mut self, name: &Str) -> u32 {
        if let Some(symbol) = self.symbols.get(name) {
            return *symbol;
        }
        let symbol = self.names.len() as u32;
        self.names.push(name.clone());
        self.symbols.insert(name.clone(), symbol);
        symbol
    }

    fn child(&mut self, node: u32, segment: &Str) -> u32 {
        let symbol = self.symbol(segment);
        if let Some(child) = self.edges.get(&(node, symbol)) {
            return *child;
        }
        let child = self.nodes.len() as u32;
        self.nodes.push(PathNode { parent: node, symbol, ..PathNode::default() });
        self.edges.insert((node, symbol), child);
        if let Some(parent) = self.nodes.get_mut(node as usize) {
            parent.children.push(child);
        }
        child
    }

    /// The id of a namespace (segments `runs, a, runs, b, …`).
    pub(super) fn namespace(&mut self, segments: Vec<Str>) -> u32 {
        if let Some(known) = self.namespace_ids.get(&segments) {
            return *known;
        }
        let id = self.namespaces.len() as u32;
        self.namespaces.push(segments.clone());
        self.namespace_ids.insert(segments, id);
        id
    }

    /// Sets what each step read. `of` is asked once per step, in order, and pushes symbols; it returns whether reads are recorded for it.
    pub(super) fn set_reads(&mut self, mut of: impl FnMut(&mut Self, u32, &mut Vec<u32>) -> bool) {
        self.reads.clear();
        self.read_starts.clear();
        self.read_starts.push(0);
        self.steps_with_reads = 0;
        self.reads_recorded = false;
        let mut keys = Vec::new();
        for step in 0..self.steps.len() as u32 {
            keys.clear();
            let recorded = of(self, step, &mut keys);
            self.reads_recorded |= recorded;
            let start = self.reads.len();
            for key in &keys {
                if !self.reads.get(start..).is_some_and(|known| known.contains(key)) {
                    self.reads.push(*key);
                }
            }
            self.steps_with_reads += u32::from(self.reads.len() > start);
            self.read_starts.push(self.reads.len() as u32);
        }
    }

    /// Symbols of the keys a step read.
    pub(super) fn reads_of(&self, step: u32) -> &[u32] {
        let bound = |at: u32| self.read_starts.get(at as usize).map(|s| *s as usize);
        match (bound(step), bound(step + 1)) {
            (Some(from), Some(to)) => self.reads.get(from..to).unwrap_or_default(),
            _ => &[],
        }
    }

    pub(super) fn name(&self, symbol: u32) -> &str {
        self.names.get(symbol as usize).map_or("", |n| n)
    }

    pub(super) fn symbol_of(&self, name: &str) -> Option<u32> {
        self.symbols.get(name).copied()
    }

    pub(super) fn node(&self, node: u32) -> Option<&PathNode> {
        self.nodes.get(node as usize)
    }

    pub(super) fn step(&self, step: u32) -> Option<&Step> {
        self.steps.get(step as usize)
    }

    /// The step a commit belongs to; none for a gap.
    pub(super) fn step_at(&self, commit: u32) -> Option<u32> {
        self.step_of.get(commit as usize).copied().filter(|s| *s != NONE)
    }

    /// The step with this address.
    pub(super) fn step_of_id(&self, id: &RuntimeStageId) -> Option<u32> {
        self.steps_by_id.get(id).copied()
    }

    /// Ascending commits of a stage id.
    pub(super) fn stage_commits(&self, stage_id: &str) -> &[u32] {
        self.stages.get(stage_id).map_or(&[], |c| c)
    }

    /// Follows segments from the top as far as something is written there: the nodes passed, the last one for the longest prefix.
    pub(super) fn descend<S: AsRef<str>>(&self, segments: &[S]) -> Vec<u32> {
        let mut passed = Vec::with_capacity(segments.len());
        let mut node = TOP;
        for segment in segments {
            let symbol = self.symbols.get(segment.as_ref());
            let Some(child) = symbol.and_then(|s| self.edges.get(&(node, *s))) else { break };
            passed.push(*child);
            node = *child;
        }
        passed
    }

    /// The node of a child segment.
    pub(super) fn child_of(&self, node: u32, symbol: u32) -> Option<u32> {
        self.edges.get(&(node, symbol)).copied()
    }

    /// Segments of a node's path.
    pub(super) fn path(&self, mut node: u32) -> Vec<Str> {
        let mut segments = Vec::new();
        while let Some(n) = self.node(node).filter(|n| n.parent != NONE) {
            segments.extend(self.names.get(n.symbol as usize).cloned());
            node = n.parent;
        }
        segments.reverse();
        segments
    }

    /// Root keys in order of first write.
    pub(super) fn roots(&self) -> &[u32] {
        self.node(TOP).map_or(&[], |top| &top.children)
    }
}

/// The namespace a row was written in: the leading `runs, child` pairs of its path.
fn namespace_of_row(segments: &[Str]) -> Option<Vec<Str>> {
    let mut end = 0;
    while segments.len() > end + 2 && segments.get(end).is_some_and(|s| **s == *crate::state::RUNS_KEY) {
        end += 2;
    }
    (end > 0).then(|| segments.get(..end).unwrap_or_default().to_vec())
}

/// The last entry below a bound in an ascending list.
pub(super) fn last_before(list: &[u32], before: u32) -> Option<u32> {
    let at = list.partition_point(|commit| *commit < before);
    list.get(at.checked_sub(1)?).copied()
}
