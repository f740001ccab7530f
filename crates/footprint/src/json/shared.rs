//! Texts whose repeated parts stand once, in a pool, and are pointed at.
//!
//! A reader over such a text is an ordinary [`JsonReader`] that follows the pointers while it reads: nobody above it
//! sees them, nothing is written out in between, and a value that many places point at is made once and shared.
//! What three reserved keys mean, each alone in its map:
//!
//! | text | stands for |
//! |---|---|
//! | `{"$af:ref":n}` | part `n` of the pool |
//! | `{"$af:list":[n,k,…]}` | the first `k` items of the list part `n` stands for, then the items that follow |
//! | `{"$af:esc":{…}}` | the map in it, whose own keys mean nothing |

use std::borrow::Cow;
use std::collections::HashSet;

use super::pool::{Dialect, ESC_KEY, LIST_KEY, PartError, Pool, Raw, Special, read_special};
use super::reader::{JsonReader, Open, Token, TokenKind};
use super::scan::Scanner;
use super::{JsonError, JsonErrorKind, JsonSink, JsonWriter};
use crate::value::Value;

/// A place to go back to when the value begun there is complete.
#[derive(Clone, Copy, Debug)]
struct Jump {
    back: Back,
    /// Containers that were open.
    depth: usize,
}

#[derive(Clone, Copy, Debug)]
enum Back {
    Part { index: usize, end: usize },
    Escape { literal: bool },
}

/// A stretch of items of a list that begins as others.
#[derive(Clone, Copy, Debug)]
struct Segment {
    at: usize,
    /// Whether the reader stands in it.
    entered: bool,
    /// Whether no item of it was read yet, and none stands before it.
    first: bool,
    /// How many items are wanted of which part; all that follow when `None`.
    wanted: Option<(usize, usize)>,
    taken: usize,
}

impl Segment {
    fn new(at: usize, first: bool, wanted: Option<(usize, usize)>) -> Self {
        Self { at, entered: false, first, wanted, taken: 0 }
    }
}

/// Where a reader is among the parts.
#[derive(Debug)]
pub(super) struct Follow<'a> {
    pub(super) pool: &'a Pool,
    jumps: Vec<Jump>,
    /// Parts being read.
    active: HashSet<usize>,
    pub(super) literal: bool,
    /// The map there is an escaped one.
    plain_at: Option<usize>,
    /// Open lists that begin as others; of each, the segments to come, the next one last.
    lists: Vec<Vec<Segment>>,
}

impl<'a> Follow<'a> {
    fn new(pool: &'a Pool, literal: bool) -> Self {
        Self { pool, jumps: Vec::new(), active: HashSet::new(), literal, plain_at: None, lists: Vec::new() }
    }
}

impl<'a> JsonReader<'a> {
    /// A reader of a value that stands somewhere in a text, following pointers into a pool if there is one.
    pub fn of(raw: &Raw<'a>, pool: Option<&'a Pool>) -> Self {
        let mut reader = Self::new(raw.whole);
        reader.scanner = Scanner::at(raw.whole, raw.from);
        reader.follow = pool.map(|pool| Box::new(Follow::new(pool, raw.literal)));
        reader
    }

    /// Whether there may be pointers, which are followed.
    pub(crate) fn follows_pointers(&self) -> bool {
        self.follow.is_some()
    }

