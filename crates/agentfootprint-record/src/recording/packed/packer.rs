//! From values, or from text, to distinct parts.

use std::io::Write as _;

use foldhash::HashMap;
use footprint::json::{ESC_KEY, JsonReader, JsonWriter, LIST_KEY, REF_KEY, Token};
use footprint::value::{Array, ObjectIter, Str, Value};

use super::arena::{Arena, HOLE, Kind, MIN_PART, PartId};
use super::growth::{Growth, Place};
use crate::recording::RecordingError;
use crate::recording::open::json_error;

/// Takes JSON apart into distinct parts. What is written is text with holes; see [`super::emit`].
#[derive(Debug, Default)]
pub(super) struct Packer {
    pub(super) arena: Arena,
    growth: Growth,
    /// Text being put together: of the open containers, each from its `start` on.
    pub(super) work: Vec<u8>,
    open: Vec<Container>,
    /// Parts by the address of what they were made of.
    by_address: HashMap<usize, PartId>,
    /// What was remembered by its address must not be freed.
    kept: Vec<Value>,
    /// Bytes of plain JSON outside of all containers.
    pub(super) plain: u64,
}

#[derive(Debug)]
struct Container {
    /// Where its text begins.
    start: usize,
    /// Where the text of its present entry begins.
    item: usize,
    /// Bytes of its entries as plain JSON, separators included.
    plain: u64,
    empty: bool,
    kind: ContainerKind,
    /// The value it is made of, if that is known by its address.
    value: Option<(usize, Value)>,
}

#[derive(Debug)]
enum ContainerKind {
    Object {
        reserved: bool,
    },
    Array {
        walk: Walk,
        /// The list it is made of, to recognise later versions of it.
        array: Option<Array>,
    },
}

/// Where a list is among the known beginnings.
#[derive(Debug)]
enum Walk {
    /// No item yet.
    Before,
    Among {
        at: Place,
        /// Items that were not looked at, because a known list has them.
        skipped: usize,
        /// Places of the items that were.
        visited: Vec<Place>,
        /// The longest beginning that a finished list has, and where the text of the items after it starts.
        known: Option<(Place, usize)>,
    },
    /// A list of numbers does not grow with a conversation.
    Not,
}

impl Packer {
    fn separate(&mut self) {
        if let Some(container) = self.open.last_mut() {
            if !std::mem::replace(&mut container.empty, false) {
                self.work.push(b',');
                container.plain += 1;
            }
            container.item = self.work.len();
        }
    }

    fn before_item(&mut self) {
        if let Some(Container { kind: ContainerKind::Array { .. }, .. }) = self.open.last() {
            self.separate();
        }
    }

    /// An entry is complete; `plain` is its length.
    fn after_item(&mut self, plain: u64) {
        let Some(container) = self.open.last_mut() else {
            self.plain = self.plain.saturating_add(plain);
            return;
        };
        container.plain = container.plain.saturating_add(plain);
        let ContainerKind::Array { walk, .. } = &mut container.kind else { return };
        let item = self.work.get(container.item..).unwrap_or_default();
        if let Walk::Before = walk {
            let grows = matches!(item.first(), Some(&(HOLE | b'"' | b'[' | b'{')));
            *walk = if grows {
                Walk::Among { at: Place::ROOT, skipped: 0, visited: Vec::new(), known: None }
            } else {
                Walk::Not
            };
        }
        let Walk::Among { at, visited, known, .. } = walk else { return };
        let id = match PartId::of_hole(item) {
            Some(id) => id,
            None => self.arena.intern(Kind::Whole, item, plain),
        };
        *at = self.growth.step(*at, id, plain);
        visited.push(*at);
        let beginning = self.growth.at(*at);
        if beginning.owner.is_some() && beginning.plain >= MIN_PART {
            *known = Some((*at, self.work.len()));
        }
    }

    fn hole(&mut self, id: PartId) {
        self.before_item();
        id.write_hole(&mut self.work);
        self.after_item(self.arena.plain(id));
    }

    fn begin(&mut self, kind: ContainerKind, value: Option<(usize, Value)>) {
        self.before_item();
        let start = self.work.len();
        self.work.push(if let ContainerKind::Object { .. } = kind { b'{' } else { b'[' });
        self.open.push(Container { start, item: start + 1, plain: 2, empty: true, kind, value });
    }

