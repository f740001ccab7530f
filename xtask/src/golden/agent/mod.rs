//! Scenarios of kind `agent`: declares the agent, makes the runs, and puts the record into the form of `expect.json`.

use std::sync::{Arc, Mutex, PoisonError};

use agentfootprint_core::agent::{Agent, TypedReadError};
use agentfootprint_core::llm::LlmProvider;
use agentfootprint_core::record::{BoundaryDetail, RecordOptions, RecordedRun};
use agentfootprint_core::run::{AgentRunCheckpoint, RunError, RunInput, RunOptions, RunOutcome, RunRefusal};
use agentfootprint_core::tools::{check_in_approved, check_in_declined};
use agentfootprint_record::MemoryIdentity;
use agentfootprint_record::events::words::Word as _;
use footprint::pause::FlowchartCheckpoint;
use footprint::value::Value as Kept;
use serde_json::{Map, Value, json};

mod declare;
mod provider;

pub(super) use declare::agent as declared;
pub(super) use provider::request;

use super::chart::recorded;
use super::judge::Observed;
use super::log::Log;
use super::{Played, text};

/// The scripted model a runner of a scenario declares.
pub(super) fn provider(declared: &Value) -> Result<Arc<dyn LlmProvider>, String> {
    provider::Providers::of(declared)?.of_agent(declared)
}

/// What one run leaves for the next one.
#[derive(Default)]
struct Carried {
    paused: Option<String>,
    failed: Option<String>,
    conversation: Option<AgentRunCheckpoint>,
    kept: Option<String>,
}

/// Where requests are kept, and how many were there before the run.
type Sent<'a> = (&'a Log, usize);

/// Makes all runs of an agent scenario.
pub(super) async fn play(scenario: &Value) -> Result<Played, String> {
    if text(scenario, "kind") != "agent" {
        return Err(format!("kind `{}` is not built yet", text(scenario, "kind")));
    }
    let providers = provider::Providers::of(scenario)?;
    let log = Log::default();
    let mut agent = made(scenario, &providers, &log)?;
    let mut carried = Carried::default();
    let mut runs = Vec::new();
    for declared in scenario.get("runs").and_then(Value::as_array).into_iter().flatten() {
        if declared.get("freshRunner").and_then(Value::as_bool).unwrap_or_default() {
            agent = made(scenario, &providers, &log)?;
        }
        runs.push(one(&agent, scenario, declared, &mut carried, (&log, log.len())).await?);
    }
    let structure = parse(&agent_structure(&agent))?;
    Ok(Played { runs, structure: Some(structure), documents: None, stores: None })
}

fn made(scenario: &Value, providers: &provider::Providers, log: &Log) -> Result<Agent, String> {
    let provider = log.watch(provider::name_of(scenario), providers.of_agent(scenario)?);
    declare::agent(scenario, provider, log)
}

fn agent_structure(agent: &Agent) -> String {
    use agentfootprint_core::run::ChartRunner as _;
    agent.spec().structure().to_json()
}

async fn one(
    agent: &Agent,
    scenario: &Value,
    declared: &Value,
    carried: &mut Carried,
    sent: Sent<'_>,
) -> Result<Observed, String> {
    let options = options(declared);
    let record = RecordOptions::new().boundary_detail(
        match scenario.pointer("/record/boundaryDetail").and_then(Value::as_str) {
            Some("lean") => BoundaryDetail::Lean,
            _ => BoundaryDetail::Full,
        },
    );
    let message = text(declared, "message");
    let run = if let Some(resume) = declared.get("resume") {
        let stored = carried.paused.take().ok_or("nothing to resume")?;
        let checkpoint = FlowchartCheckpoint::from_json(&stored).map_err(|error| error.to_string())?;
        let answer = resume
            .get("decision")
            .map(decision)
            .or_else(|| resume.get("answer").map(|answer| Kept::from(answer.clone())));
        agent.record_resume(checkpoint, answer).record_options(record).options(options).await
    } else if declared.get("resumeOnError").is_some() {
        let stored = carried.failed.take().ok_or("no checkpoint of an error")?;
        let checkpoint = AgentRunCheckpoint::from_json(&stored).map_err(|error| error.to_string())?;
        agent.record_resume_on_error(checkpoint).record_options(record).options(options).await
    } else {
        let input = if let Some(text) = declared.get("followUp").and_then(Value::as_str) {
            RunInput::new(text)
                .continue_from(carried.conversation.clone().ok_or("no conversation to follow up")?)
        } else if declared.get("continueFromCheckpoint").is_some() {
            let stored = carried.kept.clone().ok_or("no kept checkpoint")?;
            let checkpoint = AgentRunCheckpoint::from_json(&stored).map_err(|error| error.to_string())?;
            RunInput::new(message).continue_from(checkpoint)
        } else {
            RunInput::new(message)
        };
        agent.record(input).record_options(record).options(options).await
    };
    match run {
        Ok(run) if declared.get("typed").is_some() => {
            let (typed, said) = read_typed(agent, &run).await?;
            let mut observed = observed(&run, declared, carried, sent)?;
            if let Some(out) = observed.run.as_object_mut() {
                out.insert("outcome".to_owned(), typed);
                if let Some(events) = out.get_mut("events").and_then(Value::as_array_mut) {
                    events.extend(said);
                }
            }
            Ok(observed)
        }
        Ok(run) => observed(&run, declared, carried, sent),
        Err(refusal) => Ok(Observed {
            run: json!({"outcome": {"failed": refused(&refusal)}, "events": []}),
            snapshot: Value::Null,
        }),
    }
}

