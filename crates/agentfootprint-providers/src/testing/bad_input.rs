//! What every adapter must make of a vendor that does not answer as it should. A [`Wire`] says how its vendor words
//! things; the checks are the same for all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentfootprint_core::llm::{CallCx, LlmError, LlmErrorKind, LlmProvider, LlmRequest, TimeoutPhase};
use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::{KEY, answer_of, assert_clean, now, read_stream};
use crate::Key;
use crate::http::testing::{Answer, Beat, ChunkServer, End, Scripted};
use crate::http::{
    Bounds, Bytes, Deadlines, FaultPhase, HeaderMap, HttpExchange, HttpFault, HttpRequest, HttpResponse,
};

const SECOND: Duration = Duration::from_secs(1);

/// What a test decides about a provider.
pub(crate) struct Setup {
    pub(crate) exchange: Option<Arc<dyn HttpExchange>>,
    pub(crate) base_url: Option<String>,
    pub(crate) key: Key,
    pub(crate) deadlines: Deadlines,
    pub(crate) bounds: Bounds,
}

/// One vendor.
pub(crate) struct Wire {
    /// In front of every message.
    pub(crate) prefix: &'static str,
    pub(crate) model: &'static str,
    /// The official host and port.
    pub(crate) host: &'static str,
    /// Builds a provider with [`KEY`] unless the setup says otherwise.
    pub(crate) build: fn(Setup) -> Arc<dyn LlmProvider>,
    /// A plain answer.
    pub(crate) plain: String,
    /// The same answer streamed: at least two pieces of text, some of it not ASCII.
    pub(crate) streamed: Vec<u8>,
    /// An error body of this status with this sentence.
    pub(crate) error: fn(u16, &str) -> String,
    /// The sentence about an unknown model, and the status it comes with.
    pub(crate) unknown_model: &'static str,
    /// An error inside a stream, as it stands on the wire.
    pub(crate) framed_error: fn(&str) -> Vec<u8>,
    /// Words of the advice about keys and addresses.
    pub(crate) key_advice: &'static str,
    pub(crate) address_advice: &'static str,
}

impl Wire {
    fn request(&self) -> LlmRequest {
        LlmRequest::new(self.model).user("hi")
    }

    fn setup(&self, exchange: Arc<dyn HttpExchange>) -> Setup {
        Setup {
            exchange: Some(exchange),
            base_url: None,
            key: Key::from(KEY),
            deadlines: Deadlines::default(),
            bounds: Bounds::default(),
        }
    }

    fn scripted(&self, answers: impl IntoIterator<Item = Answer>) -> Arc<dyn LlmProvider> {
        (self.build)(self.setup(Scripted::new(answers)))
    }

    fn networked(&self, base_url: &str) -> Arc<dyn LlmProvider> {
        let setup = self.setup(Scripted::new([]));
        (self.build)(Setup { exchange: None, base_url: Some(base_url.to_owned()), ..setup })
    }

    async fn complete(&self, answer: Answer) -> Result<agentfootprint_core::llm::LlmResponse, LlmError> {
        self.scripted([answer]).complete(&self.request(), &CallCx::detached()).await
    }

    async fn stream(&self, answer: Answer) -> (Vec<agentfootprint_core::llm::LlmChunk>, Option<LlmError>) {
        read_stream(&*self.scripted([answer]), &self.request(), &CallCx::detached()).await
    }

    /// Both doors refuse alike, with one request each.
    async fn refused(&self, answer: Answer) -> LlmError {
        let exchange = Scripted::new([answer.clone(), answer]);
        let provider = (self.build)(self.setup(exchange.clone()));
        let cx = CallCx::detached();
        let plain = provider.complete(&self.request(), &cx).await.unwrap_err();
        let streamed = read_stream(&*provider, &self.request(), &cx).await.1.unwrap();
        // Addresses differ where the wire has one for each.
        assert_eq!(
            plain.to_string().replace("generateContent", "…"),
            streamed.to_string().replace("streamGenerateContent", "…")
        );
        assert_eq!(plain.kind, streamed.kind);
        assert_eq!(exchange.requests().len(), 2, "one call is one attempt");
        plain
    }

