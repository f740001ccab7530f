use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use agentfootprint_core::llm::{CallCx, LlmChunk, LlmError, LlmErrorKind, LlmStream, TimeoutPhase};
use futures_util::{FutureExt, StreamExt, stream};
use reqwest::header::HeaderMap;

use super::answer::{AnswerMachine, Assembler};
use super::exchange::{ByteStream, HttpExchange, HttpRequest, HttpResponse};
use super::{Bounds, Bytes, Deadlines, Refusal, Scene};

/// How much of an error body is read.
const MAX_ERROR_BODY: usize = 256 << 10;

/// Reads a vendor's error body.
pub(crate) type ReadRefusal = fn(status: u16, body: &[u8]) -> Refusal;

/// Sending, reading and cancelling, within deadlines and bounds.
#[derive(Clone)]
pub(crate) struct Transport {
    pub(crate) exchange: Arc<dyn HttpExchange>,
    pub(crate) deadlines: Deadlines,
    pub(crate) bounds: Bounds,
}

impl Transport {
    /// One plain request: the head and the whole body of a success, or a typed error.
    pub(crate) async fn ask(
        &self,
        request: HttpRequest,
        scene: &Scene,
        cx: &CallCx,
        read_refusal: ReadRefusal,
    ) -> Result<(HeaderMap, Bytes), LlmError> {
        let whole = async {
            let mut response = self.open(request, scene, cx, read_refusal).await?;
            let body = self.read_body(&mut response.body, self.bounds.body, scene).await?;
            Ok((response.headers, body))
        };
        let bounded = async {
            match self.deadlines.total {
                Some(total) => within(total, TimeoutPhase::Total, scene, whole).await,
                None => whole.await,
            }
        };
        or_cancelled(cx, scene, bounded).await
    }

    /// Sends a request and returns the head of a success; its body is still to be read.
    pub(crate) async fn open(
        &self,
        request: HttpRequest,
        scene: &Scene,
        cx: &CallCx,
        read_refusal: ReadRefusal,
    ) -> Result<HttpResponse, LlmError> {
        let opening = async {
            let sent = within(self.deadlines.headers, TimeoutPhase::Headers, scene, async {
                self.exchange
                    .send(request)
                    .await
                    .map_err(|fault| scene.unreachable(&fault, self.deadlines.connect))
            });
            let mut response = sent.await?;
            if (200..300).contains(&response.status) {
                return Ok(response);
            }
            let body = self.read_error_body(&mut response.body).await;
            let read = read_refusal(response.status, &body);
            Err(scene.refused(response.status, &response.headers, &body, read, cx.clock().now_ms()))
        };
        or_cancelled(cx, scene, opening).await
    }

    async fn read_body(&self, body: &mut ByteStream, limit: usize, scene: &Scene) -> Result<Bytes, LlmError> {
        let mut whole = Vec::new();
        loop {
            let next = within(self.deadlines.idle, TimeoutPhase::Body, scene, body.next().map(Ok)).await?;
            match next {
                None => return Ok(Bytes::from(whole)),
                Some(Ok(piece)) if whole.len() + piece.len() > limit => {
                    let message = format!(
                        "the answer from {} is larger than {limit} bytes; raise the bound with .bounds(…) if that is expected",
                        scene.door()
                    );
                    return Err(scene.error(LlmErrorKind::ResponseTooLarge { limit: limit as u64 }, message));
                }
                Some(Ok(piece)) => whole.extend_from_slice(&piece),
                Some(Err(fault)) => {
                    let message = format!("the answer from {} broke off ({})", scene.door(), fault.cause);
                    let kind = LlmErrorKind::StreamBroken { delivered: false };
                    return Err(scene.error(kind, message).with_source(scene.source(&fault)));
                }
            }
        }
    }

