//! How strategies are told, emptied and let go: tiers, samples, detached delivery, shared instances, failures.

use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use agentfootprint_core::compose::LlmCall;
use agentfootprint_core::injection::BoxError;
use agentfootprint_core::observe::{
    CostStrategy, CostTick, Delivery, EnableOptions, Enabled, FlushOn, Join, ObservabilityStrategy,
    SampleRate, ShutdownOptions, Strategy, StrategyCapabilities, StrategyLife, Tier, compose, compose_cost,
};
use agentfootprint_core::run::Runner;
use agentfootprint_record::events::{CustomEvent, Domain, Event, EventName, Pattern};
use async_trait::async_trait;

use crate::support::*;

/// Buffers names, and ships them when flushed.
#[derive(Default)]
struct Buffer {
    life: StrategyLife,
    wants: Vec<Pattern>,
    produces: StrategyCapabilities,
    held: Mutex<Vec<String>>,
    shipped: Mutex<Vec<String>>,
    flushes: AtomicUsize,
    stops: AtomicUsize,
    /// Said on this runner while a flush is under way.
    speaks: Mutex<Option<LlmCall>>,
    panics: bool,
    fails: bool,
}

#[async_trait]
impl Strategy for Buffer {
    fn name(&self) -> &str {
        "buffer"
    }

    fn life(&self) -> &StrategyLife {
        &self.life
    }

    fn relevant_event_types(&self) -> Vec<Pattern> {
        if self.wants.is_empty() { vec![Pattern::All] } else { self.wants.clone() }
    }

    fn capabilities(&self) -> StrategyCapabilities {
        self.produces
    }

    async fn flush(&self) -> Result<(), BoxError> {
        self.flushes.fetch_add(1, Ordering::SeqCst);
        let mut held = std::mem::take(&mut *self.held.lock().unwrap());
        if self.fails {
            return Err("the vendor is away".into());
        }
        self.shipped.lock().unwrap().append(&mut held);
        let speaks = self.speaks.lock().unwrap().clone();
        if let Some(runner) = speaks {
            runner.emit(CustomEvent { name: "my.word".into(), payload: json!({}) }).unwrap();
        }
        Ok(())
    }

    fn stop(&self) {
        self.stops.fetch_add(1, Ordering::SeqCst);
    }
}

impl ObservabilityStrategy for Buffer {
    fn export_event(&self, event: &Arc<Event>) {
        assert!(!self.panics, "an exporter's own bug");
        self.held.lock().unwrap().push(event.name_str().to_owned());
    }
}

impl CostStrategy for Buffer {
    fn record_cost(&self, tick: &CostTick) {
        assert!(!self.panics, "a bill's own bug");
        self.held.lock().unwrap().push(tick.model.to_string());
    }
}

impl Buffer {
    fn held(&self) -> Vec<String> {
        self.held.lock().unwrap().clone()
    }

    fn shipped(&self) -> usize {
        self.shipped.lock().unwrap().len()
    }
}

fn runner() -> LlmCall {
    call("one", &Script::texts(&["a", "b", "c", "d"]))
}

/// Says one consumer's event on a runner, outside any run.
fn say(runner: &LlmCall, name: &str) {
    runner.emit(CustomEvent { name: name.into(), payload: json!({}) }).unwrap();
}

/// Proves REC-64: what was not given is not there: a runner without strategies exports, flushes and stops nothing.
#[tokio::test]
async fn nothing_is_exported_because_of_a_default() {
    let call = runner();
    call.run("x").await.answer().unwrap();
    let report = call.shutdown(ShutdownOptions::stopping()).await;
    assert_eq!((report.flushed, report.stopped, report.failed.len()), (0, 0, 0));
}

/// Proves REC-65, REC-175: a strategy that panics on every event, or whose flush fails, changes neither the answer nor the order
/// of events, and each panic is counted.
#[tokio::test]
async fn a_bad_strategy_changes_nothing_of_a_run() {
    let names = |heard: &Heard| heard.all().iter().map(name).collect::<Vec<_>>();
    let (plain, alone) = run(&runner(), "x").await;
    let call = runner();
    let bad = Arc::new(Buffer {
        panics: true,
        life: StrategyLife::new().on_error(|_| panic!("and so is its sink")),
        ..Buffer::default()
    });
    let away = Arc::new(Buffer { fails: true, ..Buffer::default() });
    let options = EnableOptions::new().flush_on(FlushOn::RunEnd);
    let handle = call.enable().observability(bad.clone());
    call.enable().observability_with(away.clone(), options).keep();
    let (watched, heard) = run(&call, "x").await;
    assert_eq!(watched.answer().unwrap(), plain.answer().unwrap());
    assert_eq!(names(&heard), names(&alone));
    assert_eq!(handle.failures(), heard.all().len() as u64 - heard.of("stream.token").len() as u64);
    assert_eq!(away.flushes.load(Ordering::SeqCst), 0, "a flush is never awaited by the run");
}

