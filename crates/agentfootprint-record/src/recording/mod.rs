//! Recordings: what a run leaves behind, and how it is written, packed, archived and opened again (REC §1–2).
//!
//! | step | item |
//! |---|---|
//! | the document `{snapshot, events, structure}` | [`Recording`], [`RecordedEvent`] |
//! | write it | [`Recording::write_io`], [`Recording::to_json`], [`Recording::write_file`] |
//! | take the floats out | [`Recording::with_embeddings_summarised`], [`summarise_embeddings`] (REC-10) |
//! | pack and unpack | [`Recording::to_packed`], [`pack`], [`unpack`] (REC-15…18) |
//! | compress | [`Recording::to_compressed`], [`compress`], [`decompress`] (REC-18) |
//! | archive it with the facts of its run | [`RecordingEnvelope::seal`], [`RunFactsStated`] (REC-20…24) |
//! | file it | [`FileRecordingSink`], [`save_atomically`], [`check_recording_id`] (REC-25, REC-26) |
//! | open any of these | [`Recording::open`], [`OpenRecording`], [`Limit`] (REC-30) |
//! | two run ids that are not one | [`EventRunId`], [`EngineRunId`] (REC-5) |
//!
//! Nothing here recurses over the execution tree, which nests as deep as the run was long.

mod compressed;
mod document;
mod embedding;
mod envelope;
mod error;
mod event;
mod facts;
mod file;
mod limits;
mod open;
mod packed;
mod pretty;
mod run_id;

pub use compressed::{compress, decompress};
pub use document::{PLAIN_FILE_BYTES, Recording};
pub use embedding::summarise_embeddings;
pub use envelope::{
    Configuration, ENVELOPE_FORMAT, EnvelopeHeader, Privacy, PrivacyMode, Producer, RecordingEnvelope,
    RunRecord,
};
pub use error::{RecordingError, SinkConfigError};
pub use event::RecordedEvent;
pub use facts::{RunFactsStated, StatedTime};
pub use file::{FileRecordingSink, Filed, check_recording_id, save_atomically};
pub use limits::Limit;
pub use open::{Form, OpenRecording};
pub use packed::{
    MIN_POOLED_CHARS, PACKED_FORMAT, PACKED_FORMAT_FAMILY, PACKED_FORMAT_V1, PackedRecordingError, pack,
    unpack, unpack_with,
};
pub use run_id::{EngineRunId, EventRunId};

#[cfg(test)]
mod tests;
