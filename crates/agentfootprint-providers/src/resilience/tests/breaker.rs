use agentfootprint_core::llm::CircuitState;
use footprint::clock::ManualClock;
use futures_util::FutureExt;

use super::*;

fn at(clock: &Arc<ManualClock>) -> (CallCx, Arc<CollectedReports>) {
    let (cx, reports) = watched();
    (cx.with_clock(clock.clone()), reports)
}

fn changes(reports: &CollectedReports) -> Vec<(CircuitState, String)> {
    let change = |report| match report {
        ResilienceReport::CircuitChanged { state, reason, provider_name } => {
            assert_eq!(provider_name, "leaf");
            (state, reason)
        }
        other => panic!("{other:?}"),
    };
    reports.take().into_iter().map(change).collect()
}

/// Proves LLM-26, LLM-114, LLM-180.
#[tokio::test]
async fn the_whole_walk() {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000));
    let (cx, reports) = at(&clock);
    let fail = || Step::Fail(transient(503));
    let ok = || Step::Ok("fine");
    let script = [fail(), ok(), fail(), fail(), fail(), ok(), ok(), ok()];
    let inner = leaf("leaf", script);
    let seen: Arc<Mutex<Vec<CircuitState>>> = Arc::default();
    let told = seen.clone();
    let policy = BreakerPolicy::default()
        .failure_threshold(2)
        .on_state_change(move |state, _| told.lock().unwrap().push(state));
    let provider = with_circuit_breaker(inner.clone(), policy).unwrap();
    assert_eq!(provider.name(), "leaf");
    let request = request();
    let ask = || provider.complete(&request, &cx);

    assert!(ask().await.is_err());
    assert!(ask().await.is_ok(), "a success starts the count anew");
    assert!(ask().await.is_err() && ask().await.is_err());
    assert_eq!(changes(&reports), [(CircuitState::Open, "2 consecutive failures".into())]);
    let open = ask().await.unwrap_err();
    assert_eq!(
        open.kind,
        LlmErrorKind::CircuitOpen {
            retry_at: 1_700_000_030_000,
            last_error: Some("[leaf] it is busy".into())
        }
    );
    for word in ["leaf", "2023-11-14T22:13:50Z", "it is busy"] {
        assert!(open.to_string().contains(word), "{open}");
    }
    assert_eq!((open.record_name(), open.record_code()), ("CircuitOpenError", Some("ERR_CIRCUIT_OPEN")));
    assert_eq!(inner.calls(), 4, "an open breaker asks nobody");
    clock.advance_ms(29_999);
    assert!(ask().await.is_err());

    clock.advance_ms(1);
    assert_eq!(ask().await.unwrap_err().status, Some(503), "the probe fails");
    assert_eq!(
        changes(&reports),
        [
            (CircuitState::HalfOpen, "cooldown elapsed".into()),
            (CircuitState::Open, "half-open probe failed".into())
        ]
    );
    clock.advance_ms(30_000);
    assert!(ask().await.is_ok());
    assert_eq!(provider.state().consecutive_successes, 1);
    assert!(ask().await.is_ok());
    assert_eq!(
        changes(&reports),
        [
            (CircuitState::HalfOpen, "cooldown elapsed".into()),
            (CircuitState::Closed, "2 probe successes".into())
        ]
    );
    assert!(ask().await.is_ok());
    assert_eq!(seen.lock().unwrap().len(), 5);
}

/// Proves LLM-114.
#[tokio::test]
async fn one_probe_at_a_time_and_a_cancelled_one_gives_its_place_back() {
    let clock = Arc::new(ManualClock::at(0));
    let (cx, _) = at(&clock);
    let inner = leaf("leaf", [Step::Fail(network()), Step::Hang, Step::Ok("fine")]);
    let provider =
        with_circuit_breaker(inner.clone(), BreakerPolicy::default().failure_threshold(1)).unwrap();
    let request = request();
    assert!(provider.complete(&request, &cx).await.is_err());
    clock.advance_ms(30_000);
    let mut probe = provider.complete(&request, &cx);
    assert!((&mut probe).now_or_never().is_none());
    let other = provider.complete(&request, &cx).await.unwrap_err();
    assert!(matches!(other.kind, LlmErrorKind::CircuitOpen { .. }));
    assert_eq!(inner.calls(), 2);
    drop(probe);
    assert!(provider.complete(&request, &cx).await.is_ok());
}

/// Proves LLM-114.
#[tokio::test]
async fn what_does_not_count() {
    let (cx, reports) = watched();
    let steps = [Step::Fail(refusal()), Step::Fail(LlmError::aborted("leaf")), Step::Half("x", broken())];
    let provider =
        with_circuit_breaker(leaf("leaf", steps), BreakerPolicy::default().failure_threshold(1)).unwrap();
    assert!(provider.complete(&request(), &cx).await.is_err());
    assert!(provider.complete(&request(), &cx).await.is_err());
    assert!(read(&provider, &cx).await.1.is_some(), "the stream breaks after delivery");
    assert!(reports.take().is_empty());
    assert_eq!(provider.state(), BreakerState::default());
    // While opening it counts.
    let provider = with_circuit_breaker(
        leaf("leaf", [Step::Fail(network())]),
        BreakerPolicy::default().failure_threshold(1),
    );
    let provider = provider.unwrap();
    assert!(read(&provider, &cx).await.1.is_some());
    assert_eq!(provider.state().state, CircuitState::Open);
    let picky = BreakerPolicy::default().failure_threshold(1).should_count(|error| error.status == Some(500));
    let provider = with_circuit_breaker(leaf("leaf", [Step::Fail(transient(503))]), picky).unwrap();
    assert!(provider.complete(&request(), &cx).await.is_err());
    assert_eq!(provider.state().state, CircuitState::Closed);
}

/// A call that began before the breaker opened is old news when it ends.
///
/// Proves LLM-114.
#[tokio::test]
async fn late_results_change_nothing() {
    let clock = Arc::new(ManualClock::at(0));
    let (cx, _) = at(&clock);
    let provider =
        with_circuit_breaker(leaf("leaf", []), BreakerPolicy::default().failure_threshold(1)).unwrap();
    let early = provider.admit(&cx).unwrap();
    let failing = provider.admit(&cx).unwrap();
    provider.book(&failing, Some(&network()), &cx);
    provider.book(&early, None, &cx);
    assert_eq!(provider.state().state, CircuitState::Open);
    clock.advance_ms(30_000);
    let probe = provider.admit(&cx).unwrap();
    provider.book(&early, Some(&network()), &cx);
    assert_eq!(provider.state().state, CircuitState::HalfOpen);
    drop(probe);
}

/// Proves LLM-114.
#[tokio::test]
async fn the_state_can_be_kept_and_bad_settings_are_refused() {
    let kept = serde_json::json!({
        "state": "open", "consecutiveFailures": 5, "consecutiveSuccesses": 0, "openedAt": 1000, "lastErrorMessage": "x"
    });
    let state: BreakerState = serde_json::from_value(kept.clone()).unwrap();
    assert_eq!(serde_json::to_value(&state).unwrap(), kept);
    let (cx, _) = at(&Arc::new(ManualClock::at(2000)));
    let provider = with_circuit_breaker(leaf("leaf", []), BreakerPolicy::default()).unwrap().restored(state);
    assert!(provider.complete(&request(), &cx).await.is_err());
    for policy in
        [BreakerPolicy::default().failure_threshold(0), BreakerPolicy::default().half_open_successes(0)]
    {
        assert_eq!(with_circuit_breaker(leaf("leaf", []), policy).unwrap_err().kind, LlmErrorKind::Refused);
    }
}
