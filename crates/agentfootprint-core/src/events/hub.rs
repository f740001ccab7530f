//! The hub: who listens to what, and the one way an event reaches them.

use std::fmt;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use agentfootprint_record::events::{
    AgentEvent, CustomEvent, Event, EventMeta, EventName, Pattern, ReservedEventNameError,
    UnknownEventPattern,
};
use tokio_util::sync::CancellationToken;

use super::pattern::IntoPattern;
use super::stream::{EventStream, StreamBuffer};
use super::table::{Entry, Interest, Table};
use crate::run::lock;

/// A listener. It is called inside the run: it must be quick, and it is never awaited.
pub type Listener = Arc<dyn Fn(&Arc<Event>) + Send + Sync>;

/// Where events are subscribed to.
///
/// ```
/// use agentfootprint_core::events::EventHub;
///
/// let hub = EventHub::new();
/// let guard = hub.on("agentfootprint.tools.*", |event| println!("{}", event.name_str()))?;
/// assert_eq!(hub.listener_count(None), 1);
/// drop(guard); // unsubscribes
/// assert_eq!(hub.listener_count(None), 0);
/// assert!(hub.on("agentfootprint.tolls.*", |_| {}).is_err());
/// # Ok::<(), agentfootprint_record::events::UnknownEventPattern>(())
/// ```
#[derive(Clone, Default)]
pub struct EventHub(Arc<Inner>);

#[derive(Default)]
struct Inner {
    table: Mutex<Arc<Table>>,
    interest: Interest,
    /// Registration order, shared with the hubs of the runs.
    order: Arc<AtomicU64>,
    streams: Mutex<Vec<Weak<StreamBuffer>>>,
    closed: AtomicBool,
}

impl EventHub {
    /// A hub nobody listens to.
    pub fn new() -> Self {
        Self::default()
    }

    /// The hub of one run of the runner this hub belongs to: it shares the order of registration.
    pub(crate) fn for_run(&self) -> Self {
        Self(Arc::new(Inner { order: Arc::clone(&self.0.order), ..Inner::default() }))
    }

    /// Listens until the guard is dropped.
    ///
    /// # Errors
    /// [`UnknownEventPattern`] when the pattern names nothing: it would hear nothing.
    pub fn on(
        &self,
        pattern: impl IntoPattern,
        listener: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Result<Subscription, UnknownEventPattern> {
        Ok(self.subscribe(pattern.into_pattern()?, shared(listener), None, false))
    }

    /// Listens to one event. The subscription is gone before the listener is called.
    ///
    /// # Errors
    /// [`UnknownEventPattern`] when the pattern names nothing.
    pub fn once(
        &self,
        pattern: impl IntoPattern,
        listener: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Result<Subscription, UnknownEventPattern> {
        Ok(self.subscribe(pattern.into_pattern()?, shared(listener), None, true))
    }

    /// Listens until the token is cancelled; a token that is already cancelled registers nothing.
    ///
    /// # Errors
    /// [`UnknownEventPattern`] when the pattern names nothing.
    pub fn on_until(
        &self,
        token: CancellationToken,
        pattern: impl IntoPattern,
        listener: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Result<(), UnknownEventPattern> {
        let pattern = pattern.into_pattern()?;
        if !token.is_cancelled() {
            self.subscribe(pattern, shared(listener), Some(token), false).keep();
        }
        Ok(())
    }

    /// Listens with a handler of shared events: what keeps events takes this door, no event is copied.
    pub fn on_shared(&self, pattern: Pattern, listener: Listener) -> Subscription {
        self.subscribe(pattern, listener, None, false)
    }

    /// An async stream of events. It holds at most `capacity` of them; when its reader falls behind, the oldest are
    /// dropped and a [`StreamItem::Gap`](super::StreamItem::Gap) says how many. It never slows the run.
    ///
    /// # Errors
    /// [`UnknownEventPattern`] when the pattern names nothing.
    pub fn stream(
        &self,
        pattern: impl IntoPattern,
        capacity: NonZeroUsize,
    ) -> Result<EventStream, UnknownEventPattern> {
        let pattern = pattern.into_pattern()?;
        let buffer = Arc::new(StreamBuffer::new(capacity));
        if self.0.closed.load(Ordering::Acquire) {
            buffer.close();
        }
        lock(&self.0.streams).push(Arc::downgrade(&buffer));
        let inlet = Arc::clone(&buffer);
        let guard = self.subscribe(pattern, Arc::new(move |event| inlet.push(event)), None, false);
        Ok(EventStream::new(buffer, guard))
    }

    /// How many listen to exactly this pattern; without one, to anything.
    pub fn listener_count(&self, pattern: Option<&Pattern>) -> usize {
        lock(&self.0.table).count(pattern)
    }

    /// Removes every listener. Recorders are not listeners and stay.
    pub fn remove_all_listeners(&self) {
        self.replace(|table| *table = Table::default());
    }

    /// Publishes a consumer's event outside any run. With nobody listening it is dropped.
    ///
    /// # Errors
    /// [`ReservedEventNameError`] when the name is the library's.
    pub fn emit(&self, event: CustomEvent, wall_clock_ms: u64) -> Result<(), ReservedEventNameError> {
        let event = AgentEvent::custom(event)?;
        dispatch(&[self], Event { kind: event, meta: EventMeta::consumer(wall_clock_ms) });
        Ok(())
    }

    /// Publishes an event of the library's own that belongs to no run.
    pub(crate) fn publish(&self, event: Event) {
        dispatch(&[self], event);
    }

    fn subscribe(
        &self,
        pattern: Pattern,
        listener: Listener,
        cancel: Option<CancellationToken>,
        once: bool,
    ) -> Subscription {
        let order = self.0.order.fetch_add(1, Ordering::Relaxed);
        let once = once.then(|| Arc::new(AtomicBool::new(false)));
        let entry = Entry { order, listener, cancel, once };
        self.replace(|table| table.add(&pattern, entry));
        Subscription { hub: Arc::downgrade(&self.0), pattern, order, active: true }
    }

    fn replace(&self, change: impl FnOnce(&mut Table)) {
        let mut table = lock(&self.0.table);
        let mut next = (**table).clone();
        change(&mut next);
        self.0.interest.update(&next);
        *table = Arc::new(next);
    }

    fn snapshot(&self) -> Arc<Table> {
        Arc::clone(&lock(&self.0.table))
    }

    /// Whether anybody listens to events of this name.
    pub(super) fn interested(&self, name: EventName) -> bool {
        self.0.interest.has(name)
    }

    /// The run this hub belongs to has settled: its streams end.
    pub(crate) fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
        for stream in lock(&self.0.streams).drain(..).filter_map(|stream| stream.upgrade()) {
            stream.close();
        }
    }
}

impl fmt::Debug for EventHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventHub").field("listeners", &self.listener_count(None)).finish()
    }
}

