//! What observers are told, and when; what the snapshot keeps of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use footprint::chart::{Chart, FanOut, Mount, Selector, Stage};
use footprint::clock::ManualClock;
use footprint::decide::{Rule, field, select};
use footprint::detach::{BlockingDriver, DetachCounts, DetachDriver, Detacher};
use footprint::error::StageError;
use footprint::ids::RunId;
use footprint::observe::{
    Channel, Delivery, Event, EventCx, Hook, HookResult, Interest, Payload, Recorder, RecorderBundle,
};
use footprint::scope::Scope;
use footprint::snapshot::PreferredOperation;
use footprint::value;
use footprint::value::Value;
use footprint::walk::{Diagnostics, RunOptions, Warning};

use super::support::*;

#[derive(Default)]
struct Kept(Mutex<Vec<Event>>);

impl Kept {
    fn json(&self, hook: Hook) -> Vec<Value> {
        self.0.lock().unwrap().iter().filter(|e| e.hook() == hook).map(Event::to_json).collect()
    }
}

impl Recorder for Kept {
    fn id(&self) -> &str {
        "kept"
    }
    fn on_event(&self, cx: &EventCx<'_>, e: &Payload) -> HookResult {
        self.0.lock().unwrap().push(Event::capture(cx, e));
        Ok(())
    }
}

async fn kept(chart: &Chart, options: RunOptions) -> Arc<Kept> {
    let kept = Arc::new(Kept::default());
    chart.run(options.observe(kept.clone())).await;
    kept
}

/// Proves OBS-17: a selector that selects nothing says so, with its evidence, and counts as executed.
#[tokio::test]
async fn an_empty_selection_is_told() {
    let pick = Selector::new("pick", |s: Scope| async move {
        Ok(select(&s, &[Rule::when(field("n").gt(5), "a").label("many")]))
    });
    let chart = build(Chart::builder(mark("n")).select(pick.branch(mark("a"))).then(mark("after")));
    let kept = kept(&chart, RunOptions::new()).await;
    let selected = kept.json(Hook::Selected);
    assert_eq!(selected.len(), 1);
    assert_eq!((&selected[0]["selected"], &selected[0]["total"]), (&value!([]), &value!(1)));
    assert!(!selected[0]["evidence"].is_null());
    let executed: Vec<Value> = kept
        .json(Hook::StageExecuted)
        .iter()
        .map(|e| value!([(e["stageName"].clone()), (e["stageType"].clone())]))
        .collect();
    assert_eq!(
        executed,
        [value!(["n", "linear"]), value!(["pick", "selector"]), value!(["after", "linear"])]
    );
    assert!(kept.json(Hook::Fork).is_empty());
}

/// Proves OBS-23: a stage with children counts twice, first as itself, then as their fork; a selector once, by its own name.
#[tokio::test]
async fn a_stage_with_children_is_executed_twice() {
    let pick = Selector::new("pick", |_: Scope| async { Ok("a") }).named("Pick");
    let chart = build(
        Chart::builder(mark("both")).fork([mark("x")], FanOut::AllSettled).select(pick.branch(mark("a"))),
    );
    let kept = kept(&chart, RunOptions::new()).await;
    let executed: Vec<String> = kept
        .json(Hook::StageExecuted)
        .iter()
        .map(|e| format!("{} {}", e["traversalContext"]["runtimeStageId"], e["stageType"]))
        .collect();
    assert_eq!(
        executed,
        [
            "\"both#0\" \"linear\"",
            "\"both#0\" \"fork\"",
            "\"x#1\" \"linear\"",
            "\"pick#2\" \"selector\"",
            "\"a#3\" \"linear\""
        ]
    );
    assert_eq!(kept.json(Hook::Fork)[1]["parent"], value!("Pick"));
}

