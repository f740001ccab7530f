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
//!
//! An answer that is not one vector of the right length per text is refused: vectors are paired with texts by position,
//! and a wrong pairing would be found by nobody.

#[cfg(any(feature = "embed-openai", feature = "embed-ollama"))]
mod client;
mod closure;
mod mock;
#[cfg(feature = "embed-ollama")]
mod ollama;
#[cfg(feature = "embed-openai")]
mod openai;
#[cfg(all(test, feature = "embed-openai", feature = "embed-ollama"))]
mod tests;

pub use closure::FnEmbedder;
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
