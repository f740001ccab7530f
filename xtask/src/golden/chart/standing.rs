//! Where a rule of ours and the recorded data of a chart scenario disagree for good: what is taken out of the
//! comparison, and what is put into our form. Every entry is found by its shape, and names its rule.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::golden::judge::Observed;
use crate::golden::normalise::{address, name};
use crate::golden::text;

/// What is known of the scenario besides the run.
pub(crate) struct Case<'a> {
    pub scenario: &'a Value,
    /// The structure the reference recorded.
    pub structure: Option<&'a Value>,
    pub differs: &'a [String],
}

/// Both sides of one run, without the standing differences.
pub(crate) fn settle(
    case: &Case<'_>,
    run: usize,
    expected: &Value,
    observed: &Observed,
) -> (Value, Observed) {
    let mut theirs = expected.clone();
    let mut ours = Observed { run: observed.run.clone(), snapshot: observed.snapshot.clone() };
    absent_values(&mut theirs);
    if case.differs.iter().any(|entry| entry.starts_with("ENG-108")) {
        cancelled_siblings(&mut theirs, &mut ours.run);
    }
    untold_leg(case.scenario, run, &mut theirs);
    paused_mounts(&theirs, &mut ours.run);
    if let Some(mount) = case.structure.and_then(swallowing_mount) {
        until_mount(&mut theirs, &mut ours.run, &mount);
    }
    (theirs, ours)
}

/// ENG-76: the reference writes "no value" with a `set` that has none; our states cannot hold that, it is a `delete`.
fn absent_values(run: &mut Value) {
    let mut absent = BTreeSet::new();
    for event in list_mut(run, "events") {
        let at = address(event).to_owned();
        let hook = name(event).to_owned();
        let Some(payload) = event.get_mut(2).and_then(Value::as_object_mut) else { continue };
        if hook == "onWrite"
            && payload.get("operation") == Some(&json!("set"))
            && !payload.contains_key("value")
        {
            payload.insert("operation".to_owned(), json!("delete"));
            absent.insert((at.clone(), payload.get("key").cloned().unwrap_or_default().to_string()));
        }
        for pair in payload.get_mut("mutations").and_then(Value::as_array_mut).into_iter().flatten() {
            let key = pair.get(0).cloned().unwrap_or_default().to_string();
            if absent.contains(&(at.clone(), key))
                && let Some(operation) = pair.get_mut(1)
            {
                *operation = json!("delete");
            }
        }
    }
}

/// ENG-108: siblings of the child that failed go on in the reference; ours are cancelled, perhaps before they began.
fn cancelled_siblings(theirs: &mut Value, ours: &mut Value) {
    let events = list(theirs, "events");
    let parent_of = |event: &Value| event.pointer("/2/ctx/parentRuntimeStageId").cloned();
    let Some(failing) =
        events.iter().find(|event| name(event) == "onError" && event.pointer("/2/structuredError").is_some())
    else {
        return;
    };
    let (failed, parent) = (address(failing).to_owned(), parent_of(failing));
    if parent.is_none() {
        return;
    }
    let siblings: BTreeSet<String> = events
        .iter()
        .filter(|event| parent_of(event) == parent && address(event) != failed)
        .map(|event| address(event).to_owned())
        .collect();
    for side in [theirs, ours] {
        for (part, place) in [("events", 1), ("narrative", 1), ("commits", 0)] {
            retain(side, part, |entry| {
                entry.get(place).and_then(Value::as_str).is_none_or(|at| !siblings.contains(at))
            });
        }
        if let Some(branches) = side.pointer_mut("/sharedState/runs").and_then(Value::as_object_mut) {
            branches.retain(|id, _| !siblings.iter().any(|at| at.split('#').next() == Some(id)));
        }
    }
}

/// OBS-39: a leg resumed from stored JSON starts an empty narrative; the reference's fresh executor keeps none at all.
fn untold_leg(scenario: &Value, run: usize, theirs: &mut Value) {
    let from = scenario.pointer(&format!("/runs/{run}/resume/from")).and_then(Value::as_str);
    if from == Some("json") && list(theirs, "narrative").is_empty() {
        remove(theirs, "narrative");
    }
}

