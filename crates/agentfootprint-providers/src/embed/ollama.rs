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

const DEFAULT_BASE: &str = "http://localhost:11434";

/// The embedding models of an Ollama, through `/api/embed`.
#[derive(Clone)]
pub struct OllamaEmbedder {
    id: String,
    client: Client,
    dimensions: Arc<OnceLock<usize>>,
}

impl OllamaEmbedder {
    /// An embedder of `model`, at `OLLAMA_HOST` or `http://localhost:11434` unless set otherwise.
    pub fn builder(model: impl Into<String>) -> OllamaEmbedderBuilder {
        OllamaEmbedderBuilder { model: model.into(), ..OllamaEmbedderBuilder::default() }
    }
}

/// Builds an [`OllamaEmbedder`]. Nothing is sent here.
///
/// ```
/// use agentfootprint_core::embed::Embedder;
/// use agentfootprint_providers::embed::OllamaEmbedder;
///
/// let embedder = OllamaEmbedder::builder("nomic-embed-text").dimensions(768).build()?;
/// assert_eq!(embedder.id(), Some("ollama:nomic-embed-text"));
/// # Ok::<(), agentfootprint_core::llm::LlmError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct OllamaEmbedderBuilder {
    model: String,
    dimensions: Option<usize>,
    base_url: Option<String>,
    batch: Option<usize>,
    env: EnvVars,
    deadlines: Deadlines,
    bounds: Bounds,
    exchange: Option<Arc<dyn HttpExchange>>,
}

impl OllamaEmbedderBuilder {
    /// The length of the model's vectors. Unset, the first answer decides, and every later one must agree.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// The server's address, with scheme.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// How many texts one request carries; 64 unless set.
    pub fn batch(mut self, texts: usize) -> Self {
        self.batch = Some(texts);
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
    /// When a setting can never work; the message names the option.
    pub fn build(self) -> Result<OllamaEmbedder, LlmError> {
        self.checked().map_err(|message| {
            LlmError::new(LlmErrorKind::Refused, "ollama-embed", message).with_vendor(Vendor::Ollama)
        })
    }

    fn checked(self) -> Result<OllamaEmbedder, String> {
        check_limits(&self.deadlines, &self.bounds)?;
        if self.model.trim().is_empty() {
            return Err("the model is blank; name one, for instance nomic-embed-text".into());
        }
        if self.dimensions == Some(0) || self.batch == Some(0) {
            return Err("dimensions and batch must be positive; leave them unset".into());
        }
        let given = self.base_url.map(|url| ("base_url", url));
        let (option, base) = given
            .or_else(|| self.env.first(&["OLLAMA_HOST"]))
            .unwrap_or(("base_url", DEFAULT_BASE.to_owned()));
        let base = if base.contains("://") { base } else { format!("http://{}", base.trim()) };
        let mut url = read_address(option, &base)?;
        let path = url.path().trim_end_matches('/');
        let path = format!("{}/api/embed", path.strip_suffix("/v1").unwrap_or(path));
        url.set_path(&path);
        let exchange = match self.exchange {
            Some(exchange) => exchange,
            None => Arc::new(
                ReqwestExchange::new(self.deadlines.connect)
                    .map_err(|fault| format!("the HTTP client cannot be set up: {fault}"))?,
            ),
        };
        Ok(OllamaEmbedder {
            id: format!("ollama:{}", self.model),
            client: Client {
                identity: Identity {
                    adapter: Cow::Borrowed("ollama-embed"),
                    vendor: Vendor::Ollama,
                    key_hint: "an Ollama needs no key; check what stands in front of it",
                    address_hint: "check that `ollama serve` runs there, base_url (or OLLAMA_HOST), and that the model is \
                                   there: `ollama pull <model>`",
                },
                transport: Transport { exchange, deadlines: self.deadlines, bounds: self.bounds },
                url,
                proof: Proof::bearer(Key::Absent, "no variable"),
                model: self.model,
                batch: self.batch.unwrap_or(64),
            },
            dimensions: Arc::new(self.dimensions.map_or_else(OnceLock::new, OnceLock::from)),
        })
    }
}

#[async_trait]
impl Embedder for OllamaEmbedder {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn dimensions(&self) -> Option<usize> {
        self.dimensions.get().copied()
    }

    async fn embed_batch(
        &self,
        texts: &[&str],
        _kind: EmbedKind,
        cx: &CallCx,
    ) -> Result<Embeddings, LlmError> {
        let body = |texts: &[&str]| json!({ "model": self.client.model, "input": texts });
        self.client.embed(texts, &self.dimensions, body, read, cx).await
    }
}

/// `{embeddings: [[…]], prompt_eval_count}`.
fn read(json: &Json) -> Option<Read> {
    let vectors = json.get("embeddings")?.as_array()?.iter().map(vector).collect::<Option<_>>()?;
    Some(Read { vectors, tokens: json.get("prompt_eval_count").and_then(Json::as_u64) })
}

impl fmt::Debug for OllamaEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OllamaEmbedder").field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for OllamaEmbedderBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OllamaEmbedderBuilder").field("model", &self.model).finish_non_exhaustive()
    }
}
