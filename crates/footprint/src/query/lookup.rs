//! Who wrote what, and where (OBS-149, OBS-150, OBS-154).

use std::sync::{Arc, PoisonError};

use indexmap::IndexSet;

use super::index::{LogIndex, NONE, last_before};
use super::values::root_segment;
use super::{LogView, QueryError, StateKey};
use crate::ids::{CommitIdx, RuntimeStageId, UNIT_SEPARATOR};
use crate::state::{Bundle, Path, PathRelation, Row, Untracked};
use crate::value::Str;

/// A commit, with the step it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitRef {
    /// Position in the log.
    pub commit_idx: CommitIdx,
    /// The step.
    pub runtime_stage_id: RuntimeStageId,
    /// Prefixed stage id.
    pub stage_id: Str,
    /// Stage name as recorded.
    pub stage_name: Str,
}

impl CommitRef {
    pub(super) fn of(commit: u32, bundle: &Bundle) -> Self {
        Self {
            commit_idx: CommitIdx(commit as usize),
            runtime_stage_id: bundle.runtime_stage_id.clone(),
            stage_id: bundle.stage_id.clone(),
            stage_name: bundle.stage.clone(),
        }
    }
}

/// A key located in an index, so that asking for its writers is a binary search.
pub(super) struct Located<'a> {
    /// Commits with a row at the key or below it.
    touched: &'a [u32],
    /// Commits whose `around` rows changed the key; nested keys only.
    around: Arc<[u32]>,
}

