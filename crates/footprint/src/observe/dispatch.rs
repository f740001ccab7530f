//! How an event reaches its listeners: one list per hook, built once per run; failures are contained.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use smallvec::SmallVec;

use super::context::EventTime;
use super::queue::{DeferredListener, Queue};
use super::{
    AsyncRecorder, Delivery, Event, EventCx, EventPlace, FailedOperation, Hook, HookResult, Interest,
    ObserverQueueConfig, Payload, Recorder, RecorderError, RunLeg, ScopeErrorEvent,
};
use crate::clock::Clock;
use crate::error::{StructuredError, panic_text};
use crate::ids::RunId;
use crate::snapshot::{RecorderFailure, RecorderRow};
use crate::value::{Object, Str, Value};

/// An inline observer that takes longer than this for one call is named by diagnostics (OBS-48).
const SLOW_CALL: Duration = Duration::from_millis(5);

/// Where an event happened; everything but its place in the order.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) place: &'a Arc<EventPlace>,
    pub(crate) root_commits: usize,
    pub(crate) log_commits: usize,
    pub(crate) clock: &'a dyn Clock,
}

/// One attached observer.
struct Listener {
    id: Str,
    kind: ListenerKind,
    interest: Interest,
    tier: Delivery,
    /// Contributes no row (the narrative run option, OBS-59).
    hidden: bool,
}

#[derive(Clone)]
pub(super) enum ListenerKind {
    Sync(Arc<dyn Recorder>),
    Async(Arc<dyn AsyncRecorder>),
}

/// Collects a run's observers.
pub(crate) struct ObserversBuilder {
    listeners: Vec<Listener>,
    default: Delivery,
    config: ObserverQueueConfig,
    measure: bool,
    failed: Vec<(&'static str, RecorderError)>,
}

impl ObserversBuilder {
    /// Attaches an observer. The same id replaces an earlier one and moves to the end (OBS-36).
    pub(crate) fn attach(&mut self, recorder: Arc<dyn Recorder>, delivery: Option<Delivery>) {
        let tier = wish_of(&*recorder).or(delivery).unwrap_or(self.default);
        self.add(recorder, tier, false);
    }

    /// Attaches an observer of the engine's own, which adds no row.
    pub(crate) fn hidden(&mut self, recorder: Arc<dyn Recorder>) {
        self.add(recorder, Delivery::Inline, true);
    }

    /// Attaches an asynchronous observer.
    pub(crate) fn attach_async(&mut self, recorder: Arc<dyn AsyncRecorder>) {
        let (id, interest) = (name_of(|| recorder.id().into()), interest_of(|| recorder.interest()));
        self.push(Listener {
            id,
            kind: ListenerKind::Async(recorder),
            interest,
            tier: Delivery::Deferred,
            hidden: false,
        });
    }

    fn add(&mut self, recorder: Arc<dyn Recorder>, tier: Delivery, hidden: bool) {
        let (id, interest) = (name_of(|| recorder.id().into()), interest_of(|| recorder.interest()));
        self.push(Listener { id, kind: ListenerKind::Sync(recorder), interest, tier, hidden });
    }

    /// An observer that could not even be made (OBS-46).
    pub(crate) fn failed(&mut self, hook: &'static str, error: String) {
        self.failed.push((hook, RecorderError::new(error)));
    }

    fn push(&mut self, listener: Listener) {
        self.listeners.retain(|known| known.id != listener.id);
        self.listeners.push(listener);
    }

    /// Builds the lists.
    pub(crate) fn build(self) -> Observers {
        let mut per_hook = Vec::new();
        let (mut inline, mut deferred) = (Interest::NONE, Interest::NONE);
        let mut waiting = Vec::new();
        for (at, listener) in self.listeners.iter().enumerate() {
            if listener.tier == Delivery::Deferred {
                deferred |= listener.interest;
                waiting.push(DeferredListener::new(
                    listener.id.clone(),
                    listener.kind.clone(),
                    listener.interest,
                ));
                continue;
            }
            inline |= listener.interest;
            per_hook.resize_with(Hook::COUNT, SmallVec::<[u32; 4]>::new);
            for hook in listener.interest.iter() {
                if let Some(list) = per_hook.get_mut(hook as usize) {
                    list.push(at as u32);
                }
            }
        }
        let inner = Arc::new_cyclic(|weak| Inner {
            listeners: self.listeners,
            per_hook: per_hook.into(),
            inline,
            deferred,
            queue: (!waiting.is_empty()).then(|| Queue::new(self.config, waiting, weak.clone())),
            seq: AtomicU64::new(0),
            failures: Mutex::new(Vec::new()),
            measure: self.measure,
            slow: Mutex::new(Vec::new()),
        });
        for (hook, error) in &self.failed {
            inner.count(&UNNAMED.into(), hook, error);
        }
        Observers { mask: inline | deferred, inner }
    }
}

/// The observers of one run. They persist over same-process resumes, so what they gathered continues.
pub(crate) struct Observers {
    mask: Interest,
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    listeners: Vec<Listener>,
    /// Positions of the inline listeners of each hook; empty when there are none at all.
    per_hook: Box<[SmallVec<[u32; 4]>]>,
    inline: Interest,
    deferred: Interest,
    queue: Option<Arc<Queue>>,
    seq: AtomicU64,
    failures: Mutex<Vec<RecorderFailure>>,
    measure: bool,
    slow: Mutex<Vec<Str>>,
}

impl Observers {
    pub(crate) fn builder(
        default: Delivery,
        queue: Option<ObserverQueueConfig>,
        diagnostics: crate::walk::Diagnostics,
    ) -> ObserversBuilder {
        ObserversBuilder {
            listeners: Vec::new(),
            default,
            config: queue.unwrap_or_default(),
            measure: diagnostics == crate::walk::Diagnostics::Dev,
            failed: Vec::new(),
        }
    }

