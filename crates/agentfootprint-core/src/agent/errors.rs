//! Why an agent is not built: every problem of one build, together (AGT-31).

use std::fmt;

use footprint::chart::BuildErrors as ChartErrors;
use footprint::observe::InvalidQueueOption;
use footprint::value::Str;

use crate::injection::InjectionError;
use crate::llm::MalformedCapabilities;
use crate::tools::{ToolDefError, ToolSetError};

/// One problem of an agent's declaration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentBuildError {
    /// An id that cannot be used.
    #[error("the {what} id `{id}` {why}")]
    BadId {
        /// Whose id.
        what: &'static str,
        /// The id.
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// A method that may be called once was called again.
    #[error("`{method}` was called twice; the second call would silently replace the first")]
    CalledTwice {
        /// The method.
        method: &'static str,
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
    /// A declaration that is not an injection.
    #[error(transparent)]
    Injection(#[from] InjectionError),
    /// Two injections of one id.
    #[error("two injections are called `{id}`: a {first} and a {second}; ids are unique per agent")]
    DuplicateInjection {
        /// The id.
        id: Str,
        /// Flavour of the first.
        first: String,
        /// Flavour of the second.
        second: String,
    },
    /// A tool that is not well defined.
    #[error(transparent)]
    Tool(#[from] ToolDefError),
    /// The agent's tools do not go together.
    #[error(transparent)]
    Tools(#[from] ToolSetError),
    /// A budget that could never trip.
    #[error("`cost_budget` needs `pricing`: without prices it could never be reached")]
    BudgetWithoutPricing,
    /// Forced output beside other tools.
    #[error(
        "output strategy `tool-forced` leaves no room for other tools, but the agent has {what}; use `instruct` or \
         remove them"
    )]
    ForcedOutputWithTools {
        /// What it has.
        what: String,
    },
    /// Forced output without a schema.
    #[error("output strategy `tool-forced` needs a JSON schema; give one with `OutputOptions::json_schema`")]
    ForcedOutputWithoutSchema,
    /// Native structured output without a schema.
    #[error("output strategy `native` needs a JSON schema; give one with `OutputOptions::json_schema`")]
    NativeOutputWithoutSchema,
    /// A fallback without a contract.
    #[error("`output_fallback` needs `output_schema`: there is nothing to fall back from")]
    FallbackWithoutSchema,
    /// A canned value that does not meet the contract.
    #[error("the canned value of `output_fallback` does not meet the output contract: {message}")]
    CannedValue {
        /// What is wrong with it.
        message: String,
    },
    /// A feature that needs another one.
    #[error("{what} needs {needs}")]
    Needs {
        /// What was declared.
        what: String,
        /// What is missing.
        needs: &'static str,
    },
    /// A window that cannot work.
    #[error("`{method}`: {why}")]
    Window {
        /// The builder's method.
        method: &'static str,
        /// What is wrong, and the way out.
        why: String,
    },
    /// A reliability gate that cannot work.
    #[error("`reliability`: {why}")]
    Reliability {
        /// What is wrong, and the way out.
        why: String,
    },
    /// A provider that declares something impossible.
    #[error(transparent)]
    Capabilities(#[from] MalformedCapabilities),
    /// An observer queue that cannot work.
    #[error(transparent)]
    ObserverQueue(#[from] InvalidQueueOption),
    /// The chart itself is not valid.
    #[error("the agent's chart is not valid: {0}")]
    Chart(ChartErrors),
}

/// Every problem of one build.
#[derive(Debug)]
pub struct AgentBuildErrors(Vec<AgentBuildError>);

impl AgentBuildErrors {
    pub(crate) fn new(problems: Vec<AgentBuildError>) -> Self {
        Self(problems)
    }

    /// The problems, in the order of declaration.
    pub fn problems(&self) -> &[AgentBuildError] {
        &self.0
    }
}

impl fmt::Display for AgentBuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.len();
        write!(f, "the agent cannot be built ({count} problem{}):", if count == 1 { "" } else { "s" })?;
        self.0.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
    }
}

impl std::error::Error for AgentBuildErrors {}

impl IntoIterator for AgentBuildErrors {
    type Item = AgentBuildError;
    type IntoIter = std::vec::IntoIter<AgentBuildError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
