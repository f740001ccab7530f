//! How an agent's runs begin and end (AGT §13, AGT §15).

use std::sync::Arc;

use agentfootprint_record::conventions::{ids, state};
use agentfootprint_record::events::payload::{
    DispositionRow, ErrorFatal, IntegrityDisposition, PauseRequest, PauseResume,
};
use agentfootprint_record::events::words::IntegrityPosture;
use agentfootprint_record::message::Role;
use footprint::pause::FlowchartCheckpoint;
use footprint::report::{Outcome, RunReport as WalkReport};
use footprint::value::{Object, Str, Value};

use super::core::AgentCore;
use super::options::Posture;
use super::output::OutputStrategy;
use super::{Agent, manifest, outcome};
use crate::run::launch::{Dials, Launch, Leg, launch};
use crate::run::{
    AgentRunCheckpoint, DeliveryError, PauseOutcome, Restored, RunContext, RunError, RunHandle, RunIdentity,
    RunInput, RunOptions, RunOutcome, RunRecord, RunRefusal, RunReport, Runner as _, StartMaterial, lock,
};

/// Starts a turn.
pub(super) fn start(
    agent: &Agent,
    input: RunInput,
    options: RunOptions,
) -> Result<RunHandle<String>, RunRefusal> {
    let input = input.checked("Agent.run")?;
    match input.continue_from.clone() {
        Some(checkpoint) => start_from_checkpoint(agent, checkpoint, Some(input), options),
        None => {
            let material = StartMaterial::fresh(input.shared_message().clone());
            begin(agent, material, input.identity, options)
        }
    }
}

/// The one restoration path of `continue_from` and `resume_on_error` (AGT-101).
pub(super) fn start_from_checkpoint(
    agent: &Agent,
    checkpoint: AgentRunCheckpoint,
    input: Option<RunInput>,
    options: RunOptions,
) -> Result<RunHandle<String>, RunRefusal> {
    let core = agent.core();
    if let (true, Some(theirs)) = (core.id_explicit, &checkpoint.agent_id)
        && *theirs != core.id
    {
        let (ours, theirs) = (core.id.clone(), theirs.clone());
        return Err(RunRefusal::ConversationMismatch { what: "agent", ours, theirs });
    }
    let asked = input.as_ref().and_then(|input| input.identity.clone()).or_else(|| options.identity.clone());
    if let (Some(ours), Some(theirs)) = (&asked, &checkpoint.identity)
        && ours.conversation_id != theirs.conversation_id
    {
        return Err(RunRefusal::ConversationMismatch {
            what: "conversation",
            ours: ours.conversation_id.clone(),
            theirs: theirs.conversation_id.clone(),
        });
    }
    let identity = asked.or_else(|| checkpoint.identity.clone());
    let append_message = input.is_some();
    let message =
        input.map_or_else(|| checkpoint.original_message.clone(), |input| input.shared_message().clone());
    let restored = Restored { history: checkpoint.history, folded: checkpoint.folded };
    begin(agent, StartMaterial { message, restored: Some(restored), append_message }, identity, options)
}

fn begin(
    agent: &Agent,
    start: StartMaterial,
    identity: Option<agentfootprint_record::MemoryIdentity>,
    options: RunOptions,
) -> Result<RunHandle<String>, RunRefusal> {
    check_start(agent.core())?;
    let core = Arc::clone(agent.core());
    let open = move |run: &Arc<RunContext>| open(&core, run);
    launch(declared(agent, start, identity, Leg::Fresh, Box::new(open)), options)
}

