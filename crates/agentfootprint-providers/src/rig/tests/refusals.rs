use std::sync::Arc;
use std::time::Duration;

use agentfootprint_core::llm::{ErrorKind as Gate, LlmErrorKind as K};
use rig_core::ProviderResponseError;
use rig_core::error::{ErrorKind, ErrorReport, ProviderError};
use rig_core::http_client::{self, HeaderMap, StatusCode};

use super::*;

fn reply(status: u16, body: &str) -> ProviderError {
    let body = body.replace("KEY", KEY);
    ProviderError::from_http_response(StatusCode::from_u16(status).unwrap(), body)
}

fn network(text: &str) -> ProviderError {
    ProviderError::Http(Arc::new(http_client::Error::instance(std::io::Error::other(
        text.replace("KEY", KEY),
    ))))
}

fn relayed(kind: ErrorKind, text: &str) -> ProviderError {
    ProviderError::Relayed(Box::new(ErrorReport::new(kind, text)))
}

/// Each of rig's failures has its kind here, at both doors, and names the fix; no key is in any text.
///
/// Proves LLM-27, LLM-28.
#[tokio::test]
async fn each_failure_has_its_kind_and_its_sentence() {
    let cases = [
        (
            reply(400, r#"{"error":{"message":"bad field KEY"}}"#),
            K::InvalidRequest,
            "bad field [redacted apiKey]",
        ),
        (
            reply(401, r#"{"error":{"message":"no such key KEY"}}"#),
            K::Auth,
            "the key the rig client was built with",
        ),
        (reply(403, "<html>KEY</html>"), K::Auth, "HTML"),
        (reply(404, "{}"), K::ModelNotFound, "the base URL the rig client was built with"),
        (
            reply(404, r#"{"error":{"message":"no","code":"model_not_found"}}"#),
            K::ModelNotFound,
            "does not offer the model `scripted-1`",
        ),
        (reply(429, r#"{"error":{"message":"slow down"}}"#), K::RateLimited, "slow down"),
        (reply(500, ""), K::Transient, "500"),
        (reply(529, r#"{"error":{"type":"overloaded_error","message":"busy"}}"#), K::Transient, "busy"),
        (
            reply(400, r#"{"error":{"message":"prompt is too long: 205000 tokens > 200000 maximum"}}"#),
            K::ContextWindowExceeded { limit: Some(200_000), actual: Some(205_000) },
            "sliding_window",
        ),
        (reply(200, r#"{"error":{"message":"the model refuses"}}"#), K::InvalidRequest, "the model refuses"),
        (
            network("dns error at https://host/v1?key=KEY"),
            K::Network,
            "no answer from scripted (through rig)",
        ),
        (ProviderError::Provider("it broke".into()), K::Foreign { name: "ProviderError".into() }, "it broke"),
        (relayed(ErrorKind::Timeout, "too slow"), K::Network, "too slow"),
        (relayed(ErrorKind::Cancelled, "stop"), K::Aborted, "cancelled"),
        (relayed(ErrorKind::Internal, "odd"), K::Foreign { name: "rig.internal".into() }, "odd"),
    ];
    for (failure, kind, word) in cases {
        let plain = complete(vec![Say::Fail(failure.clone())]).await.unwrap_err();
        let (chunks, streamed) = stream(vec![Say::Fail(failure.clone())]).await;
        assert!(chunks.is_empty());
        for error in [plain, streamed.unwrap()] {
            assert_eq!(error.kind, kind, "{failure:?}: {error}");
            let text = error.to_string();
            assert!(text.starts_with("[rig-scripted] ") && text.contains(word), "{text}");
            assert!(!text.contains('?'), "no query is shown: {text}");
            assert_eq!(error.model.as_deref(), Some("scripted-1"));
        }
    }
}

/// Proves LLM-38.
#[tokio::test]
async fn a_stated_wait_and_the_request_id_are_kept() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", "4".parse().unwrap());
    let reply = ProviderResponseError::new(StatusCode::TOO_MANY_REQUESTS, "{}")
        .with_headers(Some(headers))
        .with_provider_request_id(Some("req-7".into()));
    let error = complete(vec![Say::Fail(ProviderError::ProviderResponse(reply))]).await.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_secs(4)));
    assert_eq!((error.status, error.request_id.as_deref()), (Some(429), Some("req-7")));
    assert_eq!(error.gate_kind(), Gate::RateLimit);
}

/// What cannot be read is told apart from what was cut; nothing quotes the answer.
#[tokio::test]
async fn unreadable_answers_say_where() {
    let damaged = || {
        let error = serde_json::from_str::<Vec<u8>>("[1, \"canary\"]").unwrap_err();
        Say::Fail(ProviderError::Json(Arc::new(error)))
    };
    let error = complete(vec![damaged()]).await.unwrap_err();
    assert_eq!(error.kind, K::UnreadableResponse);
    assert!(error.to_string().contains("line 1 column") && !error.to_string().contains("canary"), "{error}");
    let (chunks, error) = stream(vec![Say::Text("x"), damaged()]).await;
    assert_eq!((chunks.len(), error.unwrap().kind.clone()), (1, K::UnreadableFrame));
    let ended = || ProviderError::Http(Arc::new(http_client::Error::StreamEnded));
    let (_, error) = stream(vec![Say::Text("x"), Say::Fail(ended())]).await;
    assert_eq!(error.unwrap().kind, K::StreamBroken { delivered: true });
    let (_, error) = stream(vec![Say::Fail(ended())]).await;
    assert_eq!(error.unwrap().kind, K::StreamBroken { delivered: false });
}
