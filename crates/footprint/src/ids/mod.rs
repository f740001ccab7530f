//! Addresses and ids: the one owner of their grammar.
//!
//! | name | grammar | example |
//! |---|---|---|
//! | local id | author text without reserved characters | `score` |
//! | stage id | `[mount path/]local id` | `sf-a/sf-b/score` |
//! | address ([`RuntimeStageId`]) | `stage id#execution index` | `sf-a/sf-b/score#14` |
//! | branch segment | `for-each id~index` | `review~2` |
//! | run id ([`RunId`]) | `unix ms-ten digit counter` | `1753971200123-0000000007` |
//!
//! An address is parsed at the *last* `#`, then at the *last* `/` of what precedes it:
//!
//! ```
//! use footprint::ids::RuntimeStageId;
//! let address = RuntimeStageId::parse("sf-a/sf-b/score#14");
//! assert_eq!(address.subflow_path(), Some("sf-a/sf-b"));
//! assert_eq!(address.local_id(), "score");
//! assert_eq!(address.index().0, 14);
//! assert_eq!(address.to_string(), "sf-a/sf-b/score#14");
//! ```

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::clock::{Clock, unix_ms};
use crate::value::Str;

/// Separates a stage id from the execution index.
pub const INDEX_MARK: char = '#';
/// Separates mount segments of a path.
pub const PATH_MARK: char = '/';
/// Separates a for-each id from the index of one generated branch.
pub const BRANCH_MARK: char = '~';
/// Separates path segments inside bundle rows; never shown and never legal in an id or key.
pub const UNIT_SEPARATOR: char = '\u{1f}';
/// Stage id and name of run-boundary events.
pub const ROOT_STAGE: &str = "__root__";

/// Position of one node visit in its run; rises by one per visit, over all levels and resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExecutionIndex(pub u64);

impl fmt::Display for ExecutionIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Position of a bundle in *its own* log. Not an [`ExecutionIndex`], and not interchangeable with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitIdx(pub usize);

impl fmt::Display for CommitIdx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A stage id in its prefixed form: mount path, then the local id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StageId(Str);

impl StageId {
    /// Wraps an id that is already prefixed (or stands at top level).
    pub fn new(id: impl Into<Str>) -> Self {
        Self(id.into())
    }

    /// The whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The shared text.
    pub fn as_shared(&self) -> &Str {
        &self.0
    }

    /// The mount path in front of the local id, if any.
    pub fn subflow_path(&self) -> Option<&str> {
        split_stage_id(&self.0).0
    }

    /// The id as the author wrote it.
    pub fn local_id(&self) -> &str {
        split_stage_id(&self.0).1
    }
}

impl fmt::Display for StageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for StageId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

/// The address of one node visit: a shared stage id and an execution index, formatted only when shown.
///
/// Cloning costs one reference count. [`fmt::Display`] and serde give the text form. A recorded text
/// without `#` (older logs have an empty address on seeds) stays as it was.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuntimeStageId {
    stage: Str,
    /// `NO_INDEX` when the recorded text had no `#`.
    index: u64,
}

const NO_INDEX: u64 = u64::MAX;

impl RuntimeStageId {
    /// The address of visit `index` of the (prefixed) stage id.
    pub fn new(stage: impl Into<Str>, index: ExecutionIndex) -> Self {
        Self { stage: stage.into(), index: index.0 }
    }

    /// The synthetic address of run-boundary events, `__root__#0`.
    pub fn root() -> Self {
        Self { stage: ROOT_STAGE.into(), index: 0 }
    }

    /// What [`RuntimeStageId::parse`] makes of a text without `#`.
    pub(crate) fn without_index(text: Str) -> Self {
        Self { stage: text, index: NO_INDEX }
    }

    /// Reads an address; never fails (see the module description for texts without `#`).
    pub fn parse(text: &str) -> Self {
        let parsed = ParsedAddress::of(text);
        match parsed.index {
            Some(index) => Self { stage: parsed.stage_id.into(), index: index.0 },
            None => Self { stage: text.into(), index: NO_INDEX },
        }
    }

    /// The prefixed stage id.
    pub fn stage_id(&self) -> &str {
        &self.stage
    }

    /// The prefixed stage id, shared.
    pub fn stage_shared(&self) -> &Str {
        &self.stage
    }

    /// The execution index; 0 when the recorded text had none.
    pub fn index(&self) -> ExecutionIndex {
        ExecutionIndex(if self.index == NO_INDEX { 0 } else { self.index })
    }

    /// Whether the text form has an execution index.
    pub fn has_index(&self) -> bool {
        self.index != NO_INDEX
    }

