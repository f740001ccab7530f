//! The reliability gate over answers: the declared form, what it costs, and who was asked.

use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::{AgentBuilder, OutputOptions, OutputStrategy, Typed};
use agentfootprint_core::llm::{
    Capabilities, ErrorKind, LlmChunk, LlmError, LlmResponse, ModelPrices, StaticPricing, Usage,
};
use agentfootprint_core::reliability::{
    BreakerConfig, BreakerStore, FailoverEntry, Post, Pre, Reliability, Rule, default_stuck_loop_rule,
};
use agentfootprint_core::tools::{MessageContext, MessageMiddleware, MessageOutcome};
use async_trait::async_trait;

use crate::support::*;

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Ticket {
    title: String,
}

fn ticketed(script: &Script, options: OutputOptions) -> AgentBuilder {
    agent(script).output_schema(Typed::<Ticket>::new(), options)
}

const GOOD: &str = r#"{"title":"Mouse"}"#;
const BAD: &str = r#"{"title":7}"#;

fn streamed(answer: &str) -> Vec<Result<LlmChunk, LlmError>> {
    vec![
        Ok(LlmChunk::Text { token_index: 0, content: answer.to_owned() }),
        Ok(LlmChunk::done(1, say(answer))),
    ]
}

fn asking() -> Rule<Post> {
    Rule::when(|scope| scope.validation_error.is_some() && scope.attempt < 3, Post::Retry, "schema-retry")
}

/// Proves LLM-134, LLM-126, LLM-128: a streaming provider is asked again for the form; the invalid draft reaches nobody, the
/// feedback belongs to one request.
#[tokio::test]
async fn a_streamed_answer_of_the_wrong_form_is_asked_again_in_the_same_call() {
    let script = Script::streaming([streamed(BAD), streamed(GOOD)]);
    let store = Arc::new(BreakerStore::new());
    let gate = Reliability::new()
        .post(asking().feedback("The title must be text."))
        .circuit_breaker(BreakerConfig::new().failure_threshold(1))
        .breaker_store(Arc::clone(&store));
    let agent = ticketed(&script, OutputOptions::new()).reliability(gate).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), GOOD);
    assert_eq!(
        (script.calls(), heard.count("stream.llm_start"), heard.count("agent.iteration_end")),
        (2, 1, 1)
    );
    let failed = &heard.of("agent.output_schema_validation_failed")[0];
    assert_eq!((&failed["stage"], &failed["attempt"]), (&json!("schema-validate"), &json!(1)));
    assert_eq!((&failed["rawOutput"], &failed["cumulativeRetries"]), (&json!(BAD), &json!(0)));
    let names = heard.names();
    let at = |name: &str| names.iter().position(|one| one == name).unwrap();
    assert!(at("agent.output_schema_validation_failed") < at("reliability.retried"), "before any rule");
    assert_eq!(heard.of("reliability.retried")[0]["errorKind"], json!("schema-fail"));
    let tokens = heard.of("stream.token");
    assert_eq!((tokens.len(), &tokens[0]["content"]), (1, &json!(GOOD)));
    let asked = serde_json::to_value(script.request(1)).unwrap();
    let last = asked["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(
        last,
        &serde_json::json!({"role": "user", "content": "The title must be text.", "ephemeral": true})
    );
    assert_eq!(history(&report).len(), 1, "nothing of an attempt enters the conversation");
    assert_eq!(store.snapshot()["script"].consecutive_failures, 0, "an answer is no failure of the provider");
}

/// Proves LLM-126: a feedback function that fails still asks for the form.
#[tokio::test]
async fn a_failing_feedback_asks_in_general() {
    for panics in [false, true] {
        let script = Script::new([say(BAD), say(GOOD)]);
        let rule = asking().feedback_with(move |scope| {
            let path = scope.validation_error.map(|failure| failure.message.clone());
            async move {
                assert!(!panics, "the feedback panics");
                Err(format!("no words for {path:?}").into())
            }
        });
        let gate = Reliability::new().post(rule);
        let agent = ticketed(&script, OutputOptions::new()).reliability(gate).build().unwrap();
        assert_eq!(run(&agent, "go").await.0.answer().unwrap(), GOOD);
        assert!(script.request(1).last_user_text().unwrap().contains("valid JSON"));
    }
}

