mod answers;
mod credentials;
mod requests;

use std::sync::Arc;

use agentfootprint_core::llm::{CallCx, LlmErrorKind, LlmProvider, LlmRequest};
use serde_json::{Value as Json, json};

use super::{Bedrock, BedrockBuilder};
use crate::EnvVars;
use crate::frames::event_stream::testing::{event, exception, frame, prelude};
use crate::http::testing::{Answer, Scripted};
use crate::testing::KEY;
use crate::testing::bad_input::{Wire, contract, set_up};

pub(super) const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

/// A Bedrock answered by a script, with a region and no credential.
pub(super) fn keyless(answers: impl IntoIterator<Item = Answer>) -> (BedrockBuilder, Arc<Scripted>) {
    let exchange = Scripted::new(answers);
    let env = EnvVars::from_pairs([("AWS_REGION", "us-east-1")]);
    (Bedrock::builder().env(env).exchange(exchange.clone()), exchange)
}

pub(super) fn builder(answers: impl IntoIterator<Item = Answer>) -> (BedrockBuilder, Arc<Scripted>) {
    let (builder, exchange) = keyless(answers);
    (builder.key(KEY), exchange)
}

/// A plain answer.
pub(super) fn plain(content: Json, reason: &str) -> Json {
    json!({
        "output": {"message": {"role": "assistant", "content": content}}, "stopReason": reason,
        "usage": {"inputTokens": 20, "outputTokens": 5, "totalTokens": 25}, "metrics": {"latencyMs": 3}
    })
}

/// The events of one stream, with padding as the vendor sends it.
pub(super) fn events(events: &[(&str, Json)]) -> Vec<u8> {
    let padded = |json: &Json| {
        let mut json = json.clone();
        json["p"] = json!("abcdef");
        json
    };
    events.iter().flat_map(|(kind, json)| event(kind, &padded(json))).collect()
}

pub(super) fn delta(index: u64, delta: Json) -> (&'static str, Json) {
    ("contentBlockDelta", json!({"contentBlockIndex": index, "delta": delta}))
}

pub(super) fn start(index: u64, start: Json) -> (&'static str, Json) {
    ("contentBlockStart", json!({"contentBlockIndex": index, "start": start}))
}

pub(super) fn stop(index: u64) -> (&'static str, Json) {
    ("contentBlockStop", json!({"contentBlockIndex": index}))
}

pub(super) fn end(reason: &str) -> [(&'static str, Json); 2] {
    [
        ("messageStop", json!({"stopReason": reason})),
        (
            "metadata",
            json!({"usage": {"inputTokens": 20, "outputTokens": 5, "totalTokens": 25}, "metrics": {"latencyMs": 3}}),
        ),
    ]
}

pub(super) fn wire() -> Wire {
    let mut whole = vec![
        ("messageStart", json!({"role": "assistant"})),
        delta(0, json!({"text": "Grüß dich,"})),
        delta(0, json!({"text": " 世界 😀"})),
        stop(0),
    ];
    whole.extend(end("end_turn"));
    let block_delta =
        |payload: &[u8]| frame(&[(":message-type", "event"), (":event-type", "contentBlockDelta")], payload);
    Wire {
        prefix: "[bedrock] ",
        model: "amazon.nova-lite-v1:0",
        host: "bedrock-runtime.us-east-1.amazonaws.com:443",
        build: |setup| {
            Arc::new(set_up!(Bedrock::builder().region("us-east-1"), setup, endpoint).build().unwrap())
        },
        plain: plain(json!([{"text": "Grüß dich, 世界 😀"}]), "end_turn").to_string().into_bytes(),
        streamed: events(&whole),
        error: |_, sentence| json!({"message": sentence}).to_string().into_bytes(),
        unknown_model: Some("The provided model identifier is invalid."),
        framed_error: |sentence| exception("modelStreamErrorException", &json!({"message": sentence})),
        framed_kind: LlmErrorKind::Transient,
        damaged: vec![block_delta(b"{\"a\": ["), block_delta(b"7"), block_delta(b"canary")],
        not_utf8: vec![block_delta(b"\xff"), block_delta(b"{\"delta\":{\"text\":\"\xe4\xb8\"}}")],
        open_frame: prelude(100 << 20),
        key_advice: "AWS_BEARER_TOKEN_BEDROCK",
        address_advice: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        is_daemon: false,
    }
}

contract!(super::wire);

/// The body of a request, and the request as sent.
pub(super) async fn sent(
    request: &LlmRequest,
    change: impl FnOnce(BedrockBuilder) -> BedrockBuilder,
) -> (Json, crate::http::HttpRequest) {
    let answer = plain(json!([{"text": "x"}]), "end_turn").to_string();
    let (start, exchange) = builder([Answer::ok(answer)]);
    change(start).build().unwrap().complete(request, &CallCx::detached()).await.unwrap();
    (exchange.sent_json(0), exchange.requests().remove(0))
}
