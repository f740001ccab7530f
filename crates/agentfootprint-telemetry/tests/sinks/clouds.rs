//! CloudWatch, AgentCore and X-Ray over clients that are scripts.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use agentfootprint_core::injection::BoxError;
use agentfootprint_core::observe::{ObservabilityStrategy as _, SampleRate, Strategy as _, StrategyLife};
use agentfootprint_core::run::Runner as _;
use agentfootprint_record::events::{Event, EventMeta, payload::StreamToken};
use agentfootprint_telemetry::cloudwatch::{
    CloudWatchOptions, CloudWatchSink, LogEntry, LogsClient, LogsError,
};
use agentfootprint_telemetry::xray::{SegmentsClient, XRayOptions, XRaySink};
use async_trait::async_trait;
use footprint::value::Value;

use crate::support::*;

/// Answers puts and creations as scripted, then with success; keeps what it was asked.
#[derive(Default)]
struct Logs {
    puts: Mutex<VecDeque<LogsError>>,
    creates: Mutex<VecDeque<LogsError>>,
    asked: Mutex<Vec<String>>,
    taken: Mutex<Vec<Vec<LogEntry>>>,
}

#[async_trait]
impl LogsClient for Logs {
    async fn put(&self, group: &str, stream: &str, entries: Vec<LogEntry>) -> Result<(), LogsError> {
        self.asked.lock().unwrap().push(format!("put {group}/{stream}"));
        if let Some(error) = self.puts.lock().unwrap().pop_front() {
            return Err(error);
        }
        self.taken.lock().unwrap().push(entries);
        Ok(())
    }

    async fn create_stream(&self, group: &str, stream: &str) -> Result<(), LogsError> {
        self.asked.lock().unwrap().push(format!("create {group}/{stream}"));
        self.creates.lock().unwrap().pop_front().map_or(Ok(()), Err)
    }
}

fn logs(puts: Vec<LogsError>, creates: Vec<LogsError>) -> Arc<Logs> {
    Arc::new(Logs { puts: Mutex::new(puts.into()), creates: Mutex::new(creates.into()), ..Logs::default() })
}

fn sink(client: &Arc<Logs>) -> CloudWatchSink {
    let quiet = StrategyLife::new().on_error(|_| {});
    CloudWatchSink::with_life(CloudWatchOptions::new("g"), client.clone(), quiet).unwrap()
}

fn token(at: u64) -> Arc<Event> {
    Arc::new(Event::new(StreamToken::new(1_u64, at, "word"), EventMeta::consumer(at)))
}

/// Proves REC-72: over a client that is given a run's events arrive as their JSON, in the order of time and in batches within bounds;
/// AgentCore is the same transport under its own name.
#[tokio::test]
async fn events_are_put_in_batches() {
    let client = logs(vec![], vec![]);
    let agent = agent("support");
    let sink = CloudWatchSink::agentcore(CloudWatchOptions::new("g"), client.clone()).unwrap();
    assert_eq!(sink.name(), "agentcore");
    let handle = agent.enable().observability(Arc::new(sink));
    agent.run("hello").await.into_answer().unwrap();
    handle.shutdown().await.unwrap();
    let taken = client.taken.lock().unwrap();
    assert!(taken.len() > 1, "a run is longer than one batch");
    for batch in taken.iter() {
        let bytes: usize = batch.iter().map(|entry| entry.message.len() + 26).sum();
        assert!(batch.len() == 1 || (batch.len() <= 100 && bytes <= 10_240), "{bytes}");
        assert!(batch.is_sorted_by_key(|entry| entry.timestamp_ms));
        for entry in batch {
            let event: Event = serde_json::from_str(&entry.message).unwrap();
            assert_eq!(event.meta.wall_clock_ms, entry.timestamp_ms);
        }
    }
    assert!(client.asked.lock().unwrap().iter().all(|asked| asked == "put g/agentfootprint"));
}

/// The stream is created once when it is missing, and the batch put once more; already being there is as good; a group is never
/// created; when it cannot be, nothing is tried any more.
#[tokio::test]
async fn a_missing_stream_is_created_once() {
    let (put, create) = ("put g/agentfootprint", "create g/agentfootprint");
    for created in [vec![], vec![LogsError::AlreadyExists]] {
        let client = logs(vec![LogsError::NotFound], created);
        let sink = sink(&client);
        sink.export_event(&token(1));
        sink.flush().await.unwrap();
        assert_eq!(*client.asked.lock().unwrap(), [put, create, put]);
        assert_eq!(client.taken.lock().unwrap().len(), 1);
    }
    // It cannot be created.
    let client = logs(vec![LogsError::NotFound], vec![LogsError::NotFound]);
    let sink = sink(&client);
    for at in 0..3 {
        sink.export_event(&token(at));
        let error = sink.flush().await.unwrap_err().to_string();
        assert!(error.contains("`agentfootprint` of the group `g`"), "{error}");
    }
    assert_eq!(*client.asked.lock().unwrap(), [put, create], "latched");
    // It vanishes again and again.
    let client = logs(vec![LogsError::NotFound, LogsError::NotFound], vec![]);
    let sink = self::sink(&client);
    for at in 0..3 {
        sink.export_event(&token(at));
        sink.flush().await.unwrap_err();
    }
    assert_eq!(*client.asked.lock().unwrap(), [put, create, put]);
}

