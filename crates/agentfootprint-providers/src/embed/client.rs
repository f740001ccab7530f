//! What embedders over HTTP share: one request per batch, through the same transport as the models.

use std::sync::OnceLock;

use agentfootprint_core::embed::Embeddings;
use agentfootprint_core::llm::{CallCx, LlmError, LlmErrorKind, LlmRequest};
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value as Json;
use url::Url;

use super::check;
use crate::Key;
use crate::credential::{key_for, key_header};
use crate::http::{HttpRequest, Identity, Method, Refusal, Scene, Transport, describe_body};
use crate::key::Redactor;
use crate::wire_json;

/// The door of one embedding model.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) identity: Identity,
    pub(super) transport: Transport,
    pub(super) url: Url,
    pub(super) proof: Proof,
    pub(super) model: String,
    /// How many texts one request carries at most.
    pub(super) batch: usize,
}

/// How a caller proves who it is.
#[derive(Clone)]
pub(super) enum Proof {
    /// A key in a header.
    Key { key: Key, variable: &'static str, header: &'static str, prefix: &'static str },
    /// AWS credentials, or a Bedrock key.
    #[cfg(feature = "embed-bedrock")]
    Aws { auth: crate::bedrock::credentials::Auth, region: String },
}

impl Proof {
    /// A key sent as bearer token.
    #[cfg(any(feature = "embed-openai", feature = "embed-ollama"))]
    pub(super) fn bearer(key: Key, variable: &'static str) -> Self {
        Proof::Key { key, variable, header: "authorization", prefix: "Bearer " }
    }
}

/// The kind, never a value.
impl std::fmt::Debug for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Proof::Key { key, .. } => key.fmt(f),
            #[cfg(feature = "embed-bedrock")]
            Proof::Aws { auth, .. } => auth.fmt(f),
        }
    }
}

/// What a wire reads out of one answer.
pub(super) struct Read {
    pub(super) vectors: Vec<Vec<f32>>,
    pub(super) tokens: Option<u64>,
}

impl Client {
    /// The vectors of `texts`, batch after batch; a cancelled call stops between two.
    pub(super) async fn embed(
        &self,
        texts: &[&str],
        dimensions: &OnceLock<usize>,
        body: impl Fn(&[&str]) -> Json + Send + Sync,
        read: fn(&Json) -> Option<Read>,
        cx: &CallCx,
    ) -> Result<Embeddings, LlmError> {
        let mut all = Embeddings::default();
        for batch in texts.chunks(self.batch.max(1)) {
            // The texts stand in the scene, so that no sentence of the vendor repeats them.
            let said =
                batch.iter().fold(LlmRequest::new(self.model.as_str()), |request, text| request.user(*text));
            let body = body(batch).to_string().into_bytes();
            let mut headers = HeaderMap::new();
            headers.insert("content-type", HeaderValue::from_static("application/json"));
            headers.insert("accept", HeaderValue::from_static("application/json"));
            let scene = self.prove(&mut headers, &body, &said, cx).await?;
            let http =
                HttpRequest { method: Method::Post, url: self.url.clone(), headers, body: body.into() };
            let (headers, body) = self.transport.ask(http, &scene, cx, read_refusal).await?;
            let unreadable = |what: String| {
                let message =
                    format!("{} answered with {what}; {}", scene.door(), self.identity.address_hint);
                scene.error(LlmErrorKind::UnreadableResponse, message)
            };
            let json: Option<Json> = wire_json::parse(&body).ok();
            let answer = json.as_ref().and_then(read);
            let answer = answer.ok_or_else(|| {
                unreadable(format!("{} instead of vectors", describe_body(&headers, &body)))
            })?;
            // The first answer decides where nobody declared the size.
            let first = answer.vectors.first().map_or(0, Vec::len);
            let expected = *dimensions.get_or_init(|| first);
            check(&answer.vectors, batch.len(), expected).map_err(unreadable)?;
            all.vectors.extend(answer.vectors);
            all.tokens_spent = match (all.tokens_spent, answer.tokens) {
                (Some(before), Some(more)) => Some(before.saturating_add(more)),
                (before, more) => before.or(more),
            };
        }
        Ok(all)
    }

    /// Puts the proof into the headers; the scene redacts what it is made of.
    async fn prove(
        &self,
        headers: &mut HeaderMap,
        body: &[u8],
        said: &LlmRequest,
        cx: &CallCx,
    ) -> Result<Scene, LlmError> {
        let scene = |redactor| Scene::new(&self.identity, &self.model, &self.url, redactor, said);
        let keyless = scene(Redactor::default());
        match &self.proof {
            Proof::Key { key, variable, header, prefix } => {
                let _ = body;
                let key = key_for(key, &keyless, cx, variable).await?;
                let scene = scene(Redactor::of(key.as_ref()));
                if let Some(key) = &key {
                    headers.insert(*header, key_header(prefix, key, &scene)?);
                }
                Ok(scene)
            }
            #[cfg(feature = "embed-bedrock")]
            Proof::Aws { auth, region } => {
                let proof = auth.resolve(&keyless, cx).await?;
                let scene = scene(proof.redactor());
                crate::bedrock::prove(headers, &self.url, body, &proof, region, &scene, cx)?;
                Ok(scene)
            }
        }
    }
}

/// The error bodies of these wires.
fn read_refusal(_status: u16, body: &[u8]) -> Refusal {
    match wire_json::parse(body) {
        Ok(json) if json.is_object() => Refusal::of_json(json),
        _ => Refusal::default(),
    }
}

/// A list of numbers; `None` for anything else.
pub(super) fn vector(json: &Json) -> Option<Vec<f32>> {
    json.as_array()?.iter().map(|number| number.as_f64().map(|number| number as f32)).collect()
}
