use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::Agent;
use agentfootprint_core::injection::Fact;
use agentfootprint_core::llm::LlmResponse;
use agentfootprint_core::run::{ChartRunner as _, RunInput, RunOptions, Runner};
use agentfootprint_core::tools::{Tool, ToolContext};
use agentfootprint_record::MemoryIdentity;
use agentfootprint_record::events::Pattern;
use footprint::value::Value;
use tokio_util::sync::CancellationToken;

use crate::support::*;

/// A model that calls `echo` with what the person said, and answers with what the tool said.
fn echoing() -> Script {
    Script::by(|_, request| {
        let messages = request.messages().to_value();
        let messages = messages.as_array().unwrap();
        let last = messages.last().unwrap();
        let text = last["content"].as_str().unwrap().to_owned();
        Ok(match last["role"].as_str().unwrap() {
            "tool" => say(&text),
            _ => calls(&[("c1", "echo", json!({ "text": text }))]),
        })
    })
}

fn echo_tool() -> Tool {
    Tool::builder("echo")
        .description("Repeats.")
        .input_schema(
            json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
        )
        .handler(|args: Value, cx: ToolContext| async move {
            // Let the other runs in between.
            tokio::task::yield_now().await;
            let who = cx.identity().and_then(|who| who.principal.clone()).unwrap_or_default();
            format!("{}/{who}/{}", args["text"].as_str().unwrap(), cx.tool_call_id())
        })
        .build()
        .unwrap()
}

/// Proves AGT-15, P-4.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn runs_of_one_agent_do_not_meet() {
    let agent = agent(&echoing())
        .tool(echo_tool())
        .fact(Fact::new("late", "Late.").active_when(|cx| cx.iteration() > 1))
        .build()
        .unwrap();
    let structure = agent.spec().structure().clone();
    let mut under_way = Vec::new();
    for at in 0..32 {
        let agent = agent.clone();
        under_way.push(tokio::spawn(async move {
            let heard = Heard::default();
            let who = MemoryIdentity::conversation(format!("c{at}")).principal(format!("p{at}"));
            let input = RunInput::new(format!("word-{at}")).identity(who);
            let report =
                agent.run(input).options(heard.on(RunOptions::new().session_id(format!("s{at}")))).await;
            (at, report, heard)
        }));
    }
    let mut ids = std::collections::HashSet::new();
    for task in under_way {
        let (at, report, heard) = task.await.unwrap();
        let said = format!("word-{at}/p{at}/c1");
        assert_eq!(report.answer().unwrap(), &said);
        let messages = history(&report);
        assert_eq!(messages[0]["content"].as_str(), Some(&*format!("word-{at}")));
        assert_eq!(messages[1]["toolCalls"][0]["args"]["text"].as_str(), Some(&*format!("word-{at}")));
        assert_eq!(messages[2]["content"].as_str(), Some(&*said));
        assert_eq!(
            state(&report, "runIdentity").unwrap()["conversationId"].as_str(),
            Some(&*format!("c{at}"))
        );
        let run_id = report.record.run_id().clone();
        for event in heard.all() {
            assert_eq!(event["meta"]["runId"].as_str(), Some(&*run_id), "{event}");
            for other in (0..32).filter(|other| *other != at) {
                assert!(!event.to_string().contains(&format!("word-{other}/")), "{event}");
            }
        }
        assert_eq!(heard.count("agent.turn_end"), 1);
        assert_eq!(heard.count("stream.tool_end"), 1);
        assert!(ids.insert(run_id), "a run id was given twice");
    }
    assert_eq!(agent.spec().structure(), &structure);
}

fn scripted() -> (Agent, Vec<LlmResponse>) {
    let replies = vec![look("c1"), say("done")];
    let agent =
        agent(&Script::new(replies.clone())).system("Be short.").tool(looking("seen")).build().unwrap();
    (agent, replies)
}

/// Proves HOST-125 for a run without a journal: with the same clock and ids a run is the same bytes twice.
#[tokio::test]
async fn a_scripted_run_is_identical_twice() {
    let mut made = Vec::new();
    for _ in 0..2 {
        let (agent, _) = scripted();
        let heard = Heard::default();
        let report = agent.run("go").options(reproducible(heard.options())).await;
        assert_eq!(report.answer().unwrap(), "done");
        let events: Vec<String> = heard.all().iter().map(Value::to_string).collect();
        made.push((
            report.record.snapshot().to_json(),
            events,
            report.record.checkpoint().unwrap().to_json(),
        ));
    }
    assert!(!made[0].1.is_empty());
    assert!(made[0].1[0].contains("run-1700000000000-1"), "{}", made[0].1[0]);
    assert_eq!(made[0], made[1]);
}

/// Proves P-3, AGT-52.
#[tokio::test]
async fn a_run_leaves_exactly_these_keys() {
    let expected = "activatedInjectionIds activeByslot activeInjections cacheMarkers cachingDisabled \
                    contextTokensRemaining costBudgetHit cumEstimatedUsd cumTokensInput cumTokensOutput \
                    deliveredMessageKeys dynamicToolSchemas finalContent history iteration lastToolResult \
                    llmLatestContent llmLatestToolCalls maxIterations messagesInjections newMessages pausedToolCallId \
                    pausedToolName pausedToolStartMs receipt runIdentity skillHistory systemPromptInjections \
                    thinkingBlocks toolResults toolsInjections totalInputTokens totalOutputTokens turnNumber \
                    turnStartMs userMessage";
    let expected: Vec<&str> = expected.split_whitespace().collect();
    let (agent, _) = scripted();
    let (report, _) = run(&agent, "go").await;
    assert_eq!(state_keys(&report), expected);
    let plain = crate::support::agent(&Script::new([say("hi")])).record_receipt(false).build().unwrap();
    let (report, _) = run(&plain, "go").await;
    let fewer: Vec<&str> = expected
        .into_iter()
        .filter(|key| !["lastToolResult", "toolResults", "receipt"].contains(key))
        .collect();
    assert_eq!(state_keys(&report), fewer);
}

