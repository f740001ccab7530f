//! Prompt templates over the action budget (CTX-21…24).

use std::fmt;

use footprint::value::Str;

/// The facts a template may name, and nothing else (CTX-21).
pub const TEMPLATE_FACTS: [&str; 3] = ["action", "actionBudget", "actionsRemaining"];

/// Iterations left of the budget: the one function behind the engine, the cache decision and request assembly.
///
/// It is 0 at the wrap-up call, which legally runs at `max + 1`.
///
/// ```
/// use agentfootprint_core::injection::iterations_remaining;
/// assert_eq!(iterations_remaining(10, 3), 7);
/// assert_eq!(iterations_remaining(10, 11), 0);
/// ```
pub const fn iterations_remaining(max: u32, iteration: u32) -> u32 {
    max.saturating_sub(iteration)
}

/// One of the closed set of facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateFact {
    /// The current iteration, from 1.
    Action,
    /// The iteration budget of the agent.
    ActionBudget,
    /// What is left of it.
    ActionsRemaining,
}

impl TemplateFact {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "action" => Some(Self::Action),
            "actionBudget" => Some(Self::ActionBudget),
            "actionsRemaining" => Some(Self::ActionsRemaining),
            _ => None,
        }
    }

    /// The recorded name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::ActionBudget => "actionBudget",
            Self::ActionsRemaining => "actionsRemaining",
        }
    }
}

/// The values a template is rendered with.
#[derive(Clone, Copy, Debug)]
pub struct TemplateFacts {
    /// The current iteration, from 1.
    pub iteration: u32,
    /// The iteration budget, when known.
    pub max_iterations: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Str),
    Fact(TemplateFact),
}

/// A parsed prompt template.
///
/// ```
/// use agentfootprint_core::injection::{PromptTemplate, TemplateFacts};
/// let template = PromptTemplate::parse("Action {{action}} of {{ actionBudget }}.")?;
/// let facts = TemplateFacts { iteration: 2, max_iterations: Some(10) };
/// assert_eq!(template.render(facts).as_deref(), Some("Action 2 of 10."));
/// # Ok::<(), agentfootprint_core::injection::UnknownTemplateFact>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptTemplate {
    source: Str,
    pieces: Vec<Piece>,
}

/// A placeholder that names no known fact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("template names the unknown fact `{name}`; a template may name only {}", TEMPLATE_FACTS.join(", "))]
pub struct UnknownTemplateFact {
    /// The name as written.
    pub name: String,
}

impl PromptTemplate {
    /// Parses `{{name}}` placeholders; anything that is not of this form stays literal text.
    pub fn parse(source: impl Into<Str>) -> Result<Self, UnknownTemplateFact> {
        let source: Str = source.into();
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest: &str = &source;
        while let Some(open) = rest.find("{{") {
            let (before, after) = rest.split_at(open);
            let inner = after.get(2..).unwrap_or_default();
            match inner.find("}}").map(|close| inner.split_at(close)) {
                Some((name, tail)) if is_name(name.trim()) => {
                    let name = name.trim();
                    let fact = TemplateFact::parse(name)
                        .ok_or_else(|| UnknownTemplateFact { name: name.to_owned() })?;
                    literal.push_str(before);
                    if !literal.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut literal).into()));
                    }
                    pieces.push(Piece::Fact(fact));
                    rest = tail.get(2..).unwrap_or_default();
                }
                _ => {
                    // Not a placeholder: keep one brace and look again from the next character.
                    literal.push_str(before);
                    literal.push('{');
                    rest = after.get(1..).unwrap_or_default();
                }
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal.into()));
        }
        Ok(Self { source, pieces })
    }

    /// The text as written.
    pub fn source(&self) -> &Str {
        &self.source
    }

    /// True when at least one placeholder is in it; a template without any is a plain prompt.
    pub fn has_placeholders(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Fact(_)))
    }

    /// The facts this template needs and the context does not have.
    pub fn missing_facts(&self, facts: TemplateFacts) -> Vec<TemplateFact> {
        let mut missing = Vec::new();
        for piece in &self.pieces {
            if let Piece::Fact(fact) = piece
                && *fact != TemplateFact::Action
                && facts.max_iterations.is_none()
                && !missing.contains(fact)
            {
                missing.push(*fact);
            }
        }
        missing
    }

    /// The rendered text, or `None` when a fact is missing: never a gap, a zero or a literal placeholder.
    pub fn render(&self, facts: TemplateFacts) -> Option<String> {
        let mut text = String::with_capacity(self.source.len());
        for piece in &self.pieces {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Fact(TemplateFact::Action) => push_number(&mut text, facts.iteration),
                Piece::Fact(TemplateFact::ActionBudget) => push_number(&mut text, facts.max_iterations?),
                Piece::Fact(TemplateFact::ActionsRemaining) => {
                    push_number(&mut text, iterations_remaining(facts.max_iterations?, facts.iteration));
                }
            }
        }
        Some(text)
    }
}

