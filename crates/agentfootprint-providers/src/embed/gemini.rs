use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use agentfootprint_core::embed::{EmbedKind, Embedder, Embeddings};
use agentfootprint_core::llm::{CallCx, LlmError, LlmErrorKind, Vendor};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use super::client::{Client, Proof, Read, vector};
use crate::address::read_address;
use crate::http::{Bounds, Deadlines, HttpExchange, Identity, ReqwestExchange, Transport, check_limits};
use crate::{EnvVars, Key};

const DEFAULT_MODEL: &str = "gemini-embedding-001";
const OFFICIAL: &str = "https://generativelanguage.googleapis.com/v1beta";
const VARIABLES: &[&str] = &["GEMINI_API_KEY", "GOOGLE_API_KEY"];

/// Models with their own size, their ceiling in characters, and whether they tell questions from passages.
const KNOWN: &[(&str, usize, usize, bool)] =
    &[("gemini-embedding-001", 3072, 8_000, true), ("gemini-embedding-2", 3072, 32_000, false)];

/// Gemini's embedding models, through the Gemini API.
#[derive(Clone)]
pub struct GeminiEmbedder {
    id: String,
    client: Client,
    size: usize,
    /// Another size than the model's own is asked for.
    asked: bool,
    max_input_chars: usize,
    tells_kinds: bool,
    allow_truncated: bool,
    dimensions: Arc<OnceLock<usize>>,
}

impl GeminiEmbedder {
    /// `gemini-embedding-001` with the key of `GEMINI_API_KEY` or `GOOGLE_API_KEY`, unless set otherwise.
    pub fn builder() -> GeminiEmbedderBuilder {
        GeminiEmbedderBuilder::default()
    }
}

/// Builds a [`GeminiEmbedder`]. Nothing is sent here.
///
/// ```
/// use agentfootprint_core::embed::Embedder;
/// use agentfootprint_providers::embed::GeminiEmbedder;
///
/// let embedder = GeminiEmbedder::builder().key("…").dimensions(768).build()?;
/// assert_eq!(embedder.id(), Some("gemini:gemini-embedding-001:768"));
/// # Ok::<(), agentfootprint_core::llm::LlmError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct GeminiEmbedderBuilder {
    model: Option<String>,
    dimensions: Option<usize>,
    base_url: Option<String>,
    key: Option<Key>,
    allow_truncated: bool,
    env: EnvVars,
    deadlines: Deadlines,
    bounds: Bounds,
    exchange: Option<Arc<dyn HttpExchange>>,
}

impl GeminiEmbedderBuilder {
    /// The model; `gemini-embedding-001` unless set.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The length of the vectors, up to the model's own 3072.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Another address, without `/models/…`.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// Where the key comes from; without one `GEMINI_API_KEY` or `GOOGLE_API_KEY` is read.
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Takes vectors of texts the vendor cut; by default such an answer is refused.
    pub fn allow_truncated(mut self, on: bool) -> Self {
        self.allow_truncated = on;
        self
    }

    /// Where settings from the environment are read; the process's own unless given.
    pub fn env(mut self, env: EnvVars) -> Self {
        self.env = env;
        self
    }

    /// How long each phase may take.
    pub fn deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// How much of an answer is read.
    pub fn bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Sends requests through something else than the network.
    pub fn exchange(mut self, exchange: Arc<dyn HttpExchange>) -> Self {
        self.exchange = Some(exchange);
        self
    }

    /// The embedder.
    ///
    /// # Errors
    /// When a setting is missing or can never work; the message names the option.
    pub fn build(self) -> Result<GeminiEmbedder, LlmError> {
        self.checked().map_err(|(kind, message)| {
            LlmError::new(kind, "gemini-embed", message).with_vendor(Vendor::Gemini)
        })
    }

