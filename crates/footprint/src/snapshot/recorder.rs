//! Recordings made without the engine (ENG-162).

use std::sync::Arc;

use super::{CommitLog, ExecutionTree, FrameRecord, LogAddress, NodeId, Snapshot};
use crate::ids::{CommitIdx, ExecutionIndex, IdKind, IdProblem, RuntimeStageId, check_id};
use crate::state::{
    Bundle, KeyProblem, Marks, Path, Redaction, RunPolicy, StagedOp, Staging, Tracking, Untracked, check_key,
    check_segment, fold,
};
use crate::value::summary::{MarkerKind, marker};
use crate::value::{Array, Object, Str, Value};
use crate::verbs::Verb;

/// Writes the record of something that ran outside the engine: one frame and one own bundle per step, through the same encoder, so the bytes
/// are those the engine would have written. The laws hold by construction: the base is frozen, the log only grows, addresses rise.
///
/// ```
/// use footprint::snapshot::RecordWriter;
/// use footprint::state::RunPolicy;
/// use footprint::value;
/// use footprint::value::Object;
///
/// let mut writer = RecordWriter::new("1-0000000001", Object::new(), RunPolicy::default());
/// let mut step = writer.step("load", "Load")?;
/// step.set("total", value!(40))?;
/// step.commit();
/// let mut step = writer.step("add", "Add")?;
/// let total = step.read("total").and_then(|t| t.as_i64()).unwrap_or_default();
/// step.set("total", value!(total + 2))?;
/// assert_eq!(step.commit().to_string(), "add#1");
/// assert_eq!(writer.snapshot().shared_state.get("total"), Some(&value!(42)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RecordWriter {
    run_id: Str,
    label: Option<Str>,
    policy: RunPolicy,
    marks: Marks,
    initial: Object,
    state: Object,
    log: CommitLog,
    tree: ExecutionTree,
    last: Option<NodeId>,
    next_index: u64,
}

impl RecordWriter {
    /// An empty record over an initial state.
    pub fn new(run_id: impl Into<Str>, initial: Object, policy: RunPolicy) -> Self {
        Self {
            run_id: run_id.into(),
            label: None,
            policy,
            marks: Marks::default(),
            state: initial.clone(),
            initial,
            log: CommitLog::new(),
            tree: ExecutionTree::new(),
            last: None,
            next_index: 0,
        }
    }

    /// Copies a label to the snapshot (ENG-170).
    #[must_use]
    pub fn label(mut self, label: impl Into<Str>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Begins the next step. It follows the one before it and gets the next execution index; a step that is dropped commits what it has,
    /// because what ran is recorded.
    ///
    /// # Errors
    /// An id with reserved characters.
    pub fn step(&mut self, id: impl Into<Str>, name: impl Into<Str>) -> Result<RecordStep<'_>, IdProblem> {
        let id = id.into();
        check_id(&id, IdKind::Stage)?;
        let address = RuntimeStageId::new(id.clone(), ExecutionIndex(self.next_index));
        self.next_index += 1;
        let frame = FrameRecord::new(id, name, address);
        Ok(RecordStep { writer: self, frame: Some(frame), staging: Staging::default(), tags: None })
    }

    /// Number of commits.
    pub fn commit_count(&self) -> usize {
        self.log.len()
    }

    /// The committed state.
    pub fn state(&self) -> &Object {
        &self.state
    }

    /// The record so far.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            run_id: Some(self.run_id.clone()),
            shared_state: self.state.clone(),
            initial_state: Some(self.initial.clone()),
            execution_tree: self.tree.clone(),
            commit_log: self.log.clone(),
            commit_values: self.policy.commit_values,
            write_provenance: self.policy.write_provenance,
            run_label: self.label.clone(),
            log_address: Some(LogAddress { log_run_id: self.run_id.clone(), drill_path: Vec::new() }),
            ..Snapshot::default()
        }
    }

    /// The record so far with the policy applied: the mirror instead of the state, and no initial state.
    pub fn snapshot_redacted(&self) -> Snapshot {
        let redaction = Redaction::new(self.policy.redaction.as_deref(), &self.marks);
        let bundles: Vec<&Bundle> = self.log.iter().map(|b| &**b).collect();
        let shared_state = fold(redaction.mirror_of(&self.initial), bundles);
        Snapshot { shared_state, initial_state: None, ..self.snapshot() }
    }
}

/// One step being recorded.
#[derive(Debug)]
pub struct RecordStep<'w> {
    writer: &'w mut RecordWriter,
    /// Taken by the commit.
    frame: Option<FrameRecord>,
    staging: Staging,
    tags: Option<Arc<[Str]>>,
}

