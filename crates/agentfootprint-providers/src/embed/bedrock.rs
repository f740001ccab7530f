use std::fmt;
use std::sync::{Arc, OnceLock};

use agentfootprint_core::embed::{EmbedKind, Embedder, Embeddings};
use agentfootprint_core::llm::{CallCx, LlmError, LlmErrorKind, Vendor};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use super::client::{Client, Proof, Read, vector};
use crate::bedrock::{BedrockBuilder, operation_url};

/// A family of models, with its own body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// One text per request, a size can be asked for.
    TitanV2,
    /// One text per request.
    TitanV1,
    /// Up to 96 texts per request, told apart by what they are for.
    Cohere,
}

/// Embedding models of Bedrock: Amazon's Titan and Cohere's.
#[derive(Clone)]
pub struct BedrockEmbedder {
    id: String,
    client: Client,
    family: Family,
    size: usize,
    dimensions: Arc<OnceLock<usize>>,
}

impl BedrockEmbedder {
    /// An embedder that calls as `door` does: same region, credentials and transport.
    ///
    /// ```
    /// use agentfootprint_core::embed::Embedder;
    /// use agentfootprint_providers::Bedrock;
    /// use agentfootprint_providers::embed::BedrockEmbedder;
    ///
    /// let door = Bedrock::builder().region("us-east-1").key("a Bedrock API key");
    /// let embedder = BedrockEmbedder::builder(door).model("cohere.embed-multilingual-v3").build()?;
    /// assert_eq!(embedder.id(), Some("bedrock:cohere.embed-multilingual-v3:1024"));
    /// # Ok::<(), agentfootprint_core::llm::LlmError>(())
    /// ```
    pub fn builder(door: BedrockBuilder) -> BedrockEmbedderBuilder {
        BedrockEmbedderBuilder { door, model: "amazon.titan-embed-text-v2:0".to_owned(), dimensions: None }
    }
}

/// Builds a [`BedrockEmbedder`]. Nothing is sent here.
#[derive(Debug, Clone)]
#[must_use]
pub struct BedrockEmbedderBuilder {
    door: BedrockBuilder,
    model: String,
    dimensions: Option<usize>,
}

impl BedrockEmbedderBuilder {
    /// The model; `amazon.titan-embed-text-v2:0` unless set.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// The length of the vectors; Titan V2 can give 1024, 512 and 256.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// The embedder.
    ///
    /// # Errors
    /// When the model is not known, does not give this size, or the door cannot be built.
    pub fn build(self) -> Result<BedrockEmbedder, LlmError> {
        let refuse = |message: String| {
            LlmError::new(LlmErrorKind::Refused, "bedrock-embed", message).with_vendor(Vendor::Bedrock)
        };
        let model = self.model;
        let (family, sizes): (_, &[usize]) = match model.as_str() {
            name if name.contains("titan-embed-text-v2") => (Family::TitanV2, &[1024, 512, 256]),
            name if name.contains("titan-embed") => (Family::TitanV1, &[1536]),
            name if name.contains("cohere.embed") => (Family::Cohere, &[1024]),
            _ => {
                return Err(refuse(format!(
                    "the embedding model {model} is not known here; known are amazon.titan-embed-text-v2:0, -v1 and \
                     cohere.embed-english-v3, -multilingual-v3"
                )));
            }
        };
        let size = self.dimensions.or(sizes.first().copied()).unwrap_or_default();
        if !sizes.contains(&size) {
            return Err(refuse(format!(
                "{model} gives vectors of {sizes:?} numbers and cannot give {size}; change .dimensions(…)"
            )));
        }
        let (identity, auth, region, endpoint, transport) = self.door.name("bedrock-embed").build()?.door();
        Ok(BedrockEmbedder {
            id: format!("bedrock:{model}:{size}"),
            client: Client {
                identity,
                transport,
                url: operation_url(&endpoint, &model, "invoke"),
                proof: Proof::Aws { auth, region },
                model,
                batch: if family == Family::Cohere { 96 } else { 1 },
            },
            family,
            size,
            dimensions: Arc::new(OnceLock::from(size)),
        })
    }
}

#[async_trait]
impl Embedder for BedrockEmbedder {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn dimensions(&self) -> Option<usize> {
        Some(self.size)
    }

    fn max_input_chars(&self) -> Option<usize> {
        // 8192 tokens and 512 tokens, in the characters they surely hold.
        Some(if self.family == Family::Cohere { 2_000 } else { 32_000 })
    }

    async fn embed_batch(
        &self,
        texts: &[&str],
        kind: EmbedKind,
        cx: &CallCx,
    ) -> Result<Embeddings, LlmError> {
        let purpose = match kind {
            EmbedKind::Query => "search_query",
            EmbedKind::Document => "search_document",
        };
        let body = |texts: &[&str]| match self.family {
            Family::TitanV2 => json!({ "inputText": texts.first(), "dimensions": self.size }),
            Family::TitanV1 => json!({ "inputText": texts.first() }),
            Family::Cohere => json!({ "texts": texts, "input_type": purpose }),
        };
        self.client.embed(texts, &self.dimensions, body, read, cx).await
    }
}

/// `{embedding, inputTextTokenCount}`, or `{embeddings}` with the vectors in a list or, typed, under `float`.
fn read(json: &Json) -> Option<Read> {
    let tokens = json.get("inputTextTokenCount").and_then(Json::as_u64);
    if let Some(one) = json.get("embedding") {
        return Some(Read { vectors: vec![vector(one)?], tokens });
    }
    let many = json.get("embeddings")?;
    let many = many.get("float").unwrap_or(many).as_array()?;
    Some(Read { vectors: many.iter().map(vector).collect::<Option<_>>()?, tokens })
}

impl fmt::Debug for BedrockEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BedrockEmbedder")
            .field("id", &self.id)
            .field("proof", &self.client.proof)
            .finish_non_exhaustive()
    }
}
