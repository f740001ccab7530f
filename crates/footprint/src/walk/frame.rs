//! One visit while it is alive: its address, what it staged, and how it commits.
//!
//! The frame, not the stage's future, owns everything staged, so a commit is possible after the future was
//! dropped at any await (ENG-165). What stays behind in the tree is a small record; the handle itself is
//! gone once nobody holds a scope on it.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Waker;
use std::time::Duration;

use super::level::Level;
use super::namespace::Namespace;
use super::shared::{RunShared, lock, millis};
use super::strand::{Parent, Place};
use super::tree::{Hop, Link, LiveFrame, Message, NONE, OwnName, Tracked, shown_name};
use super::warn::Warning;
use crate::chart::{NodeIdx, SiteIds};
use crate::error::{ScopeError, StructuredError};
use crate::ids::{ExecutionIndex, RuntimeStageId};
use crate::observe::{
    At, CommitEvent, Hook, Interest, Mutation, NamespaceId, Payload, ResumedFrom, StageEndEvent,
    StageStartEvent, TraversalContext, WriteEvent, WriteOp,
};
use crate::scope::bags::put;
use crate::state::{
    Bundle, CommitValues, MapperRead, Path, Phase, Redaction, StagedOp, Staging, Tracking, WriteOperation,
    WriteRecord, seed_ops,
};
use crate::stream::OpenStream;
use crate::value::summary::{MarkerKind, marker};
use crate::value::{Object, Str, Value};

/// Who a frame belongs to.
pub(super) enum Ownership {
    /// A node of the chart.
    Node,
    /// A generated branch of a for-each.
    Generated { id: Str, name: Str },
}

/// Everything a new frame is made of.
pub(super) struct Opening<'a> {
    pub(super) level: &'a Arc<Level>,
    pub(super) place: &'a Place,
    pub(super) node: NodeIdx,
    /// Of a generated branch.
    pub(super) own: Option<(Str, Str)>,
    pub(super) description: Option<&'a Str>,
    pub(super) tags: Option<&'a Arc<[Str]>>,
    pub(super) index: u64,
    /// Visits of this stage before this one.
    pub(super) before: u64,
    pub(super) ns: Option<&'a Arc<Namespace>>,
    pub(super) parent: Option<Parent>,
    pub(super) link: Link,
    pub(super) pass: u32,
    pub(super) is_mount: bool,
    pub(super) is_bare_fork: bool,
}

/// What is known of a frame of an earlier leg.
pub(super) struct GhostOf<'a> {
    pub(super) level: &'a Arc<Level>,
    pub(super) id: Str,
    pub(super) name: Str,
    pub(super) description: Option<Str>,
    pub(super) index: u64,
    pub(super) ns: Option<&'a Arc<Namespace>>,
    pub(super) no: u32,
}

/// The context of a visit's events, made when the first one is wanted.
struct StepContext {
    traversal: TraversalContext,
    namespace: NamespaceId,
}

/// A live visit.
pub(crate) struct FrameHandle {
    pub(crate) run: Arc<RunShared>,
    pub(crate) level: Arc<Level>,
    ids: Arc<SiteIds>,
    node: NodeIdx,
    /// Id and name of a frame that is no node of a chart.
    own: Option<Box<(Str, Str)>>,
    pub(crate) index: u64,
    description: Option<Str>,
    pub(crate) ns: Option<Arc<Namespace>>,
    tags: Option<Arc<[Str]>>,
    parent: Option<Parent>,
    before: u64,
    pass: u32,
    no: u32,
    is_mount: bool,
    flags: AtomicU8,
    sealed: AtomicBool,
    context: OnceLock<Box<StepContext>>,
    state: Mutex<FrameState>,
}

/// Rare facts of a visit, asked for on every one: kept as bits, so that the usual visit takes no lock.
const ASKING: u8 = 1;
const STOPPED: u8 = 2;
const STREAMING: u8 = 4;

#[derive(Default)]
pub(crate) struct FrameState {
    pub(crate) staging: Staging,
    committed: bool,
    stop: Option<Str>,
    question: Option<Value>,
    answers: Vec<Value>,
    replayed: usize,
    stream: Option<Arc<OpenStream>>,
    started: Option<Duration>,
    waker: Option<Waker>,
    /// The stage's own last view, for reads after the commit.
    last_view: Option<Object>,
}

