use agentfootprint_core::agent::ArgValidation;
use agentfootprint_core::run::Runner;
use agentfootprint_core::tools::{RepeatedWhen, Tool, ToolEnvelope, ToolError, ToolResultStatus};
use footprint::value;
use footprint::value::Value;

use crate::support::{
    Heard, Script, agent, calls, commits, every_call_is_answered, results, run, say, state, tool,
};

fn order() -> Tool {
    tool(
        "get_order",
        value!({ "type": "object", "properties": { "orderId": { "type": "string" } }, "required": ["orderId"] }),
        |args| value!({ "orderId": (args.get("orderId").cloned().unwrap_or_default()), "status": "shipped" }),
    )
}

/// Proves TOOL-26, TOOL-27, AGT-80: one call, from request to next request.
#[tokio::test]
async fn one_call_lands_in_history_state_and_the_next_request() {
    let script =
        Script::new([calls(&[("t1", "get_order", value!({ "orderId": "A-1" }))]), say("It has shipped.")]);
    let agent = agent(&script).tool(order()).build().unwrap();
    let (report, heard) = run(&agent, "Where is A-1?").await;
    assert_eq!(report.answer().unwrap(), "It has shipped.");
    assert_eq!(heard.dispatch(), ["stream.tool_start", "stream.tool_end"]);
    assert_eq!(
        heard.of("stream.tool_start"),
        [value!({ "toolName": "get_order", "toolCallId": "t1", "args": { "orderId": "A-1" } })]
    );
    let end = &heard.of("stream.tool_end")[0];
    assert_eq!(end.get("result"), Some(&value!({ "orderId": "A-1", "status": "shipped" })));
    assert!(end.get("error").is_none() && end.get("status").is_none());
    let text = r#"{"orderId":"A-1","status":"shipped"}"#;
    assert_eq!(results(&report), [("t1".into(), text.into(), None)]);
    assert_eq!(state(&report, "lastToolResult"), Some(value!({ "toolName": "get_order", "result": (text) })));
    assert_eq!(
        state(&report, "toolResults"),
        Some(value!([{ "toolName": "get_order", "result": (text), "toolCallId": "t1" }]))
    );
    assert_eq!(
        script.messages(1),
        value!([
            { "role": "user", "content": "Where is A-1?" },
            { "role": "assistant", "content": "", "toolCalls": [{ "id": "t1", "name": "get_order", "args": { "orderId": "A-1" } }] },
            { "role": "tool", "content": (text), "toolCallId": "t1", "toolName": "get_order" },
        ])
    );
    assert_eq!(
        commits(&report),
        [["lastToolResult set", "toolResults set", "history append", "iteration set"]]
    );
    let ended = &heard.of("agent.iteration_end")[0];
    assert_eq!(ended.get("toolCallCount"), Some(&value!(1)));
    assert_eq!(ended.get("history").and_then(Value::as_array).map(|history| history.len()), Some(3));
}

/// Proves TOOL-119, TOOL-10: a failing and a panicking tool, and one that says nothing.
#[tokio::test]
async fn failures_are_results_and_the_loop_goes_on() {
    let script = Script::new([
        calls(&[("a", "charge", value!({})), ("b", "boom", value!({})), ("c", "mute", value!({}))]),
        say("Sorry."),
    ]);
    let agent = agent(&script)
        .tool(tool("charge", value!({}), |_| Err::<String, _>(ToolError::new("card declined by issuer"))))
        .tool(tool("boom", value!({}), |_| -> String { panic!("inside") }))
        .tool(tool("mute", value!({}), |_| ()))
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "Sorry.");
    let ends = heard.of("stream.tool_end");
    assert_eq!(ends[0].get("error"), Some(&value!(true)));
    assert_eq!(ends[1].get("result"), Some(&value!("`boom` failed unexpectedly and returned no result.")));
    assert!(ends[2].get("result").is_none());
    let texts: Vec<String> = results(&report).into_iter().map(|(_, text, _)| text).collect();
    assert_eq!(
        texts,
        [
            "card declined by issuer",
            "`boom` failed unexpectedly and returned no result.",
            "The tool ran and reported no value.",
        ]
    );
    let parallel: Vec<_> =
        heard.of("stream.tool_start").iter().map(|start| start.get("parallelCount").cloned()).collect();
    assert_eq!(parallel, [Some(value!(3)), Some(value!(3)), Some(value!(3))]);
}

