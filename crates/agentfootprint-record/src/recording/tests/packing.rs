use proptest::prelude::*;

use super::*;

fn law(text: &str) {
    let packed = pack(text.as_bytes()).unwrap();
    assert_eq!(unpack(packed.as_bytes()).unwrap(), text, "packed: {packed}");
}

/// Proves REC-15, REC-17: the law holds for adversarial keys, and a text that is not packed comes back as is.
#[test]
fn reserved_keys_are_escaped() {
    let long = "x".repeat(70);
    for text in [
        r#"{"$af:ref":0}"#.to_owned(),
        r#"{"$af:esc":{"$af:ref":0}}"#.to_owned(),
        r#"{"a":{"$af:ref":"text","b":1}}"#.to_owned(),
        format!(r#"[{{"$af:ref":0,"x":"{long}"}},{{"$af:ref":0,"x":"{long}"}},"{long}"]"#),
        format!(r#"[{{"$af:esc":["{long}","{long}"]}},"{long}","{long}"]"#),
        format!(r#"{{"format":"agentfootprint.recording.packed.v1x","{long}":["{long}","{long}"]}}"#),
        "\"\"".to_owned(),
        "[]".to_owned(),
        "1.5".to_owned(),
    ] {
        law(&text);
    }
    let packed = pack(br#"{"$af:ref":0}"#).unwrap();
    assert!(packed.ends_with(r#""recording":{"$af:esc":{"$af:ref":0}}}"#), "{packed}");
    assert_eq!(unpack(br#"{"a":[1,2]}"#).unwrap(), r#"{"a":[1,2]}"#);
}

/// Proves REC-16: pooled is what occurs twice and has 64 units or more, by JSON equality including key order.
#[test]
fn what_is_pooled() {
    let values = |text: &str| {
        let packed: Value = pack(text.as_bytes()).unwrap().parse().unwrap();
        packed["values"].as_array().unwrap().len()
    };
    let exactly = "y".repeat(62); // 64 with its quotes
    assert_eq!(values(&format!(r#"["{exactly}","{exactly}"]"#)), 1);
    assert_eq!(values(&format!(r#"["{0}","{0}"]"#, "y".repeat(61))), 0);
    assert_eq!(values(&format!(r#"["{exactly}"]"#)), 0);
    assert_eq!(values(&format!(r#"{{"{exactly}":1,"a":{{"{exactly}":2}}}}"#)), 0, "keys are not values");
    // The unit is UTF-16: 31 emoji are 62 units.
    assert_eq!(values(&format!(r#"["{0}","{0}"]"#, "\u{1F600}".repeat(31))), 1);
    // Another key order is another value; only the long string inside both is shared.
    let text = format!(r#"[{{"a":1,"b":"{exactly}"}},{{"b":"{exactly}","a":1}}]"#);
    assert_eq!(values(&text), 1);
}

/// Proves REC-17: another version, a bad reference and a value that contains itself are refused by name.
#[test]
fn damage_is_named() {
    let error = |values: &str, recording: &str| {
        let text = format!(r#"{{"format":"{PACKED_FORMAT}","values":{values},"recording":{recording}}}"#);
        unpack(text.as_bytes()).unwrap_err().to_string()
    };
    let format = unpack(br#"{"format":"agentfootprint.recording.packed.v2"}"#).unwrap_err();
    assert!(format.to_string().contains("`agentfootprint.recording.packed.v2`"));
    assert_eq!(format.code(), "ERR_PACKED_RECORDING");
    assert!(error("[]", r#"{"$af:ref":0}"#).contains("refers to value 0, but has 0"));
    assert!(error("[1]", r#"{"$af:ref":-1}"#).contains("refers to value -1"));
    assert!(error("[1]", r#"{"$af:ref":"0"}"#).contains("refers to value"));
    assert!(
        error(r#"[{"$af:ref":0}]"#, r#"{"$af:ref":0}"#)
            .contains("value 0 of the packed recording contains itself")
    );
    assert!(error(r#"[[{"$af:ref":1}],[{"$af:ref":0}]]"#, r#"{"$af:ref":1}"#).contains("contains itself"));
    assert!(error("{}", "1").contains("no usable `values`"));
    let missing = unpack(br#"{"format":"agentfootprint.recording.packed.v1","values":[]}"#).unwrap_err();
    assert!(missing.to_string().contains("no usable `recording`"));
}

/// Proves REC-15: `values` may refer to each other in any order, and a reference stands for any kind.
#[test]
fn foreign_packings_unpack() {
    let text = format!(
        r#"{{"format":"{PACKED_FORMAT}","values":[[{{"$af:ref":1}},{{"$af:ref":1}}],{{"k":{{"$af:ref":2}}}},"s"],"recording":{{"a":{{"$af:ref":0}},"b":{{"$af:ref":2}}}}}}"#
    );
    assert_eq!(unpack(text.as_bytes()).unwrap(), r#"{"a":[{"k":"s"},{"k":"s"}],"b":"s"}"#);
}

/// Proves REC-14, REC-18: a conversation that every iteration repeats packs linearly.
#[test]
fn repeated_histories_pack_linearly() {
    let size = |iterations: usize| {
        let rows = format!("[{}]", vec![r#"{"id":1,"name":"row"}"#; 100].join(","));
        let message = |n: usize| {
            let content = Value::from(format!("{n}:{rows}"));
            value!({ "role": "tool", "content": content, "toolCallId": "t" }).to_string()
        };
        let events: Vec<String> = (1..=iterations)
            .map(|n| format!("[{}]", (0..n).map(message).collect::<Vec<_>>().join(",")))
            .collect();
        let text = format!("[{}]", events.join(","));
        let packed = pack(text.as_bytes()).unwrap();
        assert_eq!(unpack(packed.as_bytes()).unwrap(), text);
        packed.len()
    };
    let (ten, forty) = (size(10), size(40));
    assert!(forty < 6 * ten, "{forty} against {ten}");
}

/// Proves REC-18: equal values of a packed recording are shared when it is opened.
#[test]
fn opened_values_are_shared() {
    let long = "z".repeat(80);
    let text = format!(
        r#"{{"snapshot":{{"commitLog":[],"executionTree":{{"id":"a","runtimeStageId":"a#0","name":"A"}}}},"events":[{{"type":"x","payload":{{"h":["{long}"]}}}},{{"type":"y","payload":{{"h":["{long}"]}}}}]}}"#
    );
    let opened = Recording::open(pack(text.as_bytes()).unwrap().as_bytes()).unwrap();
    let [first, second] = opened.recording().events() else { panic!("two events") };
    assert!(first.payload().ptr_eq(&second.payload()));
}

proptest! {
    /// Proves REC-17: `unpack(pack(r))` is `r`, byte for byte, for any JSON.
    #[test]
    fn the_law_holds(value in adversarial()) {
        law(&value.to_string());
    }

    /// Proves REC-17: unpacking arbitrary references never panics and never loops.
    #[test]
    fn arbitrary_references_are_judged(value in adversarial(), values in prop::collection::vec(adversarial(), 0..4)) {
        let text = value!({ "format": PACKED_FORMAT, "values": values, "recording": value }).to_string();
        let _ = unpack(text.as_bytes());
    }
}

/// JSON in which reserved keys and repeated subtrees are common.
fn adversarial() -> impl Strategy<Value = Value> {
    let key = prop_oneof![Just("$af:ref".to_owned()), Just("$af:esc".to_owned()), "[a-c]", any::<String>()];
    let leaf = prop_oneof![
        crate::tests::json(),
        (0..4_u64).prop_map(Value::from),
        Just(Value::from("w".repeat(80))),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            (inner.clone(), 1..4_usize).prop_map(|(value, times)| Value::from(vec![value; times])),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(|entries| {
                Value::Object(entries.into_iter().collect::<footprint::value::Object>())
            }),
        ]
    })
}
