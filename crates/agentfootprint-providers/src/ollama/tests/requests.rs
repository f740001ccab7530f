//! What is sent.

use agentfootprint_core::llm::{LlmErrorKind, Thinking, ToolChoice, ToolSchema};
use agentfootprint_record::message::{Message, ThinkingBlock, ToolCall};
use footprint::value;

use super::*;
use crate::ollama::Think;

fn conversation() -> LlmRequest {
    let args = value!({"city": "Oslo"}).as_object().unwrap().clone();
    let mut thought = ThinkingBlock::thinking("which city?");
    thought.origin = Some("ollama".into());
    let mut foreign = ThinkingBlock::thinking("elsewhere");
    foreign.origin = Some("anthropic".into());
    LlmRequest::new("ollama")
        .system("Be brief.")
        .user("Weather in Oslo?")
        .message(
            Message::assistant("")
                .with_tool_calls(vec![ToolCall::new("c1", "weather", args)])
                .with_thinking(vec![thought, foreign]),
        )
        .message(Message::tool("c1", "", "rain"))
        .message(Message::system("Stay polite."))
        .tool(ToolSchema::new("weather", "The weather", value!({"type": "object"})))
}

/// Proves LLM-42, LLM-46, LLM-67, LLM-92.
#[tokio::test]
async fn a_whole_conversation() {
    let mut request = conversation();
    request.temperature = Some(0.5);
    request.max_tokens = Some(100);
    request.stop = vec!["END".into()].into();
    let body = sent(&request, |builder| builder.num_ctx(8192).keep_alive("10m")).await;
    assert_eq!(
        body,
        json!({
            "model": "llama3.2", "stream": false, "keep_alive": "10m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Weather in Oslo?"},
                {"role": "assistant", "content": "", "thinking": "which city?", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}
                ]},
                {"role": "tool", "content": "rain", "tool_name": "weather", "tool_call_id": "c1"},
                {"role": "system", "content": "Stay polite."}
            ],
            "tools": [{"type": "function", "function":
                {"name": "weather", "description": "The weather", "parameters": {"type": "object"}}}],
            "options": {"num_predict": 100, "temperature": 0.5, "stop": ["END"], "num_ctx": 8192}
        })
    );
    let plain_request = LlmRequest::new("qwen3").user("hi");
    let body = sent(&plain_request, |builder| builder).await;
    assert_eq!(
        body,
        json!({"model": "qwen3", "messages": [{"role": "user", "content": "hi"}], "stream": false})
    );
}

/// Proves LLM-67.
#[tokio::test]
async fn thinking_is_a_level_and_never_a_budget() {
    let ask = |thinking: bool| {
        let mut request = LlmRequest::new("m").user("hi");
        request.thinking = thinking.then_some(Thinking { budget: 2048 });
        request
    };
    for (option, asked, expected) in [
        (None, false, Json::Null),
        (None, true, json!(true)),
        (Some(Think::Off), false, json!(false)),
        (Some(Think::Off), true, json!(true)),
        (Some(Think::Low), true, json!("low")),
        (Some(Think::Max), false, json!("max")),
    ] {
        let body = sent(&ask(asked), |builder| match option {
            Some(think) => builder.think(think),
            None => builder,
        })
        .await;
        assert_eq!(body["think"], expected);
        assert_eq!(body["options"], Json::Null, "no budget is made of it");
    }
    let schema = value!({"type": "object"});
    assert_eq!(sent(&ask(false), |b| b.format(schema)).await["format"], json!({"type": "object"}));
}

/// Proves LLM-6, LLM-67.
#[tokio::test]
async fn a_forced_tool_is_refused_before_anything_is_sent() {
    let mut request = conversation();
    request.tool_choice = Some(ToolChoice::Tool { name: "weather".into() });
    let (builder, exchange) = builder([]);
    let provider = builder.build().unwrap();
    assert!(!provider.capabilities("m").carries_forced_tool_choice);
    let error = provider.complete(&request, &CallCx::detached()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::UnsupportedToolChoice);
    assert!(error.to_string().contains("`instruct`"), "{error}");
    let error = provider.complete(&LlmRequest::new(" "), &CallCx::detached()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Refused);
    assert!(exchange.requests().is_empty());
}

/// Proves LLM-28.
#[tokio::test]
async fn a_key_goes_into_its_header_and_no_text() {
    let answer = plain(json!({"content": "x"}), "stop").to_string();
    let (builder, exchange) = builder([Answer::ok(answer)]);
    assert!(!format!("{builder:?}").contains(KEY));
    let provider = builder.build().unwrap();
    assert!(!format!("{provider:?}").contains(KEY));
    provider.complete(&wire().request(), &CallCx::detached()).await.unwrap();
    let sent = &exchange.requests()[0];
    assert_eq!(sent.headers["authorization"], format!("Bearer {KEY}"));
    assert!(!format!("{sent:?} {:?}", sent.headers).contains(KEY));
}

/// Counts warnings.
struct Warnings(Arc<std::sync::atomic::AtomicUsize>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "agentfootprint" && *metadata.level() == tracing::Level::WARN
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

/// Proves LLM-68.
#[test]
fn an_unset_context_is_warned_about_once() {
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let _counting = tracing::subscriber::set_default(Warnings(count.clone()));
    for (num_ctx, expected) in [(None, 1), (Some(8192), 1)] {
        let answer = Answer::ok(plain(json!({"content": "x"}), "stop").to_string());
        let (builder, _) = builder([answer.clone(), answer]);
        let builder = match num_ctx {
            Some(tokens) => builder.num_ctx(tokens),
            None => builder,
        };
        let provider = builder.build().unwrap();
        for _ in 0..2 {
            let request = wire().request();
            crate::testing::now(provider.complete(&request, &CallCx::detached())).unwrap();
        }
        assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), expected);
    }
}

/// Proves LLM-136: the form of one request stands before the one the builder gives to all.
#[tokio::test]
async fn a_form_of_the_answer_is_the_format() {
    let mut request = LlmRequest::new("qwen3").user("hi");
    request.output_schema =
        Some(agentfootprint_core::llm::OutputSchema::new("f", value!({"type": "object"})));
    let body = sent(&request, |builder| builder.format(value!("json"))).await;
    assert_eq!(body["format"], json!({"type": "object"}));
}
