use std::time::Duration;

use agentfootprint_core::llm::{CallCx, LlmErrorKind, LlmProvider, TimeoutPhase};
use futures_util::{FutureExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::super::{KEY, answer_of, assert_clean, now, read_stream};
use super::{Setup, Wire};
use crate::Key;
use crate::http::FaultPhase;
use crate::http::testing::{Answer, Beat, ChunkServer, End, Scripted};

const SECOND: Duration = Duration::from_secs(1);

impl Wire {
    /// No connection, no name, no certificate: the host is named, and the fix.
    pub(crate) async fn unreachable(&self) {
        for phase in [FaultPhase::Dns, FaultPhase::Connect, FaultPhase::Head] {
            let error = self.refused(Answer::failing(phase, "it failed")).await;
            assert!(self.is_unreachable(&error), "{error:?}");
            assert!(error.retryable() && error.to_string().contains(self.host), "{error}");
            assert!(self.is_daemon || error.human_message().contains("network connection"));
        }
        let error = self.refused(Answer::failing(FaultPhase::ConnectTimeout, "slow")).await;
        let is_timeout = matches!(error.kind, LlmErrorKind::Timeout { phase: TimeoutPhase::Connect, .. });
        assert!(is_timeout || self.is_unreachable(&error), "{error:?}");

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let provider = self.networked(&format!("http://{address}"));
        let error = provider.complete(&self.request(), &CallCx::detached()).await.unwrap_err();
        assert!(self.is_unreachable(&error), "{error:?}");
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
        assert!(self.is_unreachable(&error), "{error:?}");
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
        if !self.is_daemon {
            let slow = Answer::ok(&self.plain).after(61 * SECOND);
            let headers = LlmErrorKind::Timeout { phase: TimeoutPhase::Headers, limit: 60 * SECOND };
            let error = self.refused(slow).await;
            assert_eq!(error.kind, headers);
            assert!(error.to_string().contains("Deadlines::headers"), "{error}");
        }

        let half = self.plain[..20].to_vec();
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
}