impl FrameHandle {
    pub(super) fn open(run: &Arc<RunShared>, opening: Opening<'_>) -> Arc<Self> {
        let mut live = LiveFrame {
            ids: Arc::clone(&opening.place.ids),
            node: opening.node,
            pass: opening.pass,
            index: opening.index,
            hop: None,
            tracked: Tracked::default(),
            extra: None,
            next: NONE,
            is_mount: opening.is_mount,
            is_bare_fork: opening.is_bare_fork,
        };
        if opening.own.is_some() || opening.place.dynamic {
            let (id, name) = opening.own.clone().unwrap_or_else(|| {
                let ids = &opening.place.ids;
                (ids.id(opening.node).as_shared().clone(), ids.name(opening.node).clone())
            });
            live.extra().own = Some(OwnName { id, name, description: opening.description.cloned() });
        }
        let no = opening.level.core().tree.push(live, opening.link);
        let staging = match opening.ns {
            // A mount's merge-back addresses the state its parent level sees.
            Some(ns) if !opening.is_mount => Staging::new(ns.path().clone()),
            _ => Staging::default(),
        };
        Arc::new(Self {
            run: Arc::clone(run),
            level: Arc::clone(opening.level),
            ids: Arc::clone(&opening.place.ids),
            node: opening.node,
            own: opening.own.map(Box::new),
            index: opening.index,
            description: opening.description.cloned(),
            ns: opening.ns.cloned(),
            tags: opening.tags.cloned(),
            parent: opening.parent,
            before: opening.before,
            pass: opening.pass,
            no,
            is_mount: opening.is_mount,
            flags: AtomicU8::new(0),
            sealed: AtomicBool::new(false),
            context: OnceLock::new(),
            state: Mutex::new(FrameState { staging, ..FrameState::default() }),
        })
    }

    /// A frame that only stands for one of an earlier leg.
    pub(super) fn ghost(run: &Arc<RunShared>, of: GhostOf<'_>) -> Arc<Self> {
        Arc::new(Self {
            run: Arc::clone(run),
            level: Arc::clone(of.level),
            ids: Arc::clone(&of.level.ids),
            node: NodeIdx::ROOT,
            own: Some(Box::new((of.id, of.name))),
            index: of.index,
            description: of.description,
            ns: of.ns.cloned(),
            tags: None,
            parent: None,
            before: 0,
            pass: 0,
            no: of.no,
            is_mount: false,
            flags: AtomicU8::new(0),
            sealed: AtomicBool::new(true),
            context: OnceLock::new(),
            state: Mutex::new(FrameState { committed: true, ..FrameState::default() }),
        })
    }

    // ---- who -------------------------------------------------------------------------------------

    /// Prefixed stage id.
    pub(crate) fn id(&self) -> &Str {
        match &self.own {
            Some(own) => &own.0,
            None => self.ids.id(self.node).as_shared(),
        }
    }

    /// Prefixed stage name.
    pub(crate) fn name(&self) -> &Str {
        match &self.own {
            Some(own) => &own.1,
            None => self.ids.name(self.node),
        }
    }

    pub(crate) fn description(&self) -> Option<&Str> {
        self.description.as_ref()
    }

    pub(crate) fn address(&self) -> RuntimeStageId {
        RuntimeStageId::new(self.id().clone(), ExecutionIndex(self.index))
    }

    pub(crate) fn no(&self) -> u32 {
        self.no
    }

    pub(crate) fn run_id(&self) -> Str {
        self.run.run_id.as_shared().clone()
    }

    pub(super) fn shown_name(&self) -> Str {
        shown_name(self.name(), self.pass)
    }

    pub(super) fn link_after(&self) -> Link {
        if self.no == NONE { Link::Tail } else { Link::After(self.no) }
    }

    pub(super) fn link_under(&self) -> Link {
        if self.no == NONE { Link::Tail } else { Link::Under(self.no) }
    }

