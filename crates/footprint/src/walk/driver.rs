//! The scheduler of one run: which strand walks next.
//!
//! Strands that can go on are walked in order, children before their elder's siblings, so a child that
//! never awaits runs to its end on its first poll and indices rise in declaration order (ENG-106). A strand
//! that waits is found again through its own waker. Everything except author futures is synchronous, and
//! nothing here recurses over the chart.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::fanout::FanOut;
use super::shared::{RunShared, lock};
use super::strand::{End, Now, Strand, StrandId};
use super::timer::Timer;
use super::visits::Visits;
use crate::chart::{Chart, SiteIds};
use crate::error::RunError;
use crate::value::Str;

/// Node visits between two yields of a run that has no fan-out open.
const VISITS_PER_YIELD: u32 = 64;

/// What one step of a strand led to.
pub(super) enum Flow {
    /// The strand goes on.
    More,
    /// The strand waits for something that will wake it.
    Blocked,
    /// The strand lets others run.
    Yield,
    /// The strand is over.
    Over(End),
}

/// A slab: ids stay valid while the entry lives, slots are used again.
pub(super) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slab<T> {
    fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(super) fn insert(&mut self, make: impl FnOnce(usize) -> T) -> usize {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.put_back(id, make(id));
        id
    }

    /// Takes the entry out and keeps its place.
    pub(super) fn take(&mut self, id: usize) -> Option<T> {
        self.slots.get_mut(id).and_then(Option::take)
    }

    pub(super) fn put_back(&mut self, id: usize, value: T) {
        if let Some(slot) = self.slots.get_mut(id) {
            *slot = Some(value);
        }
    }

    /// Gives the place of a taken entry up.
    pub(super) fn release(&mut self, id: usize) {
        self.free.push(id);
    }

    pub(super) fn get_mut(&mut self, id: usize) -> Option<&mut T> {
        self.slots.get_mut(id).and_then(Option::as_mut)
    }

    fn ids(&self) -> impl Iterator<Item = usize> + use<T> {
        let live: Vec<usize> =
            self.slots.iter().enumerate().filter(|(_, slot)| slot.is_some()).map(|(id, _)| id).collect();
        live.into_iter()
    }
}

/// The limits of one call.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) max_depth: usize,
    pub(super) max_iterations: u64,
}

pub(super) type Throttle = Arc<dyn Fn(&crate::error::StageError) -> bool + Send + Sync>;

/// One run being walked.
pub(crate) struct Driver {
    pub(super) shared: Arc<RunShared>,
    pub(super) strands: Slab<Box<Strand>>,
    pub(super) fans: Slab<FanOut>,
    pub(super) ready: VecDeque<StrandId>,
    pub(super) visits: Visits,
    pub(super) next_index: u64,
    pub(super) limits: Limits,
    /// Dynamic chain hops so far.
    pub(super) hops: u64,
    pub(super) open_fans: usize,
    pub(super) since_yield: u32,
    /// Why the whole run ends, once it does.
    pub(super) aborted: Option<RunError>,
    /// Every strand was told.
    abort_spread: bool,
    /// Charts of lazy mounts, resolved once per site.
    pub(super) resolved: HashMap<Str, (Chart, Arc<SiteIds>)>,
    pub(super) throttle: Option<Throttle>,
    woken: Arc<WakeQueue>,
    token: Option<CancellationToken>,
    token_wait: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    timeout: Option<(Duration, Timer)>,
}

impl Driver {
    /// Closes the streams of stages that are given up with the run (ENG-135).
    pub(super) fn abort_streams(&mut self) {
        for id in self.strands.ids() {
            if let Some(strand) = self.strands.get_mut(id)
                && let Now::Attempt(running) | Now::Running(running) | Now::Backoff(running, _) = &strand.now
            {
                running.frame.close_stream(false);
            }
        }
    }
}

/// The root strand is the first one.
const ROOT: StrandId = 0;

