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
    for key in ["$af:ref", "$af:esc", "$af:list"] {
        law(&format!(r#"[{{"{key}":[0,1]}},{{"{key}":{{"{key}":["{long}","{long}"]}},"b":["{long}"]}}]"#));
    }
    let packed = pack(br#"{"$af:ref":0}"#).unwrap();
    assert!(packed.ends_with(r#""recording":{"$af:esc":{"$af:ref":0}}}"#), "{packed}");
    assert_eq!(unpack(br#"{"a":[1,2]}"#).unwrap(), r#"{"a":[1,2]}"#);
}

/// Proves REC-16: pooled is what occurs twice and has 64 bytes or more, by JSON equality including key order.
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
    // The unit is the byte: 16 emoji are 64.
    assert_eq!(values(&format!(r#"["{0}","{0}"]"#, "\u{1F600}".repeat(16))), 1);
    // Another key order is another value; only the long string inside both is shared.
    let text = format!(r#"[{{"a":1,"b":"{exactly}"}},{{"b":"{exactly}","a":1}}]"#);
    assert_eq!(values(&text), 1);
}

/// Proves REC-17: another version, a bad reference and a value that contains itself are refused by name.
#[test]
fn damage_is_named() {
    let error = |values: &str, recording: &str| {
        let text = |format| format!(r#"{{"format":"{format}","values":{values},"recording":{recording}}}"#);
        let error = unpack(text(PACKED_FORMAT).as_bytes()).unwrap_err().to_string();
        assert_eq!(unpack(text(PACKED_FORMAT_V1).as_bytes()).unwrap_err().to_string(), error);
        error
    };
    let format = unpack(br#"{"format":"agentfootprint.recording.packed.v9","recording":1}"#).unwrap_err();
    assert!(format.to_string().contains("`agentfootprint.recording.packed.v9`"));
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
    for format in [PACKED_FORMAT, PACKED_FORMAT_V1] {
        let text = format!(
            r#"{{"values" : [[{{"$af:ref":1}},{{ "\u0024af:ref" : 1 }}],{{"k":{{"$af:ref":2}}}},"s"], "recording":{{"a":{{"$af:ref":0}},"b":{{"$af:ref":2}}}},"format":"{format}"}}"#
        );
        assert_eq!(unpack(text.as_bytes()).unwrap(), r#"{"a":[{"k":"s"},{"k":"s"}],"b":"s"}"#);
    }
    // In version 1 an escape makes all that is in it literal, and there are no lists that begin as others.
    let old = |recording: &str| {
        unpack(
            format!(r#"{{"format":"{PACKED_FORMAT_V1}","values":["s"],"recording":{recording}}}"#).as_bytes(),
        )
    };
    let escaped = r#"{"$af:esc":{"$af:ref":1,"a":{"$af:ref":0},"b":{"$af:esc":1}}}"#;
    assert_eq!(old(escaped).unwrap(), r#"{"$af:ref":1,"a":{"$af:ref":0},"b":{"$af:esc":1}}"#);
    assert_eq!(old(r#"[{"$af:list":[0,1]}]"#).unwrap(), r#"[{"$af:list":[0,1]}]"#);
    // In version 2 it escapes the keys of one map.
    let new = format!(
        r#"{{"format":"{PACKED_FORMAT}","values":["s"],"recording":{{"$af:esc":{{"$af:ref":1,"a":{{"$af:ref":0}}}}}}}}"#
    );
    assert_eq!(unpack(new.as_bytes()).unwrap(), r#"{"$af:ref":1,"a":"s"}"#);
}

/// Proves REC-15: a list that begins as another one, at any place of a chain, read as text and as values.
#[test]
fn lists_that_begin_as_others() {
    let values = r#"[[1,2,3],{"$af:list":[0,2,"x",{"$af:ref":0}]},{"$af:list":[1,3]},{"$af:ref":2},{"$af:list":[3,3,[]]},{"$af:list":[0,0]}]"#;
    let all: Vec<String> = (0..6).map(|n| format!(r#"{{"$af:ref":{n}}}"#)).collect();
    let recording = format!(r#"[{},{{"$af:list":[4,4,{{"$af:list":[4,1]}}]}}]"#, all.join(","));
    let text = format!(r#"{{"format":"{PACKED_FORMAT}","values":{values},"recording":{recording}}}"#);
    let plain = r#"[[1,2,3],[1,2,"x",[1,2,3]],[1,2,"x"],[1,2,"x"],[1,2,"x",[]],[],[1,2,"x",[],[1]]]"#;
    assert_eq!(unpack(text.as_bytes()).unwrap(), plain);
    let opened = text.replace(
        r#""recording":"#,
        r#""recording":{"snapshot":{"commitLog":[],"executionTree":{"id":"a","runtimeStageId":"a#0","name":"A"}},"events":"#,
    ) + "}";
    let opened = Recording::open(opened.as_bytes()).unwrap();
    let events: Vec<String> =
        opened.recording().events().iter().map(|event| event.to_value().to_string()).collect();
    assert_eq!(format!("[{}]", events.join(",")), plain);
}

/// Proves REC-17: what is wrong with a list that begins as another is said by its number, whoever reads it.
#[test]
fn damaged_lists_are_named() {
    let error = |values: &str, list: &str| {
        let text = format!(r#"{{"format":"{PACKED_FORMAT}","values":{values},"recording":{list}}}"#);
        let error = unpack(text.as_bytes()).unwrap_err().to_string();
        let snapshot = r#"{"commitLog":[],"executionTree":{"id":"a","runtimeStageId":"a#0","name":"A"}}"#;
        let text = format!(
            r#"{{"format":"{PACKED_FORMAT}","values":{values},"recording":{{"snapshot":{snapshot},"events":[{list}]}}}}"#
        );
        let opening = Recording::open(text.as_bytes()).unwrap_err();
        assert_eq!((opening.code(), opening.to_string()), ("ERR_PACKED_RECORDING", error.clone()));
        error
    };
    assert!(error("[]", r#"{"$af:list":[0,0]}"#).contains("refers to value 0, but has 0"));
    assert!(error("[[1]]", r#"{"$af:list":[0,2]}"#).contains("takes 2 items of value 0, which has 1"));
    assert!(error(r#"[7,"s",{}]"#, r#"{"$af:list":[1,0]}"#).contains("begins as value 1, which is no list"));
    assert!(error("[{}]", r#"{"$af:list":[0,0]}"#).contains("begins as value 0, which is no list"));
    assert!(
        error(r#"[{"$af:list":[0,0]}]"#, r#"{"$af:ref":0}"#)
            .contains("value 0 of the packed recording contains itself")
    );
    assert!(
        error(r#"[{"$af:ref":1},{"$af:list":[0,0]}]"#, r#"{"$af:list":[0,0]}"#).contains("contains itself")
    );
    for malformed in
        [r#"{"$af:list":0}"#, r#"{"$af:list":[0]}"#, r#"{"$af:list":[0,-1]}"#, r#"{"$af:list":[0,0],"b":1}"#]
    {
        assert!(error("[[1]]", malformed).contains("`$af:list` does not stand"), "{malformed}");
    }
    assert!(error("[[1]]", r#"{"$af:ref":0,"b":1}"#).contains("`$af:ref` does not stand"));
    assert!(error("[[1]]", r#"{"$af:esc":{},"b":1}"#).contains("`$af:esc` does not stand"));
    assert!(error("[[1]]", r#"{"$af:esc":1}"#).contains("`$af:esc` does not stand"));
}

/// Proves REC-15: a list that grew is packed as what it newly holds, whichever way its versions came about.
#[test]
fn growing_lists_are_packed_as_what_is_new() {
    let message =
        |n: usize| value!({ "role": "tool", "content": Value::from(format!("{n}: {}", "row ".repeat(20))) });
    let rows = 200;
    // Versions that share their nodes, and versions whose last item changes before they grow.
    let mut pushed = footprint::value::Array::new();
    let mut changed = footprint::value::Array::new();
    let mut events = Vec::new();
    for n in 0..rows {
        pushed.push(message(n));
        if n > 0 {
            changed.set(n - 1, value!({ "sent": (n as u64), "message": (message(n - 1)) }));
        }
        changed.push(message(n));
        events.push(RecordedEvent::from(value!({ "type": "x", "payload": {
            "history": (Value::Array(pushed.clone())), "sent": (Value::Array(changed.clone())) } })));
    }
    let mut grown = recording();
    grown.events = Some(events);
    let plain = grown.to_json();
    let packed = grown.to_packed().unwrap();
    assert!(
        plain.len() > 100 * rows * rows && packed.len() < 700 * rows,
        "{} of {}",
        packed.len(),
        plain.len()
    );
    assert_eq!(unpack(packed.as_bytes()).unwrap(), plain);
    let opened = Recording::open(packed.as_bytes()).unwrap().into_recording();
    assert_eq!(opened.to_json(), plain);
    // What was opened shares as much as what was recorded; text alone gives nearly as much.
    let again = opened.to_packed().unwrap();
    assert!(again.len() <= packed.len() + packed.len() / 10, "{} after {}", again.len(), packed.len());
    let of_text = pack(plain.as_bytes()).unwrap();
    assert!(of_text.len() <= packed.len() + packed.len() / 10, "{} after {}", of_text.len(), packed.len());
    assert_eq!(unpack(of_text.as_bytes()).unwrap(), plain);
}

/// Proves REC-15, REC-17: reserved keys of stages and fields the recording was found with are escaped by both doors.
#[test]
fn reserved_keys_outside_of_values_are_escaped() {
    let odd = text().replace(r#""newer":{"kept""#, r#""$af:ref":{"$af:list":[0,0],"kept""#);
    let deep = text().replace(r#""newer":1"#, r#""$af:ref":1"#);
    for text in [odd, deep] {
        assert!(text.contains("$af:ref"));
        let opened = Recording::open(text.as_bytes()).unwrap().into_recording();
        let packed = opened.to_packed().unwrap();
        assert_eq!(unpack(packed.as_bytes()).unwrap(), opened.to_json());
        assert_eq!(Recording::open(packed.as_bytes()).unwrap().recording().to_json(), opened.to_json());
    }
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

    /// Proves REC-17, REC-18: packed from memory, values of any kind at any place come back, as text and opened.
    #[test]
    fn the_law_holds_in_memory(values in prop::collection::vec(adversarial(), 1..6), picks in prop::collection::vec(0..6_usize, 1..12)) {
        let mut grown = footprint::value::Array::new();
        let mut rows = Vec::new();
        for pick in picks {
            let value = values[pick % values.len()].clone();
            grown.push(value.clone());
            rows.push(RecordedEvent::from(value!({ "type": "x", "payload": { "one": value, "all": (Value::Array(grown.clone())) } })));
        }
        let mut recording = recording();
        recording.snapshot.shared_state.insert("grown", Value::Array(grown));
        recording.snapshot.shared_state.insert("$af:list", values[0].clone());
        recording.events = Some(rows);
        recording.extra.push(("$extra".into(), values[0].to_string().into()));
        let plain = recording.to_json();
        let packed = recording.to_packed().unwrap();
        prop_assert_eq!(&unpack(packed.as_bytes()).unwrap(), &plain);
        let opened = Recording::open(packed.as_bytes()).unwrap().into_recording();
        prop_assert_eq!(opened.to_json(), Recording::open(plain.as_bytes()).unwrap().recording().to_json());
        prop_assert_eq!(unpack(opened.to_packed().unwrap().as_bytes()).unwrap(), plain);
    }

    /// Proves REC-17: unpacking arbitrary references never panics and never loops, and what opens is what is unpacked.
    #[test]
    fn arbitrary_references_are_judged(value in adversarial(), values in prop::collection::vec(adversarial(), 0..4)) {
        for format in [PACKED_FORMAT, PACKED_FORMAT_V1] {
            let text = value!({ "format": format, "values": (values.clone()), "recording": [(value.clone())] }).to_string();
            let unpacked = unpack(text.as_bytes());
            let snapshot = value!({ "commitLog": [], "executionTree": { "id": "a", "runtimeStageId": "a#0", "name": "A" } });
            let text = value!({ "format": format, "values": (values.clone()),
                "recording": { "snapshot": snapshot, "events": [(value.clone())] } }).to_string();
            let opened = Recording::open(text.as_bytes());
            // Who reads values reads all of a list that another begins as, damage behind the items taken included.
            prop_assert!(unpacked.is_ok() || opened.is_err(), "{:?} {:?}", unpacked, opened);
            if let (Ok(unpacked), Ok(opened)) = (unpacked, opened) {
                let event = opened.recording().events()[0].to_value();
                prop_assert_eq!(Value::from(vec![event]), unpacked.parse::<Value>().unwrap());
            }
        }
    }
}

/// JSON in which reserved keys and repeated subtrees are common.
fn adversarial() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        Just("$af:ref".to_owned()),
        Just("$af:esc".to_owned()),
        Just("$af:list".to_owned()),
        "[a-c]",
        any::<String>(),
    ];
    let leaf = prop_oneof![
        crate::tests::json(),
        (0..4_u64).prop_map(Value::from),
        Just(Value::from("w".repeat(80))),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            (inner.clone(), 1..4_usize).prop_map(|(value, times)| Value::from(vec![value; times])),
            (0..4_u64, 0..3_u64, inner.clone()).prop_map(|(n, k, value)| value!([n, k, value])),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(|entries| {
                Value::Object(entries.into_iter().collect::<footprint::value::Object>())
            }),
        ]
    })
}
