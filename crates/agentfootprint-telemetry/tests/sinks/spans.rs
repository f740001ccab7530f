//! Runs as spans, through the SDK's in-memory exporter.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentfootprint_core::compose::{Conditional, LlmCall, Parallel, Sequence};
use agentfootprint_core::llm::LlmError;
use agentfootprint_core::observe::ObservabilityStrategy as _;
use agentfootprint_core::run::Runner;
use agentfootprint_record::events::{Event, META_FIELDS};
use agentfootprint_telemetry::otel::{OtelOptions, OtelSink, PLACED_META, UNPLACED_META};
use opentelemetry::trace::{SpanId, Status, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};

use crate::support::*;

struct Spans {
    exporter: InMemorySpanExporter,
    provider: SdkTracerProvider,
}

impl Spans {
    fn new() -> Self {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        Self { exporter, provider }
    }

    fn sink(&self, options: OtelOptions) -> Arc<OtelSink> {
        Arc::new(OtelSink::new(options, self.provider.tracer("test")).unwrap())
    }

    fn all(&self) -> Vec<SpanData> {
        self.exporter.get_finished_spans().unwrap()
    }

    fn named(&self, name: &str) -> SpanData {
        self.all().into_iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span {name}"))
    }

    /// `name < parent's name`, sorted.
    fn tree(&self) -> Vec<String> {
        tree(&self.all())
    }
}

fn tree(spans: &[SpanData]) -> Vec<String> {
    let name_of = |id: SpanId| {
        spans.iter().find(|span| span.span_context.span_id() == id).map_or("?", |span| &*span.name)
    };
    let mut out: Vec<String> = spans
        .iter()
        .map(|span| match span.parent_span_id {
            SpanId::INVALID => span.name.to_string(),
            parent => format!("{} < {}", span.name, name_of(parent)),
        })
        .collect();
    out.sort();
    out
}

fn attributes(span: &SpanData) -> BTreeMap<String, String> {
    span.attributes.iter().map(|pair| (pair.key.to_string(), pair.value.to_string())).collect()
}

fn expect(span: &SpanData, wanted: &[(&str, &str)]) {
    let wanted = wanted.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    assert_eq!(attributes(span), wanted, "{}", span.name);
}

async fn traced(options: OtelOptions) -> Spans {
    let spans = Spans::new();
    let agent = agent("support");
    agent.enable().observability(spans.sink(options)).keep();
    agent.run(CANARY).options(self::options()).await.into_answer().unwrap();
    spans
}

