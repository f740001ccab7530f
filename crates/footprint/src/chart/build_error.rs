//! Everything `build()` refuses, with the offender and the fix in the text.

use std::fmt;

use crate::value::Str;

/// Where in a chart an id was declared: the call-site kind, and the owner for positions below another node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Position {
    /// A stage on the main chain.
    Stage,
    /// A decider on the main chain.
    Decider,
    /// A selector on the main chain.
    Selector,
    /// A mount on the main chain.
    Mount,
    /// A for-each on the main chain.
    ForEach,
    /// A child of the fork at this node.
    ForkChild(Str),
    /// A branch of this decider.
    DeciderBranch(Str),
    /// A branch of this selector.
    SelectorBranch(Str),
    /// The fork node generated after this node.
    GeneratedFork(Str),
    /// A continuation this stage returned at run time.
    Dynamic(Str),
    /// A node of the chart a continuation was returned in.
    Existing,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Stage => f.write_str("stage on the chain"),
            Position::Decider => f.write_str("decider on the chain"),
            Position::Selector => f.write_str("selector on the chain"),
            Position::Mount => f.write_str("mount on the chain"),
            Position::ForEach => f.write_str("for-each on the chain"),
            Position::ForkChild(owner) => write!(f, "child of the fork at `{owner}`"),
            Position::DeciderBranch(owner) => write!(f, "branch of decider `{owner}`"),
            Position::SelectorBranch(owner) => write!(f, "branch of selector `{owner}`"),
            Position::GeneratedFork(owner) => write!(f, "fork node generated after `{owner}`"),
            Position::Dynamic(owner) => write!(f, "continuation returned by `{owner}`"),
            Position::Existing => f.write_str("node of the running chart"),
        }
    }
}