    /// Whether anybody wants this hook. Nothing may be built for an event before this says yes.
    #[inline]
    pub(crate) fn wants(&self, hook: Hook) -> bool {
        self.mask.contains(hook)
    }

    /// Whether anybody wants any of these hooks.
    #[inline]
    pub(crate) fn wants_any(&self, hooks: Interest) -> bool {
        self.mask.intersects(hooks)
    }

    /// Tells every observer that a leg begins.
    pub(crate) fn leg(&self, leg: &RunLeg<'_>) {
        if let Some(queue) = &self.inner.queue {
            queue.open();
        }
        for listener in &self.inner.listeners {
            if let ListenerKind::Sync(recorder) = &listener.kind
                && let Err(error) = contain(|| recorder.on_leg(leg))
            {
                self.inner.count(&listener.id, "onLeg", &error);
            }
        }
    }

    /// Delivers one event. Called with no lock held.
    pub(crate) fn emit(&self, at: At<'_>, payload: Payload) {
        self.inner.deliver(&at, &Cell::new(None), payload, None);
    }

    /// Everything captured so far is delivered to synchronous listeners (OBS-132).
    pub(crate) fn flush(&self) {
        if let Some(queue) = &self.inner.queue {
            queue.flush_at_end();
        }
    }

    /// Nothing more will be captured; what waits is still delivered.
    pub(crate) fn close(&self) {
        if let Some(queue) = &self.inner.queue {
            queue.close();
        }
    }

    /// The deferred tier, when there is one.
    pub(crate) fn queue(&self) -> Option<&Arc<Queue>> {
        self.inner.queue.as_ref()
    }

    /// Statistics of the deferred tier, when something is deferred.
    pub(crate) fn stats(&self) -> Option<Value> {
        self.inner.queue.as_ref().map(|queue| queue.stats())
    }

    /// Contained failures so far.
    pub(crate) fn failures(&self) -> Vec<RecorderFailure> {
        lock(&self.inner.failures).clone()
    }

    /// Inline observers that were slow, when diagnostics measure.
    pub(crate) fn slow(&self) -> Vec<Str> {
        lock(&self.inner.slow).clone()
    }

    /// One row per observer that contributes one, in attach order.
    pub(crate) fn rows(&self, run: &RunId) -> Vec<RecorderRow> {
        let mut rows = Vec::new();
        for listener in self.inner.listeners.iter().filter(|listener| !listener.hidden) {
            let ListenerKind::Sync(recorder) = &listener.kind else { continue };
            let made = catch_unwind(AssertUnwindSafe(|| recorder.snapshot(run)));
            // A row nobody could read back would cost the whole record (ENG-145).
            if let Ok(Some(bundle)) = &made
                && let Err(error) = bundle.data.check_depth().and_then(|()| match &bundle.meta {
                    Some(meta) => meta.check_depth(),
                    None => Ok(()),
                })
            {
                self.inner.count(&listener.id, "snapshot", &RecorderError::new(error.to_string()));
                continue;
            }
            match made {
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
                Err(panic) => {
                    self.inner.count(&listener.id, "snapshot", &RecorderError::new(panic_text(&*panic)));
                }
            }
        }
        rows
    }

