//! What is read out of an answer.

use agentfootprint_core::llm::{ArgsError, LlmErrorKind, StopReason, ThinkingHandler, ToolSchema, Usage};
use footprint::value;
use footprint::value::Value;
use serde_json::json;

use super::fixtures::*;
use super::*;
use crate::MalformedArgs;
use crate::anthropic::AnthropicThinking;
use crate::http::testing::Beat;

fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name.starts_with(name)).expect("the case exists")
}

async fn plain_of(name: &str) -> LlmResponse {
    complete(Answer::ok(case(name).plain.to_string())).await.unwrap()
}

/// Proves LLM-10, LLM-13, LLM-14, LLM-55.
#[tokio::test]
async fn complete_and_stream_give_the_same_answer() {
    for case in cases() {
        let plain = complete(Answer::ok(case.plain.to_string())).await.unwrap();
        let (chunks, error) = stream(Answer::ok(sse(&case.events))).await;
        assert!(error.is_none(), "{}: {error:?}", case.name);
        assert_eq!(answer_of(&chunks), plain, "{}", case.name);
    }
}

/// Proves LLM-21, LLM-24.
#[tokio::test]
async fn counts_and_stop_reasons() {
    let text = plain_of("text").await;
    assert_eq!(text.usage, Usage::new(40, 18).with_cache_read(60).with_cache_write(7));
    assert_eq!(text.usage.prompt_total(), 107);
    assert_eq!((text.stop_reason, text.provider_ref.as_deref()), (StopReason::Stop, Some("msg_1")));
    let served = text.served_by.unwrap();
    assert_eq!((&*served.provider, &*served.model), ("anthropic", MODEL));
    for (name, word) in [
        ("two parallel", "tool_use"),
        ("cut by", "max_tokens"),
        ("a stop", "stop_sequence"),
        ("paused", "pause_turn"),
        ("refused", "refusal"),
        ("out of", "model_context_window_exceeded"),
    ] {
        assert_eq!(plain_of(name).await.stop_reason.as_str(), word);
    }
    assert_eq!(plain_of("white space").await.content, " \n");
    assert_eq!(plain_of("nothing").await.content, "");
}

