//! What is made of a vendor that does not answer as it should.

use agentfootprint_core::llm::LlmErrorKind;
use proptest::prelude::*;
use serde_json::json;

use super::fixtures::{block, cases, end, hello, sse, start, text, text_delta, usage};
use super::*;
use crate::testing::bad_input::{Wire, contract, set_up, text_frames};

fn error_json(kind: &str, sentence: &str) -> Json {
    json!({"type": "error", "error": {"type": kind, "message": sentence}, "request_id": "req_1"})
}

fn wire() -> Wire {
    let events =
        [vec![start(usage())], text(0, &["Grüß dich,", " 世界 😀"]), end("end_turn").to_vec()].concat();
    Wire {
        prefix: "[anthropic] ",
        model: MODEL,
        host: "api.anthropic.com:443",
        build: |setup| Arc::new(set_up!(Anthropic::builder(), setup, base_url).build().unwrap()),
        plain: hello().to_string().into_bytes(),
        streamed: sse(&events),
        error: |status, sentence| {
            let kind = match status {
                401 => "authentication_error",
                404 => "not_found_error",
                429 => "rate_limit_error",
                529 => "overloaded_error",
                _ => "invalid_request_error",
            };
            error_json(kind, sentence).to_string().into_bytes()
        },
        unknown_model: Some("model: claude-sonnet-9"),
        framed_error: |sentence| sse(&[error_json("overloaded_error", sentence)]),
        framed_kind: LlmErrorKind::Transient,
        damaged: text_frames::DAMAGED.map(Vec::from).to_vec(),
        not_utf8: text_frames::NOT_UTF8.map(Vec::from).to_vec(),
        open_frame: text_frames::OPEN.to_vec(),
        key_advice: "ANTHROPIC_API_KEY",
        address_advice: "ANTHROPIC_BASE_URL",
        is_daemon: false,
    }
}

contract!(super::wire);

/// Proves LLM-30, LLM-31.
#[tokio::test]
async fn an_overflow_inside_a_stream_is_recognised() {
    let framed = sse(&[error_json("invalid_request_error", "prompt is too long: 3 tokens > 2 maximum")]);
    let error = stream(Answer::ok(framed)).await.1.unwrap();
    assert_eq!(error.kind, LlmErrorKind::ContextWindowExceeded { limit: Some(2), actual: Some(3) });
}

#[tokio::test]
async fn an_endpoint_that_ignores_stream_is_refused_by_name() {
    let error = stream(Answer::ok(hello().to_string())).await.1.unwrap();
    assert_eq!(error.kind, LlmErrorKind::UnreadableResponse);
    assert!(
        error.to_string().contains("ignored `stream`") && error.to_string().contains(".streaming(false)")
    );
}

/// Each kind of error a stream can report, after part of the answer and before it.
///
/// Proves LLM-55.
#[tokio::test]
async fn an_error_inside_a_stream_is_typed_by_the_vendors_word() {
    use LlmErrorKind as K;
    for (word, kind) in [
        ("overloaded_error", K::Transient),
        ("api_error", K::Transient),
        ("timeout_error", K::Transient),
        ("rate_limit_error", K::RateLimited),
        ("authentication_error", K::Auth),
        ("permission_error", K::Auth),
        ("invalid_request_error", K::InvalidRequest),
        ("not_found_error", K::ModelNotFound),
        ("an_error_of_tomorrow", K::StreamBroken { delivered: false }),
    ] {
        let error = stream(Answer::ok(sse(&[error_json(word, "no")]))).await.1.unwrap();
        assert_eq!((&error.kind, error.code.as_deref()), (&kind, Some(word)));
        // The same as one plain body.
        let error = stream(Answer::ok(error_json(word, "no").to_string())).await.1.unwrap();
        assert_eq!(error.kind, kind);
    }
    let late = [
        start(usage()),
        block(0, json!({"type": "text", "text": ""})),
        text_delta(0, "So far"),
        error_json("odd", "no"),
    ];
    let error = stream(Answer::ok(sse(&late))).await.1.unwrap();
    assert_eq!(error.kind, K::StreamBroken { delivered: true });
    assert!(!error.retryable());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Proves LLM-15.
    #[test]
    fn any_split_of_the_bytes_gives_the_same_chunks(
        at in 0..usize::MAX, sizes in prop::collection::vec(1_usize..40, 1..200), crlf: bool
    ) {
        let cases = cases();
        wire().split(&sse(&cases[at % cases.len()].events), &sizes, crlf);
    }

    /// Events in any order, some of them twice.
    #[test]
    fn events_in_any_order_never_panic(at in 0..usize::MAX, order in prop::collection::vec(0_usize..24, 0..40)) {
        let cases = cases();
        let events = &cases[at % cases.len()].events;
        let shuffled: Vec<Json> = order.iter().map(|next| events[next % events.len()].clone()).collect();
        let _ = crate::testing::now(stream(Answer::ok(sse(&shuffled))));
    }
}

/// Events and blocks of tomorrow, pings, keep-alives and bare words in an error event.
///
/// Proves LLM-55.
#[tokio::test]
async fn what_is_unknown_is_passed_over_and_bare_words_are_told() {
    let events = [
        json!({"type": "ping"}),
        json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 3, "output_tokens": 1}}}),
        json!({"type": "event_of_tomorrow", "index": 9, "x": {"y": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "block_of_tomorrow", "text": "no"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "delta_of_tomorrow", "text": "no"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "yes"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t1", "name": "now", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}}),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    let body: String = events
        .iter()
        .map(|event| format!(": keep-alive\n\nevent: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    let (chunks, error) = wire().stream(Answer::ok(body)).await;
    assert!(error.is_none(), "{error:?}");
    let answer = answer_of(&chunks);
    assert_eq!((answer.content.as_str(), answer.usage.output), ("yes", 5));
    assert!(answer.tool_calls[0].args.is_empty());
    let (_, error) = wire().stream(Answer::ok("event: error\ndata: upstream died\n\n")).await;
    assert!(error.unwrap().to_string().contains("upstream died"));
}
