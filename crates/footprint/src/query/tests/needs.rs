//! What each question needs of a recording, and what it says when that is missing (OBS-142).

use crate::ids::CommitIdx;
use crate::query::*;
use crate::snapshot::Snapshot;
use crate::value;
use crate::value::Value;

/// The exact minimum of OBS-203 and nothing else: a decider `d#1` between `a#0` and `b#2`, and a subflow `s#3`.
fn minimum() -> Value {
    value!({
        "commitLog": [
            {"stage": "A", "stageId": "a", "runtimeStageId": "a#0", "trace": [{"path": "k", "verb": "set"}, {"path": "list", "verb": "set"}],
             "overwrite": {"k": 1, "list": [1]}},
            {"stage": "D", "stageId": "d", "runtimeStageId": "d#1", "trace": []},
            {"stage": "B", "stageId": "b", "runtimeStageId": "b#2", "trace": [{"path": "list", "verb": "append"}, {"path": "m", "verb": "merge"}],
             "overwrite": {"list": [2]}, "updates": {"m": {"x": 1}}},
        ],
        "executionTree": {"runtimeStageId": "a#0", "stageReads": {}, "next": {"runtimeStageId": "d#1", "stageReads": {"k": {}},
            "flowMessages": [{"type": "branch"}], "children": [{"runtimeStageId": "b#2", "stageReads": {"list": {}}}]}},
        "subflowResults": {"s#3": {"subflowId": "s", "treeContext": {"history": [
            {"stage": "I", "stageId": "s/i", "runtimeStageId": "s/i#4", "trace": [{"path": "in", "verb": "set"}], "overwrite": {"in": 1}}],
            "stageContexts": {"runtimeStageId": "s/i#4"}}}},
        "recorders": [
            {"data": [{"type": "step", "text": "read k", "depth": 1, "runtimeStageId": "d#1"}]},
            {"name": "Quality", "data": {"steps": {"a#0": {"score": 1, "factors": [], "keysRead": []}, "b#2": {"score": 0.5, "factors": [], "keysRead": ["list"]}}}},
            {"name": "ControlDeps", "data": {"entries": {"b#2": "d#1"}, "parents": {"b#2": "d#1", "d#1": "a#0"}}},
        ],
    })
}

fn open(value: &Value) -> TraceQuery {
    TraceQuery::new(Snapshot::from_json(&value.to_string()).unwrap())
}

fn without(path: &[&str]) -> TraceQuery {
    fn strip(value: &Value, path: &[&str]) -> Value {
        match (value, path) {
            (Value::Object(entries), [key]) => Value::Object(
                entries.iter().filter(|(k, _)| ***k != **key).map(|(k, v)| (k.clone(), v.clone())).collect(),
            ),
            (Value::Object(entries), [key, rest @ ..]) => {
                let part = |(k, v): (&crate::value::Str, &Value)| {
                    (k.clone(), if **k == **key { strip(v, rest) } else { v.clone() })
                };
                Value::Object(entries.iter().map(part).collect())
            }
            (Value::Array(items), path) => Value::Array(items.iter().map(|v| strip(v, path)).collect()),
            (other, _) => other.clone(),
        }
    }
    open(&strip(&minimum(), path))
}

fn key(name: &str) -> StateKey {
    StateKey::key(name).unwrap()
}

fn parents(query: &TraceQuery, step: &str) -> Vec<(String, &'static str)> {
    let slice = query
        .root()
        .causal_chain(&step.into(), &SliceOptions { max_depth: 1, ..SliceOptions::default() })
        .unwrap();
    let name = |e: &SliceEdge| slice.get(e.parent).unwrap().runtime_stage_id.to_string();
    slice.root().unwrap().parent_edges.iter().map(|e| (name(e), e.kind.word())).collect()
}

fn codes(notes: &[Note]) -> Vec<&'static str> {
    notes.iter().map(|n| n.code.word()).collect()
}

