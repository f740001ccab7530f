//! The cache gate, and the meter beside it.

use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::AgentReactMode;
use agentfootprint_core::cache_meter::{CacheMeter, Claim};
use agentfootprint_core::llm::{Capabilities, LlmResponse, ModelPrices, PromptCaching, StaticPricing, Usage};
use agentfootprint_core::run::{RunOptions, Runner as _};
use footprint::observe::{DecisionEvent, EventCx, Hook, HookResult, Interest, Recorder};
use footprint::value::Value;

use crate::support::*;

fn caching() -> Capabilities {
    Capabilities::default()
        .with_prompt_caching(PromptCaching::Breakpoints { max_breakpoints: 4, reports_usage: true })
}

/// What the gate decided: the branch, and the labels of the rules that were tried, the winner last.
#[derive(Default)]
struct Gate(Mutex<Vec<(String, Vec<String>, bool)>>);

impl Recorder for Gate {
    fn id(&self) -> &str {
        "gate"
    }
    fn interest(&self) -> Interest {
        Interest::of(Hook::Decision)
    }
    fn on_decision(&self, cx: &EventCx<'_>, e: &DecisionEvent) -> HookResult {
        if cx.traversal.runtime_stage_id.local_id() == "cache-gate" {
            let evidence = e.evidence.as_ref().expect("evidence");
            let labels =
                evidence.rules.iter().map(|rule| rule.label.as_deref().unwrap_or("").to_owned()).collect();
            self.0.lock().unwrap().push((e.chosen_id.to_string(), labels, evidence.winner().is_some()));
        }
        Ok(())
    }
}

/// Proves LLM-103: rules are tried in order, the first that matches wins, and each leaves its label and threshold.
#[tokio::test]
async fn the_gate_tries_its_rules_in_order_and_says_which_won() {
    let decided = async |off: bool, read: u64| {
        let usage = Usage::new(100, 1).with_cache_read(read);
        let script = Script::by(move |at, _| {
            Ok(LlmResponse { usage, ..if at < 4 { look(&format!("c{at}")) } else { say("done") } })
        })
        .with_capabilities(caching());
        let agent = agent(&script).system("Base.").tool(looking("seen")).caching(!off).build().unwrap();
        let gate = Arc::new(Gate::default());
        agent.run("go").options(RunOptions::new().observe(gate.clone())).await;
        gate.0.lock().unwrap().clone()
    };
    let off = decided(true, 0).await;
    assert!(
        off.iter()
            .all(|(branch, labels, won)| branch == "no-markers" && *won && labels[0].contains("kill switch"))
    );
    let cold = decided(false, 0).await;
    let branches: Vec<&str> = cold.iter().map(|(branch, ..)| branch.as_str()).collect();
    assert_eq!(branches, ["apply-markers", "apply-markers", "apply-markers", "no-markers", "no-markers"]);
    assert!(cold[3].1[1].contains("below 0.30"), "{:?}", cold[3]);
    assert_eq!((cold[0].1.len(), cold[0].2), (3, false), "all three were tried, none matched");
    assert!(cold[0].1[2].contains("3 or more skills among the last 5"));
    let warm = decided(false, 900).await;
    assert!(warm.iter().all(|(branch, ..)| branch == "apply-markers"));
}

fn known<T: Copy>(claim: &Claim<T>) -> T {
    *claim.known_value().expect("known")
}

