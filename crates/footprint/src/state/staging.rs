use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::bundle::Untracked;
use super::keys::RUNS_KEY;
use super::path::Path;
use super::redact::MapperRead;
use crate::value::{Array, Object, Str, Value};
use crate::verbs::{Verb, apply, merged, set_at};

/// One operation a stage has staged, at a path relative to the frame's namespace.
#[derive(Debug, Clone, PartialEq)]
pub enum StagedOp {
    /// Replace.
    Set {
        /// Where.
        path: Path,
        /// The new value.
        value: Value,
    },
    /// Merge.
    Merge {
        /// Where.
        path: Path,
        /// What to merge.
        patch: Value,
    },
    /// Add items to the list that is there.
    Push {
        /// Where.
        path: Path,
        /// The new items.
        items: Array,
    },
    /// Remove.
    Delete {
        /// Where.
        path: Path,
    },
}

impl StagedOp {
    /// Where it applies.
    pub fn path(&self) -> &Path {
        match self {
            Self::Set { path, .. }
            | Self::Merge { path, .. }
            | Self::Push { path, .. }
            | Self::Delete { path } => path,
        }
    }

    pub(super) fn apply_to(&self, view: &mut Object) {
        match self {
            Self::Set { path, value } => set_at(view, path.segments(), value.clone()),
            Self::Merge { path, patch } => apply(view, path.segments(), Verb::Merge, patch),
            Self::Push { path, items } => push_at(view, path.segments(), items),
            Self::Delete { path } => apply(view, path.segments(), Verb::Delete, &Value::Null),
        }
    }
}

fn push_at(view: &mut Object, path: &[Str], items: &Array) {
    // An empty push changes nothing, not even a missing list into an empty one when it is there already.
    apply(view, path, Verb::Append, &Value::Array(items.clone()));
}

/// For messages and tests: verb, path, value.
impl fmt::Display for StagedOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set { path, value } => write!(f, "set {path} {value}"),
            Self::Merge { path, patch } => write!(f, "merge {path} {patch}"),
            Self::Push { path, items } => write!(f, "push {path} {items}"),
            Self::Delete { path } => write!(f, "delete {path}"),
        }
    }
}

/// An operation and what the frame knew about it.
#[derive(Debug, Clone)]
pub(super) struct Staged {
    pub(super) op: StagedOp,
    /// How many distinct keys had been tracked-read before it.
    pub(super) reads_before: u32,
}

/// A tracked read: the key, and the last value read.
#[derive(Debug, Clone)]
pub struct TrackedRead {
    /// The root key, as the stage named it.
    pub key: Str,
    /// The value read last; `None` when there was none.
    pub value: Option<Value>,
    /// How many segments of the frame's namespace the value was found under.
    found_under: u16,
}

/// What a write looks like to observers and in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriteOperation {
    /// A whole value.
    Set,
    /// A merge.
    Update,
    /// A removal.
    Delete,
}

impl WriteOperation {
    /// The recorded word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// The last write to one path of a visit.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteRecord {
    /// Where, relative to the namespace.
    pub path: Path,
    /// How.
    pub operation: WriteOperation,
    /// The value as the stage passed it (a pushed list: whole); `None` for a delete.
    pub value: Option<Value>,
}

/// What one frame owns while its stage runs: the pinned base, the staged view over it, and everything the
/// commit will be made of. Dropping it drops the attempt; nothing outside sees it before the commit.
///
/// `live` is always the level's committed state at this moment. The first call pins it as the base; keys
/// the base lacks are still looked up in it (ENG-66).
///
/// ```
/// use footprint::state::Staging;
/// use footprint::value;
/// use footprint::value::Object;
///
/// let live: Object = [("i", value!(1))].into_iter().collect();
/// let mut staging = Staging::default();
/// assert_eq!(staging.read(&live, "i"), Some(value!(1)));
/// staging.set(&live, "i", value!(2));
/// assert_eq!(staging.peek(&live, "i"), Some(value!(2)));
/// assert_eq!(live.get("i"), Some(&value!(1)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Staging {
    namespace: Path,
    /// The generation the frame began from.
    base: Option<Object>,
    /// The namespace's own part of it; the same object at root.
    pub(super) own: Object,
    /// `own` with the staged operations applied, once there are any.
    view: Option<Object>,
    pub(super) ops: SmallVec<[Staged; 1]>,
    reads: SmallVec<[TrackedRead; 1]>,
    /// Places in `reads`, once there are many.
    read_places: Option<HashMap<Str, u32>>,
    peeked: SmallVec<[Str; 1]>,
    untracked: Untracked,
    marked: SmallVec<[Path; 1]>,
}

