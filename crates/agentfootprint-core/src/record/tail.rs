//! The last events of a run, with an exact count of what is no longer there.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use agentfootprint_record::events::Event;
use agentfootprint_record::recording::RecordedEvent;

use crate::run::lock;

/// A ring of shared events.
pub(crate) struct EventTail {
    bound: NonZeroUsize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    events: VecDeque<Arc<Event>>,
    dropped: u64,
}

impl EventTail {
    pub(crate) fn new(bound: NonZeroUsize) -> Self {
        Self { bound, kept: Mutex::default() }
    }

    pub(crate) fn push(&self, event: &Arc<Event>) {
        let mut kept = lock(&self.kept);
        if kept.events.len() >= self.bound.get() {
            kept.events.pop_front();
            kept.dropped += 1;
        }
        kept.events.push_back(Arc::clone(event));
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.kept).events.len()
    }

    pub(crate) fn dropped(&self) -> u64 {
        lock(&self.kept).dropped
    }

    pub(crate) fn events(&self) -> Vec<RecordedEvent> {
        lock(&self.kept).events.iter().cloned().map(RecordedEvent::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentfootprint_record::events::payload::StreamToken;
    use agentfootprint_record::events::{EventMeta, Moment, RunFacts};

    fn token(index: u64) -> Arc<Event> {
        let meta = EventMeta::build(
            Some("call-llm#1".into()),
            Moment { wall_clock_ms: 5, run_offset_ms: 0 },
            &RunFacts::new("run-5-1", ["Agent:a"]),
        );
        Arc::new(Event::new(StreamToken::new(1, index, "x"), meta))
    }

    /// The window of kept events is exact: what was dropped is counted, the rest is in order.
    #[test]
    fn the_oldest_events_leave_and_are_counted() {
        let tail = EventTail::new(NonZeroUsize::new(3).unwrap());
        for index in 0..8 {
            tail.push(&token(index));
        }
        assert_eq!((tail.len(), tail.dropped()), (3, 5));
        let kept: Vec<_> =
            tail.events().iter().map(|event| event.payload().get("tokenIndex").cloned()).collect();
        assert_eq!(kept, [5_u64, 6, 7].map(|index| Some(index.into())));
    }
}
