use footprint::json::{JsonSink, JsonWriter};
use footprint::value::{Object, Str, Value};

use super::document::Packed;
use super::{Recording, RecordingError};
use crate::events::field::{Field, Misfit};
use crate::events::record::{optional, record, required};
use crate::word::words;

/// The format id of an envelope.
pub const ENVELOPE_FORMAT: &str = "agentfootprint.recording.v1";

words! {
    /// How much of a run an archive keeps. Only `full` is accepted (REC-21).
    pub enum PrivacyMode {
        Full = "full",
        StructureOnly = "structure-only",
        Redacted = "redacted",
    }
}

record! {
    /// Which software made the recording. Both versions may be `unknown`.
    pub struct Producer {
        req agentfootprint_version = "agentfootprintVersion": Str as name,
        /// The engine's version; the key is the reference implementation's.
        req engine_version = "footprintjsVersion": Str as name,
        opt implementation: Str as name,
    }

    /// The facts of the run a stranger needs.
    pub struct RunRecord {
        req run_id = "runId": Str as id,
        opt session_id = "sessionId": Str as id,
        opt principal: Str,
        opt tenant: Str,
        req started_at = "startedAt": Str as name,
        opt ended_at = "endedAt": Str as name,
        /// Whether the run ended: a truncated record and a finished one look alike.
        req complete: bool,
        req dropped_events = "droppedEvents": u64,
        opt first_retained_event_index = "firstRetainedEventIndex": u64,
    }

    /// What was configured: names and ids only.
    pub struct Configuration {
        req agent_id = "agentId": Str as id,
        /// The payload of `agent.run_configured`.
        req manifest: Value,
    }

    /// Under which policy the archive was made.
    pub struct Privacy {
        req mode: PrivacyMode,
        req policy_id = "policyId": Str as id,
    }
}

impl Producer {
    /// This software.
    #[must_use]
    pub fn this() -> Self {
        // The crates of the workspace, the engine's among them, share one version.
        const VERSION: &str = env!("CARGO_PKG_VERSION");
        Self::new(VERSION, VERSION).implementation("rust")
    }
}

impl Privacy {
    /// Everything is kept.
    #[must_use]
    pub fn full() -> Self {
        Self::new(PrivacyMode::Full, "agentfootprint.privacy.full.v1")
    }
}

/// The facts of an envelope: everything in it but the recording. Fields this version does not know are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvelopeHeader(Object);

impl EnvelopeHeader {
    /// A header of these facts.
    #[must_use]
    pub fn new(
        producer: &Producer,
        run: &RunRecord,
        configuration: Option<&Configuration>,
        privacy: &Privacy,
    ) -> Self {
        let mut header = Object::new();
        header.insert("format", Value::from(ENVELOPE_FORMAT));
        header.insert("producer", producer.to_value());
        header.insert("run", run.to_value());
        if let Some(configuration) = configuration {
            header.insert("configuration", configuration.to_value());
        }
        header.insert("privacy", privacy.to_value());
        Self(header)
    }

    /// The facts as JSON.
    #[must_use]
    pub fn as_object(&self) -> &Object {
        &self.0
    }

    /// Which software made it.
    ///
    /// # Errors
    /// A [`Misfit`] when the part is missing or of another shape.
    pub fn producer(&self) -> Result<Producer, Misfit> {
        required(&self.0, "producer")
    }

    /// The facts of the run.
    ///
    /// # Errors
    /// A [`Misfit`] when the part is missing or of another shape.
    pub fn run(&self) -> Result<RunRecord, Misfit> {
        required(&self.0, "run")
    }

    /// What was configured, when it is known.
    ///
    /// # Errors
    /// A [`Misfit`] when the part is of another shape.
    pub fn configuration(&self) -> Result<Option<Configuration>, Misfit> {
        optional(&self.0, "configuration")
    }

    /// Under which policy it was made.
    ///
    /// # Errors
    /// A [`Misfit`] when the part is missing or of another shape.
    pub fn privacy(&self) -> Result<Privacy, Misfit> {
        required(&self.0, "privacy")
    }
}

impl From<Object> for EnvelopeHeader {
    fn from(header: Object) -> Self {
        Self(header)
    }
}

/// An archived recording with the facts a stranger needs (REC-24). Made by [`RecordingEnvelope::seal`].
#[derive(Clone, Debug)]
pub struct RecordingEnvelope {
    /// The facts.
    pub header: EnvelopeHeader,
    /// The recording.
    pub recording: Recording,
}

impl RecordingEnvelope {
    /// Writes the envelope as compact JSON, piece by piece and without recursion.
    pub fn write_to<S: JsonSink>(&self, mut sink: S) {
        sink.put("{");
        for (key, value) in self.header.as_object() {
            JsonWriter::new(&mut sink).string(key);
            sink.put(":");
            JsonWriter::new(&mut sink).value(value);
            sink.put(",");
        }
        sink.put("\"recording\":");
        self.recording.write_to(&mut sink);
        sink.put("}");
    }

    /// The envelope as compact JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.write_to(&mut text);
        text
    }

    /// The envelope as a file should hold it: plain up to [`PLAIN_FILE_BYTES`](super::PLAIN_FILE_BYTES), else packed.
    ///
    /// # Errors
    /// As [`RecordingEnvelope::to_packed`].
    pub fn to_file_json(&self) -> Result<String, RecordingError> {
        Packed::of(|sink| self.write_to(sink))?.into_file(|| self.to_json())
    }

    /// The envelope in packed form (REC-15).
    ///
    /// # Errors
    /// [`RecordingError::NotJson`] when an unknown member of the recording is not JSON.
    pub fn to_packed(&self) -> Result<String, RecordingError> {
        Packed::of(|sink| self.write_to(sink))?.into_text(|| self.to_json())
    }
}
