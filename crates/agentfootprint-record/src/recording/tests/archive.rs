use std::fs;

use super::*;

fn stated() -> RunFactsStated {
    RunFactsStated::new(true, PrivacyMode::Full).dropped_events(0)
}

fn header(facts: &RunFactsStated) -> Result<RunRecord, RecordingError> {
    RecordingEnvelope::seal(recording(), facts).map(|envelope| envelope.header.run().unwrap())
}

/// Proves REC-20, REC-22, REC-23, REC-24: the envelope's shape, and facts resolved from the events.
#[test]
fn an_envelope_states_the_run() {
    let envelope = RecordingEnvelope::seal(recording(), &stated()).unwrap();
    let json: Value = envelope.to_json().parse().unwrap();
    let keys: Vec<_> = json.as_object().unwrap().keys().map(|key| &**key).collect();
    assert_eq!(keys, ["format", "producer", "run", "configuration", "privacy", "recording"]);
    assert_eq!(
        json["run"].to_string(),
        r#"{"runId":"run-1-1","sessionId":"s-1","startedAt":"2026-11-30T12:45:15.718Z","endedAt":"2026-11-30T12:45:16.000Z","complete":true,"droppedEvents":0}"#
    );
    assert_eq!(json["privacy"].to_string(), r#"{"mode":"full","policyId":"agentfootprint.privacy.full.v1"}"#);
    assert_eq!(json["configuration"]["agentId"], "support");
    assert_eq!(json["configuration"]["manifest"]["llm"]["model"], "mock-1");
    assert_eq!(json["producer"]["implementation"], "rust");
    assert_eq!(json["recording"], recording().to_json().parse::<Value>().unwrap());

    let open = Recording::open(envelope.to_json().as_bytes()).unwrap();
    assert_eq!(open.header(), Some(&envelope.header));
    assert!(envelope.header.configuration().unwrap().is_some());
    assert_eq!(envelope.header.producer().unwrap(), Producer::this());
    assert_eq!(envelope.header.privacy().unwrap(), Privacy::full());
}

/// Proves REC-21: privacy is resolved first, and never degrades.
#[test]
fn only_full_privacy_is_accepted() {
    for mode in [PrivacyMode::StructureOnly, PrivacyMode::Redacted] {
        let facts = RunFactsStated::new(true, mode.clone()); // also lacks everything else
        let error = header(&facts).unwrap_err();
        assert_eq!(error.code(), "ERR_UNSUPPORTED_PRIVACY_MODE");
        assert!(error.to_string().contains(&mode.to_string()));
    }
}

/// Proves REC-22: each fact, stated, from the events, or refused by name.
#[test]
fn facts_are_resolved_or_refused() {
    let refused = |facts: RunFactsStated| header(&facts).unwrap_err();
    let missing = refused(RunFactsStated::new(true, PrivacyMode::Full));
    assert!(missing.to_string().contains("`droppedEvents`"), "{missing}");

    let dropped = refused(stated().dropped_events(2));
    assert!(dropped.to_string().contains("`startedAt`"), "{dropped}");
    let run = header(
        &stated()
            .dropped_events(2)
            .first_retained_event_index(2)
            .started_at(StatedTime::Iso("2026-01-02T03:04:05+01:00".into())),
    )
    .unwrap();
    assert_eq!((&*run.started_at, run.first_retained_event_index), ("2026-01-02T02:04:05.000Z", Some(2)));

    let bad = refused(stated().ended_at(StatedTime::Iso("yesterday".into())));
    assert!(matches!(bad, RecordingError::BadTimestamp { field: "endedAt", .. }));

    let mut incomplete = stated();
    incomplete.complete = false;
    assert_eq!(header(&incomplete).unwrap().ended_at, None);

    let mut two = recording();
    let other = text().replace("run-1-1", "run-2-2").replace("\"s-1\"", "\"s-2\"");
    let other = Recording::open(other.as_bytes()).unwrap().into_recording();
    two.events.as_mut().unwrap().extend(other.events.unwrap());
    let error = RecordingEnvelope::seal(two.clone(), &stated()).unwrap_err();
    let RecordingError::IndeterminateRunFact { field, values } = &error else { panic!("{error}") };
    assert_eq!((*field, values.join(",")), ("runId", "run-1-1,run-2-2".to_owned()));
    let error = RecordingEnvelope::seal(two.clone(), &stated().run_id("run-1-1")).unwrap_err();
    assert!(matches!(error, RecordingError::IndeterminateRunFact { field: "sessionId", .. }));
    let sealed = RecordingEnvelope::seal(two, &stated().run_id("run-1-1").session_id("s-1")).unwrap();
    assert_eq!(&*sealed.header.run().unwrap().session_id.unwrap(), "s-1");

    // The engine's run id is never taken for the event run id; a consumer's events name no run.
    let mut none = recording();
    none.events = Some(Vec::new());
    let error = RecordingEnvelope::seal(none.clone(), &stated()).unwrap_err();
    assert!(matches!(error, RecordingError::MissingRunFact { field: "runId", .. }));
    let consumer = text().replace("run-1-1", "consumer-scope");
    let consumer = Recording::open(consumer.as_bytes()).unwrap().into_recording();
    assert!(RecordingEnvelope::seal(consumer, &stated()).is_err());
    let error = RecordingEnvelope::seal(none, &stated().run_id("run-1-1")).unwrap_err();
    assert!(matches!(error, RecordingError::MissingRunFact { field: "startedAt", .. }));
}

/// Proves REC-26: every boundary of the safe id.
#[test]
fn recording_ids_are_safe_or_refused() {
    for id in [
        "run-1796042715715-1",
        "0",
        "a",
        &"a".repeat(200),
        "a.b_c-d",
        "console",
        "com0",
        "lpt",
        "com10",
        "a..b",
    ] {
        assert!(check_recording_id(id).is_ok(), "{id}");
    }
    for id in [
        "",
        ".",
        "..",
        "...",
        "-a",
        "_a",
        ".a",
        "A",
        "aB",
        "a b",
        "a/b",
        "a\\b",
        "é",
        "a\n",
        &"a".repeat(201),
        "con",
        "con.txt",
        "nul",
        "aux",
        "prn",
        "com1",
        "lpt9.x",
        "\u{212a}",
    ] {
        let error = check_recording_id(id).unwrap_err();
        assert_eq!(error.code(), "ERR_UNSAFE_RECORDING_ID", "{id}");
    }
}

/// Proves REC-25: pretty JSON, one whole file per run, replaced by writing again; blank directories refused.
#[test]
fn envelopes_are_filed() {
    let directory = scratch("filed");
    let sink = FileRecordingSink::new(&directory).unwrap();
    let envelope = RecordingEnvelope::seal(recording(), &stated()).unwrap();
    let filed = sink.file(&envelope).unwrap();
    assert_eq!(filed.id, "run-1-1");
    let path = directory.canonicalize().unwrap().join("run-1-1.json");
    assert_eq!(filed.uri, Some(format!("file://{}", path.display())));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\n  \"format\": \"agentfootprint.recording.v1\",\n  \"producer\": {\n    \""));
    assert!(text.ends_with("}\n"));
    assert_eq!(text.parse::<Value>().unwrap(), envelope.to_json().parse::<Value>().unwrap());
    sink.file(&envelope).unwrap();
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "no temporary file is left");

    let mut unsafe_id = envelope.clone();
    unsafe_id.header = RecordingEnvelope::seal(recording(), &stated().run_id("../up")).unwrap().header;
    assert_eq!(sink.file(&unsafe_id).unwrap_err().code(), "ERR_UNSAFE_RECORDING_ID");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    assert!(FileRecordingSink::new("  ").is_err());
    fs::remove_dir_all(directory).unwrap();
}

/// Proves REC-25: a failed write leaves the old file, concurrent writers leave one whole file.
#[test]
fn saving_is_atomic() {
    let directory = scratch("atomic");
    let path = directory.join("x.json");
    save_atomically(&path, |file| file.write_all(b"old")).unwrap();
    let failed = save_atomically(&path, |file| {
        file.write_all(b"half")?;
        Err(std::io::Error::other("disk full"))
    });
    assert!(failed.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"old");

    std::thread::scope(|scope| {
        for writer in 0..8_u8 {
            let path = &path;
            scope.spawn(move || save_atomically(path, |file| file.write_all(&[writer; 100_000])).unwrap());
        }
    });
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 100_000);
    assert!(bytes.iter().all(|byte| *byte == bytes[0]));
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    fs::remove_dir_all(directory).unwrap();
}

fn scratch(name: &str) -> std::path::PathBuf {
    let directory = std::env::temp_dir().join(format!("agentfootprint-record-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}
