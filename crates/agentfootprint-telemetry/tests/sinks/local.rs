//! Console, file and cost.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentfootprint_core::observe::{EnableOptions, ObservabilityStrategy as _, Tier};
use agentfootprint_core::run::Runner as _;
use agentfootprint_record::events::{Domain, Event, EventMeta, Pattern, payload::StreamToken};
use agentfootprint_telemetry::console::ConsoleSink;
use agentfootprint_telemetry::cost::InMemoryCost;
use agentfootprint_telemetry::file::{FileOptions, FileSink};
use footprint::value::Value;

use crate::support::*;

fn token(at: u64) -> Arc<Event> {
    Arc::new(Event::new(StreamToken::new(1_u64, at, format!("word {at}")), EventMeta::consumer(at)))
}

fn lines(path: &std::path::Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "whole lines only");
    text.lines().map(str::to_owned).collect()
}

/// One JSON line per event: its type and its payload.
#[tokio::test]
async fn the_console_writes_a_line_per_event() {
    let out = Lines::default();
    let agent = agent("support");
    agent.enable().observability(Arc::new(ConsoleSink::writing_to(out.clone()))).keep();
    agent.run("hello").await.into_answer().unwrap();
    let text = out.text();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let start = rows.iter().find(|row| row["type"] == json!("agentfootprint.agent.turn_start")).unwrap();
    assert_eq!(
        start.to_string(),
        r#"{"type":"agentfootprint.agent.turn_start","turnIndex":0,"userPrompt":"hello"}"#
    );
}

/// Proves REC-65: the file holds every event of a run as recorded, in the order it was said; writing is off the run.
#[tokio::test]
async fn the_file_holds_events_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.ndjson");
    let agent = agent("support");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let _guard =
        agent.events().on("*", move |event| kept.lock().unwrap().push(event.to_value().to_string())).unwrap();
    let sink = Arc::new(FileSink::new(FileOptions::new(&path)).unwrap());
    let handle = agent.enable().observability_with(sink, EnableOptions::new().tier(Tier::Firehose));
    agent.run("hello").await.into_answer().unwrap();
    handle.shutdown().await.unwrap();
    assert_eq!(lines(&path), *heard.lock().unwrap());
}

/// Rotation keeps one generation, cuts between lines, and goes on where a file was left.
#[tokio::test]
async fn the_file_rotates_between_lines() {
    let folder = tempfile::tempdir().unwrap();
    let (path, old) = (folder.path().join("a"), folder.path().join("a.1"));
    let one = token(0).to_value().to_string().len() as u64 + 1;
    let open = || FileSink::new(FileOptions::new(&path).max_bytes(one * 3)).unwrap();
    let ship = async |from: u64, to: u64| {
        let sink = open();
        (from..to).for_each(|at| sink.export_event(&token(at)));
        agentfootprint_core::observe::Strategy::flush(&sink).await.unwrap();
    };
    ship(0, 2).await;
    assert_eq!((lines(&path).len(), old.exists()), (2, false));
    ship(2, 5).await;
    assert_eq!((lines(&path).len(), lines(&old).len()), (2, 3));
    ship(5, 9).await;
    let all = |path: &std::path::Path| {
        let token =
            |line: &String| serde_json::from_str::<Value>(line).unwrap()["payload"]["tokenIndex"].as_u64();
        lines(path).iter().map(token).map(Option::unwrap).collect::<Vec<_>>()
    };
    assert_eq!((all(&old), all(&path)), (vec![3, 4, 5], vec![6, 7, 8]));
}

/// Only what was asked for is written; a full buffer is written without a flush, and a quiet one after its interval.
#[tokio::test(start_paused = true)]
async fn the_file_is_written_when_due() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let written = async |count: usize| {
        for _ in 0..10_000 {
            if lines(&path).len() == count {
                return true;
            }
            // What writes works on another thread.
            tokio::task::spawn_blocking(std::thread::yield_now).await.unwrap();
        }
        false
    };
    let options = FileOptions::new(&path).max_buffer_events(NonZeroUsize::new(3).unwrap());
    let sink = FileSink::new(options.flush_interval(Duration::from_secs(60))).unwrap();
    (0..3).for_each(|at| sink.export_event(&token(at)));
    assert!(written(3).await, "three are a batch");
    sink.export_event(&token(3));
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(written(4).await, "after a minute");
    let sink = FileSink::new(FileOptions::new(&path).event_types([Pattern::Domain(Domain::Agent)])).unwrap();
    let patterns = agentfootprint_core::observe::Strategy::relevant_event_types(&sink);
    assert_eq!(patterns, [Pattern::Domain(Domain::Agent)]);
}

/// What cannot work is refused when the sink is made, by option, value and what would do.
#[test]
fn a_path_that_cannot_be_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |options: FileOptions| FileSink::new(options).unwrap_err();
    assert_eq!(
        refused(FileOptions::new(" ")).to_string(),
        "`path` cannot be blank: the path of a file that can be written"
    );
    let error = refused(FileOptions::new(folder.path().join("no/such/folder")));
    assert_eq!(error.option, "path");
    assert!(error.value.contains("no/such/folder"), "{error}");
    assert_eq!(refused(FileOptions::new(folder.path().join("a")).max_bytes(0)).option, "max_bytes");
    assert_eq!(refused(FileOptions::new(folder.path().join("a")).event_types([])).option, "event_types");
}

/// The bill keeps the last ticks and counts all.
#[tokio::test]
async fn the_bill_keeps_the_last_ticks() {
    let agent = agent("support");
    let bill = Arc::new(InMemoryCost::new(NonZeroUsize::new(3).unwrap()));
    agent.enable().cost(bill.clone()).keep();
    for _ in 0..2 {
        agent.run("hello").await.into_answer().unwrap();
    }
    assert_eq!((bill.count(), bill.ticks().len()), (4, 3));
    assert_eq!((bill.since(3).len(), bill.since(0).len(), bill.since(4).len()), (1, 3, 0));
    let last = bill.since(3).pop().unwrap();
    assert_eq!((&*last.model, last.cumulative_output_tokens, last.recent_output_tokens), ("m-1", 40, 20));
    bill.clear();
    assert_eq!((bill.count(), bill.ticks().len()), (0, 0));
}
