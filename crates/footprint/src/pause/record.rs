//! One question of a run, as the engine carries it while the run unwinds.

use indexmap::IndexMap;

use crate::ids::RuntimeStageId;
use crate::value::{Array, Object, Str, Value};
use crate::walk::frame::FrameHandle;

/// Frames of the top level's tree a same-process resume continues from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TopFrames {
    /// The stage that asked, or the mount it is inside of.
    pub(crate) at: u32,
    pub(crate) at_index: u64,
    /// Its decider, selector, fork or for-each.
    pub(crate) owner: Option<u32>,
}

/// What a fan-out on the path of a question has to show so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FanOutMemory {
    /// Local ids of all children, in declaration order.
    pub branches: Array,
    /// `{<child id>: {id, result, isError, slot?}}` of the settled ones.
    pub settled: Object,
}

/// One stage that asks, with everything needed to come back to it.
#[derive(Clone, Debug)]
pub(crate) struct PauseRecord {
    pub(crate) stage_id: Str,
    pub(crate) stage_name: Str,
    /// Run id and address of the visit that asked.
    pub(crate) execution: Option<(Str, Str)>,
    /// Mount paths, outer first.
    pub(crate) path: Vec<Str>,
    pub(crate) states: IndexMap<Str, Object>,
    pub(crate) data: Option<Value>,
    pub(crate) by_interrupt: bool,
    /// Answers an interrupted visit was given already.
    pub(crate) answers: Vec<Value>,
    /// The answer a pausable stage was resumed with, when it is that half which asks again.
    pub(crate) resumed_with: Option<Value>,
    pub(crate) invoker: Option<Str>,
    /// Addresses of deciders, selectors and forks to come back to, by prefixed id.
    pub(crate) dispatchers: IndexMap<Str, Str>,
    pub(crate) fans: IndexMap<Str, FanOutMemory>,
    pub(crate) top: Option<TopFrames>,
    /// This leg told it; false for questions of an earlier leg.
    pub(crate) told: bool,
}

impl PauseRecord {
    pub(crate) fn asked_by(frame: &FrameHandle, data: Option<Value>, by_interrupt: bool) -> Self {
        Self {
            stage_id: frame.id().clone(),
            stage_name: frame.name().clone(),
            execution: Some((frame.run_id(), frame.address().to_string().into())),
            path: Vec::new(),
            states: IndexMap::new(),
            data,
            by_interrupt,
            answers: Vec::new(),
            resumed_with: None,
            invoker: None,
            dispatchers: IndexMap::new(),
            fans: IndexMap::new(),
            top: Some(TopFrames { at: frame.no(), at_index: frame.index, owner: None }),
            told: false,
        }
    }

    /// The question passes a decider, selector, fork or for-each it must be returned to.
    pub(crate) fn dispatched_by(&mut self, owner: &FrameHandle) {
        self.dispatchers.insert(owner.id().clone(), owner.address().to_string().into());
        if let Some(top) = &mut self.top {
            top.owner = Some(owner.no());
        }
    }

    /// The question passes a fan-out whose other children have settled.
    pub(crate) fn settled_in(&mut self, owner: &FrameHandle, branches: &Array, settled: &Object) {
        self.fans.insert(
            owner.id().clone(),
            FanOutMemory { branches: branches.clone(), settled: settled.clone() },
        );
    }

    /// The question passes a mount, whose state is captured.
    pub(crate) fn inside(&mut self, mount: &FrameHandle, state: &Object) {
        // A queued question of an earlier leg passes its mounts once more.
        if !self.path.contains(mount.id()) {
            self.path.insert(0, mount.id().clone());
        }
        self.states.insert(mount.id().clone(), state.clone());
        self.top = Some(TopFrames { at: mount.no(), at_index: mount.index, owner: None });
    }

    /// The address of the visit that asked.
    pub(crate) fn address(&self) -> Option<RuntimeStageId> {
        self.execution.as_ref().map(|(_, address)| RuntimeStageId::parse(address))
    }
}