/// Proves P-2, AGT-43.
#[tokio::test]
async fn events_come_in_their_order_and_hold_the_address_of_their_stage() {
    let script = Script::new([look("c1"), say("done")]);
    let agent = agent(&script).tool(looking("seen")).thinking_handler(Plain).build().unwrap();
    let (_, heard) = run(&agent, "go").await;
    let told: Vec<String> = heard
        .all()
        .iter()
        .map(|event| {
            let name = event["type"].as_str().unwrap().trim_start_matches("agentfootprint.");
            format!("{name}@{}", event["meta"]["runtimeStageId"].as_str().unwrap())
        })
        .filter(|line| !line.starts_with("context.") && !line.starts_with("stream.token"))
        .collect();
    assert_eq!(
        told,
        [
            "agent.run_configured@run-configured#0",
            "agent.turn_start@seed#0",
            "agent.iteration_start@call-llm#18",
            "stream.llm_start@call-llm#18",
            "stream.llm_end@call-llm#18",
            "agent.route_decided@sf-route#21",
            "stream.tool_start@tool-calls#22",
            "stream.tool_end@tool-calls#22",
            "agent.iteration_end@tool-calls#22",
            "agent.iteration_start@call-llm#40",
            "stream.llm_start@call-llm#40",
            "stream.llm_end@call-llm#40",
            "agent.route_decided@sf-route#43",
            "agent.iteration_end@final/prepare-final#45",
            "agent.turn_end@final/prepare-final#45",
            "integrity.disposition@integrity-disposition#0",
        ]
    );
}

/// Proves AGT-22, AGT-23.
#[tokio::test]
async fn an_identity_is_named_or_the_session_or_the_run() {
    let (agent, _) = scripted();
    let named = RunInput::new("go").identity(MemoryIdentity::conversation("mine"));
    let report = agent.run(named).options(RunOptions::new().session_id("s1")).await;
    assert_eq!(state(&report, "runIdentity").unwrap()["conversationId"], json!("mine"));
    assert!(state(&report, "runIdentitySource").is_none());
    let (agent, _) = scripted();
    let report = agent.run("go").options(RunOptions::new().session_id("s1")).await;
    assert_eq!(state(&report, "runIdentity").unwrap()["conversationId"], json!("s1"));
    assert_eq!(state(&report, "runIdentitySource"), Some(json!("session")));
    let (agent, _) = scripted();
    let report = agent.run("go").await;
    let run_id: Value = report.record.run_id().clone().into();
    assert_eq!(state(&report, "runIdentity").unwrap()["conversationId"], run_id);
}

/// Proves AGT-17.
#[tokio::test]
async fn a_cancelled_run_invents_no_result() {
    let cancel = CancellationToken::new();
    let inner = cancel.clone();
    let stuck = Tool::builder("look")
        .description("Never ends.")
        .handler(move |_args: Value, _cx| {
            inner.cancel();
            async { std::future::pending::<String>().await }
        })
        .build()
        .unwrap();
    let agent = agent(&Script::new([look("c1"), say("never")])).tool(stuck).build().unwrap();
    let heard = Heard::default();
    let report = agent.run("go").options(heard.options().cancel(cancel)).await;
    let error = report.error().unwrap();
    assert_eq!(error.name(), "Cancelled");
    assert!(error.checkpoint().is_none());
    assert_eq!(heard.count("stream.tool_end"), 0);
    assert_eq!(heard.count("agent.turn_end"), 0);
    assert_eq!(heard.names().last().map(String::as_str), Some("integrity.disposition"));
    assert!(history(&report).iter().all(|message| message["role"].as_str() != Some("tool")));
}

/// Proves AGT-11, P-20.
#[tokio::test]
async fn a_listener_that_panics_changes_nothing() {
    let (agent, _) = scripted();
    let heard = Heard::default();
    let options = RunOptions::new().listen(Pattern::All, |_| panic!("a listener's own bug"));
    let report = agent.run("go").options(reproducible(heard.on(options))).await;
    assert_eq!(report.answer().unwrap(), "done");
    let (agent, _) = scripted();
    let calm = Heard::default();
    let undisturbed = agent.run("go").options(reproducible(calm.options())).await;
    assert_eq!(heard.all(), calm.all());
    assert_eq!(report.record.snapshot().to_json(), undisturbed.record.snapshot().to_json());
}

/// Proves AGT-110: the record of a run is readable while it runs.
#[tokio::test]
async fn a_run_under_way_can_be_looked_at() {
    let (agent, _) = scripted();
    let handle = agent.run("go").start().unwrap();
    let (probe, seen) = (handle.probe(), Arc::new(Mutex::new(Vec::new())));
    let (looking, kept) = (probe.clone(), seen.clone());
    handle
        .events()
        .on("agentfootprint.agent.iteration_start", move |_| {
            kept.lock().unwrap().push(looking.commit_count())
        })
        .unwrap()
        .keep();
    let report = handle.finish().await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2);
    assert!(0 < seen[0] && seen[0] < seen[1] && seen[1] < probe.commit_count(), "{seen:?}");
    assert_eq!(probe.commit_count(), report.record.snapshot().commit_log.len());
}