/// ENG-5: what ran inside a mount that a pause left stays in the record; the reference drops it with the mount.
fn paused_mounts(theirs: &Value, ours: &mut Value) {
    let at = |hook: &str| -> BTreeSet<String> {
        let events = list(theirs, "events").iter().filter(|event| name(event) == hook);
        events.map(|event| address(event).to_owned()).collect()
    };
    let left_open: BTreeSet<String> = &at("onSubflowEntry") - &at("onSubflowExit");
    let known: BTreeSet<String> = theirs
        .get("subflowCommits")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(k, _)| k.clone())
        .collect();
    if let Some(logs) = ours.get_mut("subflowCommits").and_then(Value::as_object_mut) {
        logs.retain(|mount, _| known.contains(mount) || !left_open.contains(mount));
    }
}

/// ENG-20: a fork after a mount hangs on a generated node. The reference gave the fork's children (and what follows
/// them) to the mount instead, where they ran in place of the mounted chart; its structure shows it: the id of a mount that has children.
fn swallowing_mount(node: &Value) -> Option<String> {
    let mut waiting = vec![node];
    while let Some(node) = waiting.pop() {
        if is_swallowing(node) {
            return Some(text(node, "id"));
        }
        waiting.extend(node.get("next"));
        waiting.extend(node.get("children").and_then(Value::as_array).into_iter().flatten());
    }
    None
}

fn is_swallowing(node: &Value) -> bool {
    node.get("isSubflowRoot") == Some(&json!(true)) && node.get("children").is_some()
}

/// Keeps what was recorded up to the start of the mount's inner walk, where the two walks part.
fn until_mount(theirs: &mut Value, ours: &mut Value, mount: &str) {
    let parts_at = |entry: &Value| {
        let at = address(entry);
        at.strip_prefix(mount).is_some_and(|rest| rest.starts_with(['#', '/']))
            && name(entry) != "onSubflowEntry"
    };
    for side in [&mut *theirs, &mut *ours] {
        for part in ["events", "narrative"] {
            let shared = list(side, part).iter().take_while(|entry| !parts_at(entry)).count();
            truncate(side, part, shared);
        }
        let outside = |entry: &Value| !name(entry).starts_with(&format!("{mount}#"));
        let shared = list(side, "commits").iter().take_while(|entry| outside(entry)).count();
        truncate(side, "commits", shared);
        remove(side, "subflowCommits");
    }
    // Our walk goes on where theirs went wrong, so our state has more.
    let known = theirs.get("sharedState").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(state) = ours.get_mut("sharedState").and_then(Value::as_object_mut) {
        state.retain(|key, _| known.contains_key(key));
    }
}

/// The recorded structure with every swallowed fork on the node ENG-20 generates for it.
pub(crate) fn structure(recorded: &Value) -> Value {
    let mut node = recorded.clone();
    if let Some(next) = node.get("next").map(structure) {
        put(&mut node, "next", next);
    }
    if !is_swallowing(&node) {
        return node;
    }
    let id = format!("{}-fork", text(&node, "id"));
    let mut fork = Map::new();
    fork.insert("id".to_owned(), json!(id));
    fork.insert("name".to_owned(), json!(id));
    fork.insert("type".to_owned(), json!("fork"));
    for field in ["children", "next"] {
        if let Some(moved) = node.as_object_mut().and_then(|node| node.remove(field)) {
            fork.insert(field.to_owned(), moved);
        }
    }
    put(&mut node, "type", json!("stage"));
    put(&mut node, "next", Value::Object(fork));
    node
}

fn put(node: &mut Value, key: &str, value: Value) {
    if let Some(node) = node.as_object_mut() {
        node.insert(key.to_owned(), value);
    }
}

fn remove(run: &mut Value, part: &str) {
    if let Some(run) = run.as_object_mut() {
        run.remove(part);
    }
}

fn list<'a>(run: &'a Value, part: &str) -> &'a [Value] {
    run.get(part).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn list_mut<'a>(run: &'a mut Value, part: &str) -> impl Iterator<Item = &'a mut Value> {
    run.get_mut(part).and_then(Value::as_array_mut).into_iter().flatten()
}

fn retain(run: &mut Value, part: &str, keep: impl Fn(&Value) -> bool) {
    if let Some(list) = run.get_mut(part).and_then(Value::as_array_mut) {
        list.retain(keep);
    }
}

fn truncate(run: &mut Value, part: &str, length: usize) {
    if let Some(list) = run.get_mut(part).and_then(Value::as_array_mut) {
        list.truncate(length);
    }
}
