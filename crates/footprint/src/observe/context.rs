//! What every event knows about where it happened.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::ids::{RunId, RuntimeStageId};
use crate::snapshot::LogAddress;
use crate::value::{Object, Str, Value};

/// The state namespace of a step: `""` at root and at a mount's root, the child id inside a parallel
/// branch (nested branches joined by `/`). Serialised as `pipelineId` for compatibility; it is *not*
/// a run id, and its type keeps anyone from joining it with one (OBS-10).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NamespaceId(pub Str);

impl NamespaceId {
    /// The namespace as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the level's root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

/// Where a resumed leg picks up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumedFrom {
    /// Engine run id of the leg that paused.
    pub run_id: Str,
    /// Address of the visit that paused.
    pub runtime_stage_id: Str,
}

/// The position of a step in the walk (ENG §2). Carried by every flow event except
/// `onSubflowRegistered`; in memory every event has one.
#[derive(Clone, Debug, PartialEq)]
pub struct TraversalContext {
    /// Engine run id.
    pub run_id: RunId,
    /// Prefixed stage id.
    pub stage_id: Str,
    /// Address of the visit.
    pub runtime_stage_id: RuntimeStageId,
    /// Prefixed stage name.
    pub stage_name: Str,
    /// Previous frame's stage id on this level.
    pub parent_stage_id: Option<Str>,
    /// Previous frame's address; a branch's decider, selector or fork; a mount's first stage: the mount.
    pub parent_runtime_stage_id: Option<RuntimeStageId>,
    /// Full path of the innermost mount the stage is in (on a mount's own events: the mount itself).
    pub subflow_id: Option<Str>,
    /// Path of the stage's own address.
    pub subflow_path: Option<Str>,
    /// Number of mount segments in the address.
    pub depth: usize,
    /// `visits - 1`, absent on the first visit.
    pub loop_iteration: Option<u64>,
    /// The branch namespace when inside a parallel branch.
    pub fork_branch: Option<Str>,
    /// Only on resume events.
    pub resumed_from: Option<ResumedFrom>,
}

impl TraversalContext {
    /// The JSON object.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        let mut put = |key: &str, value: Value| {
            out.insert(key, value);
        };
        put("runId", Value::from(self.run_id.to_string()));
        put("stageId", Value::from(self.stage_id.clone()));
        put("runtimeStageId", Value::from(self.runtime_stage_id.to_string()));
        put("stageName", Value::from(self.stage_name.clone()));
        if let Some(id) = &self.parent_stage_id {
            put("parentStageId", Value::from(id.clone()));
        }
        if let Some(id) = &self.parent_runtime_stage_id {
            put("parentRuntimeStageId", Value::from(id.to_string()));
        }
        if let Some(id) = &self.subflow_id {
            put("subflowId", Value::from(id.clone()));
        }
        if let Some(path) = &self.subflow_path {
            put("subflowPath", Value::from(path.clone()));
        }
        put("depth", Value::from(self.depth as u64));
        if let Some(n) = self.loop_iteration {
            put("loopIteration", Value::from(n));
        }
        if let Some(branch) = &self.fork_branch {
            put("forkBranch", Value::from(branch.clone()));
        }
        if let Some(from) = &self.resumed_from {
            let mut link = Object::new();
            link.insert("runId", Value::from(from.run_id.clone()));
            link.insert("runtimeStageId", Value::from(from.runtime_stage_id.clone()));
            put("resumedFrom", Value::Object(link));
        }
        Value::Object(out)
    }
}

/// Whether this part of the run began fresh or at a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LegKind {
    /// A run from the chart's root.
    Fresh,
    /// A leg after a pause.
    Resumed {
        /// Run id of the leg that paused.
        previous_run_id: Str,
    },
}

/// Passed to [`crate::observe::Recorder::on_leg`] once per leg, before its first event.
#[derive(Clone, Debug)]
pub struct RunLeg<'a> {
    /// Id of the leg's run.
    pub run_id: &'a RunId,
    /// Fresh or resumed.
    pub kind: &'a LegKind,
    /// The caller's label (ENG-170).
    pub label: Option<&'a str>,
    /// False when a resumed leg runs in another process than the paused one: the recorder has seen
    /// nothing of the earlier legs (OBS-39).
    pub same_process: bool,
}

