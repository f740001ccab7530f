use agentfootprint_core::agent::{Agent, AgentBuilder, AgentReactMode, OutputOptions, Typed};
use agentfootprint_core::injection::{Fact, Predicate, RawInjection, Trigger};
use agentfootprint_core::llm::{Capabilities, RoleSet};
use agentfootprint_core::run::ChartRunner as _;
use agentfootprint_core::tools::Tool;
use agentfootprint_record::events::words::ContextSource;
use agentfootprint_record::message::Role;
use footprint::value::Value;

use crate::support::*;

/// The nodes of a chart in the order of their declaration, subflows in braces, branches in brackets, a loop as `^target`.
fn nodes(agent: &Agent) -> String {
    let structure = agent.spec().structure().to_value().unwrap();
    let mut out = String::new();
    write(&structure, &mut out);
    out
}

fn write(node: &Value, out: &mut String) {
    out.push_str(node["id"].as_str().unwrap());
    if let Some(inner) = node.get("subflowStructure") {
        out.push('{');
        write(inner, out);
        out.push('}');
    }
    if let Some(children) = node.get("children").and_then(Value::as_array) {
        out.push('[');
        for (at, child) in children.iter().enumerate() {
            if at > 0 {
                out.push_str(" | ");
            }
            write(child, out);
        }
        out.push(']');
    }
    if let Some(target) = node.get("loopTarget").and_then(Value::as_str) {
        out.push('^');
        out.push_str(target);
    }
    if let Some(next) = node.get("next") {
        out.push_str(" > ");
        write(next, out);
    }
}

