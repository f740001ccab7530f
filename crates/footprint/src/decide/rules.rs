//! Rules and their build-time checks (OBS-97, OBS-100…103).

use std::fmt;
use std::sync::Arc;

use super::run::{NoBranchMatched, ReadState, ScopeReader};
use super::{Decision, FilterError, Selection, WhereFilter};
use crate::value::Str;

type Predicate = dyn Fn(&ScopeReader<'_>) -> Result<bool, String> + Send + Sync;

/// What a rule asks.
#[derive(Clone)]
pub(super) enum When {
    Filter(WhereFilter),
    Predicate(Arc<Predicate>),
}

/// One rule: a condition, the branch it leads to, and what that branch means.
///
/// ```
/// use footprint::decide::{Rule, field};
/// let good = Rule::when(field("score").gt(700).field("dti").lt(43), "approve").label("Good credit");
/// let busy = Rule::test(|s| Ok::<_, footprint::error::ScopeError>(s.value("items")?.is_some()), "review");
/// ```
#[derive(Clone)]
pub struct Rule {
    pub(super) when: When,
    pub(super) then: Str,
    pub(super) label: Option<Str>,
}

impl Rule {
    /// A rule whose condition is a filter.
    pub fn when(filter: impl Into<WhereFilter>, then: impl Into<Str>) -> Self {
        Self { when: When::Filter(filter.into()), then: then.into(), label: None }
    }

    /// A rule whose condition is a predicate: synchronous, read-only, its reads are tracked. An error or a panic makes the rule not
    /// match (OBS-101); nothing propagates to the stage.
    pub fn test<E: fmt::Display>(
        predicate: impl Fn(&ScopeReader<'_>) -> Result<bool, E> + Send + Sync + 'static,
        then: impl Into<Str>,
    ) -> Self {
        let predicate = move |scope: &ScopeReader<'_>| predicate(scope).map_err(|e| e.to_string());
        Self { when: When::Predicate(Arc::new(predicate)), then: then.into(), label: None }
    }

    /// Says what the branch means when this rule leads to it.
    #[must_use]
    pub fn label(mut self, label: impl Into<Str>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The branch the rule leads to.
    pub fn branch(&self) -> &Str {
        &self.then
    }

    fn same_as(&self, other: &Self) -> bool {
        let same_condition = match (&self.when, &other.when) {
            (When::Filter(a), When::Filter(b)) => a == b,
            (When::Predicate(a), When::Predicate(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        same_condition && self.then == other.then
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Rule");
        match &self.when {
            When::Filter(filter) => out.field("when", filter),
            When::Predicate(_) => out.field("when", &"predicate"),
        };
        out.field("then", &self.then).field("label", &self.label).finish()
    }
}

/// Where a decision goes when no rule matches: a branch id, with the label of what it means, or nothing at all.
///
/// ```
/// use footprint::decide::DefaultBranch;
/// let plain: DefaultBranch = "reject".into();
/// let labelled: DefaultBranch = ("reject", "nothing fired").into();
/// let exhaustive = DefaultBranch::none();
/// assert_ne!(plain, labelled);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultBranch {
    pub(super) branch: Option<Str>,
    pub(super) label: Option<Str>,
}

impl DefaultBranch {
    /// No default: the rules are exhaustive, and falling through is an error.
    pub fn none() -> Self {
        Self::default()
    }

    /// Says what the default branch means; a blank label counts as undeclared.
    #[must_use]
    pub fn label(mut self, label: impl Into<Str>) -> Self {
        self.label = Some(label.into()).filter(|l| !l.trim().is_empty());
        self
    }

    /// The branch id, if there is a default.
    pub fn branch(&self) -> Option<&Str> {
        self.branch.as_ref()
    }
}

macro_rules! default_from {
    ($($from:ty),+) => {$(
        impl From<$from> for DefaultBranch {
            fn from(branch: $from) -> Self {
                Self { branch: Some(branch.into()), label: None }
            }
        }
    )+};
}
default_from!(&str, String, Str);

impl<B: Into<Str>, L: Into<Str>> From<(B, L)> for DefaultBranch {
    fn from((branch, label): (B, L)) -> Self {
        Self { branch: Some(branch.into()), label: None }.label(label)
    }
}

/// A problem found when rules are declared. `rule` is `#index` with the label, when there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// A filter that must not be declared.
    #[error("rule {rule}: {source}")]
    Filter {
        /// The rule.
        rule: String,
        /// What is wrong with its filter.
        source: FilterError,
    },
    /// A rule or the default leads to a branch the node does not have.
    #[error("rule {rule} leads to `{branch}`, which is no branch; available: {}", available.join(", "))]
    UnknownBranch {
        /// The rule, or `default`.
        rule: String,
        /// The id it names.
        branch: String,
        /// The declared branches.
        available: Vec<String>,
    },
}

/// Rules declared once, outside the stage function, so that a chart can check them when it is built.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Arc<[Rule]>,
    default: DefaultBranch,
}

impl Rules {
    /// These rules, without a default.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { rules: rules.into_iter().collect(), default: DefaultBranch::none() }
    }

    /// Adds the default branch (deciders only).
    #[must_use]
    pub fn otherwise(mut self, default: impl Into<DefaultBranch>) -> Self {
        self.default = default.into();
        self
    }

    /// The rules in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The default branch.
    pub fn default_branch(&self) -> &DefaultBranch {
        &self.default
    }

    /// All problems of the rules against the branches a node declares (OBS-103).
    pub fn check(&self, branches: &[&str]) -> Vec<RuleError> {
        let mut problems = Vec::new();
        let unknown = |rule: String, branch: &Str| {
            (!branches.contains(&&**branch)).then(|| RuleError::UnknownBranch {
                rule,
                branch: branch.to_string(),
                available: branches.iter().map(ToString::to_string).collect(),
            })
        };
        for (at, rule) in self.rules.iter().enumerate() {
            let name = || match &rule.label {
                Some(label) => format!("#{at} \"{label}\""),
                None => format!("#{at}"),
            };
            if let When::Filter(filter) = &rule.when
                && let Err(source) = filter.check()
            {
                problems.push(RuleError::Filter { rule: name(), source });
            }
            problems.extend(unknown(name(), &rule.then));
        }
        problems.extend(self.default.branch.iter().filter_map(|b| unknown("default".into(), b)));
        problems
    }

    /// Positions of rules that repeat an earlier one, as `(earlier, later)`: worth a warning, not an error.
    pub fn duplicates(&self) -> Vec<(usize, usize)> {
        let later = |(at, rule): (usize, &Rule)| {
            self.rules.iter().take(at).position(|earlier| earlier.same_as(rule)).map(|first| (first, at))
        };
        self.rules.iter().enumerate().filter_map(later).collect()
    }

    /// [`decide`](super::decide()) with these rules.
    ///
    /// # Errors
    /// [`NoBranchMatched`] when nothing matches and there is no default.
    pub fn decide(&self, state: &impl ReadState) -> Result<Decision, NoBranchMatched> {
        super::decide(state, &self.rules, self.default.clone())
    }

    /// [`select`](super::select()) with these rules.
    pub fn select(&self, state: &impl ReadState) -> Selection {
        super::select(state, &self.rules)
    }
}
