//! The two everyday failures of a local server, and those inside an answer.

use std::time::Duration;

use agentfootprint_core::llm::OllamaReason;

use super::*;
use crate::http::FaultPhase;
use crate::http::testing::Beat;
use crate::testing::{assert_clean, read_stream};

fn unavailable(error: &agentfootprint_core::llm::LlmError) -> (OllamaReason, Vec<String>) {
    let LlmErrorKind::OllamaUnavailable { reason, base_url, available, model } = &error.kind else {
        panic!("{error:?}")
    };
    assert!(base_url.starts_with("http://localhost:11434"));
    assert_eq!(model.as_deref(), Some("llama3.2"));
    assert_eq!(error.record_name(), "OllamaUnavailableError");
    (*reason, available.clone())
}

/// Proves LLM-66.
#[tokio::test]
async fn a_daemon_that_is_not_there_names_its_start() {
    for phase in [FaultPhase::Dns, FaultPhase::Connect, FaultPhase::ConnectTimeout] {
        let error = wire().complete(Answer::failing(phase, "refused")).await.unwrap_err();
        assert_eq!(unavailable(&error).0, OllamaReason::DaemonUnreachable);
        for word in ["http://localhost:11434", "`ollama serve`", "OLLAMA_HOST", ".base_url("] {
            assert!(error.to_string().contains(word), "{error}");
        }
        assert!(error.retryable());
    }
}

/// Proves LLM-36, LLM-66.
#[tokio::test(start_paused = true)]
async fn a_stream_waits_ten_seconds_and_a_plain_answer_for_its_generation() {
    let start = tokio::time::Instant::now();
    let slow = || Answer::ok(wire().streamed).after(Duration::from_secs(11));
    let error = wire().stream(slow()).await.1.unwrap();
    assert_eq!(unavailable(&error).0, OllamaReason::DaemonUnreachable);
    assert_eq!(start.elapsed(), Duration::from_secs(10));
    assert!(error.to_string().contains("Deadlines::headers"), "{error}");
    let slow = Answer::ok(wire().plain).after(Duration::from_secs(300));
    assert!(wire().complete(slow).await.is_ok());
}

/// Proves LLM-66.
#[tokio::test]
async fn a_model_that_is_not_there_names_its_pull_and_what_is() {
    let missing = || Answer::new(404, r#"{"error":"model \"llama3.2\" not found, try pulling it first"}"#);
    let tags = Answer::ok(r#"{"models":[{"name":"qwen3:4b"},{"model":"mistral:7b"},{"odd":1}]}"#);
    let (builder, exchange) = builder([missing(), tags]);
    let error = builder.build().unwrap().complete(&wire().request(), &CallCx::detached()).await.unwrap_err();
    assert_eq!(
        unavailable(&error),
        (OllamaReason::ModelNotPulled, vec!["qwen3:4b".into(), "mistral:7b".into()])
    );
    for word in ["`ollama pull llama3.2`", "present are qwen3:4b, mistral:7b"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    assert!(!error.retryable());
    assert_eq!(error.status, Some(404));
    assert_eq!(exchange.requests()[1].url.path(), "/api/tags");

    // The list cannot be had: the model is missing all the same.
    for tags in [Answer::failing(FaultPhase::Connect, "x"), Answer::new(500, ""), Answer::ok("[]")] {
        let (builder, _) = self::builder([missing(), tags]);
        let provider = builder.build().unwrap();
        let error = read_stream(&provider, &wire().request(), &CallCx::detached()).await.1.unwrap();
        assert_eq!(unavailable(&error), (OllamaReason::ModelNotPulled, vec![]));
    }
}

/// Something else answers at the address.
///
/// Proves LLM-66.
#[tokio::test(start_paused = true)]
async fn a_wrong_address_is_not_blamed_on_the_model() {
    let not_found = || Answer::new(404, "404 page not found");
    for tags in [not_found(), Answer::ok("").with_body([Beat::Stall])] {
        let (builder, _) = builder([not_found(), tags]);
        let error =
            builder.build().unwrap().complete(&wire().request(), &CallCx::detached()).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::ModelNotFound);
        assert!(error.to_string().contains("OLLAMA_HOST"), "{error}");
    }
}

/// Proves LLM-30, LLM-66.
#[tokio::test]
async fn errors_inside_an_answer_raise() {
    let dead = json!({"error": "llama runner process has terminated"});
    let error = wire().complete(Answer::ok(dead.to_string())).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::UnreadableResponse);
    assert!(error.to_string().contains("has terminated"));
    let first = wire().stream(Answer::ok(lines(&[dead]))).await.1.unwrap();
    assert_eq!(first.kind, LlmErrorKind::StreamBroken { delivered: false });
    assert!(first.retryable());
    let later = wire()
        .stream(Answer::ok(lines(&[
            line(json!({"content": "So far"})),
            json!({"error": format!("runner died {KEY}")}),
        ])))
        .await
        .1
        .unwrap();
    assert_eq!(later.kind, LlmErrorKind::StreamBroken { delivered: true });
    assert!(!later.retryable());
    assert_clean(&later);
    let long = json!({"error": {"message": "prompt is too long: 9000 tokens > 4096 maximum"}});
    let error = wire().complete(Answer::new(400, long.to_string())).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::ContextWindowExceeded { limit: Some(4096), actual: Some(9000) });
}