/// Proves LLM-135: two equal failures in a row are a loop; two different ones are not.
#[tokio::test]
async fn a_stuck_loop_is_ended() {
    let gate = || Reliability::new().post(default_stuck_loop_rule()).post(asking());
    let script = Script::new([say(BAD), say(BAD), say(GOOD)]);
    let (_, heard) =
        run(&ticketed(&script, OutputOptions::new()).reliability(gate()).build().unwrap(), "go").await;
    let given = &heard.of("reliability.fail_fast")[0];
    assert_eq!((&given["kind"], &given["attempt"]), (&json!("schema-stuck-loop"), &json!(2)));
    let script = Script::new([say(BAD), say("no JSON"), say(GOOD)]);
    let agent = ticketed(&script, OutputOptions::new()).reliability(gate()).build().unwrap();
    assert_eq!(run(&agent, "go").await.0.answer().unwrap(), GOOD);
}

/// Proves LLM-123, LLM-134: a failure of the form that no rule looks at is left to the loop, which asks again as it always does;
/// answers that call tools are not judged.
#[tokio::test]
async fn an_unmatched_failure_of_the_form_is_left_to_the_loop() {
    let gate =
        || Reliability::new().post(Rule::when(|s| s.error_kind == ErrorKind::Transient, Post::Retry, "t"));
    let script = Script::new([look("c1"), say(BAD), say(GOOD)]);
    let agent = ticketed(&script, OutputOptions::new().retries(1))
        .tool(looking("seen"))
        .reliability(gate())
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), GOOD);
    assert_eq!(heard.count("agent.output_schema_validation_failed"), 1);
    assert_eq!(heard.count("agent.output_schema_retry"), 1);
    assert_eq!(heard.count("reliability.fail_fast"), 0);
}

/// Proves LLM-136: a forced answer is unwrapped once, before it is judged.
#[tokio::test]
async fn a_forced_answer_is_unwrapped_before_it_is_judged() {
    let forced = |title: agentfootprint_record::message::ToolCall| LlmResponse::tools(vec![title]);
    let call = |args: footprint::value::Value| {
        agentfootprint_record::message::ToolCall::new(
            "c",
            "respond_with_schema",
            args.as_object().unwrap().clone(),
        )
    };
    let script = Script::new([forced(call(json!({"title": 7}))), forced(call(json!({"title": "Mouse"})))])
        .with_capabilities(Capabilities::default().with_forced_tool_choice(true));
    let options = OutputOptions::new().strategy(OutputStrategy::ToolForced);
    let agent = ticketed(&script, options).reliability(Reliability::new().post(asking())).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), GOOD);
    assert_eq!(heard.of("agent.output_schema_validation_failed")[0]["rawOutput"], json!(BAD));
    let names = |heard: &Heard| heard.of("stream.llm_start")[0]["tools"][0]["name"].clone();
    assert_eq!(names(&heard), json!("respond_with_schema"));
    assert_eq!(
        heard.count("context.injected"),
        heard.of("context.injected").iter().filter(|piece| piece["slot"] != json!("tools")).count()
    );
}

struct Careful;

#[async_trait]
impl MessageMiddleware for Careful {
    fn name(&self) -> &str {
        "careful"
    }
    async fn on_message(
        &self,
        _message: &MessageContext,
    ) -> Result<MessageOutcome, Box<dyn std::error::Error + Send + Sync>> {
        Ok(MessageOutcome::allow())
    }
}

