//! Random logs with their trees, and naive answers to compare with: linear scans and whole folds, nothing shared with the index.

use std::sync::Arc;

use proptest::prelude::*;

use crate::ids::{CommitIdx, ExecutionIndex, RuntimeStageId};
use crate::query::*;
use crate::snapshot::*;
use crate::state::{Bundle, Path, PathRelation, Row, fold};
use crate::value;
use crate::value::{Object, Str, Value};
use crate::verbs::Verb;

pub(super) const ROOTS: [&str; 4] = ["a", "b", "list", "runs"];

/// One commit of a random log.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) stage: u8,
    /// Continue the step of an earlier commit instead of starting a new one.
    pub(super) again: bool,
    pub(super) rows: Vec<(Path, Verb, Value)>,
    pub(super) reads: Vec<&'static str>,
}

fn path() -> impl Strategy<Value = Path> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "list"]).prop_map(Path::key),
        2 => (prop::sample::select(vec!["a", "b"]), prop::sample::select(vec!["x", "y"]))
            .prop_map(|(k, s)| Path::dotted(&format!("{k}.{s}"))),
        1 => Just(Path::dotted("a.x.deep")),
        2 => (prop::sample::select(vec!["p", "q"]), prop::sample::select(vec!["a", "b"]))
            .prop_map(|(n, k)| Path::dotted(&format!("runs.{n}.{k}"))),
    ]
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..4_i64).prop_map(Value::from),
        Just(value!("text")),
        Just(Value::Null),
        Just(value!({"x": 1, "y": {"deep": 2}})),
        Just(value!({"x": {"deep": 3}})),
        prop::collection::vec(0..3_i64, 0..4).prop_map(Value::from),
    ]
}

fn row() -> impl Strategy<Value = (Path, Verb, Value)> {
    let verbs = prop::sample::select(vec![
        Verb::Set,
        Verb::Set,
        Verb::Append,
        Verb::Append,
        Verb::Merge,
        Verb::Delete,
    ]);
    (path(), verbs, leaf()).prop_map(|(path, verb, value)| match verb {
        Verb::Append => (Path::key("list"), verb, if value.is_array() { value } else { value!([value]) }),
        Verb::Delete => (path, verb, Value::Null),
        _ => (path, verb, value),
    })
}

pub(super) fn commits(max: usize) -> impl Strategy<Value = Vec<Commit>> {
    let reads = prop::collection::vec(prop::sample::select(ROOTS.to_vec()), 0..3);
    let commit = (0..4_u8, prop::bool::weighted(0.15), prop::collection::vec(row(), 0..4), reads);
    prop::collection::vec(commit, 0..max).prop_map(|commits| {
        commits.into_iter().map(|(stage, again, rows, reads)| Commit { stage, again, rows, reads }).collect()
    })
}

/// A random log as a snapshot: the tree is one chain with the reads; rows carry `readKeys` on every second commit when wanted.
pub(super) fn snapshot(commits: &[Commit], initial: Option<Object>, read_keys: bool) -> Snapshot {
    let mut log = CommitLog::new();
    let mut tree = ExecutionTree::new();
    let mut last = None;
    for (at, commit) in commits.iter().enumerate() {
        let earlier =
            log.get(at / 2).map(|b: &Arc<Bundle>| b.runtime_stage_id.clone()).filter(|_| commit.again);
        let fresh = earlier.is_none();
        let id = earlier
            .unwrap_or_else(|| RuntimeStageId::new(format!("s{}", commit.stage), ExecutionIndex(at as u64)));
        let mut bundle = Bundle::empty(CommitIdx(at), id.stage_id(), id.stage_id(), id.clone());
        bundle.rows =
            commit.rows.iter().map(|(p, v, value)| Row::new(p.clone(), *v, value.clone())).collect();
        if read_keys && at % 2 == 0 {
            for (i, row) in bundle.rows.iter_mut().enumerate() {
                row.read_keys = Some(commit.reads.iter().take(i + 1).map(|k| Str::from(*k)).collect());
            }
        }
        log.push(Arc::new(bundle));
        if fresh {
            let mut frame = FrameRecord::new(id.stage_id(), id.stage_id(), id.clone());
            let reads: Object = commit.reads.iter().map(|k| (Str::from(*k), Value::from(1))).collect();
            frame.stage_reads = Some(reads);
            let at = tree.push(frame);
            if let Some(last) = last {
                tree.get_mut(last).unwrap().next = Some(at);
            }
            last = Some(at);
        }
    }
    let all: Vec<&Bundle> = log.iter().map(|b| &**b).collect();
    let shared_state = fold(initial.clone().unwrap_or_default(), all);
    Snapshot {
        commit_log: log,
        execution_tree: tree,
        initial_state: initial,
        shared_state,
        ..Snapshot::default()
    }
}

