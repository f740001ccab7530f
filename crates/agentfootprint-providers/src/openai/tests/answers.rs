//! What is read out of an answer.

use agentfootprint_core::llm::{
    ArgsError, LlmErrorKind, LlmProvider, LlmRequest, StopReason, ToolSchema, Usage,
};
use agentfootprint_core::llm::{CallCx, LlmResponse};
use footprint::value;
use footprint::value::Value;
use proptest::prelude::*;
use serde_json::json;

use super::super::response::from_wire;
use super::fixtures::{Case, cases, completion, frame, older_form, sse, unclosed, usage, usage_frame};
use super::*;
use crate::MalformedArgs;
use crate::http::HeaderMap;
use crate::http::testing::Beat;

fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name.starts_with(name)).expect("the case exists")
}

async fn plain_of(name: &str) -> LlmResponse {
    complete(Answer::ok(case(name).plain.to_string())).await.unwrap()
}

/// Proves LLM-10, LLM-13, LLM-14.
#[tokio::test]
async fn complete_and_stream_give_the_same_answer() {
    for case in cases() {
        let plain = complete(Answer::ok(case.plain.to_string())).await.unwrap();
        let (chunks, error) = stream(Answer::ok(sse(&case.frames))).await;
        assert!(error.is_none(), "{}: {error:?}", case.name);
        assert_eq!(answer_of(&chunks), plain, "{}", case.name);
    }
}

/// Proves LLM-21, LLM-22, LLM-24, LLM-60.
#[tokio::test]
async fn counts_are_disjoint_and_stops_are_ours() {
    let text = plain_of("text").await;
    assert_eq!(text.usage, Usage::new(40, 18).with_cache_read(60).with_thinking(12));
    assert_eq!(text.usage.prompt_total(), 100);
    assert_eq!(text.content, "Grüß dich, 世界 😀");
    assert_eq!((text.stop_reason, text.provider_ref.as_deref()), (StopReason::Stop, Some("chatcmpl-1")));
    let served = text.served_by.unwrap();
    assert_eq!((&*served.provider, &*served.model), ("openai", "gpt-4o-mini"));

    let silent = plain_of("white space only").await;
    assert!(!silent.usage.is_measured());
    assert_eq!((silent.usage.input, silent.usage.output, silent.content.as_str()), (0, 0, " \n"));
    assert_eq!(silent.provider_ref, None);

    assert_eq!(plain_of("a call without arguments").await.stop_reason, StopReason::ToolUse);
    assert_eq!(plain_of("refusal").await.stop_reason, StopReason::ContentFilter);
    assert_eq!(plain_of("refusal").await.content, "I cannot help with that.");
    assert_eq!(plain_of("content filter").await.stop_reason, StopReason::ContentFilter);
    assert_eq!(plain_of("a vendor's own").await.stop_reason.as_str(), "insufficient_system_resource");
    assert_eq!(plain_of("reasoning text").await.raw_thinking, Some(Value::from("two and two")));
    assert_eq!(plain_of("content in parts").await.raw_thinking, Some(Value::from("hm")));
}

