//! Mounts: entering another chart in isolation, and what crosses back (ENG §3.2).

use std::sync::Arc;

use super::driver::Driver;
use super::frame::{FrameHandle, Ownership};
use super::level::{Level, MountedIn};
use super::shared::lock;
use super::strand::{Activation, Cursor, End, MountSite, Now, OpenMount, Parent, Place, Strand};
use super::tree::{Link, Message, What};
use super::visit::guarded;
use super::warn::Warning;
use crate::chart::{
    ArrayMergeMode, Chart, InputMapper, MountNode, MountedChart, NodeIdx, NodeKind, OutputMapper, SiteIds,
    SubflowEnd,
};
use crate::error::{MapperSide, RunError, StageError, StageSource};
use crate::observe::{
    Hook, StageExecutedEvent, StageType, SubflowEntryEvent, SubflowExitEvent, SubflowRegisteredEvent,
};
use crate::scope::StateView;
use crate::state::{KeyProblem, Phase, StagedOp, check_key, check_segment, merge_back};
use crate::value::{Object, Str, Value};

/// How a mount is entered.
pub(super) enum Entry {
    /// From its root, seeded with what was mapped.
    Fresh,
    /// Again, after a pause, with the state it had.
    Again(Object),
}

impl Driver {
    /// Enters a mount that is a node of the chart.
    pub(super) fn enter_mount(&mut self, strand: &mut Strand, frame: Arc<FrameHandle>, node: NodeIdx) {
        if self.enter_node(strand, frame, node, Entry::Fresh).is_some() {
            strand.now = Now::Visit(NodeIdx::ROOT);
        }
    }

    /// Enters a mount node; `None` when that failed. The strand then stands at the inner chart.
    pub(super) fn enter_node(
        &mut self,
        strand: &mut Strand,
        frame: Arc<FrameHandle>,
        node: NodeIdx,
        entry: Entry,
    ) -> Option<()> {
        let chart = strand.cursor.place.chart.clone();
        let declared = chart.node(node);
        let NodeKind::Mount(spec) = &declared.kind else {
            strand.now = Now::Ended(End::Done(None));
            return None;
        };
        let (inner, ids) = match self.mounted_chart(strand, &chart, node, spec, &frame, &declared.name) {
            Ok(found) => found,
            Err(source) => {
                let error = RunError::Resolver { mount: frame.address(), source: StageSource::of(source) };
                return self.mount_refused(strand, &frame, error);
            }
        };
        let mapped = match self.map_input(strand, &frame, spec) {
            Ok(mapped) => mapped,
            Err(source) => {
                let error = RunError::Mapper {
                    mount: frame.address(),
                    side: MapperSide::Input,
                    source: StageSource::of(source),
                };
                frame.note_error("inputMapperError", self.served_text(&frame, &error));
                return self.mount_refused(strand, &frame, error);
            }
        };
        let description =
            inner.node(NodeIdx::ROOT).description.clone().or_else(|| declared.description.clone());
        self.open_level(
            strand,
            frame,
            MountSite::Node(node),
            Place { chart: inner, ids, dynamic: false },
            declared.name.clone(),
            description,
            mapped,
            entry,
        );
        Some(())
    }