/// Proves LLM-108: a row per call, matched with the gate's decision also where it is nested; numbers are claims over the calls
/// that were measured and say over how many; without prices every amount is a zero that says so.
#[tokio::test]
async fn the_meter_counts_what_was_measured_and_says_over_what() {
    for mode in [AgentReactMode::Dynamic, AgentReactMode::DynamicGrouped] {
        let script = Script::by(|at, _| {
            let usage = match at {
                0 => Usage::new(90, 1).with_cache_write(10),
                1 => Usage::unmeasured(),
                2 => Usage::new(10, 1).with_cache_read(90),
                _ => Usage::new(5, 1),
            };
            Ok(LlmResponse { usage, ..if at < 3 { look(&format!("c{at}")) } else { say("done") } })
        })
        .with_capabilities(caching());
        let prices = ModelPrices {
            input: Some(10.0),
            output: Some(0.0),
            cache_read: Some(1.0),
            cache_write: Some(12.5),
            thinking: None,
        };
        let builder = agent(&script).system("Base.").tool(looking("seen")).react_mode(mode);
        let agent = builder.pricing(StaticPricing::new("list").any_model(prices)).build().unwrap();
        let meter = agent.cache_meter();
        let heard = Heard::default();
        agent.run("go").options(meter.attach(heard.options())).await;
        let rows = meter.rows();
        assert_eq!(rows.iter().map(|row| row.iteration).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert!(rows.iter().all(|row| row.branch == "apply-markers" && row.rule.is_none()), "{rows:#?}");
        assert_eq!(known(&rows[0].dollars_spent), 900.0 + 125.0);
        assert_eq!(known(&rows[0].dollars_saved_vs_no_cache), -25.0);
        assert_eq!(known(&rows[2].dollars_saved_vs_no_cache), 810.0);
        assert_eq!(rows[1].metrics, Claim::Unknown { reason: "the provider reported no usage".into() });
        assert!(format!("{:?}", rows[3].metrics).contains("neither cache reads nor cache writes"));
        assert_eq!(known(&rows[3].dollars_spent), 50.0, "its cost is known, its cache use is not");

        let summary = meter.summary();
        assert_eq!(
            (summary.total_iterations, summary.apply_markers_iterations, summary.no_markers_iterations),
            (4, 4, 0)
        );
        assert_eq!((summary.measured_iterations, summary.unmeasured_iterations), (2, 2));
        assert_eq!(known(&summary.cache_read_tokens_total), 90);
        assert_eq!(known(&summary.cache_write_tokens_total), 10);
        assert_eq!(known(&summary.fresh_input_tokens_total), 100);
        assert_eq!(known(&summary.hit_rate), 0.45);
        assert!(summary.hit_rate.to_string().contains("2 of 4 calls"), "{}", summary.hit_rate);
        assert_eq!(known(&summary.estimated_dollars_saved_vs_no_cache), 785.0);
        let json = Value::from(&summary);
        assert_eq!(json["hitRate"]["kind"], json!("known"));
        assert_eq!(json["perIter"][1]["metrics"]["kind"], json!("unknown"));
        assert!(heard.names().iter().all(|name| !name.starts_with("cache.")));
    }
}

/// Proves LLM-108: nobody measured is not zero, and what cannot be measured is neither.
#[tokio::test]
async fn nothing_measured_is_never_a_zero() {
    let metered = async |capabilities: Capabilities| {
        let script = Script::new([LlmResponse { usage: Usage::new(5, 1), ..say("done") }])
            .with_capabilities(capabilities);
        let agent = agent(&script).build().unwrap();
        let meter: CacheMeter = agent.cache_meter();
        agent.run("go").options(meter.attach(RunOptions::new())).await;
        meter.summary()
    };
    let unknown = metered(caching()).await;
    assert_eq!(unknown.hit_rate.known_value(), None);
    assert!(
        unknown.hit_rate.to_string().starts_with("unknown (the provider reported neither"),
        "{}",
        unknown.hit_rate
    );
    assert_eq!(known(&unknown.estimated_dollars_spent), 0.0);
    assert!(unknown.estimated_dollars_spent.to_string().contains("no pricing table"));
    let cannot = metered(Capabilities::default()).await;
    assert!(matches!(cannot.hit_rate, Claim::NotApplicable { .. }), "{}", cannot.hit_rate);
    assert_eq!(agent(&Script::new([])).build().unwrap().cache_meter().summary().hit_rate.known_value(), None);
}