/// Proves OBS-25: one commit event per bundle, with that bundle's own mutations and no other's.
#[tokio::test]
async fn each_bundle_is_told_once() {
    let inner = build(Chart::builder(mark("in")));
    let chart = build(
        Chart::builder(mark("a"))
            .fork([Mount::of("sf", &inner).output_keys([("in", "got")])], FanOut::AllSettled),
    );
    let kept = Arc::new(Kept::default());
    let report = chart.run(RunOptions::new().observe(kept.clone())).await;
    let events = kept.0.lock().unwrap();
    let told: Vec<String> = events
        .iter()
        .filter_map(|e| match &e.payload {
            Payload::Commit(commit) => {
                let keys: Vec<&str> = commit.mutations.iter().map(|m| &*m.key).collect();
                let phase = commit.bundle.phase.map_or("own", |phase| phase.as_str());
                Some(format!("{} {phase} [{}]", e.cx.traversal.runtime_stage_id, keys.join(",")))
            }
            _ => None,
        })
        .collect();
    assert_eq!(told, ["a#0 own [a]", "sf/in#2 own [in]", "sf#1 own [got]", "sf#1 exit []", "sf#1 repeat []"]);
    let inner = &report.snapshot().subflow_results["sf#1"].tree_context.history;
    assert_eq!(told.len(), report.snapshot().commit_log.len() + inner.len());
}

/// Proves OBS-5, OBS-6, OBS-11, OBS-12, ENG-13: run boundaries stand at the root address, every address parses, the run id is
/// one, and times are whole milliseconds of the run's clock.
#[tokio::test]
async fn boundaries_and_times() {
    let inner = build(Chart::builder(mark("in")));
    let chart = build(Chart::builder(mark("a")).mount(Mount::of("sf", &inner)));
    let clock = Arc::new(ManualClock::at(1_700_000_000_123));
    let kept = kept(&chart, RunOptions::new().clock(clock).input(value!({ "x": 1 }))).await;
    let events = kept.0.lock().unwrap();
    for (event, at) in [(&events[0], Hook::RunStart), (&events[events.len() - 1], Hook::RunEnd)] {
        assert_eq!(event.hook(), at);
        assert_eq!(event.cx.traversal.runtime_stage_id.to_string(), "__root__#0");
        assert_eq!((&*event.cx.traversal.stage_name, event.cx.traversal.depth), ("__root__", 0));
    }
    let run_id = events[0].cx.run_id.to_string();
    let (ms, count) = run_id.split_once('-').unwrap();
    assert!(ms.parse::<u64>().is_ok() && count.len() == 10 && count.parse::<u64>().is_ok(), "{run_id}");
    for event in events.iter() {
        assert_eq!(event.cx.run_id.to_string(), run_id);
        let address = event.cx.traversal.runtime_stage_id.to_string();
        let parsed = footprint::ids::RuntimeStageId::parse(&address);
        assert_eq!(parsed, event.cx.traversal.runtime_stage_id);
        if event.hook() == Hook::Write {
            assert_eq!(event.to_json()["timestamp"], value!(1_700_000_000_123_u64));
        }
    }
}

/// Proves OBS-29, OBS-30, OBS-32: the table names every hook once, each has its own method and bit, and an observer that says
/// nothing gets everything.
#[test]
fn the_hook_table() {
    struct Plain;
    impl Recorder for Plain {
        fn id(&self) -> &str {
            "plain"
        }
    }
    assert_eq!(Plain.interest(), Interest::ALL);
    assert!(Plain.delivery().is_none() && Plain.snapshot(&RunId::new("r")).is_none());
    let mut methods: Vec<&str> = Hook::ALL.iter().map(|hook| hook.method_name()).collect();
    methods.sort_unstable();
    methods.dedup();
    assert_eq!((methods.len(), Hook::COUNT), (Hook::ALL.len(), Hook::ALL.len()));
    for (at, hook) in Hook::ALL.iter().enumerate() {
        assert!(hook.method_name().starts_with("on_") && hook.json_name().starts_with("on"));
        let same = |other: &&Hook| other.json_name() == hook.json_name() && other.channel() == hook.channel();
        assert_eq!(Hook::ALL.iter().filter(same).count(), 1);
        assert_eq!(Interest::of(*hook).iter().collect::<Vec<_>>(), [*hook], "hook {at}");
        assert!(Interest::channel(hook.channel()).contains(*hook));
    }
    let channels = [Channel::Scope, Channel::Flow, Channel::Emit].map(Interest::channel);
    assert_eq!(channels[0] | channels[1] | channels[2], Interest::ALL);
    assert!(!channels[0].intersects(channels[1]) && !channels[1].intersects(channels[2]));
}

