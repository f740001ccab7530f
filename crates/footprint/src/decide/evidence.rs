//! What a decision leaves behind: every rule looked at, every condition with the value it saw (OBS-105…108).

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::Op;
use crate::value::{Str, Value};

/// One condition of a filter rule, as it was evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionEvidence {
    /// The state key that was read.
    pub key: Str,
    /// The operator.
    pub op: Op,
    /// What the value was compared with; `[REDACTED]` for a redacted key.
    pub threshold: Value,
    /// Summary of the value found; `undefined` when the key was absent, `[REDACTED]` for a redacted key.
    pub actual_summary: Str,
    /// Whether the condition held.
    pub result: bool,
    /// Whether the key is redacted.
    pub redacted: bool,
}

/// One tracked read of a predicate rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputEvidence {
    /// The state key that was read.
    pub key: Str,
    /// Summary of the value found.
    pub value_summary: Str,
    /// Whether the key is redacted.
    pub redacted: bool,
}

/// What a rule was made of, with what it saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum RuleKind {
    /// A filter: data, condition by condition.
    #[serde(rename = "filter")]
    Filter {
        /// All conditions, also those after the first that failed.
        conditions: Vec<ConditionEvidence>,
    },
    /// A predicate: what it read before it answered.
    #[serde(rename = "function")]
    Function {
        /// Reads in order.
        inputs: Vec<InputEvidence>,
    },
}

/// One rule as it was evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleEvidence {
    /// Filter or predicate, with what it saw.
    #[serde(flatten)]
    pub kind: RuleKind,
    /// Position among the rules, from 0.
    pub rule_index: usize,
    /// The branch the rule leads to.
    pub branch: Str,
    /// Whether it matched.
    pub matched: bool,
    /// The rule's label, when declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Str>,
    /// Why it could not be evaluated; implies `matched: false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_error: Option<Str>,
}

/// Evidence of `decide`: the rules up to and including the winner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionEvidence {
    /// Rules in order, ending with the winner if there is one.
    pub rules: Vec<RuleEvidence>,
    /// Id of the branch taken.
    pub chosen: Str,
    /// Id of the default branch, when one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Str>,
    /// The default branch's label, when declared — recorded whether or not a rule won (OBS-102).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_label: Option<Str>,
}

impl DecisionEvidence {
    /// The rule that won, if one did.
    pub fn winner(&self) -> Option<&RuleEvidence> {
        self.rules.iter().find(|r| r.matched)
    }

    /// How many rules could not be evaluated.
    pub fn failed_rules(&self) -> usize {
        self.rules.iter().filter(|r| r.match_error.is_some()).count()
    }
}

/// Evidence of `select`: all rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectionEvidence {
    /// All rules in order.
    pub rules: Vec<RuleEvidence>,
    /// Ids of the selected branches, in rule order.
    pub selected: Vec<Str>,
}

/// What a decider function answers: a branch id, and why if it came from [`decide`](super::decide()).
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Id of the branch to take.
    pub branch: Str,
    /// How it was reached; `None` for a plain branch id, and readers must then say so rather than invent any.
    pub evidence: Option<Arc<DecisionEvidence>>,
}

/// What a selector function answers: branch ids, and why if they came from [`select`](super::select()).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Selection {
    /// Ids of the branches to run.
    pub branches: Vec<Str>,
    /// How they were reached.
    pub evidence: Option<Arc<SelectionEvidence>>,
}

macro_rules! from_ids {
    ($($from:ty),+) => {$(
        impl From<$from> for Decision {
            fn from(branch: $from) -> Self {
                Self { branch: Str::from(branch), evidence: None }
            }
        }
        impl From<$from> for Selection {
            fn from(branch: $from) -> Self {
                Self { branches: vec![Str::from(branch)], evidence: None }
            }
        }
    )+};
}
from_ids!(&str, String, Str);

impl<S: Into<Str>> From<Vec<S>> for Selection {
    fn from(ids: Vec<S>) -> Self {
        Self { branches: ids.into_iter().map(Into::into).collect(), evidence: None }
    }
}

impl<S: Into<Str>, const N: usize> From<[S; N]> for Selection {
    fn from(ids: [S; N]) -> Self {
        Self { branches: ids.into_iter().map(Into::into).collect(), evidence: None }
    }
}

/// What the branches mean, as far as the rules say: branch id → label, from rule labels and the default label only (OBS-201).
///
/// An undeclared label is absent, never derived from a branch id. The first label of a branch stands.
pub fn meanings(evidence: &DecisionEvidence) -> IndexMap<Str, Str> {
    let mut out = IndexMap::new();
    let default = evidence.default.iter().zip(&evidence.default_label);
    let labels = evidence.rules.iter().filter_map(|r| Some((&r.branch, r.label.as_ref()?)));
    for (branch, label) in labels.chain(default) {
        out.entry(branch.clone()).or_insert_with(|| label.clone());
    }
    out
}