/// A person's decision, as the library's own constructors make it.
fn decision(declared: &Value) -> Kept {
    let by = text(declared, "by");
    let mut decision = match declared.get("approved").and_then(Value::as_bool) {
        Some(true) => check_in_approved(by),
        _ => check_in_declined(by),
    };
    if let Some(note) = declared.get("note").and_then(Value::as_str) {
        decision = decision.note(note);
    }
    decision.build().to_value()
}

/// Reads the answer as the declared type, and collects what is said about it after the run.
async fn read_typed(agent: &Agent, run: &RecordedRun<String>) -> Result<(Value, Vec<Value>), String> {
    use agentfootprint_core::run::Runner as _;
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let guard = agent
        .events()
        .on("agentfootprint.resilience.*", move |event| {
            let event = serde_json::to_value(event).unwrap_or_default();
            // Said outside the run: the reference gives such an event no address.
            let row = json!([event.get("type"), null, event.get("payload")]);
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(row);
        })
        .map_err(|error| error.to_string())?;
    let outcome = match agent.read_typed::<Value>(run.report()).await {
        Ok(typed) => json!({"typed": typed}),
        Err(TypedReadError::Output(error)) => json!({"failed": {
            "name": "OutputSchemaError", "code": error.code(), "message": error.to_string(),
            "stage": error.stage.word(), "rawOutput": &*error.raw_output,
        }}),
        Err(TypedReadError::Run(error)) => json!({"failed": failed(&error)}),
        Err(other) => json!({"failed": {"name": "Error", "message": other.to_string()}}),
    };
    guard.off();
    let said = std::mem::take(&mut *said.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((outcome, said))
}

fn observed(
    run: &RecordedRun<String>,
    declared: &Value,
    carried: &mut Carried,
    (log, before): Sent<'_>,
) -> Result<Observed, String> {
    let record = run.record();
    carried.conversation = record.checkpoint().cloned().or_else(|| carried.conversation.take());
    if declared.get("keepCheckpoint").is_some() {
        carried.kept = record.checkpoint().map(AgentRunCheckpoint::to_json);
    }
    let document = parse(&run.recording().to_json())?;
    let snapshot = document.get("snapshot").cloned().unwrap_or_default();
    let mut out = recorded(&snapshot);
    let events =
        document.get("events").and_then(Value::as_array).into_iter().flatten().map(|event| {
            json!([event.get("type"), event.pointer("/meta/runtimeStageId"), event.get("payload")])
        });
    out.insert("events".to_owned(), Value::Array(events.collect()));
    let meta = document.get("events").and_then(Value::as_array).into_iter().flatten().map(|event| {
        let mut meta = event.get("meta").cloned().unwrap_or_default();
        if let Some(meta) = meta.as_object_mut() {
            ["wallClockMs", "runOffsetMs", "runtimeStageId"].iter().for_each(|key| drop(meta.remove(*key)));
        }
        meta
    });
    out.insert("meta".to_owned(), Value::Array(meta.collect()));
    out.insert("requests".to_owned(), Value::Array(log.since(before)));
    out.insert("outcome".to_owned(), outcome(run, carried)?);
    out.insert("extra".to_owned(), Value::Object(extra(run, declared)));
    Ok(Observed { run: Value::Object(out), snapshot })
}

fn outcome(run: &RecordedRun<String>, carried: &mut Carried) -> Result<Value, String> {
    Ok(match &run.report().outcome {
        Ok(RunOutcome::Completed(answer)) => json!({"answer": answer}),
        Ok(RunOutcome::Paused(pause)) => {
            let checkpoint = pause.checkpoint.to_json();
            let stored = parse(&checkpoint)?;
            carried.paused = Some(checkpoint);
            let mut paused = Map::new();
            paused.insert("pauseData".to_owned(), pause.pause_data.to_json());
            for key in ["pausedStageId", "subflowPath"] {
                paused.insert(key.to_owned(), stored.get(key).cloned().unwrap_or_default());
            }
            if let Some(check_in) = pause.check_in() {
                paused.insert("checkIn".to_owned(), check_in.to_json());
            }
            if let Some(ask) = pause.ask() {
                paused.insert("ask".to_owned(), ask.to_json());
            }
            json!({"paused": paused})
        }
        Err(error) => {
            if let RunError::Checkpoint { checkpoint, .. } = error {
                carried.failed = Some(checkpoint.to_json());
            }
            json!({"failed": failed(error)})
        }
    })
}

pub(super) fn failed(error: &RunError) -> Value {
    let mut out = Map::new();
    out.insert("name".to_owned(), json!(error.name()));
    if let Some(code) = error.code() {
        out.insert("code".to_owned(), json!(code));
    }
    out.insert("message".to_owned(), json!(error.to_string()));
    let mut fact = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            out.insert(key.to_owned(), json!(value));
        }
    };
    match error {
        RunError::ReliabilityFailFast { kind, reason, cause_name, cause_message, payload } => {
            fact("kind", Some(kind));
            fact("reason", Some(reason));
            if cause_name.is_some() || cause_message.is_some() {
                out.insert("cause".to_owned(), json!({"name": cause_name, "message": cause_message}));
            }
            out.insert("payload".to_owned(), payload.to_json());
        }
        RunError::MessageDenied { reason, phase, middleware } => {
            fact("reason", Some(reason));
            fact("phase", Some(phase));
            fact("middleware", Some(middleware));
        }
        RunError::PolicyHalt { reason, iteration, checker_id, tell_llm, .. } => {
            fact("reason", Some(reason));
            fact("checkerId", checker_id.as_deref());
            fact("tellLLM", tell_llm.as_deref());
            out.insert("iteration".to_owned(), json!(iteration));
        }
        _ => {}
    }
    Value::Object(out)
}

