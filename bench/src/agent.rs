//! An agent with one tool and a scripted model that answers at once: what the loop itself costs. A step is one model call; every
//! call but the last asks for the tool. `bare` only runs, `recorded` also keeps its events, as a recording needs them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use agentfootprint_core::agent::Agent;
use agentfootprint_core::llm::{CallCx, Capabilities, LlmError, LlmProvider, LlmRequest, LlmResponse};
use agentfootprint_core::run::Runner;
use agentfootprint_core::tools::Tool;
use agentfootprint_record::message::ToolCall;
use async_trait::async_trait;
use footprint::value::{Object, Value};

use crate::engine::Workload;
use crate::{Held, Sample};

/// Every agent workload.
pub(crate) fn workloads() -> Vec<Workload> {
    let bare = |name, steps| Workload { name, steps, payload_bytes: 0, run: |steps| Box::pin(bare(steps)) };
    let recorded =
        |name, steps| Workload { name, steps, payload_bytes: 0, run: |steps| Box::pin(recorded(steps)) };
    vec![
        bare("agent-bare-10", 10),
        bare("agent-bare-50", 50),
        bare("agent-bare-200", 200),
        bare("agent-bare-1000", 1_000),
        recorded("agent-recorded-10", 10),
        recorded("agent-recorded-50", 50),
        recorded("agent-recorded-200", 200),
        recorded("agent-recorded-1000", 1_000),
    ]
}

/// Asks for the tool until its last call.
struct Scripted {
    calls: usize,
    made: AtomicUsize,
}

#[async_trait]
impl LlmProvider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        Capabilities::default()
    }

    async fn complete(&self, _request: &LlmRequest, _cx: &CallCx) -> Result<LlmResponse, LlmError> {
        let made = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        if made >= self.calls {
            return Ok(LlmResponse::text("done"));
        }
        Ok(LlmResponse::tools(vec![ToolCall::new(format!("c{made}"), "look", Object::new())]))
    }
}

fn agent(calls: usize) -> Result<Agent, String> {
    let look = Tool::builder("look").description("Looks.").handler(|_: Value, _| async { "seen" });
    Agent::builder(Scripted { calls, made: AtomicUsize::new(0) }, "scripted-1")
        .tool(look)
        // The same call with the same result, each time: the note about it is no part of the loop.
        .repeated_call_nudge(false)
        .max_iterations(u32::try_from(calls + 1).unwrap_or(u32::MAX))
        .build()
        .map_err(|errors| errors.to_string())
}

async fn bare(calls: usize) -> Result<Sample, String> {
    let agent = agent(calls)?;
    let started = Instant::now();
    let report = agent.run("go").await;
    let total_ms = started.elapsed().as_secs_f64() * 1000.0;
    match report.answer() {
        Ok(answer) if answer == "done" => {
            Ok(Sample { total_ms, windows_us: None, kept: Box::new(Held(report)) })
        }
        Ok(answer) => Err(format!("the agent answered {answer:?}")),
        Err(error) => Err(error.to_string()),
    }
}

async fn recorded(calls: usize) -> Result<Sample, String> {
    let agent = agent(calls)?;
    let started = Instant::now();
    let run = agent.record("go").await.map_err(|refusal| refusal.to_string())?;
    let total_ms = started.elapsed().as_secs_f64() * 1000.0;
    match run.answer() {
        Ok(answer) if answer == "done" => {
            Ok(Sample { total_ms, windows_us: None, kept: Box::new(Held(run)) })
        }
        Ok(answer) => Err(format!("the agent answered {answer:?}")),
        Err(error) => Err(error.to_string()),
    }
}