    fn begin_array(&mut self) {
        self.begin(ContainerKind::Array { walk: Walk::Before, array: None }, None);
    }

    fn begin_object(&mut self) {
        self.begin(ContainerKind::Object { reserved: false }, None);
    }

    fn key(&mut self, key: &str) {
        self.separate();
        let before = self.work.len();
        JsonWriter::new(&mut self.work).string(key);
        self.work.push(b':');
        let length = (self.work.len() - before) as u64;
        if let Some(container) = self.open.last_mut() {
            container.plain += length;
            container.item = self.work.len();
            if let ContainerKind::Object { reserved } = &mut container.kind {
                *reserved |= matches!(key, REF_KEY | ESC_KEY | LIST_KEY);
            }
        }
    }

    fn scalar(&mut self, value: &Value) {
        self.before_item();
        let before = self.work.len();
        JsonWriter::new(&mut self.work).value(value);
        self.after_item((self.work.len() - before) as u64);
    }

    fn string(&mut self, text: &str) -> Option<PartId> {
        self.before_item();
        let start = self.work.len();
        JsonWriter::new(&mut self.work).string(text);
        let plain = (self.work.len() - start) as u64;
        let part = (plain >= MIN_PART).then(|| self.interned(Kind::Whole, start, plain));
        self.after_item(plain);
        part
    }

    /// Puts the text from `start` on away as a part, and a hole in its place.
    fn interned(&mut self, kind: Kind, start: usize, plain: u64) -> PartId {
        let text = self.work.get(start..).unwrap_or_default();
        let id = self.arena.intern(kind, text, plain);
        self.work.truncate(start);
        id.write_hole(&mut self.work);
        id
    }

    fn end(&mut self) {
        let Some(container) = self.open.pop() else { return };
        let plain = container.plain;
        let part = match container.kind {
            ContainerKind::Object { reserved } => {
                self.work.push(b'}');
                if reserved {
                    let opening = format!("{{\"{ESC_KEY}\":");
                    self.work.splice(container.start..container.start, opening.bytes());
                    self.work.push(b'}');
                }
                (plain >= MIN_PART).then(|| self.interned(Kind::Whole, container.start, plain))
            }
            ContainerKind::Array { walk, array } => {
                self.end_array(container.start, plain, walk, array.as_ref())
            }
        };
        if let (Some(id), Some((address, value))) = (part, container.value) {
            self.by_address.insert(address, id);
            self.kept.push(value);
        }
        self.after_item(plain);
    }

    fn end_array(&mut self, start: usize, plain: u64, walk: Walk, array: Option<&Array>) -> Option<PartId> {
        if plain < MIN_PART {
            self.work.push(b']');
            return None;
        }
        let Walk::Among { at, skipped, visited, known } = walk else {
            let text = self.work.get(start + 1..).unwrap_or_default();
            let id = self.arena.intern(Kind::Items, text, plain);
            self.work.truncate(start);
            id.write_hole(&mut self.work);
            return Some(id);
        };
        let id = match self.growth.at(at).whole {
            Some(id) => id,
            None => {
                let base = known.and_then(|(place, text)| {
                    let beginning = self.growth.at(place);
                    Some((Kind::ItemsAfter(beginning.owner?, beginning.items), text))
                });
                let (kind, from) = base.unwrap_or((Kind::Items, start + 1));
                let text = self.work.get(from..).unwrap_or_default();
                let id = self.arena.add(kind, text, plain);
                self.growth.own(&visited, at, id);
                id
            }
        };
        if let Some(array) = array {
            self.growth.remember(array, skipped, &visited);
        }
        self.work.truncate(start);
        id.write_hole(&mut self.work);
        Some(id)
    }

