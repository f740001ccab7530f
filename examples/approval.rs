//! A person decides: the run pauses before a dangerous call, its checkpoint travels as text, and another agent — another
//! process, another day — goes on with the decision.
//!
//! ```sh
//! cargo run -p agentfootprint --example approval
//! ```
#![allow(clippy::print_stdout, reason = "an example speaks to its reader")]

use agentfootprint::footprint::pause::FlowchartCheckpoint;
use agentfootprint::footprint::value;
use agentfootprint::prelude::*;
use agentfootprint::tools::{CheckIn, check_in_approved};

fn refund() -> Result<Tool, Box<dyn std::error::Error>> {
    let tool = Tool::builder("refund")
        .description("Refunds an order.")
        .input_schema(value!({
            "type": "object",
            "properties": { "orderId": { "type": "string" }, "amount": { "type": "number" } },
            "required": ["orderId", "amount"]
        }))
        .handler(|args: agentfootprint::footprint::Value, _| async move {
            let said = |name: &str| args.get(name).cloned().unwrap_or_default();
            format!("refunded {} EUR for {}", said("amount"), said("orderId"))
        })
        .check_in(CheckIn::Always)
        .build()?;
    Ok(tool)
}

fn agent(model: Mock) -> Result<Agent, Box<dyn std::error::Error>> {
    Ok(Agent::builder(model, "mock-1").id("refunds").tool(refund()?).build()?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asks = Mock::replies([MockReply::tool_call(
        "call-1",
        "refund",
        value!({ "orderId": "A-1001", "amount": 49.5 }),
    )]);
    let first = agent(asks)?.record("Refund order A-1001, please.").await?;
    let Some(pause) = first.report().paused() else {
        return Err("the run should wait for a person".into());
    };
    println!("the run waits before calling {}", pause.tool_name().unwrap_or("?"));
    let stored: String = pause.checkpoint.to_json();
    println!("its checkpoint is {} bytes of text\n", stored.len());

    // Elsewhere and later: the same definition, built anew, and the text.
    let answers = Mock::replies([MockReply::from("Done: 49.50 EUR are on their way back.")]);
    let decision = check_in_approved("maria").note("within policy").build();
    let second = agent(answers)?
        .record_resume(FlowchartCheckpoint::from_json(&stored)?, Some(decision.to_value()))
        .await?;
    println!("{}\n", second.answer()?);
    println!("{}", second.why());
    Ok(())
}