/// Proves LLM-16, LLM-60.
#[tokio::test]
async fn what_compatible_servers_say_otherwise() {
    let older = older_form();
    let plain = complete(Answer::ok(older.plain.to_string())).await.unwrap();
    let streamed = answer_of(&stream(Answer::ok(sse(&older.frames))).await.0);
    for answer in [plain, streamed] {
        assert_eq!((answer.tool_calls.len(), answer.stop_reason), (1, StopReason::ToolUse));
        let call = &answer.tool_calls[0];
        assert_eq!((&*call.name, Value::Object(call.args.clone()).to_string().as_str()), ("f", r#"{"a":1}"#));
        assert!(!call.id.is_empty(), "an id is made up");
    }
    let both = plain_of("both forms").await;
    assert_eq!(both.tool_calls.iter().map(|call| &*call.id).collect::<Vec<_>>(), ["c1"]);
    assert_eq!(plain_of("reasoning in the details").await.raw_thinking, Some(Value::from("two and two")));
    for name in ["usage in the server", "usage in the choice", "usage that grows"] {
        assert_eq!(plain_of(name).await.usage, plain_of("text").await.usage, "{name}");
    }
    let refused = plain_of("a refusal and thinking").await;
    assert_eq!((refused.content.as_str(), refused.stop_reason), ("No.", StopReason::ContentFilter));
    assert_eq!(refused.raw_thinking, Some(Value::from("hmm")));
    let listed = plain_of("arguments that are a list").await;
    assert!(ArgsError::of(&listed.tool_calls[0]).unwrap().message.contains("an array instead of an object"));
}

/// A byte order mark, CRLF, comments, fields nobody asked for, and no closing line.
///
/// Proves LLM-15, LLM-60.
#[tokio::test]
async fn a_stream_may_be_dressed_differently() {
    let body = "\u{feff}: OPENROUTER PROCESSING\r\n\r\nid: 1\r\nretry: 10\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"Grüß\"}}]}\r\n\r\n\
                : keep-alive\n\nevent: message\ndata: {\"choices\":\ndata: [{\"delta\":{},\"finish_reason\":\"eos\"}]}";
    for piece in [1, 3, body.len()] {
        let (chunks, error) = stream(Answer::in_pieces(body.as_bytes(), piece)).await;
        assert!(error.is_none(), "{error:?}");
        let answer = answer_of(&chunks);
        assert_eq!((answer.content.as_str(), answer.stop_reason.as_str()), ("Grüß", "eos"));
        assert!(!answer.usage.is_measured());
    }
}

/// A server that counts reasoning with another tokenizer.
///
/// Proves LLM-21.
#[tokio::test]
async fn a_count_is_never_below_zero() {
    let odd = json!({"prompt_tokens": 5, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 9}});
    let body = completion(json!({"content": "x"}), "stop", odd);
    let response = complete(Answer::ok(body.to_string())).await.unwrap();
    assert_eq!(response.usage, Usage::new(5, 0).with_thinking(9));
}

/// Proves LLM-13, LLM-16.
#[tokio::test]
async fn calls_come_in_the_order_of_their_index() {
    let (chunks, _) = stream(Answer::ok(sse(&case("two parallel").frames))).await;
    let calls = answer_of(&chunks).tool_calls;
    let shown: Vec<_> = calls
        .iter()
        .map(|call| format!("{} {} {}", call.id, call.name, Value::Object(call.args.clone())))
        .collect();
    assert_eq!(shown, [r#"c1 weather {"city":"Oslo"}"#, "c2 time {}"]);
    assert_eq!(chunks.len(), 1, "fragments of calls are never shown");
}

/// Proves LLM-16.
#[tokio::test]
async fn unreadable_arguments_are_returned_with_a_reason_or_refused() {
    let cut = plain_of("arguments cut").await;
    assert_eq!(cut.stop_reason, StopReason::MaxTokens);
    let error = ArgsError::of(&cut.tool_calls[0]).unwrap();
    assert!(cut.tool_calls[0].args.is_empty());
    assert!(error.message.contains("max_tokens") && !error.message.contains("it beg"));
    assert_eq!(error.length, 16);

    let body = case("arguments cut").plain.to_string();
    let (builder, _) = builder([Answer::ok(&body)]);
    let strict = builder.malformed_args(MalformedArgs::Refuse).build().unwrap();
    let error = strict.complete(&request(), &CallCx::detached()).await.unwrap_err();
    let LlmErrorKind::MalformedToolArgs { tool_name, tool_use_id, block_index: 0, raw_length: 16 } =
        &error.kind
    else {
        panic!("{error:?}")
    };
    assert_eq!((tool_name.as_str(), tool_use_id.as_str()), ("report", "c1"));
    assert_eq!(error.record_code(), Some("OPENAI_MALFORMED_TOOL_ARGS"));
    assert!(!format!("{error} {error:?}").contains("it beg"));

    // The name that is needed to answer it cannot be made up.
    let nameless = completion(
        json!({"tool_calls": [{"id": "c1", "function": {"arguments": "{}"}}]}),
        "tool_calls",
        usage(),
    );
    let error = complete(Answer::ok(nameless.to_string())).await.unwrap_err();
    assert!(matches!(error.kind, LlmErrorKind::UnreadableResponse));
}

#[tokio::test]
async fn a_missing_call_id_is_made_up_and_unique() {
    let call = json!({"function": {"name": "f", "arguments": "{}"}});
    let body = completion(json!({"tool_calls": [call, call]}), "tool_calls", usage());
    let calls = complete(Answer::ok(body.to_string())).await.unwrap().tool_calls;
    assert!(calls.iter().all(|call| call.id.starts_with("openai-call-")));
    assert_ne!(calls[0].id, calls[1].id);
}

/// Proves LLM-17.
#[tokio::test]
async fn a_promised_call_that_never_came_is_an_error_on_both_paths() {
    let body = completion(json!({"content": "Let me see."}), "tool_calls", usage());
    let plain = complete(Answer::ok(body.to_string())).await.unwrap_err();
    let frames = [frame(json!({"content": "Let me see."}), Some("tool_calls"))];
    let (_, streamed) = stream(Answer::ok(sse(&frames))).await;
    for error in [plain, streamed.unwrap()] {
        assert!(matches!(error.kind, LlmErrorKind::ToolUseLost));
        assert_eq!(error.record_code(), Some("OPENAI_STREAM_TOOLUSE_LOST"));
    }
}

/// Proves LLM-42.
#[tokio::test]
async fn the_manifest_is_read_back_from_the_body() {
    let tool = |name: &str| ToolSchema::new(name, "d", value!({"type": "object"}));
    let offered = LlmRequest::new("gpt-4o-mini").user("hi").tool(tool("b")).tool(tool("a"));
    let body = case("text").plain.to_string();
    let provider = official([Answer::ok(&body), Answer::ok(&body)]);
    let cx = CallCx::detached();
    let manifest = provider.complete(&offered, &cx).await.unwrap().wire_manifest.unwrap();
    assert_eq!(manifest.tool_names.iter().map(|name| &**name).collect::<Vec<_>>(), ["b", "a"]);
    assert!(provider.complete(&request(), &cx).await.unwrap().wire_manifest.unwrap().tool_names.is_empty());
}

/// Proves LLM-11, LLM-60.
#[tokio::test]
async fn a_missing_done_is_fine_after_a_reason_and_an_error_before() {
    let frames = case("text").frames;
    let whole = answer_of(&stream(Answer::ok(sse(&frames))).await.0);
    assert_eq!(answer_of(&stream(Answer::ok(unclosed(&frames))).await.0), whole);
    // The connection breaks after the reason: the answer is whole.
    let broken = Answer::ok("").with_body([Beat::Bytes(unclosed(&frames)), Beat::Break]);
    assert_eq!(answer_of(&stream(broken).await.0), whole);

    let (chunks, error) = stream(Answer::ok(sse(&frames[..2]))).await;
    let error = error.unwrap();
    assert_eq!(chunks.len(), 1);
    assert!(matches!(error.kind, LlmErrorKind::StreamIncomplete { delivered: true }));
    assert!(!error.retryable());
    let (_, error) = stream(Answer::ok("")).await;
    assert!(matches!(error.unwrap().kind, LlmErrorKind::StreamIncomplete { delivered: false }));

    let broken = Answer::ok("").with_body([Beat::Bytes(unclosed(&frames[..2])), Beat::Break]);
    let (_, error) = stream(broken).await;
    assert!(matches!(error.unwrap().kind, LlmErrorKind::StreamBroken { delivered: true }));
}

/// Proves LLM-18.
#[tokio::test]
async fn a_malformed_frame_is_an_error_and_not_skipped() {
    for bad in [
        "data: {\"choices\": [\n\n",
        "data: 7\n\n",
        "data: {\"choices\": 7}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":7}}]}\n\n",
    ] {
        let mut body = unclosed(&[frame(json!({"content": "a"}), None)]);
        body.extend_from_slice(bad.as_bytes());
        body.extend(sse(&[frame(json!({"content": "canary"}), Some("stop"))]));
        let (chunks, error) = stream(Answer::ok(body)).await;
        assert_eq!(chunks.len(), 1, "{bad}");
        assert!(matches!(error.unwrap().kind, LlmErrorKind::UnreadableFrame), "{bad}");
    }
}

