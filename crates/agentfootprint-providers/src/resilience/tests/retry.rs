use std::sync::atomic::{AtomicU32, Ordering};

use footprint::clock::ManualClock;
use futures_util::FutureExt;
use tokio::time::Instant;

use super::*;

fn retried(report: &ResilienceReport) -> (u32, u64, &str) {
    let ResilienceReport::Retried { attempt, backoff, reason, max_attempts: 3, .. } = report else {
        panic!("{report:?}")
    };
    (*attempt, backoff.as_millis() as u64, reason)
}

/// Proves LLM-110, LLM-180.
#[tokio::test(start_paused = true)]
async fn two_failures_and_an_answer_are_two_retries_and_one_recovery() {
    for streamed in [false, true] {
        let inner = leaf("leaf", [Step::Fail(transient(503)), Step::Fail(network()), Step::Ok("fine")]);
        let provider = with_retry(inner.clone(), RetryPolicy::default()).unwrap();
        assert_eq!(provider.name(), "leaf+retry");
        let (cx, reports) = watched();
        let cx = cx.with_clock(Arc::new(ManualClock::at(0)));
        let start = Instant::now();
        if streamed {
            let (chunks, error) = read(&provider, &cx).await;
            assert!(error.is_none() && chunks.len() == 2);
        } else {
            assert_eq!(provider.complete(&request(), &cx).await.unwrap().content, "fine");
        }
        assert_eq!(start.elapsed(), Duration::from_millis(600));
        let reports = reports.take();
        assert_eq!(retried(&reports[0]), (2, 200, "http-5xx"));
        assert_eq!(retried(&reports[1]), (3, 400, "no-status"));
        assert!(matches!(reports[2], ResilienceReport::Recovered { attempt: 3, .. }));
        assert_eq!((reports.len(), inner.calls()), (3, 3));
    }
}

/// Proves LLM-110.
#[tokio::test(start_paused = true)]
async fn a_stated_wait_is_kept_and_bounded() {
    let limited = |wait: u32| {
        LlmError::new(LlmErrorKind::RateLimited, "leaf", "slow down")
            .with_status(429)
            .with_retry_after(wait * SECOND)
    };
    for (stated, expected) in [(4_u32, 4_u32), (60, 10)] {
        let inner = leaf("leaf", [Step::Fail(limited(stated)), Step::Ok("fine")]);
        let provider = with_retry(inner, RetryPolicy::default()).unwrap();
        let (cx, reports) = watched();
        let start = Instant::now();
        provider.complete(&request(), &cx).await.unwrap();
        assert_eq!(start.elapsed(), expected * SECOND);
        let ResilienceReport::Retried { stated_wait, reason, .. } = &reports.take()[0] else { panic!() };
        assert_eq!((stated_wait, reason.as_str()), (&Some(stated * SECOND), "http-429"));
    }
}

/// Proves LLM-110.
#[tokio::test(start_paused = true)]
async fn what_cannot_pass_is_not_tried_again() {
    let status = |kind, status| LlmError::new(kind, "leaf", "no").with_status(status);
    for error in [
        LlmError::aborted("leaf"),
        status(LlmErrorKind::InvalidRequest, 400),
        status(LlmErrorKind::Transient, 408),
        LlmError::new(LlmErrorKind::UnreadableResponse, "leaf", "odd"),
        LlmError::new(LlmErrorKind::CircuitOpen { retry_at: 0, last_error: None }, "leaf", "open"),
        refusal(),
    ] {
        let inner = leaf("leaf", [Step::Fail(error.clone())]);
        let provider = with_retry(inner.clone(), RetryPolicy::default()).unwrap();
        assert_eq!(provider.complete(&request(), &CallCx::detached()).await.unwrap_err().kind, error.kind);
        assert_eq!(inner.calls(), 1);
    }
    // The last failure is the one that is told.
    let inner =
        leaf("leaf", [Step::Fail(transient(500)), Step::Fail(transient(502)), Step::Fail(transient(504))]);
    let provider = with_retry(inner, RetryPolicy::default()).unwrap();
    assert_eq!(provider.complete(&request(), &CallCx::detached()).await.unwrap_err().status, Some(504));
}

/// Proves LLM-110.
#[tokio::test(start_paused = true)]
async fn cancelling_a_wait_ends_at_once_and_reports_nothing() {
    let inner = leaf("leaf", [Step::Fail(transient(503)), Step::Ok("never")]);
    let provider = with_retry(inner.clone(), RetryPolicy::default()).unwrap();
    let (cx, reports) = watched();
    let request = request();
    let mut call = provider.complete(&request, &cx);
    assert!((&mut call).now_or_never().is_none());
    cx.cancel_token().cancel();
    assert_eq!(call.now_or_never().unwrap().unwrap_err().kind, LlmErrorKind::Aborted);
    assert!(reports.take().is_empty());
    assert_eq!(inner.calls(), 1);
}

/// Proves LLM-110.
#[tokio::test(start_paused = true)]
async fn settings_decide_and_impossible_ones_are_refused() {
    let told = Arc::new(AtomicU32::new(0));
    let seen = told.clone();
    let policy = RetryPolicy::default()
        .max_attempts(2)
        .initial_delay(SECOND)
        .jitter(true)
        .should_retry(|error, failed| error.status == Some(400) && failed == 1)
        .on_retry(move |_, attempt, wait| {
            assert!((SECOND / 2..=SECOND).contains(&wait));
            seen.store(attempt, Ordering::SeqCst);
        });
    let odd = LlmError::new(LlmErrorKind::InvalidRequest, "leaf", "no").with_status(400);
    let provider = with_retry(leaf("leaf", [Step::Fail(odd), Step::Ok("fine")]), policy).unwrap();
    assert!(provider.complete(&request(), &CallCx::detached()).await.is_ok());
    assert_eq!(told.load(Ordering::SeqCst), 2);

    for (policy, word) in [
        (RetryPolicy::default().max_attempts(0), "max_attempts"),
        (RetryPolicy::default().factor(0.5), "factor"),
        (RetryPolicy::default().factor(f64::NAN), "factor"),
    ] {
        let error = with_retry(leaf("leaf", []), policy).unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Refused);
        assert!(error.to_string().contains(word), "{error}");
    }
}

/// A provider that does not stream still does not.
#[tokio::test]
async fn not_streaming_is_not_a_failure() {
    let provider = with_retry(leaf_with("leaf", [], None, false), RetryPolicy::default()).unwrap();
    assert!(provider.stream(&request(), &CallCx::detached()).await.is_none());
}
