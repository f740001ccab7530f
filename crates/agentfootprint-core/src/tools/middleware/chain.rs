//! Walking a chain of tool middleware (TOOL-43 to TOOL-45).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use agentfootprint_record::events::words::{LoopMoment, MiddlewareOutcome};
use footprint::value::{Str, Value};
use futures_util::FutureExt as _;

use super::journal::Consulted;
use super::ledger::DecisionRow;
use super::port::{
    AskPayload, ToolCallContext, ToolCallOutcome, ToolMiddleware, ToolResultContext, ToolResultOutcome,
};
use crate::run::{EffectKind, Journaled, Reexecution, StageCx};

/// How a walk before a call ended.
#[derive(Debug)]
pub(crate) struct CallWalk {
    /// The arguments, as the last link left them.
    pub(crate) args: Value,
    pub(crate) rows: Vec<DecisionRow>,
    pub(crate) end: CallEnd,
}

#[derive(Debug)]
pub(crate) enum CallEnd {
    Pass,
    Denied { reason: Str },
    Asked { payload: AskPayload, index: usize, link: Str },
}

/// How a walk after a call ended.
#[derive(Debug)]
pub(crate) struct ResultWalk {
    /// What the model reads.
    pub(crate) result: Option<Value>,
    pub(crate) rows: Vec<DecisionRow>,
}

/// Awaits one link, through the run's effects. An error or a panic is a denial that names the link.
async fn consult<T>(
    cx: Option<&StageCx>,
    link: &str,
    input: &(dyn Fn() -> Value + Send + Sync),
    answer: impl Future<Output = Result<T, Box<dyn std::error::Error + Send + Sync>>> + Send,
) -> Result<T, Str>
where
    Consulted<T>: Journaled,
{
    let contained = async {
        Consulted(match AssertUnwindSafe(answer).catch_unwind().await {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(error)) => Err(format!("middleware `{link}` failed: {error}").into()),
            Err(_) => Err(format!("middleware `{link}` failed: it panicked").into()),
        })
    };
    match cx {
        Some(cx) => {
            cx.effect(EffectKind::Middleware, link, Reexecution::Idempotent, input, contained).await.0
        }
        None => contained.await.0,
    }
}

fn row(link: &str, moment: LoopMoment, call: &ToolCallContext, outcome: MiddlewareOutcome) -> DecisionRow {
    DecisionRow {
        middleware: link.into(),
        moment,
        phase: None,
        call: Some((call.tool_name.clone(), call.tool_call_id.clone())),
        iteration: call.iteration,
        outcome,
        why: None,
        change: None,
        component_id: None,
    }
}

/// Walks the chain forward from link `from`; each link sees what the ones before left, the first one that does not
/// allow ends it.
pub(crate) async fn walk_call(
    cx: Option<&StageCx>,
    links: &[Arc<dyn ToolMiddleware>],
    from: usize,
    mut call: ToolCallContext,
) -> CallWalk {
    let mut rows = Vec::new();
    for (index, link) in links.iter().enumerate().skip(from).filter(|(_, link)| link.hooks().on_call()) {
        let name = link.name();
        let mut decided = row(name, LoopMoment::BeforeTool, &call, MiddlewareOutcome::Allow);
        let outcome = match consult(cx, name, &|| call.args.clone(), link.on_tool_call(&call)).await {
            Ok(ToolCallOutcome::Ask(payload)) => match payload.fault() {
                Some(fault) => ToolCallOutcome::deny(format!("middleware `{name}` {fault}")),
                None => ToolCallOutcome::Ask(payload),
            },
            Ok(outcome) => outcome,
            Err(reason) => ToolCallOutcome::Deny { reason },
        };
        match outcome {
            ToolCallOutcome::Allow { args, why } => {
                decided.why = why;
                if let Some(args) = args.filter(|args| *args != call.args) {
                    decided.change = Some((call.args.clone(), args.clone()));
                    call.args = args;
                }
                rows.push(decided);
            }
            ToolCallOutcome::Deny { reason } => {
                decided.outcome = MiddlewareOutcome::Deny;
                decided.why = Some(reason.clone());
                rows.push(decided);
                return CallWalk { args: call.args, rows, end: CallEnd::Denied { reason } };
            }
            ToolCallOutcome::Ask(payload) => {
                decided.outcome = MiddlewareOutcome::Ask;
                decided.why = Some(payload.question.clone());
                decided.component_id =
                    payload.component.as_ref().map(|component| component.component_id.clone());
                rows.push(decided);
                return CallWalk {
                    args: call.args,
                    rows,
                    end: CallEnd::Asked { payload, index, link: name.into() },
                };
            }
        }
    }
    CallWalk { args: call.args, rows, end: CallEnd::Pass }
}

/// Walks the chain backward, so that the first-declared link has the last word. A denial hides the result from the
/// model; the row keeps it.
pub(crate) async fn walk_result(
    cx: Option<&StageCx>,
    links: &[Arc<dyn ToolMiddleware>],
    mut seen: ToolResultContext,
) -> ResultWalk {
    let mut rows = Vec::new();
    for link in links.iter().rev().filter(|link| link.hooks().on_result()) {
        let name = link.name();
        let mut decided = row(name, LoopMoment::AfterTool, &seen.call, MiddlewareOutcome::Allow);
        let before = seen.result.clone().unwrap_or_default();
        match consult(cx, name, &|| seen.result.clone().unwrap_or_default(), link.on_tool_result(&seen)).await
        {
            Ok(ToolResultOutcome::Allow { result, why }) => {
                decided.why = why;
                if let Some(result) = result.filter(|result| seen.result.as_ref() != Some(result)) {
                    decided.change = Some((before, result.clone()));
                    seen.result = Some(result);
                }
                rows.push(decided);
            }
            Ok(ToolResultOutcome::Deny { reason }) | Err(reason) => {
                decided.outcome = MiddlewareOutcome::Deny;
                decided.change = Some((before, Value::from(reason.clone())));
                decided.why = Some(reason.clone());
                rows.push(decided);
                return ResultWalk { result: Some(Value::from(reason)), rows };
            }
        }
    }
    ResultWalk { result: seen.result, rows }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
