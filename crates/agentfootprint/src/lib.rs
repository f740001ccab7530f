//! **agentfootprint** — an agent framework whose every run is evidence.
//!
//! An agent is a flowchart. Walking it records every state write, decision, injected piece of context, model call and tool
//! call under one address grammar, so *"why did it say that?"* is a query over a recording, not a guess over logs.
//!
//! ```
//! use agentfootprint::prelude::*;
//!
//! /// Current weather for a city.
//! #[tool]
//! async fn weather(city: String) -> Result<String, ToolError> {
//!     Ok(format!("{city}: 22 °C, sunny"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A scripted model, so that this page runs offline; `OpenAi::from_env()?` takes its place.
//! let model = Mock::replies([
//!     MockReply::tool_call("call-1", "weather", footprint::value!({ "city": "Paris" })),
//!     MockReply::from("It is sunny in Paris, 22 °C."),
//! ]);
//! let agent = Agent::builder(model, "mock-1")
//!     .system("You answer weather questions with the weather tool.")
//!     .tool(weather)
//!     .build()?;
//!
//! let run = agent.record("Weather in Paris?").await?; // plain `run` does not record
//! assert_eq!(run.answer()?, "It is sunny in Paris, 22 °C.");
//! let why = run.why(); // from the answer back to its causes
//! assert_eq!(why.suspects[0].source, "tool-result");
//! # Ok(()) }
//! ```
//!
//! # Doors
//!
//! | module | for |
//! |---|---|
//! | [`prelude`] | what a program that builds an agent usually needs |
//! | [`agent`] | the agent, its builder and its options |
//! | [`compose`] | one model call, sequences, parallels, loops, graphs, patterns |
//! | [`context`] | facts, instructions and steering |
//! | [`tools`] | tools, permissions, middleware, people in the loop |
//! | [`observe`] | what watches all runs of a runner: exporters, bills, viewers; shutting down |
//! | `telemetry` | sinks for them: console, file, `tracing`, OpenTelemetry, clouds (feature `telemetry` and its own) |
//! | [`watch`] | the live state, the status line and the step graph of runs under way |
//! | [`validation`] | holding an answer against evidence before it is delivered |
//! | [`reliability`] | rules around a model call: ask again, somebody else, fall back, give up |
//! | [`window`] | what leaves a conversation that grows |
//! | [`run`] | inputs, options, outcomes and errors of runs |
//! | [`events`] | what a run says while it happens |
//! | [`record`] | recordings: make, save, open |
//! | [`debug`] | explain a recording, ask why, validate it |
//! | [`providers`] | model adapters, one feature each |
//! | [`llm`] | the port to write an adapter against |
//! | [`embed`] | the port to embedding models |
//! | [`footprint`] | the flowchart engine underneath |

pub use agentfootprint_core::{
    agent, compose, embed, injection as context, llm, observe, reliability, run, tools, validation, window,
};
pub use agentfootprint_debug as debug;
pub use agentfootprint_macros::tool;
pub use agentfootprint_providers as providers;
#[cfg(feature = "telemetry")]
pub use agentfootprint_telemetry as telemetry;
pub use footprint;

mod explained;
pub mod watch;

pub use explained::Explained;

/// What a run says while it happens: the typed events and how to listen.
pub mod events {
    pub use agentfootprint_core::events::*;
    pub use agentfootprint_record::events::*;
}

/// Recordings: made by a run, saved, opened again.
pub mod record {
    pub use agentfootprint_core::record::*;
    pub use agentfootprint_record::recording::*;
}

/// What a program that builds an agent usually needs.
pub mod prelude {
    pub use crate::Explained as _;
    pub use agentfootprint_core::agent::{Agent, AgentBuildErrors, CostBudget};
    pub use agentfootprint_core::compose::{Conditional, LlmCall, Loop, Parallel, Sequence};
    pub use agentfootprint_core::injection::{Fact, Instruction, Steering};
    pub use agentfootprint_core::llm::{ModelPrices, StaticPricing};
    pub use agentfootprint_core::record::{RecordOptions, RecordedRun};
    pub use agentfootprint_core::run::{RunError, RunInput, RunOptions, RunOutcome, RunReport, Runner};
    pub use agentfootprint_core::tools::{Tool, ToolContext, ToolError, ToolFailure, ToolOutput};
    pub use agentfootprint_macros::tool;
    #[cfg(feature = "anthropic")]
    pub use agentfootprint_providers::Anthropic;
    #[cfg(feature = "bedrock")]
    pub use agentfootprint_providers::Bedrock;
    #[cfg(feature = "gemini")]
    pub use agentfootprint_providers::Gemini;
    #[cfg(feature = "ollama")]
    pub use agentfootprint_providers::Ollama;
    #[cfg(feature = "openai")]
    pub use agentfootprint_providers::OpenAi;
    #[cfg(feature = "rig")]
    pub use agentfootprint_providers::Rig;
    pub use agentfootprint_providers::mock::{Mock, MockReply};
    pub use agentfootprint_record::recording::Recording;
}

/// What the code written by [`tool`] refers to. Not part of the interface.
#[doc(hidden)]
pub mod __private {
    pub use agentfootprint_core::tools::private::*;
}

/// The guides' snippets, compiled and run.
#[cfg(doctest)]
mod guides {
    macro_rules! pages {
        ($($name:ident = $file:literal),* $(,)?) => {
            $(#[doc = include_str!(concat!("../../../docs/guides/", $file))] mod $name {})*
        };
    }
    pages! {
        tools = "tools.md",
        runbooks = "runbooks.md",
        context = "context.md",
        people = "people.md",
        watching = "watching.md",
        compositions = "compositions.md",
        recordings = "recordings.md",
        command_line = "command-line.md",
        models = "models.md",
        many_runs = "many-runs.md",
        engine = "engine.md",
        readme = "../../README.md",
    }
}
