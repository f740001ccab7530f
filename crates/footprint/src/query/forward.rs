//! What came of a value (OBS-174, OBS-175).

use std::collections::{HashMap, VecDeque};

use super::lookup::{CommitRef, ReadKey};
use super::notes::{add, notes_value};
use super::{
    KeyMissing, LogView, Note, NoteCode, QueryError, ReadSource, ReadsCoverage, SliceOptions, StateKey,
    Truncated,
};
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::state::{Path, PathRelation, Row};
use crate::value::{Object, Str, Value};
use crate::verbs::Verb;

/// Whether a moment is a write or a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MomentKind {
    /// The key was read.
    Read,
    /// The key was written.
    Write,
}

/// One moment in the life of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Read or write.
    pub kind: MomentKind,
    /// Who, and at which commit. A read is placed at the first commit of the step that read; it saw what was there before that commit.
    pub at: CommitRef,
    /// How it was written.
    pub verb: Option<Verb>,
    /// The write a read saw; none for a value from before the run.
    pub from_write: Option<CommitIdx>,
}

/// All reads and writes of a key, in order; at one position reads come first.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyTimeline {
    /// The key.
    pub key: StateKey,
    /// The exclusive position it was asked for.
    pub before: Option<CommitIdx>,
    /// The moments.
    pub moments: Vec<Moment>,
    /// Why there are none.
    pub missing: Option<KeyMissing>,
    /// How many steps have recorded reads.
    pub reads_coverage: ReadsCoverage,
    /// What the answer must say about itself.
    pub notes: Vec<Note>,
}

impl KeyTimeline {
    /// The JSON object `{key, before?, moments?, missing?, keysReadKind, readsCoverage, notes}`.
    pub fn to_value(&self) -> Value {
        let mut out = header(&self.key, self.before, self.reads_coverage);
        if !self.moments.is_empty() {
            out.insert("moments", Value::Array(self.moments.iter().map(moment_row).collect()));
        }
        if let Some(missing) = self.missing {
            out.insert("missing", missing.word().into());
        }
        out.insert("notes", notes_value(&self.notes));
        Value::Object(out)
    }
}

fn header(key: &StateKey, before: Option<CommitIdx>, coverage: ReadsCoverage) -> Object {
    let mut out = Object::new();
    out.insert("key", key.to_string().into());
    if let Some(before) = before {
        out.insert("before", before.0.into());
    }
    out.insert("keysReadKind", ReadSource::ExecutionTree.word().into());
    let mut row = Object::new();
    row.insert("steps", coverage.steps.into());
    row.insert("stepsWithReads", coverage.steps_with_reads.into());
    out.insert("readsCoverage", Value::Object(row));
    out
}

fn moment_row(moment: &Moment) -> Value {
    let mut row = Object::new();
    row.insert("kind", if moment.kind == MomentKind::Read { "read" } else { "write" }.into());
    commit_fields(&mut row, &moment.at);
    if let Some(verb) = moment.verb {
        row.insert("verb", verb.as_str().into());
    }
    if let Some(from) = moment.from_write {
        row.insert("fromWriteIdx", from.0.into());
    }
    Value::Object(row)
}

fn commit_fields(row: &mut Object, at: &CommitRef) {
    row.insert("commitIdx", at.commit_idx.0.into());
    row.insert("runtimeStageId", at.runtime_stage_id.to_string().into());
    row.insert("stageId", Value::from(&at.stage_id));
    row.insert("stageName", Value::from(&at.stage_name));
}

/// A node's place in its [`ForwardSlice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForwardNodeId(pub u32);

/// A value: a key as one commit left it, until the next commit that writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ForwardNode {
    /// The path that was written.
    pub key: StateKey,
    /// The commit that wrote it; none for a value from before the run.
    pub written: Option<CommitRef>,
    /// Distance from the start.
    pub depth: usize,
    /// Steps that read this value and wrote nothing.
    pub ends_in: Vec<RuntimeStageId>,
}

/// One value went into another.
#[derive(Clone, Debug, PartialEq)]
pub struct ForwardEdge {
    /// The value read.
    pub from: ForwardNodeId,
    /// The value written by the step that read it.
    pub to: ForwardNodeId,
    /// The key under which it was read.
    pub key: Str,
    /// Whether the row itself says so (`per-write`), or all reads of the step count for it (`stage`).
    pub per_write: bool,
}

