//! The register of live children.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::chart::{Chart, IntoChart};
use crate::detach::driver::DetachTask;
use crate::detach::handle::{Settler, handle};
use crate::detach::{DetachDriver, DetachHandle, DetachStatus};
use crate::error::StructuredError;
use crate::value::{Str, Value};
use crate::walk::RunOptions;

/// Owner part of a reference id for children started outside a stage.
const EXECUTOR: &str = "__executor__";

type SettledFn = Arc<dyn Fn(&Settled) + Send + Sync>;
/// What a starting run does about a child of its own: told with the reference id before the driver gets the child,
/// and at its end before any listener.
pub(crate) struct Told {
    pub(crate) scheduled: Box<dyn FnOnce(&str)>,
    pub(crate) settled: EndFn,
}

pub(crate) type EndFn = Box<dyn FnOnce(&Settled) + Send>;

/// The end of one child, as told to [`Detacher::on_settled`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settled {
    /// Reference id of the child.
    pub id: Str,
    /// [`DetachStatus::Done`] or [`DetachStatus::Failed`].
    pub status: DetachStatus,
    /// Why it failed.
    pub error: Option<StructuredError>,
}

/// How many children a [`Detacher`] started, and how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DetachCounts {
    /// Children started.
    pub scheduled: u64,
    /// Children that ended well.
    pub done: u64,
    /// Children that ended badly.
    pub failed: u64,
}

/// What a [`Detacher::flush`] saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushReport {
    /// Children that ended well since the flush began.
    pub done: u64,
    /// Children that ended badly since the flush began.
    pub failed: u64,
    /// Children still alive when it ended.
    pub pending: u64,
}

/// Knows every detached child that is still alive. Give it to runs with `RunOptions::detacher`, and flush it before the process
/// ends; where a sink is fed by detached children, flush first and drain the sink's own buffer afterwards.
///
/// Clones share the register. Dropping it aborts nothing.
///
/// ```
/// use footprint::detach::Detacher;
///
/// let detacher = Detacher::new();
/// assert_eq!(detacher.in_flight(), 0);
/// ```
#[derive(Clone)]
pub struct Detacher {
    inner: Arc<Inner>,
}

struct Inner {
    /// Numbers reference ids; per detacher, so that two of them never influence each other.
    minted: AtomicU64,
    register: Mutex<Register>,
    /// Children alive. Children of children are counted before their parent settles, so 0 means drained.
    alive: watch::Sender<u64>,
}

#[derive(Default)]
struct Register {
    handles: BTreeMap<u64, DetachHandle>,
    listeners: Vec<SettledFn>,
    done: u64,
    failed: u64,
}

impl Default for Detacher {
    fn default() -> Detacher {
        Detacher::new()
    }
}

impl Detacher {
    /// An empty register.
    pub fn new() -> Detacher {
        let inner =
            Inner { minted: AtomicU64::new(0), register: Mutex::default(), alive: watch::Sender::new(0) };
        Detacher { inner: Arc::new(inner) }
    }

    /// Starts a child outside any stage. Stages use `scope.detach_forget` and `scope.detach_join`.
    pub fn detach(
        &self,
        driver: &Arc<dyn DetachDriver>,
        child: &(impl IntoChart + ?Sized),
        input: Option<Value>,
    ) -> DetachHandle {
        let mut options = RunOptions::new();
        if let Some(input) = input {
            options = options.input(input);
        }
        self.start(driver, child.to_chart(), options, EXECUTOR, None)
    }

