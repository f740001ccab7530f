//! What compatible servers do beside the documentation, each kind once. The answers of [`super::fixtures`] hold the others.

use agentfootprint_core::llm::{LlmErrorKind as K, StopReason};
use footprint::value::Value;
use serde_json::{Value as Json, json};

use super::fixtures::{completion, frame, sse, unclosed, usage, usage_frame};
use super::*;

fn piece(call: Json) -> Json {
    frame(json!({"tool_calls": [call]}), None)
}

async fn calls_of(frames: Vec<Json>) -> Vec<String> {
    let (chunks, error) = stream(Answer::ok(sse(&frames))).await;
    assert!(error.is_none(), "{error:?}");
    let answer = answer_of(&chunks);
    answer
        .tool_calls
        .iter()
        .map(|call| format!("{} {}", call.name, Value::Object(call.args.clone())))
        .collect()
}

/// Proves LLM-60.
#[tokio::test]
async fn names_come_at_once_again_growing_or_in_pieces() {
    let named = |name: &str, args: &str| json!({"index": 0, "function": {"name": name, "arguments": args}});
    let end = || frame(json!({}), Some("tool_calls"));
    let cases = [
        vec![named("get_", ""), named("weather", ""), named("", "{}"), end()],
        vec![named("get_weather", ""), named("get_weather", "{}"), end()],
        vec![named("get", ""), named("get_weather", "{}"), end()],
        vec![named("get_weather", "{"), named("get_weather", "}"), end()],
        vec![json!({"index": 0, "function": null}), named("get_weather", "{}"), end()],
    ];
    for case in cases {
        let frames =
            case.into_iter().map(|part| if part.get("choices").is_some() { part } else { piece(part) });
        assert_eq!(calls_of(frames.collect()).await, ["get_weather {}"]);
    }
}

