//! Parallel children of a fork, selector or for-each (ENG §6.3).

use std::sync::Arc;

use super::driver::Driver;
use super::frame::FrameHandle;
use super::namespace::Namespace;
use super::strand::{Cursor, End, Now, Strand, StrandId};
use super::tree::{Message, What};
use crate::chart::{FanOut as Mode, Next, NodeIdx, NodeKind};
use crate::error::RunError;
use crate::observe::{ForkEvent, Hook, StageType, ThrottledEvent};
use crate::pause::PauseRecord;
use crate::state::Phase;
use crate::value::{Array, Object, Str, Value};

pub(crate) type FanId = usize;

/// What is running in parallel below one node.
pub(crate) struct FanOut {
    /// The strand that waits.
    pub(super) parent: StrandId,
    /// The fork's, selector's or for-each's frame.
    pub(super) frame: Arc<FrameHandle>,
    pub(super) node: NodeIdx,
    pub(super) mode: Mode,
    pub(super) children: Vec<Child>,
    pub(super) open: usize,
    pub(super) kind: FanKind,
    /// First child error under fail-fast.
    pub(super) first_error: Option<RunError>,
    /// First failure no fan-out contains.
    pub(super) engine_error: Option<RunError>,
    /// What siblings of a failed child are ended with.
    pub(super) sibling_failed: Option<RunError>,
}

impl FanOut {
    /// Whether a child ended because a sibling of it failed: that tells nothing new.
    fn is_echo(&self, error: &RunError) -> bool {
        match (&self.sibling_failed, error) {
            (Some(RunError::Cancelled { reason: ours }), RunError::Cancelled { reason }) => ours == reason,
            _ => false,
        }
    }
}

pub(super) enum FanKind {
    /// A fork or selector, with what its function returned as continuation.
    Branches { then: Option<Next> },
    /// A for-each; the results go under this key.
    ForEach { into: Str },
}

/// One child of a fan-out.
pub(super) struct Child {
    /// Local id; for generated branches the segment.
    pub(super) id: Str,
    pub(super) strand: Option<StrandId>,
    pub(super) state: ChildState,
}

pub(super) enum ChildState {
    Open,
    /// Settled: its entry of the result map, and its slot of a for-each.
    Settled {
        entry: Value,
        slot: Value,
    },
    /// Asks, or (on a resumed leg) still waits to be asked.
    Paused(Vec<PauseRecord>),
    /// Failed in a way that fails the fan-out.
    Failed,
}

impl ChildState {
    pub(super) fn settled(id: &Str, output: Option<Value>, is_error: bool, slot: Value) -> Self {
        let mut entry = Object::new();
        entry.insert("id", Value::from(id.clone()));
        entry.insert("result", output.unwrap_or_default());
        entry.insert("isError", Value::from(is_error));
        Self::Settled { entry: Value::Object(entry), slot }
    }
}

/// A child to be started.
pub(super) struct Start {
    pub(super) id: Str,
    pub(super) name: Str,
    pub(super) now: Now,
}

impl Driver {
    /// Starts the children of a fork (after its function, if it has one, committed).
    pub(super) fn open_fork(
        &mut self,
        strand: &mut Strand,
        frame: &Arc<FrameHandle>,
        node: NodeIdx,
        then: Option<Next>,
    ) {
        let chart = strand.cursor.place.chart.clone();
        let NodeKind::Fork(fork) = &chart.node(node).kind else {
            strand.now = Now::Ended(End::Done(None));
            return;
        };
        let starts: Vec<Start> = fork
            .children
            .iter()
            .map(|child| Start {
                id: chart.node(*child).id.clone(),
                name: strand.cursor.place.ids.name(*child).clone(),
                now: Now::Visit(*child),
            })
            .collect();
        let names: Arc<[Str]> = starts.iter().map(|start| start.name.clone()).collect();
        frame.log("totalChildren", Value::from(starts.len() as u64));
        frame.log("orderOfExecution", Value::from("ChildrenAfterStage"));
        frame.message(Message { at: self.shared.now(), what: What::Children { names } });
        self.tell_fork(frame, &starts);
        self.executed(frame, StageType::Fork);
        self.start_children(strand, frame, node, fork.mode, FanKind::Branches { then }, starts);
    }

    /// Starts the selected branches of a selector.
    pub(super) fn open_selected(
        &mut self,
        strand: &mut Strand,
        frame: &Arc<FrameHandle>,
        node: NodeIdx,
        mode: Mode,
        children: Vec<(Str, NodeIdx)>,
    ) {
        if children.is_empty() {
            self.continue_static(strand, frame, node, Some(Value::Object(Object::new())));
            return;
        }
        let starts: Vec<Start> = children
            .into_iter()
            .map(|(id, child)| Start {
                id,
                name: strand.cursor.place.ids.name(child).clone(),
                now: Now::Visit(child),
            })
            .collect();
        self.tell_fork(frame, &starts);
        self.start_children(strand, frame, node, mode, FanKind::Branches { then: None }, starts);
    }

