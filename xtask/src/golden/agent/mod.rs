//! Scenarios of kind `agent`: declares the agent, makes the runs, and puts the record into the form of `expect.json`.

use agentfootprint_core::agent::Agent;
use agentfootprint_core::record::{BoundaryDetail, RecordOptions, RecordedRun};
use agentfootprint_core::run::{AgentRunCheckpoint, RunError, RunInput, RunOptions, RunOutcome, RunRefusal};
use agentfootprint_providers::mock::MockRequests;
use agentfootprint_record::MemoryIdentity;
use footprint::pause::FlowchartCheckpoint;
use footprint::value::Value as Kept;
use serde_json::{Map, Value, json};

mod declare;
mod provider;

pub(super) use declare::agent as declared;
pub(super) use provider::{provider, request};

use super::chart::recorded;
use super::judge::Observed;
use super::{Played, text};

/// What one run leaves for the next one.
#[derive(Default)]
struct Carried {
    paused: Option<String>,
    failed: Option<String>,
    conversation: Option<AgentRunCheckpoint>,
    kept: Option<String>,
}

/// Makes all runs of an agent scenario.
pub(super) async fn play(scenario: &Value) -> Result<Played, String> {
    if text(scenario, "kind") != "agent" {
        return Err(format!("kind `{}` is not built yet", text(scenario, "kind")));
    }
    let (mut agent, mut requests) = made(scenario)?;
    let mut carried = Carried::default();
    let mut runs = Vec::new();
    for declared in scenario.get("runs").and_then(Value::as_array).into_iter().flatten() {
        if declared.get("freshRunner").and_then(Value::as_bool).unwrap_or_default() {
            let fresh = made(scenario)?;
            (agent, requests) = (fresh.0, fresh.1);
        }
        let before = requests.len();
        runs.push(one(&agent, scenario, declared, &mut carried, &requests, before).await?);
    }
    let structure = parse(&agent_structure(&agent))?;
    Ok(Played { runs, structure: Some(structure), documents: None, stores: None })
}

fn made(scenario: &Value) -> Result<(Agent, MockRequests), String> {
    let (provider, requests) = provider::provider(scenario)?;
    let agent = declare::agent(scenario, provider)?;
    Ok((agent, requests))
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
    requests: &MockRequests,
    before: usize,
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
        let answer = resume.get("answer").or_else(|| resume.get("decision")).cloned().map(Kept::from);
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
        Ok(run) => observed(&run, declared, carried, requests, before),
        Err(refusal) => Ok(Observed {
            run: json!({"outcome": {"failed": refused(&refusal)}, "events": []}),
            snapshot: Value::Null,
        }),
    }
}

fn observed(
    run: &RecordedRun<String>,
    declared: &Value,
    carried: &mut Carried,
    requests: &MockRequests,
    before: usize,
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
    let sent = requests.all().into_iter().skip(before).map(|request| provider::request(&request));
    out.insert("requests".to_owned(), Value::Array(sent.collect()));
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