    /// The observer with this id, if it is a `T`.
    pub(crate) fn get<T: Recorder>(&self, id: &str) -> Option<Arc<T>> {
        let listener = self.inner.listeners.iter().find(|listener| &*listener.id == id)?;
        let ListenerKind::Sync(recorder) = &listener.kind else { return None };
        let any: Arc<dyn Any + Send + Sync> = Arc::clone(recorder) as _;
        any.downcast::<T>().ok()
    }
}

impl Drop for Observers {
    /// A worker never outlives its queue's use: it drains what it holds, then ends (OBS-134).
    fn drop(&mut self) {
        self.close();
    }
}

impl Inner {
    fn deliver(&self, at: &At<'_>, time: &Cell<Option<u64>>, payload: Payload, skip: Option<&Str>) {
        let hook = payload.hook();
        let commits = [at.root_commits, at.log_commits];
        let cx = |seq| EventCx::at(at.place, seq, commits, EventTime::Live { clock: at.clock, cell: time });
        let next_seq = || self.seq.fetch_add(1, Ordering::Relaxed);
        let queue = self.queue.as_ref().filter(|_| self.deferred.contains(hook));
        if !self.inline.contains(hook) {
            match queue {
                Some(queue) => queue.capture(next_seq, |seq| cx(seq).to_owned_cx(), payload, skip),
                None => next_seq(),
            };
            return;
        }
        let seq = match queue {
            Some(queue) => queue.capture(next_seq, |seq| cx(seq).to_owned_cx(), payload.clone(), skip),
            None => next_seq(),
        };
        let cx = cx(seq);
        let Some(list) = self.per_hook.get(hook as usize) else { return };
        for position in list {
            let Some(listener) = self.listeners.get(*position as usize) else { continue };
            let ListenerKind::Sync(recorder) = &listener.kind else { continue };
            if skip == Some(&listener.id) {
                continue;
            }
            let from = self.measure.then(|| at.clock.monotonic());
            let result = contain(|| recorder.on_event(&cx, &payload));
            if from.is_some_and(|from| at.clock.monotonic().saturating_sub(from) > SLOW_CALL) {
                self.note_slow(&listener.id);
            }
            if let Err(error) = result {
                self.failed(&listener.id, at, time, &payload, error);
            }
        }
    }

    fn note_slow(&self, id: &Str) {
        let mut slow = lock(&self.slow);
        if !slow.contains(id) {
            slow.push(id.clone());
            tracing::warn!(target: "footprint", recorder = &**id, "an inline observer took more than 5 ms");
        }
    }

    /// A contained failure becomes one event for the other observers; a failure while reporting a failure is
    /// only counted (OBS-45).
    fn failed(
        &self,
        id: &Str,
        at: &At<'_>,
        time: &Cell<Option<u64>>,
        payload: &Payload,
        error: RecorderError,
    ) {
        let hook = payload.hook();
        self.count(id, hook.json_name(), &error);
        if hook != Hook::ScopeError && (self.inline | self.deferred).contains(Hook::ScopeError) {
            let report = failure_event(id, payload, error).into();
            self.deliver(at, time, report, Some(id));
        }
    }

    /// The same for a deferred listener, some time after the event.
    pub(super) fn failed_later(&self, id: &Str, event: &Event, error: RecorderError) {
        let at = At {
            place: &event.cx.place,
            root_commits: event.cx.root_commits,
            log_commits: event.cx.log_commits,
            clock: &FixedClock(event.cx.timestamp),
        };
        self.failed(id, &at, &Cell::new(None), &event.payload, error);
    }

    pub(super) fn count(&self, id: &Str, hook: &str, error: &RecorderError) {
        let mut failures = lock(&self.failures);
        match failures.iter_mut().find(|row| row.id == *id && &*row.hook == hook) {
            Some(row) => row.count += 1,
            None => {
                failures.push(RecorderFailure {
                    id: id.clone(),
                    hook: hook.into(),
                    count: 1,
                    first_message: error.message.as_str().into(),
                });
                drop(failures);
                tracing::warn!(target: "footprint", recorder = &**id, hook, "an observer failed: {error}");
            }
        }
    }
}

/// The time of an event that was captured earlier.
struct FixedClock(u64);

impl Clock for FixedClock {
    fn now_ms(&self) -> u64 {
        self.0
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The id of an observer that panics when it is asked for its own, or that could not be made.
const UNNAMED: &str = "(unnamed)";

/// What an observer says about itself is author code as its hooks are: a panic costs what it would have said.
pub(crate) fn name_of(ask: impl FnOnce() -> Str) -> Str {
    asked(ask).unwrap_or_else(|| UNNAMED.into())
}

/// A wider interest costs speed, never evidence (OBS-32).
pub(crate) fn interest_of(ask: impl FnOnce() -> Interest) -> Interest {
    asked(ask).unwrap_or(Interest::ALL)
}

/// The tier an observer wishes for.
pub(crate) fn wish_of(recorder: &dyn Recorder) -> Option<Delivery> {
    asked(|| recorder.delivery()).flatten()
}

fn asked<T>(ask: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(ask)) {
        Ok(said) => Some(said),
        Err(panic) => {
            tracing::warn!(target: "footprint", "an observer panicked when it was attached: {}", panic_text(&*panic));
            None
        }
    }
}

pub(super) fn contain(call: impl FnOnce() -> HookResult) -> HookResult {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(RecorderError::new(panic_text(&*panic))))
}

fn failure_event(id: &Str, failed: &Payload, error: RecorderError) -> ScopeErrorEvent {
    let (operation, key) = match failed {
        Payload::Read(e) => (FailedOperation::Read, e.key.clone()),
        Payload::Write(e) => (FailedOperation::Write, Some(e.key.clone())),
        Payload::Commit(_) => (FailedOperation::Commit, None),
        _ => (FailedOperation::Write, None),
    };
    let error =
        StructuredError { name: Some("RecorderError".to_owned()), ..StructuredError::new(error.message) };
    ScopeErrorEvent { recorder: id.clone(), error, operation, key }
}
