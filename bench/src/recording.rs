//! Recordings of a long run: how large, how fast to save, open and ask.

use std::time::Instant;

use agentfootprint::debug::toolpack::TraceTools;
use agentfootprint::debug::why;
use agentfootprint::footprint::value;
use agentfootprint::prelude::*;
use agentfootprint::record::Recording;
use serde_json::{Value, json};

/// Model calls of the run.
const ITERATIONS: usize = 1000;
/// Repetitions; the best counts.
const REPETITIONS: usize = 3;

/// Looks up an order.
#[tool]
fn get_order(order_id: String) -> Result<String, ToolError> {
    Ok(result_of(&order_id))
}

fn result_of(order: &str) -> String {
    format!("order {order}: delivered, {}", "kettle and cups, ".repeat(12))
}

fn timed<T>(run: impl Fn() -> Result<T, String>) -> Result<(f64, T), String> {
    let mut best: Option<(f64, T)> = None;
    for _ in 0..REPETITIONS {
        let started = Instant::now();
        let made = run()?;
        let took = started.elapsed().as_secs_f64() * 1000.0;
        if best.as_ref().is_none_or(|(known, _)| took < *known) {
            best = Some((took, made));
        }
    }
    best.ok_or_else(|| "nothing was repeated".to_owned())
}

/// The rows whose names hold `only`.
pub(crate) async fn rows(only: Option<&str>) -> Result<Vec<Value>, String> {
    let names = ["recording-size", "recording-save", "recording-open", "recording-why", "recording-toolpack"];
    if only.is_some_and(|only| !names.iter().any(|name| name.contains(only))) {
        return Ok(Vec::new());
    }
    // What the run newly says: each question, request, result and answer once.
    let question = "Where are all my orders?";
    let answer = "All of your orders were delivered; the last one is order 998.";
    let mut said = question.len() + answer.len();
    let mut replies: Vec<MockReply> = Vec::new();
    for at in 1..ITERATIONS {
        let (id, order, words) = (format!("call-{at}"), format!("A-{at}"), format!("Now order {at}."));
        said += id.len() + order.len() + words.len() + result_of(&order).len();
        replies
            .push(MockReply::tool_call(id, "get_order", value!({ "order_id": order })).with_content(words));
    }
    replies.push(MockReply::from(answer));
    let agent = Agent::builder(Mock::replies(replies), "mock-1")
        .tool(get_order)
        .max_iterations(ITERATIONS as u32 + 1)
        .build()
        .map_err(|error| error.to_string())?;
    let started = Instant::now();
    let run = agent.record(question).await.map_err(|error| error.to_string())?;
    let run_ms = started.elapsed().as_secs_f64() * 1000.0;
    run.answer().map_err(|error| error.to_string())?;
    let recording = run.recording();

    let path = std::env::temp_dir().join(format!("agentfootprint-bench-{}.json", std::process::id()));
    let (save_ms, ()) = timed(|| run.save(&path).map_err(|error| error.to_string()))?;
    let bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
    let _ = std::fs::remove_file(&path);
    let (open_ms, opened) = timed(|| Recording::open(&bytes).map_err(|error| error.to_string()))?;
    let (pack_ms, packed) = timed(|| recording.to_packed().map_err(|error| error.to_string()))?;
    let (open_packed_ms, _) =
        timed(|| Recording::open(packed.as_bytes()).map_err(|error| error.to_string()))?;
    let (compress_ms, compressed) = timed(|| recording.to_compressed().map_err(|error| error.to_string()))?;
    let (open_compressed_ms, _) = timed(|| Recording::open(&compressed).map_err(|error| error.to_string()))?;
    let (why_ms, _) = timed(|| Ok(why::answer(&opened).to_string()))?;
    let (tools_ms, _) = timed(|| {
        let tools = TraceTools::new(opened.clone());
        tools
            .call("backtrack", &value!({ "variable": "history", "element": 1500 }))
            .map_err(|error| error.to_string())
    })?;
    let row = |name: &str, total_ms: f64, more: Value| {
        let mut row = json!({ "workload": name, "steps": ITERATIONS, "totalMs": total_ms });
        if let (Some(row), Some(more)) = (row.as_object_mut(), more.as_object()) {
            row.extend(more.clone());
        }
        row
    };
    Ok(vec![
        row(
            "recording-size",
            run_ms,
            json!({
                "saidBytes": said, "savedBytes": bytes.len(), "packedBytes": packed.len(),
                "compressedBytes": compressed.len(), "compressedPerSaid": compressed.len() as f64 / said as f64,
                "packedPerSaid": packed.len() as f64 / said as f64,
            }),
        ),
        row("recording-save", save_ms, json!({ "packMs": pack_ms, "compressMs": compress_ms })),
        row(
            "recording-open",
            open_ms,
            json!({ "openPackedMs": open_packed_ms, "openCompressedMs": open_compressed_ms }),
        ),
        row("recording-why", why_ms, json!({})),
        row("recording-toolpack", tools_ms, json!({})),
    ])
}
