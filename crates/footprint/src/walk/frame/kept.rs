//! What outlives a commit besides the bundle, by the dials: reads and writes for the tree, mutations for the hook.

use std::sync::Arc;

use super::FrameHandle;
use crate::observe::{Mutation, WriteOp};
use crate::state::{Path, Redaction, StagedOp, Staging, Tracking, WriteOperation, WriteRecord};
use crate::value::Str;
use crate::value::summary::{Marker, MarkerKind};
use crate::walk::tree::{Shown, Tracked};

/// What a tree node and the commit hook keep of a visit, by the dials.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) tracked: Tracked,
    pub(super) mutations: Option<Arc<[Mutation]>>,
}

impl Kept {
    pub(super) fn of(frame: &FrameHandle, staging: &Staging, redaction: Redaction<'_>, told: bool) -> Self {
        let policy = &frame.run.policy;
        let keeps_reads = policy.read_tracking != Tracking::Off;
        let keeps_writes = policy.write_tracking != Tracking::Off && staging.has_writes();
        let room = if keeps_reads { staging.reads().len() } else { 0 }
            + if keeps_writes { staging.ops().len() } else { 0 };
        if room == 0 {
            return Self::default();
        }
        let mut entries = Vec::with_capacity(room);
        if keeps_reads {
            Self::reads(staging, redaction, policy.read_tracking, &mut entries);
        }
        let reads = entries.len();
        let mut mutations = None;
        if keeps_writes {
            let summary = policy.write_tracking == Tracking::Summary;
            let mut keep = |record: WriteRecord| {
                let (key, shown) = shown_write(&record, redaction, summary);
                if let Some(shown) = &shown {
                    entries.push((key.clone(), shown.clone()));
                }
                told.then(|| {
                    let operation = match record.operation {
                        WriteOperation::Set => WriteOp::Set,
                        WriteOperation::Update => WriteOp::Update,
                        WriteOperation::Delete => WriteOp::Delete,
                    };
                    Mutation { key, value: shown.as_ref().map(Shown::to_value), operation }
                })
            };
            mutations = match only_op(staging) {
                Some(record) => keep(record).map(|only| Arc::from([only])),
                None => {
                    let kept: Vec<Mutation> = staging.writes().into_iter().filter_map(keep).collect();
                    told.then(|| kept.into())
                }
            };
        }
        Self { tracked: Tracked { entries: entries.into(), reads: reads as u32 }, mutations }
    }

    fn reads(
        staging: &Staging,
        redaction: Redaction<'_>,
        tracking: Tracking,
        entries: &mut Vec<(Str, Shown)>,
    ) {
        let idle = redaction.is_idle();
        for read in staging.reads() {
            let Some(value) = &read.value else { continue };
            let (value, whole) = if idle {
                (value.clone(), false)
            } else {
                let served = redaction.serve(&Path::key(read.key.clone()), value);
                (served.value, served.whole)
            };
            let shown = if tracking == Tracking::Summary && !whole {
                Shown::Marker(Marker::of(MarkerKind::Read, Some(&value)))
            } else {
                Shown::Whole(value)
            };
            entries.push((read.key.clone(), shown));
        }
    }
}

/// The record of a visit's only operation, without the tables many operations need.
fn only_op(staging: &Staging) -> Option<WriteRecord> {
    let mut ops = staging.ops();
    let (op, None) = (ops.next()?, ops.next()) else { return None };
    let (operation, value) = match op {
        StagedOp::Set { value, .. } => (WriteOperation::Set, Some(value.clone())),
        StagedOp::Merge { patch, .. } => (WriteOperation::Update, Some(patch.clone())),
        StagedOp::Push { path, .. } => (WriteOperation::Set, staging.view().walk(path.segments()).cloned()),
        StagedOp::Delete { .. } => (WriteOperation::Delete, None),
    };
    Some(WriteRecord { path: op.path().clone(), operation, value })
}

/// Key and kept form of a write.
fn shown_write(record: &WriteRecord, redaction: Redaction<'_>, summary: bool) -> (Str, Option<Shown>) {
    let key: Str = match record.path.segments() {
        [key] => key.clone(),
        _ => record.path.to_string().into(),
    };
    let (value, whole) = match &record.value {
        Some(value) if !redaction.is_idle() => {
            let served = redaction.serve(&record.path, value);
            (Some(served.value), served.whole)
        }
        value => (value.clone(), false),
    };
    let shown = if summary && !whole {
        Some(Shown::Marker(Marker::of(MarkerKind::Write, value.as_ref())))
    } else {
        value.map(Shown::Whole)
    };
    (key, shown)
}
