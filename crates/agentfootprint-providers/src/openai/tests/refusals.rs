//! What is made of the ways an endpoint says no.

use std::sync::Arc;
use std::time::Duration;

use agentfootprint_core::llm::{CallCx, ErrorKind, LlmError, LlmErrorKind, LlmProvider, LlmRequest};
use footprint::clock::ManualClock;
use serde_json::json;

use super::fixtures::{completion, frame, sse, usage};
use super::*;

fn error(message: &str, code: &str) -> String {
    json!({"error": {"message": message, "type": "invalid_request_error", "code": code}}).to_string()
}

/// Both doors answer the same.
async fn refused(answer: Answer) -> LlmError {
    let plain = complete(answer.clone()).await.unwrap_err();
    let streamed = stream(answer).await.1.unwrap();
    assert_eq!(plain.to_string(), streamed.to_string());
    assert_eq!(plain.kind, streamed.kind);
    plain
}

/// Every sentence names its fix.
///
/// Proves LLM-27, LLM-30.
#[tokio::test]
async fn each_status_has_its_kind_and_its_sentence() {
    use LlmErrorKind as K;
    let html = "<html><body>not here</body></html>";
    let cases = [
        (401, error("Incorrect API key provided", "invalid_api_key"), K::Auth, "OPENAI_API_KEY"),
        (403, error("Not allowed", "forbidden"), K::Auth, "OPENAI_API_KEY"),
        (
            404,
            error("The model `nope` does not exist or you do not have access to it.", "model_not_found"),
            K::ModelNotFound,
            "does not offer the model `gpt-4o-mini`",
        ),
        (
            404,
            json!({"object": "error", "message": "The model `x` does not exist."}).to_string(),
            K::ModelNotFound,
            "check the model id",
        ),
        (404, html.to_owned(), K::ModelNotFound, "ends in /v1"),
        (404, json!({"detail": "Not Found"}).to_string(), K::ModelNotFound, "ends in /v1"),
        (
            400,
            error("Invalid 'temperature': decimal above maximum value.", "decimal_above_max_value"),
            K::InvalidRequest,
            "decimal above maximum",
        ),
        (
            422,
            json!({"detail": [{"msg": "Field required", "input": "…"}]}).to_string(),
            K::InvalidRequest,
            "Field required",
        ),
        (413, html.to_owned(), K::InvalidRequest, "an HTML or XML page"),
        (500, String::new(), K::Transient, "500"),
        (503, error("The engine is overloaded", "overloaded"), K::Transient, "503"),
        (308, String::new(), K::InvalidRequest, "base URL"),
    ];
    for (status, body, kind, word) in cases {
        let error = refused(Answer::new(status, &body)).await;
        assert_eq!(error.kind, kind, "{status} {body}");
        assert_eq!(error.status, Some(status));
        assert_eq!(error.model.as_deref(), Some("gpt-4o-mini"));
        let text = error.to_string();
        assert!(text.starts_with("[openai] https://api.openai.com/v1/chat/completions "), "{text}");
        assert!(text.contains(word), "{text}");
        assert_eq!(text.matches("[openai]").count(), 1);
        assert_eq!(error.record_name(), "OpenAIProviderError");
    }
}

/// Proves LLM-30, LLM-31.
#[tokio::test]
async fn an_overflow_is_recognised_at_every_door() {
    let sentence =
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.";
    let body = error(sentence, "context_length_exceeded");
    let expected = LlmErrorKind::ContextWindowExceeded { limit: Some(8192), actual: Some(9000) };
    let refused = refused(Answer::new(400, &body)).await;
    assert_eq!(refused.kind, expected);
    assert_eq!(refused.record_code(), Some("ERR_CONTEXT_WINDOW_EXCEEDED"));
    assert!(!refused.is_resumable());
    // Inside a success, plain and streamed.
    assert_eq!(complete(Answer::ok(&body)).await.unwrap_err().kind, expected);
    let framed = format!("data: {body}\n\n");
    assert_eq!(stream(Answer::ok(framed)).await.1.unwrap().kind, expected);
    // A rate limit that talks about tokens is none.
    let busy = error(
        "Rate limit reached on tokens per min (TPM): maximum context length is 5 tokens",
        "rate_limit_exceeded",
    );
    assert_eq!(complete(Answer::new(429, busy)).await.unwrap_err().kind, LlmErrorKind::RateLimited);
}

