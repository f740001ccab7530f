use std::time::Duration;

use agentfootprint_core::llm::CallRng;
use agentfootprint_record::message::Message;
use footprint::value;
use footprint::value::Value;
use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;

use super::*;

fn request(text: &str) -> LlmRequest {
    LlmRequest::new("mock-1").user(text)
}

async fn say(mock: &Mock, text: &str) -> Result<LlmResponse, LlmError> {
    mock.complete(&request(text), &CallCx::detached()).await
}

async fn chunks(mock: &Mock, cx: &CallCx) -> Vec<Result<LlmChunk, LlmError>> {
    mock.stream(&request("hi"), cx).await.unwrap().unwrap().collect().await
}

/// Proves LLM-47.
#[tokio::test]
async fn sources_of_replies() {
    assert_eq!(say(&Mock::new(), "a b").await.unwrap().content, "echo: a b");
    let nobody = LlmRequest::new("m").message(Message::assistant("x"));
    assert_eq!(Mock::new().complete(&nobody, &CallCx::detached()).await.unwrap().content, "echo: ");
    let fixed = Mock::always("same");
    assert_eq!(say(&fixed, "a").await.unwrap().content, say(&fixed, "b").await.unwrap().content);
    let computed = Mock::respond(|request: &LlmRequest| format!("{} messages", request.messages().len()));
    assert_eq!(say(&computed, "a").await.unwrap().content, "1 messages");
    let failing =
        Mock::replies([MockReply::from(LlmError::foreign("ServiceError", "slow down").with_status(429))]);
    assert_eq!(say(&failing, "a").await.unwrap_err().record_name(), "ServiceError");
}

/// Proves LLM-48.
#[tokio::test]
async fn a_script_that_ends_says_so_and_can_start_anew() {
    let mock = Mock::replies(["one"]).with_name("helper");
    assert_eq!(say(&mock.clone(), "a").await.unwrap().content, "one");
    let error = say(&mock, "a").await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::ScriptExhausted { scripted: 1, request: 2 });
    for word in ["`helper`", "1 scripted", "number 2", "reset_replies", "PerRun"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    mock.reset_replies();
    assert_eq!(say(&mock, "a").await.unwrap().content, "one");
}

/// Proves LLM-48.
#[tokio::test]
async fn runs_can_have_their_own_position() {
    let mock = Mock::replies(["one", "two"]).with_script_mode(ScriptMode::PerRun);
    let run = |id: &str| CallCx::detached().with_run_id(id);
    let ask = |cx: CallCx| {
        let mock = mock.clone();
        async move { mock.complete(&request("a"), &cx).await.unwrap().content }
    };
    assert_eq!(ask(run("r1")).await, "one");
    assert_eq!(ask(run("r2")).await, "one");
    assert_eq!(ask(run("r1")).await, "two");
    assert_eq!(ask(run("r2")).await, "two");
}

/// Proves LLM-3, LLM-49.
#[tokio::test]
async fn counts_are_quarters_of_utf16_units_unless_given() {
    let asked = LlmRequest::new("m").system("sys").user("😀😀é");
    let mock = Mock::always("12345");
    let usage = mock.complete(&asked, &CallCx::detached()).await.unwrap().usage;
    assert_eq!((usage.input, usage.output), (2, 2)); // ceil((3 + 5) / 4), ceil(5 / 4)

    let given = Mock::replies([
        MockReply::from("12345").with_usage(MockUsage { output: Some(99), ..MockUsage::default() }),
        MockReply::from("x").with_usage(Usage::new(1, 2).with_cache_read(3)),
    ])
    .with_usage(MockUsage { input: Some(7), cache_read: Some(5), ..MockUsage::default() });
    assert_eq!(say(&given, "abcd").await.unwrap().usage, Usage::new(7, 99).with_cache_read(5));
    assert_eq!(say(&given, "abcd").await.unwrap().usage, Usage::new(1, 2).with_cache_read(3));
}

/// Proves LLM-49.
#[tokio::test]
async fn stop_reason_and_manifest_have_defaults() {
    let tool = |name: &str| agentfootprint_core::llm::ToolSchema::new(name, "d", value!({}));
    let asked = request("a").tool(tool("b")).tool(tool("a"));
    let mock = Mock::replies([
        MockReply::from("x"),
        MockReply::tool_call("t1", "b", value!({"x": 1})),
        MockReply::from("x").with_stop_reason("refusal").with_wire_manifest(["only"]),
    ]);
    let cx = CallCx::detached();
    let text = mock.complete(&asked, &cx).await.unwrap();
    assert_eq!(text.stop_reason, StopReason::Stop);
    let names: Vec<_> = text.wire_manifest.unwrap().tool_names.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(mock.complete(&asked, &cx).await.unwrap().stop_reason, StopReason::ToolUse);
    let last = mock.complete(&asked, &cx).await.unwrap();
    assert_eq!((last.stop_reason.as_str(), last.wire_manifest.unwrap().tool_names.len()), ("refusal", 1));
    assert_eq!(last.served_by.unwrap().model, "mock-1");
}

