//! What is sent.

use agentfootprint_core::llm::{
    CacheField, CacheMarker, CacheTtl, LlmErrorKind, PromptCaching, SystemSegment, Thinking, ThinkingMode,
    ThinkingRefusal, ToolChoice, ToolSchema,
};
use agentfootprint_record::message::{Message, ThinkingBlock, ToolCall};
use footprint::value;

use super::*;
use crate::testing::assert_clean;

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "weather", value!({"city": "Oslo"}).as_object().unwrap().clone())
}

fn signed(text: &str, signature: &str, origin: &str) -> ThinkingBlock {
    let mut block = if text.is_empty() { ThinkingBlock::redacted("") } else { ThinkingBlock::thinking(text) };
    block.signature = (!signature.is_empty()).then(|| signature.into());
    block.origin = Some(origin.into());
    block
}

fn tool(name: &str) -> ToolSchema {
    ToolSchema::new(name, "d", value!({"type": "object"}))
}

fn conversation(model: &str) -> LlmRequest {
    LlmRequest::new(model)
        .system("Be brief.")
        .user("Weather?")
        .message(
            Message::assistant("Let me see.").with_tool_calls(vec![call("t1"), call("t2")]).with_thinking(
                vec![
                    signed("hm", "c2ln", "anthropic"),
                    signed("", "ZGF0YQ==", "anthropic"),
                    signed("unsigned", "", "anthropic"),
                    signed("foreign", "eA==", "openai"),
                ],
            ),
        )
        .message(Message::tool("t1", "weather", "rain"))
        .user("(the weather service is slow today)")
        .message(Message::tool("t2", "weather", ""))
        .message(Message::assistant("  "))
        .user("And tomorrow?")
        .tool(tool("weather"))
}

