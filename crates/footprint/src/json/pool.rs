//! The parts of a text that pointers in it point at.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::scan::Scanner;
use super::{JsonError, JsonErrorKind};
use crate::value::Value;

/// The key of a reference.
pub const REF_KEY: &str = "$af:ref";
/// The key of an escaped map.
pub const ESC_KEY: &str = "$af:esc";
/// The key of a list that begins as another one.
pub const LIST_KEY: &str = "$af:list";

/// Which pointers a text may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// References, and escapes whose whole content is literal.
    References,
    /// References, lists that begin as others, and escapes of one map: what stands in it is read as usual.
    Lists,
}

/// A pointer that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// No such part.
    #[error("reference to part {index}, but there are {count}")]
    OutOfRange {
        /// The reference as it stands.
        index: String,
        /// How many parts there are.
        count: usize,
    },
    /// A part that contains itself.
    #[error("part {index} contains itself")]
    ContainsItself {
        /// The part.
        index: usize,
    },
    /// A list that begins as something that is no list.
    #[error("a list begins as part {index}, which is no list")]
    NoList {
        /// The part.
        index: usize,
    },
    /// A list that takes more items than there are.
    #[error("a list takes {take} items of part {index}, which has {len}")]
    TakesTooMany {
        /// The part.
        index: usize,
        /// How many it takes.
        take: usize,
        /// How many there are.
        len: usize,
    },
    /// A reserved key in a map that is no pointer.
    #[error("`{key}` does not stand as it must")]
    Malformed {
        /// The key.
        key: &'static str,
    },
}

/// The parts of one text that its pointers point at. Each is made into a value at most once.
#[derive(Debug)]
pub struct Pool {
    parts: Vec<Range<usize>>,
    dialect: Dialect,
    /// Bytes that may be read again because several places point at them.
    max_reread: u64,
    /// Bytes of JSON that all values together may stand for.
    max_expanded: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    made: Vec<Option<Made>>,
    reread: u64,
    expanded: u64,
}

/// A part as a value, and about how many bytes of JSON it stands for.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) value: Value,
    pub(super) expanded: u64,
}

impl Pool {
    /// The items of the list that stands in this place of a text.
    ///
    /// # Errors
    /// [`JsonError`] when there is no list, or its end cannot be found. What is in the items is checked when they are read.
    pub fn new(
        values: &Raw<'_>,
        dialect: Dialect,
        max_reread: u64,
        max_expanded: u64,
    ) -> Result<Self, JsonError> {
        let mut scanner = Scanner::at(values.whole, values.from);
        let mut parts = Vec::new();
        if !scanner.eat(b'[') {
            return scanner.expected("an array");
        }
        if !scanner.eat(b']') {
            loop {
                scanner.peek();
                let from = scanner.offset();
                scanner.skip_value()?;
                parts.push(from..scanner.offset());
                if scanner.eat(b']') {
                    break;
                }
                if !scanner.eat(b',') {
                    return scanner.expected("`,` or the end of a container");
                }
            }
        }
        let state = State { made: vec![None; parts.len()], ..State::default() };
        Ok(Self { parts, dialect, max_reread, max_expanded, state: Mutex::new(state) })
    }

    /// How many parts there are.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Where a part stands.
    pub(super) fn place(&self, index: usize) -> usize {
        self.parts.get(index).map_or(0, |part| part.start)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn made(&self, index: usize) -> Option<Made> {
        self.state().made.get(index)?.clone()
    }

    pub(super) fn keep(&self, index: usize, made: Made) {
        if let Some(slot) = self.state().made.get_mut(index) {
            *slot = Some(made);
        }
    }

    /// Counts text that is read although it may have been read before.
    pub(super) fn reread(&self, index: usize) -> Option<JsonErrorKind> {
        // A visit costs something even where the part is empty.
        let cost = self.parts.get(index).map_or(0, |part| part.len() as u64).saturating_add(64);
        let mut state = self.state();
        state.reread = state.reread.saturating_add(cost);
        let limit = usize::try_from(self.max_reread).unwrap_or(usize::MAX);
        (state.reread > self.max_reread).then_some(JsonErrorKind::TooLong { limit })
    }

    /// Counts what a value that was handed out stands for.
    pub(super) fn hand_out(&self, expanded: u64) -> Option<JsonErrorKind> {
        let mut state = self.state();
        state.expanded = state.expanded.saturating_add(expanded);
        (state.expanded > self.max_expanded)
            .then_some(JsonErrorKind::ExpandsTooMuch { limit: self.max_expanded })
    }
}

/// A value where it stands in a text: found, not read.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    pub(super) whole: &'a [u8],
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) literal: bool,
}

