//! Text, hashes and canonical JSON: the one place (00-overview §8).
//!
//! Every number on a record that counts "chars" counts UTF-16 code units, every order over strings is the
//! order of UTF-16 code units, and every hash has exactly one formula. Nobody else in the workspace calls
//! `str::len()` for a recorded number, sorts recorded keys with `str::cmp`, or builds a digest by hand.
//!
//! | question | function |
//! |---|---|
//! | how long is this text | [`utf16_len`] |
//! | shorten a text | [`cut`] (says what was dropped), [`summary`] (ends with `…`) |
//! | offsets recorded / offsets for slicing | [`utf16_to_byte`], [`byte_to_utf16`] |
//! | order of two strings | [`utf16_cmp`] |
//! | content hash of an injection, message, tool | [`content_hash`], [`ContentHasher`] |
//! | fingerprint of a repeated call | [`padded_fingerprint`] |
//! | hash on a receipt | [`receipt_hash`], [`ReceiptHasher`] |
//! | digests | [`sha256_hex`], [`artifact_digest`] |
//! | canonical JSON `afp-cjson/1` | [`canonical_json`], [`canonical_number`] |

mod canonical;
mod hash;
mod utf16;

pub use canonical::{CANONICALIZATION, canonical_json, canonical_number, canonical_string};
pub use hash::{
    ContentHasher, ReceiptHasher, artifact_digest, content_hash, fnv1a_32, padded_fingerprint, receipt_hash,
    sha256_hex,
};
pub use utf16::{Cut, SUMMARY_CHARS, byte_to_utf16, cut, summary, utf16_cmp, utf16_len, utf16_to_byte};

/// Separates the run id from the content in a receipt hash, and path segments in bundle rows: U+001F.
pub const UNIT_SEPARATOR: char = '\u{1f}';
/// Separates the parts of one message in a receipt hash: U+001E (AGT-90).
pub const RECORD_SEPARATOR: char = '\u{1e}';
/// Separates the parts of one tool call in a receipt hash: U+001D (AGT-90).
pub const GROUP_SEPARATOR: char = '\u{1d}';
/// Separates the tool calls of one message in a receipt hash: U+001C (AGT-90).
pub const FILE_SEPARATOR: char = '\u{1c}';

#[cfg(test)]
mod tests;
