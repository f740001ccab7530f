//! Spans over the wire: an OTLP receiver on loopback.

use std::sync::Arc;

use agentfootprint_core::run::Runner as _;
use agentfootprint_telemetry::otel::{OtelOptions, OtelSink};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::support::*;

/// Reads one HTTP request with a length, answers 200, and hands over its body.
async fn serve(
    mut stream: TcpStream,
    bodies: mpsc::UnboundedSender<(String, Vec<u8>)>,
) -> std::io::Result<()> {
    let mut read = Vec::new();
    loop {
        let head = loop {
            if let Some(at) = read.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut read).await? == 0 {
                return Ok(());
            }
        };
        let text = String::from_utf8_lossy(&read[..head]).to_lowercase();
        let length =
            text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        let end = head + length.unwrap_or(0);
        while read.len() < end {
            if stream.read_buf(&mut read).await? == 0 {
                return Ok(());
            }
        }
        let line = text.lines().next().unwrap_or_default().to_owned();
        let _ = bodies.send((line, read[head..end].to_vec()));
        read.drain(..end);
        stream
            .write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n",
            )
            .await?;
    }
}

/// Proves REC-73: a collector receives the tree of a run over HTTP and protobuf when the sink is flushed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_receives_the_spans() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let (sender, mut bodies) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, sender.clone()));
        }
    });
    let agent = agent("support");
    let options = OtelOptions::new("shop").gen_ai_span_names(true);
    let sink = Arc::new(OtelSink::otlp(options, &endpoint).unwrap());
    let handle = agent.enable().observability(sink);
    agent.run(CANARY).await.into_answer().unwrap();
    handle.flush().await.unwrap();
    let (line, body) = bodies.recv().await.unwrap();
    assert_eq!(line, "post /v1/traces http/1.1");
    let request = ExportTraceServiceRequest::decode(&*body).unwrap();
    let mut names = Vec::new();
    for resource in &request.resource_spans {
        let attributes = &resource.resource.as_ref().unwrap().attributes;
        assert!(format!("{attributes:?}").contains("shop"));
        names.extend(
            resource.scope_spans.iter().flat_map(|scope| scope.spans.iter().map(|span| span.name.clone())),
        );
    }
    names.sort();
    assert_eq!(
        names,
        [
            "chat m-1",
            "chat m-1",
            "execute_tool bad",
            "execute_tool good",
            "invoke_agent shop",
            "iteration:1",
            "iteration:2"
        ]
    );
    assert!(!String::from_utf8_lossy(&body).contains(CANARY));
    handle.shutdown().await.unwrap();
    assert!(OtelSink::otlp(OtelOptions::new("shop"), "no address").is_err());
}
