//! What surrounds a model call: thinking, the cache gate and its strategies, cost.

use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::{
    AgentBuilder, Automatic, Breakpoints, CacheMetrics, CacheStrategy, CacheStrategyContext, NoCaching,
};
use agentfootprint_core::injection::{CachePolicy, Fact, Instruction, Steering};
use agentfootprint_core::llm::{
    CacheField, CacheMarker, CacheTtl, Capabilities, LlmRequest, LlmResponse, ModelPrices, PromptCaching,
    StaticPricing, ThinkingError, ThinkingHandler, Usage,
};
use agentfootprint_core::run::RunReport;
use agentfootprint_record::events::EventName;
use agentfootprint_record::message::ThinkingBlock;
use footprint::observe::{DecisionEvent, EventCx, HookResult, Recorder};
use footprint::value::Value;

use crate::support::*;

/// Reads `{text, signature?}`; what it does not know it refuses, and one text makes it panic.
struct Reader;

impl ThinkingHandler for Reader {
    fn id(&self) -> &str {
        "reader"
    }

    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        let text = raw.get("text").and_then(Value::as_str).ok_or_else(|| ThinkingError("no text".into()))?;
        assert!(text != "panic", "the handler panics");
        let mut block = ThinkingBlock::thinking(text);
        block.signature = raw.get("signature").and_then(Value::as_shared_str).cloned();
        Ok(vec![block])
    }
}

fn thought(answer: LlmResponse, raw: Value) -> LlmResponse {
    LlmResponse { raw_thinking: Some(raw), ..answer }
}

/// Proves LLM-86, LLM-87: the wish to think is the request's; the reader of the answer is the provider's unless it is replaced or
/// taken away, and mounted only when there is one.
#[tokio::test]
async fn asking_to_think_and_reading_thoughts_are_two_things() {
    let declaring = || {
        Script::new([thought(say("done"), json!({"text": "Hm."}))])
            .with_capabilities(Capabilities::default().with_thinking_handler(Arc::new(Plain)))
    };
    let mounted = async |builder: AgentBuilder| {
        let (report, heard) = run(&builder.build().unwrap(), "go").await;
        (
            report.record.structure().unwrap().to_json().contains("thinking-"),
            heard.count("stream.thinking_end"),
        )
    };
    let script = declaring();
    assert_eq!(mounted(agent(&script).thinking(2048)).await, (true, 0), "the declared handler");
    assert_eq!(script.request(0).thinking.unwrap().budget, 2048);
    assert_eq!(mounted(agent(&declaring()).thinking_handler(Reader)).await, (true, 1), "another one");
    assert_eq!(mounted(agent(&declaring()).no_thinking_handler()).await, (false, 0), "none");
    let twice = agent(&declaring()).thinking_handler(Reader).no_thinking_handler().build().unwrap_err();
    assert!(twice.to_string().contains("`thinking_handler` was called twice"));
}

/// Proves LLM-89, LLM-91, LLM-80: blocks stand on the turn that calls tools and on the final one, byte for byte, also in the
/// checkpoint; what one call thought is not attached to another.
#[tokio::test]
async fn thoughts_stand_on_their_own_turn() {
    let signature = " +a/b==\u{00a0}\n";
    let script = Script::new([
        thought(look("c1"), json!({"text": "I look.", "signature": signature})),
        look("c2"),
        thought(say("done"), json!({"text": "I say."})),
    ]);
    let agent = agent(&script).tool(looking("seen")).thinking_handler(Reader).build().unwrap();
    let (report, _) = run(&agent, "go").await;
    let turns: Vec<Value> =
        history(&report).into_iter().filter(|message| message["role"] == json!("assistant")).collect();
    assert_eq!(turns[0]["thinkingBlocks"][0]["signature"], json!(signature));
    assert!(turns[1].get("thinkingBlocks").is_none(), "{:?}", turns[1]);
    let sent = serde_json::to_value(script.request(1)).unwrap();
    assert_eq!(sent["messages"][1]["thinkingBlocks"][0]["signature"], signature);
    let kept = report.record.checkpoint().unwrap().to_json();
    let kept: Value = kept.parse().unwrap();
    let last = kept["history"].as_array().unwrap().iter().last().unwrap().clone();
    assert_eq!(last["thinkingBlocks"][0]["content"], json!("I say."));
    assert_eq!(kept["history"][1]["thinkingBlocks"][0]["signature"], json!(signature));
}

/// Proves LLM-87, LLM-88: a handler that fails or panics costs the blocks, never the run.
#[tokio::test]
async fn a_broken_handler_costs_only_the_thoughts() {
    for (raw, name) in [(json!({"other": 1}), "ThinkingError"), (json!({"text": "panic"}), "Panic")] {
        let script = Script::new([thought(say("done"), raw)]);
        let agent = agent(&script).thinking_handler(Reader).build().unwrap();
        let (report, heard) = run(&agent, "go").await;
        assert_eq!(report.answer().unwrap(), "done");
        let failed = &heard.of("agent.thinking_parse_failed")[0];
        assert_eq!((&failed["errorName"], &failed["iteration"]), (&json!(name), &json!(1)));
        assert_eq!(state(&report, "thinkingBlocks"), Some(json!([])));
    }
}

