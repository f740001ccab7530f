use std::sync::Arc;

use agentfootprint_core::llm::{
    ArgsError, CallCx, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse, StopReason, Thinking,
    ThinkingHandler, ToolChoice, ToolSchema, Usage,
};
use agentfootprint_record::message::{Message, ThinkingBlock, ToolCall};
use footprint::value;
use serde_json::{Value as Json, json};

use super::*;
use crate::OpenAi;
use crate::http::testing::{Answer, Scripted};
use crate::testing::bad_input::{Wire, contract, set_up, text_frames};
use crate::testing::{KEY, answer_of};

fn usage() -> Json {
    json!({
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 60},
        "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 12}, "total_tokens": 130
    })
}

fn answer(output: Json) -> Json {
    json!({"id": "resp_1", "object": "response", "status": "completed", "output": output, "usage": usage(), "error": null})
}

fn message(text: &str) -> Json {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

fn sse(events: &[Json]) -> Vec<u8> {
    let event = |json: &Json| format!("event: {}\ndata: {json}\n\n", json["type"].as_str().unwrap_or("x"));
    events.iter().flat_map(|json| event(json).into_bytes()).collect()
}

fn completed(response: &Json) -> Json {
    json!({"type": "response.completed", "response": response})
}

fn text_delta(text: &str) -> Json {
    json!({"type": "response.output_text.delta", "output_index": 0, "delta": text})
}

fn wire() -> Wire {
    let whole = answer(json!([message("Grüß dich, 世界 😀")]));
    let created = json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}});
    Wire {
        prefix: "[openai] ",
        model: "gpt-5-mini",
        host: "api.openai.com:443",
        build: |setup| Arc::new(set_up!(OpenAi::builder(), setup, base_url).build_responses().unwrap()),
        plain: whole.to_string().into_bytes(),
        streamed: sse(&[created, text_delta("Grüß dich,"), text_delta(" 世界 😀"), completed(&whole)]),
        error: |_, sentence| json!({"error": {"message": sentence, "code": "x"}}).to_string().into_bytes(),
        unknown_model: Some("The model `gpt-9` does not exist or you do not have access to it."),
        framed_error: |sentence| sse(&[json!({"type": "error", "code": "odd", "message": sentence})]),
        framed_kind: LlmErrorKind::StreamBroken { delivered: true },
        damaged: text_frames::DAMAGED.map(Vec::from).to_vec(),
        not_utf8: text_frames::NOT_UTF8.map(Vec::from).to_vec(),
        open_frame: text_frames::OPEN.to_vec(),
        key_advice: "OPENAI_API_KEY",
        address_advice: "base_url",
        is_daemon: false,
    }
}

contract!(super::wire);

/// The same answer through both doors, the stream bringing items one by one.
async fn both(whole: Json) -> LlmResponse {
    let plain = wire().complete(Answer::ok(whole.to_string())).await.unwrap();
    let items = whole["output"].as_array().unwrap();
    let mut events: Vec<Json> = (0..)
        .zip(items)
        .map(|(index, item): (u64, &Json)| json!({"type": "response.output_item.done", "output_index": index, "item": item}))
        .collect();
    let mut bare = whole.clone();
    bare["output"] = json!([]);
    events.push(completed(&bare));
    let (chunks, error) = wire().stream(Answer::ok(sse(&events))).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(answer_of(&chunks), plain);
    plain
}

/// Proves LLM-21, LLM-24.
#[tokio::test]
async fn calls_counts_and_stops() {
    let call = |id: &str, args: &str| json!({"type": "function_call", "id": "fc", "call_id": id, "name": "f", "arguments": args});
    let called = both(answer(json!([message("One moment."), call("c1", "{\"a\":1}"), call("c2", "")]))).await;
    assert_eq!((called.content.as_str(), &called.stop_reason), ("One moment.", &StopReason::ToolUse));
    assert_eq!(called.usage, Usage::new(40, 18).with_cache_read(60).with_thinking(12));
    assert_eq!(called.provider_ref.as_deref(), Some("resp_1"));
    assert_eq!((&*called.tool_calls[0].id, called.tool_calls[1].args.len()), ("c1", 0));
    let mut cut = answer(json!([call("c1", "{\"a\": \"it beg")]));
    cut["status"] = json!("incomplete");
    cut["incomplete_details"] = json!({"reason": "max_output_tokens"});
    let cut = both(cut).await;
    assert_eq!(cut.stop_reason, StopReason::MaxTokens);
    assert!(ArgsError::of(&cut.tool_calls[0]).unwrap().message.contains("max_tokens"));
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]});
    let refused = both(answer(json!([refusal]))).await;
    assert_eq!((refused.content.as_str(), refused.stop_reason), ("I cannot.", StopReason::ContentFilter));
}

