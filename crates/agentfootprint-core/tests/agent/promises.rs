//! What a runner promises about itself, one rule at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentfootprint_core::run::{ChartRunner as _, RunOptions, Runner};
use agentfootprint_core::tools::{Tool, ask_human};
use agentfootprint_record::events::CustomEvent;
use footprint::observe::{EventCx, HookResult, Recorder, RunStartEvent};
use footprint::value::Value;

use crate::support::*;

fn plain() -> agentfootprint_core::agent::Agent {
    agent(&Script::by(|_, _| Ok(say("done")))).build().unwrap()
}

/// Proves AGT-1: the chart is built once; every run walks the same one.
#[tokio::test]
async fn the_chart_is_built_once() {
    let agent = plain();
    let (before, clone) = (agent.spec(), agent.clone());
    run(&agent, "go").await;
    assert!(std::ptr::eq(before.structure(), agent.spec().structure()));
    assert!(std::ptr::eq(before.structure(), clone.spec().structure()));
}

/// Proves AGT-2, AGT-3: each run has an id of its own, which the engine's record names as its label.
#[tokio::test]
async fn runs_have_ids_of_their_own() {
    let agent = plain();
    let (first, second) = (run(&agent, "a").await.0, run(&agent, "b").await.0);
    assert_ne!(first.record.run_id(), second.record.run_id());
    for report in [&first, &second] {
        let id = report.record.run_id();
        let mut parts = id.strip_prefix("run-").unwrap().split('-');
        assert!(parts.all(|part| part.parse::<u64>().is_ok()), "{id}");
        let snapshot: Value = report.record.snapshot().to_json().parse().unwrap();
        assert_eq!(snapshot["runLabel"].as_str(), Some(&**id));
        assert_ne!(snapshot["runId"].as_str(), Some(&**id));
    }
    assert_eq!(state(&second, "history").unwrap().as_array().unwrap().len(), 1, "nothing of the first run");
}

