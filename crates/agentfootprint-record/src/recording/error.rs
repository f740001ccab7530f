use std::path::PathBuf;
use std::sync::Arc;

use footprint::snapshot::OpenRecordingError;

use super::packed::PackedRecordingError;

/// Why a recording could not be made, opened, sealed or filed (REC §2). Each message names the offending
/// part and, where there is one, what the caller can do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A recorder was attached to a run that had already started (REC-6).
    #[error("run `{run_id}` has already started: attach the recorder before the run")]
    StartedLate {
        /// The run.
        run_id: String,
    },
    /// There is no snapshot to record (REC-9).
    #[error("no recording: {reason}")]
    Unavailable {
        /// Why.
        reason: String,
    },
    /// The text ends in the middle.
    #[error(
        "the file ends inside a value at byte {offset}: it was cut off while it was written or copied, so copy \
         it whole or record the run again"
    )]
    Truncated {
        /// Where it ends.
        offset: usize,
    },
    /// A compressed file that cannot be decompressed.
    #[error("the file is compressed and damaged ({problem}): copy it again, or record the run again")]
    DamagedCompression {
        /// What is wrong.
        problem: String,
    },
    /// The text is not JSON.
    #[error("not a recording: {problem} (a recording is one JSON object)")]
    NotJson {
        /// What is wrong, and where.
        problem: String,
    },
    /// The text is JSON, but something else.
    #[error("not a recording: {found}; a recording is an object with `snapshot`, `events` and `structure`")]
    Foreign {
        /// What it looks like.
        found: String,
    },
    /// A format id this version does not know (REC-180).
    #[error(
        "unknown format `{format}`: this version opens `agentfootprint.recording.v1`, \
         `agentfootprint.recording.packed.v2`, `agentfootprint.recording.packed.v1` and bare recordings"
    )]
    UnknownFormat {
        /// The format id.
        format: String,
    },
    /// The recording lacks a part, or exceeds a limit (REC-30).
    #[error(transparent)]
    Open(#[from] OpenRecordingError),
    /// The packed form is damaged or of another version (REC-17).
    #[error(transparent)]
    Packed(#[from] PackedRecordingError),
    /// Only `full` is accepted (REC-21).
    #[error("privacy mode `{mode}` is not supported: a recording is archived as `full` or not at all")]
    UnsupportedPrivacyMode {
        /// The mode asked for.
        mode: String,
    },
    /// The events disagree about a fact (REC-22).
    #[error("the events name several values of `{field}` ({}): state the one that holds", values.join(", "))]
    IndeterminateRunFact {
        /// The fact.
        field: &'static str,
        /// The values found.
        values: Vec<String>,
    },
    /// A fact is neither stated nor in the events (REC-22).
    #[error("`{field}` is not known: {remedy}")]
    MissingRunFact {
        /// The fact.
        field: &'static str,
        /// How to state it.
        remedy: &'static str,
    },
    /// A stated time is none (REC-22).
    #[error("`{field}` is no time: `{value}`; state Unix milliseconds or ISO 8601 with a zone")]
    BadTimestamp {
        /// The fact.
        field: &'static str,
        /// As stated.
        value: String,
    },
    /// An id that cannot name a file on every system (REC-26). Ids are refused, never folded or escaped.
    #[error("`{id}` cannot name a recording: {why}")]
    UnsafeRecordingId {
        /// The id.
        id: String,
        /// Why.
        why: &'static str,
    },
    /// A value JSON cannot hold.
    #[error("the recording cannot be written as JSON at `{path}`")]
    Unserializable {
        /// Where.
        path: String,
    },
    /// Larger than the caller allows; refused and stated, never truncated (REC-29).
    #[error("the recording has {size} bytes, more than the {cap} allowed")]
    MaxBytes {
        /// Its size.
        size: u64,
        /// The cap.
        cap: u64,
    },
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: Arc<std::io::Error>,
    },
}

impl RecordingError {
    /// The stable code (00-overview §9).
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::StartedLate { .. } => "ERR_RECORDING_STARTED_LATE",
            Self::Unavailable { .. } => "ERR_RECORDING_UNAVAILABLE",
            Self::Truncated { .. }
            | Self::NotJson { .. }
            | Self::DamagedCompression { .. }
            | Self::Foreign { .. }
            | Self::UnknownFormat { .. } => "ERR_OPEN_RECORDING",
            Self::Open(OpenRecordingError::RecordingTooLarge { .. }) => "ERR_RECORDING_TOO_LARGE",
            Self::Open(_) => "ERR_OPEN_RECORDING",
            Self::Packed(_) => "ERR_PACKED_RECORDING",
            Self::UnsupportedPrivacyMode { .. } => "ERR_UNSUPPORTED_PRIVACY_MODE",
            Self::IndeterminateRunFact { .. } => "ERR_INDETERMINATE_RUN_FACT",
            Self::MissingRunFact { .. } => "ERR_MISSING_RUN_FACT",
            Self::BadTimestamp { .. } => "ERR_BAD_TIMESTAMP",
            Self::UnsafeRecordingId { .. } => "ERR_UNSAFE_RECORDING_ID",
            Self::Unserializable { .. } => "ERR_UNSERIALIZABLE_RECORDING",
            Self::MaxBytes { .. } => "ERR_MAX_BYTES",
            Self::Io { .. } => "ERR_RECORDING_IO",
        }
    }

    pub(crate) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source: Arc::new(source) }
    }
}

/// A sink that was configured so that it could never work (REC §20), refused where it is made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{option}` is `{value}`: {accepted}")]
pub struct SinkConfigError {
    /// The option.
    pub option: &'static str,
    /// As given.
    pub value: String,
    /// What is accepted.
    pub accepted: &'static str,
}