    fn context(&self) -> &StepContext {
        self.context.get_or_init(|| {
            let address = self.address();
            let path = address.subflow_path().map(Str::from);
            let depth = address.depth();
            let (parent_id, parent_address) = match &self.parent {
                None => (None, None),
                Some(parent) => (
                    parent.on_level.then(|| parent.id.clone()),
                    Some(RuntimeStageId::new(parent.id.clone(), ExecutionIndex(parent.index))),
                ),
            };
            let subflow_id = match (self.is_mount, &self.level.mounted) {
                (true, _) => Some(self.id().clone()),
                (false, Some(mounted)) => Some(mounted.id.clone()),
                (false, None) => None,
            };
            let namespace =
                self.ns.as_ref().map_or_else(|| self.run.root_namespace.clone(), |ns| ns.id().clone());
            Box::new(StepContext {
                traversal: TraversalContext {
                    run_id: self.run.run_id.clone(),
                    stage_id: self.id().clone(),
                    runtime_stage_id: address,
                    stage_name: self.name().clone(),
                    parent_stage_id: parent_id,
                    parent_runtime_stage_id: parent_address,
                    subflow_id,
                    subflow_path: path,
                    depth,
                    loop_iteration: (self.before > 0).then_some(self.before),
                    fork_branch: self.ns.as_ref().map(|ns| ns.id().0.clone()),
                    resumed_from: None,
                },
                namespace,
            })
        })
    }

    // ---- telling observers -----------------------------------------------------------------------

    /// Tells an event when somebody wants it. Nothing is built otherwise.
    #[inline]
    pub(crate) fn tell(&self, hook: Hook, build: impl FnOnce() -> Payload) {
        if self.run.observers.wants(hook) {
            self.tell_wanted(build());
        }
    }

    #[inline]
    pub(crate) fn is_wanted(&self, hook: Hook) -> bool {
        self.run.observers.wants(hook)
    }

    #[cold]
    fn tell_wanted(&self, payload: Payload) {
        let context = self.context();
        self.run.observers.emit(self.at(&context.traversal, &context.namespace), payload);
    }