    /// The value that comes next, found and not read. With a pool, its inside is not checked.
    ///
    /// # Errors
    /// [`JsonError`] when no value comes next, or its end cannot be found.
    pub fn next_raw(&mut self) -> Result<Raw<'a>, JsonError> {
        self.at_value()?;
        let mut scanner = self.scanner.clone();
        scanner.peek();
        let from = scanner.offset();
        scanner.skip_value()?;
        let literal = self.follow.as_ref().is_some_and(|follow| follow.literal);
        Ok(Raw { whole: scanner.bytes(), from, to: scanner.offset(), literal })
    }

    /// A reader of a value found by this one.
    pub fn again(&self, raw: &Raw<'a>) -> Self {
        Self::of(raw, self.follow.as_ref().map(|follow| follow.pool))
    }

    /// The text of a value found by this reader: as it stands, or with the pointers in it followed.
    ///
    /// # Errors
    /// [`JsonError`] as for reading it.
    pub fn text_of(&self, raw: &Raw<'a>) -> Result<Cow<'a, [u8]>, JsonError> {
        if self.follow.is_none() {
            return Ok(Cow::Borrowed(raw.text()));
        }
        let mut text = String::new();
        self.again(raw).copy_value(&mut JsonWriter::new(&mut text))?;
        Ok(Cow::Owned(text.into_bytes()))
    }

    /// Writes the next value, pointers followed.
    ///
    /// # Errors
    /// [`JsonError`] as for reading it.
    pub fn copy_value<S: JsonSink>(&mut self, out: &mut JsonWriter<S>) -> Result<(), JsonError> {
        self.at_value()?;
        let outside = self.depth();
        loop {
            match self.next_token()? {
                Token::BeginArray => out.begin_array(),
                Token::BeginObject => out.begin_object(),
                Token::EndArray => out.end_array(),
                Token::EndObject => out.end_object(),
                Token::Key(key) => out.key(&key),
                Token::String(text) => out.string(&text),
                Token::Number(number) => out.value(&Value::Number(number)),
                Token::Bool(flag) => out.bool(flag),
                Token::Null => out.null(),
                Token::End => return Ok(()),
            }
            if self.depth() <= outside && self.at_value().is_err() {
                return Ok(());
            }
        }
    }

    /// What the map that comes next points at; `None` for an ordinary one, and for anything else.
    pub(super) fn special(&mut self) -> Result<Option<Special>, JsonError> {
        let next = self.scanner.peek();
        let at = self.scanner.offset();
        let Some(follow) = &self.follow else { return Ok(None) };
        if next != Some(b'{') || follow.literal || follow.plain_at == Some(at) {
            return Ok(None);
        }
        read_special(&self.scanner, follow.pool)
    }

    /// The kind of the next value; pointers before it are followed.
    pub(super) fn follow_pointers(&mut self) -> Result<Option<TokenKind>, JsonError> {
        loop {
            match self.special()? {
                None => return Ok(None),
                Some(Special::List { .. }) => return Ok(Some(TokenKind::Array)),
                Some(Special::Escape { content }) => self.enter_escape(content),
                Some(Special::Reference { index, end }) => self.enter_part(index, end)?,
            }
        }
    }

    pub(super) fn enter_escape(&mut self, content: usize) {
        let depth = self.depth();
        let Some(follow) = &mut self.follow else { return };
        follow.jumps.push(Jump { back: Back::Escape { literal: follow.literal }, depth });
        match follow.pool.dialect() {
            Dialect::References => follow.literal = true,
            Dialect::Lists => follow.plain_at = Some(content),
        }
        self.scanner.go(content);
    }

    pub(super) fn enter_part(&mut self, index: usize, end: usize) -> Result<(), JsonError> {
        let depth = self.depth();
        let Some(follow) = &mut self.follow else { return Ok(()) };
        if !follow.active.insert(index) {
            return self.scanner.error(JsonErrorKind::Part(PartError::ContainsItself { index }));
        }
        if let Some(kind) = follow.pool.reread(index) {
            return self.scanner.error(kind);
        }
        follow.jumps.push(Jump { back: Back::Part { index, end }, depth });
        let from = follow.pool.place(index);
        self.scanner.go(from);
        Ok(())
    }

    /// Goes back to where the pointers stood whose value is complete now.
    pub(super) fn leave_parts(&mut self) -> Result<(), JsonError> {
        let depth = self.depth();
        let Some(follow) = &mut self.follow else { return Ok(()) };
        while let Some(jump) = follow.jumps.last().copied().filter(|jump| jump.depth == depth) {
            match jump.back {
                Back::Part { index, end } => {
                    follow.active.remove(&index);
                    self.scanner.go(end);
                }
                Back::Escape { literal } => {
                    follow.literal = literal;
                    if !self.scanner.eat(b'}') {
                        let kind = JsonErrorKind::Part(PartError::Malformed { key: ESC_KEY });
                        return self.scanner.error(kind);
                    }
                }
            }
            follow.jumps.pop();
        }
        Ok(())
    }

    /// Opens a list that begins as others, to read it item by item.
    pub(super) fn begin_list(
        &mut self,
        mut index: usize,
        mut take: usize,
        tail: usize,
    ) -> Result<(), JsonError> {
        let mut segments = vec![Segment::new(tail, false, None)];
        let Some(follow) = &self.follow else { return Ok(()) };
        let pool = follow.pool;
        let mut visited = HashSet::new();
        loop {
            let problem = if visited.insert(index) {
                pool.reread(index)
            } else {
                Some(JsonErrorKind::Part(PartError::ContainsItself { index }))
            };
            if let Some(kind) = problem {
                return self.scanner.error(kind);
            }
            let from = pool.place(index);
            let mut part = Scanner::at(self.scanner.bytes(), from);
            match read_special(&part, pool)? {
                Some(Special::Reference { index: next, .. }) => index = next,
                Some(Special::List { index: next, take: first, tail }) => {
                    if take > first {
                        segments.push(Segment::new(tail, false, Some((index, take - first))));
                        take = first;
                    }
                    index = next;
                }
                None if part.eat(b'[') => {
                    segments.push(Segment::new(part.offset(), true, Some((index, take))));
                    break;
                }
                _ => return self.scanner.error(JsonErrorKind::Part(PartError::NoList { index })),
            }
        }
        self.open_list(segments);
        Ok(())
    }

    /// Opens a list of which only the own items are still to be read.
    pub(super) fn begin_list_tail(&mut self, tail: usize) {
        self.open_list(vec![Segment::new(tail, false, None)]);
    }

    fn open_list(&mut self, segments: Vec<Segment>) {
        if let Some(follow) = &mut self.follow {
            follow.lists.push(segments);
        }
        self.opened(Open::List);
    }

    /// As `next_item`, in a list that begins as others.
    pub(super) fn next_list_item(&mut self) -> Result<bool, JsonError> {
        let Some(follow) = &mut self.follow else { return Ok(false) };
        let Some(segments) = follow.lists.last_mut() else { return Ok(false) };
        while let Some(segment) = segments.last_mut() {
            if segment.wanted.is_some_and(|(_, wanted)| segment.taken >= wanted) {
                segments.pop();
                continue;
            }
            if !std::mem::replace(&mut segment.entered, true) {
                self.scanner.go(segment.at);
            }
            if self.scanner.eat(b']') {
                if let Some((index, take)) = segment.wanted {
                    let len = segment.taken;
                    let error = PartError::TakesTooMany { index, take, len };
                    return self.scanner.error(JsonErrorKind::Part(error));
                }
                segments.pop();
                if !self.scanner.eat(b'}') {
                    let kind = JsonErrorKind::Part(PartError::Malformed { key: LIST_KEY });
                    return self.scanner.error(kind);
                }
                break;
            }
            if !std::mem::replace(&mut segment.first, false) && !self.scanner.eat(b',') {
                return self.scanner.expected("`,` or the end of a container");
            }
            segment.taken += 1;
            self.value_follows();
            return Ok(true);
        }
        follow.lists.pop();
        self.closed()?;
        Ok(false)
    }
}
