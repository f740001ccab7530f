//! Cancellation, time budgets, dropped runs, streams.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use footprint::chart::{Chart, FanOut, Mount, Retry, Stage};
use footprint::env::Env;
use footprint::error::{RunError, StageError};
use footprint::observe::{EventCx, Hook, HookResult, Interest, Payload, Recorder};
use footprint::scope::Scope;
use footprint::stream::StreamHandler;
use footprint::value;
use footprint::value::Value;
use footprint::walk::RunOptions;
use tokio_util::sync::CancellationToken;

use super::support::*;

fn hanging(id: &'static str) -> Stage {
    Stage::new(id, move |scope: Scope| async move {
        scope.set_value(id, "half")?;
        std::future::pending::<()>().await;
        Ok(())
    })
}

/// Proves ENG-121, OBS-18, ENG-5: the future is dropped, the frame commits what it staged and says why, the run
/// fails with its code.
#[tokio::test]
async fn cancelling_through_the_handle() {
    let chart = build(Chart::builder(idle("a")).then(hanging("b")).then(mark("never")));
    let lines_recorder = Lines::new();
    let run = chart.run(RunOptions::new().observe(lines_recorder.clone()));
    let handle = run.handle();
    let running = tokio::spawn(run);
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(handle.commit_count(), 1);
    handle.cancel("user left");
    let report = running.await.unwrap();
    assert!(matches!(report.error(), Some(RunError::Cancelled { reason }) if reason == "user left"));
    assert_eq!(report.error().unwrap().structured().code.as_deref(), Some("RUN_CANCELLED"));
    assert_eq!(commits(&report), ["a#0 []", "b#1 [b set]"]);
    let told = lines_recorder.all();
    assert_eq!(told[told.len() - 3..], ["commit b#1", "flow_error b#1", "run_failed __root__#0"]);
    assert_folds(&report);
}

/// Proves ENG-121, ENG-99: an external token, also one cancelled before the run, and every kind of node.
#[tokio::test]
async fn external_tokens() {
    let token = CancellationToken::new();
    token.cancel();
    let inner = build(Chart::builder(idle("in")));
    for chart in [
        build(Chart::builder(mark("a"))),
        build(Chart::builder(Mount::of("sf", &inner))),
        build(Chart::builder(
            footprint::chart::Decider::new("d", |_: Scope| async { Ok("x") }).branch(idle("x")),
        )),
    ] {
        let report = chart.run(RunOptions::new().cancel(token.clone())).await;
        assert!(matches!(report.error(), Some(RunError::Cancelled { .. })));
        assert_eq!(report.snapshot().commit_log.len(), 1);
        assert_eq!(report.snapshot().execution_tree.len(), 1);
    }
    let token = CancellationToken::new();
    let chart = build(Chart::builder(hanging("a")));
    let run = tokio::spawn(chart.run(RunOptions::new().env(Env::new().cancel(token.clone()))));
    tokio::time::sleep(Duration::from_millis(5)).await;
    token.cancel();
    assert!(matches!(run.await.unwrap().error(), Some(RunError::Cancelled { .. })));
}

/// Proves ENG-121, ENG-109: every branch ends, mounts on the way exit, and the reason wins over pauses.
#[tokio::test]
async fn cancelling_fan_outs_and_mounts() {
    let inner = build(Chart::builder(hanging("in")));
    let asking = Stage::pausable(
        "ask",
        |_: Scope| async { Ok(footprint::chart::Step::Pause(1)) },
        |_: Scope, _: Value| async { Ok(()) },
    );
    let chart = build(Chart::builder(idle("a")).fork(
        [footprint::chart::ForkChild::from(hanging("x")), Mount::of("sf", &inner).into(), asking.into()],
        FanOut::AllSettled,
    ));
    let lines_recorder = Lines::new();
    let run = chart.run(RunOptions::new().observe(lines_recorder.clone()));
    let handle = run.handle();
    let running = tokio::spawn(run);
    tokio::time::sleep(Duration::from_millis(5)).await;
    handle.cancel("stop");
    let report = running.await.unwrap();
    assert!(matches!(report.error(), Some(RunError::Cancelled { .. })));
    assert!(lines_recorder.all().contains(&"subflow_exit sf#2".to_owned()));
    assert_eq!(report.snapshot().subflow_results["sf"].tree_context.history.len(), 1);
    assert_folds(&report);
}

/// Proves ENG-122: the budget names itself and applies together with a token.
#[tokio::test]
async fn time_budgets() {
    let chart = build(Chart::builder(hanging("a")));
    let options = RunOptions::new().timeout(Duration::from_millis(10)).cancel(CancellationToken::new());
    let report = chart.run(options).await;
    assert!(
        matches!(report.error(), Some(RunError::TimedOut { after }) if *after == Duration::from_millis(10))
    );
    assert_eq!(state(&report), value!({ "a": "half" }));
    // A loop that never waits is ended too.
    let chart = build(Chart::builder(idle("spin")).loop_to("spin"));
    let options = RunOptions::new().timeout(Duration::from_millis(20)).max_iterations(u64::MAX);
    assert!(matches!(chart.run(options).await.error(), Some(RunError::TimedOut { .. })));
}

/// Proves ENG-121: waits between attempts obey cancellation.
#[tokio::test]
async fn backoff_obeys_cancellation() {
    let chart =
        build(Chart::builder(failing("a").retry(Retry::attempts(9).fixed(Duration::from_secs(3600)))));
    let run = chart.run(RunOptions::new());
    let handle = run.handle();
    let running = tokio::spawn(run);
    tokio::time::sleep(Duration::from_millis(5)).await;
    handle.cancel("enough");
    assert!(matches!(running.await.unwrap().error(), Some(RunError::Cancelled { .. })));
}

