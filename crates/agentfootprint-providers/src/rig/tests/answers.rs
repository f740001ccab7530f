use std::time::Duration;

use agentfootprint_core::llm::{
    ArgsError, LlmErrorKind, StopReason, ThinkingHandler, TimeoutPhase, Usage as Ours,
};
use footprint::value;
use futures_util::{FutureExt, StreamExt};
use serde_json::json;

use super::*;
use crate::http::Deadlines;

fn whole_answer() -> Vec<Say> {
    let usage = Usage::new()
        .input_tokens(100)
        .output_tokens(30)
        .total_tokens(130)
        .cached_input_tokens(60)
        .cache_creation_input_tokens(10)
        .reasoning_tokens(20);
    vec![
        Say::Think("one"),
        Say::Think(" two"),
        Say::Text("Hä"),
        Say::Text("llo 😀"),
        Say::Call("c1", "weather", r#"{"z":1,"city":"Paris"}"#),
        Say::Call("c2", "nothing", ""),
        Say::End(Some(FinishReason::ToolCalls), usage),
    ]
}

/// Proves LLM-14, LLM-21.
#[tokio::test]
async fn both_doors_give_the_same_answer() {
    let plain = complete(whole_answer()).await.unwrap();
    let (chunks, error) = stream(whole_answer()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(answer_of(&chunks), plain);
    let shown: Vec<String> = chunks
        .iter()
        .filter_map(|chunk| match chunk {
            LlmChunk::Text { content, .. } => Some(format!("text {content}")),
            LlmChunk::Thinking { delta, .. } => Some(format!("think {delta}")),
            LlmChunk::Done { .. } => None,
        })
        .collect();
    assert_eq!(shown, ["think one", "think  two", "text Hä", "text llo 😀"]);

    assert_eq!(plain.content, "Hällo 😀");
    assert_eq!(plain.stop_reason, StopReason::ToolUse);
    assert_eq!(plain.provider_ref.as_deref(), Some("resp-1"));
    assert_eq!(plain.usage, Ours::new(30, 10).with_cache_read(60).with_cache_write(10).with_thinking(20));
    let calls: Vec<_> = plain.tool_calls.iter().map(|call| (&*call.id, &*call.name)).collect();
    assert_eq!(calls, [("c1", "weather"), ("c2", "nothing")]);
    assert_eq!(plain.tool_calls[0].args.keys().map(|key| &**key).collect::<Vec<_>>(), ["z", "city"]);
    assert!(plain.tool_calls[1].args.is_empty() && ArgsError::of(&plain.tool_calls[1]).is_none());
    let blocks = RigThinking.normalize(&plain.raw_thinking.unwrap()).unwrap();
    assert_eq!(blocks.iter().map(|block| &*block.content).collect::<Vec<_>>(), ["one two"]);
    let served = plain.served_by.unwrap();
    assert_eq!((&*served.provider, &*served.model), ("rig-scripted", "scripted-1"));
    assert_eq!(plain.wire_manifest, None, "nobody outside rig sees the body");
}

/// Proves LLM-22, LLM-24.
#[tokio::test]
async fn stop_reasons_and_absent_counts() {
    let reasons = [
        (Some(FinishReason::Stop), "stop"),
        (Some(FinishReason::Length), "max_tokens"),
        (Some(FinishReason::ContentFilter), "content_filter"),
        (Some(FinishReason::Other("pause_turn".into())), "pause_turn"),
    ];
    for (reason, word) in reasons {
        let answer = complete(vec![Say::Text("x"), Say::End(reason, Usage::new())]).await.unwrap();
        assert_eq!(answer.stop_reason.as_str(), word);
        assert!(!answer.usage.is_measured());
    }
    let zero = Usage::new().input_tokens(3).output_tokens(0).cached_input_tokens(0);
    let answer = complete(vec![Say::End(Some(FinishReason::Stop), zero)]).await.unwrap();
    assert_eq!((answer.content.as_str(), answer.usage), ("", Ours::new(3, 0).with_cache_read(0)));
}

/// Proves LLM-16, LLM-17.
#[tokio::test]
async fn arguments_that_are_none_are_said_and_a_lost_call_is_an_error() {
    let cut = vec![Say::Call("c1", "weather", r#"{"city":"canary Par"#), end(FinishReason::Length)];
    let answer = complete(cut.clone()).await.unwrap();
    let problem = ArgsError::of(&answer.tool_calls[0]).unwrap();
    assert!(answer.tool_calls[0].args.is_empty(), "what could be guessed is not run");
    assert!(
        problem.message.contains("raise max_tokens") && !problem.message.contains("canary"),
        "{}",
        problem.message
    );
    assert_eq!(problem.length, 19);
    let strict = Rig::new(Scripted::new(cut).model()).malformed_args(MalformedArgs::Refuse);
    let error = strict.complete(&request(), &CallCx::detached()).await.unwrap_err();
    assert!(matches!(error.kind, LlmErrorKind::MalformedToolArgs { raw_length: 19, .. }), "{error:?}");
    assert!(error.to_string().contains("`weather`") && !error.to_string().contains("canary"));

    for door in [complete(vec![end(FinishReason::ToolCalls)]).await.unwrap_err(), {
        stream(vec![end(FinishReason::ToolCalls)]).await.1.unwrap()
    }] {
        assert_eq!(door.kind, LlmErrorKind::ToolUseLost);
    }
}

/// What the vendor signs comes back to rig as rig made it, also after the conversation was stored.
///
/// Proves LLM-91, LLM-92.
#[tokio::test]
async fn signed_items_make_the_round_trip() {
    let thought = json!({"type": "thinking", "thinking": "because", "signature": "c2ln+/="});
    let call = json!({"type": "function", "id": "c1", "thoughtSignature": "AbC=="});
    let model = Scripted::new(vec![
        Say::Signed("because", thought.clone()),
        Say::Signed("", json!({"type": "redacted_thinking", "data": "xyz"})),
        Say::SignedCall("c1", "weather", r#"{"city":"Paris"}"#, call.clone()),
        Say::Call("", "unnamed", "{}"),
        end(FinishReason::ToolCalls),
    ]);
    let rig = Rig::new(model.model());
    let answer = rig.complete(&request(), &CallCx::detached()).await.unwrap();
    let mut blocks = RigThinking.normalize(answer.raw_thinking.as_ref().unwrap()).unwrap();
    let foreign = agentfootprint_record::message::ThinkingBlock::thinking("somebody else's");
    blocks.push(foreign);
    let invented = answer.tool_calls[1].id.clone();
    let turn = agentfootprint_record::message::Message::assistant("")
        .with_tool_calls(answer.tool_calls.clone())
        .with_thinking(blocks);
    // Through the form in which conversations are stored.
    let stored = serde_json::to_string(&turn).unwrap();
    let turn: agentfootprint_record::message::Message = serde_json::from_str(&stored).unwrap();
    let tool = |id: &str, name: &str| agentfootprint_record::message::Message::tool(id, name, "22 °C");
    let next = request().message(turn).message(tool("c1", "weather")).message(tool(&invented, "unnamed"));
    // rig turns calls into text where no tool is offered.
    let offered = |name| agentfootprint_core::llm::ToolSchema::new(name, "", value!({ "type": "object" }));
    let next = next.tool(offered("weather")).tool(offered("unnamed"));
    rig.complete(&next, &CallCx::detached()).await.unwrap();

    let (asked, _) = model.asked().pop().unwrap();
    let sent = serde_json::to_value(&asked.chat_history).unwrap();
    let content = sent[1]["content"].as_array().unwrap();
    assert_eq!(content.len(), 4, "{sent:#}");
    assert_eq!(content[0]["native"]["item"], thought);
    assert_eq!(content[1]["native"]["item"]["data"], "xyz");
    assert_eq!(content[1]["redacted"], true);
    assert_eq!(content[2]["native"]["item"], call, "{sent:#}");
    assert!(content[3]["id"].get("local").is_some(), "an id that rig made up is never sent: {}", content[3]);
    let results = sent[2]["content"].as_array().unwrap();
    assert_eq!(results.len(), 2, "results in a row are one turn");
    assert_eq!(results[1]["call"], content[3]["id"]);
    assert!(!sent.to_string().contains("somebody else's"));
}

/// Proves LLM-11.
#[tokio::test]
async fn a_stream_that_ends_early_says_so() {
    let (chunks, error) = stream(vec![Say::Text("half")]).await;
    assert_eq!(chunks.len(), 1);
    let error = error.unwrap();
    assert_eq!(error.kind, LlmErrorKind::StreamIncomplete { delivered: true });
    assert!(!error.retryable());
    let (chunks, error) = stream(vec![]).await;
    assert!(chunks.is_empty() && error.unwrap().retryable());
    let error = complete(vec![Say::Text("half")]).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::UnreadableResponse);
}

/// Proves LLM-36, LLM-37.
#[tokio::test(start_paused = true)]
async fn waiting_ends_and_cancelling_wins() {
    let minute = Duration::from_secs(60);
    let stalled = |says: Vec<Says>| Scripted::new(says);
    type Says = Say;
    let timeout = |phase| LlmErrorKind::Timeout { phase, limit: minute };
    let (chunks, error) = stream(vec![Say::Stall]).await;
    assert!(chunks.is_empty());
    assert_eq!(error.unwrap().kind, timeout(TimeoutPhase::Headers));
    let (_, error) = stream(vec![Say::Text("x"), Say::Stall]).await;
    assert_eq!(error.unwrap().kind, timeout(TimeoutPhase::Idle));
    let deadlines = Deadlines { total: Some(minute), ..Deadlines::default() };
    let rig = Rig::new(stalled(vec![Say::Stall]).model()).deadlines(deadlines);
    let error = rig.complete(&request(), &CallCx::detached()).await.unwrap_err();
    assert_eq!(error.kind, timeout(TimeoutPhase::Total));
    assert!(error.to_string().contains("Deadlines::total"), "{error}");

    let cx = CallCx::detached();
    let asked = request();
    let mut call = rig.complete(&asked, &cx);
    assert!((&mut call).now_or_never().is_none());
    cx.cancel_token().cancel();
    assert_eq!(call.await.unwrap_err().kind, LlmErrorKind::Aborted);
    assert_eq!(rig.stream(&asked, &cx).await.unwrap().err().unwrap().kind, LlmErrorKind::Aborted);

    let cx = CallCx::detached();
    let rig = Rig::new(stalled(vec![Say::Text("x"), Say::Text("y"), Say::Stall]).model());
    let mut chunks = rig.stream(&asked, &cx).await.unwrap().unwrap();
    assert!(chunks.next().await.unwrap().is_ok());
    cx.cancel_token().cancel();
    assert_eq!(chunks.next().await.unwrap().unwrap_err().kind, LlmErrorKind::Aborted);
    assert!(chunks.next().await.is_none());
}

#[tokio::test]
async fn what_the_handler_does_not_know_is_nothing() {
    assert!(RigThinking.normalize(&value!("text")).unwrap().is_empty());
    assert!(RigThinking.normalize(&value!([{ "other": 1 }])).unwrap().is_empty());
}
