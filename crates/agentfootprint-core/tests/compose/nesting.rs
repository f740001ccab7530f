use std::sync::Arc;

use agentfootprint_core::agent::Agent;
use agentfootprint_core::compose::patterns::{
    Debate, LlmSwarm, MapReduce, Reflection, SelfConsistency, Swarm, SwarmAgent, TreeOfThoughts,
};
use agentfootprint_core::compose::{
    Conditional, Graph, LlmRouter, Loop, Node, Parallel, RosterEntry, Sequence, Step, Workflow,
};
use agentfootprint_core::llm::LlmResponse;
use agentfootprint_core::run::{ChartRunner, Runner, UiGroup};

use crate::support::*;

type Any = Arc<dyn ChartRunner>;

/// A model every runner here can live with: it routes to `a`, then to nobody, and else repeats.
fn model() -> Script {
    Script::by(|_, request| {
        let text = last(request);
        let reply = if text.contains("\"type\":\"message\"") {
            if text.contains("~") {
                r#"{"agentId":null}"#.to_owned()
            } else {
                r#"{"agentId":"a"}"#.to_owned()
            }
        } else {
            format!("~{}", text.len())
        };
        Ok(LlmResponse::text(reply))
    })
}

fn one(id: &str) -> agentfootprint_core::compose::LlmCall {
    call(id, &model())
}

/// Every text runner, as a leaf.
fn leaves() -> Vec<(&'static str, Any)> {
    let swarm_agent = |id: &str| SwarmAgent::new(id.to_owned(), one(id));
    vec![
        ("agent", Arc::new(Agent::builder(model(), "m").build().unwrap()) as Any),
        ("call", Arc::new(one("call"))),
        ("sequence", sequence(Arc::new(one("x")))),
        ("parallel", parallel(Arc::new(one("x")))),
        ("conditional", conditional(Arc::new(one("x")))),
        ("loop", looped(Arc::new(one("x")))),
        ("workflow", workflow(one("x"))),
        (
            "router",
            Arc::new(
                LlmRouter::builder(model(), "m")
                    .agent(RosterEntry::new("a", "one"))
                    .agent(RosterEntry::new("b", "two"))
                    .build()
                    .unwrap(),
            ),
        ),
        ("vote", Arc::new(SelfConsistency::new(model(), "m", "S").build().unwrap())),
        ("reflection", Arc::new(Reflection::new(model(), "m", "P", "C").max_iterations(1).build().unwrap())),
        ("debate", Arc::new(Debate::new(model(), "m", "P", "C", "J").rounds(2).build().unwrap())),
        (
            "mapreduce",
            Arc::new(
                MapReduce::new(model(), "m", "M", 2, |text, _| vec![text.to_owned()])
                    .reduce_with_fn(|parts| parts.join(","))
                    .build()
                    .unwrap(),
            ),
        ),
        (
            "tot",
            Arc::new(TreeOfThoughts::new(model(), "m", "T", 2, 2, |text| text.len() as f64).build().unwrap()),
        ),
        (
            "swarm",
            Arc::new(
                Swarm::new(|text| (!text.contains('~')).then_some("a"))
                    .agent(swarm_agent("a"))
                    .agent(swarm_agent("b"))
                    .build()
                    .unwrap(),
            ),
        ),
        (
            "llm-swarm",
            Arc::new(
                LlmSwarm::new(model(), "m")
                    .agent(swarm_agent("a"), "one")
                    .agent(swarm_agent("b"), "two")
                    .build()
                    .unwrap(),
            ),
        ),
    ]
}

fn sequence(inner: Any) -> Any {
    Arc::new(Sequence::builder("sequence").step("only", inner).build().unwrap())
}

fn parallel(inner: Any) -> Any {
    let merged = Parallel::builder("parallel")
        .branch("it", inner)
        .branch("other", one("other"))
        .merge_with_fn(|results| results["it"].to_owned());
    Arc::new(merged.build().unwrap())
}

fn conditional(inner: Any) -> Any {
    let built =
        Conditional::builder("conditional").when("it", |_| true, inner).otherwise("rest", one("rest"));
    Arc::new(built.build().unwrap())
}

fn looped(inner: Any) -> Any {
    Arc::new(Loop::builder("loop").repeat(inner).times(2).build().unwrap())
}

fn workflow(inner: impl Runner<Output = String>) -> Any {
    let flow: Workflow<String, String> =
        Workflow::builder("workflow").then(Step::runner(inner)).build().unwrap();
    Arc::new(flow)
}

fn graph(inner: Any) -> Graph {
    Graph::builder("graph").node(Node::new("it", inner)).build().unwrap()
}