/// Proves LLM-42, LLM-43, LLM-44, LLM-69, LLM-71, LLM-92.
#[tokio::test]
async fn a_whole_conversation_in_the_wires_order() {
    let mut request = conversation(CLAUDE);
    request.stop = vec!["END".into()].into();
    request.tool_choice = Some(ToolChoice::Tool { name: "weather".into() });
    let (body, http) = sent(&request, |builder| builder).await;
    assert_eq!(
        http.url.as_str(),
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse"
    );
    assert_eq!(
        body,
        json!({
            "system": [{"text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [{"text": "Weather?"}]},
                {"role": "assistant", "content": [
                    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
                    {"reasoningContent": {"redactedContent": "ZGF0YQ=="}},
                    {"text": "Let me see."},
                    {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Oslo"}}},
                    {"toolUse": {"toolUseId": "t2", "name": "weather", "input": {"city": "Oslo"}}}
                ]},
                {"role": "user", "content": [
                    {"toolResult": {"toolUseId": "t1", "content": [{"text": "rain"}]}},
                    {"toolResult": {"toolUseId": "t2", "content": []}},
                    {"text": "(the weather service is slow today)"},
                    {"text": "And tomorrow?"}
                ]}
            ],
            "toolConfig": {
                "tools": [{"toolSpec": {"name": "weather", "description": "d", "inputSchema": {"json": {"type": "object"}}}}],
                "toolChoice": {"tool": {"name": "weather"}}
            },
            "inferenceConfig": {"maxTokens": 4096, "stopSequences": ["END"]}
        })
    );
}

/// The wrap-up call offers no tools, and the history has calls.
///
/// Proves LLM-45.
#[tokio::test]
async fn without_tools_calls_and_results_are_told() {
    let request = conversation("bedrock").with_tools([]);
    let answer = plain(json!([{"text": "x"}]), "end_turn").to_string();
    let (builder, exchange) = builder([Answer::ok(answer)]);
    let response = builder.build().unwrap().complete(&request, &CallCx::detached()).await.unwrap();
    let body = exchange.sent_json(0);
    assert!(body.get("toolConfig").is_none());
    assert!(response.wire_manifest.unwrap().tool_names.is_empty(), "zero is stated");
    let text = body["messages"].to_string();
    for gone in ["toolUse", "toolResult", "reasoningContent"] {
        assert!(!text.contains(gone), "{text}");
    }
    assert!(text.contains("weather with {") && text.contains("weather returned: rain"), "{text}");
    assert_eq!(response.served_by.unwrap().model, "anthropic.claude-sonnet-4-5-20250929-v1:0");
}

/// Proves LLM-71, LLM-94, LLM-96.
#[tokio::test]
async fn thinking_is_asked_for_in_the_models_way_or_refused() {
    let ask = |model: &str, budget| {
        let mut request = LlmRequest::new(model).user("hi");
        request.thinking = Some(Thinking { budget });
        request.max_tokens = Some(1000);
        request
    };
    let (body, _) = sent(&ask(CLAUDE, 2048), |builder| builder).await;
    assert_eq!(
        body["additionalModelRequestFields"],
        json!({"thinking": {"type": "enabled", "budget_tokens": 2048}})
    );
    assert_eq!(body["inferenceConfig"]["maxTokens"], 3072);
    let (body, _) =
        sent(&ask("anthropic.claude-opus-4-7", 2048), |b| b.additional_fields(value!({"top_k": 5}))).await;
    assert_eq!(
        body["additionalModelRequestFields"],
        json!({"top_k": 5, "thinking": {"type": "adaptive", "display": "summarized"}})
    );
    let (body, _) = sent(&ask("arn:aws:x", 2048), |b| b.thinking_mode(ThinkingMode::Budget)).await;
    assert_eq!(body["additionalModelRequestFields"]["thinking"]["budget_tokens"], 2048);

    let mut warm = ask(CLAUDE, 2048);
    warm.temperature = Some(0.5);
    let mut forced = ask(CLAUDE, 2048).tool(tool("f"));
    forced.tool_choice = Some(ToolChoice::Tool { name: "f".into() });
    for (request, reason) in [
        (ask("anthropic.claude-3-haiku-20240307-v1:0", 2048), ThinkingRefusal::NoThinking),
        (ask("amazon.nova-lite-v1:0", 2048), ThinkingRefusal::NoThinking),
        (ask(CLAUDE, 1000), ThinkingRefusal::Budget),
        (warm, ThinkingRefusal::Temperature),
        (forced, ThinkingRefusal::ForcedToolChoice),
    ] {
        let (builder, exchange) = builder([]);
        let error = builder.build().unwrap().complete(&request, &CallCx::detached()).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::UnsupportedThinking { reason });
        assert_clean(&error);
        assert!(exchange.requests().is_empty());
    }
    // A tool loop from elsewhere goes on without.
    let mut foreign = LlmRequest::new(CLAUDE)
        .user("Weather?")
        .message(Message::assistant("").with_tool_calls(vec![call("t1")]))
        .message(Message::tool("t1", "weather", "rain"))
        .tool(tool("weather"));
    foreign.thinking = Some(Thinking { budget: 2048 });
    let (body, _) = sent(&foreign, |builder| builder).await;
    assert!(body.get("additionalModelRequestFields").is_none());
}

/// Proves LLM-71, LLM-98, LLM-106.
#[tokio::test]
async fn cache_points_stand_behind_their_prefix() {
    let marker = |field, boundary_index, ttl| CacheMarker { field, boundary_index, ttl, reason: "t".into() };
    let segment = |text: &str| SystemSegment { source: "s".into(), text: text.into() };
    let mut request = conversation(CLAUDE)
        .with_system_segments([segment("a"), segment("\n\nb"), segment("\n\nc")])
        .with_tools([tool("weather"), tool("time")]);
    request.cache_markers = vec![
        marker(CacheField::System, 1, CacheTtl::Short),
        marker(CacheField::Tools, 0, CacheTtl::Long),
        marker(CacheField::Messages, 2, CacheTtl::Long),
        // Vanished from the wire: marks nothing.
        marker(CacheField::Messages, 5, CacheTtl::Short),
    ];
    let (body, _) = sent(&request, |builder| builder).await;
    let point = json!({"cachePoint": {"type": "default"}});
    assert_eq!(body["system"], json!([{"text": "a\n\nb"}, point, {"text": "\n\nc"}]));
    assert_eq!(body["toolConfig"]["tools"][1], json!({"cachePoint": {"type": "default", "ttl": "1h"}}));
    let content = body["messages"][2]["content"].as_array().unwrap();
    assert_eq!(content[0]["toolResult"]["toolUseId"], "t1");
    assert_eq!(content[1], point, "behind a short one no longer one may follow");
    assert_eq!(body.to_string().matches("cachePoint").count(), 3);

    let of = |model: &str| {
        let mut request = request.clone();
        request.model = model.into();
        request
    };
    let (nova, _) = sent(&of("amazon.nova-pro-v1:0"), |b| b).await;
    assert_eq!(nova.to_string().matches("cachePoint").count(), 2, "Nova caches no tools");
    let (other, _) = sent(&of("meta.llama3-1-8b-instruct-v1:0"), |b| b).await;
    assert_eq!(other.to_string().matches("cachePoint").count(), 0);

    let provider = builder([]).0.build().unwrap();
    let caching = |model| provider.capabilities(model).prompt_caching;
    assert_eq!(caching(CLAUDE), Some(PromptCaching::Breakpoints { max_breakpoints: 4, reports_usage: true }));
    assert_eq!(caching("meta.llama3-1-8b-instruct-v1:0"), None);
    assert!(!provider.capabilities(CLAUDE).carries_in_messages.names().contains(&"system"));
}

/// Proves LLM-136.
#[tokio::test]
async fn a_form_of_the_answer_is_refused_before_sending() {
    let mut request = conversation(CLAUDE);
    request.output_schema =
        Some(agentfootprint_core::llm::OutputSchema::new("f", value!({"type": "object"})));
    let (told, exchange) = builder([]);
    let error = told.build().unwrap().complete(&request, &CallCx::detached()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Refused);
    assert!(error.to_string().contains("use the `instruct` or the `tool-forced` strategy"), "{error}");
    assert!(exchange.requests().is_empty());
}
