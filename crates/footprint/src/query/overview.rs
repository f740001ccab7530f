//! What a recording holds and lacks (OBS-202).

use super::notes::{add, notes_value};
use super::{ControlSource, Note, NoteCode, QueryError, ReadSource, StepFacts, TraceQuery};
use crate::ids::RuntimeStageId;
use crate::value::{Object, Str, Value};

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
                ControlSource::Tree => {
                    "control edges are derived from the execution tree and have no labels; the `ControlDeps` recorder keeps them"
                }
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
