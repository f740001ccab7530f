//! A developer's check: every event the reference implementation recorded parses into its typed variant and is
//! written back equal, and the hash formulas agree. It runs when the golden folder is beside the workspace and
//! says so when it is not.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test, helpers included; it says what it checked"
)]

use std::fs;
use std::path::{Path, PathBuf};

use agentfootprint_record::events::{AgentEvent, EventName, Payload as _, payload};
use agentfootprint_record::message::Messages;
use agentfootprint_record::recording::{Recording, pack, unpack};
use agentfootprint_record::text::content_hash;
use footprint::value::{Array, Object, Value};

fn golden() -> Option<PathBuf> {
    let root = std::env::var_os("AGENTFOOTPRINT_GOLDEN")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden"), PathBuf::from);
    if root.is_dir() {
        return Some(root);
    }
    println!("skipped: no golden data at {}", root.display());
    None
}

/// Every recording of an agent or composition below the folder; charts record other events.
fn recordings(root: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "engine" {
                    folders.push(path);
                }
            } else if name.starts_with("recording") && name.ends_with(".json") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

/// Times and sizes were taken out of the golden data; a number stands for them here.
fn with_numbers(value: &Value) -> Value {
    match value {
        Value::String(text) if matches!(&**text, "<ms>" | "<bytes>") => Value::from(7),
        Value::Array(items) => Value::Array(items.iter().map(with_numbers).collect::<Array>()),
        Value::Object(object) => Value::Object(
            object.iter().map(|(key, value)| (key.clone(), with_numbers(value))).collect::<Object>(),
        ),
        other => other.clone(),
    }
}

/// Proves EVT-20, EVT-21: the golden events are typed without loss.
#[test]
fn golden_events_are_typed() {
    let Some(root) = golden() else { return };
    let (mut files, mut events, mut timeless) = (0, 0, 0);
    let mut seen = std::collections::BTreeSet::new();
    for (path, text) in recordings(&root) {
        let file: Value = text.parse().unwrap_or_else(|_| large(&text));
        files += 1;
        for event in file["events"].as_array().unwrap() {
            let event = with_numbers(event);
            let typed = agentfootprint_record::recording::RecordedEvent::from(event.clone());
            let kind = typed.kind().unwrap();
            assert!(
                !matches!(kind, AgentEvent::Unknown(_)),
                "{}: {} is unknown: {kind:?}",
                path.display(),
                typed.name_str()
            );
            assert_eq!(kind.payload(), event["payload"], "{}: {}", path.display(), typed.name_str());
            match typed.meta() {
                Ok(meta) => {
                    let written =
                        agentfootprint_record::events::Event { kind: kind.clone(), meta: meta.clone() };
                    assert_eq!(written.to_value(), event, "{}", path.display());
                }
                // Said outside a run, by a version that wrote a bare timestamp.
                Err(_) => {
                    assert!(typed.name_str().starts_with("agentfootprint.resilience."));
                    timeless += 1;
                }
            }
            seen.insert(typed.name().unwrap());
            events += 1;
        }
    }
    println!("{files} recordings, {events} events of {} kinds, {timeless} without meta", seen.len());
    assert!(files > 0 && events > 0);
    assert!(seen.contains(&EventName::AgentTurnEnd));
}

/// The events alone, when the tree nests deeper than a value may.
fn large(text: &str) -> Value {
    let mut reader = footprint::json::JsonReader::new(text.as_bytes());
    let mut file = Object::new();
    reader.begin_object().unwrap();
    while let Some(key) = reader.next_key().unwrap() {
        if &*key == "events" {
            file.insert("events", reader.read_value().unwrap());
        } else {
            reader.skip_value().unwrap();
        }
    }
    Value::Object(file)
}

/// Proves CTX-39, LLM-3: the content hashes of messages are the reference's, non-ASCII text included.
#[test]
fn golden_content_hashes_agree() {
    let Some(root) = golden() else { return };
    let (mut checked, mut beyond_ascii) = (0, 0);
    for (path, text) in recordings(&root) {
        let file: Value = text.parse().unwrap_or_else(|_| large(&text));
        for event in file["events"].as_array().unwrap() {
            let event = agentfootprint_record::recording::RecordedEvent::from(event.clone());
            let Ok(kind) = event.kind() else { continue };
            let Some(injected) = payload::ContextInjected::of(kind) else { continue };
            let (Some(role), Some(at), Some(raw)) =
                (&injected.as_role, injected.position, &injected.raw_content)
            else {
                continue;
            };
            if raw.contains("<ref") || raw.contains("<runId") || raw.contains("<iso>") || raw.contains("<ms>")
            {
                continue; // a placeholder stands where the hashed text stood
            }
            assert_eq!(
                content_hash(&format!("{role}:{at}:{raw}")),
                &*injected.content_hash,
                "{}",
                path.display()
            );
            checked += 1;
            beyond_ascii += usize::from(!raw.is_ascii());
        }
    }
    println!("{checked} hashes, {beyond_ascii} of texts beyond ASCII");
    assert!(checked > 0 && beyond_ascii > 0);
}

/// Proves REC §1.2, REC-17, AGT-55: golden recordings open, are written back equal as JSON, pack and unpack,
/// and their histories are valid messages.
#[test]
fn golden_recordings_open() {
    let Some(root) = golden() else { return };
    let (mut opened, mut refused, mut repacked) = (0, 0, 0);
    for (path, text) in recordings(&root) {
        if text.contains("\"snapshot\":null") || text.contains("\"snapshot\": null") {
            assert!(Recording::open(text.as_bytes()).is_err());
            refused += 1;
            continue;
        }
        let recording = Recording::open(text.as_bytes())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            .into_recording();
        let json = recording.to_json();
        // Unoptimised packing of all of them would take a minute.
        if json.len() < 60_000 {
            let packed = pack(json.as_bytes()).unwrap();
            assert_eq!(unpack(packed.as_bytes()).unwrap(), json);
            assert_eq!(Recording::open(packed.as_bytes()).unwrap().recording().to_json(), json);
            repacked += 1;
        }
        // Key order apart, nothing is lost: compare without the tree, which nests too deep for a value.
        let (before, after) = (without_tree(&text), without_tree(&json));
        for key in ["sharedState", "recorders", "runId"] {
            assert!(before.get(key) == after.get(key), "{}: {key}", path.display());
        }
        let commits = |snapshot: &Object| snapshot.get("commitLog").unwrap().as_array().unwrap().len();
        assert_eq!(commits(&before), commits(&after));
        if let Some(Value::Array(history)) = recording.snapshot.shared_state.get("history") {
            Messages::from(history.clone()).validate().unwrap();
        }
        opened += 1;
    }
    println!("{opened} opened, {refused} without a snapshot refused, {repacked} packed");
    assert!(opened > 0 && repacked > 0);
}

fn without_tree(text: &str) -> Object {
    let mut reader = footprint::json::JsonReader::new(text.as_bytes());
    let mut snapshot = Object::new();
    reader.begin_object().unwrap();
    while let Some(key) = reader.next_key().unwrap() {
        if &*key != "snapshot" {
            reader.skip_value().unwrap();
            continue;
        }
        reader.begin_object().unwrap();
        while let Some(key) = reader.next_key().unwrap() {
            if matches!(&*key, "executionTree" | "subflowResults") {
                reader.skip_value().unwrap();
            } else {
                snapshot.insert(key.to_string(), reader.read_value().unwrap());
            }
        }
    }
    snapshot
}