/// Goes on from a pause. The answer was judged before anything of the new leg exists (AGT-105).
pub(super) fn resume(
    agent: &Agent,
    checkpoint: FlowchartCheckpoint,
    answer: Option<Value>,
    mut options: RunOptions,
) -> Result<RunHandle<String>, RunRefusal> {
    let answer =
        crate::tools::check_answer(&checkpoint.shared_state, checkpoint.pause_data.as_ref(), answer)?;
    let (core, paused_at, stage, asked) = (
        Arc::clone(agent.core()),
        checkpoint.paused_at,
        checkpoint.paused_stage_id.clone(),
        checkpoint.pause_data.clone(),
    );
    let given = answer.clone();
    let open = Box::new(move |run: &Arc<RunContext>| {
        run.say_at(&ids::resumed_step(&stage), || {
            let component = asked.as_ref().and_then(crate::tools::component_id_of);
            PauseResume::new(as_map(&given, "input"), run.now_ms().saturating_sub(paused_at))
                .component_id(component)
        });
        open(&core, run);
    });
    let from_session = checkpoint.shared_state.contains_key(state::RUN_IDENTITY_SOURCE);
    options.inherited = checkpoint
        .shared_state
        .get(state::RUN_IDENTITY)
        .and_then(|value| value.decode().ok())
        .map(|identity| RunIdentity::inherited(identity, from_session));
    let message = checkpoint
        .shared_state
        .get(state::USER_MESSAGE)
        .and_then(Value::as_shared_str)
        .cloned()
        .unwrap_or_default();
    // A pause and its resume are one turn (TOOL-95).
    options.turn_id = options.turn_id.or_else(|| {
        checkpoint.shared_state.get(state::PAUSED_TURN_ID).and_then(Value::as_shared_str).cloned()
    });
    let leg = Leg::Resumed(Box::new(checkpoint), answer);
    let explicit = options.identity.clone();
    launch(declared(agent, StartMaterial::fresh(message), explicit, leg, open), options)
}

/// A value that must be an object in an event.
pub(crate) fn as_map(value: &Value, key: &str) -> Value {
    match value {
        Value::Object(_) => value.clone(),
        other => Value::from([(Str::from(key), other.clone())].into_iter().collect::<Object>()),
    }
}

fn declared(
    agent: &Agent,
    start: StartMaterial,
    identity: Option<agentfootprint_record::MemoryIdentity>,
    leg: Leg,
    open: Box<dyn FnOnce(&Arc<RunContext>) + Send>,
) -> Launch<String> {
    let core = Arc::clone(agent.core());
    let options = &core.options;
    Launch {
        chart: agent.chart().clone(),
        hub: agent.hub().clone(),
        owner: format!("Agent:{}", core.id).into(),
        dials: Dials {
            max_iterations: u64::from(options.max_iterations) * 2 + 10,
            read_tracking: options.read_tracking,
            commit_values: options.commit_values,
            write_provenance: options.write_provenance,
            delivery: options.observer_delivery,
            queue: options.observer_queue.clone(),
        },
        observers: agent.observers().clone(),
        identity,
        start,
        leg,
        integrity: core.integrity_ledger(),
        open,
        settle: Box::new(move |run, report| Box::pin(settle(core, run, report))),
    }
}

/// What needs the provider and is therefore refused here and not at build (AGT-32).
pub(crate) fn check_start(core: &AgentCore) -> Result<(), RunRefusal> {
    for injection in &core.injections {
        for message in &injection.content().messages {
            let injection = injection.id().clone();
            if message.content.trim().is_empty() {
                return Err(DeliveryError::EmptyContent { injection }.into());
            }
            if !core.capabilities.carries_in_messages.carries(&message.role) {
                return Err(DeliveryError::RoleNotCarried {
                    injection,
                    role: role_word(&message.role),
                    provider: core.provider.name().into(),
                    carries: core
                        .capabilities
                        .carries_in_messages
                        .names()
                        .into_iter()
                        .map(str::to_owned)
                        .collect(),
                }
                .into());
            }
        }
    }
    let (provider, model) = (|| core.provider.name().into(), || core.model.clone());
    match core.output.as_ref().map(|output| output.strategy) {
        Some(OutputStrategy::ToolForced) if !core.capabilities.carries_forced_tool_choice => {
            Err(RunRefusal::ForcedToolChoice { provider: provider(), model: model() })
        }
        Some(OutputStrategy::Native) if !core.capabilities.carries_output_schema => {
            Err(RunRefusal::OutputSchema { provider: provider(), model: model() })
        }
        _ => Ok(()),
    }
}

