use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentfootprint_core::llm::{CallCx, LlmErrorKind};
use async_trait::async_trait;
use futures_util::stream;

use super::super::{answer_of, now, read_stream};
use super::Wire;
use crate::http::testing::{Answer, Beat};
use crate::http::{Bytes, HeaderMap, HttpExchange, HttpFault, HttpRequest, HttpResponse};

impl Wire {
    /// Both doors say the same.
    pub(crate) fn same_answer(&self) {
        let (chunks, error) = now(self.stream(Answer::ok(&self.streamed)));
        assert!(error.is_none(), "{error:?}");
        assert_eq!(now(self.complete(Answer::ok(&self.plain))).unwrap(), answer_of(&chunks));
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
        // A connection that breaks says so, unless the answer was whole.
        let broken =
            |end: usize| Answer::ok("").with_body([Beat::Bytes(self.streamed[..end].to_vec()), Beat::Break]);
        for end in 0..self.streamed.len() {
            if let (chunks, Some(error)) = now(self.stream(broken(end))) {
                let delivered = !chunks.is_empty();
                assert_eq!(error.kind, LlmErrorKind::StreamBroken { delivered }, "broken at {end}: {error}");
            }
        }
        let plain = &self.plain;
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

    /// Bytes that are not UTF-8, also cut in the middle of what could have been a character.
    pub(crate) async fn invalid_utf8(&self) {
        let beginning = self.beginning();
        for damage in &self.not_utf8 {
            let body = [beginning, damage].concat();
            for piece in [1, 2, body.len()] {
                let (chunks, error) = self.stream(Answer::in_pieces(&body, piece)).await;
                let error = error.unwrap();
                assert_eq!((chunks.len(), &error.kind), (1, &LlmErrorKind::UnreadableFrame));
            }
        }
        let error = self.complete(Answer::ok(b"{\"a\":\"\xff\"}")).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::UnreadableResponse);
    }

    /// A frame of a hundred megabytes is refused at its bound, and the rest is not read.
    pub(crate) async fn huge_frame(&self) {
        let pulled = Arc::new(AtomicUsize::new(0));
        for (head, most) in [(self.open_frame.clone(), 8_u64 << 20), (b"<html>".to_vec(), 64 << 20)] {
            pulled.store(0, Ordering::SeqCst);
            let endless = Arc::new(Endless { head: Bytes::from(head), pulled: pulled.clone() });
            let provider = (self.build)(self.setup(endless));
            let (chunks, error) = read_stream(&*provider, &self.request(), &CallCx::detached()).await;
            let error = error.unwrap();
            assert!(chunks.is_empty());
            let LlmErrorKind::ResponseTooLarge { limit } = error.kind else { panic!("{error:?}") };
            assert!(limit <= most && error.to_string().contains(".bounds("), "{error}");
            let read = pulled.load(Ordering::SeqCst) as u64;
            assert!(read <= (limit >> 20) + 1, "{read} MiB were read");
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
