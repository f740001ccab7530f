//! Promises around a run: who is told and how, what state may hold, what can be read while a run goes on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::{CacheStrategy, CacheStrategyContext, NoCaching, Prepared};
use agentfootprint_core::injection::BoxError;
use agentfootprint_core::llm::{Capabilities, LlmRequest, ThinkingError, ThinkingHandler};
use agentfootprint_core::run::{ChartRunner as _, RunError, RunOptions, Runner};
use agentfootprint_core::tools::{MessageContext, MessageMiddleware, MessageOutcome, Tool};
use agentfootprint_record::message::ThinkingBlock;
use async_trait::async_trait;
use footprint::observe::{Delivery, EventCx, Hook, HookResult, Interest, Recorder, RunStartEvent};
use footprint::state::RedactionPolicy;
use footprint::value::Value;

use crate::support::*;

struct Starts(&'static str, AtomicUsize);

impl Recorder for Starts {
    fn id(&self) -> &str {
        self.0
    }
    fn interest(&self) -> Interest {
        Interest::hooks([Hook::RunStart])
    }
    fn on_run_start(&self, _cx: &EventCx<'_>, _event: &RunStartEvent) -> HookResult {
        self.1.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn starts(id: &'static str) -> Arc<Starts> {
    Arc::new(Starts(id, AtomicUsize::new(0)))
}

/// Proves AGT-12: observers are told inside the call unless the agent defers them; what the run itself reads never is; queue
/// options without a queue are refused.
#[tokio::test]
async fn observers_are_deferred_only_when_asked() {
    let deferred_ids = async |delivery: Option<Delivery>| {
        let (mine, own) = (starts("mine"), starts("own"));
        let mut builder = agent(&Script::new([say("done")])).watch(mine.clone());
        if let Some(delivery) = delivery {
            builder = builder.observer_delivery(delivery);
        }
        let agent = builder.build().unwrap();
        let wired = own.clone();
        let options = RunOptions::new().wire(move |wiring| wiring.observe(wired.clone()));
        let report = agent.run("go").options(options).await;
        assert_eq!((mine.1.load(Ordering::SeqCst), own.1.load(Ordering::SeqCst)), (1, 1));
        let stats = report.record.snapshot().observer_stats.clone();
        let listeners = stats.map(|stats| stats["perListener"].as_object().unwrap().clone());
        listeners.map(|listeners| listeners.keys().map(|id| id.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(deferred_ids(None).await, None);
    assert_eq!(deferred_ids(Some(Delivery::Deferred)).await, Some(vec!["mine".to_owned()]));
    let refused = agent(&Script::new([])).observer_queue(Default::default()).build().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the agent cannot be built (1 problem):\n- observer_queue needs `observer_delivery(Delivery::Deferred)`"
    );
}

/// A strategy that only has a name.
struct Named(&'static str);

#[async_trait]
impl CacheStrategy for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn capabilities(&self) -> agentfootprint_core::agent::CacheCapabilities {
        NoCaching.capabilities()
    }

    async fn prepare(
        &self,
        request: LlmRequest,
        markers: &[agentfootprint_core::llm::CacheMarker],
        context: &CacheStrategyContext,
    ) -> Prepared {
        NoCaching.prepare(request, markers, context).await
    }
}

struct Reads(&'static str);

impl ThinkingHandler for Reads {
    fn id(&self) -> &str {
        self.0
    }

    fn normalize(&self, _raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        Ok(Vec::new())
    }
}

/// Proves AGT-18: two agents on providers of one name keep their own strategies and handlers; nothing is looked up elsewhere.
#[tokio::test]
async fn nothing_is_found_in_a_process_wide_table() {
    let declaring = |id| Capabilities::default().with_thinking_handler(Arc::new(Reads(id)));
    let built = |strategy, handler| {
        let script = Script::new([say("done")]).with_capabilities(declaring(handler));
        agent(&script).cache_strategy(Named(strategy)).build().unwrap()
    };
    let (one, two) = (built("mine", "reader-one"), built("yours", "reader-two"));
    let plain = agent(&Script::new([say("done")])).build().unwrap();
    let seen = async |agent: &agentfootprint_core::agent::Agent| {
        let (report, _) = run(agent, "go").await;
        let strategy = state(&report, "receipt").unwrap()["cache"]["strategy"].as_str().unwrap().to_owned();
        let structure = agent.spec().structure().to_value().unwrap().to_string();
        let handler = ["reader-one", "reader-two"].into_iter().find(|id| structure.contains(*id));
        (strategy, handler)
    };
    // Built first, run last: a table would have been overwritten by the second.
    assert_eq!(seen(&two).await, ("yours".to_owned(), Some("reader-two")));
    let (strategy, handler) = seen(&plain).await;
    assert!(strategy != "mine" && strategy != "yours" && handler.is_none());
    assert_eq!(seen(&one).await, ("mine".to_owned(), Some("reader-one")));
}

/// Answers every message with the same outcome.
struct Always(fn() -> Result<MessageOutcome, BoxError>);

#[async_trait]
impl MessageMiddleware for Always {
    fn name(&self) -> &str {
        "always"
    }

    async fn on_message(&self, _: &MessageContext) -> Result<MessageOutcome, BoxError> {
        (self.0)()
    }
}

/// Proves AGT-59: what is no text is a denial; a message is never emptied.
#[tokio::test]
async fn a_message_is_never_emptied() {
    let outcomes: [(fn() -> Result<MessageOutcome, BoxError>, &str); 3] = [
        (|| Ok(MessageOutcome::allow_with(" \n", "nothing left")), "it left the message without text"),
        (|| Err("a foreign link answered 7".into()), "a foreign link answered 7"),
        (|| panic!("its own bug"), "it panicked"),
    ];
    for (outcome, why) in outcomes {
        let script = Script::new([say("never")]);
        let agent = agent(&script).message_middleware(Always(outcome)).build().unwrap();
        let (report, _) = run(&agent, "go").await;
        let Some(RunError::MessageDenied { reason, middleware, .. }) = report.error() else {
            panic!("{:?}", report.outcome)
        };
        assert_eq!((&**reason, &**middleware), (&*format!("middleware `always` failed: {why}"), "always"));
        assert_eq!(script.calls(), 0);
    }
}

/// Proves AGT-53: state is plain data: what a run committed, paused in the middle of everything, is the same after a file.
#[tokio::test]
async fn state_is_plain_data() {
    let asks = Tool::builder("asks")
        .description("Asks.")
        .handler(|_: Value, _| async {
            Err::<String, _>(agentfootprint_core::tools::ask_human(
                json!({"question": "Which?", "rows": [1, 2.5, null]}),
            ))
        })
        .build()
        .unwrap();
    let script = Script::new([
        look("c0"),
        calls(&[("c1", "asks", json!({"deep": {"list": [true, "ä"]}})), ("c2", "look", json!({}))]),
    ]);
    let agent = agent(&script).tool(looking("seen")).tool(asks).build().unwrap();
    let (report, _) = run(&agent, "go").await;
    assert!(report.paused().is_some());
    let state = Value::from(report.record.state().clone());
    let text = state.to_string();
    let back: Value = text.parse().unwrap();
    assert_eq!(back, state);
    assert_eq!(back.to_string(), text);
    fn is_plain(value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().all(is_plain),
            Value::Object(members) => members.iter().all(|(_, member)| is_plain(member)),
            Value::Number(number) => number.as_f64().is_finite(),
            _ => true,
        }
    }
    assert!(is_plain(&state));
}

/// Proves AGT-111: a run is read in words while it goes on, from inside one of its own tools, and reading does not stop it.
#[tokio::test]
async fn a_run_is_read_while_it_goes_on() {
    let probe: Arc<Mutex<Option<agentfootprint_core::run::RunProbe>>> = Arc::default();
    let read: Arc<Mutex<Vec<String>>> = Arc::default();
    let (reads, from) = (Arc::clone(&read), Arc::clone(&probe));
    let peeks = Tool::builder("peeks")
        .description("Peeks.")
        .handler(move |_: Value, _| {
            let probe = from.lock().unwrap().clone().unwrap();
            reads.lock().unwrap().extend(probe.narrative());
            async { "peeked" }
        })
        .build()
        .unwrap();
    let script = Script::new([calls(&[("c1", "peeks", json!({}))]), say("done")]);
    let agent = agent(&script).tool(peeks).build().unwrap();
    let handle = agent.run("go").options(RunOptions::new().narrative(true)).start().unwrap();
    assert!(handle.probe().narrative().is_empty(), "nothing has happened yet");
    *probe.lock().unwrap() = Some(handle.probe());
    let report = handle.finish().await;
    assert_eq!(report.answer().unwrap(), "done");
    let (so_far, whole) = (read.lock().unwrap().clone(), probe.lock().unwrap().clone().unwrap().narrative());
    assert!(!so_far.is_empty() && so_far.len() < whole.len(), "{} of {}", so_far.len(), whole.len());
    assert_eq!(so_far, whole[..so_far.len()], "what was told stays told");
}

/// Proves AGT-112: with a policy a recording holds the redacted mirror, while the run goes on and afterwards; the run itself works
/// on the real values.
#[tokio::test]
async fn a_recording_holds_the_redacted_mirror() {
    let script = Script::new([look("c1"), say("the code is hunter2")]);
    let agent = agent(&script).tool(looking("hunter2")).build().unwrap();
    let policy = RedactionPolicy::new().keys([
        "history",
        "lastToolResult",
        "toolResults",
        "finalContent",
        "llmLatestContent",
        "messagesInjections",
        "newMessages",
    ]);
    let run = agent.record("go").options(RunOptions::new().redaction(policy)).await.unwrap();
    assert_eq!(run.answer().unwrap(), "the code is hunter2");
    let shared = |run: &agentfootprint_core::record::RecordedRun<String>| {
        let recording: Value = run.recording().to_json().parse().unwrap();
        recording["snapshot"]["sharedState"].to_string()
    };
    assert!(!shared(&run).contains("hunter2"), "{}", shared(&run));
    let real = run.report().record.state().get("history").unwrap().to_string();
    assert!(real.contains("hunter2"), "the run's own state is real");
    // Without a policy nothing is redacted.
    let script = Script::new([say("hunter2")]);
    let open = crate::support::agent(&script).build().unwrap().record("go").await.unwrap();
    assert!(shared(&open).contains("hunter2"));
}

/// Writes down which decider chose what.
#[derive(Default)]
struct Decisions(Mutex<Vec<String>>);

impl Recorder for Decisions {
    fn id(&self) -> &str {
        "decisions"
    }
    fn on_decision(&self, _cx: &EventCx<'_>, event: &footprint::observe::DecisionEvent) -> HookResult {
        // Named by its mounts: `sf-cache/CacheGate`.
        let decider = event.decider.rsplit('/').next().unwrap();
        self.0.lock().unwrap().push(format!("{decider} {}", event.chosen_id));
        Ok(())
    }
}

/// Proves LLM-103: the cache gate decides in every iteration, and a recorder of the agent hears it like any other decision — under
/// a name that begins with its mounts, in every shape of the chart.
#[tokio::test]
async fn a_recorder_hears_the_cache_gate() {
    use agentfootprint_core::agent::AgentReactMode;
    for mode in [AgentReactMode::Dynamic, AgentReactMode::Classic, AgentReactMode::DynamicGrouped] {
        for delivery in [Delivery::Inline, Delivery::Deferred] {
            let decisions = Arc::new(Decisions::default());
            let script = Script::new([look("c1"), say("done")]);
            let agent = agent(&script)
                .react_mode(mode)
                .tool(looking("seen"))
                .observer_delivery(delivery)
                .watch(decisions.clone())
                .build()
                .unwrap();
            run(&agent, "go").await;
            let told = decisions.0.lock().unwrap().clone();
            let gates = told.iter().filter(|line| line.starts_with("CacheGate ")).count();
            let routes = told.iter().filter(|line| line.starts_with("Route ")).count();
            assert_eq!((gates, routes), (2, 2), "{mode:?} {delivery:?}: {told:?}");
        }
    }
}
