//! What a link decided, as a journal entry (HOST-118).

use footprint::value::{Object, Str, Value};

use super::port::{AskPayload, ToolCallOutcome, ToolResultOutcome};
use crate::run::{EffectFailure, EffectOutcome, Journaled};
use crate::tools::people::AskComponent;

/// What a consult came to: an outcome, or the reason of a link that could not decide.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Consulted<T>(pub(super) Result<T, Str>);

const OUTCOME: &str = "outcome";

fn entry(outcome: &str, members: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> EffectOutcome {
    let mut out = Object::new();
    out.insert(OUTCOME, Value::from(outcome));
    for (key, value) in members {
        if let Some(value) = value {
            out.insert(key, value);
        }
    }
    EffectOutcome::Ok(Value::from(out))
}

fn failed(reason: &Str) -> EffectOutcome {
    EffectOutcome::Err(EffectFailure {
        class: "MiddlewareError".into(),
        code: None,
        message: reason.clone(),
        retryable: false,
    })
}

fn text(value: &Value, key: &str) -> Option<Str> {
    value.get(key).and_then(Value::as_shared_str).cloned()
}

/// Reads an entry; what is unreadable denies.
fn read<T>(outcome: EffectOutcome, read: impl FnOnce(&Value, &str) -> Option<T>) -> Consulted<T> {
    Consulted(match outcome {
        EffectOutcome::Ok(value) => text(&value, OUTCOME)
            .and_then(|outcome| read(&value, &outcome))
            .ok_or_else(|| "the recorded decision is unreadable".into()),
        EffectOutcome::Err(failure) => Err(failure.message),
    })
}

impl Journaled for Consulted<ToolCallOutcome> {
    fn to_outcome(&self) -> EffectOutcome {
        match &self.0 {
            Ok(ToolCallOutcome::Allow { args, why }) => {
                entry("allow", [("args", args.clone()), ("why", why.clone().map(Value::from))])
            }
            Ok(ToolCallOutcome::Deny { reason }) => {
                entry("deny", [("reason", Some(Value::from(reason.clone())))])
            }
            Ok(ToolCallOutcome::Ask(ask)) => entry(
                "ask",
                [
                    ("question", Some(Value::from(ask.question.clone()))),
                    ("detail", ask.detail.clone()),
                    ("component", ask.component.as_ref().map(AskComponent::to_value)),
                ],
            ),
            Err(reason) => failed(reason),
        }
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        read(outcome, |value, outcome| {
            Some(match outcome {
                "allow" => {
                    ToolCallOutcome::Allow { args: value.get("args").cloned(), why: text(value, "why") }
                }
                "deny" => ToolCallOutcome::Deny { reason: text(value, "reason")? },
                "ask" => ToolCallOutcome::Ask(AskPayload {
                    question: text(value, "question")?,
                    detail: value.get("detail").cloned(),
                    component: match value.get("component") {
                        Some(component) => Some(AskComponent::read(component).ok()?),
                        None => None,
                    },
                }),
                _ => return None,
            })
        })
    }
}

impl Journaled for Consulted<ToolResultOutcome> {
    fn to_outcome(&self) -> EffectOutcome {
        match &self.0 {
            Ok(ToolResultOutcome::Allow { result, why }) => {
                entry("allow", [("result", result.clone()), ("why", why.clone().map(Value::from))])
            }
            Ok(ToolResultOutcome::Deny { reason }) => {
                entry("deny", [("reason", Some(Value::from(reason.clone())))])
            }
            Err(reason) => failed(reason),
        }
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        read(outcome, |value, outcome| {
            Some(match outcome {
                "allow" => {
                    ToolResultOutcome::Allow { result: value.get("result").cloned(), why: text(value, "why") }
                }
                "deny" => ToolResultOutcome::Deny { reason: text(value, "reason")? },
                _ => return None,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    fn survives<T: Clone + std::fmt::Debug + PartialEq>(decided: Result<T, Str>)
    where
        Consulted<T>: Journaled,
    {
        let decided = Consulted(decided);
        assert_eq!(Consulted::from_outcome(decided.to_outcome()), decided);
    }

    /// Proves HOST-118 for tool middleware: a decision survives the journal, and a torn entry denies.
    #[test]
    fn a_decision_survives_the_journal() {
        let component = AskComponent::new("pick").props(value!({ "rows": 2 }));
        survives(Ok(ToolCallOutcome::allow()));
        survives(Ok(ToolCallOutcome::allow_with(value!({ "id": 1 }), "canonical")));
        survives(Ok(ToolCallOutcome::deny("no")));
        survives(Ok(ToolCallOutcome::ask(AskPayload::new("Sure?").detail(value!([1])).component(component))));
        survives::<ToolCallOutcome>(Err("middleware `x` failed: away".into()));
        survives(Ok(ToolResultOutcome::allow_with(value!("masked"), "mail")));
        survives(Ok(ToolResultOutcome::deny("hidden")));
        let torn =
            Consulted::<ToolCallOutcome>::from_outcome(EffectOutcome::Ok(value!({ "outcome": "deny" })));
        assert_eq!(torn.0, Err("the recorded decision is unreadable".into()));
    }
}
