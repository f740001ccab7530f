mod answers;
mod refusals;
mod requests;

use std::sync::Arc;

use agentfootprint_core::llm::{CallCx, LlmProvider, LlmRequest};
use serde_json::{Value as Json, json};

use super::{Ollama, OllamaBuilder};
use crate::EnvVars;
use crate::http::contract::{CANARY, Subject};
use crate::http::testing::{Answer, Scripted};

/// An Ollama answered by a script.
pub(super) fn builder(answers: impl IntoIterator<Item = Answer>) -> (OllamaBuilder, Arc<Scripted>) {
    let exchange = Scripted::new(answers);
    let nothing_set = EnvVars::from_pairs([("A", "b")]);
    (Ollama::builder().env(nothing_set).key(CANARY).exchange(exchange.clone()), exchange)
}

/// A plain answer.
pub(super) fn plain(message: Json, reason: &str) -> Json {
    json!({
        "model": "llama3.2", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": true,
        "done_reason": reason, "total_duration": 5, "prompt_eval_count": 26, "eval_count": 9
    })
}

/// A line of a stream.
pub(super) fn line(message: Json) -> Json {
    json!({"model": "llama3.2", "message": message, "done": false})
}

pub(super) fn lines(lines: &[Json]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

pub(super) fn subject() -> Subject {
    let end = plain(json!({"role": "assistant", "content": ""}), "stop");
    let text = |text: &str| line(json!({"role": "assistant", "content": text}));
    Subject {
        build: |exchange| Arc::new(Ollama::builder().key(CANARY).exchange(exchange).build().unwrap()),
        model: "llama3.2",
        plain: plain(json!({"role": "assistant", "content": "Grüß dich, 世界 😀"}), "stop")
            .to_string()
            .into_bytes(),
        streamed: lines(&[text("Grüß dich,"), text(" 世界 😀"), end]),
        error_body: |sentence| json!({"error": sentence}).to_string().into_bytes(),
        error_inside: lines(&[text("So far"), json!({"error": format!("runner died {CANARY}")})]),
        open_frame: b"{\"message\":{\"content\":\"".to_vec(),
        not_utf8: b"{\"message\":{\"content\":\"\xff\"}}\n".to_vec(),
        key_word: ".key(",
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

pub(super) async fn sent(request: &LlmRequest, builder: impl FnOnce(OllamaBuilder) -> OllamaBuilder) -> Json {
    let answer = plain(json!({"content": "x"}), "stop").to_string();
    let (start, exchange) = self::builder([Answer::ok(answer)]);
    builder(start).build().unwrap().complete(request, &CallCx::detached()).await.unwrap();
    exchange.sent_json(0)
}
