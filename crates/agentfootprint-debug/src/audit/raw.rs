//! A tolerant reader of JSON text, for bundles written elsewhere (REC-81).
//!
//! Texts are UTF-16 units, because a bundle may hold lone surrogate escapes; numbers keep their spelling until they are written in
//! canonical form.

use agentfootprint_record::text::canonical_number;
use std::fmt::Write as _;

/// Deeper text is refused; the reader recurses once per level.
const MAX_DEPTH: usize = 256;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Raw {
    Null,
    Bool(bool),
    Number(f64),
    Text(Vec<u16>),
    List(Vec<Raw>),
    Map(Vec<(Vec<u16>, Raw)>),
}

impl Raw {
    /// Reads a whole text.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let text = std::str::from_utf8(text)
            .map_err(|error| format!("no UTF-8 after byte {}", error.valid_up_to()))?;
        let mut reader = Reader { text: text.as_bytes(), at: 0 };
        let value = reader.value(0)?;
        reader.space();
        if reader.at < reader.text.len() { Err(reader.error("more text after the end")) } else { Ok(value) }
    }

    /// A member; the last one wins where a name occurs twice, as everywhere else.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(members) = self else { return None };
        let key: Vec<u16> = key.encode_utf16().collect();
        members.iter().rev().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Text(units) => String::from_utf16(units).ok(),
            _ => None,
        }
    }

    pub(super) fn count(&self) -> Option<u64> {
        match self {
            Self::Number(number) if *number >= 0.0 && number.fract() == 0.0 && *number < 9.0e15 => {
                Some(*number as u64)
            }
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Canonical JSON, `afp-cjson/1`, without one top-level member.
    pub(super) fn canonical_without(&self, skipped: Option<&str>) -> String {
        let mut out = String::new();
        match self {
            Self::Map(members) => {
                let skipped: Option<Vec<u16>> = skipped.map(|name| name.encode_utf16().collect());
                write_map(&mut out, members.iter().filter(|(name, _)| Some(name) != skipped.as_ref()));
            }
            other => other.write(&mut out),
        }
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(number) => out.push_str(&canonical_number(*number)),
            Self::Text(units) => write_text(out, units),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Map(members) => write_map(out, members.iter()),
        }
    }
}

fn write_map<'a>(out: &mut String, members: impl Iterator<Item = &'a (Vec<u16>, Raw)>) {
    // A later member of the same name replaces an earlier one.
    let sorted: std::collections::BTreeMap<&[u16], &Raw> =
        members.map(|(name, value)| (name.as_slice(), value)).collect();
    out.push('{');
    for (at, (name, value)) in sorted.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_text(out, name);
        out.push(':');
        value.write(out);
    }
    out.push('}');
}