    /// Opens a level below `frame` and moves the strand onto it.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn open_level(
        &mut self,
        strand: &mut Strand,
        frame: Arc<FrameHandle>,
        site: MountSite,
        place: Place,
        name: Str,
        description: Option<Str>,
        mapped: Object,
        entry: Entry,
    ) {
        let outer = strand.cursor.clone();
        let discovered = match &site {
            MountSite::Generated => true,
            MountSite::Node(node) => matches!(
                &outer.place.chart.node(*node).kind,
                NodeKind::Mount(spec) if matches!(spec.chart, MountedChart::Lazy(_))
            ),
        };
        let frame_name = match &outer.ns {
            Some(ns) => format!("{}.{}", ns.id().as_str(), frame.shown_name()).into(),
            None => frame.shown_name(),
        };
        let mirror = self.shared.policy.redaction.as_ref().map(|_| Object::new());
        let inner = Level::new(
            place.chart.clone(),
            Arc::clone(&place.ids),
            Some(Value::Object(mapped.clone())),
            Some(MountedIn {
                level: Arc::clone(&outer.level),
                id: frame.id().clone(),
                index: frame.index,
                name: name.clone(),
                frame_name,
            }),
            self.shared.root.log_address().log_run_id.clone(),
            Object::new(),
            mirror,
            discovered,
        );
        self.shared.record.mount_entered(&inner);
        let (seed, shown) = match entry {
            Entry::Fresh => (mapped.clone(), mapped),
            Entry::Again(state) => (state, Object::new()),
        };
        frame.tell(Hook::SubflowEntry, || {
            SubflowEntryEvent {
                name: name.clone(),
                subflow_id: Some(frame.id().clone()),
                description: description.clone(),
                mapped_input: Some(frame.served_boundary(&Value::Object(shown.clone()))),
            }
            .into()
        });
        frame.message(Message {
            at: self.shared.now(),
            what: What::SubflowEntry { name, path: frame.id().clone() },
        });
        frame.tell(Hook::StageExecuted, || {
            StageExecutedEvent {
                stage_name: frame.name().clone(),
                description,
                stage_type: StageType::SubflowMount,
            }
            .into()
        });
        if !seed.is_empty() {
            frame.seed(&inner, &seed);
        }
        strand.cursor = Cursor {
            level: Arc::clone(&inner),
            place,
            ns: None,
            parent: Some(Parent { id: frame.id().clone(), index: frame.index, on_level: false }),
            link: Link::Tail,
            invoker: None,
            pass: 0,
            depth: outer.depth + 1,
            astray: outer.astray || outer.place.dynamic,
        };
        strand.stack.push(Activation::Mount(Box::new(OpenMount { frame, site, outer, inner })));
    }

    /// The chart behind a mount. A lazy one is resolved once per site and run.
    fn mounted_chart(
        &mut self,
        strand: &Strand,
        chart: &Chart,
        node: NodeIdx,
        spec: &MountNode,
        frame: &FrameHandle,
        name: &Str,
    ) -> Result<(Chart, Arc<SiteIds>), StageError> {
        if let Some((inner, ids)) = strand.cursor.place.ids.eager_mount(chart, node) {
            return Ok((inner.clone(), Arc::clone(ids)));
        }
        if let Some((inner, ids)) = self.resolved.get(frame.id()) {
            return Ok((inner.clone(), Arc::clone(ids)));
        }
        let MountedChart::Lazy(resolve) = &spec.chart else {
            return Err(StageError::new("the mount has no chart"));
        };
        let inner = guarded(|| resolve())?;
        let ids = SiteIds::build(frame.id(), &inner);
        self.resolved.insert(frame.id().clone(), (inner.clone(), Arc::clone(&ids)));
        self.register_structure(frame, &inner, name);
        Ok((inner, ids))
    }

    /// Keeps a structure the run discovered, and tells it.
    fn register_structure(&mut self, frame: &FrameHandle, chart: &Chart, name: &Str) {
        let structure = chart.structure();
        lock(&self.shared.record.facts).resolved(frame.id().clone(), structure.clone());
        frame.tell(Hook::SubflowRegistered, || {
            SubflowRegisteredEvent {
                subflow_id: frame.id().clone(),
                name: name.clone(),
                description: frame.description().cloned(),
                spec_structure: structure.to_value().ok(),
            }
            .into()
        });
    }

    /// Runs the input mapper and checks what it produced.
    fn map_input(
        &mut self,
        strand: &Strand,
        frame: &FrameHandle,
        spec: &MountNode,
    ) -> Result<Object, StageError> {
        let Some(mapper) = &spec.input else { return Ok(Object::new()) };
        let state = strand.cursor.level.core().state.clone();
        let view = StateView::new(state, strand.cursor.ns.clone(), self.shared.is_redacting());
        let mapped = guarded(|| mapper.apply(view.clone()))?;
        check_mapped(&mapped, None)?;
        let pairs = match mapper {
            InputMapper::Keys(pairs) => Some(&**pairs),
            InputMapper::Computed(_) => None,
        };
        self.taint(frame, pairs, &[view], &mapped);
        Ok(mapped)
    }

    /// Redaction follows what a mapper read: exactly for mappings declared as data, conservatively for
    /// computed ones (ENG-95).
    fn taint(
        &self,
        frame: &FrameHandle,
        pairs: Option<&[(Str, Str)]>,
        views: &[StateView],
        produced: &Object,
    ) {
        if !self.shared.is_redacting() {
            return;
        }
        let reads: Vec<_> = views.iter().flat_map(StateView::reads).collect();
        match pairs {
            None => frame.taint(&reads, produced),
            Some(pairs) => {
                for (source, target) in pairs {
                    let read = reads.iter().find(|read| read.path.root_key() == Some(source));
                    if let (Some(read), Some(value)) = (read, produced.get(target)) {
                        let one = [(target.clone(), value.clone())].into_iter().collect();
                        frame.taint(std::slice::from_ref(read), &one);
                    }
                }
            }
        }
    }

    fn served_text(&self, frame: &FrameHandle, error: &RunError) -> Value {
        Value::from(frame.served_error(error.structured()).message.as_str())
    }

    /// A mount that could not be entered: it is the failing frame itself.
    fn mount_refused(
        &mut self,
        strand: &mut Strand,
        frame: &Arc<FrameHandle>,
        error: RunError,
    ) -> Option<()> {
        self.fail_frame(frame, &error);
        strand.now = Now::Ended(End::Failed(error));
        None
    }

    /// The inner walk ended.
    pub(super) fn leave_mount(&mut self, strand: &mut Strand, mount: OpenMount, end: End) {
        let frame = Arc::clone(&mount.frame);
        match end {
            End::Paused(mut asking) => {
                let state = mount.inner.core().state.clone();
                for record in &mut asking {
                    record.inside(&frame, &state);
                }
                strand.cursor = mount.outer;
                strand.now = Now::Ended(End::Paused(asking));
            }
            End::Failed(error) => {
                self.tell_exit(&mount);
                frame.commit(None);
                let served = frame.served_error(error.structured());
                let text = format!("{}: {}", served.name.as_deref().unwrap_or("Error"), served.message);
                frame.note_error("subflowError", Value::from(text));
                strand.cursor = mount.outer;
                strand.now = Now::Ended(End::Failed(error));
            }
            End::Done(output) => self.merge_and_go_on(strand, mount, output, None),
            End::Stopped { output, reason } => {
                let stop = mount.spec().is_some_and(|spec| spec.propagate_break).then_some(reason);
                if let Some(reason) = &stop {
                    self.broke(&frame, reason, Some(frame.id().clone()));
                }
                self.merge_and_go_on(strand, mount, output, stop);
            }
        }
    }

    fn merge_and_go_on(
        &mut self,
        strand: &mut Strand,
        mount: OpenMount,
        output: Option<Value>,
        stop: Option<Option<Str>>,
    ) {
        let frame = Arc::clone(&mount.frame);
        let mapper =
            mount.spec().and_then(|spec| spec.output.clone().map(|mapper| (mapper, spec.array_merge)));
        match mapper {
            None => {
                self.tell_exit(&mount);
                frame.commit(None);
            }
            Some((mapper, mode)) => {
                let inner = mount.inner.core().state.clone();
                let traced = self.shared.is_redacting();
                let end = SubflowEnd { output: output.clone(), state: StateView::new(inner, None, traced) };
                let outer = mount.outer.level.core().state.clone();
                let parent = StateView::new(outer, mount.outer.ns.clone(), traced);
                let views = [end.state.clone(), parent.clone()];
                let mapped = guarded(|| mapper.apply(end, parent)).and_then(|mapped| {
                    check_mapped(&mapped, Some(&mount.outer.level.args))?;
                    Ok(mapped)
                });
                match mapped {
                    Ok(mapped) => {
                        let pairs = match &mapper {
                            OutputMapper::Keys(pairs) => Some(&**pairs),
                            OutputMapper::Computed(_) => None,
                        };
                        self.taint(&frame, pairs, &views, &mapped);
                        self.merge(&frame, &mount.outer.level, &mapped, mode);
                        frame.commit(None);
                        self.tell_exit(&mount);
                        frame.commit(Some(Phase::Exit));
                    }
                    Err(source) => {
                        let error = RunError::Mapper {
                            mount: frame.address(),
                            side: MapperSide::Output,
                            source: StageSource::of(source),
                        };
                        self.tell_exit(&mount);
                        frame.note_error("outputMapperError", self.served_text(&frame, &error));
                        strand.cursor = mount.outer;
                        self.fail_frame(&frame, &error);
                        strand.now = Now::Ended(End::Failed(error));
                        return;
                    }
                }
            }
        }
        strand.cursor = mount.outer;
        match (mount.site, stop) {
            (MountSite::Node(_), Some(reason)) => strand.now = Now::Ended(End::Stopped { output, reason }),
            (MountSite::Node(node), None) => self.continue_static(strand, &frame, node, output),
            (MountSite::Generated, _) => {
                let output = output.unwrap_or_else(|| Value::Object(mount.inner.core().state.clone()));
                strand.now = Now::Ended(End::Done(Some(output)));
            }
        }
    }

    /// Stages what crosses back, by the mount's own frame, at its parent level's root (ENG-33).
    fn merge(&self, frame: &FrameHandle, level: &Level, mapped: &Object, mode: ArrayMergeMode) {
        let state = level.core().state.clone();
        if self.shared.warnings.is_dev() && mode == ArrayMergeMode::Concat {
            for (key, value) in mapped {
                if let (Some(Value::Array(before)), Value::Array(now)) = (state.get(key), value)
                    && !before.is_empty()
                    && before.is_prefix_of(now)
                {
                    self.shared
                        .warnings
                        .add(Warning::ConcatGrowth { mount: frame.id().clone(), key: key.clone() });
                }
            }
        }
        let mode = match mode {
            ArrayMergeMode::Concat => crate::state::ArrayMergeMode::Concat,
            ArrayMergeMode::Replace => crate::state::ArrayMergeMode::Replace,
        };
        let ops: Vec<StagedOp> = merge_back(mapped, mode, |key| state.get(key).cloned());
        frame.stage_ops(ops);
    }

    fn tell_exit(&self, mount: &OpenMount) {
        let frame = &mount.frame;
        let name = mount.inner.mounted.as_ref().map_or_else(|| frame.name().clone(), |m| m.name.clone());
        frame.tell(Hook::SubflowExit, || {
            let state = mount.inner.core().state.clone();
            SubflowExitEvent {
                name: name.clone(),
                subflow_id: Some(frame.id().clone()),
                output_state: Some(frame.served_boundary(&Value::Object(state))),
            }
            .into()
        });
        frame.message(Message {
            at: self.shared.now(),
            what: What::SubflowExit { name, path: frame.id().clone() },
        });
    }
}

