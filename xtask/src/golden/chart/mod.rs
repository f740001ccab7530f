//! Scenarios of kind `chart`: builds the charts, makes the runs, and puts the record into the form of `expect.json`.

use std::sync::{Arc, Mutex, PoisonError};

use footprint::chart::Chart;
use footprint::env::Env;
use footprint::observe::{EventCx, HookResult, Payload, Recorder};
use footprint::pause::FlowchartCheckpoint;
use footprint::report::{Outcome, PausedRun, RunReport};
use footprint::state::{CommitValues, RedactionPolicy, Tracking, WriteProvenance};
use footprint::stream::StreamHandler;
use footprint::value::{Object, Value as Kept};
use footprint::walk::RunOptions;
use serde_json::{Map, Value, json};

mod behave;
mod build;
mod rows;
mod standing;

use super::judge::Observed;
use super::{Played, documents, text};
use build::Charts;
pub(crate) use rows::compare as rows;
pub(crate) use standing::{Case, settle, structure};

/// Makes all runs of a chart scenario.
pub(super) async fn play(scenario: &Value) -> Result<Played, String> {
    let chart = Charts::of(scenario).chart("main")?;
    let executor = scenario.get("executor").cloned().unwrap_or_default();
    let watch = Arc::new(Watch::default());
    let mut runs = Vec::new();
    let mut last: Option<RunReport> = None;
    for declared in scenario.get("runs").and_then(Value::as_array).into_iter().flatten() {
        watch.clear();
        let tokens = Arc::new(Tokens::default());
        let options = options(&executor, declared)?
            .observe(Arc::clone(&watch) as Arc<dyn Recorder>)
            .stream(Arc::clone(&tokens) as _);
        let report = match declared.get("resume") {
            None => chart.run(options).await,
            Some(resume) => {
                let before = last.as_ref().and_then(RunReport::paused).ok_or("nothing to resume")?;
                resumed(&chart, resume, before, options).await?
            }
        };
        runs.push(observe(&report, &executor, watch.calls(), tokens.calls())?);
        last = Some(report);
    }
    Ok(Played {
        runs,
        structure: parse(&chart.structure().to_json()).ok(),
        documents: Some(documents::of(&chart)),
        stores: None,
    })
}

async fn resumed(
    chart: &Chart,
    resume: &Value,
    paused: &PausedRun,
    options: RunOptions,
) -> Result<RunReport, String> {
    let answer = Kept::from(resume.get("answer").cloned().unwrap_or_default());
    let run = if text(resume, "from") == "json" {
        let stored = paused.checkpoint().to_json();
        let checkpoint: FlowchartCheckpoint =
            FlowchartCheckpoint::from_json(&stored).map_err(|error| error.to_string())?;
        chart.resume(checkpoint, answer, options)
    } else {
        paused.resume(answer)
    };
    Ok(run.map_err(|error| error.to_string())?.await)
}

fn options(executor: &Value, declared: &Value) -> Result<RunOptions, String> {
    let mut options = RunOptions::new().narrative(true);
    let object = |value: &Value| Kept::from(value.clone()).as_object().cloned().unwrap_or_else(Object::new);
    if let Some(input) = declared.get("input") {
        options = options.input(input.clone());
    }
    if let Some(trace) = declared.pointer("/env/traceId").and_then(Value::as_str) {
        options = options.env(Env::new().trace_id(trace));
    }
    if let Some(limit) = declared.get("maxIterations").and_then(Value::as_u64) {
        options = options.max_iterations(limit);
    }
    if let Some(state) = executor.get("initialContext") {
        options = options.initial(object(state));
    }
    if let Some(state) = executor.get("defaultValues") {
        options = options.defaults(object(state));
    }
    let tracking = |word: &str| match word {
        "summary" => Tracking::Summary,
        "off" => Tracking::Off,
        _ => Tracking::Full,
    };
    options = options
        .read_tracking(tracking(&text(executor, "readTracking")))
        .write_tracking(tracking(&text(executor, "writeTracking")));
    if text(executor, "commitValues") == "delta" {
        options = options.commit_values(CommitValues::Delta);
    }
    if text(executor, "writeProvenance") == "reads-prefix" {
        options = options.write_provenance(WriteProvenance::ReadsPrefix);
    }
    if let Some(redaction) = executor.get("redaction") {
        options = options.redaction(policy(redaction)?);
    }
    for recorder in rows::recorders(executor)? {
        options = options.observe(recorder);
    }
    Ok(options)
}

