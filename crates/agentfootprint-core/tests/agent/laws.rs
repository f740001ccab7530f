//! Rules of the agent's chart, state and events, one test each.

use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::{AgentReactMode, ContextBudget, OutputOptions, RunConfig, Typed};
use agentfootprint_core::compose::Sequence;
use agentfootprint_core::injection::{Fact, Instruction};
use agentfootprint_core::llm::{
    Capabilities, LlmError, LlmErrorKind, RoleSet, ThinkingError, ThinkingHandler,
};
use agentfootprint_core::run::{AgentRunCheckpoint, ChartRunner as _, RunInput, RunOptions, Runner};
use agentfootprint_core::tools::{CredentialNeed, Tool, ToolListContext, ToolProvider, ToolProviderError};
use agentfootprint_core::window::SlidingWindow;
use agentfootprint_record::MemoryIdentity;
use agentfootprint_record::message::{Role, ThinkingBlock};
use agentfootprint_record::text::{content_hash, utf16_len};
use async_trait::async_trait;
use footprint::observe::{CommitEvent, EventCx, HookResult, Recorder};
use footprint::value::Value;

use crate::support::*;

/// Every node of a chart, outermost first.
fn nodes(node: &Value, out: &mut Vec<Value>) {
    out.push(node.clone());
    for key in ["subflowStructure", "next"] {
        if let Some(inner) = node.get(key) {
            nodes(inner, out);
        }
    }
    for child in node.get("children").and_then(Value::as_array).into_iter().flatten() {
        nodes(child, out);
    }
}

fn chart(agent: &agentfootprint_core::agent::Agent) -> Vec<Value> {
    let mut out = Vec::new();
    nodes(&agent.spec().structure().to_value().unwrap(), &mut out);
    out
}

