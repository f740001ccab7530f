//! Checks of the envelope's facts, and notes about what this version does not know.

use agentfootprint_record::recording::{Limit, OpenRecording};
use footprint::value::Value;

use super::{Findings, Severity};
use crate::calls::{is, text};

/// Members of an envelope that this version knows.
const ENVELOPE_KEYS: [&str; 5] = ["format", "producer", "run", "configuration", "privacy"];

pub(super) fn check(opened: &OpenRecording, found: &mut Findings) {
    unknown_keys(opened, found);
    let Some(header) = opened.header() else { return };
    let mode = header.as_object().walk(&["privacy", "mode"]).and_then(Value::as_str).unwrap_or_default();
    if mode != "full" {
        let message = format!("the envelope's privacy mode is `{mode}`; only `full` can be relied on");
        found.add("privacy", Severity::Error, "privacy.mode", message);
    }
    let Ok(run) = header.run() else {
        found.add(
            "run-facts",
            Severity::Error,
            "run",
            "the envelope's `run` facts are missing or of another shape",
        );
        return;
    };
    if run.complete && !ended(opened) {
        found.add(
            "complete-mismatch",
            Severity::Error,
            "run.complete",
            "the envelope says the run is complete, but nothing in the recording ends it",
        );
    }
    let kept = opened.recording().events().len();
    if let Some(first) = run.first_retained_event_index.filter(|first| *first != run.dropped_events) {
        let message =
            format!("the first kept event is number {first}, but {} were dropped", run.dropped_events);
        found.add("dropped-mismatch", Severity::Error, "run.firstRetainedEventIndex", message);
    } else if run.dropped_events > 0 && kept == 0 {
        let message =
            format!("{} events were dropped and none was kept: a ring keeps the newest", run.dropped_events);
        found.add("dropped-mismatch", Severity::Error, "run.droppedEvents", message);
    }
    if run.dropped_events == 0
        && kept > 0
        && opened.recording().events().iter().any(|event| is(event, "agent.turn_end"))
    {
        let started = opened
            .recording()
            .events()
            .iter()
            .any(|event| is(event, "agent.turn_start") || is(event, "pause.resume"));
        if !started {
            found.add(
                "dropped-mismatch",
                Severity::Error,
                "events",
                "nothing was dropped, but the turn that ended never started",
            );
        }
    }
}

/// Whether anything in the recording says that the run ended.
fn ended(opened: &OpenRecording) -> bool {
    let recording = opened.recording();
    let event =
        recording.events().iter().any(|event| is(event, "agent.turn_end") || is(event, "error.fatal"));
    let row = recording.snapshot.recorders.iter().find(|row| &*row.name == "BoundaryEvents");
    let rows = row.and_then(|row| row.data.as_array());
    event || rows.is_some_and(|rows| rows.iter().any(|row| text(row, "type") == "run.exit"))
}

fn unknown_keys(opened: &OpenRecording, found: &mut Findings) {
    let recording = opened.recording();
    // A structure that cannot be read is kept among the unknown members; it has a limit of its own.
    let structure = opened.limits().iter().any(|limit| matches!(limit, Limit::StructureUnreadable { .. }));
    let top = recording.extra.iter().map(|(key, _)| key).filter(|key| !(structure && &***key == "structure"));
    let mut unknown: Vec<String> = top.map(ToString::to_string).collect();
    unknown.extend(recording.snapshot.extra.keys().map(|key| format!("snapshot.{key}")));
    if let Some(header) = opened.header() {
        let keys = header.as_object().keys().filter(|key| !ENVELOPE_KEYS.contains(&&***key));
        unknown.extend(keys.map(|key| format!("envelope.{key}")));
    }
    for key in unknown {
        found.add("unknown-key", Severity::Info, key, "a member this version does not know; it is kept");
    }
}
