use agentfootprint_core::agent::{
    Agent, AgentBuildError, AgentBuilder, CostBudget, OutputOptions, OutputStrategy, Typed,
};
use agentfootprint_core::injection::{Fact, Steering};
use agentfootprint_core::llm::{Capabilities, RoleSet};
use agentfootprint_core::run::{RunInput, RunRefusal, Runner};
use agentfootprint_core::tools::{Tool, ToolListContext, ToolProvider, ToolProviderError};
use agentfootprint_record::message::Role;
use footprint::observe::{Delivery, ObserverQueueConfig};
use footprint::value::Value;

use crate::support::*;

fn plain() -> AgentBuilder {
    agent(&Script::new([]))
}

fn refused(builder: AgentBuilder) -> String {
    let errors = builder.build().expect_err("refused");
    assert_eq!(errors.problems().len(), 1, "{errors}");
    errors.problems()[0].to_string()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Ticket {
    title: String,
}

/// Proves P-7 for builds, AGT-31: every refusal names its offender.
#[test]
fn every_build_refusal_names_what_is_wrong() {
    let schema = || OutputOptions::new();
    let cases: Vec<(AgentBuilder, &str)> = vec![
        (plain().id("sf-mine"), "`sf-mine`"),
        (plain().id("a/b"), "`/`"),
        (plain().id(" "), "is empty"),
        (Agent::builder(Script::new([]), " "), "`model`"),
        (plain().system(""), "`system`"),
        (plain().system("a").system("b"), "`system` was called twice"),
        (plain().max_iterations(0), "`max_iterations`"),
        (plain().max_tokens(0), "`max_tokens`"),
        (plain().temperature(f64::NAN), "`temperature`"),
        (plain().max_tool_result_chars(0), "`max_tool_result_chars`"),
        (plain().thinking(0), "`thinking`"),
        (plain().thinking(10).thinking(20), "`thinking` was called twice"),
        (plain().cost_budget(CostBudget::warn(1.0)), "`pricing`"),
        (plain().tool(looking("a")).tool(looking("b")), "`look`"),
        (plain().fact(Fact::new("f", "a")).steering(Steering::new("f", "b")), "`f`"),
        (plain().fact(Fact::new("", "a")), "id"),
        (plain().configure(|_| None).configure(|_| None), "`configure` was called twice"),
        (plain().output_schema(Typed::<Ticket>::new(), schema().retries(11)), "between 0 and 10"),
        (
            plain()
                .tool(looking("a"))
                .output_schema(Typed::<Ticket>::new(), schema().strategy(OutputStrategy::ToolForced)),
            "tool `look`",
        ),
        (plain().output_fallback(|_, _| async { Ok(Value::Null) }, None), "`output_schema`"),
        (
            plain()
                .output_schema(Typed::<Ticket>::new(), schema())
                .output_fallback(|_, _| async { Ok(Value::Null) }, Some(json!({"title": 3}))),
            "canned value",
        ),
        (plain().observer_queue(ObserverQueueConfig::default()), "observer_delivery"),
        (
            plain()
                .observer_delivery(Delivery::Deferred)
                .observer_queue(ObserverQueueConfig { max_queue: 0, ..ObserverQueueConfig::default() }),
            "observer queue",
        ),
    ];
    for (builder, named) in cases {
        let said = refused(builder);
        assert!(said.contains(named), "`{said}` does not name `{named}`");
    }
}

/// Proves P-7, AGT-31: all problems of one build are reported together.
#[test]
fn three_faults_are_three_problems() {
    let errors =
        plain().id("sf-mine").max_iterations(0).tool(looking("a")).tool(looking("b")).build().unwrap_err();
    assert_eq!(errors.problems().len(), 3, "{errors}");
    assert!(matches!(errors.problems()[0], AgentBuildError::BadId { .. }));
    let said = errors.to_string();
    for named in ["sf-mine", "max_iterations", "look"] {
        assert!(said.contains(named), "{said}");
    }
}

/// Proves P-7 for runs, AGT-32: what the provider cannot carry is refused before there is a run.
#[tokio::test]
async fn a_run_the_provider_cannot_carry_does_not_start() {
    let floor = Script::new([]).with_capabilities(Capabilities::default().carrying(RoleSet::FLOOR));
    let system_fact = Fact::new("hours", "9 to 5").in_messages(Role::System);
    let agent = agent(&floor).fact(system_fact).build().unwrap();
    let refusal = agent.start("go".into(), Default::default()).unwrap_err();
    let said = refusal.to_string();
    assert!(said.contains("hours") && said.contains("system") && said.contains("script"), "{said}");
    let options = OutputOptions::new().strategy(OutputStrategy::ToolForced);
    let forced = crate::support::agent(&Script::new([]))
        .output_schema(Typed::<Ticket>::new(), options)
        .build()
        .unwrap();
    let refusal = forced.start("go".into(), Default::default()).unwrap_err();
    assert!(matches!(refusal, RunRefusal::ForcedToolChoice { .. }), "{refusal}");
}

/// Proves AGT-19: a blank message is not a turn; the refusal tells the shape, never the value.
#[tokio::test]
async fn a_blank_message_is_refused() {
    let agent = plain().build().unwrap();
    let heard = Heard::default();
    let report = agent.run("  \n").options(heard.options()).await;
    assert!(report.error().unwrap().to_string().contains("Agent.run"));
    assert!(heard.all().is_empty());
    let refusal = RunInput::from_value("Agent.run", &json!({"message": 3, "note": "secret"})).unwrap_err();
    assert!(!refusal.to_string().contains("secret"), "{refusal}");
}

struct Nobody;

#[async_trait::async_trait]
impl ToolProvider for Nobody {
    async fn list(&self, _cx: &ToolListContext) -> Result<Vec<Tool>, ToolProviderError> {
        Ok(Vec::new())
    }
}

/// Proves AGT §7: what may be said once is refused twice.
#[test]
fn what_may_be_said_once_is_refused_twice() {
    assert!(refused(plain().tool_provider(Nobody).tool_provider(Nobody)).contains("`tool_provider`"));
    assert!(refused(plain().no_thinking_handler().no_thinking_handler()).contains("`thinking_handler`"));
    let schema = || OutputOptions::new();
    let twice = plain()
        .output_schema(Typed::<Ticket>::new(), schema())
        .output_schema(Typed::<Ticket>::new(), schema());
    assert!(refused(twice).contains("`output_schema`"));
}
