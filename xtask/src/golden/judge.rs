//! Compares one run of ours with what a scenario expects, by the rules of the scenario format.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::matcher::{Bindings, Difference, compare, difference, is_newer};
use super::normalise::{self, Side, address, address_of_commit, by_branch, name};
use super::topology::Topology;

/// What our implementation recorded in one run, in the form of `expect.json`.
#[derive(Default)]
pub(crate) struct Observed {
    /// `outcome extra events commits subflowCommits sharedState requests narrative tokens meta …`
    pub run: Value,
    /// The snapshot, for the shape of the walk; null when the run never started.
    pub snapshot: Value,
}

/// How a scenario wants to be compared.
pub(super) struct Manner<'a> {
    pub chart: bool,
    pub interleaved: bool,
    pub differs: &'a [String],
}

impl Manner<'_> {
    /// Whether the scenario says that our specification decides otherwise under this rule.
    pub(super) fn differs(&self, rule: &str) -> bool {
        self.differs.iter().any(|entry| entry.starts_with(rule))
    }
}

/// A denied message is on no channel of ours: wherever the reference keeps it, a text of the library is expected.
fn withheld(expected: &Value, ours: &Value, out: &mut Vec<Difference>) -> Value {
    fn replaced(value: &Value, denied: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| replaced(item, denied)).collect(),
            Value::Object(map) => {
                Value::Object(map.iter().map(|(key, item)| (key.clone(), replaced(item, denied))).collect())
            }
            other if other == denied => json!("<text>"),
            other => other.clone(),
        }
    }
    let Some(denied) = expected.pointer("/sharedState/userMessage") else { return expected.clone() };
    if let Some(text) = denied.as_str()
        && ours.to_string().contains(text)
    {
        out.push(difference("the denied message", &json!("(on no channel)"), denied));
    }
    replaced(expected, denied)
}

/// All differences of one run.
pub(super) fn judge(
    expected: &Value,
    observed: &Observed,
    manner: &Manner<'_>,
    bindings: &mut Bindings,
) -> Vec<Difference> {
    let mut out = Vec::new();
    let (expected, ours, snapshot) = if manner.interleaved {
        (
            normalise::rename_visits(expected),
            normalise::rename_visits(&observed.run),
            normalise::rename_visits(&observed.snapshot),
        )
    } else {
        (expected.clone(), observed.run.clone(), observed.snapshot.clone())
    };
    let expected = if manner.differs("ENG-102") { with_our_default(&expected, &ours) } else { expected };
    let expected = if manner.differs("AGT-58") { withheld(&expected, &ours, &mut out) } else { expected };
    let expected = without_pieces_that_stay(&expected, &ours);
    let topology = Topology::of(&snapshot);
    events(&expected, &ours, manner, &topology, bindings, &mut out);
    let ours = if manner.differs("AGT-16") { without_row(ours, "runIdentitySource") } else { ours };
    commits(&expected, &ours, &topology, bindings, &mut out);
    for part in ["outcome", "extra", "sharedState", "requests", "tokens", "meta", "redactionReport"] {
        if let Some(wanted) = expected.get(part) {
            compare(part, wanted, ours.get(part), bindings, &mut out);
        }
    }
    if let Some(wanted) = expected.get("narrative").and_then(Value::as_array) {
        narrative(wanted, list(&ours, "narrative"), &topology, &mut out);
    }
    out
}

fn events(
    expected: &Value,
    ours: &Value,
    manner: &Manner<'_>,
    topology: &Topology,
    bindings: &mut Bindings,
    out: &mut Vec<Difference>,
) {
    let (mut wanted, mut found) = (list(expected, "events").to_vec(), list(ours, "events").to_vec());
    if manner.chart {
        if normalise::resumes(&wanted) != normalise::resumes(&found) {
            out.push(difference(
                "events.onResume",
                &json!(normalise::resumes(&wanted)),
                &json!(normalise::resumes(&found)),
            ));
        }
        wanted = normalise::chart_events(&wanted, Side::Reference, topology);
        found = normalise::chart_events(&found, Side::Ours, topology);
    }
    found.retain(|event| !is_addition(event, &wanted, manner));
    let groups = |events: &[Value]| {
        if manner.chart || manner.interleaved {
            by_branch(events, |event| address(event).to_owned(), topology)
        } else {
            vec![(String::from("in order"), events.to_vec())]
        }
    };
    for (title, wanted, found) in pair(groups(&wanted), groups(&found)) {
        sequence(&format!("events {title}"), &wanted, &found, out, |at, wanted, found, out| {
            if name(wanted) == "agentfootprint.integrity.disposition" {
                disposition(at, wanted, found, bindings, out);
            } else {
                compare(&format!("{at}.payload"), payload(wanted), Some(payload(found)), bindings, out);
            }
        });
    }
}

