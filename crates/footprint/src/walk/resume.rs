//! Coming back to a paused stage: re-entry happens once, then the real chart is walked (ENG-128).

use std::sync::Arc;

use super::driver::Driver;
use super::fanout::{Child, ChildState, FanKind, FanOut};
use super::foreach::GeneratedBranch;
use super::frame::{FrameHandle, GhostOf, Ownership};
use super::mount::Entry;
use super::namespace::Namespace;
use super::strand::{Activation, End, Now, Parent, Running, Strand, StrandId};
use super::tree::{Link, NONE};
use crate::chart::{NodeIdx, NodeKind};
use crate::error::{RunError, StageError, StageSource};
use crate::ids::{RuntimeStageId, prefixed};
use crate::observe::{FlowResumeEvent, Hook, Payload, ResumedFrom, ScopeResumeEvent, StageType};
use crate::pause::{FanOutMemory, PauseRecord, Plan, PlanLevel, TopFrames};
use crate::value::{Object, Str, Value};

/// A strand on its way back.
pub(crate) struct Reentry {
    pub(super) plan: Arc<Plan>,
    /// Position in the plan.
    pub(super) at: usize,
    /// The owner at this level is dealt with.
    pub(super) owned: bool,
    /// The for-each at this level is dealt with.
    pub(super) fanned: bool,
    pub(super) question: Arc<PauseRecord>,
    /// Questions that wait below the current position.
    pub(super) queued: Vec<PauseRecord>,
    pub(super) answer: Value,
    /// Frames of this process's tree, at the top level only.
    pub(super) top: Option<TopFrames>,
}

impl Reentry {
    pub(crate) fn new(
        plan: Arc<Plan>,
        question: Arc<PauseRecord>,
        queued: Vec<PauseRecord>,
        answer: Value,
        top: Option<TopFrames>,
    ) -> Self {
        Self { plan, at: 0, owned: false, fanned: false, question, queued, answer, top }
    }
}

impl Driver {
    /// One step of the way back.
    pub(super) fn reenter(&mut self, strand: &mut Strand, mut way: Reentry) {
        let plan = Arc::clone(&way.plan);
        let Some(level) = plan.levels.get(way.at) else {
            strand.now = Now::Visit(NodeIdx::ROOT);
            return;
        };
        if !way.owned {
            way.owned = true;
            if let Some(owner) = level.owner {
                return self.return_through(strand, way, level, owner);
            }
        }
        if let Some(top) = &way.top {
            strand.cursor.link = Link::After(top.at);
            strand.cursor.parent =
                Some(Parent { id: top_parent_id(&way, level), index: top.at_index, on_level: true });
        }
        if let Some(branch) = &level.branch {
            if !way.fanned {
                way.fanned = true;
                return self.refan(strand, way, level, branch.index);
            }
            let branch = GeneratedBranch::new(
                strand,
                level.target,
                branch.chart.clone(),
                branch.item.clone(),
                branch.index,
            );
            let Some(frame) = self.open_generated(strand, &branch) else { return };
            let args = branch.seed();
            let state = level.capture.clone().unwrap_or_default();
            self.open_branch(strand, frame, branch, args, Entry::Again(state));
            return self.go_below(strand, way);
        }
        if way.at + 1 < plan.levels.len() || !plan.reaches_stage {
            return self.reenter_mount(strand, way, level);
        }
        self.resume_stage(strand, way, level);
    }

    fn go_below(&mut self, strand: &mut Strand, mut way: Reentry) {
        way.at += 1;
        way.owned = false;
        way.fanned = false;
        way.top = None;
        strand.now = Now::Resume(Box::new(way));
    }

    fn reenter_mount(&mut self, strand: &mut Strand, way: Reentry, level: &PlanLevel) {
        let frame = self.open_frame(strand, level.target, Ownership::Node);
        if let Some(error) = self.cancelled_before(&frame) {
            strand.now = Now::Ended(End::Failed(error));
            return;
        }
        let entry = match &level.capture {
            Some(state) => Entry::Again(state.clone()),
            None => Entry::Fresh,
        };
        if self.enter_node(strand, frame, level.target, entry).is_some() {
            self.go_below(strand, way);
        }
    }

