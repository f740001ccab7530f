//! Which step put a list item where it is (OBS-170, OBS-171).

use std::sync::{Arc, PoisonError};

use super::lookup::CommitRef;
use super::values::root_segment;
use super::{LogView, Note, NoteCode, StateKey};
use crate::ids::CommitIdx;
use crate::state::PathRelation;
use crate::value::{Array, Object, Value};
use crate::verbs::Verb;

/// How the birth of an item is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BirthBasis {
    /// Recorded: the commit appended it.
    AppendVerb,
    /// Inferred: the old list is a strict beginning of the new one.
    PrefixInference,
    /// The whole list was replaced; all items were born then.
    WholeValue,
    /// It was in the recorded initial state; no commit brought it.
    PreRun,
}

impl BirthBasis {
    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::AppendVerb => "append-verb",
            Self::PrefixInference => "prefix-inference",
            Self::WholeValue => "whole-value",
            Self::PreRun => "pre-run",
        }
    }
}

/// Where an item of a list came from.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementBirth {
    /// The item's position in the list.
    pub index: usize,
    /// The commit that put it there; absent for items of the initial state.
    pub born: Option<CommitRef>,
    /// How that is known.
    pub basis: BirthBasis,
    /// The item.
    pub value: Value,
}

impl ElementBirth {
    /// The JSON object `{index, commitIdx, runtimeStageId, stageId, stageName, verb, basis, value}`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("index", self.index.into());
        if let Some(born) = &self.born {
            out.insert("commitIdx", born.commit_idx.0.into());
            out.insert("runtimeStageId", born.runtime_stage_id.to_string().into());
            out.insert("stageId", Value::from(&born.stage_id));
            out.insert("stageName", Value::from(&born.stage_name));
            let verb = if self.basis == BirthBasis::AppendVerb { "append" } else { "set" };
            out.insert("verb", verb.into());
        }
        out.insert("basis", self.basis.word().into());
        out.insert("value", self.value.clone());
        Value::Object(out)
    }
}

/// Why there are no births.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayMissing {
    /// Nothing was committed.
    EmptyLog,
    /// No commit wrote the key.
    NeverWritten,
    /// What stands there is no list (a redacted one is a placeholder).
    NotAnArray,
}

impl ArrayMissing {
    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::EmptyLog => "empty-log",
            Self::NeverWritten => "never-written",
            Self::NotAnArray => "not-an-array",
        }
    }
}

/// The births of a list's items, index-aligned with the list.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayBirths {
    /// The list.
    pub key: StateKey,
    /// The position it was asked for (`None` = the end).
    pub at: Option<CommitIdx>,
    /// One per item; absent exactly when `missing` is present.
    pub births: Option<Vec<ElementBirth>>,
    /// Why there are none.
    pub missing: Option<ArrayMissing>,
    /// What the answer must say about itself.
    pub notes: Vec<Note>,
}

impl ArrayBirths {
    /// The JSON object `{key, atIdx?, length?, births?, missing?, notes?}`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("key", self.key.to_string().into());
        if let Some(at) = self.at {
            out.insert("atIdx", at.0.into());
        }
        if let Some(births) = &self.births {
            out.insert("length", births.len().into());
            out.insert("births", Value::Array(births.iter().map(ElementBirth::to_value).collect()));
        }
        if let Some(missing) = self.missing {
            out.insert("missing", missing.word().into());
        }
        if !self.notes.is_empty() {
            out.insert("notes", super::notes::notes_value(&self.notes));
        }
        Value::Object(out)
    }
}

/// Items `start..end` came with `commit` (`None` = before the log).
#[derive(Clone, Copy, Debug)]
struct Segment {
    commit: Option<u32>,
    start: usize,
    end: usize,
    basis: BirthBasis,
    /// First segment of the list as it is from here on: a replaced list starts a new epoch.
    epoch: usize,
}

