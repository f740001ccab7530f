//! The boundary recorder: when each run, subflow, branch, model call and tool call was crossed, on the commit axis.
//!
//! The commit log alone never says this, and it cannot be recovered afterwards (REC §4.1).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use agentfootprint_record::events::payload::StreamLlmEnd;
use agentfootprint_record::events::{Event, EventName, Pattern, Payload as _};
use footprint::ids::{RunId, RuntimeStageId};
use footprint::observe::{
    DecisionEvent, EventCx, ForkEvent, Hook, HookResult, Interest, LoopEvent, Recorder, RecorderBundle,
    RunEndEvent, RunFailedEvent, RunStartEvent, SubflowEntryEvent, SubflowExitEvent,
};
use footprint::snapshot::PreferredOperation;
use footprint::value::{Object, Str, Value};

use super::options::BoundaryDetail;
use super::rows::{Arrow, Crossing, Row, is_crossing};
use crate::run::{RunProbe, RunWiring, lock};

/// Records boundaries of one run. It needs three connections — the walk, the typed events, the commit counter — and the only
/// constructor makes all three (REC-39).
pub struct BoundaryRecorder {
    id: Str,
    detail: BoundaryDetail,
    probe: RunProbe,
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    /// Whether the last model call of a chart level asked for tools.
    asked_for_tools: HashMap<Str, bool>,
}

impl BoundaryRecorder {
    /// The id of its snapshot row.
    pub const ID: &'static str = "boundary-1";

    /// Connects a recorder to one run, before its first stage.
    pub fn connect(wiring: &mut RunWiring<'_>, detail: BoundaryDetail) -> Arc<Self> {
        Self::connect_as(wiring, detail, Self::ID)
    }

    /// The same under another id, beside the one of a recording.
    pub(crate) fn connect_as(wiring: &mut RunWiring<'_>, detail: BoundaryDetail, id: &str) -> Arc<Self> {
        let (id, probe) = (id.into(), wiring.probe().clone());
        let recorder = Arc::new(Self { id, detail, probe, rows: Mutex::default() });
        let listening = Arc::clone(&recorder);
        wiring.events().on_shared(Pattern::All, Arc::new(move |event| listening.hear(event))).keep();
        wiring.observe(Arc::clone(&recorder) as Arc<dyn Recorder>);
        recorder
    }

    /// Rows so far.
    pub fn row_count(&self) -> usize {
        lock(&self.rows).rows.len()
    }

    /// The rows so far, as a recording holds them: what a live view folds.
    pub fn rows(&self) -> Value {
        Value::Array(lock(&self.rows).rows.iter().map(|row| row.to_value(self.detail)).collect())
    }

    fn hear(&self, event: &Arc<Event>) {
        if !is_crossing(event) {
            return;
        }
        let step = event.meta.runtime_stage_id.clone();
        let commit = self.probe.commit_count();
        let mut rows = lock(&self.rows);
        let arrow = rows.arrow(event, &step);
        let crossing = Crossing::Said { event: Arc::clone(event), arrow };
        rows.rows.push(Row { step, ts: event.meta.wall_clock_ms, commit, crossing });
    }

    fn cross(&self, cx: &EventCx<'_>, crossings: impl IntoIterator<Item = Crossing>) -> HookResult {
        let step = &cx.traversal.runtime_stage_id;
        let (ts, commit) = (cx.timestamp(), cx.root_commits);
        let mut rows = lock(&self.rows);
        rows.rows.extend(crossings.into_iter().map(|crossing| Row {
            step: step.clone(),
            ts,
            commit,
            crossing,
        }));
        Ok(())
    }
}

