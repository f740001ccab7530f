use std::borrow::Cow;

use footprint::json::{JsonError, JsonErrorKind, JsonReader, Limits, Pool, Raw, TokenKind};
use footprint::snapshot::{OpenLimits, OpenRecordingError, read_snapshot_from};
use footprint::structure::Structure;
use footprint::value::{Object, Str, Value};

use super::compressed::decompress;
use super::envelope::{ENVELOPE_FORMAT, EnvelopeHeader};
use super::limits::{Limit, limits_of};
use super::packed::{self, PACKED_FORMAT_FAMILY};
use super::{PackedRecordingError, RecordedEvent, Recording, RecordingError};

/// How a recording stood in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// In an envelope.
    pub envelope: bool,
    /// In packed form.
    pub packed: bool,
}

/// A recording read from a file: the recording, the envelope's facts when it had one, and what it cannot say.
#[derive(Clone, Debug)]
pub struct OpenRecording {
    recording: Recording,
    header: Option<EnvelopeHeader>,
    form: Form,
    limits: Vec<Limit>,
}

impl OpenRecording {
    /// The recording.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The recording, alone.
    #[must_use]
    pub fn into_recording(self) -> Recording {
        self.recording
    }

    /// The envelope's facts; `None` for a bare recording.
    #[must_use]
    pub fn header(&self) -> Option<&EnvelopeHeader> {
        self.header.as_ref()
    }

    /// How it stood in its file.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// What the recording cannot say (REC-30), in a fixed order.
    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }
}

/// A recording made by this process, looked at the way a stranger would.
impl From<Recording> for OpenRecording {
    fn from(recording: Recording) -> Self {
        let limits = limits_of(&recording, None, None);
        Self { recording, header: None, form: Form::default(), limits }
    }
}

/// Packed forms inside envelopes inside packed forms: more than this many layers is no recording.
const MAX_LAYERS: usize = 4;

pub(super) fn open(bytes: &[u8], limits: &OpenLimits) -> Result<OpenRecording, RecordingError> {
    let bytes = decompress(bytes, limits)?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    if text.len() > limits.max_bytes {
        return Err(too_large(limits, text.len() as u64));
    }
    let mut opening = Opening { limits, header: None, form: Form::default() };
    let (recording, problem) = opening.layer(Part::whole(text), 0)?;
    let limits = limits_of(&recording, opening.header.as_ref(), problem);
    Ok(OpenRecording { recording, header: opening.header, form: opening.form, limits })
}

pub(super) fn too_large(limits: &OpenLimits, actual: u64) -> RecordingError {
    OpenRecordingError::RecordingTooLarge {
        limit: format!("max_bytes {}", limits.max_bytes),
        actual: format!("{actual} bytes"),
    }
    .into()
}

/// A part of the file where it stands, and the pool that pointers in it point into.
#[derive(Clone, Copy)]
struct Part<'a> {
    raw: Raw<'a>,
    pool: Option<&'a Pool>,
}

type Members<'a> = Vec<(Str, Part<'a>)>;

impl<'a> Part<'a> {
    fn whole(text: &'a [u8]) -> Self {
        Self { raw: Raw::of(text), pool: None }
    }

    fn reader(&self) -> JsonReader<'a> {
        match self.pool {
            Some(_) => JsonReader::of(&self.raw, self.pool),
            None => JsonReader::new(self.raw.text()),
        }
    }

    /// The text, pointers followed.
    fn text(&self, limits: &OpenLimits) -> Result<Cow<'a, [u8]>, RecordingError> {
        let text = self.reader().text_of(&self.raw).map_err(json_error)?;
        if text.len() > limits.max_bytes { Err(too_large(limits, text.len() as u64)) } else { Ok(text) }
    }

    /// The members of an object; `None` for anything else.
    fn members(&self) -> Result<Option<Members<'a>>, RecordingError> {
        let mut reader = self.reader();
        if reader.peek().map_err(json_error)? != TokenKind::Object {
            return Ok(None);
        }
        let mut members = Vec::new();
        reader.begin_object().map_err(json_error)?;
        while let Some(key) = reader.next_key().map_err(json_error)? {
            let raw = reader.next_raw().map_err(json_error)?;
            reader.skip_value().map_err(json_error)?;
            members.push((key.into(), Part { raw, pool: self.pool }));
        }
        if self.pool.is_none() {
            reader.finish().map_err(json_error)?;
        }
        Ok(Some(members))
    }

    fn value(&self) -> Result<Value, RecordingError> {
        self.reader().read_value().map_err(json_error)
    }

    /// The items of a list as values; `None` for anything else.
    fn items(&self) -> Result<Option<Vec<Value>>, RecordingError> {
        let mut reader = self.reader();
        if reader.peek().map_err(json_error)? != TokenKind::Array {
            return Ok(None);
        }
        let mut items = Vec::new();
        reader.begin_array().map_err(json_error)?;
        while reader.next_item().map_err(json_error)? {
            items.push(reader.read_value().map_err(json_error)?);
        }
        Ok(Some(items))
    }
}

struct Opening<'l> {
    limits: &'l OpenLimits,
    header: Option<EnvelopeHeader>,
    form: Form,
}

/// A recording, and why its structure could not be read.
type Read = (Recording, Option<String>);

