use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use proptest::prelude::*;

use super::model::*;
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::query::*;
use crate::recorders::ControlData;
use crate::snapshot::*;
use crate::state::Path;
use crate::value;
use crate::value::Str;
use crate::verbs::Verb;

type Edges = BTreeSet<(String, String, Option<String>)>;

fn unlimited() -> SliceOptions {
    SliceOptions { max_depth: 10_000, max_nodes: 10_000, control: false, ..SliceOptions::default() }
}

fn edges_of(slice: &Slice) -> Edges {
    let name = |n: &SliceNode| n.runtime_stage_id.to_string();
    let edges = slice.flatten().iter().flat_map(|n| {
        n.parent_edges.iter().map(move |e| {
            (name(n), name(slice.get(e.parent).unwrap()), e.key.as_ref().map(ToString::to_string))
        })
    });
    edges.collect()
}

/// All edges backwards from a step, by whole scans: no index, no queue order.
fn naive_edges(snapshot: &Snapshot, reads: &BTreeMap<String, Vec<String>>, start: &RuntimeStageId) -> Edges {
    let states = states(snapshot);
    let mut edges = Edges::new();
    let mut pending = vec![start.clone()];
    let mut done: Vec<RuntimeStageId> = vec![];
    while let Some(step) = pending.pop() {
        if done.contains(&step) {
            continue;
        }
        done.push(step.clone());
        let first = snapshot.commit_log.iter().position(|b| b.runtime_stage_id == step).unwrap();
        for name in reads.get(&step.to_string()).into_iter().flatten() {
            let Some((key, writer)) = naive_read(snapshot, &states, first, name) else { continue };
            let parent = snapshot.commit_log.get(writer).unwrap().runtime_stage_id.clone();
            edges.insert((step.to_string(), parent.to_string(), Some(key.to_string())));
            pending.push(parent);
        }
    }
    edges
}

