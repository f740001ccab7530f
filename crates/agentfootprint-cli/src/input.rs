//! What a file is (REC-158), and reading it.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

use agentfootprint::debug::plain;
use agentfootprint::debug::report::open_bug_report;
use agentfootprint::footprint::json::JsonReader;
use agentfootprint::footprint::snapshot::OpenLimits;
use agentfootprint::footprint::value::Value;
use agentfootprint::record::{OpenRecording, RecordedEvent, Recording, RecordingError, decompress};
use clap::{Args, ValueEnum};

use crate::out::Failure;

#[derive(Args, Debug, Clone)]
pub(crate) struct Input {
    /// The recording; `-` reads standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) given: Given,
}

/// How an answer is given.
#[derive(Args, Debug, Clone)]
pub(crate) struct Given {
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Lines of text, or rows, at most.
    #[arg(long, default_value_t = 200)]
    pub(crate) limit: usize,
    /// Writes the answer to a file instead.
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Reads files up to this size (default 512 MiB).
    #[arg(long)]
    pub(crate) max_bytes: Option<usize>,
    /// Which recording of a bug report that holds several, such as conv-2.
    #[arg(long)]
    pub(crate) run: Option<String>,
}

/// How a file is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading<'a> {
    pub(crate) max_bytes: Option<usize>,
    pub(crate) run: Option<&'a str>,
}

impl Given {
    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading { max_bytes: self.max_bytes, run: self.run.as_deref() }
    }
}

impl std::ops::Deref for Input {
    type Target = Given;
    fn deref(&self) -> &Given {
        &self.given
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// A file, by what is in it.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A recording: bare, packed, in an envelope.
    Recording(Box<OpenRecording>),
    /// A bug report with one recording in it.
    Report(Box<OpenRecording>),
    /// Events, one a line; how many lines are no events.
    Events(Vec<RecordedEvent>, usize),
    /// A shareable trace, version 1.
    Trace(Value),
    /// A segment of an audit chain.
    Audit,
}

impl Kind {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Recording(opened) => match (opened.form().envelope, opened.form().packed) {
                (true, true) => "a packed recording in an envelope",
                (true, false) => "a recording in an envelope",
                (false, true) => "a packed recording",
                (false, false) => "a recording",
            },
            Self::Report(_) => "a bug report",
            Self::Events(..) => "an event file, one event a line",
            Self::Trace(_) => "a shareable trace",
            Self::Audit => "an audit bundle",
        }
    }
}

/// Reads a file as it is; a compressed one as what is in it.
pub(crate) fn read(file: &Path, max_bytes: Option<usize>) -> Result<Vec<u8>, Failure> {
    let max = max_bytes.unwrap_or(OpenLimits::default().max_bytes);
    let bound = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(bound).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(bound).read_to_end(&mut bytes))
    };
    match read {
        Err(error) => Err(Failure::unusable(format!(
            "{} cannot be read ({error}); name a recording written by `run`, `demo` or `save`",
            file.display()
        ))),
        Ok(_) if bytes.len() > max => Err(Failure::unusable(format!(
            "{} has more than {max} bytes; raise --max-bytes to read it",
            file.display()
        ))),
        Ok(_) => {
            let limits = OpenLimits { max_bytes: max, ..OpenLimits::default() };
            match decompress(&bytes, &limits) {
                Ok(Cow::Borrowed(_)) => Ok(bytes),
                Ok(Cow::Owned(content)) => Ok(content),
                Err(error) => Err(Failure::unusable(format!("{}: {error}", file.display()))),
            }
        }
    }
}

/// Reads a file and finds out what it is.
pub(crate) fn detect(file: &Path, reading: Reading<'_>) -> Result<Kind, Failure> {
    let bytes = read(file, reading.max_bytes)?;
    if bytes.starts_with(b"PK\x03\x04") {
        return in_report(file, &bytes, reading.run);
    }
    let mut limits = OpenLimits::default();
    if let Some(max) = reading.max_bytes {
        limits.max_bytes = max;
    }
    match Recording::open_with(&bytes, &limits) {
        Ok(opened) => Ok(Kind::Recording(Box::new(opened))),
        Err(error) => another(&bytes, &error)
            .ok_or_else(|| Failure::unusable(format!("{}: {}", file.display(), plain(&error.to_string())))),
    }
}

