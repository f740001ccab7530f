//! The two doors, where settings come from, and what is declared.

use std::time::Duration;

use agentfootprint_core::llm::{LlmErrorKind, PromptCaching};

use super::fixtures::hello;
use super::*;
use crate::http::{Bounds, Deadlines};
use crate::{EnvVars, Key};

fn env(pairs: &[(&str, &str)]) -> EnvVars {
    EnvVars::from_pairs(pairs.iter().copied())
}

/// Proves LLM-40, LLM-63.
#[test]
fn the_door_is_told_by_options_and_then_by_variables() {
    let door = |builder: GeminiBuilder| format!("{:?}", builder.build().unwrap());
    for name in ["GEMINI_API_KEY", "GOOGLE_API_KEY"] {
        let keyed = Gemini::from_env_vars(env(&[(name, KEY), ("GOOGLE_CLOUD_PROJECT", "p")])).unwrap();
        assert!(format!("{keyed:?}").contains("generativelanguage.googleapis.com"));
        assert!(!format!("{keyed:?}").contains(KEY));
    }
    let from_env =
        env(&[("GEMINI_API_KEY", KEY), ("GOOGLE_CLOUD_PROJECT", "p"), ("GOOGLE_CLOUD_LOCATION", "us-east1")]);
    let vertex = door(Gemini::builder().env(from_env).vertex(true).access_token("t"));
    assert!(vertex.contains("us-east1-aiplatform.googleapis.com"), "{vertex}");
    let global = door(Gemini::builder().env(env(&[])).project("p").access_token("t"));
    assert!(global.contains("\"aiplatform.googleapis.com\"") || global.contains("aiplatform"), "{global}");
    assert!(global.contains("\"global\""), "{global}");
}

/// Proves LLM-63.
#[test]
fn what_a_door_needs_is_named() {
    let none = || Gemini::builder().env(env(&[("GEMINI_API_KEY", "  ")]));
    for (builder, kind, words) in [
        (
            none(),
            LlmErrorKind::NoCredential,
            vec!["GEMINI_API_KEY", "GOOGLE_API_KEY", ".project(", ".access_token("],
        ),
        (none().vertex(true), LlmErrorKind::Refused, vec![".project(", "GOOGLE_CLOUD_PROJECT"]),
        (none().project("p"), LlmErrorKind::NoCredential, vec![".access_token("]),
        (none().project("p").key(KEY), LlmErrorKind::Refused, vec!["different doors"]),
        (none().project("p").access_token("t").location("a/b"), LlmErrorKind::Refused, vec!["us-central1"]),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        for word in words {
            assert!(error.to_string().contains(word), "{error}");
        }
        assert!(error.to_string().starts_with("[gemini] "));
    }
}

/// Proves LLM-63.
#[tokio::test]
async fn vertex_is_asked_with_a_fresh_token_and_knows_the_shorthand() {
    let exchange = Scripted::new([Answer::ok(hello().to_string()), Answer::ok(hello().to_string())]);
    let vertex = Gemini::builder()
        .project("p")
        .location("us-central1")
        .access_token(Key::provider(|model| async move { format!("token-for-{model}").into() }))
        .exchange(exchange.clone())
        .build()
        .unwrap();
    let cx = CallCx::detached();
    let response = vertex.complete(&LlmRequest::new("gemini").user("hi"), &cx).await.unwrap();
    assert_eq!(response.served_by.unwrap().model, "gemini-2.5-flash");
    read_stream(&vertex, &request(), &cx).await;
    let sent = exchange.requests();
    assert_eq!(sent[0].headers["authorization"], "Bearer token-for-gemini-2.5-flash");
    assert!(
        sent[0].headers["authorization"].is_sensitive() && !sent[0].headers.contains_key("x-goog-api-key")
    );
    let path = "/v1beta1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-flash";
    assert_eq!(sent[0].url.path(), format!("{path}:generateContent"));
    assert_eq!(sent[1].url.path(), format!("{path}:streamGenerateContent"));
    assert_eq!(sent[1].url.query(), Some("alt=sse"));
}

/// Proves LLM-63.
#[tokio::test]
async fn the_shorthand_means_what_was_said() {
    let (told, exchange) = builder([Answer::ok(hello().to_string())]);
    let told = told.default_model("gemini-3-pro").api_version("v1");
    sent_by(told, &exchange, &LlmRequest::new("gemini").user("hi")).await;
    assert_eq!(exchange.requests()[0].url.path(), "/v1/models/gemini-3-pro:generateContent");
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
    ] {
        let error = builder.build().unwrap_err();
        assert!(error.refused_before_send() && error.to_string().contains(word), "{error}");
    }
    let callback = Key::provider(|_| async { panic!("asked while building") });
    let built = Gemini::builder().key(callback);
    assert!(!format!("{built:?}").contains(KEY));
    assert!(built.build().is_ok());
}

/// Proves LLM-6.
#[test]
fn what_is_declared() {
    let declared = builder([]).0.build().unwrap().capabilities(MODEL);
    assert_eq!(declared.carries_in_messages.names(), ["user", "assistant"]);
    assert_eq!(declared.prompt_caching, Some(PromptCaching::Automatic { reports_usage: true }));
    assert_eq!(declared.thinking_handler.as_ref().unwrap().id(), "gemini");
    assert!(declared.carries_forced_tool_choice && declared.streams);
    assert!(!builder([]).0.streaming(false).build().unwrap().capabilities(MODEL).streams);
}
