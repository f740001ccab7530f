//! The deferred tier (OBS §9).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use footprint::chart::{Chart, Stage};
use footprint::observe::{
    AsyncRecorder, Capture, Delivery, Envelope, EnvelopeFuture, EventCx, Hook, HookResult, Interest,
    ObserverQueueConfig, Overflow, Payload, Recorder, RecorderError,
};
use footprint::scope::Scope;
use footprint::state::RedactionPolicy;
use footprint::value;
use footprint::value::Value;
use footprint::walk::RunOptions;

use super::support::*;

/// Keeps what it is told, under an id of its own.
struct Kept {
    id: &'static str,
    interest: Interest,
    seen: Mutex<Vec<(u64, String)>>,
    /// Holds deliveries back until opened.
    gate: (Mutex<bool>, Condvar),
}

impl Kept {
    fn new(id: &'static str, interest: Interest, open: bool) -> Arc<Self> {
        Arc::new(Self { id, interest, seen: Mutex::default(), gate: (Mutex::new(open), Condvar::new()) })
    }

    fn open(&self) {
        *self.gate.0.lock().unwrap() = true;
        self.gate.1.notify_all();
    }

    fn seqs(&self) -> Vec<u64> {
        self.seen.lock().unwrap().iter().map(|(seq, _)| *seq).collect()
    }
}

impl Recorder for Kept {
    fn id(&self) -> &str {
        self.id
    }
    fn interest(&self) -> Interest {
        self.interest
    }
    fn on_event(&self, cx: &EventCx<'_>, e: &Payload) -> HookResult {
        let mut open = self.gate.0.lock().unwrap();
        while !*open {
            open = self.gate.1.wait(open).unwrap();
        }
        drop(open);
        let json = e.to_json(cx).to_string();
        self.seen.lock().unwrap().push((cx.seq, format!("{} {json}", e.hook().json_name())));
        Ok(())
    }
}

fn emitting(count: u64) -> Chart {
    build(Chart::builder(Stage::new("s", move |scope: Scope| async move {
        for n in 0..count {
            scope.emit("tick", n)?;
        }
        Ok(())
    })))
}

/// Proves OBS-119, OBS-123, OBS-126, OBS-132, OBS-136: a deferred observer is told the same events in the same
/// order, all of them before the report is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deferred_equals_inline() {
    let inline = Kept::new("inline", Interest::ALL, true);
    let deferred = Kept::new("deferred", Interest::ALL, true);
    let chart = build(
        Chart::builder(mark("a"))
            .fork([slow("x", 2), failing("y")], footprint::chart::FanOut::AllSettled)
            .then(idle("z")),
    );
    let options =
        RunOptions::new().observe(inline.clone()).observe_with(deferred.clone(), Delivery::Deferred);
    let report = chart.run(options).await;
    completed(&report);
    assert_eq!(*inline.seen.lock().unwrap(), *deferred.seen.lock().unwrap());
    let stats = report.snapshot().observer_stats.clone().unwrap();
    assert_eq!(stats["perListener"]["deferred"]["events"].as_u64(), Some(deferred.seqs().len() as u64));
    assert_eq!((stats["depth"].as_u64(), stats["drops"].as_u64()), (Some(0), Some(0)));
    // Also when the run fails or pauses, and nothing is counted when nobody defers.
    let deferred = Kept::new("deferred", Interest::ALL, true);
    let options = RunOptions::new().observe(deferred.clone()).default_delivery(Delivery::Deferred);
    build(Chart::builder(failing("y"))).run(options).await;
    assert!(deferred.seen.lock().unwrap().last().unwrap().1.starts_with("onRunFailed"));
    let report = chart.run(RunOptions::new().observe(inline)).await;
    assert!(report.snapshot().observer_stats.is_none());
}

