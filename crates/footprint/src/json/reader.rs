use std::borrow::Cow;
use std::sync::Arc;

use super::build::Built;
use super::pool::Special;
use super::scan::Scanner;
use super::shared::Follow;
use super::{JsonError, JsonErrorKind};
use crate::value::{MAX_DEPTH, Number, Str, names};

/// How deep one value of a recording may nest. A written value is limited to [`MAX_DEPTH`]; in a recording it
/// stands inside the containers of state, of nested branches and of its bundle.
pub const RECORDED_DEPTH: usize = 3 * MAX_DEPTH;

/// Limits a caller sets for texts it does not trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest text accepted, in bytes.
    pub max_bytes: usize,
    /// Deepest nesting accepted.
    pub max_depth: usize,
}

/// No limits: reading takes one byte of memory per open container, so depth is bounded by the text.
impl Default for Limits {
    fn default() -> Self {
        Self { max_bytes: usize::MAX, max_depth: usize::MAX }
    }
}

/// One step of a JSON text.
#[derive(Debug, Clone, PartialEq)]
pub enum Token<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string; borrowed when it holds no escapes.
    String(Cow<'a, str>),
    /// `[`
    BeginArray,
    /// `]`
    EndArray,
    /// `{`
    BeginObject,
    /// A key; its value follows.
    Key(Cow<'a, str>),
    /// `}`
    EndObject,
    /// Nothing is left.
    End,
}

/// What kind of value comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// A list.
    Array,
    /// A map.
    Object,
}

impl TokenKind {
    fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// What must come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// Inside a container, before a separator, an entry or the end; `first` = nothing read yet.
    Inside {
        first: bool,
    },
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    Array,
    Object,
    /// An array that begins as others do.
    List,
}

/// Pulls a JSON text apart with an explicit stack; see the [module description](super).
///
/// Two ways to drive it may be mixed freely: [`next_token`](Self::next_token), or the calls that say what
/// they expect ([`begin_object`](Self::begin_object), [`next_key`](Self::next_key) …).
#[derive(Debug)]
pub struct JsonReader<'a> {
    pub(super) scanner: Scanner<'a>,
    open: Vec<Open>,
    expect: Expect,
    limits: Limits,
    too_long: bool,
    keys: KeyCache,
    /// Room for the containers of a value that is read whole.
    pub(super) building: Vec<Built>,
    /// Set where parts are shared and pointed at.
    pub(super) follow: Option<Box<Follow<'a>>>,
}

impl<'a> JsonReader<'a> {
    /// A reader without limits.
    pub fn new(text: &'a [u8]) -> Self {
        Self::with_limits(text, Limits::default())
    }

    /// A reader that refuses what is larger than its limits.
    pub fn with_limits(text: &'a [u8], limits: Limits) -> Self {
        Self {
            scanner: Scanner::new(text),
            open: Vec::new(),
            expect: Expect::Value,
            limits,
            too_long: text.len() > limits.max_bytes,
            keys: KeyCache::default(),
            building: Vec::new(),
            follow: None,
        }
    }

    /// Byte offset of what is read next.
    pub fn offset(&self) -> usize {
        self.scanner.offset()
    }

    /// Number of open containers.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// An error at the current position, for readers built on this one.
    pub fn error<T>(&self, expected: &'static str) -> Result<T, JsonError> {
        self.scanner.error(JsonErrorKind::Expected { expected })
    }

    /// The kind of the value that comes next, without consuming it.
    pub fn peek(&mut self) -> Result<TokenKind, JsonError> {
        self.at_value()?;
        if self.follow.is_some()
            && let Some(kind) = self.follow_pointers()?
        {
            return Ok(kind);
        }
        Ok(match self.scanner.peek() {
            Some(b'{') => TokenKind::Object,
            Some(b'[') => TokenKind::Array,
            Some(b'"') => TokenKind::String,
            Some(b'n') => TokenKind::Null,
            Some(b't' | b'f') => TokenKind::Bool,
            Some(b'-' | b'0'..=b'9') => TokenKind::Number,
            _ => return self.scanner.expected("a value"),
        })
    }