/// Proves REC-73: the tree of a run with two tools at once, under the conventions' names, with exactly these attributes.
#[tokio::test]
async fn a_run_is_a_tree_of_spans() {
    let spans = traced(OtelOptions::new("shop").gen_ai_span_names(true)).await;
    let wanted = [
        "chat m-1 < iteration:1",
        "chat m-1 < iteration:2",
        "execute_tool bad < iteration:1",
        "execute_tool good < iteration:1",
        "invoke_agent shop",
        "iteration:1 < invoke_agent shop",
        "iteration:2 < invoke_agent shop",
    ];
    assert_eq!(spans.tree(), wanted);
    let root = spans.named("invoke_agent shop");
    let cost = attributes(&root)["cost.cumulative_usd"].clone();
    let run_id = attributes(&root)["agentfootprint.run.id"].clone();
    assert!(run_id.starts_with("run-1700000000000-"), "{run_id}");
    expect(
        &root,
        &[
            ("service.name", "shop"),
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.agent.name", "support"),
            ("agentfootprint.run.id", &run_id),
            ("agentfootprint.turn.index", "0"),
            ("gen_ai.provider.name", "script"),
            ("gen_ai.request.model", "m-1"),
            ("gen_ai.usage.input_tokens", "200"),
            ("gen_ai.usage.output_tokens", "40"),
            ("agentfootprint.iteration.count", "2"),
            ("cost.cumulative_usd", &cost),
        ],
    );
    let first = spans.named("iteration:1");
    assert_eq!(
        (
            attributes(&first)["iteration.number"].as_str(),
            attributes(&first)["agentfootprint.tool_call.count"].as_str()
        ),
        ("1", "2")
    );
    let chat = spans.named("chat m-1");
    let mut seen = attributes(&chat);
    seen.remove("cost.cumulative_usd");
    let chat_wanted: BTreeMap<String, String> = [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.request.model", "m-1"),
        ("gen_ai.provider.name", "script"),
        ("gen_ai.usage.input_tokens", "100"),
        ("gen_ai.usage.output_tokens", "20"),
        ("gen_ai.usage.cache_read.input_tokens", "7"),
        ("gen_ai.response.finish_reasons", &seen["gen_ai.response.finish_reasons"].clone()),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    assert_eq!(seen, chat_wanted);
    let (good, bad) = (spans.named("execute_tool good"), spans.named("execute_tool bad"));
    let tool = attributes(&good);
    let facts = [
        "tool.name",
        "gen_ai.operation.name",
        "gen_ai.tool.name",
        "gen_ai.tool.call.id",
        "agentfootprint.tool.args.keys",
        "agentfootprint.tool.result.type",
    ];
    let facts = facts.map(|key| tool[key].clone());
    assert_eq!(facts, ["good", "execute_tool", "good", "call-good", r#"["city","days"]"#, "object"]);
    assert!(!tool.contains_key("error.type"));
    assert_eq!((bad.status.clone(), attributes(&bad)["error.type"].as_str()), (Status::error(""), "_OTHER"));
    assert!(good.start_time >= root.start_time && good.end_time <= root.end_time);
}

/// Proves REC-73: the plain names, and span events only when they are wanted.
#[tokio::test]
async fn names_and_span_events_are_options() {
    let plain = traced(OtelOptions::new("shop")).await;
    assert_eq!(
        plain.tree(),
        [
            "iteration:1 < shop",
            "iteration:2 < shop",
            "llm < iteration:1",
            "llm < iteration:2",
            "shop",
            "tool:bad < iteration:1",
            "tool:good < iteration:1"
        ]
    );
    let events: Vec<String> = plain
        .all()
        .iter()
        .flat_map(|span| span.events.iter().map(|event| event.name.to_string()).collect::<Vec<_>>())
        .collect();
    assert!(
        events.iter().filter(|name| *name == "agentfootprint.agent.route_decided").count() == 2,
        "{events:?}"
    );
    let silent = traced(OtelOptions::new("shop").explainability(false)).await;
    assert!(silent.all().iter().all(|span| span.events.is_empty()));
}

/// Proves REC-74: nothing anybody said is in what is exported: prompts, arguments, results, answers, messages of errors.
#[tokio::test]
async fn no_words_of_anybody_leave() {
    let spans = Spans::new();
    let sink = spans.sink(OtelOptions::new("shop"));
    let good = agent("support");
    let failing = builder(Model::by(|_, answered| {
        if answered {
            Err(LlmError::foreign("ServiceError", format!("{CANARY} down")))
        } else {
            Model::tools().reply(false)
        }
    }))
    .build()
    .unwrap();
    good.enable().observability(sink.clone()).keep();
    failing.enable().observability(sink).keep();
    assert!(good.run(CANARY).await.into_answer().unwrap().contains(CANARY));
    assert!(failing.run(CANARY).await.error().unwrap().to_string().contains(CANARY));
    let all = spans.all();
    assert!(all.len() > 10);
    assert!(!format!("{all:?}").contains(CANARY), "{all:#?}");
}

/// Proves REC-73, REC-37: a failed run closes every span, its root says where it failed and nothing else; one fatal.
#[tokio::test]
async fn a_failed_run_closes_every_span() {
    let spans = Spans::new();
    let agent = builder(Model::by(|_, _| Err(LlmError::foreign("ServiceError", CANARY)))).build().unwrap();
    let flow = Sequence::builder("s").step("a", agent).build().unwrap();
    flow.enable().observability(spans.sink(OtelOptions::new("shop"))).keep();
    assert!(flow.run("x").await.error().is_some());
    let root = spans.named("shop");
    assert_eq!(
        (root.status.clone(), attributes(&root)["error.type"].as_str()),
        (Status::error(""), "_OTHER")
    );
    let all = spans.all();
    let fatal: Vec<_> = all
        .iter()
        .flat_map(|span| span.events.iter().cloned().collect::<Vec<_>>())
        .filter(|event| event.name == "agentfootprint.error.fatal")
        .collect();
    assert_eq!(fatal.len(), 1);
    let keys: Vec<&str> = fatal[0].attributes.iter().map(|pair| pair.key.as_str()).collect();
    assert_eq!(keys, ["agentfootprint.error.stage", "agentfootprint.error.scope"]);
    assert!(tree(&all).iter().any(|line| line.starts_with("llm < iteration:1")), "{:?}", tree(&all));
}

/// Proves REC-74: two runs at once of one agent are two traces, each whole; the same call ids in both do not meet.
#[tokio::test]
async fn runs_at_once_are_disjoint() {
    let spans = Spans::new();
    let agent = agent("support");
    agent.enable().observability(spans.sink(OtelOptions::new("shop"))).keep();
    let runs = (0..8).map(|at| agent.run(format!("{at}")).into_future());
    futures_join(runs).await;
    let mut traces: BTreeMap<String, Vec<SpanData>> = BTreeMap::new();
    for span in spans.all() {
        traces.entry(span.span_context.trace_id().to_string()).or_default().push(span);
    }
    assert_eq!(traces.len(), 8);
    let one = tree(traces.values().next().unwrap());
    assert_eq!(one.len(), 7);
    assert!(traces.values().all(|spans| tree(spans) == one));
}

async fn futures_join<F: Future + Send + 'static>(runs: impl Iterator<Item = F>)
where
    F::Output: Send,
{
    let tasks: Vec<_> = runs.map(tokio::spawn).collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// Proves REC-73, REC-74: agents in parallel inside one run have spans of their own, though their iterations and call ids are the
/// same.
#[tokio::test]
async fn agents_inside_a_composition_have_their_own_spans() {
    let spans = Spans::new();
    let flow = Parallel::builder("both")
        .branch("left", agent("left"))
        .branch("right", agent("right"))
        .merge_with_fn(|_| "both answered")
        .build()
        .unwrap();
    flow.enable().observability(spans.sink(OtelOptions::new("shop"))).keep();
    flow.run("x").await.into_answer().unwrap();
    let all = spans.all();
    let roots: Vec<_> = all.iter().filter(|span| span.parent_span_id == SpanId::INVALID).collect();
    assert_eq!((roots.len(), &*roots[0].name), (1, "shop"));
    let agents: Vec<_> =
        all.iter().filter(|span| span.parent_span_id == roots[0].span_context.span_id()).collect();
    assert_eq!(agents.len(), 2, "{:?}", tree(&all));
    for agent in agents {
        let inside: Vec<_> =
            all.iter().filter(|span| span.parent_span_id == agent.span_context.span_id()).collect();
        assert_eq!(inside.len(), 2, "two iterations of {}", agent.name);
        let calls = all
            .iter()
            .filter(|span| inside.iter().any(|one| one.span_context.span_id() == span.parent_span_id));
        assert_eq!(calls.count(), 4, "two chats and two tools of {}", agent.name);
    }
    assert_eq!(attributes(roots[0])["gen_ai.usage.input_tokens"], "400");
}

/// Proves REC-73: one model call alone is a whole trace, and so is a choice between two, whose route is noted.
#[tokio::test]
async fn calls_and_routes_have_their_place() {
    let spans = Spans::new();
    let call = LlmCall::builder(Model::text("hi"), "m-1").build().unwrap();
    call.enable().observability(spans.sink(OtelOptions::new("shop"))).keep();
    call.run(CANARY).await.into_answer().unwrap();
    assert_eq!(spans.tree(), ["llm < shop", "shop"]);
    let spans = Spans::new();
    let one = |text| LlmCall::builder(Model::text(text), "m-1").build().unwrap();
    let choice = Conditional::builder("choice")
        .when("short", |input: &str| input.len() < 3, one("s"))
        .otherwise("long", one("l"))
        .build()
        .unwrap();
    choice.enable().observability(spans.sink(OtelOptions::new("shop"))).keep();
    choice.run("x").await.into_answer().unwrap();
    assert_eq!(spans.tree(), ["llm < shop", "shop"]);
    let root = spans.named("shop");
    let route =
        root.events.iter().find(|event| event.name == "agentfootprint.composition.route_decided").unwrap();
    let facts: Vec<_> =
        route.attributes.iter().map(|pair| (pair.key.as_str(), pair.value.to_string())).collect();
    assert_eq!(facts[0], ("agentfootprint.composition.conditional_id", "choice".to_owned()));
    assert_eq!(facts[1], ("agentfootprint.composition.chosen", "short".to_owned()));
}

/// Proves REC-74: what deciders weighed is noted on the run they decided for, also when several turns are under way; by rule and
/// never by value.
#[tokio::test]
async fn decisions_belong_to_their_own_run() {
    let spans = Spans::new();
    let agent = agent("support");
    let sink = spans.sink(OtelOptions::new("shop"));
    agent.enable().observability(sink.clone()).keep();
    sink.watch_decisions(&agent).keep();
    let runs = (0..4).map(|_| agent.run(CANARY).into_future());
    futures_join(runs).await;
    let all = spans.all();
    let roots: Vec<_> = all.iter().filter(|span| span.name == "shop").collect();
    assert_eq!(roots.len(), 4);
    for root in roots {
        let weighed: Vec<_> =
            root.events.iter().filter(|event| event.name == "agentfootprint.decision.evidence").collect();
        let stages: Vec<String> = weighed
            .iter()
            .map(|event| {
                event
                    .attributes
                    .iter()
                    .find(|pair| pair.key.as_str() == "agentfootprint.decision.stage_id")
                    .unwrap()
                    .value
                    .to_string()
            })
            .collect();
        assert_eq!(stages.len(), 2, "the cache gate, once per iteration: {stages:?}");
        assert!(stages.iter().all(|stage| stage.contains("cache-gate#")), "{stages:?}");
        assert!(weighed.iter().all(|event| {
            event.attributes.iter().any(|pair| pair.key.as_str() == "agentfootprint.decision.chosen")
        }));
    }
    assert!(!format!("{all:?}").contains(CANARY));
}

/// Proves REC-73: a run inside a span of the caller's is part of the caller's trace.
#[tokio::test]
async fn a_run_joins_the_callers_trace() {
    let spans = Spans::new();
    let tracer = spans.provider.tracer("caller");
    let agent = agent("support");
    agent.enable().observability(spans.sink(OtelOptions::new("shop"))).keep();
    let cx = opentelemetry::Context::new().with_span(tracer.start("request"));
    {
        use opentelemetry::trace::FutureExt as _;
        agent.run("x").into_future().with_context(cx.clone()).await;
    }
    cx.span().end();
    assert!(spans.tree().contains(&"shop < request".to_owned()), "{:?}", spans.tree());
    let traces: std::collections::BTreeSet<_> =
        spans.all().iter().map(|span| span.span_context.trace_id().to_string()).collect();
    assert_eq!(traces.len(), 1);
}

/// Proves REC-73: a run whose options name a span elsewhere is its child; names that are none are no parent.
#[tokio::test]
async fn a_run_joins_the_span_it_names() {
    let spans = Spans::new();
    let agent = agent("support");
    agent.enable().observability(spans.sink(OtelOptions::new("shop"))).keep();
    let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    agent.run("x").options(options().trace_id(trace).span_id(parent)).await.into_answer().unwrap();
    let root = spans.named("shop");
    assert_eq!(root.span_context.trace_id().to_string(), trace);
    assert_eq!(root.parent_span_id.to_string(), parent);
    spans.exporter.reset();
    agent.run("x").options(options().trace_id("ticket 7").span_id("none")).await.into_answer().unwrap();
    assert_eq!(spans.named("shop").parent_span_id, SpanId::INVALID);
}

/// Proves REC-34: every meta field has a place in the spans or is said to have none.
#[test]
fn every_meta_field_is_placed_or_said_not_to_be() {
    let mut known: Vec<&str> = PLACED_META.into_iter().chain(UNPLACED_META).collect();
    let mut all: Vec<&str> = META_FIELDS.iter().map(|field| field.name).collect();
    known.sort_unstable();
    all.sort_unstable();
    assert_eq!(known, all);
}

/// Proves REC-71: events of kinds nobody knew are ignored, open nothing and close nothing; the run is that of the meta, whatever a
/// payload says.
#[tokio::test]
async fn unknown_events_are_ignored() {
    let spans = Spans::new();
    let sink = spans.sink(OtelOptions::new("shop"));
    let agent = agent("support");
    agent.enable().observability(sink.clone()).keep();
    let said = |name: &str, run: &str| {
        let event = json!({"type": (name), "payload": {"runId": "another", "turnIndex": 0}, "meta": {
            "wallClockMs": 0, "runOffsetMs": 0, "runtimeStageId": "a#0", "subflowPath": [], "compositionPath": [], "runId": (run)}});
        Arc::new(Event::from_value(&event).unwrap())
    };
    let inlet = sink.clone();
    let _guard = agent
        .events()
        .on("agentfootprint.stream.llm_start", move |event| {
            let run = event.meta.run_id.as_str();
            inlet.export_event(&said("agentfootprint.agent.turn_finished", run));
            inlet.export_event(&said("my.word", run));
            // A registered name whose payload does not fit is unknown too.
            inlet.export_event(&said("agentfootprint.agent.turn_end", run));
            inlet.export_event(&said("agentfootprint.agent.turn_began", "run-9-9"));
        })
        .unwrap();
    agent.run("x").await.into_answer().unwrap();
    assert_eq!(spans.tree().len(), 7);
    assert!(
        spans
            .all()
            .iter()
            .filter_map(|span| attributes(span).remove("agentfootprint.run.id"))
            .all(|id| id != "another")
    );
}
