//! A canary key, and every path on which it could leak.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentfootprint_core::llm::{CallCx, LlmErrorKind, LlmProvider, LlmRequest};
use serde_json::json;

use super::fixtures::{completion, frame, sse, usage};
use super::*;
use crate::Key;
use crate::http::FaultPhase;
use crate::http::testing::Beat;

/// Proves LLM-28.
#[tokio::test]
async fn the_key_appears_in_no_text_of_any_failure() {
    let echo = |status| {
        Answer::new(
            status,
            json!({"error": {"message": format!("bad key {KEY}"), "code": KEY, "type": KEY}}).to_string(),
        )
    };
    let framed_error =
        format!("data: {}\n\n", json!({"error": {"message": format!("key {KEY}"), "code": KEY}}));
    let mut answers: Vec<Answer> =
        [400, 401, 403, 404, 413, 422, 429, 500, 503].into_iter().map(echo).collect();
    answers.extend([
        Answer::new(502, format!("<html>{KEY}</html>")),
        Answer::new(307, "").with_header("location", &format!("https://other/{KEY}?key={KEY}")),
        echo(500).with_header("x-request-id", KEY),
        Answer::ok(format!("not json {KEY}")),
        Answer::ok(json!({KEY: 1}).to_string()),
        Answer::ok(json!({"error": {"message": KEY}}).to_string()),
        Answer::ok(framed_error),
        Answer::ok(format!("data: {{\"{KEY}\"\n\n")),
        Answer::ok(sse(&[frame(json!({"content": "a"}), None)])),
        Answer::ok(completion(json!({}), "tool_calls", usage()).to_string()),
        Answer::ok(
            completion(json!({"tool_calls": [{"function": {"arguments": KEY}}]}), "tool_calls", usage())
                .to_string(),
        ),
        Answer::ok("").with_body([Beat::Break]),
        Answer::new(
            400,
            json!({"error": {"message": format!("prompt is too long: 3 tokens > 2 {KEY}")}}).to_string(),
        ),
    ]);
    for phase in [FaultPhase::Dns, FaultPhase::Connect, FaultPhase::ConnectTimeout, FaultPhase::Head] {
        answers.push(Answer::failing(phase, &format!("cannot reach https://h/?key={KEY}")));
    }
    for answer in answers {
        for streamed in [false, true] {
            // The key stands in the address too: in the path, where the door would show it, and in the query.
            let (builder, _) = builder([answer.clone()]);
            let provider =
                builder.base_url(format!("http://127.0.0.1:1/{KEY}/v1?key={KEY}")).build().unwrap();
            let error = if streamed {
                read_stream(&provider, &CallCx::detached()).await.1
            } else {
                provider.complete(&request(), &CallCx::detached()).await.err()
            };
            if let Some(error) = error {
                assert_clean(&error);
            }
        }
    }
}

/// Proves LLM-28.
#[tokio::test]
async fn no_value_shows_the_key_it_holds() {
    let (builder, exchange) =
        builder([Answer::ok(completion(json!({"content": "x"}), "stop", usage()).to_string())]);
    assert!(!format!("{builder:?}").contains(KEY));
    let provider = builder.build().unwrap();
    assert!(!format!("{provider:?}").contains(KEY));
    provider.complete(&request(), &CallCx::detached()).await.unwrap();
    let sent = &exchange.requests()[0];
    assert!(!format!("{sent:?}").contains(KEY));
    assert!(!format!("{:?}", sent.headers).contains(KEY), "header values with keys are marked sensitive");
}

/// Proves LLM-39.
#[tokio::test]
async fn a_callback_is_asked_once_per_request_and_its_answer_redacted() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let rotating = Key::provider(move |model| {
        let n = counter.fetch_add(1, Ordering::SeqCst);
        async move { format!("rotating-{model}-{n}").into() }
    });
    let echo =
        |key: &str| Answer::new(401, json!({"error": {"message": format!("expired: {key}")}}).to_string());
    let (builder, exchange) = builder([echo("rotating-gpt-4o-mini-0"), echo("rotating-gpt-4o-mini-1")]);
    let provider = builder.key(rotating).build().unwrap();
    for n in 0..2 {
        let error = provider.complete(&request(), &CallCx::detached()).await.unwrap_err();
        assert!(
            error.to_string().contains("[redacted apiKey]") && !error.to_string().contains("rotating-"),
            "{error}"
        );
        assert_eq!(
            exchange.requests()[n].headers["authorization"],
            format!("Bearer rotating-gpt-4o-mini-{n}")
        );
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// Proves LLM-39, LLM-41.
#[tokio::test]
async fn keys_that_cannot_be_had_are_refused_before_sending() {
    let cases = [
        (Key::provider(|_| async { "  ".into() }), "callback gave nothing"),
        (Key::per_model([("other", KEY)]), "`gpt-4o-mini`"),
        (Key::from(" "), "blank"),
        (Key::from("canary-key-5d1f\nsecond line"), "line break"),
    ];
    for (key, word) in cases {
        let (builder, exchange) = builder([]);
        let error =
            builder.key(key).build().unwrap().complete(&request(), &CallCx::detached()).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::NoCredential);
        assert!(error.to_string().contains(word), "{error}");
        assert_clean(&error);
        assert!(exchange.requests().is_empty());
    }
    let per_model = Key::per_model([("gpt-4o-mini", KEY)]);
    let (builder, exchange) =
        builder([Answer::ok(completion(json!({"content": "x"}), "stop", usage()).to_string())]);
    let provider = builder.key(per_model).build().unwrap();
    provider.complete(&LlmRequest::new("openai").user("hi"), &CallCx::detached()).await.unwrap();
    assert_eq!(exchange.requests()[0].headers["authorization"], format!("Bearer {KEY}"));
}