impl Located<'_> {
    pub(super) fn last_before(&self, before: u32) -> Option<u32> {
        last_before(self.touched, before).max(last_before(&self.around, before))
    }

    /// All writers, ascending.
    pub(super) fn all(&self) -> Vec<u32> {
        if self.around.is_empty() {
            return self.touched.to_vec();
        }
        let mut all: Vec<u32> = self.touched.iter().chain(self.around.iter()).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl LogView {
    fn commit_ref(&self, commit: u32) -> Option<CommitRef> {
        self.bundle(commit).map(|bundle| CommitRef::of(commit, bundle))
    }

    /// The first commit of a stage id, or the first of them that wrote a key.
    pub fn find_commit(&self, stage_id: &str, key: Option<&StateKey>) -> Option<CommitRef> {
        let commits = self.index().stage_commits(stage_id);
        let found = match key {
            None => commits.first().copied(),
            Some(key) => {
                let writers = self.locate(key).all();
                commits.iter().copied().find(|c| writers.binary_search(c).is_ok())
            }
        };
        found.and_then(|c| self.commit_ref(c))
    }

    /// All commits of a stage id, ascending.
    pub fn find_commits(&self, stage_id: &str) -> Vec<CommitRef> {
        self.index().stage_commits(stage_id).iter().filter_map(|c| self.commit_ref(*c)).collect()
    }

    /// The last commit that wrote a key, strictly before a position.
    ///
    /// A commit wrote a key iff it has a row at the key or below it, or one above it across which the value at the key differs.
    pub fn last_writer(&self, key: &StateKey, before: Option<CommitIdx>) -> Option<CommitRef> {
        let before = before.map_or(u32::MAX, |c| u32::try_from(c.0).unwrap_or(u32::MAX));
        self.locate(key).last_before(before).and_then(|c| self.commit_ref(c))
    }

    /// All commits that wrote a key, ascending.
    pub fn writers(&self, key: &StateKey) -> Vec<CommitRef> {
        self.locate(key).all().into_iter().filter_map(|c| self.commit_ref(c)).collect()
    }

    /// The first commit of a step.
    ///
    /// # Errors
    /// [`QueryError::StepNotInLog`] names what is near.
    pub fn commit_of(&self, step: &RuntimeStageId) -> Result<CommitIdx, QueryError> {
        let step = self.step_or_error(step)?;
        Ok(CommitIdx(self.index().step(step).map_or(0, |s| s.first as usize)))
    }

    /// Distinct paths over all commits of a step, in order of first touch.
    pub fn keys_written(&self, step: &RuntimeStageId) -> Vec<Path> {
        let written = self.index().step_of_id(step).map(|step| self.written_by(step));
        written.unwrap_or_default().into_iter().cloned().collect()
    }

    pub(super) fn written_by(&self, step: u32) -> IndexSet<&Path> {
        let commits = self.index().step(step).into_iter().flat_map(|s| s.commits());
        commits.filter_map(|c| self.bundle(c)).flat_map(|b| b.rows.iter().map(|r| &r.path)).collect()
    }

    /// Sources a step consumed that no tracked read shows.
    pub(super) fn untracked_of(&self, step: u32) -> Untracked {
        let mut all = Untracked::NONE;
        let commits = self.index().step(step).into_iter().flat_map(|s| s.commits());
        commits.filter_map(|c| self.bundle(c)).for_each(|b| all.add(b.untracked));
        all
    }

    /// Locates a key; for a nested key below whole-container rows this folds its root once and keeps the answer.
    pub(super) fn locate(&self, key: &StateKey) -> Located<'_> {
        let index = self.index();
        let passed = index.descend(key.segments());
        let whole = passed.len() == key.segments().len();
        let node = passed.last().filter(|_| whole).and_then(|n| index.node(*n));
        let above = if whole { passed.len().saturating_sub(1) } else { passed.len() };
        let around_rows =
            passed.iter().take(above).any(|n| index.node(*n).is_some_and(|n| !n.exact.is_empty()));
        let around = if key.is_nested() && around_rows { self.around(key, &passed) } else { Arc::from([]) };
        Located { touched: node.map_or(&[], |n| &n.touched), around }
    }

    /// Commits that have rows above the key and across which the value at the key differs.
    fn around(&self, key: &StateKey, passed: &[u32]) -> Arc<[u32]> {
        let mut kept = self.nested_writers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(key) {
            return Arc::clone(known);
        }
        let index = self.index();
        let above: Vec<&[u32]> = passed
            .iter()
            .filter_map(|n| index.node(*n))
            .filter(|n| self.depth_of(n.parent) + 1 < key.segments().len())
            .map(|n| &*n.exact)
            .collect();
        let mut candidates: Vec<u32> = above.concat();
        candidates.sort_unstable();
        candidates.dedup();
        let root = index.descend(root_segment(key)).first().copied();
        let touched: &[u32] = root.and_then(|r| index.node(r)).map_or(&[], |n| &n.touched);
        let mut state = self.root_state(root, key.root(), 0);
        let mut found = Vec::new();
        for commit in touched {
            let candidate = candidates.binary_search(commit).is_ok();
            let before = if candidate { key.read(&state).cloned() } else { None };
            self.apply_root(&mut state, *commit, key.root());
            if candidate && before.as_ref() != key.read(&state) {
                found.push(*commit);
            }
        }
        let found: Arc<[u32]> = found.into();
        kept.insert(key.clone(), Arc::clone(&found));
        found
    }

    fn depth_of(&self, node: u32) -> usize {
        self.index().path(node).len()
    }

    /// The writer a step's read resolves to: in its own namespace first, outermost last (OBS-150).
    pub(super) fn resolve_read(&self, step: u32, symbol: u32, before: u32) -> Option<(ReadKey, u32)> {
        let index = self.index();
        if let Some(address) = index.shared_name(symbol).filter(|n| n.contains(UNIT_SEPARATOR)) {
            // A row of ours says where the value it lists was found.
            let key = StateKey::stored(Path::from_wire(address));
            let writer = self.locate(&key).last_before(before)?;
            return Some((ReadKey::Nested(key), writer));
        }
        let namespace = index.step(step).map_or(NONE, |s| s.namespace);
        if let Some(segments) = index.namespaces.get(namespace as usize) {
            let name = index.shared_name(symbol)?;
            let mut end = segments.len();
            while end > 0 {
                let path = segments.iter().take(end).chain([name]).cloned();
                let key = StateKey::stored(Path::new(path));
                if let Some(writer) = self.locate(&key).last_before(before) {
                    return Some((ReadKey::Nested(key), writer));
                }
                end = end.saturating_sub(2);
            }
        }
        let node = index.child_of(super::index::TOP, symbol)?;
        let writer = last_before(&index.node(node)?.touched, before)?;
        Some((ReadKey::Root(symbol), writer))
    }

    /// Rows of a commit that wrote a key.
    pub(super) fn rows_of(&self, commit: u32, key: &ReadKey) -> impl Iterator<Item = &Row> {
        let index = self.index();
        let rows = self.bundle(commit).map_or(&[][..], |b| &b.rows);
        rows.iter().filter(move |row| match key {
            ReadKey::Root(symbol) => row.path.root_key() == Some(index.name(*symbol)),
            ReadKey::Nested(key) => row.path.relation_to(key.as_path()) != PathRelation::Apart,
        })
    }
}

/// A key as a read resolved: a root key, or a path below one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReadKey {
    Root(u32),
    Nested(StateKey),
}

impl ReadKey {
    pub(super) fn of(index: &LogIndex, key: &StateKey) -> Option<Self> {
        if key.is_nested() {
            return Some(Self::Nested(key.clone()));
        }
        index.symbol_of(key.root()).map(Self::Root)
    }

    /// The key for people, with dots.
    pub(super) fn label(&self, index: &LogIndex) -> Str {
        match self {
            Self::Root(symbol) => index.shared_name(*symbol).cloned().unwrap_or_default(),
            Self::Nested(key) => key.to_string().into(),
        }
    }
}
