//! The input and output moments: what message middleware may do before a turn and before an answer (AGT §10.1, §11.3).
//!
//! Every link takes part in both moments and sees which one it is. The links are walked in the order of their declaration;
//! each sees what the ones before left, and the first one that denies ends the walk.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::words::{LoopMoment, MessagePhase, MiddlewareOutcome, Word as _};
use agentfootprint_record::message::Messages;
use footprint::error::StageError;
use footprint::value::{Object, Str, Value};
use futures_util::FutureExt as _;

use crate::run::{EffectFailure, EffectKind, EffectOutcome, Journaled, Reexecution, StageCx};
use crate::tools::{DecisionRow, Ledger, MessageContext, MessageMiddleware, MessageOutcome};

/// What stands in for a denied input in state, history and events (AGT-58).
pub(crate) const DENIED_INPUT: &str = "[the message was denied and is not on the record]";

/// A denial by message middleware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) reason: Str,
    pub(crate) middleware: Str,
}

/// What the input moment came to.
pub(crate) struct InputMoment {
    /// The message that enters the turn: rewritten, or a stated placeholder when it was denied.
    pub(crate) message: Str,
    /// Who denied it and why.
    pub(crate) denied: Option<Denial>,
}

/// What the output moment came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputVerdict {
    /// The answer may go out, perhaps rewritten.
    Delivered,
    /// It may not.
    Denied,
}

/// The output moment of one answer.
pub(crate) struct OutputMoment {
    pub(crate) verdict: OutputVerdict,
    /// The answer as the model gave it, when the chain changed it, and who changed it last.
    changed: Option<(Str, Str)>,
    denial: Option<Denial>,
    rows: Vec<DecisionRow>,
}

impl OutputMoment {
    /// Who broke an answer that met its contract before the chain (AGT-94).
    pub(crate) fn broken_by(&self, passed_before: impl FnOnce(&Str) -> bool) -> Option<Str> {
        let (before, by) = self.changed.as_ref()?;
        passed_before(before).then(|| by.clone())
    }

    /// Says the chain's decisions.
    pub(crate) fn tell(&self, cx: &StageCx) {
        Ledger::tell(cx, &self.rows);
    }

    /// Files a denial and ends the chart.
    pub(crate) fn deny(&self, cx: &StageCx) -> Result<(), StageError> {
        match &self.denial {
            Some(denial) => file_denial(cx, denial, &MessagePhase::Output),
            None => Ok(()),
        }
    }
}

/// Writes the keys a denial is decoded from, and ends the chart (AGT-26).
pub(crate) fn file_denial(cx: &StageCx, denial: &Denial, phase: &MessagePhase) -> Result<(), StageError> {
    cx.set(state::MESSAGE_DENIED_REASON, denial.reason.clone())?;
    cx.set(state::MESSAGE_DENIED_PHASE, phase.word())?;
    cx.set(state::MESSAGE_DENIED_BY, denial.middleware.clone())?;
    cx.scope.stop("message denied")?;
    Ok(())
}

/// Runs the input chain on the raw message.
pub(crate) async fn input(cx: &StageCx, raw: Str) -> Result<InputMoment, StageError> {
    if cx.agent.tooling.message_middleware.is_empty() {
        return Ok(InputMoment { message: raw, denied: None });
    }
    let mut walked = walk(cx, context(cx, MessagePhase::Input, raw, Messages::default(), 0)).await?;
    if walked.denied.is_some() {
        // What was refused is on no channel, not even as what an earlier link made of it.
        walked.content = DENIED_INPUT.into();
        walked.rows.iter_mut().for_each(|row| row.change = None);
    }
    Ledger::write(cx, &walked.rows)?;
    Ledger::tell(cx, &walked.rows);
    Ok(InputMoment { message: walked.content, denied: walked.denied })
}

/// Runs the output chain on the model's answer; what it made of it is the answer from here on.
pub(crate) async fn output(cx: &StageCx, iteration: u32) -> Result<OutputMoment, StageError> {
    let delivered =
        OutputMoment { verdict: OutputVerdict::Delivered, changed: None, denial: None, rows: Vec::new() };
    if cx.agent.tooling.message_middleware.is_empty() {
        return Ok(delivered);
    }
    let before = cx.text(state::LLM_LATEST_CONTENT)?;
    let history = Messages::from(cx.list(state::HISTORY)?);
    let walked = walk(cx, context(cx, MessagePhase::Output, before.clone(), history, iteration)).await?;
    Ledger::write(cx, &walked.rows)?;
    if walked.denied.is_some() {
        return Ok(OutputMoment {
            verdict: OutputVerdict::Denied,
            denial: walked.denied,
            rows: walked.rows,
            ..delivered
        });
    }
    if walked.content != before {
        cx.set(state::LLM_LATEST_CONTENT, walked.content)?;
    }
    let changed =
        walked.rows.iter().rfind(|row| row.change.is_some()).map(|row| (before, row.middleware.clone()));
    Ok(OutputMoment { changed, rows: walked.rows, ..delivered })
}

