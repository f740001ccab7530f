//! Asking the permission checker (steps 3, 4 and 8).

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use agentfootprint_record::events::payload::PermissionCheck;
use agentfootprint_record::events::words::{Channel, PermissionCapability, PermissionResult};
use agentfootprint_record::message::{HistoryMarks, MessageView, Messages};
use footprint::error::StageError;
use footprint::value::{Array, Object, Str, Value};
use futures_util::FutureExt as _;

use super::batch::Batch;
use super::call::Attempt;
use super::finish::Outcome;
use super::resolve::Resolved;
use super::verdict::{ToolFate, Verdict, tool_fate};
use crate::run::{EffectFailure, EffectKind, EffectOutcome, Journaled, Reexecution, StageCx, lock};
use crate::tools::permission::{
    CallSequence, CheckError, PermissionChecker, PermissionDecision, PermissionRequest, PermissionVerdict,
};
use crate::tools::texts;

/// A run halted by its checker: what the state, the event and the error say of it.
#[derive(Clone, Debug)]
pub(super) struct Halt {
    pub(super) checker_id: Str,
    pub(super) target: Str,
    pub(super) reason: Str,
    pub(super) tell_llm: Option<Str>,
    /// Calls that ran, plus the proposed one.
    pub(super) sequence_length: u64,
}

/// Asks for the call, then for each capability both sides speak of; the first refusal settles the call.
pub(super) async fn check(batch: &Batch, attempt: &Attempt) -> Result<Option<Outcome>, StageError> {
    let Some(checker) = batch.cx.agent.tooling.permission.clone() else { return Ok(None) };
    let target = attempt.call.name.clone();
    if let Some(refused) =
        ask(batch, attempt, &*checker, PermissionCapability::ToolCall, target.clone()).await?
    {
        return Ok(Some(refused));
    }
    let declared = attempt.resolved.tool().and_then(|tool| tool.declared().capabilities.as_ref());
    for capability in declared.into_iter().flatten() {
        let asked = *capability != PermissionCapability::ToolCall && checker.governs().contains(capability);
        if asked
            && let Some(refused) = ask(batch, attempt, &*checker, capability.clone(), target.clone()).await?
        {
            return Ok(Some(refused));
        }
    }
    Ok(None)
}

async fn ask(
    batch: &Batch,
    attempt: &Attempt,
    checker: &dyn PermissionChecker,
    capability: PermissionCapability,
    target: Str,
) -> Result<Option<Outcome>, StageError> {
    let question = Question {
        history: &batch.history,
        iteration: batch.iteration,
        name: &attempt.call.name,
        args: &attempt.spoken,
        capability,
        target,
    };
    decide(&batch.cx, checker, question).await
}

/// What a checker is asked about.
pub(super) struct Question<'a> {
    pub(super) history: &'a Array,
    pub(super) iteration: u32,
    pub(super) name: &'a Str,
    pub(super) args: &'a Value,
    pub(super) capability: PermissionCapability,
    pub(super) target: Str,
}

