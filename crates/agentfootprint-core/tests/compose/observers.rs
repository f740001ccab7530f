//! What watches all runs of a runner, and how it is let go — for every kind of runner alike.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentfootprint_core::agent::Agent;
use agentfootprint_core::compose::{LlmCall, Sequence};
use agentfootprint_core::injection::BoxError;
use agentfootprint_core::llm::{LlmResponse, ModelPrices, StaticPricing, Usage};
use agentfootprint_core::observe::{
    CostStrategy, CostTick, FlowchartStrategy, ObservabilityStrategy, RecordingStrategy, ShutdownOptions,
    Strategy, StrategyLife,
};
use agentfootprint_core::record::{BoundaryRecorder, RecordOptions, RecordingHandle};
use agentfootprint_core::run::Runner;
use agentfootprint_core::tools::{Cleanup, TeardownOptions, TeardownScope, Tool, ToolContext};
use agentfootprint_record::events::{CustomEvent, Event};
use agentfootprint_record::message::ToolCall;
use async_trait::async_trait;
use footprint::observe::Recorder;
use footprint::value::{Str, Value};

use crate::support::*;

type Log = Arc<Mutex<Vec<String>>>;

/// Writes down everything it is told.
#[derive(Default)]
struct Notes {
    name: &'static str,
    log: Log,
    fails: bool,
    events: AtomicUsize,
    ticks: Mutex<Vec<CostTick>>,
    boundaries: Mutex<Vec<Arc<BoundaryRecorder>>>,
    recordings: Mutex<Vec<RecordingHandle>>,
    life: StrategyLife,
}

impl Notes {
    fn named(name: &'static str, log: &Log) -> Arc<Self> {
        Arc::new(Self { name, log: Arc::clone(log), ..Self::default() })
    }
}

#[async_trait]
impl Strategy for Notes {
    fn name(&self) -> &str {
        self.name
    }

    fn life(&self) -> &StrategyLife {
        &self.life
    }

    async fn flush(&self) -> Result<(), BoxError> {
        self.log.lock().unwrap().push(format!("flush {}", self.name));
        tokio::task::yield_now().await;
        if self.fails { Err("the vendor is away".into()) } else { Ok(()) }
    }

    fn stop(&self) {
        self.log.lock().unwrap().push(format!("stop {}", self.name));
    }
}

impl ObservabilityStrategy for Notes {
    fn export_event(&self, _: &Arc<Event>) {
        self.events.fetch_add(1, Ordering::SeqCst);
        if self.fails {
            panic!("an exporter's own bug");
        }
    }
}

impl CostStrategy for Notes {
    fn record_cost(&self, tick: &CostTick) {
        self.ticks.lock().unwrap().push(tick.clone());
    }
}

impl FlowchartStrategy for Notes {
    fn run_started(&self, _: &Str, boundaries: Arc<BoundaryRecorder>) {
        self.boundaries.lock().unwrap().push(boundaries);
    }
}

impl RecordingStrategy for Notes {
    fn run_recorded(&self, _: &Str, recording: RecordingHandle) {
        self.recordings.lock().unwrap().push(recording);
    }
}

fn priced() -> LlmCall {
    let script = Script::by(|at, _| {
        let mut answer = LlmResponse::text(format!("answer {at}"));
        answer.usage = Usage::new(10, 5);
        Ok(answer)
    });
    let prices = ModelPrices { input: Some(0.5), output: Some(2.0), ..Default::default() };
    LlmCall::builder(script, "m").pricing(StaticPricing::new("list").model("m", prices)).build().unwrap()
}

/// Each strategy is given by instance and hears its part of every later run; its guard detaches it and stops
/// nothing; a strategy that panics changes nothing.
#[tokio::test]
async fn strategies_hear_later_runs_until_they_are_detached() {
    let log = Log::default();
    let call = priced();
    let (exports, bills) = (Notes::named("exports", &log), Notes::named("bills", &log));
    let bad = Arc::new(Notes { name: "bad", fails: true, ..Notes::default() });
    let exporting = call.enable().observability(exports.clone());
    call.enable().cost(bills.clone()).keep();
    call.enable().observability(bad.clone()).keep();
    assert_eq!(call.run("a").await.answer().unwrap(), "answer 0");
    let heard = exports.events.load(Ordering::SeqCst);
    assert!(heard > 3 && bad.events.load(Ordering::SeqCst) == heard, "{heard}");
    let ticks = bills.ticks.lock().unwrap().clone();
    let [tick] = ticks.as_slice() else { panic!("{ticks:?}") };
    assert_eq!((&*tick.model, tick.recent_input_tokens, tick.cumulative_output_tokens), ("m", 10, 5));
    assert_eq!((tick.recent_cost_usd, tick.cumulative_cost_usd), (15.0, 15.0));
    assert!(tick.run_id.starts_with("run-") && tick.runtime_stage_id.contains("call-llm#"), "{tick:?}");
    drop(exporting);
    assert_eq!(call.run("b").await.answer().unwrap(), "answer 1");
    assert_eq!(exports.events.load(Ordering::SeqCst), heard);
    assert!(log.lock().unwrap().is_empty(), "nobody was stopped");
}

