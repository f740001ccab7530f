//! The stage that calls the model: what it says and writes, and in which order.

use agentfootprint_core::agent::RunConfig;
use agentfootprint_core::compose::LlmCall;
use agentfootprint_core::injection::Fact;
use agentfootprint_core::llm::{
    LlmChunk, LlmError, LlmErrorKind, LlmResponse, ModelPrices, ServedBy, StaticPricing, StopReason,
    ThinkingError, ThinkingHandler, Usage, WireManifest,
};
use agentfootprint_core::run::{RunError, Runner as _};
use agentfootprint_record::message::ThinkingBlock;
use footprint::value::Value;

use crate::support::*;

struct Thoughts;

impl ThinkingHandler for Thoughts {
    fn id(&self) -> &str {
        "thoughts"
    }
    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        Ok(raw.as_str().map(ThinkingBlock::thinking).into_iter().collect())
    }
}

fn prices() -> StaticPricing {
    let prices = ModelPrices { input: Some(0.01), output: Some(0.1), ..ModelPrices::default() };
    StaticPricing::new("p").any_model(prices)
}

fn answer() -> LlmResponse {
    LlmResponse {
        usage: Usage::new(100, 10),
        provider_ref: Some("resp-7".into()),
        raw_thinking: Some(json!("Hm.")),
        wire_manifest: Some(WireManifest { tool_names: vec!["look".into(), "other".into()] }),
        ..say("Hello")
    }
}

/// Proves LLM-12, LLM-75: one round trip serves the listener and the loop, and everything about it comes in one order.
#[tokio::test]
async fn everything_about_a_call_comes_in_one_order() {
    let chunks = vec![
        Ok(LlmChunk::Thinking { token_index: 0, delta: "Hm.".into() }),
        Ok(LlmChunk::Thinking { token_index: 1, delta: String::new() }),
        Ok(LlmChunk::Text { token_index: 0, content: "Hel".into() }),
        Ok(LlmChunk::Text { token_index: 1, content: String::new() }),
        Ok(LlmChunk::Text { token_index: 2, content: "lo".into() }),
        Ok(LlmChunk::done(2, answer())),
    ];
    let script = Script::streaming([chunks]);
    let agent = agent(&script)
        .tool(looking("seen"))
        .thinking_handler(Thoughts)
        .pricing(prices())
        .cost_budget(0.5)
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "Hello");
    let of_the_call = |name: &String| {
        ["agent.iteration_start", "stream.", "error.", "integrity.context_error", "cost."]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    };
    let names: Vec<String> = heard.names().into_iter().filter(of_the_call).collect();
    assert_eq!(
        names,
        [
            "agent.iteration_start",
            "stream.llm_start",
            "stream.thinking_delta",
            "stream.token",
            "stream.token",
            "stream.llm_end",
            "integrity.context_error",
            "cost.tick",
            "cost.limit_hit",
            "stream.thinking_end",
        ]
    );
    assert_eq!(script.calls(), 1, "one round trip");
    // Pieces are numbered as they are said, and empty ones are not said.
    let tokens = heard.of("stream.token");
    assert_eq!(tokens[1], json!({"iteration": 1, "tokenIndex": 1, "content": "lo"}));
    assert_eq!(
        heard.of("stream.thinking_delta")[0],
        json!({"iteration": 1, "tokenIndex": 0, "content": "Hm."})
    );
    // What is said at the end is already state.
    let events = heard.all();
    let ended = events.iter().find(|event| event["type"] == json!("agentfootprint.stream.llm_end")).unwrap();
    let started =
        events.iter().find(|event| event["type"] == json!("agentfootprint.stream.llm_start")).unwrap();
    assert_eq!(ended["meta"]["runtimeStageId"], started["meta"]["runtimeStageId"]);
}

