//! The subscriptions of a hub: three kinds of bucket, and which names anybody waits for.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use agentfootprint_record::events::{AgentEvent, Domain, EventName, Pattern};
use footprint::value::Str;
use tokio_util::sync::CancellationToken;

use super::hub::Listener;

/// One subscription.
#[derive(Clone)]
pub(super) struct Entry {
    /// Registration order, over the hub and its children.
    pub(super) order: u64,
    pub(super) listener: Listener,
    pub(super) cancel: Option<CancellationToken>,
    /// Set when the subscription hears one event only: true once it has been claimed.
    pub(super) once: Option<Arc<AtomicBool>>,
}

impl Entry {
    /// Whether this entry hears the event at hand; claims it when it hears only one.
    pub(super) fn claim(&self) -> bool {
        if self.cancel.as_ref().is_some_and(CancellationToken::is_cancelled) {
            return false;
        }
        self.once.as_ref().is_none_or(|spent| !spent.swap(true, Ordering::Relaxed))
    }

    fn is_over(&self) -> bool {
        self.cancel.as_ref().is_some_and(CancellationToken::is_cancelled)
            || self.once.as_ref().is_some_and(|spent| spent.load(Ordering::Relaxed))
    }
}

/// The subscriptions, by bucket. Replaced as a whole, so that a dispatch works on a snapshot (EVT-11).
#[derive(Clone, Default)]
pub(super) struct Table {
    exact: HashMap<EventName, Vec<Entry>>,
    domains: HashMap<Domain, Vec<Entry>>,
    custom: HashMap<Str, Vec<Entry>>,
    all: Vec<Entry>,
}

impl Table {
    fn bucket(&mut self, pattern: &Pattern) -> &mut Vec<Entry> {
        match pattern {
            Pattern::Event(name) => self.exact.entry(*name).or_default(),
            Pattern::Domain(domain) => self.domains.entry(*domain).or_default(),
            Pattern::Custom(name) => self.custom.entry(name.clone()).or_default(),
            Pattern::All => &mut self.all,
        }
    }

    pub(super) fn add(&mut self, pattern: &Pattern, entry: Entry) {
        self.bucket(pattern).push(entry);
    }

    pub(super) fn remove(&mut self, pattern: &Pattern, order: u64) {
        self.bucket(pattern).retain(|entry| entry.order != order && !entry.is_over());
    }

    /// How many listen to exactly this pattern, or to anything.
    pub(super) fn count(&self, pattern: Option<&Pattern>) -> usize {
        let live = |entries: &Vec<Entry>| entries.iter().filter(|entry| !entry.is_over()).count();
        match pattern {
            Some(Pattern::Event(name)) => self.exact.get(name).map_or(0, live),
            Some(Pattern::Domain(domain)) => self.domains.get(domain).map_or(0, live),
            Some(Pattern::Custom(name)) => self.custom.get(name).map_or(0, live),
            Some(Pattern::All) => live(&self.all),
            None => {
                self.exact.values().map(live).sum::<usize>()
                    + self.domains.values().map(live).sum::<usize>()
                    + self.custom.values().map(live).sum::<usize>()
                    + live(&self.all)
            }
        }
    }

    /// The buckets an event goes to, in dispatch order: its own name, its domain, everything.
    pub(super) fn buckets(&self, event: &AgentEvent) -> [&[Entry]; 3] {
        match event {
            AgentEvent::Unknown(custom) => [entries(self.custom.get(custom.name())), &[], &self.all],
            known => {
                let name = known.name();
                [
                    entries(name.and_then(|name| self.exact.get(&name))),
                    entries(name.and_then(|name| self.domains.get(&name.domain()))),
                    &self.all,
                ]
            }
        }
    }

    /// Which registered names anybody listens to.
    fn names(&self) -> [u64; 2] {
        let mut words = [0_u64; 2];
        let mut mark = |name: EventName| {
            let index = name as usize;
            if let Some(word) = words.get_mut(index / 64) {
                *word |= 1 << (index % 64);
            }
        };
        if !self.all.is_empty() {
            return [u64::MAX; 2];
        }
        self.exact.iter().filter(|(_, list)| !list.is_empty()).for_each(|(name, _)| mark(*name));
        for (domain, _) in self.domains.iter().filter(|(_, list)| !list.is_empty()) {
            EventName::ALL.into_iter().filter(|name| name.domain() == *domain).for_each(&mut mark);
        }
        words
    }
}

fn entries(list: Option<&Vec<Entry>>) -> &[Entry] {
    list.map_or(&[], Vec::as_slice)
}

/// Which registered names anybody listens to, readable without a lock.
#[derive(Default)]
pub(super) struct Interest([AtomicU64; 2]);

impl Interest {
    pub(super) fn update(&self, table: &Table) {
        for (word, value) in self.0.iter().zip(table.names()) {
            word.store(value, Ordering::Release);
        }
    }

    pub(super) fn has(&self, name: EventName) -> bool {
        let index = name as usize;
        self.0.get(index / 64).is_some_and(|word| word.load(Ordering::Acquire) & (1 << (index % 64)) != 0)
    }
}