/// Refuses keys that state cannot hold, and read-only arguments of the level that receives them.
fn check_mapped(mapped: &Object, kept: Option<&Object>) -> Result<(), StageError> {
    for (key, value) in mapped {
        let refused = |problem: String| StageError::new(format!("mapped key `{key}`: {problem}"));
        check_key(key).map_err(|problem| refused(problem.to_string()))?;
        if kept.is_some_and(|args| args.contains_key(key)) {
            return Err(refused("it is a read-only argument of the chart the mount is in".to_owned()));
        }
        value.check_depth().map_err(|problem| refused(problem.to_string()))?;
        check_spread(value).map_err(|problem| refused(problem.to_string()))?;
    }
    Ok(())
}

/// The keys of an object that crosses a mount's boundary become segments of recorded paths (ENG-31, ENG-33), so they must be
/// ones a reader of the record finds again. The empty text is one.
pub(super) fn check_spread(value: &Value) -> Result<(), KeyProblem> {
    let Value::Object(entries) = value else { return Ok(()) };
    entries.keys().try_for_each(|name| match check_segment(name) {
        Ok(()) | Err(KeyProblem::Empty) => Ok(()),
        Err(problem) => Err(problem),
    })
}

/// Opens the frame of a generated branch.
pub(super) fn generated(id: Str, name: Str) -> Ownership {
    Ownership::Generated { id, name }
}
