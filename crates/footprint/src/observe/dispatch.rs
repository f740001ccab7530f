//! How an event reaches its listeners: one list per hook, built once per run; failures are contained.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use super::context::EventTime;
use super::{
    AsyncRecorder, Delivery, EventCx, FailedOperation, Hook, HookResult, Interest, LegKind, NamespaceId, ObserverQueueConfig, Payload, Recorder,
    RecorderError, RunLeg, ScopeErrorEvent, TraversalContext,
};
use crate::clock::Clock;
use crate::error::{StructuredError, panic_text};
use crate::ids::RunId;
use crate::snapshot::{LogAddress, RecorderFailure, RecorderRow};
use crate::value::{Object, Str, Value};

/// Where an event happened; everything but its place in the order.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) run_id: &'a RunId,
    pub(crate) leg: &'a LegKind,
    pub(crate) traversal: &'a TraversalContext,
    pub(crate) namespace: &'a NamespaceId,
    pub(crate) root_commits: usize,
    pub(crate) log_commits: usize,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) log: &'a Arc<LogAddress>,
}

struct Listener {
    id: Str,
    recorder: Arc<dyn Recorder>,
    interest: Interest,
    /// Contributes no row (the narrative run option, OBS-59).
    hidden: bool,
}

/// The observers of one run. They persist over same-process resumes, so what they gathered continues.
pub(crate) struct Observers {
    listeners: Vec<Listener>,
    per_hook: Box<[SmallVec<[u32; 4]>]>,
    inline_mask: Interest,
    seq: AtomicU64,
    failures: Mutex<Vec<RecorderFailure>>,
}

/// Collects a run's observers.
pub(crate) struct ObserversBuilder {
    listeners: Vec<Listener>,
    default: Delivery,
}

impl ObserversBuilder {
    /// Attaches an observer. The same id replaces an earlier one and moves to the end (OBS-36).
    pub(crate) fn attach(&mut self, recorder: Arc<dyn Recorder>, delivery: Option<Delivery>) {
        let _tier = recorder.delivery().or(delivery).unwrap_or(self.default);
        self.add(recorder, false);
    }

    /// Attaches an observer of the engine's own, which adds no row.
    pub(crate) fn hidden(&mut self, recorder: Arc<dyn Recorder>) {
        self.add(recorder, true);
    }

    /// Attaches an asynchronous observer.
    pub(crate) fn attach_async(&mut self, _recorder: Arc<dyn AsyncRecorder>) {}

    fn add(&mut self, recorder: Arc<dyn Recorder>, hidden: bool) {
        let id = Str::from(recorder.id());
        self.listeners.retain(|known| known.id != id);
        let interest = recorder.interest();
        self.listeners.push(Listener { id, recorder, interest, hidden });
    }

    /// Builds the lists.
    pub(crate) fn build(self) -> Observers {
        let mut per_hook = vec![SmallVec::<[u32; 4]>::new(); Hook::COUNT].into_boxed_slice();
        let mut inline_mask = Interest::NONE;
        for (at, listener) in self.listeners.iter().enumerate() {
            inline_mask |= listener.interest;
            for hook in listener.interest.iter() {
                if let Some(list) = per_hook.get_mut(hook as usize) {
                    list.push(at as u32);
                }
            }
        }
        Observers {
            listeners: self.listeners,
            per_hook,
            inline_mask,
            seq: AtomicU64::new(0),
            failures: Mutex::new(Vec::new()),
        }
    }
}

impl Observers {
    pub(crate) fn builder(
        default: Delivery,
        _queue: Option<ObserverQueueConfig>,
        _diagnostics: crate::walk::Diagnostics,
    ) -> ObserversBuilder {
        ObserversBuilder { listeners: Vec::new(), default }
    }

    /// Everything captured so far is delivered.
    pub(crate) fn flush(&self) {}

    /// Nothing more will be captured.
    pub(crate) fn close(&self) {}

    /// Statistics of the deferred tier, when something is deferred.
    pub(crate) fn stats(&self) -> Option<Value> {
        None
    }

    /// Whether anybody wants this hook. Nothing may be built for an event before this says yes.
    #[inline]
    pub(crate) fn wants(&self, hook: Hook) -> bool {
        self.inline_mask.contains(hook)
    }

    /// Whether anybody wants any of these hooks.
    #[inline]
    pub(crate) fn wants_any(&self, hooks: Interest) -> bool {
        self.inline_mask.intersects(hooks)
    }

