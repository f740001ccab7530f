use footprint::snapshot::OpenLimits;

use super::*;

fn codes(opened: &OpenRecording) -> Vec<String> {
    opened.limits().iter().map(ToString::to_string).collect()
}

fn error(text: &str) -> String {
    let error = Recording::open(text.as_bytes()).unwrap_err();
    let message = error.to_string();
    assert!(!message.contains('\n'), "one sentence: {message}");
    assert!(error.code().starts_with("ERR_"));
    message
}

/// Proves REC §1.2, REC-11, REC-180: what is read is written back equal, unknown keys included.
#[test]
fn reading_and_writing_lose_nothing() {
    let original: Value = text().parse().unwrap();
    let rewritten = recording().to_json();
    assert_eq!(rewritten.parse::<Value>().unwrap(), original_with_dials(&original));
    // Writing what was written changes nothing any more.
    let again = Recording::open(rewritten.as_bytes()).unwrap().into_recording();
    assert_eq!(again.to_json(), rewritten);
    let mut bytes = Vec::new();
    again.write_io(&mut bytes).unwrap();
    assert_eq!(bytes, rewritten.into_bytes());
}

/// The engine states its dials where an older file left them to their defaults.
fn original_with_dials(original: &Value) -> Value {
    let rewritten: Value = recording().to_json().parse().unwrap();
    let mut root = original.as_object().unwrap().clone();
    let mut snapshot = root.get("snapshot").unwrap().as_object().unwrap().clone();
    for dial in ["commitValues", "writeProvenance"] {
        snapshot.insert(dial, rewritten["snapshot"][dial].clone());
    }
    root.insert("snapshot", Value::Object(snapshot));
    Value::Object(root)
}