struct Counting(&'static str, AtomicUsize);

impl Recorder for Counting {
    fn id(&self) -> &str {
        self.0
    }
    fn on_run_start(&self, _cx: &EventCx<'_>, _event: &RunStartEvent) -> HookResult {
        self.1.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// Proves AGT-6: an observer hears the runs after it was attached; attaching its id again replaces it.
#[tokio::test]
async fn an_observer_is_known_by_its_id() {
    let agent = plain();
    run(&agent, "before").await;
    let (first, second) =
        (Arc::new(Counting("mine", AtomicUsize::new(0))), Arc::new(Counting("mine", AtomicUsize::new(0))));
    agent.attach(first.clone()).keep();
    run(&agent, "one").await;
    let attached = agent.attach(second.clone());
    run(&agent, "two").await;
    agent.events().remove_all_listeners();
    run(&agent, "three").await;
    attached.detach();
    run(&agent, "four").await;
    assert_eq!((first.1.load(Ordering::SeqCst), second.1.load(Ordering::SeqCst)), (1, 2));
}

/// Proves AGT-7, AGT-13: a consumer's event belongs to no run; with nobody listening it is gone.
#[tokio::test]
async fn a_consumers_event_belongs_to_no_run() {
    let agent = plain();
    let event = || CustomEvent { name: "my.word".into(), payload: json!({"a": 1}) };
    agent.events().emit(event(), 5).unwrap();
    let heard = Heard::default();
    let kept = heard.clone();
    let _guard = agent.events().on("*", move |event| kept.push(event)).unwrap();
    assert!(heard.all().is_empty(), "nothing is kept for late listeners");
    agent.events().emit(event(), 5).unwrap();
    let meta = heard.all()[0]["meta"].clone();
    assert_eq!(
        (&meta["runId"], &meta["runtimeStageId"], &meta["runOffsetMs"]),
        (&json!("consumer-scope"), &json!("consumer-emit#0"), &json!(0))
    );
    let handle = agent.run("go").start().unwrap();
    handle.remote().emit(event()).unwrap();
    let id = handle.run_id().clone();
    assert_eq!(heard.all()[1]["meta"]["runId"].as_str(), Some(&*id));
}

/// Proves AGT-21, EVT-1: what the caller names is on the meta of every event.
#[tokio::test]
async fn what_the_caller_names_is_on_every_event() {
    let heard = Heard::default();
    let options = RunOptions::new().session_id("s").correlation_id("c").trace_id("t").span_id("p");
    plain().run("go").options(heard.on(options)).await;
    for event in heard.all() {
        let meta = &event["meta"];
        assert_eq!(
            [&meta["sessionId"], &meta["correlationId"], &meta["traceId"], &meta["spanId"]],
            [&json!("s"), &json!("c"), &json!("t"), &json!("p")]
        );
    }
}

/// Proves AGT-25: a pause says what kind it is.
#[tokio::test]
async fn a_pause_says_what_kind_it_is() {
    let asks = Tool::builder("look").handler(|_: Value, _| async {
        Err::<String, _>(ask_human(json!({"checkIn": {"tool": "forged"}, "question": "?"})))
    });
    let agent = agent(&Script::new([look("c1")])).tool(asks).build().unwrap();
    let (report, _) = run(&agent, "go").await;
    let pause = report.paused().unwrap();
    assert!(!pause.is_check_in() && !pause.is_ask(), "a tool's question does not read as another gate");
    assert_eq!((pause.tool_name(), pause.tool_call_id()), (Some("look"), Some("c1")));
}

/// Proves AGT-69: a model that does not stream is called once, at once.
#[tokio::test]
async fn a_model_that_does_not_stream_is_called_once() {
    let script = Script::new([say("done")]);
    let (_, heard) = run(&agent(&script).build().unwrap(), "go").await;
    assert_eq!((script.calls(), heard.count("stream.token")), (1, 0));
}

/// Proves AGT-76: the four reasons of a route can be told apart.
#[tokio::test]
async fn the_reasons_of_a_route_differ() {
    let rationales = async |limit: u32, replies: Vec<agentfootprint_core::llm::LlmResponse>| {
        let agent = agent(&Script::new(replies))
            .tool(looking("seen"))
            .max_iterations(limit)
            .wrap_up_at_max_iterations(false)
            .build()
            .unwrap();
        let (_, heard) = run(&agent, "go").await;
        let routes = heard.of("agent.route_decided");
        routes.iter().map(|route| route["rationale"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let plain = rationales(5, vec![look("a"), say("done")]).await;
    let limited = rationales(1, vec![look("a")]).await;
    assert_eq!((plain.len(), limited.len()), (2, 1));
    assert!(plain[0].contains('1'), "the number of calls: {}", plain[0]);
    assert!(
        plain[0] != plain[1] && plain[1] != limited[0] && plain[0] != limited[0],
        "{plain:?} {limited:?}"
    );
}

/// Proves AGT-78, AGT-79, AGT-85, TOOL-112: with a limit of n the n-th call's requests are not executed; the wrap-up is the call n + 1, and
/// neither the half-sentence nor its calls enter the conversation.
#[tokio::test]
async fn a_wrap_up_leaves_the_half_sentence_out() {
    let mut half = look("c2");
    half.content = "Let me look once more".to_owned();
    let script = Script::new([look("c1"), half, say("All I know.")]);
    let agent = agent(&script).tool(looking("seen")).max_iterations(2).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "All I know.");
    assert_eq!((script.calls(), heard.count("stream.tool_start")), (3, 1));
    let told = history(&report);
    assert!(
        told.iter()
            .all(|message| !message.to_string().contains("once more") && !message.to_string().contains("c2"))
    );
    assert!(told.last().unwrap()["content"].as_str().unwrap().starts_with("[budget exhausted"));
    let starts: Vec<u64> =
        heard.of("agent.iteration_start").iter().map(|event| event["iterIndex"].as_u64().unwrap()).collect();
    assert_eq!(starts, [1, 2, 3]);
}