/// Proves TOOL-13, TOOL-119.
#[tokio::test]
async fn an_unknown_name_is_answered_without_running_anything() {
    let script = Script::new([
        calls(&[("u1", "forecast", value!({})), ("u2", "get_order", value!({ "orderId": "A" }))]),
        say("ok"),
    ]);
    let agent = agent(&script).tool(order()).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(
        results(&report)[0],
        (
            "u1".into(),
            "Nothing ran: no tool `forecast` was available to this call. Tools that can be called: `get_order`.".into(),
            Some("not-served".into())
        )
    );
    assert_eq!(heard.of("stream.tool_end")[0].get("error"), Some(&value!(true)));
    assert!(results(&report)[1].1.contains("shipped"));
}

/// Proves TOOL-15, TOOL-17, TOOL-5.
#[tokio::test]
async fn arguments_are_enforced_warned_about_or_ignored() {
    let schema =
        value!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    for (mode, runs, events) in
        [(ArgValidation::Enforce, false, 1), (ArgValidation::Warn, true, 1), (ArgValidation::Off, true, 0)]
    {
        let script = Script::new([calls(&[("b", "book", value!({ "n": "hunter2" }))]), say("ok")]);
        let agent = agent(&script)
            .tool(tool("book", schema.clone(), |_| "booked"))
            .tool_arg_validation(mode)
            .build()
            .unwrap();
        let (report, heard) = run(&agent, "go").await;
        let invalid = heard.of("validation.args_invalid");
        assert_eq!(invalid.len(), events);
        let (_, text, reason) = results(&report).remove(0);
        assert_eq!(text == "booked", runs, "{text}");
        if let Some(event) = invalid.first() {
            assert_eq!(event.get("enforced"), Some(&value!(mode == ArgValidation::Enforce)));
            assert_eq!(
                event.get("issues"),
                Some(&value!([{ "path": "n", "expected": "integer", "got": "string" }]))
            );
            assert!(!event.to_string().contains("hunter2"));
        }
        if !runs {
            assert_eq!(reason.as_deref(), Some("invalid-args"));
            assert!(!text.contains("hunter2"));
            assert_eq!(heard.dispatch(), ["stream.tool_start", "validation.args_invalid", "stream.tool_end"]);
        }
    }
}

/// Proves TOOL-73, TOOL-70.
#[tokio::test]
async fn a_ceiling_refuses_and_a_cap_cuts() {
    let dump = Tool::builder("dump")
        .description("Dumps rows")
        .input_schema(value!({ "type": "object", "properties": { "limit": { "type": "number" } } }))
        .result_ceiling(40)
        .narrow_by(["limit"])
        .handler(|args, _| async move {
            if args.get("limit").is_some() { "row 1".to_owned() } else { "row ".repeat(12) }
        });
    let script = Script::new([
        calls(&[("t1", "dump", value!({})), ("t2", "dump", value!({ "limit": 1 }))]),
        say("ok"),
    ]);
    let agent_ = agent(&script).tool(dump).build().unwrap();
    let (report, heard) = run(&agent_, "rows").await;
    assert_eq!(
        heard.of("tools.result_refused"),
        [value!({
            "toolName": "dump", "toolCallId": "t1", "iteration": 1, "sizeChars": 48, "maxChars": 40, "narrowBy": ["limit"],
        })]
    );
    let end = &heard.of("stream.tool_end")[0];
    assert_eq!(end.get("status"), Some(&value!("invalid")));
    assert!(end.get("error").is_none() && !heard.mentions("row row"));
    assert_eq!(results(&report)[0].2.as_deref(), Some("ceiling-refused"));
    assert_eq!(state(&report, "toolResults").unwrap().walk(&["0", "status"]), Some(&value!("invalid")));

    let script = Script::new([calls(&[("t1", "long", value!({}))]), say("ok")]);
    let capped =
        agent(&script).tool(tool("long", value!({}), |_| "y".repeat(300))).max_tool_result_chars(100);
    let (report, heard) = run(&capped.build().unwrap(), "go").await;
    let marker = heard.of("stream.tool_end")[0].get("result").cloned().unwrap();
    assert_eq!(marker.get("truncated"), Some(&value!(true)));
    assert_eq!(results(&report)[0].1, marker.to_string());
    assert_eq!(results(&report)[0].1.len(), 100);
}

