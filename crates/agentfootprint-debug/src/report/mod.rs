//! A bug report: what a person agreed to send, in one archive (REC-134…138).
//!
//! First [`describe_bug_report`] says what could be sent, with sizes and previews; then [`export_bug_report`] writes exactly the
//! units that were agreed to. What was left out is counted in the manifest, so absence by choice and absence by loss differ.
//!
//! ```no_run
//! use agentfootprint_debug::report::{ReportOptions, ReportSource, describe_bug_report, export_bug_report};
//! use agentfootprint_record::recording::Recording;
//! let source = ReportSource::of(Recording::open(&std::fs::read("run.json")?)?);
//! for unit in describe_bug_report(&source) {
//!     println!("{} {} bytes: {}", unit.id, unit.bytes, unit.preview);
//! }
//! let options = ReportOptions::new("Refund is wrong", 1_796_042_715_718).include(["conv-1", "file-conversation"]);
//! let report = export_bug_report(&source, &options)?;
//! std::fs::write(&report.name, &report.bytes)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod conversation;
mod zip;

use agentfootprint_record::recording::{OpenRecording, Recording, RecordingEnvelope, RecordingError};
use footprint::query::TraceQuery;
use footprint::value::{Object, Value};
use indexmap::IndexSet;

use crate::plain::{excerpt, plain};
use zip::{Entry, ZipLimit};

/// Above this many bytes the manifest says so.
pub const WARN_OVER_BYTES: usize = 20_000_000;
const MAX_SLUG: usize = 60;
const MAX_DEPTH: usize = 24;
const CONVERSATION: &str = "file-conversation";
const NARRATIVE: &str = "file-narrative";
const ENVIRONMENT: &str = "file-environment";

/// The runs of one or more conversations.
#[derive(Clone, Debug, Default)]
pub struct ReportSource {
    conversations: Vec<OpenRecording>,
    app_version: Option<String>,
}

impl ReportSource {
    /// One run.
    #[must_use]
    pub fn of(recording: OpenRecording) -> Self {
        Self { conversations: vec![recording], app_version: None }
    }

    /// Adds the run of another conversation.
    #[must_use]
    pub fn and(mut self, recording: OpenRecording) -> Self {
        self.conversations.push(recording);
        self
    }

    /// The version of the program that made the runs, for `environment.json`.
    #[must_use]
    pub fn app_version(mut self, version: impl Into<String>) -> Self {
        self.app_version = Some(version.into());
        self
    }
}

/// Something that can be sent or left out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportUnit {
    /// `conv-1`, `file-conversation`, `file-narrative`, `file-environment`.
    pub id: String,
    /// Its size in the archive; for `file-conversation` and `file-narrative`, with all conversations.
    pub bytes: usize,
    /// Its beginning.
    pub preview: String,
}

/// What is sent, and under which title.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReportOptions {
    include: Vec<String>,
    title: String,
    created_at_ms: i64,
}

impl ReportOptions {
    /// A report that sends nothing yet. The time is given, so that the same input makes the same bytes.
    #[must_use]
    pub fn new(title: impl Into<String>, created_at_ms: i64) -> Self {
        Self { include: Vec::new(), title: title.into(), created_at_ms }
    }

    /// Sends these units.
    #[must_use]
    pub fn include<S: Into<String>>(mut self, units: impl IntoIterator<Item = S>) -> Self {
        self.include.extend(units.into_iter().map(Into::into));
        self
    }
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BugReportError {
    /// A unit that does not exist.
    #[error("there is no unit `{}`; there are {}", excerpt(unit, 60), known.join(", "))]
    UnknownUnit {
        /// As asked for.
        unit: String,
        /// All units.
        known: Vec<String>,
    },
    /// Nothing to look into.
    #[error("no conversation is included: include at least one of {}", known.join(", "))]
    NoConversation {
        /// Conversations there are.
        known: Vec<String>,
    },
    /// No title.
    #[error("the title is blank: say in a few words what went wrong")]
    BlankTitle,
    /// More than an archive of this form can hold.
    #[error("the report exceeds the {limit} of a zip archive; include fewer conversations")]
    TooLarge {
        /// `65535 files` or `4 GB`.
        limit: &'static str,
    },
}

/// An archive, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BugReport {
    /// `<date>-<slug>.zip`.
    pub name: String,
    /// The archive.
    pub bytes: Vec<u8>,
    /// What is in it and what is not.
    pub manifest: Value,
}

