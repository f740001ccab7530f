//! Sequence, Conditional, Loop and Workflow.

use std::sync::Arc;
use std::time::Duration;

use agentfootprint_core::compose::{Conditional, Loop, Sequence, Step, Workflow};
use agentfootprint_core::run::{ChartRunner as _, RunOptions, Runner, SequentialIds};
use footprint::clock::ManualClock;
use serde::{Deserialize, Serialize};

use crate::support::*;

/// Proves AGT-113, AGT-118: text in, text out, each step in its own mount.
#[tokio::test]
async fn a_sequence_hands_text_on() {
    let flow = Sequence::builder("flow")
        .name("Flow")
        .step("a", wrapping("a"))
        .pipe_via(|text| format!("[{text}]"))
        .step("b", wrapping("b"))
        .build()
        .unwrap();
    let (report, heard) = run(&flow, "x").await;
    assert_eq!(report.answer().unwrap(), "b([a(x)])");
    assert_eq!(report.record.state().get("current").unwrap(), "b([a(x)])");
    assert_eq!(heard.pairs(), ["+flow", "-flow ok"]);
    let enter = &heard.of("composition.enter")[0];
    assert_eq!(enter, &json!({"kind": "Sequence", "id": "flow", "name": "Flow", "childCount": 2}));
    let steps = heard.steps("stream.llm_start");
    assert!(steps[0].contains("step-a/sf-llm-call/call-llm#"), "{steps:?}");
    assert!(steps[1].contains("step-b/sf-llm-call/call-llm#"));
    assert!(heard.all().iter().all(|event| event["meta"]["compositionPath"] == json!(["Sequence:flow"])));
}

/// Proves AGT-113: a member's own listeners do not hear a run of its composition.
#[tokio::test]
async fn a_members_own_listeners_stay_silent() {
    let inner = wrapping("a");
    let heard = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = Arc::clone(&heard);
    let _guard = inner
        .events()
        .on("*", move |_| {
            counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        })
        .unwrap();
    let flow = Sequence::builder("flow").step("a", inner.clone()).build().unwrap();
    answer(&flow, "x").await;
    assert_eq!(heard.load(std::sync::atomic::Ordering::SeqCst), 0);
    answer(&inner, "x").await;
    assert!(heard.load(std::sync::atomic::Ordering::SeqCst) > 0);
}

/// Proves AGT-114: a call ends with a break, and the steps behind it still run.
#[tokio::test]
async fn a_members_break_stops_the_member_only() {
    let flow = Sequence::builder("flow").step("a", wrapping("a")).step("b", wrapping("b")).build().unwrap();
    let (report, _) = run(&flow, "x").await;
    assert_eq!(report.answer().unwrap(), "b(a(x))");
}

/// Proves AGT-124: declaration order, first true wins, otherwise for the rest.
#[tokio::test]
async fn a_conditional_takes_the_first_branch_that_fits() {
    let desk = Conditional::builder("desk")
        .when("first", |text| text.starts_with('a'), wrapping("first"))
        .when("second", |text| text.len() > 1, wrapping("second"))
        .otherwise("rest", wrapping("rest"))
        .build()
        .unwrap();
    for (message, branch) in [("ab", "first"), ("bb", "second"), ("b", "rest")] {
        let (report, heard) = run(&desk, message).await;
        assert_eq!(report.answer().unwrap(), &format!("{branch}({message})"));
        let decided = heard.of("composition.route_decided");
        assert_eq!(decided.len(), 1);
        assert_eq!((&decided[0]["conditionalId"], &decided[0]["chosen"]), (&json!("desk"), &json!(branch)));
        assert!(decided[0]["rationale"].as_str().unwrap().contains(branch));
        assert_eq!(heard.pairs(), ["+desk", "-desk ok"]);
    }
}

