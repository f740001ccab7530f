//! Watching a run while it happens: tokens as they arrive, tools as they start and end.
//!
//! ```sh
//! cargo run -p agentfootprint --example streaming
//! ```
#![allow(clippy::print_stdout, reason = "an example speaks to its reader")]

use std::io::Write as _;

use agentfootprint::events::payload::{StreamToken, StreamToolStart};
use agentfootprint::footprint::value;
use agentfootprint::prelude::*;

/// Adds two numbers.
#[tool]
fn add(a: f64, b: f64) -> Result<f64, ToolError> {
    Ok(a + b)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Mock::replies([
        MockReply::tool_call("call-1", "add", value!({ "a": 2, "b": 40 })).with_content("Let me add these. "),
        MockReply::from("Two and forty make forty-two."),
    ]);
    let agent = Agent::builder(model, "mock-1").tool(add).build()?;

    let report = agent
        .run("What is 2 + 40?")
        .listen("agentfootprint.stream.token", |event| {
            if let Some(token) = event.of::<StreamToken>() {
                print!("{}", token.content);
                let _ = std::io::stdout().flush();
            }
        })?
        .listen("agentfootprint.stream.tool_start", |event| {
            if let Some(call) = event.of::<StreamToolStart>() {
                println!("\n[{} {}]", call.tool_name, call.args);
            }
        })?
        .await;
    println!("\n\nanswer: {}", report.into_answer()?);
    Ok(())
}
