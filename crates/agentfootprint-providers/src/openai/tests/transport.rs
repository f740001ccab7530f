//! Deadlines and cancellation under a paused clock, and the real thing over the loopback interface.

use std::time::Duration;

use agentfootprint_core::llm::{CallCx, LlmErrorKind, LlmProvider, TimeoutPhase};
use futures_util::{FutureExt, StreamExt};
use serde_json::json;
use tokio::time::Instant;

use super::fixtures::{completion, frame, sse, usage, usage_frame};
use super::*;
use crate::Key;
use crate::http::Deadlines;
use crate::http::testing::{Beat, ChunkServer, End, Seen};

const SECOND: Duration = Duration::from_secs(1);

fn body() -> Vec<u8> {
    sse(&[
        frame(json!({"content": "Hel"}), None),
        frame(json!({"content": "lo"}), Some("stop")),
        usage_frame(usage()),
    ])
}

fn plain() -> String {
    completion(json!({"content": "Hello"}), "stop", usage()).to_string()
}

fn timeout(phase: TimeoutPhase, limit: Duration) -> LlmErrorKind {
    LlmErrorKind::Timeout { phase, limit }
}

/// Proves LLM-36, LLM-180.
#[tokio::test(start_paused = true)]
async fn each_phase_has_its_deadline_and_names_its_option() {
    let start = Instant::now();
    let slow = Answer::ok(plain()).after(61 * SECOND);
    let error = complete(slow.clone()).await.unwrap_err();
    assert_eq!(error.kind, timeout(TimeoutPhase::Headers, 60 * SECOND));
    assert!(error.to_string().contains("Deadlines::headers"), "{error}");
    assert_eq!(start.elapsed(), 60 * SECOND);
    assert_eq!(stream(slow.clone()).await.1.unwrap().kind, timeout(TimeoutPhase::Headers, 60 * SECOND));
    let patient = Deadlines { headers: 100 * SECOND, ..Deadlines::default() };
    assert!(
        builder([slow])
            .0
            .deadlines(patient)
            .build()
            .unwrap()
            .complete(&request(), &CallCx::detached())
            .await
            .is_ok()
    );

    let stalled = Answer::ok("").with_body([Beat::Bytes(plain().into_bytes()[..20].to_vec()), Beat::Stall]);
    let error = complete(stalled).await.unwrap_err();
    assert_eq!(error.kind, timeout(TimeoutPhase::Body, 60 * SECOND));
    assert!(error.to_string().contains("Deadlines::idle"));

    let total = Deadlines { total: Some(5 * SECOND), ..Deadlines::default() };
    let drip = (0..100).flat_map(|_| [Beat::Wait(SECOND), Beat::Bytes(b" ".to_vec())]);
    let (dripping, _) = builder([Answer::ok("").with_body(drip)]);
    let error = dripping
        .deadlines(total)
        .build()
        .unwrap()
        .complete(&request(), &CallCx::detached())
        .await
        .unwrap_err();
    assert_eq!(error.kind, timeout(TimeoutPhase::Total, 5 * SECOND));
}

/// Proves LLM-37.
#[tokio::test(start_paused = true)]
async fn cancelling_in_any_phase_is_an_abort_within_one_poll() {
    let never_key = Key::provider(|_| std::future::pending());
    let head = Answer::ok("").after(Duration::MAX);
    let open = Answer::ok("").with_body([Beat::Stall]);
    for (key, answer) in [(Some(never_key), None), (None, Some(head)), (None, Some(open))] {
        let (mut builder, _) = builder(answer);
        if let Some(key) = key {
            builder = builder.key(key);
        }
        let provider = builder.build().unwrap();
        let cx = CallCx::detached();
        let request = request();
        let mut call = provider.complete(&request, &cx);
        assert!((&mut call).now_or_never().is_none());
        cx.cancel_token().cancel();
        let error = call.now_or_never().expect("within one poll").unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Aborted);
        assert!(!error.retryable());
    }

    // Between two chunks, with more of them ready.
    let cx = CallCx::detached();
    let provider = official([Answer::ok(body())]);
    let mut stream = provider.stream(&request(), &cx).await.unwrap().unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    cx.cancel_token().cancel();
    assert_eq!(stream.next().now_or_never().unwrap().unwrap().unwrap_err().kind, LlmErrorKind::Aborted);
    assert!(stream.next().await.is_none());

    // A call that starts cancelled sends nothing.
    let (builder, exchange) = builder([]);
    let error = builder.build().unwrap().complete(&request(), &cx).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Aborted);
    assert!(exchange.requests().is_empty());
}