    fn checked(self) -> Result<GeminiEmbedder, (LlmErrorKind, String)> {
        let refuse = |message: String| (LlmErrorKind::Refused, message);
        check_limits(&self.deadlines, &self.bounds).map_err(refuse)?;
        let model = self.model.unwrap_or_else(|| DEFAULT_MODEL.to_owned());
        let known = KNOWN.iter().find(|(name, ..)| *name == model);
        let size = match (known, self.dimensions) {
            (_, Some(0)) => return Err(refuse("dimensions is 0; a vector has at least one number".into())),
            (Some((_, own, ..)), Some(wanted)) if wanted > *own => {
                let message = format!(
                    "{model} gives vectors of up to {own} numbers and cannot give {wanted}; change .dimensions(…)"
                );
                return Err(refuse(message));
            }
            (_, Some(wanted)) => wanted,
            (Some((_, own, ..)), None) => *own,
            (None, None) => {
                return Err(refuse(format!(
                    "the size of {model}'s vectors is not known; state it with .dimensions(…)"
                )));
            }
        };
        let key = self.key.or_else(|| self.env.first(VARIABLES).map(|(_, key)| Key::from(key))).ok_or_else(
            || {
                let message = "there is no API key: set GEMINI_API_KEY or give one with .key(…)";
                (LlmErrorKind::NoCredential, message.to_owned())
            },
        )?;
        let base = self.base_url.unwrap_or_else(|| OFFICIAL.to_owned());
        let mut url = read_address("base_url", &base).map_err(refuse)?;
        let path = format!("{}/models/{model}:embedContent", url.path().trim_end_matches('/'));
        url.set_path(&path);
        let exchange = match self.exchange {
            Some(exchange) => exchange,
            None => Arc::new(
                ReqwestExchange::new(self.deadlines.connect)
                    .map_err(|fault| refuse(format!("the HTTP client cannot be set up: {fault}")))?,
            ),
        };
        Ok(GeminiEmbedder {
            id: format!("gemini:{model}:{size}"),
            client: Client {
                identity: Identity {
                    adapter: Cow::Borrowed("gemini-embed"),
                    vendor: Vendor::Gemini,
                    key_hint: "check the key given with .key(…) or in GEMINI_API_KEY, and what it may do",
                    address_hint: "check base_url and the model id",
                },
                transport: Transport { exchange, deadlines: self.deadlines, bounds: self.bounds },
                url,
                proof: Proof::Key { key, variable: "GEMINI_API_KEY", header: "x-goog-api-key", prefix: "" },
                model,
                batch: 1,
            },
            size,
            asked: known.is_some_and(|(_, own, ..)| size != *own),
            max_input_chars: known.map_or(2_000, |(_, _, chars, _)| *chars),
            tells_kinds: known.is_some_and(|(.., tells)| *tells),
            allow_truncated: self.allow_truncated,
            dimensions: Arc::new(OnceLock::from(size)),
        })
    }
}

#[async_trait]
impl Embedder for GeminiEmbedder {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn dimensions(&self) -> Option<usize> {
        Some(self.size)
    }

    fn max_input_chars(&self) -> Option<usize> {
        Some(self.max_input_chars)
    }

    async fn embed_batch(
        &self,
        texts: &[&str],
        kind: EmbedKind,
        cx: &CallCx,
    ) -> Result<Embeddings, LlmError> {
        let task = match kind {
            EmbedKind::Query => "RETRIEVAL_QUERY",
            EmbedKind::Document => "RETRIEVAL_DOCUMENT",
        };
        let body = |texts: &[&str]| {
            let mut body = json!({ "content": { "parts": [{ "text": texts.first() }] } });
            if let Some(fields) = body.as_object_mut() {
                if self.tells_kinds {
                    fields.insert("taskType".into(), json!(task));
                }
                if self.asked {
                    fields.insert("outputDimensionality".into(), json!(self.size));
                }
            }
            body
        };
        let read = if self.allow_truncated { read } else { read_whole };
        self.client.embed(texts, &self.dimensions, body, read, cx).await
    }
}

/// `{embedding: {values}}`.
fn read(json: &Json) -> Option<Read> {
    let embedding = json.get("embedding")?;
    let tokens = json.get("usageMetadata").and_then(|usage| usage.get("promptTokenCount")?.as_u64());
    Some(Read { vectors: vec![vector(embedding.get("values")?)?], tokens })
}

/// The same, unless the vendor says that it cut the text.
fn read_whole(json: &Json) -> Option<Read> {
    let statistics = json.get("embedding").and_then(|embedding| embedding.get("statistics"));
    let truncated = statistics.or(Some(json)).and_then(|facts| facts.get("truncated")?.as_bool());
    if truncated == Some(true) { None } else { read(json) }
}

impl fmt::Debug for GeminiEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GeminiEmbedder")
            .field("id", &self.id)
            .field("key", &self.client.proof)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for GeminiEmbedderBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GeminiEmbedderBuilder")
            .field("model", &self.model)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
