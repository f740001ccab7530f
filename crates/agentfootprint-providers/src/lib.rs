//! Model adapters of agentfootprint: one module per vendor, one cargo feature each.
//!
//! Every adapter has the same three parts. A pure function turns a request into the vendor's body; pure code turns
//! the vendor's bytes into an answer, whole or piece by piece; and a thin transport, shared by all of them, does
//! the I/O between. Adapters never retry, never edit what the model reads, and never let a key into a text.
//!
//! | module | feature | vendor |
//! |---|---|---|
//! | [`mock`] | always on | none: scripted answers |
#![cfg_attr(
    feature = "openai",
    doc = "| [`openai`] | `openai` | OpenAI, Azure OpenAI, and every compatible server |"
)]
#![cfg_attr(feature = "anthropic", doc = "| [`anthropic`] | `anthropic` | Anthropic's Messages API |")]
#![cfg_attr(
    feature = "gemini",
    doc = "| [`gemini`] | `gemini` | Google's Gemini, through the Gemini API or Vertex AI |"
)]
#![cfg_attr(feature = "bedrock", doc = "| [`bedrock`] | `bedrock` | Amazon Bedrock (Converse) |")]
#![cfg_attr(feature = "ollama", doc = "| [`ollama`] | `ollama` | Ollama |")]
#![cfg_attr(feature = "rig", doc = "| [`rig`] | `rig` | whatever the rig-core crate can reach |")]
//! | [`embed`] | always on | none: scripted vectors; with `embed-openai`, `-ollama`, `-gemini`, `-bedrock` the embedders of these |
//! | [`resilience`] | always on | none: retry, fallback, circuit breaker and throttle around any provider |
#![cfg_attr(feature = "http", doc = "| [`http`] | `http` | the shared transport |")]
//!
//! [`create_provider`] makes a provider from a configuration file, [`provider_from_env`] from what the environment offers.
//!
//! Nothing here registers itself anywhere: a provider is a value, given to whoever should use it.
#![cfg_attr(
    not(all(
        feature = "anthropic",
        feature = "openai",
        feature = "gemini",
        feature = "ollama",
        feature = "bedrock"
    )),
    allow(
        dead_code,
        unused_imports,
        unused_macros,
        reason = "what the adapters share is used in full only where all of them are built in"
    )
)]

#[cfg(feature = "http")]
mod address;
#[cfg(feature = "anthropic")]
pub mod anthropic;
#[cfg(feature = "bedrock")]
pub mod bedrock;
#[cfg(any(feature = "anthropic", feature = "bedrock"))]
mod claude;
#[cfg(feature = "http")]
mod credential;
pub mod embed;
mod env;
mod factory;
#[cfg(feature = "http")]
mod finish;
#[cfg(feature = "http")]
pub mod frames;
#[cfg(feature = "gemini")]
pub mod gemini;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "http")]
mod ids;
#[cfg(feature = "http")]
mod key;
pub mod mock;
#[cfg(feature = "ollama")]
pub mod ollama;
#[cfg(feature = "openai")]
pub mod openai;
pub mod resilience;
#[cfg(feature = "rig")]
pub mod rig;
#[cfg(any(feature = "openai", feature = "anthropic"))]
mod stream_json;
#[cfg(feature = "http")]
#[cfg(test)]
mod testing;
mod thinking;
#[cfg(feature = "http")]
mod tool_args;
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "ollama", feature = "bedrock"))]
mod tool_name;
#[cfg(any(feature = "openai", feature = "ollama", feature = "bedrock"))]
mod unreadable;
#[cfg(feature = "http")]
mod wire_json;

#[cfg(feature = "anthropic")]
pub use anthropic::Anthropic;
#[cfg(feature = "bedrock")]
pub use bedrock::Bedrock;
pub use env::EnvVars;
pub use factory::{ProviderChoice, ProviderConfig, ProviderFactory, create_provider, provider_from_env};
#[cfg(feature = "gemini")]
pub use gemini::Gemini;
#[cfg(feature = "http")]
pub use key::Key;
pub use mock::Mock;
#[cfg(feature = "ollama")]
pub use ollama::Ollama;
#[cfg(feature = "openai")]
pub use openai::OpenAi;
#[cfg(feature = "rig")]
pub use rig::Rig;
#[cfg(feature = "http")]
pub use tool_args::MalformedArgs;
