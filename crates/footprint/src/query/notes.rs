//! What an answer must say about itself (OBS-176), and why a question is refused.

use std::fmt;

use crate::value::{Object, Value};

/// A registered honesty code: a closed set, each with one explaining sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NoteCode {
    /// Feeding edges were drawn from all reads of a step to all its writes.
    ConservativeFedEdges,
    /// A value came from before the run's first commit.
    PreRunOrigin,
    /// The recording holds no reads.
    ReadsNotRecorded,
    /// The key is not written or read anywhere.
    UnknownKey,
    /// A limit cut something.
    Truncated,
    /// A value is made of rows below the key, by more than one step.
    NestedRows,
    /// States fold from the recorded initial state.
    InitialAndLog,
    /// States fold from nothing.
    LogOnly,
    /// A row of the log could not be read.
    LogGap,
    /// Steps consumed sources that no tracked read shows.
    IncompleteSources,
    /// Control edges are not available.
    ControlUnavailable,
    /// The answer is about the last execution of a subflow, because its address was not given.
    LastExecution,
}

impl NoteCode {
    /// All codes.
    pub const ALL: [Self; 12] = [
        Self::ConservativeFedEdges,
        Self::PreRunOrigin,
        Self::ReadsNotRecorded,
        Self::UnknownKey,
        Self::Truncated,
        Self::NestedRows,
        Self::InitialAndLog,
        Self::LogOnly,
        Self::LogGap,
        Self::IncompleteSources,
        Self::ControlUnavailable,
        Self::LastExecution,
    ];

    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::ConservativeFedEdges => "conservative-fed-edges",
            Self::PreRunOrigin => "pre-run-origin",
            Self::ReadsNotRecorded => "reads-not-recorded",
            Self::UnknownKey => "unknown-key",
            Self::Truncated => "truncated",
            Self::NestedRows => "nested-rows",
            Self::InitialAndLog => "initial+log",
            Self::LogOnly => "log-only",
            Self::LogGap => "log-gap",
            Self::IncompleteSources => "incomplete-sources",
            Self::ControlUnavailable => "control-unavailable",
            Self::LastExecution => "last-execution",
        }
    }

    /// What it means, in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::ConservativeFedEdges => {
                "Rows do not say what was read before each write, so every read of a step counts for every write of it."
            }
            Self::PreRunOrigin => {
                "The value was there before the first commit: initial state, run input or code outside state."
            }
            Self::ReadsNotRecorded => {
                "The recording holds no reads, so missing edges do not mean independence."
            }
            Self::UnknownKey => "No commit writes this key and no step reads it; it may be misspelt.",
            Self::Truncated => "A limit cut the answer; raise it to see the rest.",
            Self::NestedRows => {
                "The value is made of rows below the key; the last of them is not its only source."
            }
            Self::InitialAndLog => "States are folded from the recorded initial state and the log.",
            Self::LogOnly => {
                "No initial state is recorded, so values seeded before the run show only after a commit sets them."
            }
            Self::LogGap => "A row of the log could not be read and contributes nothing.",
            Self::IncompleteSources => {
                "Steps consumed run input, environment or silent reads, which no edge shows."
            }
            Self::ControlUnavailable => "Nothing recorded says which decision let a step run.",
            Self::LastExecution => "The subflow ran more than once; this is its last execution.",
        }
    }
}

impl fmt::Display for NoteCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A code with what it is about here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The code.
    pub code: NoteCode,
    /// What it is about.
    pub detail: String,
}

impl Note {
    /// A code with its general meaning.
    pub fn of(code: NoteCode) -> Self {
        Self { code, detail: code.meaning().to_owned() }
    }

    /// A code with a particular detail.
    pub fn with(code: NoteCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }

    /// The JSON object `{code, detail}`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("code", self.code.word().into());
        out.insert("detail", self.detail.as_str().into());
        Value::Object(out)
    }
}

/// Adds a note unless its code is there already.
pub(super) fn add(notes: &mut Vec<Note>, note: Note) {
    if !notes.iter().any(|n| n.code == note.code) {
        notes.push(note);
    }
}

pub(super) fn notes_value(notes: &[Note]) -> Value {
    Value::Array(notes.iter().map(Note::to_value).collect())
}

/// Why a question is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The key cannot exist.
    #[error("`{key}` is no state key: {reason}")]
    InvalidStateKey {
        /// What was given.
        key: String,
        /// Why.
        reason: &'static str,
    },
    /// A limit below one.
    #[error("`{option}` must be at least 1, not {value}")]
    InvalidLimit {
        /// The option.
        option: &'static str,
        /// What was given.
        value: usize,
    },
    /// The step has no commit in this log.
    #[error("step `{id}` has no commit in the log of {log}; near it: {}", nearest.join(", "))]
    StepNotInLog {
        /// The step.
        id: String,
        /// Steps of the log with a similar id or the nearest execution index.
        nearest: Vec<String>,
        /// Which log.
        log: String,
    },
    /// A row uses a verb outside the closed set, so the value cannot be folded.
    #[error("commit {commit}: the row at `{path}` has the unknown verb `{verb}`")]
    UnknownVerb {
        /// Position of the bundle.
        commit: usize,
        /// The row's path, with dots.
        path: String,
        /// The verb.
        verb: String,
    },
    /// No subflow with this address or path.
    #[error("no subflow `{id}` in the recording; there are: {}", known.join(", "))]
    UnknownSubflow {
        /// What was asked for.
        id: String,
        /// Known paths.
        known: Vec<String>,
    },
}