    /// Checks that a value comes next.
    pub(super) fn at_value(&self) -> Result<(), JsonError> {
        if self.too_long {
            return self.scanner.error(JsonErrorKind::TooLong { limit: self.limits.max_bytes });
        }
        if self.expect != Expect::Value {
            return self.scanner.expected("a call that advances to a value");
        }
        Ok(())
    }

    /// The next step, whatever it is.
    pub fn next_token(&mut self) -> Result<Token<'a>, JsonError> {
        match (self.expect, self.open.last()) {
            (Expect::Nothing, _) => return Ok(Token::End),
            (Expect::Inside { .. }, Some(Open::Object)) => {
                return Ok(self.next_key()?.map_or(Token::EndObject, Token::Key));
            }
            (Expect::Inside { .. }, _) => {
                if !self.next_item()? {
                    return Ok(Token::EndArray);
                }
            }
            (Expect::Value, _) => {}
        }
        Ok(match self.peek()? {
            TokenKind::Object => {
                self.begin_object()?;
                Token::BeginObject
            }
            TokenKind::Array => {
                self.begin_array()?;
                Token::BeginArray
            }
            TokenKind::String => Token::String(self.read_string()?),
            TokenKind::Number => Token::Number(self.read_number()?),
            TokenKind::Bool => Token::Bool(self.read_bool()?),
            TokenKind::Null => {
                self.read_null()?;
                Token::Null
            }
        })
    }

    /// Opens a map.
    pub fn begin_object(&mut self) -> Result<(), JsonError> {
        self.begin(TokenKind::Object, Open::Object)
    }

    /// Opens a list.
    pub fn begin_array(&mut self) -> Result<(), JsonError> {
        if self.follow.is_some()
            && self.peek()? == TokenKind::Array
            && let Some(Special::List { index, take, tail }) = self.special()?
        {
            return self.begin_list(index, take, tail);
        }
        self.begin(TokenKind::Array, Open::Array)
    }

    fn begin(&mut self, kind: TokenKind, open: Open) -> Result<(), JsonError> {
        self.want(kind)?;
        if self.open.len() >= self.limits.max_depth {
            return self.scanner.error(JsonErrorKind::TooDeep { limit: self.limits.max_depth });
        }
        self.scanner.eat(if open == Open::Object { b'{' } else { b'[' });
        self.opened(open);
        Ok(())
    }

    pub(super) fn opened(&mut self, open: Open) {
        self.open.push(open);
        self.expect = Expect::Inside { first: true };
    }

    pub(super) fn closed(&mut self) -> Result<(), JsonError> {
        self.open.pop();
        self.after_value()
    }

    pub(super) fn value_follows(&mut self) {
        self.expect = Expect::Value;
    }

    /// The next key of the open map, or `None` at its end, which closes it.
    pub fn next_key(&mut self) -> Result<Option<Cow<'a, str>>, JsonError> {
        if !self.advance(Open::Object, b'}', "a key, or the end of an object")? {
            return Ok(None);
        }
        self.scanner.peek();
        let key = self.scanner.string()?;
        if !self.scanner.eat(b':') {
            return self.scanner.expected("`:`");
        }
        self.expect = Expect::Value;
        Ok(Some(key))
    }

    /// Whether the open list has another item; `false` closes it.
    pub fn next_item(&mut self) -> Result<bool, JsonError> {
        if self.open.last() == Some(&Open::List) && self.expect != Expect::Value {
            return self.next_list_item();
        }
        let more = self.advance(Open::Array, b']', "an item, or the end of an array")?;
        if more {
            self.expect = Expect::Value;
        }
        Ok(more)
    }

    /// Moves over the separator before the next entry; `false` when the container ended.
    fn advance(&mut self, open: Open, end: u8, what: &'static str) -> Result<bool, JsonError> {
        let Expect::Inside { first } = self.expect else { return self.scanner.expected("a value first") };
        if self.open.last() != Some(&open) {
            return self.scanner.expected(what);
        }
        if self.scanner.eat(end) {
            self.closed()?;
            return Ok(false);
        }
        if !first && !self.scanner.eat(b',') {
            return self.scanner.expected("`,` or the end of a container");
        }
        Ok(true)
    }

    pub(super) fn after_value(&mut self) -> Result<(), JsonError> {
        if self.follow.is_some() {
            self.leave_parts()?;
        }
        self.expect = if self.open.is_empty() { Expect::Nothing } else { Expect::Inside { first: false } };
        Ok(())
    }

    fn want(&mut self, kind: TokenKind) -> Result<(), JsonError> {
        let found = self.peek()?;
        if found == kind {
            return Ok(());
        }
        self.scanner.error(JsonErrorKind::WrongKind { expected: kind.name(), found: found.name() })
    }

    /// Reads a string.
    pub fn read_string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.want(TokenKind::String)?;
        let text = self.scanner.string()?;
        self.after_value()?;
        Ok(text)
    }

    /// Reads a number.
    pub fn read_number(&mut self) -> Result<Number, JsonError> {
        self.want(TokenKind::Number)?;
        let number = self.scanner.number()?;
        self.after_value()?;
        Ok(number)
    }

    /// Reads `true` or `false`.
    pub fn read_bool(&mut self) -> Result<bool, JsonError> {
        self.want(TokenKind::Bool)?;
        let value = self.scanner.peek() == Some(b't');
        self.scanner.literal(if value { "true" } else { "false" })?;
        self.after_value()?;
        Ok(value)
    }

    /// Reads `null`.
    pub fn read_null(&mut self) -> Result<(), JsonError> {
        self.want(TokenKind::Null)?;
        self.scanner.literal("null")?;
        self.after_value()?;
        Ok(())
    }

    /// Skips the next value whole, however deep it is. Pointers in it are not followed.
    pub fn skip_value(&mut self) -> Result<(), JsonError> {
        if self.follow.is_some() {
            self.at_value()?;
            self.scanner.skip_value()?;
            return self.after_value();
        }
        self.skip_out(self.open.len())
    }

    /// Skips the rest of a value that was begun when `outside` containers were open.
    pub(crate) fn skip_out(&mut self, outside: usize) -> Result<(), JsonError> {
        loop {
            if self.expect == Expect::Value && self.peek()? == TokenKind::String {
                self.scanner.skip_string()?;
                self.after_value()?;
            } else {
                self.next_token()?;
            }
            if self.open.len() <= outside && self.expect != Expect::Value {
                return Ok(());
            }
        }
    }

    /// Checks that nothing but white space is left.
    pub fn finish(&mut self) -> Result<(), JsonError> {
        if self.expect != Expect::Nothing {
            return self.scanner.expected("the end of the value");
        }
        match self.scanner.peek() {
            None => Ok(()),
            Some(_) => self.scanner.error(JsonErrorKind::TrailingText),
        }
    }

    /// A key as shared text; keys seen before are not allocated again.
    pub fn share_key(&mut self, key: &str) -> Str {
        self.keys.share(key)
    }
}

/// Recordings repeat a few hundred keys many times: each is allocated once. Short ones are shared with all other
/// texts this thread reads.
#[derive(Debug, Default)]
struct KeyCache {
    long: Vec<Option<Str>>,
}

impl KeyCache {
    const SLOTS: usize = 512;

    fn share(&mut self, key: &str) -> Str {
        if names::is_short(key) {
            return names::shared(key);
        }
        if self.long.is_empty() {
            self.long.resize(Self::SLOTS, None);
        }
        let hash =
            key.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
        let Some(slot) = self.long.get_mut(hash as usize % Self::SLOTS) else { return Arc::from(key) };
        match slot {
            Some(known) if **known == *key => known.clone(),
            _ => {
                let shared: Str = Arc::from(key);
                *slot = Some(shared.clone());
                shared
            }
        }
    }
}
