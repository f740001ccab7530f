//! What is made of a vendor that does not answer as it should.

use std::time::Duration;

use agentfootprint_core::llm::LlmErrorKind;
use proptest::prelude::*;
use serde_json::json;

use super::fixtures::{answer, cases, chunk, hello, sse};
use super::*;
use crate::testing::bad_input::{Wire, contract, set_up, text_frames};

fn error_json(status: u16, sentence: &str) -> Json {
    let word = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": sentence, "status": word}})
}

fn wire() -> Wire {
    let chunks =
        [chunk(json!([{"text": "Grüß dich,"}])), answer(json!([{"text": " 世界 😀"}]), json!("STOP"))];
    Wire {
        prefix: "[gemini] ",
        model: MODEL,
        host: "generativelanguage.googleapis.com:443",
        build: |setup| Arc::new(set_up!(Gemini::builder(), setup, base_url).build().unwrap()),
        plain: hello().to_string().into_bytes(),
        streamed: sse(&chunks),
        error: |status, sentence| error_json(status, sentence).to_string().into_bytes(),
        unknown_model: Some("models/gemini-9 is not found for API version v1beta"),
        framed_error: |sentence| sse(&[error_json(503, sentence)]),
        framed_kind: LlmErrorKind::Transient,
        damaged: text_frames::DAMAGED.map(Vec::from).to_vec(),
        not_utf8: text_frames::NOT_UTF8.map(Vec::from).to_vec(),
        open_frame: text_frames::OPEN.to_vec(),
        key_advice: "GEMINI_API_KEY",
        address_advice: "base_url",
        is_daemon: false,
    }
}

contract!(super::wire);

/// What Google says only in the details of an error.
///
/// Proves LLM-38.
#[tokio::test]
async fn details_tell_a_wrong_key_and_a_wait() {
    let with = |status: u16, detail: Json| {
        let mut body = error_json(status, "API key not valid. Please pass a valid API key.");
        body["error"]["details"] = json!([{"@type": "type.googleapis.com/google.rpc.Help"}, detail]);
        body
    };
    let key =
        with(400, json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}));
    let error = complete(Answer::new(400, key.to_string())).await.unwrap_err();
    assert_eq!((&error.kind, error.status), (&LlmErrorKind::Auth, Some(400)));
    assert!(error.to_string().contains("GEMINI_API_KEY"), "{error}");
    assert_eq!(error.code.as_deref(), Some("INVALID_ARGUMENT"));

    let wait = with(429, json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13.5s"}));
    let answer = Answer::new(429, wait.to_string());
    let error = complete(answer.clone()).await.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_millis(13_500)));
    let stated = answer.with_header("retry-after", "4");
    assert_eq!(
        complete(stated).await.unwrap_err().retry_after,
        Some(Duration::from_secs(4)),
        "headers first"
    );
    // A streamed refusal comes in a list.
    let listed = Answer::new(429, json!([wait]).to_string());
    let error = stream(listed).await.1.unwrap();
    assert_eq!(
        (&error.kind, error.retry_after),
        (&LlmErrorKind::RateLimited, Some(Duration::from_millis(13_500)))
    );
    let unreadable = with(429, json!({"retryDelay": "soon"})).to_string();
    assert_eq!(complete(Answer::new(429, unreadable)).await.unwrap_err().retry_after, None);
}

/// Proves LLM-30, LLM-31.
#[tokio::test]
async fn an_overflow_in_googles_words_is_recognised() {
    let wire = wire();
    let sentence = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    wire.overflow(sentence, Some(1_048_576), Some(1_200_000)).await;
    let empty = "The input token count () exceeds the maximum number of tokens allowed (1048576).";
    wire.overflow(empty, Some(1_048_576), None).await;
}

#[tokio::test]
async fn a_success_that_holds_an_error_or_only_counts_says_what_it_is() {
    // An error with a success status has the status it states.
    let inside = error_json(429, "slow down").to_string();
    let error = complete(Answer::ok(inside)).await.unwrap_err();
    assert_eq!((&error.kind, error.status), (&LlmErrorKind::RateLimited, Some(429)));
    let error = complete(Answer::ok("{\"usageMetadata\":{\"promptTokenCount\":1}}")).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::UnreadableResponse);
    assert!(error.to_string().contains("fields usageMetadata"), "{error}");
}

/// Proves LLM-11, LLM-15.
#[test]
fn a_growing_list_cut_at_every_byte_is_an_answer_or_an_error() {
    let mut wire = wire();
    let list =
        json!([chunk(json!([{"text": "Grüß dich,"}])), answer(json!([{"text": " 世界 😀"}]), json!("STOP"))]);
    wire.streamed = list.to_string().into_bytes();
    wire.cut_everywhere();
}

#[tokio::test]
async fn an_error_inside_a_stream_is_typed_by_its_status() {
    use LlmErrorKind as K;
    for (status, kind) in [
        (400, K::InvalidRequest),
        (401, K::Auth),
        (403, K::Auth),
        (429, K::RateLimited),
        (500, K::Transient),
        (503, K::Transient),
    ] {
        for body in
            [sse(&[error_json(status, "no")]), json!([error_json(status, "no")]).to_string().into_bytes()]
        {
            let error = stream(Answer::ok(body)).await.1.unwrap();
            assert_eq!((&error.kind, error.status), (&kind, Some(status)));
        }
    }
    let late = [chunk(json!([{"text": "So far"}])), json!({"error": {"message": "no", "status": "ODD"}})];
    let error = stream(Answer::ok(sse(&late))).await.1.unwrap();
    assert_eq!(error.kind, K::StreamBroken { delivered: true });
    assert!(!error.retryable());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Proves LLM-15.
    #[test]
    fn any_split_of_the_bytes_gives_the_same_chunks(
        at in 0..usize::MAX, sizes in prop::collection::vec(1_usize..40, 1..200), crlf: bool, list: bool
    ) {
        let cases = cases();
        let chunks = &cases[at % cases.len()].chunks;
        let body = if list { serde_json::to_vec_pretty(chunks).unwrap() } else { sse(chunks) };
        wire().split(&body, &sizes, crlf);
    }
}

/// A finish reason that is empty is none yet; the other words that end an answer keep their spelling.
///
/// Proves LLM-24.
#[tokio::test]
async fn reasons_that_are_empty_or_new() {
    use LlmErrorKind as K;
    let chunk = |text: &str, reason: serde_json::Value| serde_json::json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": reason}]});
    let body = |chunks: &[serde_json::Value]| {
        chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect::<String>()
    };
    let whole = body(&[chunk("a", "".into()), chunk("b", "STOP".into())]);
    let (chunks, error) = wire().stream(Answer::ok(whole)).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(answer_of(&chunks).content, "ab");
    let (_, error) = wire().stream(Answer::ok(body(&[chunk("a", "".into())]))).await;
    assert_eq!(error.unwrap().kind, K::StreamIncomplete { delivered: true });
    for word in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "RECITATION", "LANGUAGE", "OTHER"] {
        let answer = wire().complete(Answer::ok(chunk("", word.into()).to_string())).await.unwrap();
        assert_eq!(answer.stop_reason.as_str(), word);
    }
    // No candidates and no reason for it: nothing can be made of that.
    let nothing = serde_json::json!({"candidates": [], "usageMetadata": {"promptTokenCount": 3}}).to_string();
    assert_eq!(wire().complete(Answer::ok(nothing)).await.unwrap_err().kind, K::UnreadableResponse);
}
