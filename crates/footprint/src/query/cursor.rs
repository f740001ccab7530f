//! Walking through time (OBS-178).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexSet;

use super::{LogView, QueryError, StateKey, SubflowView, TraceQuery};
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::state::{Path, apply_bundle};
use crate::value::{Object, Str, Value};

/// What a stop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopKind {
    /// Before everything.
    Start,
    /// One step.
    Step,
    /// After everything.
    End,
}

/// One place to stand. Stops partition the log: each commit belongs to exactly one.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// What it is.
    pub kind: StopKind,
    /// Which leg of a chained axis (0 for a single run); commit positions are per leg.
    pub leg: usize,
    /// The step.
    pub step: Option<RuntimeStageId>,
    /// Its commits: the step's first one, and continuations of earlier steps up to the next step's first one.
    pub commits: Range<usize>,
}

/// Why a move did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveMiss {
    /// The end of the axis was in the way.
    Clamped,
    /// There is no such stop.
    Miss,
    /// There is nothing to stop at.
    Empty,
}

impl MoveMiss {
    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Clamped => "clamped",
            Self::Miss => "miss",
            Self::Empty => "empty",
        }
    }
}

/// A move's answer. One that did not arrive did not move.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// The cursor stands there now.
    Moved,
    /// It stands where it stood.
    Stayed {
        /// Why.
        reason: MoveMiss,
        /// The nearest stop, when there is one.
        nearest: Option<usize>,
    },
}

/// A reader's place in a recording. The state there is kept; stepping forward applies one stop's commits.
///
/// ```
/// use std::sync::Arc;
/// use footprint::query::{Cursor, LogParts, LogView, Move};
/// let mut cursor = Cursor::new(Arc::new(LogView::new(LogParts::default())));
/// assert_eq!(cursor.forward(), Move::Moved); // from start to end: nothing was committed
/// assert!(cursor.state().is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Cursor {
    legs: Vec<Arc<LogView>>,
    stops: Vec<Stop>,
    at: usize,
    state: Object,
    marks: HashMap<RuntimeStageId, Str>,
}

impl Cursor {
    /// At the start of one log.
    pub fn new(view: Arc<LogView>) -> Self {
        Self::over(vec![view])
    }

    /// At the start of several legs of one run, chained into one axis: a pause and its resume. `None` when execution indices do not rise
    /// from leg to leg, which also means that an address would occur in two of them.
    pub fn chain(legs: Vec<Arc<LogView>>) -> Option<Self> {
        let mut highest = None;
        for leg in &legs {
            let indices = || leg.steps().filter(|(id, _)| id.has_index()).map(|(id, _)| id.index());
            if let (Some(highest), Some(lowest)) = (highest, indices().min())
                && lowest <= highest
            {
                return None;
            }
            highest = highest.max(indices().max());
        }
        Some(Self::over(legs))
    }

    fn over(legs: Vec<Arc<LogView>>) -> Self {
        let mut stops = vec![Stop { kind: StopKind::Start, leg: 0, step: None, commits: 0..0 }];
        for (leg, view) in legs.iter().enumerate() {
            let steps: Vec<(RuntimeStageId, usize)> = view.steps().map(|(id, c)| (id.clone(), c.0)).collect();
            let first = steps.first().map_or(view.len(), |(_, c)| *c);
            // Damaged rows before the first step belong to what stands before it.
            if let Some(before) = stops.last_mut().filter(|_| first > 0) {
                if before.leg == leg {
                    before.commits.end = first;
                } else {
                    stops.push(Stop { kind: StopKind::Step, leg, step: None, commits: 0..first });
                }
            }
            let ends = steps.iter().skip(1).map(|(_, c)| *c).chain([view.len()]);
            for ((id, from), to) in steps.iter().zip(ends) {
                stops.push(Stop { kind: StopKind::Step, leg, step: Some(id.clone()), commits: *from..to });
            }
        }
        let leg = legs.len().saturating_sub(1);
        let end = legs.last().map_or(0, |v| v.len());
        stops.push(Stop { kind: StopKind::End, leg, step: None, commits: end..end });
        let mut cursor = Self { legs, stops, at: 0, state: Object::new(), marks: HashMap::new() };
        cursor.rebuild();
        cursor
    }

