//! Checks of the typed events and the boundary rows.

use std::collections::{BTreeMap, BTreeSet};

use agentfootprint_record::recording::{OpenRecording, Recording};
use footprint::value::Value;

use super::{Findings, Severity};
use crate::calls::{is, text};

pub(super) fn check(opened: &OpenRecording, found: &mut Findings) {
    let recording = opened.recording();
    pairs(recording, "llm-pair", "stream.llm_start", "stream.llm_end", |_, at| at.to_owned(), found);
    pairs(
        recording,
        "tool-pair",
        "stream.tool_start",
        "stream.tool_end",
        |payload, _| text(payload, "toolCallId"),
        found,
    );
    run_ids(opened, found);
    tokens(recording, found);
    steps(recording, found);
    boundaries(recording, found);
    let unreadable = recording.events().iter().filter(|event| event.kind().is_err()).count();
    if unreadable > 0 {
        found.add(
            "event-row",
            Severity::Warn,
            "events",
            format!("{unreadable} rows of the events are no typed events"),
        );
    }
    for event in recording.events().iter().filter(|event| event.kind().is_ok()) {
        if event.name().is_none() && event.name_str().starts_with("agentfootprint.") {
            found.add(
                "unknown-event",
                Severity::Info,
                event.name_str(),
                "an event this version does not know",
            );
        }
    }
}

fn finished(recording: &Recording) -> bool {
    recording.events().iter().any(|event| is(event, "agent.turn_end") || is(event, "error.fatal"))
}

/// Every start has its end, and every end its start.
fn pairs(
    recording: &Recording,
    code: &'static str,
    start: &str,
    end: &str,
    key: impl Fn(&Value, &str) -> String,
    found: &mut Findings,
) {
    let mut open: BTreeMap<String, i64> = BTreeMap::new();
    for event in recording.events() {
        let change = match () {
            () if is(event, start) => 1,
            () if is(event, end) => -1,
            () => continue,
        };
        let at = event.runtime_stage_id().unwrap_or_default();
        *open.entry(key(&event.payload(), &at)).or_default() += change;
    }
    for (key, balance) in open {
        if balance > 0 && finished(recording) {
            found.add(code, Severity::Warn, &key, format!("{start} without {end}"));
        } else if balance < 0 && !continues(recording) {
            found.add(code, Severity::Warn, &key, format!("{end} without {start}"));
        }
    }
}

/// A resumed leg ends calls that an earlier leg started.
fn continues(recording: &Recording) -> bool {
    recording.events().iter().any(|event| is(event, "pause.resume"))
}

fn run_ids(opened: &OpenRecording, found: &mut Findings) {
    let ids: BTreeSet<String> = opened
        .recording()
        .events()
        .iter()
        .filter_map(|event| event.meta().ok().map(|meta| meta.run_id.as_str().to_owned()))
        .filter(|id| id != "consumer-scope")
        .collect();
    if ids.len() > 1 && opened.header().is_none() {
        let list = ids.into_iter().collect::<Vec<_>>().join(", ");
        found.add(
            "run-facts",
            Severity::Error,
            "events",
            format!("events of several runs in one recording: {list}"),
        );
    }
}

/// The totals of a turn are the sums of its calls.
fn tokens(recording: &Recording, found: &mut Findings) {
    let ends: Vec<Value> = recording
        .events()
        .iter()
        .filter(|event| is(event, "agent.turn_end"))
        .map(|event| event.payload())
        .collect();
    let [turn] = ends.as_slice() else { return };
    if continues(recording) {
        return;
    }
    for (total, part) in [("totalInputTokens", "input"), ("totalOutputTokens", "output")] {
        let sum: u64 = recording
            .events()
            .iter()
            .filter(|event| is(event, "stream.llm_end"))
            .filter_map(|event| event.payload().walk(&["usage", part]).and_then(Value::as_u64))
            .sum();
        let said = turn.get(total).and_then(Value::as_u64).unwrap_or_default();
        if said != sum && !continued_turn(recording) {
            found.add(
                "tokens-sum",
                Severity::Warn,
                "agent.turn_end",
                format!("{total} is {said}, its calls sum to {sum}"),
            );
        }
    }
}

/// Several agents in one run count for themselves.
fn continued_turn(recording: &Recording) -> bool {
    recording.events().iter().filter(|event| is(event, "agent.turn_start")).count() > 1
}

/// Events stand at steps that ran.
fn steps(recording: &Recording, found: &mut Findings) {
    let snapshot = &recording.snapshot;
    let mut known: BTreeSet<String> =
        snapshot.execution_tree.iter().map(|(_, frame)| frame.runtime_stage_id.to_string()).collect();
    for (key, result) in &snapshot.subflow_results {
        known.insert(key.to_string());
        known.extend(
            result.tree_context.stage_contexts.iter().map(|(_, frame)| frame.runtime_stage_id.to_string()),
        );
    }
    for event in recording.events() {
        let Some(at) = event.runtime_stage_id() else { continue };
        let pseudo = at.ends_with("#0") || at.ends_with("#paused") || at.ends_with("#resumed");
        if !pseudo && !known.contains(at.as_ref()) {
            found.add(
                "event-step",
                Severity::Warn,
                &at,
                format!("{} names a step that is not in the recording", event.name_str()),
            );
        }
    }
}

/// The boundary rows lie on the commit axis.
fn boundaries(recording: &Recording, found: &mut Findings) {
    let row = recording.snapshot.recorders.iter().find(|row| &*row.name == "BoundaryEvents");
    let Some(rows) = row.and_then(|row| row.data.as_array()) else { return };
    let commit = |row: &Value| row.get("commitIdxBefore").and_then(Value::as_u64).unwrap_or_default();
    if recording.snapshot.commit_log.len() > 1 && rows.len() > 1 && rows.iter().all(|row| commit(row) == 0) {
        found.add(
            "commit-axis-flat",
            Severity::Warn,
            "BoundaryEvents",
            "every boundary claims to lie before the first commit",
        );
    }
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    let mut open: BTreeMap<String, i64> = BTreeMap::new();
    for row in rows.iter() {
        let path = row.get("subflowPath").map(ToString::to_string).unwrap_or_default();
        let at = text(row, "runtimeStageId");
        if last.insert(path, commit(row)).is_some_and(|before| before > commit(row)) {
            found.add(
                "commit-axis-back",
                Severity::Error,
                &at,
                "a boundary lies before an earlier one of the same path",
            );
        }
        match text(row, "type").as_str() {
            "subflow.entry" => *open.entry(at).or_default() += 1,
            "subflow.exit" => *open.entry(at).or_default() -= 1,
            _ => {}
        }
    }
    for (at, balance) in open {
        if balance < 0 {
            found.add("boundary-pair", Severity::Warn, &at, "an exit without an entry");
        } else if balance > 0 && finished(recording) {
            found.add(
                "boundary-pair",
                Severity::Warn,
                &at,
                "an entry that was never left in a run that ended",
            );
        }
    }
}