impl<'a> Raw<'a> {
    /// A text that is one value.
    pub fn of(text: &'a [u8]) -> Self {
        Self { whole: text, from: 0, to: text.len(), literal: false }
    }

    /// The text, pointers as they stand.
    pub fn text(&self) -> &'a [u8] {
        self.whole.get(self.from..self.to).unwrap_or_default()
    }

    /// Whether pointers in it mean nothing.
    pub fn is_literal(&self) -> bool {
        self.literal
    }
}

/// What a map with a reserved key is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    Reference { index: usize, end: usize },
    Escape { content: usize },
    List { index: usize, take: usize, tail: usize },
}

pub(super) fn read_special(at: &Scanner<'_>, pool: &Pool) -> Result<Option<Special>, JsonError> {
    let mut scanner = at.clone();
    if !scanner.eat(b'{') || scanner.peek() != Some(b'"') || !scanner.may_be_reserved() {
        return Ok(None);
    }
    let key = scanner.string()?;
    let lists = pool.dialect == Dialect::Lists;
    let key = match &*key {
        REF_KEY => REF_KEY,
        ESC_KEY => ESC_KEY,
        LIST_KEY if lists => LIST_KEY,
        _ => return Ok(None),
    };
    if !scanner.eat(b':') {
        return scanner.expected("`:`");
    }
    let malformed = |scanner: &Scanner<'_>| scanner.error(JsonErrorKind::Part(PartError::Malformed { key }));
    match key {
        ESC_KEY => {
            let next = scanner.peek();
            if lists && next != Some(b'{') {
                return malformed(&scanner);
            }
            Ok(Some(Special::Escape { content: scanner.offset() }))
        }
        REF_KEY => {
            let index = part_index(&mut scanner, pool)?;
            if !scanner.eat(b'}') {
                return malformed(&scanner);
            }
            Ok(Some(Special::Reference { index, end: scanner.offset() }))
        }
        _ => {
            if !scanner.eat(b'[') {
                return malformed(&scanner);
            }
            let index = part_index(&mut scanner, pool)?;
            if !scanner.eat(b',') {
                return malformed(&scanner);
            }
            match count(&mut scanner) {
                Some(take) => Ok(Some(Special::List { index, take, tail: scanner.offset() })),
                None => malformed(&scanner),
            }
        }
    }
}

fn count(scanner: &mut Scanner<'_>) -> Option<usize> {
    scanner.peek();
    scanner.number().ok()?.as_u64().and_then(|count| usize::try_from(count).ok())
}

fn part_index(scanner: &mut Scanner<'_>, pool: &Pool) -> Result<usize, JsonError> {
    /// As much of what stands in place of an index as an error shows.
    const SHOWN: usize = 40;
    scanner.peek();
    let from = scanner.offset();
    match count(&mut scanner.clone()) {
        Some(index) if index < pool.len() => {
            count(scanner);
            Ok(index)
        }
        _ => {
            let mut end = scanner.clone();
            end.skip_value()?;
            let shown = scanner.bytes().get(from..end.offset().min(from + SHOWN)).unwrap_or_default();
            let index = String::from_utf8_lossy(shown).into_owned();
            scanner.error(JsonErrorKind::Part(PartError::OutOfRange { index, count: pool.len() }))
        }
    }
}
