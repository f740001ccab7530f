//! The index of one log: built once, extended commit by commit, asked by binary search (OBS-144, OBS-145).

use std::sync::Arc;

use super::hash::FastMap;
use super::symbols::{Addresses, Seen, Symbols};
use super::tree::TreeIndex;
use crate::ids::RuntimeStageId;
use crate::snapshot::{CommitLog, LogGap, NodeId};
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
    symbols: Symbols,
    pub(super) nodes: Vec<PathNode>,
    /// Root key symbol → node; most rows are there.
    roots_of: Vec<u32>,
    edges: FastMap<(u32, u32), u32>,
    addresses: Addresses,
    pub(super) steps: Vec<Step>,
    pub(super) step_of: Vec<u32>,
    stage_ids: Symbols,
    /// Commits per stage id.
    stages: Vec<Vec<u32>>,
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
    /// Commits that store placeholders, ascending.
    pub(super) redacting: Vec<u32>,
    /// What the rows of each step say was read before them: step and symbol, in commit order.
    row_reads: Vec<(u32, u32)>,
}

/// What was seen of each table's texts. One text may be a stage id and a key.
struct SeenTexts {
    keys: Seen,
    addresses: Seen,
    stages: Seen,
}

impl SeenTexts {
    fn new() -> Self {
        Self { keys: Seen::new(), addresses: Seen::new(), stages: Seen::new() }
    }
}