fn named(list: &[Value], id: &str) -> Value {
    list.iter()
        .find(|node| node["id"] == json!(id) && node.get("isLoopReference").is_none())
        .cloned()
        .unwrap()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Ticket {
    title: String,
}

/// Proves AGT-36: names and taxonomy markers, as viewers read them.
#[test]
fn the_names_of_the_chart() {
    for (mode, marker) in [
        (AgentReactMode::Dynamic, "Agent: ReAct loop"),
        (AgentReactMode::Classic, "Agent: Classic ReAct loop"),
        (AgentReactMode::DynamicGrouped, "Agent: ReAct loop"),
    ] {
        let agent = agent(&Script::new([]))
            .tool(looking("x"))
            .thinking_handler(Plain)
            .fact(Fact::new("hours", "9 to 5").in_messages(Role::User))
            .output_schema(Typed::<Ticket>::new(), OutputOptions::new().retries(1))
            .window(SlidingWindow::keep(2))
            .react_mode(mode)
            .build()
            .unwrap();
        let list = chart(&agent);
        let mut names = vec![
            ("seed", "Initialize"),
            ("sf-injection-engine", "Injection Engine"),
            ("gather", "Gather"),
            ("evaluate", "Evaluate"),
            ("route", "Route"),
            ("delta", "Delta"),
            ("compact", "Compact"),
            ("deliver", "Deliver"),
            ("context", "Context"),
            ("sf-system-prompt", "System Prompt"),
            ("sf-messages", "Messages"),
            ("sf-tools", "Tools"),
            ("discover", "Discover"),
            ("compose", "Compose"),
            ("sf-cache", "Cache"),
            ("decide-cache-markers", "CacheDecision"),
            ("cache-gate", "CacheGate"),
            ("apply-markers", "ApplyMarkers"),
            ("no-markers", "SkipCaching"),
            ("call-llm", "CallLLM"),
            ("sf-thinking", "NormalizeThinking"),
            ("thinking-plain", "Normalize"),
            ("sf-route", "Route"),
            ("tool-calls", "ToolCalls"),
            ("output-retry", "SchemaRetry"),
            ("wrap-up", "WrapUp"),
            ("final", "Final"),
            ("prepare-final", "PrepareFinal"),
            ("break-final", "BreakFinal"),
        ];
        if mode == AgentReactMode::DynamicGrouped {
            names.extend([("sf-llm-call", "LLM"), ("turn-seed", "TurnSeed")]);
        }
        for (id, name) in names {
            assert_eq!(named(&list, id)["name"], json!(name), "{id} {mode:?}");
        }
        assert_eq!(named(&list, "seed")["description"], json!(marker));
        for stub in list.iter().filter(|node| node.get("isLoopReference").is_some()) {
            assert_eq!(stub["name"], stub["id"]);
        }
    }
}

/// Proves AGT-37, AGT-38: the order of branches, the default one last; every looping branch has one target.
#[test]
fn the_branches_of_the_route() {
    for (mode, windowed, target) in [
        (AgentReactMode::Dynamic, false, "sf-injection-engine"),
        (AgentReactMode::DynamicGrouped, false, "sf-llm-call"),
        (AgentReactMode::Dynamic, true, "compact"),
        (AgentReactMode::DynamicGrouped, true, "compact"),
    ] {
        let mut builder = agent(&Script::new([]))
            .tool(looking("x"))
            .output_schema(Typed::<Ticket>::new(), OutputOptions::new().retries(1))
            .react_mode(mode);
        if windowed {
            builder = builder.window(SlidingWindow::keep(2));
        }
        let list = chart(&builder.build().unwrap());
        let branches = json!(["tool-calls", "output-retry", "wrap-up", "final"]);
        assert_eq!(named(&list, "sf-route")["branchIds"], branches);
        assert_eq!(named(&list, "tool-calls")["isPausable"], json!(true));
        for id in ["tool-calls", "output-retry", "wrap-up"] {
            let branch = named(&list, id);
            assert_eq!(branch["loopTarget"], json!(target), "{id}");
            assert_eq!(branch["next"]["isLoopReference"], json!(true));
        }
        let last = named(&list, "final");
        assert!(last.get("next").is_none() && last.get("loopTarget").is_none());
        assert_eq!(last["isSubflowRoot"], json!(true));
    }
    let bare = chart(&agent(&Script::new([])).build().unwrap());
    assert_eq!(named(&bare, "sf-route")["branchIds"], json!(["tool-calls", "final"]));
}

struct Broken;

#[async_trait]
impl ToolProvider for Broken {
    async fn list(&self, _: &ToolListContext) -> Result<Vec<Tool>, ToolProviderError> {
        Err(ToolProviderError::new("the catalogue is down"))
    }
}

/// Proves AGT-40: a slot that fails fails the run, and no half-built request is sent.
#[tokio::test]
async fn a_failing_slot_sends_nothing() {
    let script = Script::by(|_, _| Ok(say("never")));
    let agent = agent(&script).tool_provider(Broken).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert!(report.answer().is_err());
    assert_eq!((script.calls(), heard.count("stream.llm_start")), (0, 0));
}

/// Proves AGT-41: nothing doubles from one iteration to the next.
#[tokio::test]
async fn what_a_loop_crosses_is_replaced() {
    for mode in [AgentReactMode::Dynamic, AgentReactMode::DynamicGrouped] {
        let script = Script::by(|at, _| Ok(if at < 3 { look(&format!("c{at}")) } else { say("done") }));
        let agent = agent(&script)
            .system("Be calm.")
            .instruction(Instruction::new("short", "Be short."))
            .tool(looking("seen"))
            .react_mode(mode)
            .build()
            .unwrap();
        let (report, heard) = run(&agent, "go").await;
        // In the group these keys are the group's own.
        if mode == AgentReactMode::Dynamic {
            let length = |key: &str| state(&report, key).unwrap().as_array().unwrap().len();
            assert_eq!((length("systemPromptInjections"), length("toolsInjections")), (2, 1));
            // The last composed request: the message, three turns and their results.
            assert_eq!((length("messagesInjections"), length("activeInjections")), (7, 1));
        }
        let composed = heard.of("context.slot_composed");
        let prompts = composed.iter().filter(|row| row["slot"] == json!("system-prompt"));
        let used: Vec<Value> = prompts.map(|row| row["budget"]["used"].clone()).collect();
        assert_eq!(used, vec![used[0].clone(); 4], "{mode:?}");
    }
}

fn writers(report: &agentfootprint_core::run::RunReport<String>, key: &str) -> Vec<String> {
    let log = &report.record.snapshot().commit_log;
    let mut stages = Vec::new();
    for bundle in log.iter() {
        if bundle.rows.iter().any(|row| row.path.to_string() == key) {
            stages.push(bundle.stage_id.to_string());
        }
    }
    stages
}

/// Proves AGT-42, AGT-54: a branch writes in its own stage, and a carrier is one top-level key that is replaced whole.
#[tokio::test]
async fn branches_write_in_their_own_stage() {
    let script = Script::new([look("c1"), say("no JSON"), say(r#"{"title":"x"}"#)]);
    let agent = agent(&script)
        .tool(looking("seen"))
        .output_schema(Typed::<Ticket>::new(), OutputOptions::new().retries(2))
        .build()
        .unwrap();
    let (report, _) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), r#"{"title":"x"}"#);
    assert_eq!(writers(&report, "toolResults"), ["tool-calls"]);
    // The row of an answer that is asked again is the branch's, the row of one that passes is the route's own.
    assert_eq!(writers(&report, "outputAttempts"), ["output-retry", "sf-route"]);
    for bundle in report.record.snapshot().commit_log.iter() {
        for row in &bundle.rows {
            let carriers = ["outputAttempts", "history", "toolResults", "lastToolResult"];
            let path = row.path.to_string();
            let inside = |key: &str| path.len() > key.len() && path.starts_with(key);
            assert!(!carriers.iter().any(|key| inside(key)), "{path}");
        }
    }
}

/// Proves AGT-62, AGT-64: base first, then instructions in engine order; hashes, reasons, summaries, and the text of the request.
#[tokio::test]
async fn the_records_of_the_system_prompt() {
    let long = "Be short. ".repeat(20);
    for resolved in [false, true] {
        let script = Script::new([say("ok")]);
        let mut builder = agent(&script)
            .system("Be calm.")
            .instruction(Instruction::new("short", long.as_str()))
            .fact(Fact::new("hours", "9 to 5"));
        if resolved {
            builder = builder.configure(|_| Some(RunConfig::new().instructions("Be calm.")));
        }
        let (_, heard) = run(&builder.build().unwrap(), "go").await;
        let injected = heard.of("context.injected");
        let rows: Vec<&Value> = injected.iter().filter(|row| row["slot"] == json!("system-prompt")).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0]["source"], json!("base"));
        assert_eq!(rows[0]["contentHash"], json!(content_hash("sp:Be calm.")));
        let reason = if resolved { "Agent.configure()" } else { "Agent.system()" };
        assert_eq!(rows[0]["reason"], json!(reason));
        for (row, id, text) in [(rows[1], "short", long.as_str()), (rows[2], "hours", "9 to 5")] {
            let flavor = row["source"].as_str().unwrap();
            assert_eq!(row["sourceId"], json!(id));
            assert_eq!(row["contentHash"], json!(content_hash(&format!("sp:{flavor}:{id}:{text}"))));
            assert_eq!(row["rawContent"], json!(text));
        }
        let summary = rows[1]["contentSummary"].as_str().unwrap();
        assert!(
            utf16_len(summary) <= 80
                && summary.ends_with('…')
                && long.starts_with(summary.trim_end_matches('…'))
        );
        assert_eq!(rows[2]["contentSummary"], json!("9 to 5"));
        let sent = script.request(0).system_prompt().unwrap().to_string();
        assert_eq!(sent, format!("Be calm.\n\n{long}\n\n9 to 5"));
    }
}

/// Proves AGT-61, AGT-67: each slot writes its key; a budget is a report and truncates nothing.
#[tokio::test]
async fn budgets_report_and_truncate_nothing() {
    let script = Script::new([say("ok")]);
    let budget = ContextBudget { system_prompt: 5, ..ContextBudget::default() };
    let agent = agent(&script).system("Be calm.").tool(looking("x")).context_budget(budget).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    let pressure = heard.of("context.budget_pressure");
    assert_eq!(pressure.len(), 1);
    assert_eq!(pressure[0]["planAction"], json!("none"));
    assert_eq!(pressure[0]["unit"], json!("chars"));
    assert_eq!(pressure[0]["slot"], json!("system-prompt"));
    assert_eq!(script.request(0).system_prompt().unwrap().to_string(), "Be calm.");
    for key in ["systemPromptInjections", "messagesInjections", "toolsInjections"] {
        assert_eq!(state(&report, key).unwrap().as_array().unwrap().len(), 1, "{key}");
    }
}

/// Proves AGT-71: a result stays directly behind the turn that asked, also when messages are delivered in between.
#[tokio::test]
async fn results_stay_behind_their_turn() {
    let script = Script::new([
        calls(&[("a", "look", json!({})), ("b", "look", json!({"n": 1}))]),
        look("c"),
        say("done"),
    ])
    .with_capabilities(Capabilities::default().carrying(RoleSet::ALL));
    let agent = agent(&script)
        .tool(looking("seen"))
        .fact(Fact::new("hours", "9 to 5").in_messages(Role::User).active_when(|cx| cx.iteration() > 1))
        .build()
        .unwrap();
    let (report, _) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "done");
    for at in 1..3 {
        let sent: Vec<Value> =
            script.request(at).messages().to_value().as_array().unwrap().iter().cloned().collect();
        assert!(is_valid(&sent), "{sent:?}");
        let kinds: Vec<&str> = sent.iter().take(4).map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["user", "assistant", "tool", "tool"]);
        assert_eq!((&sent[2]["toolCallId"], &sent[3]["toolCallId"]), (&json!("a"), &json!("b")));
    }
}