fn refused(refusal: &RunRefusal) -> Value {
    json!({"name": "RunRefusal", "message": refusal.to_string()})
}

fn extra(run: &RecordedRun<String>, declared: &Value) -> Map<String, Value> {
    let record = run.record();
    let facts = [
        ("stoppedEarly", record.stopped_early()),
        ("outputContractUnmet", record.output_contract_unmet()),
        ("unsupportedValues", record.unsupported_values()),
    ];
    let mut out: Map<String, Value> =
        facts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_json()))).collect();
    let kept = declared.get("keepCheckpoint").and_then(|_| record.checkpoint());
    if let Some(checkpoint) = kept.map(|checkpoint| checkpoint.to_value().to_json()) {
        out.insert("checkpoint".to_owned(), checkpoint);
    }
    out
}

pub(super) fn options(declared: &Value) -> RunOptions {
    let given = declared.get("options").cloned().unwrap_or_default();
    let mut options = RunOptions::new();
    let word = |key: &str| given.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(id) = word("sessionId") {
        options = options.session_id(id);
    }
    if let Some(id) = word("correlationId") {
        options = options.correlation_id(id);
    }
    if let Some(id) = word("traceId") {
        options = options.trace_id(id);
    }
    if let Some(who) = given.get("identity") {
        let mut identity = MemoryIdentity::conversation(text(who, "conversationId"));
        if let Some(principal) = who.get("principal").and_then(Value::as_str) {
            identity = identity.principal(principal);
        }
        if let Some(tenant) = who.get("tenant").and_then(Value::as_str) {
            identity = identity.tenant(tenant);
        }
        options = options.identity(identity);
    }
    options
}

pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    serde::Deserialize::deserialize(&mut deserializer).map_err(|error| error.to_string())
}
