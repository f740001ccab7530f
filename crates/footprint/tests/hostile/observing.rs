//! Observers, stream handlers and drivers that fail where nobody looks.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use footprint::chart::{Chart, FanOut, Stage};
use footprint::detach::{DetachDriver, DetachStatus, DetachTask, Detacher};
use footprint::observe::{
    AsyncRecorder, Delivery, EmitEvent, Envelope, EnvelopeFuture, EventCx, HookResult, Interest,
    ObserverQueueConfig, Overflow, Payload, Recorder, WriteEvent,
};
use footprint::pause::Ask;
use footprint::scope::Scope;
use footprint::stream::StreamHandler;
use footprint::value::Value;
use footprint::walk::{RunHandle, RunOptions, Warning};

use super::support::*;

/// Panics when it is asked for one thing about itself.
struct Shy(&'static str);

impl Shy {
    fn panics(&self, part: &str) {
        assert!(self.0 != part, "{part}");
    }
}

impl Recorder for Shy {
    fn id(&self) -> &str {
        self.panics("id");
        "shy"
    }
    fn interest(&self) -> Interest {
        self.panics("interest");
        Interest::ALL
    }
    fn delivery(&self) -> Option<Delivery> {
        self.panics("delivery");
        None
    }
}

impl AsyncRecorder for Shy {
    fn id(&self) -> &str {
        self.panics("id");
        "shy"
    }
    fn interest(&self) -> Interest {
        self.panics("interest");
        Interest::ALL
    }
    fn on_envelope(&self, _: Envelope) -> EnvelopeFuture {
        Box::pin(async { Ok(()) })
    }
}

/// Proves OBS-2, OBS-44, ENG-7: an observer that panics while it is attached changes no outcome and takes no other
/// observer with it, in either tier.
#[tokio::test]
async fn observers_that_panic_while_they_are_attached() {
    let chart = build(Chart::builder(mark("a")));
    let (plain, expected) = told(&chart, RunOptions::new()).await;
    for part in ["id", "interest", "delivery"] {
        for tier in [Delivery::Inline, Delivery::Deferred] {
            let options = RunOptions::new().observe_with(Arc::new(Shy(part)), tier);
            let (report, lines) = told(&chart, options).await;
            assert_eq!(state(&report), state(&plain), "{part}");
            assert_eq!(lines, expected, "{part}");
        }
        let (report, lines) = told(&chart, RunOptions::new().observe_async(Arc::new(Shy(part)))).await;
        assert_eq!(state(&report), state(&plain), "{part}");
        assert_eq!(lines, expected, "{part}");
    }
}

/// Proves OBS-46, OBS-35: an observer that could not be made for a run is a failure on record, not silence.
#[tokio::test]
async fn observers_that_cannot_be_made() {
    let chart = build(Chart::builder(mark("a")));
    let report = chart.run(RunOptions::new().observe_per_run(|_| panic!("no room"))).await;
    completed(&report);
    let failures = &report.snapshot().recorder_failures;
    assert!(
        matches!(&failures[..], [row] if &*row.hook == "attach" && row.count == 1 && row.first_message.contains("no room")),
        "{failures:?}"
    );
}

/// Emits again from inside its hook, through the scope of the stage it hears.
#[derive(Default)]
struct Echo(Mutex<(Option<Scope>, u32)>);

impl Recorder for Echo {
    fn id(&self) -> &str {
        "echo"
    }
    fn on_emit(&self, _: &EventCx<'_>, _: &EmitEvent) -> HookResult {
        let scope = {
            let mut heard = self.0.lock().unwrap();
            heard.1 += 1;
            if heard.1 < 30 { heard.0.clone() } else { None }
        };
        if let Some(scope) = scope {
            scope.emit("again", 1).map_err(|e| footprint::observe::RecorderError::new(e.to_string()))?;
        }
        Ok(())
    }
}

/// Proves OBS-128, OBS-127, OBS-132: a hook that produces events neither waits on itself nor is lost on, at a bound of
/// one, under every policy and in both tiers.
#[tokio::test]
async fn hooks_that_produce_events() {
    for overflow in [Overflow::DropOldest, Overflow::Sample, Overflow::Block] {
        for tier in [Delivery::Inline, Delivery::Deferred] {
            let echo = Arc::new(Echo::default());
            let heard = Arc::clone(&echo);
            let stage = Stage::new("a", move |s: Scope| {
                heard.0.lock().unwrap().0 = Some(s.clone());
                async move {
                    s.emit("first", 1)?;
                    // The worker's turn.
                    tokio::task::yield_now().await;
                    Ok(())
                }
            });
            let mut options = RunOptions::new().observe_with(echo.clone(), tier);
            if tier == Delivery::Deferred {
                let config = ObserverQueueConfig { max_queue: 1, overflow, ..ObserverQueueConfig::default() };
                options = options.observer_queue(config);
            }
            let report = build(Chart::builder(stage)).run(options).await;
            completed(&report);
            let (_, heard) = std::mem::take(&mut *echo.0.lock().unwrap());
            // Where the queue loses events, it may lose this one; where it does not, each is heard once.
            if tier == Delivery::Deferred && overflow == Overflow::Block {
                assert!((1..=30).contains(&heard), "{heard}");
            }
            if tier == Delivery::Inline {
                assert_eq!(heard, 30);
            }
        }
    }
}

/// Proves ENG-121, ENG-165, ENG-4, ENG-156: whichever event an observer cancels at, exactly one end is told, the record
/// folds, and no commit comes after it.
#[tokio::test]
async fn cancelled_from_any_event() {
    #[derive(Default)]
    struct Cancels(Mutex<(Option<RunHandle>, usize)>, usize);
    impl Recorder for Cancels {
        fn id(&self) -> &str {
            "cancels"
        }
        fn on_event(&self, _: &EventCx<'_>, _: &Payload) -> HookResult {
            let handle = {
                let mut seen = self.0.lock().unwrap();
                seen.1 += 1;
                if seen.1 == self.1 { seen.0.clone() } else { None }
            };
            if let Some(handle) = handle {
                handle.cancel("observed");
                assert_eq!(handle.snapshot().commit_log.len(), handle.commit_count());
            }
            Ok(())
        }
    }
    let inner = build(Chart::builder(mark("in")));
    let mount = footprint::chart::Mount::of("sf", &inner).output_keys([("in", "in")]);
    let chart = build(
        Chart::builder(mark("a"))
            .fork([mark("x"), slow("y", 2)], FanOut::FailFast)
            .mount(mount)
            .then(mark("end")),
    );
    let (_, all) = told(&chart, RunOptions::new()).await;
    for at in 1..=all.len() {
        let (cancels, lines) = (Arc::new(Cancels(Mutex::default(), at)), Lines::new());
        let run = chart.run(RunOptions::new().observe(cancels.clone()).observe(lines.clone()));
        cancels.0.lock().unwrap().0 = Some(run.handle());
        let report = run.await;
        assert_folds(&report);
        let lines = lines.all();
        let ends = lines.iter().filter(|l| l.starts_with("run_end") || l.starts_with("run_failed")).count();
        assert_eq!(ends, 1, "at {at}: {lines:?}");
        assert!(lines.last().unwrap().starts_with("run_"), "at {at}: {lines:?}");
        let commits = lines.iter().filter(|l| l.starts_with("commit") && !l.contains('/')).count();
        assert_eq!(commits, report.snapshot().commit_log.len(), "at {at}");
        cancels.0.lock().unwrap().0 = None;
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl StreamHandler for Heard {
    fn on_start(&self, id: &str) {
        self.0.lock().unwrap().push(format!("start {id}"));
    }
    fn on_end(&self, id: &str, text: &str) {
        self.0.lock().unwrap().push(format!("end {id} {text}"));
    }
    fn on_abort(&self, id: &str, text: &str) {
        self.0.lock().unwrap().push(format!("abort {id} {text}"));
    }
}

/// Proves ENG-135, OBS-18: a dropped run leaves no stream open, and an interrupted stage opens its stream anew.
#[tokio::test]
async fn streams_that_are_given_up() {
    let heard = Arc::new(Heard::default());
    let endless = |id: &'static str| {
        Stage::streaming(id, move |s: Scope| async move {
            s.tokens().send("he");
            std::future::pending::<()>().await;
            Ok(())
        })
    };
    let chart = build(Chart::builder(idle("a")).fork([endless("s"), endless("t")], FanOut::AllSettled));
    let lines = Lines::new();
    let mut run = Box::pin(chart.run(RunOptions::new().stream(heard.clone()).observe(lines.clone())));
    std::future::poll_fn(|cx| {
        assert!(run.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    drop(run);
    assert_eq!(
        std::mem::take(&mut *heard.0.lock().unwrap()),
        ["start s", "start t", "abort s he", "abort t he"]
    );
    assert_eq!(lines.all().last().unwrap(), "run_failed __root__#0");

    let asks = Stage::streaming("s", |s: Scope| async move {
        s.tokens().send("he");
        let _: Value = s.interrupt(Ask::new("?")).await?;
        s.tokens().send("y");
        Ok(())
    });
    let report = build(Chart::builder(asks)).run(RunOptions::new().stream(heard.clone())).await;
    completed(&report.paused().unwrap().resume(1).unwrap().await);
    assert_eq!(*heard.0.lock().unwrap(), ["start s", "abort s he", "start s", "end s hey"]);
}

/// Proves ENG-44: a driver that panics has lost its task; the handle says so and nobody else is hurt.
#[tokio::test]
async fn drivers_that_panic() {
    struct Panics;
    impl DetachDriver for Panics {
        fn name(&self) -> &str {
            "panics"
        }
        fn schedule(&self, _: DetachTask) {
            panic!("no thread");
        }
    }
    let (driver, child): (Arc<dyn DetachDriver>, _) =
        (Arc::new(Panics), build(Chart::builder(idle("child"))));
    let detacher = Detacher::new();
    let handle = detacher.detach(&driver, &child, None);
    assert_eq!(handle.status(), DetachStatus::Failed);
    assert!(handle.error().is_some_and(|e| e.message.contains("dropped before its end")));
    let stage = Stage::new("a", move |s: Scope| {
        let (driver, child) = (driver.clone(), child.clone());
        async move {
            s.detach_forget(&driver, &child, None);
            Ok(s.set_value("went", "on")?)
        }
    });
    let report = build(Chart::builder(stage)).run(RunOptions::new().detacher(detacher.clone())).await;
    assert!(report.state().contains_key("went"), "{:?}", report.outcome());
    let flushed = detacher.flush(Duration::from_secs(5)).await;
    assert_eq!((flushed.pending, detacher.counts().failed), (0, 2));
}

/// Proves OBS-63: a payload that cannot be represented is told as that, counted, and never the stage's error.
#[tokio::test]
async fn payloads_that_cannot_be_told() {
    #[derive(Default)]
    struct Emits(Mutex<Vec<Value>>);
    impl Recorder for Emits {
        fn id(&self) -> &str {
            "emits"
        }
        fn on_emit(&self, _: &EventCx<'_>, e: &EmitEvent) -> HookResult {
            self.0.lock().unwrap().push(e.payload.clone());
            Ok(())
        }
        fn on_write(&self, _: &EventCx<'_>, _: &WriteEvent) -> HookResult {
            Ok(())
        }
    }
    let emits = Arc::new(Emits::default());
    let stage = Stage::new("a", |s: Scope| async move { Ok(s.emit("cost", f64::NAN)?) });
    let report = build(Chart::builder(stage)).run(RunOptions::new().observe(emits.clone())).await;
    completed(&report);
    assert!(emits.0.lock().unwrap()[0].get("unserializable").is_some());
    assert_eq!(report.warnings(), [Warning::UnserializableEmit { stage: "a".into(), name: "cost".into() }]);
}
