//! The output contract: how it is asked for, judged, re-asked, and read.

use agentfootprint_core::agent::{OutputOptions, OutputStrategy, Typed, TypedReadError};
use agentfootprint_core::llm::Capabilities;
use agentfootprint_core::run::{RunRefusal, Runner};
use agentfootprint_core::tools::Tool;
use footprint::value::Value;
use std::sync::{Arc, Mutex};

use crate::support::*;

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema, Debug, PartialEq)]
struct Ticket {
    title: String,
}

fn contract() -> Typed<Ticket> {
    Typed::<Ticket>::new().describe("a support ticket")
}

/// Proves TOOL-100, AGT-93: the instruction is an injection of the contract's name; the raw answer is the run's answer.
#[tokio::test]
async fn the_form_is_asked_for_by_an_instruction() {
    let script = Script::new([say(r#"{"title":"Mouse"}"#)]);
    let agent =
        agent(&script).output_schema(contract(), OutputOptions::new().name("ticket-form")).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), r#"{"title":"Mouse"}"#);
    let asked = script.request(0).system_prompt().unwrap().to_string();
    assert!(
        asked.contains("a support ticket") && asked.contains("no code") && asked.contains("\"title\""),
        "{asked}"
    );
    let injected = heard.of("context.injected");
    assert!(injected.iter().any(|piece| piece["sourceId"] == json!("ticket-form")));
    assert_eq!(agent.read_typed::<Ticket>(&report).await.unwrap(), Ticket { title: "Mouse".into() });
    assert_eq!(report.record.answer_guarantee(), Some("checked"));
    let rows = state(&report, "outputAttempts").unwrap();
    assert_eq!(rows, json!([{"attempt": 1, "iteration": 1, "outcome": "passed"}]));
}

/// Proves TOOL-102, TOOL-103, AGT-77, AGT-79: a correction comes behind the failed answer, in its own frame, as an iteration of
/// its own.
#[tokio::test]
async fn a_failed_answer_is_corrected_in_a_frame() {
    let script = Script::new([say(r#"{"title":7}"#), say(r#"{"title":"Mouse"}"#)]);
    let agent = agent(&script).output_schema(contract(), OutputOptions::new().retries(2)).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), r#"{"title":"Mouse"}"#);
    let told = history(&report);
    assert_eq!(
        (told[1]["role"].as_str(), told[1]["content"].as_str()),
        (Some("assistant"), Some(r#"{"title":7}"#))
    );
    let correction = told[2]["content"].as_str().unwrap();
    assert!(correction.starts_with("[schema check") && told[2]["role"] == json!("user"), "{correction}");
    assert!(told[2].get("frame").is_some());
    let retry = &heard.of("agent.output_schema_retry")[0];
    assert_eq!(
        (&retry["attempt"], &retry["retriesRemaining"], &retry["iteration"], &retry["stage"]),
        (&json!(1), &json!(1), &json!(1), &json!("schema-validate"))
    );
    assert_eq!(
        retry["correctiveMessageHash"].as_str().unwrap(),
        agentfootprint_record::text::content_hash(correction)
    );
    assert_eq!(heard.count("agent.iteration_end"), 2);
    assert_eq!(heard.count("agent.iteration_start"), 2);
    let rows = state(&report, "outputAttempts").unwrap();
    let outcomes: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["retried", "passed"]);
}

/// Proves LLM-136.
#[tokio::test]
async fn a_native_form_goes_beside_the_tools_and_is_judged_all_the_same() {
    let native = OutputOptions::new().strategy(OutputStrategy::Native).retries(1);
    let able = Capabilities::default().with_output_schema(true);
    let script = Script::new([say("no JSON"), say(r#"{"title":"Lamp"}"#)]).with_capabilities(able);
    let agent_ = agent(&script)
        .tool(Tool::builder("look").description("Looks.").handler(|_: Value, _| async { "seen" }))
        .output_schema(contract(), native.clone())
        .build()
        .unwrap();
    let (report, _) = run(&agent_, "go").await;
    assert_eq!(report.answer().unwrap(), r#"{"title":"Lamp"}"#);
    assert_eq!(report.record.answer_guarantee(), Some("native"));
    for at in 0..2 {
        let request = script.request(at);
        let form = request.output_schema.as_ref().unwrap();
        assert_eq!((&*form.name, form.schema.get("type")), ("output-schema", Some(&json!("object"))));
        assert_eq!((request.tools.len(), request.tool_choice.is_none()), (1, true));
    }

    let unable = agent(&Script::new([])).output_schema(contract(), native.clone()).build().unwrap();
    let refused = unable.run("go").await.outcome.unwrap_err();
    assert!(matches!(refused, agentfootprint_core::run::RunError::Refused(RunRefusal::OutputSchema { .. })));
}

/// Proves TOOL-105, AGT-93: the synthetic tool is in the request only, its arguments are the answer; a provider that does not
/// declare it is refused before there is a run.
#[tokio::test]
async fn a_forced_form_is_in_the_request_only() {
    let forced = OutputOptions::new().strategy(OutputStrategy::ToolForced);
    let replies = [calls(&[("r1", "respond_with_schema", json!({"title": "Lamp"}))])];
    let able = Capabilities::default().with_forced_tool_choice(true);
    let script = Script::new(replies).with_capabilities(able);
    let agent_ = agent(&script).output_schema(contract(), forced.clone()).build().unwrap();
    let (report, heard) = run(&agent_, "go").await;
    assert_eq!(report.answer().unwrap(), r#"{"title":"Lamp"}"#);
    let request = script.request(0);
    assert_eq!(&*request.tools[0].name, "respond_with_schema");
    assert!(request.tool_choice.is_some());
    assert_eq!(
        (heard.count("stream.tool_start"), state(&report, "dynamicToolSchemas")),
        (0, Some(json!([])))
    );
    assert_eq!(state(&report, "llmLatestToolCalls"), Some(json!([])));

    let unable = agent(&Script::new([])).output_schema(contract(), forced.clone()).build().unwrap();
    let refused = unable.run("go").await.outcome.unwrap_err();
    assert!(matches!(
        refused,
        agentfootprint_core::run::RunError::Refused(RunRefusal::ForcedToolChoice { .. })
    ));
}

/// Proves TOOL-106, AGT-95: contract, fallback, canned value, error — and each step is said.
#[tokio::test]
async fn a_typed_read_falls_back_step_by_step() {
    let read = async |fallback: Result<footprint::value::Value, String>,
                      canned: Option<footprint::value::Value>| {
        let script = Script::new([say("no JSON")]);
        let agent = agent(&script)
            .output_schema(contract(), OutputOptions::new())
            .output_fallback(
                move |error, raw| {
                    assert_eq!((&*raw, error.code()), ("no JSON", "ERR_OUTPUT_SCHEMA"));
                    let fallback = fallback.clone();
                    async move { fallback }
                },
                canned,
            )
            .build()
            .unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        let _guard = agent
            .events()
            .on("agentfootprint.resilience.*", move |event| {
                kept.lock().unwrap().push(event.name_str().rsplit('.').next().unwrap().to_owned());
            })
            .unwrap();
        let (report, _) = run(&agent, "go").await;
        let typed = agent.read_typed::<Ticket>(&report).await;
        let said = said.lock().unwrap().clone();
        (typed, said)
    };
    let ticket = |title: &str| Ticket { title: title.into() };
    let (typed, said) = read(Ok(json!({"title": "made up"})), None).await;
    assert_eq!((typed.unwrap(), said), (ticket("made up"), vec!["output_fallback_triggered".to_owned()]));
    let (typed, said) = read(Ok(json!({"title": 7})), Some(json!({"title": "canned"}))).await;
    assert_eq!(typed.unwrap(), ticket("canned"));
    assert_eq!(said, ["output_fallback_triggered", "output_canned_used"]);
    let (typed, said) = read(Err("nothing".into()), None).await;
    let Err(TypedReadError::Output(error)) = typed else { panic!("{typed:?}") };
    assert_eq!((&*error.raw_output, said.len()), ("no JSON", 1));
    assert!(!error.to_string().contains("no JSON"), "the answer is a field, not the text: {error}");
}

/// Proves TOOL-100: a typed read of a paused run, and one without a contract, say what to do instead.
#[tokio::test]
async fn a_typed_read_needs_an_answer_and_a_contract() {
    let (report, agent) = {
        let agent = agent(&Script::new([say("done")])).build().unwrap();
        (run(&agent, "go").await.0, agent)
    };
    let error = agent.read_typed::<Ticket>(&report).await.unwrap_err();
    assert_eq!(error.to_string(), "the agent has no output contract; declare one with `output_schema`");
    assert_eq!(
        TypedReadError::Paused.to_string(),
        "the run is paused: read its answer with `run` and `parse_output` after it was resumed"
    );
}
