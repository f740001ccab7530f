//! The agent loop of rig against the same model on loopback: one JSON object per workload named on the command line, as our own
//! side prints them.

use std::convert::Infallible;
use std::error::Error;
use std::time::Instant;

use rig::agent::AgentBuilder;
use rig::http_client::ReqwestClient;
use rig::providers::openai::OpenAIConfig;
use rig::tool::{Tool, ToolContext};

#[path = "../../../src/model_server.rs"]
mod model_server;

/// The first is warm-up; the best of all counts.
const REPETITIONS: usize = 5;

struct Look;

impl Tool for Look {
    const NAME: &'static str = "look";
    type Args = serde_json::Value;
    type Output = String;
    type Error = Infallible;

    fn description(&self) -> String {
        "Looks.".to_owned()
    }

    fn parameters(&self) -> serde_json::Value {
        serde_json::json!({ "type": "object", "properties": {} })
    }

    async fn call(&self, _context: &mut ToolContext, _args: Self::Args) -> Result<String, Infallible> {
        Ok("seen".to_owned())
    }
}

/// One run; what comes back is its time in ms.
async fn run(address: &str, calls: usize) -> Result<f64, Box<dyn Error>> {
    let config = OpenAIConfig::new("key-of-the-bench").with_base_url(format!("{address}/{calls}/v1"));
    let model = config.connect(ReqwestClient::default()).chat("served-1");
    let agent = AgentBuilder::new(model).tool(Look).build();
    let started = Instant::now();
    let answer = agent.prompt("go").max_turns(calls + 1).await?;
    let took = started.elapsed().as_secs_f64() * 1000.0;
    let text = answer.to_string();
    if text == "done" { Ok(took) } else { Err(format!("the agent answered {text:?}").into()) }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = model_server::start()?;
    for name in std::env::args().skip(1) {
        let Some(calls) = name.rsplit('-').next().and_then(|calls| calls.parse().ok()) else { continue };
        let mut best = f64::MAX;
        for _ in 0..REPETITIONS {
            best = best.min(run(&address, calls).await?);
        }
        let per_step = best * 1000.0 / calls as f64;
        println!("{}", serde_json::json!({ "workload": name, "steps": calls, "totalMs": best, "perStepUs": per_step }));
    }
    Ok(())
}