/// Proves REC-66: what each tier admits, for every registered name.
#[test]
fn tiers_admit_by_name() {
    let count = |tier: Tier| {
        EventName::ALL
            .into_iter()
            .filter(|name| {
                let value = json!({"type": name.as_str(), "payload": {}, "meta": {
                    "wallClockMs": 0, "runOffsetMs": 0, "runtimeStageId": "a#0", "subflowPath": [],
                    "compositionPath": [], "runId": "run-1-1"}});
                let event = Event::from_value(&value).unwrap();
                // Read leniently an unfit payload is kept by name; the name alone decides.
                tier.admits(&event)
            })
            .count()
    };
    assert_eq!(count(Tier::Firehose), 120);
    assert_eq!(count(Tier::Standard), 119, "all but `stream.token`");
}

/// Proves REC-66: minimal hears agents and errors, standard no tokens, firehose everything; a sample takes whole runs, and the
/// same ones for everybody.
#[tokio::test]
async fn tiers_and_samples_choose() {
    let call = runner();
    let all: Vec<Arc<Buffer>> = (0..3).map(|_| Arc::default()).collect();
    let tiers = [Tier::Minimal, Tier::Standard, Tier::Firehose];
    for (strategy, tier) in all.iter().zip(tiers) {
        call.enable().observability_with(strategy.clone(), EnableOptions::new().tier(tier)).keep();
    }
    let (_, heard) = run(&call, "x").await;
    let [minimal, standard, firehose] = [all[0].held(), all[1].held(), all[2].held()];
    let every: Vec<String> =
        heard.all().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    let keep =
        |wanted: &dyn Fn(&str) -> bool| every.iter().filter(|name| wanted(name)).cloned().collect::<Vec<_>>();
    assert_eq!(firehose, every);
    assert_eq!(standard, keep(&|name| !name.contains(".stream.token")));
    assert_eq!(minimal, keep(&|name| name.contains("t.agent.") || name.contains("t.error.")));

    let half = SampleRate::new(0.5).unwrap();
    let ids: Vec<String> = (0..2000).map(|n| format!("run-1796042715715-{n}")).collect();
    let taken = ids.iter().filter(|id| half.takes(id)).count();
    assert!((900..1100).contains(&taken), "{taken}");
    assert!(!SampleRate::new(0.0).unwrap().takes("run-1-1") && SampleRate::ALL.takes("run-1-1"));
    assert!(SampleRate::new(f64::NAN).is_err() && SampleRate::new(-0.1).is_err());
    let sampled = Arc::new(Buffer::default());
    let full = Arc::new(Mutex::new(Vec::new()));
    let _one = call.enable().observability_with(sampled.clone(), EnableOptions::new().sample_rate(half));
    let kept = Arc::clone(&full);
    let _all = call
        .events()
        .on("*", move |event| {
            kept.lock().unwrap().push((event.meta.run_id.to_string(), event.name_str().to_owned()))
        })
        .unwrap();
    for text in ["1", "2", "3"] {
        call.run(text).await;
    }
    let full = full.lock().unwrap();
    let expected: Vec<String> = full
        .iter()
        .filter(|(run, name)| half.takes(run) && !name.contains(".stream.token"))
        .map(|(_, name)| name.clone())
        .collect();
    assert_eq!(sampled.held(), expected, "whole runs or nothing of them");
}

/// A strategy is told only what it asks for, and once although it asks twice.
#[tokio::test]
async fn a_strategy_is_told_what_it_asks_for() {
    let call = runner();
    let wants = vec![Pattern::Domain(Domain::Stream), Pattern::Event(EventName::StreamLlmEnd)];
    let picky = Arc::new(Buffer { wants, ..Buffer::default() });
    call.enable().observability(picky.clone()).keep();
    call.run("x").await;
    assert_eq!(picky.held(), ["agentfootprint.stream.llm_start", "agentfootprint.stream.llm_end"]);
}

