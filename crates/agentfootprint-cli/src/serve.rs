//! A small HTTP server on the loopback address: the viewer, and the transport of `mcp --http`.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use agentfootprint::record::Recording;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::out::{Failure, say};

/// Binds to the loopback address; port 0 takes a free one.
pub(crate) async fn listen(port: u16) -> Result<(TcpListener, SocketAddr), Failure> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener =
        bound.map_err(|error| Failure::unusable(format!("port {port} cannot be used: {error}")))?;
    let address = listener.local_addr().map_err(|error| Failure::unusable(error.to_string()))?;
    Ok((listener, address))
}

/// Serves the viewer with one recording until the process is ended.
pub(crate) async fn viewer(page: &'static str, recording: Recording, port: u16) -> Result<ExitCode, Failure> {
    let (listener, address) = listen(port).await?;
    say(format!("http://{address}/?live\n(on this machine only; end it with Ctrl-C)\n"));
    let site = Arc::new(Site::new(page, &recording));
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let site = Arc::clone(&site);
                async move { Ok::<_, Infallible>(site.answer(&request, address.port())) }
            });
            // A browser that goes away is no failure of ours.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

struct Site {
    page: Bytes,
    recording: Bytes,
    /// Each event as its message.
    events: Vec<Bytes>,
}

impl Site {
    fn new(page: &'static str, recording: &Recording) -> Self {
        // A newline inside JSON text is escaped, so each message is one line of data.
        let message = |(at, event): (usize, &agentfootprint::record::RecordedEvent)| {
            Bytes::from(format!("id: {at}\ndata: {}\n\n", event.to_value()))
        };
        Self {
            page: Bytes::from_static(page.as_bytes()),
            recording: Bytes::from(recording.to_file_json().unwrap_or_else(|_| recording.to_json())),
            events: recording.events().iter().enumerate().map(message).collect(),
        }
    }

    fn answer<B>(&self, request: &Request<B>, port: u16) -> Response<Full<Bytes>> {
        let refused =
            |status: StatusCode| reply(status, "text/plain; charset=utf-8", Bytes::from_static(b"refused\n"));
        if !is_local(request, port) {
            return refused(StatusCode::FORBIDDEN);
        }
        if request.method() != Method::GET {
            let mut response = refused(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
            return response;
        }
        match request.uri().path() {
            "/" | "/index.html" => reply(StatusCode::OK, "text/html; charset=utf-8", self.page.clone()),
            "/recording.json" => reply(StatusCode::OK, "application/json", self.recording.clone()),
            "/events" => reply(StatusCode::OK, "text/event-stream", self.stream(request)),
            _ => refused(StatusCode::NOT_FOUND),
        }
    }

    /// The events after the last one the page has, then the end: the run is over.
    fn stream<B>(&self, request: &Request<B>) -> Bytes {
        let last =
            request.headers().get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<usize>().ok());
        let mut out = Vec::new();
        for event in self.events.iter().skip(last.map_or(0, |last| last.saturating_add(1))) {
            out.extend_from_slice(event);
        }
        out.extend_from_slice(b"event: done\ndata: {}\n\n");
        Bytes::from(out)
    }
}

fn reply(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// A page of another site must not read the recording by a name that it points at this machine.
fn is_local<B>(request: &Request<B>, port: u16) -> bool {
    let own = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap_or_default());
    let host = header(HOST).is_some_and(|host| own.iter().any(|own| own == host));
    let origin =
        header(ORIGIN).is_none_or(|origin| own.iter().any(|own| origin.strip_prefix("http://") == Some(own)));
    host && origin
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn site() -> Site {
        let opened =
            Recording::open(include_bytes!("../../agentfootprint-debug/tests/fixtures/support.json"))
                .unwrap();
        Site::new("<html>", opened.recording())
    }

    fn get(path: &str, headers: &[(&str, &str)]) -> (StatusCode, String) {
        let mut request = Request::get(path).header(HOST, "127.0.0.1:8000");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = site().answer(&request.body(()).unwrap(), 8000);
        let status = response.status();
        let body = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(response.into_body().collect())
            .unwrap();
        (status, String::from_utf8(body.to_bytes().to_vec()).unwrap())
    }

    #[test]
    fn the_live_contract_of_the_viewer() {
        assert_eq!(get("/", &[]), (StatusCode::OK, "<html>".to_owned()));
        assert!(get("/recording.json", &[]).1.starts_with("{\"snapshot\":"));
        let (_, stream) = get("/events", &[]);
        assert!(stream.starts_with("id: 0\ndata: {\"type\":\"agentfootprint.agent.run_configured\""));
        assert!(stream.ends_with("event: done\ndata: {}\n\n"));
        let messages = stream.matches("id: ").count();
        let (_, rest) = get("/events", &[("last-event-id", "4")]);
        assert!(rest.starts_with("id: 5\n"));
        assert_eq!(rest.matches("id: ").count(), messages - 5);
        assert_eq!(get("/other", &[]).0, StatusCode::NOT_FOUND);
    }

    #[test]
    fn other_sites_and_other_methods_are_refused() {
        assert_eq!(get("/recording.json", &[("origin", "http://evil.example")]).0, StatusCode::FORBIDDEN);
        assert_eq!(get("/recording.json", &[("origin", "http://localhost:8000")]).0, StatusCode::OK);
        let rebound = Request::get("/recording.json").header(HOST, "evil.example:8000").body(()).unwrap();
        assert_eq!(site().answer(&rebound, 8000).status(), StatusCode::FORBIDDEN);
        let post = Request::post("/").header(HOST, "localhost:8000").body(()).unwrap();
        assert_eq!(site().answer(&post, 8000).status(), StatusCode::METHOD_NOT_ALLOWED);
    }
}
