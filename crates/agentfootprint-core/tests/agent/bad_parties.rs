//! Tools and models that misbehave: the run survives, or ends with a typed error and a complete record.

use std::time::Duration;

use agentfootprint_core::record::RecordedRun;
use agentfootprint_core::run::{RunError, RunOptions, Runner};
use agentfootprint_core::tools::{Tool, ToolContext};
use footprint::value::Value;
use tokio_util::sync::CancellationToken;

use crate::support::*;

fn tool(name: &str) -> agentfootprint_core::tools::ToolBuilder {
    Tool::builder(name.to_owned()).description("A tool.")
}

/// A record is complete: it begins, ends with its disposition, and its log folds to its state.
fn is_complete(run: &RecordedRun<String>) {
    let recording: Value = run.recording().to_json().parse().unwrap();
    let events: Vec<Value> = recording["events"].as_array().unwrap().iter().cloned().collect();
    let name = |event: &Value| event["type"].as_str().unwrap().to_owned();
    assert_eq!(name(&events[0]), "agentfootprint.agent.run_configured");
    let last = events.iter().last().map(name).unwrap();
    assert_eq!(last, "agentfootprint.integrity.disposition");
    assert!(!recording["snapshot"].is_null() && !recording["structure"].is_null());
}

/// Proves TOOL-10, AGT-82: panics, errors, silence and fifty megabytes are results.
#[tokio::test]
async fn a_bad_tool_is_a_result() {
    let script = Script::new([
        calls(&[
            ("a", "panics", json!({})),
            ("b", "late_panic", json!({})),
            ("c", "silent", json!({})),
            ("d", "huge", json!({})),
        ]),
        say("I go on."),
    ]);
    let huge = "x".repeat(50 << 20);
    let agent = agent(&script)
        .max_tool_result_chars(500)
        .tool(tool("panics").handler(|_: Value, _| -> std::future::Ready<String> { panic!("at once") }))
        .tool(tool("late_panic").handler(|_: Value, _| async {
            tokio::task::yield_now().await;
            if true {
                panic!("later")
            }
            "never"
        }))
        .tool(tool("silent").handler(|_: Value, _| async {}))
        .tool(tool("huge").handler(move |_: Value, _| {
            let huge = huge.clone();
            async move { huge }
        }))
        .build()
        .unwrap();
    let run = agent.record("go").await.unwrap();
    assert_eq!(run.answer().unwrap(), "I go on.");
    is_complete(&run);
    let told = history(run.report());
    assert!(is_valid(&told));
    let texts: Vec<&str> = told[2..6].iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(texts[0], "`panics` failed unexpectedly and returned no result.");
    assert_eq!(texts[1], "`late_panic` failed unexpectedly and returned no result.");
    assert_eq!(texts[2], "The tool ran and reported no value.");
    assert!(texts[3].starts_with(r#"{"truncated":true"#) && texts[3].len() <= 500, "{}", texts[3].len());
    assert!(run.recording().to_json().len() < 2_000_000, "what was cut is nowhere");
}

/// Proves AGT-17, AGT-99: a tool that never answers ends with the run's time, and the record says so.
#[tokio::test(start_paused = true)]
async fn a_hanging_tool_ends_with_the_runs_time() {
    let script = Script::new([look("c0"), calls(&[("c1", "hangs", json!({}))])]);
    let agent = agent(&script)
        .tool(looking("seen"))
        .tool(tool("hangs").handler(|_: Value, _| std::future::pending::<String>()))
        .build()
        .unwrap();
    let options = RunOptions::new().timeout(Duration::from_secs(30));
    let run = agent.record("go").options(options).await.unwrap();
    let error = run.report().outcome.as_ref().unwrap_err();
    let RunError::Checkpoint { cause, checkpoint } = error else { panic!("{error}") };
    let RunError::Cancelled { reason, at_stage } = &**cause else { panic!("{cause}") };
    assert!(reason.contains("time"), "{reason}");
    assert!(at_stage.as_deref() == Some("tool-calls"), "{at_stage:?}");
    assert_eq!(checkpoint.last_completed_iteration, 1);
    assert_eq!(checkpoint.failure_point.as_ref().and_then(|point| point.stage.as_deref()), Some("hangs"));
    is_complete(&run);
}

/// Proves AGT-17: a model that never answers ends with the run's time; before any finished iteration nothing is wrapped.
#[tokio::test(start_paused = true)]
async fn a_hanging_model_ends_with_the_runs_time() {
    let script = Script::hanging();
    let agent = agent(&script).build().unwrap();
    let run = agent.record("go").options(RunOptions::new().timeout(Duration::from_secs(1))).await.unwrap();
    let error = run.report().outcome.as_ref().unwrap_err();
    assert!(matches!(error, RunError::Cancelled { .. }), "{error}");
    assert_eq!(error.code(), Some("ERR_CANCELLED"));
    is_complete(&run);
}

/// Proves AGT-27, AGT-28: a model that panics ends the run with a typed error, said once.
#[tokio::test]
async fn a_panicking_model_ends_the_run() {
    let script = Script::by(|at, _| if at == 0 { Ok(look("c1")) } else { panic!("the model's own bug") });
    let agent = agent(&script).tool(looking("seen")).build().unwrap();
    let heard = Heard::default();
    let run = agent.record("go").options(heard.options()).await.unwrap();
    let error = run.report().outcome.as_ref().unwrap_err();
    assert!(matches!(error, RunError::Checkpoint { .. }), "{error}");
    assert_eq!(heard.count("error.fatal"), 1);
    is_complete(&run);
}

/// Proves AGT-83: unknown names, one id twice, no id, empty and broken arguments: every call is answered and the run goes on.
#[tokio::test]
async fn a_confused_model_is_answered() {
    let script = Script::new([
        calls(&[
            ("same", "look", json!({})),
            ("same", "look", json!({})),
            ("", "look", json!({})),
            ("x", "", json!({})),
            ("y", "no such tool", json!({})),
            ("z", "strict", json!({"n": "three"})),
        ]),
        say("Sorry."),
    ]);
    let strict = tool("strict")
        .input_schema(json!({"properties": {"n": {"type": "number"}}, "required": ["n"]}))
        .handler(|_: Value, _| async { "never" });
    let agent = agent(&script).tool(looking("seen")).tool(strict).build().unwrap();
    let run = agent.record("go").await.unwrap();
    assert_eq!(run.answer().unwrap(), "Sorry.");
    is_complete(&run);
    let told = history(run.report());
    assert!(is_valid(&told));
    let reasons: Vec<Option<&str>> =
        told[2..8].iter().map(|message| message.get("resultReason").and_then(Value::as_str)).collect();
    assert_eq!(reasons, [None, None, None, Some("not-served"), Some("not-served"), Some("invalid-args")]);
}

/// Proves AGT-83, TOOL-6: texts that are hard to look at — replacement characters, lone-surrogate escapes, controls, bidirectional
/// marks, an emoji at the cut — are carried as they are, cut at whole characters, and the record reads back.
#[tokio::test]
async fn odd_texts_are_carried_as_they_are() {
    let odd = "a\u{FFFD}b\u{0}c\u{202E}d\u{1F600}e\u{2028}";
    let long = "\u{1F600}".repeat(400);
    let script = Script::new([calls(&[("a", "odd", json!({"x": odd})), ("b", "long", json!({}))]), say(odd)]);
    let agent = agent(&script)
        .max_tool_result_chars(301)
        .tool(tool("odd").handler(move |_: Value, _| async move { odd }))
        .tool(tool("long").handler(move |_: Value, _| {
            let long = long.clone();
            async move { long }
        }))
        .build()
        .unwrap();
    let run = agent.record("go").await.unwrap();
    assert_eq!(run.answer().unwrap(), odd);
    is_complete(&run);
    let told = history(run.report());
    assert_eq!(told[2]["content"], json!(odd));
    assert_eq!(told[1]["toolCalls"][0]["args"]["x"], json!(odd));
    let cut = told[3]["content"].as_str().unwrap();
    let marker: Value = cut.parse().unwrap();
    assert!(cut.encode_utf16().count() <= 301 && marker["truncated"] == json!(true));
    assert!(marker["head"].as_str().unwrap().chars().all(|c| c == '\u{1F600}'), "no half of an emoji");
    let text = run.recording().to_json();
    let back = agentfootprint_record::recording::Recording::open(text.as_bytes()).unwrap();
    assert_eq!(back.recording().to_json(), text);
}

/// Proves AGT-28, AGT-83: a provider that answers nothing useful — empty, only thinking, calls without a name or arguments that
/// are no object — ends in an answer or in a typed error, and the record is complete.
#[tokio::test]
async fn a_garbage_provider_is_survived() {
    use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse, Usage};
    let nothing = say("");
    let mut enormous = say("x");
    enormous.usage = Usage::new(u64::MAX, u64::MAX);
    let mut thinking = say("");
    thinking.raw_thinking = Some(json!({"blocks": [1, {"deep": null}]}));
    for (what, reply) in [("nothing", nothing), ("enormous", enormous), ("thinking", thinking)] {
        let agent = agent(&Script::new([look("c1"), reply])).tool(looking("seen")).build().unwrap();
        let run = agent.record("go").await.unwrap();
        assert!(run.answer().is_ok(), "{what}: {:?}", run.report().outcome);
        is_complete(&run);
        assert_eq!(history(run.report()).len(), 3, "{what}");
    }
    let broken =
        || LlmError::new(LlmErrorKind::StreamIncomplete { delivered: false }, "script", "<html>502</html>");
    let agent = agent(&Script::by(
        move |at, _| if at == 0 { Ok::<LlmResponse, _>(look("c1")) } else { Err(broken()) },
    ))
    .tool(looking("seen"))
    .build()
    .unwrap();
    let run = agent.record("go").await.unwrap();
    let error = run.report().outcome.as_ref().unwrap_err();
    assert!(matches!(error.root_cause(), RunError::Llm(_)), "{error}");
    is_complete(&run);
}

/// Proves AGT-15, AGT-17: 32 runs of one agent, every third of them cancelled from inside its tool; none touches another.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancelled_runs_do_not_touch_the_others() {
    let script = Script::by(|_, request| {
        let word = request.last_user_text().unwrap_or_default().to_owned();
        let answered = request.messages().iter().any(|message| message.tool_call_id().is_some());
        Ok(if answered {
            say(&format!("done {word}"))
        } else {
            calls(&[("c1", "wait", json!({"word": word}))])
        })
    });
    let wait = tool("wait").handler(|args: Value, cx: ToolContext| async move {
        let word = args["word"].as_str().unwrap_or_default().to_owned();
        let at: usize = word.trim_start_matches("word-").parse().unwrap();
        tokio::task::yield_now().await;
        if at.is_multiple_of(3) {
            cx.cancel().cancelled().await;
        }
        format!("{word} of {}", cx.session_id().unwrap_or_default())
    });
    let agent = agent(&script).tool(wait).build().unwrap();
    let mut under_way = Vec::new();
    for at in 0..32_usize {
        let agent = agent.clone();
        under_way.push(tokio::spawn(async move {
            let heard = Heard::default();
            let token = CancellationToken::new();
            let (cancels, seen) = (token.clone(), heard.clone());
            let options = heard.on(RunOptions::new().session_id(format!("s-{at}")).cancel(token)).listen(
                agentfootprint_record::events::Pattern::All,
                move |event| {
                    if at.is_multiple_of(3) && event.name_str() == "agentfootprint.stream.tool_start" {
                        cancels.cancel();
                    }
                },
            );
            let report = agent.run(format!("word-{at}")).options(options).await;
            (at, report, seen)
        }));
    }
    for task in under_way {
        let (at, report, heard) = task.await.unwrap();
        if at.is_multiple_of(3) {
            assert!(matches!(report.outcome, Err(RunError::Cancelled { .. })), "{at}");
            assert_eq!((heard.count("agent.turn_end"), heard.count("stream.tool_end")), (0, 0));
            assert_eq!(heard.count("integrity.disposition"), 1);
        } else {
            assert_eq!(report.answer().unwrap(), &format!("done word-{at}"));
            assert_eq!(
                heard.of("stream.tool_end")[0]["result"].as_str(),
                Some(&*format!("word-{at} of s-{at}"))
            );
        }
        for event in heard.all() {
            assert_eq!(event["meta"]["sessionId"].as_str(), Some(&*format!("s-{at}")));
            for other in (0..32).filter(|other| *other != at) {
                let text = event.to_string();
                assert!(
                    !text.contains(&format!("word-{other}\"")) && !text.contains(&format!("word-{other} ")),
                    "{text}"
                );
            }
        }
    }
}