impl Rows {
    fn arrow(&mut self, event: &Event, step: &RuntimeStageId) -> Option<Arrow> {
        let level = Str::from(step.subflow_path().unwrap_or_default());
        match event.name()? {
            EventName::StreamLlmStart => {
                let after_tool = self.asked_for_tools.get(&level).copied().unwrap_or_default();
                Some(if after_tool { Arrow::ToolToLlm } else { Arrow::UserToLlm })
            }
            EventName::StreamLlmEnd => {
                let asks = StreamLlmEnd::of(&event.kind).is_some_and(|end| end.tool_call_count > 0);
                self.asked_for_tools.insert(level, asks);
                Some(if asks { Arrow::LlmToTool } else { Arrow::LlmToUser })
            }
            _ => None,
        }
    }
}

impl Recorder for BoundaryRecorder {
    fn id(&self) -> &str {
        &self.id
    }

    fn interest(&self) -> Interest {
        Interest::hooks([
            Hook::RunStart,
            Hook::RunEnd,
            Hook::RunFailed,
            Hook::SubflowEntry,
            Hook::SubflowExit,
            Hook::Fork,
            Hook::Decision,
            Hook::Loop,
        ])
    }

    fn on_run_start(&self, cx: &EventCx<'_>, e: &RunStartEvent) -> HookResult {
        self.cross(cx, [Crossing::RunEntry { payload: e.payload.clone() }])
    }

    fn on_run_end(&self, cx: &EventCx<'_>, e: &RunEndEvent) -> HookResult {
        self.cross(cx, [Crossing::RunExit { payload: e.payload.clone() }])
    }

    fn on_run_failed(&self, cx: &EventCx<'_>, e: &RunFailedEvent) -> HookResult {
        let mut payload = Object::new();
        payload.insert("error", e.structured_error.to_value());
        self.cross(cx, [Crossing::RunExit { payload: Some(Value::Object(payload)) }])
    }

    fn on_subflow_entry(&self, cx: &EventCx<'_>, e: &SubflowEntryEvent) -> HookResult {
        self.cross(
            cx,
            [Crossing::SubflowEntry {
                id: e.subflow_id.clone().unwrap_or_default(),
                name: e.name.clone(),
                description: e.description.clone(),
                payload: e.mapped_input.clone(),
            }],
        )
    }

    fn on_subflow_exit(&self, cx: &EventCx<'_>, e: &SubflowExitEvent) -> HookResult {
        let id = e.subflow_id.clone().unwrap_or_default();
        self.cross(cx, [Crossing::SubflowExit { id, name: e.name.clone(), payload: e.output_state.clone() }])
    }

    fn on_fork(&self, cx: &EventCx<'_>, e: &ForkEvent) -> HookResult {
        let parent: Str = cx.traversal.stage_id.clone();
        let children = e.children.iter();
        self.cross(
            cx,
            children.map(|child| Crossing::ForkBranch { parent: parent.clone(), child: child.clone() }),
        )
    }

    fn on_decision(&self, cx: &EventCx<'_>, e: &DecisionEvent) -> HookResult {
        let (decider, chosen, rationale) = (e.decider.clone(), e.chosen.clone(), e.rationale.clone());
        self.cross(cx, [Crossing::Decision { decider, chosen, rationale }])
    }

    fn on_loop(&self, cx: &EventCx<'_>, e: &LoopEvent) -> HookResult {
        let (target, target_id) = (e.target.clone(), e.target_id.clone());
        self.cross(cx, [Crossing::Loop { target, target_id, iteration: e.iteration }])
    }

    fn snapshot(&self, _run: &RunId) -> Option<RecorderBundle> {
        let data = self.rows();
        let mode = if self.detail == BoundaryDetail::Lean { "lean" } else { "full" };
        let mut bundle = RecorderBundle::new("BoundaryEvents", data);
        bundle.description =
            Some(Str::from("when runs, subflows, branches, model calls and tool calls were crossed"));
        bundle.preferred_operation = Some(PreferredOperation::Translate);
        let mut meta = Object::new();
        meta.insert("mode", Value::from(mode));
        bundle.meta = Some(Value::Object(meta));
        Some(bundle)
    }
}