/// Proves REC-30, REC-31, REC-32: limits say what is missing, in a fixed order; missing parts are not empty parts.
#[test]
fn limits_are_stated() {
    let full = Recording::open(text().as_bytes()).unwrap();
    assert_eq!(codes(&full), ["no-narrative", "no-control-deps"]);
    assert_eq!(full.form(), Form::default());

    let bare =
        r#"{"snapshot":{"executionTree":{"id":"a","runtimeStageId":"a#0","name":"A"},"commitLog":[7]}}"#;
    let bare = Recording::open(bare.as_bytes()).unwrap();
    assert_eq!(
        codes(&bare),
        [
            "no-structure",
            "no-events",
            "no-boundaries",
            "no-narrative",
            "no-control-deps",
            "no-fold-base",
            "commit-gaps(1)",
        ]
    );
    assert!(bare.recording().events.is_none());
    assert!(!bare.recording().to_json().contains("events"), "absence is not turned into an empty list");

    let odd = text()
        .replace(r#""commitIdxBefore":1"#, r#""commitIdxBefore":0"#)
        .replace(r#""preferredOperation":"translate""#, r#""meta":{"mode":"lean"}"#)
        .replace(r#""events":["#, r#""events":[7,"#)
        .replace(r#""structure":{"#, r#""structure":{"id":5,"#)
        .replace(
            r#""recorders":["#,
            r#""recorders":[{"id":"n","name":"Story","data":[{"text":"x","depth":0}]},{"id":"c","name":"ControlDeps","data":{}},"#,
        );
    let odd = Recording::open(odd.as_bytes()).unwrap();
    assert!(codes(&odd).contains(&"lean-boundaries".to_owned()));
    assert!(codes(&odd).contains(&"commit-axis-flat".to_owned()));
    assert!(codes(&odd).contains(&"events-unreadable(1)".to_owned()));
    assert!(!codes(&odd).contains(&"no-narrative".to_owned()), "REC-31: found by shape");
    assert!(!codes(&odd).contains(&"no-control-deps".to_owned()), "REC-32: found by name");
}

/// Proves REC §1.2: an older `blueprint` is read when there is no `structure`, and written as `structure`.
#[test]
fn blueprint_is_read_never_written() {
    let older = text().replace(r#""structure":"#, r#""blueprint":"#);
    let opened = Recording::open(older.as_bytes()).unwrap();
    assert!(opened.recording().structure.is_some());
    let written = opened.recording().to_json();
    assert!(written.contains(r#""structure":"#) && !written.contains("blueprint"));

    let both = text().replace(
        r#""newer":{"kept""#,
        r#""blueprint":{"name":"Old","id":"old","type":"stage"},"newer":{"kept""#,
    );
    let opened = Recording::open(both.as_bytes()).unwrap();
    assert_eq!(&*opened.recording().structure.as_ref().unwrap().root().node().id, "seed");
}

/// Proves REC-30, REC §2: a refusal is one sentence that names the missing part and what to do.
#[test]
fn refusals_name_the_part() {
    assert!(error("").contains("cut off"));
    assert!(error("  \n").contains("cut off"));
    let whole = text();
    for cut in [1, whole.len() / 2, whole.len() - 1] {
        let message = error(&whole[..cut]);
        assert!(message.contains("cut off") && message.contains("copy"), "{message}");
    }
    assert!(error("hello").contains("not a recording"));
    assert!(error("\u{1f}\u{8b}").contains("not a recording"));
    assert!(error("[1,2]").contains("no JSON object"));
    assert!(error("{}").contains("no `snapshot`"));
    assert!(error(r#"{"snapshot":null}"#).contains("`snapshot`"));
    assert!(
        error(r#"{"snapshot":{"executionTree":{}}}"#).contains("`commitLog`")
            || error(r#"{"snapshot":{"executionTree":{}}}"#).contains("commitLog")
    );
    assert!(error(r#"{"snapshot":{"commitLog":[]}}"#).contains("executionTree"));
    assert!(error(r#"{"executionTree":{},"commitLog":[]}"#).contains("bare snapshot"));
    assert!(error(r#"{"type":"agentfootprint.stream.token","payload":{}}"#).contains("single event"));
    assert!(error("{\"type\":\"a\",\"payload\":{}}\n{\"type\":\"b\"}").contains("event log"));
    assert!(error(r#"{"header":{"format":"agentfootprint.audit/1"},"records":[]}"#).contains("audit"));
    assert!(error(r#"{"format":"agentfootprint.trace.v1"}"#).contains("`agentfootprint.trace.v1`"));
    assert!(error(r#"{"format":"agentfootprint.recording.v1"}"#).contains("no `recording`"));
}

/// Proves OBS-187, REC-18: limits hold, also for what a small packed file stands for.
#[test]
fn limits_hold() {
    let limits = OpenLimits { max_bytes: 100, ..OpenLimits::default() };
    let error = Recording::open_with(text().as_bytes(), &limits).unwrap_err();
    assert_eq!(error.code(), "ERR_RECORDING_TOO_LARGE");
    assert!(error.to_string().contains("max_bytes 100"));

    // A bomb: each value is ten times the one before, wherever it stands.
    let values: Vec<String> = (0..30)
        .map(|n| match n {
            0 => format!("\"{}\"", "x".repeat(64)),
            n => format!("[{}]", vec![format!("{{\"$af:ref\":{}}}", n - 1); 10].join(",")),
        })
        .collect();
    let limits = OpenLimits { max_bytes: 1 << 18, ..OpenLimits::default() };
    for format in [PACKED_FORMAT, PACKED_FORMAT_V1] {
        let bomb = |recording: &str| {
            let values = values.join(",");
            format!(r#"{{"format":"{format}","values":[{values}],"recording":{recording}}}"#)
        };
        let tree = r#""commitLog":[],"executionTree":{"id":"a","runtimeStageId":"a#0","name":"A"}"#;
        for recording in [
            format!(r#"{{"snapshot":{{{tree},"sharedState":{{"a":{{"$af:ref":29}}}}}}}}"#),
            format!(r#"{{"snapshot":{{{tree}}},"events":[{{"$af:ref":29}}]}}"#),
            format!(r#"{{"snapshot":{{{tree}}},"structure":{{"$af:ref":29}}}}"#),
            format!(r#"{{"snapshot":{{{tree}}},"newer":{{"$af:ref":29}}}}"#),
        ] {
            let error = Recording::open_with(bomb(&recording).as_bytes(), &limits).unwrap_err();
            assert_eq!(error.code(), "ERR_RECORDING_TOO_LARGE", "{recording}: {error}");
        }
        let error = unpack_with(bomb(r#"{"$af:ref":29}"#).as_bytes(), &limits).unwrap_err();
        assert_eq!(error.code(), "ERR_RECORDING_TOO_LARGE", "{error}");
    }
    // Lists that begin as others, each twice as long as the one before.
    let mut values = vec![format!("[\"{}\"]", "x".repeat(64))];
    for n in 0..60 {
        values.push(format!(r#"{{"$af:list":[{n},1,{{"$af:ref":{n}}},{{"$af:ref":{n}}}]}}"#));
    }
    let bomb = format!(
        r#"{{"format":"{PACKED_FORMAT}","values":[{}],"recording":{{"$af:ref":60}}}}"#,
        values.join(",")
    );
    assert_eq!(unpack_with(bomb.as_bytes(), &limits).unwrap_err().code(), "ERR_RECORDING_TOO_LARGE");
}

/// Proves REC-30, REC-18: every door accepts bare, envelope, and the packed form of either, and a byte order
/// mark.
#[test]
fn every_form_opens() {
    let bare = recording().to_json();
    let facts = RunFactsStated::new(true, PrivacyMode::Full).dropped_events(3).started_at(StatedTime::Ms(0));
    let envelope = RecordingEnvelope::seal(recording(), &facts).unwrap().to_json();
    let inside = envelope.replace(&bare, &pack(bare.as_bytes()).unwrap());
    for (text, form) in [
        (bare.clone(), Form { envelope: false, packed: false }),
        (format!("\u{feff}{bare}"), Form { envelope: false, packed: false }),
        (pack(bare.as_bytes()).unwrap(), Form { envelope: false, packed: true }),
        (envelope.clone(), Form { envelope: true, packed: false }),
        (pack(envelope.as_bytes()).unwrap(), Form { envelope: true, packed: true }),
        (inside, Form { envelope: true, packed: true }),
    ] {
        let opened = Recording::open(text.as_bytes()).unwrap();
        assert_eq!(opened.form(), form);
        assert_eq!(opened.recording().to_json(), bare);
        assert_eq!(opened.header().is_some(), form.envelope);
        assert_eq!(codes(&opened).contains(&"events-dropped(3)".to_owned()), form.envelope);
    }
}

/// Proves REC-18, REC-158: gzip is known by its first bytes, inflated within limits, and damage is one sentence.
#[test]
fn compressed_recordings_open() {
    let plain = recording().to_json();
    for bytes in [compress(&plain), recording().to_compressed().unwrap()] {
        assert_eq!(Recording::open(&bytes).unwrap().recording().to_json(), plain);
        assert_eq!(unpack(&bytes).unwrap(), plain);
        let limits = OpenLimits { max_bytes: 100, ..OpenLimits::default() };
        assert_eq!(Recording::open_with(&bytes, &limits).unwrap_err().code(), "ERR_RECORDING_TOO_LARGE");
        for cut in [2, 12, bytes.len() / 2, bytes.len() - 1] {
            let error = Recording::open(&bytes[..cut]).unwrap_err();
            assert!(error.to_string().contains("cut off"), "{cut}: {error}");
        }
        for at in [3, 15, bytes.len() / 2, bytes.len() - 6] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x5a;
            if let Err(error) = Recording::open(&damaged) {
                assert!(error.code().starts_with("ERR_") && !error.to_string().contains('\n'));
            }
        }
    }
    let mut damaged = compress(&plain);
    let end = damaged.len();
    damaged[end - 6] ^= 1;
    assert!(Recording::open(&damaged).unwrap_err().to_string().contains("compressed and damaged"));
    // A bomb of zeros stops at the limit.
    let bomb = compress(&"0".repeat(20 << 20));
    let limits = OpenLimits { max_bytes: 1 << 20, ..OpenLimits::default() };
    assert!(bomb.len() < 200_000);
    assert_eq!(Recording::open_with(&bomb, &limits).unwrap_err().code(), "ERR_RECORDING_TOO_LARGE");
}

/// Proves REC-18, REC-25: a recording that would be too long plain is filed packed, and opens the same.
#[test]
fn long_recordings_are_filed_packed() {
    let mut long = recording();
    let row = value!({ "type": "x", "payload": { "text": (Value::from("long ".repeat(40_000))) } });
    long.events = Some((0..200).map(|_| RecordedEvent::from(row.clone())).collect());
    let mut bytes = Vec::new();
    long.write_file(&mut bytes).unwrap();
    assert!(
        bytes.starts_with(format!(r#"{{"format":"{PACKED_FORMAT}""#).as_bytes()) && bytes.len() < 1 << 20
    );
    assert_eq!(String::from_utf8(bytes.clone()).unwrap(), long.to_file_json().unwrap());
    let opened = Recording::open(&bytes).unwrap();
    assert!(opened.form().packed);
    assert_eq!(opened.recording().events().last(), long.events().last());
    let mut short = Vec::new();
    recording().write_file(&mut short).unwrap();
    assert_eq!(short, recording().to_json().into_bytes());

    let facts = RunFactsStated::new(true, PrivacyMode::Full)
        .dropped_events(0)
        .run_id("run-1-1")
        .started_at(StatedTime::Ms(0));
    let envelope = RecordingEnvelope::seal(long, &facts).unwrap();
    let directory = std::env::temp_dir().join(format!("agentfootprint-record-long-{}", std::process::id()));
    FileRecordingSink::new(&directory).unwrap().file(&envelope).unwrap();
    let bytes = std::fs::read(directory.join("run-1-1.json")).unwrap();
    std::fs::remove_dir_all(directory).unwrap();
    assert_eq!(String::from_utf8(bytes.clone()).unwrap(), envelope.to_packed().unwrap());
    assert_eq!(Recording::open(&bytes).unwrap().header(), Some(&envelope.header));
}

/// Proves OBS-204, ENG-164: a run of 10 000 steps is opened, packed, unpacked and written without recursion.
#[test]
fn depth_costs_no_stack() {
    let mut tree = String::new();
    for step in 0..10_000 {
        tree.push_str(&format!(r#"{{"id":"s","runtimeStageId":"s#{step}","name":"S","next":"#));
    }
    tree.push_str("null");
    tree.push_str(&"}".repeat(10_000));
    let text = format!(r#"{{"snapshot":{{"commitLog":[],"executionTree":{tree}}},"events":[]}}"#);
    let opened = Recording::open(text.as_bytes()).unwrap().into_recording();
    assert_eq!(opened.snapshot.execution_tree.len(), 10_000);
    let json = opened.to_json();
    let packed = opened.to_packed().unwrap();
    assert_eq!(unpack(packed.as_bytes()).unwrap(), json);
    assert_eq!(Recording::open(packed.as_bytes()).unwrap().recording().to_json(), json);
}

/// Proves EVT-21: an event of a recording says what it can, payload and meta apart.
#[test]
fn recorded_events_decode_on_demand() {
    let recording = recording();
    let [configured, later] = recording.events() else { panic!("two events") };
    let manifest = configured.of::<crate::events::payload::AgentRunConfigured>().unwrap();
    assert_eq!(&*manifest.agent_id, "support");
    assert_eq!(configured.meta().unwrap().run_id.as_str(), "run-1-1");
    assert_eq!(configured.runtime_stage_id().as_deref(), Some("seed#0"));
    assert_eq!((later.name(), later.name_str()), (None, "agentfootprint.later.thing"));
    assert!(matches!(later.kind(), Ok(crate::events::AgentEvent::Unknown(_))));

    let timeless = RecordedEvent::from(value!({ "type": "agentfootprint.pause.request",
        "payload": { "reason": "r", "questionPayload": {} }, "timestamp": 5 }));
    assert!(timeless.of::<crate::events::payload::PauseRequest>().is_some());
    assert_eq!(timeless.meta().unwrap_err().to_string(), "`meta`: expected an object, found nothing");
    assert_eq!(timeless.to_value()["timestamp"], 5);
    assert!(RecordedEvent::from(value!([1])).kind().is_err());
}

/// Proves OBS-187: no text makes opening panic.
#[test]
fn hostile_texts_are_refused_or_opened() {
    let plain = text();
    let packed =
        pack(text().replace(r#""newer":1"#, &format!(r#""newer":{plain},"again":{plain}"#)).as_bytes());
    for whole in [plain, packed.unwrap(), recording().to_packed().unwrap()] {
        damaged_everywhere(&whole);
    }
}

fn damaged_everywhere(whole: &str) {
    for at in (0..whole.len()).step_by(7) {
        for replacement in
            ["", "}", "\"", "[", "{\"$af:ref\":0}", "{\"$af:list\":[0,1]}", "{\"$af:esc\":{", "null", "9"]
        {
            let hostile = format!("{}{replacement}{}", &whole[..at], &whole[at + 1..]);
            if let Ok(opened) = Recording::open(hostile.as_bytes()) {
                let _ = opened.recording().to_json();
                opened.recording().events().iter().for_each(|event| {
                    let _ = (event.kind(), event.meta());
                });
            }
        }
    }
}
