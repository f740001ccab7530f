//! An agent with one tool and a scripted model that answers at once: what the loop itself costs. A step is one model call; every
//! call but the last asks for the tool. `bare` only runs, `recorded` also keeps its events, as a recording needs them, `http` is
//! recorded with the model behind a connection on loopback.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use agentfootprint::providers::OpenAi;
use agentfootprint_core::agent::Agent;
use agentfootprint_core::llm::{CallCx, Capabilities, LlmError, LlmProvider, LlmRequest, LlmResponse};
use agentfootprint_core::run::Runner;
use agentfootprint_core::tools::Tool;
use agentfootprint_record::message::ToolCall;
use async_trait::async_trait;
use footprint::value::{Object, Value};

use crate::engine::Workload;
use crate::{Held, Sample, model_server};

/// Every agent workload.
pub(crate) fn workloads() -> Vec<Workload> {
    let bare = |name, steps| Workload { name, steps, payload_bytes: 0, run: |steps| Box::pin(bare(steps)) };
    let recorded =
        |name, steps| Workload { name, steps, payload_bytes: 0, run: |steps| Box::pin(recorded(steps)) };
    let served =
        |name, steps| Workload { name, steps, payload_bytes: 0, run: |steps| Box::pin(served(steps)) };
    vec![
        bare("agent-bare-10", 10),
        bare("agent-bare-50", 50),
        bare("agent-bare-200", 200),
        bare("agent-bare-1000", 1_000),
        recorded("agent-recorded-10", 10),
        recorded("agent-recorded-50", 50),
        recorded("agent-recorded-200", 200),
        recorded("agent-recorded-1000", 1_000),
        served("agent-http-10", 10),
        served("agent-http-50", 50),
        served("agent-http-200", 200),
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

fn scripted(calls: usize) -> Result<Agent, String> {
    agent(Scripted { calls, made: AtomicUsize::new(0) }, calls)
}

fn agent(provider: impl LlmProvider + 'static, calls: usize) -> Result<Agent, String> {
    let look = Tool::builder("look").description("Looks.").handler(|_: Value, _| async { "seen" });
    Agent::builder(provider, "scripted-1")
        .tool(look)
        // The same call with the same result, each time: the note about it is no part of the loop.
        .repeated_call_nudge(false)
        .max_iterations(u32::try_from(calls + 1).unwrap_or(u32::MAX))
        .build()
        .map_err(|errors| errors.to_string())
}

async fn bare(calls: usize) -> Result<Sample, String> {
    let agent = scripted(calls)?;
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
    record(&scripted(calls)?).await
}

/// Recorded, with a model behind a connection.
async fn served(calls: usize) -> Result<Sample, String> {
    static ADDRESS: OnceLock<Result<String, String>> = OnceLock::new();
    let started = ADDRESS.get_or_init(|| model_server::start().map_err(|error| error.to_string()));
    let base = format!("{}/{calls}/v1", started.as_ref().map_err(String::clone)?);
    let model = OpenAi::builder().key("key-of-the-bench").base_url(base).streaming(false).build();
    record(&agent(model.map_err(|error| error.to_string())?, calls)?).await
}

async fn record(agent: &Agent) -> Result<Sample, String> {
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
