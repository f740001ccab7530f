//! Brings both sides of a golden run into one form: the standing differences of the reference's version, and what the
//! scenario format declares free (interleaving of parallel branches).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::topology::Topology;

/// Which record a list comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Reference,
    Ours,
}

/// `[name, address, payload]` of an event, `[address, rows]` of a commit, `[type, address, text]` of a narrative entry.
type Entry = Value;

/// Observer calls of a chart run, without what the two versions fire differently (ENG-70, ENG-99, ENG-133).
pub(super) fn chart_events(events: &[Entry], side: Side, topology: &Topology) -> Vec<Entry> {
    let selectors: BTreeSet<&str> =
        events.iter().filter(|event| name(event) == "onSelected").map(address).collect();
    let mut committed = BTreeSet::new();
    let ended: BTreeSet<&str> =
        events.iter().filter(|event| name(event) == "onStageEnd").map(address).collect();
    events
        .iter()
        .filter(|event| match name(event) {
            // An interrupt has no scope pause of its own (ENG-99).
            "onPause" if side == Side::Reference => {
                event.pointer("/2/subflowPath").is_some() || ended.contains(address(event))
            }
            "onCommit" => {
                !topology.mounts.contains(address(event)) && committed.insert(address(event).to_owned())
            }
            "onStageExecuted" if side == Side::Reference => {
                !(selectors.contains(address(event)) && event.pointer("/2/stageType") == Some(&json!("fork")))
            }
            "onResume" => false,
            _ => true,
        })
        .cloned()
        .collect()
}

/// The facts that must hold of the resume hooks, which stand elsewhere in the two versions.
pub(super) fn resumes(events: &[Entry]) -> Vec<Value> {
    events
        .iter()
        .filter(|event| name(event) == "onResume")
        .map(|event| event.pointer("/2/hasInput").cloned().unwrap_or(Value::Null))
        .collect()
}

/// Bundles of one log; ours are renamed to the form of the reference: merge-backs carry the dispatcher's address.
pub(super) fn commits(log: &[Entry], side: Side, topology: &Topology) -> Vec<Entry> {
    let mut seen = BTreeSet::new();
    log.iter()
        .map(|entry| {
            let here = address_of_commit(entry).to_owned();
            let first = seen.insert(here.clone());
            let rows = entry.get(1).cloned().unwrap_or_else(|| json!([]));
            match topology.dispatcher.get(&here) {
                Some(dispatcher)
                    if side == Side::Ours && first && merges_back(log, &here, dispatcher, topology) =>
                {
                    json!([dispatcher, rows])
                }
                _ => json!([here, rows]),
            }
        })
        .collect()
}

/// A mount with an output mapper leaves its merge-back, an `exit`, and in a fan-out a `repeat`; one without leaves one less.
fn merges_back(log: &[Entry], here: &str, dispatcher: &str, topology: &Topology) -> bool {
    let bundles = log.iter().filter(|entry| address_of_commit(entry) == here).count();
    let with_mapper = if topology.fan_outs.contains(dispatcher) { 3 } else { 2 };
    topology.mounts.contains(here) && bundles == with_mapper
}

/// The inner log of a mount: the seed has no address in the reference.
pub(super) fn inner_commits(log: &[Entry], mount: &str, side: Side, topology: &Topology) -> Vec<Entry> {
    let seeded = log
        .first()
        .is_some_and(|first| address_of_commit(first) == mount || address_of_commit(first).is_empty());
    let (seed, rest) = log.split_at(usize::from(seeded));
    let seed = seed.iter().map(|entry| json!(["", entry.get(1)]));
    seed.chain(commits(rest, side, topology)).collect()
}

/// A deletion is a `set` without value in the reference's full encoding (ENG-76).
pub(super) fn same_verb(expected: &str, ours: &str) -> bool {
    expected == ours || (expected == "set" && ours == "delete")
}

/// Splits a list into the order outside parallel branches and the order within each address.
pub(super) fn by_branch(
    list: &[Entry],
    address: impl Fn(&Entry) -> String,
    topology: &Topology,
) -> Vec<(String, Vec<Entry>)> {
    let mut outside = Vec::new();
    let mut inside: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in list {
        let here = address(entry);
        if topology.parallel.contains(&here) || topology.fan_outs.contains(&here) {
            inside.entry(here).or_default().push(entry.clone());
        } else {
            outside.push(entry.clone());
        }
    }
    let mut groups = vec![(String::from("in order"), outside)];
    groups.extend(inside.into_iter().map(|(address, entries)| (format!("at {address}"), entries)));
    groups
}

/// Renames every address `path#n` to `path@k`, k counting the visits of that path, in a whole run.
pub(super) fn rename_visits(run: &Value) -> Value {
    let mut indices: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    collect_addresses(run, &mut indices);
    rename(run, &indices)
}

fn collect_addresses(value: &Value, out: &mut BTreeMap<String, BTreeSet<u64>>) {
    match value {
        Value::String(text) => {
            if let Some((path, index)) = split(text) {
                out.entry(path.to_owned()).or_default().insert(index);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_addresses(item, out)),
        Value::Object(map) => {
            for (key, item) in map {
                collect_addresses(&Value::String(key.clone()), out);
                collect_addresses(item, out);
            }
        }
        _ => {}
    }
}

fn rename(value: &Value, indices: &BTreeMap<String, BTreeSet<u64>>) -> Value {
    let renamed = |text: &str| match split(text) {
        Some((path, index)) => {
            let visit = indices
                .get(path)
                .and_then(|all| all.iter().position(|each| *each == index))
                .unwrap_or_default();
            format!("{path}@{visit}")
        }
        None => text.to_owned(),
    };
    match value {
        Value::String(text) => Value::String(renamed(text)),
        Value::Array(items) => Value::Array(items.iter().map(|item| rename(item, indices)).collect()),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, item)| (renamed(key), rename(item, indices))).collect())
        }
        other => other.clone(),
    }
}

/// An address at the end of which stands `#<number>`, and nothing that could be prose.
fn split(text: &str) -> Option<(&str, u64)> {
    let (path, index) = text.rsplit_once('#')?;
    let plain = !path.is_empty() && !path.contains(char::is_whitespace) && path != "__root__";
    if plain { Some((path, index.parse().ok()?)) } else { None }
}

/// First element of an event or narrative entry.
pub(super) fn name(entry: &Entry) -> &str {
    entry.get(0).and_then(Value::as_str).unwrap_or_default()
}

/// Second element of an event or narrative entry.
pub(super) fn address(entry: &Entry) -> &str {
    entry.get(1).and_then(Value::as_str).unwrap_or_default()
}

/// First element of a commit.
pub(super) fn address_of_commit(entry: &Entry) -> &str {
    name(entry)
}