/// Proves REC-67: a flush at the end of a run is started and not awaited; by hand nothing is flushed.
#[tokio::test]
async fn a_run_end_starts_a_flush() {
    let flow = agentfootprint_core::compose::Sequence::builder("s").step("a", runner()).build().unwrap();
    let (manual, ends) = (Arc::new(Buffer::default()), Arc::new(Buffer::default()));
    flow.enable().observability(manual.clone()).keep();
    flow.enable().observability_with(ends.clone(), EnableOptions::new().flush_on(FlushOn::RunEnd)).keep();
    flow.run("x").await.answer().unwrap();
    while ends.flushes.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(manual.flushes.load(Ordering::SeqCst), 0);
    assert!(ends.shipped() > 0);
}

/// Proves REC-67, REC-36: detached events are delivered in order by tasks whose handles go where they were asked to; a queue that
/// runs full drops the oldest and says how many.
#[tokio::test]
async fn detached_delivery_keeps_order_and_counts_what_it_drops() {
    let call = runner();
    let (inline, later) = (Arc::new(Buffer::default()), Arc::new(Buffer::default()));
    let tasks = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&tasks);
    let join = Join::JoinLater(Arc::new(move |task| kept.lock().unwrap().push(task)));
    call.enable().observability(inline.clone()).keep();
    let options = EnableOptions::new().delivery(Delivery::detached(join));
    let handle = call.enable().observability_with(later.clone(), options);
    call.run("x").await;
    let tasks = std::mem::take(&mut *tasks.lock().unwrap());
    assert!(!tasks.is_empty());
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!((later.held(), handle.dropped()), (inline.held(), 0));

    // On this thread no task runs before something is awaited: six events meet a queue of two.
    let small = Arc::new(Buffer::default());
    let delivery = Delivery::Detached { capacity: NonZeroUsize::new(2).unwrap(), join: Join::Forget };
    let handle = call.enable().observability_with(small.clone(), EnableOptions::new().delivery(delivery));
    for at in 0..6 {
        say(&call, &format!("my.{at}"));
    }
    assert_eq!((small.held().len(), handle.dropped()), (0, 4));
    handle.flush().await.unwrap();
    assert_eq!(*small.shipped.lock().unwrap(), ["my.4", "my.5"], "a flush drains the queue first");
}

/// Proves REC-68: a flush ships what arrives meanwhile, and ends although its producer never does.
#[tokio::test]
async fn a_flush_is_bounded() {
    let call = runner();
    let endless = Arc::new(Buffer::default());
    let handle = call.enable().observability(endless.clone());
    *endless.speaks.lock().unwrap() = Some(call.clone());
    say(&call, "my.first");
    handle.flush().await.unwrap();
    assert_eq!(endless.flushes.load(Ordering::SeqCst), 8);
    assert_eq!((endless.shipped(), endless.held().len()), (8, 1));
    *endless.speaks.lock().unwrap() = None;
    handle.flush().await.unwrap();
    assert_eq!((endless.flushes.load(Ordering::SeqCst), endless.shipped()), (9, 9));
}

fn shared_by_two() -> (LlmCall, LlmCall, Arc<Buffer>, Enabled, Enabled) {
    let (one, two, shared) = (runner(), runner(), Arc::new(Buffer::default()));
    let (first, second) =
        (one.enable().observability(shared.clone()), two.enable().observability(shared.clone()));
    (one, two, shared, first, second)
}

/// Proves REC-68: an instance shared by runners is stopped once, by whoever lets go last, through handles and through shutdowns;
/// unsubscribing never stops; after a stop what was buffered is still shipped.
#[tokio::test]
async fn a_shared_strategy_is_stopped_once_by_the_last() {
    let stops = |shared: &Buffer| shared.stops.load(Ordering::SeqCst);
    // Handles.
    let (one, two, shared, mut first, mut second) = shared_by_two();
    assert!(!first.stop() && stops(&shared) == 0, "the other runner still uses it");
    say(&one, "my.unheard");
    say(&two, "my.heard");
    assert_eq!(shared.held(), ["my.heard"]);
    assert!(second.stop() && !second.stop() && !first.stop());
    assert_eq!((stops(&shared), shared.life.is_stopped()), (1, true));
    second.flush().await.unwrap();
    assert_eq!(shared.shipped(), 1);
    // Shutdowns of the runners.
    let (one, two, shared, first, second) = shared_by_two();
    first.keep();
    second.keep();
    one.enable().observability(shared.clone()).keep();
    assert_eq!(one.shutdown(ShutdownOptions::stopping()).await.stopped, 0);
    say(&two, "my.later");
    assert_eq!(two.shutdown(ShutdownOptions::stopping()).await.stopped, 1);
    assert_eq!(two.shutdown(ShutdownOptions::stopping()).await.stopped, 0);
    assert_eq!((stops(&shared), shared.shipped()), (1, 1));
    // Unsubscribing lets go and stops nothing; neither does the end of a runner.
    let (one, two, shared, mut first, second) = shared_by_two();
    first.unsubscribe();
    second.keep();
    drop((one, two));
    assert_eq!((stops(&shared), shared.life.is_stopped()), (0, false));
    assert!(first.stop(), "nobody holds it any more");
    // Flush, let go, stop; enabling again does not stop a second time.
    let (one, _two, shared, first, second) = shared_by_two();
    say(&one, "my.last");
    first.shutdown().await.unwrap();
    assert_eq!((stops(&shared), shared.shipped()), (0, 1));
    second.shutdown().await.unwrap();
    one.enable().observability(shared.clone()).shutdown().await.unwrap();
    assert_eq!(stops(&shared), 1);
}

