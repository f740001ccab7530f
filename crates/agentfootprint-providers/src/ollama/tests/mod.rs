mod answers;
mod refusals;
mod requests;

use std::sync::Arc;

use agentfootprint_core::llm::{CallCx, LlmErrorKind, LlmProvider, LlmRequest};
use serde_json::{Value as Json, json};

use super::{Ollama, OllamaBuilder};
use crate::EnvVars;
use crate::http::testing::{Answer, Scripted};
use crate::testing::KEY;
use crate::testing::bad_input::{Wire, contract, set_up};

/// An Ollama answered by a script.
pub(super) fn builder(answers: impl IntoIterator<Item = Answer>) -> (OllamaBuilder, Arc<Scripted>) {
    let exchange = Scripted::new(answers);
    let nothing_set = EnvVars::from_pairs([("A", "b")]);
    (Ollama::builder().env(nothing_set).key(KEY).exchange(exchange.clone()), exchange)
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

pub(super) fn wire() -> Wire {
    let end = plain(json!({"role": "assistant", "content": ""}), "stop");
    let text = |text: &str| line(json!({"role": "assistant", "content": text}));
    Wire {
        prefix: "[ollama] ",
        model: "llama3.2",
        host: "localhost:11434",
        build: |setup| {
            let nothing_set = EnvVars::from_pairs([("A", "b")]);
            Arc::new(set_up!(Ollama::builder().env(nothing_set), setup, base_url).build().unwrap())
        },
        plain: plain(json!({"role": "assistant", "content": "Grüß dich, 世界 😀"}), "stop")
            .to_string()
            .into_bytes(),
        streamed: lines(&[text("Grüß dich,"), text(" 世界 😀"), end]),
        error: |_, sentence| json!({"error": sentence}).to_string().into_bytes(),
        unknown_model: None,
        framed_error: |sentence| lines(&[json!({"error": sentence})]),
        framed_kind: LlmErrorKind::StreamBroken { delivered: true },
        damaged: [&b"{\"a\": [\n"[..], b"7\n", b"canary\n"].map(Vec::from).to_vec(),
        not_utf8: [&b"{\"message\":{\"content\":\"\xff\"}}\n"[..], b"\xf0\x9f\x98\n"].map(Vec::from).to_vec(),
        open_frame: b"{\"message\":{\"content\":\"".to_vec(),
        key_advice: ".key(",
        address_advice: "OLLAMA_HOST",
        is_daemon: true,
    }
}

contract!(super::wire);

pub(super) async fn sent(request: &LlmRequest, builder: impl FnOnce(OllamaBuilder) -> OllamaBuilder) -> Json {
    let answer = plain(json!({"content": "x"}), "stop").to_string();
    let (start, exchange) = self::builder([Answer::ok(answer)]);
    builder(start).build().unwrap().complete(request, &CallCx::detached()).await.unwrap();
    exchange.sent_json(0)
}