fn plain() -> AgentBuilder {
    agent(&Script::new([]))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Ticket {
    title: String,
}

/// What may be mounted besides.
#[derive(Clone, Copy, Default)]
struct Mounts {
    deliver: bool,
    thinking: bool,
    output_retry: bool,
    wrap_up: bool,
}

/// The chart the specification draws (AGT §8.1, §8.2).
fn drawn(grouped: bool, with: Mounts) -> String {
    let target = if grouped { "sf-llm-call" } else { "sf-injection-engine" };
    let when = |mounted: bool, text: &str| if mounted { text.to_owned() } else { String::new() };
    let turn = format!(
        "sf-injection-engine{{gather > evaluate > route > delta}} > {}context[sf-system-prompt{{compose}} | \
         sf-messages{{compose}} | sf-tools{{discover > compose}}] > sf-cache{{decide-cache-markers > \
         cache-gate[apply-markers | no-markers]}} > call-llm{}",
        when(with.deliver, "deliver > "),
        when(with.thinking, " > sf-thinking{thinking-plain}"),
    );
    let turn = if grouped { format!("sf-llm-call{{turn-seed > {turn}}}") } else { turn };
    let branch = |id: &str| format!("{id}^{target} > {target} | ");
    format!(
        "seed > {turn} > sf-route[{}{}{}final{{prepare-final > break-final}}]",
        branch("tool-calls"),
        when(with.output_retry, &branch("output-retry")),
        when(with.wrap_up, &branch("wrap-up")),
    )
}

/// Proves P-1, AGT-35: every mode with every mount on and off.
#[test]
fn the_chart_is_as_it_is_drawn() {
    let modes = [AgentReactMode::Dynamic, AgentReactMode::Classic, AgentReactMode::DynamicGrouped];
    for mode in modes {
        for bits in 0..16_u32 {
            let on = |bit: u32| bits & (1 << bit) != 0;
            let with = Mounts { deliver: on(0), thinking: on(1), output_retry: on(2), wrap_up: on(3) };
            let mut builder = plain().react_mode(mode);
            if with.deliver {
                builder = builder.fact(Fact::new("hours", "9 to 5").in_messages(Role::User));
            }
            if with.thinking {
                builder = builder.thinking_handler(Plain);
            }
            if with.output_retry {
                builder = builder.output_schema(Typed::<Ticket>::new(), OutputOptions::new().retries(1));
            }
            if with.wrap_up {
                builder = builder.tool(looking("seen"));
            }
            let agent = builder.build().unwrap();
            assert_eq!(
                nodes(&agent),
                drawn(mode == AgentReactMode::DynamicGrouped, with),
                "{mode:?} {bits:04b}"
            );
        }
    }
    let no_wrap_up = plain().tool(looking("seen")).wrap_up_at_max_iterations(false).build().unwrap();
    assert_eq!(nodes(&no_wrap_up), drawn(false, Mounts::default()));
    let thoughtful = Capabilities::default().with_thinking_handler(std::sync::Arc::new(Plain));
    let script = Script::new([]).with_capabilities(thoughtful);
    let with = Mounts { thinking: true, ..Mounts::default() };
    assert_eq!(nodes(&agent(&script).build().unwrap()), drawn(false, with));
    assert_eq!(
        nodes(&agent(&script).no_thinking_handler().build().unwrap()),
        drawn(false, Mounts::default())
    );
}

fn late_rule() -> RawInjection {
    let tool = Tool::builder("late_tool")
        .description("Late.")
        .handler(|_: Value, _| async { "late" })
        .build()
        .unwrap();
    RawInjection::new("late", ContextSource::Instructions)
        .trigger(Trigger::Rule(Predicate::new(|cx| cx.iteration() > 2)))
        .system_prompt("Now hurry.")
        .tool(tool)
}

/// Proves P-6, AGT-39.
#[tokio::test]
async fn classic_keeps_what_the_first_iteration_composed() {
    for (mode, follows) in [(AgentReactMode::Classic, false), (AgentReactMode::Dynamic, true)] {
        let script = Script::by(|at, _| Ok(if at < 2 { look(&format!("c{at}")) } else { say("done") }));
        let agent = agent(&script)
            .system("Be calm.")
            .tool(looking("seen"))
            .injection(late_rule())
            .react_mode(mode)
            .build()
            .unwrap();
        let (report, heard) = run(&agent, "go").await;
        assert_eq!(report.answer().unwrap(), "done");
        let (first, third) = (script.request(0), script.request(2));
        let prompt =
            |request: &agentfootprint_core::llm::LlmRequest| request.system_prompt().unwrap().to_string();
        assert_eq!(prompt(&first), "Be calm.");
        assert_eq!(prompt(&third).contains("Now hurry."), follows, "{mode:?}");
        assert_eq!(third.tools.iter().any(|tool| &*tool.name == "late_tool"), follows, "{mode:?}");
        assert_eq!(third.messages().to_value().as_array().unwrap().len(), 5);
        let composed = heard.of("context.slot_composed");
        let of = |slot: &str| composed.iter().filter(|row| row["slot"].as_str() == Some(slot)).count();
        let static_slots = if follows { 3 } else { 1 };
        assert_eq!(
            (of("system-prompt"), of("messages"), of("tools")),
            (static_slots, 3, static_slots),
            "{mode:?}"
        );
    }
}

/// Proves P-5, AGT-44: what crosses the group's boundary is enough for the same run.
#[tokio::test]
async fn grouped_and_flat_run_the_same_turn() {
    let mut seen = Vec::new();
    for mode in [AgentReactMode::Dynamic, AgentReactMode::DynamicGrouped] {
        let script = Script::by(|at, _| {
            let mut response = match at {
                0 | 1 => look(&format!("c{at}")),
                2 => say("no JSON"),
                _ => say(r#"{"title":"Mouse"}"#),
            };
            response.usage = agentfootprint_core::llm::Usage::new(100, 10).with_cache_read(40);
            Ok(response)
        })
        .with_capabilities(Capabilities::default().carrying(RoleSet::ALL));
        let agent = agent(&script)
            .system("Be calm.")
            .tool(looking("seen"))
            .injection(late_rule())
            .fact(Fact::new("hours", "9 to 5").in_messages(Role::User).active_when(|cx| cx.iteration() > 1))
            .output_schema(Typed::<Ticket>::new(), OutputOptions::new().retries(2))
            .configure(|_| Some(agentfootprint_core::agent::RunConfig::new().model("other")))
            .react_mode(mode)
            .build()
            .unwrap();
        let (report, heard) = run(&agent, "go").await;
        let requests: Vec<Value> = (0..script.calls())
            .map(|at| {
                let mut request =
                    Value::from_serialize(&script.request(at)).unwrap().as_object().unwrap().clone();
                request.remove("cacheMarkers");
                Value::from(request)
            })
            .collect();
        let routes: Vec<Value> =
            heard.of("agent.route_decided").iter().map(|route| route["chosen"].clone()).collect();
        let keys =
            ["history", "totalInputTokens", "totalOutputTokens", "totalCacheReadTokens", "finalContent"];
        let states: Vec<Option<Value>> = keys.iter().map(|key| state(&report, key)).collect();
        seen.push((report.answer().unwrap().clone(), requests, routes, states));
    }
    assert_eq!(seen[0].1.len(), 4);
    assert_eq!(seen[0], seen[1]);
}