/// What each step read: its frame's keys, and what its rows list.
fn reads_of(snapshot: &Snapshot) -> BTreeMap<String, Vec<String>> {
    let mut reads: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, frame) in snapshot.execution_tree.iter() {
        let keys = frame.stage_reads.iter().flat_map(|r| r.keys()).map(ToString::to_string);
        reads.entry(frame.runtime_stage_id.to_string()).or_default().extend(keys);
    }
    for bundle in snapshot.commit_log.iter() {
        let keys = bundle.rows.iter().filter_map(|r| r.read_keys.as_ref()).flat_map(|k| k.iter());
        reads.entry(bundle.runtime_stage_id.to_string()).or_default().extend(keys.map(ToString::to_string));
    }
    reads
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Proves OBS-150, OBS-155, OBS-156, OBS-163.
    #[test]
    fn stage_slices_equal_a_brute_force_oracle(commits in commits(24), rows_say in any::<bool>()) {
        let snapshot = snapshot(&commits, None, rows_say);
        let view = view(&snapshot);
        let reads = reads_of(&snapshot);
        for bundle in snapshot.commit_log.iter() {
            let id = &bundle.runtime_stage_id;
            let slice = view.causal_chain(id, &unlimited()).unwrap();
            prop_assert_eq!(edges_of(&slice), naive_edges(&snapshot, &reads, id));
            prop_assert_eq!(slice.truncated, None);
            for node in slice.flatten() {
                // A step is never its own parent, and causes were committed earlier.
                for parent in &node.parents {
                    prop_assert!(slice.get(*parent).unwrap().commit_idx < node.commit_idx);
                }
                let distinct: BTreeSet<_> = node.parents.iter().collect();
                prop_assert_eq!(distinct.len(), node.parents.len());
                if let Some(linked) = &node.linked_by {
                    prop_assert!(edges_of(&slice).iter().any(|(_, to, key)| *to == node.runtime_stage_id.to_string() && key.as_deref() == Some(linked)));
                }
            }
        }
    }

    /// Proves OBS-158, OBS-165.
    #[test]
    fn per_write_slices_are_part_of_stage_slices(commits in commits(24), depth in 1_usize..6) {
        let snapshot = snapshot(&commits, None, true);
        let view = view(&snapshot);
        for key in keys(&snapshot) {
            let mut options = SliceOptions { max_depth: depth, ..unlimited() };
            let stage = view.slice_for_key(&key, None, &options).unwrap();
            options.edge_attribution = EdgeAttribution::PerWrite;
            let exact = view.slice_for_key(&key, None, &options).unwrap();
            prop_assert_eq!(exact.missing.is_some(), exact.slice.is_none());
            let (Some(stage), Some(exact)) = (stage.slice, exact.slice) else { continue };
            prop_assert!(edges_of(&exact).is_subset(&edges_of(&stage)));
            let steps = |s: &Slice| s.flatten().iter().map(|n| n.runtime_stage_id.to_string()).collect::<BTreeSet<_>>();
            prop_assert!(steps(&exact).is_subset(&steps(&stage)));
        }
    }

    /// Proves OBS-157, OBS-162.
    #[test]
    fn truncation_is_reported_exactly(commits in commits(20), max_nodes in 1_usize..8, max_depth in 1_usize..5) {
        let snapshot = snapshot(&commits, None, false);
        let view = view(&snapshot);
        let Some(last) = snapshot.commit_log.last() else { return Ok(()) };
        let whole = view.causal_chain(&last.runtime_stage_id, &unlimited()).unwrap();
        let limits = SliceOptions { max_nodes, ..unlimited() };
        let cut = view.causal_chain(&last.runtime_stage_id, &limits).unwrap();
        prop_assert_eq!(cut.truncated.is_some(), whole.len() > max_nodes);
        prop_assert_eq!(cut.len(), whole.len().min(max_nodes));
        let limits = SliceOptions { max_depth, ..unlimited() };
        let cut = view.causal_chain(&last.runtime_stage_id, &limits).unwrap();
        let deepest = whole.flatten().iter().map(|n| n.depth).max().unwrap();
        prop_assert_eq!(cut.len(), whole.flatten().iter().filter(|n| n.depth <= max_depth).count());
        let at_horizon = whole.flatten().iter().any(|n| n.depth == max_depth && !n.parents.is_empty());
        prop_assert_eq!(cut.truncated.is_some_and(|t| t.by_depth), at_horizon);
        prop_assert!(deepest > max_depth || cut.flatten().len() == whole.len());
    }

    /// Proves OBS-144.
    #[test]
    fn a_grown_index_equals_a_fresh_one(commits in commits(24), at in 0_usize..24) {
        let snapshot = snapshot(&commits, None, true);
        let whole = view(&snapshot);
        let parts = |log: CommitLog| LogParts { log, tree: snapshot.execution_tree.clone(), ..LogParts::default() };
        let early = LogView::new(parts(snapshot.commit_log.iter().take(at).cloned().collect()));
        for key in keys(&snapshot) {
            early.writers(&key);
            early.array_births(&key, None);
        }
        let grown = early.grown(parts(snapshot.commit_log.clone()));
        for key in keys(&snapshot) {
            prop_assert_eq!(grown.writers(&key), whole.writers(&key));
            prop_assert_eq!(grown.key_timeline(&key, None), whole.key_timeline(&key, None));
            prop_assert_eq!(grown.array_births(&key, None), whole.array_births(&key, None));
        }
        for (id, _) in whole.steps() {
            prop_assert_eq!(grown.causal_chain(id, &unlimited()).unwrap(), whole.causal_chain(id, &unlimited()).unwrap());
        }
    }
}