/// From this commit on the list is `segments[epoch..=last]`, or there is no list.
#[derive(Clone, Copy, Debug)]
enum Change {
    List { last: usize },
    EmptyList,
    NoList,
    Gone,
}

/// The whole life of one list, made by one fold and kept.
#[derive(Debug)]
pub(super) struct ArrayHistory {
    segments: Vec<Segment>,
    changes: Vec<(u32, Change)>,
    before_log: Change,
    /// The last list of each epoch, by its first segment; earlier lists of an epoch are beginnings of it.
    lists: Vec<(usize, Array)>,
}

impl LogView {
    /// Where each item of a list came from, as the list stands after a commit (`None` = at the end).
    pub fn array_births(&self, key: &StateKey, at: Option<CommitIdx>) -> ArrayBirths {
        let (history, change) = self.list_at(key, at);
        let births = match change {
            Change::List { last } => {
                let segments = history.epoch(last);
                let items = segments.iter().flat_map(|s| (s.start..s.end).map(move |i| (i, s)));
                Some(items.filter_map(|(i, s)| self.birth(&history, i, s)).collect())
            }
            Change::EmptyList => Some(Vec::new()),
            Change::NoList | Change::Gone => None,
        };
        let missing = births.is_none().then(|| match change {
            _ if self.is_empty() => ArrayMissing::EmptyLog,
            // A key that was removed was written: it holds no list any more.
            Change::Gone if self.last_writer(key, at.map(|c| CommitIdx(c.0.saturating_add(1)))).is_some() => {
                ArrayMissing::NotAnArray
            }
            Change::Gone => ArrayMissing::NeverWritten,
            _ => ArrayMissing::NotAnArray,
        });
        let mut notes = Vec::new();
        if let Some(unknown) = self.known_key_note(key) {
            notes.push(unknown);
        } else if self.initial_state().is_none() {
            notes.push(Note::with(
                NoteCode::LogOnly,
                "items seeded before the run and not set again are invisible",
            ));
        }
        ArrayBirths { key: key.clone(), at, births, missing, notes }
    }

    /// Where one item came from; none when there is no such item.
    pub fn element_birth(&self, key: &StateKey, item: usize, at: Option<CommitIdx>) -> Option<ElementBirth> {
        let (history, change) = self.list_at(key, at);
        let Change::List { last } = change else { return None };
        let segments = history.epoch(last);
        let segment = segments.get(segments.partition_point(|s| s.end <= item))?;
        self.birth(&history, item, segment)
    }

    fn birth(&self, history: &ArrayHistory, index: usize, segment: &Segment) -> Option<ElementBirth> {
        let at = history.lists.binary_search_by_key(&segment.epoch, |(epoch, _)| *epoch).ok()?;
        let value = history.lists.get(at)?.1.get(index)?.clone();
        let born = match segment.commit {
            Some(commit) => Some(CommitRef::of(commit, self.bundle(commit)?)),
            None => None,
        };
        Some(ElementBirth { index, born, basis: segment.basis, value })
    }

    fn list_at(&self, key: &StateKey, at: Option<CommitIdx>) -> (Arc<ArrayHistory>, Change) {
        let history = self.array_history(key);
        let end = at.map_or(u32::MAX, |c| u32::try_from(c.0).map_or(u32::MAX, |c| c.saturating_add(1)));
        let count = history.changes.partition_point(|(commit, _)| *commit < end);
        let change = count.checked_sub(1).and_then(|i| history.changes.get(i));
        let change = change.map_or(history.before_log, |(_, change)| *change);
        (history, change)
    }

    fn array_history(&self, key: &StateKey) -> Arc<ArrayHistory> {
        let mut kept = self.arrays.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(key) {
            return Arc::clone(known);
        }
        let made = Arc::new(self.fold_array(key));
        kept.insert(key.clone(), Arc::clone(&made));
        made
    }

