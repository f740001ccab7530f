//! Everything known about one step (OBS-202).

use super::notes::{add, notes_value};
use super::tree::{Link, read_keys};
use super::{ControlSource, LogView, Note, NoteCode, QueryError};
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::recorders::{Governor, NarrativeEntry};
use crate::snapshot::NodeId;
use crate::state::{Path, Untracked};
use crate::value::{Object, Str, Value};
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
            let address = Path::from_wire(index.name(*symbol));
            if !reads.iter().any(|(key, _)| Some(key) == address.last()) {
                reads.push((address.to_string().into(), None));
            }
        }
        let writes = bundles()
            .flat_map(|(commit, bundle)| {
                bundle.rows.iter().map(move |row| WrittenKey {
                    path: row.path.clone(),
                    verb: row.verb,
                    commit_idx: CommitIdx(commit as usize),
                    redacted: bundle
                        .redacted_paths
                        .iter()
                        .any(|p| row.path.is_prefix_of(p) || p.is_prefix_of(&row.path)),
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
