//! From rig's errors to ours.

use agentfootprint_core::llm::{LlmError, LlmErrorKind, ThinkingRefusal};
use rig_core::error::{ErrorKind, ErrorReport, ProviderError};
use rig_core::http_client::{self, HeaderMap};
use rig_core::{ProviderResponseError, completion};

use crate::http::{FaultPhase, HttpFault, Refusal, Scene};

/// Which call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    /// A whole answer was asked for.
    Plain,
    /// A stream was.
    Stream,
}

impl Door {
    /// The kind of an answer that cannot be read.
    fn unreadable(self) -> LlmErrorKind {
        match self {
            Door::Plain => LlmErrorKind::UnreadableResponse,
            Door::Stream => LlmErrorKind::UnreadableFrame,
        }
    }
}

/// The typed error.
pub(super) fn error_of(error: ProviderError, scene: &Scene, door: Door, now_ms: u64) -> LlmError {
    match error {
        ProviderError::ProviderResponse(reply)
        | ProviderError::InvalidAuthentication(reply)
        | ProviderError::CacheExpired { response: reply, .. } => refused(&reply, scene, now_ms),
        ProviderError::Http(error) => transport(&error, scene, door, now_ms),
        // A parser's sentence may quote what it read; where it stopped says enough.
        ProviderError::Json(error) => {
            let (line, column) = (error.line(), error.column());
            let message = format!(
                "{} answered with something rig cannot read ({:?} error at line {line} column {column}); {}",
                scene.door(),
                error.classify(),
                scene.identity().address_hint
            );
            scene.error(door.unreadable(), message)
        }
        ProviderError::Truncated => {
            let (door_name, hint) = (scene.door(), scene.identity().address_hint);
            let kind = match door {
                Door::Plain => LlmErrorKind::UnreadableResponse,
                Door::Stream => LlmErrorKind::StreamIncomplete { delivered: false },
            };
            let message =
                format!("the answer from {door_name} ended without saying that it is complete; {hint}");
            scene.error(kind, message)
        }
        ProviderError::UnsupportedOption(option) => unsupported(&option, scene),
        ProviderError::Url(error) => {
            scene.error(LlmErrorKind::Refused, format!("the address rig was given is none ({error})"))
        }
        ProviderError::Request(error) => {
            let text = scene.vendor_text(&without_queries(&error.to_string()));
            scene.error(LlmErrorKind::Refused, format!("rig cannot build this request: {text}"))
        }
        ProviderError::Response(text) => {
            let text = scene.vendor_text(&text);
            let message = format!("{} answered with something rig cannot use: {text}", scene.door());
            scene.error(door.unreadable(), message)
        }
        ProviderError::Relayed(report) => relayed(&report, scene, door, now_ms),
        ProviderError::Provider(text) => reported("ProviderError", &text, scene),
        other => reported("ProviderError", &other.to_string(), scene),
    }
}

/// The vendor answered, and the answer is a refusal.
fn refused(reply: &ProviderResponseError, scene: &Scene, now_ms: u64) -> LlmError {
    let mut read = match serde_json::from_str::<serde_json::Value>(&reply.body) {
        Ok(json) if json.is_object() || json.is_array() => Refusal::of_json(json),
        _ => Refusal::default(),
    };
    if read.code.is_none() {
        read.code = reply.machine_code();
    }
    read.unknown_model = [&read.code, &read.kind]
        .into_iter()
        .flatten()
        .any(|word| word.contains("model_not_found") || word.contains("invalid_model"));
    let error = match reply.status.map(|status| status.as_u16()) {
        Some(status) if !(200..300).contains(&status) => {
            let none = HeaderMap::new();
            let headers = reply.headers.as_ref().unwrap_or(&none);
            scene.refused(status, headers, reply.body.as_bytes(), read, now_ms)
        }
        _ => {
            let kind =
                if reply.is_retryable() { LlmErrorKind::Transient } else { LlmErrorKind::InvalidRequest };
            scene.in_band_error(kind, read)
        }
    };
    match &reply.provider_request_id {
        Some(id) => error.with_request_id(scene.vendor_text(id)),
        None => error,
    }
}