    pub(super) fn tell_fork(&self, frame: &FrameHandle, starts: &[Start]) {
        frame.tell(Hook::Fork, || {
            ForkEvent {
                parent: frame.name().clone(),
                children: starts.iter().map(|start| start.name.clone()).collect(),
                child_ids: starts.iter().map(|start| start.id.clone()).collect(),
            }
            .into()
        });
    }

    /// Makes one strand per child and lets the parent wait.
    pub(super) fn start_children(
        &mut self,
        strand: &mut Strand,
        frame: &Arc<FrameHandle>,
        node: NodeIdx,
        mode: Mode,
        kind: FanKind,
        starts: Vec<Start>,
    ) {
        let fan = self.fans.insert(|_| FanOut {
            parent: strand.id,
            frame: Arc::clone(frame),
            node,
            mode,
            children: Vec::with_capacity(starts.len()),
            open: starts.len(),
            kind,
            first_error: None,
            engine_error: None,
            sibling_failed: None,
        });
        self.open_fans += 1;
        let base = Self::child_cursor(strand, frame);
        let mut ids = Vec::with_capacity(starts.len());
        let mut children = Vec::with_capacity(starts.len());
        for (place, start) in starts.into_iter().enumerate() {
            let mut cursor = base.clone();
            cursor.ns = Some(Namespace::child(strand.cursor.ns.as_ref(), &start.id, &self.shared.runs_key));
            let id =
                self.strands.insert(|id| Box::new(Strand::new(id, cursor, start.now, Some((fan, place)))));
            ids.push(id);
            children.push(Child { id: start.id, strand: Some(id), state: ChildState::Open });
        }
        if let Some(fan) = self.fans.get_mut(fan) {
            fan.children = children;
        }
        for id in ids.into_iter().rev() {
            self.ready.push_front(id);
        }
        strand.now = Now::Waiting(fan);
        if self.fans.get_mut(fan).is_some_and(|fan| fan.open == 0) {
            self.join_later(fan);
        }
    }

    fn child_cursor(strand: &Strand, frame: &FrameHandle) -> Cursor {
        let mut base = strand.cursor.clone();
        base.under(frame);
        base.depth += 1;
        base.invoker = Some(frame.id().clone());
        base
    }

    /// A child's strand is over.
    pub(super) fn child_ended(
        &mut self,
        fan_id: FanId,
        place: usize,
        first: Option<&Arc<FrameHandle>>,
        end: End,
    ) {
        if let Some(first) = first
            && !matches!(end, End::Paused(_))
        {
            first.commit(Some(Phase::Repeat));
        }
        let Some(fan) = self.fans.get_mut(fan_id) else { return };
        let mode = fan.mode;
        let is_for_each = matches!(fan.kind, FanKind::ForEach { .. });
        let echo = matches!(&end, End::Failed(error) if fan.is_echo(error));
        let Some(child) = fan.children.get_mut(place) else { return };
        child.strand = None;
        let mut siblings_to_end = None;
        match end {
            End::Done(output) | End::Stopped { output, .. } => {
                let slot = match (&output, is_for_each) {
                    (Some(value), true) => value.clone(),
                    _ => Value::Null,
                };
                child.state = ChildState::settled(&child.id, output, false, slot);
            }
            End::Paused(asking) => child.state = ChildState::Paused(asking),
            End::Failed(error) => {
                let id = child.id.clone();
                if echo {
                    child.state = ChildState::Failed;
                } else if error.is_engine() {
                    child.state = ChildState::Failed;
                    fan.engine_error.get_or_insert(error);
                } else if mode == Mode::FailFast {
                    child.state = ChildState::Failed;
                    if fan.first_error.is_none() {
                        fan.first_error = Some(error);
                        let reason = format!("sibling `{id}` failed");
                        siblings_to_end = Some(RunError::Cancelled { reason });
                    }
                } else {
                    let served = first
                        .map_or_else(|| error.structured(), |first| first.served_error(error.structured()));
                    child.state = ChildState::settled(&id, Some(served.to_value()), true, Value::Null);
                    if let Some(first) = first {
                        first.note_error_once(
                            "stageExecutionError",
                            Value::from(format!(
                                "{}: {}",
                                served.name.as_deref().unwrap_or("Error"),
                                served.message
                            )),
                        );
                        self.tell_throttled(first, &error);
                    }
                }
            }
        }
        let Some(fan) = self.fans.get_mut(fan_id) else { return };
        fan.open -= 1;
        let done = fan.open == 0;
        if let Some(error) = siblings_to_end {
            fan.sibling_failed = Some(error.clone());
            let strands: Vec<StrandId> = fan.children.iter().filter_map(|child| child.strand).collect();
            self.cancel_strands(strands, &error);
        }
        if done {
            self.join_later(fan_id);
        }
    }

