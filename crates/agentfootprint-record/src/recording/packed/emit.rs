//! From distinct parts to the packed text.

use std::ops::Range;

use footprint::json::{LIST_KEY, REF_KEY};

use super::PACKED_FORMAT;
use super::arena::{Arena, HOLE, HOLE_BYTES, Kind, MIN_PART, Part, PartId};
use super::packer::{Packer, write_number};

/// Where each part stands in `values`, for those that stand there.
struct Places(Vec<Option<u32>>);

impl Places {
    fn of(arena: &Arena) -> Self {
        let mut next = 0..;
        let mut places = Vec::with_capacity(arena.len());
        for (_, part) in arena.iter() {
            let pooled = part.is_base || (part.uses >= 2 && part.plain >= MIN_PART);
            places.push(if pooled { next.next() } else { None });
        }
        Self(places)
    }

    fn get(&self, id: PartId) -> Option<u32> {
        self.0.get(id.number() as usize).copied().flatten()
    }
}

enum Step {
    Text(Range<usize>),
    Close(&'static [u8]),
}

struct Emitter<'p> {
    arena: &'p Arena,
    places: Places,
    out: Vec<u8>,
}

/// The packed text of what the packer took; outside of all parts stands `recording`.
pub(super) fn packed(mut packer: Packer) -> String {
    // What stands outside is emitted like a part, and makes its parts used.
    let root = packer.arena.add(Kind::Whole, &packer.work, packer.plain);
    let arena = &packer.arena;
    let mut emitter = Emitter { arena, places: Places::of(arena), out: Vec::new() };
    emitter.out.extend_from_slice(b"{\"format\":\"");
    emitter.out.extend_from_slice(PACKED_FORMAT.as_bytes());
    emitter.out.extend_from_slice(b"\",\"values\":[");
    let mut first = true;
    for (id, part) in arena.iter() {
        if emitter.places.get(id).is_some() {
            if !std::mem::replace(&mut first, false) {
                emitter.out.push(b',');
            }
            emitter.part(part);
        }
    }
    emitter.out.extend_from_slice(b"],\"recording\":");
    if let Some(part) = arena.get(root) {
        emitter.part(part);
    }
    emitter.out.push(b'}');
    // All text came as text, and holes are gone: nothing is lost here.
    String::from_utf8(emitter.out).unwrap_or_else(|not| String::from_utf8_lossy(not.as_bytes()).into_owned())
}

impl Emitter<'_> {
    /// Writes a part where it is defined.
    fn part(&mut self, part: &Part) {
        let mut steps = Vec::new();
        self.begin(part, &mut steps);
        while let Some(step) = steps.pop() {
            match step {
                Step::Close(text) => self.out.extend_from_slice(text),
                Step::Text(range) => self.text(range, &mut steps),
            }
        }
    }

    fn begin(&mut self, part: &Part, steps: &mut Vec<Step>) {
        match part.kind {
            Kind::Whole => {}
            Kind::Items => {
                self.out.push(b'[');
                steps.push(Step::Close(b"]"));
            }
            Kind::ItemsAfter(base, items) => {
                self.out.extend_from_slice(b"{\"");
                self.out.extend_from_slice(LIST_KEY.as_bytes());
                self.out.extend_from_slice(b"\":[");
                write_number(&mut self.out, self.places.get(base).unwrap_or_default());
                self.out.push(b',');
                write_number(&mut self.out, items);
                steps.push(Step::Close(b"]}"));
            }
        }
        steps.push(Step::Text(part.text.clone()));
    }

    /// Writes text up to the first hole that is filled in place, which comes next.
    fn text(&mut self, range: Range<usize>, steps: &mut Vec<Step>) {
        let arena = self.arena;
        let mut from = range.start;
        loop {
            let rest = arena.text(&(from..range.end));
            let Some(at) = rest.iter().position(|byte| *byte == HOLE) else {
                self.out.extend_from_slice(rest);
                return;
            };
            self.out.extend_from_slice(rest.get(..at).unwrap_or_default());
            let hole = rest.get(at..at + HOLE_BYTES).and_then(PartId::of_hole);
            from += at + HOLE_BYTES;
            let Some(id) = hole else { return };
            match (self.places.get(id), arena.get(id)) {
                (Some(place), _) => {
                    self.out.extend_from_slice(b"{\"");
                    self.out.extend_from_slice(REF_KEY.as_bytes());
                    self.out.extend_from_slice(b"\":");
                    write_number(&mut self.out, place);
                    self.out.push(b'}');
                }
                (None, Some(part)) => {
                    steps.push(Step::Text(from..range.end));
                    self.begin(part, steps);
                    return;
                }
                (None, None) => return,
            }
        }
    }
}