/// Proves LLM-76, LLM-77, LLM-78: the prompt is the pieces joined by a blank line; what is offered is said; the text of the
/// prompt only where it was asked for.
#[tokio::test]
async fn what_is_asked_is_said_before_it_is_asked() {
    let told = async |records: bool| {
        let script = Script::new([say("done")]);
        let agent = agent(&script)
            .system("Base é.")
            .fact(Fact::new("hours", "9 to 5."))
            .tool(looking("seen"))
            .temperature(0.5)
            .record_system_prompt(records)
            .build()
            .unwrap();
        let (_, heard) = run(&agent, "go").await;
        (heard.of("stream.llm_start")[0].clone(), script.request(0))
    };
    let (start, request) = told(false).await;
    assert_eq!(request.system_prompt().as_deref(), Some("Base é.\n\n9 to 5."));
    assert_eq!(
        start,
        json!({
            "iteration": 1, "provider": "script", "model": "m", "systemPromptChars": 16, "messagesCount": 1,
            "toolsCount": 1, "tools": [{"name": "look", "description": "Looks."}], "temperature": 0.5
        })
    );
    let (start, _) = told(true).await;
    assert_eq!(start["systemPromptText"], json!("Base é.\n\n9 to 5."));
    // An agent without anything to offer or to say leaves the fields out.
    let script = Script::new([say("done")]);
    let (_, heard) = run(&agent(&script).build().unwrap(), "go").await;
    let start = heard.of("stream.llm_start")[0].clone();
    assert_eq!((&start["systemPromptChars"], &start["toolsCount"]), (&json!(0), &json!(0)));
    assert!(
        start.get("tools").is_none() && start.get("temperature").is_none() && start.get("brain").is_none()
    );
    assert_eq!(script.request(0).system_prompt(), None);
}

/// Proves LLM-77: the call that wraps up offers no tools, and the record says so.
#[tokio::test]
async fn the_wrap_up_call_offers_nothing() {
    let script = Script::by(|at, _| Ok(if at < 2 { look(&format!("c{at}")) } else { say("enough") }));
    let agent = agent(&script).tool(looking("seen")).max_iterations(2).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "enough");
    let offered: Vec<usize> = (0..script.calls()).map(|at| script.request(at).tools.len()).collect();
    assert_eq!(offered, [1, 1, 0]);
    assert_eq!(heard.of("stream.llm_start")[2]["toolsCount"], json!(0));
}

/// Proves LLM-79, LLM-80: the answer is said with its counts and the vendor's id, and who served it when it is somebody else;
/// what the call wrote is there, and a thought of an earlier call is not.
#[tokio::test]
async fn what_came_back_is_said_and_written() {
    let mut first = look("c1");
    first.tool_calls[0].provider_meta = Some(json!({"thoughtSignature": "AbC=="}));
    first.raw_thinking = Some(json!("Hm."));
    first.usage = Usage::new(5, 6).with_cache_read(7).with_cache_write(8).with_thinking(9);
    let last = LlmResponse {
        provider_ref: Some("resp-7".into()),
        served_by: Some(ServedBy { provider: "other".into(), model: "m2".into() }),
        stop_reason: StopReason::Other("odd".into()),
        ..say("done")
    };
    let script = Script::new([first, last]);
    let agent = agent(&script).tool(looking("seen")).thinking_handler(Thoughts).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    let ends = heard.of("stream.llm_end");
    let end = |at: usize, key: &str| ends[at].get(key).cloned();
    assert_eq!(
        end(0, "usage"),
        Some(json!({"input": 5, "output": 6, "cacheRead": 7, "cacheWrite": 8, "thinking": 9}))
    );
    assert_eq!((end(0, "toolCallCount"), end(0, "stopReason")), (Some(json!(1)), Some(json!("tool_use"))));
    assert_eq!((end(0, "servedBy"), end(0, "providerResponseRef")), (None, None));
    assert_eq!(end(1, "servedBy"), Some(json!({"provider": "other", "model": "m2"})));
    assert_eq!(
        (end(1, "providerResponseRef"), end(1, "stopReason")),
        (Some(json!("resp-7")), Some(json!("odd")))
    );
    assert!(end(1, "durationMs").is_some_and(|took| took.as_u64().is_some()));

    assert_eq!(state(&report, "llmLatestContent"), Some(json!("done")));
    assert_eq!(state(&report, "llmLatestToolCalls"), Some(json!([])));
    assert_eq!(state(&report, "rawThinking").filter(|raw| !raw.is_null()), None, "an earlier call's thought");
    assert_eq!(state(&report, "thinkingBlocks"), Some(json!([])));
    let sent = script.request(1).messages().to_value();
    assert_eq!(sent[1]["toolCalls"][0]["providerMeta"], json!({"thoughtSignature": "AbC=="}));
    assert_eq!(state(&report, "totalInputTokens"), Some(json!(5)));
}

