//! Parallel for-each: one generated mount per item (ENG §3.3).

use std::sync::Arc;

use super::driver::Driver;
use super::fanout::{FanKind, Start};
use super::frame::FrameHandle;
use super::mount::{Entry, check_spread, generated};
use super::shared::lock;
use super::strand::{End, MountSite, Now, Place, Strand};
use super::tree::{Message, What};
use super::visit::guarded;
use super::warn::Warning;
use crate::chart::{Chart, ForEachNode, NodeIdx, NodeKind, SiteIds};
use crate::error::{RunError, ScopeError, StageError, StageSource};
use crate::ids::{build_branch_segment, prefixed};
use crate::observe::StageType;
use crate::scope::Scope;
use crate::value::{Array, Object, Str, Value};

/// One branch that is about to be entered.
pub(crate) struct GeneratedBranch {
    /// `<for-each id>~<index>`, local.
    pub(super) segment: Str,
    /// `<for-each name> [<index>]`, local.
    pub(super) name: Str,
    pub(super) chart: Chart,
    pub(super) node: NodeIdx,
    pub(super) item: Value,
    pub(super) index: usize,
}

impl GeneratedBranch {
    pub(super) fn new(
        strand: &Strand,
        node: NodeIdx,
        chart: Chart,
        item: Value,
        index: usize,
    ) -> GeneratedBranch {
        let declared = strand.cursor.place.chart.node(node);
        GeneratedBranch {
            segment: build_branch_segment(&declared.id, index).into(),
            name: format!("{} [{index}]", declared.name).into(),
            chart,
            node,
            item,
            index,
        }
    }

    /// The branch's seed and arguments.
    pub(super) fn seed(&self) -> Object {
        let mut seed = Object::new();
        seed.insert("item", self.item.clone());
        seed.insert("index", Value::from(self.index as u64));
        seed
    }
}

impl Driver {
    /// Lists the items and starts one branch each.
    pub(super) fn enter_for_each(&mut self, strand: &mut Strand, frame: Arc<FrameHandle>, node: NodeIdx) {
        let chart = strand.cursor.place.chart.clone();
        let NodeKind::ForEach(spec) = &chart.node(node).kind else {
            strand.now = Now::Ended(End::Done(None));
            return;
        };
        frame.attempt_started(1);
        let branches = match self.branches(strand, &frame, node, spec) {
            Ok(branches) => branches,
            Err((what, source)) => {
                let error =
                    RunError::ForEach { stage: frame.address(), what, source: StageSource::of(source) };
                self.fail_frame(&frame, &error);
                strand.now = Now::Ended(End::Failed(error));
                return;
            }
        };
        if let Some(reason) = frame.stop_request() {
            frame.stage_end();
            frame.commit(None);
            self.executed(&frame, StageType::Fork);
            self.broke(&frame, &reason, None);
            strand.now = Now::Ended(End::Stopped { output: None, reason });
            return;
        }
        let path = strand.cursor.level.path().clone();
        let starts: Vec<Start> = branches
            .into_iter()
            .map(|branch| Start {
                id: branch.segment.clone(),
                name: prefixed(&path, &branch.name),
                now: Now::Generated(Box::new(branch)),
            })
            .collect();
        if starts.is_empty() {
            self.executed(&frame, StageType::Fork);
            self.finish_for_each(strand, &frame, node, &spec.into, Array::new());
            return;
        }
        self.tell_fork(&frame, &starts);
        self.executed(&frame, StageType::Fork);
        self.start_children(
            strand,
            &frame,
            node,
            spec.mode,
            FanKind::ForEach { into: spec.into.clone() },
            starts,
        );
    }

