mod bundles;
mod encoding;
mod laws;
mod mounts;
mod staging;

use super::*;
use crate::ids::{CommitIdx, ExecutionIndex, RuntimeStageId};
use crate::value::{Object, Value};

/// One level as the walk keeps it: enough to run commits through.
pub(in crate::state) struct Level {
    pub(in crate::state) initial: Object,
    pub(in crate::state) state: Object,
    pub(in crate::state) mirror: Object,
    pub(in crate::state) mirror_base: Object,
    pub(in crate::state) log: Vec<Bundle>,
    pub(in crate::state) marks: Marks,
    pub(in crate::state) rule: Option<RedactionRule>,
    pub(in crate::state) dial: CommitValues,
    pub(in crate::state) provenance: WriteProvenance,
}

impl Level {
    pub(in crate::state) fn new(initial: Value, dial: CommitValues, rule: Option<RedactionRule>) -> Self {
        let initial = initial.as_object().cloned().unwrap();
        let marks = Marks::default();
        let mirror_base = Redaction::new(rule.as_ref(), &marks).mirror_of(&initial);
        Self {
            state: initial.clone(),
            mirror: mirror_base.clone(),
            mirror_base,
            initial,
            log: Vec::new(),
            marks,
            rule,
            dial,
            provenance: WriteProvenance::Off,
        }
    }

    pub(in crate::state) fn encode(&self, staging: &Staging) -> EncodedCommit {
        let redaction = Redaction::new(self.rule.as_ref(), &self.marks);
        staging.encode(self.dial, self.provenance, redaction)
    }

    /// Commits as ENG-71 says: live state, bundle, mirror, log.
    pub(in crate::state) fn commit(&mut self, staging: &Staging) -> &Bundle {
        let commit = self.encode(staging);
        commit.land(staging, &mut self.state);
        let index = self.log.len();
        let mut bundle = Bundle::empty(
            CommitIdx(index),
            "Stage",
            "stage",
            RuntimeStageId::new("stage", ExecutionIndex(index as u64)),
        );
        bundle.rows = commit.rows;
        bundle.redacted_paths = commit.redacted_paths;
        bundle.untracked = staging.untracked();
        apply_bundle(&mut self.mirror, &bundle);
        self.marks.note_redacted(&bundle.redacted_paths);
        self.log.push(bundle);
        self.log.last().unwrap()
    }

    /// Stages operations at root and commits them.
    pub(in crate::state) fn step(&mut self, ops: impl IntoIterator<Item = StagedOp>) -> &Bundle {
        let mut staging = Staging::default();
        for op in ops {
            staging.apply(&self.state, op);
        }
        self.commit(&staging)
    }
}

pub(in crate::state) fn set(path: &str, value: Value) -> StagedOp {
    StagedOp::Set { path: Path::dotted(path), value }
}

pub(in crate::state) fn merge(path: &str, patch: Value) -> StagedOp {
    StagedOp::Merge { path: Path::dotted(path), patch }
}

pub(in crate::state) fn push(path: &str, items: Value) -> StagedOp {
    StagedOp::Push { path: Path::dotted(path), items: items.as_array().cloned().unwrap() }
}

pub(in crate::state) fn delete(path: &str) -> StagedOp {
    StagedOp::Delete { path: Path::dotted(path) }
}

/// Rows as `verb path value`.
pub(in crate::state) fn shown(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| format!("{row:?}")).collect()
}
