use std::sync::Arc;

use agentfootprint_core::agent::Agent;
use agentfootprint_core::compose::patterns::{LlmSwarm, SwarmAgent};
use agentfootprint_core::compose::{Loop, Parallel, Sequence};
use agentfootprint_core::llm::{LlmError, LlmResponse};
use agentfootprint_core::run::{ChartRunner as _, RunOptions, Runner};
use agentfootprint_record::MemoryIdentity;
use futures_util::future::join_all;

use crate::support::*;

/// Proves AGT-15, AGT-16, AGT-2: 32 runs of one composition at once, with failing branches among them; no id, message,
/// identity or failure of one appears in another.
#[tokio::test]
async fn runs_of_one_composition_do_not_touch() {
    let picky = Script::by(|_, request| {
        let text = last(request);
        if text.contains("odd") {
            Err(LlmError::foreign("ServiceError", format!("refused {text}")))
        } else {
            Ok(LlmResponse::text(format!("picky({text})")))
        }
    });
    let panel = Parallel::builder("p")
        .branch("echo", wrapping("echo"))
        .branch("picky", call("picky", &picky))
        .merge_outcomes_with_fn(|outcomes| {
            outcomes
                .iter()
                .map(|(_, outcome)| outcome.map_or_else(ToString::to_string, str::to_owned))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .build()
        .unwrap();
    let agent = Agent::builder(Script::wrap("agent"), "m").id("a").build().unwrap();
    let flow = Sequence::builder("s")
        .step("agent", agent)
        .step("panel", panel)
        .step("loop", Loop::builder("l").repeat(wrapping("again")).times(2).build().unwrap())
        .build()
        .unwrap();
    let spec = flow.spec();
    let runs = (0..32).map(|at| {
        let flow = flow.clone();
        async move {
            let word = format!("{}-{at:02}-", if at % 2 == 0 { "even" } else { "odd" });
            let heard = Heard::default();
            let options = heard
                .on(RunOptions::new())
                .session_id(format!("session-{at:02}-"))
                .identity(MemoryIdentity::conversation(format!("talk-{at:02}-")));
            let report = flow.run(word.clone()).options(options).await;
            (at, word, report, heard)
        }
    });
    let done = join_all(runs).await;
    assert!(std::ptr::eq(spec.structure(), flow.spec().structure()));
    for (at, word, report, heard) in &done {
        let answer = report.answer().unwrap();
        assert!(answer.contains(word.as_str()), "{answer}");
        assert_eq!(answer.contains("refused"), at % 2 == 1, "{answer}");
        for (other, foreign, _, _) in &done {
            if other != at {
                assert!(!answer.contains(foreign.as_str()), "{answer} holds {foreign}");
                for event in heard.all() {
                    let text = event.to_string();
                    assert!(!text.contains(foreign.as_str()), "{text} holds {foreign}");
                    assert!(!text.contains(&format!("session-{other:02}-")));
                }
            }
        }
        let run_id = report.record.run_id();
        assert!(heard.all().iter().all(|event| event["meta"]["runId"].as_str().unwrap() == &**run_id));
        let inner =
            report.record.snapshot().subtree("step-agent").unwrap().tree_context.global_context.clone();
        assert_eq!(inner.get("runIdentity").unwrap()["conversationId"], format!("talk-{at:02}-").as_str());
    }
}

/// Proves AGT-133, P-19: two runs with equal messages are routed by their own decisions.
#[tokio::test]
async fn equal_messages_do_not_share_a_routers_decision() {
    // The router's model sends the first question to `a` and the second to `b`, then everybody to nobody.
    let model = Script::by(|at, _| {
        Ok(LlmResponse::text(match at {
            0 => r#"{"agentId":"a","message":"same"}"#,
            1 => r#"{"agentId":"b","message":"same"}"#,
            _ => r#"{"agentId":null}"#,
        }))
    });
    let swarm = Arc::new(
        LlmSwarm::new(model, "m")
            .agent(SwarmAgent::new("a", wrapping("a")), "first")
            .agent(SwarmAgent::new("b", wrapping("b")), "second")
            .build()
            .unwrap(),
    );
    let (first, second) = tokio::join!(run(&*swarm, "same"), run(&*swarm, "same"));
    let mut answers = [first.0.answer().unwrap().clone(), second.0.answer().unwrap().clone()];
    answers.sort();
    assert_eq!(answers, ["a(same)", "b(same)"]);
}