/// Proves LLM-60.
#[tokio::test]
async fn an_endpoint_that_ignores_stream_is_refused_by_name() {
    let (_, error) = stream(Answer::ok(case("text").plain.to_string())).await;
    let error = error.unwrap();
    assert!(matches!(error.kind, LlmErrorKind::UnreadableResponse));
    assert!(
        error.to_string().contains("ignored `stream`") && error.to_string().contains(".streaming(false)")
    );
    let (_, error) = stream(Answer::ok("<html>welcome</html>")).await;
    assert!(error.unwrap().to_string().contains("HTML"));
}

#[tokio::test]
async fn keep_alives_and_other_choices_are_not_part_of_the_answer() {
    let mut body = b": OPENROUTER PROCESSING\n\ndata:\n\n".to_vec();
    let other = json!({"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": null}]});
    body.extend(sse(&[other, frame(json!({"content": "yes"}), Some("stop")), usage_frame(usage())]));
    assert_eq!(answer_of(&stream(Answer::ok(body)).await.0).content, "yes");
}

/// Wherever a body is cut, nothing panics, and either the answer is whole or its being cut is said.
///
/// Proves LLM-11, LLM-15.
#[test]
fn a_body_cut_at_every_byte_is_an_answer_or_an_error() {
    let finish = finish();
    for case in cases() {
        let body = sse(&case.frames);
        let whole = answer_of(&now(stream(Answer::ok(&body))).0);
        for end in 0..body.len() {
            let (mut machine, mut chunks) = (machine(&finish), Vec::new());
            let closed = machine.push(&body[..end], &mut chunks).unwrap();
            match if closed { machine.done() } else { machine.end(None, &mut chunks) } {
                Ok(done) => {
                    chunks.push(done);
                    assert_eq!(answer_of(&chunks).content, whole.content);
                }
                Err(error) => assert!(
                    matches!(error.kind, LlmErrorKind::StreamIncomplete { .. }),
                    "{} cut at {end}: {error:?}",
                    case.name
                ),
            }
        }
        let body = case.plain.to_string().into_bytes();
        for end in 0..body.len() {
            let error = from_wire(&body[..end], &HeaderMap::new(), &finish).unwrap_err();
            assert!(matches!(error.kind, LlmErrorKind::UnreadableResponse), "{} cut at {end}", case.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Proves LLM-15.
    #[test]
    fn any_split_of_the_bytes_gives_the_same_chunks(
        at in 0..usize::MAX, sizes in prop::collection::vec(1_usize..40, 1..200), crlf: bool
    ) {
        let cases = cases();
        let case = &cases[at % cases.len()];
        let mut body = sse(&case.frames);
        if crlf {
            body = String::from_utf8(body).unwrap().replace('\n', "\r\n").into_bytes();
        }
        let mut rest = body.as_slice();
        let mut beats = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() { break; }
            let (piece, tail) = rest.split_at((*size).min(rest.len()));
            beats.push(Beat::Bytes(piece.to_vec()));
            rest = tail;
        }
        let whole = now(stream(Answer::ok(&body)));
        let split = now(stream(Answer::ok("").with_body(beats)));
        prop_assert_eq!(split.0, whole.0);
        prop_assert!(split.1.is_none() && whole.1.is_none());
    }
}