    /// 401, 403, 404, 429, 5xx, pages instead of JSON: each has its kind, and its sentence names the fix.
    pub(crate) async fn statuses(&self) {
        use LlmErrorKind as K;
        let html = "<html><body>not here</body></html>".to_owned();
        let said = |status| (self.error)(status, "so it said");
        let unknown = (self.error)(404, self.unknown_model);
        let cases = [
            (400, said(400), K::InvalidRequest, "so it said"),
            (401, said(401), K::Auth, self.key_advice),
            (401, html.clone(), K::Auth, self.key_advice),
            (403, said(403), K::Auth, self.key_advice),
            (404, unknown, K::ModelNotFound, "check the model id"),
            (404, html.clone(), K::ModelNotFound, self.address_advice),
            (413, html.clone(), K::InvalidRequest, "an HTML or XML page"),
            (422, String::new(), K::InvalidRequest, "an empty body"),
            (429, said(429), K::RateLimited, "so it said"),
            (500, String::new(), K::Transient, "500"),
            (502, html, K::Transient, "an HTML or XML page"),
            (503, said(503), K::Transient, "so it said"),
            (529, said(529), K::Transient, "529"),
            (308, String::new(), K::InvalidRequest, "base URL"),
        ];
        for (status, body, kind, word) in cases {
            let error = self.refused(Answer::new(status, &body)).await;
            assert_eq!(error.kind, kind, "{status} {body}");
            assert_eq!(error.status, Some(status));
            assert_eq!(error.model.as_deref(), Some(self.model));
            let text = error.to_string();
            assert!(text.starts_with(&format!("{}https://", self.prefix)) && text.contains(word), "{text}");
            assert_eq!(text.matches(self.prefix.trim()).count(), 1);
            assert_eq!(error.retryable(), matches!(error.kind, K::RateLimited | K::Transient));
            assert_eq!(error.retry_after, None);
        }
        let waits = Answer::new(429, said(429)).with_header("retry-after", "4");
        let error = self.refused(waits).await;
        assert_eq!(error.retry_after, Some(4 * SECOND));
        assert!(error.to_string().contains("asks to wait 4s"), "{error}");
        let waits =
            Answer::new(429, said(429)).with_header("retry-after-ms", "250").with_header("retry-after", "9");
        assert_eq!(self.refused(waits).await.retry_after, Some(Duration::from_millis(250)));
    }

    /// The prompt is too long, said with an error status.
    pub(crate) async fn overflow(&self, sentence: &str, limit: Option<u64>, actual: Option<u64>) {
        let error = self.refused(Answer::new(400, (self.error)(400, sentence))).await;
        assert_eq!(error.kind, LlmErrorKind::ContextWindowExceeded { limit, actual });
        assert_eq!(error.record_code(), Some("ERR_CONTEXT_WINDOW_EXCEEDED"));
        assert!(!error.is_resumable());
        let busy = self.refused(Answer::new(429, (self.error)(429, sentence))).await;
        assert_eq!(busy.kind, LlmErrorKind::RateLimited, "a rate limit that talks about tokens is none");
    }

