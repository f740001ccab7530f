//! Scenarios of one model call and of compositions: declares the runner through the public builders, makes the runs, and puts
//! the record into the form of `expect.json`.

use std::sync::Arc;

use agentfootprint_core::compose::patterns::SelfConsistency;
use agentfootprint_core::compose::{
    BranchOptions, BranchOutcomes, BranchResults, Conditional, LlmCall, LlmMerge, Loop, Parallel,
    ParallelBuilder, Sequence,
};
use agentfootprint_core::events::EventHub;
use agentfootprint_core::observe::Observers;
use agentfootprint_core::record::{BoundaryDetail, RecordOptions, RecordedRun};
use agentfootprint_core::run::{
    ChartRunner, RunError, RunHandle, RunInput, RunNeeds, RunOptions, RunOutcome, RunRefusal, Runner, UiGroup,
};
use footprint::chart::Chart;
use footprint::pause::FlowchartCheckpoint;
use footprint::value::Value as Kept;
use serde_json::{Value, json};

use super::chart::recorded;
use super::expr::{Sources, holds, template};
use super::judge::Observed;
use super::log::Log;
use super::{Played, agent, text};

/// Kinds this module declares.
pub(super) const KINDS: [&str; 6] =
    ["llmCall", "sequence", "parallel", "conditional", "loop", "selfConsistency"];

/// Makes all runs of a scenario.
pub(super) async fn play(scenario: &Value) -> Result<Played, String> {
    let log = Log::default();
    let runner = Whole(declare(scenario, &log)?);
    let mut runs = Vec::new();
    for declared in scenario.get("runs").and_then(Value::as_array).into_iter().flatten() {
        let before = log.len();
        let record = RecordOptions::new().boundary_detail(
            match scenario.pointer("/record/boundaryDetail").and_then(Value::as_str) {
                Some("lean") => BoundaryDetail::Lean,
                _ => BoundaryDetail::Full,
            },
        );
        let recorded = runner
            .record(text(declared, "message"))
            .record_options(record)
            .options(agent::options(declared))
            .await;
        runs.push(match recorded {
            Ok(run) => observed(&run, &log, before)?,
            Err(refusal) => Observed {
                run: json!({"outcome": {"failed": {"name": "RunRefusal", "message": refusal.to_string()}}, "events": []}),
                snapshot: Value::Null,
            },
        });
    }
    let structure = agent::parse(&runner.spec().structure().to_json())?;
    Ok(Played { runs, structure: Some(structure), documents: None, stores: None })
}

/// Text runners of any type.
trait TextRunner: Runner<Output = String> {}
impl<R: Runner<Output = String>> TextRunner for R {}

/// The runner of a scenario, whatever its type.
#[derive(Clone)]
struct Whole(Arc<dyn TextRunner>);

impl ChartRunner for Whole {
    fn id(&self) -> &str {
        self.0.id()
    }
    fn name(&self) -> &str {
        self.0.name()
    }
    fn spec(&self) -> Chart {
        self.0.spec()
    }
    fn ui_group(&self) -> UiGroup {
        self.0.ui_group()
    }
    fn needs(&self) -> RunNeeds {
        self.0.needs()
    }
}

impl Runner for Whole {
    type Output = String;
    fn start(&self, input: RunInput, options: RunOptions) -> Result<RunHandle<String>, RunRefusal> {
        self.0.start(input, options)
    }
    fn resume(
        &self,
        checkpoint: FlowchartCheckpoint,
        answer: Option<Kept>,
        options: RunOptions,
    ) -> Result<RunHandle<String>, RunRefusal> {
        self.0.resume(checkpoint, answer, options)
    }
    fn events(&self) -> &EventHub {
        self.0.events()
    }
    fn observers(&self) -> &Observers {
        self.0.observers()
    }
}

type Declared = Result<Arc<dyn TextRunner>, String>;

fn declare(declared: &Value, log: &Log) -> Declared {
    match text(declared, "kind").as_str() {
        "agent" => {
            let provider = agent::provider(declared)?;
            Ok(Arc::new(agent::declared(declared, log.watch("main", provider), log)?))
        }
        "llmCall" => llm_call(declared, log),
        "sequence" => sequence(declared, log),
        "parallel" => parallel(declared, log),
        "conditional" => conditional(declared, log),
        "loop" => repeated(declared, log),
        "selfConsistency" => self_consistency(declared, log),
        other => Err(format!("kind `{other}` is not built yet")),
    }
}

