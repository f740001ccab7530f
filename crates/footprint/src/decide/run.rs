//! Evaluating rules over tracked reads.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::rules::{DefaultBranch, Rule, When};
use super::{
    ConditionEvidence, Decision, DecisionEvidence, InputEvidence, RuleEvidence, RuleKind, Selection,
    SelectionEvidence, WhereFilter,
};
use crate::error::{ScopeError, panic_text};
use crate::state::Key;
use crate::value::summary::{PREVIEW, summarise};
use crate::value::{Str, Value};

/// What rules are evaluated over: tracked reads, and the run's one word on redaction.
pub trait ReadState {
    /// Reads a top-level key; the read is tracked like any other.
    ///
    /// # Errors
    /// Whatever the scope refuses.
    fn read_value(&self, key: &str) -> Result<Option<Value>, ScopeError>;

    /// The form in which a value under this key may be served: `None` when the key is redacted as a whole, otherwise the value with
    /// its redacted fields replaced.
    fn served_form(&self, key: &str, value: &Value) -> Option<Value>;
}

/// The stage that decided has neither a matching rule nor a default branch.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("no rule matched ({} rules, {} could not be evaluated) and there is no default branch", rules.len(), self.failed())]
pub struct NoBranchMatched {
    /// All rules, as they were evaluated.
    pub rules: Arc<[RuleEvidence]>,
}

impl NoBranchMatched {
    /// How many rules could not be evaluated.
    pub fn failed(&self) -> usize {
        self.rules.iter().filter(|r| r.match_error.is_some()).count()
    }
}

/// What a predicate reads state through. Every read is tracked and becomes an input of the rule's evidence.
pub struct ScopeReader<'a> {
    state: &'a dyn ReadState,
    inputs: RefCell<Vec<InputEvidence>>,
}

impl ScopeReader<'_> {
    /// The value under a key, if any.
    ///
    /// # Errors
    /// Whatever the scope refuses.
    pub fn value(&self, key: &str) -> Result<Option<Value>, ScopeError> {
        let value = self.state.read_value(key)?;
        let (value_summary, redacted) = served_summary(self.state, key, value.as_ref());
        self.inputs.borrow_mut().push(InputEvidence { key: key.into(), value_summary, redacted });
        Ok(value)
    }

    /// The typed value under a key.
    ///
    /// # Errors
    /// [`ScopeError::Missing`] when absent, [`ScopeError::TypeMismatch`] when it does not decode.
    pub fn get<T: DeserializeOwned>(&self, key: Key<T>) -> Result<T, ScopeError> {
        let name = key.name();
        let stage = || Str::from("predicate");
        let value =
            self.value(name)?.ok_or_else(|| ScopeError::Missing { stage: stage(), key: name.into() })?;
        value.decode::<T>().map_err(|e| ScopeError::TypeMismatch {
            stage: stage(),
            key: name.into(),
            expected: format!("{} ({e})", std::any::type_name::<T>()),
            found: value.kind().to_string(),
        })
    }
}

const REDACTED: &str = "[REDACTED]";

fn served_summary(state: &dyn ReadState, key: &str, value: Option<&Value>) -> (Str, bool) {
    match state.served_form(key, value.unwrap_or(&Value::Null)) {
        None => (REDACTED.into(), true),
        Some(served) => (summarise(value.map(|_| &served), PREVIEW).into(), false),
    }
}

