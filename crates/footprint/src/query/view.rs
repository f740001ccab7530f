//! One log with everything needed to answer questions about it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::births::ArrayHistory;
use super::index::LogIndex;
use super::tree::TreeIndex;
use super::values::Checkpoints;
use super::{Note, NoteCode, QueryError, StateKey};
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::recorders::{ControlData, NarrativeEntry};
use crate::snapshot::{CommitLog, ExecutionTree, FrameRecord, LogAddress, NodeId};
use crate::state::Bundle;
use crate::value::{Object, Str};

/// What a recording's observers left for queries; absent parts are reported as absent (OBS-180).
#[derive(Clone, Debug, Default)]
pub(super) struct Lifted {
    pub(super) narrative: Option<Arc<[NarrativeEntry]>>,
    pub(super) control: Option<Arc<ControlData>>,
    pub(super) quality: Option<crate::value::Value>,
}

/// What a [`LogView`] is made of.
#[derive(Clone, Debug, Default)]
pub struct LogParts {
    /// The commits.
    pub log: CommitLog,
    /// The tree of the same walk.
    pub tree: ExecutionTree,
    /// Fold base, when recorded.
    pub initial: Option<Object>,
    /// Which log this is.
    pub address: LogAddress,
}

/// One log — the run's or one subflow execution's — with its tree. All questions about it are pure; the index behind them is built on the
/// first one and kept.
///
/// ```
/// use footprint::query::{LogParts, LogView, StateKey};
/// let view = LogView::new(LogParts::default());
/// assert!(view.last_writer(&StateKey::key("total")?, None).is_none());
/// # Ok::<(), footprint::query::QueryError>(())
/// ```
#[derive(Debug)]
pub struct LogView {
    pub(super) parts: LogParts,
    pub(super) lifted: Lifted,
    /// Mounts of this log whose inner log is in the recording: mount address → subflow path.
    pub(super) mounts: Arc<HashMap<RuntimeStageId, Str>>,
    index: OnceLock<LogIndex>,
    tree_index: OnceLock<TreeIndex>,
    readers: OnceLock<Vec<Vec<u32>>>,
    pub(super) state_checkpoints: OnceLock<Vec<Object>>,
    /// Redacted paths with the first commit that redacts them.
    pub(super) redactions: OnceLock<Vec<(crate::state::Path, usize)>>,
    pub(super) root_checkpoints: Mutex<HashMap<u32, Arc<Checkpoints>>>,
    pub(super) nested_writers: Mutex<HashMap<StateKey, Arc<[u32]>>>,
    pub(super) arrays: Mutex<HashMap<StateKey, Arc<ArrayHistory>>>,
}

impl LogView {
    /// A view of these parts.
    pub fn new(parts: LogParts) -> Self {
        Self::with(parts, Lifted::default(), Arc::default())
    }

    pub(super) fn with(parts: LogParts, lifted: Lifted, mounts: Arc<HashMap<RuntimeStageId, Str>>) -> Self {
        Self {
            parts,
            lifted,
            mounts,
            index: OnceLock::new(),
            tree_index: OnceLock::new(),
            readers: OnceLock::new(),
            state_checkpoints: OnceLock::new(),
            redactions: OnceLock::new(),
            root_checkpoints: Mutex::default(),
            nested_writers: Mutex::default(),
            arrays: Mutex::default(),
        }
    }

    /// Adds control dependencies collected live, so that slices have control edges.
    #[must_use]
    pub fn with_control(mut self, control: ControlData) -> Self {
        self.lifted.control = Some(Arc::new(control));
        self
    }

    /// The same view after the log has grown: what was indexed is kept and extended, not rebuilt. `parts` must be a later state of the same
    /// log.
    #[must_use]
    pub fn grown(self, parts: LogParts) -> Self {
        let Self { lifted, mounts, index, .. } = self;
        let view = Self::with(parts, lifted, mounts);
        if let Some(mut index) = index.into_inner().filter(|i| i.len as usize <= view.parts.log.len()) {
            index.extend(&view.parts.log);
            view.add_reads(&mut index);
            let _fresh = view.index.set(index);
        }
        view
    }

    /// The index, built on first use.
    pub(super) fn index(&self) -> &LogIndex {
        self.index.get_or_init(|| {
            let mut index = LogIndex::of(&self.parts.log);
            self.add_reads(&mut index);
            index
        })
    }

    pub(super) fn tree_index(&self) -> &TreeIndex {
        self.tree_index.get_or_init(|| TreeIndex::of(&self.parts.tree))
    }

