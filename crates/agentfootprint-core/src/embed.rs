//! The port to embedding models: texts in, vectors out.
//!
//! Whoever stores vectors needs to know which space they belong to. An [`Embedder`] therefore names its space and its
//! size, and says for which purpose a text is embedded: a question and the passage that answers it are not embedded
//! alike by every model.

use agentfootprint_record::text::cut;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::llm::{CallCx, LlmError};

/// What a text is embedded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbedKind {
    /// To be searched with.
    Query,
    /// To be found.
    Document,
}

/// The vectors of one call, in the order of its texts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Embeddings {
    /// One vector per text.
    pub vectors: Vec<Vec<f32>>,
    /// What the call consumed, when the vendor said so.
    pub tokens_spent: Option<u64>,
}

/// Turns texts into vectors.
///
/// The same text gives the same vector; every vector has [`Embedder::dimensions`] finite numbers; a batch gives as many
/// vectors as it has texts, in their order; an empty batch is an empty answer and no call. Failures are the port's one
/// error type.
///
/// ```
/// use agentfootprint_core::embed::{EmbedKind, Embedder, Embeddings};
/// use agentfootprint_core::llm::{CallCx, LlmError};
///
/// /// Embeds a text by its length.
/// struct Lengths;
///
/// #[async_trait::async_trait]
/// impl Embedder for Lengths {
///     fn id(&self) -> Option<&str> { Some("lengths") }
///     fn dimensions(&self) -> Option<usize> { Some(1) }
///     async fn embed_batch(&self, texts: &[&str], _: EmbedKind, _: &CallCx) -> Result<Embeddings, LlmError> {
///         let vectors = texts.iter().map(|text| vec![text.len() as f32]).collect();
///         Ok(Embeddings { vectors, tokens_spent: None })
///     }
/// }
/// ```
#[async_trait]
pub trait Embedder: Send + Sync + 'static {
    /// Names the embedding space, without its size where a store appends that. `None` = unnamed.
    fn id(&self) -> Option<&str>;

    /// The length of every vector; `None` until the first answer, for models whose size nobody declared.
    fn dimensions(&self) -> Option<usize>;

    /// The longest text that is embedded as a whole, in characters; `None` = nobody said.
    fn max_input_chars(&self) -> Option<usize> {
        None
    }

    /// The vectors of `texts`.
    ///
    /// # Errors
    /// When the vendor fails or answers with something that is not one vector per text.
    async fn embed_batch(&self, texts: &[&str], kind: EmbedKind, cx: &CallCx)
    -> Result<Embeddings, LlmError>;

    /// The vector of one text.
    ///
    /// # Errors
    /// As [`Embedder::embed_batch`].
    async fn embed(&self, text: &str, kind: EmbedKind, cx: &CallCx) -> Result<Vec<f32>, LlmError> {
        let answer = self.embed_batch(&[text], kind, cx).await?;
        Ok(answer.vectors.into_iter().next().unwrap_or_default())
    }
}

/// The ceiling of embedders that name none, in characters.
pub const DEFAULT_MAX_INPUT_CHARS: usize = 2000;

/// How much of a text is embedded, in characters: what was asked for, else what the embedder takes, else the default.
///
/// ```
/// # use agentfootprint_core::embed::{input_ceiling, EmbedKind, Embedder, Embeddings};
/// # use agentfootprint_core::llm::{CallCx, LlmError};
/// # struct Unnamed;
/// # #[async_trait::async_trait]
/// # impl Embedder for Unnamed {
/// #     fn id(&self) -> Option<&str> { None }
/// #     fn dimensions(&self) -> Option<usize> { None }
/// #     async fn embed_batch(&self, _: &[&str], _: EmbedKind, _: &CallCx) -> Result<Embeddings, LlmError> {
/// #         Ok(Embeddings::default())
/// #     }
/// # }
/// assert_eq!(input_ceiling(None, &Unnamed), 2000);
/// assert_eq!(input_ceiling(Some(512), &Unnamed), 512);
/// ```
pub fn input_ceiling(explicit: Option<usize>, embedder: &dyn Embedder) -> usize {
    explicit.or_else(|| embedder.max_input_chars()).unwrap_or(DEFAULT_MAX_INPUT_CHARS)
}

