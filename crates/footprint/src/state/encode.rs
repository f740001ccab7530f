//! From staged operations to the rows of a commit.
//!
//! The steps, each skipped when it cannot matter:
//!
//! 1. *net change*: a path survives when its final value differs from its value in the base (ENG-72)
//! 2. *candidate rows*: one per operation (`full`) or one per path, smallest verb (`delta`) (ENG-75)
//! 3. *check*: the rows must fold to what the stage read back; a family of paths that does not is written as
//!    whole values (ENG-3, ENG-77). Only merges and nested paths can fail it
//! 4. *namespace*: paths of a parallel branch move under `runs␟<child>` (ENG-81)
//! 5. *log form*: what the redaction rule covers is replaced (ENG-93)

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use smallvec::SmallVec;

use super::bundle::{Bundle, Row};
use super::bundle_json::mark_echoes;
use super::family;
use super::fold::apply_row;
use super::path::Path;
use super::policy::{CommitValues, WriteProvenance};
use super::redact::Redaction;
use super::staging::{Staged, StagedOp, Staging, combined};
use crate::value::{Array, Object, Str, Value};
use crate::verbs::{Verb, merged};

/// What a commit records, and how it lands.
#[derive(Debug, Clone, Default)]
pub struct EncodedCommit {
    /// The rows as the log keeps them.
    pub rows: Box<[Row]>,
    /// Paths that are placeholders in `rows`.
    pub redacted_paths: Box<[Path]>,
    /// The rows with real values, where they differ.
    real: Option<Box<[Row]>>,
    /// The stage's view is, entry for entry, what the rows make of the base.
    as_viewed: bool,
}

impl EncodedCommit {
    /// The rows with real values: what changes the live state.
    pub fn real_rows(&self) -> &[Row] {
        self.real.as_deref().unwrap_or(&self.rows)
    }

    /// Changes the live state by this commit. Nothing here can fail or call out.
    ///
    /// When nobody committed since the stage began, the stage's own view *is* the next generation and nothing
    /// is replayed.
    pub fn land(&self, staging: &Staging, live: &mut Object) {
        if self.rows.is_empty() {
            return;
        }
        if self.as_viewed && staging.base().is_some_and(|base| base.ptr_eq(live)) {
            *live = staging.view().clone();
            return;
        }
        for row in self.real_rows() {
            apply_row(live, row);
        }
    }
}

/// Everything known about one path after the last operation.
pub(super) struct Touch<'a> {
    pub(super) path: &'a Path,
    pub(super) after: Option<Value>,
    pub(super) changed: bool,
    /// Reads before the last operation.
    pub(super) reads_before: u32,
    last: usize,
    count: u32,
    only_pushes: bool,
    only_merges: bool,
    has_merge: bool,
    last_set: Option<Value>,
    /// The merges since the last other operation, as one.
    delta: Option<Value>,
    delta_ended: bool,
}

impl Staging {
    /// The commit of everything staged. Pure: nothing changes until [`EncodedCommit::land`].
    ///
    /// ```
    /// use footprint::state::{CommitValues, Marks, Redaction, Staging, WriteProvenance};
    /// use footprint::value;
    /// use footprint::value::{Array, Object};
    ///
    /// let mut live: Object = [("log", value!(["a"]))].into_iter().collect();
    /// let mut staging = Staging::default();
    /// staging.push(&live, "log", Array::from(vec![value!("b")]));
    /// let (marks, off) = (Marks::default(), WriteProvenance::Off);
    /// let commit = staging.encode(CommitValues::Delta, off, Redaction::new(None, &marks));
    /// assert_eq!(format!("{:?}", commit.rows), r#"[append log ["b"]]"#);
    /// commit.land(&staging, &mut live);
    /// assert_eq!(live.get("log"), Some(&value!(["a", "b"])));
    /// ```
    pub fn encode(
        &self,
        dial: CommitValues,
        provenance: WriteProvenance,
        redaction: Redaction<'_>,
    ) -> EncodedCommit {
        if self.ops.is_empty() {
            return EncodedCommit::default();
        }
        let redaction = redaction.with_local(self.marked());
        if let [only] = self.ops.as_slice()
            && redaction.is_idle()
            && let [key] = only.op.path().segments()
            && let Some(row) = self.only_row(only, key, dial)
        {
            return self.single(row, only, provenance);
        }
        if redaction.is_idle()
            && provenance == WriteProvenance::Off
            && let Some(rows) = self.plain_sets(dial)
        {
            let as_viewed = self.namespace().is_empty() && rows.len() == self.ops.len();
            return self.finish(rows, redaction, as_viewed);
        }
        let (touches, touched) = self.touches();
        let needs_check =
            self.ops.iter().any(|s| matches!(s.op, StagedOp::Merge { .. }) || s.op.path().len() > 1);
        let mut rows = match dial {
            CommitValues::Full => self.full_rows(&touches, &touched, redaction),
            CommitValues::Delta => self.delta_rows(&touches, redaction, needs_check),
        };
        if rows.is_empty() {
            return EncodedCommit::default();
        }
        let mut as_viewed = self.namespace().is_empty()
            && rows.len() == self.ops.len()
            && touches.len() == self.ops.len()
            && self.ops.iter().all(|staged| staged.op.path().len() == 1);
        mark_echoes(&mut rows);
        Bundle::settle_rows(&mut rows);
        if needs_check {
            as_viewed &= family::enforce(self, &touches, &mut rows);
        }
        if provenance == WriteProvenance::ReadsPrefix {
            self.add_provenance(&touches, &mut rows, dial);
        }
        self.finish(rows, redaction, as_viewed)
    }