/// What a per-run recorder factory learns about the run it is made for.
#[derive(Clone, Debug)]
pub struct RunMeta<'a> {
    /// Id of the run.
    pub run_id: &'a RunId,
    /// The caller's label (ENG-170).
    pub label: Option<&'a str>,
}

/// Where events of one step happen: what all of them share.
#[derive(Clone, Debug)]
pub struct EventPlace {
    /// Engine run id.
    pub run_id: RunId,
    /// Fresh or resumed leg.
    pub leg: LegKind,
    /// The step.
    pub traversal: TraversalContext,
    /// State namespace of the step.
    pub namespace: NamespaceId,
    pub(crate) log: Arc<LogAddress>,
}

/// Borrowed context of one event: run, step, order, time, log position.
#[derive(Clone, Copy)]
pub struct EventCx<'a> {
    /// Engine run id.
    pub run_id: &'a RunId,
    /// Fresh or resumed leg.
    pub leg: &'a LegKind,
    /// The step.
    pub traversal: &'a TraversalContext,
    /// State namespace of the step.
    pub namespace: &'a NamespaceId,
    /// Position of this event in the run's total order.
    pub seq: u64,
    /// Bundles already in the run's root log (OBS-28).
    pub root_commits: usize,
    /// Bundles already in the event's own log.
    pub log_commits: usize,
    pub(crate) place: &'a Arc<EventPlace>,
    pub(crate) time: EventTime<'a>,
}

#[derive(Clone, Copy)]
pub(crate) enum EventTime<'a> {
    Live { clock: &'a dyn Clock, cell: &'a std::cell::Cell<Option<u64>> },
    Taken(u64),
}

impl<'a> EventCx<'a> {
    /// An event at a place; `commits` are those of the root log and of its own.
    pub(crate) fn at(place: &'a Arc<EventPlace>, seq: u64, commits: [usize; 2], time: EventTime<'a>) -> Self {
        let [root_commits, log_commits] = commits;
        Self {
            run_id: &place.run_id,
            leg: &place.leg,
            traversal: &place.traversal,
            namespace: &place.namespace,
            seq,
            root_commits,
            log_commits,
            place,
            time,
        }
    }

    /// Unix milliseconds of the event, read from the run's clock on first demand.
    pub fn timestamp(&self) -> u64 {
        match self.time {
            EventTime::Taken(at) => at,
            EventTime::Live { clock, cell } => cell.get().unwrap_or_else(|| {
                let now = clock.now_ms();
                cell.set(Some(now));
                now
            }),
        }
    }

    /// Which log `log_commits` belongs to.
    pub fn log_address(&self) -> &LogAddress {
        &self.place.log
    }

    /// Segments of the mount path of the step, outer first.
    pub fn subflow_segments(&self) -> impl Iterator<Item = &str> + '_ {
        self.traversal.subflow_path.as_deref().into_iter().flat_map(|path| path.split('/'))
    }

    /// The owned form, for keeping an event.
    pub fn to_owned_cx(&self) -> OwnedCx {
        OwnedCx {
            place: Arc::clone(self.place),
            seq: self.seq,
            root_commits: self.root_commits,
            log_commits: self.log_commits,
            timestamp: self.timestamp(),
        }
    }
}

/// Owned context of a kept event; the fields of its [`EventPlace`] are read as if they were its own.
#[derive(Clone, Debug)]
pub struct OwnedCx {
    pub(crate) place: Arc<EventPlace>,
    /// Position of this event in the run's total order.
    pub seq: u64,
    /// Bundles already in the run's root log.
    pub root_commits: usize,
    /// Bundles already in the event's own log.
    pub log_commits: usize,
    /// Unix milliseconds of the event.
    pub timestamp: u64,
}

impl Deref for OwnedCx {
    type Target = EventPlace;
    fn deref(&self) -> &EventPlace {
        &self.place
    }
}

impl OwnedCx {
    /// The borrowed form hooks take.
    pub fn as_cx(&self) -> EventCx<'_> {
        let time = EventTime::Taken(self.timestamp);
        EventCx::at(&self.place, self.seq, [self.root_commits, self.log_commits], time)
    }

    /// Which log `log_commits` belongs to.
    pub fn log_address(&self) -> &LogAddress {
        &self.log
    }
}
