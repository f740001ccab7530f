//! What is read out of an answer.

use agentfootprint_core::llm::{ArgsError, LlmErrorKind, LlmResponse, StopReason, Usage};
use footprint::value;
use footprint::value::Value;
use serde_json::{Value as Json, json};

use super::*;
use crate::testing::answer_of;

async fn complete(body: Json) -> LlmResponse {
    wire().complete(Answer::ok(body.to_string())).await.unwrap()
}

async fn stream(parts: Vec<(&'static str, Json)>, reason: &str) -> LlmResponse {
    let mut parts = parts;
    parts.extend(end(reason));
    let (chunks, error) = wire().stream(Answer::in_pieces(&events(&parts), 7)).await;
    assert!(error.is_none(), "{error:?}");
    answer_of(&chunks)
}

/// Proves LLM-21, LLM-22, LLM-24.
#[tokio::test]
async fn counts_and_stops() {
    let mut body = plain(json!([{"text": "hi"}]), "end_turn");
    body["usage"] =
        json!({"inputTokens": 3, "outputTokens": 4, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 0});
    let answer = complete(body.clone()).await;
    assert_eq!(answer.usage, Usage::new(3, 4).with_cache_read(100).with_cache_write(0));
    assert_eq!(answer.usage.prompt_total(), 103);
    body.as_object_mut().unwrap().remove("usage");
    assert!(!complete(body).await.usage.is_measured());
    for (word, reason) in [
        ("end_turn", StopReason::Stop),
        ("max_tokens", StopReason::MaxTokens),
        ("stop_sequence", StopReason::StopSequence),
        ("guardrail_intervened", StopReason::ContentFilter),
        ("content_filtered", StopReason::ContentFilter),
        ("malformed_model_output", StopReason::Other("malformed_model_output".into())),
        ("model_context_window_exceeded", StopReason::Other("model_context_window_exceeded".into())),
    ] {
        assert_eq!(complete(plain(json!([{"text": "x"}]), word)).await.stop_reason, reason);
        assert_eq!(stream(vec![delta(0, json!({"text": "x"}))], word).await.stop_reason, reason);
    }
    let identified = Answer::ok(plain(json!([{"text": "x"}]), "end_turn").to_string())
        .with_header("x-amzn-requestid", "req-1");
    assert_eq!(wire().complete(identified).await.unwrap().provider_ref.as_deref(), Some("req-1"));
    let identified = Answer::ok(wire().streamed).with_header("x-amzn-requestid", "req-2");
    let (chunks, _) = wire().stream(identified).await;
    assert_eq!(answer_of(&chunks).provider_ref.as_deref(), Some("req-2"));
}

/// Proves LLM-13, LLM-14, LLM-70.
#[tokio::test]
async fn interleaved_calls_are_put_together_by_their_block() {
    let whole = complete(plain(
        json!([
            {"text": "One moment."},
            {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Oslo"}}},
            {"toolUse": {"toolUseId": "t2", "name": "now", "input": {}}}
        ]),
        "tool_use",
    ))
    .await;
    let streamed = stream(
        vec![
            ("messageStart", json!({"role": "assistant"})),
            delta(0, json!({"text": "One moment."})),
            stop(0),
            start(1, json!({"toolUse": {"toolUseId": "t1", "name": "weather"}})),
            start(2, json!({"toolUse": {"toolUseId": "t2", "name": "now"}})),
            delta(1, json!({"toolUse": {"input": "{\"city\":"}})),
            delta(2, json!({"toolUse": {"input": ""}})),
            delta(1, json!({"toolUse": {"input": " \"Oslo\"}"}})),
            stop(2),
            stop(1),
        ],
        "tool_use",
    )
    .await;
    assert_eq!(streamed, whole);
    let shown: Vec<_> = whole
        .tool_calls
        .iter()
        .map(|call| format!("{} {} {}", call.id, call.name, Value::Object(call.args.clone())))
        .collect();
    assert_eq!(shown, [r#"t1 weather {"city":"Oslo"}"#, "t2 now {}"]);
}

/// Proves LLM-17, LLM-70.
#[tokio::test]
async fn a_call_that_was_never_closed_is_none() {
    let mut parts = vec![
        start(0, json!({"toolUse": {"toolUseId": "t1", "name": "f"}})),
        delta(0, json!({"toolUse": {"input": "{\"a\""}})),
    ];
    parts.extend(end("tool_use"));
    let error = wire().stream(Answer::ok(events(&parts))).await.1.unwrap();
    assert_eq!(error.kind, LlmErrorKind::ToolUseLost);
    assert_eq!(error.record_code(), Some("BEDROCK_STREAM_TOOLUSE_LOST"));
    let body = plain(json!([{"text": "Let me see."}]), "tool_use").to_string();
    assert_eq!(wire().complete(Answer::ok(body)).await.unwrap_err().kind, LlmErrorKind::ToolUseLost);
}

/// Proves LLM-16.
#[tokio::test]
async fn arguments_cut_by_the_limit_say_so() {
    let answer = stream(
        vec![
            start(0, json!({"toolUse": {"toolUseId": "t1", "name": "report"}})),
            delta(0, json!({"toolUse": {"input": "{\"text\": \"it beg"}})),
            stop(0),
        ],
        "max_tokens",
    )
    .await;
    let error = ArgsError::of(&answer.tool_calls[0]).unwrap();
    assert!(error.message.contains("max_tokens") && !error.message.contains("it beg"));
    assert_eq!(error.length, 16);
}

/// Proves LLM-71, LLM-91.
#[tokio::test]
async fn reasoning_with_signature_and_encrypted_reasoning() {
    let whole = complete(plain(
        json!([
            {"reasoningContent": {"reasoningText": {"text": "two and two", "signature": "c2ln+/=="}}},
            {"reasoningContent": {"redactedContent": "ZW5jcnlwdGVk"}},
            {"text": "Four."}
        ]),
        "end_turn",
    ))
    .await;
    let streamed = stream(
        vec![
            delta(0, json!({"reasoningContent": {"text": "two "}})),
            delta(0, json!({"reasoningContent": {"text": "and two"}})),
            delta(0, json!({"reasoningContent": {"signature": "c2ln+/=="}})),
            stop(0),
            // Two pieces of bytes, each with its own padding.
            delta(1, json!({"reasoningContent": {"redactedContent": "ZW5jcg=="}})),
            delta(1, json!({"reasoningContent": {"redactedContent": "eXB0ZWQ="}})),
            stop(1),
            delta(2, json!({"text": "Four."})),
            stop(2),
        ],
        "end_turn",
    )
    .await;
    assert_eq!(streamed, whole);
    assert_eq!(
        whole.raw_thinking,
        Some(value!([
            {"type": "thinking", "thinking": "two and two", "signature": "c2ln+/=="},
            {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}
        ]))
    );
    assert_eq!(whole.content, "Four.");
}

#[tokio::test]
async fn what_the_vendor_ran_itself_is_no_call_and_cited_text_is_text() {
    let whole = complete(plain(
        json!([
            {"toolUse": {"toolUseId": "s1", "name": "nova_grounding", "type": "server_tool_use", "input": {}}},
            {"toolResult": {"toolUseId": "s1", "content": [{"json": {}}]}},
            {"citationsContent": {"content": [{"text": "As "}, {"text": "written."}], "citations": [{"title": "x"}]}},
            {"image": {"format": "png", "source": {"bytes": "AA=="}}}
        ]),
        "end_turn",
    ))
    .await;
    let streamed = stream(
        vec![
            start(
                0,
                json!({"toolUse": {"toolUseId": "s1", "name": "nova_grounding", "type": "server_tool_use"}}),
            ),
            delta(0, json!({"toolUse": {"input": "{}"}})),
            start(1, json!({"toolResult": {"toolUseId": "s1"}})),
            delta(1, json!({"toolResult": [{"json": {}}]})),
            delta(2, json!({"text": "As written."})),
            delta(2, json!({"citation": {"title": "x"}})),
            ("somethingNew", json!({"x": 1})),
        ],
        "end_turn",
    )
    .await;
    assert_eq!((whole.content.as_str(), whole.tool_calls.len()), ("As written.", 0));
    assert_eq!(streamed, whole);
}

/// Proves LLM-70.
#[tokio::test]
async fn exceptions_inside_a_stream_mean_what_they_mean_as_a_status() {
    for (name, kind) in [
        ("throttlingException", LlmErrorKind::RateLimited),
        ("modelStreamErrorException", LlmErrorKind::Transient),
        ("internalServerException", LlmErrorKind::Transient),
        ("serviceUnavailableException", LlmErrorKind::Transient),
        ("modelTimeoutException", LlmErrorKind::Transient),
        ("validationException", LlmErrorKind::InvalidRequest),
        ("accessDeniedException", LlmErrorKind::Auth),
        ("somethingNewException", LlmErrorKind::StreamBroken { delivered: false }),
    ] {
        let bytes = exception(name, &json!({"message": "it happened"}));
        let error = wire().stream(Answer::ok(bytes)).await.1.unwrap();
        assert_eq!((&error.kind, error.code.as_deref()), (&kind, Some(name)));
        assert!(error.to_string().contains("it happened"));
    }
    let long =
        exception("validationException", &json!({"message": "Input is too long for requested model."}));
    let error = wire().stream(Answer::ok(long)).await.1.unwrap();
    assert_eq!(error.kind, LlmErrorKind::ContextWindowExceeded { limit: None, actual: None });
    let fault = frame(&[(":message-type", "error"), (":error-code", "Fault"), (":error-message", "bad")], "");
    let error = wire().stream(Answer::ok(fault)).await.1.unwrap();
    assert_eq!(
        (error.code.as_deref(), &error.kind),
        (Some("Fault"), &LlmErrorKind::StreamBroken { delivered: false })
    );
    assert!(error.to_string().contains("bad"));
}

/// The name of an error decides where the status says less.
#[tokio::test]
async fn names_of_errors() {
    let named = |status: u16, name: &str, message: &str| {
        Answer::new(status, json!({"message": message}).to_string()).with_header("x-amzn-errortype", name)
    };
    for (answer, kind, code) in [
        (
            named(400, "ThrottlingException:http://x", "slow"),
            LlmErrorKind::RateLimited,
            "ThrottlingException",
        ),
        (named(408, "ModelTimeoutException", "slow"), LlmErrorKind::Transient, "ModelTimeoutException"),
        (named(424, "ModelErrorException", "died"), LlmErrorKind::Transient, "ModelErrorException"),
        (named(403, "ExpiredTokenException", "old"), LlmErrorKind::Auth, "ExpiredTokenException"),
        (
            named(400, "ValidationException", "The provided model identifier is invalid."),
            LlmErrorKind::ModelNotFound,
            "ValidationException",
        ),
        (
            named(400, "ValidationException", "Input is too long for requested model."),
            LlmErrorKind::ContextWindowExceeded { limit: None, actual: None },
            "ValidationException",
        ),
    ] {
        let error = wire().complete(answer).await.unwrap_err();
        assert_eq!((&error.kind, error.code.as_deref()), (&kind, Some(code)));
    }
    let typed = json!({"__type": "com.amazon.coral.service#UnrecognizedClientException", "Message": "no"});
    let error = wire().complete(Answer::new(403, typed.to_string())).await.unwrap_err();
    assert_eq!(error.code.as_deref(), Some("UnrecognizedClientException"));
}

/// Proves LLM-18.
#[tokio::test]
async fn an_event_that_is_not_this_wire_is_an_error() {
    for bad in [
        ("contentBlockDelta", json!({"contentBlockIndex": 0, "delta": 7})),
        ("contentBlockDelta", json!({"contentBlockIndex": "x", "delta": {"text": "a"}})),
        ("contentBlockDelta", json!({"contentBlockIndex": 0, "delta": {"text": 7}})),
        ("contentBlockDelta", json!({"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": 7}}})),
        ("messageStop", json!({})),
    ] {
        let (_, error) = wire().stream(Answer::ok(events(std::slice::from_ref(&bad)))).await;
        assert!(matches!(error.unwrap().kind, LlmErrorKind::UnreadableFrame), "{bad:?}");
    }
    let damaged = frame(&[(":message-type", "event"), (":event-type", "metadata")], "{\"x\":");
    assert!(matches!(
        wire().stream(Answer::ok(damaged)).await.1.unwrap().kind,
        LlmErrorKind::UnreadableFrame
    ));
}

/// A damaged checksum after part of the answer, and a stream that ends without its counts.
///
/// Proves LLM-18, LLM-22.
#[tokio::test]
async fn a_wrong_checksum_is_damage_and_missing_counts_are_no_zero() {
    let text = event("contentBlockDelta", &json!({"contentBlockIndex": 0, "delta": {"text": "a"}}));
    let stop = event("messageStop", &json!({"stopReason": "end_turn"}));
    let mut damaged = stop.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let (chunks, error) = wire().stream(Answer::ok([text.clone(), damaged].concat())).await;
    assert_eq!((chunks.len(), error.unwrap().kind.clone()), (1, LlmErrorKind::UnreadableFrame));
    let (chunks, error) = wire().stream(Answer::ok([text, stop].concat())).await;
    assert!(error.is_none(), "{error:?}");
    assert!(!answer_of(&chunks).usage.is_measured());
}
