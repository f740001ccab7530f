//! A path that some commit redacts must not carry its value anywhere else.

use agentfootprint_record::recording::Recording;
use footprint::snapshot::CommitLog;
use footprint::state::Path;
use footprint::value::{Object, Value};
use indexmap::IndexSet;

use super::{Findings, Severity};

/// Nodes of one value that are looked at.
const MOST_VISITS: usize = 100_000;

pub(super) fn check(recording: &Recording, found: &mut Findings) {
    let snapshot = &recording.snapshot;
    let mut paths: IndexSet<Path> = IndexSet::new();
    let logs = || {
        let inner = snapshot
            .subflow_results
            .iter()
            .map(|(key, result)| (format!("inner log {key}"), &result.tree_context.history));
        std::iter::once(("commit log".to_owned(), &snapshot.commit_log)).chain(inner)
    };
    for (_, log) in logs() {
        paths.extend(log.iter().flat_map(|bundle| bundle.redacted_paths.iter().cloned()));
    }
    if paths.is_empty() {
        return;
    }
    let leak = |found: &mut Findings, path: &Path, place: &str| {
        let message = format!("a policy redacts `{path}`, but its value stands in the {place}");
        found.add("redacted-leak", Severity::Error, path, message);
    };
    let states = snapshot
        .subflow_results
        .iter()
        .map(|(key, result)| (format!("state of {key}"), &result.tree_context.global_context));
    let states: Vec<(String, &Object)> = std::iter::once(("end state".to_owned(), &snapshot.shared_state))
        .chain(snapshot.initial_state.iter().map(|state| ("initial state".to_owned(), state)))
        .chain(states)
        .collect();
    for path in &paths {
        if let Some((place, _)) =
            states.iter().find(|(_, state)| state.walk(path.segments()).is_some_and(is_open))
        {
            leak(found, path, place);
        }
        for (name, log) in logs() {
            if in_log(log, path) {
                leak(found, path, &name);
            }
        }
        let Some(key) = path.last().filter(|key| key.parse::<usize>().is_err()) else { continue };
        if recording.events().iter().any(|event| holds(&event.payload(), key)) {
            leak(found, path, "event payloads");
        }
        let rows = snapshot.recorders.iter().filter(|row| &*row.name == "BoundaryEvents");
        if rows.filter_map(|row| row.data.as_array()).flat_map(|rows| rows.iter()).any(|row| holds(row, key))
        {
            leak(found, path, "boundary payloads");
        }
    }
}

/// A value that is there and is no placeholder.
fn is_open(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty() && !text.contains("REDACTED"),
        // A policy may keep the shape of a value and replace what is in it.
        Value::Array(_) | Value::Object(_) => {
            any(value, |_, leaf| matches!(leaf, Value::String(_) | Value::Number(_)) && is_open(leaf))
        }
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Whether a commit writes the path openly although it is redacted.
fn in_log(log: &CommitLog, path: &Path) -> bool {
    log.iter().flat_map(|bundle| bundle.rows.iter()).any(|row| row.path == *path && is_open(&row.value))
}

/// Whether some member of this name is open.
fn holds(value: &Value, key: &str) -> bool {
    any(value, |name, value| name == Some(key) && is_open(value))
}

/// Walks a value with an explicit stack.
fn any(value: &Value, wanted: impl Fn(Option<&str>, &Value) -> bool) -> bool {
    let mut pending: Vec<(Option<&str>, &Value)> = vec![(None, value)];
    let mut visits = 0;
    while let Some((name, value)) = pending.pop() {
        visits += 1;
        if visits > MOST_VISITS {
            return false;
        }
        if (name.is_some() || !value.is_container()) && wanted(name, value) {
            return true;
        }
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (None, item))),
            Value::Object(members) => {
                pending.extend(members.iter().map(|(key, value)| (Some(&**key), value)))
            }
            _ => {}
        }
    }
    false
}