/// From this many tracked keys on, they are found through a table.
const INDEXED_READS: usize = 16;

impl Staging {
    /// Staging of a frame in a namespace ([`Path::root`] at the level's root).
    pub fn new(namespace: Path) -> Self {
        Self { namespace, ..Self::default() }
    }

    /// Forgets everything the attempt staged, read and marked; the next touch pins anew (ENG-120).
    pub fn reset(&mut self) {
        let namespace = std::mem::take(&mut self.namespace);
        *self = Self::new(namespace);
    }

    /// The namespace writes go to.
    pub fn namespace(&self) -> &Path {
        &self.namespace
    }

    /// Pins the base, if no call did yet.
    pub fn pin(&mut self, live: &Object) {
        if self.base.is_none() {
            self.own = if self.namespace.is_empty() {
                live.clone()
            } else {
                live.walk(self.namespace.segments()).and_then(Value::as_object).cloned().unwrap_or_default()
            };
            self.base = Some(live.clone());
        }
    }

    /// Whether anything was read or written.
    pub fn is_touched(&self) -> bool {
        self.base.is_some()
    }

    /// Whether anything was written.
    pub fn has_writes(&self) -> bool {
        !self.ops.is_empty()
    }

    /// The generation the frame began from, once pinned.
    pub fn base(&self) -> Option<&Object> {
        self.base.as_ref()
    }

    /// The namespace's own state as the stage sees it: base and staged writes.
    pub fn view(&self) -> &Object {
        self.view.as_ref().unwrap_or(&self.own)
    }

    /// Reads a root key, tracked.
    pub fn read(&mut self, live: &Object, key: &str) -> Option<Value> {
        self.pin(live);
        let (found, under) = match self.find(live, key) {
            Some((shared, value, under)) => (Some((shared.clone(), value.clone())), under),
            None => (None, 0),
        };
        let (shared, value) = match found {
            Some((shared, value)) => (Some(shared), Some(value)),
            None => (None, None),
        };
        self.track(key, shared, value.clone(), under);
        value
    }

    /// Reads a root key without tracking it (ENG-85 `peek`); the commit says `silent` unless the visit also
    /// reads the key tracked.
    pub fn peek(&mut self, live: &Object, key: &str) -> Option<Value> {
        self.pin(live);
        if !self.peeked.iter().any(|known| **known == *key) {
            self.peeked.push(self.shared(key));
        }
        self.find(live, key).map(|(_, value, _)| value.clone())
    }

    /// Looks a root key up without leaving a trace; for the engine's own use.
    pub fn look(&self, live: &Object, key: &str) -> Option<Value> {
        self.find(live, key).map(|(_, value, _)| value.clone())
    }

