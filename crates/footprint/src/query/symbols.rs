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

/// Remembers which shared text has which symbol in one table, so that a text met again is not hashed again. It lives only while everything
/// it has seen is borrowed: a freed text's place may be taken by another.
pub(super) struct Seen {
    slots: Vec<(*const u8, usize, u32)>,
}

impl Seen {
    const SLOTS: usize = 1024;

    /// Nothing seen yet.
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

    /// All texts, by symbol.
    pub(super) fn texts(&self) -> &[Str] {
        &self.texts
    }
}

/// Addresses as small numbers.
///
/// Every visit of a run takes the next execution index, so the indices of one log are nearly dense: a list by index finds most addresses
/// without hashing. Recordings may say anything: what does not fit there goes into a table.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    stages: Symbols,
    /// By execution index: symbol of the stage and number of the address.
    dense: Vec<(u32, u32)>,
    rest: FastMap<(u32, u64), u32>,
    placed: usize,
}

/// An address without an execution index.
const NO_INDEX: u64 = u64::MAX;

/// A place in the list that no address has.
const FREE: (u32, u32) = (u32::MAX, 0);

/// The list has at most so many places per address, and [`SLACK`] more.
const SPARSE: usize = 4;
const SLACK: usize = 1024;

fn index_of(id: &RuntimeStageId) -> u64 {
    if id.has_index() { id.index().0 } else { NO_INDEX }
}

impl Addresses {
    pub(super) fn reserve(&mut self, more: usize) {
        self.dense.reserve(more);
    }

    /// The number an address has; `fresh` is given to one that has none.
    pub(super) fn place(&mut self, id: &RuntimeStageId, seen: &mut Seen, fresh: u32) -> u32 {
        let (stage, index) = (self.stages.intern(id.stage_shared(), seen), index_of(id));
        if let Some(known) = self.number(stage, index) {
            return known;
        }
        self.placed += 1;
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        if at >= self.dense.len() && at / SPARSE <= self.placed + SLACK {
            self.dense.resize(at + 1, FREE);
        }
        match self.dense.get_mut(at) {
            Some(slot) if *slot == FREE => *slot = (stage, fresh),
            _ => {
                self.rest.insert((stage, index), fresh);
            }
        }
        fresh
    }

    /// What both tables number: the number here and the one there, by ascending number there where the indices are dense.
    pub(super) fn common<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (u32, u32)> + 'a {
        let here: Vec<Option<u32>> = other.stages.texts.iter().map(|text| self.stages.get(text)).collect();
        let dense = other.dense.iter().enumerate().filter(|(_, slot)| **slot != FREE);
        let dense = dense.map(|(index, (stage, there))| (*stage, index as u64, *there));
        let rest = other.rest.iter().map(|((stage, index), there)| (*stage, *index, *there));
        dense.chain(rest).filter_map(move |(stage, index, there)| {
            let stage = here.get(stage as usize).copied().flatten()?;
            Some((self.number(stage, index)?, there))
        })
    }

    /// The number of an address.
    pub(super) fn get(&self, id: &RuntimeStageId) -> Option<u32> {
        self.number(self.stages.get(id.stage_id())?, index_of(id))
    }

    fn number(&self, stage: u32, index: u64) -> Option<u32> {
        let slot = usize::try_from(index).ok().and_then(|at| self.dense.get(at));
        if let Some((_, number)) = slot.filter(|(known, _)| *known == stage) {
            return Some(*number);
        }
        if self.rest.is_empty() { None } else { self.rest.get(&(stage, index)).copied() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::ids::ExecutionIndex;

    proptest! {
        /// Proves OBS-144: an address has the number it was given first, whatever indices a recording names.
        #[test]
        fn addresses_are_a_map(
            asked in prop::collection::vec((0..3_u8, prop_oneof![0..40_u64, 0..6_000_u64, any::<u64>()]), 0..200),
        ) {
            let mut addresses = Addresses::default();
            let mut model = HashMap::new();
            let mut seen = Seen::new();
            let ids: Vec<RuntimeStageId> = asked
                .iter()
                .map(|(stage, index)| RuntimeStageId::new(format!("s{stage}"), ExecutionIndex(*index)))
                .collect();
            for (at, id) in ids.iter().enumerate() {
                let number = addresses.place(id, &mut seen, at as u32);
                prop_assert_eq!(number, *model.entry(id).or_insert(at as u32));
            }
            for id in &ids {
                prop_assert_eq!(addresses.get(id), model.get(id).copied());
            }
            let mut others = Addresses::default();
            let mut seen = Seen::new();
            let every_other: Vec<&RuntimeStageId> = ids.iter().rev().step_by(2).collect();
            for (at, id) in every_other.iter().enumerate() {
                others.place(id, &mut seen, at as u32);
            }
            let mut common: Vec<(u32, u32)> = addresses.common(&others).collect();
            let mut expected: Vec<(u32, u32)> = every_other
                .iter()
                .filter_map(|id| Some((*model.get(id)?, others.get(id)?)))
                .collect();
            common.sort_unstable();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(common, expected);
            prop_assert_eq!(addresses.get(&"other#0".into()), None);
        }
    }
}