/// What could be sent.
#[must_use]
pub fn describe_bug_report(source: &ReportSource) -> Vec<ReportUnit> {
    let all: Vec<usize> = (0..source.conversations.len()).collect();
    let unit = |id: String, text: &str| ReportUnit { id, bytes: text.len(), preview: excerpt(text, 200) };
    let mut units: Vec<ReportUnit> = source
        .conversations
        .iter()
        .enumerate()
        .map(|(at, opened)| unit(format!("conv-{}", at + 1), &evidence(opened).1))
        .collect();
    units.push(unit(CONVERSATION.to_owned(), &conversation::document(source, &all).to_string()));
    if let Some(text) = narrative(source, &all) {
        units.push(unit(NARRATIVE.to_owned(), &text));
    }
    units.push(unit(ENVIRONMENT.to_owned(), &environment(source).to_string()));
    units
}

/// Writes the units that were agreed to.
///
/// # Errors
/// [`BugReportError`], before anything is made.
pub fn export_bug_report(
    source: &ReportSource,
    options: &ReportOptions,
) -> Result<BugReport, BugReportError> {
    let units = describe_bug_report(source);
    let known: Vec<String> = units.iter().map(|unit| unit.id.clone()).collect();
    if options.title.trim().is_empty() {
        return Err(BugReportError::BlankTitle);
    }
    if let Some(unit) = options.include.iter().find(|unit| !known.contains(unit)) {
        return Err(BugReportError::UnknownUnit { unit: unit.clone(), known });
    }
    let wanted = |id: &str| options.include.iter().any(|unit| unit == id);
    let chosen: Vec<usize> =
        (0..source.conversations.len()).filter(|at| wanted(&format!("conv-{}", at + 1))).collect();
    if chosen.is_empty() {
        let known = known.into_iter().filter(|id| id.starts_with("conv-")).collect();
        return Err(BugReportError::NoConversation { known });
    }
    let mut notes: Vec<String> = Vec::new();
    let mut entries = evidence_files(source, &chosen, &mut notes);
    let mut file =
        |name: &str, text: String| entries.push(Entry { name: name.to_owned(), bytes: text.into_bytes() });
    if wanted(CONVERSATION) {
        file("conversation.json", conversation::document(source, &chosen).to_string());
    }
    if wanted(NARRATIVE)
        && let Some(text) = narrative(source, &chosen)
    {
        file("narrative.txt", text);
    }
    if wanted(ENVIRONMENT) {
        file("environment.json", environment(source).to_string());
    }
    let manifest = manifest(source, options, &units, &chosen, &entries, &notes);
    entries.push(Entry { name: "manifest.json".to_owned(), bytes: manifest.to_string().into_bytes() });
    let (date, moment) = moment(options.created_at_ms);
    let bytes = zip::write(&entries, moment).map_err(|limit| BugReportError::TooLarge {
        limit: match limit {
            ZipLimit::Entries => "65535 files",
            ZipLimit::Bytes => "4 GB",
        },
    })?;
    Ok(BugReport { name: format!("{date}-{}.zip", slug(&options.title)), bytes, manifest })
}

/// The recordings of a report, by conversation; `None` when the bytes are no report.
///
/// # Errors
/// What opening one of them reports.
pub fn open_bug_report(bytes: &[u8]) -> Option<Result<Vec<(String, OpenRecording)>, RecordingError>> {
    let entries = zip::read(bytes)?;
    entries.iter().find(|entry| entry.name == "manifest.json")?;
    let evidence = entries.iter().filter_map(|entry| {
        let single = matches!(entry.name.as_str(), "envelope.json" | "recording.json").then_some("conv-1");
        let id = single.or_else(|| entry.name.strip_prefix("conversations/")?.strip_suffix(".json"))?;
        Some((id.to_owned(), entry))
    });
    Some(evidence.map(|(id, entry)| Recording::open(&entry.bytes).map(|opened| (id, opened))).collect())
}

