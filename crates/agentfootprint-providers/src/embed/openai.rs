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

const DEFAULT_MODEL: &str = "text-embedding-3-small";
const OFFICIAL: &str = "https://api.openai.com/v1";
/// 8191 tokens, in the characters they surely hold.
const MAX_INPUT_CHARS: usize = 32_000;

/// Models with their own size, and whether another can be asked for.
const KNOWN: &[(&str, usize, bool)] = &[
    ("text-embedding-3-small", 1536, true),
    ("text-embedding-3-large", 3072, true),
    ("text-embedding-ada-002", 1536, false),
];

/// OpenAI's embeddings, and those of every server that speaks the same wire.
#[derive(Clone)]
pub struct OpenAiEmbedder {
    id: String,
    client: Client,
    dimensions: Arc<OnceLock<usize>>,
    /// Sent along, because another size than the model's own was asked for.
    pub(super) asked: Option<usize>,
}

impl OpenAiEmbedder {
    /// `text-embedding-3-small` with the key of `OPENAI_API_KEY`, unless set otherwise.
    pub fn builder() -> OpenAiEmbedderBuilder {
        OpenAiEmbedderBuilder::default()
    }
}

/// Builds an [`OpenAiEmbedder`]. Nothing is sent here.
///
/// ```
/// use agentfootprint_core::embed::Embedder;
/// use agentfootprint_providers::embed::OpenAiEmbedder;
///
/// let embedder = OpenAiEmbedder::builder().key("sk-test").model("text-embedding-3-large").build()?;
/// assert_eq!((embedder.id(), embedder.dimensions()), (Some("openai:text-embedding-3-large"), Some(3072)));
/// # Ok::<(), agentfootprint_core::llm::LlmError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct OpenAiEmbedderBuilder {
    model: Option<String>,
    dimensions: Option<usize>,
    base_url: Option<String>,
    key: Option<Key>,
    batch: Option<usize>,
    env: EnvVars,
    deadlines: Deadlines,
    bounds: Bounds,
    exchange: Option<Arc<dyn HttpExchange>>,
}

impl OpenAiEmbedderBuilder {
    /// The model; `text-embedding-3-small` unless set.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The length of the vectors. For OpenAI's newer models another than their own is asked for; for a model that is
    /// not known here it declares what the model gives.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// The address of a compatible server, without `/embeddings`.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// Where the key comes from; without one `OPENAI_API_KEY` is read.
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The server needs no key.
    pub fn without_key(self) -> Self {
        self.key(Key::Absent)
    }

    /// How many texts one request carries; 256 unless set.
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
    /// When a setting is missing or can never work; the message names the option.
    pub fn build(self) -> Result<OpenAiEmbedder, LlmError> {
        self.checked().map_err(|(kind, message)| {
            LlmError::new(kind, "openai-embed", message).with_vendor(Vendor::OpenAi)
        })
    }