    /// Takes a value. What is shared in memory and was met before is not walked again.
    pub(super) fn value(&mut self, value: &Value) {
        enum Entries<'v> {
            Array(&'v Array, usize),
            Object(ObjectIter<'v>),
        }
        let mut entries: Vec<Entries<'_>> = Vec::new();
        let mut next = Some(value);
        loop {
            match next.take() {
                Some(value @ (Value::Null | Value::Bool(_) | Value::Number(_))) => self.scalar(value),
                Some(value @ Value::String(text)) => self.shared_string(value, text),
                Some(value @ Value::Array(array)) => {
                    if let Some(from) = self.begin_shared_array(value, array) {
                        entries.push(Entries::Array(array, from));
                    }
                }
                Some(value @ Value::Object(object)) if self.begin_shared_object(value) => {
                    entries.push(Entries::Object(object.iter()));
                }
                Some(Value::Object(_)) | None => {}
            }
            let more = match entries.last_mut() {
                None => return,
                Some(Entries::Array(array, at)) => {
                    let item = array.get(*at);
                    *at += 1;
                    item
                }
                Some(Entries::Object(object)) => object.next().map(|(key, value)| {
                    self.key(key);
                    value
                }),
            };
            next = more;
            if more.is_none() {
                self.end();
                entries.pop();
            }
        }
    }

    fn shared_string(&mut self, value: &Value, text: &Str) {
        // Shorter ones are hardly parts, and looking them up costs more than writing them.
        let address = if text.len() as u64 + 2 >= MIN_PART { value.shared_address() } else { None };
        match address.and_then(|address| self.by_address.get(&address).copied()) {
            Some(id) => self.hole(id),
            None => {
                if let (Some(id), Some(address)) = (self.string(text), address) {
                    self.by_address.insert(address, id);
                    self.kept.push(value.clone());
                }
            }
        }
    }

    /// Begins a list and says at which item to go on; `None` when it is known as a whole.
    fn begin_shared_array(&mut self, value: &Value, array: &Array) -> Option<usize> {
        let address = value.shared_address();
        if let Some(id) = address.and_then(|address| self.by_address.get(&address).copied()) {
            self.hole(id);
            return None;
        }
        let known = self.growth.shared_with_known(array).map(|place| (place, self.growth.at(place)));
        let known = known.filter(|(_, known)| known.owner.is_some() && known.plain >= MIN_PART);
        if let Some((_, beginning)) = known
            && beginning.items as usize == array.len()
            && let Some(id) = beginning.whole
        {
            self.hole(id);
            return None;
        }
        self.begin(
            ContainerKind::Array { walk: Walk::Before, array: Some(array.clone()) },
            address.map(|address| (address, value.clone())),
        );
        let Some((place, beginning)) = known else { return Some(0) };
        let skipped = beginning.items as usize;
        if let Some(Container { plain, empty, kind: ContainerKind::Array { walk, .. }, .. }) =
            self.open.last_mut()
        {
            *plain = plain.saturating_add(beginning.plain);
            *empty = false;
            let known = Some((place, self.work.len()));
            *walk = Walk::Among { at: place, skipped, visited: Vec::new(), known };
        }
        Some(skipped)
    }

    /// Begins a map; `false` when it is known as a whole.
    fn begin_shared_object(&mut self, value: &Value) -> bool {
        let address = value.shared_address();
        if let Some(id) = address.and_then(|address| self.by_address.get(&address).copied()) {
            self.hole(id);
            return false;
        }
        self.begin(
            ContainerKind::Object { reserved: false },
            address.map(|address| (address, value.clone())),
        );
        true
    }

    /// Takes the value that is JSON text; nesting costs memory, never stack.
    pub(super) fn json(&mut self, text: &[u8]) -> Result<(), RecordingError> {
        let mut reader = JsonReader::new(text);
        loop {
            match reader.next_token().map_err(json_error)? {
                Token::BeginArray => self.begin_array(),
                Token::BeginObject => self.begin_object(),
                Token::EndArray | Token::EndObject => self.end(),
                Token::Key(key) => self.key(&key),
                Token::String(text) => drop(self.string(&text)),
                Token::Number(number) => self.scalar(&Value::Number(number)),
                Token::Bool(flag) => self.scalar(&Value::Bool(flag)),
                Token::Null => self.scalar(&Value::Null),
                Token::End => break,
            }
        }
        reader.finish().map_err(json_error)
    }

    /// Text that stands outside of all values.
    pub(super) fn outside(&mut self, text: &str) {
        self.work.extend_from_slice(text.as_bytes());
        self.plain = self.plain.saturating_add(text.len() as u64);
    }
}

/// Writes a number into text that is being put together.
pub(super) fn write_number(out: &mut Vec<u8>, number: impl std::fmt::Display) {
    // Writing into memory never fails.
    let _infallible = write!(out, "{number}");
}
