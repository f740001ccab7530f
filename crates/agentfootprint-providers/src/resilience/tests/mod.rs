mod breaker;
mod fallback;
mod retry;
mod throttle;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentfootprint_core::llm::{
    CallCx, Capabilities, CollectedReports, LlmChunk, LlmError, LlmErrorKind, LlmProvider, LlmRequest,
    LlmResponse, LlmStream, PromptCaching, ResilienceReport, RoleSet, ThinkingHandler, ThinkingMode, Usage,
};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};

use super::*;

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// One scripted answer of a leaf.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Ok(&'static str),
    Fail(LlmError),
    /// Text, then a failure in the middle of the stream.
    Half(&'static str, LlmError),
    /// Never answers.
    Hang,
}

/// A leaf that answers by a script and keeps what it was asked.
pub(super) struct Leaf {
    name: &'static str,
    script: Mutex<VecDeque<Step>>,
    pub(super) asked: Mutex<Vec<LlmRequest>>,
    handler: Option<Arc<dyn ThinkingHandler>>,
    streams: bool,
}

pub(super) fn leaf(name: &'static str, script: impl IntoIterator<Item = Step>) -> Arc<Leaf> {
    leaf_with(name, script, None, true)
}

pub(super) fn leaf_with(
    name: &'static str,
    script: impl IntoIterator<Item = Step>,
    handler: Option<Arc<dyn ThinkingHandler>>,
    streams: bool,
) -> Arc<Leaf> {
    let script = Mutex::new(script.into_iter().collect());
    Arc::new(Leaf { name, script, asked: Mutex::default(), handler, streams })
}

impl Leaf {
    pub(super) fn calls(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn next(&self, request: &LlmRequest) -> Step {
        self.asked.lock().unwrap().push(request.clone());
        self.script.lock().unwrap().pop_front().expect("a step is scripted")
    }
}

pub(super) fn response(text: &str) -> LlmResponse {
    LlmResponse {
        content: text.to_owned(),
        usage: Usage::new(6, 4),
        raw_thinking: Some("hm".into()),
        ..LlmResponse::default()
    }
}

#[async_trait]
impl LlmProvider for Leaf {
    fn name(&self) -> &str {
        self.name
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        let declared = Capabilities::default()
            .carrying(RoleSet::ALL)
            .with_forced_tool_choice(true)
            .with_prompt_caching(PromptCaching::Automatic { reports_usage: true })
            .with_thinking_mode(ThinkingMode::Budget)
            .with_streams(self.streams);
        match &self.handler {
            Some(handler) => declared.with_thinking_handler(handler.clone()),
            None => declared,
        }
    }

    async fn complete(&self, request: &LlmRequest, _cx: &CallCx) -> Result<LlmResponse, LlmError> {
        match self.next(request) {
            Step::Ok(text) => Ok(response(text)),
            Step::Fail(error) | Step::Half(_, error) => Err(error),
            Step::Hang => std::future::pending().await,
        }
    }

    async fn stream(&self, request: &LlmRequest, _cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        if !self.streams {
            return None;
        }
        let text = |content: &str| LlmChunk::Text { token_index: 0, content: content.to_owned() };
        let items = match self.next(request) {
            Step::Ok(said) => vec![Ok(text(said)), Ok(LlmChunk::done(1, response(said)))],
            // Some failures come while opening, some before the first chunk.
            Step::Fail(error) if error.status.is_some() => return Some(Err(error)),
            Step::Fail(error) => vec![Err(error)],
            Step::Half(said, error) => vec![Ok(text(said)), Err(error)],
            Step::Hang => return std::future::pending().await,
        };
        Some(Ok(Box::pin(stream::iter(items))))
    }
}

pub(super) fn transient(status: u16) -> LlmError {
    LlmError::new(LlmErrorKind::Transient, "leaf", "it is busy").with_status(status)
}

pub(super) fn network() -> LlmError {
    LlmError::new(LlmErrorKind::Network, "leaf", "no connection")
}

pub(super) fn refusal() -> LlmError {
    LlmError::new(LlmErrorKind::UnsupportedToolChoice, "leaf", "it cannot be forced")
}

pub(super) fn broken() -> LlmError {
    LlmError::new(LlmErrorKind::StreamBroken { delivered: true }, "leaf", "it broke off")
}

pub(super) fn request() -> LlmRequest {
    LlmRequest::new("model-a").user("hi")
}

/// A context whose reports are kept.
pub(super) fn watched() -> (CallCx, Arc<CollectedReports>) {
    let reports = Arc::new(CollectedReports::default());
    (CallCx::detached().with_reports(reports.clone()), reports)
}

/// Everything a stream yields: its texts, and its error if it ended with one.
pub(super) async fn read(provider: &dyn LlmProvider, cx: &CallCx) -> (Vec<LlmChunk>, Option<LlmError>) {
    let mut stream = match provider.stream(&request(), cx).await.expect("it streams") {
        Ok(stream) => stream,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut chunks = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(chunk) => chunks.push(chunk),
            Err(error) => return (chunks, Some(error)),
        }
    }
    (chunks, None)
}

