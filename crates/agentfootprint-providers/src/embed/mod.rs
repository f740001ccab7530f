//! Embedders: texts in, vectors out.
//!
//! | embedder | feature | space |
//! |---|---|---|
//! | [`MockEmbedder`] | always on | `mock` |
//! | [`FnEmbedder`] | always on | yours |
#![cfg_attr(
    feature = "embed-openai",
    doc = "| [`OpenAiEmbedder`] | `embed-openai` | `openai:<model>`, also of compatible servers |"
)]
#![cfg_attr(feature = "embed-ollama", doc = "| [`OllamaEmbedder`] | `embed-ollama` | `ollama:<model>` |")]
#![cfg_attr(
    feature = "embed-gemini",
    doc = "| [`GeminiEmbedder`] | `embed-gemini` | `gemini:<model>:<dims>` |"
)]
#![cfg_attr(
    feature = "embed-bedrock",
    doc = "| [`BedrockEmbedder`] | `embed-bedrock` | `bedrock:<model>:<dims>` |"
)]
//!
//! An answer that is not one vector of the right length per text is refused: vectors are paired with texts by position,
//! and a wrong pairing would be found by nobody.

#[cfg(feature = "embed-bedrock")]
mod bedrock;
#[cfg(any(
    feature = "embed-openai",
    feature = "embed-ollama",
    feature = "embed-gemini",
    feature = "embed-bedrock"
))]
mod client;
mod closure;
#[cfg(feature = "embed-gemini")]
mod gemini;
mod mock;
#[cfg(feature = "embed-ollama")]
mod ollama;
#[cfg(feature = "embed-openai")]
mod openai;
#[cfg(all(
    feature = "embed-openai",
    feature = "embed-ollama",
    feature = "embed-gemini",
    feature = "embed-bedrock"
))]
#[cfg(test)]
mod tests;

#[cfg(feature = "embed-bedrock")]
pub use bedrock::{BedrockEmbedder, BedrockEmbedderBuilder};
pub use closure::FnEmbedder;
#[cfg(feature = "embed-gemini")]
pub use gemini::{GeminiEmbedder, GeminiEmbedderBuilder};
pub use mock::MockEmbedder;
#[cfg(feature = "embed-ollama")]
pub use ollama::{OllamaEmbedder, OllamaEmbedderBuilder};
#[cfg(feature = "embed-openai")]
pub use openai::{OpenAiEmbedder, OpenAiEmbedderBuilder};

/// Checks that an answer holds one finite vector of `dimensions` numbers per text. The sentence says what is wrong by
/// its shape.
fn check(vectors: &[Vec<f32>], texts: usize, dimensions: usize) -> Result<(), String> {
    if vectors.len() != texts {
        return Err(format!("{} vectors for {texts} texts", vectors.len()));
    }
    match vectors.iter().find(|vector| vector.len() != dimensions) {
        Some(odd) => Err(format!("a vector of {} numbers instead of {dimensions}", odd.len())),
        None if vectors.iter().flatten().any(|number| !number.is_finite()) => {
            Err("a vector with a number that is none".to_owned())
        }
        None => Ok(()),
    }
}