/// Proves ENG-120: the wait is kept, on tokio's own clock.
#[tokio::test(start_paused = true)]
async fn backoff_waits() {
    let chart = build(Chart::builder(
        failing("a").retry(Retry::attempts(3).backoff(|n| Duration::from_secs(u64::from(n) * 10))),
    ));
    let from = tokio::time::Instant::now();
    chart.run(RunOptions::new()).await;
    assert_eq!(from.elapsed().as_secs(), 30);
}

/// Proves OBS-18, ENG-121, ENG-165, OBS-13: a dropped run commits nothing further and closes its boundary with
/// its own code; late handles are refused.
#[tokio::test]
async fn dropped_runs() {
    #[derive(Default)]
    struct Codes(Mutex<Vec<String>>);
    impl Recorder for Codes {
        fn id(&self) -> &str {
            "codes"
        }
        fn interest(&self) -> Interest {
            Interest::of(Hook::RunFailed)
        }
        fn on_event(&self, _: &EventCx<'_>, e: &Payload) -> HookResult {
            if let Payload::RunFailed(e) = e {
                self.0.lock().unwrap().extend(e.structured_error.code.clone());
            }
            Ok(())
        }
    }
    let codes = Arc::new(Codes::default());
    let held: Arc<Mutex<Option<Scope>>> = Arc::default();
    let keep = Arc::clone(&held);
    let chart = build(Chart::builder(mark("a")).then(Stage::new("b", move |scope: Scope| {
        *keep.lock().unwrap() = Some(scope.clone());
        async move {
            scope.set_value("b", 1)?;
            std::future::pending::<()>().await;
            Ok(())
        }
    })));
    let run = chart.run(RunOptions::new().observe(codes.clone()));
    let handle = run.handle();
    let running = tokio::spawn(run);
    tokio::time::sleep(Duration::from_millis(5)).await;
    running.abort();
    let _ = running.await;
    assert_eq!(*codes.0.lock().unwrap(), ["RUN_DROPPED"]);
    assert_eq!(handle.commit_count(), 1);
    let scope = held.lock().unwrap().take().unwrap();
    assert!(scope.set_value("b", 2).is_err());
    assert_eq!(handle.snapshot().commit_log.len(), 1);
    // A run that was never polled has no boundary to close.
    drop(chart.run(RunOptions::new().observe(codes.clone())));
    assert_eq!(codes.0.lock().unwrap().len(), 1);
}

type Nested = tokio::sync::mpsc::UnboundedSender<tokio::task::JoinHandle<footprint::report::RunReport>>;

/// Proves ENG-123: nested runs take part in cancellation and deadline.
#[tokio::test]
async fn nested_runs_inherit_cancellation() {
    let inner = build(Chart::builder(hanging("in")));
    let outer = Stage::new("outer", move |scope: Scope| {
        let inner = inner.clone();
        async move {
            let nested = tokio::spawn(inner.run(RunOptions::new().env(scope.env().inherit())));
            scope.env().get::<Nested>().unwrap().send(nested).unwrap();
            std::future::pending::<()>().await;
            Ok(())
        }
    });
    let (send, mut nested): (Nested, _) = tokio::sync::mpsc::unbounded_channel();
    let run = build(Chart::builder(outer)).run(RunOptions::new().extend(Arc::new(send)));
    let handle = run.handle();
    let running = tokio::spawn(run);
    let nested = nested.recv().await.unwrap();
    handle.cancel("all of it");
    assert!(matches!(running.await.unwrap().error(), Some(RunError::Cancelled { .. })));
    assert!(matches!(nested.await.unwrap().error(), Some(RunError::Cancelled { .. })));
}

#[derive(Default)]
struct Tokens(Mutex<Vec<String>>);

impl StreamHandler for Tokens {
    fn on_start(&self, id: &str) {
        self.0.lock().unwrap().push(format!("start {id}"));
    }
    fn on_token(&self, id: &str, token: &str) {
        self.0.lock().unwrap().push(format!("token {id} {token}"));
    }
    fn on_end(&self, id: &str, text: &str) {
        self.0.lock().unwrap().push(format!("end {id} {text}"));
    }
    fn on_abort(&self, id: &str, text: &str) {
        self.0.lock().unwrap().push(format!("abort {id} {text}"));
    }
}

/// Proves ENG-135: a stream per attempt, closed exactly once, aborted on failure and cancellation; silent
/// without a handler.
#[tokio::test]
async fn streams() {
    let attempts = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let draft = Stage::streaming("draft", move |scope: Scope| {
        let attempt = attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async move {
            let tokens = scope.tokens();
            tokens.send("a");
            if attempt == 0 {
                return Err(StageError::new("again"));
            }
            tokens.send("b");
            if attempt == 2 {
                std::future::pending::<()>().await;
            }
            Ok(())
        }
    })
    .stream_id("d")
    .retry(Retry::attempts(2));
    let chart = build(Chart::builder(draft));
    let tokens = Arc::new(Tokens::default());
    chart.run(RunOptions::new().stream(tokens.clone())).await;
    assert_eq!(
        *tokens.0.lock().unwrap(),
        ["start d", "token d a", "abort d a", "start d", "token d a", "token d b", "end d ab"]
    );
    tokens.0.lock().unwrap().clear();
    let options = RunOptions::new().stream(tokens.clone()).timeout(Duration::from_millis(5));
    chart.run(options).await;
    assert_eq!(tokens.0.lock().unwrap().last().unwrap(), "abort d ab");
    let silent = Stage::streaming("draft", |scope: Scope| async move {
        assert!(!scope.tokens().is_listened());
        scope.tokens().send("nobody");
        Ok(())
    });
    completed(&build(Chart::builder(silent)).run(RunOptions::new()).await);
}