/// Proves TOOL-74.
#[tokio::test]
async fn the_second_identical_call_gets_a_note() {
    let poll = || calls(&[("t1", "poll", value!({ "job": "j1" })), ("t2", "poll", value!({ "job": "j1" }))]);
    let script = Script::new([poll(), say("running")]);
    let agent_ =
        agent(&script).tool(tool("poll", value!({}), |_| value!({ "state": "running" }))).build().unwrap();
    let (report, heard) = run(&agent_, "go").await;
    assert_eq!(
        heard.of("tools.repeated_call"),
        [value!({
            "toolName": "poll", "toolCallId": "t2", "iteration": 1, "occurrences": 2, "argsFingerprint": "b6afb9eb",
            "resultFingerprint": "b335c175",
        })]
    );
    assert_eq!(results(&report)[0].1, r#"{"state":"running"}"#);
    assert!(results(&report)[1].1.starts_with("{\"state\":\"running\"}\n\n[repeated call: `poll`"));
    let noted = state(&report, "history").unwrap().at(3).cloned().unwrap();
    assert_eq!(noted.get("toolChars"), Some(&value!(19)));

    let script = Script::new([poll(), say("running")]);
    let quiet = agent(&script)
        .tool(tool("poll", value!({}), |_| value!({ "state": "running" })))
        .repeated_call_nudge(false)
        .build()
        .unwrap();
    let (_, heard) = run(&quiet, "go").await;
    assert!(heard.of("tools.repeated_call").is_empty());

    let script = Script::new([poll(), say("running")]);
    let count = std::sync::atomic::AtomicU32::new(0);
    let clock = Tool::builder("poll").repeated_when(RepeatedWhen::Arguments).handler(move |_: Value, _| {
        let n = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async move { n }
    });
    let (report, heard) = run(&agent(&script).tool(clock).build().unwrap(), "go").await;
    assert_eq!(heard.of("tools.repeated_call")[0].get("mode"), Some(&value!("arguments")));
    assert!(!results(&report)[1].1.contains("exactly this result"));
}

/// Proves TOOL-69, TOOL-70, TOOL-71.
#[tokio::test]
async fn an_envelope_is_unwrapped_and_its_status_routes() {
    let script = Script::new([calls(&[("a", "sort", value!({})), ("b", "typed", value!({}))]), say("ok")]);
    let foreign = value!({
        "content": "two rows", "status": "partial",
        "effects": [{ "kind": "propose-transition", "targetSkillId": "left" }],
    });
    let agent = agent(&script)
        .tool(tool("sort", value!({}), move |_| foreign.clone()))
        .tool(tool("typed", value!({}), |_| {
            agentfootprint_core::tools::ToolOutput::Envelope(
                ToolEnvelope::new("later").status(ToolResultStatus::Pending),
            )
        }))
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    let ends = heard.of("stream.tool_end");
    assert_eq!(
        (ends[0].get("result"), ends[0].get("status")),
        (Some(&value!("two rows")), Some(&value!("partial")))
    );
    assert_eq!(ends[1].get("status"), Some(&value!("pending")));
    let effect = &heard.of("tools.effect")[0];
    assert_eq!(effect.get("outcome"), Some(&value!("refused")));
    assert_eq!(effect.get("refusalReason"), Some(&value!("no skill graph is mounted")));
    assert_eq!(
        results(&report)[0].1,
        "two rows\n\n[the tool's propose-transition was not accepted: no skill graph is mounted]"
    );
    assert_eq!(state(&report, "lastToolResult").unwrap().get("status"), Some(&value!("pending")));
}

/// Proves TOOL-32, EVT-6.
#[tokio::test]
async fn progress_is_told_while_the_tool_runs() {
    let script = Script::new([calls(&[("a", "work", value!({}))]), say("ok")]);
    let work = Tool::builder("work").handler(|_: Value, ctx| async move {
        ctx.progress(value!({ "message": "half way" }));
        assert_eq!((ctx.tool_call_id(), ctx.iteration()), ("a", 1));
        assert!(ctx.run_id().is_some() && ctx.turn_id().is_some());
        assert!(ctx.identity().is_none() && ctx.session_id().is_none());
        "done"
    });
    let (_, heard) = run(&agent(&script).tool(work).build().unwrap(), "go").await;
    assert_eq!(heard.dispatch(), ["stream.tool_start", "stream.tool_progress", "stream.tool_end"]);
    assert_eq!(
        heard.of("stream.tool_progress"),
        [
            value!({ "toolCallId": "a", "toolName": "work", "iteration": 1, "payload": { "message": "half way" } })
        ]
    );
}

/// Proves TOOL §5: cancellation inside a tool ends the run and invents no result.
#[tokio::test]
async fn cancelling_inside_a_tool_ends_the_run() {
    let script = Script::new([calls(&[("a", "hang", value!({})), ("b", "hang", value!({}))]), say("never")]);
    let cancel = tokio_util::sync::CancellationToken::new();
    let trigger = cancel.clone();
    let hang = Tool::builder("hang").handler(move |_: Value, _| {
        let trigger = trigger.clone();
        async move {
            trigger.cancel();
            std::future::pending::<String>().await
        }
    });
    let agent = agent(&script).tool(hang).build().unwrap();
    let heard = Heard::default();
    let report = agent.run("go").options(heard.options().cancel(cancel)).await;
    assert_eq!(report.error().unwrap().name(), "Cancelled");
    assert_eq!(heard.dispatch(), ["stream.tool_start"]);
    assert!(results(&report).is_empty());
}

/// Proves TOOL-7, AGT-15: 32 runs of one agent at once share nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_runs_of_one_agent_do_not_mix() {
    use agentfootprint_core::llm::{CallCx, Capabilities, LlmError, LlmProvider, LlmRequest, LlmResponse};

    /// Calls `echo` with the last user text, then repeats what the tool said.
    struct Parrot;

    #[async_trait::async_trait]
    impl LlmProvider for Parrot {
        fn name(&self) -> &str {
            "parrot"
        }

        fn capabilities(&self, _model: &str) -> Capabilities {
            Capabilities::default()
        }

        async fn complete(&self, request: &LlmRequest, _cx: &CallCx) -> Result<LlmResponse, LlmError> {
            tokio::task::yield_now().await;
            let request = Value::from_serialize(request).unwrap();
            let messages = request.get("messages").and_then(Value::as_array).unwrap().clone();
            let last = messages.last().unwrap();
            Ok(match last.get("role").and_then(Value::as_str) {
                Some("user") => {
                    calls(&[("c", "echo", value!({ "text": (last.get("content").cloned().unwrap()) }))])
                }
                _ => say(last.get("content").and_then(Value::as_str).unwrap()),
            })
        }
    }

    let echo = Tool::builder("echo").handler(|args: Value, ctx| async move {
        tokio::task::yield_now().await;
        let text = args.get("text").and_then(Value::as_str).unwrap().to_owned();
        format!("{text} in {}", ctx.run_id().unwrap())
    });
    let agent = agentfootprint_core::agent::Agent::builder(Parrot, "m").tool(echo).build().unwrap();
    let runs = (0..32).map(|n| {
        let agent = agent.clone();
        tokio::spawn(async move {
            let report = agent.run(format!("message {n}")).await;
            (n, report)
        })
    });
    for run in runs.collect::<Vec<_>>() {
        let (n, report) = run.await.unwrap();
        let expected = format!("message {n} in {}", report.record.run_id());
        assert_eq!(report.answer().unwrap(), &expected);
        assert!(every_call_is_answered(&report));
    }
}

/// Proves LLM-16, TOOL-119: arguments the model could not spell are refused in every mode.
#[tokio::test]
async fn unreadable_arguments_are_refused_in_every_mode() {
    use agentfootprint_core::llm::{ArgsError, LlmResponse};
    use agentfootprint_record::message::ToolCall;

    let mut call = ToolCall::new("t1", "get_order", Default::default());
    ArgsError { message: "expected `,` at column 9".into(), length: 17 }.put_on(&mut call);
    let script = Script::new([LlmResponse::tools(vec![call]), say("ok")]);
    let agent = agent(&script).tool(order()).tool_arg_validation(ArgValidation::Off).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    let end = &heard.of("stream.tool_end")[0];
    assert_eq!((end.get("status"), end.get("error")), (Some(&value!("invalid")), Some(&value!(true))));
    assert_eq!(
        results(&report)[0].1,
        "The call to `get_order` was not executed: its arguments could not be read (expected `,` at column 9). Send them \
         again as one JSON object."
    );
}