/// Proves AGT-124: a predicate that panics fails the run, and the message says which.
#[tokio::test]
async fn a_panicking_predicate_is_named() {
    let desk = Conditional::builder("desk")
        .when("odd", |_| panic!("boom"), wrapping("odd"))
        .otherwise("rest", wrapping("rest"))
        .build()
        .unwrap();
    let (report, heard) = run(&desk, "x").await;
    let text = report.error().unwrap().to_string();
    assert!(text.contains("branch `odd`") && text.contains("boom") && text.contains("`desk`"), "{text}");
    assert_eq!(heard.pairs(), ["+desk", "-desk err"]);
}

/// Proves AGT-125: the limit, the guard, and what each of them is called.
#[tokio::test]
async fn a_loop_ends_by_its_guard_or_its_budget() {
    let reasons = |heard: &Heard| {
        heard
            .of("composition.iteration_exit")
            .iter()
            .map(|payload| payload["reason"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let guarded =
        Loop::builder("l").repeat(wrapping("x")).times(5).until(|at| at.iteration == 2).build().unwrap();
    let (report, heard) = run(&guarded, "a").await;
    assert_eq!(report.answer().unwrap(), "x(x(a))");
    assert_eq!(reasons(&heard), ["body_complete", "guard_false"]);
    assert_eq!(heard.pairs(), ["+l", "-l ok"]);
    assert_eq!(heard.of("composition.iteration_start").len(), 2);

    // The budget is looked at before the guard.
    let spent =
        Loop::builder("l").repeat(wrapping("x")).times(2).until(|at| at.iteration == 2).build().unwrap();
    let (report, heard) = run(&spent, "a").await;
    assert_eq!(report.answer().unwrap(), "x(x(a))");
    assert_eq!(reasons(&heard), ["body_complete", "budget"]);
    assert_eq!(heard.pairs(), ["+l", "-l budget_exhausted"]);
}

/// Proves AGT-125: the wall clock is looked at between passes only.
#[tokio::test]
async fn a_loop_ends_by_its_clock() {
    let clock = Arc::new(ManualClock::at(1000));
    let ticking = Arc::clone(&clock);
    let script = Script::by(move |_, request| {
        ticking.advance_ms(40);
        Ok(agentfootprint_core::llm::LlmResponse::text(format!("{}.", last(request))))
    });
    let timed = Loop::builder("l")
        .repeat(call("x", &script))
        .times(500)
        .for_at_most(Duration::from_millis(100))
        .build()
        .unwrap();
    let heard = Heard::default();
    let options = heard.on(RunOptions::new().clock(clock).ids(Arc::new(SequentialIds::default())));
    let report = timed.run("a").options(options).await;
    assert_eq!(report.answer().unwrap(), "a...");
    assert_eq!(heard.of("composition.exit")[0]["status"], "budget_exhausted");
    // Proves AGT-117: the time of the loop itself.
    assert_eq!(heard.of("composition.exit")[0]["durationMs"], 120);
}

/// Proves AGT-125: a guard that panics fails the run.
#[tokio::test]
async fn a_panicking_guard_is_named() {
    let looped = Loop::builder("l").repeat(wrapping("x")).until(|_| panic!("boom")).build().unwrap();
    let (report, heard) = run(&looped, "a").await;
    let text = report.error().unwrap().to_string();
    assert!(text.contains("`until` guard of Loop `l`") && text.contains("boom"), "{text}");
    assert_eq!(heard.pairs(), ["+l", "-l err"]);
}

/// Proves AGT-4, ENG-113: a loop may pass as often as it is declared to.
#[tokio::test]
async fn the_engines_limit_makes_room_for_the_longest_loop() {
    let script = Script::by(|at, _| Ok(agentfootprint_core::llm::LlmResponse::text(at.to_string())));
    let looped = Loop::builder("l").repeat(call("x", &script)).times(200).build().unwrap();
    assert_eq!(answer(&looped, "a").await, "199");
    let flow = Sequence::builder("s").step("l", looped).build().unwrap();
    assert_eq!(answer(&flow, "a").await, "399");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    items: u32,
}

/// Proves AGT-126: text travels as a message, an object as it is.
#[tokio::test]
async fn a_workflow_hands_typed_values_on() {
    let read = Step::function("read", |text: String| text.parse().map(|items| Order { items }));
    let total = Step::function("total", |order: Order| Ok::<_, String>(format!("{} EUR", order.items * 3)));
    let price: Workflow<String, String> = Workflow::builder("price")
        .then(read)
        .then(total)
        .then(Step::runner(wrapping("say")))
        .build()
        .unwrap();
    let (report, heard) = run(&price, "14").await;
    assert_eq!(report.answer().unwrap(), "say(42 EUR)");
    let enter = &heard.of("composition.enter")[0];
    assert_eq!((&enter["kind"], &enter["id"]), (&json!("Sequence"), &json!("price")));
    assert_eq!(heard.all()[0]["meta"]["compositionPath"], json!(["Workflow:price"]));
    let ids: Vec<String> =
        price.spec().structure().root().level().map(|node| node.node().id.to_string()).collect();
    assert_eq!(ids, ["seed", "step-1", "step-2", "step-3", "finalize"]);
    let seeded = report.record.snapshot().subtree("step-2").unwrap().tree_context.global_context.clone();
    assert_eq!(seeded.get("items").unwrap(), &json!(14));
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bill {
    euros: u32,
}

/// Proves AGT-126: an object of one step leaves nothing behind in the object of the next.
#[tokio::test]
async fn objects_of_a_workflow_do_not_mix() {
    let bill: Workflow<Order, Bill> = Workflow::builder("bill")
        .then(Step::function("price", |order: Order| Ok::<_, String>(Bill { euros: order.items * 3 })))
        .then(Step::function("vat", |bill: Bill| Ok::<_, String>(Bill { euros: bill.euros + 1 })))
        .build()
        .unwrap();
    let report = bill.run_with(&Order { items: 4 }).unwrap().await;
    assert_eq!(report.answer().unwrap(), &Bill { euros: 13 });
}

/// Proves AGT-126: typed in, typed out, also as a step of another workflow.
#[tokio::test]
async fn a_workflow_is_a_step_of_another() {
    let double: Workflow<Order, Order> = Workflow::builder("double")
        .then(Step::function("twice", |order: Order| Ok::<_, String>(Order { items: order.items * 2 })))
        .build()
        .unwrap();
    let report = double.run_with(&Order { items: 4 }).unwrap().await;
    assert_eq!(report.answer().unwrap(), &Order { items: 8 });
    let outer: Workflow<Order, Order> = Workflow::builder("outer")
        .then(Step::workflow(&double))
        .then(Step::workflow(&double))
        .build()
        .unwrap();
    assert_eq!(outer.run_with(&Order { items: 1 }).unwrap().await.answer().unwrap(), &Order { items: 4 });
}

/// Proves AGT-126: anything but text and objects is refused, and the step is named.
#[tokio::test]
async fn a_workflow_refuses_other_values_by_step() {
    let flow: Workflow<String, String> = Workflow::builder("w")
        .then(Step::function("count", |text: String| Ok::<_, String>(text.len())))
        .then(Step::function("show", |count: usize| Ok::<_, String>(count.to_string())))
        .build()
        .unwrap();
    let text = error(&flow, "abc").await;
    assert!(text.contains("step 2 (`show`)") && text.contains("number"), "{text}");
    let failing: Workflow<String, String> = Workflow::builder("w")
        .then(Step::function("no", |_: String| Err::<String, _>("not today")))
        .build()
        .unwrap();
    let text = error(&failing, "abc").await;
    assert!(
        text.contains("Workflow `w`") && text.contains("step `1`") && text.contains("not today"),
        "{text}"
    );
}

/// The group of AGT-14 is complete, and the same on every call.
#[test]
fn groups_show_members_and_facts() {
    let looped = Loop::builder("l")
        .repeat(Sequence::builder("s").step("a", wrapping("a")).build().unwrap())
        .for_at_most(Duration::from_secs(1))
        .until(|_| true)
        .build()
        .unwrap();
    let group = looped.ui_group();
    assert_eq!(group, looped.ui_group());
    assert_eq!((group.kind, &*group.members[0].0, group.members[0].1.kind), ("Loop", "body", "Sequence"));
    assert_eq!(
        group.extra.unwrap(),
        json!({"maxIterations": 10, "maxWallclockMs": 1000, "hasUntilGuard": true})
    );
    let desk = Conditional::builder("d")
        .when("a", |_| true, wrapping("a"))
        .otherwise("b", wrapping("b"))
        .build()
        .unwrap()
        .ui_group();
    assert_eq!(desk.extra.unwrap(), json!({"fallbackId": "b"}));
    assert_eq!(wrapping("x").ui_group().extra.unwrap(), json!({"slots": ["system-prompt", "messages"]}));
}

/// Proves AGT-1, AGT-6: the chart is one value for the life of the runner, and a recorder is attached once per id.
#[tokio::test]
async fn the_chart_is_the_same_value_before_and_after_runs() {
    let flow = Sequence::builder("s").step("a", wrapping("a")).build().unwrap();
    let before = flow.spec();
    answer(&flow, "x").await;
    assert!(std::ptr::eq(before.structure(), flow.spec().structure()));
    let seen = Arc::new(Counting::default());
    flow.attach(seen.clone()).keep();
    flow.attach(seen.clone()).keep();
    answer(&flow, "x").await;
    assert_eq!(seen.0.load(std::sync::atomic::Ordering::SeqCst), 1);
}

/// Counts the runs it sees.
#[derive(Default)]
struct Counting(std::sync::atomic::AtomicUsize);

impl footprint::observe::Recorder for Counting {
    fn id(&self) -> &str {
        "counting"
    }

    fn on_run_start(
        &self,
        _cx: &footprint::observe::EventCx<'_>,
        _e: &footprint::observe::RunStartEvent,
    ) -> footprint::observe::HookResult {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }
}

/// Proves AGT-14: the metadata is computed once and complete before a translator sees it; a member's own translator wins over the
/// one that is handed down, also below it; translating changes nothing of what is kept.
#[tokio::test]
async fn groups_are_translated_from_the_inside() {
    use agentfootprint_core::run::{ChartRunner as _, UiTranslator, translated};
    let inner = Sequence::builder("inner").step("x", wrapping("x")).build().unwrap();
    let boxed = UiTranslator::new(|group| {
        let inside = group.members.iter().map(|(_, member)| member.translated.clone().unwrap().to_string());
        json!(format!("[{} {}]", group.id, inside.collect::<Vec<_>>().join(" ")))
    });
    let flow = Sequence::builder("flow")
        .step("plain", inner.clone())
        .step("boxed", translated(inner, boxed))
        .build()
        .unwrap();
    let kept = flow.ui_group();
    let drawn = flow.ui_group_with(&UiTranslator::new(|group| {
        let members = group.members.iter().map(|(id, member)| {
            footprint::value::Value::from(format!("{id}={}", member.translated.clone().unwrap()))
        });
        json!({ "id": (group.id.clone()), "members": (members.collect::<footprint::value::Array>()) })
    }));
    let leaf = kept.members[0].1.members[0].1.id.clone();
    assert_eq!(drawn["id"], json!("flow"));
    assert_eq!(
        drawn["members"][0].as_str().unwrap(),
        format!(r#"plain={{"id":"inner","members":["x={{\"id\":\"{leaf}\",\"members\":[]}}"]}}"#)
    );
    assert_eq!(drawn["members"][1].as_str().unwrap(), format!(r#"boxed="[inner \"[{leaf} ]\"]""#));
    assert_eq!(flow.ui_group(), kept);
    assert_eq!(kept.extra, flow.ui_group().extra);
}