/// Puts one question to the checker; an outcome is its refusal.
pub(super) async fn decide(
    cx: &StageCx,
    checker: &dyn PermissionChecker,
    question: Question<'_>,
) -> Result<Option<Outcome>, StageError> {
    let Question { history, iteration, name, args, capability, target } = question;
    // Only the question about the call itself carries what ran before.
    let sequence = match capability {
        PermissionCapability::ToolCall => cx.turn.of::<RanBefore>().calls(history, cx),
        _ => CallSequence::default(),
    };
    let ran = sequence.len();
    let request = PermissionRequest {
        capability: capability.clone(),
        actor: "agent",
        target: target.clone(),
        context: args.clone(),
        sequence,
        history: Messages::from(history.clone()),
        iteration,
        identity: cx.explicit_identity().cloned().map(Arc::new),
        cancel: cx.run.cancel.clone(),
    };
    let input = || args.clone();
    let consulted =
        cx.effect(EffectKind::Permission, checker.name(), Reexecution::Idempotent, &input, async {
            match AssertUnwindSafe(checker.check(&request)).catch_unwind().await {
                Ok(answer) => Consulted(answer),
                Err(_) => Consulted(Err(CheckError::new("it panicked"))),
            }
        });
    let Consulted(answer) = cx.unless_cancelled(consulted).await?;
    let decision = match answer {
        Ok(decision) => decision,
        Err(error) => {
            // The operator's text goes on the record only: a model would retry an outage (TOOL-37).
            say(cx, &capability, &target, PermissionResult::Deny, |event| {
                event.rationale = Some(format!("the checker failed: {error}").into());
            });
            let text = texts::permission_unavailable(name);
            return Ok(Some(Outcome::text(Verdict::PermissionDenied, text)));
        }
    };
    let result = match decision.verdict {
        PermissionVerdict::Allow => PermissionResult::Allow,
        PermissionVerdict::GateOpen => PermissionResult::GateOpen,
        PermissionVerdict::Deny => PermissionResult::Deny,
        PermissionVerdict::Halt => PermissionResult::Halt,
    };
    say(cx, &capability, &target, result, |event| {
        event.policy_rule_id = decision.policy_rule_id.clone();
        event.rationale = decision.rationale.clone();
        event.reason = decision.reason.clone();
    });
    Ok(match decision.verdict {
        PermissionVerdict::Allow | PermissionVerdict::GateOpen => None,
        PermissionVerdict::Deny => {
            let text = decision
                .tell_llm
                .unwrap_or_else(|| texts::permission_denied(decision.rationale.as_deref()).into());
            Some(Outcome::text(Verdict::PermissionDenied, text))
        }
        PermissionVerdict::Halt => Some(halted(name, checker, target, decision, ran)),
    })
}

fn halted(
    name: &Str,
    checker: &dyn PermissionChecker,
    target: Str,
    decision: PermissionDecision,
    ran: usize,
) -> Outcome {
    let text = decision.tell_llm.clone().unwrap_or_else(|| texts::halted(name).into());
    let reason = decision.reason.or(decision.rationale).unwrap_or_else(|| Str::from("policy-halt"));
    let mut outcome = Outcome::text(Verdict::Halted, text);
    outcome.halt = Some(Halt {
        checker_id: checker.name().into(),
        target,
        reason,
        tell_llm: decision.tell_llm,
        sequence_length: u64::try_from(ran).unwrap_or(u64::MAX).saturating_add(1),
    });
    outcome
}

fn say(
    cx: &StageCx,
    capability: &PermissionCapability,
    target: &Str,
    result: PermissionResult,
    fill: impl FnOnce(&mut PermissionCheck),
) {
    cx.emit(|| {
        let mut event = PermissionCheck::new(capability.clone(), "agent", result);
        event.target = Some(target.clone());
        fill(&mut event);
        event
    });
}

/// What a consult came to, for the effects port.
struct Consulted(Result<PermissionDecision, CheckError>);

impl Journaled for Consulted {
    fn to_outcome(&self) -> EffectOutcome {
        match &self.0 {
            Ok(decision) => {
                let mut out = Object::new();
                out.insert("verdict", Value::from(word(decision.verdict)));
                let texts = [
                    ("policyRuleId", &decision.policy_rule_id),
                    ("rationale", &decision.rationale),
                    ("gateId", &decision.gate_id),
                    ("reason", &decision.reason),
                    ("tellLLM", &decision.tell_llm),
                ];
                for (key, text) in texts {
                    if let Some(text) = text {
                        out.insert(key, Value::from(text.clone()));
                    }
                }
                EffectOutcome::Ok(Value::Object(out))
            }
            Err(error) => EffectOutcome::Err(EffectFailure {
                class: "CheckError".into(),
                code: None,
                message: error.to_string().into(),
                retryable: false,
            }),
        }
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        match outcome {
            EffectOutcome::Ok(value) => {
                let text = |key: &str| value.get(key).and_then(Value::as_shared_str).cloned();
                let verdict = match value.get("verdict").and_then(Value::as_str) {
                    Some("allow") => PermissionDecision::allow(),
                    Some("gate_open") => PermissionDecision::gate_open(text("gateId").unwrap_or_default()),
                    Some("halt") => PermissionDecision::halt(text("reason").unwrap_or_default()),
                    _ => PermissionDecision::deny(""),
                };
                Self(Ok(PermissionDecision {
                    policy_rule_id: text("policyRuleId"),
                    rationale: text("rationale"),
                    gate_id: text("gateId"),
                    reason: text("reason"),
                    tell_llm: text("tellLLM"),
                    ..verdict
                }))
            }
            EffectOutcome::Err(failure) => Self(Err(CheckError::new(failure.message))),
        }
    }
}

