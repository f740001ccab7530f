use std::sync::Arc;

use agentfootprint_core::compose::patterns::{LlmSwarm, SwarmAgent};
use agentfootprint_core::compose::{Conditional, Graph, Loop, Node, Parallel, Sequence};
use agentfootprint_core::llm::LlmResponse;
use agentfootprint_core::run::{ChartRunner, RunOptions, RunOutcome, RunRefusal, RunReport, Runner};
use footprint::pause::FlowchartCheckpoint;
use footprint::value::Value;

use crate::support::*;

/// Goes on from a pause through its JSON text, on a fresh leg.
async fn resume<R: Runner<Output = String> + Clone>(
    runner: &R,
    paused: &RunReport<String>,
    answer: &str,
) -> (RunReport<String>, Heard) {
    let text = paused.paused().unwrap().checkpoint.to_json();
    let checkpoint = FlowchartCheckpoint::from_json(&text).unwrap();
    let heard = Heard::default();
    let handle = runner.resume(checkpoint, Some(Value::from(answer)), heard.on(RunOptions::new())).unwrap();
    (handle.await, heard)
}

fn question(report: &RunReport<String>) -> String {
    report.paused().unwrap().pause_data["question"].as_str().unwrap().to_owned()
}

/// Proves AGT-120, AGT-118, AGT-105, P-11: in every composition a member's pause pauses the run; the leg that goes on
/// continues inside the member, under its own run id, and closes the pair the first leg left open.
#[tokio::test]
async fn every_composition_goes_on_inside_the_member_that_paused() {
    let sequence = Sequence::builder("c").step("a", asking("a")).step("b", wrapping("b")).build().unwrap();
    let conditional = Conditional::builder("c")
        .when("a", |_| true, asking("a"))
        .otherwise("b", wrapping("b"))
        .build()
        .unwrap();
    let looped = Loop::builder("c").repeat(asking("a")).times(1).build().unwrap();
    let parallel = Parallel::builder("c")
        .branch("a", asking("a"))
        .branch("b", wrapping("b"))
        .merge_with_fn(|results| format!("{} {}", results["a"], results["b"]))
        .build()
        .unwrap();
    check(&sequence, "b(a: blue)", "ok").await;
    check(&conditional, "a: blue", "ok").await;
    check(&looped, "a: blue", "budget_exhausted").await;
    check(&parallel, "a: blue b(x)", "ok").await;
}

async fn check<R: Runner<Output = String> + Clone>(runner: &R, expected: &str, status: &str) {
    let (paused, heard) = run(runner, "x").await;
    assert!(matches!(paused.outcome, Ok(RunOutcome::Paused(_))), "{:?}", paused.outcome);
    assert_eq!(heard.pairs(), ["+c"]);
    assert_eq!(heard.of("pause.request").len(), 1);
    assert!(heard.steps("pause.request")[0].ends_with("#paused"));
    let (done, heard) = resume(runner, &paused, "blue").await;
    assert_eq!(done.answer().unwrap(), expected);
    assert_eq!(heard.pairs(), [format!("-c {status}")]);
    assert_eq!(name(&heard.all()[0]), "pause.resume");
    assert_ne!(done.record.run_id(), paused.record.run_id());
}

/// Proves AGT-120, ENG-131: two members ask, one after the other; nothing runs twice.
#[tokio::test]
async fn parallel_questions_are_asked_in_turn() {
    let beside = Script::wrap("beside");
    let panel = Parallel::builder("p")
        .branch("a", asking("a"))
        .branch("beside", call("beside", &beside))
        .branch("b", asking("b"))
        .merge_with_fn(|results| format!("{}|{}|{}", results["a"], results["beside"], results["b"]))
        .build()
        .unwrap();
    let (first, _) = run(&panel, "x").await;
    assert_eq!(question(&first), "a");
    let (second, heard) = resume(&panel, &first, "one").await;
    assert_eq!(question(&second), "b");
    assert!(heard.pairs().is_empty());
    let (done, heard) = resume(&panel, &second, "two").await;
    assert_eq!(done.answer().unwrap(), "a: one|beside(x)|b: two");
    assert_eq!(heard.pairs(), ["-p ok"]);
    assert_eq!(beside.calls(), 1);
}

/// Proves AGT-120, ENG-109: under a contained failure the pause stands, and the failure is still known when the run goes on;
/// under all-required the error wins.
#[tokio::test]
async fn a_pause_against_a_failing_sibling() {
    let strict = Parallel::builder("p")
        .branch("a", asking("a"))
        .branch("bad", failing("bad"))
        .merge_with_fn(|results| results["a"].to_owned())
        .build()
        .unwrap();
    let (paused, _) = run(&strict, "x").await;
    assert_eq!(question(&paused), "a");
    let (done, heard) = resume(&strict, &paused, "blue").await;
    let text = done.error().unwrap().to_string();
    assert!(text.contains("`bad` (ServiceError: ") && text.contains("no answer"), "{text}");
    assert_eq!(heard.pairs(), ["-p err"]);

    let tolerant = Parallel::builder("p")
        .branch("a", asking("a"))
        .branch("bad", failing("bad"))
        .merge_outcomes_with_fn(|outcomes| outcomes.get("bad").unwrap().unwrap_err().message.to_string())
        .build()
        .unwrap();
    let (paused, _) = run(&tolerant, "x").await;
    let (done, _) = resume(&tolerant, &paused, "blue").await;
    assert!(done.answer().unwrap().contains("no answer"));

    let required = agentfootprint_core::compose::BranchOptions::new().required();
    let all = Parallel::builder("p")
        .branch_with("a", asking("a"), required.clone())
        .branch_with("bad", failing("bad"), required)
        .merge_with_fn(|results| results["a"].to_owned())
        .build()
        .unwrap();
    let (report, heard) = run(&all, "x").await;
    assert!(report.error().unwrap().to_string().contains("branch `bad` failed"));
    assert_eq!(heard.pairs(), ["+p", "-p err"]);
}

