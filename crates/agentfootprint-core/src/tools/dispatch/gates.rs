//! Steps 3 to 11: may the call run, and with what.

use agentfootprint_record::events::payload::ArgsIssue;
use agentfootprint_record::events::payload::ValidationArgsInvalid;
use footprint::error::StageError;
use footprint::value::Value;

use super::artifacts;
use super::batch::Batch;
use super::call::Attempt;
use super::credential;
use super::door::Person;
use super::execute::not_served;
use super::finish::Outcome;
use super::pause::{self, Pause};
use super::permission;
use super::verdict::Verdict;
use crate::agent::ArgValidation;
use crate::run::StageCx;
use crate::tools::middleware::{CallEnd, Ledger, ToolCallContext, walk_call};
use crate::tools::texts;

/// Where a call stands after its gates.
pub(super) enum Gated {
    /// It may run.
    Execute,
    /// It was settled without running.
    Settled(Outcome),
    /// A person is asked.
    Paused(Pause),
}

/// Walks the gates of the attempt's door.
pub(super) async fn pass(batch: &Batch, attempt: &mut Attempt) -> Result<Gated, StageError> {
    if attempt.door.permission
        && let Some(refused) = permission::check(batch, attempt).await?
    {
        return Ok(Gated::Settled(refused));
    }
    if let Some(stopped) = before_chain(batch, attempt).await? {
        return Ok(stopped);
    }
    if let Some(refused) = arguments(batch, attempt) {
        return Ok(Gated::Settled(refused));
    }
    if attempt.resolved.tool().is_none() {
        return Ok(Gated::Settled(not_served(batch, attempt)));
    }
    if let Some(stopped) = pause::check_in(batch, attempt).await? {
        return Ok(stopped);
    }
    attempt.delivered = attempt.spoken.clone();
    if let Some(refused) = artifacts::wants(batch, attempt).await? {
        return Ok(Gated::Settled(refused));
    }
    credential::vend(batch, attempt).await
}

/// What a link sees of this call.
pub(super) fn call_context(cx: &StageCx, batch: &Batch, attempt: &Attempt, args: Value) -> ToolCallContext {
    ToolCallContext {
        tool_name: attempt.call.name.clone(),
        tool_source: attempt.resolved.tool().and_then(|tool| tool.declared().source.clone()),
        tool_call_id: attempt.call.id.clone(),
        iteration: batch.iteration,
        args,
        history: agentfootprint_record::message::Messages::from(batch.history.clone()),
        identity: cx.explicit_identity().cloned().map(std::sync::Arc::new),
        cancel: cx.run.cancel.clone(),
    }
}

/// Step 5.
async fn before_chain(batch: &Batch, attempt: &mut Attempt) -> Result<Option<Gated>, StageError> {
    let cx = &batch.cx;
    let links = &cx.agent.tooling.tool_middleware;
    let Some(from) = attempt.door.chain_from.filter(|from| *from < links.len()) else { return Ok(None) };
    let call = call_context(cx, batch, attempt, attempt.spoken.clone());
    let walk = cx.unless_cancelled(walk_call(Some(cx), links, from, call)).await?;
    attempt.spoken = walk.args;
    Ledger::file(cx, walk.rows)?;
    Ok(match walk.end {
        CallEnd::Pass => None,
        CallEnd::Denied { reason } => Some(Gated::Settled(Outcome::text(Verdict::MiddlewareDenied, reason))),
        CallEnd::Asked { payload, index, link } => match attempt.door.ask {
            Person::Pauses => Some(Gated::Paused(Pause::ask(&payload, index, &link))),
            Person::Refuses | Person::Passed => {
                let text = texts::second_ask(&attempt.call.name, &link);
                Some(Gated::Settled(Outcome::text(Verdict::MiddlewareDenied, text)))
            }
        },
    })
}

/// Step 6.
fn arguments(batch: &Batch, attempt: &Attempt) -> Option<Outcome> {
    let (cx, call) = (&batch.cx, &attempt.call);
    if let Some(parser) = &call.args_error {
        let text = texts::unreadable_args(&call.name, parser);
        return Some(Outcome::text(Verdict::UnreadableArgs, text));
    }
    let mode = cx.agent.options.arg_validation;
    if !attempt.door.validation || mode == ArgValidation::Off {
        return None;
    }
    let issues = attempt.resolved.tool()?.validator().check(&attempt.spoken);
    if issues.is_empty() {
        return None;
    }
    let enforced = mode == ArgValidation::Enforce;
    cx.emit(|| {
        let listed = issues
            .iter()
            .map(|issue| ArgsIssue::new(issue.path.as_str(), issue.expected.as_str(), issue.got))
            .collect::<Vec<_>>();
        ValidationArgsInvalid::new(call.name.clone(), call.id.clone(), batch.iteration, listed, enforced)
    });
    enforced.then(|| Outcome::text(Verdict::InvalidArgs, texts::invalid_args(&call.name, &issues)))
}