    fn checked(self) -> Result<OpenAiEmbedder, (LlmErrorKind, String)> {
        let refuse = |message: String| (LlmErrorKind::Refused, message);
        check_limits(&self.deadlines, &self.bounds).map_err(refuse)?;
        let model = self.model.unwrap_or_else(|| DEFAULT_MODEL.to_owned());
        let (dimensions, asked) = size(&model, self.dimensions).map_err(refuse)?;
        if self.batch == Some(0) {
            return Err(refuse("batch is 0; a request carries at least one text".into()));
        }
        let key = self.key.or_else(|| self.env.get("OPENAI_API_KEY").map(Key::from)).ok_or_else(|| {
            let message = "there is no API key: set OPENAI_API_KEY or give one with .key(…); for a server that needs none, \
                 call .without_key()";
            (LlmErrorKind::NoCredential, message.to_owned())
        })?;
        let base = self.base_url.unwrap_or_else(|| OFFICIAL.to_owned());
        let mut url = read_address("base_url", &base).map_err(refuse)?;
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/embeddings").unwrap_or(path);
        let path = format!("{path}/embeddings");
        url.set_path(&path);
        let exchange = match self.exchange {
            Some(exchange) => exchange,
            None => Arc::new(
                ReqwestExchange::new(self.deadlines.connect)
                    .map_err(|fault| refuse(format!("the HTTP client cannot be set up: {fault}")))?,
            ),
        };
        Ok(OpenAiEmbedder {
            id: format!("openai:{model}"),
            client: Client {
                identity: Identity {
                    adapter: Cow::Borrowed("openai-embed"),
                    vendor: Vendor::OpenAi,
                    key_hint: "check the key given with .key(…) or in OPENAI_API_KEY, and what it may do",
                    address_hint: "check that base_url is the address of an embeddings endpoint, without /embeddings",
                },
                transport: Transport { exchange, deadlines: self.deadlines, bounds: self.bounds },
                url,
                proof: Proof::bearer(key, "OPENAI_API_KEY"),
                model,
                batch: self.batch.unwrap_or(256),
            },
            dimensions: Arc::new(OnceLock::from(dimensions)),
            asked,
        })
    }
}

/// The size of a model's vectors, and the one to ask for if it is not its own.
fn size(model: &str, wanted: Option<usize>) -> Result<(usize, Option<usize>), String> {
    let known = KNOWN.iter().find(|(name, ..)| *name == model);
    match (known, wanted) {
        (_, Some(0)) => Err("dimensions is 0; a vector has at least one number".into()),
        (Some((_, own, _)), None) => Ok((*own, None)),
        (Some((_, own, _)), Some(wanted)) if wanted == *own => Ok((wanted, None)),
        (Some((_, own, true)), Some(wanted)) if wanted < *own => Ok((wanted, Some(wanted))),
        (Some((_, own, _)), Some(wanted)) => Err(format!(
            "{model} gives vectors of {own} numbers and cannot give {wanted}; change .dimensions(…)"
        )),
        (None, Some(wanted)) => Ok((wanted, None)),
        (None, None) => {
            Err(format!("the size of {model}'s vectors is not known; state it with .dimensions(…)"))
        }
    }
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn dimensions(&self) -> Option<usize> {
        self.dimensions.get().copied()
    }

    fn max_input_chars(&self) -> Option<usize> {
        KNOWN.iter().any(|(name, ..)| *name == self.client.model).then_some(MAX_INPUT_CHARS)
    }

    async fn embed_batch(
        &self,
        texts: &[&str],
        _kind: EmbedKind,
        cx: &CallCx,
    ) -> Result<Embeddings, LlmError> {
        let body = |texts: &[&str]| {
            let mut body = json!({ "model": self.client.model, "input": texts });
            if let (Some(asked), Some(fields)) = (self.asked, body.as_object_mut()) {
                fields.insert("dimensions".into(), json!(asked));
            }
            body
        };
        self.client.embed(texts, &self.dimensions, body, read, cx).await
    }
}

/// `{data: [{index, embedding}], usage: {total_tokens}}`; the order is that of the indices.
fn read(json: &Json) -> Option<Read> {
    let mut placed = Vec::new();
    for (position, item) in (0..).zip(json.get("data")?.as_array()?) {
        let index = item.get("index").and_then(Json::as_u64).unwrap_or(position);
        placed.push((index, vector(item.get("embedding")?)?));
    }
    placed.sort_by_key(|(index, _)| *index);
    let in_order = placed.iter().zip(0_u64..).all(|((index, _), position)| *index == position);
    let tokens = json.get("usage").and_then(|usage| usage.get("total_tokens")?.as_u64());
    in_order.then(|| Read { vectors: placed.into_iter().map(|(_, vector)| vector).collect(), tokens })
}

impl fmt::Debug for OpenAiEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiEmbedder")
            .field("id", &self.id)
            .field("key", &self.client.proof)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for OpenAiEmbedderBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiEmbedderBuilder")
            .field("model", &self.model)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
