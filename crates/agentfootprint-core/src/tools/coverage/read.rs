//! Recognising the shapes in any JSON (EVD-110 to EVD-112): exact, total, and nothing is repaired.

use agentfootprint_record::events::words::ToolResultStatus;
use footprint::value::{Str, Value};

use super::key;
use super::lists::CoverageLists;
use super::notes::{ABSENCE_MARKER, COVERAGE_MARKER};

/// What a fact declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoverageKind {
    /// There is nothing, and this is where it was looked.
    Absence,
    /// There is something, and this is what it stands on.
    Ledger,
}

impl CoverageKind {
    /// The recorded word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Absence => "absence",
            Self::Ledger => "ledger",
        }
    }
}

/// One declaration found in a result.
#[derive(Clone, Debug, PartialEq)]
pub struct CoverageFacts {
    /// Absence or ledger.
    pub kind: CoverageKind,
    /// What an absence was looking for.
    pub looked_for: Option<Str>,
    /// The ground.
    pub lists: CoverageLists,
}

/// All a result declares.
#[derive(Clone, Debug, PartialEq)]
pub struct CoverageReading {
    /// The status it delivers, if any.
    pub status: Option<ToolResultStatus>,
    /// Its declarations, outermost first; never empty.
    pub declared: Vec<CoverageFacts>,
}

/// A ledger and what it stands beside.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerReading<'a> {
    /// The declaration.
    pub facts: CoverageFacts,
    /// The tool's own value.
    pub result: &'a Value,
}

/// Reads an absence: an object whose `af_absent` is exactly `true` and whose `checked` is a list that is not empty. Other keys
/// are the tool's own. Entries that are no items are left out.
///
/// ```
/// use agentfootprint_core::tools::{absent, read_absence};
/// let minted = absent("lot 7").checked("north").build()?.to_value();
/// assert_eq!(read_absence(&minted).unwrap().looked_for.as_deref(), Some("lot 7"));
/// assert!(read_absence(&footprint::value!({ "af_absent": 1, "checked": ["north"] })).is_none());
/// # Ok::<(), agentfootprint_core::tools::CoverageError>(())
/// ```
pub fn read_absence(value: &Value) -> Option<CoverageFacts> {
    let members = value.as_object()?;
    if members.get(ABSENCE_MARKER) != Some(&Value::Bool(true))
        || members.get("checked")?.as_array()?.is_empty()
    {
        return None;
    }
    Some(CoverageFacts {
        kind: CoverageKind::Absence,
        looked_for: members.get(key::LOOKED_FOR).and_then(Value::as_shared_str).cloned(),
        lists: CoverageLists::read(value),
    })
}

/// Reads a covered result: an object whose `af_coverage` is an object and which has a `result`.
pub fn read_ledger(value: &Value) -> Option<LedgerReading<'_>> {
    let members = value.as_object()?;
    let ledger = members.get(COVERAGE_MARKER)?;
    ledger.as_object()?;
    let result = members.get(key::RESULT)?;
    let facts =
        CoverageFacts { kind: CoverageKind::Ledger, looked_for: None, lists: CoverageLists::read(ledger) };
    Some(LedgerReading { facts, result })
}

/// Reads everything a result declares about its coverage; none when it declares nothing.
///
/// An absence deeper than directly under a ledger is ordinary data, and so is a text that holds JSON.
pub fn read_coverage(value: &Value) -> Option<CoverageReading> {
    if let Some(absence) = read_absence(value) {
        return Some(CoverageReading { status: Some(ToolResultStatus::Absent), declared: vec![absence] });
    }
    let ledger = read_ledger(value)?;
    let mut reading = CoverageReading { status: None, declared: vec![ledger.facts] };
    if let Some(absence) = read_absence(ledger.result) {
        reading.status = Some(ToolResultStatus::Absent);
        reading.declared.push(absence);
    }
    Some(reading)
}

/// What of a result is evidence, when it is not the whole of it (EVD-125): of an absence its three lists, of a ledger around an
/// absence the lists of both. What was looked for, what to try instead, the note and every other key ground nothing. None for
/// anything else: that is evidence as it stands.
pub fn absence_evidence_projection(value: &Value) -> Option<Value> {
    let lists = if let Some(absence) = read_absence(value) {
        absence.lists
    } else {
        let ledger = read_ledger(value)?;
        let absence = read_absence(ledger.result)?;
        CoverageLists::folded([ledger.facts.lists, absence.lists])
    };
    Some(Value::Object(lists.to_object()))
}
