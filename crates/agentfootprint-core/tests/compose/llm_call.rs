use agentfootprint_core::agent::{ContextBudget, CostBudget};
use agentfootprint_core::compose::LlmCall;
use agentfootprint_core::llm::{LlmResponse, ModelPrices, StaticPricing, Usage};
use agentfootprint_core::run::{ChartRunner as _, RunInput, RunOptions, Runner};

use crate::support::*;

/// Proves AGT-29, AGT-30.
#[tokio::test]
async fn a_call_has_two_slots_one_request_and_no_agent_events() {
    let script = Script::texts(&["Bonjour"]);
    let call = LlmCall::builder(script.clone(), "m").id("one-shot").system("To French.").build().unwrap();
    let (report, heard) = run(&call, "Hello").await;
    assert_eq!(report.answer().unwrap(), "Bonjour");
    let names: Vec<String> = heard.all().iter().map(name).collect();
    assert_eq!(
        names,
        [
            "context.injected",
            "context.slot_composed",
            "context.injected",
            "context.slot_composed",
            "stream.llm_start",
            "stream.llm_end",
        ]
    );
    let keys: Vec<String> = report.record.state().keys().map(ToString::to_string).collect();
    assert_eq!(keys, ["userMessage", "iteration", "answer"]);
    let inner = report.record.snapshot().subtree("sf-llm-call").unwrap().tree_context.global_context.clone();
    assert_eq!(inner.get("receipt").unwrap()["cache"]["strategy"], json!(null));
    assert_eq!(script.requests.lock().unwrap()[0].system_prompt().as_deref(), Some("To French."));
    let ids: Vec<String> =
        call.spec().structure().root().level().map(|node| node.node().id.to_string()).collect();
    assert_eq!(ids, ["client", "sf-llm-call", "client"]);
    assert!(call.spec().structure().root().node().description.as_deref().unwrap().starts_with("LLMCall:"));
}

/// Proves AGT-30, AGT-73: the cost is said once, the budget when it is crossed.
#[tokio::test]
async fn a_call_files_its_cost() {
    let script = Script::by(|_, _| {
        let mut response = LlmResponse::text("ok");
        response.usage = Usage::new(100, 10);
        Ok(response)
    });
    let prices = ModelPrices { input: Some(0.01), output: Some(0.1), ..ModelPrices::default() };
    let call = LlmCall::builder(script, "m")
        .pricing(StaticPricing::new("test").any_model(prices))
        .cost_budget(CostBudget::warn(1.0))
        .build()
        .unwrap();
    let (_, heard) = run(&call, "Hello").await;
    assert_eq!(heard.of("cost.tick").len(), 1);
    assert_eq!(heard.of("cost.limit_hit")[0]["action"], "warn");
}

/// Proves AGT-67: a slot over its budget is reported, never cut.
#[tokio::test]
async fn a_slot_over_budget_is_only_reported() {
    let script = Script::wrap("x");
    let call = LlmCall::builder(script.clone(), "m")
        .context_budget(ContextBudget { messages: 2, ..ContextBudget::default() })
        .record_receipt(false)
        .record_system_prompt(true)
        .system("S")
        .temperature(0.0)
        .max_tokens(5)
        .build()
        .unwrap();
    let (report, heard) = run(&call, "Hello").await;
    assert_eq!(report.answer().unwrap(), "x(Hello)");
    assert_eq!(heard.of("context.budget_pressure").len(), 1);
    assert_eq!(heard.of("stream.llm_start")[0]["systemPromptText"], "S");
    let inner = report.record.snapshot().subtree("sf-llm-call").unwrap().tree_context.global_context.clone();
    assert!(!inner.contains_key("receipt"));
    let request = script.requests.lock().unwrap()[0].clone();
    assert_eq!((request.temperature, request.max_tokens), (Some(0.0), Some(5)));
}

/// Proves AGT-19, AGT-20, AGT-116.
#[tokio::test]
async fn inputs_are_refused_by_shape_and_options_reach_the_meta() {
    let call = wrapping("x");
    for (input, shape) in [
        (RunInput::from("  "), "blank text"),
        (RunInput::of_value(json!({"a": "secret"})), "a value (object)"),
    ] {
        let refused = call.start(input, RunOptions::new()).unwrap_err().to_string();
        assert!(refused.contains("LLMCall.run") && refused.contains(shape), "{refused}");
        assert!(!refused.contains("secret"));
    }
    let heard = Heard::default();
    let options = heard.options().session_id("s-1").correlation_id("c-1").trace_id("t-1");
    call.run("hi").options(options).await.answer().unwrap();
    for event in heard.all() {
        let meta = &event["meta"];
        assert_eq!(
            (&meta["sessionId"], &meta["correlationId"], &meta["traceId"]),
            (&json!("s-1"), &json!("c-1"), &json!("t-1"))
        );
        assert_eq!(meta["compositionPath"], json!(["LLMCall:x"]));
    }
}
