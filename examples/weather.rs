//! The smallest agent: one tool, one question, the answer and why.
//!
//! ```sh
//! cargo run -p agentfootprint --example weather
//! ```
//!
//! The model is scripted, so the example needs no key and no network. With a key in `OPENAI_API_KEY`, replace `model` by
//! `OpenAi::from_env()?` and `"mock-1"` by the name of a model.
#![allow(clippy::print_stdout, reason = "an example speaks to its reader")]

use agentfootprint::footprint::value;
use agentfootprint::prelude::*;

/// Current weather for a city.
#[tool]
async fn weather(
    /// The city, in English.
    city: String,
) -> Result<String, ToolError> {
    Ok(format!("{city}: 22 °C, sunny"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Mock::replies([
        MockReply::tool_call("call-1", "weather", value!({ "city": "Paris" })),
        MockReply::from("It is sunny in Paris, 22 °C."),
    ]);
    let agent = Agent::builder(model, "mock-1")
        .system("You answer weather questions with the weather tool.")
        .tool(weather)
        .build()?;

    let run = agent.record("Weather in Paris?").await?;
    println!("{}\n", run.answer()?);
    println!("{}", run.why());

    let file = std::env::temp_dir().join("agentfootprint-weather.json");
    run.save(&file)?;
    println!("saved {}", file.display());
    Ok(())
}