fn caching() -> Capabilities {
    Capabilities::default()
        .with_prompt_caching(PromptCaching::Breakpoints { max_breakpoints: 4, reports_usage: true })
}

fn recorded_markers(report: &RunReport<String>) -> Vec<Value> {
    state(report, "cacheMarkers").unwrap().as_array().unwrap().iter().cloned().collect()
}

/// Proves LLM-99, LLM-101: what may be cached goes by flavour unless it is said; a marker ends the longest prefix of pieces that
/// all may, and names the last.
#[tokio::test]
async fn the_marker_ends_the_longest_cacheable_prefix() {
    let built = |builder: fn(AgentBuilder) -> AgentBuilder| async move {
        let script = Script::new([say("done")]).with_capabilities(caching());
        let agent = builder(agent(&script).system("Base.")).build().unwrap();
        let (report, _) = run(&agent, "go").await;
        (recorded_markers(&report), script.request(0).cache_markers)
    };
    let (kept, sent) = built(|agent| {
        agent
            .steering(Steering::new("tone", "Be kind."))
            .fact(Fact::new("hours", "9 to 5."))
            .instruction(Instruction::new("now", "Hurry.").active_when(|_| true))
            .fact(Fact::new("late", "Closed."))
    })
    .await;
    assert_eq!((kept.len(), sent.len()), (1, 1));
    assert_eq!(
        (sent[0].field, sent[0].boundary_index, sent[0].ttl),
        (CacheField::System, 2, CacheTtl::Short)
    );
    assert!(
        sent[0].reason.contains("fact:hours") && sent[0].reason.contains("3 pieces"),
        "{}",
        sent[0].reason
    );
    let (kept, sent) =
        built(|agent| agent.fact(Fact::new("hours", "9 to 5.").cache(CachePolicy::Never))).await;
    assert_eq!((kept[0]["boundaryIndex"].clone(), sent.len()), (json!(0), 1), "the base prompt alone");
    let until = CachePolicy::until(|_| panic!("broken policy"));
    let script = Script::new([say("done")]).with_capabilities(caching());
    let agent = agent(&script).system_with("Base.", until).build().unwrap();
    run(&agent, "go").await;
    assert!(script.request(0).cache_markers.is_empty(), "a broken policy does not cache");
}

/// The labels under which the cache gate decided, in order; a rule's or the default's.
#[derive(Default)]
struct Decisions(Mutex<Vec<String>>);

impl Recorder for Decisions {
    fn id(&self) -> &str {
        "decisions"
    }

    fn on_decision(&self, _cx: &EventCx<'_>, event: &DecisionEvent) -> HookResult {
        if let Some(evidence) = event.evidence.as_ref().filter(|_| &*event.decider == "CacheGate") {
            let label = match evidence.winner() {
                Some(rule) => rule.label.clone(),
                None => evidence.default_label.clone(),
            };
            self.0.lock().unwrap().push(label.unwrap_or_default().to_string());
        }
        Ok(())
    }
}

/// Proves LLM-102, LLM-103, LLM-104, LLM-109: the gate's rules are on the record with their evidence; a low hit rate is known
/// after three measured calls and stays.
#[tokio::test]
async fn a_low_hit_rate_turns_markers_off_and_stays() {
    let cold = |answer: LlmResponse| LlmResponse { usage: Usage::new(100, 1).with_cache_read(0), ..answer };
    let script =
        Script::by(move |at, _| Ok(cold(if at < 5 { look(&format!("c{at}")) } else { say("done") })))
            .with_capabilities(caching());
    let decisions = Arc::new(Decisions::default());
    let agent =
        agent(&script).system("Base.").tool(looking("seen")).watch(decisions.clone()).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    let marked: Vec<usize> = (0..6).map(|at| script.request(at).cache_markers.len()).collect();
    assert_eq!(marked, [1, 1, 1, 0, 0, 0]);
    assert_eq!(state(&report, "recentHitRate"), Some(json!(0.0)));
    assert_eq!(recorded_markers(&report), Vec::<Value>::new());
    let (calm, low) = ("nothing speaks against caching", "hit rate: known and below 0.30");
    assert_eq!(*decisions.0.lock().unwrap(), [calm, calm, calm, low, low, low]);
    assert!(heard.names().iter().all(|name| !name.starts_with("cache.")));
}

/// Proves LLM-109: the registry has no event of that domain.
#[test]
fn there_are_no_cache_events() {
    assert!(EventName::ALL.iter().all(|name| !name.as_str().starts_with("agentfootprint.cache.")));
}

