//! What is sent.

use agentfootprint_core::llm::{
    CacheField, CacheMarker, CacheTtl, LlmErrorKind, SystemSegment, Thinking, ThinkingMode, ThinkingRefusal,
    ToolChoice, ToolSchema,
};
use agentfootprint_record::message::{Message, Messages, ThinkingBlock, ToolCall};
use footprint::value;
use serde_json::json;

use super::fixtures::hello;
use super::*;

fn ok() -> Answer {
    Answer::ok(hello().to_string())
}

fn tool(name: &str) -> ToolSchema {
    ToolSchema::new(name, "finds", value!({"type": "object", "properties": {"z": {}, "a": {}}}))
}

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "find", value!({"z": 1, "a": "é"}).as_object().unwrap().clone())
}

fn signed(text: &str, signature: &str, origin: &str) -> ThinkingBlock {
    let mut block = ThinkingBlock::thinking(text);
    block.signature = Some(signature.into());
    block.origin = Some(origin.into());
    block
}

fn conversation() -> LlmRequest {
    LlmRequest::new(MODEL)
        .system("Be brief.")
        .user("one")
        .message(Message::assistant("\n\n").with_tool_calls(vec![call("c1"), call("c2")]))
        .message(Message::tool("c1", "find", "{\"n\":1}"))
        .message(Message::tool("c2", "find", ""))
        .message(Message::assistant("").with_tool_calls(vec![]))
        .message(Message::user("two"))
        .message(Message::system("now hurry"))
        .tool(tool("find"))
}

/// Proves LLM-4, LLM-43, LLM-44, LLM-46, LLM-52, LLM-53.
#[tokio::test]
async fn a_whole_conversation_on_the_wire() {
    let mut request = conversation();
    request.temperature = Some(0.5);
    request.max_tokens = Some(50);
    request.stop = ["END".into()].into();
    let (builder, exchange) = builder([ok(), ok()]);
    let provider = builder.beta("a-1").beta("b-2").build().unwrap();
    let cx = CallCx::detached();
    provider.complete(&request, &cx).await.unwrap();
    provider.complete(&request.clone(), &cx).await.unwrap();
    let sent = exchange.requests();
    assert_eq!(
        std::str::from_utf8(&sent[0].body).unwrap(),
        concat!(
            r#"{"model":"claude-sonnet-4-5","max_tokens":50,"messages":[{"role":"user","content":"one"},"#,
            r#"{"role":"assistant","content":["#,
            r#"{"type":"tool_use","id":"c1","name":"find","input":{"z":1,"a":"é"}},"#,
            r#"{"type":"tool_use","id":"c2","name":"find","input":{"z":1,"a":"é"}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"{\"n\":1}"},"#,
            r#"{"type":"tool_result","tool_use_id":"c2","content":""},{"type":"text","text":"two"}]}],"#,
            r#""system":"Be brief.","tools":[{"name":"find","description":"finds","#,
            r#""input_schema":{"type":"object","properties":{"z":{},"a":{}}}}],"#,
            r#""temperature":0.5,"stop_sequences":["END"]}"#,
        )
    );
    assert_eq!(sent[0].body, sent[1].body, "equal requests give equal bytes");
    assert_eq!(sent[0].url.as_str(), "https://api.anthropic.com/v1/messages");
    assert_eq!(sent[0].headers["x-api-key"], KEY);
    assert!(sent[0].headers["x-api-key"].is_sensitive());
    assert_eq!(sent[0].headers["anthropic-version"], "2023-06-01");
    assert_eq!(sent[0].headers["anthropic-beta"], "a-1,b-2");
}

/// Results that a person's words precede stand first all the same.
///
/// Proves LLM-43.
#[tokio::test]
async fn results_stand_before_texts_in_their_turn() {
    let request = LlmRequest::new(MODEL)
        .message(Message::assistant("").with_tool_calls(vec![call("c1")]))
        .user("meanwhile")
        .message(Message::tool("c1", "find", "found"))
        .tool(tool("find"));
    let content = sent(&request).await["messages"][1]["content"].clone();
    assert_eq!((&content[0]["type"], &content[1]["text"]), (&json!("tool_result"), &json!("meanwhile")));
}

