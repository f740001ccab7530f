//! What every wire must do with bad input, tested the same way for each: a wire names its answers, the checks are here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentfootprint_core::llm::{
    CallCx, LlmChunk, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse, OllamaReason,
    TimeoutPhase,
};
use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt, stream};

use super::testing::{Answer, Beat, Scripted};
use super::{Bytes, FaultPhase, HeaderMap, HttpExchange, HttpFault, HttpRequest, HttpResponse};

pub(crate) use crate::testing::{KEY as CANARY, answer_of, assert_clean, now, read_stream};

/// One wire under test.
pub(crate) struct Subject {
    /// A provider whose key is [`CANARY`].
    pub(crate) build: fn(Arc<dyn HttpExchange>) -> Arc<dyn LlmProvider>,
    pub(crate) model: &'static str,
    /// A good answer, plain and streamed; it holds a text with characters of several bytes.
    pub(crate) plain: Vec<u8>,
    pub(crate) streamed: Vec<u8>,
    /// An error body that says this sentence.
    pub(crate) error_body: fn(&str) -> Vec<u8>,
    /// A stream that reports an error after its first text; the error's sentence holds [`CANARY`].
    pub(crate) error_inside: Vec<u8>,
    /// The beginning of a frame that never ends.
    pub(crate) open_frame: Vec<u8>,
    /// A stream whose frame is not UTF-8 inside.
    pub(crate) not_utf8: Vec<u8>,
    /// The option a rejected key's message names.
    pub(crate) key_word: &'static str,
}

impl Subject {
    fn provider(&self, answer: &Answer) -> Arc<dyn LlmProvider> {
        // An adapter that asks a second question (which models are there?) gets the same answer.
        (self.build)(Scripted::new([answer.clone(), answer.clone(), answer.clone()]))
    }

    pub(crate) fn request(&self) -> LlmRequest {
        LlmRequest::new(self.model).user("hi")
    }

    pub(crate) async fn complete(&self, answer: Answer) -> Result<LlmResponse, LlmError> {
        self.provider(&answer).complete(&self.request(), &CallCx::detached()).await.inspect_err(assert_clean)
    }

    pub(crate) async fn stream(&self, answer: Answer) -> (Vec<LlmChunk>, Option<LlmError>) {
        let read = read_stream(&*self.provider(&answer), &self.request(), &CallCx::detached()).await;
        read.1.iter().for_each(assert_clean);
        read
    }

    /// The same failure at both doors.
    async fn refused(&self, answer: Answer) -> LlmError {
        let plain = self.complete(answer.clone()).await.unwrap_err();
        let streamed = self.stream(answer).await.1.unwrap();
        assert_eq!(plain.kind, streamed.kind);
        plain
    }

    /// Everything below.
    pub(crate) async fn keeps_the_contract(&self) {
        self.says_what_each_status_means().await;
        self.says_what_a_wrong_success_is().await;
        self.names_an_unreachable_host().await;
        self.says_that_a_stream_failed_inside().await;
        self.bounds_a_frame().await;
        self.survives_cuts_and_splits();
    }

    async fn says_what_each_status_means(&self) {
        use LlmErrorKind as K;
        let bodies: [Vec<u8>; 4] = [
            (self.error_body)(&format!("no, {CANARY}")),
            b"<html>no</html>".to_vec(),
            Vec::new(),
            b"{\"unfinished\": ".to_vec(),
        ];
        for body in &bodies {
            for (status, kind, word) in [
                (400, K::InvalidRequest, "400"),
                (401, K::Auth, self.key_word),
                (403, K::Auth, self.key_word),
                (422, K::InvalidRequest, "422"),
                (429, K::RateLimited, "throttling"),
                (500, K::Transient, "500"),
                (503, K::Transient, "503"),
                (529, K::Transient, "529"),
            ] {
                let error = self.refused(Answer::new(status, body)).await;
                assert_eq!((&error.kind, error.status), (&kind, Some(status)), "{error}");
                assert!(error.to_string().contains(word), "{error}");
                assert_eq!(error.retry_after, None);
            }
            let error = self.refused(Answer::new(404, body)).await;
            assert_eq!(error.status, Some(404), "{error}");
            assert!(!error.retryable());
            let waiting = Answer::new(429, body).with_header("retry-after", "4");
            let error = self.refused(waiting).await;
            assert_eq!(error.retry_after, Some(Duration::from_secs(4)));
            assert!(error.to_string().contains("asks to wait 4s"), "{error}");
        }
    }

