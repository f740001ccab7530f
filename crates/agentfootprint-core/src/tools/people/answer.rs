//! Judging an answer before a paused run is touched (TOOL-60), and what of a question may be said aloud.

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::field::Field as _;
use agentfootprint_record::events::shared::{NotDispatched, PausedCall};
use footprint::value::{Array, Object, Str, Value};

use super::decision::CheckInDecision;
use crate::run::RunRefusal;

/// Which kind of answer a pause demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// A decision on a tool's check-in.
    CheckIn,
    /// A decision on a middleware's question.
    Ask,
    /// No decision: a value, or nothing.
    None,
}

impl Demand {
    /// The gate as errors name it.
    fn gate(self) -> &'static str {
        match self {
            Self::CheckIn => "checkIn",
            Self::Ask => "ask",
            Self::None => "",
        }
    }
}

/// Which answer the data of a pause demands: the one reader, for the outcome and for the answer.
///
/// ```
/// use agentfootprint_core::tools::{Demand, pause_demands_decision};
/// let asked = footprint::value!({ "ask": { "question": "Really?", "middleware": "guard" }, "toolCallId": "c1" });
/// assert_eq!(pause_demands_decision(&asked), Demand::Ask);
/// ```
pub fn pause_demands_decision(pause_data: &Value) -> Demand {
    if pause_data.get("checkIn").is_some_and(Value::is_object) {
        Demand::CheckIn
    } else if pause_data.get("ask").is_some_and(Value::is_object) {
        Demand::Ask
    } else {
        Demand::None
    }
}

/// The component a pause shows, whatever kind it is.
fn component_of(pause_data: &Value) -> Option<&Value> {
    let of = |gate: &str| pause_data.get(gate).and_then(|gate| gate.get("component"));
    of("checkIn")
        .or_else(|| of("ask"))
        .or_else(|| pause_data.get("component"))
        .filter(|component| component.is_object())
}

/// The id of the component a pause shows.
pub(crate) fn component_id_of(pause_data: &Value) -> Option<Str> {
    component_of(pause_data)?.get("componentId").and_then(Value::as_shared_str).cloned()
}

/// Judges an answer: nothing has moved when it is refused, and the checkpoint stays as it was.
pub(crate) fn check_answer(
    shared_state: &Object,
    pause_data: Option<&Value>,
    answer: Option<Value>,
) -> Result<Value, RunRefusal> {
    let empty = Value::default();
    let asked = pause_data.unwrap_or(&empty);
    let demand = pause_demands_decision(asked);
    if demand != Demand::None {
        let decision = answer.as_ref().and_then(CheckInDecision::read);
        let Some(decision) = decision else {
            let received = answer.as_ref().map_or("nothing", |answer| answer.kind().as_str());
            let text = |value: Option<&Value>| value.and_then(Value::as_shared_str).cloned();
            return Err(RunRefusal::DecisionRequired {
                gate: demand.gate(),
                tool_name: text(asked.get("toolName")),
                middleware: text(asked.get("ask").and_then(|ask| ask.get("middleware"))),
                received: received.to_owned(),
            });
        };
        let pinned =
            component_of(asked).and_then(|component| component.get("propsRef")).and_then(Value::as_str);
        let chosen_from = decision.value.as_ref().and_then(|value| value.from.as_deref());
        if let (Some(pinned), Some(from)) = (pinned, chosen_from)
            && pinned != from
        {
            return Err(RunRefusal::StaleDecision { asked: pinned.into(), answered: from.into() });
        }
        return Ok(answer.unwrap_or_default());
    }
    let consent = shared_state.get(state::PAUSED_CREDENTIAL).and_then(Value::as_bool).unwrap_or_default()
        || asked.get("authorization").is_some();
    match answer {
        Some(answer) => Ok(answer),
        None if consent => Ok(Value::default()),
        None => {
            let text = |key: &str| asked.get(key).and_then(Value::as_shared_str).cloned();
            Err(RunRefusal::PauseAnswerRequired {
                tool_name: text("toolName").unwrap_or_else(|| Str::from("a tool")),
                tool_call_id: text("toolCallId").unwrap_or_default(),
            })
        }
    }
}

/// What stands in an event for the address a person consents at: a bearer capability (TOOL-54).
const WITHHELD: &str = "[withheld: only the paused outcome carries the address]";

/// The pause data as events and recordings may hold it: without the consent address.
pub(crate) fn public_pause_data(pause_data: &Value) -> Value {
    let Some(authorization) = pause_data.get("authorization").and_then(Value::as_object) else {
        return pause_data.clone();
    };
    let mut shown = authorization.clone();
    shown.insert("authorizationUrl", Value::from(WITHHELD));
    let mut out = pause_data.as_object().cloned().unwrap_or_default();
    out.insert("authorization", Value::Object(shown));
    Value::Object(out)
}

/// Settles a question nobody answers any more: the paused call and the later ones of its turn each get a message, so
/// that no call id stays unanswered (TOOL-31).
pub(crate) fn settle_abandoned(history: &Array) -> Array {
    let mut out = history.clone();
    let Some(calls) = last_calls(history) else { return out };
    let open: Vec<&Value> = calls.iter().filter(|call| !answered(history, call)).collect();
    let Some(paused) = open.first() else { return out };
    let text =
        |call: &Value, key: &str| call.get(key).and_then(Value::as_shared_str).cloned().unwrap_or_default();
    let pair = NotDispatched::new(PausedCall::new(text(paused, "id"), text(paused, "name")));
    for (at, call) in open.iter().enumerate() {
        let content = if at == 0 {
            format!("The call to `{}` was abandoned: its question was not answered.", text(call, "name"))
        } else {
            crate::tools::texts::not_dispatched(&text(paused, "name"))
        };
        let mut message = crate::run::message("tool", content);
        message.insert("toolCallId", Value::from(text(call, "id")));
        message.insert("toolName", Value::from(text(call, "name")));
        message.insert("resultOrigin", Value::from("library"));
        message.insert("resultReason", Value::from("not-dispatched"));
        message.insert("notDispatched", pair.to_value());
        out.push(Value::Object(message));
    }
    out
}