/// Texts as they are embedded, and the ids of those that were longer than the ceiling.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClippedPieces<'t> {
    /// The texts, in order, none longer than the ceiling.
    pub texts: Vec<&'t str>,
    /// The ids of the texts that were cut. Who embeds them reports these.
    pub clipped: Vec<&'t str>,
}

/// Cuts texts to the ceiling, counted in UTF-16 units like every other number of characters, never inside a character.
pub fn clip_pieces<'t>(
    pieces: impl IntoIterator<Item = (&'t str, &'t str)>,
    ceiling: usize,
) -> ClippedPieces<'t> {
    let mut out = ClippedPieces::default();
    for (id, text) in pieces {
        let kept = cut(text, ceiling).kept;
        if kept.len() < text.len() {
            out.clipped.push(id);
        }
        out.texts.push(kept);
    }
    out
}

/// Vectors of different lengths cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a vector of {left} numbers cannot be compared with one of {right}; they come from different embedders"
)]
pub struct UnequalVectors {
    /// Length of the first.
    pub left: usize,
    /// Length of the second.
    pub right: usize,
}

/// How alike two vectors are, from -1 to 1; 0 when one of them is zero.
///
/// # Errors
/// When their lengths differ.
///
/// ```
/// use agentfootprint_core::embed::cosine_similarity;
///
/// assert_eq!(cosine_similarity(&[1.0, 0.0], &[2.0, 0.0])?, 1.0);
/// assert!(cosine_similarity(&[1.0], &[1.0, 0.0]).is_err());
/// # Ok::<(), agentfootprint_core::embed::UnequalVectors>(())
/// ```
pub fn cosine_similarity(left: &[f32], right: &[f32]) -> Result<f32, UnequalVectors> {
    if left.len() != right.len() {
        return Err(UnequalVectors { left: left.len(), right: right.len() });
    }
    let (mut dot, mut left_square, mut right_square) = (0.0_f64, 0.0_f64, 0.0_f64);
    for (a, b) in left.iter().zip(right).map(|(a, b)| (f64::from(*a), f64::from(*b))) {
        dot += a * b;
        left_square += a * a;
        right_square += b * b;
    }
    let lengths = (left_square * right_square).sqrt();
    Ok(if lengths > 0.0 { (dot / lengths) as f32 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-146.
    #[test]
    fn likeness_is_an_angle_and_zero_is_like_nothing() {
        assert_eq!(cosine_similarity(&[1.0, 2.0], &[-1.0, -2.0]), Ok(-1.0));
        assert_eq!(cosine_similarity(&[1.0, 0.0], &[0.0, 3.0]), Ok(0.0));
        assert_eq!(cosine_similarity(&[0.0, 0.0], &[1.0, 1.0]), Ok(0.0));
        assert_eq!(cosine_similarity(&[1.0], &[]), Err(UnequalVectors { left: 1, right: 0 }));
    }

    struct Named(Option<usize>);

    #[async_trait]
    impl Embedder for Named {
        fn id(&self) -> Option<&str> {
            None
        }
        fn dimensions(&self) -> Option<usize> {
            None
        }
        fn max_input_chars(&self) -> Option<usize> {
            self.0
        }
        async fn embed_batch(&self, _: &[&str], _: EmbedKind, _: &CallCx) -> Result<Embeddings, LlmError> {
            Ok(Embeddings::default())
        }
    }

    /// Proves LLM-145.
    #[test]
    fn what_is_longer_than_the_ceiling_is_cut_and_named() {
        assert_eq!(input_ceiling(Some(7), &Named(Some(9))), 7);
        assert_eq!(input_ceiling(None, &Named(Some(9))), 9);
        assert_eq!(input_ceiling(None, &Named(None)), 2000);
        let clipped = clip_pieces([("a", "1234"), ("b", "12345"), ("c", "123😀"), ("d", "")], 4);
        assert_eq!(clipped.texts, ["1234", "1234", "123", ""]);
        assert_eq!(clipped.clipped, ["b", "c"], "a pair of code units is not cut in two");
    }
}