#[tokio::test]
async fn limits_streams_and_the_shorthand() {
    let mut request = request();
    let (plain, exchange) = builder([ok()]);
    let body = sent_by(plain, &exchange, &request).await;
    assert_eq!((&body["max_tokens"], body.get("stream")), (&json!(4096), None));
    let (mine, exchange) = builder([ok()]);
    assert_eq!(sent_by(mine.max_tokens(99), &exchange, &request).await["max_tokens"], 99);

    let (streaming, exchange) = builder([ok()]);
    let provider = streaming.build().unwrap();
    drop(provider.stream(&request, &CallCx::detached()).await.unwrap().unwrap());
    assert_eq!(exchange.sent_json(0)["stream"], true);

    request.model = "anthropic".into();
    assert_eq!(sent(&request).await["model"], "claude-sonnet-4-5-20250929");
    let (chosen, exchange) = builder([ok()]);
    let body = sent_by(chosen.default_model("claude-opus-4-8").effort("low"), &exchange, &request).await;
    assert_eq!(
        (&body["model"], &body["output_config"]),
        (&json!("claude-opus-4-8"), &json!({"effort": "low"}))
    );
}

/// Proves LLM-53.
#[tokio::test]
async fn system_turns_go_only_to_models_that_take_them() {
    let mut request =
        LlmRequest::new("claude-opus-4-8").user("one").message(Message::system("in Spanish")).user("two");
    let roles = |body: &Json| -> Vec<String> {
        body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|turn| turn["role"].as_str().unwrap().into())
            .collect()
    };
    let body = sent(&request).await;
    assert_eq!(roles(&body), ["user", "system", "user"]);
    assert_eq!(body["messages"][1]["content"], "in Spanish");
    request.model = MODEL.into();
    assert_eq!(roles(&sent(&request).await), ["user"]);
    let (told, exchange) = builder([ok()]);
    assert_eq!(roles(&sent_by(told.system_turns(true), &exchange, &request).await).len(), 3);
}

/// Proves LLM-54.
#[tokio::test]
async fn one_tool_is_forced_only_where_there_are_tools() {
    let mut request = conversation();
    let (serial, exchange) = builder([ok()]);
    let body = sent_by(serial.parallel_tool_calls(false), &exchange, &request).await;
    assert_eq!(body["tool_choice"], json!({"type": "auto", "disable_parallel_tool_use": true}));

    request.tool_choice = Some(ToolChoice::Tool { name: "find".into() });
    let (serial, exchange) = builder([ok()]);
    let body = sent_by(serial.parallel_tool_calls(false), &exchange, &request).await;
    assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "find"}));

    let (serial, exchange) = builder([ok()]);
    let bare = sent_by(serial.parallel_tool_calls(false), &exchange, &request.with_tools([])).await;
    assert_eq!((bare.get("tool_choice"), bare.get("tools")), (None, None));
}

/// The wrap-up call: a history with calls, and no tools any more.
///
/// Proves LLM-45.
#[tokio::test]
async fn calls_of_the_history_are_text_when_no_tools_are_offered() {
    let body = sent(&conversation().with_tools([])).await;
    let text = body["messages"].to_string();
    assert!(!text.contains("tool_use") && !text.contains("tool_result"), "{text}");
    assert_eq!(body["messages"][1]["content"][0]["text"], r#"[called the tool find with {"z":1,"a":"é"}]"#);
    assert_eq!(body["messages"][2]["content"][0]["text"], "[result of the tool find]\n{\"n\":1}");
    assert_eq!(body.get("tools"), None);
}

/// Two turns: what was thought goes back as it came, after a round trip through JSON.
///
/// Proves LLM-56, LLM-91, LLM-92.
#[tokio::test]
async fn own_signed_thinking_goes_back_byte_for_byte_and_no_other() {
    let mut redacted = ThinkingBlock::redacted("");
    redacted.signature = Some("ZGF0YQ==".into());
    redacted.origin = Some("anthropic".into());
    let mut unsigned = ThinkingBlock::thinking("unsigned");
    unsigned.origin = Some("anthropic".into());
    let thought = Message::assistant("Let me see.").with_tool_calls(vec![call("c1")]).with_thinking(vec![
        signed("two and two", " c2ln+/=\n", "anthropic"),
        signed("foreign", "x", "openai"),
        unsigned,
        redacted,
        signed("", "empty", "anthropic"),
    ]);
    let history: Messages =
        [Message::user("hi"), thought, Message::tool("c1", "find", "4")].into_iter().collect();
    let stored: Messages = serde_json::from_str(&serde_json::to_string(&history).unwrap()).unwrap();
    let mut request = LlmRequest::new(MODEL).with_messages(stored).tool(tool("find"));
    request.thinking = Some(Thinking { budget: 2048 });
    let body = sent(&request).await;
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "thinking", "thinking": "two and two", "signature": " c2ln+/=\n"},
            {"type": "redacted_thinking", "data": "ZGF0YQ=="},
            {"type": "thinking", "thinking": "", "signature": "empty"},
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "c1", "name": "find", "input": {"z": 1, "a": "é"}}
        ])
    );
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 2048}));
}