    /// Folds from the first touch: anchoring at the last `set` would erase births.
    fn fold_array(&self, key: &StateKey) -> ArrayHistory {
        let index = self.index();
        let root = index.descend(root_segment(key)).first().copied();
        let touched: &[u32] = root.and_then(|r| index.node(r)).map_or(&[], |n| &n.touched);
        let mut state = self.root_state(root, key.root(), 0);
        let mut history = ArrayHistory {
            segments: Vec::new(),
            changes: Vec::new(),
            before_log: Change::Gone,
            lists: Vec::new(),
        };
        history.before_log = history.take(None, None, key.read(&state), BirthBasis::PreRun);
        for commit in touched {
            let before = key.read(&state).cloned();
            self.apply_root(&mut state, *commit, key.root());
            let after = key.read(&state);
            let same = match (&before, after) {
                (Some(before), Some(after)) => before.ptr_eq(after),
                (None, None) => true,
                _ => false,
            };
            if same {
                continue;
            }
            let basis = if self.only_appends(*commit, key) {
                BirthBasis::AppendVerb
            } else {
                BirthBasis::PrefixInference
            };
            let change = history.take(Some(*commit), before.as_ref(), after, basis);
            history.changes.push((*commit, change));
        }
        history
    }

    /// Whether everything a commit did to a key is to append to it.
    fn only_appends(&self, commit: u32, key: &StateKey) -> bool {
        let rows = self.bundle(commit).map_or(&[][..], |b| &b.rows);
        let mut related =
            rows.iter().filter(|r| r.path.relation_to(key.as_path()) != PathRelation::Apart).peekable();
        related.peek().is_some()
            && related.all(|r| r.verb == Verb::Append && r.path == *key.as_path() && r.value.is_array())
    }
}

impl ArrayHistory {
    /// The segments of the list that ends with this one.
    fn epoch(&self, last: usize) -> &[Segment] {
        let first = self.segments.get(last).map_or(0, |s| s.epoch);
        self.segments.get(first..=last).unwrap_or_default()
    }

    /// Takes up what a commit made of the list.
    fn take(
        &mut self,
        commit: Option<u32>,
        before: Option<&Value>,
        after: Option<&Value>,
        grown_by: BirthBasis,
    ) -> Change {
        let list = match after {
            None => return Change::Gone,
            Some(Value::Array(list)) => list,
            Some(_) => return Change::NoList,
        };
        let old = before.and_then(Value::as_array).filter(|old| {
            let grows = old.len() <= list.len();
            grows && (grown_by == BirthBasis::AppendVerb || old.is_prefix_of(list))
        });
        if list.is_empty() {
            return Change::EmptyList;
        }
        let current = self.segments.len().checked_sub(1);
        match (old, current) {
            // Nothing was born: the same items were written again.
            (Some(old), Some(last)) if old.len() == list.len() => Change::List { last },
            (Some(old), Some(last)) if !old.is_empty() => {
                let epoch = self.segments.get(last).map_or(0, |s| s.epoch);
                self.segments.push(Segment {
                    commit,
                    start: old.len(),
                    end: list.len(),
                    basis: grown_by,
                    epoch,
                });
                self.keep(epoch, list);
                Change::List { last: self.segments.len() - 1 }
            }
            (old, _) => {
                let epoch = self.segments.len();
                let basis = match old {
                    Some(_) => grown_by,
                    None if commit.is_none() => BirthBasis::PreRun,
                    None => BirthBasis::WholeValue,
                };
                self.segments.push(Segment { commit, start: 0, end: list.len(), basis, epoch });
                self.keep(epoch, list);
                Change::List { last: epoch }
            }
        }
    }

    fn keep(&mut self, epoch: usize, list: &Array) {
        match self.lists.last_mut() {
            Some((known, kept)) if *known == epoch => *kept = list.clone(),
            _ => self.lists.push((epoch, list.clone())),
        }
    }
}
