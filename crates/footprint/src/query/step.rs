//! Everything known about one step, the overview of a recording, and search (OBS-202).

use std::collections::HashSet;

use super::notes::{add, notes_value};
use super::tree::{Link, read_keys};
use super::{ControlSource, LogView, Note, NoteCode, QueryError, ReadSource, TraceQuery};
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::recorders::{Governor, NarrativeEntry};
use crate::snapshot::NodeId;
use crate::state::{Path, Untracked};
use crate::value::{Object, Str, Value, utf16};
use crate::verbs::Verb;

/// One path a step wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenKey {
    /// The path.
    pub path: Path,
    /// How.
    pub verb: Verb,
    /// The commit.
    pub commit_idx: CommitIdx,
    /// Whether the log holds a placeholder.
    pub redacted: bool,
}

/// Everything known about one step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFacts {
    /// The step.
    pub runtime_stage_id: RuntimeStageId,
    /// Prefixed stage id.
    pub stage_id: Str,
    /// Stage name as recorded.
    pub stage_name: Str,
    /// The stage's description.
    pub description: Option<Str>,
    /// All its commits.
    pub commits: Vec<CommitIdx>,
    /// Keys it read, with the retained value or summary marker.
    pub reads: Vec<(Str, Option<Value>)>,
    /// What it wrote, row by row.
    pub writes: Vec<WrittenKey>,
    /// Diagnostic bags that are not empty: `logs`, `errors`, `metrics`, `evals`.
    pub diagnostics: Object,
    /// Flow messages.
    pub flow_messages: Vec<Value>,
    /// The decision that let it run.
    pub governor: Option<Governor>,
    /// What the narrative says about it.
    pub narrative: Vec<NarrativeEntry>,
    /// Sources it consumed that no edge shows.
    pub untracked: Untracked,
    /// Declared tags.
    pub tags: Vec<Str>,
    /// The step before it, or the one it is a child of.
    pub parent: Option<RuntimeStageId>,
    /// The step after it.
    pub next: Option<RuntimeStageId>,
    /// Parallel children, or the branch that was taken.
    pub children: Vec<RuntimeStageId>,
    /// Its subflow path, when it is a mount whose inner log is in the recording.
    pub subflow: Option<Str>,
    /// What the answer must say about itself.
    pub notes: Vec<Note>,
}

impl StepFacts {
    /// The JSON object; empty parts are absent.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        let ids = |list: &[RuntimeStageId]| list.iter().map(|id| Value::from(id.to_string())).collect();
        out.insert("runtimeStageId", self.runtime_stage_id.to_string().into());
        out.insert("stageId", Value::from(&self.stage_id));
        out.insert("stageName", Value::from(&self.stage_name));
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                out.insert(key, value);
            }
        };
        let list = |items: Vec<Value>| (!items.is_empty()).then(|| Value::from(items));
        put("description", self.description.as_ref().map(Value::from));
        put("commits", list(self.commits.iter().map(|c| c.0.into()).collect()));
        put("reads", list(self.reads.iter().map(read_row).collect()));
        put("writes", list(self.writes.iter().map(write_row).collect()));
        for (bag, entries) in self.diagnostics.iter() {
            put(bag, Some(entries.clone()));
        }
        put("flowMessages", list(self.flow_messages.clone()));
        put("governedBy", self.governor.as_ref().map(governor_row));
        put("narrative", list(self.narrative.iter().map(NarrativeEntry::to_value).collect()));
        put("incompleteSources", list(self.untracked.words().map(Value::from).collect()));
        put("tags", list(self.tags.iter().map(Value::from).collect()));
        put("parent", self.parent.as_ref().map(|id| id.to_string().into()));
        put("next", self.next.as_ref().map(|id| id.to_string().into()));
        put("children", list(ids(&self.children)));
        put("subflow", self.subflow.as_ref().map(Value::from));
        put("notes", (!self.notes.is_empty()).then(|| notes_value(&self.notes)));
        Value::Object(out)
    }
}

fn read_row((key, value): &(Str, Option<Value>)) -> Value {
    let mut row = Object::new();
    row.insert("key", Value::from(key));
    if let Some(value) = value {
        row.insert("value", value.clone());
    }
    Value::Object(row)
}