/// Proves OBS-37: the list of observers is the one the run began with.
#[tokio::test]
async fn later_observers_see_later_runs() {
    let chart = build(Chart::builder(mark("a")));
    let (early, late) = (Lines::new(), Arc::new(Kept::default()));
    let template = RunOptions::new().observe(early.clone());
    let run = chart.run(template.clone());
    let template = template.observe(late.clone());
    run.await;
    assert!(!early.all().is_empty() && late.0.lock().unwrap().is_empty());
    chart.run(template).await;
    assert!(!late.0.lock().unwrap().is_empty());
}

/// Proves OBS-8, OBS-43: an event is built once for all observers, and a kept value is the recorded one, never what became
/// of the key later.
#[tokio::test]
async fn events_are_shared_and_never_change() {
    struct Places(&'static str, Arc<Mutex<Vec<(usize, Value)>>>);
    impl Recorder for Places {
        fn id(&self) -> &str {
            self.0
        }
        fn interest(&self) -> Interest {
            Interest::of(Hook::Write) | Interest::of(Hook::Emit)
        }
        fn on_event(&self, _: &EventCx<'_>, e: &Payload) -> HookResult {
            if let Payload::Write(write) = e {
                self.1.lock().unwrap().push((std::ptr::from_ref(e) as usize, write.value.clone().unwrap()));
            }
            Ok(())
        }
    }
    let built = Arc::new(AtomicUsize::new(0));
    let count = built.clone();
    let chart = build(
        Chart::builder(Stage::new("a", move |s: Scope| {
            let count = count.clone();
            async move {
                s.set_value("list", [1, 2])?;
                s.emit_with("seen", || count.fetch_add(1, Ordering::Relaxed))?;
                Ok(())
            }
        }))
        .then(Stage::new("b", |s: Scope| async move { Ok(s.extend_value("list", [3])?) })),
    );
    let seen: Arc<Mutex<Vec<(usize, Value)>>> = Arc::default();
    let options = RunOptions::new()
        .observe(Arc::new(Places("one", seen.clone())))
        .observe(Arc::new(Places("two", seen.clone())));
    let report = chart.run(options).await;
    assert_eq!(built.load(Ordering::Relaxed), 1);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 4);
    assert_eq!(seen[0].0, seen[1].0);
    assert_eq!((&seen[0].1, &seen[2].1), (&value!([1, 2]), &value!([1, 2, 3])));
    let recorded = &report.snapshot().commit_log.get(0).unwrap().rows[0].value;
    assert!(recorded.ptr_eq(&seen[0].1), "the kept value is the recorded node");
}

