//! Answers of this wire, written by hand from its documentation. Each case holds the same logical answer twice: as a
//! plain message and as the events of a stream.

use serde_json::{Value as Json, json};

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) plain: Json,
    pub(super) events: Vec<Json>,
}

pub(super) fn message(content: Json, stop: &str, usage: Json) -> Json {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage
    })
}

pub(super) fn hello() -> Json {
    message(json!([{"type": "text", "text": "Grüß dich, 世界 😀"}]), "end_turn", usage())
}

pub(super) fn usage() -> Json {
    json!({
        "input_tokens": 40, "output_tokens": 18, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 7,
        "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4}
    })
}

pub(super) fn start(usage: Json) -> Json {
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": null, "usage": usage
    }})
}

fn first_usage() -> Json {
    json!({"input_tokens": 40, "output_tokens": 1, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 7})
}

pub(super) fn block(index: u64, block: Json) -> Json {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

pub(super) fn delta(index: u64, delta: Json) -> Json {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

pub(super) fn text_delta(index: u64, text: &str) -> Json {
    delta(index, json!({"type": "text_delta", "text": text}))
}

pub(super) fn input_delta(index: u64, text: &str) -> Json {
    delta(index, json!({"type": "input_json_delta", "partial_json": text}))
}

pub(super) fn stop(index: u64) -> Json {
    json!({"type": "content_block_stop", "index": index})
}

/// Why the message ended, and its end.
pub(super) fn end(reason: &str) -> [Json; 2] {
    [
        json!({
            "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 18}
        }),
        json!({"type": "message_stop"}),
    ]
}

/// Events as they stand on the wire.
pub(super) fn sse(events: &[Json]) -> Vec<u8> {
    let frame = |event: &Json| {
        let name = event["type"].as_str().unwrap_or("message");
        format!("event: {name}\ndata: {event}\n\n").into_bytes()
    };
    events.iter().flat_map(frame).collect()
}

fn whole(events: Vec<Json>, reason: &str) -> Vec<Json> {
    [vec![start(first_usage())], events, end(reason).to_vec()].concat()
}

pub(super) fn text(index: u64, pieces: &[&str]) -> Vec<Json> {
    let mut events = vec![block(index, json!({"type": "text", "text": ""}))];
    events.extend(pieces.iter().map(|piece| text_delta(index, piece)));
    events.push(stop(index));
    events
}

fn call(index: u64, id: &str, name: &str, pieces: &[&str]) -> Vec<Json> {
    let mut events = vec![block(index, json!({"type": "tool_use", "id": id, "name": name, "input": {}}))];
    events.extend(pieces.iter().map(|piece| input_delta(index, piece)));
    events.push(stop(index));
    events
}

/// Every documented behaviour of an answer.
pub(super) fn cases() -> Vec<Case> {
    let case = |name, content, reason: &str, events| Case {
        name,
        plain: message(content, reason, usage()),
        events: whole(events, reason),
    };
    let ping = json!({"type": "ping"});
    let search_use =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}});
    let search_result = json!({
        "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": "https://x", "title": "X", "encrypted_content": "e"}]
    });
    let citation = json!({"type": "web_search_result_location", "url": "https://x", "cited_text": "c"});
    vec![
        case("text", json!([{"type": "text", "text": "Grüß dich, 世界 😀"}]), "end_turn", {
            let mut events = vec![ping.clone()];
            events.extend(text(0, &["Grüß dich,", "", " 世界 😀"]));
            events
        }),
        case("white space only", json!([{"type": "text", "text": " \n"}]), "end_turn", text(0, &[" \n"])),
        case("nothing at all", json!([]), "end_turn", vec![]),
        case(
            "two parallel calls after a text, fragments interleaved",
            json!([
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
                {"type": "tool_use", "id": "c2", "name": "time", "input": {}}
            ]),
            "tool_use",
            [
                text(0, &["One ", "moment."]),
                vec![
                    block(2, json!({"type": "tool_use", "id": "c2", "name": "time", "input": {}})),
                    block(1, json!({"type": "tool_use", "id": "c1", "name": "weather", "input": {}})),
                    input_delta(1, ""),
                    input_delta(1, "{\"city\":"),
                    input_delta(2, ""),
                    input_delta(1, "\"Oslo\"}"),
                    stop(2),
                    stop(1),
                ],
            ]
            .concat(),
        ),
        case(
            "a call that starts whole",
            json!([{"type": "tool_use", "id": "c1", "name": "f", "input": {"z": 1, "a": 2}}]),
            "tool_use",
            vec![
                block(0, json!({"type": "tool_use", "id": "c1", "name": "f", "input": {"z": 1, "a": 2}})),
                stop(0),
            ],
        ),
        case(
            "signed thinking, redacted thinking, then an answer",
            json!([
                {"type": "thinking", "thinking": "two and two", "signature": "c2ln+/="},
                {"type": "redacted_thinking", "data": "ZGF0YQ=="},
                {"type": "text", "text": "4"}
            ]),
            "end_turn",
            [
                vec![
                    block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
                    delta(0, json!({"type": "thinking_delta", "thinking": "two "})),
                    delta(0, json!({"type": "thinking_delta", "thinking": "and two"})),
                    delta(0, json!({"type": "signature_delta", "signature": "c2ln+/="})),
                    stop(0),
                    block(1, json!({"type": "redacted_thinking", "data": "ZGF0YQ=="})),
                    stop(1),
                ],
                text(2, &["4"]),
            ]
            .concat(),
        ),
        case(
            "a search of the vendor's own, with citations",
            json!([
                {"type": "text", "text": "Let me look. "},
                search_use, search_result,
                {"type": "text", "text": "It is blue.", "citations": [citation]}
            ]),
            "end_turn",
            [
                text(0, &["Let me look. "]),
                vec![
                    block(1, json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})),
                    input_delta(1, "{\"query\":\"q\"}"),
                    stop(1),
                    block(2, search_result.clone()),
                    stop(2),
                    block(3, json!({"type": "text", "text": "", "citations": []})),
                    delta(3, json!({"type": "citations_delta", "citation": citation})),
                    text_delta(3, "It is blue."),
                    stop(3),
                    json!({"type": "an_event_of_tomorrow", "index": 9}),
                ],
            ]
            .concat(),
        ),
        case(
            "blocks of tomorrow",
            json!([{"type": "compaction", "content": "summary"}, {"type": "text", "text": "on"}]),
            "end_turn",
            [
                vec![
                    block(0, json!({"type": "compaction", "content": ""})),
                    delta(0, json!({"type": "compaction_delta", "content": "summary"})),
                    stop(0),
                ],
                text(1, &["on"]),
            ]
            .concat(),
        ),
        case("cut by the limit", json!([{"type": "text", "text": "So fa"}]), "max_tokens", text(0, &["So fa"])),
        case("a stop sequence", json!([]), "stop_sequence", vec![]),
        case("paused", json!([{"type": "text", "text": "x"}]), "pause_turn", text(0, &["x"])),
        case("refused", json!([{"type": "text", "text": "I"}]), "refusal", text(0, &["I"])),
        case("out of window", json!([]), "model_context_window_exceeded", vec![]),
    ]
}

/// A call whose arguments the output limit cut.
pub(super) fn cut_call() -> Vec<Json> {
    whole(call(0, "c1", "report", &["{\"text\": ", "\"it beg"]), "max_tokens")
}