pub(super) fn view(snapshot: &Snapshot) -> LogView {
    LogView::new(LogParts {
        log: snapshot.commit_log.clone(),
        tree: snapshot.execution_tree.clone(),
        initial: snapshot.initial_state.clone(),
        ..LogParts::default()
    })
}

/// Every key worth asking about: all written paths, their prefixes, and two that are never written.
pub(super) fn keys(snapshot: &Snapshot) -> Vec<StateKey> {
    let mut keys = vec![StateKey::dotted("a.x.deep").unwrap(), StateKey::key("nowhere").unwrap()];
    for row in snapshot.commit_log.iter().flat_map(|b| b.rows.iter()) {
        for end in 1..=row.path.len() {
            let key = StateKey::path(row.path.segments()[..end].iter().cloned()).unwrap();
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    keys
}

pub(super) fn states(snapshot: &Snapshot) -> Vec<Object> {
    let mut state = snapshot.initial_state.clone().unwrap_or_default();
    let mut states = vec![state.clone()];
    for bundle in snapshot.commit_log.iter() {
        state = fold(state, [&**bundle]);
        states.push(state.clone());
    }
    states
}

/// Whether commit `c` wrote a key, by the rule of OBS-149 and whole folds.
pub(super) fn naive_wrote(snapshot: &Snapshot, states: &[Object], key: &StateKey, c: usize) -> bool {
    let relations: Vec<PathRelation> =
        snapshot.commit_log.get(c).unwrap().rows.iter().map(|r| r.path.relation_to(key.as_path())).collect();
    relations.iter().any(|r| matches!(r, PathRelation::Exact | PathRelation::Inside))
        || (relations.contains(&PathRelation::Around) && key.read(&states[c]) != key.read(&states[c + 1]))
}

pub(super) fn naive_writer(
    snapshot: &Snapshot,
    states: &[Object],
    key: &StateKey,
    before: usize,
) -> Option<usize> {
    (0..before.min(snapshot.commit_log.len())).rev().find(|c| naive_wrote(snapshot, states, key, *c))
}

/// First commit of the step a commit belongs to.
pub(super) fn first_of(snapshot: &Snapshot, c: usize) -> usize {
    let id = &snapshot.commit_log.get(c).unwrap().runtime_stage_id;
    snapshot.commit_log.iter().position(|b| b.runtime_stage_id == *id).unwrap()
}

/// The namespace a step's own rows show.
fn naive_namespace(snapshot: &Snapshot, first: usize) -> Vec<Str> {
    let id = &snapshot.commit_log.get(first).unwrap().runtime_stage_id;
    let own = snapshot.commit_log.iter().filter(|b| b.runtime_stage_id == *id);
    own.filter_map(|b| b.rows.iter().find(|r| r.path.len() > 2 && r.path.root_key() == Some("runs")))
        .map(|r| r.path.segments()[..2].to_vec())
        .next()
        .unwrap_or_default()
}

/// Resolves a read as OBS-150 says: own namespace first, then the root.
pub(super) fn naive_read(
    snapshot: &Snapshot,
    states: &[Object],
    first: usize,
    name: &str,
) -> Option<(StateKey, usize)> {
    let namespace = naive_namespace(snapshot, first);
    let inner = (!namespace.is_empty())
        .then(|| StateKey::path(namespace.iter().cloned().chain([Str::from(name)])).unwrap());
    let candidates = inner.into_iter().chain([StateKey::key(name).unwrap()]);
    candidates.filter_map(|key| Some((key.clone(), naive_writer(snapshot, states, &key, first)?))).next()
}

pub(super) fn initial() -> Option<Object> {
    value!({"a": {"x": 9}, "list": [7, 8], "seeded": 1}).as_object().cloned()
}