    async fn says_what_a_wrong_success_is(&self) {
        for (body, word) in [
            ("<html>welcome</html>", "an HTML or XML page"),
            ("", "an empty body"),
            ("{\"status\":\"up\"}", "fields status"),
            ("hello", "not JSON"),
            ("[1,2]", "a list of 2"),
        ] {
            let error = self.complete(Answer::ok(body)).await.unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::UnreadableResponse, "{body}");
            assert!(error.to_string().contains(word), "{error}");
            assert!(!error.retryable(), "the model already ran");
            let (chunks, error) = self.stream(Answer::ok(body)).await;
            let error = error.expect(body);
            assert!(chunks.is_empty());
            assert!(
                matches!(
                    error.kind,
                    LlmErrorKind::UnreadableResponse
                        | LlmErrorKind::UnreadableFrame
                        | LlmErrorKind::StreamIncomplete { delivered: false }
                ),
                "{body}: {error:?}"
            );
        }
        let page = self.stream(Answer::ok("<html>welcome</html>\n")).await.1.unwrap();
        assert!(page.to_string().contains("HTML"), "{page}");
    }

    async fn names_an_unreachable_host(&self) {
        for phase in [FaultPhase::Dns, FaultPhase::Connect, FaultPhase::ConnectTimeout, FaultPhase::Head] {
            let fault = Answer::failing(phase, &format!("cannot reach https://h/?key={CANARY}"));
            let error = self.refused(fault).await;
            let unreachable =
                LlmErrorKind::Timeout { phase: TimeoutPhase::Connect, limit: Duration::from_secs(10) };
            let is_daemon = matches!(
                error.kind,
                LlmErrorKind::OllamaUnavailable { reason: OllamaReason::DaemonUnreachable, .. }
            );
            assert!(
                error.kind == LlmErrorKind::Network || error.kind == unreachable || is_daemon,
                "{error:?}"
            );
            assert!(error.retryable());
        }
    }

    async fn says_that_a_stream_failed_inside(&self) {
        let (chunks, error) = self.stream(Answer::ok(&self.error_inside)).await;
        assert_eq!(chunks.len(), 1);
        let error = error.unwrap();
        assert!(error.to_string().contains("reported an error inside its answer"), "{error}");
        let (_, error) = self.stream(Answer::ok(&self.not_utf8)).await;
        assert!(matches!(error.unwrap().kind, LlmErrorKind::UnreadableFrame));
    }

    /// A frame that never ends is refused at its bound, not when memory is.
    async fn bounds_a_frame(&self) {
        let endless = Arc::new(Endless { first: self.open_frame.clone(), given: Arc::default() });
        let provider = (self.build)(endless.clone());
        let (_, error) = read_stream(&*provider, &self.request(), &CallCx::detached()).await;
        assert!(matches!(error.unwrap().kind, LlmErrorKind::ResponseTooLarge { .. }));
        assert!(endless.given.load(Ordering::Relaxed) <= 10, "8 MiB are the bound");
    }

    /// Wherever a body is cut, nothing panics, and either the answer is whole or its being cut is said. However it is
    /// split, the chunks are the same.
    fn survives_cuts_and_splits(&self) {
        let (whole, error) = now(self.stream(Answer::ok(&self.streamed)));
        assert!(error.is_none(), "{error:?}");
        let answer = answer_of(&whole);
        assert_eq!(now(self.complete(Answer::ok(&self.plain))).unwrap(), answer, "both doors say the same");
        for piece in [1, 2, 3, 7, 64] {
            let (split, error) = now(self.stream(Answer::in_pieces(&self.streamed, piece)));
            assert!(error.is_none());
            assert_eq!(split, whole, "in pieces of {piece}");
        }
        for end in 0..self.streamed.len() {
            let (chunks, error) = now(self.stream(Answer::ok(&self.streamed[..end])));
            match error {
                None => assert_eq!(answer_of(&chunks).content, answer.content),
                Some(error) => assert!(
                    matches!(error.kind, LlmErrorKind::StreamIncomplete { .. }),
                    "cut at {end}: {error:?}"
                ),
            }
            let broken = [Beat::Bytes(self.streamed[..end].to_vec()), Beat::Break];
            if let Some(error) = now(self.stream(Answer::ok("").with_body(broken))).1 {
                assert!(
                    matches!(error.kind, LlmErrorKind::StreamBroken { .. }),
                    "broken at {end}: {error:?}"
                );
            }
        }
        for end in 0..self.plain.len() {
            let error = now(self.complete(Answer::ok(&self.plain[..end]))).unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::UnreadableResponse, "cut at {end}");
        }
    }

    /// A stream that stalls is ended by its deadline. Needs a paused clock.
    pub(crate) async fn ends_a_stalled_stream(&self) {
        let half = self.streamed.len() / 2;
        let stalled = Answer::ok("").with_body([Beat::Bytes(self.streamed[..half].to_vec()), Beat::Stall]);
        let error = self.stream(stalled).await.1.unwrap();
        assert!(matches!(error.kind, LlmErrorKind::Timeout { phase: TimeoutPhase::Idle, .. }), "{error:?}");
        assert!(error.to_string().contains("Deadlines::idle"));
        let stalled = Answer::ok("").with_body([Beat::Bytes(self.plain[..5].to_vec()), Beat::Stall]);
        let error = self.complete(stalled).await.unwrap_err();
        assert!(matches!(error.kind, LlmErrorKind::Timeout { phase: TimeoutPhase::Body, .. }), "{error:?}");
        // Nobody answers at all; and a cancelled call is nobody's fault.
        let cx = CallCx::detached();
        let provider = self.provider(&Answer::ok("").after(Duration::MAX));
        let request = self.request();
        let mut call = provider.complete(&request, &cx);
        assert!((&mut call).now_or_never().is_none());
        cx.cancel_token().cancel();
        assert_eq!(call.now_or_never().expect("within one poll").unwrap_err().kind, LlmErrorKind::Aborted);
    }
}

/// Answers with the beginning of a frame and then with ever more of it.
struct Endless {
    first: Vec<u8>,
    given: Arc<AtomicUsize>,
}

#[async_trait]
impl HttpExchange for Endless {
    async fn send(&self, _request: HttpRequest) -> Result<HttpResponse, HttpFault> {
        let given = self.given.clone();
        let more = stream::iter(0..100).map(move |_| {
            given.fetch_add(1, Ordering::Relaxed);
            Ok(Bytes::from(vec![b'x'; 1 << 20]))
        });
        let body = stream::iter([Ok(Bytes::from(self.first.clone()))]).chain(more);
        Ok(HttpResponse { status: 200, headers: HeaderMap::new(), body: Box::pin(body) })
    }
}
