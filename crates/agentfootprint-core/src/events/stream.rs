//! Events as an async stream: bounded, dropping the oldest, never slowing the run (EVT-15).

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use agentfootprint_record::events::Event;
use futures_core::Stream;

use super::hub::Subscription;
use crate::run::lock;

/// What a stream yields.
#[derive(Clone, Debug)]
pub enum StreamItem {
    /// An event.
    Event(Arc<Event>),
    /// The reader was too slow: this many events were dropped here.
    Gap(u64),
}

/// The queue between the run and a reader.
pub(super) struct StreamBuffer {
    capacity: NonZeroUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Arc<Event>>,
    dropped: u64,
    closed: bool,
    waker: Option<Waker>,
}

impl StreamBuffer {
    pub(super) fn new(capacity: NonZeroUsize) -> Self {
        Self { capacity, state: Mutex::default() }
    }

    pub(super) fn push(&self, event: &Arc<Event>) {
        let mut state = lock(&self.state);
        if state.closed {
            return;
        }
        if state.queue.len() >= self.capacity.get() {
            state.queue.pop_front();
            state.dropped += 1;
        }
        state.queue.push_back(Arc::clone(event));
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn close(&self) {
        let waker = {
            let mut state = lock(&self.state);
            state.closed = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Option<StreamItem>> {
        let mut state = lock(&self.state);
        if state.dropped > 0 {
            return Poll::Ready(Some(StreamItem::Gap(std::mem::take(&mut state.dropped))));
        }
        if let Some(event) = state.queue.pop_front() {
            return Poll::Ready(Some(StreamItem::Event(event)));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// An async stream of events; see [`EventHub::stream`](super::EventHub::stream). The stream of one run ends when the run
/// settles: after its last event, also when it fails or pauses.
pub struct EventStream {
    buffer: Arc<StreamBuffer>,
    _guard: Subscription,
}

impl EventStream {
    pub(super) fn new(buffer: Arc<StreamBuffer>, guard: Subscription) -> Self {
        Self { buffer, _guard: guard }
    }
}

impl Stream for EventStream {
    type Item = StreamItem;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        self.buffer.poll(cx)
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventStream(..)")
    }
}
