//! The packed form: what is repeated is written once (REC-15 to REC-18).
//!
//! A growing conversation repeats itself: each iteration's event holds the whole history, each mount's exit
//! holds it again. Packing makes one table of the repeated values and puts references in their places, so the
//! size grows with what happened and not with how often it was repeated (REC-14).
//!
//! `{"format":"agentfootprint.recording.packed.v2","values":[…],"recording":…}`, where `{"$af:ref":n}` stands for
//! `values[n]`, `{"$af:list":[n,k,…]}` for the first `k` items of the list `values[n]` stands for and the items
//! after them, and `{"$af:esc":{…}}` for a map of the recording's own that has one of these keys.
//!
//! | way | how |
//! |---|---|
//! | a recording in memory | its values are taken by their addresses: what is shared is not even looked at again |
//! | the text of one | equal parts are found by their text |
//! | opening | a reader follows the pointers (`footprint::json::Pool`); values are made once and shared |
//!
//! Nothing recurses, and nothing is ever written out in full in between.

mod arena;
mod emit;
mod growth;
mod packer;
mod sink;

use footprint::json::{
    Dialect, JsonError, JsonErrorKind, JsonReader, JsonWriter, PartError, Pool, Raw, TokenKind,
};
use footprint::snapshot::OpenLimits;

pub(super) use sink::PackSink;

use super::RecordingError;
use super::compressed::decompress;
use super::open::json_error;

/// The format id of the packed form.
pub const PACKED_FORMAT: &str = "agentfootprint.recording.packed.v2";
/// The format id of the packed form without lists that begin as others. It is read, not written.
pub const PACKED_FORMAT_V1: &str = "agentfootprint.recording.packed.v1";
/// What every version of the packed form starts its format id with.
pub const PACKED_FORMAT_FAMILY: &str = "agentfootprint.recording.packed.";
/// Only values whose JSON text has at least this many bytes are pooled (REC-16).
pub const MIN_POOLED_CHARS: u64 = 64;

/// A packed recording that cannot be unpacked (REC-17).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackedRecordingError {
    /// Another version of the packed form.
    #[error(
        "packed format `{format}` is not known: this version unpacks `{PACKED_FORMAT}` and `{PACKED_FORMAT_V1}`"
    )]
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
    /// A list that begins as a value that is no list.
    #[error("a list of the packed recording begins as value {index}, which is no list")]
    NoList {
        /// The value.
        index: usize,
    },
    /// A list that begins with more items of a value than that has.
    #[error("a list of the packed recording takes {take} items of value {index}, which has {len}")]
    TakesTooMany {
        /// The value.
        index: usize,
        /// How many it takes.
        take: usize,
        /// How many there are.
        len: usize,
    },
    /// A reserved key in a map that is no reference, list or escape.
    #[error(
        "`{key}` does not stand in the packed recording as it must: alone in its map, and with what belongs to it"
    )]
    Malformed {
        /// The key.
        key: &'static str,
    },
}

impl From<PartError> for PackedRecordingError {
    fn from(error: PartError) -> Self {
        match error {
            PartError::OutOfRange { index, count } => Self::OutOfRange { index, count },
            PartError::ContainsItself { index } => Self::ContainsItself { index },
            PartError::NoList { index } => Self::NoList { index },
            PartError::TakesTooMany { index, take, len } => Self::TakesTooMany { index, take, len },
            PartError::Malformed { key } => Self::Malformed { key },
            _ => Self::Malformed { key: footprint::json::REF_KEY },
        }
    }
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
    let mut packer = packer::Packer::default();
    packer.json(text)?;
    Ok(emit::packed(packer))
}

/// Unpacks a packed recording into its JSON text; a text that is not packed comes back unchanged in meaning
/// (REC-17). The text may be as long as the default limits allow; see [`unpack_with`].
///
/// # Errors
/// [`RecordingError`] when the text is not JSON, when the packed form is damaged or of another version, or when what
/// it stands for is too large.
pub fn unpack(text: &[u8]) -> Result<String, RecordingError> {
    unpack_with(text, &OpenLimits::default())
}

/// As [`unpack`], within these limits: a small packed file can stand for a very large text.
///
/// # Errors
/// As [`unpack`].
pub fn unpack_with(text: &[u8], limits: &OpenLimits) -> Result<String, RecordingError> {
    let text = &*decompress(text, limits)?;
    let mut plain = String::new();
    let mut out = JsonWriter::new(&mut plain);
    match opened(text, limits)? {
        Some((pool, recording)) => {
            JsonReader::of(&recording, Some(&pool)).copy_value(&mut out).map_err(json_error)?;
        }
        None => {
            let mut reader = JsonReader::new(text);
            reader.copy_value(&mut out).map_err(json_error)?;
            reader.finish().map_err(json_error)?;
        }
    }
    Ok(plain)
}

/// The pool of a packed text, and the recording in it; `None` for a text that is not packed.
fn opened<'a>(text: &'a [u8], limits: &OpenLimits) -> Result<Option<(Pool, Raw<'a>)>, RecordingError> {
    let mut reader = JsonReader::new(text);
    if reader.peek().map_err(json_error)? != TokenKind::Object {
        return Ok(None);
    }
    let (mut format, mut values, mut recording) = (None, None, None);
    reader.begin_object().map_err(json_error)?;
    while let Some(key) = reader.next_key().map_err(json_error)? {
        let raw = reader.next_raw().map_err(json_error)?;
        match &*key {
            "format" => format = Some(raw),
            "values" => values = Some(raw),
            "recording" => recording = Some(raw),
            _ => {}
        }
        reader.skip_value().map_err(json_error)?;
    }
    reader.finish().map_err(json_error)?;
    let format = match format {
        Some(raw) => JsonReader::of(&raw, None).read_value().map_err(json_error)?,
        None => return Ok(None),
    };
    match format.as_str() {
        Some(format) if format.starts_with(PACKED_FORMAT_FAMILY) => {
            let recording = recording.ok_or(PackedRecordingError::MissingPart { part: "recording" });
            Ok(Some((pool(format, values.as_ref(), limits)?, recording?)))
        }
        _ => Ok(None),
    }
}

/// The pool that a packed form of this format has.
pub(super) fn pool(
    format: &str,
    values: Option<&Raw<'_>>,
    limits: &OpenLimits,
) -> Result<Pool, RecordingError> {
    let dialect = match format {
        PACKED_FORMAT => Dialect::Lists,
        PACKED_FORMAT_V1 => Dialect::References,
        _ => return Err(PackedRecordingError::UnknownFormat { format: format.to_owned() }.into()),
    };
    let missing = PackedRecordingError::MissingPart { part: "values" };
    let Some(values) = values.filter(|values| values.text().starts_with(b"[")) else {
        return Err(missing.into());
    };
    Pool::new(values, dialect, limits.max_bytes as u64, limits.max_expanded_bytes).map_err(json_error)
}

/// What went wrong with a pointer, if that is what went wrong.
pub(super) fn part_error(error: &JsonError) -> Option<PackedRecordingError> {
    match &error.kind {
        JsonErrorKind::Part(part) => Some(part.clone().into()),
        _ => None,
    }
}
