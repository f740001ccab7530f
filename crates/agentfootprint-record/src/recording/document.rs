use std::io;

use footprint::json::{JsonSink, JsonWriter};
use footprint::snapshot::{OpenLimits, Snapshot, write_snapshot};
use footprint::structure::Structure;
use footprint::value::Str;

use super::compressed::compress;
use super::packed::PackSink;
use super::{OpenRecording, RecordedEvent, RecordingError, open, packed};

/// The recording of one run: `{snapshot, events, structure}` (REC §1), everything that is needed to ask
/// afterwards why it did what it did.
///
/// It shares nothing mutable with the run (REC-8), and cloning it is cheap. **Its commits are not redacted
/// unless a redaction policy was set**: prompts, arguments and results are in it verbatim (REC-19).
///
/// ```
/// use agentfootprint_record::recording::Recording;
/// let text = r#"{"snapshot":{"sharedState":{},"executionTree":{"id":"seed","runtimeStageId":"seed#0","name":"Seed"},"commitLog":[]},"events":[],"later":{"kept":true}}"#;
/// let opened = Recording::open(text.as_bytes())?;
/// assert!(opened.limits().iter().any(|limit| limit.code() == "no-structure"));
/// assert!(opened.recording().to_json().ends_with(r#""later":{"kept":true}}"#));
/// # Ok::<(), agentfootprint_record::recording::RecordingError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// What the engine recorded.
    pub snapshot: Snapshot,
    /// The typed events, oldest first; `None` when the recording has no `events` at all.
    pub events: Option<Vec<RecordedEvent>>,
    /// The chart that ran; a recording without it can be queried but not drawn.
    pub structure: Option<Structure>,
    /// Members this version does not know, as JSON text, in order; they survive reading and writing.
    pub extra: Vec<(Str, Str)>,
}

impl Recording {
    /// A recording made by this process.
    #[must_use]
    pub fn new(snapshot: Snapshot, events: Vec<RecordedEvent>, structure: Structure) -> Self {
        Self { snapshot, events: Some(events), structure: Some(structure), extra: Vec::new() }
    }

    /// The events; none when the recording has no `events`.
    #[must_use]
    pub fn events(&self) -> &[RecordedEvent] {
        self.events.as_deref().unwrap_or_default()
    }

    /// Opens a recording: bare, in an envelope, or packed (REC-30), with default limits.
    ///
    /// # Errors
    /// [`RecordingError`], in one sentence that names the missing part and what to do.
    pub fn open(bytes: &[u8]) -> Result<OpenRecording, RecordingError> {
        Self::open_with(bytes, &OpenLimits::default())
    }

    /// Opens a recording within these limits (OBS-187).
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn open_with(bytes: &[u8], limits: &OpenLimits) -> Result<OpenRecording, RecordingError> {
        open::open(bytes, limits)
    }

    /// Writes the recording as compact JSON, piece by piece and without recursion.
    pub fn write_to<S: JsonSink>(&self, mut sink: S) {
        sink.put("{\"snapshot\":");
        write_snapshot(&self.snapshot, &mut sink);
        if let Some(events) = &self.events {
            sink.put(",\"events\":[");
            for (at, event) in events.iter().enumerate() {
                if at > 0 {
                    sink.put(",");
                }
                JsonWriter::new(&mut sink).value(&event.to_value());
            }
            sink.put("]");
        }
        if let Some(structure) = &self.structure {
            sink.put(",\"structure\":");
            structure.write_to(&mut JsonWriter::new(&mut sink));
        }
        for (key, json) in &self.extra {
            sink.put(",");
            JsonWriter::new(&mut sink).string(key);
            sink.put(":");
            JsonWriter::new(&mut sink).raw(json);
        }
        sink.put("}");
    }

    /// Writes the recording to a file, socket or pipe as compact JSON.
    ///
    /// # Errors
    /// Whatever `out` reports; nothing more is written after it.
    pub fn write_io(&self, out: impl io::Write) -> io::Result<()> {
        let mut sink = IoSink::new(out);
        self.write_to(&mut sink);
        sink.finish()
    }

