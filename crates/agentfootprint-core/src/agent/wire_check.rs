//! Whether the request on the wire is the request that was recorded (EVD-431).

use std::collections::BTreeSet;

use agentfootprint_record::events::payload::IntegrityContextError;
use agentfootprint_record::events::shared::{Assertion, SubjectRef};
use agentfootprint_record::events::words::{ContextErrorKind, Seam, Stratum};
use footprint::error::StageError;
use footprint::value::{Array, Str, Value};

use crate::agent::findings;
use crate::llm::{LlmRequest, WireManifest};
use crate::run::{Disposition, IntegrityCheck, StageCx};

/// Compares the tool names an adapter read back from its final body with those of the request. No manifest is not clean,
/// it is unreachable.
pub(crate) fn check(
    cx: &StageCx,
    iteration: u32,
    request: &LlmRequest,
    manifest: Option<&WireManifest>,
) -> Result<(), StageError> {
    let Some(manifest) = manifest else {
        cx.run.note_integrity(IntegrityCheck::WireInvariant, Disposition::Unreachable);
        return Ok(());
    };
    let composed: BTreeSet<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
    let sent: BTreeSet<&str> = manifest.tool_names.iter().map(|name| &**name).collect();
    if composed == sent {
        cx.run.note_integrity(IntegrityCheck::WireInvariant, Disposition::Pass);
        return Ok(());
    }
    cx.run.note_integrity(IntegrityCheck::WireInvariant, Disposition::Fail { at_ms: cx.now_ms() });
    let directions = [
        ("wire-only", &sent, &composed, "are on the wire but were not composed"),
        ("composed-only", &composed, &sent, "were composed but are not on the wire"),
    ];
    for (predicate, here, there, says) in directions {
        let names: Vec<&str> = here.difference(there).copied().collect();
        if !names.is_empty() {
            findings::file(cx, finding(iteration, predicate, &names, says))?;
        }
    }
    Ok(())
}

fn finding(iteration: u32, predicate: &'static str, names: &[&str], says: &str) -> IntegrityContextError {
    let subjects: Vec<SubjectRef> = names.iter().map(|name| SubjectRef::new("tool", *name)).collect();
    let list: Array = names.iter().map(|name| Value::from(*name)).collect();
    let witness = Assertion::new(
        SubjectRef::new("request", "tools"),
        predicate,
        Value::from(list),
        Stratum::Asserted,
        "wire manifest read back from the final body",
    )
    .epoch(i64::from(iteration));
    let message: Str = format!(
        "tools {} {says}; the model read another list than the one on the record. Fix the adapter or what rewrites its \
         request; nothing was blocked.",
        names.join(", ")
    )
    .into();
    IntegrityContextError::new(
        ContextErrorKind::InvariantViolation,
        Seam::Wire,
        subjects,
        vec![witness],
        message,
    )
    .predicate(Str::from(predicate))
    .epoch(i64::from(iteration))
    .iteration(u64::from(iteration))
}