/// rig's transport failed.
fn transport(error: &http_client::Error, scene: &Scene, door: Door, now_ms: u64) -> LlmError {
    match error {
        http_client::Error::InvalidStatusCodeWithDetails { status, body, headers } => {
            let reply = ProviderResponseError::new(*status, body.clone()).with_headers(Some(headers.clone()));
            refused(&reply, scene, now_ms)
        }
        http_client::Error::StreamEnded => {
            let message = format!("the connection to {} ended too early", scene.door());
            scene.error(LlmErrorKind::StreamBroken { delivered: false }, message)
        }
        http_client::Error::InvalidContentType(_) => {
            let message = format!(
                "{} answered with another type of content than asked for; {}",
                scene.door(),
                scene.identity().address_hint
            );
            scene.error(door.unreadable(), message)
        }
        http_client::Error::Instance(inner) => {
            let mut innermost: &dyn std::error::Error = &**inner;
            while let Some(source) = innermost.source() {
                innermost = source;
            }
            let cause = scene.vendor_text(&without_queries(&innermost.to_string()));
            let message =
                format!("no answer from {} ({cause}); {}", scene.door(), scene.identity().address_hint);
            let fault = HttpFault { phase: FaultPhase::Head, cause };
            scene.error(LlmErrorKind::Network, message).with_source(fault)
        }
        _ => scene.error(
            LlmErrorKind::Refused,
            "rig cannot build this request: a header or an address holds what none can",
        ),
    }
}

/// An option of the request that the model does not take; nothing was sent.
fn unsupported(option: &completion::UnsupportedOption, scene: &Scene) -> LlmError {
    let why = scene.vendor_text(&option.reason);
    let (name, model) = (&option.option, &option.model);
    if name.contains("reasoning") {
        let message = format!(
            "`{model}` cannot be asked to think with a budget ({why}); take .thinking(…) away, or ask in the provider's own \
             words with .with_request(…)"
        );
        return scene
            .error(LlmErrorKind::UnsupportedThinking { reason: ThinkingRefusal::NoThinking }, message);
    }
    if name.contains("tool_choice") {
        let message =
            format!("`{model}` cannot be forced to call one tool ({why}); use the `instruct` strategy");
        return scene.error(LlmErrorKind::UnsupportedToolChoice, message);
    }
    scene.error(
        LlmErrorKind::Refused,
        format!("`{model}` does not take `{name}` ({why}); take it out of the request"),
    )
}

/// A failure that came over rig's bus as a report.
fn relayed(report: &ErrorReport, scene: &Scene, door: Door, now_ms: u64) -> LlmError {
    if let Some(reply) = &report.provider_response {
        return refused(reply, scene, now_ms);
    }
    let text = scene.vendor_text(&without_queries(&report.message));
    let kind = match report.kind {
        ErrorKind::Cancelled => return scene.aborted(),
        ErrorKind::Http | ErrorKind::Timeout => LlmErrorKind::Network,
        ErrorKind::Json | ErrorKind::Response => door.unreadable(),
        ErrorKind::Url | ErrorKind::Request | ErrorKind::Denied => LlmErrorKind::Refused,
        _ => LlmErrorKind::Foreign { name: format!("rig.{}", report.kind.code()) },
    };
    let error = scene.error(kind, format!("{} failed: {text}", scene.door()));
    match report.http_status {
        Some(status) => error.with_status(status),
        None => error,
    }
}

/// A failure known by its words only.
fn reported(name: &str, text: &str, scene: &Scene) -> LlmError {
    let text = scene.vendor_text(&without_queries(text));
    let kind = LlmErrorKind::Foreign { name: name.to_owned() };
    scene.error(kind, format!("{} reported a failure: {text}", scene.door()))
}

/// A text without the queries of the addresses in it, which may carry keys.
fn without_queries(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        match word.split_once("://").and_then(|_| word.split_once('?')) {
            Some((address, query)) => {
                shown.push_str(address);
                let end = query.find([')', '"', '\'', ',', ']']);
                let end = end.or_else(|| query.find(char::is_whitespace)).unwrap_or(query.len());
                shown.push_str(query.get(end..).unwrap_or_default());
            }
            None => shown.push_str(word),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::without_queries;

    /// Proves LLM-28.
    #[test]
    fn addresses_lose_their_queries() {
        let text = "error sending request for url (https://host/v1/x?key=canary-key) because of it";
        assert_eq!(without_queries(text), "error sending request for url (https://host/v1/x) because of it");
        assert_eq!(without_queries("what? nothing\nhttps://a/b?k=v"), "what? nothing\nhttps://a/b");
    }
}
