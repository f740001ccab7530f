//! The way of an event from a run to one strategy: what is let through, on whose time, and how it is emptied (REC-65 … REC-68).

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use agentfootprint_record::events::{Domain, Event, EventName, Pattern};
use futures_util::FutureExt as _;

use super::options::{Delivery, EnableOptions, FlushOn, Join, Tier};
use super::strategy::Strategy;
use crate::injection::BoxError;
use crate::run::lock;

/// How often one flush looks for what arrived while it shipped.
const FLUSH_PASSES: usize = 8;

type Take = Box<dyn Fn(&Arc<Event>) + Send + Sync>;

/// Between the runs of one runner and one strategy.
pub(super) struct Channel {
    strategy: Arc<dyn Strategy>,
    take: Take,
    patterns: Vec<Pattern>,
    options: EnableOptions,
    queue: Mutex<VecDeque<Arc<Event>>>,
    /// Held while the queue is emptied, so that events keep their order.
    emptying: Mutex<()>,
    draining: AtomicBool,
    taken: AtomicU64,
    dropped: AtomicU64,
    closed: AtomicBool,
    flushing: AtomicBool,
}

impl Channel {
    pub(super) fn new(strategy: Arc<dyn Strategy>, options: EnableOptions, take: Take) -> Self {
        let patterns = strategy.relevant_event_types();
        Self {
            strategy,
            take,
            patterns,
            options,
            queue: Mutex::default(),
            emptying: Mutex::default(),
            draining: AtomicBool::new(false),
            taken: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            flushing: AtomicBool::new(false),
        }
    }

    /// What it has to listen to: as little as it can, so that events nobody wants are never built.
    pub(super) fn subscriptions(&self) -> Vec<Pattern> {
        let mut out: Vec<Pattern> = Vec::new();
        if self.patterns.contains(&Pattern::All) {
            match self.options.tier {
                Tier::Minimal => out.extend([Domain::Error, Domain::Agent].map(Pattern::Domain)),
                Tier::Standard | Tier::Firehose => out.push(Pattern::All),
            }
        } else {
            for pattern in &self.patterns {
                let covered = match pattern {
                    Pattern::Event(name) => self.patterns.contains(&Pattern::Domain(name.domain())),
                    _ => false,
                };
                if !covered && !out.contains(pattern) {
                    out.push(pattern.clone());
                }
            }
        }
        // A flush at the end of a run needs to hear that end.
        if self.options.flush_on == FlushOn::RunEnd {
            for end in ENDS {
                if !out.iter().any(|known| known.matches_name(end)) {
                    out.push(Pattern::Event(end));
                }
            }
        }
        out
    }

    /// One event was said.
    pub(super) fn hear(self: &Arc<Self>, event: &Arc<Event>) {
        let open = !self.closed.load(Ordering::Acquire);
        if !open || !self.options.sample_rate.takes(event.meta.run_id.as_str()) {
            return;
        }
        if self.options.tier.admits(event) && self.patterns.iter().any(|pattern| pattern.matches(&event.kind))
        {
            match &self.options.delivery {
                Delivery::Inline => self.tell(event),
                Delivery::Detached { capacity, join } => self.hand_off(event, capacity.get(), join),
            }
        }
        if self.options.flush_on == FlushOn::RunEnd && event.name().is_some_and(|name| ENDS.contains(&name)) {
            self.flush_soon();
        }
    }

    fn tell(&self, event: &Arc<Event>) {
        self.taken.fetch_add(1, Ordering::Relaxed);
        if catch_unwind(AssertUnwindSafe(|| (self.take)(event))).is_err() {
            let what = format!("it panicked over the event `{}`", event.name_str());
            self.strategy.life().fail(self.strategy.name(), what);
        }
    }

    fn hand_off(self: &Arc<Self>, event: &Arc<Event>, capacity: usize, join: &Join) {
        {
            let mut queue = lock(&self.queue);
            if queue.len() >= capacity {
                queue.pop_front();
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
            queue.push_back(Arc::clone(event));
        }
        // Outside a runtime what waits is delivered by the next flush.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.draining.swap(true, Ordering::AcqRel) {
            return;
        }
        let channel = Arc::clone(self);
        let task = runtime.spawn(async move {
            loop {
                channel.empty_queue();
                channel.draining.store(false, Ordering::Release);
                // Something may have come between the last look and the line above, and found a task at work.
                if lock(&channel.queue).is_empty() || channel.draining.swap(true, Ordering::AcqRel) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        });
        if let Join::JoinLater(receiver) = join
            && catch_unwind(AssertUnwindSafe(|| receiver(task))).is_err()
        {
            self.strategy.life().fail(self.strategy.name(), "the receiver of its tasks panicked");
        }
    }

    /// Delivers what waits now; what arrives meanwhile is for the next pass, so that this ends.
    fn empty_queue(&self) {
        let _order = lock(&self.emptying);
        let waiting = lock(&self.queue).len();
        for _ in 0..waiting {
            let Some(event) = lock(&self.queue).pop_front() else { return };
            self.tell(&event);
        }
    }

    fn flush_soon(self: &Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.flushing.swap(true, Ordering::AcqRel) {
            return;
        }
        let channel = Arc::clone(self);
        runtime.spawn(async move {
            // Whatever ends from here on asks for a flush of its own.
            channel.flushing.store(false, Ordering::Release);
            let _ = flush(std::slice::from_ref(&channel)).await;
        });
    }

    /// Tells the strategy nothing more from now on.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn strategy(&self) -> &Arc<dyn Strategy> {
        &self.strategy
    }

    fn seen(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    fn waits(&self) -> bool {
        !lock(&self.queue).is_empty()
    }
}

/// What ends a run, a turn or a composition.
const ENDS: [EventName; 4] =
    [EventName::AgentTurnEnd, EventName::CompositionExit, EventName::ErrorFatal, EventName::PauseRequest];

/// Empties the queues of channels to one strategy, then flushes the strategy; again while events arrive, at most
/// [`FLUSH_PASSES`] times.
pub(super) async fn flush(channels: &[Arc<Channel>]) -> Result<(), BoxError> {
    let Some(first) = channels.first() else { return Ok(()) };
    let strategy = Arc::clone(first.strategy());
    for _ in 0..FLUSH_PASSES {
        channels.iter().for_each(|channel| channel.empty_queue());
        let before: Vec<u64> = channels.iter().map(|channel| channel.seen()).collect();
        let shipped = match AssertUnwindSafe(strategy.flush()).catch_unwind().await {
            Ok(shipped) => shipped,
            Err(_) => Err("it panicked while it was flushed".into()),
        };
        if let Err(error) = shipped {
            strategy.life().fail(strategy.name(), &error);
            return Err(error);
        }
        let quiet =
            channels.iter().zip(before).all(|(channel, before)| channel.seen() == before && !channel.waits());
        if quiet {
            break;
        }
    }
    Ok(())
}
