//! Step 15: a result's declarations become events and rows of `coverageDeclared` (EVD-123, EVD-124).
//!
//! The one hook of every door: a result passes here once, on its way through `finish`. Calls run in call order, so the rows are in
//! call order.

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::{ToolsAbsent, ToolsCoverageDeclared};
use agentfootprint_record::events::shared::CoverageItem;
use footprint::error::StageError;
use footprint::value::{Object, Value};

use super::batch::Batch;
use super::call::Call;
use crate::tools::coverage::{CoverageFacts, CoverageKind, CoverageReading, items_value};

/// Files every declaration of a result: its row, then its event.
pub(super) fn declare(batch: &Batch, call: &Call, reading: &CoverageReading) -> Result<(), StageError> {
    let rows = reading.declared.iter().map(|facts| row(batch, call, facts));
    batch.cx.append(state::COVERAGE_DECLARED, rows)?;
    reading.declared.iter().for_each(|facts| tell(batch, call, facts));
    Ok(())
}

fn tell(batch: &Batch, call: &Call, facts: &CoverageFacts) {
    let (name, id, iteration) = (&call.name, &call.id, batch.iteration);
    let lists = &facts.lists;
    match facts.kind {
        CoverageKind::Absence => batch.cx.emit(|| {
            let mut event = ToolsAbsent::new(name.clone(), id.clone(), iteration, lists.checked.clone());
            event.looked_for = facts.looked_for.clone();
            event.not_checked = present(&lists.not_checked);
            event.cannot_cover = present(&lists.cannot_cover);
            event
        }),
        CoverageKind::Ledger => batch.cx.emit(|| {
            let mut event = ToolsCoverageDeclared::new(name.clone(), id.clone(), iteration);
            event.checked = present(&lists.checked);
            event.not_checked = present(&lists.not_checked);
            event.cannot_cover = present(&lists.cannot_cover);
            event
        }),
    }
}

fn present(list: &[CoverageItem]) -> Option<Vec<CoverageItem>> {
    (!list.is_empty()).then(|| list.to_vec())
}

/// A row has all three lists, whether or not anything is in them.
fn row(batch: &Batch, call: &Call, facts: &CoverageFacts) -> Value {
    let mut out = Object::new();
    out.insert("kind", Value::from(facts.kind.as_str()));
    out.insert("toolName", Value::from(call.name.clone()));
    out.insert("toolCallId", Value::from(call.id.clone()));
    out.insert("iteration", Value::from(batch.iteration));
    if let Some(looked_for) = &facts.looked_for {
        out.insert("lookedFor", Value::from(looked_for.clone()));
    }
    out.insert("checked", items_value(&facts.lists.checked));
    out.insert("notChecked", items_value(&facts.lists.not_checked));
    out.insert("cannotCover", items_value(&facts.lists.cannot_cover));
    Value::Object(out)
}
