use footprint::value;
use footprint::value::Value;
use proptest::prelude::*;

use super::*;

/// Proves LLM-3, CTX-39: the content hash is FNV-1a 32 over UTF-16 units, lower-case hex, unpadded.
#[test]
fn content_hash_is_pinned() {
    for (text, hash) in [
        ("", "811c9dc5"),
        ("a", "e40c292c"),
        ("é", "6c0b6c44"),
        ("\u{2014}\u{2026}", "4b140a3f"),
        ("\u{1F600}", "cb31c4b8"),
    ] {
        assert_eq!(content_hash(text), hash, "{text:?}");
    }
    // A hash with a leading zero digit is shorter; only the repeated-call fingerprint pads (TOOL-74).
    let short = (0..5000).map(|n| n.to_string()).find(|text| fnv1a_32(text) < 0x1000_0000).unwrap();
    assert!(content_hash(&short).len() < 8);
    assert_eq!(padded_fingerprint(&short).len(), 8);
}

/// Proves LLM-3: lengths count UTF-16 units, and the order of strings is the order of units.
#[test]
fn lengths_and_order_are_utf16() {
    assert_eq!(utf16_len("a\u{e9}\u{20ac}\u{1F600}"), 5);
    let mut keys = ["\u{FFFF}", "\u{10000}", "b", "a", ""];
    keys.sort_by(|a, b| utf16_cmp(a, b));
    assert_eq!(keys, ["", "a", "b", "\u{10000}", "\u{FFFF}"]);
}

/// Proves REC-79: the vector table of afp-cjson/1.
#[test]
fn canonical_json_vectors() {
    for (number, text) in [
        (0.0, "0"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (123_456_789_012_345_680_000.0, "123456789012345680000"),
        (1e-7, "1e-7"),
        (1e-6, "0.000001"),
        (0.1 + 0.2, "0.30000000000000004"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (-1.5, "-1.5"),
        (100.0, "100"),
        (123.456, "123.456"),
        (f64::NAN, "null"),
        (f64::INFINITY, "null"),
    ] {
        assert_eq!(canonical_number(number), text);
    }
    assert_eq!(
        canonical_string("\u{8}\u{c}\n\r\t\"\\\u{0}\u{1f}\u{7f}/é\u{1F600}"),
        "\"\\b\\f\\n\\r\\t\\\"\\\\\\u0000\\u001f\u{7f}/é\u{1F600}\""
    );
    let keys = value!({ "\u{FFFF}": 1, "\u{10000}": 2, "b": { "z": [], "a": {} } });
    assert_eq!(canonical_json(&keys), "{\"b\":{\"a\":{},\"z\":[]},\"\u{10000}\":2,\"\u{FFFF}\":1}");
    assert_eq!(canonical_json(&Value::from(u64::MAX)), "18446744073709552000");
}

/// Proves AGT-90: 16 hex digits of SHA-256 over run id, U+001F, content; pieces hash as their join.
#[test]
fn receipt_hash_is_salted_by_run() {
    let whole = receipt_hash("run-1-1", "role\u{1e}content");
    assert_eq!(whole, sha256_hex("run-1-1\u{1f}role\u{1e}content")[..16]);
    let pieces =
        ReceiptHasher::new("run-1-1").text("role").separator(RECORD_SEPARATOR).text("content").finish();
    assert_eq!(pieces, whole);
    assert_ne!(receipt_hash("run-1-2", "role\u{1e}content"), whole);
}

#[test]
fn sha256_and_digest() {
    assert_eq!(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert!(artifact_digest("x").starts_with("sha-256:2d711642"));
}

#[test]
fn canonical_json_of_a_deep_value_does_not_recurse() {
    let deep = (0..20_000).fold(Value::Null, |inner, _| {
        let mut list = footprint::value::Array::new();
        list.push(inner);
        Value::Array(list)
    });
    assert_eq!(canonical_json(&deep).len(), 2 * 20_000 + 4);
    std::mem::forget(deep); // dropping it would recurse; no reader lets one this deep in
}

proptest! {
    /// Proves 00-overview §8: a cut never splits a scalar value, keeps at most the limit, and its statement
    /// adds up.
    #[test]
    fn cut_adds_up(text in any::<String>(), max in 0_usize..40) {
        let cut = cut(&text, max);
        prop_assert!(text.starts_with(cut.kept));
        prop_assert!(utf16_len(cut.kept) <= max);
        prop_assert_eq!(utf16_len(cut.kept) + cut.dropped, text.encode_utf16().count());
        // Nothing more would have fitted.
        if let Some(next) = text[cut.kept.len()..].chars().next() {
            prop_assert!(utf16_len(cut.kept) + next.len_utf16() > max);
        }
        let short = summary(&text, max);
        prop_assert!(utf16_len(&short) <= max);
        prop_assert_eq!(short == text, !cut.is_cut());
    }

    #[test]
    fn offsets_convert_both_ways(text in any::<String>()) {
        for (byte, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let units = byte_to_utf16(&text, byte).unwrap();
            prop_assert_eq!(utf16_to_byte(&text, units), Some(byte));
        }
        prop_assert_eq!(utf16_to_byte(&text, utf16_len(&text) + 1), None);
    }

    #[test]
    fn hashing_pieces_is_hashing_the_join(a in any::<String>(), b in any::<String>()) {
        prop_assert_eq!(ContentHasher::new().text(&a).text(&b).finish(), content_hash(&format!("{a}{b}")));
    }

    /// Proves REC-79: a canonical number reads back as the same double, and integers below 1e21 have no
    /// exponent.
    #[test]
    fn canonical_numbers_read_back(bits in any::<u64>()) {
        let number = f64::from_bits(bits);
        let text = canonical_number(number);
        if number.is_finite() {
            prop_assert_eq!(text.parse::<f64>().unwrap(), number);
            prop_assert!(number.abs() >= 1e21 || number.fract() != 0.0 || !text.contains(['e', '.']));
        } else {
            prop_assert_eq!(text, "null");
        }
    }

    /// Proves REC-79: canonical JSON is JSON of an equal value, and does not depend on key order.
    #[test]
    fn canonical_json_is_order_free(value in crate::tests::json(), seed in any::<u64>()) {
        let text = canonical_json(&value);
        let reread: Value = text.parse().unwrap();
        prop_assert_eq!(canonical_json(&reread), text.clone());
        prop_assert_eq!(canonical_json(&crate::tests::shuffled(&value, seed)), text);
    }

    #[test]
    fn utf16_order_is_the_order_of_units(a in any::<String>(), b in any::<String>()) {
        let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        prop_assert_eq!(utf16_cmp(&a, &b), units(&a).cmp(&units(&b)));
    }
}