/// Reads one signed block per raw text.
struct Signed;

const SIGNATURE: &str = " sig+/==\u{1F600}\n ";

impl ThinkingHandler for Signed {
    fn id(&self) -> &str {
        "signed"
    }

    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        let mut block = ThinkingBlock::thinking(raw.as_str().unwrap());
        block.signature = Some(SIGNATURE.into());
        Ok(vec![block])
    }
}

/// Proves AGT-74: blocks are attached unchanged, to the turn of their own call and to no other.
#[tokio::test]
async fn thinking_rides_its_own_turn_unchanged() {
    let script = Script::by(|at, _| {
        let mut reply = if at == 0 { look("c1") } else { say("done") };
        reply.raw_thinking = Some(json!(format!("  thought {at}\n")));
        Ok(reply)
    });
    let agent = agent(&script).tool(looking("seen")).thinking_handler(Signed).build().unwrap();
    let (report, _) = run(&agent, "go").await;
    let kept: Value = report.record.checkpoint().unwrap().to_json().parse().unwrap();
    let turns: Vec<Value> = kept["history"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == json!("assistant"))
        .cloned()
        .collect();
    assert_eq!(turns.len(), 2);
    for (at, turn) in turns.iter().enumerate() {
        let blocks = turn["thinkingBlocks"].as_array().unwrap();
        assert_eq!(blocks.len(), 1);
        assert_eq!(turn["thinkingBlocks"][0]["content"], json!(format!("  thought {at}\n")));
        assert_eq!(turn["thinkingBlocks"][0]["signature"], json!(SIGNATURE));
    }
}

