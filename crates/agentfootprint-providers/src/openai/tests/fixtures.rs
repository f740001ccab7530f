//! Answers of this wire, written by hand from its documentation. Each case holds the same logical answer twice: as a
//! plain completion and as the frames of a stream.

use serde_json::{Value as Json, json};

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) plain: Json,
    pub(super) frames: Vec<Json>,
}

/// A completion with one choice.
pub(super) fn completion(message: Json, finish: &str, usage: Json) -> Json {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-4o-mini-2024-07-18",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage
    })
}

/// One frame with one choice.
pub(super) fn frame(delta: Json, finish: Option<&str>) -> Json {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": null
    })
}

/// The frame that brings the usage has no choice.
pub(super) fn usage_frame(usage: Json) -> Json {
    json!({"id": "chatcmpl-1", "choices": [], "usage": usage})
}

pub(super) fn usage() -> Json {
    json!({
        "prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130,
        "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 12}
    })
}

/// The body of a stream, closed by `[DONE]`.
pub(super) fn sse(frames: &[Json]) -> Vec<u8> {
    let mut body = unclosed(frames);
    body.extend_from_slice(b"data: [DONE]\n\n");
    body
}

pub(super) fn unclosed(frames: &[Json]) -> Vec<u8> {
    frames.iter().flat_map(|frame| format!("data: {frame}\n\n").into_bytes()).collect()
}

fn call(id: &str, name: &str, args: &str) -> Json {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": args}})
}

fn part(index: u64, args: &str) -> Json {
    json!({"tool_calls": [{"index": index, "function": {"arguments": args}}]})
}

fn start(index: u64, id: &str, name: &str) -> Json {
    json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]})
}