/// The run without the commit rows of a key.
fn without_row(mut run: Value, key: &str) -> Value {
    let strip = |log: &mut Value| {
        for entry in log.as_array_mut().into_iter().flatten() {
            if let Some(rows) = entry.get_mut(1).and_then(Value::as_array_mut) {
                rows.retain(|row| row.get(0).and_then(Value::as_str) != Some(key));
            }
        }
    };
    if let Some(log) = run.get_mut("commits") {
        strip(log);
    }
    run.get_mut("subflowCommits")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
        .for_each(|(_, log)| strip(log));
    run
}

/// The reference reports every piece at every visit of its slot; by our AGT-68 it is reported when it enters. Takes out what
/// stayed, and the facts about those events that stand beside them.
fn without_pieces_that_stay(expected: &Value, ours: &Value) -> Value {
    let events = list(expected, "events");
    let text = |event: &Value, key: &str| {
        payload(event).get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut before: HashMap<(String, String), HashSet<String>> = HashMap::new();
    let mut now: HashMap<(String, String), HashSet<String>> = HashMap::new();
    let mut stays = vec![false; events.len()];
    for (event, stays) in events.iter().zip(&mut stays) {
        let slot = || {
            let place = address(event).rsplit_once(['#', '@']).map_or("", |(place, _)| place);
            (place.to_owned(), text(event, "slot"))
        };
        match name(event) {
            "agentfootprint.context.injected" => {
                let hash = text(event, "contentHash");
                let same = |ours: &Value| {
                    name(ours) == name(event)
                        && address(ours) == address(event)
                        && text(ours, "sourceId") == text(event, "sourceId")
                };
                // Of a text of the library the data do not say whether it is another one than before.
                let unknown = hash == "<hash>";
                let piece = if unknown { text(event, "sourceId") } else { hash };
                *stays = before.get(&slot()).is_some_and(|known| known.contains(&piece))
                    && !(unknown && list(ours, "events").iter().any(same));
                now.entry(slot()).or_default().insert(piece);
            }
            "agentfootprint.context.slot_composed" => {
                before.insert(slot(), now.remove(&slot()).unwrap_or_default());
            }
            // A body that runs again is a new turn.
            "agentfootprint.composition.iteration_start" => before.clear(),
            _ => {}
        }
    }
    let mut expected = expected.clone();
    for part in ["events", "meta"] {
        if let Some(rows) = expected.get_mut(part).and_then(Value::as_array_mut)
            && rows.len() == stays.len()
        {
            let mut stays = stays.iter();
            rows.retain(|_| stays.next() != Some(&true));
        }
    }
    expected
}

/// Events the reference does not emit where a rule of ours says that they are emitted.
fn is_addition(event: &Value, wanted: &[Value], manner: &Manner<'_>) -> bool {
    let here = name(event);
    if wanted.iter().any(|known| name(known) == here) {
        return false;
    }
    let fatal = here == "agentfootprint.error.fatal" && manner.differs("AGT-28");
    // Domains that do not reach the outer runner of nested agents there.
    let lost =
        ["agentfootprint.context.evaluated", "agentfootprint.integrity.", "agentfootprint.tools.session"];
    fatal || (manner.differs("AGT-115") && lost.iter().any(|prefix| here.starts_with(prefix)))
}

/// Rows are matched by check and seam; ours may have more.
fn disposition(at: &str, wanted: &Value, found: &Value, bindings: &mut Bindings, out: &mut Vec<Difference>) {
    let (mut wanted, mut found) = (payload(wanted).clone(), payload(found).clone());
    let ours = found.as_object_mut().and_then(|map| map.remove("rows")).unwrap_or_default();
    let theirs = wanted.as_object_mut().and_then(|map| map.remove("rows")).unwrap_or_default();
    compare(at, &wanted, Some(&found), bindings, out);
    for row in theirs.as_array().into_iter().flatten() {
        let key = |row: &Value| (row.get("check").cloned(), row.get("seam").cloned());
        let ours = ours.as_array().into_iter().flatten().find(|each| key(each) == key(row));
        compare(&format!("{at}.rows"), row, ours, bindings, out);
    }
}

fn commits(
    expected: &Value,
    ours: &Value,
    topology: &Topology,
    bindings: &mut Bindings,
    out: &mut Vec<Difference>,
) {
    let wanted = normalise::commits(list(expected, "commits"), Side::Reference, topology);
    let found = normalise::commits(list(ours, "commits"), Side::Ours, topology);
    log("commits", &wanted, &found, topology, bindings, out);
    let none = json!({});
    let (theirs, mine) =
        (expected.get("subflowCommits").unwrap_or(&none), ours.get("subflowCommits").unwrap_or(&none));
    let keys = |value: &Value| {
        value.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect::<Vec<_>>()
    };
    for mount in keys(mine).iter().filter(|mount| theirs.get(mount.as_str()).is_none()) {
        out.push(difference(&format!("subflowCommits.{mount}"), &json!("(absent)"), &json!("a log")));
    }
    for mount in keys(theirs) {
        let Some(found) = mine.get(&mount).and_then(Value::as_array) else {
            out.push(difference(&format!("subflowCommits.{mount}"), &json!("a log"), &json!("(absent)")));
            continue;
        };
        let wanted = normalise::inner_commits(list(theirs, &mount), &mount, Side::Reference, topology);
        let found = normalise::inner_commits(found, &mount, Side::Ours, topology);
        log(&format!("subflowCommits.{mount}"), &wanted, &found, topology, bindings, out);
    }
}

fn log(
    at: &str,
    wanted: &[Value],
    found: &[Value],
    topology: &Topology,
    bindings: &mut Bindings,
    out: &mut Vec<Difference>,
) {
    let here = |entry: &Value| address_of_commit(entry).to_owned();
    for (title, wanted, found) in pair(by_branch(wanted, here, topology), by_branch(found, here, topology)) {
        let place = format!("{at} {title}");
        sequence_by(&place, &wanted, &found, address_of_commit, out, |at, wanted, found, out| {
            let (rows, mut ours) =
                (wanted.get(1).cloned().unwrap_or_default(), found.get(1).cloned().unwrap_or_default());
            if let Some(ours) = ours.as_array_mut() {
                let wants =
                    |path: &Value| rows.as_array().into_iter().flatten().any(|row| row.get(0) == Some(path));
                ours.retain(|row| {
                    row.get(0).is_none_or(|path| {
                        wants(path)
                            || !is_newer(
                                path.as_str().and_then(|path| path.split('.').next()).unwrap_or_default(),
                            )
                    })
                });
            }
            compare(at, &rows, Some(&with_reference_verbs(&rows, ours)), bindings, out);
        });
    }
}

/// The reference runs a copy of the default branch as `default#n`; ours runs the branch itself, at the same index.
fn with_our_default(expected: &Value, ours: &Value) -> Value {
    let addresses: Vec<&str> = list(ours, "events").iter().map(address).collect();
    let mut text = expected.to_string();
    for address in addresses {
        if let Some((id, index)) = address.rsplit_once('#').filter(|(id, _)| *id != "__root__") {
            text = text.replace(&format!("\"default#{index}\""), &format!("\"{id}#{index}\""));
        }
    }
    serde_json::from_str(&text).unwrap_or_else(|_| expected.clone())
}

fn with_reference_verbs(wanted: &Value, mut ours: Value) -> Value {
    for (index, row) in ours.as_array_mut().into_iter().flatten().enumerate() {
        let expected = wanted
            .get(index)
            .and_then(|row| row.get(1))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if let Some(verb) = row.get_mut(1)
            && normalise::same_verb(&expected, verb.as_str().unwrap_or_default())
        {
            *verb = json!(expected);
        }
    }
    ours
}

/// Types, addresses, number and order; texts are free. Steps the reference lost are additions (OBS-79).
fn narrative(wanted: &[Value], found: &[Value], topology: &Topology, out: &mut Vec<Difference>) {
    let has = |entries: &[Value], kind: &str, here: &str| {
        entries.iter().any(|entry| name(entry) == kind && address(entry) == here)
    };
    let kept: Vec<Value> = found
        .iter()
        .filter(|entry| {
            let addition = ["step", "emit", "stage", "retry"].contains(&name(entry))
                && !has(wanted, name(entry), address(entry))
                && !topology.mounts.contains(address(entry));
            !addition
        })
        .cloned()
        .collect();
    let groups = |entries: &[Value]| by_branch(entries, |entry| address(entry).to_owned(), topology);
    for (title, wanted, found) in pair(groups(wanted), groups(&kept)) {
        sequence(&format!("narrative {title}"), &wanted, &found, out, |_, _, _, _| {});
    }
}

/// Ids, names, types, branch order and loop targets of two structures.
pub(super) fn structure(at: &str, expected: &Value, ours: Option<&Value>, out: &mut Vec<Difference>) {
    let Some(ours) = ours else {
        out.push(difference(at, &json!(expected.get("id")), &json!("(absent)")));
        return;
    };
    let at = format!("{at}/{}", expected.get("id").and_then(Value::as_str).unwrap_or_default());
    for field in
        ["id", "name", "type", "branchIds", "loopTarget", "subflowId", "isPausable", "isStreaming", "tags"]
    {
        if expected.get(field) != ours.get(field) {
            out.push(difference(
                &format!("{at}.{field}"),
                &json!(expected.get(field)),
                &json!(ours.get(field)),
            ));
        }
    }
    for link in ["next", "subflowStructure"] {
        match (expected.get(link), ours.get(link)) {
            (Some(wanted), found) => structure(&format!("{at}.{link}"), wanted, found, out),
            (None, Some(found)) => {
                out.push(difference(&format!("{at}.{link}"), &json!("(absent)"), &json!(found.get("id"))));
            }
            (None, None) => {}
        }
    }
    let (wanted, found) = (list(expected, "children"), list(ours, "children"));
    if wanted.len() != found.len() {
        out.push(difference(&format!("{at}.children"), &json!(wanted.len()), &json!(found.len())));
    }
    for (wanted, found) in wanted.iter().zip(found) {
        structure(&at, wanted, Some(found), out);
    }
}

fn sequence(
    at: &str,
    wanted: &[Value],
    found: &[Value],
    out: &mut Vec<Difference>,
    each: impl FnMut(&str, &Value, &Value, &mut Vec<Difference>),
) {
    sequence_by(at, wanted, found, |_| "", out, each);
}

/// Compares entry by entry; stops at the first entry of another kind or address, where alignment is lost.
fn sequence_by(
    at: &str,
    wanted: &[Value],
    found: &[Value],
    only: fn(&Value) -> &str,
    out: &mut Vec<Difference>,
    mut each: impl FnMut(&str, &Value, &Value, &mut Vec<Difference>),
) {
    let heading = |entry: Option<&Value>| match entry {
        None => json!("(end)"),
        Some(entry) if only(entry).is_empty() => json!([name(entry), address(entry)]),
        Some(entry) => json!([only(entry), entry.get(1)]),
    };
    let same = |wanted: &Value, found: &Value| {
        name(wanted) == name(found)
            && (!only(wanted).is_empty() || address(wanted) == address(found) || !only(wanted).is_empty())
    };
    for index in 0..wanted.len().max(found.len()) {
        let place = format!("{at}[{index}]");
        match (wanted.get(index), found.get(index)) {
            (Some(wanted), Some(found)) if same(wanted, found) => {
                let heading = format!("{place} {} {}", name(wanted), address(wanted));
                each(heading.trim_end(), wanted, found, out);
            }
            (wanted, found) => {
                out.push(difference(&place, &heading(wanted), &heading(found)));
                return;
            }
        }
    }
}

type Groups = Vec<(String, Vec<Value>)>;

/// Joins two lists of groups by title.
fn pair(wanted: Groups, found: Groups) -> Vec<(String, Vec<Value>, Vec<Value>)> {
    let mut joined: Vec<(String, Vec<Value>, Vec<Value>)> =
        wanted.into_iter().map(|(title, entries)| (title, entries, Vec::new())).collect();
    for (title, entries) in found {
        match joined.iter_mut().find(|(existing, _, _)| *existing == title) {
            Some((_, _, ours)) => *ours = entries,
            None => joined.push((title, Vec::new(), entries)),
        }
    }
    joined
}

fn payload(event: &Value) -> &Value {
    event.get(2).unwrap_or(&Value::Null)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
