//! The one handle over a recording (OBS-143, OBS-179…182).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::view::Lifted;
use super::{LogParts, LogView, Note, NoteCode, QueryError};
use crate::ids::{RuntimeStageId, is_execution_key};
use crate::recorders::{ControlData, NarrativeEntry, narrative::entries_from_value};
use crate::snapshot::{LogAddress, OpenLimits, OpenRecordingError, Recording, Snapshot, SubflowResult};
use crate::value::Str;

#[derive(Debug)]
struct Inner {
    snapshot: Snapshot,
    root: LogView,
    lifted: Lifted,
    mounts: Arc<HashMap<RuntimeStageId, Str>>,
    /// Views by the shared execution they look at.
    subflows: Mutex<HashMap<usize, Arc<LogView>>>,
}

/// Everything a recording can be asked. Cheap to clone, `Send + Sync`; made from a live run's snapshot or a stored one.
#[derive(Clone, Debug)]
pub struct TraceQuery(Arc<Inner>);

/// One subflow execution, for asking questions inside it.
#[derive(Clone, Debug)]
pub struct SubflowView {
    /// Its log and tree.
    pub view: Arc<LogView>,
    /// Its mount path.
    pub subflow_id: Str,
    /// How often this subflow ran, as far as the recording says.
    pub executions: usize,
    /// What the answer must say about itself.
    pub notes: Vec<Note>,
}

impl TraceQuery {
    /// Over a snapshot.
    pub fn new(snapshot: Snapshot) -> Self {
        let lifted = lift(&snapshot);
        let mounts: HashMap<RuntimeStageId, Str> = snapshot
            .subflow_results
            .iter()
            .filter(|(key, _)| is_execution_key(key))
            .map(|(key, result)| (RuntimeStageId::parse(key), result.subflow_id.clone()))
            .collect();
        let mounts = Arc::new(mounts);
        let address = snapshot.log_address.clone().unwrap_or_else(|| LogAddress {
            log_run_id: snapshot.run_id.clone().unwrap_or_default(),
            drill_path: Vec::new(),
        });
        let parts = LogParts {
            log: snapshot.commit_log.clone(),
            tree: snapshot.execution_tree.clone(),
            initial: snapshot.initial_state.clone(),
            address,
        };
        let root = LogView::with(parts, lifted.clone(), Arc::clone(&mounts));
        Self(Arc::new(Inner { snapshot, root, lifted, mounts, subflows: Mutex::default() }))
    }

    /// Opens `{snapshot, …}`.
    ///
    /// # Errors
    /// [`OpenRecordingError`] names what is missing or too large.
    pub fn open(text: &[u8], limits: &OpenLimits) -> Result<Self, OpenRecordingError> {
        Recording::open(text, limits).map(|recording| Self::new(recording.snapshot))
    }

    /// The run's own log.
    pub fn root(&self) -> &LogView {
        &self.0.root
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.0.snapshot
    }

    /// All narrative entries, when the recording has any.
    pub fn narrative(&self) -> Option<&[NarrativeEntry]> {
        self.0.lifted.narrative.as_deref()
    }

    /// Mount paths that ran, each once.
    pub fn subflow_paths(&self) -> impl Iterator<Item = &Str> {
        self.0.snapshot.subflow_paths()
    }

    /// Mount addresses that ran, one per execution.
    pub fn subflow_executions(&self) -> impl Iterator<Item = &Str> {
        self.0.snapshot.subflow_results.keys().filter(|key| is_execution_key(key))
    }

    /// One subflow execution: by mount address (`sf-pay#5`, that execution) or by mount path (the last execution, and says so when there are
    /// several).
    ///
    /// # Errors
    /// [`QueryError::UnknownSubflow`] with the known paths.
    pub fn subflow(&self, address_or_path: &str) -> Result<SubflowView, QueryError> {
        let results = &self.0.snapshot.subflow_results;
        let result = results.get(address_or_path).or_else(|| self.last_execution(address_or_path));
        let Some(result) = result else {
            return Err(QueryError::UnknownSubflow {
                id: address_or_path.to_owned(),
                known: self.known_subflows(),
            });
        };
        let executions = results
            .iter()
            .filter(|(key, other)| is_execution_key(key) && other.subflow_id == result.subflow_id)
            .count();
        let mut notes = Vec::new();
        if !is_execution_key(address_or_path) && executions > 1 {
            let detail = format!("`{address_or_path}` ran {executions} times; this is its last execution");
            notes.push(Note::with(NoteCode::LastExecution, detail));
        }
        let view = self.view_of(address_or_path, result);
        Ok(SubflowView { view, subflow_id: result.subflow_id.clone(), executions, notes })
    }

    /// Where only numbered entries are stored, a path means the one with the highest number.
    fn last_execution(&self, path: &str) -> Option<&Arc<SubflowResult>> {
        let results = self.0.snapshot.subflow_results.iter();
        let own = results.filter_map(|(key, result)| {
            let id = RuntimeStageId::parse(key);
            (id.has_index() && id.stage_id() == path).then_some((id.index(), result))
        });
        own.max_by_key(|(index, _)| *index).map(|(_, result)| result)
    }

    fn known_subflows(&self) -> Vec<String> {
        let mut known: Vec<String> =
            self.0.snapshot.subflow_results.values().map(|r| r.subflow_id.to_string()).collect();
        known.sort_unstable();
        known.dedup();
        known
    }

    /// A log is paired only with the tree of the same entry; both keys of one execution share one view.
    fn view_of(&self, key: &str, result: &Arc<SubflowResult>) -> Arc<LogView> {
        let shared = Arc::as_ptr(result) as usize;
        let mut views = self.0.subflows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(view) = views.get(&shared) {
            return Arc::clone(view);
        }
        let inner = &result.tree_context;
        let address = inner.log_address.clone().unwrap_or_else(|| LogAddress {
            log_run_id: self.0.root.address().log_run_id.clone(),
            drill_path: vec![key.into()],
        });
        let parts = LogParts {
            log: inner.history.clone(),
            tree: inner.stage_contexts.clone(),
            initial: inner.initial_state.clone(),
            address,
        };
        let view = Arc::new(LogView::with(parts, self.0.lifted.clone(), Arc::clone(&self.0.mounts)));
        views.insert(shared, Arc::clone(&view));
        view
    }

    /// The view a step belongs to: the run's, or that of the subflow execution whose log or tree has it.
    pub fn view_with(&self, step: &RuntimeStageId) -> Option<Arc<LogView>> {
        let path = step.subflow_path()?;
        let mut executions: Vec<(&Str, &Arc<SubflowResult>)> =
            self.0.snapshot.subflow_results.iter().filter(|(_, r)| *r.subflow_id == *path).collect();
        // Later executions first: they are asked about more often.
        executions.reverse();
        executions.into_iter().map(|(key, result)| self.view_of(key, result)).find(|view| view.has_step(step))
    }
}

/// Narrative and control row are lifted from the recorders' rows: the one by shape, the other by name.
fn lift(snapshot: &Snapshot) -> Lifted {
    let rows = || snapshot.recorders.iter();
    let named = |name: &'static str| rows().find(move |row| *row.name == *name);
    Lifted {
        narrative: rows().find_map(|row| entries_from_value(&row.data)).map(Arc::from),
        control: named("ControlDeps").and_then(|row| ControlData::from_value(&row.data)).map(Arc::new),
        quality: named("Quality").map(|row| row.data.clone()),
    }
}