    fn branches(
        &mut self,
        strand: &Strand,
        frame: &Arc<FrameHandle>,
        node: NodeIdx,
        spec: &ForEachNode,
    ) -> Result<Vec<GeneratedBranch>, (&'static str, StageError)> {
        let items =
            guarded(|| (spec.items)(Scope::of(frame))).map_err(|e| ("the items could not be listed", e))?;
        if strand.cursor.level.args.contains_key(&spec.into) {
            let (stage, key) = (frame.id().clone(), spec.into.clone());
            let refused = ScopeError::ReadOnlyKey { stage, key, op: "set" };
            return Err(("the results have no place", refused.into()));
        }
        let total = items.len();
        let ran = total.min(spec.max_branches);
        frame.taint_items(items.get(..ran).unwrap_or_default(), &spec.into);
        let mut facts = Object::new();
        facts.insert("items", Value::from(total as u64));
        facts.insert("branches", Value::from(ran as u64));
        facts.insert("maxBranches", Value::from(spec.max_branches as u64));
        facts.insert("truncated", Value::from(total > ran));
        facts.insert("into", Value::from(spec.into.clone()));
        frame.log("parallelForEach", Value::Object(facts));
        if total > ran {
            frame.message(Message { at: self.shared.now(), what: What::Truncated { ran, items: total } });
            if self.shared.warnings.is_dev() {
                self.shared.warnings.add(Warning::FanOutTruncated { stage: frame.id().clone() });
            }
        }
        let mut branches = Vec::with_capacity(ran);
        for (index, item) in items.into_iter().take(ran).enumerate() {
            item.check_depth().map_err(|e| ("an item cannot be recorded", e.into()))?;
            check_spread(&item).map_err(|e| {
                ("an item cannot be recorded", StageError::new(format!("key of an item: {e}")))
            })?;
            let chart =
                guarded(|| (spec.branch)(&item, index)).map_err(|e| ("a branch could not be made", e))?;
            branches.push(GeneratedBranch::new(strand, node, chart, item, index));
        }
        Ok(branches)
    }

    /// Enters a generated branch from its root.
    pub(super) fn enter_generated(&mut self, strand: &mut Strand, branch: GeneratedBranch) {
        if strand.cursor.depth > self.limits.max_depth {
            let stage = prefixed(strand.cursor.level.path(), &branch.segment);
            let error = RunError::DepthExceeded { limit: self.limits.max_depth, stage };
            strand.now = Now::Ended(End::Failed(error));
            return;
        }
        let Some(frame) = self.open_generated(strand, &branch) else { return };
        let seed = branch.seed();
        self.open_branch(strand, frame, branch, seed, Entry::Fresh);
        strand.now = Now::Visit(NodeIdx::ROOT);
    }

    /// Opens the frame of a generated branch; `None` when the run is being cancelled.
    pub(super) fn open_generated(
        &mut self,
        strand: &mut Strand,
        branch: &GeneratedBranch,
    ) -> Option<Arc<FrameHandle>> {
        let path = strand.cursor.level.path().clone();
        let owner = generated(prefixed(&path, &branch.segment), prefixed(&path, &branch.name));
        let frame = self.open_frame(strand, branch.node, owner);
        if let Some(error) = self.cancelled_before(&frame) {
            strand.now = Now::Ended(End::Failed(error));
            return None;
        }
        Some(frame)
    }

    pub(super) fn open_branch(
        &mut self,
        strand: &mut Strand,
        frame: Arc<FrameHandle>,
        branch: GeneratedBranch,
        args: Object,
        entry: Entry,
    ) {
        let ids = SiteIds::build(frame.id(), &branch.chart);
        let for_each = strand.cursor.place.ids.id(branch.node).as_shared().clone();
        lock(&self.shared.record.facts).branch(
            for_each,
            branch.segment.clone(),
            branch.name.clone(),
            branch.chart.structure().clone(),
        );
        let description = branch.chart.node(NodeIdx::ROOT).description.clone();
        let place = Place { chart: branch.chart, ids, dynamic: false };
        self.open_level(strand, frame, MountSite::Generated, place, branch.name, description, args, entry);
    }

    /// Writes the results and goes on. The for-each's own commit comes after its branches (ENG-42).
    pub(super) fn finish_for_each(
        &mut self,
        strand: &mut Strand,
        frame: &Arc<FrameHandle>,
        node: NodeIdx,
        into: &Str,
        slots: Array,
    ) {
        let results = Value::Array(slots);
        frame.write_result(into, results.clone());
        frame.stage_end();
        frame.commit(None);
        self.continue_static(strand, frame, node, Some(results));
    }
}
