//! What is sent.

use agentfootprint_core::llm::{
    CallCx, LlmErrorKind, LlmProvider, LlmRequest, OutputSchema, Thinking, ToolChoice, ToolSchema,
};
use agentfootprint_record::message::{Message, Messages, ThinkingBlock, ToolCall};
use footprint::value;
use serde_json::{Value as Json, json};

use super::fixtures::{completion, usage};
use super::*;

fn ok() -> Answer {
    Answer::ok(completion(json!({"content": "ok"}), "stop", usage()).to_string())
}

async fn sent_by(builder: OpenAiBuilder, exchange: &Scripted, request: &LlmRequest) -> Json {
    builder.build().unwrap().complete(request, &CallCx::detached()).await.unwrap();
    exchange.sent_json(0)
}

async fn sent(request: &LlmRequest) -> Json {
    let (builder, exchange) = builder([ok()]);
    sent_by(builder, &exchange, request).await
}

fn tool(name: &str) -> ToolSchema {
    ToolSchema::new(name, "finds", value!({"type": "object", "properties": {"z": {}, "a": {}}}))
}

fn conversation() -> LlmRequest {
    let args = value!({"z": 1, "a": "é"}).as_object().unwrap().clone();
    LlmRequest::new("gpt-4o-mini")
        .system("Be brief.")
        .user("one")
        .message(Message::assistant("").with_tool_calls(vec![ToolCall::new("c1", "find", args)]))
        .message(Message::tool("c1", "find", "{\"n\":1}"))
        .message(Message::assistant("").with_tool_calls(vec![]))
        .message(Message::user("two"))
        .message(Message::system("now hurry"))
        .tool(tool("find"))
}

/// Proves LLM-4, LLM-43, LLM-44, LLM-46, LLM-57, LLM-59.
#[tokio::test]
async fn a_whole_conversation_on_the_wire() {
    let mut request = conversation();
    request.temperature = Some(0.5);
    request.max_tokens = Some(50);
    request.stop = ["END".into()].into();
    let (builder, exchange) = builder([ok(), ok()]);
    let provider = builder.build().unwrap();
    let cx = CallCx::detached();
    provider.complete(&request, &cx).await.unwrap();
    provider.complete(&request.clone(), &cx).await.unwrap();
    let sent = exchange.requests();
    assert_eq!(
        std::str::from_utf8(&sent[0].body).unwrap(),
        concat!(
            r#"{"model":"gpt-4o-mini","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"one"},"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":"#,
            r#"{"name":"find","arguments":"{\"z\":1,\"a\":\"é\"}"}}]},"#,
            r#"{"role":"tool","content":"{\"n\":1}","tool_call_id":"c1"},"#,
            r#"{"role":"user","content":"two"},{"role":"system","content":"now hurry"}],"#,
            r#""tools":[{"type":"function","function":{"name":"find","description":"finds","#,
            r#""parameters":{"type":"object","properties":{"z":{},"a":{}}}}}],"#,
            r#""temperature":0.5,"max_completion_tokens":50,"stop":["END"]}"#,
        )
    );
    assert_eq!(sent[0].body, sent[1].body, "equal requests give equal bytes");
    assert_eq!(sent[0].url.as_str(), "https://api.openai.com/v1/chat/completions");
    assert_eq!(sent[0].headers["authorization"], format!("Bearer {KEY}"));
    assert!(sent[0].headers["authorization"].is_sensitive());
}

/// Proves LLM-57.
#[tokio::test]
async fn streams_ask_for_usage_and_legacy_servers_are_spared_new_fields() {
    let mut request = request();
    request.max_tokens = Some(9);
    let ask = |builder: OpenAiBuilder, exchange: Arc<Scripted>| {
        let request = request.clone();
        async move {
            let provider = builder.build().unwrap();
            drop(provider.stream(&request, &CallCx::detached()).await.unwrap().unwrap());
            exchange.sent_json(0)
        }
    };
    let (modern, exchange) = builder([ok()]);
    let body = ask(modern, exchange).await;
    assert_eq!((&body["stream"], &body["stream_options"]["include_usage"]), (&json!(true), &json!(true)));
    assert_eq!((&body["max_completion_tokens"], body.get("max_tokens")), (&json!(9), None));

    let (legacy, exchange) = builder([ok()]);
    let body = ask(legacy.base_url("http://localhost:1/v1"), exchange).await;
    assert_eq!((&body["max_tokens"], body.get("stream_options")), (&json!(9), None));
    assert_eq!(body.get("max_completion_tokens"), None);

    let (declared, exchange) = builder([ok()]);
    let declared = declared.base_url("http://localhost:1/v1").legacy_endpoint(false);
    let body = ask(declared, exchange).await;
    assert_eq!(body["stream_options"]["include_usage"], true);
    assert_eq!(body["max_completion_tokens"], 9);
}