/// The evidence of a run: in its envelope when the facts are known.
fn evidence(opened: &OpenRecording) -> (&'static str, String) {
    let recording = opened.recording();
    match opened.header() {
        Some(header) => {
            let envelope = RecordingEnvelope { header: header.clone(), recording: recording.clone() };
            // One that cannot be packed is still evidence.
            ("envelope.json", envelope.to_file_json().unwrap_or_else(|_| envelope.to_json()))
        }
        None => ("recording.json", recording.to_file_json().unwrap_or_else(|_| recording.to_json())),
    }
}

fn evidence_files(source: &ReportSource, chosen: &[usize], notes: &mut Vec<String>) -> Vec<Entry> {
    let runs = || chosen.iter().filter_map(|at| Some((*at, source.conversations.get(*at)?)));
    for (at, opened) in runs() {
        if opened.header().is_none() {
            notes.push(format!("conv-{}: the facts of its run are not known, so it has no envelope", at + 1));
        }
        if opened.recording().events.is_none() {
            notes.push(format!("conv-{}: it was recorded without events", at + 1));
        }
    }
    let several = source.conversations.len() > 1;
    runs()
        .map(|(at, opened)| {
            let (name, text) = evidence(opened);
            let name = if several { format!("conversations/conv-{}.json", at + 1) } else { name.to_owned() };
            Entry { name, bytes: text.into_bytes() }
        })
        .collect()
}

fn narrative(source: &ReportSource, chosen: &[usize]) -> Option<String> {
    let mut out = String::new();
    for at in chosen {
        let query = TraceQuery::new(source.conversations.get(*at)?.recording().snapshot.clone());
        for entry in query.narrative().unwrap_or_default() {
            out.push_str(&"  ".repeat(entry.depth.min(8) as usize));
            out.push_str(&plain(&entry.text));
            out.push('\n');
        }
    }
    (!out.is_empty()).then_some(out)
}

/// What the program ran on; no host name, user, path or variable of the environment.
fn environment(source: &ReportSource) -> Value {
    let mut out = Object::new();
    out.insert("rust", Value::from(env!("CARGO_PKG_RUST_VERSION")));
    out.insert("platform", Value::from(std::env::consts::OS));
    out.insert("arch", Value::from(std::env::consts::ARCH));
    if let Some(version) = &source.app_version {
        out.insert("appVersion", Value::from(version));
    }
    Value::Object(out)
}

fn manifest(
    source: &ReportSource,
    options: &ReportOptions,
    units: &[ReportUnit],
    chosen: &[usize],
    entries: &[Entry],
    notes: &[String],
) -> Value {
    let names =
        |names: Vec<String>| -> Value { names.into_iter().map(Value::from).collect::<Vec<_>>().into() };
    let left: Vec<&OpenRecording> = source
        .conversations
        .iter()
        .enumerate()
        .filter(|(at, _)| !chosen.contains(at))
        .map(|(_, opened)| opened)
        .collect();
    let events =
        |list: &[&OpenRecording]| list.iter().map(|opened| opened.recording().events().len()).sum::<usize>();
    let turns = |list: &[&OpenRecording]| {
        list.iter().map(|opened| conversation::turns(opened.recording()).0.len()).sum::<usize>()
    };
    let sent: Vec<&OpenRecording> = chosen.iter().filter_map(|at| source.conversations.get(*at)).collect();
    let unsent: Vec<String> =
        units.iter().map(|unit| unit.id.clone()).filter(|id| !options.include.contains(id)).collect();
    let mut excluded = Object::new();
    excluded.insert("conversations", left.len().into());
    excluded.insert("files", unsent.iter().filter(|id| id.starts_with("file-")).count().into());
    excluded.insert("events", events(&left).into());
    excluded.insert("turns", turns(&left).into());
    excluded.insert("unitIds", names(unsent));
    let mut counts = Object::new();
    counts.insert("conversations", sent.len().into());
    counts.insert("events", events(&sent).into());
    counts.insert("turns", turns(&sent).into());
    let total: usize = entries.iter().map(|entry| entry.bytes.len()).sum();
    let mut out = Object::new();
    out.insert("manifestVersion", 2.into());
    out.insert("createdAt", Value::from(crate::audit::iso(options.created_at_ms)));
    out.insert("report", Value::from(options.title.trim()));
    let row = |unit: &ReportUnit| {
        let mut row = Object::new();
        row.insert("id", Value::from(unit.id.as_str()));
        row.insert("bytes", unit.bytes.into());
        Value::Object(row)
    };
    out.insert("units", units.iter().map(row).collect::<Vec<_>>().into());
    out.insert("selected", names(options.include.clone()));
    out.insert("excluded", Value::Object(excluded));
    out.insert("files", names(entries.iter().map(|entry| entry.name.clone()).collect()));
    out.insert("counts", Value::Object(counts));
    out.insert("totalBytes", total.into());
    out.insert("redactedKeys", names(redacted_keys(&sent)));
    let unredacted = "what no redaction policy hid stands in the recordings word for word".to_owned();
    out.insert("warnings", names(vec![unredacted]));
    out.insert("notes", names(notes.to_vec()));
    if total > WARN_OVER_BYTES {
        let mut oversize = Object::new();
        oversize.insert("bytes", total.into());
        oversize.insert("warnOverBytes", WARN_OVER_BYTES.into());
        let mut hints = vec!["leave out file-conversation: the recordings hold the same".to_owned()];
        if chosen.len() > 1 {
            hints.push("include fewer conversations".to_owned());
        }
        oversize.insert("hints", names(hints));
        out.insert("oversize", Value::Object(oversize));
    }
    out.insert("environment", environment(source));
    Value::Object(out)
}

