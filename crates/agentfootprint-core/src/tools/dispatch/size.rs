//! The operator's cap on a result (TOOL-73).

use agentfootprint_record::text::utf16_len;
use footprint::value::{Object, Value};

use crate::tools::output::render;
use crate::tools::texts;

/// Replaces a value whose text is over the cap by `{truncated: true, reason, head?}`; anything else passes untouched.
/// `head` is the longest verbatim beginning with which the marker's own text stays within the cap.
pub(super) fn cap(value: Option<Value>, cap: Option<usize>) -> Option<Value> {
    let (Some(cap), Some(present)) = (cap, &value) else { return value };
    let text = render(Some(present));
    let size = utf16_len(&text);
    if size <= cap {
        return value;
    }
    let mut marker = Object::new();
    marker.insert("truncated", Value::from(true));
    marker.insert("reason", Value::from(texts::capped(size, cap)));
    let bare = utf16_len(&Value::Object(marker.clone()).to_string());
    // `,"head":""` around the head itself.
    let room = cap.saturating_sub(bare + 10);
    let head = head(&text, room);
    if !head.is_empty() {
        marker.insert("head", Value::from(head));
    }
    Some(Value::Object(marker))
}

/// The longest beginning whose JSON form, without quotes, has at most `room` units.
fn head(text: &str, room: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += escaped_units(c);
        if used > room {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

/// How many units a character takes in a JSON text.
fn escaped_units(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        c => c.len_utf16(),
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;
    use proptest::prelude::*;

    use super::*;

    /// Proves TOOL-73.
    #[test]
    fn under_the_cap_nothing_changes() {
        assert_eq!(cap(None, Some(3)), None);
        assert_eq!(cap(Some(value!("abc")), Some(3)), Some(value!("abc")));
        assert_eq!(cap(Some(value!({ "a": 1 })), Some(7)), Some(value!({ "a": 1 })));
        assert_eq!(cap(Some(value!("abcd")), None), Some(value!("abcd")));
    }

    /// Proves TOOL-73.
    #[test]
    fn over_the_cap_a_marker_says_what_was_cut() {
        let capped = cap(Some(value!("x".repeat(500))), Some(120)).unwrap();
        assert_eq!(capped.get("truncated"), Some(&value!(true)));
        assert_eq!(capped.get("reason"), Some(&value!("500 characters, cut to the limit of 120")));
        assert_eq!(utf16_len(&capped.to_string()), 120);
        // Nothing fits: no head.
        let tiny = cap(Some(value!("abcdef")), Some(5)).unwrap();
        assert!(tiny.get("head").is_none());
    }

    proptest! {
        /// Proves TOOL-73, TOOL-6.
        #[test]
        fn the_marker_stays_within_the_cap(text in "[a-z\"\\\\\n\u{1}é\u{1F600}]{80,400}", limit in 90usize..200) {
            let capped = cap(Some(Value::from(text.as_str())), Some(limit)).unwrap();
            if capped.as_str().is_none() {
                prop_assert!(utf16_len(&capped.to_string()) <= limit);
                let head = capped.get("head").and_then(Value::as_str).unwrap_or_default();
                prop_assert!(text.starts_with(head));
                // No longer beginning would fit.
                let next = text[head.len()..].chars().next().unwrap();
                let longer = format!("{head}{next}");
                let mut marker = capped.as_object().unwrap().clone();
                marker.insert("head", Value::from(longer));
                prop_assert!(utf16_len(&Value::Object(marker).to_string()) > limit);
            }
        }
    }
}