fn write_row(written: &WrittenKey) -> Value {
    let mut row = Object::new();
    row.insert("path", written.path.to_string().into());
    row.insert("verb", written.verb.as_str().into());
    row.insert("commitIdx", written.commit_idx.0.into());
    if written.redacted {
        row.insert("redacted", true.into());
    }
    Value::Object(row)
}

fn governor_row(governor: &Governor) -> Value {
    let mut row = Object::new();
    row.insert("decider", governor.decider.to_string().into());
    if let Some(label) = &governor.label {
        row.insert("label", Value::from(label));
    }
    Value::Object(row)
}

impl LogView {
    /// Everything known about a step of this log.
    ///
    /// # Errors
    /// [`QueryError::StepNotInLog`] when it has neither a commit nor a frame here.
    pub fn step(&self, id: &RuntimeStageId) -> Result<StepFacts, QueryError> {
        let frame_id = self.frame_id(id);
        let frame = frame_id.and_then(|at| self.parts.tree.get(at));
        let index = self.index();
        let step = index.step_of_id(id);
        if frame.is_none() {
            self.step_or_error(id)?;
        }
        let commits: Vec<u32> =
            step.and_then(|s| index.step(s)).map(|s| s.commits().collect()).unwrap_or_default();
        let bundles = || commits.iter().filter_map(|c| Some((*c, self.bundle(*c)?)));
        let first = bundles().next().map(|(_, b)| b);
        let mut reads: Vec<(Str, Option<Value>)> = frame
            .into_iter()
            .flat_map(read_keys)
            .map(|(key, value)| (key.clone(), Some(value.clone())))
            .collect();
        for symbol in step.map_or(&[][..], |s| index.reads_of(s)) {
            if !reads.iter().any(|(key, _)| **key == *index.name(*symbol)) {
                reads.push((index.name(*symbol).into(), None));
            }
        }
        let writes = bundles()
            .flat_map(|(commit, bundle)| {
                bundle.rows.iter().map(move |row| WrittenKey {
                    path: row.path.clone(),
                    verb: row.verb,
                    commit_idx: CommitIdx(commit as usize),
                    redacted: bundle.redacted_paths.iter().any(|p| row.path.is_prefix_of(p) || p.is_prefix_of(&row.path)),
                })
            })
            .collect();
        let mut notes = Vec::new();
        let untracked = step.map_or(Untracked::NONE, |s| self.untracked_of(s));
        if !untracked.is_empty() {
            add(&mut notes, Note::of(NoteCode::IncompleteSources));
        }
        if !index.reads_recorded && index.steps.len() > 1 {
            add(&mut notes, Note::of(NoteCode::ReadsNotRecorded));
        }
        if self.control_source() == ControlSource::Unavailable {
            add(&mut notes, Note::of(NoteCode::ControlUnavailable));
        }
        let address = |at: NodeId| self.parts.tree.get(at).map(|f| f.runtime_stage_id.clone());
        let parent = frame_id.and_then(|at| match self.tree_index().link(at) {
            Link::Root => None,
            Link::Next(parent) | Link::Child(parent) => address(parent),
        });
        let mut diagnostics = Object::new();
        if let Some(frame) = frame {
            let bags = [
                ("logs", &frame.logs),
                ("errors", &frame.errors),
                ("metrics", &frame.metrics),
                ("evals", &frame.evals),
            ];
            for (name, bag) in bags.into_iter().filter(|(_, bag)| !bag.is_empty()) {
                diagnostics.insert(name, Value::Object(bag.clone()));
            }
        }
        let narrative = self.narrative().unwrap_or_default().iter();
        Ok(StepFacts {
            runtime_stage_id: id.clone(),
            stage_id: first.map(|b| b.stage_id.clone()).or(frame.map(|f| f.id.clone())).unwrap_or_default(),
            stage_name: first.map(|b| b.stage.clone()).or(frame.map(|f| f.name.clone())).unwrap_or_default(),
            description: frame.and_then(|f| f.description.clone()),
            commits: commits.iter().map(|c| CommitIdx(*c as usize)).collect(),
            reads,
            writes,
            diagnostics,
            flow_messages: frame.map(|f| f.flow_messages.clone()).unwrap_or_default(),
            governor: self.governor(id),
            narrative: narrative.filter(|e| e.runtime_stage_id.as_ref() == Some(id)).cloned().collect(),
            untracked,
            tags: first.and_then(|b| b.tags.as_ref()).map(|t| t.to_vec()).unwrap_or_default(),
            parent,
            next: frame.and_then(|f| f.next).and_then(address),
            children: frame.iter().flat_map(|f| &f.children).filter_map(|c| address(*c)).collect(),
            subflow: self.mounts.get(id).cloned(),
            notes,
        })
    }
}