/// Proves OBS-47, OBS-53: a row that cannot be taken leaves none and one failure; a row stands under the id it was attached
/// with, built field by field.
#[tokio::test]
async fn rows_of_observers() {
    struct Rows(&'static str);
    impl Recorder for Rows {
        fn id(&self) -> &str {
            self.0
        }
        fn snapshot(&self, _: &RunId) -> Option<RecorderBundle> {
            if self.0 == "panics" {
                std::panic::panic_any("no row");
            }
            Some(RecorderBundle {
                description: Some("for people".into()),
                preferred_operation: Some(PreferredOperation::Accumulate),
                meta: Some(value!({ "leavesOut": ["texts"] })),
                ..RecorderBundle::new("Kind", value!({ "id": "another", "n": 1 }))
            })
        }
    }
    let options = RunOptions::new().observe(Arc::new(Rows("mine"))).observe(Arc::new(Rows("panics")));
    let report = build(Chart::builder(mark("a"))).run(options).await;
    let snapshot: serde_json::Value = serde_json::from_str(&report.snapshot().to_json()).unwrap();
    assert_eq!(
        snapshot["recorders"],
        serde_json::json!([{
            "id": "mine", "name": "Kind", "description": "for people", "preferredOperation": "accumulate",
            "meta": {"leavesOut": ["texts"]}, "data": {"id": "another", "n": 1},
        }])
    );
    assert_eq!(
        snapshot["recorderFailures"],
        serde_json::json!([{"id": "panics", "hook": "snapshot", "count": 1, "firstMessage": "no row"}])
    );
}

/// Proves OBS-48: with diagnostics, an inline observer that takes more than 5 ms of the run's clock is named, once.
#[tokio::test]
async fn slow_inline_observers_are_named() {
    struct Slow(&'static str, u64, Arc<ManualClock>);
    impl Recorder for Slow {
        fn id(&self) -> &str {
            self.0
        }
        fn on_event(&self, _: &EventCx<'_>, _: &Payload) -> HookResult {
            self.2.advance_ms(self.1);
            Ok(())
        }
    }
    let clock = Arc::new(ManualClock::at(0));
    for (diagnostics, expected) in [
        (Diagnostics::Off, vec![]),
        (Diagnostics::Dev, vec![Warning::SlowObserver { recorder: "slow".into() }]),
    ] {
        let options = RunOptions::new()
            .clock(clock.clone())
            .diagnostics(diagnostics)
            .observe(Arc::new(Slow("quick", 5, clock.clone())))
            .observe(Arc::new(Slow("slow", 6, clock.clone())));
        let report = build(Chart::builder(idle("a"))).run(options).await;
        let slow = |warning: &Warning| matches!(warning, Warning::SlowObserver { .. });
        assert_eq!(report.warnings().into_iter().filter(slow).collect::<Vec<_>>(), expected);
    }
}

/// Proves OBS-62: an emitted event has its context from the engine and its payload as the author gave it.
#[tokio::test]
async fn emitted_events_have_a_context() {
    let emits = |id: &'static str| {
        Stage::new(id, |s: Scope| async move {
            Ok(s.emit("app.seen", value!({ "stageName": "mine", "n": [1] }))?)
        })
    };
    let inner = build(Chart::builder(emits("in")));
    let chart = build(
        Chart::builder(idle("a")).fork([emits("x")], FanOut::AllSettled).mount(Mount::of("sf", &inner)),
    );
    let kept = kept(&chart, RunOptions::new().clock(Arc::new(ManualClock::at(9)))).await;
    let told = kept.json(Hook::Emit);
    for (event, at, namespace, path) in
        [(&told[0], "x#1", "x", value!([])), (&told[1], "sf/in#3", "", value!(["sf"]))]
    {
        assert_eq!(event["payload"], value!({ "stageName": "mine", "n": [1] }));
        assert_eq!((event["name"].as_str(), event["runtimeStageId"].as_str()), (Some("app.seen"), Some(at)));
        assert_eq!((event["pipelineId"].as_str(), &event["subflowPath"]), (Some(namespace), &path));
        assert_eq!(event["timestamp"], value!(9));
    }
}

/// Proves OBS-122, OBS-135: nothing of the queue exists until somebody defers; then its figures are in the snapshot.
#[tokio::test]
async fn queue_figures() {
    let chart = build(Chart::builder(mark("a")));
    let inline = chart.run(RunOptions::new().observe(Lines::new())).await;
    assert!(inline.snapshot().observer_stats.is_none());
    let deferred = chart.run(RunOptions::new().observe_with(Lines::new(), Delivery::Deferred)).await;
    let stats = deferred.snapshot().observer_stats.clone().unwrap();
    for figure in [
        "depth",
        "drops",
        "flushes",
        "budgetExhausted",
        "p95FlushMs",
        "inlineDeliveries",
        "inflight",
        "terminalStranded",
    ] {
        assert!(stats[figure].as_f64().is_some(), "{figure} in {stats}");
    }
    assert!(stats["perListener"]["lines"]["events"].as_u64().unwrap() > 0);
    assert!(stats["perListener"]["lines"]["totalMs"].as_f64().is_some());
}

/// Proves OBS-192, OBS-193: a detached child is a run of its own; its start and its end are told on the starting run's emit
/// channel, and counted.
#[tokio::test]
async fn detached_children_are_told() {
    let detacher = Detacher::new();
    let child = |fails: bool| {
        build(Chart::builder(Stage::new("child", move |s: Scope| async move {
            s.set_value("inChild", true)?;
            if fails { Err(StageError::named("NetError", "unreachable")) } else { Ok(7) }
        })))
    };
    let driver: Arc<dyn DetachDriver> = Arc::new(BlockingDriver);
    let (good, bad) = (child(false), child(true));
    let chart = build(Chart::builder(Stage::new("a", move |s: Scope| {
        let (driver, good, bad) = (driver.clone(), good.clone(), bad.clone());
        async move {
            for child in [&good, &bad] {
                s.detach_join(&driver, child, None).wait().await.ok();
                // A handle is settled a moment before its listeners are told.
                while s.env().get::<Detacher>().is_some_and(|detacher| detacher.in_flight() > 0) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            Ok(())
        }
    })));
    let options = RunOptions::new().detacher(detacher.clone()).extend(Arc::new(detacher.clone()));
    let kept = Arc::new(Kept::default());
    let report = chart.run(options.observe(kept.clone())).await;
    let told: Vec<Value> = kept.json(Hook::Emit);
    let short: Vec<String> = told
        .iter()
        .map(|e| format!("{} {}", e["name"].as_str().unwrap(), e["payload"]["refId"].as_str().unwrap()))
        .collect();
    assert_eq!(
        short,
        [
            "detach.scheduled a#0:detach:1",
            "detach.settled a#0:detach:1",
            "detach.scheduled a#0:detach:2",
            "detach.settled a#0:detach:2",
        ]
    );
    assert_eq!(told[0]["payload"]["childRoot"], value!("child"));
    assert_eq!(
        (&told[1]["payload"]["status"], &told[3]["payload"]["status"]),
        (&value!("done"), &value!("failed"))
    );
    assert!(told[1]["payload"]["durationMs"].as_u64().is_some() && told[1]["payload"].get("error").is_none());
    assert_eq!(told[3]["payload"]["error"]["name"], value!("NetError"));
    assert_eq!(detacher.counts(), DetachCounts { scheduled: 2, done: 1, failed: 1 });
    assert!(report.state().get("inChild").is_none());
    assert_eq!(report.snapshot().commit_log.len(), 1);
}

/// Proves OBS-1: the story is there while the run is under way, as far as the run has come.
#[tokio::test]
async fn evidence_is_collected_while_walking() {
    use footprint::recorders::CombinedNarrative;
    let story = Arc::new(CombinedNarrative::new());
    let told = story.clone();
    let lengths: Arc<Mutex<Vec<usize>>> = Arc::default();
    let note = lengths.clone();
    let look = move |_: Scope| {
        let (told, note) = (told.clone(), note.clone());
        async move {
            note.lock().unwrap().push(told.len());
            Ok(())
        }
    };
    let chart = build(
        Chart::builder(mark("a"))
            .then(Stage::new("look", look.clone()))
            .then(mark("b"))
            .then(Stage::new("again", look)),
    );
    chart.run(RunOptions::new().observe(story.clone())).await;
    let lengths = lengths.lock().unwrap();
    assert!(lengths[0] > 0 && lengths[0] < lengths[1] && lengths[1] <= story.len(), "{lengths:?}");
}
