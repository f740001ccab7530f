//! Values and states at a commit position (OBS-151…153). One fold implementation serves live commits, replay and these queries.

use std::sync::{Arc, PoisonError};

use indexmap::IndexMap;

use super::index::{GapRow, last_before};
use super::{LogView, QueryError, StateKey};
use crate::ids::CommitIdx;
use crate::state::{Bundle, Path, PathRelation, apply_bundle, apply_row};
use crate::value::{Object, Str, Value};

/// Touches between two kept root values.
const ROOT_STRIDE: usize = 64;
/// Commits between two kept states.
const STATE_STRIDE: usize = 256;

/// What states of a log are folded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The recorded initial state, then the log.
    InitialAndLog,
    /// Nothing, then the log: values seeded before the run show only after a commit sets them.
    LogOnly,
}

impl Basis {
    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::InitialAndLog => "initial+log",
            Self::LogOnly => "log-only",
        }
    }
}

/// What stands at a key.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyValue {
    /// This value.
    Value(Value),
    /// Nothing: no commit up to there wrote it, and it was not there before.
    NeverWritten,
    /// Nothing any more.
    Deleted,
}

impl KeyValue {
    /// The value, if there is one.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::NeverWritten | Self::Deleted => None,
        }
    }
}

/// Why a value may not be the whole truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partial {
    /// Only rows below the key are known; what was there before them is not.
    NestedRows,
    /// A placeholder stands for (part of) the value.
    Redacted,
    /// A damaged row may have changed it.
    LogGap,
}

impl Partial {
    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::NestedRows => "nested-rows",
            Self::Redacted => "redacted",
            Self::LogGap => "log-gap",
        }
    }
}

/// A value at a commit position.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueAt {
    /// What stands there.
    pub value: KeyValue,
    /// What it was folded from.
    pub basis: Basis,
    /// Why it may not be the whole truth.
    pub partial: Vec<Partial>,
}

/// A whole state at a commit position (OBS-152).
#[derive(Clone, Debug, PartialEq)]
pub struct StateAt {
    /// The state.
    pub state: Object,
    /// What it was folded from.
    pub basis: Basis,
    /// The last commit folded in; `None` is the base.
    pub through: Option<CommitIdx>,
    /// Paths whose values are placeholders.
    pub redacted_paths: Vec<Path>,
    /// Damaged rows up to there, which contribute nothing: position and reason.
    pub skipped: Vec<(CommitIdx, String)>,
}

impl StateAt {
    /// The JSON object `{state, basis, throughCommitIdx, redacted?, redactedPaths?, skipped?}`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("state", Value::Object(self.state.clone()));
        out.insert("basis", self.basis.word().into());
        out.insert("throughCommitIdx", self.through.map_or(Value::from(-1), |c| c.0.into()));
        if !self.redacted_paths.is_empty() {
            out.insert("redacted", true.into());
            let paths = self.redacted_paths.iter().map(|p| Value::from(p.to_string()));
            out.insert("redactedPaths", Value::Array(paths.collect()));
        }
        if !self.skipped.is_empty() {
            let row = |(index, reason): &(CommitIdx, String)| {
                let mut row = Object::new();
                row.insert("index", index.0.into());
                row.insert("reason", reason.as_str().into());
                Value::Object(row)
            };
            out.insert("skipped", Value::Array(self.skipped.iter().map(row).collect()));
        }
        Value::Object(out)
    }
}

/// Values of one root key after every [`ROOT_STRIDE`]-th commit that touched it.
#[derive(Debug)]
pub(super) struct Checkpoints(Vec<Option<Value>>);

impl LogView {
    /// What states of this log are folded from.
    pub fn basis(&self) -> Basis {
        if self.parts.initial.is_some() { Basis::InitialAndLog } else { Basis::LogOnly }
    }

