//! Labelled intervals over commit positions (OBS-73, OBS-74).

use std::cmp::Reverse;

/// End of an open range, for ordering: later than every closed one.
const OPEN: usize = usize::MAX;

/// One interval; `end` is inclusive, `None` while it is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRange<L> {
    /// What the interval is.
    pub label: L,
    /// First commit position.
    pub start: usize,
    /// Last commit position.
    pub end: Option<usize>,
}

/// Names an opened range; stale after [`CommitRangeIndex::clear`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeToken {
    generation: u64,
    slot: usize,
}

/// Intervals that can be asked which of them hold a commit position.
///
/// ```
/// use footprint::stores::CommitRangeIndex;
/// let mut index = CommitRangeIndex::new();
/// let run = index.open("run", 0);
/// let call = index.open("call", 2);
/// assert!(index.close(call, 4));
/// assert!(!index.close(call, 5)); // already closed
/// let around: Vec<_> = index.enclosing(3).iter().map(|r| r.label).collect();
/// assert_eq!(around, ["run", "call"]); // outer first
/// # let _ = run;
/// ```
#[derive(Clone, Debug)]
pub struct CommitRangeIndex<L> {
    generation: u64,
    ranges: Vec<CommitRange<L>>,
    /// Slots by ascending start.
    order: Vec<usize>,
    /// Place of each slot in `order`.
    place: Vec<usize>,
    /// Max-end tree over `order`: leaf `i` at `width + i`, parent of `n` at `n / 2`. Holds `end + 1`, 0 where there is no range.
    tree: Vec<usize>,
    width: usize,
}

impl<L> Default for CommitRangeIndex<L> {
    fn default() -> Self {
        Self { generation: 0, ranges: vec![], order: vec![], place: vec![], tree: vec![0; 2], width: 1 }
    }
}

impl<L> CommitRangeIndex<L> {
    /// An index without ranges.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a range at a commit position. Usually positions rise; one that does not costs a re-sort.
    pub fn open(&mut self, label: L, start: usize) -> RangeToken {
        let slot = self.ranges.len();
        self.ranges.push(CommitRange { label, start, end: None });
        let at = self.order.partition_point(|s| self.ranges.get(*s).is_some_and(|r| r.start <= start));
        self.order.insert(at, slot);
        self.place.push(at);
        if at == slot && slot < self.width {
            self.set_leaf(at, OPEN);
        } else {
            self.rebuild();
        }
        RangeToken { generation: self.generation, slot }
    }

    /// Closes a range, `end` included. A second close, a foreign or a stale token changes nothing and returns `false`.
    pub fn close(&mut self, token: RangeToken, end: usize) -> bool {
        if token.generation != self.generation {
            return false;
        }
        let Some(range) = self.ranges.get_mut(token.slot).filter(|r| r.end.is_none()) else { return false };
        range.end = Some(end);
        if let Some(at) = self.place.get(token.slot).copied() {
            self.set_leaf(at, end.saturating_add(1));
        }
        true
    }

    /// Number of ranges, open ones included.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether there is no range.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// All ranges in order of opening.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &CommitRange<L>> {
        self.ranges.iter()
    }

    /// The range a token names.
    pub fn get(&self, token: RangeToken) -> Option<&CommitRange<L>> {
        (token.generation == self.generation).then(|| self.ranges.get(token.slot)).flatten()
    }

    /// Forgets all ranges; tokens handed out become stale.
    pub fn clear(&mut self) {
        *self = Self { generation: self.generation + 1, ..Self::default() };
    }

    /// Ranges that hold a commit position, outer ones first.
    pub fn enclosing(&self, idx: usize) -> Vec<&CommitRange<L>> {
        self.overlapping(idx, idx)
    }

    /// Ranges that share a position with `[from, to]`, outer ones first: start ascending, then end descending, open last to end.
    pub fn overlapping(&self, from: usize, to: usize) -> Vec<&CommitRange<L>> {
        let starts = self.order.partition_point(|s| self.ranges.get(*s).is_some_and(|r| r.start <= to));
        let mut found = Vec::new();
        let mut pending = vec![(1_usize, 0_usize, self.width)];
        while let Some((node, low, span)) = pending.pop() {
            let reaches = self.tree.get(node).is_some_and(|end| *end > from);
            if low >= starts || !reaches {
                continue;
            }
            if span == 1 {
                found.extend(self.order.get(low).and_then(|s| self.ranges.get(*s)));
                continue;
            }
            let half = span / 2;
            pending.push((2 * node + 1, low + half, half));
            pending.push((2 * node, low, half));
        }
        found.sort_by_key(|r| (r.start, Reverse(r.end.unwrap_or(OPEN))));
        found
    }

    fn set_leaf(&mut self, at: usize, end: usize) {
        let mut node = self.width + at;
        if let Some(leaf) = self.tree.get_mut(node) {
            *leaf = end;
        }
        while node > 1 {
            node /= 2;
            let child = |i: usize| self.tree.get(i).copied().unwrap_or(0);
            let max = child(2 * node).max(child(2 * node + 1));
            if let Some(inner) = self.tree.get_mut(node) {
                *inner = max;
            }
        }
    }

    fn rebuild(&mut self) {
        self.width = self.ranges.len().next_power_of_two().max(1) * 2;
        self.tree = vec![0; 2 * self.width];
        for (at, slot) in self.order.iter().enumerate() {
            if let Some(place) = self.place.get_mut(*slot) {
                *place = at;
            }
            let end = self.ranges.get(*slot).and_then(|r| r.end).map_or(OPEN, |e| e.saturating_add(1));
            if let Some(leaf) = self.tree.get_mut(self.width + at) {
                *leaf = end;
            }
        }
        for node in (1..self.width).rev() {
            let child = |i: usize| self.tree.get(i).copied().unwrap_or(0);
            let max = child(2 * node).max(child(2 * node + 1));
            if let Some(inner) = self.tree.get_mut(node) {
                *inner = max;
            }
        }
    }
}
