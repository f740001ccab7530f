//! Recorders fed by hand with the events of OBS §2.2, in the order of ENG-99.

mod graph;
mod narrative;
mod rows;
mod strategies;

use std::sync::Arc;

use crate::error::StructuredError;
use crate::ids::{CommitIdx, RunId, RuntimeStageId};
use crate::observe::*;
use crate::snapshot::LogAddress;
use crate::state::Bundle;
use crate::value::{Str, Value};

/// Plays events of one run to recorders.
pub(super) struct Player<'a> {
    pub(super) run: RunId,
    seq: std::cell::Cell<u64>,
    pub(super) now: std::cell::Cell<u64>,
    recorders: Vec<&'a dyn Recorder>,
}

/// Where an event happens.
#[derive(Clone)]
pub(super) struct At {
    id: RuntimeStageId,
    name: Str,
    parent: Option<RuntimeStageId>,
    pass: Option<u64>,
    subflow: Option<Str>,
}

/// A step: address and display name; inside a mount when the address says so.
pub(super) fn at(id: &str, name: &str) -> At {
    let id = RuntimeStageId::parse(id);
    let subflow = id.subflow_path().map(Str::from);
    At { id, name: name.into(), parent: None, pass: None, subflow }
}

impl At {
    pub(super) fn under(mut self, parent: &str) -> Self {
        self.parent = Some(parent.into());
        self
    }

    pub(super) fn pass(mut self, pass: u64) -> Self {
        self.pass = Some(pass);
        self
    }

    /// The mount's own events carry its own path.
    pub(super) fn mount(mut self) -> Self {
        self.subflow = Some(self.id.stage_shared().clone());
        self
    }
}

impl<'a> Player<'a> {
    pub(super) fn new(run: &str, recorders: Vec<&'a dyn Recorder>) -> Self {
        let player = Self { run: RunId::new(run), seq: 0.into(), now: 1000.into(), recorders };
        player.leg(&LegKind::Fresh);
        player
    }

    /// A leg that goes on after another run paused.
    pub(super) fn resumed(run: &str, previous: &str, recorders: Vec<&'a dyn Recorder>) -> Self {
        let player = Self { run: RunId::new(run), seq: 0.into(), now: 2000.into(), recorders };
        player.leg(&LegKind::Resumed { previous_run_id: previous.into() });
        player
    }

    fn leg(&self, kind: &LegKind) {
        let leg = RunLeg { run_id: &self.run, kind, label: None, same_process: true };
        for recorder in &self.recorders {
            recorder.on_leg(&leg).unwrap();
        }
    }

    /// Fires an event and returns what failed.
    pub(super) fn fire(&self, at: &At, payload: impl Into<Payload>) -> Vec<String> {
        self.seq.set(self.seq.get() + 1);
        let place = EventPlace {
            run_id: self.run.clone(),
            leg: LegKind::Fresh,
            traversal: TraversalContext {
                run_id: self.run.clone(),
                stage_id: at.id.stage_shared().clone(),
                runtime_stage_id: at.id.clone(),
                stage_name: at.name.clone(),
                parent_stage_id: at.parent.as_ref().map(|p| p.stage_shared().clone()),
                parent_runtime_stage_id: at.parent.clone(),
                subflow_id: at.subflow.clone(),
                subflow_path: at.id.subflow_path().map(Str::from),
                depth: at.id.depth(),
                loop_iteration: at.pass,
                fork_branch: None,
                resumed_from: None,
            },
            namespace: NamespaceId("".into()),
            log: Arc::new(LogAddress::default()),
        };
        let cx = OwnedCx {
            place: Arc::new(place),
            seq: self.seq.get(),
            root_commits: 0,
            log_commits: 0,
            timestamp: self.now.get(),
        };
        let payload = payload.into();
        let heard = self.recorders.iter().filter(|r| r.interest().contains(payload.hook()));
        heard.filter_map(|r| r.on_event(&cx.as_cx(), &payload).err()).map(|e| e.message).collect()
    }

    pub(super) fn read(&self, at: &At, key: &str, value: Value) {
        self.fire(at, ReadEvent { key: Some(key.into()), value: Some(value), redacted: false });
    }