/// Proves REC-70: a batch that was not taken is dropped and counted, and the next one goes its way.
#[tokio::test]
async fn a_failed_batch_is_not_shipped_again() {
    let client = logs(vec![LogsError::Other("throttled".into())], vec![]);
    let sink = sink(&client);
    sink.export_event(&token(1));
    assert_eq!(sink.flush().await.unwrap_err().to_string(), "throttled");
    sink.export_event(&token(2));
    sink.flush().await.unwrap();
    {
        let taken = client.taken.lock().unwrap();
        assert_eq!((taken.len(), taken[0][0].timestamp_ms), (1, 2));
    }
    // On its own time the sink counts for itself.
    let client = logs(vec![LogsError::Other("throttled".into())], vec![]);
    let options = CloudWatchOptions::new("g").max_batch_events(NonZeroUsize::MIN);
    let sink =
        CloudWatchSink::with_life(options, client.clone(), StrategyLife::new().on_error(|_| {})).unwrap();
    sink.export_event(&token(1));
    while sink.life().failures() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(client.taken.lock().unwrap().is_empty());
}

/// Names that are blank are refused when the sink is made.
#[test]
fn blank_names_are_refused() {
    let client = logs(vec![], vec![]);
    let refused = |options| CloudWatchSink::new(options, client.clone()).unwrap_err().option;
    assert_eq!(refused(CloudWatchOptions::new(" ")), "log_group_name");
    assert_eq!(refused(CloudWatchOptions::new("g").log_stream_name("")), "log_stream_name");
    assert_eq!(
        XRaySink::new(XRayOptions::new(""), Arc::new(Segments::default())).unwrap_err().option,
        "service_name"
    );
}

#[derive(Default)]
struct Segments(Mutex<Vec<Value>>);

#[async_trait]
impl SegmentsClient for Segments {
    async fn put_trace_segments(&self, documents: Vec<String>) -> Result<(), BoxError> {
        assert!(documents.len() <= 25);
        let read = documents.iter().map(|document| serde_json::from_str::<Value>(document).unwrap());
        self.0.lock().unwrap().extend(read);
        Ok(())
    }
}

impl Segments {
    /// `name < parent's name`, sorted.
    fn tree(&self) -> Vec<String> {
        let all = self.0.lock().unwrap();
        let name_of = |id: &Value| {
            all.iter().find(|other| other["id"] == *id).map_or("?", |other| other["name"].as_str().unwrap())
        };
        let mut out: Vec<String> = all
            .iter()
            .map(|one| match one.get("parent_id") {
                Some(parent) => format!("{} < {}", one["name"].as_str().unwrap(), name_of(parent)),
                None => one["name"].as_str().unwrap().to_owned(),
            })
            .collect();
        out.sort();
        out
    }

    fn named(&self, name: &str) -> Value {
        self.0.lock().unwrap().iter().find(|one| one["name"] == json!(name)).unwrap().clone()
    }
}

async fn traced(options: XRayOptions) -> Arc<Segments> {
    let client = Arc::new(Segments::default());
    let agent = agent("support");
    let handle = agent.enable().observability(Arc::new(XRaySink::new(options, client.clone()).unwrap()));
    agent.run(CANARY).options(self::options()).await.into_answer().unwrap();
    handle.shutdown().await.unwrap();
    client
}

/// Proves REC-71, REC-72: a run is a segment, its iterations and calls subsegments of one trace, by index; no words of anybody leave,
/// unless that is asked for.
#[tokio::test]
async fn a_run_is_a_trace_of_segments() {
    let seen = traced(XRayOptions::new("shop")).await;
    let tree = [
        "iteration:1 < shop",
        "iteration:2 < shop",
        "llm < iteration:1",
        "llm < iteration:2",
        "shop",
        "tool:bad < iteration:1",
        "tool:good < iteration:1",
    ];
    assert_eq!(seen.tree(), tree);
    let root = seen.named("shop");
    let trace = root["trace_id"].as_str().unwrap().to_owned();
    let parts: Vec<&str> = trace.split('-').collect();
    assert_eq!(
        (parts[0], parts[1], parts[2].len(), root["id"].as_str().unwrap().len()),
        ("1", "6553f100", 24, 16)
    );
    assert!(seen.0.lock().unwrap().iter().all(|one| one["trace_id"] == json!(&*trace)));
    assert!(root["annotations"]["cumulativeCostUsd"].as_f64().unwrap() > 0.0);
    assert_eq!(
        (seen.named("tool:bad").get("fault"), seen.named("tool:good").get("fault")),
        (Some(&json!(true)), None)
    );
    assert!(!format!("{:?}", seen.0.lock().unwrap()).contains(CANARY));
    let open = traced(XRayOptions::new("shop").include_payloads(true)).await;
    assert_eq!(open.named("tool:good")["metadata"]["agentfootprint"]["args"]["city"], json!(CANARY));
    let none = traced(XRayOptions::new("shop").sample(SampleRate::new(0.0).unwrap())).await;
    assert!(none.0.lock().unwrap().is_empty());
}

/// A failed run is a fault with its stage and scope, and nothing of its message.
#[tokio::test]
async fn a_failed_run_is_a_fault() {
    let client = Arc::new(Segments::default());
    let agent =
        builder(Model::by(|_, _| Err(agentfootprint_core::llm::LlmError::foreign("ServiceError", CANARY))))
            .build()
            .unwrap();
    let handle = agent
        .enable()
        .observability(Arc::new(XRaySink::new(XRayOptions::new("shop"), client.clone()).unwrap()));
    assert!(agent.run("x").await.error().is_some());
    handle.shutdown().await.unwrap();
    let root = client.named("shop");
    assert_eq!((&root["fault"], &root["annotations"]["errorScope"]), (&json!(true), &json!("run")));
    assert!(!format!("{:?}", client.0.lock().unwrap()).contains(CANARY));
}
