use std::fmt;

use footprint::snapshot::RecorderRow;
use footprint::value::Value;

use super::{EnvelopeHeader, Recording};

/// Something an opened recording cannot say, stated up front (REC-30). A view that needs it says so instead
/// of showing an empty answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// No chart: it can be queried but not drawn.
    NoStructure,
    /// There is a chart, but it could not be read.
    StructureUnreadable {
        /// Why.
        reason: String,
    },
    /// No typed events.
    NoEvents,
    /// Some rows of `events` are no events.
    EventsUnreadable {
        /// How many.
        count: usize,
    },
    /// The oldest events were dropped before the recording was made.
    EventsDropped {
        /// How many.
        count: u64,
    },
    /// No rows of the boundary recorder.
    NoBoundaries,
    /// Boundary rows without payloads.
    LeanBoundaries,
    /// Boundary rows that all stand before commit 0, although there are more commits.
    CommitAxisFlat,
    /// No narrative.
    NoNarrative,
    /// No recorded control dependencies: slices use the tree, and say so.
    NoControlDeps,
    /// No initial state: folds start from `{}` and hold only what the log wrote.
    NoFoldBase,
    /// Rows of the commit log that could not be read; they keep their positions and contribute nothing.
    CommitGaps {
        /// How many.
        count: usize,
    },
}

impl Limit {
    /// The stable word.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoStructure => "no-structure",
            Self::StructureUnreadable { .. } => "structure-unreadable",
            Self::NoEvents => "no-events",
            Self::EventsUnreadable { .. } => "events-unreadable",
            Self::EventsDropped { .. } => "events-dropped",
            Self::NoBoundaries => "no-boundaries",
            Self::LeanBoundaries => "lean-boundaries",
            Self::CommitAxisFlat => "commit-axis-flat",
            Self::NoNarrative => "no-narrative",
            Self::NoControlDeps => "no-control-deps",
            Self::NoFoldBase => "no-fold-base",
            Self::CommitGaps { .. } => "commit-gaps",
        }
    }
}

/// The word, with its number where it has one: `events-dropped(12)`.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EventsDropped { count } => write!(f, "{}({count})", self.code()),
            Self::EventsUnreadable { count } | Self::CommitGaps { count } => {
                write!(f, "{}({count})", self.code())
            }
            Self::StructureUnreadable { reason } => write!(f, "{}({reason})", self.code()),
            _ => f.write_str(self.code()),
        }
    }
}

/// The boundary recorder's row.
const BOUNDARY_ROW: &str = "BoundaryEvents";
/// The row of recorded control dependencies (OBS-57).
const CONTROL_ROW: &str = "ControlDeps";

/// What a recording cannot say, in a fixed order.
pub(super) fn limits_of(
    recording: &Recording,
    header: Option<&EnvelopeHeader>,
    structure_problem: Option<String>,
) -> Vec<Limit> {
    let mut limits = Vec::new();
    match (structure_problem, &recording.structure) {
        (Some(reason), _) => limits.push(Limit::StructureUnreadable { reason }),
        (None, None) => limits.push(Limit::NoStructure),
        (None, Some(_)) => {}
    }
    if recording.events.is_none() {
        limits.push(Limit::NoEvents);
    }
    let unreadable = recording.events().iter().filter(|event| event.kind().is_err()).count();
    if unreadable > 0 {
        limits.push(Limit::EventsUnreadable { count: unreadable });
    }
    let dropped = header.and_then(|header| header.run().ok()).map_or(0, |run| run.dropped_events);
    if dropped > 0 {
        limits.push(Limit::EventsDropped { count: dropped });
    }
    boundary_limits(recording, &mut limits);
    let rows = &recording.snapshot.recorders;
    if !rows.iter().any(is_narrative) {
        limits.push(Limit::NoNarrative);
    }
    if !rows.iter().any(|row| &*row.name == CONTROL_ROW) {
        limits.push(Limit::NoControlDeps);
    }
    if recording.snapshot.initial_state.is_none() {
        limits.push(Limit::NoFoldBase);
    }
    let gaps = recording.snapshot.commit_log.gaps().len();
    if gaps > 0 {
        limits.push(Limit::CommitGaps { count: gaps });
    }
    limits
}

fn boundary_limits(recording: &Recording, limits: &mut Vec<Limit>) {
    let Some(row) = recording.snapshot.recorders.iter().find(|row| &*row.name == BOUNDARY_ROW) else {
        limits.push(Limit::NoBoundaries);
        return;
    };
    let mode = row.meta.as_ref().and_then(|meta| meta.get("mode")).and_then(Value::as_str);
    if mode == Some("lean") {
        limits.push(Limit::LeanBoundaries);
    }
    let mut positions = row
        .data
        .as_array()
        .into_iter()
        .flat_map(|rows| rows.iter())
        .filter_map(|row| row.get("commitIdxBefore").and_then(Value::as_u64))
        .peekable();
    let said = positions.peek().is_some();
    if said && recording.snapshot.commit_log.len() > 1 && positions.all(|position| position == 0) {
        limits.push(Limit::CommitAxisFlat);
    }
}

/// A narrative is known by its shape: its first row has a text and a depth (REC-31).
fn is_narrative(row: &RecorderRow) -> bool {
    row.data.at(0).is_some_and(|first| {
        matches!(first.get("text"), Some(Value::String(_)))
            && matches!(first.get("depth"), Some(Value::Number(_)))
    })
}
