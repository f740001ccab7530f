//! `agentfootprint run`: one question to a real model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use agentfootprint::agent::AgentBuilder;
use agentfootprint::prelude::*;
use clap::{Args, ValueEnum};

use crate::block_on;
use crate::live::Live;
use crate::out::{Failure, say};

#[derive(Args)]
pub(crate) struct RunArgs {
    /// The question.
    question: String,
    /// Which adapter speaks to the model.
    #[arg(long, value_enum, default_value_t = Vendor::Openai)]
    provider: Vendor,
    /// Address of a server that speaks the provider's wire, for instance http://127.0.0.1:8099/v1.
    #[arg(long)]
    base_url: Option<String>,
    /// The model.
    #[arg(long)]
    model: String,
    /// The system prompt.
    #[arg(long, default_value = "You are a helpful assistant. Answer briefly.")]
    system: String,
    /// Upper bound of generated tokens.
    #[arg(long)]
    max_tokens: Option<u64>,
    /// Waits for the whole answer instead of streaming it.
    #[arg(long)]
    no_stream: bool,
    /// Where the recording is written. By default into the first of run-recording.json, run-recording-2.json … that is not there
    /// yet.
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Vendor {
    /// Anthropic's Messages API; the key is in ANTHROPIC_API_KEY.
    Anthropic,
    /// Google's Gemini API; the key is in GEMINI_API_KEY or GOOGLE_API_KEY.
    Gemini,
    /// OpenAI Chat Completions, or a compatible server.
    Openai,
    /// A local Ollama, or the one at OLLAMA_HOST.
    Ollama,
    /// Amazon Bedrock, with AWS's usual variables for region and credentials.
    Bedrock,
    /// Answers `echo: <question>`; needs no network.
    Mock,
}

pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    block_on(asked(args))
}