impl Opening<'_> {
    /// Opens whatever this part is, by its `format` and else by its parts (REC-30).
    fn layer(&mut self, part: Part<'_>, depth: usize) -> Result<Read, RecordingError> {
        let Some(members) = part.members()? else {
            return Err(foreign("the file holds no JSON object"));
        };
        let format = match find(&members, "format") {
            Some(format) => format.value()?.as_shared_str().cloned(),
            None => None,
        };
        match format {
            Some(format) if format.starts_with(PACKED_FORMAT_FAMILY) && depth < MAX_LAYERS => {
                self.form.packed = true;
                if part.pool.is_some() {
                    // Packed twice: pointers of one pool within the other's. The outer ones are resolved first.
                    let text = part.text(self.limits)?;
                    return self.layer(Part::whole(&text), depth + 1);
                }
                let values = find(&members, "values").map(|values| values.raw);
                let pool = packed::pool(&format, values.as_ref(), self.limits)?;
                match find(&members, "recording") {
                    Some(recording) => {
                        let recording = Part { raw: recording.raw, pool: Some(&pool) };
                        self.layer(recording, depth + 1)
                    }
                    None => Err(PackedRecordingError::MissingPart { part: "recording" }.into()),
                }
            }
            Some(format) if *format == *ENVELOPE_FORMAT && depth < MAX_LAYERS => {
                self.form.envelope = true;
                let mut header = Object::new();
                for (key, part) in members.iter().filter(|(key, _)| **key != *"recording") {
                    header.insert(key.clone(), part.value()?);
                }
                self.header = Some(EnvelopeHeader::from(header));
                match find(&members, "recording") {
                    Some(recording) => self.layer(*recording, depth + 1),
                    None => Err(foreign("the envelope has no `recording`")),
                }
            }
            Some(format) if find(&members, "snapshot").is_none() => {
                Err(RecordingError::UnknownFormat { format: format.to_string() })
            }
            _ => self.recording(members),
        }
    }

    fn recording(&mut self, members: Members<'_>) -> Result<Read, RecordingError> {
        let Some(snapshot) = find(&members, "snapshot") else { return Err(no_snapshot(&members)) };
        let snapshot = read_snapshot_from(snapshot.reader(), self.limits).map_err(open_error)?;
        let mut recording = Recording { snapshot, ..Recording::default() };
        let mut problem = None;
        let has_structure = find(&members, "structure").is_some();
        for (key, part) in &members {
            match &**key {
                "snapshot" => {}
                // An older file calls the structure `blueprint`; writers never do.
                "blueprint" if has_structure => {}
                "structure" | "blueprint" => {
                    let text = part.text(self.limits)?;
                    match read_structure(&text) {
                        Ok(structure) => recording.structure = Some(structure),
                        Err(reason) => {
                            problem = Some(reason);
                            recording.extra.push((Str::from("structure"), json_text(&text)));
                        }
                    }
                }
                "events" => match part.items()? {
                    Some(events) => {
                        recording.events = Some(events.into_iter().map(RecordedEvent::from).collect());
                    }
                    None => recording.extra.push((key.clone(), json_text(&part.text(self.limits)?))),
                },
                _ => recording.extra.push((key.clone(), json_text(&part.text(self.limits)?))),
            }
        }
        Ok((recording, problem))
    }
}

fn read_structure(text: &[u8]) -> Result<Structure, String> {
    Structure::from_json_with(text, Limits::default()).map_err(|error| error.to_string())
}

fn json_text(text: &[u8]) -> Str {
    Str::from(String::from_utf8_lossy(text))
}

fn find<'m, 'a>(members: &'m Members<'a>, key: &str) -> Option<&'m Part<'a>> {
    members.iter().find(|(name, _)| **name == *key).map(|(_, part)| part)
}

fn foreign(found: &str) -> RecordingError {
    RecordingError::Foreign { found: found.to_owned() }
}

/// What the file is instead, when it is something we know.
fn no_snapshot(members: &Members<'_>) -> RecordingError {
    let has = |key: &str| find(members, key).is_some();
    if has("executionTree") && has("commitLog") {
        foreign("the file is a bare snapshot, without the recording around it")
    } else if has("type") && has("payload") {
        foreign("the file holds a single event")
    } else if has("header") && has("records") {
        foreign("the file is an audit bundle")
    } else {
        OpenRecordingError::NoSnapshot.into()
    }
}

fn open_error(error: OpenRecordingError) -> RecordingError {
    match error {
        OpenRecordingError::Json(error) => json_error(error),
        other => other.into(),
    }
}

/// One clear sentence for a text that is no JSON.
pub(super) fn json_error(error: JsonError) -> RecordingError {
    if let Some(problem) = packed::part_error(&error) {
        return problem.into();
    }
    match error.kind {
        JsonErrorKind::TooLong { .. } | JsonErrorKind::ExpandsTooMuch { .. } => {
            OpenRecordingError::from(error).into()
        }
        JsonErrorKind::UnexpectedEnd => RecordingError::Truncated { offset: error.offset },
        JsonErrorKind::TooDeep { limit } => OpenRecordingError::RecordingTooLarge {
            limit: format!("max_value_depth {limit}"),
            actual: format!("a value nested deeper than {limit} levels"),
        }
        .into(),
        JsonErrorKind::TrailingText => RecordingError::Foreign {
            found: format!(
                "more text follows the first JSON value at byte {} (an event log, one event a line?)",
                error.offset
            ),
        },
        _ => RecordingError::NotJson { problem: error.to_string() },
    }
}
