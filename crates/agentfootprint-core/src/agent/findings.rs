//! The one function every seam files an integrity finding through (EVD-420, EVD-421).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::IntegrityContextError;
use agentfootprint_record::events::words::Word as _;
use agentfootprint_record::text::{canonical_json, utf16_cmp};
use footprint::error::StageError;
use footprint::value::{Array, Value};

use crate::run::StageCx;

/// Files a finding: one event per identity per run, however often it is detected again.
pub(crate) fn file(cx: &StageCx, finding: IntegrityContextError) -> Result<(), StageError> {
    let identity = Value::from(identity(&finding));
    let mut filed = cx.list(state::INTEGRITY_FINDING_IDS)?;
    if filed.iter().any(|known| *known == identity) {
        return Ok(());
    }
    filed.push(identity);
    cx.set(state::INTEGRITY_FINDING_IDS, filed)?;
    cx.emit(|| finding);
    Ok(())
}

/// What makes two findings the same one. It ignores the epoch: the same defect on a later iteration is one finding.
pub(crate) fn identity(finding: &IntegrityContextError) -> String {
    let mut subjects: Vec<(&str, &str)> =
        finding.subjects.iter().map(|subject| (&*subject.kind, &*subject.id)).collect();
    subjects.sort_by(|a, b| utf16_cmp(a.0, b.0).then_with(|| utf16_cmp(a.1, b.1)));
    let subjects: Array = subjects
        .into_iter()
        .map(|(kind, id)| Value::from([Value::from(kind), Value::from(id)].into_iter().collect::<Array>()))
        .collect();
    let predicate = finding.predicate.clone().map_or(Value::Null, Value::from);
    let parts: Array = [
        Value::from(finding.kind.word()),
        Value::from(finding.seam.word()),
        Value::from(subjects),
        predicate,
    ]
    .into_iter()
    .collect();
    canonical_json(&Value::from(parts))
}
