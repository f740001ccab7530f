//! Lengths, cuts and order in UTF-16 code units, the unit of every length in a recording.

use std::cmp::Ordering;

/// Length in UTF-16 code units.
///
/// ```
/// assert_eq!(footprint::value::utf16::len("a😀"), 3);
/// ```
pub fn len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// The longest beginning of at most `max` UTF-16 code units; never splits a scalar value.
///
/// ```
/// use footprint::value::utf16::prefix;
/// assert_eq!(prefix("a😀b", 2), "a");
/// assert_eq!(prefix("a😀b", 3), "a😀");
/// ```
pub fn prefix(text: &str, max: usize) -> &str {
    let mut units = 0;
    for (at, c) in text.char_indices() {
        units += c.len_utf16();
        if units > max {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

/// Order by UTF-16 code units, the order of sorted keys in recordings.
///
/// ```
/// use std::cmp::Ordering;
/// use footprint::value::utf16::cmp;
/// // U+1F600 starts with the unit D83D, which is smaller than U+FF5E.
/// assert_eq!(cmp("😀", "\u{ff5e}"), Ordering::Less);
/// ```
pub fn cmp(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}
