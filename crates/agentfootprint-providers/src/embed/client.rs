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

/// The door of one embedding model.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) identity: Identity,
    pub(super) transport: Transport,
    pub(super) url: Url,
    pub(super) key: Key,
    pub(super) key_variable: &'static str,
    pub(super) model: String,
    /// How many texts one request carries at most.
    pub(super) batch: usize,
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
            let keyless = Scene::new(&self.identity, &self.model, &self.url, Redactor::default(), &said);
            let key = key_for(&self.key, &keyless, cx, self.key_variable).await?;
            let scene = Scene::new(&self.identity, &self.model, &self.url, Redactor::of(key.as_ref()), &said);
            let mut headers = HeaderMap::new();
            headers.insert("content-type", HeaderValue::from_static("application/json"));
            headers.insert("accept", HeaderValue::from_static("application/json"));
            if let Some(key) = &key {
                headers.insert("authorization", key_header("Bearer ", key, &scene)?);
            }
            let body = body(batch).to_string().into_bytes();
            let http =
                HttpRequest { method: Method::Post, url: self.url.clone(), headers, body: body.into() };
            let (headers, body) = self.transport.ask(http, &scene, cx, read_refusal).await?;
            let unreadable = |what: String| {
                let message =
                    format!("{} answered with {what}; {}", scene.door(), self.identity.address_hint);
                scene.error(LlmErrorKind::UnreadableResponse, message)
            };
            let json: Option<Json> = serde_json::from_slice(&body).ok();
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
}

/// The error bodies of these wires.
fn read_refusal(_status: u16, body: &[u8]) -> Refusal {
    match serde_json::from_slice::<Json>(body) {
        Ok(json) if json.is_object() => Refusal::of_json(json),
        _ => Refusal::default(),
    }
}

/// A list of numbers; `None` for anything else.
pub(super) fn vector(json: &Json) -> Option<Vec<f32>> {
    json.as_array()?.iter().map(|number| number.as_f64().map(|number| number as f32)).collect()
}