fn role_word(role: &Role) -> Str {
    use agentfootprint_record::events::words::Word as _;
    role.shared_word()
}

/// The first facts of a leg.
fn open(core: &AgentCore, run: &RunContext) {
    run.say_at(ids::RUN_CONFIGURED, || manifest::manifest(core));
}

/// From the end of the walk to the report, and the last facts of the leg.
async fn settle(core: Arc<AgentCore>, run: Arc<RunContext>, report: WalkReport) -> RunReport<String> {
    let final_state = report.state();
    let resolved = resolve(&core, &run, &report, &final_state);
    match &resolved {
        Ok(RunOutcome::Paused(pause)) => pause_requested(&run, pause),
        Ok(RunOutcome::Completed(_)) => crate::tools::tear_down(&core, &run).await,
        Err(error) => {
            crate::tools::tear_down(&core, &run).await;
            if matches!(report.outcome(), Outcome::Failed(_)) {
                fatal(&run, error);
            }
        }
    }
    if final_state.contains_key(state::LLM_LATEST_CONTENT) {
        lock(&run.integrity).note_work();
    }
    disposition(&core, &run);
    let checkpoint = match &resolved {
        Ok(RunOutcome::Completed(answer)) => Some(finished_checkpoint(&core, &run, &final_state, answer)),
        Ok(RunOutcome::Paused(_)) => Some(checkpoint_of_state(&core, &run, &final_state)),
        Err(error) => error.checkpoint().cloned(),
    };
    let record = RunRecord::new(run.run_id().clone(), final_state, report, checkpoint).redacting(run.redacts);
    RunReport::new(resolved, record)
}

/// Outcome resolution, first match wins: pause, the failures a stage wrote down, the engine's failure, the answer.
fn resolve(
    core: &AgentCore,
    run: &RunContext,
    report: &WalkReport,
    final_state: &Object,
) -> Result<RunOutcome<String>, RunError> {
    if let Outcome::Paused(paused) = report.outcome() {
        let checkpoint = paused.checkpoint();
        let data = checkpoint.pause_data.clone().unwrap_or_default();
        return Ok(RunOutcome::Paused(Box::new(PauseOutcome::new(checkpoint.clone(), data))));
    }
    if let Some(error) = outcome::failure_in(final_state) {
        return Err(error);
    }
    if let Some(error) = run.consent.refusal() {
        return Err(error);
    }
    match report.outcome() {
        Outcome::Failed(error) => {
            let mut failure = outcome::failure_of(error.clone());
            if let RunError::Cancelled { at_stage, .. } = &mut failure {
                // A run out of time has no failing stage of its own; what was going on is known.
                *at_stage = at_stage.take().or_else(|| run.turn("").tracker.stage_under_way());
            }
            Err(outcome::with_checkpoint(failure, crash_checkpoint(core, run)))
        }
        _ => {
            let answer = final_state.get(state::FINAL_CONTENT).and_then(Value::as_str).unwrap_or_default();
            Ok(RunOutcome::Completed(answer.to_owned()))
        }
    }
}

/// The checkpoint of a failed run, when at least one iteration completed.
fn crash_checkpoint(core: &AgentCore, run: &RunContext) -> Option<AgentRunCheckpoint> {
    let turn = run.turn("");
    let (iteration, history) = turn.tracker.completed()?;
    let mut checkpoint =
        AgentRunCheckpoint::new(run.run_id().clone(), history, run.start.message.clone(), run.now_ms());
    checkpoint.last_completed_iteration = iteration;
    checkpoint.failure_point = Some(turn.tracker.failure_point());
    Some(addressed(core, run, checkpoint))
}