    /// Starts a child with prepared run options (input, clock, run ids); its detacher is set here, so that its own children are
    /// flushed with it.
    pub(crate) fn start(
        &self,
        driver: &Arc<dyn DetachDriver>,
        child: Chart,
        options: RunOptions,
        owner: impl fmt::Display,
        told: Option<Told>,
    ) -> DetachHandle {
        let number = self.inner.minted.fetch_add(1, Ordering::Relaxed) + 1;
        let (handle, settler) = handle(Str::from(format!("{owner}:detach:{number}")));
        self.lock().handles.insert(number, handle.clone());
        self.inner.alive.send_modify(|alive| *alive += 1);
        let on_end = told.map(|told| {
            contained(|| (told.scheduled)(handle.id()));
            told.settled
        });
        let ticket = Ticket {
            detacher: self.clone(),
            number,
            handle: handle.clone(),
            settler,
            on_end,
            settled: false,
        };
        let task = DetachTask::new(child, options.detacher(self.clone()), ticket);
        // A driver is open to users; one that panics has dropped its task, which settles the handle (ENG-44).
        contained(|| driver.schedule(task));
        handle
    }

    /// Children so far: started, ended well, ended badly.
    pub fn counts(&self) -> DetachCounts {
        let register = self.lock();
        DetachCounts {
            scheduled: self.inner.minted.load(Ordering::Relaxed),
            done: register.done,
            failed: register.failed,
        }
    }

    /// Number of children still alive.
    pub fn in_flight(&self) -> usize {
        self.lock().handles.len()
    }

    /// Reference ids of the children still alive, oldest first.
    pub fn ids(&self) -> Vec<Str> {
        self.lock().handles.values().map(|handle| Str::from(handle.id())).collect()
    }

    /// Calls `listener` whenever a child ends.
    pub fn on_settled(&self, listener: impl Fn(&Settled) + Send + Sync + 'static) {
        self.lock().listeners.push(Arc::new(listener));
    }

    /// Waits until no child is alive, children of children included, or until the time is up. Needs a tokio runtime with time.
    pub async fn flush(&self, timeout: Duration) -> FlushReport {
        let (done, failed) = {
            let register = self.lock();
            (register.done, register.failed)
        };
        let mut alive = self.inner.alive.subscribe();
        // Both ends of the wait say the same: the report states what is left.
        let _ = tokio::time::timeout(timeout, alive.wait_for(|alive| *alive == 0)).await;
        let register = self.lock();
        FlushReport {
            done: register.done - done,
            failed: register.failed - failed,
            pending: register.handles.len() as u64,
        }
    }

    /// [`Detacher::flush`] with the default limit of 30 seconds.
    pub async fn flush_default(&self) -> FlushReport {
        self.flush(Duration::from_secs(30)).await
    }

    fn lock(&self) -> MutexGuard<'_, Register> {
        self.inner.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Detacher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detacher").field("in_flight", &self.in_flight()).finish_non_exhaustive()
    }
}

/// One child's entry in the register. Whoever holds it owes the child an end; dropping it pays with a failure.
pub(super) struct Ticket {
    detacher: Detacher,
    number: u64,
    handle: DetachHandle,
    settler: Settler,
    on_end: Option<EndFn>,
    settled: bool,
}

impl Ticket {
    pub(super) fn handle(&self) -> &DetachHandle {
        &self.handle
    }

    pub(super) fn running(&self) {
        self.settler.running();
    }

    pub(super) fn settle(mut self, end: Result<Option<Value>, StructuredError>) {
        self.finish(end);
    }

    fn finish(&mut self, end: Result<Option<Value>, StructuredError>) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        let error = end.as_ref().err().cloned();
        self.settler.settle(end);
        let settled = Settled { id: Str::from(self.handle.id()), status: self.handle.status(), error };
        if let Some(on_end) = self.on_end.take() {
            contained(|| on_end(&settled));
        }
        let listeners = {
            let mut register = self.detacher.lock();
            register.handles.remove(&self.number);
            *(if settled.error.is_some() { &mut register.failed } else { &mut register.done }) += 1;
            register.listeners.clone()
        };
        for listener in listeners {
            contained(|| listener(&settled));
        }
        self.detacher.inner.alive.send_modify(|alive| *alive = alive.saturating_sub(1));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.settled {
            self.finish(Err(StructuredError::new("the detached child was dropped before its end")));
        }
    }
}

/// A panicking listener must neither lose a child's end nor stop the other listeners.
fn contained(call: impl FnOnce()) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
}
