//! From an error status to a typed error whose sentence names the fix.

use std::time::Duration;

use agentfootprint_core::llm::{LlmError, LlmErrorKind, detect_overflow};
use reqwest::header::HeaderMap;
use serde_json::Value as Json;

use super::scene::Scene;
use super::stated_wait;
use crate::wire_json;

/// What an adapter reads out of its vendor's error body.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refusal {
    /// The vendor's sentence.
    pub(crate) sentence: Option<String>,
    /// The vendor's code.
    pub(crate) code: Option<String>,
    /// The vendor's type of error.
    pub(crate) kind: Option<String>,
    /// The vendor says that the model is what it does not know.
    pub(crate) unknown_model: bool,
    /// The vendor says that the key is what it does not accept, whatever its status.
    pub(crate) rejected_key: bool,
    /// The wait the body states.
    pub(crate) wait: Option<Duration>,
    /// The status the body states.
    pub(crate) status: Option<u16>,
    /// The parsed body, for the overflow detector.
    pub(crate) body: Option<serde_json::Value>,
}

impl Refusal {
    /// Reads the shapes most vendors and compatible servers use: `{error: {message, code, type}}`, `{error: "…"}`,
    /// `{message}`, `{detail}`, each also inside a list.
    pub(crate) fn of_json(json: Json) -> Self {
        // Google wraps the object in a list where it streams.
        let top = json.get(0).unwrap_or(&json);
        let error = top.get("error").unwrap_or(top);
        let text = |name| match error.get(name).or_else(|| top.get(name)) {
            Some(Json::String(text)) if !text.is_empty() => Some(text.clone()),
            Some(Json::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let detail = top.get("detail").and_then(|detail| match detail {
            Json::String(text) => Some(text.clone()),
            // FastAPI lists what it did not like; its `input` fields quote the request and are left out.
            Json::Array(items) => items.iter().find_map(|item| item.get("msg")?.as_str().map(str::to_owned)),
            _ => None,
        });
        let sentence = error.as_str().map(str::to_owned).or_else(|| text("message")).or(detail);
        Refusal { sentence, code: text("code"), kind: text("type"), body: Some(json), ..Refusal::default() }
    }
}

impl Scene {
    /// The error of a response that is not a success.
    pub(crate) fn refused(
        &self,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
        read: Refusal,
        now_ms: u64,
    ) -> LlmError {
        let code = read.code.or_else(|| error_name(headers));
        let read = Refusal { code, ..read };
        let sentence = self.sentence(headers, body, &read);
        let error = match self.overflow(Some(status), &read, &sentence) {
            Some(error) => error,
            None => {
                let wait = stated_wait(headers, now_ms).or(read.wait);
                let (kind, message) = self.judge(status, headers, &read, &sentence, wait);
                let error = self.error(kind, message);
                match wait {
                    Some(wait) => error.with_retry_after(wait),
                    None => error,
                }
            }
        };
        let mut error = error.with_status(status);
        if let Some(code) = read.code.or(read.kind) {
            error = error.with_code(self.vendor_text(&code));
        }
        if let Some(id) = request_id(headers) {
            error = error.with_request_id(self.vendor_text(&id));
        }
        // JSON bodies are represented by the sentence read from them; an excerpt of the raw text could cut an
        // escaped quotation of the conversation in a way nobody recognises.
        if read.body.is_none() {
            error = error.with_body_excerpt(&self.vendor_text(&String::from_utf8_lossy(body)));
        } else {
            error = error.with_body_excerpt(&sentence);
        }
        error
    }

    /// The error of a failure that is reported inside a success: an overflow is always told apart, anything else is
    /// `otherwise`.
    pub(crate) fn in_band_error(&self, otherwise: LlmErrorKind, read: Refusal) -> LlmError {
        let sentence = self.sentence(&HeaderMap::new(), b"", &read);
        if let Some(overflow) = self.overflow(None, &read, &sentence) {
            return overflow;
        }
        let message = format!("{} reported an error inside its answer: {sentence}", self.door());
        let error = self.error(otherwise, message).with_body_excerpt(&sentence);
        match read.code.or(read.kind) {
            Some(code) => error.with_code(self.vendor_text(&code)),
            None => error,
        }
    }

    /// The error of a success that holds an error body: one of the status the body states, if it states one.
    pub(crate) fn error_in_success(&self, headers: &HeaderMap, body: &[u8], read: Refusal) -> LlmError {
        match read.status.filter(|status| (400..600).contains(status)) {
            Some(status) => self.refused(status, headers, body, read, 0),
            None => self.in_band_error(LlmErrorKind::UnreadableResponse, read),
        }
    }

    fn overflow(&self, status: Option<u16>, read: &Refusal, sentence: &str) -> Option<LlmError> {
        let texts = [&read.sentence, &read.code, &read.kind].into_iter().flatten().map(String::as_str);
        let overflow = detect_overflow(status, texts, read.body.as_ref())?;
        let adapter = self.identity().adapter.clone();
        Some(self.dress(LlmError::context_window_exceeded(adapter, overflow, sentence)))
    }

    fn sentence(&self, headers: &HeaderMap, body: &[u8], read: &Refusal) -> String {
        match &read.sentence {
            Some(sentence) => self.vendor_text(sentence.trim()),
            None => format!("it sent {}", describe_body(headers, body)),
        }
    }

    fn judge(
        &self,
        status: u16,
        headers: &HeaderMap,
        read: &Refusal,
        sentence: &str,
        wait: Option<Duration>,
    ) -> (LlmErrorKind, String) {
        let (door, model, identity) = (self.door(), self.model(), self.identity());
        match status {
            _ if read.unknown_model => (
                LlmErrorKind::ModelNotFound,
                format!(
                    "{door} does not offer the model `{model}` ({status}): {sentence}; check the model id and what this key may use"
                ),
            ),
            _ if read.rejected_key || matches!(status, 401 | 403) => (
                LlmErrorKind::Auth,
                format!("{door} rejected the key ({status}): {sentence}; {}", identity.key_hint),
            ),
            404 | 405 => (
                LlmErrorKind::ModelNotFound,
                format!(
                    "{door} was not found, or it does not know the model `{model}` ({status}): {sentence}; {}",
                    identity.address_hint
                ),
            ),
            _ if status == 429 || read.code.as_deref() == Some("ThrottlingException") => {
                let wait = wait.map_or_else(String::new, |wait| format!(", and asks to wait {wait:?}"));
                (
                    LlmErrorKind::RateLimited,
                    format!("{door} is throttling this key ({status}){wait}: {sentence}"),
                )
            }
            300..=399 => {
                let target = headers
                    .get("location")
                    .and_then(|value| value.to_str().ok())
                    .unwrap_or("another address");
                let target = target.split(['?', '#']).next().unwrap_or_default();
                (
                    LlmErrorKind::InvalidRequest,
                    format!(
                        "{door} redirects to {target} ({status}); requests are not redirected, give that address as base URL"
                    ),
                )
            }
            // 424: the model behind the door failed (Bedrock). Neither is the request's fault.
            408 | 424 | 500..=599 => {
                (LlmErrorKind::Transient, format!("{door} answered {status}: {sentence}"))
            }
            _ => {
                (LlmErrorKind::InvalidRequest, format!("{door} rejected the request ({status}): {sentence}"))
            }
        }
    }
}

/// The name of an error where it stands in a header: AWS's `ValidationException:http://…`.
fn error_name(headers: &HeaderMap) -> Option<String> {
    let name = headers.get("x-amzn-errortype")?.to_str().ok()?;
    name.split(':').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The vendor's id of a request, under the names vendors use.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    ["x-request-id", "request-id", "x-ms-request-id", "apim-request-id", "x-amzn-requestid"]
        .into_iter()
        .find_map(|name| headers.get(name)?.to_str().ok().map(str::to_owned))
}

/// A body by its shape: what it is, never what it says.
pub(crate) fn describe_body(headers: &HeaderMap, body: &[u8]) -> String {
    let content_type = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    match wire_json::first_byte(body) {
        None => "an empty body".to_owned(),
        Some(b'<') => "an HTML or XML page".to_owned(),
        Some(b'{' | b'[') => match wire_json::parse(body) {
            Ok(value) => describe_json(&value),
            Err(error) => format!(
                "damaged JSON ({} bytes, unreadable at line {} column {})",
                body.len(),
                error.line(),
                error.column()
            ),
        },
        Some(_) if content_type.contains("html") => "an HTML page".to_owned(),
        Some(_) if is_event_stream(content_type, body) => "a stream of events".to_owned(),
        Some(_) => format!("{} bytes that are not JSON", body.len()),
    }
}

/// An endpoint that streams whether it was asked to or not.
fn is_event_stream(content_type: &str, body: &[u8]) -> bool {
    let starts = [&b"data:"[..], b"event:", b": "];
    content_type.contains("event-stream")
        || starts.iter().any(|start| wire_json::without_bom(body).starts_with(start))
}

/// A JSON value by its shape.
pub(crate) fn describe_json(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "null".to_owned(),
        serde_json::Value::Bool(_) => "a boolean".to_owned(),
        serde_json::Value::Number(_) => "a number".to_owned(),
        serde_json::Value::String(_) => "a string".to_owned(),
        serde_json::Value::Array(items) => format!("a list of {} items", items.len()),
        serde_json::Value::Object(fields) if fields.is_empty() => "an empty JSON object".to_owned(),
        serde_json::Value::Object(fields) => {
            let is_name = |name: &&String| {
                name.len() <= 32 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
            };
            let names: Vec<&str> = fields.keys().filter(is_name).map(String::as_str).take(8).collect();
            format!("a JSON object with the fields {}", names.join(", "))
        }
    }
}
