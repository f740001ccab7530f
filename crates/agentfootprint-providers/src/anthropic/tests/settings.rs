//! Where settings come from, and what is declared.

use std::time::Duration;

use agentfootprint_core::llm::{LlmErrorKind, PromptCaching, ThinkingMode};

use super::fixtures::hello;
use super::*;
use crate::EnvVars;
use crate::http::{Bounds, Deadlines};

/// Proves LLM-40, LLM-52.
#[test]
fn from_env_reads_key_and_address_and_the_builder_only_the_key() {
    let env =
        EnvVars::from_pairs([("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", "http://localhost:1/")]);
    let all = Anthropic::from_env_vars(env.clone()).unwrap();
    assert!(format!("{all:?}").contains("http://localhost:1/v1/messages"));
    let explicit = Anthropic::builder().env(env).build().unwrap();
    assert!(format!("{explicit:?}").contains("https://api.anthropic.com/v1/messages"));
    assert!(!format!("{explicit:?}").contains(KEY));

    let blank = EnvVars::from_pairs([("ANTHROPIC_API_KEY", " "), ("ANTHROPIC_BASE_URL", "")]);
    let error = Anthropic::from_env_vars(blank).unwrap_err();
    assert!(matches!(error.kind, LlmErrorKind::NoCredential));
    for word in ["[anthropic] ", "ANTHROPIC_API_KEY", ".key(", ".without_key()"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    let bad = EnvVars::from_pairs([("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", "localhost:8080")]);
    let error = Anthropic::from_env_vars(bad).unwrap_err();
    assert!(error.to_string().contains("ANTHROPIC_BASE_URL `localhost:8080`"), "{error}");
}

/// Proves LLM-41.
#[test]
fn settings_that_can_never_work_are_refused_when_building() {
    let zero = Deadlines { idle: Duration::ZERO, ..Deadlines::default() };
    let none = Bounds { frame: 0, ..Bounds::default() };
    for (builder, word) in [
        (builder([]).0.deadlines(zero), "deadlines.idle"),
        (builder([]).0.bounds(none), "bounds"),
        (builder([]).0.max_tokens(0), "max_tokens"),
        (builder([]).0.base_url("ftp://h"), "scheme"),
        (builder([]).0.beta("line\nbreak"), ".beta("),
    ] {
        let error = builder.build().unwrap_err();
        assert!(error.refused_before_send() && error.to_string().contains(word), "{error}");
    }
    // A callback is not asked, and no socket is opened (there is no runtime here to open one).
    let callback = crate::Key::provider(|_| async { panic!("asked while building") });
    let built = Anthropic::builder().key(callback);
    assert!(!format!("{built:?}").contains(KEY));
    assert!(built.build().is_ok());
}

#[tokio::test]
async fn gateways_get_a_bearer_token_or_no_key_at_all() {
    let (bearer, exchange) = builder([Answer::ok(hello().to_string())]);
    sent_by(bearer.bearer_header(true).base_url("http://h"), &exchange, &request()).await;
    let headers = &exchange.requests()[0].headers;
    assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
    assert!(headers["authorization"].is_sensitive() && !headers.contains_key("x-api-key"));
    let (open, exchange) = builder([Answer::ok(hello().to_string())]);
    sent_by(open.without_key(), &exchange, &request()).await;
    assert!(!exchange.requests()[0].headers.contains_key("x-api-key"));
}

/// Proves LLM-5, LLM-6, LLM-93.
#[test]
fn declarations_are_per_model() {
    let provider = builder([]).0.build().unwrap();
    let declared = provider.capabilities(MODEL);
    assert_eq!(declared.carries_in_messages.names(), ["user", "assistant"]);
    assert_eq!(
        declared.prompt_caching,
        Some(PromptCaching::Breakpoints { max_breakpoints: 4, reports_usage: true })
    );
    assert_eq!(declared.thinking_handler.as_ref().unwrap().id(), "anthropic");
    assert_eq!(declared.thinking_mode, Some(ThinkingMode::Budget));
    assert!(declared.carries_forced_tool_choice && declared.streams);
    assert!(declared.check("anthropic").is_ok());
    assert_eq!(provider.capabilities("anthropic").thinking_mode, Some(ThinkingMode::Budget));
    assert_eq!(provider.capabilities("claude-opus-4-8").thinking_mode, Some(ThinkingMode::Adaptive));
    assert_eq!(provider.capabilities("claude-3-haiku").thinking_mode, Some(ThinkingMode::None));
    assert!(!provider.capabilities("claude-mythos-preview").carries_forced_tool_choice);
    assert!(!builder([]).0.streaming(false).build().unwrap().capabilities(MODEL).streams);
}

#[tokio::test]
async fn a_provider_that_does_not_stream_says_so() {
    let provider = builder([]).0.streaming(false).build().unwrap();
    assert!(provider.stream(&request(), &CallCx::detached()).await.is_none());
}
