//! Is a file a sound recording? Findings by code, each with its place (REC-161).

mod events;
mod facts;
mod log;
mod redaction;

use std::fmt;

use agentfootprint_record::recording::{OpenRecording, Recording, RecordingError};
use footprint::value::{Object, Value};

use crate::plain::plain;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A note for readers of another version.
    Info,
    /// Something does not add up, and answers about it may be incomplete.
    Warn,
    /// The recording contradicts itself or cannot be read.
    Error,
}

impl Severity {
    /// `info`, `warn` or `error`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable code, e.g. `commit-idx`.
    pub code: &'static str,
    /// How bad.
    pub severity: Severity,
    /// Where in the recording.
    pub at: String,
    /// What is wrong.
    pub message: String,
}

/// All findings of one file, worst first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Findings {
    fn add(&mut self, code: &'static str, severity: Severity, at: impl ToString, message: impl Into<String>) {
        self.findings.push(Finding { code, severity, at: at.to_string(), message: message.into() });
    }

    /// Whether anything is an error, or in strict mode also a warning.
    pub fn is_sound(&self, strict: bool) -> bool {
        let bar = if strict { Severity::Warn } else { Severity::Error };
        self.findings.iter().all(|finding| finding.severity < bar)
    }

    /// The same as JSON.
    pub fn to_value(&self) -> Value {
        let rows = self.findings.iter().map(|finding| {
            let mut row = Object::new();
            row.insert("code", Value::from(finding.code));
            row.insert("severity", Value::from(finding.severity.word()));
            row.insert("where", Value::from(finding.at.as_str()));
            row.insert("message", Value::from(finding.message.as_str()));
            Value::Object(row)
        });
        rows.collect::<Vec<_>>().into()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.findings.is_empty() {
            return writeln!(f, "a sound recording: nothing found");
        }
        for finding in &self.findings {
            let (word, code) = (finding.severity.word(), finding.code);
            writeln!(f, "{word:<5} {code:<20} {:<28} {}", plain(&finding.at), plain(&finding.message))?;
        }
        Ok(())
    }
}

/// Reads and checks a file. A file that cannot be opened is one finding.
///
/// ```
/// use agentfootprint_debug::validate;
/// let findings = validate::bytes(b"{\"snapshot\":{}}");
/// assert!(!findings.is_sound(false));
/// assert_eq!(findings.findings[0].code, "missing-part");
/// ```
pub fn bytes(file: &[u8]) -> Findings {
    match Recording::open(file) {
        Ok(opened) => validate(&opened),
        Err(error) => {
            let mut found = Findings::default();
            let code = match &error {
                RecordingError::Truncated { .. } | RecordingError::NotJson { .. } => "parse",
                RecordingError::UnknownFormat { .. } | RecordingError::Foreign { .. } => "format",
                _ => "missing-part",
            };
            found.add(code, Severity::Error, "file", error.to_string());
            found
        }
    }
}

/// Checks an opened recording.
pub fn validate(opened: &OpenRecording) -> Findings {
    let mut found = Findings::default();
    let recording = opened.recording();
    log::check(recording, &mut found);
    events::check(opened, &mut found);
    structure(recording, &mut found);
    facts::check(opened, &mut found);
    redaction::check(recording, &mut found);
    found.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

fn structure(recording: &Recording, found: &mut Findings) {
    let Some(structure) = &recording.structure else {
        found.add(
            "structure-missing",
            Severity::Warn,
            "structure",
            "there is no structure, so the chart cannot be drawn",
        );
        return;
    };
    let known = |id: &str| {
        let segments = id.split('/').collect::<Vec<_>>();
        // Generated fan-out segments and lazily resolved charts are not part of a build-time structure.
        segments.iter().any(|segment| segment.contains('~'))
            || segments.len() > 1
            || structure.find(id).is_some()
    };
    let unknown =
        recording.snapshot.execution_tree.iter().map(|(_, frame)| frame).find(|frame| !known(&frame.id));
    if let Some(frame) = unknown {
        let message = format!("step `{}` ran but is not in the structure", frame.id);
        found.add("structure-mismatch", Severity::Warn, &frame.runtime_stage_id, message);
    }
}
