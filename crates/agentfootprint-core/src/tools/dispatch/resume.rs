//! Coming back into a batch with a person's answer (TOOL §5, resume doors; AGT-106).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::CheckinDecision as DecisionEvent;
use agentfootprint_record::events::words::{Channel, LoopMoment, MiddlewareOutcome};
use footprint::error::StageError;
use footprint::value::{Str, Value};

use super::batch::Batch;
use super::call::{Attempt, Call};
use super::door::Door;
use super::execute;
use super::finish::{self, Outcome};
use super::gates::{self, Gated};
use super::pause::{Kind, Waiting};
use super::resolve;
use super::verdict::Verdict;
use crate::agent::discover::discover;
use crate::run::StageCx;
use crate::tools::middleware::{DecisionRow, Ledger};
use crate::tools::people::CheckInDecision;
use crate::tools::texts;

/// Finishes the paused call with its answer, settles the calls behind it, and closes the iteration.
pub(super) async fn resume(cx: StageCx, answer: Value) -> Result<(), StageError> {
    let waiting = Waiting::read(&cx)?;
    let mut batch = Batch::reopen(cx, &waiting.call_id)?;
    let mut attempt = attempt_of(&batch, &waiting);
    if dispatches(&waiting, &answer) && may_be_supplied(&batch.cx, &waiting) {
        // No slot ran in this leg: the provider is asked for what it supplied (TOOL-22).
        discover(&batch.cx, batch.iteration).await?;
        attempt.resolved = resolve::resolve_paused(&batch.cx, &attempt.call.name, waiting.party.clone());
    }
    let outcome = match &waiting.kind {
        Kind::Tool => Outcome::human(answer),
        Kind::Consent { .. } => dispatch(&batch, &mut attempt, Door::CONSENT_RESUME).await?,
        Kind::CheckIn => {
            let decision = decision_of(&answer);
            say_decision(&batch, &waiting, &decision);
            decided(&batch, &mut attempt, Door::CHECK_IN_RESUME, decision).await?
        }
        Kind::Ask { index, link } => {
            let decision = decision_of(&answer);
            Ledger::file(&batch.cx, vec![resume_row(&batch, &waiting, link, &decision)])?;
            decided(&batch, &mut attempt, Door::ask_resume(*index), decision).await?
        }
    };
    let delivered = finish::finish(&batch, &attempt, outcome).await?;
    batch.push(&delivered);
    batch.settle_rest(&attempt.call);
    batch.cx.set(state::HISTORY, batch.history.clone())?;
    batch.write_landing(&delivered)?;
    let cx = batch.cx.clone();
    batch.close_resumed()?;
    waiting.clear(&cx)
}

/// Whether the answer leads to a dispatch of the call.
fn dispatches(waiting: &Waiting, answer: &Value) -> bool {
    match &waiting.kind {
        Kind::Tool => false,
        Kind::Consent { .. } => true,
        Kind::CheckIn | Kind::Ask { .. } => decision_of(answer).approved,
    }
}

/// Whether the paused call's tool can only come from the provider.
fn may_be_supplied(cx: &StageCx, waiting: &Waiting) -> bool {
    match &waiting.party {
        Some(party) => party.channel == Channel::Provider,
        None => resolve::resolve_paused(cx, &waiting.tool_name, None).tool().is_none(),
    }
}

/// Runs an approved call, or settles a declined one.
async fn decided(
    batch: &Batch,
    attempt: &mut Attempt,
    door: Door,
    decision: CheckInDecision,
) -> Result<Outcome, StageError> {
    if !decision.approved {
        let chosen = decision.value.as_ref().map(crate::tools::people::DecisionValue::to_value);
        let text = texts::declined(decision.note.as_deref(), chosen.as_ref());
        return Ok(Outcome::text(Verdict::Declined, text));
    }
    attempt.decision = Some(decision);
    dispatch(batch, attempt, door).await
}

/// The rest of the pipeline for a call that may run after all. Nothing in it can pause again: the door says so.
async fn dispatch(batch: &Batch, attempt: &mut Attempt, door: Door) -> Result<Outcome, StageError> {
    attempt.door = door;
    batch.cx.turn.tracker.tool_started(&attempt.call.name);
    let gated = match gates::pass(batch, attempt).await? {
        Gated::Execute => execute::execute(batch, attempt).await?,
        stopped => stopped,
    };
    match gated {
        Gated::Settled(outcome) => Ok(outcome),
        Gated::Execute | Gated::Paused(_) => {
            Err(StageError::new("a resumed call asked a second question; its door does not allow one"))
        }
    }
}

fn attempt_of(batch: &Batch, waiting: &Waiting) -> Attempt {
    let asked = batch.calls.iter().find(|call| call.id == waiting.call_id).cloned();
    let call = asked.unwrap_or_else(|| Call {
        id: waiting.call_id.clone(),
        name: waiting.tool_name.clone(),
        args: Value::default(),
        args_error: None,
    });
    let spoken = waiting.args.clone().unwrap_or_else(|| call.args.clone());
    Attempt {
        resolved: resolve::resolve_paused(&batch.cx, &call.name, waiting.party.clone()),
        door: Door::PAUSE_ANSWER,
        delivered: spoken.clone(),
        spoken,
        started_ms: waiting.started_ms,
        decision: None,
        credential: None,
        wanted: None,
        call,
    }
}

/// The decision in an answer. What is no decision declines: a governed tool never runs from a malformed resume
/// (TOOL-61).
fn decision_of(answer: &Value) -> CheckInDecision {
    CheckInDecision::read(answer).unwrap_or_else(|| CheckInDecision {
        approved: false,
        by: Str::from("unknown"),
        note: None,
        at: None,
        value: None,
    })
}

fn say_decision(batch: &Batch, waiting: &Waiting, decision: &CheckInDecision) {
    batch.cx.emit(|| {
        let mut event = DecisionEvent::new(
            waiting.tool_name.clone(),
            waiting.call_id.clone(),
            batch.iteration,
            decision.approved,
            decision.by.clone(),
        );
        event.note = decision.note.clone();
        event.component_id = waiting.component_id.clone();
        event.value = decision.value.as_ref().map(crate::tools::people::DecisionValue::to_value);
        event
    });
}

/// The row a decision leaves in the ledger of the link that asked.
fn resume_row(batch: &Batch, waiting: &Waiting, link: &Str, decision: &CheckInDecision) -> DecisionRow {
    let (outcome, verb) = if decision.approved {
        (MiddlewareOutcome::Allow, "approved")
    } else {
        (MiddlewareOutcome::Deny, "declined")
    };
    let note = decision.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    DecisionRow {
        middleware: link.clone(),
        moment: LoopMoment::BeforeTool,
        phase: None,
        call: Some((waiting.tool_name.clone(), waiting.call_id.clone())),
        iteration: batch.iteration,
        outcome,
        why: Some(format!("{verb} by {}{note}", decision.by).into()),
        change: None,
        component_id: waiting.component_id.clone(),
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    /// Proves TOOL-61: what is no decision declines, by nobody that is known.
    #[test]
    fn a_malformed_answer_declines() {
        let malformed = [
            value!("yes"),
            value!(true),
            value!({ "approved": true }),
            value!({ "approved": "true", "by": "ann" }),
            Value::Null,
        ];
        for answer in malformed {
            let decision = decision_of(&answer);
            assert_eq!((decision.approved, &*decision.by), (false, "unknown"), "{answer}");
        }
        let decision = decision_of(&value!({ "approved": true, "by": "ann" }));
        assert_eq!((decision.approved, &*decision.by), (true, "ann"));
    }
}
