//! Damaged and hostile recordings: nothing panics, nothing shifts.

use std::sync::Arc;

use proptest::prelude::*;

use super::model::*;
use crate::ids::{CommitIdx, ExecutionIndex, RuntimeStageId};
use crate::query::*;
use crate::snapshot::*;
use crate::state::{Bundle, Path, Row};
use crate::value;
use crate::value::{Array, Object, Str, Value};
use crate::verbs::Verb;

/// Asks everything there is to ask.
fn ask_everything(query: &TraceQuery) {
    let mut views = vec![];
    for key in query.subflow_executions().chain(query.subflow_paths()) {
        views.push(query.subflow(key).unwrap().view);
    }
    let _ = query.overview().to_value();
    for view in std::iter::once(query.root()).chain(views.iter().map(|v| &**v)) {
        let steps: Vec<RuntimeStageId> = view.steps().map(|(id, _)| id.clone()).collect();
        for step in steps.iter().take(12) {
            for edge_attribution in [EdgeAttribution::Stage, EdgeAttribution::PerWrite] {
                let options = SliceOptions { edge_attribution, ..SliceOptions::default() };
                if let Ok(slice) = view.causal_chain(step, &options) {
                    let _ = (slice.to_json(), slice.format());
                }
            }
            let _ = query.step(step).map(|facts| facts.to_value());
            let _ = view.quality_trace(step, 20);
        }
        for name in ["a", "b", "list", "runs", "a.x", "runs.p.a", "list.0"] {
            let key = StateKey::dotted(name).unwrap();
            for idx in 0..view.len().min(12) {
                let _ = view.value_at(&key, CommitIdx(idx));
            }
            let _ =
                view.slice_for_key(&key, None, &SliceOptions::for_key()).map(|s| (s.to_json(), s.format()));
            let _ = view.array_births(&key, None).to_value();
            let _ = view.element_birth(&key, 1, None);
            let _ = view.key_timeline(&key, None).to_value();
            let _ = view.forward_slice(&key, None, &SliceOptions::default()).map(|f| f.to_value());
        }
        let _ = view.search(&SearchQuery::text("a"));
        let parts = LogParts { log: view.log().clone(), tree: view.tree().clone(), ..LogParts::default() };
        let mut cursor = Cursor::new(Arc::new(LogView::new(parts)));
        while cursor.forward() == Move::Moved {}
    }
}

/// Replaces the `n`-th node of a value (counted in walking order) by another value.
fn damage(value: &Value, n: &mut usize, by: &Value) -> Value {
    if *n == 0 {
        *n = usize::MAX;
        return by.clone();
    }
    *n -= 1;
    match value {
        Value::Array(items) => Value::Array(items.iter().map(|v| damage(v, n, by)).collect::<Array>()),
        Value::Object(entries) => {
            Value::Object(entries.iter().map(|(k, v)| (k.clone(), damage(v, n, by))).collect::<Object>())
        }
        other => other.clone(),
    }
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(entries) => entries.values().map(size).sum(),
        _ => 0,
    }
}

fn garbage() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        Value::Null,
        value!(-1),
        value!(1.5e300),
        value!(""),
        value!("x#18446744073709551615"),
        value!("\u{1f}\u{1f}"),
        value!([]),
        value!([[], {}, null]),
        value!({}),
        value!({"path": 3, "verb": "set"}),
        value!({"next": {"next": []}, "children": [1, {"children": {}}]}),
        value!("merge"),
        value!("frobnicate"),
        value!(true),
    ])
}

