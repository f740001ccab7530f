//! What adapter tests talk to instead of a vendor: scripted exchanges without a network, and a tiny server that
//! replays chunk boundaries exactly.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::{Bytes, FaultPhase, HeaderMap, HttpExchange, HttpFault, HttpRequest, HttpResponse};

/// One step of a scripted body.
#[derive(Debug, Clone)]
pub(crate) enum Beat {
    Bytes(Vec<u8>),
    Wait(Duration),
    Break,
    Stall,
}

/// One scripted answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) before_head: Option<Duration>,
    pub(crate) fault: Option<HttpFault>,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<Beat>,
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl AsRef<[u8]>) -> Self {
        let body = vec![Beat::Bytes(body.as_ref().to_vec())];
        Answer { before_head: None, fault: None, status, headers: HeaderMap::new(), body }
    }

    pub(crate) fn ok(body: impl AsRef<[u8]>) -> Self {
        Answer::new(200, body)
    }

    /// A success whose body arrives in pieces of at most `piece` bytes.
    pub(crate) fn in_pieces(body: &[u8], piece: usize) -> Self {
        Answer::ok("").with_body(body.chunks(piece.max(1)).map(|piece| Beat::Bytes(piece.to_vec())))
    }

    pub(crate) fn failing(phase: FaultPhase, cause: &str) -> Self {
        Answer { fault: Some(HttpFault { phase, cause: cause.to_owned() }), ..Answer::ok("") }
    }

    pub(crate) fn with_body(mut self, beats: impl IntoIterator<Item = Beat>) -> Self {
        self.body = beats.into_iter().collect();
        self
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(name, value.parse().unwrap());
        self
    }

    pub(crate) fn after(mut self, wait: Duration) -> Self {
        self.before_head = Some(wait);
        self
    }
}

/// Gives scripted answers and keeps the requests.
#[derive(Default)]
pub(crate) struct Scripted {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<HttpRequest>>,
}

impl Scripted {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Scripted { answers: Mutex::new(answers.into_iter().collect()), requests: Mutex::default() })
    }

    pub(crate) fn requests(&self) -> Vec<HttpRequest> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn sent_json(&self, at: usize) -> serde_json::Value {
        serde_json::from_slice(&self.requests()[at].body).unwrap()
    }
}

#[async_trait]
impl HttpExchange for Scripted {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpFault> {
        self.requests.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().pop_front().expect("an answer is scripted");
        if let Some(wait) = answer.before_head {
            tokio::time::sleep(wait).await;
        }
        if let Some(fault) = answer.fault {
            return Err(fault);
        }
        let body = stream::iter(answer.body).filter_map(|beat| async move {
            match beat {
                Beat::Bytes(bytes) => Some(Ok(Bytes::from(bytes))),
                Beat::Wait(wait) => {
                    tokio::time::sleep(wait).await;
                    None
                }
                Beat::Break => {
                    Some(Err(HttpFault { phase: FaultPhase::Body, cause: "connection reset".into() }))
                }
                Beat::Stall => std::future::pending().await,
            }
        });
        Ok(HttpResponse { status: answer.status, headers: answer.headers, body: Box::pin(body) })
    }
}

/// What a server saw of one connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A whole request, as text.
    Request(String),
    /// The client closed the connection.
    Closed,
}

/// A server on the loopback interface that answers every request with the same raw bytes, one write per piece.
pub(crate) struct ChunkServer {
    pub(crate) base_url: String,
    seen: mpsc::UnboundedReceiver<Seen>,
}

/// How a server ends its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Closes the connection.
    Close,
    /// Leaves it open and waits for the client to close it.
    Hold,
}

impl ChunkServer {
    pub(crate) async fn start(pieces: Vec<Vec<u8>>, end: End) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (report, seen) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (pieces, report) = (pieces.clone(), report.clone());
                tokio::spawn(async move {
                    let Some(request) = read_request(&mut socket).await else { return };
                    let _ = report.send(Seen::Request(request));
                    for piece in pieces {
                        if socket.write_all(&piece).await.is_err() {
                            break;
                        }
                        let _ = socket.flush().await;
                        tokio::task::yield_now().await;
                    }
                    if end == End::Hold {
                        let mut rest = [0; 64];
                        while matches!(socket.read(&mut rest).await, Ok(1..)) {}
                        let _ = report.send(Seen::Closed);
                    }
                });
            }
        });
        ChunkServer { base_url, seen }
    }

    /// An answer with these body pieces, chunked, one HTTP chunk per piece.
    pub(crate) async fn answering(status: &str, headers: &[&str], pieces: &[&[u8]], end: End) -> Self {
        let head = format!(
            "HTTP/1.1 {status}\r\ntransfer-encoding: chunked\r\n{}\r\n",
            headers.iter().map(|line| format!("{line}\r\n")).collect::<String>()
        );
        let mut raw = vec![head.into_bytes()];
        raw.extend(
            pieces.iter().map(|piece| [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()),
        );
        if end == End::Close {
            raw.push(b"0\r\n\r\n".to_vec());
        }
        ChunkServer::start(raw, end).await
    }

    pub(crate) async fn next(&mut self) -> Seen {
        self.seen.recv().await.unwrap()
    }

    pub(crate) fn nothing_more(&mut self) -> bool {
        self.seen.try_recv().is_err()
    }
}

async fn read_request(socket: &mut tokio::net::TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let read = socket.read(&mut piece).await.ok()?;
        if read == 0 {
            return None;
        }
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
        if body.len() >= length.unwrap_or(0) {
            return Some(text);
        }
    }
}