/// What a search looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    /// Text to find, ignoring case, in stage names, keys, values and narrative.
    pub text: Option<String>,
    /// A state key (or a path with dots) that was written or read.
    pub key: Option<String>,
    /// Matches to return at most.
    pub limit: usize,
}

impl Default for SearchQuery {
    fn default() -> Self {
        Self { text: None, key: None, limit: 25 }
    }
}

impl SearchQuery {
    /// Finds a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Finds a key.
    pub fn key(key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..Self::default() }
    }
}

/// Where a search found something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HitKind {
    /// The step's name or stage id.
    Name,
    /// A key it wrote or read.
    Key,
    /// A value it wrote.
    Value,
    /// The narrative.
    Narrative,
}

impl HitKind {
    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Key => "key",
            Self::Value => "value",
            Self::Narrative => "narrative",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Where it was found.
    pub kind: HitKind,
    /// The step.
    pub runtime_stage_id: RuntimeStageId,
    /// The commit, when there is one.
    pub commit_idx: Option<CommitIdx>,
    /// The key, name or text it was found in, shortened.
    pub preview: String,
}

impl Hit {
    /// The JSON object `{where, runtimeStageId, commitIdx?, preview}`.
    pub fn to_value(&self) -> Value {
        let mut row = Object::new();
        row.insert("where", self.kind.word().into());
        row.insert("runtimeStageId", self.runtime_stage_id.to_string().into());
        if let Some(commit) = self.commit_idx {
            row.insert("commitIdx", commit.0.into());
        }
        row.insert("preview", self.preview.as_str().into());
        Value::Object(row)
    }
}

/// The findings, in commit order, narrative last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchHits {
    /// Up to the limit.
    pub hits: Vec<Hit>,
    /// Whether there are more.
    pub more: bool,
}

/// Texts of a value that a search looks into at most.
const VALUE_TEXTS: usize = 64;
/// Characters around a match that a preview shows.
const AROUND: usize = 40;

impl LogView {
    /// Finds steps by key, name, value or narrative text.
    pub fn search(&self, query: &SearchQuery) -> SearchHits {
        let needle = query.text.as_ref().map(|t| t.to_lowercase()).filter(|t| !t.is_empty());
        let mut found = Found { limit: query.limit, seen: HashSet::new(), out: SearchHits::default() };
        for commit in 0..self.index().len {
            let Some(bundle) = self.bundle(commit).filter(|_| self.index().step_at(commit).is_some()) else { continue };
            let id = &bundle.runtime_stage_id;
            let at = Some(CommitIdx(commit as usize));
            if let Some(needle) = &needle {
                for name in [&bundle.stage, &bundle.stage_id] {
                    if let Some(preview) = excerpt(name, needle) {
                        found.add(HitKind::Name, id, at, preview);
                    }
                }
            }
            for row in &bundle.rows {
                let path = row.path.to_string();
                let root = row.path.root_key();
                let wanted = query.key.as_deref().is_some_and(|k| k == path || Some(k) == root);
                if wanted || needle.as_ref().is_some_and(|n| path.to_lowercase().contains(n)) {
                    found.add(HitKind::Key, id, at, format!("{} {path}", row.verb));
                }
                if let Some(text) = needle.as_ref().and_then(|n| find_in(&row.value, n)) {
                    found.add(HitKind::Value, id, at, format!("{path}: {text}"));
                }
            }
            if found.full() {
                return found.out;
            }
        }
        self.search_reads(query.key.as_deref(), needle.as_deref(), &mut found);
        if let Some(needle) = &needle {
            for entry in self.narrative().unwrap_or_default() {
                let Some(id) = entry.runtime_stage_id.as_ref().filter(|id| self.has_step(id)) else { continue };
                if let Some(preview) = excerpt(&entry.text, needle) {
                    found.add(HitKind::Narrative, id, None, preview);
                }
            }
        }
        found.out
    }