/// Proves LLM-10, LLM-14, LLM-51.
#[tokio::test]
async fn a_stream_is_words_and_then_the_whole_answer() {
    let reply = MockReply::tool_call("t1", "b", value!({})).with_content("  one two");
    let mock = Mock::always(reply);
    let cx = CallCx::detached();
    let items: Vec<LlmChunk> = chunks(&mock, &cx).await.into_iter().map(Result::unwrap).collect();
    let texts: Vec<_> = items
        .iter()
        .filter_map(|chunk| match chunk {
            LlmChunk::Text { token_index, content } => Some((*token_index, content.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(texts, [(0, "  "), (1, "one "), (2, "two")]);
    let LlmChunk::Done { response, .. } = items.last().unwrap() else { panic!("Done is last") };
    assert_eq!(**response, say(&mock, "hi").await.unwrap());
    assert!(mock.clone().without_streaming().stream(&request("a"), &cx).await.is_none());
    let empty = chunks(&Mock::always(""), &cx).await;
    assert!(matches!(empty.as_slice(), [Ok(LlmChunk::Done { .. })]));
}

/// Proves LLM-47.
#[tokio::test]
async fn chunk_scripts_can_break_anywhere() {
    let broken = LlmError::new(LlmErrorKind::StreamBroken { delivered: false }, "mock", "reset");
    let script =
        MockReply::chunks([MockChunk::thinking("hm"), MockChunk::text("Hel"), MockChunk::text("lo")]);
    let cx = CallCx::detached();
    let items = chunks(&Mock::always(script.clone()), &cx).await;
    assert!(matches!(&items[0], Ok(LlmChunk::Thinking { token_index: 0, delta }) if delta == "hm"));
    assert!(
        matches!(&items[3], Ok(LlmChunk::Done { token_index: 2, response }) if response.content == "Hello")
    );

    let items = chunks(&Mock::always(script.clone().failing_after(2, broken.clone())), &cx).await;
    assert_eq!(items.len(), 3);
    assert_eq!(items[2].as_ref().unwrap_err().kind, LlmErrorKind::StreamBroken { delivered: true });
    // Before anything: already opening fails, and so does a plain call.
    let early = Mock::always(script.failing_after(0, broken));
    let error = early.stream(&request("a"), &cx).await.unwrap().err().unwrap();
    assert!(error.retryable());
    assert!(say(&early, "a").await.is_err());
}

/// Proves LLM-50, LLM-180.
#[tokio::test(start_paused = true)]
async fn waits_are_drawn_from_the_rng_of_the_call_and_end_when_cancelled() {
    let start = Instant::now();
    say(&Mock::new(), "a").await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);

    let timed = |seed| async move {
        let cx = CallCx::detached().with_rng(CallRng::seeded(seed));
        let start = Instant::now();
        Mock::realistic().complete(&request("a"), &cx).await.unwrap();
        start.elapsed()
    };
    let first = timed(1).await;
    assert!((3000..=8000).contains(&first.as_millis()));
    assert_eq!(first, timed(1).await);

    let cx = CallCx::detached();
    let slow = Mock::always("a b c").with_chunk_delay_ms(50, 50);
    let start = Instant::now();
    assert_eq!(chunks(&slow, &cx).await.len(), 4);
    assert_eq!(start.elapsed(), Duration::from_millis(150));

    let waiting = Mock::realistic();
    let asked = request("a");
    let mut call = waiting.complete(&asked, &cx);
    assert!((&mut call).now_or_never().is_none());
    cx.cancel_token().cancel();
    assert_eq!(call.now_or_never().unwrap().unwrap_err().kind, LlmErrorKind::Aborted);
    assert_eq!(say_with(&Mock::new(), &cx).await.unwrap_err().kind, LlmErrorKind::Aborted);
}

async fn say_with(mock: &Mock, cx: &CallCx) -> Result<LlmResponse, LlmError> {
    mock.complete(&request("a"), cx).await
}

/// Proves LLM-90, LLM-181.
#[test]
fn everything_can_be_rehearsed() {
    let capabilities = Mock::new().capabilities("any");
    assert!(capabilities.carries_forced_tool_choice && capabilities.streams);
    assert_eq!(capabilities.carries_in_messages, RoleSet::ALL);
    assert!(capabilities.prompt_caching.is_none());
    let handler = capabilities.thinking_handler.unwrap();
    assert_eq!(handler.id(), "mock");
    let signed = handler.normalize(&raw_thinking("t", Some(" sig\n"))).unwrap();
    assert_eq!(signed[0].signature.as_deref(), Some(" sig\n"));
    let redacted = handler.normalize(&value!([{"type": "redacted_thinking", "data": "opaque"}])).unwrap();
    assert_eq!(redacted[0].signature.as_deref(), Some("opaque"));
    assert_eq!(handler.normalize(&value!([{"text": "s"}])).unwrap()[0].summary, Some(true));
    assert!(handler.normalize(&value!({"unknown": 1})).unwrap().is_empty());
    assert!(handler.normalize(&Value::Null).unwrap().is_empty());
}

#[tokio::test]
async fn requests_are_captured_when_asked_for() {
    let (mock, requests) = Mock::new().capturing();
    say(&mock, "one").await.unwrap();
    say(&mock.clone(), "two").await.unwrap();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests.last().unwrap().last_user_text(), Some("two"));
    assert_eq!(requests.all()[0].last_user_text(), Some("one"));
}

#[test]
fn partial_replies_can_be_written_as_json() {
    let reply: MockResponse = serde_json::from_value(serde_json::json!({
        "toolCalls": [{"id": "a", "name": "stock", "args": {"sku": "t"}}], "usage": {"input": 40}, "stopReason": "tool_use"
    }))
    .unwrap();
    assert_eq!(reply.usage.input, Some(40));
    assert_eq!(reply.tool_calls[0].args.get("sku").and_then(Value::as_str), Some("t"));
    assert_eq!(reply.content, None);
}