/// Proves LLM-93, LLM-94.
#[tokio::test]
async fn the_wish_to_think_takes_the_models_form() {
    let mut request = request();
    request.thinking = Some(Thinking { budget: 5000 });
    let body = sent(&request).await;
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 5000}));
    assert_eq!(body["max_tokens"], 6024, "a budget leaves room for the answer");
    request.max_tokens = Some(9000);
    assert_eq!(sent(&request).await["max_tokens"], 9000);
    request.model = "claude-opus-4-8".into();
    assert_eq!(sent(&request).await["thinking"], json!({"type": "adaptive", "display": "summarized"}));
    request.model = "deployment-7".into();
    let (told, exchange) = builder([ok()]);
    let body = sent_by(told.thinking_mode(ThinkingMode::Budget), &exchange, &request).await;
    assert_eq!(body["thinking"]["type"], "enabled");
}

/// Proves LLM-7, LLM-94.
#[tokio::test]
async fn thinking_that_cannot_be_is_refused_before_sending() {
    let (told, exchange) = builder([]);
    let provider = told.build().unwrap();
    let base = |model: &str, budget| {
        let mut request = conversation();
        request.model = model.into();
        request.thinking = Some(Thinking { budget });
        request
    };
    let mut warm = base(MODEL, 2000);
    warm.temperature = Some(0.5);
    let mut forced = base(MODEL, 2000);
    forced.tool_choice = Some(ToolChoice::Tool { name: "find".into() });
    for (request, reason, word) in [
        (base("claude-3-5-sonnet-latest", 2000), ThinkingRefusal::NoThinking, "newer model"),
        (base(MODEL, 1023), ThinkingRefusal::Budget, "at least 1024"),
        (warm, ThinkingRefusal::Temperature, "temperature 1"),
        (forced, ThinkingRefusal::ForcedToolChoice, "`instruct`"),
    ] {
        let error = provider.complete(&request, &CallCx::detached()).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::UnsupportedThinking { reason });
        assert_eq!(error.record_name(), "UnsupportedThinkingError");
        assert!(error.refused_before_send() && error.to_string().contains(word), "{error}");
    }
    assert!(exchange.requests().is_empty());
    let mut allowed = base("claude-opus-4-8", 2000);
    allowed.tool_choice = Some(ToolChoice::Tool { name: "find".into() });
    allowed.temperature = Some(1.0);
    assert_eq!(sent(&allowed).await["thinking"]["type"], "adaptive");
}

/// Proves LLM-96.
#[tokio::test]
async fn a_tool_loop_from_elsewhere_goes_on_without_thinking() {
    let mut request = LlmRequest::new(MODEL)
        .user("hi")
        .message(Message::assistant("").with_tool_calls(vec![call("c1")]))
        .message(Message::tool("c1", "find", "4"))
        .user("go on")
        .tool(tool("find"));
    request.thinking = Some(Thinking { budget: 5000 });
    let body = sent(&request).await;
    assert_eq!((body.get("thinking"), &body["max_tokens"]), (None, &json!(4096)));
    // A model that decides by itself takes it.
    request.model = "claude-opus-4-8".into();
    assert_eq!(sent(&request).await["thinking"]["type"], "adaptive");
    // So does the next turn.
    request.model = MODEL.into();
    let next = request.message(Message::assistant("done")).user("more");
    assert_eq!(sent(&next).await["thinking"]["type"], "enabled");
}

fn marker(field: CacheField, boundary_index: usize, ttl: CacheTtl) -> CacheMarker {
    CacheMarker { field, boundary_index, ttl, reason: "test".into() }
}

/// Proves LLM-98, LLM-100, LLM-106.
#[tokio::test]
async fn cache_marks_stand_on_the_blocks_they_end() {
    let segment = |text: &str| SystemSegment { source: "s".into(), text: text.into() };
    let thought = Message::assistant("").with_thinking(vec![signed("hm", "s", "anthropic")]);
    let mut request = LlmRequest::new(MODEL)
        .with_system_segments([segment("a"), segment("\n\nb"), segment("\n\nc")])
        .user("one")
        .message(Message::assistant("").with_tool_calls(vec![call("c1"), call("c2")]))
        .message(Message::tool("c1", "find", "x"))
        .message(Message::tool("c2", "find", "y"))
        .message(thought)
        .message(Message::system("gone"))
        .message(Message::user("two"))
        .with_tools([tool("a"), tool("b"), tool("c")]);
    let bare = sent(&request).await;
    assert_eq!(bare["system"], "a\n\nb\n\nc");
    request.cache_markers = vec![
        marker(CacheField::System, 1, CacheTtl::Long),
        marker(CacheField::Tools, 1, CacheTtl::Long),
        marker(CacheField::Messages, 2, CacheTtl::Short),
        marker(CacheField::Messages, 4, CacheTtl::Short),
        marker(CacheField::Messages, 5, CacheTtl::Short),
        marker(CacheField::Messages, 6, CacheTtl::Long),
    ];
    let body = sent(&request).await;
    let (short, long) = (json!({"type": "ephemeral"}), json!({"type": "ephemeral", "ttl": "1h"}));
    assert_eq!(
        body["system"],
        json!([{"type": "text", "text": "a\n\nb", "cache_control": long}, {"type": "text", "text": "\n\nc"}])
    );
    assert_eq!(body["tools"][1]["cache_control"], long);
    assert!(
        body["tools"][0].get("cache_control").is_none() && body["tools"][2].get("cache_control").is_none()
    );
    // The mark of one result stays on it, although it shares its turn with another.
    let results = &body["messages"][2]["content"];
    assert_eq!((&results[0]["cache_control"], results[1].get("cache_control")), (&short, None));
    // A thought carries none, and neither does the neighbour of a message that is not sent.
    assert!(body["messages"][3]["content"][0].get("cache_control").is_none());
    let last = &body["messages"][4]["content"][0];
    assert_eq!((&last["text"], &last["cache_control"]), (&json!("two"), &short));
    assert_eq!(body.to_string().matches("cache_control").count(), 4);

    request.cache_markers.clear();
    assert_eq!(sent(&request).await, bare, "without marks the body is what it was");
}

