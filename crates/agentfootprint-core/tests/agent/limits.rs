use agentfootprint_core::agent::{AgentBuilder, CostBudget, OutputOptions, Typed};
use agentfootprint_core::llm::{LlmResponse, ModelPrices, StaticPricing, Usage};
use agentfootprint_core::run::RunReport;
use footprint::value::Value;

use crate::support::*;

fn busy(script: &Script) -> AgentBuilder {
    agent(script).tool(looking("seen"))
}

fn billed(mut response: LlmResponse) -> LlmResponse {
    response.usage = Usage::new(100, 10);
    response
}

fn priced(builder: AgentBuilder, budget: CostBudget) -> AgentBuilder {
    let prices = ModelPrices { input: Some(0.01), output: Some(0.0), ..ModelPrices::default() };
    builder.pricing(StaticPricing::new("list").any_model(prices)).cost_budget(budget)
}

/// Proves P-8, AGT-86: one call too many is not made; what was asked for is counted and not executed.
#[tokio::test]
async fn without_wrap_up_the_last_call_ends_the_turn() {
    for limit in [1_u32, 2] {
        let script = Script::by(|at, _| Ok(look(&format!("c{at}"))));
        let agent = busy(&script).max_iterations(limit).wrap_up_at_max_iterations(false).build().unwrap();
        let (report, heard) = run(&agent, "go").await;
        assert_eq!(report.answer().unwrap(), "");
        assert_eq!(script.calls(), limit as usize);
        assert_eq!(heard.count("agent.budget_exhausted"), 1);
        assert_eq!(heard.count("cost.limit_hit"), 1);
        assert_eq!(heard.of("agent.budget_exhausted")[0]["action"], json!("cut-short"));
        assert_eq!(heard.count("agent.route_decided"), limit as usize);
        assert_eq!(heard.count("stream.tool_start"), limit as usize - 1);
        let stopped = report.record.stopped_early().unwrap();
        assert_eq!(stopped["pendingToolCalls"], json!(1));
        assert_eq!(stopped["answerWasEmpty"], json!(true));
        assert!(is_valid(&history(&report)), "{:?}", history(&report));
        assert!(is_valid(&checkpoint_of(&report)), "{:?}", checkpoint_of(&report));
    }
}

/// Proves P-8, AGT-87: the wrap-up is one further call that is offered no tools.
#[tokio::test]
async fn a_wrap_up_is_asked_for_once_and_without_tools() {
    for limit in [1_u32, 2] {
        let script = Script::by(move |at, _| {
            Ok(if at < limit as usize { look(&format!("c{at}")) } else { say("All I know.") })
        });
        let agent = busy(&script).max_iterations(limit).build().unwrap();
        let (report, heard) = run(&agent, "go").await;
        assert_eq!(report.answer().unwrap(), "All I know.");
        assert_eq!(script.calls(), limit as usize + 1);
        assert!(script.request(limit as usize).tools.is_empty());
        assert!(!script.request(limit as usize - 1).tools.is_empty());
        assert_eq!(heard.count("agent.budget_exhausted"), 1);
        assert_eq!(heard.of("agent.budget_exhausted")[0]["action"], json!("wrapped-up"));
        let stopped = report.record.stopped_early().unwrap();
        assert_eq!((&stopped["wrappedUp"], &stopped["answerWasEmpty"]), (&json!(true), &json!(false)));
        let routes: Vec<Value> =
            heard.of("agent.route_decided").iter().map(|route| route["chosen"].clone()).collect();
        let mut expected = vec![json!("tool-calls"); limit as usize - 1];
        expected.extend([json!("wrap-up"), json!("final")]);
        assert_eq!(routes, expected);
        assert!(is_valid(&history(&report)), "{:?}", history(&report));
    }
}

/// Proves P-8: a model that calls tools once more in the wrap-up is not followed.
#[tokio::test]
async fn a_wrap_up_that_calls_tools_again_ends_the_turn() {
    let script = Script::by(|at, _| Ok(look(&format!("c{at}"))));
    let agent = busy(&script).max_iterations(1).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "");
    assert_eq!(script.calls(), 2);
    assert_eq!(heard.count("stream.tool_start"), 0);
    assert_eq!(heard.count("agent.budget_exhausted"), 1);
    assert_eq!(report.record.stopped_early().unwrap()["answerWasEmpty"], json!(true));
    assert!(is_valid(&checkpoint_of(&report)), "{:?}", checkpoint_of(&report));
}