fn policy(declared: &Value) -> Result<RedactionPolicy, String> {
    let words = |key: &str| -> Vec<String> {
        let list = declared.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|word| word.as_str().map(str::to_owned)).collect()
    };
    let mut policy = RedactionPolicy::new().keys(words("keys"));
    policy = policy.patterns(words("patterns")).map_err(|error| error.to_string())?;
    policy = policy.emit_patterns(words("emitPatterns")).map_err(|error| error.to_string())?;
    for (key, paths) in declared.get("fields").and_then(Value::as_object).into_iter().flatten() {
        let paths: Vec<String> = paths
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|path| path.as_str().map(str::to_owned))
            .collect();
        policy = policy.fields(key.as_str(), paths);
    }
    Ok(policy)
}

fn observe(
    report: &RunReport,
    executor: &Value,
    events: Vec<Value>,
    tokens: Vec<Value>,
) -> Result<Observed, String> {
    let redacted = executor.get("redaction").is_some();
    let snapshot = if redacted { report.snapshot_redacted() } else { report.snapshot() };
    let snapshot = parse(&snapshot.to_json())?;
    let started = events.iter().any(|event| event.get(0) == Some(&json!("onRunStart")));
    let mut run = recorded(&snapshot);
    run.insert("events".to_owned(), Value::Array(events));
    run.insert("tokens".to_owned(), Value::Array(tokens));
    run.insert("outcome".to_owned(), outcome(report)?);
    if redacted {
        let report = serde_json::to_value(report.redaction_report()).map_err(|error| error.to_string())?;
        run.insert("redactionReport".to_owned(), report);
    }
    let narrative = report.narrative_entries();
    let told = narrative.iter().map(|entry| {
        let kind = entry.kind.map(|kind| kind.word()).unwrap_or_default();
        let at = entry.runtime_stage_id.as_ref().map(ToString::to_string).unwrap_or_default();
        json!([kind, at, entry.text])
    });
    run.insert("narrative".to_owned(), Value::Array(told.collect()));
    Ok(Observed { run: Value::Object(run), snapshot: if started { snapshot } else { Value::Null } })
}

/// Commits, inner commits and final state of a snapshot, in the form of `expect.json`.
pub(super) fn recorded(snapshot: &Value) -> Map<String, Value> {
    let mut run = Map::new();
    let log = snapshot.get("commitLog").map_or_else(|| json!([]), bundles);
    run.insert("commits".to_owned(), log);
    let mut inner = Map::new();
    for (key, result) in snapshot.get("subflowResults").and_then(Value::as_object).into_iter().flatten() {
        if key.contains('#') {
            let history = result.pointer("/treeContext/history").map_or_else(|| json!([]), bundles);
            inner.insert(key.clone(), history);
        }
    }
    run.insert("subflowCommits".to_owned(), Value::Object(inner));
    run.insert("sharedState".to_owned(), snapshot.get("sharedState").cloned().unwrap_or_default());
    run
}

fn bundles(log: &Value) -> Value {
    let bundles = log.as_array().into_iter().flatten().map(|bundle| {
        let rows = bundle.get("trace").and_then(Value::as_array).into_iter().flatten().map(|row| {
            let path = text(row, "path").replace('\u{1f}', ".");
            match row.get("readKeys") {
                Some(keys) => json!([path, row.get("verb"), keys]),
                None => json!([path, row.get("verb")]),
            }
        });
        json!([bundle.get("runtimeStageId"), rows.collect::<Vec<_>>()])
    });
    Value::Array(bundles.collect())
}