    pub(super) fn write(&self, at: &At, key: &str, value: Value) {
        let value = Some(value);
        self.fire(at, WriteEvent { key: key.into(), value, operation: WriteOp::Set, redacted: false });
    }

    pub(super) fn start(&self, at: &At) {
        self.fire(at, StageStartEvent { attempt: 1 });
    }

    pub(super) fn end(&self, at: &At) {
        self.fire(at, StageEndEvent { duration: None });
    }

    pub(super) fn commit(&self, at: &At) {
        let bundle = Bundle::empty(CommitIdx(0), at.name.clone(), at.id.stage_id(), at.id.clone());
        self.fire(at, CommitEvent { mutations: Arc::from([]), bundle: Arc::new(bundle) });
    }

    pub(super) fn executed(&self, at: &At, stage_type: StageType, description: Option<&str>) {
        let description = description.map(Str::from);
        self.fire(at, StageExecutedEvent { stage_name: at.name.clone(), description, stage_type });
    }

    /// A whole plain stage that writes one key.
    pub(super) fn stage(&self, at: &At, key: &str) {
        self.start(at);
        self.write(at, key, Value::from(1));
        self.end(at);
        self.commit(at);
        self.executed(at, StageType::Linear, None);
    }

    pub(super) fn enter(&self, at: &At, name: &str, input: Option<Value>) {
        let subflow_id = at.subflow.clone();
        let entry =
            SubflowEntryEvent { name: name.into(), subflow_id, description: None, mapped_input: input };
        self.fire(at, entry);
        self.executed(at, StageType::SubflowMount, None);
    }

    pub(super) fn exit(&self, at: &At, name: &str, output: Option<Value>) {
        let subflow_id = at.subflow.clone();
        self.fire(at, SubflowExitEvent { name: name.into(), subflow_id, output_state: output });
        self.commit(at);
    }

    pub(super) fn fork(&self, at: &At, children: &[&str]) {
        let names: Arc<[Str]> = children.iter().map(|c| Str::from(*c)).collect();
        self.fire(at, ForkEvent { parent: at.name.clone(), children: names.clone(), child_ids: names });
    }

    pub(super) fn decide(&self, at: &At, chosen: &str, evidence: Option<Value>) {
        self.fire(
            at,
            DecisionEvent {
                decider: at.name.clone(),
                chosen: chosen.into(),
                chosen_id: chosen.to_lowercase().into(),
                fell_back: false,
                rationale: None,
                description: None,
                evidence: evidence.map(|e| Arc::new(e.decode().unwrap())),
            },
        );
    }

    pub(super) fn select(&self, at: &At, selected: &[&str], total: usize, evidence: Option<Value>) {
        let names: Arc<[Str]> = selected.iter().map(|s| Str::from(*s)).collect();
        let ids: Arc<[Str]> = selected.iter().map(|s| Str::from(s.to_lowercase())).collect();
        let evidence = evidence.map(|e| Arc::new(e.decode().unwrap()));
        self.fire(
            at,
            SelectedEvent { parent: at.name.clone(), selected: names, selected_ids: ids, total, evidence },
        );
    }

    pub(super) fn fail(&self, at: &At, message: &str) {
        self.fire(
            at,
            ErrorEvent {
                stage_name: at.name.clone(),
                message: format!("Error: {message}").into(),
                structured_error: StructuredError::new(message),
                error: None,
                evidence: None,
            },
        );
    }

    pub(super) fn pause(&self, at: &At) {
        let stage_id = at.id.stage_shared().clone();
        self.fire(at, FlowPauseEvent { stage_name: at.name.clone(), stage_id, pause_data: None });
    }

    pub(super) fn go_round(&self, at: &At, target: &str, iteration: u64) {
        let target_id = target.to_lowercase().into();
        self.fire(at, LoopEvent { target: target.into(), target_id, iteration, description: None });
    }

    pub(super) fn finish(&self) {
        self.fire(&root(), RunEndEvent { payload: None });
    }

    pub(super) fn abort(&self) {
        self.fire(&root(), RunFailedEvent { structured_error: StructuredError::new("failed") });
    }
}

pub(super) fn root() -> At {
    at("__root__#0", "__root__")
}