    /// Success with something else in it.
    pub(crate) async fn not_the_wire(&self) {
        for (body, word) in [
            ("<html>canary page</html>", "an HTML or XML page"),
            ("", "an empty body"),
            ("{\"status\":\"up\",\"canary text\":1}", "fields status"),
            ("{}", "an empty JSON object"),
            ("hello canary", "not JSON"),
        ] {
            let error = self.complete(Answer::ok(body)).await.unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::UnreadableResponse, "{body}");
            assert!(!error.retryable(), "the model already ran");
            let text = error.to_string();
            assert!(text.contains(word) && text.contains(self.address_advice), "{text}");
            assert!(!text.contains("canary"), "{text}");
        }
        let (_, error) = self.stream(Answer::ok("<html>welcome</html>")).await;
        let error = error.unwrap();
        assert_eq!(error.kind, LlmErrorKind::UnreadableResponse);
        assert!(error.to_string().contains("HTML") && error.to_string().contains(self.address_advice));
        let (_, error) = self.stream(Answer::ok("")).await;
        assert_eq!(error.unwrap().kind, LlmErrorKind::StreamIncomplete { delivered: false });
        for bad in ["data: {\"a\": [\n\n", "data: 7\n\n", "data: canary\n\n"] {
            let (_, error) = self.stream(Answer::ok(bad)).await;
            let error = error.unwrap();
            assert_eq!(error.kind, LlmErrorKind::UnreadableFrame, "{bad}");
            assert!(!error.to_string().contains("canary"));
        }
    }

    /// Wherever a body is cut, either the answer is whole or its being cut is said.
    pub(crate) fn cut_everywhere(&self) {
        let cx = CallCx::detached();
        let whole = answer_of(&now(self.stream(Answer::ok(&self.streamed))).0);
        assert!(!whole.content.is_empty());
        let cuts = (0..self.streamed.len()).map(|end| Answer::ok(&self.streamed[..end]));
        let provider = self.scripted(cuts);
        for end in 0..self.streamed.len() {
            let (chunks, error) = now(read_stream(&*provider, &self.request(), &cx));
            match error {
                None => assert_eq!(answer_of(&chunks).content, whole.content),
                Some(error) => {
                    let delivered = !chunks.is_empty();
                    assert_eq!(
                        error.kind,
                        LlmErrorKind::StreamIncomplete { delivered },
                        "cut at {end}: {error}"
                    );
                    assert_eq!(error.retryable(), !delivered);
                }
            }
        }
        let plain = self.plain.as_bytes();
        let provider = self.scripted((0..plain.len()).map(|end| Answer::ok(&plain[..end])));
        for end in 0..plain.len() {
            let error = now(provider.complete(&self.request(), &cx)).unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::UnreadableResponse, "cut at {end}");
        }
    }

    /// A streamed body in pieces of any size gives the same chunks.
    pub(crate) fn split(&self, body: &[u8], sizes: &[usize], crlf: bool) {
        let body = match (crlf, std::str::from_utf8(body)) {
            (true, Ok(text)) => text.replace('\n', "\r\n").into_bytes(),
            _ => body.to_vec(),
        };
        let mut rest = body.as_slice();
        let mut beats = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, tail) = rest.split_at((*size).clamp(1, rest.len()));
            beats.push(Beat::Bytes(piece.to_vec()));
            rest = tail;
        }
        let whole = now(self.stream(Answer::ok(&body)));
        let split = now(self.stream(Answer::ok("").with_body(beats)));
        assert_eq!(split.0, whole.0);
        assert!(split.1.is_none() && whole.1.is_none(), "{:?} {:?}", split.1, whole.1);
    }

    /// Bodies nobody would send.
    pub(crate) fn arbitrary(&self, bytes: &[u8], json: &str) {
        for body in [bytes, json.as_bytes(), format!("data: {json}\n\n").as_bytes()] {
            let _ = now(self.complete(Answer::ok(body)));
            let _ = now(self.stream(Answer::in_pieces(body, 3)));
            let _ = now(self.complete(Answer::new(400, body)));
        }
    }

    /// The text before the first piece of the answer is complete.
    fn beginning(&self) -> &[u8] {
        let frames: Vec<usize> = self
            .streamed
            .windows(2)
            .enumerate()
            .filter(|(_, pair)| pair == b"\n\n")
            .map(|(at, _)| at + 2)
            .collect();
        let ends_with_text = |end: &&usize| {
            let (chunks, _) = now(self.stream(Answer::ok(&self.streamed[..**end])));
            !chunks.is_empty()
        };
        let end = *frames.iter().find(ends_with_text).expect("a frame with text");
        &self.streamed[..end]
    }

    /// An error frame after part of the answer.
    pub(crate) async fn error_in_stream(&self, kind: LlmErrorKind) {
        let body = [self.beginning(), &(self.framed_error)("backend died")].concat();
        let (chunks, error) = self.stream(Answer::ok(body)).await;
        let error = error.unwrap();
        assert_eq!((chunks.len(), &error.kind), (1, &kind), "{error}");
        assert!(error.to_string().contains("backend died"), "{error}");
        assert!(error.code.is_some());
    }

    /// Bytes that are not UTF-8, also cut in the middle of what could have been a character.
    pub(crate) async fn invalid_utf8(&self) {
        let beginning = self.beginning();
        for damage in [&b"data: \xff\n\n"[..], b"data: \xf0\x9f\x98 x\n\n", b"data: \xe4\xb8\n\n"] {
            let body = [beginning, damage].concat();
            for piece in [1, 2, body.len()] {
                let (chunks, error) = self.stream(Answer::in_pieces(&body, piece)).await;
                let error = error.unwrap();
                assert_eq!((chunks.len(), &error.kind), (1, &LlmErrorKind::UnreadableFrame));
                assert!(error.to_string().contains("UTF-8"), "{error}");
            }
        }
        let error = self.complete(Answer::ok(b"{\"a\":\"\xff\"}")).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::UnreadableResponse);
    }

    /// A frame of a hundred megabytes is refused at its bound, and the rest is not read.
    pub(crate) async fn huge_frame(&self) {
        let pulled = Arc::new(AtomicUsize::new(0));
        for (head, limit) in [(&b"data: "[..], 8_u64 << 20), (b"<html>", 64 << 20)] {
            pulled.store(0, Ordering::SeqCst);
            let endless = Arc::new(Endless { head: Bytes::from_static(head), pulled: pulled.clone() });
            let provider = (self.build)(self.setup(endless));
            let (chunks, error) = read_stream(&*provider, &self.request(), &CallCx::detached()).await;
            let error = error.unwrap();
            assert!(chunks.is_empty());
            assert_eq!(error.kind, LlmErrorKind::ResponseTooLarge { limit });
            assert!(error.to_string().contains(".bounds("), "{error}");
            let read = pulled.load(Ordering::SeqCst) as u64;
            assert!(read <= (limit >> 20) + 1, "{read} MiB were read");
        }
    }

    /// No connection, no name, no certificate: the host is named, and the fix.
    pub(crate) async fn unreachable(&self) {
        for phase in [FaultPhase::Dns, FaultPhase::Connect, FaultPhase::Head] {
            let error = self.refused(Answer::failing(phase, "it failed")).await;
            assert_eq!(error.kind, LlmErrorKind::Network);
            assert!(error.retryable() && error.to_string().contains(self.host), "{error}");
            assert!(error.human_message().contains("network connection"));
        }
        let error = self.refused(Answer::failing(FaultPhase::ConnectTimeout, "slow")).await;
        assert!(matches!(error.kind, LlmErrorKind::Timeout { phase: TimeoutPhase::Connect, .. }));

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let provider = self.networked(&format!("http://{address}"));
        let error = provider.complete(&self.request(), &CallCx::detached()).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Network);
        let text = error.to_string();
        assert!(text.contains(&format!("no connection to {address}")) && text.contains("refused"), "{text}");
        assert!(text.contains(self.address_advice), "{text}");
        assert_clean(&error);

        // A server that does not speak TLS.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut hello = [0; 4096];
                let _ = socket.read(&mut hello).await;
                let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            }
        });
        let provider = self.networked(&format!("https://{address}"));
        let error = provider.complete(&self.request(), &CallCx::detached()).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Network);
        assert!(error.to_string().contains(&address), "{error}");
        assert_clean(&error);
    }

    /// Over a real connection, in pieces.
    pub(crate) async fn over_the_network(&self) {
        let pieces: Vec<&[u8]> = self.streamed.chunks(7).collect();
        let server =
            ChunkServer::answering("200 OK", &["content-type: text/event-stream"], &pieces, End::Close).await;
        let provider = self.networked(server.base_url.trim_end_matches("/v1"));
        let (chunks, error) = read_stream(&*provider, &self.request(), &CallCx::detached()).await;
        assert!(error.is_none(), "{error:?}");
        let scripted = now(self.stream(Answer::ok(&self.streamed))).0;
        assert_eq!(answer_of(&chunks), answer_of(&scripted));
    }

    /// Every phase has its deadline, under a paused clock.
    pub(crate) async fn deadlines(&self) {
        let slow = Answer::ok(&self.plain).after(61 * SECOND);
        let headers = LlmErrorKind::Timeout { phase: TimeoutPhase::Headers, limit: 60 * SECOND };
        let error = self.refused(slow).await;
        assert_eq!(error.kind, headers);
        assert!(error.to_string().contains("Deadlines::headers"), "{error}");

        let half = self.plain.as_bytes()[..20].to_vec();
        let error =
            self.complete(Answer::ok("").with_body([Beat::Bytes(half), Beat::Stall])).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Timeout { phase: TimeoutPhase::Body, limit: 60 * SECOND });
        assert!(error.to_string().contains("Deadlines::idle"), "{error}");

        let beginning = self.beginning().to_vec();
        let start = Instant::now();
        let (chunks, error) =
            self.stream(Answer::ok("").with_body([Beat::Bytes(beginning), Beat::Stall])).await;
        assert_eq!(chunks.len(), 1);
        assert_eq!(
            error.unwrap().kind,
            LlmErrorKind::Timeout { phase: TimeoutPhase::Idle, limit: 60 * SECOND }
        );
        assert_eq!(start.elapsed(), 60 * SECOND);

        // Slow but steady.
        let beats =
            self.streamed.chunks(64).flat_map(|piece| [Beat::Wait(59 * SECOND), Beat::Bytes(piece.to_vec())]);
        let (_, error) = self.stream(Answer::ok("").with_body(beats)).await;
        assert!(error.is_none());
    }

    /// Cancelling in any phase is an abort within one poll.
    pub(crate) async fn cancelled(&self) {
        let never_key = Key::provider(|_| std::future::pending());
        let head = Answer::ok("").after(Duration::MAX);
        let open = Answer::ok("").with_body([Beat::Stall]);
        for (key, answer) in [(Some(never_key), None), (None, Some(head)), (None, Some(open))] {
            let setup = self.setup(Scripted::new(answer));
            let key = key.unwrap_or_else(|| Key::from(KEY));
            let provider = (self.build)(Setup { key, ..setup });
            let (cx, request) = (CallCx::detached(), self.request());
            let mut call = provider.complete(&request, &cx);
            assert!((&mut call).now_or_never().is_none());
            cx.cancel_token().cancel();
            let error = call.now_or_never().expect("within one poll").unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::Aborted);
            assert!(!error.retryable());
        }
        // Between two chunks, with more of them ready.
        let cx = CallCx::detached();
        let provider = self.scripted([Answer::ok(&self.streamed)]);
        let mut stream = provider.stream(&self.request(), &cx).await.unwrap().unwrap();
        assert!(stream.next().await.unwrap().is_ok());
        cx.cancel_token().cancel();
        assert_eq!(stream.next().now_or_never().unwrap().unwrap().unwrap_err().kind, LlmErrorKind::Aborted);
        assert!(stream.next().await.is_none());
    }

    /// The key appears in no text of any failure, wherever a server puts it.
    pub(crate) async fn secrecy(&self) {
        let echo = |status| Answer::new(status, (self.error)(status, &format!("bad key {KEY}")));
        let mut answers: Vec<Answer> =
            [400, 401, 403, 404, 413, 422, 429, 500, 503, 529].into_iter().map(echo).collect();
        answers.extend([
            Answer::new(502, format!("<html>{KEY}</html>")),
            Answer::new(307, "").with_header("location", &format!("https://other/{KEY}?key={KEY}")),
            echo(500).with_header("request-id", KEY),
            Answer::ok(format!("not json {KEY}")),
            Answer::ok(format!("{{\"{KEY}\":1}}")),
            Answer::ok((self.error)(200, KEY)),
            Answer::ok((self.framed_error)(KEY)),
            Answer::ok(format!("data: {{\"{KEY}\"\n\n")),
            Answer::ok("").with_body([Beat::Break]),
            Answer::new(400, (self.error)(400, &format!("prompt is too long: 3 tokens > 2 {KEY}"))),
        ]);
        for phase in [FaultPhase::Dns, FaultPhase::Connect, FaultPhase::ConnectTimeout, FaultPhase::Head] {
            answers.push(Answer::failing(phase, &format!("cannot reach https://h/?key={KEY}")));
        }
        for answer in answers {
            // The key stands in the address too: in the path, where the door would show it, and in the query.
            let setup = self.setup(Scripted::new([answer.clone(), answer]));
            let base_url = Some(format!("http://127.0.0.1:1/{KEY}?key={KEY}"));
            let provider = (self.build)(Setup { base_url, ..setup });
            let cx = CallCx::detached();
            let plain = provider.complete(&self.request(), &cx).await.unwrap_err();
            let streamed = read_stream(&*provider, &self.request(), &cx).await.1.unwrap();
            assert_clean(&plain);
            assert_clean(&streamed);
        }
        // Nor does what a request prints of itself.
        let exchange = Scripted::new([Answer::ok(&self.plain)]);
        let provider = (self.build)(self.setup(exchange.clone()));
        provider.complete(&self.request(), &CallCx::detached()).await.unwrap();
        let sent = &exchange.requests()[0];
        assert!(sent.headers.values().any(|value| value.to_str().is_ok_and(|value| value.contains(KEY))));
        assert!(!format!("{sent:?} {:?}", sent.headers).contains(KEY), "keys are marked sensitive");
        assert!(!String::from_utf8_lossy(&sent.body).contains(KEY) && !sent.url.as_str().contains(KEY));
    }

    /// Keys that cannot be had are refused before anything is sent.
    pub(crate) async fn no_key(&self) {
        let cases = [
            (Key::provider(|_| async { "  ".into() }), "callback gave nothing"),
            (Key::per_model([("other", KEY)]), self.model),
            (Key::from(" "), "blank"),
            (Key::from("canary-key-5d1f\nsecond line"), "line break"),
        ];
        for (key, word) in cases {
            let exchange = Scripted::new([]);
            let provider = (self.build)(Setup { key, ..self.setup(exchange.clone()) });
            let error = provider.complete(&self.request(), &CallCx::detached()).await.unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::NoCredential);
            assert!(error.to_string().contains(word), "{error}");
            assert_clean(&error);
            assert!(exchange.requests().is_empty());
        }
    }
}

/// Answers with a head and then megabytes, a hundred of them.
struct Endless {
    head: Bytes,
    pulled: Arc<AtomicUsize>,
}

#[async_trait]
impl HttpExchange for Endless {
    async fn send(&self, _request: HttpRequest) -> Result<HttpResponse, HttpFault> {
        let megabyte = Bytes::from(vec![b'x'; 1 << 20]);
        let pulled = self.pulled.clone();
        let more = (0..100).map(move |_| {
            pulled.fetch_add(1, Ordering::SeqCst);
            Ok(megabyte.clone())
        });
        let body = stream::iter([Ok(self.head.clone())].into_iter().chain(more));
        Ok(HttpResponse { status: 200, headers: HeaderMap::new(), body: Box::pin(body) })
    }
}