/// Encrypted reasoning comes back byte for byte with the next request, also after a restart.
///
/// Proves LLM-91, LLM-92.
#[tokio::test]
async fn reasoning_goes_round() {
    let reasoning = json!({
        "type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "two and two"}],
        "encrypted_content": "gAAA+/=="
    });
    let response = both(answer(json!([reasoning, message("Four.")]))).await;
    let blocks = ResponsesThinking.normalize(response.raw_thinking.as_ref().unwrap()).unwrap();
    let mut foreign = ThinkingBlock::thinking("foreign");
    (foreign.signature, foreign.origin) = (Some("x".into()), Some("anthropic".into()));
    let args = value!({"a": 1}).as_object().unwrap().clone();
    let turn = Message::assistant("Four.")
        .with_tool_calls(vec![ToolCall::new("c1", "f", args)])
        .with_thinking([blocks, vec![foreign]].concat());
    let restored: Message = serde_json::from_str(&serde_json::to_string(&turn).unwrap()).unwrap();
    let mut request = LlmRequest::new("gpt-5")
        .system("Be brief.")
        .user("2+2?")
        .message(restored)
        .message(Message::tool("c1", "f", "ok"))
        .message(Message::assistant(""))
        .message(Message::system("Stay polite."))
        .tool(ToolSchema::new("f", "d", value!({"type": "object"})));
    request.thinking = Some(Thinking { budget: 2048 });
    request.temperature = Some(0.5);
    request.max_tokens = Some(99);
    request.tool_choice = Some(ToolChoice::Tool { name: "f".into() });
    let exchange = Scripted::new([Answer::ok(answer(json!([message("x")])).to_string())]);
    let provider = OpenAi::builder().key(KEY).exchange(exchange.clone()).build_responses().unwrap();
    assert!(!format!("{provider:?}").contains(KEY));
    let sent_tools = provider.complete(&request, &CallCx::detached()).await.unwrap().wire_manifest.unwrap();
    assert_eq!(sent_tools.tool_names.len(), 1);
    assert_eq!(exchange.requests()[0].url.as_str(), "https://api.openai.com/v1/responses");
    assert_eq!(
        exchange.sent_json(0),
        json!({
            "model": "gpt-5", "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": "2+2?"},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "two and two"}],
                 "encrypted_content": "gAAA+/==", "id": "rs_1"},
                {"role": "assistant", "content": "Four."},
                {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\":1}"},
                {"type": "function_call_output", "call_id": "c1", "output": "ok"},
                {"role": "developer", "content": "Stay polite."}
            ],
            "tools": [{"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": false}],
            "tool_choice": {"type": "function", "name": "f"}, "max_output_tokens": 99,
            "reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"], "store": false
        })
    );
}

#[tokio::test]
async fn what_fails_inside_and_what_cannot_be_said() {
    let failed =
        json!({"status": "failed", "error": {"code": "server_error", "message": "it broke"}, "output": []});
    let error = wire().complete(Answer::ok(failed.to_string())).await.unwrap_err();
    assert_eq!((&error.kind, error.code.as_deref()), (&LlmErrorKind::Transient, Some("server_error")));
    let events = sse(&[json!({"type": "response.failed", "response": failed})]);
    assert_eq!(wire().stream(Answer::ok(events)).await.1.unwrap().kind, LlmErrorKind::Transient);
    let mut request = LlmRequest::new("gpt-5").user("hi");
    request.stop = vec!["END".into()].into();
    let exchange = Scripted::new([]);
    let provider = OpenAi::builder().key(KEY).exchange(exchange.clone()).build_responses().unwrap();
    let error = provider.complete(&request, &CallCx::detached()).await.unwrap_err();
    assert!(error.refused_before_send() && error.to_string().contains("stop sequences"), "{error}");
    assert!(exchange.requests().is_empty());
    let azure =
        OpenAi::azure().endpoint("https://r.openai.azure.com/").deployment("d").api_version("v").key("k");
    assert!(
        format!("{:?}", azure.build_responses().unwrap())
            .contains("https://r.openai.azure.com/openai/v1/responses")
    );
}

/// Arguments as an object instead of text, cut by the output limit, and none at all.
///
/// Proves LLM-16.
#[tokio::test]
async fn arguments_in_every_form_are_read_or_said() {
    let call = |arguments: Json| json!([{"type": "function_call", "call_id": "c1", "name": "f", "arguments": arguments}]);
    for (arguments, read) in [
        (json!({"a": 1}), value!({ "a": 1 })),
        (json!("{\"a\":1}"), value!({ "a": 1 })),
        (json!(""), value!({})),
    ] {
        let answer = both(answer(call(arguments))).await;
        assert_eq!(answer.tool_calls[0].args, *read.as_object().unwrap());
        assert!(ArgsError::of(&answer.tool_calls[0]).is_none());
    }
    let mut cut = answer(call(json!("{\"a\": \"canary")));
    cut["status"] = json!("incomplete");
    cut["incomplete_details"] = json!({"reason": "max_output_tokens"});
    let response = wire().complete(Answer::ok(cut.to_string())).await.unwrap();
    let problem = ArgsError::of(&response.tool_calls[0]).unwrap();
    assert!(
        problem.message.contains("max_tokens") && !problem.message.contains("canary"),
        "{}",
        problem.message
    );
    let (_, error) = wire().stream(Answer::ok("event: error\ndata: backend died\n\n")).await;
    assert!(error.unwrap().to_string().contains("backend died"));
}
