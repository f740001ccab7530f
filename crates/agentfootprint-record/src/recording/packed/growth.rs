//! Lists that begin as other lists: a conversation is recorded once per step, each time a little longer.
//!
//! Every beginning of every list is a place in a tree of items, so the longest known beginning of a list is found by
//! walking it. Where versions share their nodes in memory, the walk starts where they part.

use foldhash::HashMap;
use footprint::value::{Array, Value};

use super::arena::PartId;

/// A beginning of lists: a path in the tree of items. The empty one is the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place(u32);

impl Place {
    pub(super) const ROOT: Self = Self(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beginning {
    /// A list that has this beginning.
    pub(super) owner: Option<PartId>,
    /// The list that is no longer than this.
    pub(super) whole: Option<PartId>,
    /// How many items it has.
    pub(super) items: u32,
    /// Bytes of its items as plain JSON, with the commas between them.
    pub(super) plain: u64,
}

/// A list met before, and the places of its items: the longest of those that share a beginning in memory.
#[derive(Debug)]
struct Family {
    array: Array,
    places: Vec<Place>,
}

/// Every beginning met so far.
#[derive(Debug)]
pub(super) struct Growth {
    beginnings: Vec<Beginning>,
    steps: HashMap<(Place, PartId), Place>,
    /// By the address of the first item.
    families: HashMap<usize, Family>,
}

impl Default for Growth {
    fn default() -> Self {
        Self {
            beginnings: vec![Beginning::default()],
            steps: HashMap::default(),
            families: HashMap::default(),
        }
    }
}

impl Growth {
    pub(super) fn at(&self, place: Place) -> Beginning {
        self.beginnings.get(place.index()).copied().unwrap_or_default()
    }

    /// The beginning that is one item longer; `plain` is the length of the item.
    pub(super) fn step(&mut self, from: Place, item: PartId, plain: u64) -> Place {
        if let Some(known) = self.steps.get(&(from, item)) {
            return *known;
        }
        let before = self.at(from);
        let place = Place(u32::try_from(self.beginnings.len()).unwrap_or(u32::MAX));
        let comma = u64::from(before.items > 0);
        self.beginnings.push(Beginning {
            owner: None,
            whole: None,
            items: before.items.saturating_add(1),
            plain: before.plain.saturating_add(plain).saturating_add(comma),
        });
        self.steps.insert((from, item), place);
        place
    }

    /// A list with all these beginnings is known now.
    pub(super) fn own(&mut self, visited: &[Place], whole: Place, list: PartId) {
        for place in visited {
            if let Some(beginning) = self.beginnings.get_mut(place.index()) {
                beginning.owner.get_or_insert(list);
            }
        }
        if let Some(beginning) = self.beginnings.get_mut(whole.index()) {
            beginning.whole = Some(list);
        }
    }

    /// The beginning that this list shares with one met before, found without looking at its items.
    pub(super) fn shared_with_known(&self, array: &Array) -> Option<Place> {
        let family = self.families.get(&array.first()?.shared_address()?)?;
        let shared = family.array.shared_prefix(array);
        family.places.get(shared.checked_sub(1)?).copied()
    }

    /// Remembers a list by its first item; `places` are those of its items after the first `skipped` ones, which it
    /// shares with the family.
    pub(super) fn remember(&mut self, array: &Array, skipped: usize, places: &[Place]) {
        let Some(address) = array.first().and_then(Value::shared_address) else { return };
        if skipped == array.len() {
            return; // the family knows all of it
        }
        let family = self
            .families
            .entry(address)
            .or_insert_with(|| Family { array: Array::new(), places: Vec::new() });
        if family.places.len() < skipped {
            return;
        }
        family.places.truncate(skipped);
        family.places.extend_from_slice(places);
        family.array = array.clone();
    }
}
