use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::path::Path;
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::value::{Object, Str, Value};
use crate::verbs::Verb;

/// One change of one commit.
#[derive(Clone, PartialEq)]
pub struct Row {
    /// Where.
    pub path: Path,
    /// How.
    pub verb: Verb,
    /// What: the value of a `set`, the delta of a `merge`, the tail of an `append`; `null` for `delete`.
    pub value: Value,
    /// Keys the stage had tracked-read before this write, when provenance is on.
    pub read_keys: Option<Arc<[Str]>>,
    /// A further merge row of a path whose accumulated delta an earlier row of the bundle already carries.
    pub(super) echo: bool,
    /// Recorded fields we do not know, kept for rewriting.
    pub(super) extra: Option<Box<Object>>,
}

impl Row {
    /// A row without provenance.
    pub fn new(path: Path, verb: Verb, value: Value) -> Self {
        Self { path, verb, value, read_keys: None, echo: false, extra: None }
    }

    /// Whether replaying this row changes nothing, because an earlier row of the bundle carries the whole
    /// accumulated delta of its path.
    pub fn is_echo(&self) -> bool {
        self.echo
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.verb, self.path, self.value)?;
        if let Some(keys) = &self.read_keys {
            write!(f, " after {keys:?}")?;
        }
        if self.echo { f.write_str(" (echo)") } else { Ok(()) }
    }
}

/// Why a visit has more than one bundle (ENG-70).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// A mount is left.
    Exit,
    /// A fan-out child's branch has settled.
    Repeat,
}

impl Phase {
    /// The recorded word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::Repeat => "repeat",
        }
    }
}

/// Sources a step consumed that no tracked read shows (ENG-89).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Untracked(u8);

impl Untracked {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Non-empty run input.
    pub const ARGS: Self = Self(1);
    /// Non-empty environment.
    pub const ENV: Self = Self(2);
    /// A silent read of a key that was never read tracked in the step.
    pub const SILENT: Self = Self(4);

    const WORDS: [(Self, &'static str); 3] =
        [(Self::ARGS, "args"), (Self::ENV, "env"), (Self::SILENT, "silent")];

    /// Adds sources.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether all of these sources are in.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The recorded words, in fixed order.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Self::WORDS.into_iter().filter(move |(flag, _)| self.contains(*flag)).map(|(_, word)| word)
    }

    /// The flag of a recorded word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(_, known)| *known == word).map(|(flag, _)| flag)
    }
}

impl fmt::Debug for Untracked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.words()).finish()
    }
}

/// One entry of a commit log: what one visit (or one continuation of it) changed.
///
/// In memory a bundle is its rows. The recorded form (`trace`, `overwrite`, `updates`) is made when it is
/// serialised and taken apart when it is read, see [`Bundle::from_value`].
#[derive(Clone, PartialEq, Debug)]
pub struct Bundle {
    /// Position in its log.
    pub idx: CommitIdx,
    /// Stage name, with a pass number on revisits.
    pub stage: Str,
    /// Prefixed stage id.
    pub stage_id: Str,
    /// Address of the visit.
    pub runtime_stage_id: RuntimeStageId,
    /// The changes, in order.
    pub rows: Box<[Row]>,
    /// Paths whose values are placeholders here.
    pub redacted_paths: Box<[Path]>,
    /// Sources no tracked read shows.
    pub untracked: Untracked,
    /// Declared tags, on the visit's first bundle only.
    pub tags: Option<Arc<[Str]>>,
    /// Set on continuation bundles only.
    pub phase: Option<Phase>,
    /// Recorded fields we do not know, kept for rewriting.
    pub extra: Object,
}

impl Bundle {
    /// An empty bundle at a position; fill in what the commit says.
    pub fn empty(
        idx: CommitIdx,
        stage: impl Into<Str>,
        stage_id: impl Into<Str>,
        runtime_stage_id: RuntimeStageId,
    ) -> Self {
        Self {
            idx,
            stage: stage.into(),
            stage_id: stage_id.into(),
            runtime_stage_id,
            rows: Box::default(),
            redacted_paths: Box::default(),
            untracked: Untracked::NONE,
            tags: None,
            phase: None,
            extra: Object::new(),
        }
    }

    /// Whether it changed nothing.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// A stored bundle that cannot be read: it keeps its index and contributes no state (ENG-161).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("commit {index} cannot be read: {reason}")]
pub struct Gap {
    /// Its position in the log.
    pub index: CommitIdx,
    /// What is wrong with it.
    pub reason: String,
}
