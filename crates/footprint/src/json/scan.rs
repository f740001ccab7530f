//! The lexical level: strings, numbers and literals at a byte position.

use std::borrow::Cow;

use super::{JsonError, JsonErrorKind};
use crate::value::Number;

/// How many bytes at the start stand for themselves in a string: no quote, no backslash, no control character.
/// Eight are looked at together; of those found in one word the lowest is exact, which is the one that counts.
pub(super) fn plain_len(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let below = |other: u64, limit: u8| other.wrapping_sub(ONES * u64::from(limit)) & !other;
        let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
        let found = (below(word, 0x20) | equal(b'"') | equal(b'\\')) & HIGH;
        if found != 0 {
            return at * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    let special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
    words.len() * 8 + rest.iter().position(special).unwrap_or(rest.len())
}

/// A position in a text.
#[derive(Debug, Clone)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// A scanner that stands somewhere in a text.
    pub(super) fn at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The whole text.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Moves to another place of the text.
    pub(super) fn go(&mut self, at: usize) {
        self.at = at;
    }

    /// Whether the string that comes next may be a reserved key: it begins with `$`, or with an escape.
    pub(super) fn may_be_reserved(&self) -> bool {
        matches!(self.bytes.get(self.at + 1), Some(b'$' | b'\\'))
    }

    /// Moves behind the next value, finding its end without checking what is in it.
    pub(super) fn skip_value(&mut self) -> Result<(), JsonError> {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                Some(b'"') => self.skip_string()?,
                Some(b'{' | b'[') => {
                    self.at += 1;
                    depth += 1;
                    continue;
                }
                Some(b'}' | b']') if depth > 0 => {
                    self.at += 1;
                    depth -= 1;
                }
                Some(b',' | b':') if depth > 0 => {
                    self.at += 1;
                    continue;
                }
                None | Some(b'}' | b']' | b',' | b':') => return self.expected("a value"),
                Some(_) => {
                    let rest = self.bytes.get(self.at..).unwrap_or_default();
                    let ends = |byte: &u8| {
                        matches!(
                            byte,
                            b',' | b':' | b']' | b'}' | b'[' | b'{' | b'"' | b' ' | b'\n' | b'\t' | b'\r'
                        )
                    };
                    self.at += rest.iter().position(ends).unwrap_or(rest.len());
                }
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    pub(super) fn offset(&self) -> usize {
        self.at
    }

    pub(super) fn error<T>(&self, kind: JsonErrorKind) -> Result<T, JsonError> {
        Err(JsonError { offset: self.at, kind })
    }

    pub(super) fn expected<T>(&self, expected: &'static str) -> Result<T, JsonError> {
        match self.bytes.get(self.at) {
            Some(_) => self.error(JsonErrorKind::Expected { expected }),
            None => self.error(JsonErrorKind::UnexpectedEnd),
        }
    }

    /// The next byte that is not white space, without consuming it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    /// Consumes one byte if it is the next that is not white space.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    /// Consumes `null`, `true` or `false`.
    pub(super) fn literal(&mut self, word: &'static str) -> Result<(), JsonError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        self.expected(word)
    }

    pub(super) fn number(&mut self) -> Result<Number, JsonError> {
        let start = self.at;
        let negative = self.take(b'-');
        let digits_from = self.at;
        let digits = self.digits();
        // A leading zero stands alone.
        if digits == 0 || (digits > 1 && self.bytes.get(digits_from) == Some(&b'0')) {
            return self.error(JsonErrorKind::InvalidNumber);
        }
        let mut integer = true;
        if self.take(b'.') {
            integer = false;
            if self.digits() == 0 {
                return self.error(JsonErrorKind::InvalidNumber);
            }
        }
        if self.take(b'e') || self.take(b'E') {
            integer = false;
            let _sign = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 {
                return self.error(JsonErrorKind::InvalidNumber);
            }
        }
        if integer && digits <= 18 {
            let digits = self.bytes.get(digits_from..self.at).unwrap_or_default();
            let magnitude = digits.iter().fold(0i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
            return Ok(Number::from(if negative { -magnitude } else { magnitude }));
        }
        let text = self.bytes.get(start..self.at).and_then(|bytes| std::str::from_utf8(bytes).ok());
        match text.and_then(Number::parse) {
            Some(number) => Ok(number),
            None => Err(JsonError { offset: start, kind: JsonErrorKind::InvalidNumber }),
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        if found {
            self.at += 1;
        }
        found
    }

    fn digits(&mut self) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    /// Consumes a string, the opening quote being the next byte; borrows when there is no escape.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        if !self.take(b'"') {
            return self.expected("a string");
        }
        let start = self.at;
        self.plain_run();
        if self.take(b'"') {
            return self.text(start, self.at - 1).map(Cow::Borrowed);
        }
        let mut owned = String::from(self.text(start, self.at)?);
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(owned));
                }
                Some(b'\\') => {
                    self.at += 1;
                    owned.push(self.escape()?);
                }
                Some(byte) if *byte >= 0x20 => {
                    let from = self.at;
                    self.plain_run();
                    owned.push_str(self.text(from, self.at)?);
                }
                Some(_) => return self.error(JsonErrorKind::InvalidString),
                None => return self.error(JsonErrorKind::UnexpectedEnd),
            }
        }
    }

    /// Consumes a string without building it. Escapes are not examined further than needed to find the end.
    pub(super) fn skip_string(&mut self) -> Result<(), JsonError> {
        if !self.take(b'"') {
            return self.expected("a string");
        }
        loop {
            self.plain_run();
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.at += 2,
                Some(_) => return self.error(JsonErrorKind::InvalidString),
                None => return self.error(JsonErrorKind::UnexpectedEnd),
            }
        }
    }

    /// Moves over bytes that stand for themselves.
    fn plain_run(&mut self) {
        self.at += plain_len(self.bytes.get(self.at..).unwrap_or_default());
    }

    fn text(&self, from: usize, to: usize) -> Result<&'a str, JsonError> {
        let bytes = self.bytes.get(from..to).unwrap_or_default();
        std::str::from_utf8(bytes).map_err(|error| JsonError {
            offset: from + error.valid_up_to(),
            kind: JsonErrorKind::InvalidUtf8,
        })
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let Some(byte) = self.bytes.get(self.at).copied() else {
            return self.error(JsonErrorKind::UnexpectedEnd);
        };
        let plain = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return self.error(JsonErrorKind::InvalidString),
        };
        self.at += 1;
        Ok(plain)
    }

    /// The four digits after `\u`, and the second half of a pair. Half a pair reads as U+FFFD.
    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let first = self.hex4()?;
        if let Some(c) = char::from_u32(first.into()) {
            return Ok(c);
        }
        let after_first = self.at;
        if first < 0xDC00 && self.take(b'\\') && self.take(b'u') {
            let second = self.hex4()?;
            if let Some(Ok(c)) = char::decode_utf16([first, second]).next() {
                return Ok(c);
            }
        }
        self.at = after_first;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u16, JsonError> {
        let digits = self.bytes.get(self.at..self.at + 4).unwrap_or_default();
        let all_hex = digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit);
        let unit = std::str::from_utf8(digits).ok().and_then(|text| u16::from_str_radix(text, 16).ok());
        match unit {
            Some(unit) if all_hex => {
                self.at += 4;
                Ok(unit)
            }
            _ => self.error(JsonErrorKind::InvalidString),
        }
    }
}
