//! Step 12: the handler, contained.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentfootprint_record::events::payload::StreamToolProgress;
use footprint::error::StageError;
use footprint::value::{Object, Value};
use futures_util::FutureExt as _;

use super::artifacts;
use super::batch::Batch;
use super::call::Attempt;
use super::credential;
use super::door::Person;
use super::finish::Outcome;
use super::gates::Gated;
use super::inner;
use super::pause::Pause;
use super::resolve::{self, Resolved};
use super::teardown;
use super::verdict::Verdict;
use crate::run::{EffectFailure, EffectKind, EffectOutcome, Journaled, Performed, StageCx, Trail};
use crate::tools::context::{CallFacts, CodeRunSink, ProgressSink, ToolContext};
use crate::tools::declare::ResultClass;
use crate::tools::failure::{PauseRequest, ToolFailure};
use crate::tools::output::ToolOutput;
use crate::tools::texts;
use crate::tools::tool::Tool;

/// Enters the handler, unless nobody answers to the name.
pub(super) async fn execute(batch: &Batch, attempt: &mut Attempt) -> Result<Gated, StageError> {
    let Some(tool) = attempt.resolved.tool().cloned() else {
        return Ok(Gated::Settled(not_served(batch, attempt)));
    };
    let cx = &batch.cx;
    let live = Arc::new(AtomicBool::new(true));
    let trail = cx.trail();
    let ctx = context(batch, attempt, &live, &trail);
    let args = attempt.delivered.clone();
    // References, never what they stand for: payloads stay out of a journal (MEM-137).
    let input = || attempt.spoken.clone();
    let policy = reexecution(&tool);
    let work = run(&tool, args.clone(), &ctx);
    let entered = cx.trailed(EffectKind::Tool, tool.name(), policy, &input, &trail, work);
    let performed = cx.unless_cancelled(entered).await;
    // A task the tool left behind can no longer report.
    live.store(false, Ordering::Relaxed);
    let name = &attempt.call.name;
    let Performed { value: handled, replayed } = performed?;
    for fact in replayed.iter().flatten() {
        cx.say_again(fact);
    }
    Ok(match handled {
        Handled::Returned(output) => Gated::Settled(Outcome::returned(output)),
        Handled::Failed(text) => Gated::Settled(Outcome::text(Verdict::Threw, text)),
        Handled::Panicked => Gated::Settled(Outcome::text(Verdict::Threw, texts::panicked(name))),
        Handled::Paused(pause) => match attempt.door.tool_pause {
            Person::Pauses => Gated::Paused(Pause::tool(pause)),
            Person::Refuses | Person::Passed => {
                Gated::Settled(Outcome::text(Verdict::Threw, texts::second_pause(name)))
            }
        },
    })
}

/// The outcome of a name nobody answers to.
pub(super) fn not_served(batch: &Batch, attempt: &Attempt) -> Outcome {
    let name = &attempt.call.name;
    let text = match &attempt.resolved {
        Resolved::Withdrawn => texts::withdrawn(name),
        _ => {
            let names = resolve::callable_names(&batch.cx);
            texts::not_served(name, names.iter().map(|name| &**name))
        }
    };
    Outcome::text(Verdict::NotServed, text)
}

pub(super) async fn run(tool: &Tool, args: Value, ctx: &ToolContext) -> Handled {
    let handler = Arc::clone(tool.handler());
    match AssertUnwindSafe(handler.execute(args, ctx)).catch_unwind().await {
        Ok(Ok(output)) => Handled::Returned(output),
        Ok(Err(ToolFailure::Error(error))) => Handled::Failed(error.to_string()),
        Ok(Err(ToolFailure::Pause(pause))) => Handled::Paused(pause),
        Err(_) => Handled::Panicked,
    }
}

