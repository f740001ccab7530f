//! The limits of an answer, as text under it (EVD-131).

use std::fmt::Write as _;

use agentfootprint_record::events::shared::CoverageItem;
use footprint::value::{Array, Value};

use super::lists::CoverageLists;
use super::notes::COVERAGE_BLOCK_HEADING;

/// Lines of a section before the rest is only counted.
const LINES: usize = 12;

/// What all rows of `coverageDeclared` say together, in the order they landed; an entry with the same `what` and `why` once.
pub fn declared_coverage(rows: &Array) -> CoverageLists {
    CoverageLists::folded(rows.iter().map(CoverageLists::read_row))
}

/// The block of limits that the rows of `coverageDeclared` make; none when they declare nothing. At most 12 lines a section, then
/// how many more there are.
///
/// ```
/// use agentfootprint_core::tools::coverage_block;
/// let rows = footprint::value!([{ "kind": "ledger", "checked": [{ "what": "aisles 1-6" }],
///     "notChecked": [], "cannotCover": [{ "what": "cold store", "why": "no scanner" }] }]);
/// let block = coverage_block(rows.as_array().unwrap()).unwrap();
/// assert!(block.starts_with("Coverage of this answer"));
/// assert!(block.ends_with("Checked\n- aisles 1-6\n\nCannot cover\n- cold store — no scanner"));
/// ```
pub fn coverage_block(rows: &Array) -> Option<String> {
    let lists = declared_coverage(rows);
    if lists.is_empty() {
        return None;
    }
    let mut out =
        format!("{COVERAGE_BLOCK_HEADING}, as its tools declared it; the model did not write this.");
    section(&mut out, "Checked", &lists.checked);
    section(&mut out, "Not checked", &lists.not_checked);
    section(&mut out, "Cannot cover", &lists.cannot_cover);
    Some(out)
}

/// The answer with its limits under it; the answer as it is when nothing was declared, the block alone when it says nothing.
pub(crate) fn with_limits(answer: &str, rows: &Array) -> Option<String> {
    let block = coverage_block(rows)?;
    let answer = answer.trim_end();
    Some(if answer.is_empty() { block } else { format!("{answer}\n\n---\n\n{block}") })
}

fn section(out: &mut String, title: &str, items: &[CoverageItem]) {
    if items.is_empty() {
        return;
    }
    let _ = write!(out, "\n\n{title}");
    for item in items.iter().take(LINES) {
        let _ = write!(out, "\n- {}", one_line(&item.what));
        if let Some(why) = &item.why {
            let _ = write!(out, " — {}", one_line(why));
        }
    }
    if let Some(more) = items.len().checked_sub(LINES).filter(|more| *more > 0) {
        let _ = write!(out, "\n- and {more} more, which the record holds");
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl CoverageLists {
    /// The lists of a row of `coverageDeclared`.
    fn read_row(row: &Value) -> Self {
        Self::read_named(row, ["checked", "notChecked", "cannotCover"])
    }
}
