//! The seam between an adapter and the network: one request out, one head and a stream of bytes back.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt;
use reqwest::header::HeaderMap;
use url::Url;

/// A request, complete.
#[derive(Clone)]
pub struct HttpRequest {
    /// The method; a body goes only with `POST`.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// The headers; those that carry a key are marked sensitive.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// The methods adapters use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`
    Get,
    /// `POST`
    Post,
}

impl Method {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
        }
    }
}

/// Neither headers nor the query, which may carry keys, nor the body, which is a conversation.
impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &door(&self.url))
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// The address as it may be shown: without user, query and fragment.
pub fn door(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// The bytes of a response, as they arrive. Dropping it closes the connection.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, HttpFault>> + Send>>;

/// The head of a response, and its body still to be read.
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: ByteStream,
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

/// What the network did instead of answering.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct HttpFault {
    /// Where it happened.
    pub phase: FaultPhase,
    /// The innermost cause in words, without any address.
    pub cause: String,
}

/// Where an exchange failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultPhase {
    /// The name could not be resolved.
    Dns,
    /// No connection.
    Connect,
    /// The connection took longer than its deadline.
    ConnectTimeout,
    /// Connected, and no response head came.
    Head,
    /// The body broke off.
    Body,
}

/// Sends one request. Adapters use [`ReqwestExchange`]; give an adapter another one to route its traffic through
/// something else, or to replay recorded traffic.
#[async_trait]
pub trait HttpExchange: Send + Sync + 'static {
    /// Sends the request and returns as soon as the response head is there. One attempt, no redirects.
    ///
    /// # Errors
    /// When no response head arrived.
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpFault>;
}

/// The network, through a pooled `reqwest` client without retries and without redirects.
#[derive(Debug, Clone)]
pub struct ReqwestExchange {
    client: reqwest::Client,
}

impl ReqwestExchange {
    /// A client that gives up connecting after `connect`. Opens no socket.
    ///
    /// # Errors
    /// When the TLS backend or the system's certificates cannot be used.
    pub fn new(connect: Duration) -> Result<Self, HttpFault> {
        let client = reqwest::Client::builder()
            .connect_timeout(connect)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .user_agent(concat!("agentfootprint/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| fault(FaultPhase::Connect, error))?;
        Ok(ReqwestExchange { client })
    }
}

#[async_trait]
impl HttpExchange for ReqwestExchange {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpFault> {
        let builder = match request.method {
            Method::Get => self.client.get(request.url),
            Method::Post => self.client.post(request.url).body(request.body),
        };
        let response = builder.headers(request.headers).send().await.map_err(|error| {
            let phase = match () {
                () if error.is_dns() => FaultPhase::Dns,
                () if error.is_connect() && error.is_timeout() => FaultPhase::ConnectTimeout,
                () if error.is_connect() => FaultPhase::Connect,
                () => FaultPhase::Head,
            };
            fault(phase, error)
        })?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = response.bytes_stream().map(|piece| piece.map_err(|error| fault(FaultPhase::Body, error)));
        Ok(HttpResponse { status, headers, body: Box::pin(body) })
    }
}

/// Keeps the innermost cause only: the outer texts repeat the address, which may carry a key.
fn fault(phase: FaultPhase, error: reqwest::Error) -> HttpFault {
    let error = error.without_url();
    let mut innermost: &dyn std::error::Error = &error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    HttpFault { phase, cause: innermost.to_string() }
}
