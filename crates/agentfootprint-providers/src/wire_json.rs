//! Reading the JSON of a wire, generously where its meaning is certain.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value as Json};

const BOM: &[u8] = &[0xEF, 0xBB, 0xBF];

/// A BOM, as some proxies put it in front of a body, is not part of it.
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BOM).unwrap_or(bytes)
}

/// The bytes from the first one on that says something.
pub(crate) fn from_first_byte(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace() && !BOM.contains(byte));
    start.and_then(|start| bytes.get(start..)).unwrap_or_default()
}

/// The first byte that says something.
pub(crate) fn first_byte(bytes: &[u8]) -> Option<u8> {
    from_first_byte(bytes).first().copied()
}

/// Parses a body, or the data of a frame. A BOM in front is skipped, and half of an escaped surrogate pair is read as
/// U+FFFD: a server that cuts its text into pieces by code units sends such halves.
pub(crate) fn parse(bytes: &[u8]) -> Result<Json, serde_json::Error> {
    parse_without(bytes, &[])
}

/// The same without the fields of these names at the top of an object: their values are checked and built of nothing.
pub(crate) fn parse_without(bytes: &[u8], unread: &[&str]) -> Result<Json, serde_json::Error> {
    let bytes = without_bom(bytes);
    read(bytes, unread).or_else(|error| match mended(bytes) {
        Cow::Owned(mended) => read(&mended, unread).map_err(|_| error),
        Cow::Borrowed(_) => Err(error),
    })
}

fn read(bytes: &[u8], unread: &[&str]) -> Result<Json, serde_json::Error> {
    if unread.is_empty() || first_byte(bytes) != Some(b'{') {
        return serde_json::from_slice(bytes);
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let fields = reader.deserialize_map(Fields { unread })?;
    reader.end()?;
    Ok(Json::Object(fields))
}

/// Reads the fields of an object that are wanted.
struct Fields<'a> {
    unread: &'a [&'a str],
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Map<String, Json>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = entries.next_key::<Name<'de>>()? {
            if self.unread.contains(&&*name.0) {
                entries.next_value::<IgnoredAny>()?;
            } else {
                fields.insert(name.0.into_owned(), entries.next_value()?);
            }
        }
        Ok(fields)
    }
}

/// A field's name, borrowed from the bytes where it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// The text with every escaped half of a surrogate pair replaced.
fn mended(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Cow::Borrowed(bytes);
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        let start = at + found;
        let Some(unit) = unit_at(bytes, start) else {
            at = start + 2; // an escape of another kind; the character after the backslash belongs to it
            continue;
        };
        let is_pair = (0xD800..0xDC00).contains(&unit)
            && unit_at(bytes, start + 6).is_some_and(|low| (0xDC00..0xE000).contains(&low));
        at = start + if is_pair { 12 } else { 6 };
        if !is_pair && (0xD800..0xE000).contains(&unit) {
            let digits = out.to_mut().get_mut(start + 2..start + 6);
            if let Some(digits) = digits {
                digits.copy_from_slice(b"fffd");
            }
        }
    }
    out
}

/// The code unit of a `\uXXXX` escape.
fn unit_at(bytes: &[u8], start: usize) -> Option<u32> {
    let digits = bytes.get(start..start + 6)?.strip_prefix(b"\\u")?;
    let all_hex = digits.iter().all(u8::is_ascii_hexdigit);
    u32::from_str_radix(std::str::from_utf8(digits).ok().filter(|_| all_hex)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        /// Leaving fields out changes nothing else: neither the others, nor what is refused.
        #[test]
        fn unread_fields_are_left_out_alone(
            fields in prop::collection::vec(("a|b|created|model", "[^\\p{C}]{0,6}"), 0..6),
            cut in 0_usize..60,
        ) {
            let body: Vec<String> = fields.iter().map(|(name, text)| format!("\"{name}\": {}", json!([text, 1.5]))).collect();
            let text = format!(" {{{}}}", body.join(", "));
            let bytes = text.as_bytes().get(..cut).unwrap_or(text.as_bytes());
            let mut whole = parse(bytes).map_err(|error| error.column());
            if let Ok(Json::Object(fields)) = &mut whole {
                fields.retain(|name, _| name != "created" && name != "model");
            }
            prop_assert_eq!(parse_without(bytes, &["created", "model"]).map_err(|error| error.column()), whole);
        }
    }

    /// Proves LLM-18.
    #[test]
    fn halves_of_pairs_are_read_and_damage_is_not() {
        let read = |text: &str| parse(text.as_bytes()).ok();
        assert_eq!(read("\u{feff}{\"a\":1}"), Some(json!({"a": 1})));
        assert_eq!(read(r#"{"a":"x\ud83d"}"#), Some(json!({"a": "x\u{fffd}"})));
        assert_eq!(
            read(r#"["\ude00y", "\ud83d\ude00", "\ud83dz"]"#),
            Some(json!(["\u{fffd}y", "😀", "\u{fffd}z"]))
        );
        assert_eq!(read(r#"["\ud83d\ud83d\ude00"]"#), Some(json!(["\u{fffd}😀"])));
        assert_eq!(read(r#"["\\ud83d"]"#), Some(json!(["\\ud83d"])), "an escaped backslash is no escape");
        for damaged in [r#"{"a":"\ud83d""#, r#"["\ud8"]"#, r#"["\u"]"#, "\\", "\\u", "", "{"] {
            assert_eq!(read(damaged), None, "{damaged}");
        }
        assert_eq!(first_byte("\u{feff} \n<x".as_bytes()), Some(b'<'));
    }

    proptest! {
        #[test]
        fn what_a_parser_reads_is_read_alike(text in "\\PC{0,40}", bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let written = serde_json::to_vec(&json!({"t": text})).unwrap();
            prop_assert_eq!(parse(&written).unwrap(), json!({"t": text}));
            let _ = parse(&bytes);
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            prop_assert_eq!(parse(format!("[\"{escaped}\"]").as_bytes()).unwrap(), json!([text]));
        }
    }
}
