//! What is made of a vendor that does not answer as it should: the checks every adapter shares.

use agentfootprint_core::llm::LlmErrorKind;
use serde_json::json;

use super::fixtures::{completion, frame, sse, unclosed, usage, usage_frame};
use super::*;
use crate::testing::bad_input::{Wire, contract, set_up, text_frames};

fn wire() -> Wire {
    let frames = [
        frame(json!({"role": "assistant", "content": "Grüß dich,"}), None),
        frame(json!({"content": " 世界 😀"}), Some("stop")),
        usage_frame(usage()),
    ];
    Wire {
        prefix: "[openai] ",
        model: "gpt-4o-mini",
        host: "api.openai.com:443",
        build: |setup| Arc::new(set_up!(OpenAi::builder(), setup, base_url).build().unwrap()),
        plain: completion(json!({"content": "Grüß dich, 世界 😀"}), "stop", usage()).to_string().into_bytes(),
        streamed: sse(&frames),
        error: |_, sentence| json!({"error": {"message": sentence, "code": "x"}}).to_string().into_bytes(),
        unknown_model: Some("The model `gpt-9` does not exist or you do not have access to it."),
        framed_error: |sentence| unclosed(&[json!({"error": {"message": sentence, "code": "x"}})]),
        framed_kind: LlmErrorKind::StreamBroken { delivered: true },
        damaged: text_frames::DAMAGED.map(Vec::from).to_vec(),
        not_utf8: text_frames::NOT_UTF8.map(Vec::from).to_vec(),
        open_frame: text_frames::OPEN.to_vec(),
        key_advice: "OPENAI_API_KEY",
        address_advice: "base_url",
        is_daemon: false,
    }
}

contract!(super::wire);