    /// All stops in order.
    pub fn stops(&self) -> &[Stop] {
        &self.stops
    }

    /// The position among the stops.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Where the cursor stands.
    pub fn stop(&self) -> &Stop {
        // There is always a start; `over` made it.
        self.stops.get(self.at).unwrap_or_else(|| self.stops.last().unwrap_or(&BEFORE_ALL))
    }

    /// The state after this stop's commits.
    pub fn state(&self) -> &Object {
        &self.state
    }

    /// The value at a key after this stop's commits.
    pub fn value(&self, key: &StateKey) -> Option<&Value> {
        key.read(&self.state)
    }

    /// The log this stop belongs to.
    pub fn view(&self) -> Option<&LogView> {
        self.legs.get(self.stop().leg).map(|v| &**v)
    }

    /// To the next stop.
    pub fn forward(&mut self) -> Move {
        if self.at + 1 >= self.stops.len() {
            return self.stayed(MoveMiss::Clamped, Some(self.at));
        }
        self.at += 1;
        self.step_in();
        Move::Moved
    }

    /// To the previous stop.
    pub fn back(&mut self) -> Move {
        match self.at.checked_sub(1) {
            Some(before) => self.go(before),
            None => self.stayed(MoveMiss::Clamped, Some(0)),
        }
    }

    /// To the start.
    pub fn to_start(&mut self) -> Move {
        self.go(0)
    }

    /// To the end.
    pub fn to_end(&mut self) -> Move {
        self.go(self.stops.len().saturating_sub(1))
    }

    /// To a stop by position.
    pub fn to(&mut self, position: usize) -> Move {
        if position >= self.stops.len() {
            return self.stayed(MoveMiss::Clamped, self.stops.len().checked_sub(1));
        }
        self.go(position)
    }

    /// To a step.
    pub fn to_step(&mut self, step: &RuntimeStageId) -> Move {
        match self.stops.iter().position(|s| s.step.as_ref() == Some(step)) {
            Some(at) => self.go(at),
            None => {
                let index = step.index();
                let nearest = self.stops.iter().enumerate().filter_map(|(at, stop)| {
                    let other = stop.step.as_ref()?;
                    Some((other.index().0.abs_diff(index.0), at))
                });
                let nearest = nearest.min().map(|(_, at)| at);
                let reason = if self.stops.len() <= 2 { MoveMiss::Empty } else { MoveMiss::Miss };
                self.stayed(reason, nearest)
            }
        }
    }

    /// To the stop that holds a commit of the current leg.
    pub fn to_commit(&mut self, commit: CommitIdx) -> Move {
        let leg = self.stop().leg;
        let holds = |s: &Stop| s.leg == leg && s.commits.contains(&commit.0);
        match self.stops.iter().position(holds) {
            Some(at) => self.go(at),
            None => {
                let last = self.stops.iter().rposition(|s| s.leg == leg && !s.commits.is_empty());
                let reason = if last.is_none() { MoveMiss::Empty } else { MoveMiss::Clamped };
                self.stayed(reason, last)
            }
        }
    }

    /// To the next stop that writes a key.
    pub fn to_next_write(&mut self, key: &StateKey) -> Move {
        self.seek_write(key, true)
    }

    /// To the previous stop that writes a key.
    pub fn to_previous_write(&mut self, key: &StateKey) -> Move {
        self.seek_write(key, false)
    }