/// Proves OBS-119: an observer's own wish beats every default.
#[tokio::test]
async fn precedence() {
    struct Wishing(Arc<AtomicUsize>);
    impl Recorder for Wishing {
        fn id(&self) -> &str {
            "wishing"
        }
        fn delivery(&self) -> Option<Delivery> {
            Some(Delivery::Inline)
        }
        fn on_event(&self, _: &EventCx<'_>, _: &Payload) -> HookResult {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let chart = build(Chart::builder(Stage::new("s", move |_: Scope| {
        let so_far = seen.load(Ordering::Relaxed);
        async move {
            assert_eq!(so_far, 2, "run start and stage start were told inline");
            Ok(())
        }
    })));
    let options = RunOptions::new()
        .default_delivery(Delivery::Deferred)
        .observe_with(Arc::new(Wishing(count.clone())), Delivery::Deferred);
    let report = chart.run(options).await;
    completed(&report);
    assert!(report.snapshot().observer_stats.is_none());
}

async fn overflow(overflow: Overflow, sample_every: u32) -> (Vec<u64>, Value) {
    let kept = Kept::new("kept", Interest::of(Hook::Emit), false);
    let config =
        ObserverQueueConfig { max_queue: 4, overflow, sample_every, ..ObserverQueueConfig::default() };
    let options = RunOptions::new().observe_with(kept.clone(), Delivery::Deferred).observer_queue(config);
    // On this single-threaded runtime the worker has no turn before the run's end.
    let run = emitting(100).run(options);
    if overflow == Overflow::Block {
        kept.open();
    }
    let opener = Arc::clone(&kept);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        opener.open();
    });
    let report = run.await;
    completed(&report);
    (kept.seqs(), report.snapshot().observer_stats.clone().unwrap())
}

/// Proves OBS-127, OBS-126: exact losses and gaps of each policy at bound 4 with 100 events.
#[tokio::test(flavor = "current_thread")]
async fn overflow_policies() {
    let (seqs, stats) = overflow(Overflow::DropOldest, 10).await;
    assert_eq!(seqs, [96, 97, 98, 99]);
    assert_eq!(stats["drops"].as_u64(), Some(96));
    let (seqs, stats) = overflow(Overflow::Sample, 10).await;
    assert_eq!(stats["drops"].as_u64(), Some(96));
    assert_eq!(seqs, [63, 73, 83, 93]);
    let (seqs, stats) = overflow(Overflow::Block, 10).await;
    assert_eq!(seqs, (0..100).collect::<Vec<_>>());
    assert_eq!((stats["drops"].as_u64(), stats["inlineDeliveries"].as_u64()), (Some(0), Some(96)));
}

/// Proves OBS-129, OBS-136, OBS-2: a slow deferred observer does not slow the stages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_observers_do_not_slow_stages() {
    struct Slow;
    impl Recorder for Slow {
        fn id(&self) -> &str {
            "slow"
        }
        fn interest(&self) -> Interest {
            Interest::of(Hook::Emit)
        }
        fn on_event(&self, _: &EventCx<'_>, _: &Payload) -> HookResult {
            std::thread::sleep(Duration::from_millis(10));
            Ok(())
        }
    }
    let spent = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&spent);
    let chart = build(Chart::builder(Stage::new("s", move |scope: Scope| {
        let clock = Arc::clone(&clock);
        async move {
            let from = Instant::now();
            for n in 0..50 {
                scope.emit("tick", n)?;
            }
            clock.store(from.elapsed().as_millis() as u64, Ordering::Relaxed);
            Ok(())
        }
    })));
    chart.run(RunOptions::new().observe_with(Arc::new(Slow), Delivery::Deferred)).await;
    assert!(spent.load(Ordering::Relaxed) < 250, "{spent:?}");
}

/// Proves OBS-45, OBS-130, OBS-128: failures of deferred observers reach the others on every tier, once.
#[tokio::test]
async fn deferred_failures() {
    struct Failing;
    impl Recorder for Failing {
        fn id(&self) -> &str {
            "failing"
        }
        fn interest(&self) -> Interest {
            Interest::of(Hook::Emit)
        }
        fn on_event(&self, _: &EventCx<'_>, _: &Payload) -> HookResult {
            panic!("deferred")
        }
    }
    let inline = Kept::new("inline", Interest::of(Hook::ScopeError), true);
    let deferred = Kept::new("deferred", Interest::of(Hook::ScopeError), true);
    let options = RunOptions::new()
        .observe_with(Arc::new(Failing), Delivery::Deferred)
        .observe(inline.clone())
        .observe_with(deferred.clone(), Delivery::Deferred);
    let report = emitting(3).run(options).await;
    completed(&report);
    assert_eq!((inline.seqs().len(), deferred.seqs().len()), (3, 3));
    let failures = &report.snapshot().recorder_failures;
    assert_eq!((failures.len(), failures[0].count, &*failures[0].first_message), (1, 3, "deferred"));
}