/// Proves AGT-120, AGT-118, P-11: a pause deep inside goes on deep inside, and a failure of the later leg closes every pair.
#[tokio::test]
async fn a_deep_pause_goes_on_and_may_still_fail() {
    let deep = |last: agentfootprint_core::compose::LlmCall| {
        let inner = Sequence::builder("inner").step("ask", asking("a")).step("then", last).build().unwrap();
        let branch: Arc<dyn ChartRunner> = Arc::new(inner);
        let choice = Conditional::builder("choice")
            .when("go", |_| true, branch)
            .otherwise("rest", wrapping("rest"))
            .build()
            .unwrap();
        Loop::builder("outer").repeat(choice).times(1).build().unwrap()
    };
    let fine = deep(wrapping("then"));
    let (paused, heard) = run(&fine, "x").await;
    assert_eq!(heard.pairs(), ["+outer", "+choice", "+inner"]);
    let (done, heard) = resume(&fine, &paused, "blue").await;
    assert_eq!(done.answer().unwrap(), "then(a: blue)");
    assert_eq!(heard.pairs(), ["-inner ok", "-choice ok", "-outer budget_exhausted"]);
    let bad = deep(failing("then"));
    let (paused, _) = run(&bad, "x").await;
    let (done, heard) = resume(&bad, &paused, "blue").await;
    assert!(done.error().unwrap().to_string().contains("Sequence `inner`: step `then` failed"));
    assert_eq!(heard.pairs(), ["-inner err", "-choice err", "-outer err"]);
    // The steps are those of the first leg's seeds.
    assert_eq!(heard.steps("composition.exit")[2], "composition.exit seed#0");
}

/// Proves AGT-120: graphs pause as well, and the level's join waits for the answer.
#[tokio::test]
async fn a_graph_goes_on_inside_a_node() {
    let graph = Graph::builder("g")
        .node(Node::new("a", asking("a")))
        .node(Node::new("b", wrapping("b")))
        .node(Node::new("c", wrapping("c")).join(|up| up.get("a").unwrap().as_str().unwrap().to_owned()))
        .edge("a", "c")
        .edge("b", "c")
        .build()
        .unwrap();
    let heard = Heard::default();
    let report = graph.run("x").options(heard.options()).await;
    let checkpoint = FlowchartCheckpoint::from_json(&report.paused().unwrap().checkpoint.to_json()).unwrap();
    let done = graph.record_resume(checkpoint, Some(Value::from("blue"))).await.unwrap();
    assert_eq!(done.answer().unwrap().get("c").unwrap(), "c(a: blue)");
}

/// Proves AGT-133, AGT-120: a router's decision survives a pause of the agent it chose.
#[tokio::test]
async fn a_swarm_goes_on_after_a_pause() {
    let model = Script::by(|_, request| {
        let done = last(request).contains("blue");
        Ok(LlmResponse::text(if done { r#"{"agentId":null}"# } else { r#"{"agentId":"a"}"# }))
    });
    let swarm = LlmSwarm::new(model, "m")
        .agent(SwarmAgent::new("a", asking("a")), "asks")
        .agent(SwarmAgent::new("b", wrapping("b")), "wraps")
        .build()
        .unwrap();
    let (paused, _) = run(&swarm, "x").await;
    assert_eq!(question(&paused), "a");
    let (done, heard) = resume(&swarm, &paused, "blue").await;
    assert_eq!(done.answer().unwrap(), "a: blue");
    assert!(heard.pairs().contains(&"-swarm ok".to_owned()), "{:?}", heard.pairs());
}

/// Proves AGT-105: a missing answer is refused before anything of the new leg exists.
#[tokio::test]
async fn a_missing_answer_is_refused_first() {
    let flow = Sequence::builder("s").step("a", asking("a")).build().unwrap();
    let (paused, _) = run(&flow, "x").await;
    let heard = Heard::default();
    let checkpoint = paused.paused().unwrap().checkpoint.clone();
    let refused = flow.resume(checkpoint, None, heard.on(RunOptions::new())).unwrap_err();
    assert!(matches!(refused, RunRefusal::PauseAnswerRequired { .. }), "{refused:?}");
    assert!(heard.all().is_empty());
}

/// Proves AGT-21, TOOL-95: both legs are one turn.
#[tokio::test]
async fn both_legs_are_one_turn() {
    let flow = Sequence::builder("s").step("a", asking("a")).build().unwrap();
    let (paused, _) = run(&flow, "x").await;
    let checkpoint = paused.paused().unwrap().checkpoint.clone();
    let inner = checkpoint.subflow_states.values().last().unwrap().clone();
    assert!(inner.get("pausedTurnId").is_some(), "{inner:?}");
}