/// A snapshot with a subflow, narrative, quality and control rows.
fn rich(commits: &[Commit]) -> Snapshot {
    let mut snapshot = snapshot(commits, initial(), true);
    let context = SubflowContext {
        global_context: snapshot.shared_state.clone(),
        stage_contexts: snapshot.execution_tree.clone(),
        history: snapshot.commit_log.clone(),
        initial_state: snapshot.initial_state.clone(),
        ..SubflowContext::default()
    };
    let result = SubflowResult { subflow_id: "s0".into(), tree_context: context, ..SubflowResult::default() };
    let result = Arc::new(result);
    snapshot.subflow_results.insert("s0".into(), Arc::clone(&result));
    snapshot.subflow_results.insert("s0#0".into(), result);
    let row = |name: &str, data: Value| RecorderRow {
        id: name.into(),
        name: name.into(),
        description: None,
        preferred_operation: Some(PreferredOperation::Translate),
        data,
        meta: Some(value!({"mode": "full"})),
        extra: Object::new(),
    };
    snapshot.recorders = vec![
        row(
            "Narrative",
            value!([{"type": "step", "text": "a", "depth": 1, "runtimeStageId": "s0#0", "key": "a"}]),
        ),
        row(
            "ControlDeps",
            value!({"decisions": [], "entries": {"s1#1": "s0#0"}, "parents": {"s1#1": "s0#0"}}),
        ),
        row("Quality", value!({"steps": {"s0#0": {"score": 1, "keysRead": ["a"]}}})),
    ];
    snapshot
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Proves OBS-184, OBS-187, ENG-74, ENG-161.
    #[test]
    fn random_damage_never_panics_and_never_shifts(commits in commits(8), at in any::<prop::sample::Index>(), by in garbage()) {
        let good = rich(&commits).to_json();
        let value: Value = good.parse().unwrap();
        let mut n = at.index(size(&value));
        let bad = damage(&value, &mut n, &by);
        let text = bad.to_string();
        if let Ok(query) = TraceQuery::open(format!("{{\"snapshot\":{text}}}").as_bytes(), &OpenLimits::default()) {
            // A damaged row keeps its place.
            let rows = bad["commitLog"].as_array().unwrap();
            prop_assert_eq!(query.root().len(), rows.len());
            for gap in query.root().log().gaps() {
                prop_assert_eq!(Some(&gap.raw), rows.get(gap.index));
            }
            ask_everything(&query);
            let written = query.snapshot().to_json();
            let again = Snapshot::from_json(&written).unwrap();
            prop_assert_eq!(again.to_json(), written);
        }
    }

    /// Proves OBS-187.
    #[test]
    fn random_bytes_never_panic(commits in commits(4), cut in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut text = format!("{{\"snapshot\":{}}}", rich(&commits).to_json()).into_bytes();
        let at = cut.index(text.len());
        text[at] = byte;
        if let Ok(query) = TraceQuery::open(&text, &OpenLimits::default()) {
            ask_everything(&query);
        }
        text.truncate(at);
        prop_assert!(TraceQuery::open(&text, &OpenLimits::default()).is_err());
    }

    /// Proves ENG-145, OBS-186.
    #[test]
    fn writing_and_reading_are_inverse(commits in commits(16)) {
        // Rows above and below one another in one commit, which our encoder never makes, settle when they are first read.
        let snapshot = Snapshot::from_json(&rich(&commits).to_json()).unwrap();
        let text = snapshot.to_json();
        let back = Snapshot::from_json(&text).unwrap();
        prop_assert_eq!(back.to_json(), text);
        prop_assert_eq!(&back.execution_tree, &snapshot.execution_tree);
        prop_assert_eq!(&back.recorders, &snapshot.recorders);
        prop_assert_eq!(&back.shared_state, &snapshot.shared_state);
        // Two keys of one execution are one result.
        prop_assert!(Arc::ptr_eq(&back.subflow_results["s0"], &back.subflow_results["s0#0"]));
    }
}