/// Proves REC-69: each member hears what it asks for although another panics; capabilities are those of all; a member is stopped
/// when nobody else holds it.
#[tokio::test]
async fn composed_strategies_are_told_apart_from_each_other() {
    let call = runner();
    let bad = Arc::new(Buffer {
        panics: true,
        fails: true,
        produces: StrategyCapabilities::LOGS,
        ..Buffer::default()
    });
    let wants = vec![Pattern::Domain(Domain::Composition)];
    let picky = Arc::new(Buffer { wants, ..Buffer::default() });
    let good = Arc::new(Buffer { produces: StrategyCapabilities::TRACES, ..Buffer::default() });
    let all = compose([bad.clone() as Arc<dyn ObservabilityStrategy>, picky.clone(), good.clone()]);
    assert_eq!(all.capabilities(), StrategyCapabilities::LOGS.or(StrategyCapabilities::TRACES));
    let handle = call.enable().observability(all);
    let other = runner();
    let held = other.enable().observability(good.clone());
    say(&call, "my.word");
    assert_eq!((good.held(), picky.held().len(), bad.life.failures()), (vec!["my.word".to_owned()], 0, 1));
    let error = handle.flush().await.unwrap_err().to_string();
    assert_eq!((error.as_str(), good.shipped()), ("`buffer`: the vendor is away", 1));
    assert!(handle.shutdown().await.is_err());
    let stops = |one: &Buffer| one.stops.load(Ordering::SeqCst);
    assert_eq!((stops(&bad), stops(&picky), stops(&good)), (1, 1, 0));
    held.shutdown().await.unwrap();
    assert_eq!(stops(&good), 1);
    let bills = compose_cost([bad.clone() as Arc<dyn CostStrategy>, good.clone()]);
    assert!(format!("{bills:?}").contains("buffer"));
}

/// What is written, readable while it is written.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Proves REC-70: failures 1, 2, 4, 8, … are written with their running count; a user's own sink hears each; what failed is dropped
/// and not shipped later.
#[tokio::test]
async fn failures_are_counted_and_told_ever_more_rarely() {
    let call = runner();
    let lines = Lines::default();
    let life = StrategyLife::writing_to(lines.clone());
    let away = Arc::new(Buffer { fails: true, life, ..Buffer::default() });
    let handle = call.enable().observability(away.clone());
    for _ in 0..20 {
        say(&call, "my.word");
        handle.flush().await.unwrap_err();
    }
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let counts: Vec<&str> = text.lines().map(|line| line.split(['(', ')']).nth(1).unwrap()).collect();
    assert_eq!(counts, ["1 so far", "2 so far", "4 so far", "8 so far", "16 so far"]);
    assert_eq!(
        text.lines().next().unwrap(),
        "agentfootprint: the strategy `buffer` failed (1 so far): the vendor is away"
    );
    assert_eq!((handle.failures(), away.held().len(), away.shipped()), (20, 0, 0));
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let life = StrategyLife::new().on_error(move |failure| sink.lock().unwrap().push(failure.count));
    (0..5).for_each(|_| life.fail("mine", "no"));
    assert_eq!(*told.lock().unwrap(), [1, 2, 3, 4, 5]);
}

/// A runner that is gone leaves nothing behind that keeps its strategy.
#[tokio::test]
async fn a_runner_lets_go_of_its_strategies() {
    let call = runner();
    let strategy = Arc::new(Buffer::default());
    let gone: Weak<Buffer> = Arc::downgrade(&strategy);
    call.enable().observability(strategy).keep();
    call.run("x").await;
    drop(call);
    assert!(gone.upgrade().is_none());
}
