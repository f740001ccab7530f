//! Why a tool cannot be built.

use std::fmt;

/// A tool that cannot be built: every fault of it, at once (`ERR_TOOL_DEF`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolDefError {
    /// The tool.
    pub tool: String,
    /// What is wrong with it; never empty.
    pub problems: Vec<ToolDefProblem>,
}

/// One fault of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolDefProblem {
    /// The declaration at fault, by its recorded name.
    pub field: &'static str,
    /// What was given, by shape.
    pub received: String,
    /// What would do instead.
    pub fix: String,
}

impl ToolDefError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        "ERR_TOOL_DEF"
    }
}

impl ToolDefProblem {
    /// A problem with `field`.
    pub fn new(field: &'static str, received: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { field, received: received.into(), fix: fix.into() }
    }
}

impl fmt::Display for ToolDefProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.field, self.received, self.fix)
    }
}

impl fmt::Display for ToolDefError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tool `{}` cannot be built", self.tool)?;
        match self.problems.as_slice() {
            [only] => write!(f, ": {only}"),
            several => {
                write!(f, " ({} problems)", several.len())?;
                several.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
            }
        }
    }
}

impl std::error::Error for ToolDefError {}
