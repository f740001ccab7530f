//! The deferred tier: one bounded queue per run, drained by one worker (OBS §9).
//!
//! Capture happens at the dispatch site, after redaction, in the order of `seq`. Delivery holds the consumer
//! lock, so every listener sees one order whoever delivers: the worker, a producer that helps, or the
//! terminal flush. The worker is a task of the surrounding tokio runtime, or a thread where there is none; it
//! starts with the first captured event and ends when the queue is closed and empty.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::dispatch::{Inner, ListenerKind, contain};
use super::{
    Capture, DrainReport, Envelope, Event, HookResult, Interest, ObserverQueueConfig, Overflow, OwnedCx,
    Payload,
};
use crate::value::{Object, Str, Value};

/// Rounds a terminal flush drains what its own deliveries cause.
const TERMINAL_ROUNDS: usize = 1000;
/// Flush times kept for the percentile.
const FLUSH_TIMES: usize = 128;

/// One deferred observer.
pub(super) struct DeferredListener {
    id: Str,
    kind: ListenerKind,
    interest: Interest,
    lane: Mutex<Lane>,
}

/// What is known of one listener's deliveries.
#[derive(Default)]
struct Lane {
    events: u64,
    total: Duration,
    last: Duration,
    inflight: usize,
    backlog: VecDeque<Arc<Event>>,
    lost: u64,
}

impl DeferredListener {
    pub(super) fn new(id: Str, kind: ListenerKind, interest: Interest) -> Self {
        Self { id, kind, interest, lane: Mutex::default() }
    }
}

/// An event that waits, and who must not get it.
struct Waiting {
    event: Event,
    skip: Option<Str>,
}

#[derive(Default)]
struct State {
    items: VecDeque<Waiting>,
    closed: bool,
    worker: bool,
    saturated_arrivals: u32,
    drops: u64,
    flushes: u64,
    budget_exhausted: u64,
    inline_deliveries: u64,
    stranded: u64,
    flush_times: VecDeque<Duration>,
}

/// The queue of one run.
pub(crate) struct Queue {
    config: ObserverQueueConfig,
    listeners: Vec<DeferredListener>,
    /// Somebody keeps events beyond their delivery.
    has_async: bool,
    observers: Weak<Inner>,
    state: Mutex<State>,
    /// Held while events are handed to listeners.
    consumer: Mutex<()>,
    work: Notify,
    thread_work: Condvar,
    /// Futures of asynchronous listeners.
    inflight: AtomicU64,
    done: AtomicU64,
    failed: AtomicU64,
    settled: Notify,
}

thread_local! {
    /// This thread is inside a delivery: what it captures must not wait for itself.
    static DELIVERING: Cell<u32> = const { Cell::new(0) };
}

/// Marks this thread as delivering, for as long as it lives.
struct Delivering;

impl Delivering {
    fn begin() -> Self {
        DELIVERING.set(DELIVERING.get() + 1);
        Self
    }
}

impl Drop for Delivering {
    fn drop(&mut self) {
        DELIVERING.set(DELIVERING.get() - 1);
    }
}

