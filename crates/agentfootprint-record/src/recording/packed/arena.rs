//! The distinct parts of a recording, each as the text it will be written as, with holes where other parts stand.

use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::HashMap;
use foldhash::quality::RandomState;

/// Begins a hole in a text; the part's number follows. A control character cannot stand in JSON text.
pub(super) const HOLE: u8 = 0x01;
/// Bytes of a hole.
pub(super) const HOLE_BYTES: usize = 5;
/// What is shorter than this is written wherever it occurs.
pub(super) const MIN_PART: u64 = super::MIN_POOLED_CHARS;

/// The number of a part. Parts only refer to smaller numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PartId(u32);

impl PartId {
    fn index(self) -> usize {
        self.0 as usize
    }

    /// The part a hole stands for.
    pub(super) fn of_hole(hole: &[u8]) -> Option<Self> {
        match hole {
            [HOLE, a, b, c, d] => Some(Self(u32::from_le_bytes([*a, *b, *c, *d]))),
            _ => None,
        }
    }

    pub(super) fn write_hole(self, out: &mut Vec<u8>) {
        out.push(HOLE);
        out.extend_from_slice(&self.0.to_le_bytes());
    }

    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// What a part's text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A whole value.
    Whole,
    /// The items of a list, without brackets.
    Items,
    /// What follows in a list whose beginning is a number of items of another list.
    ItemsAfter(PartId, u32),
}

#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) text: Range<usize>,
    /// Bytes of the plain JSON it stands for.
    pub(super) plain: u64,
    /// How often it is written or pointed at.
    pub(super) uses: u32,
    /// Whether a list begins as it does.
    pub(super) is_base: bool,
    /// The next part whose text has the same hash.
    same_hash: Option<PartId>,
}

/// All parts, equal ones once.
#[derive(Debug, Default)]
pub(super) struct Arena {
    text: Vec<u8>,
    parts: Vec<Part>,
    by_hash: HashMap<u64, PartId>,
    /// Texts come from outside: their hashes must not be foreseeable.
    hasher: RandomState,
}

impl Arena {
    /// The part with this text; a new one if there is none yet.
    pub(super) fn intern(&mut self, kind: Kind, text: &[u8], plain: u64) -> PartId {
        let hash = self.hasher.hash_one((kind, text));
        let mut known = self.by_hash.get(&hash).copied();
        while let Some(id) = known {
            let Some(part) = self.parts.get(id.index()) else { break };
            if part.kind == kind && self.text.get(part.text.clone()) == Some(text) {
                return id;
            }
            known = part.same_hash;
        }
        let id = self.add(kind, text, plain);
        let same_hash = self.by_hash.insert(hash, id);
        if let Some(part) = self.parts.get_mut(id.index()) {
            part.same_hash = same_hash;
        }
        id
    }

    /// A part that is known to be new.
    pub(super) fn add(&mut self, kind: Kind, text: &[u8], plain: u64) -> PartId {
        let id = PartId(u32::try_from(self.parts.len()).unwrap_or(u32::MAX));
        for used in holes(text) {
            self.used(used);
        }
        if let Kind::ItemsAfter(base, _) = kind {
            self.used(base);
            if let Some(part) = self.parts.get_mut(base.index()) {
                part.is_base = true;
            }
        }
        let from = self.text.len();
        self.text.extend_from_slice(text);
        let text = from..self.text.len();
        self.parts.push(Part { kind, text, plain, uses: 0, is_base: false, same_hash: None });
        id
    }

    fn used(&mut self, id: PartId) {
        if let Some(part) = self.parts.get_mut(id.index()) {
            part.uses = part.uses.saturating_add(1);
        }
    }

    pub(super) fn get(&self, id: PartId) -> Option<&Part> {
        self.parts.get(id.index())
    }

    pub(super) fn plain(&self, id: PartId) -> u64 {
        self.get(id).map_or(0, |part| part.plain)
    }

    pub(super) fn text(&self, range: &Range<usize>) -> &[u8] {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// All parts with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (PartId, &Part)> {
        (0..).map(PartId).zip(&self.parts)
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }
}

/// The parts a text has holes for.
fn holes(text: &[u8]) -> impl Iterator<Item = PartId> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        let at = rest.iter().position(|byte| *byte == HOLE)?;
        let hole = rest.get(at..at + HOLE_BYTES)?;
        rest = rest.get(at + HOLE_BYTES..).unwrap_or_default();
        PartId::of_hole(hole)
    })
}