    fn tell_throttled(&self, first: &FrameHandle, error: &RunError) {
        let (Some(classify), Some(source)) = (&self.throttle, error.stage_error()) else { return };
        if !super::visit::guarded(|| Ok(classify(source))).unwrap_or(false) {
            return;
        }
        first.tell(Hook::Throttled, || {
            let served = first.served_error(error.structured());
            ThrottledEvent {
                stage_name: first.name().clone(),
                stage_id: first.id().clone(),
                message: format!("{}: {}", served.name.as_deref().unwrap_or("Error"), served.message).into(),
                structured_error: served,
            }
            .into()
        });
    }

    /// Ends strands and everything below them, in order.
    fn cancel_strands(&mut self, mut strands: Vec<StrandId>, error: &RunError) {
        let mut at = 0;
        while let Some(id) = strands.get(at).copied() {
            at += 1;
            if let Some(strand) = self.strands.get_mut(id)
                && let Now::Waiting(fan) = strand.now
                && let Some(fan) = self.fans.get_mut(fan)
            {
                fan.engine_error.get_or_insert_with(|| error.clone());
                strands.extend(fan.children.iter().filter_map(|child| child.strand));
            }
            self.end_strand(id, error);
        }
    }

    /// All children settled: the waiting parent goes on.
    fn join_later(&mut self, fan_id: FanId) {
        let Some(fan) = self.fans.get_mut(fan_id) else { return };
        self.ready.push_front(fan.parent);
    }

    /// The parent of a fan-out is looked at; goes on when every child settled.
    pub(super) fn join(&mut self, strand: &mut Strand, fan_id: FanId) -> bool {
        if self.fans.get_mut(fan_id).is_none_or(|fan| fan.open > 0) {
            strand.now = Now::Waiting(fan_id);
            return false;
        }
        let Some(mut fan) = self.fans.take(fan_id) else { return false };
        self.fans.release(fan_id);
        self.open_fans -= 1;
        let frame = Arc::clone(&fan.frame);
        let failure = fan.engine_error.take().or_else(|| fan.first_error.take());
        if let Some(error) = failure {
            self.close_for_each(&fan, None);
            strand.now = Now::Ended(End::Failed(error));
            return true;
        }
        let asking = take_asking(&mut fan, &frame);
        if !asking.is_empty() {
            self.close_for_each(&fan, None);
            strand.now = Now::Ended(End::Paused(asking));
            return true;
        }
        match std::mem::replace(&mut fan.kind, FanKind::Branches { then: None }) {
            FanKind::Branches { then } => {
                let mut map = Object::new();
                for child in &fan.children {
                    if let ChildState::Settled { entry, .. } = &child.state {
                        map.insert(child.id.clone(), entry.clone());
                    }
                }
                self.continue_from(strand, &frame, fan.node, Some(Value::Object(map)), then);
            }
            FanKind::ForEach { into } => {
                let slots: Array = fan
                    .children
                    .iter()
                    .map(|child| match &child.state {
                        ChildState::Settled { slot, .. } => slot.clone(),
                        _ => Value::Null,
                    })
                    .collect();
                self.finish_for_each(strand, &frame, fan.node, &into, slots);
            }
        }
        true
    }

    /// A for-each that does not write its results still leaves its bundle.
    fn close_for_each(&mut self, fan: &FanOut, _why: Option<&RunError>) {
        if matches!(fan.kind, FanKind::ForEach { .. }) {
            fan.frame.commit(None);
        }
    }
}

/// The questions of all pausing children in declaration order, each with what its settled siblings
/// answered, so that the join is complete whenever it happens.
fn take_asking(fan: &mut FanOut, frame: &FrameHandle) -> Vec<PauseRecord> {
    let mut asking: Vec<PauseRecord> = Vec::new();
    for child in &mut fan.children {
        if let ChildState::Paused(records) = &mut child.state {
            asking.append(records);
        }
    }
    if asking.is_empty() {
        return asking;
    }
    let mut settled = Object::new();
    for child in &fan.children {
        if let ChildState::Settled { entry, slot } = &child.state {
            let mut kept = entry.as_object().cloned().unwrap_or_default();
            if matches!(fan.kind, FanKind::ForEach { .. }) {
                kept.insert("slot", slot.clone());
            }
            settled.insert(child.id.clone(), Value::Object(kept));
        }
    }
    let branches: Array = fan.children.iter().map(|child| Value::from(child.id.clone())).collect();
    for record in &mut asking {
        record.dispatched_by(frame);
        record.settled_in(frame, &branches, &settled);
    }
    asking
}
