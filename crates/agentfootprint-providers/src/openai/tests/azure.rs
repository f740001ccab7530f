//! Azure, and where settings come from.

use agentfootprint_core::llm::{CallCx, LlmErrorKind, LlmProvider, LlmRequest};
use serde_json::json;

use super::fixtures::{completion, usage};
use super::*;
use crate::EnvVars;

fn ok() -> Answer {
    Answer::ok(completion(json!({"content": "ok"}), "stop", usage()).to_string())
}

/// Proves LLM-61.
#[tokio::test]
async fn azure_sends_its_key_in_its_own_header_to_the_deployment() {
    let exchange = Scripted::new([ok(), ok()]);
    let azure = OpenAi::azure()
        .endpoint("https://r.openai.azure.com/")
        .deployment("chat prod")
        .api_version("2024-10-21")
        .key(KEY)
        .exchange(exchange.clone())
        .build()
        .unwrap();
    for model in ["azure", "chat prod"] {
        let response = azure.complete(&LlmRequest::new(model).user("hi"), &CallCx::detached()).await.unwrap();
        assert_eq!(response.served_by.unwrap().model, "chat prod");
    }
    let sent = exchange.requests();
    assert_eq!(
        sent[0].url.as_str(),
        "https://r.openai.azure.com/openai/deployments/chat%20prod/chat/completions?api-version=2024-10-21"
    );
    assert_eq!(sent[0].url, sent[1].url);
    assert_eq!(sent[0].headers["api-key"], KEY);
    assert!(!sent[0].headers.contains_key("authorization"));
    assert_eq!(azure.name(), "azure-openai");
    assert!(azure.capabilities("azure").carries_forced_tool_choice);
}

/// Proves LLM-61.
#[test]
fn what_azure_needs_is_named_with_its_variable() {
    let env = |pairs: &[(&str, &str)]| EnvVars::from_pairs(pairs.iter().copied());
    let all = [
        ("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com"),
        ("AZURE_OPENAI_API_KEY", KEY),
        ("AZURE_OPENAI_API_VERSION", "2024-10-21"),
        ("AZURE_OPENAI_DEPLOYMENT", "d"),
    ];
    assert!(OpenAi::azure().env(env(&all)).build().is_ok());
    for (missing, (variable, _)) in all.iter().enumerate() {
        let rest: Vec<_> =
            all.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, pair)| *pair).collect();
        let error = OpenAi::azure().env(env(&rest)).build().unwrap_err();
        assert!(error.to_string().contains(variable), "{error}");
        assert!(error.to_string().starts_with("[azure-openai] "), "{error}");
    }
    // The second names are read too.
    let others = [
        ("OPENAI_BASE_URL", "https://r.openai.azure.com"),
        ("OPENAI_API_KEY", KEY),
        ("AZURE_OPENAI_API_VERSION", "2024-10-21"),
        ("MODEL_NAME", "d"),
    ];
    assert!(OpenAi::azure().env(env(&others)).build().is_ok());
}

/// Proves LLM-40, LLM-57.
#[tokio::test]
async fn from_env_reads_key_and_address_and_the_builder_only_the_key() {
    let env = EnvVars::from_pairs([
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", "http://localhost:1/v1/"),
        ("OPENAI_ORGANIZATION", "org-1"),
    ]);
    let all = OpenAi::from_env_vars(env.clone()).unwrap();
    assert!(format!("{all:?}").contains("http://localhost:1/v1/chat/completions"));
    assert_eq!(all.organization.as_deref(), Some("org-1"));
    let explicit = OpenAi::builder().env(env).build().unwrap();
    assert!(format!("{explicit:?}").contains("https://api.openai.com/v1"));
    assert_eq!(explicit.organization, None);

    let blank = EnvVars::from_pairs([("OPENAI_API_KEY", " "), ("OPENAI_BASE_URL", "")]);
    let error = OpenAi::from_env_vars(blank).unwrap_err();
    assert!(matches!(error.kind, LlmErrorKind::NoCredential));
    for word in ["OPENAI_API_KEY", ".key(", ".without_key()"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    let bad = EnvVars::from_pairs([("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "localhost:8080")]);
    assert!(OpenAi::from_env_vars(bad).unwrap_err().to_string().contains("OPENAI_BASE_URL `localhost:8080`"));
}

/// Proves LLM-41.
#[test]
fn settings_that_can_never_work_are_refused_when_building() {
    use std::time::Duration;

    use crate::http::{Bounds, Deadlines};
    let zero = Deadlines { idle: Duration::ZERO, ..Deadlines::default() };
    let none = Bounds { frame: 0, ..Bounds::default() };
    for (builder, word) in [
        (builder([]).0.deadlines(zero), "deadlines.idle"),
        (builder([]).0.bounds(none), "bounds"),
        (builder([]).0.max_tokens(0), "max_tokens"),
        (builder([]).0.base_url("ftp://h/v1"), "scheme"),
    ] {
        let error = builder.build().unwrap_err();
        assert!(error.refused_before_send() && error.to_string().contains(word), "{error}");
    }
    // A callback is not asked, and no socket is opened (there is no runtime here to open one).
    let callback = crate::Key::provider(|_| async { panic!("asked while building") });
    assert!(OpenAi::builder().key(callback).build().is_ok());
}
