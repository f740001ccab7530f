//! One step's detail, event by event (OBS-89).

use super::per_run::PerRun;
use crate::ids::{RunId, RuntimeStageId};
use crate::observe::*;
use crate::snapshot::PreferredOperation;
use crate::stores::{HasStep, SequenceStore};
use crate::value::{Object, Str, Value};

/// How much a [`struct@Debug`] recorder keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Errors, pauses and resumes.
    Minimal,
    /// Everything.
    #[default]
    Verbose,
}

#[derive(Clone, Debug)]
struct Entry {
    kind: &'static str,
    stage_name: Str,
    step: RuntimeStageId,
    timestamp: u64,
    data: Object,
}

impl HasStep for Entry {
    type Step = RuntimeStageId;
    fn step(&self) -> Option<&RuntimeStageId> {
        Some(&self.step)
    }
}

impl Entry {
    fn to_value(&self) -> Value {
        let mut row = Object::new();
        row.insert("type", self.kind.into());
        row.insert("stageName", Value::from(&self.stage_name));
        row.insert("runtimeStageId", self.step.to_string().into());
        row.insert("timestamp", self.timestamp.into());
        row.insert("data", Value::Object(self.data.clone()));
        Value::Object(row)
    }
}

/// Keeps what happened inside each step: reads, writes, starts, ends, failures, pauses and resumes.
#[derive(Debug)]
pub struct Debug {
    id: Str,
    verbosity: Verbosity,
    runs: PerRun<SequenceStore<Entry>>,
}

impl Default for Debug {
    fn default() -> Self {
        Self::with_id("debug-1")
    }
}

impl Debug {
    /// Verbose, under the id `debug-1`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Verbose, under this id.
    pub fn with_id(id: impl Into<Str>) -> Self {
        Self { id: id.into(), verbosity: Verbosity::default(), runs: PerRun::default() }
    }

    /// With this verbosity.
    #[must_use]
    pub fn verbosity(mut self, verbosity: Verbosity) -> Self {
        self.verbosity = verbosity;
        self
    }

    /// The entries of one step of a run (`None` = the newest), in order.
    pub fn step(&self, run: Option<&RunId>, step: &RuntimeStageId) -> Vec<Value> {
        let own = |e: &SequenceStore<Entry>| e.by_step(step).map(Entry::to_value).collect();
        self.runs.read(run, own).unwrap_or_default()
    }

    /// All entries of a run (`None` = the newest), in order.
    pub fn entries(&self, run: Option<&RunId>) -> Vec<Value> {
        self.runs.read(run, |e| e.iter().map(Entry::to_value).collect()).unwrap_or_default()
    }
}

/// The entry type of a hook.
fn entry_type(hook: Hook) -> Option<&'static str> {
    Some(match hook {
        Hook::Read => "read",
        Hook::Write => "write",
        Hook::StageStart => "stageStart",
        Hook::StageEnd => "stageEnd",
        Hook::ScopeError | Hook::Error => "error",
        Hook::ScopePause => "pause",
        Hook::ScopeResume => "resume",
        _ => return None,
    })
}

/// Fields of an event that stand beside its data in a row.
const BESIDE: [&str; 5] = ["stageName", "stageId", "runtimeStageId", "timestamp", "traversalContext"];

impl Recorder for Debug {
    fn id(&self) -> &str {
        &self.id
    }

    fn interest(&self) -> Interest {
        let minimal = [
            Hook::ScopeError,
            Hook::Error,
            Hook::ScopePause,
            Hook::ScopeResume,
            Hook::RunEnd,
            Hook::RunFailed,
            Hook::FlowPause,
        ];
        let rest = [Hook::Read, Hook::Write, Hook::StageStart, Hook::StageEnd];
        match self.verbosity {
            Verbosity::Minimal => Interest::hooks(minimal),
            Verbosity::Verbose => Interest::hooks(minimal.into_iter().chain(rest)),
        }
    }

    fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
        self.runs.leg(leg);
        Ok(())
    }

    fn on_event(&self, cx: &EventCx<'_>, e: &Payload) -> HookResult {
        let hook = e.hook();
        if let Some(kind) = entry_type(hook).filter(|_| self.interest().contains(hook)) {
            let mut data = e.to_json(cx).as_object().cloned().unwrap_or_default();
            for field in BESIDE {
                data.remove(field);
            }
            let entry = Entry {
                kind,
                stage_name: cx.traversal.stage_name.clone(),
                step: cx.traversal.runtime_stage_id.clone(),
                timestamp: cx.timestamp(),
                data,
            };
            self.runs.with(cx.run_id, |entries| entries.push(entry));
        }
        if matches!(hook, Hook::RunEnd | Hook::RunFailed | Hook::FlowPause) {
            self.runs.close(cx.run_id);
        }
        Ok(())
    }

    fn snapshot(&self, run: &RunId) -> Option<RecorderBundle> {
        let data = self.runs.read(Some(run), |e| e.iter().map(Entry::to_value).collect())?;
        Some(RecorderBundle {
            name: "Debug".into(),
            description: Some("What happened inside each step".into()),
            preferred_operation: Some(PreferredOperation::Translate),
            data: Value::Array(data),
            meta: self.runs.meta(run).map(Value::Object),
        })
    }
}