/// Every decorator over the same leaf, by name.
pub(super) fn all_around(script: impl Fn() -> Vec<Step>) -> Vec<(&'static str, Arc<dyn LlmProvider>)> {
    let inner = || leaf("leaf", script());
    let arm = FallbackArm::new(leaf("leaf", script()), "model-b");
    let limits = ThrottleLimits::default().max_in_flight(2);
    vec![
        (
            "retry",
            Arc::new(with_retry(inner(), RetryPolicy::default().max_attempts(1)).unwrap())
                as Arc<dyn LlmProvider>,
        ),
        ("breaker", Arc::new(with_circuit_breaker(inner(), BreakerPolicy::default()).unwrap())),
        ("throttle", Arc::new(with_throttle(inner(), limits).unwrap())),
        ("fallback", Arc::new(with_fallback(inner(), arm).unwrap())),
    ]
}

/// Proves LLM-5, LLM-116.
#[tokio::test]
async fn every_decorator_forwards_what_it_does_not_change() {
    let declared = format!("{:?}", leaf("leaf", []).capabilities("m"));
    for (name, provider) in all_around(|| vec![Step::Ok("a"), Step::Ok("b")]) {
        assert_eq!(format!("{:?}", provider.capabilities("m")), declared, "{name}");
        let cx = CallCx::detached();
        assert_eq!(provider.complete(&request(), &cx).await.unwrap(), response("a"), "{name}");
        let (chunks, error) = read(&*provider, &cx).await;
        assert!(error.is_none());
        assert_eq!(chunks.last(), Some(&LlmChunk::done(1, response("b"))), "{name}");
    }
    let inner = leaf("leaf", [Step::Ok("a")]);
    let stack =
        with_retry(with_throttle(inner.clone(), ThrottleLimits::default()).unwrap(), RetryPolicy::default());
    stack.unwrap().complete(&request(), &CallCx::detached()).await.unwrap();
    let asked = serde_json::to_value(&inner.asked.lock().unwrap()[0]).unwrap();
    assert_eq!(asked, serde_json::to_value(request()).unwrap(), "what is asked is never changed");
}

/// Proves LLM-37, LLM-116.
#[tokio::test]
async fn a_cancelled_call_stays_cancelled_and_makes_no_report() {
    for (name, provider) in all_around(|| vec![Step::Fail(LlmError::aborted("leaf")); 2]) {
        let (cx, reports) = watched();
        let error = provider.complete(&request(), &cx).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Aborted, "{name}");
        assert!(reports.take().is_empty(), "{name}");
    }
}

/// A chunk that was handed on is never asked for again.
///
/// Proves LLM-111, LLM-112.
#[tokio::test(start_paused = true)]
async fn after_the_first_chunk_nobody_steps_in() {
    let half = || leaf("leaf", [Step::Half("So far", broken()), Step::Ok("again")]);
    let retry = || with_retry(half(), RetryPolicy::default().should_retry(|_, _| true)).unwrap();
    let stacks: Vec<Arc<dyn LlmProvider>> = vec![
        Arc::new(retry()),
        Arc::new(with_fallback(half(), FallbackArm::new(leaf("b", [Step::Ok("b")]), "m")).unwrap()),
        Arc::new(with_circuit_breaker(retry(), BreakerPolicy::default().failure_threshold(1)).unwrap()),
        Arc::new(
            with_retry(
                with_fallback(retry(), FallbackArm::new(leaf("b", [Step::Ok("b")]), "m")).unwrap(),
                RetryPolicy::default().should_retry(|_, _| true),
            )
            .unwrap(),
        ),
    ];
    for provider in stacks {
        let (cx, reports) = watched();
        let (chunks, error) = read(&*provider, &cx).await;
        assert_eq!(chunks.len(), 1, "{}", provider.name());
        assert!(matches!(error.unwrap().kind, LlmErrorKind::StreamBroken { delivered: true }));
        assert!(reports.take().is_empty());
    }
}

mod never_twice {
    use proptest::prelude::*;

    use super::*;

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            Just(Step::Ok("answer")),
            Just(Step::Fail(transient(503))),
            Just(Step::Fail(network())),
            Just(Step::Half("answer", broken())),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// No chunk is ever delivered twice, whatever fails and however the decorators are stacked.
        ///
        /// Proves LLM-111, LLM-112.
        #[test]
        fn under_any_stack(first in prop::collection::vec(step(), 12), second in prop::collection::vec(step(), 12), order in 0..3) {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
            runtime.block_on(async {
                let (a, b) = (leaf("a", first), leaf("b", second));
                let retry = |inner: Arc<dyn LlmProvider>| with_retry(inner, RetryPolicy::default()).unwrap();
                let arm = |inner: Arc<dyn LlmProvider>| FallbackArm::new(inner, "m");
                let provider: Arc<dyn LlmProvider> = match order {
                    0 => Arc::new(retry(Arc::new(with_fallback(a, arm(b)).unwrap()))),
                    1 => Arc::new(with_fallback(retry(a), arm(Arc::new(retry(b)))).unwrap()),
                    _ => Arc::new(with_circuit_breaker(with_fallback(retry(a), arm(b)).unwrap(), BreakerPolicy::default()).unwrap()),
                };
                let (chunks, _) = read(&*provider, &CallCx::detached()).await;
                let texts = chunks.iter().filter(|chunk| matches!(chunk, LlmChunk::Text { .. })).count();
                assert!(texts <= 1, "{chunks:?}");
            });
        }
    }
}
