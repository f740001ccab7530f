//! Agents and model calls composed: a triage in front of specialists, a panel that is merged, a review loop — one run, one
//! recording.
//!
//! ```sh
//! cargo run -p agentfootprint --example compositions
//! ```
//!
//! The models are scripted, so the example needs no key and no network.
#![allow(clippy::print_stdout, reason = "an example speaks to its reader")]

use agentfootprint::compose::{Conditional, LlmCall, Loop, Parallel, Sequence};
use agentfootprint::prelude::*;

/// Looks up an invoice.
#[tool]
async fn invoice(number: String) -> Result<String, ToolError> {
    Ok(format!("invoice {number}: 42 EUR, paid on 3 May"))
}

/// An agent with a tool, for questions about invoices.
fn billing() -> Result<Agent, Box<dyn std::error::Error>> {
    let model = Mock::replies([
        MockReply::tool_call("call-1", "invoice", footprint::value!({ "number": "7" })),
        MockReply::from("Invoice 7 over 42 EUR was paid on 3 May."),
    ]);
    Ok(Agent::builder(model, "mock-1")
        .id("billing")
        .system("You answer questions on invoices.")
        .tool(invoice)
        .build()?)
}

/// Two opinions side by side, joined by a function.
fn panel() -> Result<Parallel, Box<dyn std::error::Error>> {
    let tone = LlmCall::builder(Mock::replies([MockReply::from("Friendly enough.")]), "mock-1")
        .id("tone")
        .build()?;
    let facts = LlmCall::builder(Mock::replies([MockReply::from("Names date and amount.")]), "mock-1")
        .id("facts")
        .build()?;
    Ok(Parallel::builder("panel")
        .branch("tone", tone)
        .branch("facts", facts)
        .merge_with_fn(|opinions| format!("tone: {} facts: {}", opinions["tone"], opinions["facts"]))
        .build()?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let other = LlmCall::builder(Mock::replies([MockReply::from("Please tell me more.")]), "mock-1")
        .id("other")
        .build()?;
    let desk = Conditional::builder("desk")
        .when("billing", |message| message.contains("invoice"), billing()?)
        .otherwise("other", other)
        .build()?;
    let shorten = LlmCall::builder(
        Mock::replies([
            MockReply::from("Good letter, friendly, with all facts."),
            MockReply::from("Good letter."),
        ]),
        "mock-1",
    )
    .id("shorten")
    .system("Say it shorter.")
    .build()?;
    let support = Sequence::builder("support")
        .step("desk", desk)
        .pipe_via(|answer| format!("Judge this answer: {answer}"))
        .step("panel", panel()?)
        .step(
            "shorten",
            Loop::builder("until-short").repeat(shorten).until(|at| at.latest_output.len() < 20).build()?,
        )
        .build()?;

    let run = support.record("What about invoice 7?").options(RunOptions::new().session_id("s-1")).await?;
    println!("{}\n", run.answer()?);
    println!("{}", run.story());
    Ok(())
}
