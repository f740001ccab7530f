//! What is read out of an answer.

use agentfootprint_core::llm::{ArgsError, LlmErrorKind, StopReason, ThinkingHandler, ToolSchema, Usage};
use footprint::value;
use footprint::value::Value;
use serde_json::json;

use super::fixtures::*;
use super::*;
use crate::MalformedArgs;
use crate::gemini::GeminiThinking;
use crate::http::testing::Beat;

fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name.starts_with(name)).expect("the case exists")
}

async fn plain_of(name: &str) -> LlmResponse {
    complete(Answer::ok(case(name).plain.to_string())).await.unwrap()
}

/// Also where a stream is a growing list, compact or pretty.
///
/// Proves LLM-10, LLM-13, LLM-14, LLM-65.
#[tokio::test]
async fn complete_and_stream_give_the_same_answer() {
    for case in cases() {
        let plain = complete(Answer::ok(case.plain.to_string())).await.unwrap();
        let list = json!(case.chunks);
        let bodies = [
            sse(&case.chunks),
            list.to_string().into_bytes(),
            serde_json::to_vec_pretty(&list).unwrap(),
            case.plain.to_string().into_bytes(),
        ];
        for body in bodies {
            let (chunks, error) = stream(Answer::in_pieces(&body, 11)).await;
            assert!(error.is_none(), "{}: {error:?}", case.name);
            assert_eq!(answer_of(&chunks), plain, "{}", case.name);
        }
    }
}