    /// Tells every observer that a leg begins.
    pub(crate) fn leg(&self, leg: &RunLeg<'_>) {
        for listener in &self.listeners {
            if let Err(error) = contain(|| listener.recorder.on_leg(leg)) {
                self.count(&listener.id, "onLeg", &error);
            }
        }
    }

    /// Delivers one event. Called with no lock held.
    pub(crate) fn emit(&self, at: At<'_>, payload: impl Into<Payload>) {
        let payload = payload.into();
        let time = Cell::new(None);
        self.deliver(&at, &time, &payload, None);
    }

    fn deliver(&self, at: &At<'_>, time: &Cell<Option<u64>>, payload: &Payload, skip: Option<&str>) {
        let hook = payload.hook();
        let cx = EventCx {
            run_id: at.run_id,
            leg: at.leg,
            traversal: at.traversal,
            namespace: at.namespace,
            seq: self.seq.fetch_add(1, Ordering::Relaxed),
            root_commits: at.root_commits,
            log_commits: at.log_commits,
            time: EventTime::Live { clock: at.clock, cell: time },
            log: at.log,
        };
        let Some(list) = self.per_hook.get(hook as usize) else { return };
        for position in list {
            let Some(listener) = self.listeners.get(*position as usize) else { continue };
            if skip == Some(&*listener.id) {
                continue;
            }
            if let Err(error) = contain(|| listener.recorder.on_event(&cx, payload)) {
                self.count(&listener.id, hook.json_name(), &error);
                // A failure while reporting a failure is only counted (OBS-45).
                if hook != Hook::ScopeError && self.wants(Hook::ScopeError) {
                    let report = failure_event(&listener.id, payload, error).into();
                    self.deliver(at, time, &report, Some(&listener.id));
                }
            }
        }
    }

    fn count(&self, id: &Str, hook: &str, error: &RecorderError) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match failures.iter_mut().find(|row| row.id == *id && &*row.hook == hook) {
            Some(row) => row.count += 1,
            None => {
                tracing::warn!(target: "footprint", recorder = &**id, hook, "an observer failed: {error}");
                failures.push(RecorderFailure {
                    id: id.clone(),
                    hook: hook.into(),
                    count: 1,
                    first_message: error.message.as_str().into(),
                });
            }
        }
    }

    /// Contained failures so far.
    pub(crate) fn failures(&self) -> Vec<RecorderFailure> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// One row per observer that contributes one, in attach order.
    pub(crate) fn rows(&self, run: &RunId) -> Vec<RecorderRow> {
        let mut rows = Vec::new();
        for listener in self.listeners.iter().filter(|listener| !listener.hidden) {
            let taken = catch_unwind(AssertUnwindSafe(|| listener.recorder.snapshot(run)));
            match taken {
                Ok(Some(bundle)) => rows.push(RecorderRow {
                    id: listener.id.clone(),
                    name: bundle.name,
                    description: bundle.description,
                    preferred_operation: bundle.preferred_operation,
                    data: bundle.data,
                    meta: bundle.meta,
                    extra: Object::new(),
                }),
                Ok(None) => {}
                Err(panic) => self.count(&listener.id, "snapshot", &RecorderError::new(panic_text(&*panic))),
            }
        }
        rows
    }

    /// The observer with this id, if it is a `T`.
    pub(crate) fn get<T: Recorder>(&self, id: &str) -> Option<Arc<T>> {
        let listener = self.listeners.iter().find(|listener| &*listener.id == id)?;
        let any: Arc<dyn Any + Send + Sync> = Arc::clone(&listener.recorder) as _;
        any.downcast::<T>().ok()
    }
}

fn contain(call: impl FnOnce() -> HookResult) -> HookResult {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(RecorderError::new(panic_text(&*panic))))
}

fn failure_event(id: &Str, failed: &Payload, error: RecorderError) -> ScopeErrorEvent {
    let (operation, key) = match failed {
        Payload::Read(e) => (FailedOperation::Read, e.key.clone()),
        Payload::Write(e) => (FailedOperation::Write, Some(e.key.clone())),
        Payload::Commit(_) => (FailedOperation::Commit, None),
        _ => (FailedOperation::Write, None),
    };
    let error = StructuredError {
        name: Some("RecorderError".to_owned()),
        ..StructuredError::new(error.message)
    };
    ScopeErrorEvent { recorder: id.clone(), error, operation, key }
}