    /// Puts the decider, selector or fork above the position back in place.
    fn return_through(&mut self, strand: &mut Strand, way: Reentry, level: &PlanLevel, owner: NodeIdx) {
        let declared = level.chart.node(owner);
        let ghost = self.ghost(strand, &way, level, owner);
        match &declared.kind {
            NodeKind::Selector(_) | NodeKind::Fork(_) => {
                let mode = match &declared.kind {
                    NodeKind::Selector(selector) => selector.mode,
                    NodeKind::Fork(fork) => fork.mode,
                    _ => return,
                };
                self.refill(strand, way, level, ghost, owner, mode, FanKind::Branches { then: None });
            }
            _ => {
                if declared.next.is_some() {
                    let cursor = strand.cursor.clone();
                    strand.stack.push(Activation::Branch { owner: Arc::clone(&ghost), node: owner, cursor });
                    strand.cursor.depth += 1;
                }
                strand.cursor.under(&ghost);
                strand.cursor.invoker = Some(ghost.id().clone());
                if way.top.is_none() {
                    strand.cursor.link = Link::Tail;
                }
                strand.now = Now::Resume(Box::new(way));
            }
        }
    }

    /// A frame of an earlier leg, as far as this leg needs it: its address stamps events, its node is where
    /// the walk goes on. It has no tree node and no bundle here.
    fn ghost(&self, strand: &Strand, way: &Reentry, level: &PlanLevel, node: NodeIdx) -> Arc<FrameHandle> {
        let id = level.ids.id(node).as_shared().clone();
        let index =
            way.question.dispatchers.get(&id).map_or(0, |address| RuntimeStageId::parse(address).index().0);
        FrameHandle::ghost(
            &self.shared,
            GhostOf {
                level: &strand.cursor.level,
                id,
                name: level.ids.name(node).clone(),
                description: level.chart.node(node).description.clone(),
                index,
                ns: strand.cursor.ns.as_ref(),
                no: way.top.and_then(|top| top.owner).unwrap_or(NONE),
            },
        )
    }

    /// A for-each is visited again; its settled branches keep their results, and it commits after the join.
    fn refan(&mut self, strand: &mut Strand, mut way: Reentry, level: &PlanLevel, _index: usize) {
        if let Some(top) = &mut way.top
            && let Some(owner) = top.owner
        {
            strand.cursor.link = Link::After(owner);
        }
        let frame = self.open_frame(strand, level.target, Ownership::Node);
        if let Some(error) = self.cancelled_before(&frame) {
            strand.now = Now::Ended(End::Failed(error));
            return;
        }
        frame.attempt_started(1);
        self.executed(&frame, StageType::Fork);
        let NodeKind::ForEach(spec) = &level.chart.node(level.target).kind else { return };
        let kind = FanKind::ForEach { into: spec.into.clone() };
        way.top = None;
        self.refill(strand, way, level, frame, level.target, spec.mode, kind);
    }

    /// Opens a fan-out with what its children were before the pause: settled ones keep their results, queued
    /// ones keep their questions, and one child goes on.
    #[allow(clippy::too_many_arguments)]
    fn refill(
        &mut self,
        strand: &mut Strand,
        mut way: Reentry,
        level: &PlanLevel,
        frame: Arc<FrameHandle>,
        node: NodeIdx,
        mode: crate::chart::FanOut,
        kind: FanKind,
    ) {
        let memory = way.question.fans.get(frame.id()).cloned().unwrap_or_default();
        let path = level.ids.path.clone();
        let here = level.child.clone();
        let mut below = Vec::new();
        let mut waiting: Vec<(Str, PauseRecord)> = Vec::new();
        for record in std::mem::take(&mut way.queued) {
            match child_of(&record, &path) {
                Some(child) if *child == *here => below.push(record),
                Some(child) => {
                    let child = Str::from(child);
                    waiting.push((child, record));
                }
                None => {}
            }
        }
        let mut children: Vec<Child> = Vec::new();
        for id in children_of(&memory, &here, &waiting) {
            let state = if id == here {
                ChildState::Open
            } else if let Some(entry) = memory.settled.get(&id) {
                remembered(entry)
            } else {
                let mine = waiting
                    .iter()
                    .filter(|(child, _)| *child == id)
                    .map(|(_, record)| record.clone())
                    .collect::<Vec<_>>();
                if mine.is_empty() {
                    ChildState::settled(&id, None, false, Value::Null)
                } else {
                    ChildState::Paused(mine)
                }
            };
            children.push(Child { id, strand: None, state });
        }
        let place = children.iter().position(|child| child.id == here).unwrap_or(0);
        let fan = self.fans.insert(|_| FanOut {
            parent: strand.id,
            frame: Arc::clone(&frame),
            node,
            mode,
            children,
            open: 1,
            kind,
            first_error: None,
            engine_error: None,
            sibling_failed: None,
        });
        self.open_fans += 1;
        let mut cursor = strand.cursor.clone();
        cursor.under(&frame);
        cursor.depth += 1;
        cursor.invoker = Some(frame.id().clone());
        cursor.ns = Some(Namespace::child(strand.cursor.ns.as_ref(), &here, &self.shared.runs_key));
        if frame.no() == NONE {
            cursor.link = Link::Tail;
        }
        way.queued = below;
        let id: StrandId = self
            .strands
            .insert(|id| Box::new(Strand::new(id, cursor, Now::Resume(Box::new(way)), Some((fan, place)))));
        if let Some(child) = self.fans.get_mut(fan).and_then(|fan| fan.children.get_mut(place)) {
            child.strand = Some(id);
        }
        self.ready.push_front(id);
        strand.now = Now::Waiting(fan);
    }