    /// The common commit, without any bookkeeping: the row of the only operation, at a root key. The outer
    /// `None` means that the general way must decide, the inner one that nothing changed.
    fn only_row(&self, only: &Staged, key: &Str, dial: CommitValues) -> Option<Option<Row>> {
        let row = |verb, value| Some(Some(Row::new(only.op.path().clone(), verb, value)));
        let before = self.own.get(key);
        match (&only.op, before, dial) {
            (StagedOp::Merge { .. }, _, _) => None,
            (StagedOp::Delete { .. }, None, _) => Some(None),
            (StagedOp::Delete { .. }, Some(_), _) => row(Verb::Delete, Value::Null),
            (StagedOp::Push { items, .. }, Some(Value::Array(_)), CommitValues::Delta)
                if !items.is_empty() =>
            {
                row(Verb::Append, Value::Array(items.clone()))
            }
            (StagedOp::Push { .. }, _, _) => None,
            (StagedOp::Set { value, .. }, Some(before), _) if before == value => Some(None),
            (StagedOp::Set { value: Value::Array(_), .. }, Some(Value::Array(_)), CommitValues::Delta) => {
                None
            }
            (StagedOp::Set { value, .. }, _, _) => row(Verb::Set, value.clone()),
        }
    }

    /// Also common: a few root keys, each set once. Nothing can overlap then. `None` means that the
    /// general way must decide.
    fn plain_sets(&self, dial: CommitValues) -> Option<Vec<Row>> {
        const FEW: usize = 16;
        if self.ops.len() > FEW {
            return None;
        }
        let mut keys: SmallVec<[&str; FEW]> = SmallVec::new();
        let mut rows = Vec::with_capacity(self.ops.len());
        for staged in &self.ops {
            let (StagedOp::Set { path, value }, [key]) = (&staged.op, staged.op.path().segments()) else {
                return None;
            };
            let before = self.own.get(key);
            let grows = matches!((before, value), (Some(Value::Array(_)), Value::Array(_)));
            if (grows && dial == CommitValues::Delta) || keys.contains(&&**key) {
                return None;
            }
            keys.push(key);
            if before != Some(value) {
                rows.push(Row::new(path.clone(), Verb::Set, value.clone()));
            }
        }
        Some(rows)
    }

    fn single(&self, row: Option<Row>, only: &Staged, provenance: WriteProvenance) -> EncodedCommit {
        let Some(mut row) = row else { return EncodedCommit::default() };
        if provenance == WriteProvenance::ReadsPrefix {
            row.read_keys = Some(self.read_keys(only.reads_before));
        }
        let as_viewed = self.namespace().is_empty();
        if !as_viewed {
            row.path = self.namespace().join(&row.path);
        }
        EncodedCommit { rows: Box::new([row]), as_viewed, ..EncodedCommit::default() }
    }

