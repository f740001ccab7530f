//! Going on after a node: the static edge, a loop edge, a dynamic continuation, or back to an owner.

use std::sync::Arc;

use super::driver::Driver;
use super::frame::FrameHandle;
use super::shared::lock;
use super::strand::{Activation, End, Now, Place, Strand};
use super::tree::{Hop, Message, What};
use crate::chart::{Chart, Edge, Next, NextPlan, NodeIdx, NodeKind, SiteIds};
use crate::error::{RunError, StageError, StageSource};
use crate::observe::{Hook, LoopEvent, NextEvent};
use crate::value::{Str, Value};

impl Driver {
    /// Goes on after a visit that ended well.
    pub(super) fn continue_from(
        &mut self,
        strand: &mut Strand,
        frame: &Arc<FrameHandle>,
        node: NodeIdx,
        output: Option<Value>,
        dynamic: Option<Next>,
    ) {
        match dynamic {
            None => self.continue_static(strand, frame, node, output),
            Some(next) => self.continue_dynamic(strand, frame, node, next),
        }
    }

    /// Follows the edge the chart declares.
    pub(super) fn continue_static(
        &mut self,
        strand: &mut Strand,
        frame: &Arc<FrameHandle>,
        node: NodeIdx,
        output: Option<Value>,
    ) {
        let declared = strand.cursor.place.chart.node(node);
        match declared.next {
            None => strand.now = Now::Ended(End::Done(output)),
            Some(Edge::Loop(target)) => self.take_loop(strand, frame, target),
            Some(Edge::Next(target)) => {
                // A mount, a selector and a for-each are left silently (ENG-100).
                if matches!(declared.kind, NodeKind::Stage(_) | NodeKind::Fork(_) | NodeKind::Decider(_)) {
                    self.tell_next(strand, frame, target);
                }
                strand.cursor.after(frame);
                strand.now = Now::Visit(target);
            }
        }
    }

    fn tell_next(&self, strand: &Strand, frame: &FrameHandle, target: NodeIdx) {
        frame.tell(Hook::Next, || {
            NextEvent {
                from: frame.name().clone(),
                to: strand.cursor.place.ids.name(target).clone(),
                description: strand.cursor.place.chart.node(target).description.clone(),
            }
            .into()
        });
        frame.hop(Hop { at: self.shared.now(), to: target, pass: 0 });
    }

    fn tell_chain(&self, frame: &FrameHandle, place: &Place) {
        let name = place.ids.name(NodeIdx::ROOT);
        frame.tell(Hook::Next, || {
            NextEvent {
                from: frame.name().clone(),
                to: name.clone(),
                description: place.chart.node(NodeIdx::ROOT).description.clone(),
            }
            .into()
        });
        frame.message(Message { at: self.shared.now(), what: What::Chain { name: name.clone() } });
    }

    /// Takes a loop edge to a node of the level's own chart. A branch that loops leaves its decider behind:
    /// the walk goes on flat at the target, and the decider's own continuation is skipped (ENG-104).
    pub(super) fn take_loop(&mut self, strand: &mut Strand, frame: &Arc<FrameHandle>, target: NodeIdx) {
        while matches!(strand.stack.last(), Some(Activation::Branch { .. })) {
            if let Some(Activation::Branch { cursor, .. }) = strand.stack.pop() {
                strand.cursor.depth = cursor.depth;
            }
        }
        let level = Arc::clone(&strand.cursor.level);
        let limit = self.limits.max_iterations;
        let Some(iteration) = level.take_loop(frame.no(), target, limit, self.shared.now()) else {
            let target = level.ids.id(target).as_shared().clone();
            let error = RunError::LoopLimit { target, limit, option: "max_iterations" };
            strand.now = Now::Ended(End::Failed(error));
            return;
        };
        frame.tell(Hook::Loop, || {
            LoopEvent {
                target: level.ids.name(target).clone(),
                target_id: level.ids.id(target).as_shared().clone(),
                iteration,
                description: level.chart.node(target).description.clone(),
            }
            .into()
        });
        if strand.child_of.is_some() && strand.stack.is_empty() {
            strand.cursor.astray = true;
        }
        if strand.cursor.place.dynamic {
            strand.cursor.place =
                Place { chart: level.chart.clone(), ids: Arc::clone(&level.ids), dynamic: false };
        }
        strand.cursor.after(frame);
        strand.cursor.pass = u32::try_from(iteration).unwrap_or(u32::MAX);
        strand.now = Now::Visit(target);
    }