/// Proves LLM-81: the wire is compared with what was handed to the adapter; without a manifest there is nothing to compare.
#[tokio::test]
async fn the_wire_is_compared_with_what_was_handed_over() {
    let findings = async |names: Option<&[&str]>| {
        let manifest =
            names.map(|names| WireManifest { tool_names: names.iter().map(|name| (*name).into()).collect() });
        let script = Script::new([LlmResponse { wire_manifest: manifest, ..say("done") }]);
        let agent = agent(&script).tool(looking("seen")).build().unwrap();
        let (_, heard) = run(&agent, "go").await;
        heard
            .of("integrity.context_error")
            .iter()
            .map(|found| found["predicate"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(findings(Some(&["look"])).await.is_empty());
    assert_eq!(findings(Some(&["look", "more"])).await, ["wire-only"]);
    assert_eq!(findings(Some(&[])).await, ["composed-only"]);
    assert!(findings(None).await.is_empty());
}

/// Proves LLM-82: the provider's error is what the program gets; only the last bridge speaks to people.
#[tokio::test]
async fn a_providers_error_stays_what_it_is() {
    let script =
        Script::by(
            |_, _| Err(LlmError::new(LlmErrorKind::RateLimited, "acme", "slow down").with_status(429)),
        );
    let agent = agent(&script).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    let Some(RunError::Llm(typed)) = report.error() else { panic!("{report:?}") };
    assert_eq!(
        (typed.kind.clone(), typed.to_string()),
        (LlmErrorKind::RateLimited, "[acme] slow down".into())
    );
    let fatal = heard.of("error.fatal")[0].clone();
    assert!(fatal["error"].as_str().unwrap().contains("busy"), "{fatal}");
    assert!(!heard.mentions("\"stream.llm_end\""));
}

/// Proves LLM-83: a call outside of an agent uses the same port, cost and events, without gate, cache and window (AGT-29: it asks for
/// the whole answer at once).
#[tokio::test]
async fn a_single_call_says_the_same() {
    let script = Script::new([answer()]);
    let call = LlmCall::builder(script.clone(), "m").system("Be kind.").pricing(prices()).build().unwrap();
    let heard = Heard::default();
    let report = call.run("go").options(heard.options()).await;
    assert_eq!(report.answer().unwrap(), "Hello");
    let names: Vec<String> = heard
        .names()
        .into_iter()
        .filter(|name| name.starts_with("stream.") || name.starts_with("cost."))
        .collect();
    assert_eq!(names, ["stream.llm_start", "stream.llm_end", "cost.tick"]);
    assert_eq!(heard.of("stream.llm_end")[0]["providerResponseRef"], json!("resp-7"));
    assert_eq!(heard.count("cost.tick"), 1);
    assert!(script.request(0).cache_markers.is_empty());
}

/// Proves LLM-84: what the hook returns is committed before the first call, so that call, event and price say one thing; what
/// it leaves out is not written; a second hook is refused.
#[tokio::test]
async fn a_runs_own_model_is_one_value_for_call_event_and_price() {
    let script = Script::by(|_, _| Ok(LlmResponse { usage: Usage::new(1, 1), ..say("done") }));
    let configured = agent(&script)
        .system("As built.")
        .pricing(prices())
        .configure(|cx| {
            assert_eq!((&*cx.defaults.model, cx.defaults.instructions.as_deref()), ("m", Some("As built.")));
            (&*cx.message == "big").then(|| RunConfig::new().model("large"))
        })
        .build()
        .unwrap();
    let (report, heard) = run(&configured, "big").await;
    assert_eq!(state(&report, "resolvedModel"), Some(json!("large")));
    assert_eq!(state(&report, "resolvedInstructions"), None);
    assert_eq!(&*script.request(0).model, "large");
    assert_eq!(heard.of("stream.llm_start")[0]["model"], json!("large"));
    assert_eq!(heard.of("cost.tick")[0]["model"], json!("large"));
    let (report, heard) = run(&configured, "small").await;
    assert_eq!(state(&report, "resolvedModel"), None);
    assert_eq!(heard.of("stream.llm_start")[0]["model"], json!("m"));
    let twice = agent(&script).configure(|_| None).configure(|_| None).build().unwrap_err();
    assert!(twice.to_string().contains("configure"), "{twice}");
}
