//! What is read out of an answer.

use agentfootprint_core::llm::{ArgsError, LlmErrorKind, LlmResponse, StopReason, Usage};
use footprint::value;
use footprint::value::Value;
use serde_json::{Value as Json, json};

use super::*;
use crate::MalformedArgs;
use crate::testing::answer_of;

/// The same answer through both doors.
async fn both(message: Json, reason: &str) -> LlmResponse {
    let plain = plain(message, reason);
    let answer = wire().complete(Answer::ok(plain.to_string())).await.unwrap();
    let (chunks, error) = wire().stream(Answer::ok(lines(&[plain]))).await;
    assert!(error.is_none());
    let streamed = answer_of(&chunks);
    let without_ids = |mut response: LlmResponse| {
        response.tool_calls.iter_mut().for_each(|call| call.id = "".into());
        response
    };
    assert_eq!(without_ids(streamed), without_ids(answer.clone()));
    answer
}

fn call(name: &str, args: Json) -> Json {
    json!({"function": {"name": name, "arguments": args}})
}

/// Proves LLM-21, LLM-24, LLM-67.
#[tokio::test]
async fn counts_stops_and_who_served() {
    let answer = both(json!({"content": "hi"}), "stop").await;
    assert_eq!((answer.usage, answer.stop_reason), (Usage::new(26, 9), StopReason::Stop));
    assert_eq!(answer.provider_ref, None, "this wire has no id");
    let served = answer.served_by.unwrap();
    assert_eq!((&*served.provider, &*served.model), ("ollama", "llama3.2"));
    assert_eq!(both(json!({"content": "hi"}), "length").await.stop_reason, StopReason::MaxTokens);
    assert_eq!(both(json!({"content": ""}), "load").await.stop_reason.as_str(), "load");
    let called = both(json!({"content": "", "tool_calls": [call("f", json!({}))]}), "stop").await;
    assert_eq!(called.stop_reason, StopReason::ToolUse);
    let cut = both(json!({"content": "", "tool_calls": [call("f", json!({}))]}), "length").await;
    assert_eq!(cut.stop_reason, StopReason::MaxTokens);
}

/// Proves LLM-22.
#[tokio::test]
async fn what_was_not_counted_is_not_a_zero() {
    let silent = json!({"message": {"content": " \n"}, "done": true});
    let answer = wire().complete(Answer::ok(silent.to_string())).await.unwrap();
    assert!(!answer.usage.is_measured());
    assert_eq!((answer.content.as_str(), &answer.stop_reason), (" \n", &StopReason::Stop));
    let cached = json!({"message": {"content": "x"}, "done": true, "eval_count": 4});
    let answer = wire().complete(Answer::ok(cached.to_string())).await.unwrap();
    assert_eq!(answer.usage, Usage::new(0, 4));
}