async fn asked(args: &RunArgs) -> Result<ExitCode, Failure> {
    let mut builder = builder(args)?.system(args.system.as_str());
    if let Some(tokens) = args.max_tokens {
        builder = builder.max_tokens(tokens);
    }
    let agent = builder.build().map_err(|errors| Failure::unusable(errors.to_string()))?;
    let live = Arc::new(Live::default());
    let showing = Arc::clone(&live);
    let declared = agent.record(args.question.as_str()).listen("*", move |event| showing.show(event));
    let declared = declared.map_err(|error| Failure::unusable(error.to_string()))?;
    let run = declared.await.map_err(|refusal| Failure::unusable(refusal.to_string()))?;
    live.end();
    let out = args.out.clone().unwrap_or_else(|| free_name(|name| name.exists()));
    run.save(&out).map_err(|error| Failure::failed(error.to_string()))?;
    say(format!("\nrecording: {}\n", out.display()));
    match run.answer() {
        Ok(answer) => {
            if args.no_stream {
                say(format!("answer: {answer}\n"));
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => Err(Failure::failed(error.to_string())),
    }
}

/// A name for a recording that replaces no other one.
fn free_name(is_taken: impl Fn(&Path) -> bool) -> PathBuf {
    let name = |at: u32| match at {
        1 => PathBuf::from("run-recording.json"),
        at => PathBuf::from(format!("run-recording-{at}.json")),
    };
    (1..).map(name).find(|name| !is_taken(name)).unwrap_or_else(|| name(1))
}

fn builder(args: &RunArgs) -> Result<AgentBuilder, Failure> {
    match args.provider {
        Vendor::Mock => Ok(Agent::builder(
            if args.no_stream { Mock::new().without_streaming() } else { Mock::new() },
            args.model.as_str(),
        )),
        Vendor::Anthropic => anthropic(args),
        Vendor::Gemini => gemini(args),
        Vendor::Openai => openai(args),
        Vendor::Ollama => ollama(args),
        Vendor::Bedrock => bedrock(args),
    }
}

#[cfg(feature = "anthropic")]
fn anthropic(args: &RunArgs) -> Result<AgentBuilder, Failure> {
    let mut builder = Anthropic::builder().streaming(!args.no_stream);
    if let Some(url) = &args.base_url {
        builder = builder.base_url(url.as_str());
        if !is_set(&["ANTHROPIC_API_KEY"]) {
            builder = builder.without_key();
        }
    }
    with(builder.build(), args)
}

#[cfg(not(feature = "anthropic"))]
fn anthropic(_: &RunArgs) -> Result<AgentBuilder, Failure> {
    Err(Failure::unusable("this build has no anthropic adapter; build it with the feature `anthropic`"))
}

#[cfg(feature = "gemini")]
fn gemini(args: &RunArgs) -> Result<AgentBuilder, Failure> {
    let mut builder = Gemini::builder().streaming(!args.no_stream);
    if let Some(url) = &args.base_url {
        builder = builder.base_url(url.as_str());
        if !is_set(&["GEMINI_API_KEY", "GOOGLE_API_KEY"]) {
            builder = builder.without_key();
        }
    }
    with(builder.build(), args)
}

#[cfg(not(feature = "gemini"))]
fn gemini(_: &RunArgs) -> Result<AgentBuilder, Failure> {
    Err(Failure::unusable("this build has no gemini adapter; build it with the feature `gemini`"))
}

#[cfg(feature = "ollama")]
fn ollama(args: &RunArgs) -> Result<AgentBuilder, Failure> {
    let mut builder = Ollama::builder().streaming(!args.no_stream);
    if let Some(url) = &args.base_url {
        builder = builder.base_url(url.as_str());
    }
    with(builder.build(), args)
}

#[cfg(not(feature = "ollama"))]
fn ollama(_: &RunArgs) -> Result<AgentBuilder, Failure> {
    Err(Failure::unusable("this build has no ollama adapter; build it with the feature `ollama`"))
}

#[cfg(feature = "bedrock")]
fn bedrock(args: &RunArgs) -> Result<AgentBuilder, Failure> {
    let mut builder = Bedrock::builder().streaming(!args.no_stream);
    if let Some(url) = &args.base_url {
        builder = builder.endpoint(url.as_str());
    }
    with(builder.build(), args)
}

#[cfg(not(feature = "bedrock"))]
fn bedrock(_: &RunArgs) -> Result<AgentBuilder, Failure> {
    Err(Failure::unusable("this build has no bedrock adapter; build it with the feature `bedrock`"))
}

/// The agent on top of an adapter, or why there is no adapter.
#[cfg(any(
    feature = "anthropic",
    feature = "gemini",
    feature = "openai",
    feature = "ollama",
    feature = "bedrock"
))]
fn with<E: std::fmt::Display>(
    built: Result<impl agentfootprint::llm::LlmProvider, E>,
    args: &RunArgs,
) -> Result<AgentBuilder, Failure> {
    let provider = built.map_err(|error| Failure::unusable(error.to_string()))?;
    Ok(Agent::builder(provider, args.model.as_str()))
}

/// Whether one of these variables holds something.
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
fn is_set(variables: &[&str]) -> bool {
    variables.iter().any(|name| std::env::var(name).is_ok_and(|value| !value.trim().is_empty()))
}

#[cfg(feature = "openai")]
fn openai(args: &RunArgs) -> Result<AgentBuilder, Failure> {
    let mut builder = OpenAi::builder().streaming(!args.no_stream);
    if let Some(url) = &args.base_url {
        builder = builder.base_url(url.as_str());
        if !is_set(&["OPENAI_API_KEY"]) {
            builder = builder.without_key();
        }
    }
    with(builder.build(), args)
}

#[cfg(not(feature = "openai"))]
fn openai(_: &RunArgs) -> Result<AgentBuilder, Failure> {
    Err(Failure::unusable("this build has no openai adapter; build it with the feature `openai`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_replaces_no_other_one() {
        let taken = ["run-recording.json", "run-recording-2.json"];
        assert_eq!(free_name(|_| false), Path::new("run-recording.json"));
        assert_eq!(
            free_name(|name| taken.iter().any(|t| name == Path::new(t))),
            Path::new("run-recording-3.json")
        );
    }
}
