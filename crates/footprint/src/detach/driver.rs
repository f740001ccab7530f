//! When and where a detached child runs.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use crate::chart::Chart;
use crate::detach::DetachHandle;
use crate::detach::detacher::Ticket;
use crate::error::StructuredError;
use crate::report::Outcome;
use crate::walk::RunOptions;

/// A future a [`Spawner`] is asked to drive to its end.
pub type DetachFuture = Pin<Box<dyn Future<Output = ()> + Send + 'static>>;

/// Decides when and how a child chart runs. The trait is open: implement it for a job queue or a thread pool.
///
/// `schedule` returns at once and never fails outward. Whatever keeps a child from running settles its handle as failed: with
/// [`DetachTask::fail`], or by dropping the task.
pub trait DetachDriver: Send + Sync + 'static {
    /// A short name for logs.
    fn name(&self) -> &str;

    /// Takes over a child.
    fn schedule(&self, task: DetachTask);
}

/// One child on its way to run.
pub struct DetachTask {
    child: Chart,
    options: RunOptions,
    ticket: Ticket,
}

impl DetachTask {
    pub(super) fn new(child: Chart, options: RunOptions, ticket: Ticket) -> DetachTask {
        DetachTask { child, options, ticket }
    }

    /// The child's handle.
    pub fn handle(&self) -> &DetachHandle {
        self.ticket.handle()
    }

    /// Marks the child as started before [`DetachTask::run`] does.
    pub fn mark_running(&self) {
        self.ticket.running();
    }

    /// Runs the child and settles its handle. A child that pauses has failed: nobody could answer it.
    pub async fn run(self) {
        let DetachTask { child, options, ticket } = self;
        ticket.running();
        let report = child.run(options).await;
        let end = match report.outcome() {
            Outcome::Completed(value) => Ok(value.clone()),
            Outcome::Paused(_) => {
                Err(StructuredError::new("the detached child paused, and nobody can answer it"))
            }
            Outcome::Failed(error) => Err(error.structured()),
        };
        // The report goes before the end is told, so that a waiter finds the child's run gone.
        drop(report);
        ticket.settle(end);
    }

    /// Settles the handle as failed without running the child.
    pub fn fail(self, reason: impl Into<String>) {
        self.ticket.settle(Err(StructuredError::new(reason)));
    }
}

impl fmt::Debug for DetachTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DetachTask")
            .field("handle", self.handle())
            .field("child", &self.child)
            .finish_non_exhaustive()
    }
}

/// What runs futures for the drivers that need a runtime task. The engine itself needs none.
///
/// ```
/// use footprint::detach::Spawner;
///
/// let own_runtime = Spawner::new(|future| {
///     std::thread::spawn(move || footprint::detach::Spawner::block_on(future));
/// });
/// # let _ = own_runtime;
/// ```
#[derive(Clone)]
pub struct Spawner(Arc<dyn Fn(DetachFuture) -> Result<(), String> + Send + Sync>);

impl Spawner {
    /// Spawns with a function of your runtime.
    pub fn new(spawn: impl Fn(DetachFuture) + Send + Sync + 'static) -> Spawner {
        Spawner(Arc::new(move |future| {
            spawn(future);
            Ok(())
        }))
    }

    /// Spawns on the tokio runtime of the thread that schedules.
    #[cfg(feature = "rt")]
    pub fn tokio() -> Spawner {
        Spawner(Arc::new(|future| match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn(future);
                Ok(())
            }
            Err(_) => Err("no tokio runtime is running on this thread".to_owned()),
        }))
    }

    /// Drives one future on the calling thread, parking it while there is nothing to do.
    pub fn block_on<F: Future>(future: F) -> F::Output {
        struct Unpark(Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut future = std::pin::pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => std::thread::park(),
            }
        }
    }

    /// A refused future is dropped, and its child's handle settles as failed.
    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        if let Err(problem) = (self.0)(Box::pin(future)) {
            tracing::warn!(target: "footprint", %problem, "a detached child could not be scheduled");
        }
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spawner")
    }
}