/// The recording in a bug report, by its id when there are several.
fn in_report(file: &Path, bytes: &[u8], run: Option<&str>) -> Result<Kind, Failure> {
    let unusable = |says: String| Failure::unusable(format!("{}: {says}", file.display()));
    let opened = open_bug_report(bytes).ok_or_else(|| {
        unusable("a zip archive, but no bug report written by `agentfootprint report`".to_owned())
    })?;
    let runs = opened.map_err(|error| unusable(error.to_string()))?;
    let ids = runs.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>().join(", ");
    let found = match (run, runs.len()) {
        (_, 0) => return Err(unusable("a bug report without a recording".to_owned())),
        (None, 1) => runs.into_iter().next(),
        (None, _) => {
            return Err(unusable(format!(
                "a bug report with several recordings; pick one with --run: {ids}"
            )));
        }
        (Some(run), _) => runs.into_iter().find(|(id, _)| id == run),
    };
    let (_, opened) = found
        .ok_or_else(|| unusable(format!("no recording `{}`; there are {ids}", run.unwrap_or_default())))?;
    Ok(Kind::Report(Box::new(opened)))
}

/// What a file that is no recording is instead.
fn another(bytes: &[u8], error: &RecordingError) -> Option<Kind> {
    if matches!(error, RecordingError::UnknownFormat { .. }) {
        return None;
    }
    if let Some(whole) = value(bytes) {
        if whole.get("header").is_some() && whole.get("records").is_some() {
            return Some(Kind::Audit);
        }
        let version = whole.get("version").and_then(Value::as_u64);
        if version == Some(1)
            && whole.get("events").is_some_and(Value::is_array)
            && whole.get("redaction").is_some()
        {
            return Some(Kind::Trace(whole));
        }
        return is_event(&whole).then(|| Kind::Events(vec![RecordedEvent::from(whole)], 0));
    }
    let mut events = Vec::new();
    let mut unreadable = 0;
    for line in bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
        match value(line) {
            Some(event) if is_event(&event) => events.push(RecordedEvent::from(event)),
            _ => unreadable += 1,
        }
    }
    // One torn line at the end is a log that was being written; a file of mostly other things is something else.
    (!events.is_empty() && events.len() > unreadable).then_some(Kind::Events(events, unreadable))
}

fn value(text: &[u8]) -> Option<Value> {
    let mut reader = JsonReader::new(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text));
    let value = reader.read_value().ok()?;
    reader.finish().ok()?;
    Some(value)
}

fn is_event(value: &Value) -> bool {
    value.get("type").and_then(Value::as_str).is_some() && value.get("payload").is_some()
}

/// A recording, for a command that needs one.
pub(crate) fn recording(input: &Input) -> Result<OpenRecording, Failure> {
    recording_of(&input.file, input.reading())
}

pub(crate) fn recording_of(file: &Path, reading: Reading<'_>) -> Result<OpenRecording, Failure> {
    match detect(file, reading)? {
        Kind::Recording(opened) | Kind::Report(opened) => Ok(*opened),
        other => Err(lacks_snapshot(file, &other)),
    }
}

/// A recording, or the events of an event file, for a command that needs no snapshot.
pub(crate) fn with_events(input: &Input) -> Result<OpenRecording, Failure> {
    match detect(&input.file, input.reading())? {
        Kind::Recording(opened) | Kind::Report(opened) => Ok(*opened),
        Kind::Events(events, _) => {
            Ok(OpenRecording::from(Recording { events: Some(events), ..Recording::default() }))
        }
        other => Err(lacks_snapshot(&input.file, &other)),
    }
}

fn lacks_snapshot(file: &Path, kind: &Kind) -> Failure {
    let instead = match kind {
        Kind::Audit => "use `audit verify`",
        Kind::Events(..) => {
            "`events`, `errors` and `mermaid --view steps` read it; the others need the recording it belongs to"
        }
        _ => "a trace is a presentation; ask for the recording it was made from",
    };
    Failure::unusable(format!("{} is {} and has no snapshot: {instead}", file.display(), kind.name()))
}

/// The limits of a recording as words.
pub(crate) fn limit_words(opened: &OpenRecording) -> Vec<String> {
    opened.limits().iter().map(ToString::to_string).collect()
}