    /// Own view, enclosing namespaces and root of the base; then the same places live. With the value goes
    /// the number of namespace segments it was found under.
    fn find<'a>(&'a self, live: &'a Object, key: &str) -> Option<(&'a Str, &'a Value, u16)> {
        let segments = self.namespace.segments();
        if let Some((shared, value)) = self.view().get_entry(key) {
            return Some((shared, value, segments.len() as u16));
        }
        let outer = segments.len().saturating_sub(2);
        if !segments.is_empty()
            && let Some(base) = &self.base
            && let Some(found) = find_outwards(base, segments, outer, key)
        {
            return Some(found);
        }
        if self.base.as_ref().is_some_and(|base| base.ptr_eq(live)) {
            return None;
        }
        // A key this stage removed must not come back through the state it was removed from.
        if segments.is_empty() {
            return if self.removed(key) { None } else { live.get_entry(key).map(|(k, v)| (k, v, 0)) };
        }
        let start = if self.removed(key) { outer } else { segments.len() };
        find_outwards(live, segments, start, key)
    }

    fn removed(&self, key: &str) -> bool {
        self.ops.iter().any(
            |staged| matches!(&staged.op, StagedOp::Delete { path } if path.len() == 1 && path.root_key() == Some(key)),
        )
    }

    fn track(&mut self, key: &str, shared: Option<Str>, value: Option<Value>, found_under: u16) {
        if let Some(known) = self.read_place(key).and_then(|at| self.reads.get_mut(at)) {
            known.value = value;
            known.found_under = found_under;
            return;
        }
        let key = shared.unwrap_or_else(|| self.shared(key));
        if self.reads.len() >= INDEXED_READS {
            let places = self.read_places.get_or_insert_with(|| {
                self.reads.iter().enumerate().map(|(at, read)| (read.key.clone(), at as u32)).collect()
            });
            places.insert(key.clone(), self.reads.len() as u32);
        }
        self.reads.push(TrackedRead { key, value, found_under });
    }

    fn read_place(&self, key: &str) -> Option<usize> {
        match &self.read_places {
            None => self.reads.iter().position(|read| *read.key == *key),
            Some(places) => places.get(key).map(|at| *at as usize),
        }
    }

    /// The tracked reads in first-read order, each with the last value read.
    pub fn reads(&self) -> &[TrackedRead] {
        &self.reads
    }

    /// Whether a key was read tracked.
    pub fn has_read(&self, key: &str) -> bool {
        self.read_place(key).is_some()
    }

    /// Shared text of a key: the one state already has, so that the common write allocates no key.
    fn shared(&self, key: &str) -> Str {
        let known = |object: &Object| object.get_entry(key).map(|(shared, _)| shared.clone());
        known(self.view()).or_else(|| self.base.as_ref().and_then(known)).unwrap_or_else(|| key.into())
    }

    /// Stages a whole value under a root key.
    pub fn set(&mut self, live: &Object, key: &str, value: Value) {
        self.pin(live);
        let path = Path::key(self.shared(key));
        self.stage(StagedOp::Set { path, value });
    }

    /// Stages a merge under a root key.
    pub fn merge(&mut self, live: &Object, key: &str, patch: Value) {
        self.pin(live);
        let path = Path::key(self.shared(key));
        self.stage(StagedOp::Merge { path, patch });
    }

    /// Stages new items of a list; gives the whole list as the stage now sees it.
    ///
    /// A list that so far only an enclosing namespace has is taken over whole, since a branch never writes
    /// outside its own namespace. Anything that is not a list is replaced.
    pub fn push(&mut self, live: &Object, key: &str, items: Array) -> Array {
        self.pin(live);
        let path = Path::key(self.shared(key));
        if matches!(self.view().get(key), Some(Value::Array(_))) {
            self.stage(StagedOp::Push { path, items });
        } else {
            let mut list = match self.find(live, key) {
                Some((_, Value::Array(list), _)) => list.clone(),
                _ => Array::new(),
            };
            list.extend(items.iter().cloned());
            self.stage(StagedOp::Set { path, value: list.into() });
        }
        self.view().get(key).and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// Stages the removal of a root key.
    pub fn delete(&mut self, live: &Object, key: &str) {
        self.pin(live);
        let path = Path::key(self.shared(key));
        self.stage(StagedOp::Delete { path });
    }

    /// Stages an operation as it is, nested paths included; what merge-backs and seeds use.
    pub fn apply(&mut self, live: &Object, op: StagedOp) {
        self.pin(live);
        self.stage(op);
    }

    fn stage(&mut self, op: StagedOp) {
        let view = self.view.get_or_insert_with(|| self.own.clone());
        op.apply_to(view);
        self.ops.push(Staged { op, reads_before: self.reads.len() as u32 });
    }

    /// The operations in order.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = &StagedOp> {
        self.ops.iter().map(|staged| &staged.op)
    }

    /// The last write per path, in first-write order: what `stageWrites` and the commit hook show.
    pub fn writes(&self) -> Vec<WriteRecord> {
        let mut records: Vec<WriteRecord> = Vec::with_capacity(self.ops.len());
        let mut places: Option<HashMap<&Path, usize>> = (self.ops.len() > INDEXED_READS).then(HashMap::new);
        for staged in &self.ops {
            let path = staged.op.path();
            let (operation, value) = match &staged.op {
                StagedOp::Set { value, .. } => (WriteOperation::Set, Some(value.clone())),
                StagedOp::Merge { patch, .. } => (WriteOperation::Update, Some(patch.clone())),
                StagedOp::Push { .. } => (WriteOperation::Set, self.view().walk(path.segments()).cloned()),
                StagedOp::Delete { .. } => (WriteOperation::Delete, None),
            };
            let record = WriteRecord { path: path.clone(), operation, value };
            let known = match &places {
                Some(places) => places.get(path).copied(),
                None => records.iter().position(|known| known.path == *path),
            };
            match known.and_then(|at| records.get_mut(at)) {
                Some(slot) => *slot = record,
                None => {
                    if let Some(places) = &mut places {
                        places.insert(path, records.len());
                    }
                    records.push(record);
                }
            }
        }
        records
    }

    /// Notes that the stage consumed non-empty arguments or a non-empty environment.
    pub fn note_untracked(&mut self, source: Untracked) {
        self.untracked.add(source);
    }

    /// The sources the commit names.
    pub fn untracked(&self) -> Untracked {
        let mut all = self.untracked;
        if self.peeked.iter().any(|key| !self.has_read(key)) {
            all.add(Untracked::SILENT);
        }
        all
    }

    /// Notes that values at a path are redacted in this visit's record, whatever happens to the run's mark
    /// before the commit.
    pub fn note_mark(&mut self, path: Path) {
        if !self.marked.contains(&path) {
            self.marked.push(path);
        }
    }

    /// The paths of [`note_mark`](Self::note_mark).
    pub fn marked(&self) -> &[Path] {
        &self.marked
    }

    /// Where tracked read number `at` was found: its canonical path.
    fn read_address(&self, read: &TrackedRead) -> Str {
        let under = self.namespace.segments().get(..usize::from(read.found_under)).unwrap_or_default();
        if under.is_empty() {
            return read.key.clone();
        }
        Path::new(under.iter().cloned()).child(read.key.clone()).wire().into()
    }

    /// What was read so far, as a mapper's reads: a function of a stage that hands values on to a mount is one (ENG-95).
    pub(crate) fn mapper_reads(&self) -> Vec<MapperRead> {
        let read = |read: &TrackedRead| {
            let path = Path::from_wire(&self.read_address(read));
            Some(MapperRead { path, value: read.value.clone()? })
        };
        self.reads.iter().filter_map(read).collect()
    }

    /// Canonical addresses of the first `count` tracked reads.
    pub(super) fn read_keys(&self, count: u32) -> Arc<[Str]> {
        self.reads.iter().take(count as usize).map(|read| self.read_address(read)).collect()
    }

    /// What a path held before the stage, in its own namespace.
    pub(super) fn before(&self, path: &Path) -> Option<&Value> {
        self.own.walk(path.segments())
    }

    /// Whether the stage could see anything under the path's root key when it began.
    pub(super) fn visible_before(&self, path: &Path) -> bool {
        let Some(key) = path.root_key() else { return false };
        let segments = self.namespace.segments();
        self.own.contains_key(key)
            || self.base.as_ref().is_some_and(|base| {
                find_outwards(base, segments, segments.len().saturating_sub(2), key).is_some()
            })
    }
}

/// Looks a key up in the namespace of the first `start` segments, then in each enclosing one, then at root.
fn find_outwards<'a>(
    state: &'a Object,
    namespace: &[Str],
    start: usize,
    key: &str,
) -> Option<(&'a Str, &'a Value, u16)> {
    let mut under = start;
    loop {
        let place = namespace.get(..under).unwrap_or_default();
        let object =
            if place.is_empty() { Some(state) } else { state.walk(place).and_then(Value::as_object) };
        if let Some((shared, value)) = object.and_then(|object| object.get_entry(key)) {
            return Some((shared, value, under as u16));
        }
        // A namespace is pairs of the reserved key and a child's id.
        under = under.checked_sub(2)?;
    }
}

/// Whether a path is a place parallel branches write to, and the rest of it inside the innermost one.
pub(super) fn inside_namespaces(path: &[Str]) -> &[Str] {
    match path {
        [runs, _child, rest @ ..] if **runs == *RUNS_KEY && !rest.is_empty() => inside_namespaces(rest),
        other => other,
    }
}

/// The merge of two patches that follow one another on one path.
pub(super) fn combined(first: Option<Value>, second: &Value) -> Value {
    match first {
        None => second.clone(),
        Some(first) => merged(Some(&first), second),
    }
}