    fn search_reads(&self, key: Option<&str>, needle: Option<&str>, found: &mut Found) {
        let index = self.index();
        for (symbol, steps) in self.readers().iter().enumerate() {
            let name = index.name(symbol as u32);
            let wanted = key == Some(name) || needle.is_some_and(|n| name.to_lowercase().contains(n));
            for step in steps.iter().filter(|_| wanted) {
                if let (Some(id), Some(step)) = (self.step_id(*step), index.step(*step)) {
                    let at = Some(CommitIdx(step.first as usize));
                    found.add(HitKind::Key, id, at, format!("read {name}"));
                }
            }
        }
    }
}

struct Found {
    limit: usize,
    seen: HashSet<(HitKind, RuntimeStageId, String)>,
    out: SearchHits,
}

impl Found {
    fn add(&mut self, kind: HitKind, id: &RuntimeStageId, commit_idx: Option<CommitIdx>, preview: String) {
        if !self.seen.insert((kind, id.clone(), preview.clone())) {
            return;
        }
        if self.out.hits.len() >= self.limit {
            self.out.more = true;
            return;
        }
        self.out.hits.push(Hit { kind, runtime_stage_id: id.clone(), commit_idx, preview });
    }

    fn full(&self) -> bool {
        self.out.more
    }
}

/// The first text of a value that contains the needle, with its surroundings. Walks with an explicit stack and looks at a bounded part.
fn find_in(value: &Value, needle: &str) -> Option<String> {
    let mut pending = vec![value];
    let mut looked = 0;
    while let Some(value) = pending.pop() {
        looked += 1;
        if looked > VALUE_TEXTS {
            return None;
        }
        match value {
            Value::String(text) => {
                if let Some(found) = excerpt(text, needle) {
                    return Some(found);
                }
            }
            Value::Number(number) => {
                if let Some(found) = excerpt(&number.to_string(), needle) {
                    return Some(found);
                }
            }
            Value::Array(items) => pending.extend(items.iter().take(VALUE_TEXTS)),
            Value::Object(entries) => pending.extend(entries.values().take(VALUE_TEXTS)),
            Value::Null | Value::Bool(_) => {}
        }
    }
    None
}

/// The part of a text around a (lower-case) needle.
fn excerpt(text: &str, needle: &str) -> Option<String> {
    let at = text.to_lowercase().find(needle)?;
    if text.len() <= 2 * AROUND + needle.len() {
        return Some(text.to_owned());
    }
    // Lower-casing may shift bytes; any character boundary near the match will do for a preview.
    let from = (0..=at.saturating_sub(AROUND).min(text.len())).rev().find(|i| text.is_char_boundary(*i));
    let rest = from.and_then(|from| text.get(from..)).unwrap_or(text);
    Some(utf16::prefix(rest, 2 * AROUND + needle.len()).to_owned())
}

/// Counts, dials, truncations and missing parts of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// The run's id.
    pub run_id: Option<Str>,
    /// The caller's label.
    pub run_label: Option<Str>,
    /// Commits of the run's own log.
    pub commits: usize,
    /// Rows of those commits.
    pub rows: u64,
    /// Steps of the run's own log.
    pub steps: usize,
    /// Frames of the run's own tree.
    pub frames: usize,
    /// Root keys written, in order of first write.
    pub keys: Vec<Str>,
    /// Subflow executions.
    pub subflow_executions: usize,
    /// Names of the recorders' rows.
    pub rows_of: Vec<Str>,
    /// Narrative entries; absent when the recording has no narrative.
    pub narrative_entries: Option<usize>,
    /// Where control edges come from.
    pub control: ControlSource,
    /// `full` or `delta`.
    pub commit_values: &'static str,
    /// `off` or `reads-prefix`.
    pub write_provenance: &'static str,
    /// Steps with recorded reads.
    pub steps_with_reads: usize,
    /// Commits whose own number disagrees with their position.
    pub misnumbered: usize,
    /// Failing frames: address and error.
    pub errors: Vec<(RuntimeStageId, String)>,
    /// What is missing, and what would have provided it.
    pub notes: Vec<Note>,
}