    /// What can be had of an error body; a status needs no body to be an error.
    async fn read_error_body(&self, body: &mut ByteStream) -> Vec<u8> {
        let mut whole = Vec::new();
        // One wait for all of it: a server that sends its refusal byte by byte must not hold the call for hours.
        let until = tokio::time::Instant::now() + self.deadlines.idle;
        while whole.len() < MAX_ERROR_BODY {
            match tokio::time::timeout_at(until, body.next()).await {
                Ok(Some(Ok(piece))) => whole.extend_from_slice(&piece),
                _ => break,
            }
        }
        whole.truncate(MAX_ERROR_BODY);
        whole
    }

    /// The chunks of a streamed answer.
    pub(crate) fn stream<A: Assembler>(
        &self,
        response: HttpResponse,
        machine: AnswerMachine<A>,
        scene: Scene,
        cx: CallCx,
    ) -> LlmStream {
        let reading = Reading {
            body: response.body,
            machine,
            ready: VecDeque::new(),
            idle: self.deadlines.idle,
            scene,
            cx,
        };
        let chunks = stream::unfold(Some(reading), |reading| async move {
            let mut reading = reading?;
            let next = reading.next().await;
            // The last item drops the connection together with the rest of the state.
            let over = !matches!(next, Ok(LlmChunk::Text { .. } | LlmChunk::Thinking { .. }));
            Some((next, (!over).then_some(reading)))
        });
        Box::pin(chunks.fuse())
    }
}

struct Reading<A> {
    body: ByteStream,
    machine: AnswerMachine<A>,
    ready: VecDeque<Result<LlmChunk, LlmError>>,
    idle: Duration,
    scene: Scene,
    cx: CallCx,
}

impl<A: Assembler> Reading<A> {
    async fn next(&mut self) -> Result<LlmChunk, LlmError> {
        loop {
            if self.cx.is_cancelled() {
                return Err(self.scene.aborted());
            }
            if let Some(ready) = self.ready.pop_front() {
                return ready;
            }
            let read = within(self.idle, TimeoutPhase::Idle, &self.scene, self.body.next().map(Ok));
            let read = or_cancelled(&self.cx, &self.scene, read).await;
            let mut chunks = Vec::new();
            let last = match read {
                Ok(Some(Ok(bytes))) => match self.machine.push(&bytes, &mut chunks) {
                    Ok(false) => None,
                    Ok(true) => {
                        // The end of the body usually is already here; reading it lets the connection be reused.
                        let _ = self.body.next().now_or_never();
                        Some(self.machine.done())
                    }
                    Err(error) => Some(Err(error)),
                },
                Ok(None) => Some(self.machine.end(None, &mut chunks)),
                Ok(Some(Err(fault))) => {
                    let message =
                        format!("the stream from {} broke off ({})", self.scene.door(), fault.cause);
                    let kind = LlmErrorKind::StreamBroken { delivered: false };
                    let broken = self.scene.error(kind, message).with_source(self.scene.source(&fault));
                    Some(self.machine.end(Some(broken), &mut chunks))
                }
                Err(error) if matches!(error.kind, LlmErrorKind::Aborted) => Some(Err(error)),
                Err(timeout) => Some(self.machine.end(Some(timeout), &mut chunks)),
            };
            self.ready.extend(chunks.into_iter().map(Ok));
            self.ready.extend(last);
        }
    }
}

pub(crate) async fn within<T>(
    limit: Duration,
    phase: TimeoutPhase,
    scene: &Scene,
    work: impl Future<Output = Result<T, LlmError>>,
) -> Result<T, LlmError> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(scene.timeout(phase, limit)),
    }
}

/// Cancellation wins every race.
pub(crate) async fn or_cancelled<T>(
    cx: &CallCx,
    scene: &Scene,
    work: impl Future<Output = Result<T, LlmError>>,
) -> Result<T, LlmError> {
    tokio::select! {
        biased;
        () = cx.cancelled() => Err(scene.aborted()),
        done = work => done,
    }
}