    /// The paused stage itself.
    fn resume_stage(&mut self, strand: &mut Strand, way: Reentry, level: &PlanLevel) {
        let frame = self.open_frame(strand, level.target, Ownership::Node);
        if let Some(error) = self.cancelled_before(&frame) {
            strand.now = Now::Ended(End::Failed(error));
            return;
        }
        strand.cursor.invoker = strand.cursor.invoker.take().or_else(|| way.question.invoker.clone());
        let has_input = !way.answer.is_null();
        let from = way.question.execution.as_ref().map(|(run_id, address)| ResumedFrom {
            run_id: run_id.clone(),
            runtime_stage_id: address.clone(),
        });
        frame.tell_resumed(Hook::FlowResume, from.clone(), || {
            Payload::from(FlowResumeEvent {
                stage_name: frame.name().clone(),
                stage_id: frame.id().clone(),
                has_input,
            })
        });
        frame.tell_resumed(Hook::ScopeResume, from, || Payload::from(ScopeResumeEvent { has_input }));
        let answer = if way.question.by_interrupt {
            let mut answers = way.question.answers.clone();
            answers.push(way.answer);
            frame.answer_asks(answers);
            way.question.resumed_with.clone()
        } else {
            Some(way.answer)
        };
        if !way.queued.is_empty() {
            // Questions that belong to no fan-out on the path cannot be asked again.
            let error = RunError::Stage {
                address: frame.address(),
                source: StageSource::of(StageError::new(
                    "the checkpoint queues questions outside the paused fan-out",
                )),
            };
            self.fail_frame(&frame, &error);
            strand.now = Now::Ended(End::Failed(error));
            return;
        }
        strand.now = Now::Attempt(Running { frame, node: level.target, future: None, attempt: 1, answer });
    }
}

/// Local id of the fan-out child a question is below, seen from the level at `path`.
pub(crate) fn child_of<'a>(record: &'a PauseRecord, path: &str) -> Option<&'a str> {
    let full = record
        .path
        .iter()
        .map(|segment| &**segment)
        .find(|segment| parent_of(segment) == path)
        .or_else(|| (parent_of(&record.stage_id) == path).then_some(&*record.stage_id))?;
    Some(full.rsplit_once('/').map_or(full, |(_, local)| local))
}

fn parent_of(full: &str) -> &str {
    full.rsplit_once('/').map_or("", |(path, _)| path)
}

fn children_of(memory: &FanOutMemory, here: &Str, waiting: &[(Str, PauseRecord)]) -> Vec<Str> {
    let mut ids: Vec<Str> = memory.branches.iter().filter_map(|id| id.as_shared_str().cloned()).collect();
    for id in std::iter::once(here).chain(waiting.iter().map(|(id, _)| id)) {
        if !ids.contains(id) {
            ids.push(id.clone());
        }
    }
    ids
}

fn remembered(entry: &Value) -> ChildState {
    let mut kept = Object::new();
    let mut slot = Value::Null;
    for (key, value) in entry.as_object().into_iter().flatten() {
        if &**key == "slot" {
            slot = value.clone();
        } else {
            kept.insert(key.clone(), value.clone());
        }
    }
    ChildState::Settled { entry: Value::Object(kept), slot }
}

fn top_parent_id(way: &Reentry, level: &PlanLevel) -> Str {
    match &level.branch {
        Some(_) => prefixed(&level.ids.path, &level.child),
        None if way.plan.levels.len() > 1 || !way.plan.reaches_stage => {
            level.ids.id(level.target).as_shared().clone()
        }
        None => way.question.stage_id.clone(),
    }
}
