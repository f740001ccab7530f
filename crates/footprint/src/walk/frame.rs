//! One visit while it is alive: its address, what it staged, and how it commits.
//!
//! The frame, not the stage's future, owns everything staged, so a commit is possible after the future was
//! dropped at any await (ENG-165). What stays behind in the tree is a small record; the handle itself is
//! gone once nobody holds a scope on it.

mod attempt;
mod commit;
mod kept;
mod notes;

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Waker;
use std::time::Duration;

use super::level::Level;
use super::namespace::Namespace;
use super::shared::{RunShared, lock};
use super::strand::{Parent, Place};
use super::tree::{Link, LiveFrame, NONE, OwnName, Tracked, shown_name};
use crate::chart::{NodeIdx, SiteIds};
use crate::error::{ScopeError, StructuredError};
use crate::ids::{ExecutionIndex, RuntimeStageId};
use crate::observe::{At, EventPlace, Hook, Payload, ResumedFrom, TraversalContext, WriteEvent, WriteOp};
use crate::state::{MapperRead, Path, StagedOp, Staging};
use crate::stream::OpenStream;
use crate::value::{Object, Str, Value, names};

pub(crate) use notes::Bag;

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
    /// Where its events happen, made when the first one is wanted.
    place: OnceLock<Arc<EventPlace>>,
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
            place: OnceLock::new(),
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
            place: OnceLock::new(),
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

    fn place(&self) -> &Arc<EventPlace> {
        self.place.get_or_init(|| {
            let address = self.address();
            let path = match &self.own {
                // The ids of a site all begin with its path.
                None => Some(&self.ids.path).filter(|path| !path.is_empty()).cloned(),
                Some(_) => address.subflow_path().map(Str::from),
            };
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
            Arc::new(EventPlace {
                run_id: self.run.run_id.clone(),
                leg: self.run.leg.clone(),
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
                log: Arc::clone(self.level.log_address()),
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
        self.run.observers.emit(self.at(self.place()), payload);
    }

    fn at<'a>(&'a self, place: &'a Arc<EventPlace>) -> At<'a> {
        At {
            place,
            root_commits: self.run.root.commit_count(),
            log_commits: self.level.commit_count(),
            clock: &*self.run.clock,
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
        let mut place = EventPlace::clone(self.place());
        place.traversal.resumed_from = from;
        self.run.observers.emit(self.at(&Arc::new(place)), build());
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
            WriteEvent { key: names::shared(key), value, operation, redacted }.into()
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

    /// Redaction follows the items of a for-each into its branches, and out again with their results (ENG-95).
    pub(super) fn taint_items(&self, items: &[Value], into: &Str) {
        if !self.run.is_redacting() {
            return;
        }
        let reads = lock(&self.state).staging.mapper_reads();
        let mut tainted = Vec::new();
        for item in items {
            let seed = [(Str::from("item"), item.clone())].into_iter().collect();
            tainted.extend(self.run.redaction(&[], |redaction| redaction.tainted(&reads, &seed)));
        }
        if !tainted.is_empty() {
            tainted.push(Path::key(into.clone()));
            self.run.mark(tainted);
        }
    }
}