/// Proves LLM-129: where middleware judges what goes out, a draft it has not seen stays off the events.
#[tokio::test]
async fn a_draft_is_withheld_where_middleware_judges_the_output() {
    let script = Script::new([say(r#"{"title":"the secret","hours":}"#), say("the secret")]);
    let gate = Reliability::new().post(
        Rule::when(|scope| scope.validation_error.is_some(), Post::FailFast, "form")
            .label("the form is wrong"),
    );
    let agent = ticketed(&script, OutputOptions::new())
        .message_middleware(Careful)
        .reliability(gate)
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    let failed = &heard.of("agent.output_schema_validation_failed")[0];
    assert_eq!(failed["draftWithheld"], json!(true));
    assert!(failed.get("rawOutput").is_none() && !heard.mentions("secret"));
    assert_eq!(state(&report, "reliabilityFailCauseName"), Some(json!("OutputSchemaError")));
}

fn priced(text: &str, input: u64) -> LlmResponse {
    LlmResponse { usage: Usage::new(input, 1), ..say(text) }
}

fn prices() -> StaticPricing {
    StaticPricing::new("p").any_model(ModelPrices {
        input: Some(0.01),
        output: Some(1.0),
        ..ModelPrices::default()
    })
}

/// Proves LLM-133, LLM-120: a rejected answer was paid for; rules see what is spent, this answer included.
#[tokio::test]
async fn rejected_answers_are_billed_in_their_order() {
    let script = Script::new([priced("no", 100), priced("yes", 200)]);
    let spent = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&spent);
    let rule = Rule::when(
        move |scope| {
            let tokens = (scope.cumulative_input_tokens, scope.cumulative_output_tokens);
            kept.lock().unwrap().push((scope.cumulative_cost_usd, tokens));
            scope.response.is_some_and(|response| response.content == "no")
        },
        Post::Retry,
        "not no",
    );
    let agent = agent(&script).pricing(prices()).reliability(Reliability::new().post(rule)).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "yes");
    let ticks = heard.of("cost.tick");
    let input: Vec<_> = ticks.iter().map(|tick| tick["tokensInput"].clone()).collect();
    assert_eq!(input, [json!(100), json!(200)]);
    assert_eq!(ticks[1]["cumulative"], json!({"tokensInput": 300, "tokensOutput": 2, "estimatedUsd": 5.0}));
    assert_eq!(state(&report, "totalInputTokens"), Some(json!(300)));
    assert_eq!(*spent.lock().unwrap(), [(Some(2.0), (100, 1)), (Some(5.0), (300, 2))]);
    assert_eq!(heard.count("reliability.recovered"), 0, "nothing failed");
}

/// Proves LLM-118, LLM-120: a cost cap ends the run before the next request.
#[tokio::test]
async fn a_cost_cap_stops_before_a_request() {
    let script = Script::new([LlmResponse { usage: Usage::new(100, 1), ..look("c1") }, say("never")]);
    let cap = Rule::when(|s| s.cumulative_cost_usd.is_some_and(|usd| usd >= 2.0), Pre::FailFast, "cost-cap");
    let agent = agent(&script)
        .tool(looking("seen"))
        .pricing(prices())
        .reliability(Reliability::new().pre_check(cap))
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(script.calls(), 1);
    assert_eq!(heard.of("reliability.fail_fast")[0]["kind"], json!("cost-cap"));
    assert_eq!(report.error().unwrap().name(), "ReliabilityFailFastError");
}

/// Proves LLM-117, LLM-139: the tick names who served, the bracket who was declared.
#[tokio::test]
async fn the_bill_goes_to_who_served() {
    let down = Script::by(|_, _| Err(LlmError::foreign("ServiceError", "busy").with_status(503)));
    let gate = Reliability::new()
        .providers([
            FailoverEntry::new("a", down, "model-a"),
            FailoverEntry::new("b", Script::new([priced("fine", 100)]), "model-b"),
        ])
        .post(Rule::when(|scope| scope.error.is_some(), Post::RetryOther, "switch"));
    let agent = agent(&Script::new([])).pricing(prices()).reliability(gate).build().unwrap();
    let (_, heard) = run(&agent, "go").await;
    let tick = &heard.of("cost.tick")[0];
    assert_eq!((&tick["provider"], &tick["model"]), (&json!("b"), &json!("model-b")));
    let started = &heard.of("stream.llm_start")[0];
    assert_eq!((&started["provider"], &started["model"]), (&json!("script"), &json!("m")));
}