/// Whole calls of a server that numbers each 0, or none, and sends no ids.
///
/// Proves LLM-60.
#[tokio::test]
async fn calls_without_ids_are_told_apart_by_their_arguments_being_whole() {
    for index in [json!(0), Json::Null] {
        let call = |name: &str, args: &str| {
            piece(json!({"index": index, "function": {"name": name, "arguments": args}}))
        };
        let frames = vec![
            call("time", "{\"zone\":\"a}\"}"),
            call("time", "{\"zone\":\"b\"}"),
            call("date", "{}"),
            call("date", ""), // the last one again, with nothing new
            frame(json!({}), Some("tool_calls")),
        ];
        assert_eq!(calls_of(frames).await, [r#"time {"zone":"a}"}"#, r#"time {"zone":"b"}"#, "date {}"]);
    }
}

/// Text cut by code units: half a character at the end of one frame, the other half in the next.
#[tokio::test]
async fn half_a_character_does_not_end_the_stream() {
    let raw =
        |content: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\n");
    let body = [
        raw("a\\ud83d"),
        raw("\\ude00b \\ud83d\\ude00"),
        String::from_utf8(sse(&[frame(json!({}), Some("stop"))])).unwrap(),
    ];
    let (chunks, error) = stream(Answer::ok(body.concat())).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(answer_of(&chunks).content, "a\u{fffd}\u{fffd}b 😀");
}

/// Keep-alives, comments, ids, retries, CR line ends, a BOM: none of it is content.
#[tokio::test]
async fn the_form_of_the_stream_is_not_its_content() {
    let frames =
        [frame(json!({"content": "yes"}), None), frame(json!({}), Some("stop")), usage_frame(usage())];
    let text = String::from_utf8(sse(&frames)).unwrap();
    let plain = answer_of(&stream(Answer::ok(&text)).await.0);
    let odd = [
        format!("\u{feff}{text}"),
        format!(": hello\nretry: 3000\nid: 1\n\n{text}"),
        text.replace('\n', "\r"),
        text.replace("data: ", "data:"),
        text.replace("data: ", "event: message\ndata: "),
        text.trim_end().to_owned(),
    ];
    for body in odd {
        let (chunks, error) = stream(Answer::ok(&body)).await;
        assert!(error.is_none(), "{error:?} {body:?}");
        assert_eq!(answer_of(&chunks), plain, "{body:?}");
    }
}

/// An error inside a stream means what its status or its code says, before and after part of the answer.
///
/// Proves LLM-60.
#[tokio::test]
async fn errors_inside_a_stream_are_typed() {
    let named = |code: &str| json!({"error": {"message": "no", "type": code, "code": code}});
    let cases = [
        (json!({"error": {"message": "slow down", "code": 429}}), K::RateLimited),
        (json!({"error": {"message": "down", "code": 502}}), K::Transient),
        (json!({"error": {"message": "bad key", "code": "401"}}), K::Auth),
        (named("rate_limit_exceeded"), K::RateLimited),
        (named("invalid_api_key"), K::Auth),
        (named("invalid_request_error"), K::InvalidRequest),
        (named("model_not_found"), K::ModelNotFound),
        (named("server_error"), K::StreamBroken { delivered: false }),
    ];
    for (body, kind) in cases {
        let error = stream(Answer::ok(unclosed(std::slice::from_ref(&body)))).await.1.unwrap();
        assert_eq!(error.kind, kind, "{body}");
        assert!(error.to_string().starts_with("[openai] "));
        let later = [frame(json!({"content": "x"}), None), body.clone()];
        let (chunks, error) = stream(Answer::ok(unclosed(&later))).await;
        let kind = match kind {
            K::StreamBroken { .. } => K::StreamBroken { delivered: true },
            other => other,
        };
        assert_eq!((chunks.len(), error.unwrap().kind.clone()), (1, kind), "{body}");
    }
    // Bare words, and the field of an older server.
    for body in
        ["event: error\ndata: backend died\n\n", "error: {\"code\":500,\"message\":\"backend died\"}\n\n"]
    {
        let error = stream(Answer::ok(body)).await.1.unwrap();
        assert!(error.to_string().contains("backend died"), "{error}");
        assert!(error.retryable());
    }
    // An error field with nothing in it is none.
    for empty in [json!(null), json!({}), json!(""), json!(false)] {
        let mut last = frame(json!({"content": "ok"}), Some("stop"));
        last["error"] = empty.clone();
        assert_eq!(answer_of(&stream(Answer::ok(sse(&[last]))).await.0).content, "ok");
        let mut whole = completion(json!({"content": "ok"}), "stop", usage());
        whole["error"] = empty;
        assert_eq!(complete(Answer::ok(whole.to_string())).await.unwrap().content, "ok");
    }
}

/// `[DONE]` is no evidence: proxies close a stream with it whatever became of the answer.
///
/// Proves LLM-11, LLM-60.
#[tokio::test]
async fn a_done_without_a_reason_is_a_cut() {
    let (chunks, error) = stream(Answer::ok(sse(&[frame(json!({"content": "half"}), None)]))).await;
    assert_eq!(chunks.len(), 1);
    assert_eq!(error.unwrap().kind, K::StreamIncomplete { delivered: true });
    // A plain completion is whole by being JSON.
    let mut bare = completion(json!({"content": "whole"}), "stop", usage());
    bare["choices"][0]["finish_reason"] = Json::Null;
    let answer = complete(Answer::ok(bare.to_string())).await.unwrap();
    assert_eq!((answer.content.as_str(), answer.stop_reason), ("whole", StopReason::Stop));
}

/// An endpoint that streams although a whole answer was asked for says so.
#[tokio::test]
async fn a_stream_in_place_of_a_whole_answer_is_named() {
    let body = sse(&[frame(json!({"content": "canary"}), Some("stop"))]);
    let error = complete(Answer::ok(body)).await.unwrap_err();
    assert_eq!(error.kind, K::UnreadableResponse);
    assert!(
        error.to_string().contains("a stream of events") && !error.to_string().contains("canary"),
        "{error}"
    );
}

/// Odd corners of a message that mean nothing.
#[tokio::test]
async fn what_means_nothing_changes_nothing() {
    for message in [
        json!({"content": "x", "tool_calls": []}),
        json!({"content": "x", "tool_calls": null, "function_call": null, "refusal": null, "audio": null}),
        json!({"content": "x", "tool_calls": [null], "reasoning_content": null}),
        json!({"content": "x", "reasoning": "", "reasoning_details": []}),
        json!({"content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {}}, null]}),
    ] {
        let plain =
            complete(Answer::ok(completion(message.clone(), "stop", usage()).to_string())).await.unwrap();
        assert_eq!(
            (plain.content.as_str(), plain.tool_calls.len(), plain.raw_thinking),
            ("x", 0, None),
            "{message}"
        );
        let streamed = stream(Answer::ok(sse(&[frame(message, Some("stop"))]))).await.0;
        assert_eq!(answer_of(&streamed).content, "x");
    }
}