/// The conversation as of a pause.
fn checkpoint_of_state(core: &AgentCore, run: &RunContext, final_state: &Object) -> AgentRunCheckpoint {
    let history = final_state.get(state::HISTORY).and_then(Value::as_array).cloned().unwrap_or_default();
    let message =
        final_state.get(state::USER_MESSAGE).and_then(Value::as_shared_str).cloned().unwrap_or_default();
    let iteration = final_state.get(state::ITERATION).and_then(Value::as_u64).unwrap_or_default();
    let mut checkpoint = AgentRunCheckpoint::new(run.run_id().clone(), history, message, run.now_ms());
    checkpoint.last_completed_iteration = u32::try_from(iteration.saturating_sub(1)).unwrap_or(u32::MAX);
    checkpoint.folded = final_state.get(state::FOLDED_SPANS).cloned();
    addressed(core, run, checkpoint)
}

/// The conversation after a finished turn: the committed history and the answer (AGT-102).
fn finished_checkpoint(
    core: &AgentCore,
    run: &RunContext,
    final_state: &Object,
    answer: &str,
) -> AgentRunCheckpoint {
    let mut checkpoint = checkpoint_of_state(core, run, final_state);
    let iteration = final_state.get(state::ITERATION).and_then(Value::as_u64).unwrap_or_default();
    checkpoint.last_completed_iteration = u32::try_from(iteration).unwrap_or(u32::MAX);
    if answer.is_empty() {
        // A provider refuses an empty message: an answer nobody gave is none.
        return checkpoint;
    }
    let mut message = crate::run::message("assistant", answer);
    if let Some(blocks) = final_state
        .get(state::THINKING_BLOCKS)
        .filter(|blocks| blocks.as_array().is_some_and(|blocks| !blocks.is_empty()))
    {
        message.insert("thinkingBlocks", blocks.clone());
    }
    checkpoint.history.push(Value::from(message));
    checkpoint
}

fn addressed(core: &AgentCore, run: &RunContext, mut checkpoint: AgentRunCheckpoint) -> AgentRunCheckpoint {
    checkpoint.identity = run.identity().explicit().cloned();
    checkpoint.agent_id = core.id_explicit.then(|| core.id.clone());
    checkpoint
}

/// Said when the walk itself failed; a failure a stage wrote down and ended the chart with has facts of its own (AGT-28).
pub(crate) fn fatal(run: &RunContext, error: &RunError) {
    run.say_at(ids::RUN_BOUNDARY, || ErrorFatal::new(error.human_message(), ids::ROOT_STAGE, "run"));
}

pub(crate) fn pause_requested(run: &RunContext, pause: &PauseOutcome) {
    run.say_at(&ids::paused_step(&pause.checkpoint.paused_stage_id), || {
        let reason = pause
            .pause_data
            .get("reason")
            .or_else(|| pause.pause_data.get("question"))
            .and_then(Value::as_shared_str)
            .cloned()
            .unwrap_or_else(|| "the run waits for an answer".into());
        PauseRequest::new(reason, as_map(&crate::tools::public_pause_data(&pause.pause_data), "data"))
    });
}

/// Exactly one per leg, on every exit (EVD-415).
pub(crate) fn disposition(core: &AgentCore, run: &RunContext) {
    run.say_at(ids::INTEGRITY_DISPOSITION, || {
        let ledger = lock(&run.integrity);
        let rows: Vec<DispositionRow> = ledger
            .rows()
            .map(|(check, counts)| {
                DispositionRow::new(
                    check.name(),
                    check.seam(),
                    counts.checked,
                    counts.findings,
                    counts.not_applicable,
                    counts.unreachable,
                    counts.synthetic,
                )
                .last_fired_at(counts.last_fired_at)
            })
            .collect();
        let posture = match core.options.posture {
            Posture::Observe => IntegrityPosture::Observe,
            Posture::Dev => IntegrityPosture::Dev,
        };
        IntegrityDisposition::new(posture, ledger.work_existed(), rows)
    });
}