/// Proves LLM-21, LLM-22, LLM-24.
#[tokio::test]
async fn counts_are_disjoint_and_stops_are_ours() {
    let text = plain_of("text").await;
    assert_eq!(text.usage, Usage::new(40, 18).with_cache_read(60).with_thinking(12));
    assert_eq!(text.usage.prompt_total(), 100);
    assert_eq!((text.stop_reason, text.provider_ref.as_deref()), (StopReason::Stop, Some("r1")));
    let served = text.served_by.unwrap();
    assert_eq!((&*served.provider, &*served.model), ("gemini", MODEL));
    for (name, word) in [
        ("two parallel", "tool_use"),
        ("cut", "max_tokens"),
        ("unsafe", "content_filter"),
        ("recited", "RECITATION"),
        ("malformed", "MALFORMED_FUNCTION_CALL"),
    ] {
        assert_eq!(plain_of(name).await.stop_reason.as_str(), word);
    }
    for word in ["PROHIBITED_CONTENT", "BLOCKLIST", "SPII"] {
        let body = answer(json!([]), json!(word)).to_string();
        assert_eq!(complete(Answer::ok(body)).await.unwrap().stop_reason, StopReason::ContentFilter);
    }
    let missing = answer(json!([{"text": "x"}]), json!(null)).to_string();
    assert_eq!(complete(Answer::ok(missing)).await.unwrap().stop_reason, StopReason::Stop);
    let silent = plain_of("no content").await;
    assert!(!silent.usage.is_measured() && silent.usage.thinking.is_none());
    let odd = json!({
        "candidates": [{"finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 5, "cachedContentTokenCount": 9}
    });
    let usage = complete(Answer::ok(odd.to_string())).await.unwrap().usage;
    assert_eq!(usage, Usage::new(0, 0).with_cache_read(9), "a count is never below zero");
}

/// Proves LLM-65.
#[tokio::test]
async fn a_blocked_prompt_is_filtered_and_not_an_empty_stop() {
    let blocked = plain_of("prompt blocked").await;
    assert_eq!((blocked.stop_reason, blocked.content.as_str()), (StopReason::ContentFilter, ""));
    assert_eq!(blocked.usage, Usage::new(9, 0));
}

/// An answer in several rounds states a reason after each.
///
/// Proves LLM-65.
#[tokio::test]
async fn text_after_a_finish_reason_belongs_to_the_answer() {
    let rounds = [
        answer(json!([{"text": "one, "}]), json!("STOP")),
        chunk(json!([{"text": "two"}])),
        answer(json!([{"text": "."}]), json!("MAX_TOKENS")),
    ];
    let response = answer_of(&stream(Answer::ok(sse(&rounds))).await.0);
    assert_eq!((response.content.as_str(), response.stop_reason), ("one, two.", StopReason::MaxTokens));
}

/// Proves LLM-65, LLM-91.
#[tokio::test]
async fn signatures_stay_on_their_calls_and_thoughts_out_of_the_text() {
    let calls = plain_of("two parallel").await.tool_calls;
    assert_eq!(calls[0].provider_meta, Some(value!({"thoughtSignature": "c2ln+/="})));
    assert_eq!(calls[1].provider_meta, None);
    assert_eq!(Value::Object(calls[0].args.clone()).to_string(), r#"{"z":1,"a":2}"#);
    assert_eq!((&*calls[0].id, &*calls[1].id), ("id-weather", "id-time"));

    let thought = plain_of("thoughts").await;
    assert_eq!(thought.content, "4");
    let blocks = GeminiThinking.normalize(&thought.raw_thinking.unwrap()).unwrap();
    assert_eq!((&*blocks[0].content, blocks[0].summary), ("two and two", Some(true)));
    assert_eq!(blocks[0].origin.as_deref(), Some("gemini"));
    let (chunks, _) = stream(Answer::ok(sse(&case("thoughts").chunks))).await;
    assert_eq!(chunks.iter().filter(|chunk| matches!(chunk, LlmChunk::Thinking { .. })).count(), 2);
}

/// Proves LLM-16, LLM-65.
#[tokio::test]
async fn missing_ids_are_made_up_and_unreadable_arguments_said() {
    let parts = json!([
        {"functionCall": {"name": "f"}}, {"functionCall": {"name": "f", "args": null}},
        {"functionCall": {"name": "g", "args": [1]}}
    ]);
    let body = answer(parts, json!("STOP")).to_string();
    let calls = complete(Answer::ok(&body)).await.unwrap().tool_calls;
    assert!(calls.iter().all(|call| call.id.starts_with("gemini-call-")));
    assert_ne!(calls[0].id, calls[1].id);
    assert!(calls[..2].iter().all(|call| call.args.is_empty() && ArgsError::of(call).is_none()));
    assert!(ArgsError::of(&calls[2]).unwrap().message.contains("an array"));

    let strict = builder([Answer::ok(&body)]).0.malformed_args(MalformedArgs::Refuse).build().unwrap();
    let error = strict.complete(&request(), &CallCx::detached()).await.unwrap_err();
    assert!(matches!(error.kind, LlmErrorKind::MalformedToolArgs { block_index: 2, .. }));
    assert_eq!(error.record_code(), Some("GEMINI_MALFORMED_TOOL_ARGS"));

    let nameless = answer(json!([{"functionCall": {"args": {}}}]), json!("STOP")).to_string();
    let error = complete(Answer::ok(nameless)).await.unwrap_err();
    assert!(matches!(error.kind, LlmErrorKind::UnreadableResponse));
}

/// The output limit does not cut arguments on this wire, it says so beside whole calls.
#[tokio::test]
async fn calls_at_the_limit_keep_the_reason() {
    let body = answer(json!([{"functionCall": {"name": "f", "args": {}}}]), json!("MAX_TOKENS")).to_string();
    let response = complete(Answer::ok(body)).await.unwrap();
    assert_eq!((response.stop_reason, response.tool_calls.len()), (StopReason::MaxTokens, 1));
}

/// Proves LLM-42.
#[tokio::test]
async fn the_manifest_is_read_back_from_the_body() {
    let tool = |name: &str| ToolSchema::new(name, "d", value!({"type": "object"}));
    let provider = official([Answer::ok(hello().to_string()), Answer::ok(hello().to_string())]);
    let cx = CallCx::detached();
    let offered = request().tool(tool("b")).tool(tool("a"));
    let manifest = provider.complete(&offered, &cx).await.unwrap().wire_manifest.unwrap();
    assert_eq!(manifest.tool_names.iter().map(|name| &**name).collect::<Vec<_>>(), ["b", "a"]);
    assert!(provider.complete(&request(), &cx).await.unwrap().wire_manifest.unwrap().tool_names.is_empty());
}

/// Proves LLM-11.
#[tokio::test]
async fn a_finish_reason_is_evidence_enough() {
    let chunks = case("text").chunks;
    let whole = answer_of(&stream(Answer::ok(sse(&chunks))).await.0);
    let broken = Answer::ok("").with_body([Beat::Bytes(sse(&chunks)), Beat::Break]);
    assert_eq!(answer_of(&stream(broken).await.0), whole);
    let broken = Answer::ok("").with_body([Beat::Bytes(sse(&chunks[..1])), Beat::Break]);
    let (_, error) = stream(broken).await;
    assert_eq!(error.unwrap().kind, LlmErrorKind::StreamBroken { delivered: true });
}

/// Proves LLM-18.
#[tokio::test]
async fn a_malformed_chunk_is_an_error_and_not_skipped() {
    for bad in [
        json!({"candidates": 7}),
        json!({"candidates": [{"content": {"parts": 7}}]}),
        json!({"candidates": [{"content": {"parts": [{"text": 7}]}}]}),
        json!({"candidates": [{"finishReason": 7}]}),
    ] {
        let (_, error) = stream(Answer::ok(sse(std::slice::from_ref(&bad)))).await;
        assert!(matches!(error.unwrap().kind, LlmErrorKind::UnreadableFrame), "{bad}");
        let error = complete(Answer::ok(bad.to_string())).await.unwrap_err();
        assert!(matches!(error.kind, LlmErrorKind::UnreadableResponse), "{bad}");
    }
}