/// What may be done with the call after a crash; tools that only look may be repeated (HOST-123).
fn reexecution(tool: &Tool) -> crate::run::Reexecution {
    let declared = tool.declared();
    declared.reexecution.unwrap_or(match declared.result_class {
        Some(ResultClass::Triage | ResultClass::Inventory) => crate::run::Reexecution::Idempotent,
        None => crate::run::Reexecution::AtLeastOnce,
    })
}

fn context(batch: &Batch, attempt: &Attempt, live: &Arc<AtomicBool>, trail: &Trail) -> ToolContext {
    let cx = batch.cx.inside(trail);
    ToolContext::new(CallFacts {
        iteration: batch.iteration,
        cancel: cx.run.cancel.clone(),
        spoken_args: attempt.spoken.clone(),
        credentials: credential::access(&cx, &attempt.call.name),
        credential: attempt.credential.clone(),
        artifacts: artifacts::access(&cx, attempt),
        wanted: attempt.wanted.clone(),
        run_id: Some(cx.run.run_id.clone()),
        session_id: cx.run.session_id().cloned(),
        identity: cx.explicit_identity().cloned().map(Arc::new),
        turn_id: Some(cx.run.turn_id.clone()),
        decision: attempt.decision.clone(),
        tools: Some(inner::door(&cx, batch, attempt, live)),
        progress: Some(progress(&cx, batch.iteration, attempt, live)),
        teardown: Some(Arc::new(teardown::CallDoor::new(&cx))),
        code_run: Some(code_run(&cx)),
        ..CallFacts::detached(attempt.call.name.clone(), attempt.call.id.clone())
    })
}

fn progress(cx: &StageCx, iteration: u32, attempt: &Attempt, live: &Arc<AtomicBool>) -> ProgressSink {
    let (cx, live) = (cx.clone(), Arc::clone(live));
    let (id, name) = (attempt.call.id.clone(), attempt.call.name.clone());
    Arc::new(move |payload| {
        if live.load(Ordering::Relaxed) {
            cx.emit(|| StreamToolProgress::new(id.clone(), name.clone(), iteration, payload));
        }
    })
}

/// Step 13: the facts follow the execution directly, and are replayed with it.
fn code_run(cx: &StageCx) -> CodeRunSink {
    let cx = cx.clone();
    Arc::new(move |facts| cx.emit(|| facts))
}

/// What became of the handler.
pub(super) enum Handled {
    Returned(ToolOutput),
    Failed(String),
    Panicked,
    Paused(PauseRequest),
}

const RETURNED: &str = "returned";
const NOTHING: &str = "nothing";
const PAUSED: &str = "paused";
const PANIC: &str = "panic";

impl Journaled for Handled {
    fn to_outcome(&self) -> EffectOutcome {
        let failure = |class: &str, message: &str| {
            EffectOutcome::Err(EffectFailure {
                class: class.into(),
                code: None,
                message: message.into(),
                retryable: false,
            })
        };
        let mut out = Object::new();
        match self {
            Self::Returned(output) => match output.clone().into_value() {
                Some(value) => out.insert(RETURNED, value),
                None => out.insert(NOTHING, Value::from(true)),
            },
            Self::Paused(pause) => out.insert(PAUSED, pause.data.clone()),
            Self::Failed(text) => return failure("ToolError", text),
            Self::Panicked => return failure(PANIC, ""),
        };
        EffectOutcome::Ok(Value::Object(out))
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        match outcome {
            EffectOutcome::Ok(value) => {
                if let Some(data) = value.get(PAUSED) {
                    return Self::Paused(PauseRequest { data: data.clone() });
                }
                // An envelope reads back from its recorded form in the recogniser (step 14).
                Self::Returned(value.get(RETURNED).cloned().map_or(ToolOutput::None, ToolOutput::Json))
            }
            EffectOutcome::Err(failure) if &*failure.class == PANIC => Self::Panicked,
            EffectOutcome::Err(failure) => Self::Failed(failure.message.to_string()),
        }
    }
}