    fn at<'a>(&'a self, traversal: &'a TraversalContext, namespace: &'a NamespaceId) -> At<'a> {
        At {
            run_id: &self.run.run_id,
            leg: &self.run.leg,
            traversal,
            namespace,
            root_commits: self.run.root.commit_count(),
            log_commits: self.level.commit_count(),
            clock: &*self.run.clock,
            log: self.level.log_address(),
        }
    }

    pub(super) fn tell_resumed(
        &self,
        hook: Hook,
        from: Option<ResumedFrom>,
        build: impl FnOnce() -> Payload,
    ) {
        if !self.is_wanted(hook) {
            return;
        }
        let context = self.context();
        let traversal = TraversalContext { resumed_from: from, ..context.traversal.clone() };
        self.run.observers.emit(self.at(&traversal, &context.namespace), build());
    }

    /// The context of this visit, for events that are told later.
    pub(super) fn traversal(&self) -> TraversalContext {
        self.context().traversal.clone()
    }

    // ---- attempts --------------------------------------------------------------------------------

    pub(super) fn attempt_started(&self, attempt: u32) {
        if !self.run.observers.wants_any(Interest::of(Hook::StageStart) | Interest::of(Hook::StageEnd)) {
            return;
        }
        lock(&self.state).started = Some(self.run.clock.monotonic());
        self.tell(Hook::StageStart, || StageStartEvent { attempt }.into());
    }

    pub(super) fn stage_end(&self) {
        self.tell(Hook::StageEnd, || {
            let started = lock(&self.state).started;
            let duration = started.map(|from| millis(self.run.clock.monotonic().saturating_sub(from)));
            StageEndEvent { duration }.into()
        });
    }

    /// Forgets what an attempt staged; emits and diagnostics stay (ENG-120).
    pub(super) fn reset_attempt(&self) {
        let mut state = lock(&self.state);
        state.staging.reset();
        state.stop = None;
        state.replayed = 0;
        self.flags.fetch_and(!STOPPED, Ordering::AcqRel);
    }

    pub(super) fn open_stream(&self, stream_id: &Str) {
        if let Some(handler) = &self.run.stream {
            let stream = OpenStream::open(stream_id.clone(), Arc::clone(handler));
            lock(&self.state).stream = Some(stream);
            self.flags.fetch_or(STREAMING, Ordering::AcqRel);
        }
    }

    pub(crate) fn stream(&self) -> Option<Arc<OpenStream>> {
        if self.flags.load(Ordering::Acquire) & STREAMING == 0 {
            return None;
        }
        lock(&self.state).stream.clone()
    }

    pub(super) fn close_stream(&self, well: bool) {
        if self.flags.load(Ordering::Acquire) & STREAMING == 0 {
            return;
        }
        self.flags.fetch_and(!STREAMING, Ordering::AcqRel);
        let stream = lock(&self.state).stream.take();
        if let Some(stream) = stream {
            if well { stream.end() } else { stream.abort() }
        }
    }

    // ---- stop and interrupt ----------------------------------------------------------------------

    pub(crate) fn request_stop(&self, reason: Option<Str>) {
        let mut state = lock(&self.state);
        if self.flags.fetch_or(STOPPED, Ordering::AcqRel) & STOPPED == 0 {
            state.stop = reason;
        }
    }

    /// Whether the stage asked to stop its level, and why.
    pub(super) fn stop_request(&self) -> Option<Option<Str>> {
        (self.flags.load(Ordering::Acquire) & STOPPED != 0).then(|| lock(&self.state).stop.clone())
    }

    /// A question of the stage: answered when the run was resumed with the answer, else noted.
    pub(crate) fn ask(&self, question: Value) -> Option<Value> {
        let waker = {
            let mut state = lock(&self.state);
            if let Some(answer) = state.answers.get(state.replayed).cloned() {
                state.replayed += 1;
                return Some(answer);
            }
            if state.committed {
                return None;
            }
            if state.question.is_none() {
                state.question = Some(question);
            }
            self.flags.fetch_or(ASKING, Ordering::AcqRel);
            state.waker.take()
        };
        // The question may come from a task the stage spawned.
        if let Some(waker) = waker {
            waker.wake();
        }
        None
    }

    pub(super) fn is_asking(&self) -> bool {
        self.flags.load(Ordering::Acquire) & ASKING != 0
    }

    pub(super) fn question(&self) -> (Option<Value>, Vec<Value>) {
        let state = lock(&self.state);
        (state.question.clone(), state.answers.clone())
    }

    pub(super) fn answer_asks(&self, answers: Vec<Value>) {
        lock(&self.state).answers = answers;
    }

    pub(super) fn remember_waker(&self, waker: &Waker) {
        let mut state = lock(&self.state);
        match &mut state.waker {
            Some(known) if known.will_wake(waker) => {}
            slot => *slot = Some(waker.clone()),
        }
    }

    // ---- state -----------------------------------------------------------------------------------

    /// Runs engine code on the staging and the level's live state.
    pub(crate) fn staged<R>(&self, work: impl FnOnce(&mut Staging, &Object) -> R) -> R {
        let mut state = lock(&self.state);
        let core = self.level.core();
        work(&mut state.staging, &core.state)
    }

    /// Whether writes are still taken.
    pub(crate) fn check_open(&self) -> Result<(), ScopeError> {
        if self.sealed.load(Ordering::Acquire) || self.run.is_closed() {
            return Err(ScopeError::FrameClosed {
                stage: self.id().clone(),
                runtime_stage_id: self.address(),
            });
        }
        Ok(())
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Acquire)
    }

    /// A read after the commit: the stage's own last view, then live state.
    pub(crate) fn sealed_read(&self, key: &str) -> Option<Value> {
        let own = lock(&self.state).last_view.as_ref().and_then(|view| view.get(key).cloned());
        own.or_else(|| self.level.lookup(self.ns.as_deref(), key))
    }

    /// Stages operations as they are.
    pub(super) fn stage_ops(&self, ops: Vec<StagedOp>) {
        self.staged(|staging, live| {
            for op in ops {
                staging.apply(live, op);
            }
        });
    }

    /// Writes a result the engine computed, as the stage itself.
    pub(super) fn write_result(&self, key: &Str, value: Value) {
        self.staged(|staging, live| staging.set(live, key, value.clone()));
        self.tell_write(key, Some(&value), WriteOp::Set);
    }

    pub(crate) fn tell_write(&self, key: &str, value: Option<&Value>, operation: WriteOp) {
        self.tell(Hook::Write, || {
            let (value, redacted) = self.served(key, value);
            WriteEvent { key: key.into(), value, operation, redacted }.into()
        });
    }

    /// The served form of a value under a root key.
    pub(crate) fn served(&self, key: &str, value: Option<&Value>) -> (Option<Value>, bool) {
        if !self.run.is_redacting() {
            return (value.cloned(), false);
        }
        let state = lock(&self.state);
        self.run.redaction(state.staging.marked(), |redaction| {
            let served = value.map(|value| redaction.serve(&Path::key(key), value));
            let redacted =
                served.as_ref().map_or_else(|| redaction.touches(&Path::key(key)), |served| served.redacted);
            (served.map(|served| served.value), redacted)
        })
    }

    /// The served form of data that crosses a boundary.
    pub(crate) fn served_boundary(&self, value: &Value) -> Value {
        self.run.served_payload(value)
    }

    /// The served form of an error.
    pub(crate) fn served_error(&self, error: StructuredError) -> StructuredError {
        self.run.served_error(error)
    }

    /// Redaction follows what a mapper read (ENG-95).
    pub(super) fn taint(&self, reads: &[MapperRead], produced: &Object) {
        let tainted = self.run.redaction(&[], |redaction| redaction.tainted(reads, produced));
        if !tainted.is_empty() {
            self.run.mark(tainted);
        }
    }

    // ---- the tree --------------------------------------------------------------------------------

    /// Sets an entry of the frame's `logs`.
    pub(super) fn log(&self, key: &str, value: Value) {
        self.level.with_frame(self.no, |frame| {
            frame.extra().logs.insert(key, value);
        });
    }

    /// Sets an entry of the frame's `errors`.
    pub(super) fn note_error(&self, key: &str, value: Value) {
        self.level.with_frame(self.no, |frame| {
            frame.extra().errors.insert(key, value);
        });
    }

    /// Sets an entry of the frame's `errors` unless it is there.
    pub(super) fn note_error_once(&self, key: &str, value: Value) {
        self.level.with_frame(self.no, |frame| {
            let errors = &mut frame.extra().errors;
            if !errors.contains_key(key) {
                errors.insert(key, value);
            }
        });
    }

    /// Adds to a diagnostic bag (ENG-86).
    pub(crate) fn bag(&self, bag: Bag, key: &str, value: Value) {
        self.level.with_frame(self.no, |frame| {
            let extra = frame.extra();
            let bag = match bag {
                Bag::Logs => &mut extra.logs,
                Bag::Errors => &mut extra.errors,
                Bag::Metrics => &mut extra.metrics,
                Bag::Evals => &mut extra.evals,
            };
            put(bag, key, value);
        });
    }

    pub(super) fn message(&self, message: Message) {
        self.level.with_frame(self.no, |frame| frame.extra().messages.push(message));
    }

    pub(super) fn hop(&self, hop: Hop) {
        self.level.with_frame(self.no, |frame| frame.hop = Some(hop));
    }

    // ---- the commit ------------------------------------------------------------------------------

    /// A node without a function has no bundle (ENG-70).
    pub(super) fn close_silently(&self) {
        self.sealed.store(true, Ordering::Release);
        lock(&self.state).committed = true;
    }

    /// Writes the visit's own bundle, or (with a phase) an empty continuation. The commit hook follows, with
    /// no lock held.
    pub(super) fn commit(self: &Arc<Self>, phase: Option<Phase>) {
        let told = match phase {
            Some(_) => self.commit_continuation(phase),
            None => self.commit_own(),
        };
        if let Some((bundle, mutations)) = told {
            self.tell(Hook::Commit, || CommitEvent { mutations, bundle }.into());
        }
    }

    fn commit_continuation(&self, phase: Option<Phase>) -> Option<(Arc<Bundle>, Arc<[Mutation]>)> {
        let mut bundle = self.empty_bundle();
        bundle.phase = phase;
        let mut core = self.level.core();
        bundle.idx.0 = core.log.len();
        let bundle = Arc::new(bundle);
        self.level.push_bundle(&mut core, Arc::clone(&bundle));
        drop(core);
        self.is_wanted(Hook::Commit).then(|| (bundle, Arc::from([])))
    }

    fn empty_bundle(&self) -> Bundle {
        Bundle::empty(Default::default(), self.shown_name(), self.id().clone(), self.address())
    }

    fn commit_own(self: &Arc<Self>) -> Option<(Arc<Bundle>, Arc<[Mutation]>)> {
        let mut state = lock(&self.state);
        if std::mem::replace(&mut state.committed, true) {
            return None;
        }
        self.sealed.store(true, Ordering::Release);
        let staging = std::mem::take(&mut state.staging);
        // The driver holds one handle; a view is only kept for scopes that outlive the stage.
        if Arc::strong_count(self) > 1 && staging.is_touched() {
            state.last_view = Some(staging.view().clone());
        }
        drop(state);

        let mut bundle = self.empty_bundle();
        bundle.tags = self.tags.clone();
        let told = self.is_wanted(Hook::Commit);
        if !staging.is_touched() {
            bundle.untracked = staging.untracked();
            let mut core = self.level.core();
            bundle.idx.0 = core.log.len();
            let bundle = Arc::new(bundle);
            self.level.push_bundle(&mut core, Arc::clone(&bundle));
            drop(core);
            return told.then(|| (bundle, Arc::from([])));
        }
        if self.run.warnings.is_dev() && self.pass > 0 {
            self.inspect_loop_writes(&staging);
        }
        let (commit, kept) = self.run.redaction(staging.marked(), |redaction| {
            let policy = &self.run.policy;
            let commit = staging.encode(policy.commit_values, policy.write_provenance, redaction);
            (commit, Kept::of(self, &staging, redaction, told))
        });
        bundle.untracked = staging.untracked();
        if !commit.redacted_paths.is_empty() {
            self.run.note_redacted(&commit.redacted_paths);
        }
        let mut core = self.level.core();
        commit.land(&staging, &mut core.state);
        bundle.idx.0 = core.log.len();
        bundle.rows = commit.rows;
        bundle.redacted_paths = commit.redacted_paths;
        let bundle = Arc::new(bundle);
        self.level.push_bundle(&mut core, Arc::clone(&bundle));
        if !kept.tracked.entries.is_empty()
            && let Some(frame) = core.tree.get_mut(self.no)
        {
            frame.tracked = kept.tracked;
        }
        drop(core);
        told.then(|| (bundle, kept.mutations.into()))
    }

    /// Dev diagnostics: values a loop writes again and again that make a record grow faster than it must.
    fn inspect_loop_writes(&self, staging: &Staging) {
        const LONG_LIST: usize = 64;
        for record in staging.writes() {
            let (Some(value), Some(key)) = (&record.value, record.path.segments().first()) else { continue };
            if is_large(value) {
                let warning = Warning::LargeValueInLoop { stage: self.id().clone(), key: key.clone() };
                self.run.warnings.add(warning);
            }
            let is_list = matches!(value, Value::Array(items) if items.len() > LONG_LIST);
            if is_list && self.run.policy.commit_values == CommitValues::Full {
                let warning = Warning::FullValuesInLoop { stage: self.id().clone(), key: key.clone() };
                self.run.warnings.add(warning);
            }
        }
    }

    /// Commits the seed of a mounted level: the first bundle of *its* log, stamped with this mount.
    pub(super) fn seed(&self, inner: &Level, seed: &Object) {
        let mut staging = Staging::default();
        let mut core = inner.core();
        for op in seed_ops(seed) {
            staging.apply(&core.state, op);
        }
        let policy = &self.run.policy;
        let commit = self.run.redaction(&[], |redaction| {
            staging.encode(policy.commit_values, policy.write_provenance, redaction)
        });
        if !commit.redacted_paths.is_empty() {
            self.run.note_redacted(&commit.redacted_paths);
        }
        commit.land(&staging, &mut core.state);
        let mut bundle = self.empty_bundle();
        bundle.rows = commit.rows;
        bundle.redacted_paths = commit.redacted_paths;
        bundle.idx.0 = core.log.len();
        inner.push_bundle(&mut core, Arc::new(bundle));
    }
}