fn member(declared: &Value, log: &Log) -> Result<Whole, String> {
    declare(declared.get("runner").unwrap_or(&Value::Null), log).map(Whole)
}

fn llm_call(scenario: &Value, log: &Log) -> Declared {
    const KNOWN: [&str; 5] = ["id", "name", "system", "temperature", "maxTokens"];
    let declared = scenario.get("llmCall").cloned().unwrap_or_default();
    known(&declared, &KNOWN)?;
    let id = declared.get("id").and_then(Value::as_str).unwrap_or("llm-call");
    let provider = agent::provider(scenario)?;
    let mut builder = LlmCall::builder(log.watch(id, provider), "mock-1").id(id);
    if let Some(name) = declared.get("name").and_then(Value::as_str) {
        builder = builder.name(name);
    }
    if let Some(system) = declared.get("system").and_then(Value::as_str) {
        builder = builder.system(system);
    }
    if let Some(temperature) = declared.get("temperature").and_then(Value::as_f64) {
        builder = builder.temperature(temperature);
    }
    if let Some(tokens) = declared.get("maxTokens").and_then(Value::as_u64) {
        builder = builder.max_tokens(tokens);
    }
    Ok(Arc::new(builder.build().map_err(|errors| errors.to_string())?))
}

/// The reference's scenarios name a composition with the last part of their own name when it has no folder in front.
fn shown_name(scenario: &Value) -> Option<String> {
    let name = text(scenario, "name");
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

fn sequence(scenario: &Value, log: &Log) -> Declared {
    let mut builder = Sequence::builder(text(scenario, "id"));
    if let Some(name) = shown_name(scenario) {
        builder = builder.name(name);
    }
    for step in list(scenario, "steps") {
        if let Some(via) = step.get("via").and_then(Value::as_str).map(str::to_owned) {
            builder = builder.pipe_via(move |prev| template(&via, &json!({ "prev": prev })));
        }
        builder = builder.step(text(step, "id"), member(step, log)?);
    }
    Ok(Arc::new(builder.build().map_err(|errors| errors.to_string())?))
}

fn parallel(scenario: &Value, log: &Log) -> Declared {
    let mut builder = Parallel::builder(text(scenario, "id"));
    if let Some(name) = shown_name(scenario) {
        builder = builder.name(name);
    }
    for branch in list(scenario, "branches") {
        let mut options = BranchOptions::new();
        if let Some(name) = branch.get("name").and_then(Value::as_str) {
            options = options.name(name);
        }
        if branch.get("required").and_then(Value::as_bool) == Some(true) {
            options = options.required();
        }
        builder = builder.branch_with(text(branch, "id"), member(branch, log)?, options);
    }
    let builder = merged(builder, scenario.get("merge").unwrap_or(&Value::Null), log)?;
    Ok(Arc::new(builder.build().map_err(|errors| errors.to_string())?))
}

fn merged(builder: ParallelBuilder, merge: &Value, log: &Log) -> Result<ParallelBuilder, String> {
    let or = |from: &Value, key: &str, default: &str| {
        from.get(key).and_then(Value::as_str).unwrap_or(default).to_owned()
    };
    if let Some(how) = merge.get("fn") {
        let (line, separator) = (or(how, "line", "{id}: {text}"), or(how, "separator", "\n"));
        return Ok(builder.merge_with_fn(move |results: &BranchResults| {
            let lines = results.iter().map(|(id, text)| template(&line, &json!({"id": id, "text": text})));
            lines.collect::<Vec<_>>().join(&separator)
        }));
    }
    if let Some(how) = merge.get("outcomes") {
        let (fine, bad) = (or(how, "okLine", "{id}: {text}"), or(how, "errLine", "{id}: {error}"));
        let separator = or(how, "separator", "\n");
        return Ok(builder.merge_outcomes_with_fn(move |outcomes: &BranchOutcomes| {
            let lines = outcomes.iter().map(|(id, outcome)| match outcome {
                Ok(text) => template(&fine, &json!({"id": id, "text": text})),
                Err(failure) => template(&bad, &json!({"id": id, "error": failure.message})),
            });
            lines.collect::<Vec<_>>().join(&separator)
        }));
    }
    let how = merge.get("llm").ok_or("the merge is not built yet")?;
    let provider = agent::provider(how)?;
    Ok(builder.merge_with_llm(LlmMerge::new(log.watch("merge", provider), "mock-1", text(how, "prompt"))))
}

fn conditional(scenario: &Value, log: &Log) -> Declared {
    let mut builder = Conditional::builder(text(scenario, "id"));
    if let Some(name) = shown_name(scenario) {
        builder = builder.name(name);
    }
    for branch in list(scenario, "when") {
        let condition = branch.get("if").cloned().unwrap_or_default();
        let predicate =
            move |message: &str| holds(&condition, &Given(json!({ "message": message }))).unwrap_or_default();
        builder = builder.when(text(branch, "id"), predicate, member(branch, log)?);
    }
    if let Some(otherwise) = scenario.get("otherwise") {
        builder = builder.otherwise(text(otherwise, "id"), member(otherwise, log)?);
    }
    Ok(Arc::new(builder.build().map_err(|errors| errors.to_string())?))
}

fn repeated(scenario: &Value, log: &Log) -> Declared {
    let body = declare(scenario.get("body").unwrap_or(&Value::Null), log).map(Whole)?;
    let mut builder = Loop::builder(text(scenario, "id")).repeat(body);
    if let Some(name) = shown_name(scenario) {
        builder = builder.name(name);
    }
    if let Some(times) = scenario.get("times").and_then(Value::as_u64) {
        builder = builder.times(u32::try_from(times).map_err(|error| error.to_string())?);
    }
    if let Some(until) = scenario.get("until").cloned() {
        builder = builder.until(move |at| {
            let given =
                json!({"iteration": at.iteration, "latestOutput": at.latest_output, "startMs": at.start_ms});
            holds(&until, &Given(given)).unwrap_or_default()
        });
    }
    Ok(Arc::new(builder.build().map_err(|errors| errors.to_string())?))
}

fn self_consistency(scenario: &Value, log: &Log) -> Declared {
    let options = scenario.get("options").cloned().unwrap_or_default();
    known(&options, &["systemPrompt", "samples", "temperature", "id"])?;
    let provider = agent::provider(scenario)?;
    let provider = log.watch("self-consistency", provider);
    let mut pattern = SelfConsistency::new(provider, "mock-1", text(&options, "systemPrompt"));
    if let Some(samples) = options.get("samples").and_then(Value::as_u64) {
        pattern = pattern.samples(usize::try_from(samples).map_err(|error| error.to_string())?);
    }
    if let Some(temperature) = options.get("temperature").and_then(Value::as_f64) {
        pattern = pattern.temperature(temperature);
    }
    Ok(Arc::new(pattern.build().map_err(|errors| errors.to_string())?))
}

/// The object handed to a condition.
struct Given(Value);

impl Sources for Given {
    fn state(&self, _: &str) -> Option<Value> {
        None
    }
    fn input(&self) -> Option<Value> {
        Some(self.0.clone())
    }
}

fn known(declared: &Value, known: &[&str]) -> Result<(), String> {
    let unknown = declared.as_object().into_iter().flatten().find(|(key, _)| !known.contains(&key.as_str()));
    unknown.map_or(Ok(()), |(key, _)| Err(format!("declaration `{key}` is not built yet")))
}

fn observed(run: &RecordedRun<String>, log: &Log, before: usize) -> Result<Observed, String> {
    let document = agent::parse(&run.recording().to_json())?;
    let snapshot = document.get("snapshot").cloned().unwrap_or_default();
    let mut out = recorded(&snapshot);
    let events =
        document.get("events").and_then(Value::as_array).into_iter().flatten().map(|event| {
            json!([event.get("type"), event.pointer("/meta/runtimeStageId"), event.get("payload")])
        });
    out.insert("events".to_owned(), Value::Array(events.collect()));
    out.insert("requests".to_owned(), Value::Array(log.since(before)));
    out.insert("outcome".to_owned(), outcome(&run.report().outcome));
    Ok(Observed { run: Value::Object(out), snapshot })
}

fn outcome(outcome: &Result<RunOutcome<String>, RunError>) -> Value {
    match outcome {
        Ok(RunOutcome::Completed(answer)) => json!({ "answer": answer }),
        Ok(RunOutcome::Paused(pause)) => json!({"paused": {"pauseData": pause.pause_data.to_json()}}),
        Err(error) => json!({ "failed": agent::failed(error) }),
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