/// One problem of a chart declaration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two nodes carry one id.
    #[error(
        "id `{id}` is used twice, as {first} and as {second}: ids are unique within one chart, rename one of them"
    )]
    DuplicateId {
        /// The shared id.
        id: Str,
        /// Position declared first.
        first: Position,
        /// Position declared second.
        second: Position,
    },
    /// An id or key holds a character of the address grammar.
    #[error("{position} `{id}` contains `{}`, which {}: use other characters, such as `-` or `_`", .character.escape_default(), reserved_for(*.character))]
    ReservedCharacter {
        /// The refused id.
        id: Str,
        /// The reserved character.
        character: char,
        /// Where the id was declared.
        position: Position,
    },
    /// An id is empty or only white space.
    #[error(
        "{position} number {ordinal} in declaration order has an empty id: give it a name that is not only white space"
    )]
    EmptyId {
        /// Where the id was declared.
        position: Position,
        /// 1-based number of the node in declaration order.
        ordinal: usize,
    },
    /// An author's id is one the engine generates or keeps.
    #[error("id `{id}`, used as {position}, belongs to {owner}: rename the declared one")]
    ReservedGeneratedId {
        /// The id.
        id: Str,
        /// What owns it: a generated fork node, or the run boundary.
        owner: Str,
        /// Where the author used it.
        position: Position,
    },
    /// A loop names an id this chart does not have.
    #[error("{source_position} `{source_id}` loops to `{target}`, which is not a node of this chart: loop to one of {}", list(.legal))]
    UnknownLoopTarget {
        /// Node the loop leaves.
        source_id: Str,
        /// Where that node was declared.
        source_position: Position,
        /// The unknown target.
        target: Str,
        /// Ids that may be targeted from there.
        legal: Vec<Str>,
    },
    /// A loop names an id that cannot be looped to.
    #[error("{source_position} `{source_id}` loops to `{target}`, {reason}: loop to one of {}", list(.legal))]
    IllegalLoopTarget {
        /// Node the loop leaves.
        source_id: Str,
        /// Where that node was declared.
        source_position: Position,
        /// The refused target.
        target: Str,
        /// Why it is refused.
        reason: Str,
        /// Ids that may be targeted from there.
        legal: Vec<Str>,
    },
    /// A node would get a second continuation.
    #[error(
        "`{node}` already continues with {existing}, so {refused} is refused: a node has one continuation, remove one of the two"
    )]
    ContinuationConflict {
        /// The node.
        node: Str,
        /// Its continuation.
        existing: Str,
        /// The one that came second.
        refused: Str,
    },
    /// A decider, selector or fork without anything to run.
    #[error("{kind} `{owner}` has no branches: add at least one")]
    NoBranches {
        /// The node.
        owner: Str,
        /// `decider`, `selector`, `fork` or `dynamic chain`.
        kind: &'static str,
    },
    /// Two branches of one decider or selector carry one id.
    #[error("{kind} `{owner}` has two branches `{id}`: rename one of them")]
    DuplicateBranch {
        /// The decider or selector.
        owner: Str,
        /// `decider`, `selector` or `fork`.
        kind: &'static str,
        /// The shared branch id.
        id: Str,
    },
    /// A decider's declared default is none of its branches.
    #[error("decider `{decider}` declares the default branch `{default}`, which is not one of its branches {}: declare that branch or choose one of these", list(.branches))]
    UnknownDefault {
        /// The decider.
        decider: Str,
        /// The declared default.
        default: Str,
        /// Its branches.
        branches: Vec<Str>,
    },
    /// `converge_at` names an id this chart does not have.
    #[error(
        "{position} `{branch}` converges at `{target}`, which is not a node of this chart: name a node of the same chart"
    )]
    UnknownConvergeTarget {
        /// The mount that declares it.
        branch: Str,
        /// Where that mount was declared.
        position: Position,
        /// The unknown target.
        target: Str,
    },
    /// A retry policy that allows no attempt at all.
    #[error("`{node}` has a retry policy of {attempts} attempts: use at least 1 (1 means no retry)")]
    InvalidRetry {
        /// The node.
        node: Str,
        /// The refused number.
        attempts: u32,
    },
    /// A tag that is empty or contains a reserved character.
    #[error("`{node}` has the tag `{}`: tags are not empty and contain no `~`", .tag.escape_debug())]
    InvalidTag {
        /// The node.
        node: Str,
        /// The refused tag.
        tag: Str,
    },
    /// One tag declared twice on one node.
    #[error("`{node}` has the tag `{tag}` twice: declare it once")]
    DuplicateTag {
        /// The node.
        node: Str,
        /// The repeated tag.
        tag: Str,
    },
    /// A for-each without its required parts.
    #[error("for-each `{node}`: {what}")]
    InvalidForEach {
        /// The node.
        node: Str,
        /// What is missing or wrong, and the fix.
        what: Str,
    },
    /// A contract schema that is no valid JSON Schema.
    #[error("the {side} schema of the contract is not a valid JSON Schema: {error}")]
    InvalidSchema {
        /// `input` or `output`.
        side: &'static str,
        /// The schema error.
        error: String,
    },
    /// A structure names a node for which no function is registered.
    #[error("{kind} `{id}` has no registered function: register one under this id")]
    MissingFunction {
        /// Path of the node, mount ids first.
        id: Str,
        /// What kind of function is missing.
        kind: &'static str,
    },
    /// A structure this version cannot rebuild a chart from.
    #[error("structure node `{id}` cannot be rebuilt: {what}")]
    UnsupportedStructure {
        /// Path of the node, mount ids first.
        id: Str,
        /// What is not supported, and the fix.
        what: Str,
    },
}

fn reserved_for(character: char) -> &'static str {
    match character {
        '#' => "separates an id from its execution index",
        '/' => "separates mount ids in an address",
        '~' => "marks generated for-each branches (it is allowed in plain stage ids)",
        _ => "separates path segments in the commit log",
    }
}

fn list(ids: &[Str]) -> String {
    if ids.is_empty() {
        return "(none)".to_owned();
    }
    let quoted: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    quoted.join(", ")
}

/// All problems of one chart declaration, in declaration order (ENG-16).
///
/// ```
/// use footprint::chart::{BuildError, Chart, Stage};
/// use footprint::scope::Scope;
///
/// let errors = Chart::builder(Stage::new("a", |_: Scope| async { Ok(()) }))
///     .then(Stage::new("a", |_: Scope| async { Ok(()) }))
///     .loop_to("nowhere")
///     .build()
///     .unwrap_err();
/// assert_eq!(errors.iter().count(), 2);
/// assert!(errors.iter().any(|error| matches!(error, BuildError::DuplicateId { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildErrors(pub Vec<BuildError>);

impl BuildErrors {
    /// The problems, in declaration order.
    pub fn iter(&self) -> std::slice::Iter<'_, BuildError> {
        self.0.iter()
    }
}

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.len();
        write!(f, "the chart cannot be built, {count} problem{}:", if count == 1 { "" } else { "s" })?;
        for problem in &self.0 {
            write!(f, "\n  - {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildErrors {}

impl IntoIterator for BuildErrors {
    type Item = BuildError;
    type IntoIter = std::vec::IntoIter<BuildError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
