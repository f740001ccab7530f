//! Decisions with evidence (OBS §7): rules as data or predicates, evaluated over tracked reads, recorded condition by condition.
//!
//! | item | what it is |
//! |---|---|
//! | [`field`], [`WhereFilter`] | a condition as data: `field("dti").lt(43)` |
//! | [`Rule`] | a filter or a predicate, the branch it leads to, and a label |
//! | [`decide()`] / [`select()`] | first match / all matches |
//! | [`Rules`] | rules declared beforehand, checked against the branches of a chart |
//! | [`Decision`], [`Selection`] | what a decider or selector function answers, with its evidence |

mod evidence;
mod filter;
mod rules;
mod run;
#[cfg(test)]
mod tests;

pub use evidence::{
    ConditionEvidence, Decision, DecisionEvidence, InputEvidence, RuleEvidence, RuleKind, Selection,
    SelectionEvidence, meanings,
};
pub use filter::{FieldBuilder, FilterError, MAX_LIST, Op, WhereFilter, field};
pub use rules::{DefaultBranch, Rule, RuleError, Rules};
pub use run::{NoBranchMatched, ReadState, ScopeReader, decide, select};