impl Queue {
    pub(super) fn new(
        config: ObserverQueueConfig,
        listeners: Vec<DeferredListener>,
        observers: Weak<Inner>,
    ) -> Arc<Self> {
        Arc::new(Self {
            config,
            has_async: listeners.iter().any(|listener| matches!(listener.kind, ListenerKind::Async(_))),
            listeners,
            observers,
            state: Mutex::default(),
            consumer: Mutex::default(),
            work: Notify::new(),
            thread_work: Condvar::new(),
            inflight: AtomicU64::new(0),
            done: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            settled: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A leg begins.
    pub(super) fn open(&self) {
        self.state().closed = false;
    }

    /// Nothing more is captured.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.wake();
    }

    fn wake(&self) {
        self.work.notify_one();
        self.thread_work.notify_all();
    }

    /// Takes one event in, in the order of its number.
    pub(super) fn capture(
        self: &Arc<Self>,
        next_seq: impl FnOnce() -> u64,
        cx: impl FnOnce(u64) -> OwnedCx,
        payload: Payload,
        skip: Option<&Str>,
    ) -> u64 {
        if self.config.overflow == Overflow::Block {
            self.help();
        }
        let mut state = self.state();
        let seq = next_seq();
        if state.closed {
            return seq;
        }
        let full = state.items.len() >= self.config.max_queue;
        let admitted = match self.config.overflow {
            _ if !full => {
                state.saturated_arrivals = 0;
                true
            }
            Overflow::DropOldest => {
                state.items.pop_front();
                state.drops += 1;
                true
            }
            Overflow::Sample => {
                state.saturated_arrivals += 1;
                state.drops += 1;
                let admitted = state.saturated_arrivals.is_multiple_of(self.config.sample_every);
                if admitted {
                    state.items.pop_front();
                }
                admitted
            }
            // A producer that is itself being told enqueues past the bound (OBS-128).
            Overflow::Block => true,
        };
        if admitted {
            let payload = if self.config.capture == Capture::Summary { payload.digested() } else { payload };
            // A worker that found events goes on until there are none, so only the first one wakes it.
            let first = state.items.is_empty();
            state.items.push_back(Waiting { event: Event { cx: cx(seq), payload }, skip: skip.cloned() });
            let start = !std::mem::replace(&mut state.worker, true);
            drop(state);
            if start {
                self.start_worker();
            } else if first {
                self.wake();
            }
        }
        seq
    }

    /// A producer at the bound delivers from the head on its own thread until there is room.
    fn help(self: &Arc<Self>) {
        while self.state().items.len() >= self.config.max_queue {
            if DELIVERING.get() > 0 {
                self.state().inline_deliveries += 1;
                return;
            }
            let _consumer = self.consumer.lock().unwrap_or_else(PoisonError::into_inner);
            let head = {
                let mut state = self.state();
                if state.items.len() < self.config.max_queue {
                    return;
                }
                state.inline_deliveries += 1;
                state.items.pop_front()
            };
            if let Some(head) = head {
                let _delivering = Delivering::begin();
                self.hand_out(head, Instant::now());
            }
        }
    }

    /// Delivers a batch: at most the backlog seen at its start, at least one, stopping at the budget. Says
    /// whether something is left.
    fn batch(self: &Arc<Self>, budget: Option<Duration>) -> bool {
        let _consumer = self.consumer.lock().unwrap_or_else(PoisonError::into_inner);
        let backlog = self.state().items.len();
        if backlog == 0 {
            return false;
        }
        let from = Instant::now();
        let until = budget.and_then(|budget| from.checked_add(budget));
        let mut now = from;
        let delivering = Delivering::begin();
        for delivered in 0..backlog {
            let Some(next) = self.state().items.pop_front() else { break };
            now = self.hand_out(next, now);
            if delivered + 1 < backlog && until.is_some_and(|until| now >= until) {
                self.state().budget_exhausted += 1;
                break;
            }
        }
        drop(delivering);
        let mut state = self.state();
        state.flushes += 1;
        if state.flush_times.len() == FLUSH_TIMES {
            state.flush_times.pop_front();
        }
        state.flush_times.push_back(now.duration_since(from));
        !state.items.is_empty()
    }

    /// Tells every listener; called with only the consumer lock held. Takes the time the delivery before ended
    /// and gives the one this ended: reading the clock once per delivery measures all of them.
    fn hand_out(self: &Arc<Self>, waiting: Waiting, now: Instant) -> Instant {
        let skip = waiting.skip.as_ref();
        if self.has_async {
            let shared = Arc::new(waiting.event);
            self.tell(&shared, Some(&shared), skip, now)
        } else {
            self.tell(&waiting.event, None, skip, now)
        }
    }

    fn tell(
        self: &Arc<Self>,
        event: &Event,
        shared: Option<&Arc<Event>>,
        skip: Option<&Str>,
        mut now: Instant,
    ) -> Instant {
        for (at, listener) in self.listeners.iter().enumerate() {
            if !listener.interest.contains(event.hook()) || skip == Some(&listener.id) {
                continue;
            }
            let from = now;
            match &listener.kind {
                ListenerKind::Sync(recorder) => {
                    let result = contain(|| recorder.on_event(&event.cx.as_cx(), &event.payload));
                    now = Instant::now();
                    let took = now.duration_since(from);
                    {
                        let mut lane = lane(listener);
                        lane.events += 1;
                        lane.total += took;
                        lane.last = took;
                    }
                    self.report(listener, event, result);
                }
                ListenerKind::Async(_) => {
                    if let Some(event) = shared {
                        self.start_async(at, Arc::clone(event));
                        now = Instant::now();
                    }
                }
            }
        }
        now
    }

    fn report(&self, listener: &DeferredListener, event: &Event, result: HookResult) {
        if let Err(error) = result
            && let Some(observers) = self.observers.upgrade()
        {
            observers.failed_later(&listener.id, event, error);
        }
    }

    /// Starts an asynchronous listener's future, or lets the event wait behind its limit.
    fn start_async(self: &Arc<Self>, at: usize, event: Arc<Event>) {
        let Some(listener) = self.listeners.get(at) else { return };
        {
            let mut lane = lane(listener);
            if lane.inflight >= self.config.max_inflight {
                if lane.backlog.len() >= self.config.max_queue {
                    lane.lost += 1;
                    if self.config.overflow == Overflow::Sample {
                        return;
                    }
                    lane.backlog.pop_front();
                }
                lane.backlog.push_back(event);
                return;
            }
            lane.inflight += 1;
            lane.events += 1;
        }
        self.inflight.fetch_add(1, Ordering::AcqRel);
        let ListenerKind::Async(recorder) = &listener.kind else { return };
        let mut future = None;
        let made = contain(|| {
            future = Some(recorder.on_envelope(Envelope { event: Arc::clone(&event) }));
            Ok(())
        });
        let queue = Arc::clone(self);
        let from = Instant::now();
        let Some(mut future) = future.filter(|_| made.is_ok()) else {
            queue.async_settled(at, &event, made, from);
            return;
        };
        spawn(async move {
            let result = std::future::poll_fn(|cx| {
                let mut polled = std::task::Poll::Pending;
                let kept = contain(|| {
                    polled = future.as_mut().poll(cx);
                    Ok(())
                });
                match kept {
                    Ok(()) => polled,
                    Err(panic) => std::task::Poll::Ready(Err(panic)),
                }
            })
            .await;
            queue.async_settled(at, &event, result, from);
        });
    }

    fn async_settled(self: &Arc<Self>, at: usize, event: &Event, result: HookResult, from: Instant) {
        let Some(listener) = self.listeners.get(at) else { return };
        match &result {
            Ok(()) => self.done.fetch_add(1, Ordering::AcqRel),
            Err(_) => self.failed.fetch_add(1, Ordering::AcqRel),
        };
        self.report(listener, event, result);
        let next = {
            let mut lane = lane(listener);
            lane.inflight = lane.inflight.saturating_sub(1);
            lane.last = from.elapsed();
            let took = lane.last;
            lane.total += took;
            lane.backlog.pop_front()
        };
        // The next one starts before this one is no longer counted, so a drain never sees a gap between them.
        if let Some(next) = next {
            self.start_async(at, next);
        }
        self.inflight.fetch_sub(1, Ordering::AcqRel);
        self.settled.notify_waiters();
    }

    fn start_worker(self: &Arc<Self>) {
        let queue = Arc::clone(self);
        #[cfg(feature = "rt")]
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                loop {
                    if queue.batch(queue.config.flush_budget) {
                        tokio::task::yield_now().await;
                    } else if queue.worker_may_end() {
                        return;
                    } else {
                        queue.work.notified().await;
                    }
                }
            });
            return;
        }
        std::thread::spawn(move || {
            loop {
                if queue.batch(queue.config.flush_budget) {
                    continue;
                }
                if queue.worker_may_end() {
                    return;
                }
                let state = queue.state();
                if state.items.is_empty() && !state.closed {
                    drop(queue.thread_work.wait(state).unwrap_or_else(PoisonError::into_inner));
                }
            }
        });
    }

    fn worker_may_end(&self) -> bool {
        let mut state = self.state();
        let ends = state.closed && state.items.is_empty();
        if ends {
            state.worker = false;
        }
        ends
    }

    /// Before a run hands over its report, everything captured so far is delivered; what deliveries cause is
    /// drained in rounds, and the rest is counted.
    pub(super) fn flush_at_end(self: &Arc<Self>) {
        let mut rounds = 0;
        while rounds < TERMINAL_ROUNDS && self.batch(None) {
            rounds += 1;
        }
        let mut state = self.state();
        state.closed = true;
        let left = state.items.len();
        if left > 0 {
            state.items.clear();
            state.stranded += left as u64;
            drop(state);
            tracing::warn!(target: "footprint", left, "observers kept causing events at the end of a run");
        } else {
            drop(state);
        }
        self.wake();
    }

    /// Flushes, then waits for open futures until they are settled or the time is over.
    pub(crate) async fn drain(self: &Arc<Self>, timeout: Duration) -> DrainReport {
        while self.batch(None) {}
        let mut timer = std::pin::pin!(crate::walk::sleep(timeout));
        let mut late = false;
        while self.inflight.load(Ordering::Acquire) > 0 && !late {
            let settled = self.settled.notified();
            let mut settled = std::pin::pin!(settled);
            settled.as_mut().enable();
            if self.inflight.load(Ordering::Acquire) == 0 {
                break;
            }
            std::future::poll_fn(|cx| {
                if timer.as_mut().poll(cx).is_ready() {
                    late = true;
                    return std::task::Poll::Ready(());
                }
                settled.as_mut().poll(cx)
            })
            .await;
        }
        let waiting: usize = self.listeners.iter().map(|listener| lane(listener).backlog.len()).sum();
        DrainReport {
            done: self.done.load(Ordering::Acquire),
            failed: self.failed.load(Ordering::Acquire),
            pending: self.inflight.load(Ordering::Acquire) + (waiting + self.state().items.len()) as u64,
        }
    }

    /// The `observerStats` of a snapshot (OBS-135).
    pub(super) fn stats(&self) -> Value {
        let mut listeners = Object::new();
        for listener in &self.listeners {
            let lane = lane(listener);
            let mut row = Object::new();
            row.insert("events", Value::from(lane.events));
            row.insert("totalMs", millis(lane.total));
            row.insert("lastFlushMs", millis(lane.last));
            if lane.lost > 0 {
                row.insert("lost", Value::from(lane.lost));
            }
            listeners.insert(listener.id.clone(), Value::Object(row));
        }
        let state = self.state();
        let mut times: Vec<Duration> = state.flush_times.iter().copied().collect();
        times.sort();
        let p95 = times.get((times.len() * 95 / 100).min(times.len().saturating_sub(1))).copied();
        let mut out = Object::new();
        out.insert("depth", Value::from(state.items.len() as u64));
        out.insert("drops", Value::from(state.drops));
        out.insert("flushes", Value::from(state.flushes));
        out.insert("budgetExhausted", Value::from(state.budget_exhausted));
        out.insert("p95FlushMs", millis(p95.unwrap_or_default()));
        out.insert("inlineDeliveries", Value::from(state.inline_deliveries));
        out.insert("inflight", Value::from(self.inflight.load(Ordering::Acquire)));
        out.insert("perListener", Value::Object(listeners));
        out.insert("terminalStranded", Value::from(state.stranded));
        Value::Object(out)
    }
}

fn lane(listener: &DeferredListener) -> MutexGuard<'_, Lane> {
    listener.lane.lock().unwrap_or_else(PoisonError::into_inner)
}

fn millis(duration: Duration) -> Value {
    Value::from_serialize(&(duration.as_secs_f64() * 1e3)).unwrap_or_default()
}

/// Runs a future beside the run: on the surrounding tokio runtime, or on a thread of its own.
fn spawn(future: impl Future<Output = ()> + Send + 'static) {
    #[cfg(feature = "rt")]
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(future);
        return;
    }
    std::thread::spawn(move || crate::detach::Spawner::block_on(future));
}
