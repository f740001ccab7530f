use std::sync::{Arc, Mutex, PoisonError};

use agentfootprint_providers::http::{Bytes, HeaderMap, HttpExchange, HttpFault, HttpRequest, HttpResponse};
use async_trait::async_trait;
use futures_util::stream;

use super::case::Response;

/// Answers every request with one recorded response, its body cut into chunks, and keeps the first request: an adapter
/// may ask more when it explains a failure.
pub(super) struct Replay {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    chunk: usize,
    sent: Mutex<Option<HttpRequest>>,
}

impl Replay {
    pub(super) fn new(response: &Response, chunk: usize) -> Result<Arc<Self>, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &response.headers {
            let name: Result<agentfootprint_providers::http::HeaderName, _> = name.parse();
            if let (Ok(name), Ok(value)) = (name, value.parse()) {
                headers.insert(name, value);
            }
        }
        let body = response.bytes()?;
        Ok(Arc::new(Replay { status: response.status, headers, body, chunk, sent: Mutex::default() }))
    }

    pub(super) fn sent(&self) -> Option<HttpRequest> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl HttpExchange for Replay {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpFault> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(request);
        let pieces: Vec<_> =
            self.body.chunks(self.chunk.max(1)).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        Ok(HttpResponse {
            status: self.status,
            headers: self.headers.clone(),
            body: Box::pin(stream::iter(pieces)),
        })
    }
}