/// Proves AGT-101: both doors restore history and identity; only one of them brings a message.
#[tokio::test]
async fn both_doors_restore_the_same() {
    let who = || MemoryIdentity::conversation("c-1").principal("ann");
    let script = Script::by(|at, _| match at {
        0 => Ok(look("c1")),
        1 => Err(LlmError::new(LlmErrorKind::Transient, "script", "down")),
        _ => Ok(say("done")),
    });
    let agent = agent(&script).tool(looking("seen")).build().unwrap();
    let report = agent.run("first").options(RunOptions::new().identity(who())).await;
    let stored = report.error().unwrap().checkpoint().unwrap().to_json();
    let checkpoint = || AgentRunCheckpoint::from_json(&stored).unwrap();
    let before = checkpoint().to_value()["history"].clone();
    let retried = agent.resume_on_error(checkpoint(), RunOptions::new()).unwrap().await;
    let continued = agent.run(RunInput::new("second").continue_from(checkpoint())).await;
    for (report, at, added) in [(&retried, 2, 0), (&continued, 3, 1)] {
        assert_eq!(report.answer().unwrap(), "done");
        let sent: Vec<Value> =
            script.request(at).messages().to_value().as_array().unwrap().iter().cloned().collect();
        let before: Vec<Value> = before.as_array().unwrap().iter().cloned().collect();
        assert_eq!(sent[..before.len()], before);
        assert_eq!(sent.len(), before.len() + added);
        assert_eq!(state(report, "runIdentity"), Some(json!({"conversationId": "c-1", "principal": "ann"})));
    }
    assert_eq!(script.request(3).last_user_text(), Some("second"));
}