/// What came of a value. Node 0 is the start.
#[derive(Clone, Debug, PartialEq)]
pub struct ForwardSlice {
    /// The key.
    pub key: StateKey,
    /// The exclusive position it was asked for.
    pub before: Option<CommitIdx>,
    /// Values in order of discovery.
    pub nodes: Vec<ForwardNode>,
    /// How they fed one another.
    pub edges: Vec<ForwardEdge>,
    /// Why there is nothing.
    pub missing: Option<KeyMissing>,
    /// What limits cut.
    pub truncated: Option<Truncated>,
    /// How many steps have recorded reads.
    pub reads_coverage: ReadsCoverage,
    /// What the answer must say about itself.
    pub notes: Vec<Note>,
}

impl ForwardSlice {
    /// The JSON object `{key, before?, rootId?, nodes?, edges?, missing?, truncated?, keysReadKind, readsCoverage, notes}`; ids are opaque.
    pub fn to_value(&self) -> Value {
        let name = |id: ForwardNodeId| format!("n{}", id.0);
        let mut out = header(&self.key, self.before, self.reads_coverage);
        if !self.nodes.is_empty() {
            out.insert("rootId", name(ForwardNodeId(0)).into());
            let nodes = self.nodes.iter().enumerate().map(|(i, node)| {
                let mut row = Object::new();
                row.insert("key", node.key.to_string().into());
                if let Some(written) = &node.written {
                    commit_fields(&mut row, written);
                }
                row.insert("depth", node.depth.into());
                if !node.ends_in.is_empty() {
                    let ends = node.ends_in.iter().map(|id| Value::from(id.to_string()));
                    row.insert("endsIn", Value::Array(ends.collect()));
                }
                (Str::from(name(ForwardNodeId(i as u32))), Value::Object(row))
            });
            out.insert("nodes", Value::Object(nodes.collect()));
            let edges = self.edges.iter().map(|edge| {
                let mut row = Object::new();
                row.insert("from", name(edge.from).into());
                row.insert("to", name(edge.to).into());
                row.insert("kind", "fed".into());
                row.insert("key", Value::from(&edge.key));
                row.insert("basis", if edge.per_write { "per-write" } else { "stage" }.into());
                Value::Object(row)
            });
            out.insert("edges", Value::Array(edges.collect()));
        }
        if let Some(missing) = self.missing {
            out.insert("missing", missing.word().into());
        }
        if let Some(truncated) = self.truncated {
            let mut row = Object::new();
            row.insert("byDepth", truncated.by_depth.into());
            row.insert("byNodes", truncated.by_nodes.into());
            out.insert("truncated", Value::Object(row));
        }
        out.insert("notes", notes_value(&self.notes));
        Value::Object(out)
    }
}

/// A step that read a key.
struct Reader {
    step: u32,
    first: u32,
    symbol: u32,
}

impl LogView {
    /// Steps whose first commit is in a range and that read (what holds) a key, ascending, each once.
    fn readers_of(&self, key: &StateKey, range: std::ops::RangeInclusive<u32>) -> Vec<Reader> {
        let index = self.index();
        let by_symbol = self.readers();
        let mut found: Vec<Reader> = Vec::new();
        // The root key, and — inside branch namespaces — the key as the branch names it.
        let address = key.as_path().wire();
        let names =
            key.segments().iter().step_by(2).map(|s| &**s).chain(key.is_nested().then_some(&*address));
        let names = names.filter_map(|s| index.symbol_of(s));
        for symbol in names {
            let steps = by_symbol.get(symbol as usize).map_or(&[][..], |s| s);
            let first_of = |step: &u32| index.step(*step).map_or(u32::MAX, |s| s.first);
            // Steps are numbered in order of their first commits.
            let from = steps.partition_point(|s| first_of(s) < *range.start());
            for step in steps.get(from..).unwrap_or_default() {
                let first = first_of(step);
                if first > *range.end() {
                    break;
                }
                if self.reads_key(*step, symbol, key) {
                    found.push(Reader { step: *step, first, symbol });
                }
            }
        }
        found.sort_by_key(|r| (r.first, r.step));
        found.dedup_by_key(|r| r.step);
        found
    }