impl fmt::Display for PromptTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn push_number(text: &mut String, number: u32) {
    use fmt::Write as _;
    // Writing to a String cannot fail.
    let _ = write!(text, "{number}");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn facts(iteration: u32, max: Option<u32>) -> TemplateFacts {
        TemplateFacts { iteration, max_iterations: max }
    }

    /// Proves CTX-21, CTX-22.
    #[test]
    fn renders_the_three_facts_with_inner_whitespace() {
        let template =
            PromptTemplate::parse("Action {{action}} of {{actionBudget}}, {{ actionsRemaining }} left.")
                .unwrap();
        assert!(template.has_placeholders());
        assert_eq!(template.render(facts(2, Some(3))).unwrap(), "Action 2 of 3, 1 left.");
        assert_eq!(template.render(facts(4, Some(3))).unwrap(), "Action 4 of 3, 0 left.");
    }

    /// Proves CTX-21.
    #[test]
    fn refuses_unknown_names_and_keeps_other_braces() {
        let error = PromptTemplate::parse("{{iteration}}").unwrap_err();
        assert_eq!(error.name, "iteration");
        for fact in TEMPLATE_FACTS {
            assert!(error.to_string().contains(fact));
        }
        for text in ["{{}}", "{{ a b }}", "{{{", "a {{ open", "{x}", "{{a-b}}"] {
            let template = PromptTemplate::parse(text).unwrap();
            assert!(!template.has_placeholders());
            assert_eq!(template.render(facts(1, None)).unwrap(), text);
        }
        let nested = PromptTemplate::parse("{{{action}}}").unwrap();
        assert_eq!(nested.render(facts(7, None)).unwrap(), "{7}");
    }

    proptest! {
        /// Proves CTX-22, CTX-23.
        #[test]
        fn missing_facts_is_empty_exactly_when_it_renders(
            parts in prop::collection::vec(prop_oneof![
                "[a-z ]{0,6}".prop_map(String::from),
                prop::sample::select(TEMPLATE_FACTS.to_vec()).prop_map(|name| format!("{{{{{name}}}}}")),
            ], 0..6),
            iteration in 0u32..40,
            max in prop::option::of(0u32..40),
        ) {
            let template = PromptTemplate::parse(parts.concat()).unwrap();
            let facts = facts(iteration, max);
            let rendered = template.render(facts);
            prop_assert_eq!(template.missing_facts(facts).is_empty(), rendered.is_some());
            if let Some(text) = rendered {
                for fact in TEMPLATE_FACTS {
                    prop_assert!(!text.contains(&format!("{{{{{fact}}}}}")), "{}", text);
                }
            }
            if let Some(max) = max {
                prop_assert_eq!(iterations_remaining(max, iteration) + iteration.min(max), max);
            }
        }

        /// Proves CTX-21.
        #[test]
        fn text_without_placeholders_is_untouched(text in "[^{}]{0,40}") {
            let template = PromptTemplate::parse(text.as_str()).unwrap();
            prop_assert_eq!(template.render(facts(1, None)).unwrap(), text);
        }
    }
}
