use agentfootprint_core::compose::LlmMerge;
use agentfootprint_core::compose::patterns::{
    Debate, LlmSwarm, MapReduce, Reflection, SelfConsistency, Swarm, SwarmAgent, TreeOfThoughts,
};
use agentfootprint_core::llm::LlmResponse;

use crate::support::*;

fn system(request: &agentfootprint_core::llm::LlmRequest) -> String {
    request.system_prompt().unwrap_or_default().to_string()
}

/// Proves P-19: the majority of the extracted votes; of equally many, what was said first.
#[tokio::test]
async fn self_consistency_votes() {
    let vote = |replies: &'static [&'static str]| {
        SelfConsistency::new(Script::texts(replies), "m", "S").samples(replies.len()).build().unwrap()
    };
    assert_eq!(answer(&vote(&["a", " b", "b "]), "q").await, "b");
    assert_eq!(answer(&vote(&["a", "b"]), "q").await, "a");
    let script = Script::texts(&["is 1", "was 2", "will be 2"]);
    let extracting = SelfConsistency::new(script.clone(), "m", "S")
        .extract(|text| text.chars().rev().take(1).collect())
        .temperature(0.9)
        .build()
        .unwrap();
    let (report, heard) = run(&extracting, "q").await;
    assert_eq!(report.answer().unwrap(), "2");
    assert_eq!(script.requests.lock().unwrap()[2].temperature, Some(0.9));
    let enter = &heard.of("composition.enter")[0];
    assert_eq!((&enter["id"], &enter["kind"]), (&json!("self-consistency"), &json!("Parallel")));
}

/// Proves P-19: the answer is the last proposal, and both sides see all there is.
#[tokio::test]
async fn reflection_answers_the_last_proposal() {
    let script = Script::by(|at, request| {
        let text = match (system(request).as_str(), at) {
            ("P", 0) => "draft <1>",
            ("C", 1) => "too short",
            ("P", 2) => "draft 2",
            _ => "fine, DONE",
        };
        Ok(LlmResponse::text(text))
    });
    let reflection = Reflection::new(script.clone(), "m", "P", "C").build().unwrap();
    let (report, heard) = run(&reflection, "task").await;
    assert_eq!(report.answer().unwrap(), "draft 2");
    let asked = script.asked();
    assert_eq!(asked[0], "task");
    assert_eq!(asked[1], "task\n\n<proposal>\ndraft &lt;1&gt;\n</proposal>");
    assert!(asked[2].contains("too short") && asked[3].contains("draft 2"));
    assert_eq!(heard.of("composition.exit").last().unwrap()["status"], "ok");
    // Without an end in sight the budget ends it, and the answer is still a proposal.
    let never =
        Script::by(|_, request| Ok(LlmResponse::text(if system(request) == "P" { "idea" } else { "no" })));
    let reflection = Reflection::new(never.clone(), "m", "P", "C")
        .until_critique_contains("YES")
        .max_iterations(2)
        .build()
        .unwrap();
    let (report, heard) = run(&reflection, "task").await;
    assert_eq!((report.answer().unwrap().as_str(), never.calls()), ("idea", 4));
    assert_eq!(heard.of("composition.exit").last().unwrap()["status"], "budget_exhausted");
}

/// Proves P-19: the judge gets the task and every proposal and critique, in order.
#[tokio::test]
async fn a_debate_hands_the_judge_everything() {
    for rounds in [1_u32, 2] {
        let script = Script::by(|at, request| Ok(LlmResponse::text(format!("{}{at}", system(request)))));
        let debate = Debate::new(script.clone(), "m", "P", "C", "J").rounds(rounds).build().unwrap();
        let (report, heard) = run(&debate, "task").await;
        assert_eq!(report.answer().unwrap(), &format!("J{}", 2 * rounds));
        let asked = script.asked();
        let judged = asked.last().unwrap();
        let mut from = 0;
        let parts = (0..2 * rounds).map(|at| format!("{}{at}", if at % 2 == 0 { "P" } else { "C" }));
        for part in std::iter::once("task".to_owned()).chain(parts) {
            let found =
                judged[from..].find(&part).unwrap_or_else(|| panic!("{part} not behind {from} in {judged}"));
            from += found;
        }
        let ids: Vec<String> = heard.pairs();
        assert_eq!(ids.contains(&"+debate-rounds".to_owned()), rounds > 1);
        assert!(ids.contains(&"+debate-round".to_owned()));
    }
}

/// Proves AGT-130, P-19: shards travel as a list, missing ones are not sent, too many are refused.
#[tokio::test]
async fn map_reduce_splits_without_delimiters() {
    let script = Script::wrap("m");
    let split = |text: &str, _: usize| text.split(';').map(str::to_owned).collect::<Vec<_>>();
    let reduce = MapReduce::new(script.clone(), "m", "M", 3, split)
        .reduce_with_fn(|parts| parts.join(" + "))
        .build()
        .unwrap();
    // The unit separator and JSON inside a shard are ordinary text.
    let (report, heard) = run(&reduce, "a\u{1f}b;[\"c\"]").await;
    assert_eq!(report.answer().unwrap(), "m(a\u{1f}b) + m([\"c\"])");
    assert_eq!(script.calls(), 2, "the missing shard is not sent");
    let starts = heard.steps("stream.llm_start");
    assert!(starts[0].contains("step-mapreduce-map/shard-0/"), "{starts:?}");
    let text = error(&reduce, "a;b;c;d").await;
    assert!(text.contains("the split made 4 shards, 3 are declared"), "{text}");
    let merge = Script::texts(&["joined"]);
    let by_model = MapReduce::new(Script::wrap("m"), "m", "M", 3, split)
        .reduce_with_llm(LlmMerge::new(merge.clone(), "m", "Join."))
        .build()
        .unwrap();
    assert_eq!(answer(&by_model, "a;b").await, "joined");
    assert_eq!(merge.asked()[0].matches("<branch ").count(), 2);
}