    /// Steps that read each symbol, ascending; made when a forward question is asked.
    pub(super) fn readers(&self) -> &[Vec<u32>] {
        self.readers.get_or_init(|| {
            let index = self.index();
            let mut readers = vec![Vec::new(); index.symbol_count()];
            for step in 0..index.steps.len() as u32 {
                for symbol in index.reads_of(step) {
                    if let Some(list) = readers.get_mut(*symbol as usize) {
                        list.push(step);
                    }
                }
            }
            readers
        })
    }

    /// Whether a step has a commit or a frame here.
    pub fn has_step(&self, step: &RuntimeStageId) -> bool {
        self.index().step_of_id(step).is_some() || self.frame_id(step).is_some()
    }

    fn add_reads(&self, index: &mut LogIndex) {
        index.set_reads(self.tree_index());
    }

    /// The commits.
    pub fn log(&self) -> &CommitLog {
        &self.parts.log
    }

    /// The execution tree.
    pub fn tree(&self) -> &ExecutionTree {
        &self.parts.tree
    }

    /// The fold base, when recorded.
    pub fn initial_state(&self) -> Option<&Object> {
        self.parts.initial.as_ref()
    }

    /// Which log this is.
    pub fn address(&self) -> &LogAddress {
        &self.parts.address
    }

    /// The narrative entries that belong to the recording, when there are any.
    pub fn narrative(&self) -> Option<&[NarrativeEntry]> {
        self.lifted.narrative.as_deref()
    }

    /// Number of commits, gaps included.
    pub fn len(&self) -> usize {
        self.parts.log.len()
    }

    /// Whether nothing was committed.
    pub fn is_empty(&self) -> bool {
        self.parts.log.is_empty()
    }

    pub(super) fn bundle(&self, commit: u32) -> Option<&Bundle> {
        self.parts.log.get(commit as usize).map(|b| &**b)
    }

    /// The frame of a step.
    pub fn frame(&self, step: &RuntimeStageId) -> Option<&FrameRecord> {
        self.parts.tree.get(self.tree_index().frame(step)?)
    }

    pub(super) fn frame_id(&self, step: &RuntimeStageId) -> Option<NodeId> {
        self.tree_index().frame(step)
    }

    /// Steps in commit order: address and first commit.
    pub fn steps(&self) -> impl Iterator<Item = (&RuntimeStageId, CommitIdx)> {
        let first = |s: &super::index::Step| {
            Some((&self.bundle(s.first)?.runtime_stage_id, CommitIdx(s.first as usize)))
        };
        self.index().steps.iter().filter_map(first)
    }

    /// The address of a step of the index.
    pub(super) fn step_id(&self, step: u32) -> Option<&RuntimeStageId> {
        Some(&self.bundle(self.index().step(step)?.first)?.runtime_stage_id)
    }

    /// The step with this address, or an error that names what is near.
    pub(super) fn step_or_error(&self, id: &RuntimeStageId) -> Result<u32, QueryError> {
        if let Some(step) = self.index().step_of_id(id) {
            return Ok(step);
        }
        let mut near: Vec<(u64, &RuntimeStageId)> = self
            .steps()
            .map(|(other, _)| {
                let same_stage = u64::from(other.stage_id() != id.stage_id());
                let distance = other.index().0.abs_diff(id.index().0).min(u64::MAX >> 1);
                (same_stage << 63 | distance, other)
            })
            .collect();
        near.sort_by_key(|(distance, _)| *distance);
        Err(QueryError::StepNotInLog {
            id: id.to_string(),
            nearest: near.into_iter().take(5).map(|(_, id)| id.to_string()).collect(),
            log: self.log_name(),
        })
    }

    pub(super) fn log_name(&self) -> String {
        match self.parts.address.drill_path.last() {
            Some(mount) => format!("subflow {mount}"),
            None => "the run".to_owned(),
        }
    }

    /// Notes that hold for every answer about this log.
    pub fn standing_notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        let basis = if self.parts.initial.is_some() { NoteCode::InitialAndLog } else { NoteCode::LogOnly };
        notes.push(Note::of(basis));
        let gaps = self.parts.log.gaps();
        if let Some(first) = gaps.first() {
            let detail =
                format!("{} rows cannot be read; the first is {}: {}", gaps.len(), first.index, first.reason);
            notes.push(Note::with(NoteCode::LogGap, detail));
        }
        notes
    }
}