    /// The mount path, absent at top level (and for texts without `#`).
    pub fn subflow_path(&self) -> Option<&str> {
        if self.has_index() { split_stage_id(&self.stage).0 } else { None }
    }

    /// The stage id without the mount path.
    pub fn local_id(&self) -> &str {
        if self.has_index() { split_stage_id(&self.stage).1 } else { &self.stage }
    }

    /// Number of mount segments in the address (0 at top level).
    pub fn depth(&self) -> usize {
        self.subflow_path().map_or(0, |path| path.split(PATH_MARK).count())
    }
}

impl fmt::Display for RuntimeStageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stage)?;
        if self.has_index() { write!(f, "{INDEX_MARK}{}", self.index) } else { Ok(()) }
    }
}

impl fmt::Debug for RuntimeStageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl From<&str> for RuntimeStageId {
    fn from(text: &str) -> Self {
        Self::parse(text)
    }
}

impl PartialEq<str> for RuntimeStageId {
    fn eq(&self, other: &str) -> bool {
        let parsed = ParsedAddress::of(other);
        match parsed.index {
            Some(index) => self.index == index.0 && *self.stage == *parsed.stage_id,
            None => !self.has_index() && *self.stage == *other,
        }
    }
}

impl PartialEq<&str> for RuntimeStageId {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl Serialize for RuntimeStageId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RuntimeStageId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Ok(Self::parse(&text))
    }
}

/// An address taken apart without allocating.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedAddress<'a> {
    /// Everything before the last `#`; the whole text when there is none.
    pub stage_id: &'a str,
    /// The mount path, absent at top level and for texts without `#`.
    pub subflow_path: Option<&'a str>,
    /// The stage id without the mount path.
    pub local_id: &'a str,
    /// The execution index; absent when the text has no `#` followed by a number.
    pub index: Option<ExecutionIndex>,
}

impl<'a> ParsedAddress<'a> {
    /// Parses `[path/]id#index`.
    pub fn of(text: &'a str) -> Self {
        let whole = Self { stage_id: text, subflow_path: None, local_id: text, index: None };
        let Some((stage_id, digits)) = text.rsplit_once(INDEX_MARK) else { return whole };
        // Only the form we print is an address: `a#+1`, `a#01` or an index that collides with the
        // "no index" marker stay plain text, so that parse and print are inverse.
        let canonical = digits == "0" || (!digits.starts_with('0') && !digits.is_empty());
        if !canonical || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return whole;
        }
        match digits.parse::<u64>() {
            Ok(index) if index != NO_INDEX => {
                let (subflow_path, local_id) = split_stage_id(stage_id);
                Self { stage_id, subflow_path, local_id, index: Some(ExecutionIndex(index)) }
            }
            _ => whole,
        }
    }
}

/// `<stage id>#<index>`.
pub fn build_runtime_stage_id(stage_id: &str, index: ExecutionIndex) -> String {
    format!("{stage_id}{INDEX_MARK}{index}")
}

/// Splits a prefixed stage id into mount path and local id, at the last `/`.
pub fn split_stage_id(stage_id: &str) -> (Option<&str>, &str) {
    match stage_id.rsplit_once(PATH_MARK) {
        Some((path, local)) => (Some(path), local),
        None => (None, stage_id),
    }
}

/// The mount path of an address, absent at top level.
pub fn subflow_path_of(address: &str) -> Option<&str> {
    ParsedAddress::of(address).subflow_path
}

/// Whether a map key names one execution (`sf-pay#5`) and not a path (`sf-pay`).
pub fn is_execution_key(key: &str) -> bool {
    key.contains(INDEX_MARK)
}

/// Puts a mount path in front of a local id or name; the one function that prefixes.
pub fn prefixed(mount_path: &str, local: &str) -> Str {
    if mount_path.is_empty() {
        return local.into();
    }
    let mut text = String::with_capacity(mount_path.len() + PATH_MARK.len_utf8() + local.len());
    text.push_str(mount_path);
    text.push(PATH_MARK);
    text.push_str(local);
    text.into()
}

/// The segment of one generated branch: `<parent>~<index>`.
pub fn build_branch_segment(parent: &str, index: usize) -> String {
    format!("{parent}{BRANCH_MARK}{index}")
}

/// Takes a generated branch segment apart; `None` when the text is not one.
///
/// ```
/// use footprint::ids::parse_branch_segment;
/// assert_eq!(parse_branch_segment("review~2"), Some(("review", 2)));
/// assert_eq!(parse_branch_segment("~2"), None);
/// assert_eq!(parse_branch_segment("review~x"), None);
/// ```
pub fn parse_branch_segment(segment: &str) -> Option<(&str, usize)> {
    let (parent, digits) = segment.rsplit_once(BRANCH_MARK)?;
    if parent.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().map(|index| (parent, index))
}