fn word(verdict: PermissionVerdict) -> &'static str {
    match verdict {
        PermissionVerdict::Allow => "allow",
        PermissionVerdict::Deny => "deny",
        PermissionVerdict::Halt => "halt",
        PermissionVerdict::GateOpen => "gate_open",
    }
}

/// The calls that really ran, read from the conversation (TOOL-35): by their fate, not by their text. Kept as the
/// conversation grows, so that a check does not read all of it again.
#[derive(Default)]
struct RanBefore(Mutex<Reading>);

#[derive(Default)]
struct Reading {
    /// The conversation as far as it was read.
    read: Array,
    ran: CallSequence,
    /// Calls of assistant turns that have no result yet.
    open: Vec<Open>,
    /// Assistant turns since the person's last turn.
    iteration: u32,
}

struct Open {
    id: Str,
    name: Str,
    args: Value,
    iteration: u32,
}

impl RanBefore {
    fn calls(&self, history: &Array, cx: &StageCx) -> CallSequence {
        let mut reading = lock(&self.0);
        if !reading.read.is_prefix_of(history) {
            *reading = Reading::default();
        }
        let messages = Messages::from(history.clone());
        for at in reading.read.len()..messages.len() {
            if let Some(message) = messages.get(at) {
                // Our own runs write marks; a history from elsewhere is judged once, when first met.
                let marks =
                    if at == 0 || reading.iteration == 0 { messages.marks() } else { HistoryMarks::Present };
                let person = messages.is_persons_turn(at, marks);
                reading.take(message, marks, person, &|name| provided_by(cx, name));
            }
        }
        reading.read = history.clone();
        reading.ran.clone()
    }
}

impl Reading {
    fn take(
        &mut self,
        message: MessageView<'_>,
        marks: HistoryMarks,
        person: bool,
        provided: &dyn Fn(&str) -> Option<Str>,
    ) {
        if person {
            self.iteration = 0;
        }
        match message.value().get("role").and_then(Value::as_str) {
            Some("assistant") => {
                self.iteration = self.iteration.saturating_add(1);
                for call in message.raw_tool_calls().into_iter().flat_map(Array::iter) {
                    let text =
                        |key: &str| call.get(key).and_then(Value::as_shared_str).cloned().unwrap_or_default();
                    self.open.push(Open {
                        id: text("id"),
                        name: text("name"),
                        args: call.get("args").cloned().unwrap_or_default(),
                        iteration: self.iteration,
                    });
                }
            }
            Some("tool") => {
                let Some(id) = message.tool_call_id() else { return };
                let Some(at) = self.open.iter().position(|open| open.id == *id) else { return };
                let call = self.open.remove(at);
                if tool_fate(message, marks) == ToolFate::Ran {
                    let provider = provided(&call.name);
                    self.ran.push(call.name, call.args, call.iteration, provider);
                }
            }
            _ => {}
        }
    }
}

/// The calls of a conversation that ran, for the error of a halted run.
pub(crate) fn dispatched(history: &Array) -> CallSequence {
    let mut reading = Reading::default();
    let messages = Messages::from(history.clone());
    let marks = messages.marks();
    for at in 0..messages.len() {
        if let Some(message) = messages.get(at) {
            let person = messages.is_persons_turn(at, marks);
            reading.take(message, marks, person, &|_| None);
        }
    }
    reading.ran
}

fn provided_by(cx: &StageCx, name: &str) -> Option<Str> {
    match super::resolve::party_on_wire(cx, name) {
        Some(Resolved::Tool { party, .. }) if party.channel == Channel::Provider => party.id,
        _ => None,
    }
}