fn shared(listener: impl Fn(&Event) + Send + Sync + 'static) -> Listener {
    Arc::new(move |event: &Arc<Event>| listener(event))
}

/// Dispatches one event over hubs that share an order: exact listeners, then the domain's, then `*`; inside each bucket by
/// registration order (EVT-11).
pub(super) fn dispatch(hubs: &[&EventHub], event: Event) {
    let tables: Vec<Arc<Table>> = hubs.iter().map(|hub| hub.snapshot()).collect();
    let event = Arc::new(event);
    for bucket in 0..3 {
        let lists: Vec<&[Entry]> = tables
            .iter()
            .filter_map(|table| table.buckets(&event.kind).get(bucket).copied())
            .filter(|list| !list.is_empty())
            .collect();
        match lists.as_slice() {
            [] => {}
            [one] => one.iter().for_each(|entry| deliver(hubs, entry, &event)),
            several => {
                let mut merged: Vec<&Entry> = several.iter().flat_map(|list| list.iter()).collect();
                merged.sort_by_key(|entry| entry.order);
                merged.into_iter().for_each(|entry| deliver(hubs, entry, &event));
            }
        }
    }
}

fn deliver(hubs: &[&EventHub], entry: &Entry, event: &Arc<Event>) {
    if !entry.claim() {
        return;
    }
    if entry.once.is_some() {
        forget(hubs, entry.order, event);
    }
    if catch_unwind(AssertUnwindSafe(|| (entry.listener)(event))).is_err() {
        tracing::error!(
            target: "agentfootprint",
            event = event.name_str(),
            "an event listener panicked; the run and the other listeners go on"
        );
    }
}

/// Removes a spent one-shot before its listener is called (EVT-12).
fn forget(hubs: &[&EventHub], order: u64, event: &Arc<Event>) {
    let mut patterns = vec![Pattern::All];
    match event.name() {
        Some(name) => patterns.extend([Pattern::Event(name), Pattern::Domain(name.domain())]),
        None => patterns.extend(Pattern::custom(event.name_str()).ok()),
    }
    for hub in hubs {
        hub.replace(|table| patterns.iter().for_each(|pattern| table.remove(pattern, order)));
    }
}

/// A subscription; dropping it unsubscribes.
#[must_use = "dropping a subscription unsubscribes at once"]
pub struct Subscription {
    hub: Weak<Inner>,
    pattern: Pattern,
    order: u64,
    active: bool,
}

impl Subscription {
    /// Unsubscribes now. A dispatch that is under way may still call the listener once.
    pub fn off(self) {
        drop(self);
    }

    /// Keeps the subscription for as long as the hub lives.
    pub fn keep(mut self) {
        self.active = false;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if self.active
            && let Some(hub) = self.hub.upgrade()
        {
            EventHub(hub).replace(|table| table.remove(&self.pattern, self.order));
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("pattern", &self.pattern.to_string()).finish_non_exhaustive()
    }
}
