//! What reading a vendor's answer costs: the whole way from bytes to chunks, without a network.

use std::sync::Arc;
use std::time::Instant;

use agentfootprint::llm::{CallCx, LlmChunk, LlmProvider, LlmRequest};
use agentfootprint::providers::http::{Bytes, HeaderMap, HttpExchange, HttpFault, HttpRequest, HttpResponse};
use agentfootprint::providers::{Anthropic, OpenAi};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

/// Deltas of a streamed answer.
const DELTAS: usize = 10_000;
/// Bytes of a whole one.
const BODY: usize = 1 << 20;
/// Bytes that arrive at once: a TLS record.
const RECORD: usize = 16 << 10;
/// Repetitions; the best counts.
const REPETITIONS: usize = 7;

/// Answers every request with the same bytes, which are all there already.
struct Canned(Vec<Bytes>);

#[async_trait]
impl HttpExchange for Canned {
    async fn send(&self, _request: HttpRequest) -> Result<HttpResponse, HttpFault> {
        let pieces = self.0.clone();
        let body = stream::iter(pieces.into_iter().map(Ok));
        Ok(HttpResponse { status: 200, headers: HeaderMap::new(), body: Box::pin(body) })
    }
}

fn canned(body: &str) -> Arc<Canned> {
    Arc::new(Canned(body.as_bytes().chunks(RECORD).map(Bytes::copy_from_slice).collect()))
}

fn word(at: usize) -> String {
    format!(" wörd{at}")
}

fn openai_stream() -> String {
    let frame = |delta: Value, finish: Value| {
        let json = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt-4o-mini",
            "system_fingerprint": "fp_1", "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]
        });
        format!("data: {json}\n\n")
    };
    let mut body: String = (0..DELTAS).map(|at| frame(json!({"content": word(at)}), Value::Null)).collect();
    body.push_str(&frame(json!({}), json!("stop")));
    body.push_str("data: [DONE]\n\n");
    body
}

fn anthropic_stream() -> String {
    let event = |json: Value| {
        let kind = json.get("type").and_then(Value::as_str).unwrap_or_default();
        format!("event: {kind}\ndata: {json}\n\n")
    };
    let mut body = event(
        json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 9, "output_tokens": 1}}}),
    );
    body.push_str(&event(
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ));
    for at in 0..DELTAS {
        let delta = json!({"type": "text_delta", "text": word(at)});
        body.push_str(&event(json!({"type": "content_block_delta", "index": 0, "delta": delta})));
    }
    body.push_str(&event(json!({"type": "content_block_stop", "index": 0})));
    body.push_str(&event(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": DELTAS}})));
    body.push_str(&event(json!({"type": "message_stop"})));
    body
}

fn long_text() -> String {
    "Ein \"langer\" Text,\nmit Zeilen & Zeichen: ✓ é 😀. ".repeat(BODY / 56)
}

fn openai_body() -> String {
    let message = json!({"role": "assistant", "content": long_text()});
    json!({"id": "1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}).to_string()
}

fn anthropic_body() -> String {
    let content = json!([{"type": "text", "text": long_text()}]);
    json!({"id": "1", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 9}}).to_string()
}

/// Reads one answer; what comes back is its length and the time it took, in ms.
async fn read(provider: &dyn LlmProvider, streams: bool) -> Result<(usize, f64), String> {
    let (request, cx) = (LlmRequest::new("m").user("hi"), CallCx::detached());
    let started = Instant::now();
    let length = if streams {
        let opened = provider.stream(&request, &cx).await.ok_or("it does not stream")?;
        let mut chunks = opened.map_err(|error| error.to_string())?;
        let mut length = 0;
        while let Some(chunk) = chunks.next().await {
            if let LlmChunk::Done { response, .. } = chunk.map_err(|error| error.to_string())? {
                length = response.content.len();
            }
        }
        length
    } else {
        provider.complete(&request, &cx).await.map_err(|error| error.to_string())?.content.len()
    };
    Ok((length, started.elapsed().as_secs_f64() * 1000.0))
}

fn openai(body: &str) -> Result<Arc<dyn LlmProvider>, String> {
    let built = OpenAi::builder().key("key-of-the-bench").exchange(canned(body)).build();
    Ok(Arc::new(built.map_err(|error| error.to_string())?))
}

fn anthropic(body: &str) -> Result<Arc<dyn LlmProvider>, String> {
    let built = Anthropic::builder().key("key-of-the-bench").exchange(canned(body)).build();
    Ok(Arc::new(built.map_err(|error| error.to_string())?))
}

type Make = fn() -> Result<Arc<dyn LlmProvider>, String>;

/// The rows whose names hold `only`. A body is written only for a row that is wanted.
pub(crate) async fn rows(only: Option<&str>) -> Result<Vec<Value>, String> {
    let cases: [(&str, bool, Make); 4] = [
        ("parse-openai-stream", true, || openai(&openai_stream())),
        ("parse-anthropic-stream", true, || anthropic(&anthropic_stream())),
        ("parse-openai-body", false, || openai(&openai_body())),
        ("parse-anthropic-body", false, || anthropic(&anthropic_body())),
    ];
    let mut rows = Vec::new();
    for (name, streams, make) in cases {
        if only.is_some_and(|only| !name.contains(only)) {
            continue;
        }
        let provider = make()?;
        let mut best = f64::MAX;
        for _ in 0..REPETITIONS {
            let (length, took) = read(&*provider, streams).await?;
            let expected =
                if streams { (0..DELTAS).map(|at| word(at).len()).sum() } else { long_text().len() };
            if length != expected {
                return Err(format!("{name}: {length} bytes of text instead of {expected}"));
            }
            best = best.min(took);
        }
        let steps = if streams { DELTAS } else { 1 };
        #[expect(clippy::cast_precision_loss, reason = "ten thousand")]
        let per_step = best * 1000.0 / steps as f64;
        rows.push(json!({"workload": name, "steps": steps, "totalMs": best, "perStepUs": per_step}));
    }
    Ok(rows)
}
