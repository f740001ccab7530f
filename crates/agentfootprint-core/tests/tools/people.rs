use std::sync::{Arc, Mutex};

use agentfootprint_core::run::Runner;
use agentfootprint_core::tools::{
    AskComponent, AskPayload, CheckIn, CheckInOptions, Evidence, Tool, ToolCallContext, ToolCallOutcome,
    ToolHooks, ToolMiddleware, ToolResultContext, ToolResultOutcome, ask_human,
};
use async_trait::async_trait;
use footprint::value;
use footprint::value::Value;

use crate::support::{
    Heard, Script, agent, calls, commits, every_call_is_answered, results, resume, run, say, state, tool,
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

fn asking() -> Tool {
    tool("ask_person", value!({}), |args| {
        Err::<String, _>(ask_human(
            value!({ "question": (args.get("question").cloned().unwrap_or_default()) }),
        ))
    })
}

fn counting(runs: &Arc<Mutex<Vec<String>>>) -> Tool {
    let runs = Arc::clone(runs);
    Tool::builder("note")
        .handler(move |args: Value, ctx| {
            runs.lock().unwrap().push(format!("{} {args}", ctx.tool_call_id()));
            async { "noted" }
        })
        .build()
        .unwrap()
}

/// Proves TOOL-58, TOOL-59, AGT-80, AGT-105, AGT-106, EVT-41.
#[tokio::test]
async fn a_tool_asks_and_the_answer_is_its_result() {
    let script =
        Script::new([calls(&[("h1", "ask_person", value!({ "question": "Which?" }))]), say("Blue.")]);
    let agent_ = agent(&script).tool(asking()).build().unwrap();
    let (paused, heard) = run(&agent_, "pick").await;
    let pause = paused.paused().unwrap();
    assert_eq!(
        pause.pause_data,
        value!({ "toolCallId": "h1", "toolName": "ask_person", "question": "Which?" })
    );
    assert_eq!(heard.dispatch(), ["stream.tool_start"]);
    assert_eq!(heard.of("pause.request").len(), 1);
    assert_eq!(state(&paused, "pausedToolArgs"), Some(value!({ "question": "Which?" })));
    assert_eq!(state(&paused, "history").unwrap().as_array().unwrap().len(), 2);
    assert_eq!(
        commits(&paused),
        [[
            "toolResults set",
            "history append",
            "pausedToolCallId set",
            "pausedToolName set",
            "pausedToolStartMs set",
            "pausedToolArgs set",
            "pausedTurnId set",
        ]]
    );

    // Nothing happens to a checkpoint that is answered with nothing.
    let refused = agent_.resume(pause.checkpoint.clone(), None, Default::default()).unwrap_err();
    assert_eq!(refused.code(), "ERR_PAUSE_ANSWER_REQUIRED");

    // Another process: the same definition, built anew.
    let fresh = agent(&script).tool(asking()).build().unwrap();
    let (report, heard) = resume(&fresh, &paused, Some(value!("blue"))).await;
    assert_eq!(report.answer().unwrap(), "Blue.");
    assert_eq!(heard.dispatch(), ["stream.tool_end"]);
    assert_eq!(heard.of("stream.tool_end")[0].get("result"), Some(&value!("blue")));
    assert_eq!(
        commits(&report),
        [[
            "history append",
            "lastToolResult set",
            "toolResults append",
            "iteration set",
            "pausedToolCallId set",
            "pausedToolName set",
            "pausedToolStartMs set",
            "pausedToolArgs delete",
            "pausedTurnId delete",
        ]]
    );
    assert_eq!(heard.of("agent.iteration_end")[0].get("toolCallCount"), Some(&value!(1)));
    assert_eq!(results(&report), [("h1".into(), "blue".into(), None)]);
    let message = state(&report, "history").unwrap().at(2).cloned().unwrap();
    assert_eq!(message.get("resultOrigin"), Some(&value!("human")));
    for key in ["pausedToolArgs", "pausedTurnId", "pausedComponentId"] {
        assert!(state(&report, key).is_none(), "{key}");
    }
    assert_eq!(state(&report, "pausedToolCallId"), Some(value!("")));
}

/// Proves TOOL-31, T-2: a pause in the middle of a batch.
#[tokio::test]
async fn a_pause_in_the_middle_of_a_batch_settles_the_rest() {
    let runs = Arc::default();
    let batch = calls(&[
        ("a", "note", value!({ "n": 1 })),
        ("b", "ask_person", value!({ "question": "?" })),
        ("c", "note", value!({ "n": 3 })),
    ]);
    let script = Script::new([batch, say("done")]);
    let agent = agent(&script).tool(counting(&runs)).tool(asking()).build().unwrap();
    let (paused, _) = run(&agent, "go").await;
    assert_eq!(results(&paused).len(), 1);
    let (report, heard) = resume(&agent, &paused, Some(value!("yes"))).await;
    assert_eq!(report.answer().unwrap(), "done");
    assert_eq!(*runs.lock().unwrap(), [r#"a {"n":1}"#]);
    assert!(every_call_is_answered(&report));
    assert_eq!(results(&report)[2].2.as_deref(), Some("not-dispatched"));
    assert_eq!(heard.dispatch(), ["stream.tool_end", "stream.tool_start", "stream.tool_end"]);
    let pair = value!({ "pausedCall": { "toolCallId": "b", "toolName": "ask_person" } });
    assert_eq!(heard.of("stream.tool_start")[0].get("notDispatched"), Some(&pair));
    let end = &heard.of("stream.tool_end")[1];
    assert_eq!((end.get("notDispatched"), end.get("durationMs")), (Some(&pair), Some(&value!(0))));
    assert!(end.get("error").is_none());
    assert_eq!(heard.of("agent.iteration_end")[0].get("toolCallCount"), Some(&value!(2)));
    assert_eq!(state(&report, "lastToolResult").unwrap().get("toolName"), Some(&value!("ask_person")));
    assert_eq!(state(&report, "toolResults").unwrap().as_array().unwrap().len(), 2);
    // The marks do not reach the provider.
    assert!(!script.messages(1).to_string().contains("notDispatched"));
}

fn refund(runs: &Arc<Mutex<Vec<String>>>) -> agentfootprint_core::tools::ToolBuilder {
    let runs = Arc::clone(runs);
    Tool::builder("refund")
        .description("Refunds an order")
        .input_schema(value!({ "type": "object", "properties": { "amount": { "type": "number" } }, "required": ["amount"] }))
        .handler(move |args, ctx| {
            let by = ctx.decision().map(|decision| decision.by.to_string());
            runs.lock().unwrap().push(format!("{args} {by:?}"));
            async move { format!("refunded {}", args.get("amount").cloned().unwrap_or_default()) }
        })
}

/// Proves TOOL-65, TOOL-66, TOOL-67, AGT-106.
#[tokio::test]
async fn an_approved_check_in_runs_the_call_with_the_decision() {
    let runs = Arc::default();
    let script = Script::new([calls(&[("c1", "refund", value!({ "amount": 30 }))]), say("Refunded.")]);
    let agent = agent(&script)
        .tool(refund(&runs).check_in(CheckIn::Always))
        .check_in(CheckInOptions::new().evidence(Evidence::Minimal))
        .build()
        .unwrap();
    let (paused, heard) = run(&agent, "refund it").await;
    let request = value!({
        "tool": "refund", "args": { "amount": 30 }, "evidence": { "willDo": "Refunds an order (amount: 30)" },
    });
    assert_eq!(paused.paused().unwrap().check_in(), Some(&request));
    assert_eq!(heard.dispatch(), ["stream.tool_start", "checkin.request"]);
    assert_eq!(heard.of("checkin.request")[0].get("request"), Some(&request));
    assert!(runs.lock().unwrap().is_empty());

    let bare =
        agent.resume(paused.paused().unwrap().checkpoint.clone(), Some(value!("yes")), Default::default());
    assert_eq!(bare.unwrap_err().code(), "ERR_DECISION_REQUIRED");

    let decision = value!({ "approved": true, "by": "ann", "note": "fine", "at": 5 });
    let (report, heard) = resume(&agent, &paused, Some(decision)).await;
    assert_eq!(report.answer().unwrap(), "Refunded.");
    assert_eq!(*runs.lock().unwrap(), [r#"{"amount":30} Some("ann")"#]);
    assert_eq!(heard.dispatch(), ["checkin.decision", "stream.tool_end"]);
    assert_eq!(
        heard.of("checkin.decision"),
        [value!({
            "toolName": "refund", "toolCallId": "c1", "iteration": 1, "approved": true, "by": "ann", "note": "fine",
        })]
    );
    assert_eq!(state(&report, "pausedCheckIn"), Some(value!(false)));
    assert!(state(&report, "pausedCheckInArgs").is_none());
}

/// Proves TOOL-63, TOOL-64, TOOL-119.
#[tokio::test]
async fn a_declined_check_in_tells_the_model_and_runs_nothing() {
    let runs = Arc::default();
    let script = Script::new([calls(&[("c2", "refund", value!({ "amount": 900 }))]), say("Declined.")]);
    let agent = agent(&script).tool(refund(&runs).check_in(CheckIn::Always)).build().unwrap();
    let (paused, _) = run(&agent, "refund it").await;
    let decision = value!({
        "approved": false, "by": "bob", "note": "too much", "value": { "kind": "limit", "value": 100 },
    });
    let (report, heard) = resume(&agent, &paused, Some(decision)).await;
    assert!(runs.lock().unwrap().is_empty());
    assert_eq!(
        results(&report),
        [(
            "c2".into(),
            "declined by human: too much\nThe person's choice: {\"kind\":\"limit\",\"value\":100}".into(),
            Some("declined".into())
        )]
    );
    assert_eq!(
        heard.of("checkin.decision")[0].get("value"),
        Some(&value!({ "kind": "limit", "value": 100 }))
    );
    assert!(heard.of("stream.tool_end")[0].get("error").is_none());
}

/// A link that asks about large amounts, and one that counts what it sees.
struct Guard;

#[async_trait]
impl ToolMiddleware for Guard {
    fn name(&self) -> &str {
        "amount-guard"
    }

    fn hooks(&self) -> ToolHooks {
        ToolHooks::Call
    }

    async fn on_tool_call(&self, call: &ToolCallContext) -> Result<ToolCallOutcome, BoxError> {
        let amount = call.args.get("amount").and_then(Value::as_f64).unwrap_or_default();
        Ok(if amount > 100.0 {
            ToolCallOutcome::ask(AskPayload::new("Refund more than 100?").detail(value!({ "limit": 100 })))
        } else {
            ToolCallOutcome::allow()
        })
    }
}

struct Double;

#[async_trait]
impl ToolMiddleware for Double {
    fn name(&self) -> &str {
        "double"
    }

    fn hooks(&self) -> ToolHooks {
        ToolHooks::Both
    }

    async fn on_tool_call(&self, call: &ToolCallContext) -> Result<ToolCallOutcome, BoxError> {
        let amount = call.args.get("amount").and_then(Value::as_i64).unwrap_or_default();
        Ok(ToolCallOutcome::allow_with(value!({ "amount": (amount * 2) }), "doubled"))
    }

    async fn on_tool_result(&self, seen: &ToolResultContext) -> Result<ToolResultOutcome, BoxError> {
        Ok(ToolResultOutcome::allow_because(format!("ran with {}", seen.call.args)))
    }
}

/// Proves TOOL-42, TOOL-43, TOOL-46, AGT-106, T-6.
#[tokio::test]
async fn an_approved_ask_goes_on_behind_the_asking_link() {
    let runs = Arc::default();
    let script = Script::new([calls(&[("d1", "refund", value!({ "amount": 500 }))]), say("ok")]);
    let agent =
        agent(&script).tool(refund(&runs)).tool_middleware(Guard).tool_middleware(Double).build().unwrap();
    let (paused, heard) = run(&agent, "refund it").await;
    assert_eq!(
        paused.paused().unwrap().ask(),
        Some(
            &value!({ "question": "Refund more than 100?", "detail": { "limit": 100 }, "middleware": "amount-guard" })
        )
    );
    assert_eq!(heard.dispatch(), ["stream.tool_start", "middleware.decision"]);
    assert_eq!(state(&paused, "pausedAskIndex"), Some(value!(0)));
    assert_eq!(commits(&paused)[0][..3], ["toolResults set", "middlewareDecisions set", "history append"]);

    let (report, heard) = resume(&agent, &paused, Some(value!({ "approved": true, "by": "lea" }))).await;
    assert_eq!(*runs.lock().unwrap(), [r#"{"amount":1000} Some("lea")"#]);
    assert_eq!(
        heard.dispatch(),
        ["middleware.decision", "middleware.decision", "middleware.decision", "stream.tool_end"]
    );
    let rows = state(&report, "middlewareDecisions").unwrap();
    let row = |at: usize| {
        let row = rows.at(at).unwrap();
        let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        format!("{} {} {} {}", text("middleware"), text("moment"), text("outcome"), text("why"))
    };
    assert_eq!(
        (0..4).map(row).collect::<Vec<_>>(),
        [
            "amount-guard before-tool ask Refund more than 100?",
            "amount-guard before-tool allow approved by lea",
            "double before-tool allow doubled",
            r#"double after-tool allow ran with {"amount":1000}"#,
        ]
    );
    assert_eq!(results(&report)[0].1, "refunded 1000");
}

/// Proves TOOL-62, T-7: a check-in behind an answered question is evaluated, and refused when it trips.
#[tokio::test]
async fn one_question_per_resume() {
    for (limit, runs_it) in [(100.0, false), (1000.0, true)] {
        let runs = Arc::default();
        let script = Script::new([calls(&[("d1", "refund", value!({ "amount": 500 }))]), say("ok")]);
        let demand =
            CheckIn::when(move |args, _| args.get("amount").and_then(Value::as_f64).unwrap_or(0.0) > limit);
        let agent =
            agent(&script).tool(refund(&runs).check_in(demand)).tool_middleware(Guard).build().unwrap();
        let (paused, _) = run(&agent, "refund it").await;
        let (report, _) = resume(&agent, &paused, Some(value!({ "approved": true, "by": "lea" }))).await;
        assert_eq!(runs.lock().unwrap().len() == 1, runs_it);
        if !runs_it {
            let (_, text, reason) = results(&report).remove(0);
            assert_eq!(reason.as_deref(), Some("gate-refused"));
            assert!(text.contains("keep one of the two gates"), "{text}");
        }
    }
}

/// Proves TOOL-43, TOOL-45, TOOL-46: arguments before, the text the model reads after; the record keeps the result.
#[tokio::test]
async fn middleware_changes_what_runs_and_what_is_read() {
    struct Mask;

    #[async_trait]
    impl ToolMiddleware for Mask {
        fn name(&self) -> &str {
            "mask"
        }

        fn hooks(&self) -> ToolHooks {
            ToolHooks::Result
        }

        async fn on_tool_result(&self, seen: &ToolResultContext) -> Result<ToolResultOutcome, BoxError> {
            let text = seen.result.as_ref().and_then(Value::as_str).unwrap_or_default();
            Ok(ToolResultOutcome::allow_with(text.replace("1000", "<amount>"), "masked"))
        }
    }

    let runs = Arc::default();
    let script = Script::new([calls(&[("t1", "refund", value!({ "amount": 500 }))]), say("ok")]);
    let agent =
        agent(&script).tool(refund(&runs)).tool_middleware(Mask).tool_middleware(Double).build().unwrap();
    let (report, heard) = run(&agent, "refund it").await;
    assert_eq!(heard.of("stream.tool_start")[0].get("args"), Some(&value!({ "amount": 500 })));
    assert_eq!(heard.of("stream.tool_end")[0].get("result"), Some(&value!("refunded 1000")));
    assert_eq!(results(&report)[0].1, "refunded <amount>");
    assert!(heard.of("middleware.decision").iter().all(|event| event.get("before").is_none()));
    assert_eq!(
        commits(&report),
        [[
            "middlewareDecisions set",
            "lastToolResult set",
            "toolResults set",
            "history append",
            "iteration set"
        ]]
    );
    let rows = state(&report, "middlewareDecisions").unwrap();
    assert_eq!(rows.walk(&["0", "after"]), Some(&value!({ "amount": 1000 })));
    // Results walk backward: the first-declared link speaks last.
    assert_eq!(rows.walk(&["2", "middleware"]), Some(&value!("mask")));
}

/// Proves TOOL-95, TOOL-33, TOOL-68: a pause and its resume are one turn, and the component of any pause kind is told.
#[tokio::test]
async fn a_resume_stays_in_the_turn_and_names_the_component() {
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&keys);
    let send = Tool::builder("send").handler(move |_: Value, ctx| {
        seen.lock().unwrap().push(format!("{} {}", ctx.turn_id().unwrap(), ctx.stable_call_key()));
        async { "sent" }
    });
    let ask = tool("ask_person", value!({}), |_| {
        let component = value!({ "componentId": "seat-picker", "props": { "rows": 4 } });
        Err::<String, _>(ask_human(value!({ "question": "Which seat?", "component": (component) })))
    });
    let script = Script::new([
        calls(&[("a", "send", value!({ "to": "ann" })), ("b", "ask_person", value!({}))]),
        calls(&[("c", "send", value!({ "to": "ann" }))]),
        say("done"),
    ]);
    let agent = agent(&script).tool(send).tool(ask).build().unwrap();
    let (paused, _) = run(&agent, "go").await;
    assert_eq!(state(&paused, "pausedComponentId"), Some(value!("seat-picker")));
    let (report, heard) = resume(&agent, &paused, Some(value!("4A"))).await;
    assert_eq!(report.answer().unwrap(), "done");
    assert_eq!(heard.of("pause.resume")[0].get("componentId"), Some(&value!("seat-picker")));
    let keys = keys.lock().unwrap();
    assert_eq!(keys[0], keys[1], "the same call in the same turn has the same key, in whichever leg");
}

/// Asks with a component, through one of three doors.
struct AsksOn(Value);

#[async_trait]
impl ToolMiddleware for AsksOn {
    fn name(&self) -> &str {
        "asks"
    }

    fn hooks(&self) -> ToolHooks {
        ToolHooks::Call
    }

    async fn on_tool_call(&self, _: &ToolCallContext) -> Result<ToolCallOutcome, BoxError> {
        let component = AskComponent::read(&self.0).unwrap();
        Ok(ToolCallOutcome::ask(AskPayload::new("Which?").component(component)))
    }
}

/// Proves TOOL-68: a question whose screen has no data is not asked: the run fails loudly, by reason and door; one whose data is
/// there pauses.
#[tokio::test]
async fn a_question_nobody_can_see_is_not_asked() {
    use agentfootprint_core::artifacts::{
        ArtifactData, ArtifactScope, ArtifactStore as _, PutArtifact, in_memory_artifacts,
    };
    use agentfootprint_core::run::{AskComponentFault, RunError};

    let store = Arc::new(in_memory_artifacts());
    let scope = ArtifactScope::conversation("c-1");
    let put = PutArtifact::new("seats", "application/json", ArtifactData::text("[1]"));
    let live = store.put(&scope, put).await.unwrap().meta.reference.to_string();
    let gone = "art_0123456789abcdefghijKL".to_owned();
    let shown = |reference: &str| value!({ "componentId": "seat-picker", "propsRef": (reference) });
    let asking = |component: Value| {
        tool("pick", value!({}), move |_| {
            Err::<String, _>(ask_human(value!({ "question": "Which?", "component": (component.clone()) })))
        })
    };
    let plain = || tool("pick", value!({}), |_| "picked");
    let checked = |component: &Value| {
        Tool::builder("pick")
            .description("Picks.")
            .check_in(CheckIn::Always)
            .check_in_component(AskComponent::read(component).unwrap())
            .handler(|_: Value, _| async { "picked" })
            .build()
            .unwrap()
    };
    let script = || Script::new([calls(&[("c1", "pick", value!({}))]), say("ok")]);
    for (door, reference, ok) in [
        ("ask_human", &live, true),
        ("ask_human", &gone, false),
        ("a middleware's ask", &live, true),
        ("a middleware's ask", &gone, false),
        ("check_in_component", &live, true),
        ("check_in_component", &gone, false),
    ] {
        let component = shown(reference);
        let builder = agent(&script()).artifacts(Arc::clone(&store));
        let agent = match door {
            "ask_human" => builder.tool(asking(component)),
            "check_in_component" => builder.tool(checked(&component)),
            _ => builder.tool(plain()).tool_middleware(AsksOn(component)),
        };
        let heard = Heard::default();
        let report = agent.build().unwrap().run("go").options(heard.options().identity(scope.clone())).await;
        if ok {
            assert!(report.paused().is_some(), "{door}: {:?}", report.outcome);
            assert_eq!(heard.of("artifacts.resolved")[0].get("via"), Some(&value!("head")));
            continue;
        }
        let Some(RunError::InvalidAskComponent { fault, door: raised, reference: named }) = report.error()
        else {
            panic!("{door}: {:?}", report.outcome)
        };
        assert_eq!(
            (fault, *raised, named.as_deref()),
            (&AskComponentFault::UnresolvedRef, door, Some(&*gone))
        );
        assert_eq!(
            report.error().unwrap().to_string(),
            format!(
                "the question cannot be shown ({door}): the artifact of its `propsRef` cannot be read now in this run's \
                 scope; store it before asking"
            )
        );
        assert_eq!(heard.of("artifacts.refused")[0].get("op"), Some(&value!("dispatch")));
        assert!(heard.of("checkin.request").is_empty() && heard.of("pause.request").is_empty());
    }
    // Without a store, and with a component that is none.
    for (component, reason, text) in [
        (shown(&live), "no-store", "needs an artifact store"),
        (value!({ "componentId": 7 }), "shape", "it names a component without an id"),
    ] {
        let agent = agent(&script()).tool(asking(component)).build().unwrap();
        let (report, _) = run(&agent, "go").await;
        let Some(RunError::InvalidAskComponent { fault, .. }) = report.error() else {
            panic!("{:?}", report.outcome)
        };
        assert!(fault.as_str() == reason && report.error().unwrap().to_string().contains(text), "{fault}");
    }
}