impl Driver {
    pub(super) fn new(
        shared: Arc<RunShared>,
        limits: Limits,
        visits: Visits,
        next_index: u64,
        token: Option<CancellationToken>,
        throttle: Option<Throttle>,
    ) -> Self {
        Self {
            shared,
            strands: Slab::new(),
            fans: Slab::new(),
            ready: VecDeque::new(),
            visits,
            next_index,
            limits,
            hops: 0,
            open_fans: 0,
            since_yield: 0,
            aborted: None,
            abort_spread: false,
            resolved: HashMap::new(),
            throttle,
            woken: Arc::default(),
            token,
            token_wait: None,
            timeout: None,
        }
    }

    /// Starts the first strand and the clock.
    pub(super) fn start(&mut self, strand: Strand, timeout: Option<Duration>) {
        let id = self.strands.insert(|_| Box::new(strand));
        self.ready.push_back(id);
        self.timeout = timeout.map(|budget| (budget, Timer::after(budget)));
    }

    /// Walks until the run ends or everything waits.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.collect_woken();
        self.look_for_abort(cx);
        loop {
            while let Some(id) = self.ready.pop_front() {
                let Some(mut strand) = self.strands.take(id) else { continue };
                match self.advance(&mut strand, cx) {
                    Flow::More | Flow::Blocked => self.strands.put_back(id, strand),
                    Flow::Yield => {
                        self.strands.put_back(id, strand);
                        self.ready.push_front(id);
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    Flow::Over(end) => {
                        self.strands.release(id);
                        match strand.child_of {
                            None => return Poll::Ready(end),
                            Some((fan, place)) => self.child_ended(fan, place, strand.first.as_ref(), end),
                        }
                    }
                }
            }
            self.wait_for_abort(cx);
            if self.ready.is_empty() {
                return Poll::Pending;
            }
        }
    }

    fn advance(&mut self, strand: &mut Strand, cx: &mut Context<'_>) -> Flow {
        loop {
            match self.step(strand, cx) {
                Flow::More => {}
                other => return other,
            }
        }
    }

    /// One step of a strand.
    fn step(&mut self, strand: &mut Strand, cx: &mut Context<'_>) -> Flow {
        match std::mem::replace(&mut strand.now, Now::Finished) {
            Now::Visit(node) => {
                if self.since_yield >= VISITS_PER_YIELD {
                    self.since_yield = 0;
                    if self.open_fans == 0 {
                        strand.now = Now::Visit(node);
                        return Flow::Yield;
                    }
                    self.look_for_abort(cx);
                }
                self.visit(strand, node);
                Flow::More
            }
            Now::Attempt(running) => {
                self.attempt(strand, running);
                Flow::More
            }
            Now::Running(running) => self.poll_stage(strand, running, cx),
            Now::Backoff(running, mut timer) => {
                let waker = self.waker(strand, cx);
                match timer.poll(&mut Context::from_waker(&waker)) {
                    Poll::Ready(()) => {
                        strand.now = Now::Attempt(running);
                        Flow::More
                    }
                    Poll::Pending => {
                        strand.now = Now::Backoff(running, timer);
                        Flow::Blocked
                    }
                }
            }
            Now::Generated(branch) => {
                self.enter_generated(strand, *branch);
                Flow::More
            }
            Now::Resume(reentry) => {
                self.reenter(strand, *reentry);
                Flow::More
            }
            Now::Waiting(fan) => {
                if self.join(strand, fan) {
                    Flow::More
                } else {
                    Flow::Blocked
                }
            }
            Now::Ended(end) => match strand.stack.pop() {
                Some(activation) => {
                    self.return_to(strand, activation, end);
                    Flow::More
                }
                None => Flow::Over(end),
            },
            Now::Finished => Flow::Blocked,
        }
    }

    /// The waker a strand's futures get. The first strand is looked at on every poll of the run, so it
    /// needs none of its own.
    pub(super) fn waker(&self, strand: &mut Strand, cx: &Context<'_>) -> Waker {
        if strand.is_root() {
            return cx.waker().clone();
        }
        let id = strand.id;
        strand
            .waker
            .get_or_insert_with(|| {
                Waker::from(Arc::new(StrandWaker {
                    id,
                    queued: AtomicBool::new(false),
                    queue: Arc::clone(&self.woken),
                }))
            })
            .clone()
    }

