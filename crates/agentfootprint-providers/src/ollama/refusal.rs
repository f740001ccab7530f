//! What this vendor's errors say, and what a missing daemon or model means.

use std::time::Duration;

use agentfootprint_core::llm::{CallCx, LlmError, LlmErrorKind, OllamaReason, TimeoutPhase};
use serde_json::Value as Json;

use super::Ollama;
use crate::http::{Bytes, HeaderMap, HttpRequest, Method, Refusal, Scene, door};
use crate::wire_json;

/// How long the list of models is waited for when a model is missing.
const TAGS_WAIT: Duration = Duration::from_secs(2);
/// How many present models a message names.
const NAMED: usize = 12;

/// Reads an error body of this wire: `{error: "…"}`, behind proxies also `{error: {message}}` or `{message}`.
pub(super) fn read_refusal(_status: u16, body: &[u8]) -> Refusal {
    match wire_json::parse(body) {
        Ok(json) if json.is_object() => read_json(json),
        _ => Refusal::default(),
    }
}

pub(super) fn read_json(json: Json) -> Refusal {
    let error = json.get("error").unwrap_or(&json);
    let text = |name| match error.get(name).or_else(|| json.get(name)) {
        Some(Json::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Json::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let sentence = error.as_str().map(str::to_owned).or_else(|| text("message"));
    Refusal { sentence, code: text("code"), kind: text("type"), body: Some(json), ..Refusal::default() }
}

impl Ollama {
    /// Makes the two everyday failures of a local server say what to do.
    pub(super) async fn explain(
        &self,
        error: LlmError,
        headers: HeaderMap,
        scene: &Scene,
        cx: &CallCx,
    ) -> LlmError {
        match &error.kind {
            LlmErrorKind::Network
            | LlmErrorKind::Timeout { phase: TimeoutPhase::Connect | TimeoutPhase::Headers, .. } => {
                self.unreachable(&error, scene)
            }
            LlmErrorKind::ModelNotFound if error.status == Some(404) => {
                self.not_pulled(error, headers, scene, cx).await
            }
            _ => error,
        }
    }

    fn unreachable(&self, error: &LlmError, scene: &Scene) -> LlmError {
        // The address can hold a key in its path.
        let address = scene.vendor_text(&door(&self.base));
        let message = format!(
            "no answer from Ollama at {address}: {}. Start it with `ollama serve`, or give its address with \
             .base_url(…) or OLLAMA_HOST; a big model that is still loading may need a longer Deadlines::headers",
            error.message()
        );
        let kind = LlmErrorKind::OllamaUnavailable {
            reason: OllamaReason::DaemonUnreachable,
            base_url: address,
            model: Some(scene.model().to_owned()),
            available: Vec::new(),
        };
        scene.error(kind, message).with_source(error.clone())
    }

    async fn not_pulled(&self, error: LlmError, headers: HeaderMap, scene: &Scene, cx: &CallCx) -> LlmError {
        let says_model =
            error.message().contains("model ") && error.body_excerpt.as_deref().is_some_and(is_about_a_model);
        let available = match self.tags(headers, scene, cx).await {
            Ok(available) => available,
            Err(aborted) if matches!(aborted.kind, LlmErrorKind::Aborted) => return aborted,
            // Nothing of Ollama's answers here: the address is wrong, not the model.
            Err(_) if !says_model => return error,
            Err(_) => Vec::new(),
        };
        let model = scene.model();
        let present = match available.as_slice() {
            [] => String::new(),
            names => {
                let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
                let more = if names.len() > NAMED { ", …" } else { "" };
                format!("; present are {}{more}", shown.join(", "))
            }
        };
        let address = scene.vendor_text(&door(&self.base));
        let message = format!(
            "Ollama at {address} does not have the model `{model}`; get it with `ollama pull {model}`{present}"
        );
        let kind = LlmErrorKind::OllamaUnavailable {
            reason: OllamaReason::ModelNotPulled,
            base_url: address,
            model: Some(model.to_owned()),
            available,
        };
        scene.error(kind, message).with_status(404)
    }

    /// The models the daemon has.
    async fn tags(&self, headers: HeaderMap, scene: &Scene, cx: &CallCx) -> Result<Vec<String>, LlmError> {
        let request =
            HttpRequest { method: Method::Get, url: self.endpoint("/api/tags"), headers, body: Bytes::new() };
        let asked = tokio::time::timeout(TAGS_WAIT, self.transport.ask(request, scene, cx, read_refusal));
        let answered = asked.await;
        let (_, body) = answered.unwrap_or_else(|_| Err(scene.timeout(TimeoutPhase::Total, TAGS_WAIT)))?;
        let json: Json = serde_json::from_slice(&body).unwrap_or(Json::Null);
        let models = json.get("models").and_then(Json::as_array);
        let models =
            models.ok_or_else(|| scene.error(LlmErrorKind::UnreadableResponse, "no list of models"))?;
        let name = |model: &Json| {
            let name = model.get("name").or_else(|| model.get("model"))?.as_str()?;
            Some(scene.vendor_text(name))
        };
        Ok(models.iter().filter_map(name).collect())
    }
}

/// `model "x" not found, try pulling it first`, in the wordings of its versions.
fn is_about_a_model(sentence: &str) -> bool {
    sentence.to_lowercase().contains("model")
}
