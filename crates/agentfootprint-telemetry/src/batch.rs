//! Buffering between a run and a transport: events are put in without waiting, and shipped in batches on another task's time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentfootprint_core::injection::BoxError;
use agentfootprint_core::observe::StrategyLife;
use async_trait::async_trait;

use crate::lock;

/// How many entries may wait while their transport is away; beyond, the oldest are dropped and counted.
const MAX_WAITING: usize = 10_000;

/// One thing to ship.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Unix milliseconds.
    pub(crate) at_ms: u64,
    pub(crate) text: String,
}

/// When a batch is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
    pub(crate) interval: Duration,
    /// What the transport adds to each entry's text.
    pub(crate) overhead: usize,
}

/// Takes batches somewhere. Implemented by each sink's own transport, called by its [`Batcher`], one batch at a time.
#[async_trait]
pub(crate) trait Transport: Send + Sync + 'static {
    async fn ship(&self, batch: Vec<Entry>) -> Result<(), BoxError>;
}

/// The buffer of one sink.
pub(crate) struct Batcher {
    inner: Arc<Inner>,
}

struct Inner {
    name: &'static str,
    life: Arc<StrategyLife>,
    limits: Limits,
    transport: Box<dyn Transport>,
    waiting: Mutex<Waiting>,
    /// Held while batches are shipped, so that they arrive in order.
    shipping: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Waiting {
    entries: VecDeque<Entry>,
    bytes: usize,
    timer: bool,
}

impl Batcher {
    pub(crate) fn new(
        name: &'static str,
        life: Arc<StrategyLife>,
        limits: Limits,
        transport: Box<dyn Transport>,
    ) -> Self {
        let inner = Inner {
            name,
            life,
            limits,
            transport,
            waiting: Mutex::default(),
            shipping: tokio::sync::Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Puts an entry in. Outside a runtime it waits for the next flush.
    pub(crate) fn put(&self, entry: Entry) {
        let inner = &self.inner;
        let (lost, due, arm) = {
            let mut waiting = lock(&inner.waiting);
            waiting.bytes += entry.text.len() + inner.limits.overhead;
            waiting.entries.push_back(entry);
            let lost = waiting.entries.len() > MAX_WAITING;
            if lost && let Some(oldest) = waiting.entries.pop_front() {
                waiting.bytes -= oldest.text.len() + inner.limits.overhead;
            }
            let due = waiting.entries.len() >= inner.limits.entries || waiting.bytes >= inner.limits.bytes;
            (lost, due, !waiting.timer)
        };
        if lost {
            inner.life.fail(inner.name, "too much waits to be shipped; the oldest entry was dropped");
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if due {
            let inner = Arc::clone(inner);
            runtime.spawn(async move { inner.ship_full().await });
        } else if arm {
            lock(&inner.waiting).timer = true;
            let inner = Arc::clone(inner);
            runtime.spawn(async move {
                tokio::time::sleep(inner.limits.interval).await;
                lock(&inner.waiting).timer = false;
                inner.report(inner.ship_all().await);
            });
        }
    }

    /// Ships what waits now.
    pub(crate) async fn flush(&self) -> Result<(), BoxError> {
        let mut errors = self.inner.ship_all().await;
        let last = errors.pop();
        self.inner.report(errors);
        // The last one is the caller's to count.
        last.map_or(Ok(()), Err)
    }
}

impl Inner {
    fn report(&self, errors: Vec<BoxError>) {
        errors.into_iter().for_each(|error| self.life.fail(self.name, error));
    }

    fn is_full(&self) -> bool {
        let waiting = lock(&self.waiting);
        waiting.entries.len() >= self.limits.entries || waiting.bytes >= self.limits.bytes
    }

    async fn ship_full(&self) {
        let _order = self.shipping.lock().await;
        while self.is_full() {
            if let Err(error) = self.transport.ship(self.take()).await {
                self.life.fail(self.name, error);
            }
        }
    }

    /// Ships what waits at the beginning; what comes later is for the next call, so that this ends.
    async fn ship_all(&self) -> Vec<BoxError> {
        let _order = self.shipping.lock().await;
        let mut left = lock(&self.waiting).entries.len();
        let mut errors = Vec::new();
        while left > 0 {
            let batch = self.take();
            left = left.saturating_sub(batch.len().max(1));
            if !batch.is_empty()
                && let Err(error) = self.transport.ship(batch).await
            {
                errors.push(error);
            }
        }
        errors
    }

    /// The next batch within the limits; an entry that alone is over them goes alone.
    fn take(&self) -> Vec<Entry> {
        let mut waiting = lock(&self.waiting);
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(next) = waiting.entries.front() {
            let size = next.text.len() + self.limits.overhead;
            let over = batch.len() >= self.limits.entries || bytes + size > self.limits.bytes;
            if over && !batch.is_empty() {
                break;
            }
            bytes += size;
            batch.extend(waiting.entries.pop_front());
        }
        waiting.bytes -= bytes;
        batch
    }
}