impl RecordStep<'_> {
    /// Reads a root key, tracked: own writes first, then the committed state.
    pub fn read(&mut self, key: &str) -> Option<Value> {
        self.staging.read(&self.writer.state, key)
    }

    /// Replaces the value of a root key.
    ///
    /// # Errors
    /// A key that no state can have.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), KeyProblem> {
        self.write(Path::key(key), Verb::Set, value)
    }

    /// Merges into a root key.
    ///
    /// # Errors
    /// A key that no state can have.
    pub fn merge(&mut self, key: &str, patch: Value) -> Result<(), KeyProblem> {
        self.write(Path::key(key), Verb::Merge, patch)
    }

    /// Adds items to the list under a root key.
    ///
    /// # Errors
    /// A key that no state can have.
    pub fn append(&mut self, key: &str, items: Array) -> Result<(), KeyProblem> {
        self.write(Path::key(key), Verb::Append, Value::Array(items))
    }

    /// Removes a root key.
    ///
    /// # Errors
    /// A key that no state can have.
    pub fn delete(&mut self, key: &str) -> Result<(), KeyProblem> {
        self.write(Path::key(key), Verb::Delete, Value::Null)
    }

    /// Writes at a path with one of the four verbs. An append of something that is no list replaces, as its replay does.
    ///
    /// # Errors
    /// A path that no state can have.
    pub fn write(&mut self, path: Path, verb: Verb, value: Value) -> Result<(), KeyProblem> {
        check_key(path.root_key().unwrap_or_default())?;
        path.segments().iter().try_for_each(|segment| check_segment(segment))?;
        let op = match (verb, value) {
            (Verb::Merge, patch) => StagedOp::Merge { path, patch },
            (Verb::Append, Value::Array(items)) => StagedOp::Push { path, items },
            (Verb::Set | Verb::Append, value) => StagedOp::Set { path, value },
            (Verb::Delete, _) => StagedOp::Delete { path },
        };
        self.staging.apply(&self.writer.state, op);
        Ok(())
    }

    /// Marks a root key as redacted for the rest of the record.
    pub fn redact(&mut self, key: &str) {
        self.writer.marks.mark(Path::key(key));
        self.staging.note_mark(Path::key(key));
    }

    /// Says that the step consumed a source no tracked read shows.
    pub fn untracked(&mut self, source: Untracked) {
        self.staging.note_untracked(source);
    }

    /// The stage's declared tags.
    pub fn tags<T: Into<Str>>(&mut self, tags: impl IntoIterator<Item = T>) {
        self.tags = Some(tags.into_iter().map(Into::into).collect()).filter(|t: &Arc<[Str]>| !t.is_empty());
    }

    /// The step's tree node: description, diagnostic bags, flow messages. Its address and links are the writer's.
    pub fn frame(&mut self) -> Option<&mut FrameRecord> {
        self.frame.as_mut()
    }

    /// Commits the step and returns its address.
    pub fn commit(mut self) -> RuntimeStageId {
        let address = self.frame.as_ref().map(|f| f.runtime_stage_id.clone());
        self.land();
        address.unwrap_or_else(|| RuntimeStageId::parse(""))
    }

    fn land(&mut self) {
        let Some(mut frame) = self.frame.take() else { return };
        let writer = &mut *self.writer;
        let address = RuntimeStageId::new(frame.id.clone(), ExecutionIndex(writer.next_index - 1));
        frame.runtime_stage_id = address.clone();
        (frame.next, frame.children) = (None, Vec::new());
        let mut bundle =
            Bundle::empty(CommitIdx(writer.log.len()), frame.name.clone(), frame.id.clone(), address);
        bundle.tags = self.tags.take();
        bundle.untracked = self.staging.untracked();
        if self.staging.is_touched() {
            let rule = writer.policy.redaction.as_deref();
            let redaction = Redaction::new(rule, &writer.marks).with_local(self.staging.marked());
            let policy = &writer.policy;
            let commit = self.staging.encode(policy.commit_values, policy.write_provenance, redaction);
            frame.stage_reads = kept_reads(&self.staging, policy.read_tracking, redaction);
            frame.stage_writes = kept_writes(&self.staging, policy.write_tracking, redaction);
            commit.land(&self.staging, &mut writer.state);
            bundle.rows = commit.rows;
            bundle.redacted_paths = commit.redacted_paths;
        }
        writer.log.push(Arc::new(bundle));
        let at = writer.tree.push(frame);
        if let Some(before) = writer.last.replace(at).and_then(|last| writer.tree.get_mut(last)) {
            before.next = Some(at);
        }
    }
}

impl Drop for RecordStep<'_> {
    fn drop(&mut self) {
        self.land();
    }
}

fn kept_reads(staging: &Staging, tracking: Tracking, redaction: Redaction<'_>) -> Option<Object> {
    let keep = |key: &Str, value: &Value| {
        let served = redaction.serve(&Path::key(key.clone()), value);
        let summary = tracking == Tracking::Summary && !served.whole;
        (key.clone(), if summary { marker(MarkerKind::Read, Some(&served.value)) } else { served.value })
    };
    let reads = staging.reads().iter().filter_map(|r| Some(keep(&r.key, r.value.as_ref()?)));
    let kept: Object = reads.filter(|_| tracking != Tracking::Off).collect();
    (!kept.is_empty()).then_some(kept)
}

fn kept_writes(staging: &Staging, tracking: Tracking, redaction: Redaction<'_>) -> Option<Object> {
    let mut kept = Object::new();
    for record in staging.writes().into_iter().filter(|_| tracking != Tracking::Off) {
        let served = record.value.as_ref().map(|value| redaction.serve(&record.path, value));
        let whole = served.as_ref().is_some_and(|s| s.whole);
        let value = served.map(|s| s.value);
        let shown = if tracking == Tracking::Summary && !whole {
            Some(marker(MarkerKind::Write, value.as_ref()))
        } else {
            value
        };
        if let Some(shown) = shown {
            kept.insert(Str::from(record.path.to_string()), shown);
        }
    }
    (!kept.is_empty()).then_some(kept)
}
