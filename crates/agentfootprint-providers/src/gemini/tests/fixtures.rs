//! Answers of this wire, written by hand from its documentation. Each case holds the same logical answer twice: whole
//! and as the chunks of a stream.

use serde_json::{Value as Json, json};

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) plain: Json,
    pub(super) chunks: Vec<Json>,
}

pub(super) fn usage() -> Json {
    json!({
        "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 18, "thoughtsTokenCount": 12,
        "toolUsePromptTokenCount": 7, "totalTokenCount": 137
    })
}

pub(super) fn answer(parts: Json, finish: Json) -> Json {
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}],
        "usageMetadata": usage(), "modelVersion": "gemini-2.5-flash", "responseId": "r1"
    })
}

pub(super) fn hello() -> Json {
    answer(json!([{"text": "Grüß dich, 世界 😀"}]), json!("STOP"))
}

/// A chunk that goes on. Counts grow.
pub(super) fn chunk(parts: Json) -> Json {
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 60, "thoughtsTokenCount": 12},
        "responseId": "r1"
    })
}

pub(super) fn sse(chunks: &[Json]) -> Vec<u8> {
    chunks.iter().flat_map(|chunk| format!("data: {chunk}\n\n").into_bytes()).collect()
}

/// Every documented behaviour of an answer.
pub(super) fn cases() -> Vec<Case> {
    let case = |name, parts: Json, finish: &str, mut chunks: Vec<Json>, last: Json| {
        chunks.push(answer(last, json!(finish)));
        Case { name, plain: answer(parts, json!(finish)), chunks }
    };
    let call = |name: &str, args: Json| json!({"functionCall": {"name": name, "args": args, "id": format!("id-{name}")}});
    let signed = |name: &str, args: Json| {
        let mut part = call(name, args);
        part["thoughtSignature"] = json!("c2ln+/=");
        part
    };
    let blocked = json!({
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9},
        "responseId": "r1"
    });
    let code = json!({"executableCode": {"language": "PYTHON", "code": "print(1)"}});
    let output = json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}});
    vec![
        case(
            "text",
            json!([{"text": "Grüß dich, 世界 😀"}]),
            "STOP",
            vec![chunk(json!([{"text": "Grüß dich,"}])), chunk(json!([{"text": ""}]))],
            json!([{"text": " 世界 😀"}]),
        ),
        case(
            "thoughts beside the text",
            json!([{"text": "two and two", "thought": true}, {"text": "4", "thoughtSignature": "x"}]),
            "STOP",
            vec![
                chunk(json!([{"text": "two ", "thought": true}])),
                chunk(json!([{"text": "and two", "thought": true}])),
                chunk(json!([{"text": "4"}])),
            ],
            json!([{"text": "", "thoughtSignature": "x"}]),
        ),
        case(
            "two parallel calls, the first signed",
            json!([{"text": "One moment."}, signed("weather", json!({"z": 1, "a": 2})), call("time", json!({}))]),
            "STOP",
            vec![
                chunk(json!([{"text": "One moment."}])),
                chunk(json!([signed("weather", json!({"z": 1, "a": 2}))])),
            ],
            json!([call("time", json!({}))]),
        ),
        case(
            "code the vendor ran",
            json!([{"text": "a"}, code, output, {"text": "b"}]),
            "STOP",
            vec![chunk(json!([{"text": "a"}, code])), chunk(json!([output]))],
            json!([{"text": "b"}]),
        ),
        case(
            "media",
            json!([{"inlineData": {"mimeType": "image/png", "data": "AA=="}}, {"text": "see"}]),
            "STOP",
            vec![chunk(json!([{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]))],
            json!([{"text": "see"}]),
        ),
        case("cut", json!([{"text": "So fa"}]), "MAX_TOKENS", vec![], json!([{"text": "So fa"}])),
        case("unsafe", json!([{"text": "x"}]), "SAFETY", vec![], json!([{"text": "x"}])),
        case("recited", json!([{"text": "x"}]), "RECITATION", vec![], json!([{"text": "x"}])),
        case("malformed call", json!([]), "MALFORMED_FUNCTION_CALL", vec![], json!([])),
        Case { name: "prompt blocked", plain: blocked.clone(), chunks: vec![blocked] },
        Case {
            name: "no content",
            plain: json!({"candidates": [{"finishReason": "STOP"}], "responseId": "r1"}),
            chunks: vec![json!({"candidates": [{"finishReason": "STOP"}], "responseId": "r1"})],
        },
        Case {
            name: "a second candidate",
            plain: json!({"candidates": [
                {"content": {"parts": [{"text": "no"}]}, "index": 1, "finishReason": "STOP"},
                {"content": {"parts": [{"text": "yes"}]}, "index": 0, "finishReason": "STOP"}
            ]}),
            chunks: vec![
                json!({"candidates": [{"content": {"parts": [{"text": "no"}]}, "index": 1, "finishReason": "STOP"}]}),
                json!({"candidates": [{"content": {"parts": [{"text": "yes"}]}, "finishReason": "STOP"}]}),
            ],
        },
    ]
}