/// Whether a value takes more than 1 MiB, roughly.
fn is_large(value: &Value) -> bool {
    const LARGE: usize = 1 << 20;
    let mut size = 0;
    let mut waiting = vec![value.clone()];
    while let Some(value) = waiting.pop() {
        size += size_of::<Value>();
        match &value {
            Value::String(text) => size += text.len(),
            Value::Array(items) => waiting.extend(items.iter().cloned()),
            Value::Object(entries) => waiting.extend(entries.values().cloned()),
            _ => {}
        }
        if size > LARGE {
            return true;
        }
    }
    false
}

/// A diagnostic bag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bag {
    Logs,
    Errors,
    Metrics,
    Evals,
}

/// What a tree node and the commit hook keep of a visit, by the dials.
#[derive(Default)]
struct Kept {
    tracked: Tracked,
    mutations: Vec<Mutation>,
}

impl Kept {
    fn of(frame: &FrameHandle, staging: &Staging, redaction: Redaction<'_>, told: bool) -> Self {
        let policy = &frame.run.policy;
        let keeps_reads = policy.read_tracking != Tracking::Off;
        let keeps_writes = policy.write_tracking != Tracking::Off && staging.has_writes();
        let room = if keeps_reads { staging.reads().len() } else { 0 }
            + if keeps_writes { staging.ops().len() } else { 0 };
        if room == 0 {
            return Self::default();
        }
        let mut entries = Vec::with_capacity(room);
        if keeps_reads {
            Self::reads(staging, redaction, policy.read_tracking, &mut entries);
        }
        let reads = entries.len();
        let mut mutations = Vec::new();
        if keeps_writes {
            let summary = policy.write_tracking == Tracking::Summary;
            let mut keep = |record: WriteRecord| {
                let (key, shown) = shown_write(&record, redaction, summary);
                if let Some(shown) = &shown {
                    entries.push((key.clone(), shown.clone()));
                }
                if told {
                    let operation = match record.operation {
                        WriteOperation::Set => WriteOp::Set,
                        WriteOperation::Update => WriteOp::Update,
                        WriteOperation::Delete => WriteOp::Delete,
                    };
                    mutations.push(Mutation { key, value: shown, operation });
                }
            };
            match only_op(staging) {
                Some(record) => keep(record),
                None => staging.writes().into_iter().for_each(keep),
            }
        }
        Self { tracked: Tracked { entries: entries.into(), reads: reads as u32 }, mutations }
    }