/// Proves LLM-38.
#[tokio::test]
async fn stated_waits_travel_on_the_error() {
    let answer = |name, value: &str| {
        Answer::new(429, error("slow down", "rate_limit_exceeded")).with_header(name, value)
    };
    let wait = |answer| async { complete(answer).await.unwrap_err().retry_after };
    assert_eq!(wait(answer("retry-after", "4")).await, Some(Duration::from_secs(4)));
    assert_eq!(
        wait(answer("retry-after-ms", "250").with_header("retry-after", "9")).await,
        Some(Duration::from_millis(250))
    );
    assert_eq!(wait(answer("x-other", "1")).await, None);
    let error = complete(answer("retry-after", "4")).await.unwrap_err();
    assert!(error.to_string().contains("asks to wait 4s"));
    assert_eq!(error.gate_kind(), ErrorKind::RateLimit);

    // A date is measured against the clock of the call.
    let clock = Arc::new(ManualClock::at(784_111_777_000 - 7_000));
    let cx = CallCx::detached().with_clock(clock);
    let provider = official([answer("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]);
    let error = provider.complete(&request(), &cx).await.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn ids_and_codes_of_the_vendor_are_kept() {
    let answer = Answer::new(400, error("no", "bad_thing")).with_header("x-request-id", "req_7");
    let error = complete(answer).await.unwrap_err();
    assert_eq!((error.request_id.as_deref(), error.code.as_deref()), (Some("req_7"), Some("bad_thing")));
    assert_eq!(error.body_excerpt.as_deref(), Some("no"));
    let page = "x".repeat(900);
    assert_eq!(complete(Answer::new(502, page)).await.unwrap_err().body_excerpt.as_ref().unwrap().len(), 400);
}

/// A success status with something else in it.
#[tokio::test]
async fn a_success_that_is_no_completion_says_what_it_is() {
    for (body, word) in [
        ("<html>welcome</html>", "an HTML or XML page"),
        ("", "an empty body"),
        ("{\"status\":\"up\",\"canary text\":1}", "fields status"),
        ("{\"choices\":[]}", "fields choices"),
        ("hello", "not JSON"),
        ("[1,2]", "a list of 2"),
        ("{\"choices\":[{\"message\":7}]}", "not an object"),
    ] {
        let error = complete(Answer::ok(body)).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::UnreadableResponse, "{body}");
        let text = error.to_string();
        assert!(text.contains(word) && text.contains("base_url"), "{text}");
        assert!(!text.contains("canary") && !text.contains("welcome"), "{text}");
        assert!(!error.retryable(), "the model already ran");
    }
    // Gateways that put the real status inside.
    let inside = json!({"error": {"code": 429, "message": "slow down"}}).to_string();
    let error = complete(Answer::ok(inside)).await.unwrap_err();
    assert_eq!((error.kind.clone(), error.status), (LlmErrorKind::RateLimited, Some(429)));
}

#[tokio::test]
async fn an_error_inside_a_stream_breaks_it() {
    let mut body = Vec::new();
    for part in [
        frame(json!({"content": "So far"}), None),
        json!({"error": {"message": "backend died", "code": "server_error"}}),
    ] {
        body.extend(format!("data: {part}\n\n").into_bytes());
    }
    let (chunks, error) = stream(Answer::ok(&body)).await;
    let error = error.unwrap();
    assert_eq!(chunks.len(), 1);
    assert_eq!(error.kind, LlmErrorKind::StreamBroken { delivered: true });
    assert!(error.to_string().contains("backend died"));
    assert_eq!(error.code.as_deref(), Some("server_error"));
    let start = stream(Answer::ok(&body[body.len() - 70..])).await.1.unwrap();
    assert!(!matches!(start.kind, LlmErrorKind::StreamBroken { delivered: true }));
}

/// Wherever a server puts an error in a stream, or in a body that says 200.
///
/// Proves LLM-60.
#[tokio::test]
async fn an_error_is_found_where_servers_put_it() {
    let error = json!({"message": "it broke", "code": "odd"});
    for (event, body) in [
        ("", json!({"error": error})),
        ("", json!({"error": "it broke", "code": "odd"})),
        ("", json!({"object": "error", "message": "it broke", "type": "x", "code": "odd"})),
        ("", json!({"choices": [{"delta": {}, "finish_reason": "error", "error": error}]})),
        ("", json!({"id": "1", "x_groq": {"error": error}})),
        ("event: error\n", json!({"message": "it broke", "code": "odd"})),
    ] {
        let found = stream(Answer::ok(format!("{event}data: {body}\n\n"))).await.1.unwrap();
        assert_eq!(
            (&found.kind, found.code.as_deref()),
            (&LlmErrorKind::StreamBroken { delivered: false }, Some("odd")),
            "{body}"
        );
        assert!(found.to_string().contains("it broke"));
        if event.is_empty() {
            let found = complete(Answer::ok(body.to_string())).await.unwrap_err();
            assert_eq!(
                (&found.kind, found.code.as_deref()),
                (&LlmErrorKind::UnreadableResponse, Some("odd")),
                "{body}"
            );
        }
    }
    // A field that says that there was none.
    for none in [json!(null), json!(""), json!(false)] {
        let body =
            json!({"error": none, "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]});
        assert_eq!(complete(Answer::ok(body.to_string())).await.unwrap().content, "x");
    }
}

/// Servers that validate with FastAPI send the request back.
///
/// Proves LLM-29.
#[tokio::test]
async fn a_server_that_echoes_the_conversation_is_not_repeated() {
    let secret = "the patient's name is Wilhelmina Okonkwo-Brandt";
    let asked = LlmRequest::new("gpt-4o-mini").system("You are discreet about everything.").user(secret);
    let echoes = [
        json!({"error": {"message": format!("invalid content: {secret}"), "code": "x"}}).to_string(),
        json!({"detail": [{"msg": "bad", "input": secret}]}).to_string(),
        format!("cannot parse {secret}"),
        format!("<html>You are discreet about everything. {secret}</html>"),
    ];
    for echo in echoes {
        for status in [400, 404, 500] {
            let error = official([Answer::new(status, &echo)])
                .complete(&asked, &CallCx::detached())
                .await
                .unwrap_err();
            let shown = format!("{error} {error:?} {}", error.human_message());
            assert!(!shown.contains("Okonkwo") && !shown.contains("discreet about"), "{shown}");
        }
    }
}

/// Proves LLM-19.
#[tokio::test]
async fn answers_beyond_their_bound_are_refused() {
    use crate::http::Bounds;
    let bounds = Bounds { frame: 300, body: 300 };
    let long = "x".repeat(400);
    let body = completion(json!({"content": long}), "stop", usage()).to_string();
    let frames = sse(&[frame(json!({"content": long}), Some("stop"))]);
    let (tight, _) = builder([Answer::in_pieces(body.as_bytes(), 50)]);
    let tight = tight.bounds(bounds).build().unwrap();
    let error = tight.complete(&request(), &CallCx::detached()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::ResponseTooLarge { limit: 300 });
    assert!(error.to_string().contains(".bounds("));
    for streamed in [frames, body.into_bytes()] {
        let (tight, _) = builder([Answer::in_pieces(&streamed, 50)]);
        let (_, error) = read_stream(&tight.bounds(bounds).build().unwrap(), &CallCx::detached()).await;
        assert_eq!(error.unwrap().kind, LlmErrorKind::ResponseTooLarge { limit: 300 });
    }
}
