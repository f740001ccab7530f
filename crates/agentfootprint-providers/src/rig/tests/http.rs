//! rig's own OpenAI client behind the bridge, over a real connection on the loopback interface.

use agentfootprint_core::llm::{LlmErrorKind, StopReason, ToolSchema, Usage as Ours};
use footprint::value;
use futures_util::StreamExt;
use rig_core::http_client::{
    BoxedStream, Error, HttpClientExt, LazyBody, MultipartForm, Request, Response, Result, StreamingResponse,
};
use rig_core::providers::openai::OpenAIConfig;

use super::*;
use crate::http::Bytes;
use crate::http::testing::{ChunkServer, End, Seen};

/// The least a rig client needs of an HTTP client; programs take rig's own.
#[derive(Clone)]
struct Http(reqwest::Client);

impl Http {
    async fn ask<T: Into<Bytes>>(&self, request: Request<T>) -> Result<reqwest::Response> {
        let (head, body) = request.into_parts();
        let sent = self.0.request(head.method, head.uri.to_string()).headers(head.headers).body(body.into());
        let response = sent.send().await.map_err(Error::instance)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.text().await.map_err(Error::instance)?;
        Err(Error::non_success_with_details(status, headers, body))
    }
}

impl HttpClientExt for Http {
    fn send<T, U>(
        &self,
        request: Request<T>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + Send + 'static
    where
        T: Into<Bytes> + Send,
        U: From<Bytes> + Send + 'static,
    {
        let (http, request) = (self.clone(), request.map(Into::<Bytes>::into));
        async move {
            let response = http.ask(request).await?;
            let (status, headers) = (response.status(), response.headers().clone());
            let body: LazyBody<U> =
                Box::pin(async move { response.bytes().await.map(U::from).map_err(Error::instance) });
            let mut built = Response::new(body);
            *built.status_mut() = status;
            *built.headers_mut() = headers;
            Ok(built)
        }
    }

    fn send_multipart<U>(
        &self,
        _request: Request<MultipartForm>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + Send + 'static
    where
        U: From<Bytes> + Send + 'static,
    {
        std::future::ready(Err(Error::StreamEnded))
    }

    async fn send_streaming<T: Into<Bytes> + Send>(&self, request: Request<T>) -> Result<StreamingResponse> {
        let response = self.ask(request.map(Into::<Bytes>::into)).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body: BoxedStream = Box::pin(response.bytes_stream().map(|piece| piece.map_err(Error::instance)));
        let mut built = Response::new(body);
        *built.status_mut() = status;
        *built.headers_mut() = headers;
        Ok(built)
    }
}

fn rig(server: &ChunkServer) -> Rig {
    let config = OpenAIConfig::new(KEY).with_base_url(server.base_url.clone());
    let client = config.connect(Http(reqwest::Client::new()));
    Rig::new(client.chat("gpt-test")).redact(KEY)
}

async fn server(status: &str, kind: &str, body: &str) -> ChunkServer {
    let pieces: Vec<&[u8]> = body.as_bytes().chunks(11).collect();
    ChunkServer::answering(status, &[&format!("content-type: {kind}"), "retry-after: 2"], &pieces, End::Close)
        .await
}

const PLAIN: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-test","choices":[{"index":0,"message":{"role":"assistant","content":"grüß dich","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":\"it\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":20,"completion_tokens":7,"total_tokens":27,"prompt_tokens_details":{"cached_tokens":8}}}"#;

#[tokio::test]
async fn rigs_openai_client_answers_whole_and_streamed() {
    let tool = ToolSchema::new("look", "Looks", value!({ "type": "object", "properties": {} }));
    let asked = request().system("Be kind.").tool(tool);
    let mut plain_server = server("200 OK", "application/json", PLAIN).await;
    let plain = rig(&plain_server).complete(&asked, &CallCx::detached()).await.unwrap();
    assert_eq!((plain.content.as_str(), &plain.stop_reason), ("grüß dich", &StopReason::ToolUse));
    assert_eq!(plain.usage, Ours::new(12, 7).with_cache_read(8));
    assert_eq!(plain.tool_calls[0].args, *value!({ "at": "it" }).as_object().unwrap());
    let Seen::Request(sent) = plain_server.next().await else { panic!("a request") };
    assert!(sent.contains("/v1/chat/completions") && sent.contains("Be kind.") && sent.contains("\"look\""));

    let chunk = |delta: &str, rest: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-test\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{rest}}}]}}\n\n"
        )
    };
    let body = [
        chunk(r#"{"role":"assistant","content":"grü"}"#, "null"),
        chunk(r#"{"content":"ß dich"}"#, "null"),
        chunk(r#"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":"}}]}"#, "null"),
        chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":"\"it\"}"}}]}"#, "null"),
        chunk("{}", "\"tool_calls\""),
        "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-test\",\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":7,\"total_tokens\":27,\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\n".to_owned(),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    let streaming = server("200 OK", "text/event-stream", &body).await;
    let (chunks, error) = read_stream(&rig(&streaming), &asked, &CallCx::detached()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(answer_of(&chunks).content, "grüß dich");
    let streamed = answer_of(&chunks);
    assert_eq!(streamed.usage, plain.usage);
    assert_eq!(streamed.stop_reason, plain.stop_reason);
    assert_eq!(
        (&streamed.tool_calls[0].id, &streamed.tool_calls[0].args),
        (&plain.tool_calls[0].id, &plain.tool_calls[0].args)
    );
}

#[tokio::test]
async fn refusals_pages_and_dead_hosts_through_rigs_client() {
    let body = format!(
        "{{\"error\":{{\"message\":\"slow down, {KEY}\",\"type\":\"requests\",\"code\":\"rate_limit_exceeded\"}}}}"
    );
    let cases = [
        ("429 Too Many Requests", "application/json", body.as_str(), LlmErrorKind::RateLimited),
        ("401 Unauthorized", "application/json", body.as_str(), LlmErrorKind::Auth),
        ("503 Service Unavailable", "text/html", "<html>down</html>", LlmErrorKind::Transient),
        ("200 OK", "text/html", "<html>welcome</html>", LlmErrorKind::UnreadableResponse),
        ("200 OK", "application/json", "", LlmErrorKind::UnreadableResponse),
    ];
    for (status, kind, body, expected) in cases {
        let server = server(status, kind, body).await;
        let error = rig(&server).complete(&request(), &CallCx::detached()).await.unwrap_err();
        assert_eq!(error.kind, expected, "{status}: {error}");
        assert_clean(&error);
        if status.starts_with("429") {
            assert_eq!(error.retry_after, Some(std::time::Duration::from_secs(2)));
        }
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = OpenAIConfig::new(KEY).with_base_url(format!("http://{free}/v1?key={KEY}"));
    let dead = Rig::new(client.connect(Http(reqwest::Client::new())).chat("gpt-test")).redact(KEY);
    let error = dead.complete(&request(), &CallCx::detached()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Network);
    assert!(error.to_string().contains("refused"), "{error}");
    assert_clean(&error);
}