fn step(stage: u8, reads: &[&'static str], rows: &[&str]) -> Commit {
    let rows = rows.iter().map(|p| (Path::dotted(p), Verb::Set, value!(1))).collect();
    Commit { stage, again: false, rows, reads: reads.to_vec() }
}

/// Twenty layers of two steps that both read both values of the layer before: 2^20 paths, 41 steps.
///
/// Proves OBS-163, OBS-164, OBS-172, OBS-173.
#[test]
fn a_graph_of_a_million_paths_is_written_linearly() {
    let mut commits = vec![];
    for _ in 0..20 {
        commits.push(step(0, &["a", "b"], &["a"]));
        commits.push(step(1, &["a", "b"], &["b"]));
    }
    commits.push(step(2, &["a", "b"], &["list"]));
    let snapshot = snapshot(&commits, None, false);
    let view = view(&snapshot);
    let slice = view.slice_for_key(&StateKey::key("list").unwrap(), None, &unlimited()).unwrap();
    let nodes = slice.slice.as_ref().unwrap().len();
    assert_eq!(nodes, 41);
    assert!(slice.to_json().len() < 41 * 600, "{}", slice.to_json().len());
    let text = slice.format();
    assert!(text.lines().count() < 41 * 4, "{}", text.lines().count());
    assert_eq!(text.matches("wrote").count(), 41);
    assert!(text.starts_with("Why `list`: last written at commit 40 by s2 (reads from: execution-tree"));
    let json = slice.to_value();
    assert_eq!(json["writerId"], value!("s2#40"));
    assert_eq!(json["readsCoverage"], value!({"steps": 41, "stepsWithReads": 41}));
    assert_eq!(json["nodes"].as_object().unwrap().len(), 41);
}

/// Proves OBS-161.
#[test]
fn weights_come_from_the_caller() {
    let snapshot =
        snapshot(&[step(0, &[], &["a"]), step(1, &["a"], &["b"]), step(2, &["b"], &["list"])], None, false);
    let view = view(&snapshot);
    let weigh: Weigh = Arc::new(|child, parent, key, kind| {
        assert_eq!(kind, EdgeKind::Data);
        match (child.stage_id(), parent.stage_id(), key) {
            ("s2", "s1", Some("b")) => Some(0.5),
            _ => panic!("not mine"),
        }
    });
    let options = SliceOptions { weigh: Some(weigh), ..unlimited() };
    let slice = view.causal_chain(&"s2#2".into(), &options).unwrap();
    let weights: Vec<f64> = slice.flatten().iter().flat_map(|n| &n.parent_edges).map(|e| e.weight).collect();
    assert_eq!(weights, [0.5, 1.0]);
    assert!(slice.format().contains("×0.5"));
    assert_eq!(slice.to_value()["edges"][0]["weight"], value!(0.5));
}

/// Proves OBS-157.
#[test]
fn limits_and_unknown_steps_are_refused() {
    let snapshot = snapshot(&[step(0, &[], &["a"]), step(1, &["a"], &["b"])], None, false);
    let view = view(&snapshot);
    let zero = SliceOptions { max_nodes: 0, ..SliceOptions::default() };
    let refused = view.causal_chain(&"s0#0".into(), &zero).unwrap_err();
    assert_eq!(refused, QueryError::InvalidLimit { option: "maxNodes", value: 0 });
    let unknown = view.causal_chain(&"s1#7".into(), &SliceOptions::default()).unwrap_err();
    assert_eq!(unknown.to_string(), "step `s1#7` has no commit in the log of the run; near it: s1#1, s0#0");
}

/// Proves OBS-3, OBS-166, OBS-167.
#[test]
fn missing_inputs_are_said() {
    let empty = LogView::new(LogParts::default());
    let key = StateKey::key("a").unwrap();
    let answer = empty.slice_for_key(&key, None, &SliceOptions::for_key()).unwrap();
    assert_eq!((answer.missing, &answer.slice), (Some(KeyMissing::EmptyLog), &None));
    assert!(answer.format().contains("nothing was committed"));

    // The same log without any reads in its tree: no dependencies shown, and said why.
    let mut snapshot = snapshot(&[step(0, &[], &["a"]), step(1, &["a"], &["b"])], None, false);
    let ids: Vec<NodeId> = snapshot.execution_tree.iter().map(|(id, _)| id).collect();
    for id in ids {
        snapshot.execution_tree.get_mut(id).unwrap().stage_reads = None;
    }
    let bare = view(&snapshot);
    let answer = bare.slice_for_key(&StateKey::key("b").unwrap(), None, &SliceOptions::for_key()).unwrap();
    let codes: Vec<NoteCode> = answer.notes.iter().map(|n| n.code).collect();
    assert_eq!(codes, [NoteCode::ReadsNotRecorded, NoteCode::ControlUnavailable]);
    assert_eq!(answer.reads_coverage.unwrap(), ReadsCoverage { steps: 2, steps_with_reads: 0 });

    // Reads collected elsewhere bring the edge back.
    let map = HashMap::from([(RuntimeStageId::parse("s1#1"), vec![Str::from("a")])]);
    let map = ReadSource::Map(Arc::new(map));
    let custom = ReadSource::Custom(Arc::new(|id| (id.stage_id() == "s1").then(|| vec!["a".into()])));
    for reads in [map, custom] {
        let word = reads.word();
        let options = SliceOptions { reads, ..SliceOptions::for_key() };
        let answer = bare.slice_for_key(&StateKey::key("b").unwrap(), None, &options).unwrap();
        assert_eq!(answer.slice.unwrap().len(), 2, "{word}");
        assert_eq!((answer.keys_read_kind, answer.reads_coverage.unwrap().steps_with_reads), (word, 1));
    }
}

/// A decider `route#1` (reads `a`) lets `work#2` run; then `after#3`.
fn decided() -> Snapshot {
    let mut log = CommitLog::new();
    let mut tree = ExecutionTree::new();
    let mut add = |id: &str, reads: &str, writes: &str| {
        let id = RuntimeStageId::parse(id);
        let mut bundle =
            crate::state::Bundle::empty(CommitIdx(log.len()), id.stage_id(), id.stage_id(), id.clone());
        if !writes.is_empty() {
            bundle.rows = [crate::state::Row::new(Path::key(writes), Verb::Set, value!(1))].into();
        }
        log.push(Arc::new(bundle));
        let mut frame = FrameRecord::new(id.stage_id(), id.stage_id(), id.clone());
        frame.stage_reads = Some(reads.split_whitespace().map(|k| (Str::from(k), value!(1))).collect());
        tree.push(frame)
    };
    let seed = add("seed#0", "", "a");
    let route = add("route#1", "a", "");
    let work = add("work#2", "", "out");
    let after = add("after#3", "out", "done");
    tree.get_mut(seed).unwrap().next = Some(route);
    let frame = tree.get_mut(route).unwrap();
    frame.children = vec![work];
    frame.flow_messages = vec![value!({"type": "branch", "description": "x"})];
    frame.next = Some(after);
    Snapshot { commit_log: log, execution_tree: tree, ..Snapshot::default() }
}

fn control_edges(slice: &Slice) -> Vec<(String, String, Option<String>)> {
    let mut found = vec![];
    for node in slice.flatten() {
        for edge in node.parent_edges.iter().filter(|e| e.kind == EdgeKind::Control) {
            let to = slice.get(edge.parent).unwrap().runtime_stage_id.to_string();
            found.push((node.runtime_stage_id.to_string(), to, edge.key.as_ref().map(ToString::to_string)));
        }
    }
    found
}

/// Proves OBS-94, OBS-95, OBS-159, OBS-160, OBS-180.
#[test]
fn control_edges_from_the_stored_row_and_from_the_tree() {
    let snapshot = decided();
    let id = RuntimeStageId::parse("after#3");
    let tree = TraceQuery::new(snapshot.clone());
    let slice = tree.root().causal_chain(&id, &SliceOptions::default()).unwrap();
    assert_eq!(slice.control, ControlSource::Tree);
    assert_eq!(control_edges(&slice), [("work#2".into(), "route#1".into(), None)]);
    // The decider expands with what it read.
    assert!(slice.find(&"seed#0".into()).is_some());

    let row = value!({
        "decisions": [{"runtimeStageId": "route#1", "stageName": "Route", "type": "decider", "chosen": ["work"],
            "labels": {"work": "Enough"}}],
        "entries": {"work#2": "route#1"},
        "parents": {"route#1": "seed#0", "work#2": "route#1", "after#3": "route#1"},
    });
    let data = ControlData::from_value(&row).unwrap();
    assert_eq!(data.to_value(), row);
    let stored = Snapshot {
        recorders: vec![RecorderRow {
            id: "control-deps-1".into(),
            name: "ControlDeps".into(),
            description: None,
            preferred_operation: None,
            data: row,
            meta: None,
            extra: Default::default(),
        }],
        ..snapshot
    };
    let query =
        TraceQuery::open(format!("{{\"snapshot\":{}}}", stored.to_json()).as_bytes(), &OpenLimits::default())
            .unwrap();
    let slice = query.root().causal_chain(&id, &SliceOptions::default()).unwrap();
    assert_eq!(slice.control, ControlSource::Recorded);
    assert_eq!(control_edges(&slice), [("work#2".into(), "route#1".into(), Some("Enough".into()))]);
    assert!(slice.format().contains("decided \"Enough\""));
    // The same as with the data collected live.
    let parts = LogParts {
        log: stored.commit_log.clone(),
        tree: stored.execution_tree.clone(),
        ..LogParts::default()
    };
    let live = LogView::new(parts).with_control(data);
    assert_eq!(
        control_edges(&live.causal_chain(&id, &SliceOptions::default()).unwrap()),
        control_edges(&slice)
    );
    let off = SliceOptions { control: false, ..SliceOptions::default() };
    assert!(control_edges(&query.root().causal_chain(&id, &off).unwrap()).is_empty());
}

/// Cycles and dangling links in a stored row end the climb.
///
/// Proves OBS-94.
#[test]
fn malformed_control_rows_end() {
    let row = value!({"entries": {"x#9": "d#1"}, "parents": {"a#1": "b#2", "b#2": "a#1", "c#3": "c#3", "d#4": "gone#5"}});
    let data = ControlData::from_value(&row).unwrap();
    for id in ["a#1", "b#2", "c#3", "d#4", "nowhere#1"] {
        assert_eq!(data.lookup(&id.into()), None);
    }
    assert_eq!(data.lookup(&"x#9".into()).unwrap().decider, "d#1");
    assert!(ControlData::from_value(&value!([])).is_none());
}

/// Reads of parallel children resolve in their own namespace first; a join reads what the branches left.
///
/// Proves OBS-150, ENG-81, ENG-82.
#[test]
fn edges_inside_branches_and_across_joins() {
    let mut log = CommitLog::new();
    let mut tree = ExecutionTree::new();
    let mut add = |id: &str, reads: &str, writes: &str| {
        let id = RuntimeStageId::parse(id);
        let mut bundle =
            crate::state::Bundle::empty(CommitIdx(log.len()), id.stage_id(), id.stage_id(), id.clone());
        bundle.rows = writes
            .split_whitespace()
            .map(|p| crate::state::Row::new(Path::dotted(p), Verb::Set, value!(1)))
            .collect();
        log.push(Arc::new(bundle));
        let mut frame = FrameRecord::new(id.stage_id(), id.stage_id(), id.clone());
        frame.stage_reads = Some(reads.split_whitespace().map(|k| (Str::from(k), value!(1))).collect());
        tree.push(frame)
    };
    let fork = add("fork#0", "", "k");
    let p = add("p#1", "k", "runs.p.k");
    let q = add("q#2", "k", "runs.q.k");
    // The second stage of branch p only reads: its namespace is known from its place in the tree.
    let p2 = add("p2#3", "k", "");
    let inner = add("in#4", "k", "runs.q.runs.in.k");
    let in2 = add("in2#5", "k", "");
    let join = add("join#6", "runs", "done");
    let node = tree.get_mut(fork).unwrap();
    node.children = vec![p, q];
    node.flow_messages = vec![value!({"type": "children"})];
    node.next = Some(join);
    tree.get_mut(p).unwrap().next = Some(p2);
    let node = tree.get_mut(q).unwrap();
    node.children = vec![inner];
    node.flow_messages = vec![value!({"type": "children"})];
    tree.get_mut(inner).unwrap().next = Some(in2);
    let view = view(&Snapshot { commit_log: log, execution_tree: tree, ..Snapshot::default() });
    let parents = |id: &str| -> Vec<(String, String)> {
        let slice = view.causal_chain(&id.into(), &SliceOptions { max_depth: 1, ..unlimited() }).unwrap();
        let root = slice.root().unwrap();
        let name = |e: &SliceEdge| slice.get(e.parent).unwrap().runtime_stage_id.to_string();
        root.parent_edges.iter().map(|e| (name(e), e.key.clone().unwrap().to_string())).collect()
    };
    let edge = |to: &str, key: &str| vec![(to.to_owned(), key.to_owned())];
    assert_eq!(parents("p#1"), edge("fork#0", "k"));
    assert_eq!(parents("p2#3"), edge("p#1", "runs.p.k"));
    assert_eq!(parents("in#4"), edge("q#2", "runs.q.k"));
    assert_eq!(parents("in2#5"), edge("in#4", "runs.q.runs.in.k"));
    assert_eq!(parents("join#6"), edge("in#4", "runs"));
    let joined = view.causal_chain(&"join#6".into(), &unlimited()).unwrap();
    assert!(joined.notes.iter().any(|n| n.code == NoteCode::NestedRows));
}

/// Rows of ours list where a value was found: inside a branch that is its canonical path.
///
/// Proves OBS-150, OBS-158, OBS-175.
#[test]
fn canonical_read_keys_resolve_exactly() {
    let mut log = CommitLog::new();
    let mut add = |id: &str, rows: &[(&str, &[&str])]| {
        let id = RuntimeStageId::parse(id);
        let mut bundle =
            crate::state::Bundle::empty(CommitIdx(log.len()), id.stage_id(), id.stage_id(), id.clone());
        let row = |(path, reads): &(&str, &[&str])| {
            let mut row = crate::state::Row::new(Path::dotted(path), Verb::Set, value!(1));
            row.read_keys = Some(reads.iter().map(|k| Str::from(Path::dotted(k).wire())).collect());
            row
        };
        bundle.rows = rows.iter().map(row).collect();
        log.push(Arc::new(bundle));
    };
    add("seed#0", &[("k", &[])]);
    add("p#1", &[("runs.p.k", &["k"])]);
    add("p2#2", &[("runs.p.out", &["runs.p.k"]), ("runs.p.other", &[])]);
    let view = view(&Snapshot { commit_log: log, ..Snapshot::default() });
    let key = |k: &str| StateKey::dotted(k).unwrap();
    let slice = |k: &str| {
        let slice = view.slice_for_key(&key(k), None, &SliceOptions::for_key()).unwrap().slice.unwrap();
        slice.flatten().iter().map(|n| n.runtime_stage_id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(slice("runs.p.out"), ["p2#2", "p#1", "seed#0"]);
    assert_eq!(slice("runs.p.other"), ["p2#2"]);
    let forward = view.forward_slice(&key("runs.p.k"), None, &SliceOptions::default()).unwrap();
    let fed: Vec<String> = forward.nodes.iter().map(|n| n.key.to_string()).collect();
    assert_eq!(fed, ["runs.p.k", "runs.p.out"]);
    assert!(forward.edges[0].per_write && *forward.edges[0].key == *"runs.p.k");
    assert_eq!(view.step(&"p2#2".into()).unwrap().reads[0].0, "runs.p.k".into());
}

/// Proves OBS-177.
#[test]
fn quality_is_traced_to_where_it_was_lost() {
    let mut snapshot =
        snapshot(&[step(0, &[], &["a"]), step(1, &[], &["b"]), step(2, &[], &["list"])], None, false);
    let entry =
        |score: f64, reads: &[&str]| value!({"score": score, "factors": ["f"], "keysRead": reads.to_vec()});
    let steps = value!({"s0#0": entry(0.9, &[]), "s1#1": entry(0.4, &["a"]), "s2#2": entry(0.3, &["b"])});
    snapshot.recorders = vec![RecorderRow {
        id: "quality-1".into(),
        name: "Quality".into(),
        description: None,
        preferred_operation: None,
        data: value!({ "steps": steps }),
        meta: None,
        extra: Default::default(),
    }];
    let query = TraceQuery::new(snapshot);
    let trace = query.root().quality_trace(&"s2#2".into(), 20).unwrap();
    assert_eq!((trace.start_score, trace.frames.len()), (0.3, 3));
    let cause = trace.root_cause.as_ref().unwrap();
    assert_eq!((cause.frame.runtime_stage_id.to_string(), cause.drop), ("s1#1".to_owned(), 0.5));
    assert_eq!(trace.to_value()["rootCause"]["previousFrame"]["runtimeStageId"], value!("s0#0"));
    let unknown = query.root().quality_trace(&"s9#9".into(), 20).unwrap();
    assert_eq!((unknown.start_score, unknown.frames.len()), (-1.0, 0));
    let bare = TraceQuery::new(Snapshot { recorders: vec![], ..query.snapshot().clone() });
    assert_eq!(bare.root().quality_trace(&"s2#2".into(), 20).unwrap().start_score, -1.0);
}