    /// Whether a step's read of a name is a read of (something that holds) a key.
    fn reads_key(&self, step: u32, symbol: u32, key: &StateKey) -> bool {
        let index = self.index();
        let Some(before) = index.step(step).map(|s| s.first) else { return false };
        match self.resolve_read(step, symbol, before) {
            Some((ReadKey::Nested(read), _)) => read.as_path().is_prefix_of(key.as_path()),
            Some((ReadKey::Root(_), _)) | None => *key.root() == *index.name(symbol),
        }
    }

    /// Everything that happened to a key: who wrote it, who read it, and which write each read saw.
    pub fn key_timeline(&self, key: &StateKey, before: Option<CommitIdx>) -> KeyTimeline {
        let end = before.map_or(u32::MAX, |c| u32::try_from(c.0).unwrap_or(u32::MAX));
        let located = self.locate(key);
        let mut moments: Vec<Moment> = Vec::new();
        let mut notes = self.standing_notes();
        for reader in self.readers_of(key, 0..=end.saturating_sub(1)).into_iter().filter(|r| r.first < end) {
            let from = located.last_before(reader.first);
            if from.is_none() {
                add(&mut notes, Note::of(NoteCode::PreRunOrigin));
            }
            let Some(bundle) = self.bundle(reader.first) else { continue };
            moments.push(Moment {
                kind: MomentKind::Read,
                at: CommitRef::of(reader.first, bundle),
                verb: None,
                from_write: from.map(|c| CommitIdx(c as usize)),
            });
        }
        for commit in located.all().into_iter().filter(|c| *c < end) {
            let Some(bundle) = self.bundle(commit) else { continue };
            let related = |r: &&Row| r.path.relation_to(key.as_path()) != PathRelation::Apart;
            let verb = bundle.rows.iter().rfind(related).map(|r| r.verb);
            if bundle.rows.iter().filter(related).all(|r| r.path.len() > key.segments().len()) {
                add(&mut notes, Note::of(NoteCode::NestedRows));
            }
            moments.push(Moment {
                kind: MomentKind::Write,
                at: CommitRef::of(commit, bundle),
                verb,
                from_write: None,
            });
        }
        moments.sort_by_key(|m| (m.at.commit_idx, m.kind == MomentKind::Write));
        let missing = match moments.is_empty() {
            false => None,
            true if self.is_empty() => Some(KeyMissing::EmptyLog),
            true => Some(KeyMissing::NeverWritten),
        };
        notes.extend(self.known_key_note(key));
        self.reads_note(&mut notes);
        let reads_coverage = self.reads_coverage(&ReadSource::ExecutionTree);
        KeyTimeline { key: key.clone(), before, moments, missing, reads_coverage, notes }
    }

    fn reads_note(&self, notes: &mut Vec<Note>) {
        let index = self.index();
        if !index.reads_recorded && index.steps.len() > 1 {
            add(notes, Note::of(NoteCode::ReadsNotRecorded));
        }
    }

    /// What came of the last value of a key (before a position): who read it, what they wrote, and so on forwards.
    ///
    /// # Errors
    /// [`QueryError::InvalidLimit`].
    pub fn forward_slice(
        &self,
        key: &StateKey,
        before: Option<CommitIdx>,
        options: &SliceOptions,
    ) -> Result<ForwardSlice, QueryError> {
        options.check()?;
        let end = before.map_or(u32::MAX, |c| u32::try_from(c.0).unwrap_or(u32::MAX));
        let written = self.locate(key).last_before(end);
        let mut walk = Forward::new(self, options);
        let lives = written.is_some() || !self.readers_of(key, 0..=u32::MAX).is_empty();
        let missing =
            (!lives).then(|| if self.is_empty() { KeyMissing::EmptyLog } else { KeyMissing::NeverWritten });
        if lives {
            walk.node(key.clone(), written, 0);
            if written.is_none() {
                add(&mut walk.notes, Note::of(NoteCode::PreRunOrigin));
            }
        }
        while let Some(node) = walk.work.pop_front() {
            walk.expand(node);
        }
        let cut = walk.truncated.by_depth || walk.truncated.by_nodes;
        let mut notes = self.standing_notes();
        walk.notes.into_iter().for_each(|note| add(&mut notes, note));
        if cut {
            add(&mut notes, Note::of(NoteCode::Truncated));
        }
        notes.extend(self.known_key_note(key));
        self.reads_note(&mut notes);
        Ok(ForwardSlice {
            key: key.clone(),
            before,
            nodes: walk.nodes,
            edges: walk.edges,
            missing,
            truncated: cut.then_some(walk.truncated),
            reads_coverage: self.reads_coverage(&ReadSource::ExecutionTree),
            notes,
        })
    }
}

