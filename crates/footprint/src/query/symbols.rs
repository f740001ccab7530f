//! Texts as small numbers.

use std::sync::Arc;

use super::hash::FastMap;
use crate::ids::RuntimeStageId;
use crate::value::Str;

/// A table of texts.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    by_text: FastMap<Str, u32>,
    texts: Vec<Str>,
}

/// Remembers which shared text has which symbol, so that a text met again is not hashed again. It lives only while everything it has seen is
/// borrowed: a freed text's place may be taken by another.
pub(super) struct Seen {
    slots: Vec<(*const u8, usize, u32)>,
}

impl Seen {
    const SLOTS: usize = 1024;

    pub(super) fn new() -> Self {
        Self { slots: vec![(std::ptr::null(), 0, 0); Self::SLOTS] }
    }
}

impl Symbols {
    /// The symbol of a text, made if it has none.
    pub(super) fn intern(&mut self, text: &Str, seen: &mut Seen) -> u32 {
        let place = (Arc::as_ptr(text).cast::<u8>(), text.len());
        // Addresses of shared texts are multiples of eight.
        let slot = (place.0.addr() >> 4) % Seen::SLOTS;
        if let Some((at, len, symbol)) = seen.slots.get(slot)
            && (*at, *len) == place
        {
            return *symbol;
        }
        let symbol = self.intern_slow(text);
        if let Some(slot) = seen.slots.get_mut(slot) {
            *slot = (place.0, place.1, symbol);
        }
        symbol
    }

    fn intern_slow(&mut self, text: &Str) -> u32 {
        if let Some(symbol) = self.by_text.get(text) {
            return *symbol;
        }
        let symbol = self.texts.len() as u32;
        self.texts.push(text.clone());
        self.by_text.insert(text.clone(), symbol);
        symbol
    }

    /// The symbol of a text that has one.
    pub(super) fn get(&self, text: &str) -> Option<u32> {
        self.by_text.get(text).copied()
    }

    /// The text of a symbol.
    pub(super) fn text(&self, symbol: u32) -> Option<&Str> {
        self.texts.get(symbol as usize)
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }
}

/// Addresses as small numbers.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    stages: Symbols,
    places: FastMap<(u32, u64), u32>,
}

/// An address without an execution index.
const NO_INDEX: u64 = u64::MAX;

fn index_of(id: &RuntimeStageId) -> u64 {
    if id.has_index() { id.index().0 } else { NO_INDEX }
}

impl Addresses {
    pub(super) fn reserve(&mut self, more: usize) {
        self.places.reserve(more);
    }

    /// The number an address has; `fresh` is given to one that has none.
    pub(super) fn place(&mut self, id: &RuntimeStageId, seen: &mut Seen, fresh: u32) -> u32 {
        let stage = self.stages.intern(id.stage_shared(), seen);
        *self.places.entry((stage, index_of(id))).or_insert(fresh)
    }

    /// The number of an address, with what was seen on the way.
    pub(super) fn find(&mut self, id: &RuntimeStageId, seen: &mut Seen) -> Option<u32> {
        let stage = self.stages.intern(id.stage_shared(), seen);
        self.places.get(&(stage, index_of(id))).copied()
    }

    /// The number of an address.
    pub(super) fn get(&self, id: &RuntimeStageId) -> Option<u32> {
        let stage = self.stages.get(id.stage_id())?;
        self.places.get(&(stage, index_of(id))).copied()
    }
}