/// Proves LLM-37.
#[tokio::test(start_paused = true)]
async fn an_abort_is_not_blamed_on_a_deadline_that_passes_at_the_same_time() {
    let cx = CallCx::detached();
    let provider = official([Answer::ok("").after(Duration::MAX)]);
    let request = request();
    let call = provider.complete(&request, &cx);
    let cancel = async {
        tokio::time::sleep(60 * SECOND).await;
        cx.cancel_token().cancel();
    };
    let (result, ()) = tokio::join!(call, cancel);
    let kind = result.unwrap_err().kind.clone();
    assert!(matches!(
        kind,
        LlmErrorKind::Aborted | LlmErrorKind::Timeout { phase: TimeoutPhase::Headers, .. }
    ));
}

fn over_network(server: &ChunkServer) -> OpenAi {
    OpenAi::builder().key(KEY).base_url(server.base_url.clone()).build().unwrap()
}

/// Proves LLM-15, LLM-20.
#[tokio::test]
async fn a_stream_over_a_real_connection() {
    let whole = body();
    let pieces: Vec<&[u8]> = whole.chunks(7).collect();
    let mut server =
        ChunkServer::answering("200 OK", &["content-type: text/event-stream"], &pieces, End::Close).await;
    let provider = over_network(&server);
    let (chunks, error) = read_stream(&provider, &CallCx::detached()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(answer_of(&chunks).content, "Hello");
    let Seen::Request(sent) = server.next().await else { panic!("a request") };
    assert!(sent.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"));
    assert!(sent.contains(&format!("authorization: Bearer {KEY}\r\n")));
}

/// Proves LLM-20.
#[tokio::test]
async fn dropping_or_cancelling_a_stream_closes_the_connection() {
    let first = sse(&[frame(json!({"content": "Hel"}), None)]);
    let first = first.strip_suffix(b"data: [DONE]\n\n").unwrap();
    let mut server = ChunkServer::answering("200 OK", &[], &[first], End::Hold).await;
    let provider = over_network(&server);
    let cx = CallCx::detached();
    for cancel in [false, true] {
        let mut stream = provider.stream(&request(), &cx).await.unwrap().unwrap();
        assert!(stream.next().await.unwrap().is_ok());
        assert!(matches!(server.next().await, Seen::Request(_)));
        if cancel {
            cx.cancel_token().cancel();
            assert!(stream.next().await.unwrap().is_err());
        } else {
            drop(stream);
        }
        assert_eq!(server.next().await, Seen::Closed);
    }
}

/// Proves LLM-35.
#[tokio::test]
async fn one_call_is_one_attempt_and_redirects_are_not_followed() {
    for (status, headers) in
        [("503 Service Unavailable", vec![]), ("307 Temporary Redirect", vec!["location: /v1/elsewhere"])]
    {
        let mut server = ChunkServer::answering(status, &headers, &[b"x"], End::Close).await;
        let provider = over_network(&server);
        assert!(provider.complete(&request(), &CallCx::detached()).await.is_err());
        assert!(matches!(server.next().await, Seen::Request(_)));
        assert!(server.nothing_more());
    }
    // A connection that closes without an answer is not tried again either.
    let mut server = ChunkServer::start(vec![], End::Close).await;
    let error = over_network(&server).complete(&request(), &CallCx::detached()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Network);
    assert!(matches!(server.next().await, Seen::Request(_)));
    assert!(server.nothing_more());
}

#[tokio::test]
async fn a_connection_that_breaks_in_the_body_is_a_broken_stream() {
    let first = sse(&[frame(json!({"content": "Hel"}), None)]);
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n".to_vec();
    let first = first.strip_suffix(b"data: [DONE]\n\n").unwrap().to_vec();
    let server = ChunkServer::start(vec![head.clone(), first], End::Close).await;
    let (chunks, error) = read_stream(&over_network(&server), &CallCx::detached()).await;
    assert_eq!(chunks.len(), 1);
    assert_eq!(error.unwrap().kind, LlmErrorKind::StreamBroken { delivered: true });
    let server = ChunkServer::start(vec![head, plain().into_bytes()], End::Close).await;
    let error = over_network(&server).complete(&request(), &CallCx::detached()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::StreamBroken { delivered: false });
}