/// Proves P-8: without tools there is nothing to wrap up.
#[tokio::test]
async fn an_answer_in_time_is_no_early_stop() {
    let script = Script::new([say("done")]);
    let agent = agent(&script).max_iterations(1).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "done");
    assert!(report.record.stopped_early().is_none());
    assert_eq!(heard.count("agent.budget_exhausted"), 0);
}

/// Proves P-8, AGT-73, AGT-88, AGT-89: a budget that warns says so once; one that halts ends the loop without a wrap-up.
#[tokio::test]
async fn a_cost_budget_warns_once_or_ends_the_loop() {
    let replies =
        || Script::by(|at, _| Ok(billed(if at < 2 { look(&format!("c{at}")) } else { say("done") })));
    let warning = priced(busy(&replies()), CostBudget::warn(0.5)).build().unwrap();
    let (report, heard) = run(&warning, "go").await;
    assert_eq!(report.answer().unwrap(), "done");
    assert_eq!(heard.count("cost.tick"), 3);
    assert_eq!(heard.count("cost.limit_hit"), 1);
    assert_eq!(heard.of("cost.limit_hit")[0]["action"], json!("warn"));
    let script = replies();
    let halting = priced(busy(&script), CostBudget::halt(0.5)).build().unwrap();
    let (report, heard) = run(&halting, "go").await;
    assert_eq!(script.calls(), 1);
    assert_eq!(heard.count("cost.limit_hit"), 1);
    assert_eq!(heard.count("agent.budget_exhausted"), 1);
    assert_eq!(report.record.stopped_early().unwrap()["reason"], json!("cost-budget"));
    assert!(is_valid(&checkpoint_of(&report)), "{:?}", checkpoint_of(&report));
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema, Debug, PartialEq)]
struct Ticket {
    title: String,
}

/// Proves P-9, AGT-92: every answer is judged, and re-asked as often as declared and not once more.
#[tokio::test]
async fn an_answer_is_asked_again_as_often_as_declared() {
    for retries in [0_u32, 1, 10] {
        let script = Script::by(|_, _| Ok(say("no JSON")));
        let options = OutputOptions::new().retries(retries);
        let agent =
            agent(&script).max_iterations(20).output_schema(Typed::<Ticket>::new(), options).build().unwrap();
        let (report, heard) = run(&agent, "go").await;
        assert_eq!(script.calls(), retries as usize + 1);
        assert_eq!(heard.count("agent.output_schema_retry"), retries as usize);
        assert_eq!(heard.count("agent.route_decided"), retries as usize + 1);
        assert_eq!(heard.count("agent.output_contract_unmet"), 1);
        let unmet = report.record.output_contract_unmet().unwrap();
        assert_eq!(unmet["attempts"], json!(u64::from(retries) + 1));
        assert_eq!(unmet["retriesSpent"], json!(retries));
        assert_eq!(report.record.answer_guarantee(), Some("none"));
        let rows = state(&report, "outputAttempts").unwrap();
        assert_eq!(rows.as_array().unwrap().len(), retries as usize + 1);
        assert!(is_valid(&history(&report)), "{:?}", history(&report));
        assert!(agent.read_typed::<Ticket>(&report).await.is_err());
    }
}

/// Proves P-10, AGT-75: under an early stop nobody asks again.
#[tokio::test]
async fn after_an_early_stop_the_answer_is_judged_and_not_asked_again() {
    let script = Script::by(|at, _| Ok(if at == 0 { look("c0") } else { say("no JSON") }));
    let options = OutputOptions::new().retries(3);
    let agent =
        busy(&script).max_iterations(1).output_schema(Typed::<Ticket>::new(), options).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "no JSON");
    assert_eq!(script.calls(), 2);
    assert_eq!(heard.count("agent.output_schema_retry"), 0);
    assert!(report.record.output_contract_unmet().is_some());
}

/// Proves AGT-95: an answer reads as the type the contract was made of.
#[tokio::test]
async fn an_answer_reads_as_its_type() {
    let script = Script::new([say(r#"{"title":"Mouse"}"#)]);
    let agent = agent(&script).output_schema(Typed::<Ticket>::new(), OutputOptions::new()).build().unwrap();
    let (report, _) = run(&agent, "go").await;
    assert_eq!(agent.read_typed::<Ticket>(&report).await.unwrap(), Ticket { title: "Mouse".into() });
    assert_eq!(report.record.answer_guarantee(), Some("checked"));
    assert!(agent.parse_output::<Ticket>("{}").is_err());
}

fn checkpoint_of(report: &RunReport<String>) -> Vec<Value> {
    report.record.checkpoint().unwrap().history.iter().cloned().collect()
}
