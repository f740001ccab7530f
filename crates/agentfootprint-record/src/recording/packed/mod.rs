//! The packed form: every value that occurs several times is written once (REC-15 to REC-18).
//!
//! A growing conversation repeats itself: each iteration's event holds the whole history, each mount's exit
//! holds it again. Packing makes one table of the repeated values and puts references in their places, so the
//! size grows with what happened and not with how often it was repeated (REC-14).
//!
//! `{"format":"agentfootprint.recording.packed.v1","values":[…],"recording":…}`, where `{"$af:ref":n}` stands
//! for `values[n]`, and an object of the recording's own that has one of the two reserved keys is written
//! `{"$af:esc":<object>}`, its content literal.
//!
//! Both directions work on a [`Document`]: an arena in which equal subtrees are one node, so neither needs
//! recursion nor more memory than the distinct values take.

mod document;
mod unpack;
mod write;

pub(super) use document::{Document, NodeId};

use super::RecordingError;

/// The format id of the packed form.
pub const PACKED_FORMAT: &str = "agentfootprint.recording.packed.v1";
/// What every version of the packed form starts its format id with.
pub const PACKED_FORMAT_FAMILY: &str = "agentfootprint.recording.packed.";
/// Only values whose JSON text has at least this many UTF-16 units are pooled (REC-16).
pub const MIN_POOLED_CHARS: u64 = 64;

pub(super) const REF_KEY: &str = "$af:ref";
pub(super) const ESC_KEY: &str = "$af:esc";

/// A packed recording that cannot be unpacked (REC-17).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackedRecordingError {
    /// Another version of the packed form.
    #[error("packed format `{format}` is not known: this version unpacks `{PACKED_FORMAT}`")]
    UnknownFormat {
        /// The format id.
        format: String,
    },
    /// `values` or `recording` is missing, or of another kind.
    #[error("the packed recording has no usable `{part}`")]
    MissingPart {
        /// The part.
        part: &'static str,
    },
    /// A reference to a value that is not there.
    #[error("the packed recording refers to value {index}, but has {count}")]
    OutOfRange {
        /// The reference as it stands.
        index: String,
        /// How many values there are.
        count: usize,
    },
    /// A value that contains itself.
    #[error("value {index} of the packed recording contains itself")]
    ContainsItself {
        /// The value.
        index: usize,
    },
}

/// Packs the JSON text of a recording, or of an envelope.
///
/// # Errors
/// [`RecordingError`] when the text is not JSON.
///
/// ```
/// use agentfootprint_record::recording::{pack, unpack};
/// let long = "x".repeat(100);
/// let text = format!(r#"{{"a":"{long}","b":["{long}"]}}"#);
/// let packed = pack(text.as_bytes())?;
/// assert!(packed.len() < text.len() + 100);
/// assert_eq!(unpack(packed.as_bytes())?, text);
/// # Ok::<(), agentfootprint_record::recording::RecordingError>(())
/// ```
pub fn pack(text: &[u8]) -> Result<String, RecordingError> {
    Ok(write::packed(&Document::parse(text)?))
}

/// Unpacks a packed recording into its JSON text; a text that is not packed comes back unchanged in meaning
/// (REC-17).
///
/// # Errors
/// [`RecordingError`] when the text is not JSON, or the packed form is damaged or of another version.
pub fn unpack(text: &[u8]) -> Result<String, RecordingError> {
    let document = Document::parse(text)?;
    let (document, root) = document.unpacked()?;
    Ok(document.text(root))
}