    /// The value at a key after commit `idx` (a position in this log, past the end = at the end): the fold of all rows under the key's root.
    ///
    /// # Errors
    /// [`QueryError::UnknownVerb`] when a damaged row with an unknown verb stands in the way.
    pub fn value_at(&self, key: &StateKey, idx: CommitIdx) -> Result<ValueAt, QueryError> {
        let index = self.index();
        let end = (idx.0.min(u32::MAX as usize - 1) as u32 + 1).min(index.len);
        let root = index.descend(root_segment(key)).first().copied();
        let touched: &[u32] = root.and_then(|r| index.node(r)).map_or(&[], |n| &n.touched);
        let touches = touched.partition_point(|c| *c < end);
        let anchor = root.and_then(|r| index.node(r)).and_then(|n| last_before(&n.totals, end));
        let mut partial = Vec::new();
        self.gaps_in_the_way(key, anchor, end, &mut partial)?;
        if anchor.is_none() && touches > 0 && self.parts.initial.is_none() {
            partial.push(Partial::NestedRows);
        }
        let since = anchor.unwrap_or(0);
        let redacting = index.redacting.iter().filter(|c| (since..end).contains(*c));
        if redacting.filter_map(|c| self.bundle(*c)).any(|b| hides(b, key)) {
            partial.push(Partial::Redacted);
        }
        let state = self.root_state(root, key.root(), touches);
        let value = match key.read(&state) {
            Some(value) => KeyValue::Value(value.clone()),
            None if self.ever_had(key, touched.get(..touches).unwrap_or_default()) => KeyValue::Deleted,
            None => KeyValue::NeverWritten,
        };
        Ok(ValueAt { value, basis: self.basis(), partial })
    }

    /// A state that holds just one root key, after the first `touches` commits that touch it.
    pub(super) fn root_state(&self, root: Option<u32>, name: &str, touches: usize) -> Object {
        let mut state = Object::new();
        let index = self.index();
        let Some((root, node)) = root.and_then(|r| Some((r, index.node(r)?))) else {
            self.seed_root(&mut state, name);
            return state;
        };
        let end = node.touched.get(touches.wrapping_sub(1)).map_or(0, |c| c + 1);
        let anchor = last_before(&node.totals, end);
        let mut from = anchor.map_or(0, |a| node.touched.partition_point(|c| *c < a));
        if touches - from.min(touches) > ROOT_STRIDE {
            let checkpoints = self.checkpoints(root, name);
            let whole = touches / ROOT_STRIDE;
            if let Some(value) = checkpoints.0.get(whole.wrapping_sub(1)) {
                from = whole * ROOT_STRIDE;
                if let Some(value) = value {
                    state.insert(name, value.clone());
                }
            }
        } else if anchor.is_none() {
            self.seed_root(&mut state, name);
        }
        for commit in node.touched.get(from..touches).unwrap_or_default() {
            self.apply_root(&mut state, *commit, name);
        }
        state
    }

    fn seed_root(&self, state: &mut Object, name: &str) {
        if let Some(value) = self.parts.initial.as_ref().and_then(|i| i.get(name)) {
            state.insert(name, value.clone());
        }
    }

    /// Replays the rows of a commit that are under one root key.
    pub(super) fn apply_root(&self, state: &mut Object, commit: u32, root: &str) {
        for row in self.bundle(commit).iter().flat_map(|b| b.rows.iter()) {
            if row.path.root_key() == Some(root) {
                apply_row(state, row);
            }
        }
    }

    /// Folds one root key once and keeps every [`ROOT_STRIDE`]-th value; they share structure, so they cost little.
    fn checkpoints(&self, root: u32, name: &str) -> Arc<Checkpoints> {
        let mut kept = self.root_checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(&root) {
            return Arc::clone(known);
        }
        let mut state = Object::new();
        self.seed_root(&mut state, name);
        let mut values = Vec::new();
        let touched = self.index().node(root).map_or(&[][..], |n| &n.touched);
        for (at, commit) in touched.iter().enumerate() {
            self.apply_root(&mut state, *commit, name);
            if (at + 1) % ROOT_STRIDE == 0 {
                values.push(state.get(name).cloned());
            }
        }
        let made = Arc::new(Checkpoints(values));
        kept.insert(root, Arc::clone(&made));
        made
    }