/// Proves OBS-132: what deliveries keep causing is bounded and counted.
#[tokio::test]
async fn stranded_cascades() {
    struct Echo(AtomicUsize);
    impl Recorder for Echo {
        fn id(&self) -> &str {
            "echo"
        }
        fn interest(&self) -> Interest {
            Interest::of(Hook::Commit) | Interest::of(Hook::ScopeError)
        }
        fn on_event(&self, _: &EventCx<'_>, _: &Payload) -> HookResult {
            self.0.fetch_add(1, Ordering::Relaxed);
            Err(RecorderError::new("again"))
        }
    }
    // A failure inside the failure hook is only counted: the cascade ends by itself.
    let echo = Arc::new(Echo(AtomicUsize::new(0)));
    let other = Kept::new("other", Interest::of(Hook::ScopeError), true);
    let options = RunOptions::new()
        .observe_with(echo.clone(), Delivery::Deferred)
        .observe_with(other.clone(), Delivery::Deferred);
    let report = build(Chart::builder(idle("a"))).run(options).await;
    let stats = report.snapshot().observer_stats.clone().unwrap();
    assert_eq!(stats["terminalStranded"].as_u64(), Some(0));
    assert_eq!((echo.0.load(Ordering::Relaxed), other.seqs().len()), (1, 1));
}

struct Exporter {
    started: Mutex<Vec<u64>>,
    settled: Arc<AtomicUsize>,
    wait: Duration,
    fail: bool,
}

impl AsyncRecorder for Exporter {
    fn id(&self) -> &str {
        "exporter"
    }
    fn interest(&self) -> Interest {
        Interest::of(Hook::Emit)
    }
    fn on_envelope(&self, envelope: Envelope) -> EnvelopeFuture {
        let json = envelope.to_json();
        assert_eq!(json["method"], value!("onEmit"));
        assert_eq!(json["channel"], value!("emit"));
        self.started.lock().unwrap().push(json["seq"].as_u64().unwrap());
        let (wait, fail, settled) = (self.wait, self.fail, Arc::clone(&self.settled));
        Box::pin(async move {
            tokio::time::sleep(wait).await;
            settled.fetch_add(1, Ordering::Relaxed);
            if fail { Err(RecorderError::new("export")) } else { Ok(()) }
        })
    }
}

fn exporter(wait: Duration, fail: bool) -> Arc<Exporter> {
    Arc::new(Exporter { started: Mutex::default(), settled: Arc::default(), wait, fail })
}

/// Proves OBS-33, OBS-131, OBS-133: futures are not awaited by the run, start in order behind their limit, are
/// drained on request, and their failures are routed like any other.
#[tokio::test]
async fn async_observers() {
    let slow = exporter(Duration::from_millis(20), false);
    let config = ObserverQueueConfig { max_inflight: 2, ..ObserverQueueConfig::default() };
    let run = emitting(5).run(RunOptions::new().observe_async(slow.clone()).observer_queue(config));
    let handle = run.handle();
    let report = run.await;
    completed(&report);
    assert_eq!(slow.settled.load(Ordering::Relaxed), 0);
    assert_eq!(slow.started.lock().unwrap().len(), 2);
    let early = handle.drain_observers(Duration::from_millis(1)).await;
    assert!(early.pending > 0);
    let drained = handle.drain_observers(Duration::from_secs(30)).await;
    assert_eq!((drained.done, drained.failed, drained.pending), (5, 0, 0));
    let started = slow.started.lock().unwrap().clone();
    assert_eq!(started, [0, 1, 2, 3, 4]);

    let failing = exporter(Duration::ZERO, true);
    let inline = Kept::new("inline", Interest::of(Hook::ScopeError), true);
    let run = emitting(2).run(RunOptions::new().observe_async(failing).observe(inline.clone()));
    let handle = run.handle();
    run.await;
    assert_eq!(handle.drain_observers(Duration::from_secs(30)).await.failed, 2);
    assert_eq!(inline.seqs().len(), 2);
    // Nobody defers: zeros at once.
    let handle = emitting(1).run(RunOptions::new()).handle();
    assert_eq!(handle.drain_observers(Duration::from_secs(30)).await.pending, 0);
}

