use std::error::Error;
use std::time::Duration;

use super::*;

fn all_kinds() -> Vec<LlmErrorKind> {
    use LlmErrorKind as K;
    vec![
        K::NoCredential,
        K::Refused,
        K::Auth,
        K::RateLimited,
        K::Transient,
        K::Network,
        K::Timeout { phase: TimeoutPhase::Idle, limit: Duration::from_secs(1) },
        K::ContextWindowExceeded { limit: None, actual: None },
        K::InvalidRequest,
        K::ModelNotFound,
        K::StreamIncomplete { delivered: false },
        K::StreamBroken { delivered: false },
        K::UnreadableResponse,
        K::UnreadableFrame,
        K::ResponseTooLarge { limit: 1 },
        K::MalformedToolArgs {
            tool_name: "t".into(),
            tool_use_id: "i".into(),
            block_index: 0,
            raw_length: 3,
        },
        K::ToolUseLost,
        K::UnsupportedThinking { reason: ThinkingRefusal::Budget },
        K::UnsupportedToolChoice,
        K::CircuitOpen { retry_at: 0, last_error: None },
        K::OllamaUnavailable {
            reason: OllamaReason::DaemonUnreachable,
            base_url: "http://localhost:11434".into(),
            model: None,
            available: vec![],
        },
        K::ScriptExhausted { scripted: 1, request: 2 },
        K::Aborted,
        K::Foreign { name: "X".into() },
    ]
}

fn of(kind: LlmErrorKind) -> LlmError {
    LlmError::new(kind, "openai", "m").with_vendor(Vendor::OpenAi)
}

/// The table of the specification, row by row.
///
/// Proves LLM-26, LLM-34.
#[test]
fn retryable_gate_kind_and_names_follow_the_table() {
    use LlmErrorKind as K;
    for kind in all_kinds() {
        let error = of(kind.clone());
        let retryable = matches!(
            kind,
            K::RateLimited
                | K::Transient
                | K::Network
                | K::Timeout { .. }
                | K::StreamIncomplete { .. }
                | K::StreamBroken { .. }
                | K::MalformedToolArgs { .. }
                | K::ToolUseLost
                | K::OllamaUnavailable { .. }
                | K::Foreign { .. }
        );
        assert_eq!(error.retryable(), retryable, "{kind:?}");
        let gate = match kind {
            K::RateLimited => ErrorKind::RateLimit,
            K::CircuitOpen { .. } => ErrorKind::CircuitOpen,
            K::Transient
            | K::Network
            | K::Timeout { .. }
            | K::StreamIncomplete { .. }
            | K::StreamBroken { .. }
            | K::OllamaUnavailable { .. } => ErrorKind::Transient,
            _ => ErrorKind::Unknown,
        };
        assert_eq!(error.gate_kind(), gate, "{kind:?}");
        let (name, code) = match kind {
            K::ContextWindowExceeded { .. } => {
                ("ContextWindowExceededError", Some("ERR_CONTEXT_WINDOW_EXCEEDED"))
            }
            K::CircuitOpen { .. } => ("CircuitOpenError", Some("ERR_CIRCUIT_OPEN")),
            K::UnsupportedThinking { .. } => ("UnsupportedThinkingError", None),
            K::UnsupportedToolChoice => ("UnsupportedToolChoiceError", None),
            K::OllamaUnavailable { .. } => ("OllamaUnavailableError", None),
            K::MalformedToolArgs { .. } => ("OpenAIProviderError", Some("OPENAI_MALFORMED_TOOL_ARGS")),
            K::ToolUseLost => ("OpenAIProviderError", Some("OPENAI_STREAM_TOOLUSE_LOST")),
            K::ScriptExhausted { .. } => ("Error", None),
            K::Aborted => ("AbortError", None),
            K::Foreign { .. } => ("X", None),
            _ => ("OpenAIProviderError", None),
        };
        assert_eq!((error.record_name(), error.record_code()), (name, code), "{kind:?}");
    }
    let pulled = of(K::OllamaUnavailable {
        reason: OllamaReason::ModelNotPulled,
        base_url: String::new(),
        model: None,
        available: vec![],
    });
    assert!(!pulled.retryable());
    assert_eq!(pulled.gate_kind(), ErrorKind::Unknown);
    let bedrock = of(K::ToolUseLost).with_vendor(Vendor::Bedrock);
    assert_eq!(bedrock.record_code(), Some("BEDROCK_STREAM_TOOLUSE_LOST"));
}