struct Forward<'a> {
    view: &'a LogView,
    options: &'a SliceOptions,
    nodes: Vec<ForwardNode>,
    known: HashMap<(Path, Option<u32>), u32>,
    edges: Vec<ForwardEdge>,
    work: VecDeque<u32>,
    truncated: Truncated,
    notes: Vec<Note>,
}

impl<'a> Forward<'a> {
    fn new(view: &'a LogView, options: &'a SliceOptions) -> Self {
        Self {
            view,
            options,
            nodes: Vec::new(),
            known: HashMap::new(),
            edges: Vec::new(),
            work: VecDeque::new(),
            truncated: Truncated::default(),
            notes: Vec::new(),
        }
    }

    fn node(&mut self, key: StateKey, written: Option<u32>, depth: usize) -> Option<u32> {
        let id = (key.as_path().clone(), written);
        if let Some(known) = self.known.get(&id) {
            return Some(*known);
        }
        if self.nodes.len() >= self.options.max_nodes {
            self.truncated.by_nodes = true;
            return None;
        }
        let node = self.nodes.len() as u32;
        let written = written.and_then(|c| Some(CommitRef::of(c, self.view.bundle(c)?)));
        self.nodes.push(ForwardNode { key, written, depth, ends_in: Vec::new() });
        self.known.insert(id, node);
        self.work.push_back(node);
        Some(node)
    }

    /// A value lives until the next write of its key, that write's own reads included.
    fn expand(&mut self, node: u32) {
        let Some(ForwardNode { key, written, depth, .. }) = self.nodes.get(node as usize).cloned() else {
            return;
        };
        let from = written.as_ref().map(|w| w.commit_idx.0 as u32);
        let writers = self.view.locate(&key).all();
        let next = match from {
            Some(from) => writers.get(writers.partition_point(|c| *c <= from)),
            None => writers.first(),
        };
        let until = next.copied().unwrap_or(u32::MAX);
        let born = from.map_or(0, |from| from + 1);
        for reader in self.view.readers_of(&key, born..=until) {
            if !self.feed(node, depth, &reader) {
                self.truncated.by_depth = true;
                return;
            }
        }
    }

    /// Draws edges to everything a reader wrote; `false` when the depth limit is in the way.
    fn feed(&mut self, node: u32, depth: usize, reader: &Reader) -> bool {
        let view = self.view;
        let index = view.index();
        let name = Str::from(index.name(reader.symbol));
        // Rows of ours list where a value was found, which inside a branch is not the name it was read by.
        let found = match view.resolve_read(reader.step, reader.symbol, reader.first) {
            Some((ReadKey::Nested(key), _)) => Str::from(key.as_path().wire()),
            _ => name.clone(),
        };
        let commits: Vec<u32> = index.step(reader.step).into_iter().flat_map(|s| s.commits()).collect();
        let mut wrote = false;
        for commit in commits {
            let rows = view.bundle(commit).map_or(&[][..], |b| &b.rows);
            for row in rows {
                wrote = true;
                let per_write = row.read_keys.is_some();
                if row.read_keys.as_ref().is_some_and(|keys| !keys.contains(&name) && !keys.contains(&found))
                {
                    continue;
                }
                if depth >= self.options.max_depth {
                    return false;
                }
                if !per_write {
                    add(&mut self.notes, Note::of(NoteCode::ConservativeFedEdges));
                }
                let key = StateKey::stored(row.path.clone());
                let Some(to) = self.node(key, Some(commit), depth + 1) else { continue };
                let edge = ForwardEdge {
                    from: ForwardNodeId(node),
                    to: ForwardNodeId(to),
                    key: Path::from_wire(&name).to_string().into(),
                    per_write,
                };
                if to != node && !self.edges.contains(&edge) {
                    self.edges.push(edge);
                }
            }
        }
        if !wrote
            && let (Some(id), Some(from)) = (view.step_id(reader.step), self.nodes.get_mut(node as usize))
        {
            from.ends_in.push(id.clone());
        }
        true
    }
}