fn outcome(report: &RunReport) -> Result<Value, String> {
    Ok(match report.outcome() {
        Outcome::Completed(value) => json!({"completed": value.as_ref().map(Kept::to_json)}),
        Outcome::Paused(paused) => {
            let checkpoint = parse(&paused.checkpoint().to_json())?;
            let field = |key: &str| checkpoint.get(key).cloned().unwrap_or_default();
            json!({"paused": {
                "pauseData": field("pauseData"),
                "pausedStageId": field("pausedStageId"),
                "subflowPath": field("subflowPath"),
            }})
        }
        Outcome::Failed(error) => {
            let structured = serde_json::to_value(error.structured()).map_err(|error| error.to_string())?;
            let mut failed = structured.as_object().cloned().unwrap_or_default();
            let debug = format!("{error:?}");
            let variant: String = debug.chars().take_while(|c| c.is_alphanumeric()).collect();
            if variant == "InputInvalid" {
                failed.remove("code");
            }
            if variant != "Stage" {
                failed.insert("variant".to_owned(), json!(variant));
            }
            json!({"failed": failed})
        }
        _ => json!({"unknown": true}),
    })
}

fn parse(text: &str) -> Result<Value, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    serde::Deserialize::deserialize(&mut deserializer).map_err(|error| error.to_string())
}

/// Hears every hook.
#[derive(Default)]
struct Watch {
    calls: Mutex<Vec<Value>>,
}

impl Watch {
    fn clear(&self) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
    fn calls(&self) -> Vec<Value> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Recorder for Watch {
    fn id(&self) -> &str {
        "golden"
    }
    fn on_event(&self, cx: &EventCx<'_>, payload: &Payload) -> HookResult {
        let call = distil(payload.hook().json_name(), &payload.to_json(cx).to_json());
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        Ok(())
    }
}

/// `[hook, address, payload]` with the part of the context that is contract.
fn distil(hook: &str, event: &Value) -> Value {
    let context = event.get("traversalContext");
    let address =
        event.get("runtimeStageId").or_else(|| context.and_then(|context| context.get("runtimeStageId")));
    let mut payload = Map::new();
    for (key, value) in event.as_object().into_iter().flatten() {
        let structural = [
            "stageName",
            "stageId",
            "runtimeStageId",
            "pipelineId",
            "timestamp",
            "traversalContext",
            "channel",
            "duration",
        ];
        let emitted = hook == "onEmit" && key == "subflowPath";
        if !structural.contains(&key.as_str()) && !emitted {
            payload.insert(key.clone(), value.clone());
        }
    }
    if let Some(mutations) = payload.get_mut("mutations") {
        let pairs = mutations
            .as_array()
            .into_iter()
            .flatten()
            .map(|each| json!([each.get("key"), each.get("operation")]));
        *mutations = Value::Array(pairs.collect());
    }
    let kept: Map<String, Value> = context
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(key, _)| ["subflowId", "parentRuntimeStageId", "loopIteration"].contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !kept.is_empty() {
        payload.insert("ctx".to_owned(), Value::Object(kept));
    }
    json!([hook, address, payload])
}

#[derive(Default)]
struct Tokens {
    calls: Mutex<Vec<Value>>,
}

impl Tokens {
    fn calls(&self) -> Vec<Value> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    fn push(&self, call: Value) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

impl StreamHandler for Tokens {
    fn on_start(&self, stream_id: &str) {
        self.push(json!(["start", stream_id]));
    }
    fn on_token(&self, stream_id: &str, token: &str) {
        self.push(json!(["token", stream_id, token]));
    }
    fn on_end(&self, stream_id: &str, full_text: &str) {
        self.push(json!(["end", stream_id, full_text]));
    }
    fn on_abort(&self, stream_id: &str, so_far: &str) {
        self.push(json!(["abort", stream_id, so_far]));
    }
}
