use futures_util::FutureExt;
use tokio::time::Instant;

use super::*;

fn many() -> Vec<Step> {
    vec![Step::Ok("x"); 20]
}

fn throttled(reports: &CollectedReports) -> Vec<(Duration, String)> {
    let one = |report| match report {
        ResilienceReport::Throttled { wait, limit, provider_name } => {
            assert_eq!(provider_name, "leaf");
            (wait, limit)
        }
        other => panic!("{other:?}"),
    };
    reports.take().into_iter().map(one).collect()
}

/// Proves LLM-115, LLM-180.
#[tokio::test(start_paused = true)]
async fn requests_wait_for_their_interval() {
    let limits = ThrottleLimits::default().requests(2, 10 * SECOND);
    let provider = with_throttle(leaf("leaf", many()), limits).unwrap();
    assert_eq!(provider.name(), "leaf");
    let (cx, reports) = watched();
    let start = Instant::now();
    for expected in [0, 0, 10, 10, 20] {
        provider.complete(&request(), &cx).await.unwrap();
        assert_eq!(start.elapsed(), expected * SECOND);
    }
    assert_eq!(throttled(&reports)[0], (10 * SECOND, "2 requests per 10s".to_owned()));
}

/// Proves LLM-115.
#[tokio::test(start_paused = true)]
async fn tokens_are_charged_after_the_call() {
    // Each answer costs 10 tokens.
    for streamed in [false, true] {
        let limits = ThrottleLimits::default().tokens(15, 10 * SECOND);
        let provider = with_throttle(leaf("leaf", many()), limits).unwrap();
        let start = Instant::now();
        for expected in [0, 0, 10] {
            if streamed {
                assert!(read(&provider, &CallCx::detached()).await.1.is_none());
            } else {
                provider.complete(&request(), &CallCx::detached()).await.unwrap();
            }
            assert_eq!(start.elapsed(), expected * SECOND);
        }
    }
}

/// Proves LLM-115.
#[tokio::test(start_paused = true)]
async fn a_stream_is_in_flight_until_it_ends() {
    let limits = ThrottleLimits::default().max_in_flight(1);
    let provider = with_throttle(leaf("leaf", many()), limits).unwrap();
    let (cx, _) = watched();
    let stream = provider.stream(&request(), &cx).await.unwrap().unwrap();
    let request = request();
    let mut second = provider.complete(&request, &cx);
    assert!((&mut second).now_or_never().is_none());
    drop(stream);
    assert!(second.await.is_ok());
}

/// Proves LLM-115.
#[tokio::test(start_paused = true)]
async fn too_long_a_wait_is_refused_with_the_rest_of_it_and_cancelling_ends_one() {
    let limits = ThrottleLimits::default().requests(1, 100 * SECOND).max_wait(30 * SECOND);
    let inner = leaf("leaf", many());
    let provider = with_throttle(inner.clone(), limits).unwrap();
    let (cx, _) = watched();
    provider.complete(&request(), &cx).await.unwrap();
    let error = provider.complete(&request(), &cx).await.unwrap_err();
    assert_eq!((&error.kind, error.retry_after), (&LlmErrorKind::RateLimited, Some(100 * SECOND)));
    for word in ["1 requests per 100s", "nothing was sent", "max_wait"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    assert_eq!(inner.calls(), 1);

    tokio::time::advance(80 * SECOND).await;
    let request = request();
    let mut waiting = provider.complete(&request, &cx);
    assert!((&mut waiting).now_or_never().is_none());
    cx.cancel_token().cancel();
    assert_eq!(waiting.now_or_never().unwrap().unwrap_err().kind, LlmErrorKind::Aborted);

    let full = with_throttle(leaf("leaf", [Step::Hang]), ThrottleLimits::default().max_in_flight(1)).unwrap();
    let cx = CallCx::detached();
    let mut hanging = full.complete(&request, &cx);
    assert!((&mut hanging).now_or_never().is_none());
    let error = full.complete(&request, &cx).await.unwrap_err();
    assert!(error.to_string().contains("1 calls in flight"), "{error}");
}

/// Proves LLM-115.
#[test]
fn limits_that_allow_nothing_are_refused() {
    for limits in [
        ThrottleLimits::default().requests(0, SECOND),
        ThrottleLimits::default().tokens(1, Duration::ZERO),
        ThrottleLimits::default().max_in_flight(0),
    ] {
        assert_eq!(with_throttle(leaf("leaf", []), limits).unwrap_err().kind, LlmErrorKind::Refused);
    }
}