/// Proves LLM-32.
#[test]
fn what_fails_again_is_not_resumable() {
    use LlmErrorKind as K;
    for kind in all_kinds() {
        let resumable =
            !matches!(kind, K::ContextWindowExceeded { .. } | K::Auth | K::InvalidRequest | K::ModelNotFound);
        assert_eq!(of(kind.clone()).is_resumable(), resumable, "{kind:?}");
    }
    for status in [400, 404, 422] {
        assert!(!LlmError::foreign("E", "no").with_status(status).is_resumable());
    }
    assert!(LlmError::foreign("E", "no").with_status(503).is_resumable());
    assert!(!LlmError::foreign("E", "prompt is too long").is_resumable());
}

/// Proves LLM-27.
#[test]
fn the_prefix_is_applied_once() {
    assert_eq!(of(LlmErrorKind::Auth).to_string(), "[openai] m");
    assert_eq!(of(LlmErrorKind::Auth).message(), "m");
    assert_eq!(LlmError::foreign("E", "slow down").to_string(), "slow down");
}

/// Proves LLM-31.
#[test]
fn an_overflow_message_gives_the_fixes_in_order() {
    let overflow = Overflow { limit: Some(200), actual: Some(300) };
    let text = LlmError::context_window_exceeded("openai", overflow, "prompt is too long").to_string();
    let order = [
        "300 tokens sent, 200 fit",
        "nothing was generated",
        "cap the oversized tool result",
        "sliding_window",
        "compaction",
        "cannot rescue",
        "prompt is too long",
    ];
    let places: Vec<_> =
        order.iter().map(|word| text.find(word).unwrap_or_else(|| panic!("{word} missing"))).collect();
    assert!(places.is_sorted(), "{text}");
}

/// Proves LLM-33.
#[test]
fn human_sentences_are_chosen_by_kind_and_say_what_to_do() {
    use LlmErrorKind as K;
    let say = |kind| of(kind).human_message();
    assert!(say(K::Network).contains("network connection"));
    assert!(say(K::Auth).contains("key in the settings"));
    assert!(say(K::RateLimited).contains("Wait a moment"));
    assert!(
        say(K::Timeout { phase: TimeoutPhase::Idle, limit: Duration::ZERO }).contains("something simpler")
    );
    assert!(say(K::Transient).contains("later"));
    assert!(say(K::InvalidRequest).contains("model name"));
    assert!(say(K::ModelNotFound).contains("model name"));
    assert!(say(K::UnreadableResponse).contains("[openai] m"));
    // A general word in the text never overrides the kind.
    let typed = LlmError::new(K::ModelNotFound, "openai", "no permission, quota 401");
    assert!(typed.human_message().contains("model name"));
}

/// Proves LLM-33, LLM-34.
#[test]
fn foreign_errors_are_read_word_by_word() {
    for phrase in [
        "fetch failed",
        "Connection error.",
        "ENOTFOUND",
        "ECONNREFUSED",
        "ECONNRESET",
        "EAI_AGAIN",
        "socket hang up",
    ] {
        assert!(LlmError::foreign("E", phrase).human_message().contains("could not be reached"), "{phrase}");
    }
    let gate = |code: Option<&str>, status, text| classify_foreign(&ForeignFacts { status, code, text });
    assert_eq!(gate(Some("ERR_CIRCUIT_OPEN"), Some(429), ""), ErrorKind::CircuitOpen);
    assert_eq!(gate(Some("ERR_OUTPUT_SCHEMA"), None, ""), ErrorKind::SchemaFail);
    assert_eq!(gate(None, Some(429), ""), ErrorKind::RateLimit);
    assert_eq!(gate(None, Some(529), ""), ErrorKind::Transient);
    assert_eq!(gate(None, None, "connect ETIMEDOUT 1.2.3.4"), ErrorKind::Transient);
    assert_eq!(gate(None, None, "Too Many Requests"), ErrorKind::RateLimit);
    assert_eq!(gate(None, Some(400), "no such thing"), ErrorKind::Unknown);
    assert!(
        LlmError::foreign("E", "the maximum context length is 5 tokens").human_message().contains("too long")
    );
}

#[test]
fn delivery_ends_the_chance_to_retry() {
    let error = of(LlmErrorKind::StreamBroken { delivered: false });
    assert!(error.retryable());
    assert!(!error.after_delivery().retryable());
}

#[test]
fn sources_are_reachable_and_excerpts_are_cut() {
    let error = of(LlmErrorKind::Network)
        .with_source(std::io::Error::other("reset"))
        .with_body_excerpt(&"é".repeat(900));
    assert_eq!(error.source().unwrap().to_string(), "reset");
    assert!(error.body_excerpt.as_ref().unwrap().encode_utf16().count() <= 400);
}