/// Evaluates rules in order; the first that matches wins, otherwise the default branch.
///
/// ```no_run
/// use footprint::decide::{Rule, decide, field};
/// # fn stage(scope: footprint::scope::Scope) -> Result<footprint::decide::Decision, footprint::error::StageError> {
/// let rules = [Rule::when(field("score").gt(700), "approve").label("Good credit")];
/// Ok(decide(&scope, &rules, ("reject", "nothing fired"))?)
/// # }
/// ```
///
/// # Errors
/// [`NoBranchMatched`] when nothing matches and no default was given.
pub fn decide(
    state: &impl ReadState,
    rules: &[Rule],
    default: impl Into<DefaultBranch>,
) -> Result<Decision, NoBranchMatched> {
    let default = default.into();
    let mut seen = Vec::with_capacity(rules.len());
    let mut winner = None;
    for (index, rule) in rules.iter().enumerate() {
        let evidence = evaluate(state, index, rule);
        winner = evidence.matched.then(|| rule.then.clone());
        seen.push(evidence);
        if winner.is_some() {
            break;
        }
    }
    let Some(chosen) = winner.or_else(|| default.branch.clone()) else {
        return Err(NoBranchMatched { rules: seen.into() });
    };
    let evidence = DecisionEvidence {
        rules: seen,
        chosen: chosen.clone(),
        default: default.branch,
        default_label: default.label,
    };
    Ok(Decision { branch: chosen, evidence: Some(Arc::new(evidence)) })
}

/// Evaluates all rules; the branches of all that match are selected, in rule order.
pub fn select(state: &impl ReadState, rules: &[Rule]) -> Selection {
    let seen: Vec<_> = rules.iter().enumerate().map(|(index, rule)| evaluate(state, index, rule)).collect();
    let mut selected: Vec<Str> = Vec::new();
    for rule in seen.iter().filter(|r| r.matched) {
        if !selected.contains(&rule.branch) {
            selected.push(rule.branch.clone());
        }
    }
    let evidence = SelectionEvidence { rules: seen, selected: selected.clone() };
    Selection { branches: selected, evidence: Some(Arc::new(evidence)) }
}

fn evaluate(state: &dyn ReadState, rule_index: usize, rule: &Rule) -> RuleEvidence {
    let (kind, outcome) = match &rule.when {
        When::Filter(filter) => {
            let (conditions, outcome) = evaluate_filter(state, filter);
            (RuleKind::Filter { conditions }, outcome)
        }
        When::Predicate(predicate) => {
            let reader = ScopeReader { state, inputs: RefCell::default() };
            let outcome = catch_unwind(AssertUnwindSafe(|| predicate(&reader)))
                .unwrap_or_else(|payload| Err(format!("panic: {}", panic_text(&*payload))));
            (RuleKind::Function { inputs: reader.inputs.into_inner() }, outcome)
        }
    };
    let label = rule.label.clone().filter(|l| !l.trim().is_empty());
    let (matched, match_error) = match outcome {
        Ok(matched) => (matched, None),
        Err(error) => (false, Some(error.into())),
    };
    RuleEvidence { kind, rule_index, branch: rule.then.clone(), matched, label, match_error }
}

/// All conditions are evaluated and recorded, also after one failed; each key is read once.
fn evaluate_filter(
    state: &dyn ReadState,
    filter: &WhereFilter,
) -> (Vec<ConditionEvidence>, Result<bool, String>) {
    let mut conditions = Vec::with_capacity(filter.len());
    let mut outcome = Ok(!filter.is_empty());
    for (key, operators) in filter.iter() {
        let actual = match state.read_value(key) {
            Ok(actual) => actual,
            Err(error) => {
                outcome = Err(error.to_string());
                continue;
            }
        };
        let (actual_summary, redacted) = served_summary(state, key, actual.as_ref());
        for (op, threshold) in operators {
            let result = match op.test(actual.as_ref(), threshold) {
                Ok(result) => result,
                Err(error) => {
                    outcome = Err(error.to_string());
                    false
                }
            };
            if !result && outcome.is_ok() {
                outcome = Ok(false);
            }
            let threshold = state.served_form(key, threshold).unwrap_or_else(|| REDACTED.into());
            conditions.push(ConditionEvidence {
                key: key.clone(),
                op,
                threshold,
                actual_summary: actual_summary.clone(),
                result,
                redacted,
            });
        }
    }
    (conditions, outcome)
}