/// Proves OBS-123, OBS-124, OBS-125: events are captured after redaction; `summary` keeps bounded digests.
#[tokio::test]
async fn capture() {
    let chart = build(Chart::builder(Stage::new("s", |scope: Scope| async move {
        scope.set_value("ssn", "SECRET")?;
        scope.set_value("big", (0..1000).collect::<Vec<_>>())?;
        Ok(())
    })));
    for policy in [Capture::Clone, Capture::Summary, Capture::Ref] {
        let kept = Kept::new("kept", Interest::ALL, true);
        let config = ObserverQueueConfig { capture: policy, ..ObserverQueueConfig::default() };
        let options = RunOptions::new()
            .observe_with(kept.clone(), Delivery::Deferred)
            .observer_queue(config)
            .redaction(RedactionPolicy::new().keys(["ssn"]));
        chart.run(options).await;
        let all: String = kept.seen.lock().unwrap().iter().map(|(_, json)| json.clone()).collect();
        assert!(!all.contains("SECRET"));
        assert_eq!(all.contains("__payloadSummary"), policy == Capture::Summary);
        assert_eq!(all.contains("998,999"), policy != Capture::Summary);
    }
}

/// Proves OBS-134, OBS-18: dropping a run closes its queue; the worker delivers what it holds and ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_runs_drain() {
    let kept = Kept::new("kept", Interest::ALL, true);
    let chart = build(Chart::builder(idle("a")).then(Stage::new("b", |_: Scope| async {
        std::future::pending::<()>().await;
        Ok(())
    })));
    let run = chart.run(RunOptions::new().observe_with(kept.clone(), Delivery::Deferred));
    let running = tokio::spawn(run);
    tokio::time::sleep(Duration::from_millis(20)).await;
    running.abort();
    let _ = running.await;
    let from = Instant::now();
    while Arc::strong_count(&kept) > 1 {
        assert!(from.elapsed() < Duration::from_secs(20), "the worker keeps its queue alive");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(kept.seen.lock().unwrap().last().unwrap().1.starts_with("onRunFailed"));
}

/// Proves ENG-157, OBS-129: without a runtime the worker is a thread.
#[test]
fn without_a_runtime() {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    let kept = Kept::new("kept", Interest::ALL, true);
    let chart = build(Chart::builder(idle("a")));
    let run = chart.run(RunOptions::new().observe_with(kept.clone(), Delivery::Deferred));
    let mut run = pin!(run);
    let report = loop {
        if let Poll::Ready(report) = run.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            break report;
        }
    };
    completed(&report);
    assert_eq!(kept.seqs().len(), 6);
}

/// Proves OBS-39, OBS-132: the queue goes on over a same-process resume.
#[tokio::test]
async fn over_legs() {
    let asks = Stage::pausable(
        "q",
        |_: Scope| async { Ok(footprint::chart::Step::Pause(1)) },
        |_: Scope, _: Value| async { Ok(()) },
    );
    let kept = Kept::new("kept", Interest::ALL, true);
    let options = RunOptions::new().observe_with(kept.clone(), Delivery::Deferred);
    let report = build(Chart::builder(asks)).run(options).await;
    assert!(kept.seen.lock().unwrap().last().unwrap().1.starts_with("onPause"));
    let report = report.paused().unwrap().resume(1).unwrap().await;
    completed(&report);
    assert!(kept.seen.lock().unwrap().last().unwrap().1.starts_with("onRunEnd"));
    let seqs = kept.seqs();
    assert_eq!(seqs, (0..seqs.len() as u64).collect::<Vec<_>>());
}
