//! One agent, many runs at the same time: each with its own identity, its own events and its own record.
//!
//! ```sh
//! cargo run -p agentfootprint --example many_at_once
//! ```
#![allow(clippy::print_stdout, reason = "an example speaks to its reader")]

use agentfootprint::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The scripted model answers by what it was asked.
    let model = Mock::respond(|request| {
        MockReply::from(format!("You said: {}", request.last_user_text().unwrap_or_default()))
    });
    let agent = Agent::builder(model, "mock-1").build()?;

    let mut runs = tokio::task::JoinSet::new();
    for customer in 0..32 {
        let agent = agent.clone();
        runs.spawn(async move {
            let options = RunOptions::new().session_id(format!("customer-{customer}"));
            let report = agent.run(format!("I am customer {customer}")).options(options).await;
            report.into_answer().map(|answer| (customer, answer))
        });
    }
    let mut answers = Vec::new();
    while let Some(finished) = runs.join_next().await {
        answers.push(finished??);
    }
    answers.sort();
    for (customer, answer) in &answers {
        assert_eq!(answer, &format!("You said: I am customer {customer}"));
    }
    println!("{} runs, {} answers, each its own", answers.len(), answers.len());
    Ok(())
}
