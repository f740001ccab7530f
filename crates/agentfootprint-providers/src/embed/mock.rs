use agentfootprint_core::embed::{EmbedKind, Embedder, Embeddings};
use agentfootprint_core::llm::{CallCx, LlmError};
use async_trait::async_trait;

/// Counts UTF-16 units: unit `u` adds one to place `u % dimensions`. Texts with the same letters are alike, which is
/// enough to rehearse retrieval without a model.
///
/// ```
/// use agentfootprint_core::embed::{EmbedKind, Embedder};
/// use agentfootprint_core::llm::CallCx;
/// use agentfootprint_providers::embed::MockEmbedder;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), agentfootprint_core::llm::LlmError> {
/// let vector = MockEmbedder::with_dimensions(4).embed("aab", EmbedKind::Query, &CallCx::detached()).await?;
/// assert_eq!(vector, [0.0, 2.0, 1.0, 0.0]); // a = 97, b = 98
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct MockEmbedder {
    dimensions: usize,
}

impl MockEmbedder {
    /// An embedder with 32 dimensions.
    pub fn new() -> Self {
        MockEmbedder::with_dimensions(32)
    }

    /// An embedder with this many dimensions, at least one.
    pub fn with_dimensions(dimensions: usize) -> Self {
        MockEmbedder { dimensions: dimensions.max(1) }
    }
}

impl Default for MockEmbedder {
    fn default() -> Self {
        MockEmbedder::new()
    }
}

#[async_trait]
impl Embedder for MockEmbedder {
    fn id(&self) -> Option<&str> {
        Some("mock")
    }

    fn dimensions(&self) -> Option<usize> {
        Some(self.dimensions)
    }

    fn max_input_chars(&self) -> Option<usize> {
        Some(1_000_000)
    }

    async fn embed_batch(
        &self,
        texts: &[&str],
        _kind: EmbedKind,
        cx: &CallCx,
    ) -> Result<Embeddings, LlmError> {
        if cx.is_cancelled() {
            return Err(LlmError::aborted("mock"));
        }
        let vector = |text: &&str| {
            let mut vector = vec![0.0_f32; self.dimensions];
            for unit in text.encode_utf16() {
                let place = usize::from(unit).checked_rem(self.dimensions).unwrap_or(0);
                if let Some(count) = vector.get_mut(place) {
                    *count += 1.0;
                }
            }
            vector
        };
        Ok(Embeddings { vectors: texts.iter().map(vector).collect(), tokens_spent: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-142, MEM-79.
    #[tokio::test]
    async fn units_are_counted_in_order_of_the_texts() {
        let mock = MockEmbedder::new();
        let cx = CallCx::detached();
        let answer = mock.embed_batch(&["a😀", "", "aa"], EmbedKind::Document, &cx).await.unwrap();
        assert_eq!(answer.vectors.len(), 3);
        assert!(answer.vectors.iter().all(|vector| vector.len() == 32));
        assert_eq!(answer.vectors[0].iter().sum::<f32>(), 3.0, "an emoji is two units");
        assert_eq!(answer.vectors[1].iter().sum::<f32>(), 0.0);
        assert_eq!(answer.vectors[2][97 % 32], 2.0);
        assert!(mock.embed_batch(&[], EmbedKind::Query, &cx).await.unwrap().vectors.is_empty());
        cx.cancel_token().cancel();
        assert!(mock.embed("a", EmbedKind::Query, &cx).await.is_err());
    }
}