/// Names of members that hold a placeholder, in order of first sight.
fn redacted_keys(runs: &[&OpenRecording]) -> Vec<String> {
    let mut keys: IndexSet<String> = IndexSet::new();
    for opened in runs {
        let recording = opened.recording();
        let snapshot = &recording.snapshot;
        let state = Value::Object(snapshot.shared_state.clone());
        placeholders(&state, &mut keys);
        for row in snapshot.commit_log.iter().flat_map(|bundle| bundle.rows.iter()) {
            if let Some(key) = row.path.last().filter(|_| is_placeholder(&row.value)) {
                keys.insert(key.to_string());
            }
            placeholders(&row.value, &mut keys);
        }
        recording.events().iter().for_each(|event| placeholders(&event.payload(), &mut keys));
    }
    keys.into_iter().collect()
}

fn is_placeholder(value: &Value) -> bool {
    matches!(value.as_str(), Some("[REDACTED]" | "REDACTED"))
}

fn placeholders(value: &Value, keys: &mut IndexSet<String>) {
    let mut pending = vec![(0, value)];
    while let Some((depth, value)) = pending.pop() {
        if depth >= MAX_DEPTH {
            continue;
        }
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (depth + 1, item))),
            Value::Object(members) => {
                for (key, member) in members.iter() {
                    if is_placeholder(member) {
                        keys.insert(key.to_string());
                    }
                    pending.push((depth + 1, member));
                }
            }
            _ => {}
        }
    }
}

/// The day for the name, and the DOS form (date, time) for the archive, which begins in 1980.
fn moment(ms: i64) -> (String, (u16, u16)) {
    let time = jiff::Timestamp::from_millisecond(ms)
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .to_zoned(jiff::tz::TimeZone::UTC);
    let part = |value: i8| u16::try_from(value).unwrap_or_default();
    let year = u16::try_from(time.year()).unwrap_or_default().saturating_sub(1980).min(127);
    let date = (year << 9) | (part(time.month()) << 5) | part(time.day());
    let clock = (part(time.hour()) << 11) | (part(time.minute()) << 5) | (part(time.second()) / 2);
    (time.strftime("%Y-%m-%d").to_string(), (date, clock))
}

fn slug(title: &str) -> String {
    let mut out = String::new();
    for character in title.to_lowercase().chars() {
        match character {
            'a'..='z' | '0'..='9' => out.push(character),
            _ if out.ends_with('-') || out.is_empty() => {}
            _ => out.push('-'),
        }
    }
    let cut: String = out.chars().take(MAX_SLUG).collect();
    let cut = cut.trim_end_matches('-');
    if cut.is_empty() { "report".to_owned() } else { cut.to_owned() }
}