/// Proves AGT-9: whoever draws a run has its walk, its events and its place on the commit axis; there is no door to two of
/// them; a recording of the same run is not disturbed.
#[tokio::test]
async fn a_viewer_has_all_three_connections() {
    let flow = Sequence::builder("s")
        .step("a", LlmCall::builder(Script::texts(&["one", "one"]), "m").build().unwrap())
        .build()
        .unwrap();
    let notes = Notes::named("viewer", &Log::default());
    flow.enable().flowchart(notes.clone()).keep();
    flow.enable().local_observability(notes.clone(), RecordOptions::default()).keep();
    let recorded = flow.record("x").await.unwrap();
    let boundaries = notes.boundaries.lock().unwrap()[0].clone();
    let rows = boundaries.snapshot(&footprint::ids::RunId::new("any")).unwrap().data;
    let rows: Vec<Value> = rows.as_array().unwrap().iter().cloned().collect();
    let of = |kind: &str| rows.iter().find(|row| row["type"] == json!(kind)).cloned();
    assert!(of("run.entry").is_some() && of("subflow.entry").is_some(), "the walk");
    assert!(of("llm.start").is_some() && of("llm.end").is_some(), "the events");
    let axis: Vec<u64> = rows.iter().map(|row| row["commitIdxBefore"].as_u64().unwrap()).collect();
    assert!(axis.is_sorted() && axis.iter().max() > Some(&0), "the commit axis: {axis:?}");
    let seen = notes.recordings.lock().unwrap()[0].to_recording().unwrap();
    let (seen, own) = (seen.snapshot.commit_log.len(), recorded.recording().snapshot.commit_log.len());
    assert_eq!((seen, own > 0), (own, true));
    flow.run("y").await;
    assert_eq!(notes.boundaries.lock().unwrap().len(), 2, "each run has its own");
}

/// An agent that leaves a session open.
fn leaving(log: &Log) -> Agent {
    let log = Arc::clone(log);
    let leaves = Tool::builder("leaves")
        .description("Leaves a session open.")
        .handler(move |_: Value, cx: ToolContext| {
            let log = Arc::clone(&log);
            async move {
                let options = TeardownOptions::new(TeardownScope::Session).key("k");
                let cleanup = Cleanup::new(move || async move {
                    log.lock().unwrap().push("close session".to_owned());
                    Ok(())
                });
                cx.on_teardown(options, cleanup).map(|()| "left")
            }
        })
        .build()
        .unwrap();
    let script = Script::by(|at, _| {
        Ok(if at % 2 == 0 {
            LlmResponse::tools(vec![ToolCall::new("c", "leaves", Default::default())])
        } else {
            LlmResponse::text("done")
        })
    });
    Agent::builder(script, "m").tool(leaves).build().unwrap()
}

/// Proves AGT-10: flush, then close what tools left open — also inside a composition —, then stop; calls at once share one pass;
/// nobody is stopped twice, and the runner stays usable.
#[tokio::test]
async fn a_shutdown_goes_in_order_and_once() {
    let log = Log::default();
    let flow = Sequence::builder("s").step("a", leaving(&log)).build().unwrap();
    let good = Notes::named("good", &log);
    let bad = Arc::new(Notes { name: "bad", log: Arc::clone(&log), fails: true, ..Notes::default() });
    flow.enable().cost(good.clone()).keep();
    flow.enable().cost(bad.clone()).keep();
    assert_eq!(flow.run("x").await.answer().unwrap(), "done");
    let plain = flow.shutdown(ShutdownOptions::default());
    let stopping = flow.shutdown(ShutdownOptions::stopping());
    let (plain, stopping) = tokio::join!(plain, stopping);
    assert_eq!(*log.lock().unwrap(), ["flush good", "flush bad", "close session", "stop good", "stop bad"]);
    assert_eq!((plain.flushed, plain.sessions.closed, plain.stopped), (1, 1, 0));
    assert_eq!((stopping.flushed, stopping.stopped), (1, 2));
    assert_eq!(plain.failed, ["the strategy `bad` did not ship all it held: the vendor is away"]);
    // Usable, and stopped only once.
    assert_eq!(flow.run("y").await.answer().unwrap(), "done");
    assert_eq!(flow.close_tool_sessions("nobody").await.closed, 0);
    assert_eq!(flow.close_tool_sessions(None).await.closed, 1);
    let again = flow.shutdown(ShutdownOptions::stopping()).await;
    assert_eq!((again.stopped, again.sessions.closed), (0, 0));
}

/// Proves AGT-7, AGT-6: every runner speaks, and watches each run with a recorder of its own.
#[tokio::test]
async fn every_runner_speaks_and_is_watched() {
    struct Mine(String, Log);
    impl Recorder for Mine {
        fn id(&self) -> &str {
            "mine"
        }
        fn on_run_start(
            &self,
            _: &footprint::observe::EventCx<'_>,
            _: &footprint::observe::RunStartEvent,
        ) -> footprint::observe::HookResult {
            self.1.lock().unwrap().push(self.0.clone());
            Ok(())
        }
    }
    let call = priced();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let _guard = call.events().on("*", move |event| kept.lock().unwrap().push(event.to_value())).unwrap();
    call.emit(CustomEvent { name: "my.word".into(), payload: json!({"a": 1}) }).unwrap();
    assert_eq!(heard.lock().unwrap()[0]["meta"]["runId"], json!("consumer-scope"));
    let refused = call.emit(CustomEvent { name: "agentfootprint.mine".into(), payload: json!({}) });
    assert!(refused.is_err());

    let log = Log::default();
    let sink = Arc::clone(&log);
    let watching = call.attach_per_run(move |run_id| Arc::new(Mine(run_id.to_string(), Arc::clone(&sink))));
    let (one, two) = (call.run("a").await, call.run("b").await);
    watching.detach();
    call.run("c").await;
    assert_eq!(*log.lock().unwrap(), [one.record.run_id().to_string(), two.record.run_id().to_string()]);
    let drained = call.drain_observers(Duration::from_secs(1)).await;
    assert_eq!((drained.done, drained.failed, drained.pending), (0, 0, 0));
}