impl Default for LogIndex {
    fn default() -> Self {
        Self {
            len: 0,
            symbols: Symbols::default(),
            nodes: vec![PathNode { parent: NONE, symbol: NONE, ..PathNode::default() }],
            roots_of: Vec::new(),
            edges: FastMap::default(),
            addresses: Addresses::default(),
            steps: Vec::new(),
            step_of: Vec::new(),
            stage_ids: Symbols::default(),
            stages: Vec::new(),
            namespaces: Vec::new(),
            namespace_ids: FastMap::default(),
            read_starts: vec![0],
            reads: Vec::new(),
            steps_with_reads: 0,
            reads_recorded: false,
            gap_rows: Vec::new(),
            misnumbered: 0,
            rows: 0,
            redacting: Vec::new(),
            row_reads: Vec::new(),
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
        index.addresses.reserve(log.len());
        index.steps.reserve(log.len());
        index.step_of.reserve(log.len());
        index.extend(log);
        index
    }

    /// Takes up the commits that came since (a live log grows at its end only).
    pub(super) fn extend(&mut self, log: &CommitLog) {
        let mut seen = SeenTexts::new();
        let gaps = !log.gaps().is_empty();
        for (at, bundle) in log.iter().enumerate().skip(self.len as usize) {
            match log.gap(at).filter(|_| gaps) {
                Some(gap) => self.push_gap(gap),
                None => self.push(bundle, &mut seen),
            }
        }
    }

    fn push(&mut self, bundle: &Bundle, seen: &mut SeenTexts) {
        let commit = self.len;
        self.len += 1;
        self.misnumbered += u32::from(bundle.idx.0 != commit as usize);
        let step = self.push_step(bundle, commit, seen);
        self.push_row_reads(step, bundle, &mut seen.keys);
        if !bundle.redacted_paths.is_empty() {
            self.redacting.push(commit);
        }
        self.rows += bundle.rows.len() as u64;
        let mut own_namespace = None;
        for row in &bundle.rows {
            let segments = row.path.segments();
            if own_namespace.is_none() && segments.len() > 2 {
                own_namespace = namespace_of_row(segments);
            }
            let mut node = TOP;
            for segment in segments {
                node = self.child(node, segment, &mut seen.keys);
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
            if let Some(step) = self.steps.get_mut(step as usize).filter(|s| s.namespace == NONE) {
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

    fn push_step(&mut self, bundle: &Bundle, commit: u32, seen: &mut SeenTexts) -> u32 {
        let id = &bundle.runtime_stage_id;
        let next = self.steps.len() as u32;
        let anonymous = id.stage_id().is_empty();
        let step = if anonymous { next } else { self.addresses.place(id, &mut seen.addresses, next) };
        if step == next {
            self.steps.push(Step { first: commit, more: Vec::new(), namespace: NONE });
        } else if let Some(known) = self.steps.get_mut(step as usize) {
            known.more.push(commit);
        }
        self.step_of.push(step);
        let stage = self.stage_ids.intern(&bundle.stage_id, &mut seen.stages) as usize;
        if stage >= self.stages.len() {
            self.stages.resize(stage + 1, Vec::new());
        }
        if let Some(commits) = self.stages.get_mut(stage) {
            commits.push(commit);
        }
        step
    }

    fn push_row_reads(&mut self, step: u32, bundle: &Bundle, seen: &mut Seen) {
        let start = self.row_reads.len();
        let mut last: Option<&Arc<[Str]>> = None;
        for keys in bundle.rows.iter().filter_map(|row| row.read_keys.as_ref()) {
            // Rows with the same reads before them share the list.
            if last.is_some_and(|last| Arc::ptr_eq(last, keys)) {
                continue;
            }
            last = Some(keys);
            for key in keys.iter() {
                let read = (step, self.symbols.intern(key, seen));
                if !self.row_reads.get(start..).is_some_and(|known| known.contains(&read)) {
                    self.row_reads.push(read);
                }
            }
        }
    }

    fn child(&mut self, node: u32, segment: &Str, seen: &mut Seen) -> u32 {
        let symbol = self.symbols.intern(segment, seen);
        if node == TOP {
            if symbol as usize >= self.roots_of.len() {
                self.roots_of.resize(self.symbols.len(), NONE);
            }
            if let Some(root) = self.roots_of.get(symbol as usize).filter(|r| **r != NONE) {
                return *root;
            }
        } else if let Some(child) = self.edges.get(&(node, symbol)) {
            return *child;
        }
        let child = self.nodes.len() as u32;
        self.nodes.push(PathNode { parent: node, symbol, ..PathNode::default() });
        match self.roots_of.get_mut(symbol as usize).filter(|_| node == TOP) {
            Some(root) => *root = child,
            None => {
                self.edges.insert((node, symbol), child);
            }
        }
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

    /// Sets what each step read: the keys of its frame's `stageReads`, and what its rows say was read before them.
    pub(super) fn set_reads(&mut self, frames: &TreeIndex) {
        let mut seen = Seen::new();
        let symbols: Vec<u32> =
            frames.keys.texts().iter().map(|key| self.symbols.intern(key, &mut seen)).collect();
        let mut frame_reads: Vec<(u32, u32)> = Vec::with_capacity(self.steps.len());
        let mut namespaced = Vec::new();
        self.reads_recorded = frames.says_reads || !self.row_reads.is_empty();
        for (step, frame) in self.addresses.common(frames.addresses()) {
            let frame = NodeId(frame);
            let known = frames.reads(frame).iter().filter_map(|key| symbols.get(*key as usize));
            frame_reads.extend(known.map(|symbol| (step, *symbol)));
            if frames.namespace(frame).is_some() {
                namespaced.push((step, frame));
            }
        }
        for (step, frame) in namespaced {
            let namespace = self.namespace(frames.namespace(frame).unwrap_or_default().to_vec());
            if let Some(step) = self.steps.get_mut(step as usize).filter(|s| s.namespace == NONE) {
                step.namespace = namespace;
            }
        }
        let from_frames = ByStep::of(frame_reads);
        let from_rows = ByStep::of(std::mem::take(&mut self.row_reads));
        self.reads.clear();
        self.read_starts.clear();
        self.read_starts.reserve(self.steps.len() + 1);
        self.read_starts.push(0);
        self.steps_with_reads = 0;
        let (mut by_frame, mut by_rows) = (from_frames.cursor(), from_rows.cursor());
        for step in 0..self.steps.len() as u32 {
            let start = self.reads.len();
            self.reads.extend(by_frame.take(step));
            for symbol in by_rows.take(step) {
                if !self.reads.get(start..).is_some_and(|known| known.contains(&symbol)) {
                    self.reads.push(symbol);
                }
            }
            self.steps_with_reads += u32::from(self.reads.len() > start);
            self.read_starts.push(self.reads.len() as u32);
        }
        self.row_reads = from_rows.0;
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
        self.symbols.text(symbol).map_or("", |n| n)
    }

    pub(super) fn shared_name(&self, symbol: u32) -> Option<&Str> {
        self.symbols.text(symbol)
    }

    pub(super) fn symbol_count(&self) -> usize {
        self.symbols.len()
    }

    pub(super) fn symbol_of(&self, name: &str) -> Option<u32> {
        self.symbols.get(name)
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
        self.addresses.get(id)
    }

    /// Ascending commits of a stage id.
    pub(super) fn stage_commits(&self, stage_id: &str) -> &[u32] {
        self.stage_ids.get(stage_id).and_then(|s| self.stages.get(s as usize)).map_or(&[], |c| c)
    }

    /// Follows segments from the top as far as something is written there: the nodes passed, the last one for the longest prefix.
    pub(super) fn descend<S: AsRef<str>>(&self, segments: &[S]) -> Vec<u32> {
        let mut passed = Vec::with_capacity(segments.len());
        let mut node = TOP;
        for segment in segments {
            let symbol = self.symbols.get(segment.as_ref());
            let Some(child) = symbol.and_then(|s| self.child_of(node, s)) else { break };
            passed.push(child);
            node = child;
        }
        passed
    }

    /// The node of a child segment.
    pub(super) fn child_of(&self, node: u32, symbol: u32) -> Option<u32> {
        if node == TOP {
            return self.roots_of.get(symbol as usize).copied().filter(|r| *r != NONE);
        }
        self.edges.get(&(node, symbol)).copied()
    }

    /// Segments of a node's path.
    pub(super) fn path(&self, mut node: u32) -> Vec<Str> {
        let mut segments = Vec::new();
        while let Some(n) = self.node(node).filter(|n| n.parent != NONE) {
            segments.extend(self.symbols.text(n.symbol).cloned());
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

/// Pairs of step and symbol, ascending by step; those of one step keep their order.
struct ByStep(Vec<(u32, u32)>);

impl ByStep {
    fn of(mut pairs: Vec<(u32, u32)>) -> Self {
        if !pairs.is_sorted_by_key(|(step, _)| *step) {
            pairs.sort_by_key(|(step, _)| *step);
        }
        Self(pairs)
    }

    fn cursor(&self) -> Taking<'_> {
        Taking(&self.0)
    }
}

/// What is left of [`ByStep`].
struct Taking<'a>(&'a [(u32, u32)]);

impl<'a> Taking<'a> {
    /// The symbols of a step; steps are asked for in ascending order.
    fn take(&mut self, step: u32) -> impl Iterator<Item = u32> + use<'a> {
        let count = self.0.iter().take_while(|(of, _)| *of == step).count();
        let (taken, rest) = self.0.split_at_checked(count).unwrap_or_default();
        self.0 = rest;
        taken.iter().map(|(_, symbol)| *symbol)
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