/// Every documented behaviour of an answer.
pub(super) fn cases() -> Vec<Case> {
    let case = |name, plain, frames| Case { name, plain, frames };
    vec![
        case(
            "text",
            completion(
                json!({"role": "assistant", "content": "Grüß dich, 世界 😀", "refusal": null}),
                "stop",
                usage(),
            ),
            vec![
                frame(json!({"role": "assistant", "content": ""}), None),
                frame(json!({"content": "Grüß dich,"}), None),
                frame(json!({"content": " 世界 😀"}), None),
                frame(json!({}), Some("stop")),
                usage_frame(usage()),
            ],
        ),
        case(
            "white space only, usage unreported",
            json!({"choices": [{"message": {"content": " \n"}, "finish_reason": "stop"}]}),
            vec![json!({"choices": [{"delta": {"content": " \n"}, "finish_reason": "stop"}]})],
        ),
        case(
            "two parallel calls, fragments interleaved",
            completion(
                json!({"content": null, "tool_calls": [call("c1", "weather", "{\"city\":\"Oslo\"}"), call("c2", "time", "{}")]}),
                "tool_calls",
                usage(),
            ),
            vec![
                frame(start(1, "c2", "time"), None),
                frame(start(0, "c1", "weather"), None),
                frame(part(0, "{\"city\":"), None),
                frame(part(1, "{}"), None),
                frame(part(0, "\"Oslo\"}"), None),
                frame(json!({}), Some("tool_calls")),
                usage_frame(usage()),
            ],
        ),
        case(
            "a call without arguments, said with text, stopped with `stop`",
            completion(
                json!({"content": "One moment.", "tool_calls": [call("c1", "now", "")]}),
                "stop",
                usage(),
            ),
            vec![
                frame(json!({"content": "One moment."}), None),
                frame(start(0, "c1", "now"), None),
                frame(json!({}), Some("stop")),
                usage_frame(usage()),
            ],
        ),
        case(
            "ids and names repeated with every fragment",
            completion(json!({"tool_calls": [call("c1", "f", "{\"a\":1}")]}), "tool_calls", usage()),
            vec![
                frame(
                    json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{\"a\""}}]}),
                    None,
                ),
                frame(
                    json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": ":1}"}}]}),
                    None,
                ),
                frame(json!({}), Some("tool_calls")),
                usage_frame(usage()),
            ],
        ),
        case(
            "no index, fragments follow their call",
            completion(
                json!({"tool_calls": [call("c1", "f", "{\"a\":1}"), call("c2", "g", "{\"b\":2}")]}),
                "tool_calls",
                usage(),
            ),
            vec![
                frame(
                    json!({"tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{\"a\""}}]}),
                    None,
                ),
                frame(json!({"tool_calls": [{"function": {"arguments": ":1}"}}]}), None),
                frame(
                    json!({"tool_calls": [{"id": "c2", "function": {"name": "g", "arguments": "{\"b\""}}]}),
                    None,
                ),
                frame(json!({"tool_calls": [{"function": {"arguments": ":2}"}}]}), None),
                frame(json!({}), Some("tool_calls")),
                usage_frame(usage()),
            ],
        ),
        case(
            "whole calls, arguments as objects, every index 0",
            completion(
                json!({"tool_calls": [
                    {"id": "c1", "function": {"name": "f", "arguments": {"a": 1}}},
                    {"id": "c2", "function": {"name": "f", "arguments": {"a": 2}}}
                ]}),
                "tool_calls",
                usage(),
            ),
            vec![
                frame(
                    json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": {"a": 1}}}]}),
                    None,
                ),
                frame(
                    json!({"tool_calls": [{"index": 0, "id": "c2", "function": {"name": "f", "arguments": {"a": 2}}}]}),
                    None,
                ),
                frame(json!({}), Some("tool_calls")),
                usage_frame(usage()),
            ],
        ),
        case(
            "arguments cut by the output limit",
            completion(
                json!({"tool_calls": [call("c1", "report", "{\"text\": \"it beg")]}),
                "length",
                usage(),
            ),
            vec![
                frame(start(0, "c1", "report"), None),
                frame(part(0, "{\"text\": \"it beg"), None),
                frame(json!({}), Some("length")),
                usage_frame(usage()),
            ],
        ),
        case(
            "refusal",
            completion(json!({"content": null, "refusal": "I cannot help with that."}), "stop", usage()),
            vec![
                frame(json!({"refusal": "I cannot help"}), None),
                frame(json!({"refusal": " with that."}), None),
                frame(json!({}), Some("stop")),
                usage_frame(usage()),
            ],
        ),
        case(
            "content filter",
            completion(json!({"content": "So fa"}), "content_filter", usage()),
            vec![frame(json!({"content": "So fa"}), Some("content_filter")), usage_frame(usage())],
        ),
        case(
            "a vendor's own stop word",
            completion(json!({"content": "x"}), "insufficient_system_resource", usage()),
            vec![frame(json!({"content": "x"}), Some("insufficient_system_resource")), usage_frame(usage())],
        ),
        case(
            "reasoning text, under both names at once",
            completion(
                json!({"content": "4", "reasoning_content": "two and two", "reasoning": "two and two"}),
                "stop",
                usage(),
            ),
            vec![
                frame(json!({"reasoning_content": "two ", "reasoning": "two "}), None),
                frame(json!({"reasoning_content": "and two", "reasoning": "and two", "content": ""}), None),
                frame(json!({"content": "4"}), Some("stop")),
                usage_frame(usage()),
            ],
        ),
        case(
            "a message and a delta in every piece",
            json!({"choices": [{
                "message": {"role": "assistant", "content": "both"}, "delta": {"role": "assistant", "content": ""},
                "finish_reason": "stop"
            }]}),
            vec![
                json!({"choices": [{"delta": {"content": "bo"}, "message": {"content": "bo"}, "finish_reason": null}]}),
                json!({"choices": [{"delta": {"content": "th"}, "message": {"content": "both"}, "finish_reason": "stop"}]}),
            ],
        ),
        case(
            "both forms of one call",
            completion(
                json!({"function_call": {"name": "f", "arguments": "{}"}, "tool_calls": [call("c1", "f", "{}")]}),
                "tool_calls",
                usage(),
            ),
            vec![
                frame(
                    json!({"function_call": {"name": "f", "arguments": "{}"}, "tool_calls": [
                        {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}
                    ]}),
                    Some("tool_calls"),
                ),
                usage_frame(usage()),
            ],
        ),
        case(
            "reasoning in the details alone",
            completion(
                json!({"content": "4", "reasoning": null, "reasoning_details": [
                    {"type": "reasoning.text", "text": "two and "}, {"type": "reasoning.summary", "summary": "two"},
                    {"type": "reasoning.encrypted", "data": "gAAA"}
                ]}),
                "stop",
                usage(),
            ),
            vec![
                frame(json!({"reasoning_details": [{"type": "reasoning.text", "text": "two and "}]}), None),
                frame(json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "two"}]}), None),
                frame(json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAA"}]}), None),
                frame(json!({"content": "4"}), Some("stop")),
                usage_frame(usage()),
            ],
        ),
        case(
            "usage in the server's own corner",
            json!({"id": "chatcmpl-1", "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "x_groq": {"usage": usage()}}),
            vec![json!({
                "id": "chatcmpl-1", "choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}],
                "x_groq": {"id": "req", "usage": usage()}
            })],
        ),
        case(
            "usage in the choice, and null beside it",
            json!({"choices": [{"message": {"content": "x"}, "finish_reason": "stop", "usage": usage()}], "usage": null}),
            vec![
                json!({"choices": [{"delta": {"content": "x"}, "finish_reason": null}], "usage": null}),
                json!({"choices": [{"delta": {}, "finish_reason": "stop", "usage": usage()}], "usage": null}),
            ],
        ),
        case(
            "usage that grows with every frame",
            completion(json!({"content": "xy"}), "stop", usage()),
            vec![
                json!({"id": "chatcmpl-1", "choices": [{"delta": {"content": "x"}}], "usage": {"prompt_tokens": 100, "completion_tokens": 1}}),
                json!({"id": "chatcmpl-1", "choices": [{"delta": {"content": "y"}, "finish_reason": "stop"}], "usage": usage()}),
            ],
        ),
        case(
            "a refusal and thinking among the parts",
            completion(
                json!({"content": [
                    {"type": "reasoning", "text": "hm"}, {"type": "thinking", "thinking": "m"},
                    {"type": "refusal", "refusal": "No."}, {"type": "image_url", "image_url": {"url": "x"}}
                ]}),
                "stop",
                usage(),
            ),
            vec![
                frame(
                    json!({"content": [{"type": "reasoning", "text": "hm"}, {"type": "thinking", "thinking": "m"}]}),
                    None,
                ),
                frame(json!({"content": [{"type": "refusal", "refusal": "No."}]}), Some("stop")),
                usage_frame(usage()),
            ],
        ),
        case(
            "arguments that are a list",
            completion(
                json!({"tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": []}}]}),
                "stop",
                usage(),
            ),
            vec![
                frame(
                    json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": []}}]}),
                    None,
                ),
                frame(json!({}), Some("stop")),
                usage_frame(usage()),
            ],
        ),
        case(
            "no delta, no choices, no content",
            completion(json!({"role": "assistant"}), "stop", usage()),
            vec![
                json!({"id": "chatcmpl-1", "choices": null}),
                json!({"id": "chatcmpl-1"}),
                json!({"choices": [{"index": 0, "delta": null}]}),
                json!({"choices": [{"index": 0, "finish_reason": ""}]}),
                json!({"choices": [{"index": 0, "finish_reason": "stop"}]}),
                usage_frame(usage()),
            ],
        ),
        case(
            "content in parts",
            completion(
                json!({"content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}
                ]}),
                "stop",
                usage(),
            ),
            vec![
                frame(
                    json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
                    None,
                ),
                frame(json!({"content": [{"type": "text", "text": "yes"}]}), Some("stop")),
                usage_frame(usage()),
            ],
        ),
    ]
}

/// The older form of a call, which has no id: one is made up, another at each door.
pub(super) fn older_form() -> Case {
    let case = |name, plain, frames| Case { name, plain, frames };
    case(
        "the older form of a call",
        completion(
            json!({"content": null, "function_call": {"name": "f", "arguments": "{\"a\":1}"}, "tool_calls": null}),
            "function_call",
            usage(),
        ),
        vec![
            frame(
                json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": ""}}),
                None,
            ),
            frame(json!({"function_call": {"arguments": "{\"a\""}}), None),
            frame(json!({"function_call": {"arguments": ":1}"}}), None),
            frame(json!({}), Some("function_call")),
            usage_frame(usage()),
        ],
    )
}
