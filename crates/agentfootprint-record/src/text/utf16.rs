use std::cmp::Ordering;

use footprint::value::utf16;

/// The limit of a recorded one-line summary (`contentSummary`, `resultSummary`), in UTF-16 units.
pub const SUMMARY_CHARS: usize = 80;

/// The length of `text` in UTF-16 code units: what every recorded "chars" number counts (LLM-3).
///
/// ```
/// use agentfootprint_record::text::utf16_len;
/// assert_eq!(utf16_len("caf\u{e9}"), 4);
/// assert_eq!(utf16_len("\u{1F600}"), 2); // one scalar value, two units
/// ```
#[must_use]
pub fn utf16_len(text: &str) -> usize {
    utf16::len(text) // one implementation for the workspace: the engine's
}

/// What [`cut`] kept and what it dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut<'a> {
    /// The kept beginning; always ends at a scalar value.
    pub kept: &'a str,
    /// How many UTF-16 units were dropped; 0 when nothing was.
    pub dropped: usize,
}

impl Cut<'_> {
    /// Whether something was dropped.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.dropped > 0
    }
}

/// Keeps at most `max` UTF-16 units from the start of `text`, never splitting a scalar value, and states
/// how much was dropped.
///
/// ```
/// use agentfootprint_record::text::cut;
/// let short = cut("na\u{1F600}ve", 3); // the emoji would need units 3 and 4
/// assert_eq!((short.kept, short.dropped), ("na", 4));
/// assert!(!cut("naive", 5).is_cut());
/// ```
#[must_use]
pub fn cut(text: &str, max: usize) -> Cut<'_> {
    let kept = utf16::prefix(text, max);
    Cut { kept, dropped: utf16_len(text.get(kept.len()..).unwrap_or_default()) }
}

/// A text of at most `max` UTF-16 units: `text` itself, or its beginning and `…`.
///
/// ```
/// use agentfootprint_record::text::summary;
/// assert_eq!(summary("short", 80), "short");
/// assert_eq!(summary("abcdef", 4), "abc…");
/// ```
#[must_use]
pub fn summary(text: &str, max: usize) -> String {
    if !cut(text, max).is_cut() {
        return text.to_owned();
    }
    let kept = cut(text, max.saturating_sub(1)).kept;
    if max == 0 { String::new() } else { format!("{kept}…") }
}

/// The byte offset of the UTF-16 offset `units`, for slicing at a recorded offset (MEM-105). `None` past
/// the end or inside a scalar value.
#[must_use]
pub fn utf16_to_byte(text: &str, units: usize) -> Option<usize> {
    let mut seen = 0;
    for (at, c) in text.char_indices() {
        if seen == units {
            return Some(at);
        }
        if seen > units {
            return None;
        }
        seen += c.len_utf16();
    }
    (seen == units).then_some(text.len())
}

/// The UTF-16 offset of the byte offset `at`, for recording (MEM-105). `None` past the end or inside a
/// scalar value.
#[must_use]
pub fn byte_to_utf16(text: &str, at: usize) -> Option<usize> {
    text.get(..at).map(utf16_len)
}

/// The order of two strings by UTF-16 code unit: the order of sorted keys, guards, filters and graph text.
///
/// It differs from Rust's own (scalar value) order only where a supplementary character meets one from
/// U+E000 on:
///
/// ```
/// use agentfootprint_record::text::utf16_cmp;
/// use std::cmp::Ordering;
/// assert_eq!(utf16_cmp("\u{10000}", "\u{FFFF}"), Ordering::Less);
/// assert_eq!("\u{10000}".cmp("\u{FFFF}"), Ordering::Greater);
/// ```
#[must_use]
pub fn utf16_cmp(a: &str, b: &str) -> Ordering {
    utf16::cmp(a, b)
}