    /// Whether the key ever held a value up to there; asked only when it holds none now.
    fn ever_had(&self, key: &StateKey, touched: &[u32]) -> bool {
        if self.parts.initial.as_ref().is_some_and(|i| key.read(i).is_some()) {
            return true;
        }
        let mut state = Object::new();
        self.seed_root(&mut state, key.root());
        touched.iter().any(|commit| {
            self.apply_root(&mut state, *commit, key.root());
            key.read(&state).is_some()
        })
    }

    fn gaps_in_the_way(
        &self,
        key: &StateKey,
        anchor: Option<u32>,
        end: u32,
        partial: &mut Vec<Partial>,
    ) -> Result<(), QueryError> {
        let since = anchor.unwrap_or(0);
        let in_the_way = |row: &&GapRow| row.commit >= since && row.commit < end && row.root == key.root();
        let rows = &self.index().gap_rows;
        if let Some(row) = rows.iter().filter(in_the_way).find(|r| r.unknown_verb.is_some()) {
            return Err(QueryError::UnknownVerb {
                commit: row.commit as usize,
                path: row.path.clone(),
                verb: row.unknown_verb.clone().unwrap_or_default(),
            });
        }
        // A gap whose rows cannot even be listed may have touched anything.
        let opaque = self.parts.log.gaps().iter().any(|gap| {
            let commit = gap.index as u32;
            commit >= since && commit < end && !rows.iter().any(|r| r.commit == commit)
        });
        if opaque || rows.iter().any(|r| in_the_way(&r)) {
            partial.push(Partial::LogGap);
        }
        Ok(())
    }

    /// The whole state after a commit; `None` = the base, past the end = at the end. Damaged rows are skipped and reported.
    pub fn state_at(&self, through: Option<CommitIdx>) -> StateAt {
        let len = self.parts.log.len();
        let commits = through.map_or(0, |c| c.0.saturating_add(1).min(len));
        let mut state = self.parts.initial.clone().unwrap_or_default();
        let mut from = 0;
        if commits > STATE_STRIDE {
            let whole = commits / STATE_STRIDE;
            if let Some(kept) = self.kept_states().get(whole - 1) {
                state = kept.clone();
                from = whole * STATE_STRIDE;
            }
        }
        for bundle in (from..commits).filter_map(|c| self.parts.log.get(c)) {
            apply_bundle(&mut state, bundle);
        }
        let redacted = self.redactions.get_or_init(|| {
            let mut first: IndexMap<Path, usize> = IndexMap::new();
            for (at, bundle) in self.parts.log.iter().enumerate() {
                for path in &bundle.redacted_paths {
                    first.entry(path.clone()).or_insert(at);
                }
            }
            first.into_iter().collect()
        });
        let redacted_paths =
            redacted.iter().take_while(|(_, at)| *at < commits).map(|(path, _)| path.clone()).collect();
        let gaps = self.parts.log.gaps().iter().take_while(|g| g.index < commits);
        StateAt {
            state,
            basis: self.basis(),
            through: commits.checked_sub(1).map(CommitIdx),
            redacted_paths,
            skipped: gaps.map(|g| (CommitIdx(g.index), g.reason.clone())).collect(),
        }
    }

    fn kept_states(&self) -> &[Object] {
        self.state_checkpoints.get_or_init(|| {
            let mut state = self.parts.initial.clone().unwrap_or_default();
            let mut kept = Vec::with_capacity(self.parts.log.len() / STATE_STRIDE);
            for (at, bundle) in self.parts.log.iter().enumerate() {
                apply_bundle(&mut state, bundle);
                if (at + 1) % STATE_STRIDE == 0 {
                    kept.push(state.clone());
                }
            }
            kept
        })
    }
}

/// Whether a bundle stores a placeholder for (part of) a key.
fn hides(bundle: &Bundle, key: &StateKey) -> bool {
    let related = |p: &Path| p.relation_to(key.as_path()) != PathRelation::Apart;
    bundle.redacted_paths.iter().any(related)
}

/// The first segment, for looking up a root.
pub(super) fn root_segment(key: &StateKey) -> &[Str] {
    key.segments().get(..1).unwrap_or_default()
}
