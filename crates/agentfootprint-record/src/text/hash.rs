use sha2::{Digest, Sha256};

use super::UNIT_SEPARATOR;

const FNV_OFFSET: u32 = 2_166_136_261;
const FNV_PRIME: u32 = 16_777_619;

/// Feeds a content hash piece by piece, so that a prefix such as `sp:rag:doc-1:` and a long text need no
/// joined copy.
///
/// ```
/// use agentfootprint_record::text::{ContentHasher, content_hash};
/// let pieces = ContentHasher::new().text("tool:").text("get_order").finish();
/// assert_eq!(pieces, content_hash("tool:get_order"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ContentHasher(u32);

impl Default for ContentHasher {
    fn default() -> Self {
        Self(FNV_OFFSET)
    }
}

impl ContentHasher {
    /// The hash of the empty text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Continues the hash over the UTF-16 units of `text`.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        Self(text.encode_utf16().fold(self.0, |hash, unit| (hash ^ u32::from(unit)).wrapping_mul(FNV_PRIME)))
    }

    /// The hash as a number.
    #[must_use]
    pub fn value(self) -> u32 {
        self.0
    }

    /// The hash as recorded: lower-case hex, unpadded.
    #[must_use]
    pub fn finish(self) -> String {
        format!("{:x}", self.0)
    }
}

/// FNV-1a, 32 bit, over UTF-16 code units (LLM-3).
#[must_use]
pub fn fnv1a_32(text: &str) -> u32 {
    ContentHasher::new().text(text).value()
}

/// The content hash of a text: FNV-1a 32 over UTF-16 units, lower-case hex, **unpadded** (CTX-39).
///
/// ```
/// use agentfootprint_record::text::content_hash;
/// assert_eq!(content_hash(""), "811c9dc5");
/// assert_eq!(content_hash("a"), "e40c292c");
/// ```
#[must_use]
pub fn content_hash(text: &str) -> String {
    ContentHasher::new().text(text).finish()
}

/// The fingerprint of a repeated call: the same hash, padded to eight digits (TOOL-74, the only place that
/// pads).
#[must_use]
pub fn padded_fingerprint(text: &str) -> String {
    format!("{:08x}", fnv1a_32(text))
}

/// SHA-256 as lower-case hex.
///
/// ```
/// use agentfootprint_record::text::sha256_hex;
/// assert!(sha256_hex(b"abc").starts_with("ba7816bf8f01cfea"));
/// ```
#[must_use]
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes.as_ref()))
}

/// The digest of an artifact's bytes: `sha-256:<hex>`.
#[must_use]
pub fn artifact_digest(bytes: impl AsRef<[u8]>) -> String {
    format!("sha-256:{}", sha256_hex(bytes))
}

/// The hash on a receipt: the first 16 hex digits of SHA-256 over the run id, U+001F and the content
/// (AGT-90). The run id salts it, so that receipts of two runs cannot be joined by content (AGT-91).
///
/// ```
/// use agentfootprint_record::text::{receipt_hash, sha256_hex};
/// assert_eq!(receipt_hash("run-1-1", "hi"), sha256_hex("run-1-1\u{1f}hi")[..16]);
/// ```
#[must_use]
pub fn receipt_hash(run_id: &str, content: &str) -> String {
    ReceiptHasher::new(run_id).text(content).finish()
}

/// Feeds a receipt hash piece by piece.
#[derive(Clone, Debug)]
pub struct ReceiptHasher(Sha256);

impl ReceiptHasher {
    /// Starts the hash of one content of the run `run_id`.
    #[must_use]
    pub fn new(run_id: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(run_id.as_bytes());
        hash.update(UNIT_SEPARATOR.encode_utf8(&mut [0; 4]).as_bytes());
        Self(hash)
    }

    /// Continues with `text`.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.0.update(text.as_bytes());
        self
    }

    /// Continues with one of the separators of this module.
    #[must_use]
    pub fn separator(self, separator: char) -> Self {
        self.text(separator.encode_utf8(&mut [0; 4]))
    }

    /// The first 16 hex digits.
    #[must_use]
    pub fn finish(self) -> String {
        let mut digits = hex(&self.0.finalize());
        digits.truncate(16);
        digits
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
