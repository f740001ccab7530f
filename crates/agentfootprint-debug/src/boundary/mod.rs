//! When each thing was crossed, on the commit axis: the rows of the boundary recorder, and questions to them (REC §4.1).
//!
//! | file | idea |
//! |---|---|
//! | `row` | one crossing, read leniently |
//! | `range` | an entry joined with its exit; a range that never closed stays open, and says so |
//! | `totals` | tokens, calls and time of what lies inside a range |
//!
//! ```
//! use agentfootprint_debug::boundary::Boundaries;
//! use footprint::value;
//!
//! let rows = Boundaries::from_rows(&value!([
//!     { "type": "run.entry", "runtimeStageId": "__root__#0", "subflowPath": ["__root__"], "commitIdxBefore": 0 },
//!     { "type": "subflow.entry", "runtimeStageId": "sf-tools#3", "subflowPath": ["__root__", "sf-tools"],
//!       "subflowId": "sf-tools", "subflowName": "Tools", "slotKind": "tools", "commitIdxBefore": 4 },
//! ]));
//! let open = rows.enclosing(7);
//! assert_eq!(open.iter().map(|range| range.label.as_str()).collect::<Vec<_>>(), ["run", "Tools"]);
//! assert!(open.iter().all(|range| range.is_open())); // the run failed or paused inside
//! ```

mod range;
mod row;
#[cfg(test)]
mod tests;
mod totals;

use agentfootprint_record::recording::Recording;
use footprint::value::Value;

pub use range::{Range, RangeKind};
pub use row::{Row, RowKind};
pub use totals::{Tokens, Totals};

/// The boundary rows of one run, in order.
#[derive(Clone, Debug, Default)]
pub struct Boundaries {
    rows: Vec<Row>,
    ranges: Vec<Range>,
}

impl Boundaries {
    /// The rows of a recording; `None` when no boundary recorder was attached.
    #[must_use]
    pub fn of(recording: &Recording) -> Option<Self> {
        let row = recording.snapshot.recorders.iter().find(|row| &*row.name == "BoundaryEvents")?;
        Some(Self::from_rows(&row.data))
    }

    /// Reads a list of rows: what a live recorder has so far, or what a file holds. A row that is no object is left out.
    #[must_use]
    pub fn from_rows(rows: &Value) -> Self {
        let rows: Vec<Row> =
            rows.as_array().map(|rows| rows.iter().filter_map(Row::read).collect()).unwrap_or_default();
        let ranges = range::join(&rows);
        Self { rows, ranges }
    }

    /// Every row, in order.
    #[must_use]
    pub fn events(&self) -> &[Row] {
        &self.rows
    }

    /// The rows of one kind.
    pub fn by_type(&self, kind: RowKind) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.kind == kind)
    }

    /// The run, subflows, compositions, model calls and tool calls as ranges, in order of their entries.
    #[must_use]
    pub fn boundaries(&self) -> &[Range] {
        &self.ranges
    }

    /// What a walk-through stops at: everything but the exits.
    pub fn steps(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.kind.is_exit())
    }

    /// The same without the agents' own machinery (REC-41).
    pub fn visible_steps(&self) -> impl Iterator<Item = &Row> {
        self.steps().filter(|row| !row.is_internal())
    }

    /// The range that began at a step; of several (a composition and its stage share one) the outermost.
    #[must_use]
    pub fn boundary(&self, runtime_stage_id: &str) -> Option<&Range> {
        self.ranges.iter().find(|range| range.runtime_stage_id == runtime_stage_id)
    }

    /// The range of the run.
    #[must_use]
    pub fn root(&self) -> Option<&Range> {
        self.ranges.iter().find(|range| range.kind == RangeKind::Run)
    }

    /// The visits of the three slots.
    pub fn slot_boundaries(&self) -> impl Iterator<Item = &Range> {
        self.ranges.iter().filter(|range| range.slot.is_some())
    }

    /// The ranges a commit lies in, outermost first. Commit `n` lies between a crossing at `n` and one at `n + 1`.
    #[must_use]
    pub fn enclosing(&self, commit: u64) -> Vec<&Range> {
        let mut around: Vec<&Range> =
            self.ranges.iter().filter(|range| range.from <= commit && range.ends_after(commit)).collect();
        around.sort_by_key(|range| range.path.len());
        around
    }

    /// The ranges that share at least one commit with `commits`.
    pub fn overlapping(&self, commits: std::ops::Range<u64>) -> impl Iterator<Item = &Range> {
        self.ranges
            .iter()
            .filter(move |range| range.from < commits.end && range.ends_after(commits.start.max(range.from)))
    }

    /// Ranges that opened and never closed: where a failed or paused run stood.
    pub fn open(&self) -> impl Iterator<Item = &Range> {
        self.ranges.iter().filter(|range| range.is_open())
    }

    /// What happened inside a range, added up by path prefix.
    #[must_use]
    pub fn totals(&self, range: &Range) -> Totals {
        totals::of(self, range)
    }
}
