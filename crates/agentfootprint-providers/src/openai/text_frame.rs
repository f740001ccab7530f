//! The common frame of a stream: it adds text and says nothing else. Reading it builds no tree of JSON.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What such a frame says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextFrame<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) text: Cow<'a, str>,
}

/// The frame, when it is one: the fields of the official endpoint and no other, everything but the text empty. Whatever deviates
/// is not one, and is read the general way.
pub(super) fn read(data: &str) -> Option<TextFrame<'_>> {
    let chunk: Chunk<'_> = serde_json::from_str(data).ok()?;
    let [choice] = chunk.choices;
    let fits = chunk.object == "chat.completion.chunk" && choice.index == 0;
    fits.then_some(TextFrame { id: chunk.id.map(|id| id.0), text: choice.delta.content.0 })
}

/// Text that stays where it stands, unless it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "a field that is named is one that may be there")]
struct Chunk<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    object: &'a str,
    #[serde(default)]
    created: IgnoredAny,
    #[serde(default)]
    model: IgnoredAny,
    #[serde(default)]
    system_fingerprint: IgnoredAny,
    #[serde(default)]
    service_tier: IgnoredAny,
    #[serde(default)]
    obfuscation: IgnoredAny,
    #[serde(default)]
    usage: (),
    choices: [Choice<'a>; 1],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "a field that is named is one that may be there")]
struct Choice<'a> {
    index: u64,
    #[serde(borrow)]
    delta: Delta<'a>,
    #[serde(default)]
    logprobs: IgnoredAny,
    #[serde(default)]
    finish_reason: (),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "a field that is named is one that may be there")]
struct Delta<'a> {
    #[serde(default)]
    role: IgnoredAny,
    #[serde(borrow)]
    content: Text<'a>,
    #[serde(default)]
    refusal: (),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::super::gather::{Gathered, Shape};
    use super::super::response::reported_error;
    use super::*;
    use crate::wire_json;

    fn chunk(delta: Json) -> Json {
        json!({
            "id": "c1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m", "system_fingerprint": null,
            "service_tier": "default", "obfuscation": "x", "usage": null,
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]
        })
    }

    #[test]
    fn the_official_frame_is_read_and_every_other_is_left() {
        let text = chunk(json!({"role": "assistant", "content": "a \"b\" é", "refusal": null})).to_string();
        let read_text = read(&text).unwrap();
        assert_eq!((read_text.id.as_deref(), &*read_text.text), (Some("c1"), "a \"b\" é"));
        assert!(
            read(
                r#"{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": ""}}]}"#
            )
            .is_some()
        );
        for other in [
            chunk(json!({})),
            chunk(json!({"content": null})),
            chunk(json!({"content": "a", "tool_calls": []})),
            chunk(json!({"content": "a", "reasoning": "b"})),
            chunk(json!({"content": "a", "refusal": "no"})),
            json!({"object": "error", "choices": [{"index": 0, "delta": {"content": "a"}}]}),
            json!({"object": "chat.completion.chunk", "choices": []}),
            json!({"object": "chat.completion.chunk", "error": "x", "choices": [{"index": 0, "delta": {"content": "a"}}]}),
            json!({"object": "chat.completion.chunk", "choices": [{"index": 1, "delta": {"content": "a"}}]}),
            json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}),
            json!({"object": "chat.completion.chunk", "usage": {}, "choices": [{"index": 0, "delta": {"content": "a"}}]}),
        ] {
            assert_eq!(read(&other.to_string()), None, "{other}");
        }
        assert_eq!(read(&text.replace("\"c1\"", "\"\\ud83d\"")), None, "half a pair is for the general way");
    }

    fn anything() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(json!(null)),
            Just(json!(0)),
            Just(json!(1)),
            Just(json!("")),
            Just(json!("x\n😀")),
            Just(json!({})),
            Just(json!([])),
            Just(json!("chat.completion.chunk")),
            Just(json!({"message": "bad"})),
            Just(json!("stop")),
        ];
        leaf
    }

    proptest! {
        /// Whatever is read this way says exactly what the general way reads in it.
        #[test]
        fn it_says_what_the_general_way_says(
            top in prop::collection::vec(("id|object|model|usage|error|x_groq|extra", anything()), 0..3),
            inner in prop::collection::vec(("index|finish_reason|error|message|usage|logprobs", anything()), 0..2),
            deep in prop::collection::vec(("content|role|refusal|reasoning|tool_calls|function_call", anything()), 0..3),
        ) {
            let mut frame = chunk(json!({"content": "text"}));
            for (name, value) in top { frame[name] = value; }
            for (name, value) in inner { frame["choices"][0][name] = value; }
            for (name, value) in deep { frame["choices"][0]["delta"][name] = value; }
            let data = frame.to_string();
            if let Some(fast) = read(&data) {
                let json = wire_json::parse(data.as_bytes()).unwrap();
                prop_assert_eq!(reported_error(&json), None);
                let (mut slow, mut quick) = (Gathered::default(), Gathered::default());
                let (mut told, mut said) = (Vec::new(), Vec::new());
                prop_assert!(slow.take(&json, Shape::Frame, &mut told).is_ok());
                quick.take_text(fast, &mut said);
                prop_assert_eq!(format!("{slow:?} {told:?}"), format!("{quick:?} {said:?}"));
            }
        }
    }
}
