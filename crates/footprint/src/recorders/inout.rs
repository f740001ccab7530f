//! What crossed each chart boundary (OBS-92).

use super::per_run::PerRun;
use crate::ids::{PATH_MARK, ROOT_STAGE, RunId, RuntimeStageId};
use crate::observe::*;
use crate::snapshot::PreferredOperation;
use crate::value::{Object, Str, Value};

/// Side of a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InOutPhase {
    /// The chart was entered.
    Entry,
    /// The chart was left.
    Exit,
}

/// One crossing of a chart boundary. An entry without its exit is running or paused.
#[derive(Clone, Debug, PartialEq)]
pub struct InOutEntry {
    /// The mount's address; `__root__#0` for the run itself.
    pub runtime_stage_id: RuntimeStageId,
    /// Full mount path; `__root__` for the run itself.
    pub subflow_id: Str,
    /// Last segment of the path.
    pub local_subflow_id: Str,
    /// Display name; `Run` for the run itself.
    pub subflow_name: Str,
    /// Description, on entry.
    pub description: Option<Str>,
    /// `__root__`, then the path's segments.
    pub subflow_path: Vec<Str>,
    /// Number of mount segments.
    pub depth: usize,
    /// Entered or left.
    pub phase: InOutPhase,
    /// What went in or came out, in its served form.
    pub payload: Option<Value>,
    /// Whether this is the run itself.
    pub is_root: bool,
}

impl InOutEntry {
    fn root(phase: InOutPhase, payload: Option<Value>) -> Self {
        Self {
            runtime_stage_id: RuntimeStageId::root(),
            subflow_id: ROOT_STAGE.into(),
            local_subflow_id: ROOT_STAGE.into(),
            subflow_name: "Run".into(),
            description: None,
            subflow_path: vec![ROOT_STAGE.into()],
            depth: 0,
            phase,
            payload,
            is_root: true,
        }
    }

    fn mount(cx: &EventCx<'_>, name: &Str, subflow_id: Option<&Str>, phase: InOutPhase) -> Self {
        let subflow_id = subflow_id.unwrap_or(&cx.traversal.stage_id).clone();
        let segments = subflow_id.split(PATH_MARK).map(Str::from);
        let subflow_path: Vec<Str> = std::iter::once(ROOT_STAGE.into()).chain(segments).collect();
        Self {
            runtime_stage_id: cx.traversal.runtime_stage_id.clone(),
            local_subflow_id: subflow_path.last().cloned().unwrap_or_else(|| subflow_id.clone()),
            subflow_name: name.clone(),
            description: None,
            depth: subflow_path.len() - 1,
            subflow_path,
            subflow_id,
            phase,
            payload: None,
            is_root: false,
        }
    }

    fn to_value(&self) -> Value {
        let mut row = Object::new();
        row.insert("runtimeStageId", self.runtime_stage_id.to_string().into());
        row.insert("subflowId", Value::from(&self.subflow_id));
        row.insert("localSubflowId", Value::from(&self.local_subflow_id));
        row.insert("subflowName", Value::from(&self.subflow_name));
        if let Some(description) = &self.description {
            row.insert("description", Value::from(description));
        }
        row.insert("subflowPath", Value::Array(self.subflow_path.iter().map(Value::from).collect()));
        row.insert("depth", self.depth.into());
        let phase = if self.phase == InOutPhase::Entry { "entry" } else { "exit" };
        row.insert("phase", phase.into());
        if let Some(payload) = &self.payload {
            row.insert("payload", payload.clone());
        }
        row.insert("isRoot", self.is_root.into());
        Value::Object(row)
    }
}

/// Keeps an entry/exit pair for every chart boundary, the run's own included.
#[derive(Debug)]
pub struct InOut {
    id: Str,
    runs: PerRun<Vec<InOutEntry>>,
}

impl Default for InOut {
    fn default() -> Self {
        Self::with_id("inout-1")
    }
}

impl InOut {
    /// Under the id `inout-1`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Under this id.
    pub fn with_id(id: impl Into<Str>) -> Self {
        Self { id: id.into(), runs: PerRun::default() }
    }

    /// All crossings of a run (`None` = the newest), in order.
    pub fn entries(&self, run: Option<&RunId>) -> Vec<InOutEntry> {
        self.runs.read(run, Clone::clone).unwrap_or_default()
    }

    fn push(&self, cx: &EventCx<'_>, entry: InOutEntry) -> HookResult {
        self.runs.with(cx.run_id, |entries| entries.push(entry));
        Ok(())
    }
}

impl Recorder for InOut {
    fn id(&self) -> &str {
        &self.id
    }

    fn interest(&self) -> Interest {
        Interest::hooks([
            Hook::RunStart,
            Hook::RunEnd,
            Hook::RunFailed,
            Hook::FlowPause,
            Hook::SubflowEntry,
            Hook::SubflowExit,
        ])
    }

    fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
        self.runs.leg(leg);
        Ok(())
    }

    fn on_run_start(&self, cx: &EventCx<'_>, e: &RunStartEvent) -> HookResult {
        self.push(cx, InOutEntry::root(InOutPhase::Entry, e.payload.clone()))
    }

    fn on_run_end(&self, cx: &EventCx<'_>, e: &RunEndEvent) -> HookResult {
        self.runs.close(cx.run_id);
        self.push(cx, InOutEntry::root(InOutPhase::Exit, e.payload.clone()))
    }

    fn on_run_failed(&self, cx: &EventCx<'_>, _e: &RunFailedEvent) -> HookResult {
        self.runs.close(cx.run_id);
        self.push(cx, InOutEntry::root(InOutPhase::Exit, None))
    }

    fn on_flow_pause(&self, cx: &EventCx<'_>, _e: &FlowPauseEvent) -> HookResult {
        self.runs.close(cx.run_id);
        Ok(())
    }

    fn on_subflow_entry(&self, cx: &EventCx<'_>, e: &SubflowEntryEvent) -> HookResult {
        let entry = InOutEntry::mount(cx, &e.name, e.subflow_id.as_ref(), InOutPhase::Entry);
        let (description, payload) = (e.description.clone(), e.mapped_input.clone());
        self.push(cx, InOutEntry { description, payload, ..entry })
    }

    fn on_subflow_exit(&self, cx: &EventCx<'_>, e: &SubflowExitEvent) -> HookResult {
        let entry = InOutEntry::mount(cx, &e.name, e.subflow_id.as_ref(), InOutPhase::Exit);
        self.push(cx, InOutEntry { payload: e.output_state.clone(), ..entry })
    }

    fn snapshot(&self, run: &RunId) -> Option<RecorderBundle> {
        let data = self.runs.read(Some(run), |e| e.iter().map(InOutEntry::to_value).collect())?;
        Some(RecorderBundle {
            name: "InOut".into(),
            description: Some("What went into and came out of every chart".into()),
            preferred_operation: Some(PreferredOperation::Translate),
            data: Value::Array(data),
            meta: self.runs.meta(run).map(Value::Object),
        })
    }
}