/// Proves LLM-103, LLM-105: the kill switch sends the request of an agent that declares nothing to cache.
#[tokio::test]
async fn caching_off_sends_what_an_agent_without_policies_sends() {
    let sent = |caches: bool| async move {
        let declared = if caches { caching() } else { Capabilities::default() };
        let script = Script::new([say("done")]).with_capabilities(declared);
        let agent =
            agent(&script).system("Base.").fact(Fact::new("f", "x")).caching(!caches).build().unwrap();
        let (report, _) = run(&agent, "go").await;
        (serde_json::to_string(&script.request(0)).unwrap(), report.record.snapshot().to_json())
    };
    let ((off, record), (bare, _)) = (sent(true).await, sent(false).await);
    assert_eq!(off, bare);
    assert!(record.contains("kill switch: caching is off"));
}

/// Proves LLM-105, LLM-107: strategies keep the first markers, pass through, or do nothing; what nobody measured is unknown.
#[tokio::test]
async fn strategies_are_chosen_by_declaration_and_measure_honestly() {
    let marker = |field, boundary_index| CacheMarker {
        field,
        boundary_index,
        ttl: CacheTtl::Short,
        reason: String::new(),
    };
    let candidates =
        [marker(CacheField::System, 0), marker(CacheField::Tools, 3), marker(CacheField::Messages, 5)];
    let cx = |caching_disabled| CacheStrategyContext {
        iteration: 1,
        iterations_remaining: 9,
        recent_hit_rate: None,
        caching_disabled,
    };
    let request = || LlmRequest::new("m").user("hi");
    let prepared = Breakpoints::at_most(2).prepare(request(), &candidates, &cx(false)).await;
    assert_eq!(prepared.markers_applied, candidates[..2]);
    assert_eq!(prepared.request.cache_markers, candidates[..2]);
    let none: [(&dyn CacheStrategy, bool); 3] =
        [(&Breakpoints::at_most(2), true), (&Automatic, false), (&NoCaching, false)];
    for (strategy, disabled) in none {
        let prepared = strategy.prepare(request(), &candidates, &cx(disabled)).await;
        assert!(prepared.markers_applied.is_empty() && prepared.request.cache_markers.is_empty());
    }
    let read = |strategy: &dyn CacheStrategy, usage: Option<&Usage>| strategy.extract_metrics(usage);
    assert_eq!(read(&Automatic, None), CacheMetrics::Unknown);
    assert_eq!(read(&Automatic, Some(&Usage::new(5, 1))), CacheMetrics::Unknown);
    let zero = CacheMetrics::Known { cache_read_tokens: 0, cache_write_tokens: 0, fresh_input_tokens: 5 };
    assert_eq!(read(&Automatic, Some(&Usage::new(5, 1).with_cache_read(0))), zero);
    assert_eq!(read(&NoCaching, Some(&Usage::new(5, 1))), CacheMetrics::NotApplicable);
}

/// Proves LLM-139, LLM-140, LLM-141, LLM-25: a tick has real numbers, names what it could not price, and is placed by its meta;
/// the budget is crossed once per run, and runs do not share their counts.
#[tokio::test]
async fn the_budget_is_crossed_once_per_run() {
    let usage = Usage::new(100, 10).with_cache_read(50);
    let script = Script::by(move |_, request| {
        let first = request.messages().iter().count() == 1;
        Ok(LlmResponse { usage, ..if first { look("c1") } else { say("done") } })
    });
    let prices = ModelPrices { input: Some(0.01), output: Some(0.1), ..ModelPrices::default() };
    let agent = agent(&script)
        .tool(looking("seen"))
        .pricing(StaticPricing::new("p").any_model(prices))
        .cost_budget(1.5)
        .build()
        .unwrap();
    let (one, two) = tokio::join!(run(&agent, "go"), run(&agent, "go"));
    for (report, heard) in [one, two] {
        let ticks = heard.of("cost.tick");
        assert_eq!(ticks.len(), 2);
        assert_eq!(ticks[1]["estimatedUsd"], json!(2.0));
        assert_eq!(
            ticks[1]["cumulative"],
            json!({"tokensInput": 200, "tokensOutput": 20, "estimatedUsd": 4.0})
        );
        assert_eq!(ticks[0]["unpriced"], json!(["cacheRead"]));
        let placed = heard.all().into_iter().find(|event| event["type"] == json!("agentfootprint.cost.tick"));
        assert_eq!(placed.unwrap()["meta"]["runtimeStageId"], json!("call-llm#18"));
        assert_eq!(
            heard.of("cost.limit_hit"),
            [json!({"kind": "max_cost", "limit": 1.5, "actual": 2.0, "action": "warn"})]
        );
        assert_eq!(state(&report, "totalCacheReadTokens"), Some(json!(100)));
        assert_eq!(state(&report, "costBudgetHit"), Some(json!(true)));
    }
    let bare = self::agent(&Script::new([say("done")])).build().unwrap();
    let (_, heard) = run(&bare, "go").await;
    assert_eq!((heard.count("cost.tick"), heard.count("cost.limit_hit")), (0, 0));
}
