use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agentfootprint_core::embed::{EmbedKind, Embedder, Embeddings};
use agentfootprint_core::llm::{CallCx, LlmError, LlmErrorKind};
use async_trait::async_trait;

use super::check;

type Answer = Pin<Box<dyn Future<Output = Result<Vec<Vec<f32>>, LlmError>> + Send>>;
type Embed = Arc<dyn Fn(Vec<String>, EmbedKind) -> Answer + Send + Sync>;

/// An embedder from a function.
///
/// ```
/// use agentfootprint_core::embed::{EmbedKind, Embedder};
/// use agentfootprint_core::llm::CallCx;
/// use agentfootprint_providers::embed::FnEmbedder;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), agentfootprint_core::llm::LlmError> {
/// let lengths = FnEmbedder::new("lengths", 1, |texts, _kind| async move {
///     Ok(texts.iter().map(|text| vec![text.len() as f32]).collect())
/// });
/// assert_eq!(lengths.embed("four", EmbedKind::Query, &CallCx::detached()).await?, [4.0]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct FnEmbedder {
    id: String,
    dimensions: usize,
    embed: Embed,
}

impl FnEmbedder {
    /// An embedder of the space `id` with this many dimensions.
    pub fn new<F, Fut>(id: impl Into<String>, dimensions: usize, embed: F) -> Self
    where
        F: Fn(Vec<String>, EmbedKind) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Vec<f32>>, LlmError>> + Send + 'static,
    {
        let embed: Embed = Arc::new(move |texts, kind| Box::pin(embed(texts, kind)));
        FnEmbedder { id: id.into(), dimensions, embed }
    }
}

#[async_trait]
impl Embedder for FnEmbedder {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn dimensions(&self) -> Option<usize> {
        Some(self.dimensions)
    }

    async fn embed_batch(
        &self,
        texts: &[&str],
        kind: EmbedKind,
        cx: &CallCx,
    ) -> Result<Embeddings, LlmError> {
        if texts.is_empty() {
            return Ok(Embeddings::default());
        }
        let asked = (self.embed)(texts.iter().map(|text| (*text).to_owned()).collect(), kind);
        let vectors = tokio::select! {
            biased;
            () = cx.cancelled() => return Err(LlmError::aborted(self.id.clone())),
            vectors = asked => vectors?,
        };
        check(&vectors, texts.len(), self.dimensions).map_err(|what| {
            let message = format!("the embedding function gave {what}");
            LlmError::new(LlmErrorKind::UnreadableResponse, self.id.clone(), message)
        })?;
        Ok(Embeddings { vectors, tokens_spent: None })
    }
}

impl fmt::Debug for FnEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnEmbedder")
            .field("id", &self.id)
            .field("dimensions", &self.dimensions)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-144, MEM-79.
    #[tokio::test]
    async fn wrong_answers_are_refused_by_their_shape() {
        let cx = CallCx::detached();
        let fixed = |vectors: Vec<Vec<f32>>| {
            FnEmbedder::new("f", 2, move |_, _| std::future::ready(Ok(vectors.clone())))
        };
        for (vectors, word) in [
            (vec![], "0 vectors for 1 texts"),
            (vec![vec![1.0]], "a vector of 1 numbers instead of 2"),
            (vec![vec![1.0, f32::NAN]], "a number that is none"),
        ] {
            let error = fixed(vectors).embed("x", EmbedKind::Query, &cx).await.unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
        assert!(fixed(vec![]).embed_batch(&[], EmbedKind::Query, &cx).await.unwrap().vectors.is_empty());
    }
}