/// Proves OBS-142, OBS-203.
#[test]
fn the_minimum_answers_every_question() {
    let query = open(&minimum());
    let root = query.root();
    assert_eq!(root.last_writer(&key("list"), None).unwrap().commit_idx, CommitIdx(2));
    assert_eq!(root.find_commits("b").len(), 1);
    assert_eq!(root.value_at(&key("list"), CommitIdx(2)).unwrap().value, KeyValue::Value(value!([1, 2])));
    assert_eq!(root.state_at(Some(CommitIdx(9))).state.len(), 3);
    assert_eq!(parents(&query, "b#2"), [("a#0".to_owned(), "data"), ("d#1".to_owned(), "control")]);
    let slice = root.slice_for_key(&key("list"), None, &SliceOptions::for_key()).unwrap();
    assert_eq!(slice.slice.unwrap().notes, []);
    let births = root.array_births(&key("list"), None).births.unwrap();
    assert_eq!(births.iter().map(|b| b.basis.word()).collect::<Vec<_>>(), ["whole-value", "append-verb"]);
    assert_eq!(root.key_timeline(&key("k"), None).moments.len(), 2);
    assert_eq!(
        root.forward_slice(&key("list"), Some(CommitIdx(1)), &SliceOptions::default()).unwrap().nodes.len(),
        3
    );
    let inside = query.subflow("s").unwrap();
    assert!(inside.view.last_writer(&key("in"), None).is_some());
    assert_eq!(root.quality_trace(&"b#2".into(), 20).unwrap().root_cause.unwrap().drop, 0.5);
    assert_eq!(query.narrative().unwrap()[0].text, "read k");
    assert_eq!(query.step(&"d#1".into()).unwrap().narrative.len(), 1);
}

/// Proves OBS-3, OBS-142, OBS-160, OBS-167, OBS-180, T-17.
#[test]
fn a_missing_part_gives_its_stated_answer() {
    // No reads in the tree: no data edges, and said why; control is still known.
    let unread = {
        let mut text = minimum().to_string();
        text = text.replace("\"stageReads\"", "\"was\"");
        open(&text.parse().unwrap())
    };
    assert_eq!(parents(&unread, "b#2"), [("d#1".to_owned(), "control")]);
    let slice = unread.root().causal_chain(&"b#2".into(), &SliceOptions::default()).unwrap();
    assert_eq!(codes(&slice.notes), ["reads-not-recorded"]);
    assert!(codes(&unread.root().key_timeline(&key("k"), None).notes).contains(&"reads-not-recorded"));

    // No recorder rows: control from the tree; narrative and quality absent.
    let bare = without(&["recorders"]);
    assert_eq!(bare.root().control_source(), ControlSource::Tree);
    assert_eq!(parents(&bare, "b#2").len(), 2);
    assert!(bare.narrative().is_none());
    assert_eq!(bare.root().quality_trace(&"b#2".into(), 20).unwrap().start_score, -1.0);
    let overview = bare.overview();
    assert_eq!(overview.narrative_entries, None);
    assert!(codes(&overview.notes).contains(&"control-unavailable"));

    // Nor does the tree say anything about decisions.
    let mut text = minimum().to_string();
    text = text.replace("\"flowMessages\"", "\"was\"").replace("\"ControlDeps\"", "\"Was\"");
    let uncontrolled = open(&text.parse().unwrap());
    let slice = uncontrolled.root().causal_chain(&"b#2".into(), &SliceOptions::default()).unwrap();
    assert_eq!(codes(&slice.notes), ["control-unavailable"]);
    assert!(slice.format().contains("! control-unavailable"));

    // No values: writers are still known; a log of `set` rows without values reads as deletes.
    let valueless = without(&["commitLog", "overwrite"]);
    assert_eq!(valueless.root().log().gaps().len(), 1); // an append without its tail
    assert_eq!(valueless.root().last_writer(&key("k"), None).unwrap().commit_idx, CommitIdx(0));
    assert_eq!(valueless.root().value_at(&key("k"), CommitIdx(0)).unwrap().value, KeyValue::NeverWritten);

    assert!(matches!(without(&["subflowResults"]).subflow("s"), Err(QueryError::UnknownSubflow { .. })));
    assert!(Snapshot::from_json(&without(&["recorders"]).snapshot().to_json()).is_ok());
}

/// Proves OBS-143, OBS-181.
#[test]
fn queries_are_shared_and_never_look_at_the_structure() {
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let text = |structure: &str| format!("{{\"snapshot\":{},\"structure\":{structure}}}", minimum());
    let ask = |structure: &str| {
        let query = TraceQuery::open(text(structure).as_bytes(), &Default::default()).unwrap();
        shared(&query);
        let slice =
            query.root().slice_for_key(&key("list"), None, &SliceOptions::for_key()).unwrap().to_json();
        (slice, query.overview())
    };
    assert_eq!(ask("{\"id\":\"a\"}"), ask("[[\"garbage\"]]"));
}