    fn collect_woken(&mut self) {
        if let Some(strand) = self.strands.get_mut(ROOT)
            && strand.child_of.is_none()
            && matches!(strand.now, Now::Running(_) | Now::Backoff(..))
            && !self.ready.contains(&ROOT)
        {
            self.ready.push_back(ROOT);
        }
        self.collect_late();
    }

    /// Ends the run when somebody asked for it or its time is over.
    pub(super) fn look_for_abort(&mut self, cx: &mut Context<'_>) {
        if self.aborted.is_none() {
            if let Some(error) = self.stop_asked() {
                self.aborted = Some(error);
            } else if let Some((budget, timer)) = &mut self.timeout
                && timer.poll(cx).is_ready()
            {
                self.aborted = Some(RunError::TimedOut { after: *budget });
            }
        }
        if let Some(error) = self.aborted.clone()
            && !std::mem::replace(&mut self.abort_spread, true)
        {
            // Every strand ends: running stages are dropped and commit what they staged.
            for id in self.strands.ids() {
                self.end_strand(id, &error);
            }
        }
    }

    /// The error of a cancellation that was asked for.
    pub(super) fn stop_asked(&self) -> Option<RunError> {
        if self.shared.stop.is_asked() {
            return Some(self.shared.stop.error());
        }
        let token = self.token.as_ref()?;
        token.is_cancelled().then(|| {
            self.shared.stop.cancel("the run's cancellation token was cancelled");
            self.shared.stop.error()
        })
    }

    /// Registers for everything that may end a waiting run.
    fn wait_for_abort(&mut self, cx: &mut Context<'_>) {
        self.woken.register(cx.waker());
        self.shared.stop.register(cx.waker());
        if self.aborted.is_none()
            && let Some(token) = &self.token
        {
            let wait = self.token_wait.get_or_insert_with(|| Box::pin(token.clone().cancelled_owned()));
            let _ = wait.as_mut().poll(cx);
        }
        self.look_for_abort(cx);
        // Wakes that came before the registration above.
        self.collect_late();
    }

    fn collect_late(&mut self) {
        for waker in self.woken.take() {
            waker.queued.store(false, Ordering::Release);
            self.ready.push_back(waker.id);
        }
    }

    /// Ends one strand where it stands. One that waits for children ends after they did.
    pub(super) fn end_strand(&mut self, id: StrandId, error: &RunError) {
        let Some(mut strand) = self.strands.take(id) else { return };
        match std::mem::replace(&mut strand.now, Now::Finished) {
            Now::Attempt(running) | Now::Running(running) | Now::Backoff(running, _) => {
                self.fail_running(&mut strand, running, error.clone());
                self.ready.push_back(id);
            }
            // The visit a run stands before is made, and fails: it checks cancellation itself.
            Now::Visit(node) if strand.is_root() => strand.now = Now::Visit(node),
            Now::Visit(_) | Now::Generated(_) | Now::Resume(_) => {
                strand.now = Now::Ended(End::Failed(error.clone()));
            }
            waiting => strand.now = waiting,
        }
        self.strands.put_back(id, strand);
    }
}

/// Strands that were woken since the last poll.
#[derive(Default)]
struct WakeQueue {
    inner: Mutex<WakeInner>,
}

#[derive(Default)]
struct WakeInner {
    woken: Vec<Arc<StrandWaker>>,
    run: Option<Waker>,
}

impl WakeQueue {
    fn take(&self) -> Vec<Arc<StrandWaker>> {
        std::mem::take(&mut lock(&self.inner).woken)
    }

    fn register(&self, waker: &Waker) {
        let mut inner = lock(&self.inner);
        match &inner.run {
            Some(known) if known.will_wake(waker) => {}
            _ => inner.run = Some(waker.clone()),
        }
    }
}

struct StrandWaker {
    id: StrandId,
    queued: AtomicBool,
    queue: Arc<WakeQueue>,
}

impl Wake for StrandWaker {
    fn wake(self: Arc<Self>) {
        if self.queued.swap(true, Ordering::AcqRel) {
            return;
        }
        let run = {
            let mut inner = lock(&self.queue.inner);
            inner.woken.push(Arc::clone(&self));
            inner.run.clone()
        };
        if let Some(run) = run {
            run.wake();
        }
    }
}
