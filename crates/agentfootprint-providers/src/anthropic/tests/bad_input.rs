//! What is made of a vendor that does not answer as it should.

use agentfootprint_core::llm::LlmErrorKind;
use proptest::prelude::*;
use serde_json::json;

use super::fixtures::{block, cases, end, hello, sse, start, text, text_delta, usage};
use super::*;
use crate::testing::bad_input::{Setup, Wire};

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
        build: |Setup { exchange, base_url, key, deadlines, bounds }| {
            let mut builder = Anthropic::builder().key(key).deadlines(deadlines).bounds(bounds);
            if let Some(exchange) = exchange {
                builder = builder.exchange(exchange);
            }
            if let Some(base_url) = base_url {
                builder = builder.base_url(base_url);
            }
            Arc::new(builder.build().unwrap())
        },
        plain: hello().to_string(),
        streamed: sse(&events),
        error: |status, sentence| {
            let kind = match status {
                401 => "authentication_error",
                404 => "not_found_error",
                429 => "rate_limit_error",
                529 => "overloaded_error",
                _ => "invalid_request_error",
            };
            error_json(kind, sentence).to_string()
        },
        unknown_model: "model: claude-sonnet-9",
        framed_error: |sentence| sse(&[error_json("overloaded_error", sentence)]),
        key_advice: "ANTHROPIC_API_KEY",
        address_advice: "ANTHROPIC_BASE_URL",
    }
}

/// Proves LLM-27, LLM-38.
#[tokio::test]
async fn each_status_has_its_kind_and_its_sentence() {
    wire().statuses().await;
}

/// Proves LLM-30, LLM-31.
#[tokio::test]
async fn an_overflow_is_recognised() {
    wire().overflow("prompt is too long: 205000 tokens > 200000 maximum", Some(200_000), Some(205_000)).await;
    // Inside a stream too.
    let framed = sse(&[error_json("invalid_request_error", "prompt is too long: 3 tokens > 2 maximum")]);
    let error = stream(Answer::ok(framed)).await.1.unwrap();
    assert_eq!(error.kind, LlmErrorKind::ContextWindowExceeded { limit: Some(2), actual: Some(3) });
}

#[tokio::test]
async fn a_success_that_is_no_message_says_what_it_is() {
    wire().not_the_wire().await;
    // One that ignores `stream` is refused by name.
    let error = stream(Answer::ok(hello().to_string())).await.1.unwrap();
    assert_eq!(error.kind, LlmErrorKind::UnreadableResponse);
    assert!(
        error.to_string().contains("ignored `stream`") && error.to_string().contains(".streaming(false)")
    );
}

/// Proves LLM-11, LLM-15.
#[test]
fn a_body_cut_at_every_byte_is_an_answer_or_an_error() {
    wire().cut_everywhere();
}

/// Each kind of error a stream can report, after part of the answer and before it.
///
/// Proves LLM-55.
#[tokio::test]
async fn an_error_inside_a_stream_is_typed_by_the_vendors_word() {
    wire().error_in_stream(LlmErrorKind::Transient).await;
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

/// Proves LLM-15, LLM-18.
#[tokio::test]
async fn bytes_that_are_not_utf8_are_refused() {
    wire().invalid_utf8().await;
}

/// Proves LLM-19.
#[tokio::test]
async fn a_frame_of_a_hundred_megabytes_is_refused_at_its_bound() {
    wire().huge_frame().await;
}

#[tokio::test]
async fn an_unreachable_host_is_named_with_the_fix() {
    wire().unreachable().await;
}

/// Proves LLM-15.
#[tokio::test]
async fn a_stream_over_a_real_connection() {
    wire().over_the_network().await;
}

/// Proves LLM-36, LLM-180.
#[tokio::test(start_paused = true)]
async fn each_phase_has_its_deadline_and_names_its_option() {
    wire().deadlines().await;
}

/// Proves LLM-37.
#[tokio::test(start_paused = true)]
async fn cancelling_in_any_phase_is_an_abort_within_one_poll() {
    wire().cancelled().await;
}

/// Proves LLM-28.
#[tokio::test]
async fn the_key_appears_in_no_text_of_any_failure() {
    wire().secrecy().await;
}

/// Proves LLM-39, LLM-41.
#[tokio::test]
async fn keys_that_cannot_be_had_are_refused_before_sending() {
    wire().no_key().await;
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

    #[test]
    fn arbitrary_bodies_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), json in "[\\[\\]{}\":,a-z0-9 ]{0,80}") {
        wire().arbitrary(&bytes, &json);
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