/// Proves LLM-58.
#[tokio::test]
async fn reasoning_models_get_a_developer_and_no_temperature() {
    let mut request = conversation();
    request.temperature = Some(0.1);
    request.model = "o3-mini".into();
    let body = sent(&request).await;
    assert_eq!(body["messages"][0]["role"], "developer");
    assert_eq!(body.get("temperature"), None);

    request.model = "deployment-7".into();
    let (hidden, exchange) = builder([ok()]);
    let body = sent_by(hidden.reasoning(true).reasoning_effort("low"), &exchange, &request).await;
    assert_eq!(body["messages"][0]["role"], "developer");
    assert_eq!(body["reasoning_effort"], "low");

    request.model = "omni-1".into();
    let body = sent(&request).await;
    assert_eq!((&body["messages"][0]["role"], &body["temperature"]), (&json!("system"), &json!(0.1)));
}

/// Proves LLM-59.
#[tokio::test]
async fn one_tool_is_forced_only_where_there_are_tools() {
    let mut request = conversation();
    request.tool_choice = Some(ToolChoice::Tool { name: "find".into() });
    let (serial, exchange) = builder([ok()]);
    let body = sent_by(serial.parallel_tool_calls(false), &exchange, &request).await;
    assert_eq!(body["tool_choice"], json!({"type": "function", "function": {"name": "find"}}));
    assert_eq!(body["parallel_tool_calls"], false);

    let (serial, exchange) = builder([ok()]);
    let bare = sent_by(serial.parallel_tool_calls(false), &exchange, &request.with_tools([])).await;
    assert_eq!(
        (bare.get("tool_choice"), bare.get("parallel_tool_calls"), bare.get("tools")),
        (None, None, None)
    );
}

/// The wrap-up call: a history with calls, and no tools any more.
///
/// Proves LLM-45.
#[tokio::test]
async fn a_history_with_calls_is_sent_as_it_is_when_no_tools_are_offered() {
    let body = sent(&conversation().with_tools([])).await;
    assert_eq!(body["messages"][2]["tool_calls"][0]["id"], "c1");
    assert_eq!(body["messages"][3]["role"], "tool");
}

/// Proves LLM-92.
#[tokio::test]
async fn only_own_reasoning_is_given_back_and_only_when_asked_for() {
    let block = |text: &str, origin: &str| {
        let mut block = ThinkingBlock::thinking(text);
        block.origin = Some(origin.into());
        block
    };
    let thought =
        Message::assistant("4").with_thinking(vec![block("mine", "openai"), block("theirs", "anthropic")]);
    let mut request = request().message(thought).user("and?");
    request.thinking = Some(Thinking { budget: 2000 });
    let body = sent(&request).await;
    assert_eq!(body["messages"][1], json!({"role": "assistant", "content": "4"}));
    let (replaying, exchange) = builder([ok()]);
    let body = sent_by(replaying.replay_reasoning(true), &exchange, &request).await;
    assert_eq!(body["messages"][1]["reasoning_content"], "mine");
}

/// Proves LLM-2.
#[tokio::test]
async fn framework_only_fields_are_not_sent() {
    let mut history = Messages::new();
    history.push_value(value!({
        "role": "user", "content": "hi", "frame": "wrap-up", "toolChars": 3,
        "injectedBy": {"injectionId": "canary", "flavor": "fact", "iteration": 1}
    }));
    let body = sent(&LlmRequest::new("gpt-4o-mini").with_messages(history)).await;
    assert_eq!(body["messages"], json!([{"role": "user", "content": "hi"}]));
}