/// The door an id comes through; decides which characters are reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdKind {
    /// A stage, decider, selector or fork on a chain.
    Stage,
    /// A decider's or selector's branch.
    Branch,
    /// A fork's child.
    Child,
    /// A mount, anywhere.
    Mount,
    /// A for-each.
    ForEach,
}

impl fmt::Display for IdKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stage => "stage",
            Self::Branch => "branch",
            Self::Child => "fork child",
            Self::Mount => "mount",
            Self::ForEach => "for-each",
        })
    }
}

/// Why an id is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdProblem {
    /// Nothing, or only white space.
    #[error("an id must not be empty or only white space")]
    Empty,
    /// A character with a meaning in the address grammar.
    #[error("{character:?} is reserved in a {kind} id")]
    Reserved {
        /// The first reserved character found.
        character: char,
        /// The door.
        kind: IdKind,
    },
}

/// Checks an author's id at one of the id doors.
///
/// ```
/// use footprint::ids::{check_id, IdKind};
/// assert!(check_id("score~v2", IdKind::Stage).is_ok());
/// assert!(check_id("score~v2", IdKind::Mount).is_err());
/// assert!(check_id("a/b", IdKind::Stage).is_err());
/// ```
pub fn check_id(id: &str, kind: IdKind) -> Result<(), IdProblem> {
    if id.trim().is_empty() {
        return Err(IdProblem::Empty);
    }
    let tilde_reserved = matches!(kind, IdKind::Mount | IdKind::ForEach);
    let reserved = |c: &char| {
        matches!(*c, INDEX_MARK | PATH_MARK | UNIT_SEPARATOR) || (tilde_reserved && *c == BRANCH_MARK)
    };
    match id.chars().find(reserved) {
        Some(character) => Err(IdProblem::Reserved { character, kind }),
        None => Ok(()),
    }
}

/// Identity of one run or resume; text order is creation order within one [`RunIdSource`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Str);

impl RunId {
    /// Wraps a recorded id.
    pub fn new(text: impl Into<Str>) -> Self {
        Self(text.into())
    }

    /// The engine's own form: milliseconds, then a ten digit counter.
    pub fn from_parts(unix_ms: u64, counter: u64) -> Self {
        Self(format!("{unix_ms}-{counter:010}").into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The shared text.
    pub fn as_shared(&self) -> &Str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for RunId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

/// Where run ids come from; injectable through the run options.
pub trait RunIdSource: Send + Sync + 'static {
    /// A fresh id, greater than every id this source gave before.
    fn next_run_id(&self) -> RunId;
}

/// Milliseconds that never go backwards plus a counter; the state behind both run-id sources.
#[derive(Debug, Default)]
struct IdCounter {
    newest_ms: AtomicU64,
    count: AtomicU64,
}

impl IdCounter {
    const fn new() -> Self {
        Self { newest_ms: AtomicU64::new(0), count: AtomicU64::new(0) }
    }

    fn next(&self, now_ms: u64) -> RunId {
        let counter = self.count.fetch_add(1, Ordering::SeqCst);
        let before = self.newest_ms.fetch_max(now_ms, Ordering::SeqCst);
        RunId::from_parts(before.max(now_ms), counter)
    }
}

/// The one process-wide cell of the engine: the counter behind [`DefaultRunIds`].
static PROCESS_IDS: IdCounter = IdCounter::new();

/// Run ids from the system clock and the process-wide counter.
#[derive(Debug, Clone, Copy, Default)]
pub struct DefaultRunIds;

impl RunIdSource for DefaultRunIds {
    fn next_run_id(&self) -> RunId {
        PROCESS_IDS.next(unix_ms())
    }
}

/// Run ids from a given clock and a counter of its own; for tests and reproducible records.
///
/// ```
/// use std::sync::Arc;
/// use footprint::clock::ManualClock;
/// use footprint::ids::{CountedRunIds, RunIdSource};
/// let ids = CountedRunIds::new(Arc::new(ManualClock::at(1_000)));
/// assert_eq!(ids.next_run_id().as_str(), "1000-0000000000");
/// assert_eq!(ids.next_run_id().as_str(), "1000-0000000001");
/// ```
pub struct CountedRunIds {
    clock: Arc<dyn Clock>,
    counter: IdCounter,
}

impl CountedRunIds {
    /// A source that starts counting at 0.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, counter: IdCounter::new() }
    }
}

impl fmt::Debug for CountedRunIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountedRunIds").field("counter", &self.counter).finish_non_exhaustive()
    }
}

impl RunIdSource for CountedRunIds {
    fn next_run_id(&self) -> RunId {
        self.counter.next(self.clock.now_ms())
    }
}

#[cfg(test)]
mod tests;
