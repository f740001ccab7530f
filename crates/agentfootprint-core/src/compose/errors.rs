//! Why a composition is not built: every problem of one build, together.

use std::fmt;

use agentfootprint_record::conventions::is_reserved_subflow_segment;
use footprint::chart::BuildErrors as ChartErrors;
use footprint::ids::{IdKind, IdProblem, check_id};
use footprint::value::Str;

use crate::agent::AgentBuildError;

/// One problem of a declaration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// An id that cannot be used.
    #[error("the {what} id `{id}` {why}")]
    BadId {
        /// Whose id: `branch`, `step`, `node` …
        what: &'static str,
        /// The id.
        id: String,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// Two members of one id.
    #[error("the {what} id `{id}` is given twice; ids are unique among siblings")]
    Duplicate {
        /// What they are.
        what: &'static str,
        /// The id.
        id: Str,
    },
    /// A method that may be called once was called again.
    #[error("`{method}` was called twice; the second call would silently replace the first")]
    CalledTwice {
        /// The method.
        method: &'static str,
    },
    /// Something without which it cannot run.
    #[error("there is no {what}; {fix}")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// How to give it.
        fix: &'static str,
    },
    /// Fewer members than it needs.
    #[error("{found} of at least {needed} {what} declared; for fewer use {instead}")]
    TooFew {
        /// What there are too few of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many are needed.
        needed: usize,
        /// What does the job of fewer.
        instead: &'static str,
    },
    /// A number outside its range.
    #[error("`{option}` is {value}; {rule}")]
    OutOfRange {
        /// The option.
        option: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        rule: &'static str,
    },
    /// A text that is empty or blank.
    #[error("`{option}` is empty; give it text or leave it out")]
    Empty {
        /// The option.
        option: &'static str,
    },
    /// Both ways of merging were declared.
    #[error("`{first}` and `{second}` are both declared; a parallel merges in one way")]
    TwoMerges {
        /// The first declaration.
        first: &'static str,
        /// The second.
        second: &'static str,
    },
    /// A message mapping without a step behind it.
    #[error("`pipe_via` is declared after the last step; it maps the message of the step that follows it")]
    DanglingPipe,
    /// An edge whose end is not declared.
    #[error("the edge `{from}` -> `{to}` names node `{unknown}`, which is not declared; nodes are {}", known.join(", "))]
    UnknownNode {
        /// Where the edge starts.
        from: Str,
        /// Where it ends.
        to: Str,
        /// The end that is not declared.
        unknown: Str,
        /// The declared nodes.
        known: Vec<String>,
    },
    /// A node with several parents and no way to join what they answer.
    #[error("node `{node}` follows {}: declare how their answers are joined with `Node::join`", parents.join(" and "))]
    FanInWithoutJoin {
        /// The node.
        node: Str,
        /// Its parents.
        parents: Vec<String>,
    },
    /// The edges form a cycle.
    #[error(
        "the edge `{from}` -> `{to}` closes a cycle; a graph runs each node once, use a Loop for repetition"
    )]
    Cycle {
        /// Where the edge starts.
        from: Str,
        /// Where it ends.
        to: Str,
    },
    /// A cost budget no call can be kept from crossing.
    #[error(
        "`cost_budget` with `OnExceed::Halt` has no effect on one call: there is no next one to prevent; use `CostBudget::warn`"
    )]
    HaltWithoutNextCall,
    /// The model call inside is not well declared.
    #[error(transparent)]
    Call(AgentBuildError),
    /// A part of a pattern is not well declared.
    #[error(transparent)]
    Part(Box<ComposeErrors>),
    /// The chart cannot be built.
    #[error(transparent)]
    Chart(ChartErrors),
}

/// All problems of one build.
#[derive(Debug)]
pub struct ComposeErrors {
    what: String,
    problems: Vec<ComposeError>,
}

impl ComposeErrors {
    pub(crate) fn new(kind: &str, id: &str, problems: Vec<ComposeError>) -> Self {
        Self { what: format!("{kind} `{id}`"), problems }
    }

    /// The problems, in the order they were found.
    pub fn problems(&self) -> &[ComposeError] {
        &self.problems
    }
}

impl fmt::Display for ComposeErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len();
        write!(f, "{} cannot be built ({count} problem{}):", self.what, if count == 1 { "" } else { "s" })?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
    }
}

impl std::error::Error for ComposeErrors {}

impl From<ComposeErrors> for ComposeError {
    fn from(errors: ComposeErrors) -> Self {
        Self::Part(Box::new(errors))
    }
}

/// What a builder found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<ComposeError>);

impl Problems {
    pub(crate) fn push(&mut self, problem: ComposeError) {
        self.0.push(problem);
    }

    pub(crate) fn twice(&mut self, method: &'static str) {
        self.push(ComposeError::CalledTwice { method });
    }

    pub(crate) fn check(
        &mut self,
        bad: bool,
        option: &'static str,
        value: impl ToString,
        rule: &'static str,
    ) {
        if bad {
            self.push(ComposeError::OutOfRange { option, value: value.to_string(), rule });
        }
    }

    /// Checks the id of a runner: it stands in events and paths.
    pub(crate) fn runner_id(&mut self, what: &'static str, id: &str) {
        self.id(what, id, true, &[]);
    }

    /// Checks the id of a member. `taken` are ids of the composition's own stages beside it.
    pub(crate) fn id(&mut self, what: &'static str, id: &str, reserved: bool, taken: &[&str]) {
        let why = match check_id(id, IdKind::Mount) {
            Err(IdProblem::Empty) => "is empty; give it a name".to_owned(),
            Err(IdProblem::Reserved { character, .. }) => {
                format!(
                    "holds the reserved character `{}`; use letters, digits, `-` and `_`",
                    character.escape_default()
                )
            }
            Ok(()) if reserved && is_reserved_subflow_segment(id) => {
                "starts with `sf-`, which is reserved for the library's own nodes; choose another name"
                    .to_owned()
            }
            Ok(()) if taken.contains(&id) => {
                "is the name of a stage of the composition itself; choose another name".to_owned()
            }
            Ok(()) => return,
        };
        self.push(ComposeError::BadId { what, id: id.to_owned(), why });
    }

    /// Names given twice, each once.
    pub(crate) fn duplicates<'a>(&mut self, what: &'static str, ids: impl IntoIterator<Item = &'a Str>) {
        let mut seen: Vec<(&Str, bool)> = Vec::new();
        for id in ids {
            match seen.iter_mut().find(|(known, _)| *known == id) {
                None => seen.push((id, false)),
                Some((_, told)) if !*told => {
                    *told = true;
                    self.push(ComposeError::Duplicate { what, id: id.clone() });
                }
                Some(_) => {}
            }
        }
    }

    pub(crate) fn into_result(self, kind: &str, id: &str) -> Result<(), ComposeErrors> {
        if self.0.is_empty() { Ok(()) } else { Err(ComposeErrors::new(kind, id, self.0)) }
    }
}

/// A chart that could not be built although every declaration was checked.
pub(crate) fn chart_failed(kind: &str, id: &str) -> impl FnOnce(ChartErrors) -> ComposeErrors {
    let (kind, id) = (kind.to_owned(), id.to_owned());
    move |errors| ComposeErrors::new(&kind, &id, vec![ComposeError::Chart(errors)])
}