/// The counts of a fully cached prompt, of the two lifetimes alone, and none.
///
/// Proves LLM-21, LLM-22.
#[tokio::test]
async fn counts_that_are_absent_stay_absent() {
    let with = |usage| {
        let body = message(json!([{"type": "text", "text": "x"}]), "end_turn", usage);
        async move { complete(Answer::ok(body.to_string())).await.unwrap().usage }
    };
    let cached = json!({"input_tokens": 0, "output_tokens": 1, "cache_read_input_tokens": 90_000, "cache_creation_input_tokens": 0});
    assert_eq!(with(cached).await.prompt_total(), 90_000);
    let lifetimes = json!({"input_tokens": 1, "output_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4}});
    assert_eq!(with(lifetimes).await, Usage::new(1, 1).with_cache_write(7));
    assert_eq!(with(json!({"input_tokens": 1, "output_tokens": 1})).await, Usage::new(1, 1));
    for none in [json!(null), json!({})] {
        let usage = with(none).await;
        assert!(!usage.is_measured());
        assert_eq!((usage.input, usage.output), (0, 0));
    }
}

/// Later counts of a stream take the place of earlier ones, field by field.
///
/// Proves LLM-55.
#[tokio::test]
async fn later_counts_overwrite_earlier_ones() {
    let mut events =
        vec![start(json!({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 5}))];
    events.extend(text(0, &["x"]));
    events.push(json!({
        "type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "usage": {"input_tokens": 12229, "output_tokens": 86, "cache_read_input_tokens": null}
    }));
    events.push(json!({"type": "message_stop"}));
    let usage = answer_of(&stream(Answer::ok(sse(&events))).await.0).usage;
    assert_eq!(usage, Usage::new(12229, 86).with_cache_read(5));
}

/// Proves LLM-13, LLM-16.
#[tokio::test]
async fn calls_come_in_the_order_of_their_blocks() {
    let (chunks, _) = stream(Answer::ok(sse(&case("two parallel").events))).await;
    let calls = answer_of(&chunks).tool_calls;
    let shown: Vec<_> = calls
        .iter()
        .map(|call| format!("{} {} {}", call.id, call.name, Value::Object(call.args.clone())))
        .collect();
    assert_eq!(shown, [r#"c1 weather {"city":"Oslo"}"#, "c2 time {}"]);
    assert_eq!(chunks.len(), 3, "fragments of calls are never shown");
    let whole = plain_of("a call that starts whole").await;
    assert_eq!(Value::Object(whole.tool_calls[0].args.clone()).to_string(), r#"{"z":1,"a":2}"#);
}

/// Proves LLM-16.
#[tokio::test]
async fn arguments_cut_by_the_limit_are_returned_with_a_reason_or_refused() {
    let body = sse(&cut_call());
    let cut = answer_of(&stream(Answer::ok(&body)).await.0);
    assert_eq!(cut.stop_reason, StopReason::MaxTokens);
    let error = ArgsError::of(&cut.tool_calls[0]).unwrap();
    assert!(cut.tool_calls[0].args.is_empty());
    assert!(error.message.contains("max_tokens") && !error.message.contains("it beg"), "{}", error.message);
    assert_eq!(error.length, 16);

    let (builder, _) = builder([Answer::ok(&body)]);
    let strict = builder.malformed_args(MalformedArgs::Refuse).build().unwrap();
    let error = read_stream(&strict, &request(), &CallCx::detached()).await.1.unwrap();
    let LlmErrorKind::MalformedToolArgs { tool_name, tool_use_id, block_index: 0, raw_length: 16 } =
        &error.kind
    else {
        panic!("{error:?}")
    };
    assert_eq!((tool_name.as_str(), tool_use_id.as_str()), ("report", "c1"));
    assert_eq!(error.record_code(), Some("ANTHROPIC_MALFORMED_TOOL_ARGS"));
    assert!(!format!("{error} {error:?}").contains("it beg"));

    // Arguments that are no object, whole.
    let odd =
        message(json!([{"type": "tool_use", "id": "c1", "name": "f", "input": [1]}]), "tool_use", usage());
    let call = complete(Answer::ok(odd.to_string())).await.unwrap().tool_calls.remove(0);
    assert!(ArgsError::of(&call).unwrap().message.contains("an array"));
}

/// A block that never closed is always an error: nobody can say that its arguments are whole.
///
/// Proves LLM-16.
#[tokio::test]
async fn a_call_that_never_closed_is_refused() {
    let mut events = cut_call();
    events.retain(|event| event["type"] != "content_block_stop");
    let error = stream(Answer::ok(sse(&events))).await.1.unwrap();
    assert!(matches!(error.kind, LlmErrorKind::MalformedToolArgs { .. }), "{error}");
    assert!(error.to_string().contains("never closed") && error.retryable());
}

/// Proves LLM-17.
#[tokio::test]
async fn a_promised_call_that_never_came_is_an_error_on_both_paths() {
    let body = message(json!([{"type": "text", "text": "Let me see."}]), "tool_use", usage());
    let plain = complete(Answer::ok(body.to_string())).await.unwrap_err();
    let events = [vec![start(usage())], text(0, &["Let me see."]), end("tool_use").to_vec()].concat();
    let (_, streamed) = stream(Answer::ok(sse(&events))).await;
    for error in [plain, streamed.unwrap()] {
        assert!(matches!(error.kind, LlmErrorKind::ToolUseLost));
        assert_eq!(error.record_code(), Some("ANTHROPIC_STREAM_TOOLUSE_LOST"));
    }
}

/// Proves LLM-56, LLM-90, LLM-91.
#[tokio::test]
async fn thinking_is_shown_as_it_comes_and_kept_byte_for_byte() {
    let (chunks, _) = stream(Answer::ok(sse(&case("signed thinking").events))).await;
    let shown: Vec<_> = chunks
        .iter()
        .filter_map(|chunk| match chunk {
            LlmChunk::Thinking { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, ["two ", "and two"]);
    let answer = answer_of(&chunks);
    assert_eq!(answer.content, "4");
    let blocks = AnthropicThinking.normalize(&answer.raw_thinking.unwrap()).unwrap();
    assert_eq!(blocks.len(), 2);
    assert_eq!((&*blocks[0].content, blocks[0].signature.as_deref()), ("two and two", Some("c2ln+/=")));
    assert_eq!((&*blocks[1].content, blocks[1].signature.as_deref()), ("", Some("ZGF0YQ==")));
    assert!(blocks.iter().all(|block| block.origin.as_deref() == Some("anthropic")));
    assert!(AnthropicThinking.normalize(&value!({"odd": 1})).unwrap().is_empty());
}

/// Proves LLM-42.
#[tokio::test]
async fn the_manifest_is_read_back_from_the_body() {
    let tool = |name: &str| ToolSchema::new(name, "d", value!({"type": "object"}));
    let body = case("text").plain.to_string();
    let provider = official([Answer::ok(&body), Answer::ok(&body)]);
    let cx = CallCx::detached();
    let offered = request().tool(tool("b")).tool(tool("a"));
    let manifest = provider.complete(&offered, &cx).await.unwrap().wire_manifest.unwrap();
    assert_eq!(manifest.tool_names.iter().map(|name| &**name).collect::<Vec<_>>(), ["b", "a"]);
    assert!(provider.complete(&request(), &cx).await.unwrap().wire_manifest.unwrap().tool_names.is_empty());
}

/// Proves LLM-11, LLM-55.
#[tokio::test]
async fn a_stop_reason_is_evidence_enough() {
    let events = case("text").events;
    let whole = answer_of(&stream(Answer::ok(sse(&events))).await.0);
    let unclosed = sse(&events[..events.len() - 1]);
    assert_eq!(answer_of(&stream(Answer::ok(&unclosed)).await.0), whole);
    let broken = Answer::ok("").with_body([Beat::Bytes(unclosed), Beat::Break]);
    assert_eq!(answer_of(&stream(broken).await.0), whole);
    let before = sse(&events[..events.len() - 2]);
    let broken = Answer::ok("").with_body([Beat::Bytes(before), Beat::Break]);
    let (_, error) = stream(broken).await;
    assert_eq!(error.unwrap().kind, LlmErrorKind::StreamBroken { delivered: true });
}

/// Proves LLM-18.
#[tokio::test]
async fn a_malformed_event_is_an_error_and_not_skipped() {
    for bad in [
        json!({"type": "message_start"}),
        json!({"type": "content_block_start", "index": 0}),
        json!({"type": "content_block_start", "index": 0, "content_block": 7}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": 7}}),
        json!({"type": "content_block_delta", "index": 0}),
        text_delta_without_text(),
        json!({"type": "content_block_delta", "index": 7, "delta": {"type": "thinking_delta", "thinking": "x"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": 7}}),
    ] {
        let (_, error) = stream(Answer::ok(sse(std::slice::from_ref(&bad)))).await;
        assert!(matches!(error.unwrap().kind, LlmErrorKind::UnreadableFrame), "{bad}");
    }
    let odd = json!({"type": "message", "content": [7], "stop_reason": "end_turn"});
    let error = complete(Answer::ok(odd.to_string())).await.unwrap_err();
    assert!(error.to_string().contains("content block is not an object"), "{error}");
}

fn text_delta_without_text() -> Json {
    json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}})
}