fn write_text(out: &mut String, units: &[u16]) {
    out.push('"');
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\r') => out.push_str("\\r"),
            Ok('\t') => out.push_str("\\t"),
            Ok('\u{8}') => out.push_str("\\b"),
            Ok('\u{c}') => out.push_str("\\f"),
            Ok(control) if control < ' ' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            Ok(other) => out.push(other),
            Err(lone) => {
                let _ = write!(out, "\\u{:04x}", lone.unpaired_surrogate());
            }
        }
    }
    out.push('"');
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn error(&self, what: &str) -> String {
        format!("{what} at byte {}", self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        self.space();
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.error(&format!("`{}` is missing", char::from(byte))))
    }

    fn word(&mut self, word: &str, value: Raw) -> Result<Raw, String> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(value);
        }
        Err(self.error("no JSON value"))
    }

    fn value(&mut self, depth: usize) -> Result<Raw, String> {
        if depth > MAX_DEPTH {
            return Err(self.error(&format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.space();
        match self.peek() {
            None => Err(self.error("the text ends inside a value")),
            Some(b'n') => self.word("null", Raw::Null),
            Some(b't') => self.word("true", Raw::Bool(true)),
            Some(b'f') => self.word("false", Raw::Bool(false)),
            Some(b'"') => self.string().map(Raw::Text),
            Some(b'[') => {
                self.at += 1;
                let mut items = Vec::new();
                self.space();
                if self.peek() == Some(b']') {
                    self.at += 1;
                    return Ok(Raw::List(items));
                }
                loop {
                    items.push(self.value(depth + 1)?);
                    self.space();
                    if self.peek() == Some(b',') {
                        self.at += 1;
                        continue;
                    }
                    self.expect(b']')?;
                    return Ok(Raw::List(items));
                }
            }
            Some(b'{') => {
                self.at += 1;
                let mut members = Vec::new();
                self.space();
                if self.peek() == Some(b'}') {
                    self.at += 1;
                    return Ok(Raw::Map(members));
                }
                loop {
                    self.space();
                    let name = self.string()?;
                    self.expect(b':')?;
                    members.push((name, self.value(depth + 1)?));
                    self.space();
                    if self.peek() == Some(b',') {
                        self.at += 1;
                        continue;
                    }
                    self.expect(b'}')?;
                    return Ok(Raw::Map(members));
                }
            }
            Some(_) => self.number(),
        }
    }

    fn number(&mut self) -> Result<Raw, String> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
            self.at += 1;
        }
        let text =
            self.text.get(start..self.at).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        match text.parse::<f64>() {
            Ok(number) if text.ends_with(|c: char| c.is_ascii_digit()) => Ok(Raw::Number(number)),
            _ => {
                self.at = start;
                Err(self.error("no JSON value"))
            }
        }
    }

    fn string(&mut self) -> Result<Vec<u16>, String> {
        self.expect(b'"')?;
        let mut units = Vec::new();
        let mut plain = self.at;
        loop {
            match self.peek() {
                None => return Err(self.error("the text ends inside a string")),
                Some(b'"') => {
                    self.plain(plain, &mut units);
                    self.at += 1;
                    return Ok(units);
                }
                Some(b'\\') => {
                    self.plain(plain, &mut units);
                    self.at += 1;
                    let escape = self.peek();
                    self.at += 1;
                    units.push(match escape {
                        Some(b'n') => 0x0a,
                        Some(b'r') => 0x0d,
                        Some(b't') => 0x09,
                        Some(b'b') => 0x08,
                        Some(b'f') => 0x0c,
                        Some(byte @ (b'"' | b'\\' | b'/')) => u16::from(byte),
                        Some(b'u') => self.hex()?,
                        _ => return Err(self.error("an unknown escape")),
                    });
                    plain = self.at;
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn plain(&self, from: usize, units: &mut Vec<u16>) {
        let text =
            self.text.get(from..self.at).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        units.extend(text.encode_utf16());
    }

    fn hex(&mut self) -> Result<u16, String> {
        let digits = self.text.get(self.at..self.at + 4).and_then(|text| std::str::from_utf8(text).ok());
        let unit = digits
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|text| u16::from_str_radix(text, 16).ok());
        match unit {
            Some(unit) => {
                self.at += 4;
                Ok(unit)
            }
            None => Err(self.error("no hexadecimal escape")),
        }
    }
}

#[cfg(test)]
mod tests {
    use agentfootprint_record::text::canonical_json;
    use footprint::value::Value;
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        Raw::parse(text.as_bytes()).map(|raw| raw.canonical_without(None)).unwrap_or_else(|error| error)
    }

    /// Proves REC-79, REC-81.
    #[test]
    fn the_canonical_form_of_foreign_text() {
        for (text, form) in [
            (r#"{"\uffff":1,"𐀀":2}"#, "{\"𐀀\":2,\"\u{ffff}\":1}"),
            (
                "[1e21, 1e20, 5e-324, -0, 0.30000000000000004, 1.0]",
                "[1e+21,100000000000000000000,5e-324,0,0.30000000000000004,1]",
            ),
            (r#""\ud800x\u0001\u001f\b\/""#, r#""\ud800x\u0001\u001f\b/""#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        ] {
            assert_eq!(canonical(text), form);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn agrees_with_the_writer(text in "\\PC{0,20}", number in any::<f64>(), whole in any::<i32>()) {
            let number = if number.is_finite() { number } else { 0.0 };
            let value = Value::from(serde_json::json!({ "t": text, "n": [number, whole], text.clone(): null }));
            prop_assert_eq!(canonical(&value.to_string()), canonical_json(&value));
        }

        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), json in "[\\[\\]{}\",:0-9eE.+\\-tfn\\\\u ]{0,80}") {
            let _ = Raw::parse(&bytes);
            let _ = Raw::parse(json.as_bytes());
        }
    }
}