    fn seek_write(&mut self, key: &StateKey, forward: bool) -> Move {
        let writers: Vec<Vec<u32>> = self.legs.iter().map(|view| view.locate(key).all()).collect();
        let writes = |stop: &Stop| {
            let list = writers.get(stop.leg).map_or(&[][..], |w| w);
            let at = list.partition_point(|c| (*c as usize) < stop.commits.start);
            list.get(at).is_some_and(|c| stop.commits.contains(&(*c as usize)))
        };
        let found = if forward {
            let mut ahead = self.stops.iter().enumerate().skip(self.at + 1);
            ahead.find(|(_, s)| writes(s)).map(|(at, _)| at)
        } else {
            self.stops.iter().take(self.at).rposition(writes)
        };
        match found {
            Some(at) => self.go(at),
            None => {
                let any = self.stops.iter().position(writes);
                self.stayed(if any.is_none() { MoveMiss::Empty } else { MoveMiss::Miss }, any)
            }
        }
    }

    /// Paths written between another stop and this one, in order of first touch.
    pub fn changed_since(&self, position: usize) -> Vec<Path> {
        let (from, to) = (position.min(self.at), position.max(self.at));
        let mut changed: IndexSet<&Path> = IndexSet::new();
        for stop in self.stops.get(from + 1..=to).unwrap_or_default() {
            let Some(view) = self.legs.get(stop.leg) else { continue };
            for bundle in stop.commits.clone().filter_map(|c| view.log().get(c)) {
                changed.extend(bundle.rows.iter().map(|row| &row.path));
            }
        }
        changed.into_iter().cloned().collect()
    }

    /// Puts a note beside a step. Marks live beside the log and are keyed by step.
    pub fn mark(&mut self, step: RuntimeStageId, note: impl Into<Str>) {
        self.marks.insert(step, note.into());
    }

    /// The note beside a step.
    pub fn marked(&self, step: &RuntimeStageId) -> Option<&Str> {
        self.marks.get(step)
    }

    /// A separate cursor inside the mount the cursor stands at.
    ///
    /// # Errors
    /// [`QueryError::UnknownSubflow`] when this stop is no mount whose inner log is in the recording.
    pub fn drill(&self, query: &TraceQuery) -> Result<Self, QueryError> {
        let step = self.stop().step.as_ref().map(ToString::to_string).unwrap_or_default();
        let SubflowView { view, .. } = query.subflow(&step)?;
        Ok(Self::new(view))
    }

    fn stayed(&self, reason: MoveMiss, nearest: Option<usize>) -> Move {
        Move::Stayed { reason, nearest }
    }

    fn go(&mut self, position: usize) -> Move {
        match position.checked_sub(self.at) {
            Some(steps) if steps < 64 => {
                for _ in 0..steps {
                    self.at += 1;
                    self.step_in();
                }
            }
            _ => {
                self.at = position;
                self.rebuild();
            }
        }
        Move::Moved
    }

    /// Applies the commits of the stop just entered; a new leg starts from its own initial state.
    fn step_in(&mut self) {
        let stop = self.stop().clone();
        let Some(view) = self.legs.get(stop.leg).cloned() else { return };
        let new_leg =
            self.at.checked_sub(1).and_then(|b| self.stops.get(b)).is_some_and(|b| b.leg != stop.leg);
        if new_leg && let Some(initial) = view.initial_state() {
            self.state = initial.clone();
        }
        for bundle in stop.commits.filter_map(|c| view.log().get(c)) {
            apply_bundle(&mut self.state, bundle);
        }
    }

    fn rebuild(&mut self) {
        let stop = self.stop().clone();
        let through = stop.commits.end.checked_sub(1).map(CommitIdx);
        let base = self.legs.iter().take(stop.leg).rev();
        self.state = match self.legs.get(stop.leg) {
            Some(view) if view.initial_state().is_some() || stop.leg == 0 => view.state_at(through).state,
            // A later leg without an initial state goes on from what the earlier legs left.
            Some(view) => {
                let mut state =
                    base.map(|v| v.state_at(Some(CommitIdx(usize::MAX))).state).next().unwrap_or_default();
                for bundle in view.log().iter().take(stop.commits.end) {
                    apply_bundle(&mut state, bundle);
                }
                state
            }
            None => Object::new(),
        };
    }
}

/// Never reached: a cursor always has its two ends.
static BEFORE_ALL: Stop = Stop { kind: StopKind::Start, leg: 0, step: None, commits: 0..0 };