/// Proves OBS-153, ENG-74.
#[test]
fn an_unknown_verb_is_never_folded_as_something_else() {
    let text = r#"{"executionTree": {}, "commitLog": [
        {"stage": "S", "stageId": "s", "runtimeStageId": "s#0", "trace": [{"path": "n", "verb": "set"}, {"path": "m", "verb": "set"}],
         "overwrite": {"n": 1, "m": 1}, "updates": {}},
        {"stage": "S", "stageId": "s", "runtimeStageId": "s#1", "trace": [{"path": "n", "verb": "increment"}], "overwrite": {"n": 1}},
        {"stage": "S", "stageId": "s", "runtimeStageId": "s#2", "trace": [{"path": "n", "verb": "set"}], "overwrite": {"n": 9}}]}"#;
    let query = TraceQuery::new(Snapshot::from_json(text).unwrap());
    let root = query.root();
    let value = |key: &str, idx: usize| root.value_at(&StateKey::key(key).unwrap(), CommitIdx(idx));
    assert_eq!(value("n", 0).unwrap().value, KeyValue::Value(value!(1)));
    assert_eq!(
        value("n", 1).unwrap_err(),
        QueryError::UnknownVerb { commit: 1, path: "n".into(), verb: "increment".into() }
    );
    // A later whole value makes the gap irrelevant; other keys never cared.
    assert_eq!(value("n", 2).unwrap().partial, []);
    assert_eq!(value("m", 2).unwrap().partial, []);
    let state = root.state_at(Some(CommitIdx(1)));
    assert_eq!(state.state.get("n"), Some(&value!(1)));
    assert_eq!(state.skipped[0].0, CommitIdx(1));
    assert_eq!(root.last_writer(&StateKey::key("n").unwrap(), None).unwrap().commit_idx, CommitIdx(2));
}

/// A tree whose links form a cycle, made by hand.
///
/// Proves OBS-167.
#[test]
fn cyclic_trees_end() {
    let mut tree = ExecutionTree::new();
    let a = tree.push(FrameRecord::new("a", "A", "a#0".into()));
    let b = tree.push(FrameRecord::new("b", "B", "b#1".into()));
    tree.get_mut(a).unwrap().next = Some(b);
    tree.get_mut(a).unwrap().children = vec![a, b, NodeId(77)];
    tree.get_mut(b).unwrap().next = Some(a);
    let text = tree.to_json();
    assert_eq!((text.matches("a#0").count(), text.matches("b#1").count()), (1, 1));
    let snapshot = Snapshot { execution_tree: tree, ..snapshot(&[], None, false) };
    ask_everything(&TraceQuery::new(snapshot));
}

/// Proves OBS-204, ENG-48, ENG-145, ENG-164.
#[test]
fn a_hundred_thousand_steps_round_trip_on_a_small_stack() {
    let work = || {
        let n: u64 = 100_000;
        let mut log = CommitLog::new();
        let mut tree = ExecutionTree::new();
        for i in 0..n {
            let id = RuntimeStageId::new(Str::from("step"), ExecutionIndex(i));
            let mut bundle = Bundle::empty(CommitIdx(i as usize), "Step", "step", id.clone());
            bundle.rows = [Row::new(Path::key("n"), Verb::Set, Value::from(i))].into();
            log.push(Arc::new(bundle));
            let mut frame = FrameRecord::new("step", "Step", id);
            frame.stage_reads = Some(Object::from_iter([(Str::from("n"), Value::from(i))]));
            frame.next = (i + 1 < n).then(|| NodeId(i as u32 + 1));
            tree.push(frame);
        }
        let snapshot = Snapshot { commit_log: log, execution_tree: tree, ..Snapshot::default() };
        let text = snapshot.to_json();
        let back = Snapshot::from_json(&text).unwrap();
        assert_eq!(back.execution_tree, snapshot.execution_tree);
        assert_eq!(back.to_json(), text);
        let query = TraceQuery::new(back);
        let options = SliceOptions { max_depth: 200_000, max_nodes: 200_000, ..SliceOptions::default() };
        let slice = query.root().causal_chain(&"step#99999".into(), &options).unwrap();
        assert_eq!(slice.len(), 100_000);
        drop(slice.clone());
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}