    fn reads(
        staging: &Staging,
        redaction: Redaction<'_>,
        tracking: Tracking,
        entries: &mut Vec<(Str, Value)>,
    ) {
        let idle = redaction.is_idle();
        for read in staging.reads() {
            let Some(value) = &read.value else { continue };
            let (value, whole) = if idle {
                (value.clone(), false)
            } else {
                let served = redaction.serve(&Path::key(read.key.clone()), value);
                (served.value, served.whole)
            };
            let value = if tracking == Tracking::Summary && !whole {
                marker(MarkerKind::Read, Some(&value))
            } else {
                value
            };
            entries.push((read.key.clone(), value));
        }
    }
}

/// The record of a visit's only operation, without the tables many operations need.
fn only_op(staging: &Staging) -> Option<WriteRecord> {
    let mut ops = staging.ops();
    let (op, None) = (ops.next()?, ops.next()) else { return None };
    let (operation, value) = match op {
        StagedOp::Set { value, .. } => (WriteOperation::Set, Some(value.clone())),
        StagedOp::Merge { patch, .. } => (WriteOperation::Update, Some(patch.clone())),
        StagedOp::Push { path, .. } => (WriteOperation::Set, staging.view().walk(path.segments()).cloned()),
        StagedOp::Delete { .. } => (WriteOperation::Delete, None),
    };
    Some(WriteRecord { path: op.path().clone(), operation, value })
}

/// Key and kept form of a write.
fn shown_write(record: &WriteRecord, redaction: Redaction<'_>, summary: bool) -> (Str, Option<Value>) {
    let key: Str = match record.path.segments() {
        [key] => key.clone(),
        _ => record.path.to_string().into(),
    };
    let (value, whole) = match &record.value {
        Some(value) if !redaction.is_idle() => {
            let served = redaction.serve(&record.path, value);
            (Some(served.value), served.whole)
        }
        value => (value.clone(), false),
    };
    let shown = if summary && !whole { Some(marker(MarkerKind::Write, value.as_ref())) } else { value };
    (key, shown)
}