    /// One record per distinct path, in first-touch order; and for each operation the position of its record.
    fn touches(&self) -> (SmallVec<[Touch<'_>; 1]>, SmallVec<[usize; 4]>) {
        /// From this many operations on, paths are found through a table.
        const INDEXED: usize = 12;
        let mut touches: SmallVec<[Touch<'_>; 1]> = SmallVec::with_capacity(self.ops.len().min(INDEXED));
        let mut touched: SmallVec<[usize; 4]> = SmallVec::with_capacity(self.ops.len());
        let mut table: Option<HashMap<&Path, usize>> = (self.ops.len() > INDEXED).then(HashMap::new);
        for (at, staged) in self.ops.iter().enumerate() {
            let path = staged.op.path();
            let known = match &table {
                Some(table) => table.get(path).copied(),
                None => touches.iter().position(|touch| touch.path == path),
            };
            let place = known.unwrap_or_else(|| {
                if let Some(table) = &mut table {
                    table.insert(path, touches.len());
                }
                touches.push(Touch::new(path));
                touches.len() - 1
            });
            touched.push(place);
            if let Some(touch) = touches.get_mut(place) {
                touch.add(at, staged);
            }
        }
        for touch in &mut touches {
            touch.after = self.view().walk(touch.path.segments()).cloned();
            touch.changed = self.differs(touch);
        }
        (touches, touched)
    }

    fn differs(&self, touch: &Touch<'_>) -> bool {
        match (self.before(touch.path), &touch.after) {
            // A list that was only pushed to differs exactly when it grew: no comparison.
            (Some(Value::Array(before)), Some(Value::Array(after))) if touch.only_pushes => {
                before.len() != after.len()
            }
            (before, after) => before != after.as_ref(),
        }
    }

    fn full_rows(&self, touches: &[Touch<'_>], touched: &[usize], redaction: Redaction<'_>) -> Vec<Row> {
        let touch_of = |place: &usize| touches.get(*place).filter(|touch| touch.changed);
        let changing = self.ops.iter().zip(touched).filter_map(|(staged, at)| Some((staged, touch_of(at)?)));
        changing.map(|(staged, touch)| touch.full_row(staged, redaction)).collect()
    }

    fn delta_rows(&self, touches: &[Touch<'_>], redaction: Redaction<'_>, nested: bool) -> Vec<Row> {
        let mut survivors: SmallVec<[&Touch<'_>; 4]> = touches.iter().filter(|touch| touch.changed).collect();
        survivors.sort_by_key(|touch| touch.last);
        let rows = survivors.iter().map(|touch| self.delta_row(touch, redaction)).collect();
        if nested { family::as_whole_values(&survivors, rows) } else { rows }
    }

    fn delta_row(&self, touch: &Touch<'_>, redaction: Redaction<'_>) -> Row {
        let path = touch.path;
        let Some(after) = &touch.after else { return Row::new(path.clone(), Verb::Delete, Value::Null) };
        if redaction.needs_whole_value(path, after) {
            return Row::new(path.clone(), Verb::Set, after.clone());
        }
        let before = self.before(path);
        if touch.only_merges
            && self.visible_before(path)
            && let Some(delta) = &touch.delta
            && (touch.count == 1 || merged(before, delta) == *after)
        {
            return Row::new(path.clone(), Verb::Merge, delta.clone());
        }
        if let (Some(Value::Array(before)), Value::Array(after)) = (before, after)
            && before.len() < after.len()
            && (touch.only_pushes || before.is_prefix_of(after))
        {
            let tail = self.pushed(touch).cloned().unwrap_or_else(|| after.tail(before.len()));
            return Row::new(path.clone(), Verb::Append, Value::Array(tail));
        }
        Row::new(path.clone(), Verb::Set, after.clone())
    }

    /// The items of a path's only operation, when that was a push.
    fn pushed(&self, touch: &Touch<'_>) -> Option<&Array> {
        match &self.ops.get(touch.last)?.op {
            StagedOp::Push { items, .. } if touch.count == 1 => Some(items),
            _ => None,
        }
    }

    /// Under `full` the rows of a path stand in the order of its operations, and each has the prefix of its own
    /// one; otherwise, and for a row without an operation of its own, it is the prefix of the path's last.
    fn add_provenance(&self, touches: &[Touch<'_>], rows: &mut [Row], dial: CommitValues) {
        let mut last: HashMap<&Path, u32> = HashMap::new();
        let mut each: HashMap<&Path, VecDeque<u32>> = HashMap::new();
        for touch in touches {
            last.insert(touch.path, touch.reads_before);
        }
        if dial == CommitValues::Full {
            for staged in &self.ops {
                each.entry(staged.op.path()).or_default().push_back(staged.reads_before);
            }
        }
        let mut known: HashMap<u32, Arc<[Str]>> = HashMap::new();
        for row in rows {
            let own = each.get_mut(&row.path).and_then(VecDeque::pop_front);
            let count = own.or_else(|| last.get(&row.path).copied()).unwrap_or(u32::MAX);
            row.read_keys = Some(known.entry(count).or_insert_with(|| self.read_keys(count)).clone());
        }
    }

    /// Namespace and log form.
    fn finish(&self, mut rows: Vec<Row>, redaction: Redaction<'_>, as_viewed: bool) -> EncodedCommit {
        let namespace = self.namespace();
        if redaction.is_idle() {
            if !namespace.is_empty() {
                for row in &mut rows {
                    row.path = namespace.join(&row.path);
                }
            }
            return EncodedCommit { rows: rows.into(), as_viewed, ..EncodedCommit::default() };
        }
        let mut redacted: Vec<Path> = Vec::new();
        let mut seen: HashSet<Path> = HashSet::new();
        let mut log_rows = rows.clone();
        for (row, log_row) in rows.iter_mut().zip(&mut log_rows) {
            let path = namespace.join(&row.path);
            if row.verb != Verb::Delete {
                let mut found = |found: Path| {
                    let found = namespace.join(&found);
                    if seen.insert(found.clone()) {
                        redacted.push(found);
                    }
                };
                log_row.value = redaction.log(&row.path, &row.value, &mut found).value;
            }
            row.path = path.clone();
            log_row.path = path;
        }
        if redacted.is_empty() {
            return EncodedCommit { rows: rows.into(), as_viewed, ..EncodedCommit::default() };
        }
        Bundle::settle_rows(&mut log_rows);
        EncodedCommit {
            rows: log_rows.into(),
            redacted_paths: redacted.into(),
            real: Some(rows.into()),
            as_viewed,
        }
    }
}

impl<'a> Touch<'a> {
    fn new(path: &'a Path) -> Self {
        Self {
            path,
            after: None,
            changed: false,
            reads_before: 0,
            last: 0,
            count: 0,
            only_pushes: true,
            only_merges: true,
            has_merge: false,
            last_set: None,
            delta: None,
            delta_ended: false,
        }
    }

    fn add(&mut self, at: usize, staged: &Staged) {
        self.last = at;
        self.count += 1;
        self.reads_before = staged.reads_before;
        self.only_pushes &= matches!(staged.op, StagedOp::Push { .. });
        self.only_merges &= matches!(staged.op, StagedOp::Merge { .. });
        match &staged.op {
            StagedOp::Merge { patch, .. } => {
                self.has_merge = true;
                let before = self.delta.take().filter(|_| !self.delta_ended);
                self.delta = Some(combined(before, patch));
                self.delta_ended = false;
            }
            StagedOp::Set { value, .. } => {
                self.last_set = Some(value.clone());
                self.delta_ended = true;
            }
            StagedOp::Push { items, .. } => {
                self.last_set = Some(Value::Array(items.clone()));
                self.delta_ended = true;
            }
            StagedOp::Delete { .. } => self.delta_ended = true,
        }
    }

    /// The row of one operation under `full`. Rows of one path share one value, as in the recorded form: a path
    /// that ends up removed has none, so each of its rows is a delete.
    fn full_row(&self, staged: &Staged, redaction: Redaction<'_>) -> Row {
        let path = self.path.clone();
        let Some(after) = &self.after else { return Row::new(path, Verb::Delete, Value::Null) };
        match &staged.op {
            StagedOp::Delete { .. } => Row::new(path, Verb::Delete, Value::Null),
            StagedOp::Merge { patch, .. } if !redaction.needs_whole_value(&path, after) => {
                Row::new(path, Verb::Merge, self.delta.as_ref().unwrap_or(patch).clone())
            }
            // With a merge behind it, the set wrote less than what the path ends up with.
            StagedOp::Set { .. } | StagedOp::Push { .. } if self.has_merge => {
                Row::new(path, Verb::Set, self.last_set.clone().unwrap_or_default())
            }
            StagedOp::Set { .. } | StagedOp::Push { .. } | StagedOp::Merge { .. } => {
                Row::new(path, Verb::Set, after.clone())
            }
        }
    }
}
