//! Names a model can call (TOOL-11), and the names the framework keeps for itself (TOOL-12).

use std::fmt;

use thiserror::Error;

/// The most characters a tool name may have.
pub const MAX_TOOL_NAME: usize = 64;

/// Names only the framework may register; a custom tool of such a name is refused when its owner is mounted.
pub mod reserved {
    /// Opens a skill's body.
    pub const READ_SKILL: &str = "read_skill";
    /// Skips the current step of a stepped skill.
    pub const SKIP_STEP: &str = "skip_step";
    /// Shows an artifact to the reader.
    pub const PRESENT: &str = "present";
    /// The synthetic tool of a forced output contract; it exists at request assembly only.
    pub const RESPOND_WITH_SCHEMA: &str = "respond_with_schema";
    /// The tools of self-explanation (REC-93).
    pub use agentfootprint_record::conventions::TRACE_TOOL_NAMES;
    /// The one tool of self-explanation in delegate mode.
    pub const EXPLAIN_RUN: &str = "explain_run";
}

/// What happens to a name outside the charset every vendor accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolNamePolicy {
    /// The name is refused where it is declared (default): one bad name makes a vendor reject the whole request, so
    /// all tools vanish.
    #[default]
    Strict,
    /// The name is kept and a warning is logged, for providers that accept or rewrite other names.
    Lenient,
}

impl ToolNamePolicy {
    /// Applies the policy to one name.
    pub fn admit(self, name: &str) -> Result<(), ToolNameError> {
        match (self, check_tool_name(name)) {
            (_, Ok(())) => Ok(()),
            (Self::Lenient, Err(error)) if error.reason != BadName::Empty => {
                tracing::warn!(target: "agentfootprint", tool = name, "{error}");
                Ok(())
            }
            (_, Err(error)) => Err(error),
        }
    }
}

/// Checks a name against `^[a-zA-Z0-9_-]{1,64}$`.
///
/// ```
/// use agentfootprint_core::tools::check_tool_name;
/// assert!(check_tool_name("get_order").is_ok());
/// let refused = check_tool_name("get order!").unwrap_err();
/// assert_eq!(refused.suggestion, "get_order");
/// ```
pub fn check_tool_name(name: &str) -> Result<(), ToolNameError> {
    let reason = if name.is_empty() {
        Some(BadName::Empty)
    } else if let Some(bad) = name.chars().find(|c| !legal(*c)) {
        Some(BadName::Character(bad))
    } else if name.len() > MAX_TOOL_NAME {
        Some(BadName::TooLong(name.len()))
    } else {
        None
    };
    match reason {
        None => Ok(()),
        Some(reason) => Err(ToolNameError { name: name.to_owned(), reason, suggestion: suggest(name) }),
    }
}

fn legal(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// A legal name close to the given one: illegal runs become one underscore, ends are trimmed.
fn suggest(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if legal(c) {
            out.push(c);
        } else if !out.ends_with('_') {
            out.push('_');
        }
    }
    let mut out = out.trim_matches('_').to_owned();
    out.truncate(MAX_TOOL_NAME); // only ASCII is left
    if out.is_empty() { "my_tool".to_owned() } else { out }
}

/// A tool name no vendor would accept (`ERR_TOOL_NAME`).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "tool name `{name}` {reason}: vendors accept 1 to 64 of the characters a-z A-Z 0-9 _ - and reject the whole \
     request otherwise; call it `{suggestion}`, or set ToolNamePolicy::Lenient for a provider that rewrites names"
)]
#[non_exhaustive]
pub struct ToolNameError {
    /// The refused name.
    pub name: String,
    /// What is wrong with it.
    pub reason: BadName,
    /// A legal name close to it.
    pub suggestion: String,
}

impl ToolNameError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        "ERR_TOOL_NAME"
    }
}

/// Why a name is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadName {
    /// It has no characters.
    Empty,
    /// It is longer than 64 characters.
    TooLong(usize),
    /// It contains this character.
    Character(char),
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::TooLong(length) => write!(f, "has {length} characters"),
            Self::Character(c) => write!(f, "contains {c:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves TOOL-11.
    #[test]
    fn a_bad_name_is_refused_with_a_usable_one() {
        let error = check_tool_name("größe (neu)").unwrap_err();
        assert_eq!(error.reason, BadName::Character('ö'));
        assert_eq!(error.suggestion, "gr_e_neu");
        assert!(check_tool_name(&error.suggestion).is_ok());
        assert_eq!(
            error.to_string(),
            "tool name `größe (neu)` contains 'ö': vendors accept 1 to 64 of the characters a-z A-Z 0-9 _ - and \
             reject the whole request otherwise; call it `gr_e_neu`, or set ToolNamePolicy::Lenient for a provider \
             that rewrites names"
        );
        assert!(check_tool_name("").unwrap_err().to_string().contains("is empty"));
        assert!(check_tool_name(&"a".repeat(65)).unwrap_err().to_string().contains("has 65 characters"));
        assert!(check_tool_name(&"a".repeat(64)).is_ok());
    }

    /// Proves TOOL-11.
    #[test]
    fn lenient_keeps_the_name() {
        assert!(ToolNamePolicy::Strict.admit("a.b").is_err());
        assert!(ToolNamePolicy::Lenient.admit("a.b").is_ok());
        assert!(ToolNamePolicy::Lenient.admit("").is_err());
    }
}