/// Proves LLM-13, LLM-16, LLM-67.
#[tokio::test]
async fn calls_are_objects_get_ids_and_tolerate_text() {
    let calls = json!({"content": "", "tool_calls": [
        {"id": "call_7", "function": {"index": 0, "name": "f", "arguments": {"z": 1, "a": [2]}}},
        call("g", json!("{\"city\":\"Oslo\"}")), call("h", Json::Null), call("i", json!([1]))
    ]});
    let answer = both(calls, "stop").await;
    let shown: Vec<_> = answer
        .tool_calls
        .iter()
        .map(|call| format!("{} {}", call.name, Value::Object(call.args.clone())))
        .collect();
    assert_eq!(shown, [r#"f {"z":1,"a":[2]}"#, r#"g {"city":"Oslo"}"#, "h {}", "i {}"]);
    assert_eq!(&*answer.tool_calls[0].id, "call_7");
    assert!(answer.tool_calls[1].id.starts_with("ollama-call-"));
    assert_ne!(answer.tool_calls[1].id, answer.tool_calls[2].id);
    let error = ArgsError::of(&answer.tool_calls[3]).unwrap();
    assert!(error.message.contains("an array"));
    assert!(ArgsError::of(&answer.tool_calls[0]).is_none());
}

/// Proves LLM-16.
#[tokio::test]
async fn unreadable_arguments_can_be_refused() {
    let body = plain(json!({"content": "", "tool_calls": [call("f", json!("{\"a\": \"it beg"))]}), "length");
    let (builder, _) = builder([Answer::ok(body.to_string())]);
    let strict = builder.malformed_args(MalformedArgs::Refuse).build().unwrap();
    let error = strict.complete(&wire().request(), &CallCx::detached()).await.unwrap_err();
    assert!(matches!(error.kind, LlmErrorKind::MalformedToolArgs { raw_length: 13, .. }), "{error:?}");
    assert_eq!(error.record_code(), Some("OLLAMA_MALFORMED_TOOL_ARGS"));
    assert!(error.to_string().contains("max_tokens") && !error.to_string().contains("it beg"), "{error}");
}

/// Calls come on a line of their own, before the last one.
///
/// Proves LLM-13, LLM-67.
#[tokio::test]
async fn a_stream_with_thinking_text_and_calls_on_several_lines() {
    let body = lines(&[
        line(json!({"content": "", "thinking": "two "})),
        line(json!({"content": "", "thinking": "cities"})),
        line(json!({"content": "One moment."})),
        line(json!({"content": "", "tool_calls": [call("weather", json!({"city": "Oslo"}))]})),
        line(json!({"content": "", "tool_calls": [call("weather", json!({"city": "Rome"}))]})),
        plain(json!({"content": ""}), "stop"),
    ]);
    let (chunks, error) = wire().stream(Answer::in_pieces(&body, 5)).await;
    assert!(error.is_none());
    assert_eq!(chunks.len(), 4, "two thoughts, one text, Done");
    let answer = answer_of(&chunks);
    assert_eq!(answer.tool_calls.len(), 2);
    assert_eq!(answer.raw_thinking, Some(value!({"kind": "field", "thinking": "two cities"})));
    assert_eq!((answer.content.as_str(), answer.stop_reason), ("One moment.", StopReason::ToolUse));
}

/// Proves LLM-90.
#[tokio::test]
async fn inline_thinking_is_handed_over_and_the_answer_left_alone() {
    let answer = both(json!({"content": "<think>hm</think>Yes."}), "stop").await;
    assert_eq!(answer.content, "<think>hm</think>Yes.");
    let handler = Ollama::builder().build().unwrap().capabilities("m").thinking_handler.unwrap();
    let blocks = handler.normalize(answer.raw_thinking.as_ref().unwrap()).unwrap();
    assert_eq!((blocks.len(), &*blocks[0].content), (1, "hm"));
}

/// Proves LLM-18.
#[tokio::test]
async fn a_line_that_is_not_this_wire_is_an_error() {
    for bad in [
        "{\"message\": ",
        "7",
        "{\"message\": 7}",
        "{\"message\":{\"content\":7}}",
        "{\"message\":{\"tool_calls\":[{}]}}",
    ] {
        let body = [lines(&[line(json!({"content": "a"}))]), format!("{bad}\n").into_bytes()].concat();
        let body = [body, lines(&[plain(json!({"content": "z"}), "stop")])].concat();
        let (chunks, error) = wire().stream(Answer::ok(body)).await;
        assert_eq!(chunks.len(), 1, "{bad}");
        assert!(matches!(error.unwrap().kind, LlmErrorKind::UnreadableFrame), "{bad}");
    }
}

/// Lines end with CRLF, blank lines stand between them, and a reason of another kind keeps its word.
///
/// Proves LLM-15, LLM-24.
#[tokio::test]
async fn lines_in_other_forms_and_reasons_of_other_kinds() {
    for reason in ["load", "unload", "length"] {
        let body = format!(
            "{{\"message\":{{\"role\":\"assistant\",\"content\":\"a\"}},\"done\":false}}\r\n\r\n{{\"message\":{{\"content\":\"\"}},\"done\":true,\"done_reason\":\"{reason}\"}}"
        );
        let (chunks, error) = wire().stream(Answer::ok(body)).await;
        assert!(error.is_none(), "{error:?}");
        let answer = answer_of(&chunks);
        let word = if reason == "length" { "max_tokens" } else { reason };
        assert_eq!((answer.content.as_str(), answer.stop_reason.as_str()), ("a", word));
    }
    let (chunks, error) = wire()
        .stream(Answer::ok("{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"error\":\"runner died\"}\n"))
        .await;
    assert_eq!(chunks.len(), 1);
    assert!(error.unwrap().to_string().contains("runner died"));
}
