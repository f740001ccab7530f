mod answers;
mod credentials;
mod requests;

use std::sync::Arc;

use agentfootprint_core::llm::{CallCx, LlmProvider, LlmRequest};
use serde_json::{Value as Json, json};

use super::{Bedrock, BedrockBuilder};
use crate::EnvVars;
use crate::frames::event_stream::testing::{event, exception, frame, prelude};
use crate::http::contract::{CANARY, Subject};
use crate::http::testing::{Answer, Scripted};

pub(super) const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

/// A Bedrock answered by a script, with a region and no credential.
pub(super) fn keyless(answers: impl IntoIterator<Item = Answer>) -> (BedrockBuilder, Arc<Scripted>) {
    let exchange = Scripted::new(answers);
    let env = EnvVars::from_pairs([("AWS_REGION", "us-east-1")]);
    (Bedrock::builder().env(env).exchange(exchange.clone()), exchange)
}

pub(super) fn builder(answers: impl IntoIterator<Item = Answer>) -> (BedrockBuilder, Arc<Scripted>) {
    let (builder, exchange) = keyless(answers);
    (builder.key(CANARY), exchange)
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

pub(super) fn subject() -> Subject {
    let mut whole = vec![
        ("messageStart", json!({"role": "assistant"})),
        delta(0, json!({"text": "Grüß dich,"})),
        delta(0, json!({"text": " 世界 😀"})),
        stop(0),
    ];
    let error = json!({"message": format!("the model died {CANARY}")});
    let error_inside = [events(&whole[..2]), exception("modelStreamErrorException", &error)].concat();
    whole.extend(end("end_turn"));
    Subject {
        build: |exchange| {
            Arc::new(Bedrock::builder().region("us-east-1").key(CANARY).exchange(exchange).build().unwrap())
        },
        model: "amazon.nova-lite-v1:0",
        plain: plain(json!([{"text": "Grüß dich, 世界 😀"}]), "end_turn").to_string().into_bytes(),
        streamed: events(&whole),
        error_body: |sentence| json!({"message": sentence}).to_string().into_bytes(),
        error_inside,
        open_frame: prelude(100 << 20),
        not_utf8: frame(&[(":message-type", "event"), (":event-type", "contentBlockDelta")], [0xff]),
        key_word: "AWS_BEARER_TOKEN_BEDROCK",
    }
}

/// Proves LLM-11, LLM-14, LLM-15, LLM-18, LLM-19, LLM-28, LLM-38.
#[tokio::test]
async fn bad_input_is_a_typed_error_everywhere() {
    // Splits and cuts run on a runtime of their own.
    tokio::task::spawn_blocking(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(subject().keeps_the_contract());
    })
    .await
    .unwrap();
}

/// Proves LLM-36, LLM-37.
#[tokio::test(start_paused = true)]
async fn stalls_and_cancellation() {
    subject().ends_a_stalled_stream().await;
}

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