    /// Follows what a stage returned. A jump and a chain take the place of the declared edge; a mount and a
    /// fork run first and hand back to it. Nothing of this alters the chart (ENG-43).
    fn continue_dynamic(&mut self, strand: &mut Strand, frame: &Arc<FrameHandle>, node: NodeIdx, next: Next) {
        let place = &strand.cursor.place;
        if let Next::Goto(target) = &next
            && place.dynamic
            && let Some(found) = strand.cursor.level.chart.find(target.local_id())
        {
            return self.goto(strand, frame, found);
        }
        let plan = match next.plan(&place.chart, node) {
            Ok(plan) => plan,
            Err(error) => {
                let error = RunError::Stage {
                    address: frame.address(),
                    source: StageSource::of(StageError::from_error(error)),
                };
                return self.continuation_refused(strand, frame, error);
            }
        };
        match plan {
            NextPlan::Goto(target) => self.goto(strand, frame, target),
            NextPlan::Chain(chart) => {
                self.hops += chart.node_count() as u64;
                if self.hops > self.limits.max_iterations {
                    let error =
                        RunError::DynamicLimit { stage: frame.address(), limit: self.limits.max_iterations };
                    return self.continuation_refused(strand, frame, error);
                }
                let place = self.fragment(strand, &chart, frame);
                note_dynamic(frame, "chain", Some(place.ids.name(NodeIdx::ROOT)));
                self.tell_chain(frame, &place);
                strand.cursor.place = place;
                strand.cursor.after(frame);
                strand.now = Now::Visit(NodeIdx::ROOT);
            }
            NextPlan::Mount(chart) => {
                note_dynamic(frame, "mount", None);
                self.return_after(strand, frame, node);
                strand.cursor.place = self.fragment(strand, &chart, frame);
                strand.cursor.after(frame);
                strand.now = Now::Visit(NodeIdx::ROOT);
            }
            NextPlan::Fork(chart) => {
                note_dynamic(frame, "fork", None);
                self.return_after(strand, frame, node);
                strand.cursor.place = self.fragment(strand, &chart, frame);
                self.open_fork(strand, frame, NodeIdx::ROOT, None);
            }
        }
    }

    fn goto(&mut self, strand: &mut Strand, frame: &Arc<FrameHandle>, target: NodeIdx) {
        note_dynamic(frame, "goto", None);
        self.take_loop(strand, frame, target);
    }

    /// Comes back to the declared edge of `node` when what follows has ended.
    fn return_after(&mut self, strand: &mut Strand, frame: &Arc<FrameHandle>, node: NodeIdx) {
        if strand.cursor.place.chart.node(node).next.is_some() {
            let cursor = strand.cursor.clone();
            strand.stack.push(Activation::Branch { owner: Arc::clone(frame), node, cursor });
            strand.cursor.depth += 1;
        }
    }

    /// The place of a dynamic continuation: its own nodes, on the returning stage's level.
    fn fragment(&mut self, strand: &Strand, chart: &Chart, frame: &FrameHandle) -> Place {
        let ids = SiteIds::build(strand.cursor.level.path(), chart);
        lock(&self.shared.record.facts).continuation(frame.id().clone(), chart.structure().clone());
        Place { chart: chart.clone(), ids, dynamic: true }
    }

    /// A continuation that cannot be followed is its stage's error; the stage has committed already.
    fn continuation_refused(&mut self, strand: &mut Strand, frame: &Arc<FrameHandle>, error: RunError) {
        self.fail_frame(frame, &error);
        strand.now = Now::Ended(End::Failed(error));
    }

    /// Returns to the top of a strand's stack.
    pub(super) fn return_to(&mut self, strand: &mut Strand, activation: Activation, end: End) {
        match activation {
            Activation::Mount(mount) => self.leave_mount(strand, *mount, end),
            Activation::Branch { owner, node, cursor } => match end {
                End::Done(output) => {
                    strand.cursor = cursor;
                    self.continue_static(strand, &owner, node, output);
                }
                End::Paused(mut asking) => {
                    for record in &mut asking {
                        record.dispatched_by(&owner);
                    }
                    strand.now = Now::Ended(End::Paused(asking));
                }
                other => strand.now = Now::Ended(other),
            },
        }
    }
}

fn note_dynamic(frame: &FrameHandle, pattern: &str, direct: Option<&Str>) {
    frame.log("isDynamic", Value::from(true));
    frame.log("dynamicPattern", Value::from(pattern));
    if let Some(name) = direct {
        frame.log("dynamicNextDirect", Value::from(true));
        frame.log("dynamicNextName", Value::from(name.clone()));
    }
}