/// Proves LLM-8.
#[test]
fn custom_endpoints_declare_only_what_the_app_says() {
    let capabilities = |builder: OpenAiBuilder| builder.build().unwrap().capabilities("m");
    let official = capabilities(builder([]).0);
    assert!(official.carries_forced_tool_choice && official.prompt_caching.is_some() && official.streams);
    assert_eq!(official.thinking_handler.as_ref().unwrap().id(), "openai");
    assert_eq!(official.carries_in_messages.names(), ["system", "user", "assistant"]);
    let custom = capabilities(builder([]).0.base_url("http://localhost:1/v1"));
    assert!(!custom.carries_forced_tool_choice && custom.prompt_caching.is_none());
    let declared =
        builder([]).0.base_url("http://localhost:1/v1").forced_tool_choice(true).reports_usage(true);
    let declared = capabilities(declared);
    assert!(declared.carries_forced_tool_choice && declared.prompt_caching.is_some());
    let spelled_out = capabilities(builder([]).0.base_url("https://api.openai.com/v1/"));
    assert!(spelled_out.carries_forced_tool_choice);
    assert!(!capabilities(builder([]).0.streaming(false)).streams);
}

/// Nothing is sent for a request the adapter refuses.
///
/// Proves LLM-7, LLM-59.
#[tokio::test]
async fn what_the_wire_cannot_say_is_refused_before_sending() {
    let (custom, exchange) = builder([]);
    let provider = custom.base_url("http://localhost:1/v1").build().unwrap();
    let cx = CallCx::detached();
    let mut forced = conversation();
    forced.tool_choice = Some(ToolChoice::Tool { name: "find".into() });
    let mut orphan = Messages::new();
    orphan.push_value(value!({"role": "tool", "content": "x"}));
    let mut odd = Messages::new();
    odd.push_value(value!({"role": "narrator", "content": "x"}));
    let cases = [
        (forced, "`instruct`"),
        (LlmRequest::new(" ").user("hi"), "model"),
        (LlmRequest::new("m").with_messages(orphan), "toolCallId"),
        (LlmRequest::new("m").with_messages(odd), "narrator"),
    ];
    for (request, word) in cases {
        let error = provider.complete(&request, &cx).await.unwrap_err();
        assert!(error.refused_before_send() && error.to_string().contains(word), "{error}");
        let error = provider.stream(&request, &cx).await.unwrap().err().unwrap();
        assert!(error.refused_before_send());
    }
    assert!(matches!(
        provider.complete(&LlmRequest::new("").user("hi"), &cx).await.unwrap_err().kind,
        LlmErrorKind::Refused
    ));
    assert!(exchange.requests().is_empty());
}

#[tokio::test]
async fn the_shorthand_means_the_default_model() {
    let mut request = request();
    request.model = "openai".into();
    assert_eq!(sent(&request).await["model"], "gpt-4o-mini");
    let (chosen, exchange) = builder([ok()]);
    assert_eq!(sent_by(chosen.default_model("gpt-4.1"), &exchange, &request).await["model"], "gpt-4.1");
}

/// Proves LLM-136: a guarantee is asked for where the schema leaves nothing open, on both doors, and only where it is declared.
#[tokio::test]
async fn a_form_of_the_answer_is_a_response_format() {
    let open = value!({"type": "object", "properties": {"a": {"type": "string"}}});
    let closed = value!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let mut request = LlmRequest::new("gpt-4o-mini").user("hi");
    for (schema, strict) in [(&open, false), (&closed, true)] {
        request.output_schema = Some(OutputSchema::new("my form", schema.clone()));
        let named = json!({"name": "my_form", "strict": strict, "schema": schema});
        assert_eq!(
            sent(&request).await["response_format"],
            json!({"type": "json_schema", "json_schema": named})
        );
        let (told, exchange) = builder([Answer::ok("{}")]);
        let _ = told.build_responses().unwrap().complete(&request, &CallCx::detached()).await;
        let format = json!({"type": "json_schema", "name": "my_form", "strict": strict, "schema": schema});
        assert_eq!(exchange.sent_json(0)["text"], json!({"format": format}));
    }
    let (unknown, exchange) = builder([]);
    let unknown = unknown.base_url("http://localhost:1/v1").build().unwrap();
    assert!(!unknown.capabilities("m").carries_output_schema);
    let error = unknown.complete(&request, &CallCx::detached()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Refused);
    assert!(error.to_string().contains("declare it with .structured_output(true)"), "{error}");
    assert!(exchange.requests().is_empty());
    let (declared, exchange) = builder([ok()]);
    let declared = declared.base_url("http://localhost:1/v1").structured_output(true);
    assert_eq!(sent_by(declared, &exchange, &request).await["response_format"]["type"], "json_schema");
}