/// Every way of holding another runner.
fn holders() -> Vec<(&'static str, fn(Any) -> Any)> {
    vec![
        ("sequence", sequence),
        ("parallel", parallel),
        ("conditional", conditional),
        ("loop", looped),
        ("swarm", |inner| {
            let built = Swarm::new(|text| (!text.contains('~')).then_some("it"))
                .agent(SwarmAgent::new("it", inner))
                .agent(SwarmAgent::new("other", one("other")))
                .build();
            Arc::new(built.unwrap())
        }),
        ("llm-swarm", |inner| {
            let built = LlmSwarm::new(model(), "m")
                .agent(SwarmAgent::new("a", inner), "one")
                .agent(SwarmAgent::new("b", one("b")), "two")
                .build();
            Arc::new(built.unwrap())
        }),
    ]
}

/// Proves AGT-113, AGT-115, AGT-118, P-16: every runner inside every other, in one run, with every pair closed and every
/// member on the path of its mount.
#[tokio::test]
async fn every_runner_nests_in_every_other() {
    for (outer_name, hold) in holders() {
        for (inner_name, inner) in leaves() {
            let held = hold(Arc::clone(&inner));
            let whole = Sequence::builder("whole").step("held", Arc::clone(&held)).build().unwrap();
            let (report, heard) = run(&whole, "hello").await;
            let at = format!("{inner_name} in {outer_name}");
            assert!(report.answer().is_ok(), "{at}: {:?}", report.error());
            assert_paired(&heard, &at);
            let depth = depth(&held.ui_group());
            assert!(depth >= 1, "{at}");
            let path = heard.all().iter().map(segments).max().unwrap();
            assert!(path >= 2, "{at}: {path}");
            let runs: std::collections::BTreeSet<String> =
                heard.all().iter().map(|event| event["meta"]["runId"].as_str().unwrap().to_owned()).collect();
            assert_eq!(runs.len(), 1, "{at} has runs of its own");
        }
    }
}

/// Proves AGT-127: every runner is a node of a graph, and a graph is a node of another.
#[tokio::test]
async fn every_runner_is_a_node() {
    for (name, inner) in leaves() {
        let nested = graph(Arc::new(graph(inner)));
        let (report, heard) = run(&nested, "hello").await;
        assert!(report.answer().is_ok(), "{name}: {:?}", report.error());
        assert_paired(&heard, name);
    }
}

/// Proves AGT-16, AGT-115: a nested agent inherits the outer run, files no manifest, and all its events are heard.
#[tokio::test]
async fn a_nested_agent_lives_in_the_outer_run() {
    let agent = Agent::builder(model(), "m").id("inner").build().unwrap();
    let flow = Sequence::builder("s").step("a", sequence(Arc::new(agent))).build().unwrap();
    let heard = Heard::default();
    let options = heard.options().session_id("s-1");
    let report = flow.run("hello").options(options).await;
    report.answer().unwrap();
    let names: Vec<String> = heard.all().iter().map(name).collect();
    assert!(names.contains(&"context.evaluated".to_owned()) && names.contains(&"agent.turn_end".to_owned()));
    assert!(!names.contains(&"agent.run_configured".to_owned()));
    assert_eq!(names.iter().filter(|name| *name == "integrity.disposition").count(), 1);
    let state =
        report.record.snapshot().subtree("step-a/step-only").unwrap().tree_context.global_context.clone();
    assert_eq!(state.get("runIdentity").unwrap()["conversationId"], "s-1");
    assert_eq!(state.get("runIdentitySource").unwrap(), "session");
}

/// Proves AGT-117: a nested composition's time is its own.
#[tokio::test]
async fn nested_times_count_from_their_own_enter() {
    let clock = Arc::new(footprint::clock::ManualClock::at(1000));
    let ticking = Arc::clone(&clock);
    let slow = Script::by(move |_, _| {
        ticking.advance_ms(10);
        Ok(LlmResponse::text("x"))
    });
    let inner = Sequence::builder("inner").step("b", call("b", &slow)).build().unwrap();
    let flow = Sequence::builder("outer").step("a", call("a", &slow)).step("i", inner).build().unwrap();
    let heard = Heard::default();
    flow.run("x").options(heard.options().clock(clock)).await.answer().unwrap();
    let times: Vec<i64> =
        heard.of("composition.exit").iter().map(|exit| exit["durationMs"].as_i64().unwrap()).collect();
    assert_eq!(times, [10, 20]);
}

fn segments(event: &footprint::value::Value) -> usize {
    event["meta"]["runtimeStageId"].as_str().unwrap().matches('/').count()
}

fn depth(group: &UiGroup) -> usize {
    group.members.iter().map(|(_, member)| 1 + depth(member)).max().unwrap_or_default()
}

/// Every exit closes the last open enter of its id, and nothing stays open.
fn assert_paired(heard: &Heard, at: &str) {
    let mut open: Vec<String> = Vec::new();
    for pair in heard.pairs() {
        match pair.strip_prefix('+') {
            Some(id) => open.push(id.to_owned()),
            None => {
                let id = pair[1..].split(' ').next().unwrap();
                let found = open.iter().rposition(|known| known == id);
                open.remove(found.unwrap_or_else(|| panic!("{at}: {id} left without being entered")));
            }
        }
    }
    assert!(open.is_empty(), "{at}: {open:?} left open");
}