fn last_calls(history: &Array) -> Option<&Array> {
    (0..history.len())
        .rev()
        .filter_map(|at| history.get(at))
        .find_map(|message| message.get("toolCalls").and_then(Value::as_array))
}

fn answered(history: &Array, call: &Value) -> bool {
    let id = call.get("id");
    (0..history.len())
        .rev()
        .filter_map(|at| history.get(at))
        .take_while(|message| message.get("role").and_then(Value::as_str) == Some("tool"))
        .any(|message| message.get("toolCallId") == id)
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    fn refused(asked: Value, answer: Option<Value>) -> String {
        check_answer(&Object::new(), Some(&asked), answer).unwrap_err().to_string()
    }

    /// Proves TOOL-60, AGT-105.
    #[test]
    fn a_gate_takes_a_decision_and_nothing_else() {
        let asked = value!({ "ask": { "question": "?", "middleware": "g" }, "toolName": "refund" });
        assert_eq!(
            refused(asked.clone(), Some(value!("yes"))),
            "the ask gate of tool `refund` (asked by middleware `g`) is resumed with a decision (`{approved, by}`), got string"
        );
        assert!(refused(asked.clone(), None).ends_with("got nothing"));
        let check_in = value!({ "checkIn": { "tool": "refund" } });
        let secret = refused(check_in.clone(), Some(value!({ "approved": "hunter2" })));
        assert_eq!(secret, "the checkIn gate is resumed with a decision (`{approved, by}`), got object");
        let decision = value!({ "approved": false, "by": "ann" });
        assert_eq!(check_answer(&Object::new(), Some(&check_in), Some(decision.clone())).unwrap(), decision);
    }

    /// Proves TOOL-60.
    #[test]
    fn a_decision_on_other_data_is_stale() {
        let asked = value!({ "ask": { "component": { "componentId": "pick", "propsRef": "art_1" } } });
        let on = |from: &str| {
            Some(
                value!({ "approved": true, "by": "ann", "value": { "kind": "row", "value": 3, "from": (from) } }),
            )
        };
        assert_eq!(
            refused(asked.clone(), on("art_2")),
            "the decision was made on `art_2`, the question is about `art_1`"
        );
        assert!(check_answer(&Object::new(), Some(&asked), on("art_1")).is_ok());
        let silent = Some(value!({ "approved": true, "by": "ann" }));
        assert!(check_answer(&Object::new(), Some(&asked), silent).is_ok());
    }

    /// Proves TOOL-60.
    #[test]
    fn a_plain_pause_needs_a_value_and_a_consent_does_not() {
        let asked = value!({ "question": "Which?", "toolName": "ask_person", "toolCallId": "h1" });
        assert_eq!(
            refused(asked.clone(), None),
            "tool `ask_person` (call h1) asked a question; resume it with an answer"
        );
        assert_eq!(check_answer(&Object::new(), Some(&asked), Some(Value::Null)).unwrap(), Value::Null);
        let consent = value!({ "authorization": { "service": "crm" } });
        assert_eq!(check_answer(&Object::new(), Some(&consent), None).unwrap(), Value::Null);
    }

    /// Proves TOOL-54, EVT-25.
    #[test]
    fn the_consent_address_is_withheld_from_events() {
        let data = value!({ "toolName": "sync", "authorization": {
            "service": "crm", "authorizationUrl": "https://idp.example/secret", "sessionId": "s1",
        } });
        let public = public_pause_data(&data);
        assert!(!public.to_string().contains("idp.example"));
        assert_eq!(public.walk(&["authorization", "sessionId"]), Some(&value!("s1")));
        let plain = value!({ "question": "?" });
        assert_eq!(public_pause_data(&plain), plain);
    }

    /// Proves TOOL-31.
    #[test]
    fn an_abandoned_question_leaves_no_unanswered_call() {
        let history = value!([
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": "", "toolCalls": [
                { "id": "a", "name": "x", "args": {} }, { "id": "b", "name": "y", "args": {} }, { "id": "c", "name": "z", "args": {} },
            ] },
            { "role": "tool", "content": "1", "toolCallId": "a", "toolName": "x" },
        ]);
        let settled = settle_abandoned(history.as_array().unwrap());
        assert_eq!(settled.len(), 5);
        let at = |at: usize, key: &str| {
            settled.get(at).and_then(|m| m.get(key)).and_then(Value::as_str).unwrap().to_owned()
        };
        assert_eq!(at(3, "content"), "The call to `y` was abandoned: its question was not answered.");
        assert_eq!(
            at(4, "content"),
            "This call was not dispatched: the batch stopped at the call to `y` before it. It may be requested again."
        );
        assert_eq!((at(3, "resultReason"), at(4, "toolCallId")), ("not-dispatched".into(), "c".into()));
        assert_eq!(
            settled.get(4).unwrap().walk(&["notDispatched", "pausedCall", "toolCallId"]),
            Some(&value!("b"))
        );
        assert_eq!(settle_abandoned(&settled), settled);
    }
}
