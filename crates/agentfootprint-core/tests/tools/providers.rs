//! Tools that are looked up while the agent runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agentfootprint_core::injection::RawInjection;
use agentfootprint_core::run::RunError;
use agentfootprint_core::tools::{
    CheckIn, ContextSource, Tool, ToolListContext, ToolProvider, ToolProviderError, check_in_approved,
    gated_tools, static_tools,
};
use async_trait::async_trait;
use footprint::value;
use footprint::value::Value;

use crate::support::{Script, agent, calls, results, resume, run, say, state, tool};

type Lists = dyn Fn(&ToolListContext) -> Result<Vec<Tool>, ToolProviderError> + Send + Sync;

/// Lists by a rule, and counts.
#[derive(Clone)]
struct Supplier {
    lists: Arc<Lists>,
    asked: Arc<AtomicUsize>,
}

impl Supplier {
    fn new(
        lists: impl Fn(&ToolListContext) -> Result<Vec<Tool>, ToolProviderError> + Send + Sync + 'static,
    ) -> Self {
        Self { lists: Arc::new(lists), asked: Arc::default() }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl ToolProvider for Supplier {
    fn id(&self) -> Option<&str> {
        Some("supplier")
    }

    async fn list(&self, ctx: &ToolListContext) -> Result<Vec<Tool>, ToolProviderError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        (self.lists)(ctx)
    }
}

fn answering(name: &str, answer: &'static str) -> Tool {
    tool(name, value!({}), move |_| answer)
}

/// Proves TOOL-21, TOOL-23, AGT-66: asked once per iteration; what it lists is offered behind the registry and dispatched from
/// the same list.
#[tokio::test]
async fn a_provider_is_asked_once_per_iteration() {
    let script = Script::new([calls(&[("a", "far", value!({}))]), say("done")]);
    let supplier = Supplier::new(|ctx| {
        Ok(vec![answering(if ctx.iteration == 1 { "far" } else { "later" }, "from afar")])
    });
    let agent =
        agent(&script).tool(answering("near", "from here")).tool_provider(supplier.clone()).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(results(&report)[0].1, "from afar");
    assert_eq!(supplier.asked(), 2);
    assert_eq!(
        heard.of("tools.discovery_started"),
        [
            value!({ "providerId": "supplier", "iteration": 1 }),
            value!({ "providerId": "supplier", "iteration": 2 })
        ]
    );
    let completed = heard.of("tools.discovery_completed");
    assert_eq!(completed[0].get("toolCount"), Some(&value!(1)));
    let names = |at: usize| -> Vec<String> {
        let requests = script.requests.lock().unwrap();
        let tools = requests[at].get("tools").unwrap().as_array().unwrap().clone();
        tools.iter().map(|tool| tool.get("name").unwrap().as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (names(0), names(1)),
        (vec!["near".into(), "far".into()], vec!["near".into(), "later".into()])
    );
    let composed = heard.of("context.slot_composed");
    let tools = composed.iter().find(|event| event.get("slot") == Some(&value!("tools"))).unwrap();
    assert_eq!(tools.get("orderingStrategy"), Some(&value!("registry+provider+injections")));
    let injections = state(&report, "toolsInjections").unwrap();
    assert_eq!(injections.as_array().unwrap().get(1).unwrap().get("reason"), Some(&value!("tool provider")));
}

/// Proves TOOL-21, TOOL-20: a list that cannot be had fails the run, said by name; a broken gate never opens.
#[tokio::test]
async fn a_failing_list_fails_the_run() {
    let script = Script::new([]);
    let agent_ = agent(&script)
        .tool_provider(Supplier::new(|_| Err(ToolProviderError::new("the registry is away"))))
        .build()
        .unwrap();
    let (report, heard) = run(&agent_, "go").await;
    let error = report.outcome.unwrap_err();
    assert!(error.to_string().contains("tool provider `supplier` failed: the registry is away"), "{error}");
    assert!(matches!(error, RunError::Stage { .. }));
    let failed = heard.of("tools.discovery_failed");
    assert_eq!(
        (failed[0].get("error"), failed[0].get("errorName"), failed[0].get("iteration")),
        (Some(&value!("the registry is away")), Some(&value!("ToolProviderError")), Some(&value!(1)))
    );
    assert!(script.requests.lock().unwrap().is_empty());

    let gated = gated_tools(static_tools([answering("x", "1")]), |_, _| Err("no policy".into()));
    let agent_ = agent(&Script::new([])).tool_provider(gated).build().unwrap();
    let error = run(&agent_, "go").await.0.outcome.unwrap_err().to_string();
    assert!(
        error.contains("tool provider `gated` failed: the gate could not judge `x`: no policy"),
        "{error}"
    );

    let panicking = Supplier::new(|_| panic!("boom"));
    let agent_ = agent(&Script::new([])).tool_provider(panicking).build().unwrap();
    let error = run(&agent_, "go").await.0.outcome.unwrap_err().to_string();
    assert!(error.contains("tool provider `supplier` failed: it panicked"), "{error}");
}

/// Proves TOOL-19, TOOL-21: what a provider is told.
#[tokio::test]
async fn a_provider_is_told_where_the_run_stands() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let supplier = Supplier::new(move |ctx| {
        kept.lock().unwrap().push((ctx.iteration, ctx.active_skill_id.clone(), ctx.identity.is_some()));
        Ok(vec![])
    });
    let script = Script::new([calls(&[("a", "near", value!({}))]), say("done")]);
    let agent = agent(&script).tool(answering("near", "x")).tool_provider(supplier).build().unwrap();
    run(&agent, "go").await;
    assert_eq!(*seen.lock().unwrap(), [(1, None, false), (2, None, false)]);
}

/// Proves TOOL-121, TOOL-122, TOOL-24: the registry owns a contested name; every swallowed claim is said, also one that never
/// reached the merge.
#[tokio::test]
async fn contested_names_are_said_and_answered_by_the_wire() {
    let script = Script::new([calls(&[("a", "look", value!({})), ("b", "peek", value!({}))]), say("done")]);
    let agent = agent(&script)
        .tool(answering("look", "registry"))
        .injection(
            RawInjection::new("looker", ContextSource::Instructions)
                .after_tool("never")
                .tool(answering("peek", "injection")),
        )
        .tool_provider(Supplier::new(|_| {
            Ok(vec![answering("look", "provider"), answering("peek", "provider")])
        }))
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    let texts: Vec<String> = results(&report).into_iter().map(|(_, text, _)| text).collect();
    assert_eq!(texts, ["registry", "provider"]);
    assert_eq!(
        heard.of("tools.shadowed")[0],
        value!({ "toolName": "look", "iteration": 1, "schemaFrom": "registry", "dispatchTo": "registry" })
    );
    assert_eq!(
        heard.of("tools.claim_swallowed")[..2],
        [
            value!({
                "toolName": "look", "iteration": 1, "lostBy": "provider", "lostById": "supplier", "wonBy": "registry",
            }),
            value!({
                "toolName": "peek", "iteration": 1, "lostBy": "skill", "lostById": "looker", "wonBy": "provider",
                "wonById": "supplier",
            }),
        ]
    );
    // Once per contested name and iteration.
    assert_eq!((heard.of("tools.shadowed").len(), heard.of("tools.claim_swallowed").len()), (2, 4));
}

/// Proves TOOL-121: a provider that takes a tool back leaves nobody else to answer it.
#[tokio::test]
async fn a_withdrawn_tool_is_answered_by_nobody() {
    let script =
        Script::new([calls(&[("a", "far", value!({}))]), calls(&[("b", "far", value!({}))]), say("done")]);
    let supplier =
        Supplier::new(|ctx| Ok(if ctx.iteration == 1 { vec![answering("far", "once")] } else { vec![] }));
    let agent = agent(&script).tool(answering("near", "x")).tool_provider(supplier).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(
        results(&report)[1],
        (
            "b".to_owned(),
            "Nothing ran: `far` was withdrawn by whoever supplied it, and nothing else answers to that name."
                .to_owned(),
            Some("not-served".to_owned())
        )
    );
    assert!(heard.of("tools.answered_off_wire").is_empty());
}

/// Proves TOOL-22: an approved call of a provider's tool finds it again in another process.
#[tokio::test]
async fn a_paused_call_of_a_supplied_tool_is_asked_for_again() {
    let send = || {
        Tool::builder("send")
            .input_schema(value!({}))
            .check_in(CheckIn::Always)
            .handler(|_: Value, _| async { "sent" })
            .build()
            .unwrap()
    };
    let made =
        |script: &Script, supplier: &Supplier| agent(script).tool_provider(supplier.clone()).build().unwrap();
    let supplier = Supplier::new(move |_| Ok(vec![send()]));
    let (paused, _) = run(&made(&Script::new([calls(&[("a", "send", value!({}))])]), &supplier), "go").await;
    let approved = check_in_approved("ann").build().to_value();

    let fresh = Supplier { lists: Arc::clone(&supplier.lists), asked: Arc::default() };
    let (done, heard) = resume(&made(&Script::new([say("done")]), &fresh), &paused, Some(approved)).await;
    assert_eq!(results(&done)[0].1, "sent");
    assert_eq!(
        heard.of("tools.discovery_started").len(),
        2,
        "once before the call, once for the next iteration"
    );

    // A declined call needs no list.
    let declined = value!({ "approved": false, "by": "ann" });
    let quiet = Supplier::new(|_| Ok(vec![]));
    let (_, heard) = resume(&made(&Script::new([say("done")]), &quiet), &paused, Some(declined)).await;
    assert_eq!(heard.of("tools.discovery_started").len(), 1);
}
