//! Somebody complains about an answer. The recording is opened — here from a file, with no agent and no model — and asked
//! where the wrong words come from.
//!
//! ```sh
//! cargo run -p agentfootprint --example wrong_answer
//! ```
#![allow(clippy::print_stdout, reason = "an example speaks to its reader")]

use agentfootprint::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In production, some day: a run that is recorded. The shop gives 14 days; somebody typed 90 into a fact.
    let model = Mock::replies([MockReply::from("You have 90 days to send the kettle back.")]);
    let agent = Agent::builder(model, "mock-1")
        .system("You answer questions about orders.")
        .fact(Fact::new("opening-hours", "The shop is open from 9 to 18."))
        .fact(Fact::new("returns-policy", "Customers have 90 days after delivery to send an order back."))
        .build()?;
    let file = std::env::temp_dir().join("agentfootprint-wrong-answer.json");
    agent.record("How long can I return my kettle?").await?.save(&file)?;

    // Later, somewhere else: only the file.
    let recording = Recording::open(&std::fs::read(&file)?)?;
    let why = recording.why_about("90 days");
    println!("{why}");
    let first = why.suspects.first().and_then(|suspect| suspect.source_id.as_deref());
    println!("first suspect: {}", first.unwrap_or("none"));
    println!("{}", recording.findings());
    Ok(())
}