    /// The recording as compact JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.write_to(&mut text);
        text
    }

    /// The recording in packed form (REC-15): what occurs several times is written once. What is shared in memory is
    /// not looked at twice, so this costs what the run newly said and not what it repeated.
    ///
    /// # Errors
    /// [`RecordingError::NotJson`] when an unknown member is not JSON.
    pub fn to_packed(&self) -> Result<String, RecordingError> {
        Packed::of(|sink| self.write_to(sink))?.into_text(|| self.to_json())
    }

    /// The recording in packed form, compressed into a gzip file: about a twentieth of the size again, for the time it takes to
    /// compress. [`Recording::open`] knows it by its first bytes.
    ///
    /// # Errors
    /// As [`Recording::to_packed`].
    pub fn to_compressed(&self) -> Result<Vec<u8>, RecordingError> {
        Ok(compress(&self.to_packed()?))
    }

    /// The recording as [`Recording::write_file`] writes it.
    ///
    /// # Errors
    /// As [`Recording::to_packed`].
    pub fn to_file_json(&self) -> Result<String, RecordingError> {
        Packed::of(|sink| self.write_to(sink))?.into_file(|| self.to_json())
    }

    /// Writes the recording as a file should hold it: plain JSON that every reader knows, as long as that has at most
    /// [`PLAIN_FILE_BYTES`]; packed when it would be longer, because each step of a long run repeats the conversation
    /// and plain files of gigabytes serve nobody (REC-18).
    ///
    /// # Errors
    /// Whatever `out` reports; [`io::ErrorKind::InvalidData`] when an unknown member is not JSON.
    pub fn write_file(&self, out: impl io::Write) -> io::Result<()> {
        let packed = Packed::of(|sink| self.write_to(sink)).map_err(invalid)?;
        write_either(packed, out, || self.to_json(), |out| self.write_io(out))
    }
}

/// Plain JSON up to this many bytes is filed as it is; what would be longer is packed.
pub const PLAIN_FILE_BYTES: u64 = 32 << 20;

/// The largest recording that is packed from its whole text, where that cannot be avoided.
const MAX_TEXT_TO_PACK: u64 = 512 << 20;

/// Something packed, and how long it would be without.
pub(super) struct Packed {
    text: Option<String>,
    plain_bytes: u64,
}

impl Packed {
    /// What this writes, packed.
    pub(super) fn of(write: impl FnOnce(&mut PackSink)) -> Result<Self, RecordingError> {
        let mut sink = PackSink::default();
        write(&mut sink);
        let plain_bytes = sink.plain_bytes();
        Ok(Self { text: sink.finish()?, plain_bytes })
    }

    /// The plain text if it is short enough, else the packed one.
    pub(super) fn into_file(self, plain: impl FnOnce() -> String) -> Result<String, RecordingError> {
        if self.plain_bytes <= PLAIN_FILE_BYTES { Ok(plain()) } else { self.into_text(plain) }
    }

    /// The packed text, made from the plain one if it must.
    pub(super) fn into_text(self, plain: impl FnOnce() -> String) -> Result<String, RecordingError> {
        match self.text {
            Some(text) => Ok(text),
            None if self.plain_bytes <= MAX_TEXT_TO_PACK => packed::pack(plain().as_bytes()),
            None => Err(RecordingError::MaxBytes { size: self.plain_bytes, cap: MAX_TEXT_TO_PACK }),
        }
    }
}

fn invalid(error: RecordingError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Writes the plain form if it is short enough, else the packed one.
pub(super) fn write_either<W: io::Write>(
    packed: Packed,
    mut out: W,
    plain: impl FnOnce() -> String,
    write_plain: impl FnOnce(W) -> io::Result<()>,
) -> io::Result<()> {
    if packed.plain_bytes <= PLAIN_FILE_BYTES {
        return write_plain(out);
    }
    let text = packed.into_text(plain).map_err(invalid)?;
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A JSON sink over [`io::Write`]: buffers, and keeps the first error.
pub(super) struct IoSink<W: io::Write> {
    out: io::BufWriter<W>,
    failed: Option<io::Error>,
}

impl<W: io::Write> IoSink<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out: io::BufWriter::with_capacity(1 << 16, out), failed: None }
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        match self.failed {
            Some(error) => Err(error),
            None => io::Write::flush(&mut self.out),
        }
    }
}

impl<W: io::Write> JsonSink for IoSink<W> {
    fn put(&mut self, text: &str) {
        if self.failed.is_none()
            && let Err(error) = io::Write::write_all(&mut self.out, text.as_bytes())
        {
            self.failed = Some(error);
        }
    }
}