/// A text that a mark ends is written as a block.
///
/// Proves LLM-106.
#[tokio::test]
async fn a_marked_text_becomes_a_block() {
    let mut request = LlmRequest::new(MODEL).system("a").user("one");
    request.cache_markers = vec![
        marker(CacheField::Messages, 0, CacheTtl::Short),
        marker(CacheField::System, 0, CacheTtl::Short),
    ];
    let body = sent(&request).await;
    let mark = json!({"type": "ephemeral"});
    assert_eq!(
        body["messages"][0]["content"],
        json!([{"type": "text", "text": "one", "cache_control": mark}])
    );
    assert_eq!(body["system"], json!([{"type": "text", "text": "a", "cache_control": mark}]));
}

/// Proves LLM-2.
#[tokio::test]
async fn framework_only_fields_are_not_sent() {
    let mut history = Messages::new();
    history.push_value(value!({
        "role": "user", "content": "hi", "frame": "wrap-up", "toolChars": 3,
        "injectedBy": {"injectionId": "canary", "flavor": "fact", "iteration": 1}
    }));
    let body = sent(&LlmRequest::new(MODEL).with_messages(history)).await;
    assert_eq!(body["messages"], json!([{"role": "user", "content": "hi"}]));
}

/// Nothing is sent for a request the adapter refuses.
///
/// Proves LLM-7.
#[tokio::test]
async fn what_the_wire_cannot_say_is_refused_before_sending() {
    let (told, exchange) = builder([]);
    let provider = told.build().unwrap();
    let one = |message| {
        let mut messages = Messages::new();
        messages.push_value(message);
        LlmRequest::new(MODEL).with_messages(messages)
    };
    let mut forced = conversation();
    forced.model = "claude-mythos-preview".into();
    forced.tool_choice = Some(ToolChoice::Tool { name: "find".into() });
    for (request, word) in [
        (forced, "`instruct`"),
        (LlmRequest::new(" ").user("hi"), "claude-sonnet"),
        (one(value!({"role": "tool", "content": "x"})), "toolCallId"),
        (one(value!({"role": "narrator", "content": "x"})), "narrator"),
        (one(value!({"content": "x"})), "no role"),
    ] {
        let cx = CallCx::detached();
        let error = provider.complete(&request, &cx).await.unwrap_err();
        assert!(error.refused_before_send() && error.to_string().contains(word), "{error}");
        assert!(provider.stream(&request, &cx).await.unwrap().err().unwrap().refused_before_send());
    }
    assert!(exchange.requests().is_empty());
}

/// Proves LLM-136.
#[tokio::test]
async fn a_form_of_the_answer_is_asked_of_models_that_know_it() {
    let mut request = LlmRequest::new("claude-sonnet-4-5").user("hi");
    request.output_schema =
        Some(agentfootprint_core::llm::OutputSchema::new("f", value!({"type": "object"})));
    let format = json!({"type": "json_schema", "schema": {"type": "object"}});
    assert_eq!(sent(&request).await["output_config"], json!({"format": format}));
    request.model = "claude-3-5-haiku-latest".into();
    let (told, exchange) = builder([]);
    let provider = told.build().unwrap();
    assert!(!provider.capabilities("claude-3-5-haiku-latest").carries_output_schema);
    let error = provider.complete(&request, &CallCx::detached()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Refused);
    assert!(error.to_string().contains("declare it with .structured_output(true)"), "{error}");
    assert!(exchange.requests().is_empty());
}