fn context(
    cx: &StageCx,
    phase: MessagePhase,
    content: Str,
    history: Messages,
    iteration: u32,
) -> MessageContext {
    let identity = cx.explicit_identity().cloned().map(Arc::new);
    MessageContext { phase, content, history, iteration, identity, cancel: cx.run.cancel.clone() }
}

struct Walk {
    content: Str,
    rows: Vec<DecisionRow>,
    denied: Option<Denial>,
}

async fn walk(cx: &StageCx, mut seen: MessageContext) -> Result<Walk, StageError> {
    let mut rows = Vec::new();
    for link in &cx.agent.tooling.message_middleware {
        let Consulted(outcome) = cx.unless_cancelled(consult(cx, &**link, &seen)).await?;
        let mut row = row(link.name(), &seen);
        match outcome {
            MessageOutcome::Allow { content, why } => {
                row.why = why;
                if let Some(content) = content.filter(|content| *content != seen.content) {
                    row.change = Some((Value::from(seen.content), Value::from(content.clone())));
                    seen.content = content;
                }
                rows.push(row);
            }
            MessageOutcome::Deny { reason } => {
                row.outcome = MiddlewareOutcome::Deny;
                row.why = Some(reason.clone());
                let denied = Some(Denial { reason, middleware: row.middleware.clone() });
                rows.push(row);
                return Ok(Walk { content: seen.content, rows, denied });
            }
        }
    }
    Ok(Walk { content: seen.content, rows, denied: None })
}

fn row(link: &str, seen: &MessageContext) -> DecisionRow {
    let moment = match seen.phase {
        MessagePhase::Output => LoopMoment::Output,
        _ => LoopMoment::Input,
    };
    DecisionRow {
        middleware: link.into(),
        moment,
        phase: Some(seen.phase.clone()),
        call: None,
        iteration: seen.iteration,
        outcome: MiddlewareOutcome::Allow,
        why: None,
        change: None,
        component_id: None,
    }
}

/// Asks one link. An error or a panic is a denial that names it (AGT-59).
async fn consult(cx: &StageCx, link: &dyn MessageMiddleware, seen: &MessageContext) -> Consulted {
    let input = || Value::from(seen.content.clone());
    cx.effect(EffectKind::Middleware, link.name(), Reexecution::Idempotent, &input, async {
        let failed =
            |why: String| MessageOutcome::deny(format!("middleware `{}` failed: {why}", link.name()));
        Consulted(match AssertUnwindSafe(link.on_message(seen)).catch_unwind().await {
            Ok(Ok(MessageOutcome::Allow { content: Some(text), .. })) if text.trim().is_empty() => {
                failed("it left the message without text".to_owned())
            }
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => failed(error.to_string()),
            Err(_) => failed("it panicked".to_owned()),
        })
    })
    .await
}

struct Consulted(MessageOutcome);

impl Journaled for Consulted {
    fn to_outcome(&self) -> EffectOutcome {
        let mut out = Object::new();
        let (kind, texts) = match &self.0 {
            MessageOutcome::Allow { content, why } => {
                ("allow", [("content", content.as_ref()), ("why", why.as_ref())])
            }
            MessageOutcome::Deny { reason } => ("deny", [("reason", Some(reason)), ("why", None)]),
        };
        out.insert("outcome", Value::from(kind));
        for (key, text) in texts {
            if let Some(text) = text {
                out.insert(key, Value::from(text.clone()));
            }
        }
        EffectOutcome::Ok(Value::from(out))
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        let recorded = match outcome {
            EffectOutcome::Ok(value) => value,
            EffectOutcome::Err(EffectFailure { message, .. }) => {
                return Self(MessageOutcome::Deny { reason: message });
            }
        };
        let text = |key: &str| recorded.get(key).and_then(Value::as_shared_str).cloned();
        Self(match text("outcome").as_deref() {
            Some("allow") => MessageOutcome::Allow { content: text("content"), why: text("why") },
            _ => MessageOutcome::Deny {
                reason: text("reason").unwrap_or_else(|| "the recorded decision is unreadable".into()),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves HOST-118 for message middleware: a decision survives the journal.
    #[test]
    fn a_decision_survives_the_journal() {
        let decisions = [
            MessageOutcome::allow(),
            MessageOutcome::allow_with("cleaner", "a number"),
            MessageOutcome::deny("not here"),
        ];
        for decision in decisions {
            let Consulted(back) = Consulted::from_outcome(Consulted(decision.clone()).to_outcome());
            assert_eq!(back, decision);
        }
        let failed = EffectOutcome::Ok(Value::from("torn"));
        assert!(matches!(Consulted::from_outcome(failed), Consulted(MessageOutcome::Deny { .. })));
    }
}
