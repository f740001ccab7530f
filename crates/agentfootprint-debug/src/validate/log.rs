//! Checks of the commit log, the execution tree and the fold.

use std::collections::BTreeSet;

use agentfootprint_record::recording::Recording;
use footprint::ids::RuntimeStageId;
use footprint::query::TraceQuery;
use footprint::value::Value;

use super::{Findings, Severity};

pub(super) fn check(recording: &Recording, found: &mut Findings) {
    let snapshot = &recording.snapshot;
    for gap in snapshot.commit_log.gaps() {
        found.add("commit-row", Severity::Error, format!("commitLog[{}]", gap.index), &*gap.reason);
    }
    let mut steps = BTreeSet::new();
    for (_, frame) in snapshot.execution_tree.iter() {
        let at = &frame.runtime_stage_id;
        if !steps.insert(at.to_string()) {
            found.add("step-id", Severity::Error, at, "two nodes of the execution tree have this address");
        }
    }
    for (position, bundle) in snapshot.commit_log.iter().enumerate() {
        if bundle.idx.0 != position {
            let message = format!("commit {position} calls itself {}", bundle.idx.0);
            found.add("commit-idx", Severity::Error, format!("commitLog[{position}]"), message);
        }
        let step = &bundle.runtime_stage_id;
        if !is_address(step) {
            let message = "the address of this commit is not of the form path/stage#index";
            found.add("step-id", Severity::Error, format!("commitLog[{position}]"), message);
        } else if !steps.contains(&step.to_string()) {
            found.add(
                "orphan-commit",
                Severity::Warn,
                step,
                "a commit of a step that is not in the execution tree",
            );
        }
    }
    fold(recording, found);
}

fn is_address(step: &RuntimeStageId) -> bool {
    !step.local_id().is_empty() && step.to_string().contains('#')
}

/// With a fold base, the log must fold to the final state (ENG-4).
fn fold(recording: &Recording, found: &mut Findings) {
    let snapshot = &recording.snapshot;
    if snapshot.initial_state.is_none() {
        found.add(
            "no-fold-base",
            Severity::Info,
            "snapshot",
            "no initialState: values are folded from the log alone",
        );
        return;
    }
    let redacted: BTreeSet<String> = snapshot
        .commit_log
        .iter()
        .flat_map(|bundle| bundle.redacted_paths.iter())
        .filter_map(|path| path.segments().first().map(ToString::to_string))
        .collect();
    let folded = TraceQuery::new(snapshot.clone())
        .root()
        .state_at(snapshot.commit_log.len().checked_sub(1).map(footprint::ids::CommitIdx));
    for (key, value) in snapshot.shared_state.iter() {
        if redacted.contains(&**key) {
            continue;
        }
        let from_log = folded.state.get(key).unwrap_or(&Value::Null);
        if from_log != value {
            found.add(
                "delta-fold",
                Severity::Error,
                &**key,
                "folding the log does not give this value of the final state",
            );
        }
    }
}