impl Overview {
    /// The JSON object.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        if let Some(id) = &self.run_id {
            out.insert("runId", Value::from(id));
        }
        if let Some(label) = &self.run_label {
            out.insert("runLabel", Value::from(label));
        }
        out.insert("commits", self.commits.into());
        out.insert("rows", self.rows.into());
        out.insert("steps", self.steps.into());
        out.insert("frames", self.frames.into());
        out.insert("keys", Value::Array(self.keys.iter().map(Value::from).collect()));
        out.insert("subflowExecutions", self.subflow_executions.into());
        out.insert("recorders", Value::Array(self.rows_of.iter().map(Value::from).collect()));
        if let Some(entries) = self.narrative_entries {
            out.insert("narrativeEntries", entries.into());
        }
        out.insert("control", self.control.word().into());
        out.insert("commitValues", self.commit_values.into());
        out.insert("writeProvenance", self.write_provenance.into());
        out.insert("stepsWithReads", self.steps_with_reads.into());
        if self.misnumbered > 0 {
            out.insert("misnumbered", self.misnumbered.into());
        }
        let error = |(id, text): &(RuntimeStageId, String)| {
            let mut row = Object::new();
            row.insert("runtimeStageId", id.to_string().into());
            row.insert("error", text.as_str().into());
            Value::Object(row)
        };
        if !self.errors.is_empty() {
            out.insert("errors", Value::Array(self.errors.iter().map(error).collect()));
        }
        out.insert("notes", notes_value(&self.notes));
        Value::Object(out)
    }
}

impl TraceQuery {
    /// Everything known about a step of the run or of any subflow execution.
    ///
    /// # Errors
    /// [`QueryError::StepNotInLog`].
    pub fn step(&self, id: &RuntimeStageId) -> Result<StepFacts, QueryError> {
        match self.view_with(id) {
            Some(view) if !self.root().has_step(id) => view.step(id),
            _ => self.root().step(id),
        }
    }

    /// Finds steps of the run's own log by key, name, value or narrative text.
    pub fn search(&self, query: &SearchQuery) -> SearchHits {
        self.root().search(query)
    }

    /// Counts, dials, truncations and missing parts.
    pub fn overview(&self) -> Overview {
        let (snapshot, root) = (self.snapshot(), self.root());
        let index = root.index();
        let coverage = root.reads_coverage(&ReadSource::ExecutionTree);
        let mut notes = root.standing_notes();
        if !index.reads_recorded && coverage.steps > 1 {
            add(&mut notes, Note::of(NoteCode::ReadsNotRecorded));
        }
        let control = root.control_source();
        if control != ControlSource::Recorded {
            let detail = match control {
                ControlSource::Tree => "control edges are derived from the execution tree and have no labels; the `ControlDeps` recorder keeps them",
                _ => "nothing says which decision let a step run; the `ControlDeps` recorder keeps that",
            };
            add(&mut notes, Note::with(NoteCode::ControlUnavailable, detail));
        }
        let errors = root
            .tree()
            .iter()
            .filter_map(|(_, frame)| {
                let text = frame.errors.iter().next()?.1;
                let text = text.as_str().map_or_else(|| text.to_string(), ToOwned::to_owned);
                Some((frame.runtime_stage_id.clone(), text))
            })
            .collect();
        Overview {
            run_id: snapshot.run_id.clone(),
            run_label: snapshot.run_label.clone(),
            commits: root.len(),
            rows: index.rows,
            steps: coverage.steps,
            frames: root.tree().len(),
            keys: index.roots().iter().filter_map(|n| index.path(*n).into_iter().next()).collect(),
            subflow_executions: self.subflow_executions().count(),
            rows_of: snapshot.recorders.iter().map(|r| r.name.clone()).collect(),
            narrative_entries: self.narrative().map(<[_]>::len),
            control,
            commit_values: snapshot.commit_values.as_str(),
            write_provenance: snapshot.write_provenance.as_str(),
            steps_with_reads: coverage.steps_with_reads,
            misnumbered: index.misnumbered as usize,
            errors,
            notes,
        }
    }
}