/// Runs each child as a task of its own (`spawn`; reference: `set-immediate`).
#[derive(Clone, Debug)]
pub struct SpawnDriver(pub Spawner);

impl DetachDriver for SpawnDriver {
    fn name(&self) -> &str {
        "spawn"
    }

    fn schedule(&self, task: DetachTask) {
        self.0.spawn(task.run());
    }
}

/// Marks each child as running at once and runs it at the next yield; for tests.
#[derive(Clone, Debug)]
pub struct ImmediateDriver(pub Spawner);

impl DetachDriver for ImmediateDriver {
    fn name(&self) -> &str {
        "immediate"
    }

    fn schedule(&self, task: DetachTask) {
        task.mark_running();
        self.0.spawn(task.run());
    }
}

/// Runs each child after a wait (reference: `set-timeout`). Needs a tokio runtime with time.
#[derive(Clone, Debug)]
pub struct DelayedDriver {
    spawner: Spawner,
    delay: Duration,
}

impl DelayedDriver {
    /// Children start `delay` after they were scheduled.
    pub fn new(spawner: Spawner, delay: Duration) -> DelayedDriver {
        DelayedDriver { spawner, delay }
    }
}

impl DetachDriver for DelayedDriver {
    fn name(&self) -> &str {
        "delayed"
    }

    fn schedule(&self, task: DetachTask) {
        let delay = self.delay;
        self.spawner.spawn(async move {
            tokio::time::sleep(delay).await;
            task.run().await;
        });
    }
}

/// Runs children one after another in a single task (reference: `microtask-batch`). A slow child delays the ones behind it.
#[derive(Clone, Debug)]
pub struct BatchDriver {
    spawner: Spawner,
    queue: Arc<Mutex<BatchQueue>>,
}

#[derive(Debug, Default)]
struct BatchQueue {
    waiting: VecDeque<DetachTask>,
    draining: bool,
}

/// Takes children off the queue until none is left. A drain that never started, or was dropped half-way, must not leave children
/// waiting for it: their tasks are dropped with it and so settle as failed.
struct Drain {
    queue: Arc<Mutex<BatchQueue>>,
    ended: bool,
}

impl Drain {
    fn next(&mut self) -> Option<DetachTask> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let task = queue.waiting.pop_front();
        queue.draining = task.is_some();
        self.ended = task.is_none();
        task
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let left = {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.draining = false;
            std::mem::take(&mut queue.waiting)
        };
        drop(left);
    }
}

impl BatchDriver {
    /// Children share one task at a time.
    pub fn new(spawner: Spawner) -> BatchDriver {
        BatchDriver { spawner, queue: Arc::default() }
    }
}

impl DetachDriver for BatchDriver {
    fn name(&self) -> &str {
        "batch"
    }

    fn schedule(&self, task: DetachTask) {
        let start = {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.waiting.push_back(task);
            !std::mem::replace(&mut queue.draining, true)
        };
        if start {
            let mut drain = Drain { queue: self.queue.clone(), ended: false };
            self.spawner.spawn(async move {
                while let Some(task) = drain.next() {
                    task.run().await;
                }
            });
        }
    }
}

/// Runs each child on a thread of its own (reference: `worker-thread`). With tokio's runtime context on the scheduling thread (feature
/// `rt`) the child may use its timers.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockingDriver;

impl DetachDriver for BlockingDriver {
    fn name(&self) -> &str {
        "blocking"
    }

    fn schedule(&self, task: DetachTask) {
        #[cfg(feature = "rt")]
        let runtime = tokio::runtime::Handle::try_current().ok();
        let started = std::thread::Builder::new().name("footprint-detached".to_owned()).spawn(move || {
            #[cfg(feature = "rt")]
            let _entered = runtime.as_ref().map(tokio::runtime::Handle::enter);
            Spawner::block_on(task.run());
        });
        if let Err(problem) = started {
            // The closure, and with it the task, is gone: its handle has settled as failed.
            tracing::warn!(target: "footprint", %problem, "no thread for a detached child");
        }
    }
}
