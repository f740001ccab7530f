//! Entries in order, many per step (OBS-66…70).

use std::collections::VecDeque;
use std::hash::Hash;
use std::ops::Range;

use foldhash::HashMap;

/// An entry that may belong to a step; one that does not is a marker.
pub trait HasStep {
    /// What identifies a step.
    type Step: Hash + Eq + Clone;
    /// The step this entry belongs to.
    fn step(&self) -> Option<&Self::Step>;
}

/// Whether a step is in view.
pub type Visible<'a, K> = &'a dyn Fn(&K) -> bool;

#[derive(Clone, Debug)]
struct StepIndex {
    /// The positions of a step that nobody interrupts, which is most of them.
    run: Range<usize>,
    /// Positions after the first interruption.
    scattered: VecDeque<usize>,
    range: Range<usize>,
}

impl StepIndex {
    fn push(&mut self, at: usize) {
        if self.scattered.is_empty() && self.run.end == at {
            self.run.end += 1;
        } else {
            self.scattered.push_back(at);
        }
        self.range.end = at + 1;
    }

    /// Forgets the first position; the one that is first then.
    fn pop(&mut self) -> Option<usize> {
        if self.run.next().is_none() {
            self.scattered.pop_front();
        }
        self.positions().next()
    }

    fn positions(&self) -> impl Iterator<Item = usize> {
        self.run.clone().chain(self.scattered.iter().copied())
    }
}

/// Entries in insertion order with O(1) access by step. Each entry is stored once and addressed by position.
///
/// ```
/// use footprint::stores::{HasStep, SequenceStore};
/// struct Line(Option<&'static str>, u32);
/// impl HasStep for Line {
///     type Step = &'static str;
///     fn step(&self) -> Option<&&'static str> { self.0.as_ref() }
/// }
/// let mut store = SequenceStore::new();
/// store.push(Line(Some("a#0"), 1));
/// store.push(Line(None, 2)); // a marker
/// store.push(Line(Some("b#1"), 3));
/// assert_eq!(store.range(&"a#0"), Some(0..2));
/// assert_eq!(store.by_step(&"a#0").count(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct SequenceStore<T: HasStep> {
    entries: VecDeque<T>,
    base: usize,
    cap: Option<usize>,
    steps: HashMap<T::Step, StepIndex>,
    last_step: Option<T::Step>,
}

impl<T: HasStep> Default for SequenceStore<T> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), base: 0, cap: None, steps: HashMap::default(), last_step: None }
    }
}

impl<T: HasStep> SequenceStore<T> {
    /// An empty store without a limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that keeps the newest `cap` entries (at least one); positions stay absolute.
    pub fn with_cap(cap: usize) -> Self {
        Self { cap: Some(cap.max(1)), ..Self::default() }
    }

    /// Appends an entry.
    pub fn push(&mut self, entry: T) {
        if self.cap.is_some_and(|cap| self.entries.len() >= cap) {
            self.drop_oldest();
        }
        let at = self.base + self.entries.len();
        match entry.step() {
            Some(step) => {
                match self.steps.get_mut(step) {
                    Some(index) => index.push(at),
                    None => {
                        let whole = at..at + 1;
                        let index =
                            StepIndex { run: whole.clone(), scattered: VecDeque::new(), range: whole };
                        self.steps.insert(step.clone(), index);
                    }
                }
                if self.last_step.as_ref() != Some(step) {
                    self.last_step = Some(step.clone());
                }
            }
            None => {
                if let Some(index) = self.last_step.as_ref().and_then(|s| self.steps.get_mut(s)) {
                    index.range.end = at + 1;
                }
            }
        }
        self.entries.push_back(entry);
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.entries.pop_front() else { return };
        self.base += 1;
        let Some(step) = oldest.step() else { return };
        let Some(index) = self.steps.get_mut(step) else { return };
        match index.pop() {
            Some(first) => index.range.start = first,
            None => {
                self.steps.remove(step);
                self.last_step.take_if(|last| last == step);
            }
        }
    }

    /// Entries held (dropped ones not counted).
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries the cap has dropped; also the absolute position of the first entry held.
    pub fn dropped(&self) -> usize {
        self.base
    }

    /// The entry at an absolute position.
    pub fn get(&self, position: usize) -> Option<&T> {
        self.entries.get(position.checked_sub(self.base)?)
    }

    /// All entries in order, without copying.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.entries.iter()
    }

    /// The entries of one step, in order. Exact, unlike [`SequenceStore::range`].
    pub fn by_step(&self, step: &T::Step) -> impl Iterator<Item = &T> {
        self.steps.get(step).into_iter().flat_map(StepIndex::positions).filter_map(|at| self.get(at))
    }

    /// Number of distinct steps.
    pub fn step_count(&self) -> usize {
        self.steps.len()
    }

    /// From a step's first entry to its last, markers after the last one included. With interleaved steps ranges overlap and hold
    /// other steps' entries: they are for scrubbing, [`SequenceStore::by_step`] is the exact door.
    pub fn range(&self, step: &T::Step) -> Option<Range<usize>> {
        self.steps.get(step).map(|i| i.range.clone())
    }

    /// The ranges of all steps, in no particular order.
    pub fn ranges(&self) -> impl Iterator<Item = (&T::Step, Range<usize>)> {
        self.steps.iter().map(|(step, i)| (step, i.range.clone()))
    }

    /// Reduces over all entries.
    pub fn aggregate<R>(&self, init: R, reduce: impl FnMut(R, &T) -> R) -> R {
        self.entries.iter().fold(init, reduce)
    }

    /// Reduces over the entries of visible steps; with a visible set, markers do not take part.
    pub fn accumulate<R>(
        &self,
        visible: Option<Visible<'_, T::Step>>,
        init: R,
        reduce: impl FnMut(R, &T) -> R,
    ) -> R {
        let shown = |entry: &&T| visible.is_none_or(|visible| entry.step().is_some_and(visible));
        self.entries.iter().filter(shown).fold(init, reduce)
    }

    /// The entries of visible steps in order; a marker stays only between two visible entries.
    pub fn up_to(&self, visible: impl Fn(&T::Step) -> bool) -> Vec<&T> {
        let mut out = Vec::new();
        let mut pending = Vec::new();
        for entry in &self.entries {
            match entry.step() {
                None if out.is_empty() => {}
                None => pending.push(entry),
                Some(step) if visible(step) => {
                    out.append(&mut pending);
                    out.push(entry);
                }
                Some(_) => {}
            }
        }
        out
    }

    /// Forgets everything, positions included.
    pub fn clear(&mut self) {
        *self = Self { cap: self.cap, ..Self::default() };
    }
}