/// Proves AGT-131, P-19: the best go on, in branch order when they are equal.
#[tokio::test]
async fn the_best_thoughts_go_on() {
    let script = Script::texts(&["bb", "a", "cc", "x", "yyyy", "zzz"]);
    let tree = TreeOfThoughts::new(script.clone(), "m", "T", 2, 3, |text| text.len() as f64)
        .beam_width(2)
        .build()
        .unwrap();
    let (report, heard) = run(&tree, "start").await;
    assert_eq!(report.answer().unwrap(), "yyyy\n\n---\n\nzzz");
    assert_eq!(script.asked()[3], "bb\n\n---\n\ncc");
    assert_eq!(heard.pairs()[0], "+tot");
    assert_eq!(script.requests.lock().unwrap()[0].temperature, Some(0.7));
    let nan = TreeOfThoughts::new(Script::wrap("t"), "m", "T", 1, 2, |_| f64::NAN).build().unwrap();
    let text = error(&nan, "x").await;
    assert!(text.contains("the score of thought `thought-0` is not a number"), "{text}");
}

fn swarm(route: impl Fn(&str) -> Option<&'static str> + Send + Sync + 'static) -> Swarm {
    Swarm::new(route)
        .agent(SwarmAgent::new("a", wrapping("a")).name("A"))
        .agent(SwarmAgent::new("b", wrapping("b")))
}

/// Proves AGT-134, P-19: turns are counted, and running out of them is said.
#[tokio::test]
async fn a_swarm_hands_on_until_it_is_done() {
    let route = |text: &str| match text {
        text if text.starts_with("b(") => None,
        text if text.starts_with("a(") => Some("b"),
        _ => Some("a"),
    };
    let (report, heard) = run(&swarm(route).build().unwrap(), "x").await;
    assert_eq!(report.answer().unwrap(), "b(a(x))");
    assert_eq!(heard.of("composition.iteration_exit").len(), 2);
    assert_eq!(heard.pairs().last().unwrap(), "-swarm ok");
    // As many turns as allowed and then done is done; one more turn wanted is exhaustion.
    let (_, heard) = run(&swarm(route).max_handoffs(2).build().unwrap(), "x").await;
    assert_eq!(heard.pairs().last().unwrap(), "-swarm ok");
    let (report, heard) = run(&swarm(route).max_handoffs(1).build().unwrap(), "x").await;
    assert_eq!(report.answer().unwrap(), "a(x)");
    assert_eq!(heard.pairs().last().unwrap(), "-swarm budget_exhausted");
    // Nobody, or somebody unknown, from the start: the message itself is the answer.
    for to in [None, Some("nobody")] {
        let (report, heard) = run(&swarm(move |_| to).build().unwrap(), "x").await;
        assert_eq!(report.answer().unwrap(), "x");
        assert_eq!(heard.of("composition.route_decided")[0]["chosen"], "done");
    }
}

/// Proves AGT-133, AGT-134, P-19: after every turn the router is asked, and its decision is obeyed.
#[tokio::test]
async fn a_model_routed_swarm_obeys_its_router() {
    let model = Script::by(|at, _| {
        Ok(LlmResponse::text(match at {
            0 => r#"{"agentId":"b","message":"to b","reason":"r"}"#,
            1 => r#"{"agentId":"a"}"#,
            _ => r#"{"agentId":null,"message":"bye"}"#,
        }))
    });
    let swarm = |turns: u32| {
        LlmSwarm::new(model.clone(), "m")
            .agent(SwarmAgent::new("a", wrapping("a")), "first")
            .agent(SwarmAgent::new("b", wrapping("b")), "second")
            .instruction("Be quick.")
            .temperature(0.2)
            .max_handoffs(turns)
            .build()
            .unwrap()
    };
    let (report, heard) = run(&swarm(10), "x").await;
    assert_eq!(report.answer().unwrap(), "bye");
    let chosen: Vec<String> = heard
        .of("composition.route_decided")
        .iter()
        .map(|decided| {
            format!("{} {}", decided["conditionalId"].as_str().unwrap(), decided["chosen"].as_str().unwrap())
        })
        .collect();
    assert_eq!(chosen, ["router b", "route b", "router a", "route a", "router done"]);
    assert_eq!(report.record.state().get("routerDecision").unwrap()["message"], "bye");
    let endless = Script::by(|_, _| Ok(LlmResponse::text(r#"{"agentId":"a"}"#)));
    let swarm = LlmSwarm::new(endless, "m")
        .agent(SwarmAgent::new("a", wrapping("a")), "first")
        .agent(SwarmAgent::new("b", wrapping("b")), "second")
        .max_handoffs(2)
        .build()
        .unwrap();
    let (report, heard) = run(&swarm, "x").await;
    assert_eq!(report.answer().unwrap(), "a(a(x))");
    assert!(heard.pairs().contains(&"-swarm-turns budget_exhausted".to_owned()), "{:?}", heard.pairs());
}