/// Writes down commits between the events a listener writes down.
struct Joined(Arc<Mutex<Vec<String>>>);

impl Recorder for Joined {
    fn id(&self) -> &str {
        "joined"
    }

    fn on_commit(&self, _: &EventCx<'_>, event: &CommitEvent) -> HookResult {
        self.0.lock().unwrap().push(format!("commit {}", event.bundle.runtime_stage_id));
        Ok(())
    }
}

/// Proves EVT-5: an event is said in the middle of its stage, before the stage commits.
#[tokio::test]
async fn events_come_before_their_stages_commit() {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let script = Script::new([look("c1"), say("done")]);
    let agent = agent(&script)
        .tool(looking("x"))
        .thinking_handler(Plain)
        .watch(Arc::new(Joined(Arc::clone(&told))))
        .build()
        .unwrap();
    let heard = Arc::clone(&told);
    let options = RunOptions::new().listen(agentfootprint_record::events::Pattern::All, move |event| {
        let event = event.to_value();
        let at = event["meta"]["runtimeStageId"].as_str().unwrap().to_owned();
        heard.lock().unwrap().push(format!("event {at}"));
    });
    agent.run("go").options(options).await;
    let told = told.lock().unwrap();
    for stage in ["seed#0", "call-llm#18", "tool-calls#22"] {
        let place = |what: &str| {
            let line = format!("{what} {stage}");
            (told.iter().position(|one| *one == line), told.iter().rposition(|one| *one == line))
        };
        let (event, commit) = (place("event").1.unwrap(), place("commit").0.unwrap());
        assert!(event < commit, "{stage}: {told:?}");
    }
}

/// Proves EVT-42, EVT-43: slots speak in their order, and every list keeps the order of its source.
#[tokio::test]
async fn lists_keep_the_order_of_their_source() {
    let tool = |name: &str| Tool::builder(name.to_owned()).handler(|_: Value, _| async { "x" });
    let order = ["zeta", "mid", "alpha", "beta"];
    let asked = order.map(|name| (name, name, json!({})));
    let script = Script::new([calls(&asked), say("done")]);
    let mut builder = agent(&script).system("s");
    for name in order {
        builder = builder.tool(tool(name)).instruction(Instruction::new(name, name));
    }
    let (_, heard) = run(&builder.build().unwrap(), "go").await;
    let slots: Vec<Value> = heard.of("context.slot_composed").iter().map(|row| row["slot"].clone()).collect();
    let round = ["system-prompt", "messages", "tools"];
    assert_eq!(slots, [round, round].concat().iter().map(|slot| json!(*slot)).collect::<Vec<_>>());
    let names = |list: &Value, key: &str| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&heard.of("stream.llm_start")[0]["tools"], "name"), order);
    let ids: Vec<Value> =
        heard.of("context.evaluated")[0]["activeIds"].as_array().unwrap().iter().cloned().collect();
    assert_eq!(ids, order.map(|id| json!(id)));
    let started: Vec<Value> =
        heard.of("stream.tool_start").iter().map(|row| row["toolName"].clone()).collect();
    assert_eq!(started, order.map(|id| json!(id)));
    let ended = &heard.of("agent.iteration_end")[0]["history"];
    assert_eq!(names(&ended[1]["toolCalls"], "name"), order);
}

/// Proves EVT-4, REC-33: what an agent inside an agent's composition says is heard outside, in every domain.
#[tokio::test]
async fn one_hub_serves_every_depth() {
    let script = Script::by(|at, _| Ok(if at == 0 { look("c1") } else { say("done") }));
    let needy = Tool::builder("look")
        .needs(CredentialNeed::new("crm"))
        .handler(|_: Value, _| async { "seen" })
        .build()
        .unwrap();
    let inner = agent(&script).id("inner").tool(needy).build().unwrap();
    let middle = Sequence::builder("middle").step("a", inner).build().unwrap();
    let flow = Sequence::builder("outer").step("m", middle).build().unwrap();
    let heard = Heard::default();
    let report = flow.run("go").options(heard.options()).await;
    assert_eq!(report.answer().unwrap(), "done");
    for name in [
        "credential.requested",
        "credential.failed",
        "context.evaluated",
        "stream.tool_end",
        "agent.turn_end",
    ] {
        assert!(heard.count(name) > 0, "{name}: {:?}", heard.names());
    }
}
