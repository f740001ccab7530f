//! The commit of a visit: from what it staged to its bundle, the next state and its tree node.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::FrameHandle;
use super::kept::Kept;
use crate::observe::{CommitEvent, Hook, Mutation};
use crate::state::{Bundle, CommitValues, Phase, Staging, WriteProvenance, first_seed, seed_ops};
use crate::value::{Object, Value};
use crate::walk::level::Level;
use crate::walk::shared::lock;
use crate::walk::warn::Warning;

impl FrameHandle {
    /// A node without a function has no bundle (ENG-70).
    pub(in crate::walk) fn close_silently(&self) {
        self.sealed.store(true, Ordering::Release);
        lock(&self.state).committed = true;
    }

    /// Writes the visit's own bundle, or (with a phase) an empty continuation. The commit hook follows, with
    /// no lock held.
    pub(in crate::walk) fn commit(self: &Arc<Self>, phase: Option<Phase>) {
        let told = match phase {
            Some(_) => self.commit_continuation(phase),
            None => self.commit_own(),
        };
        if let Some((bundle, mutations)) = told {
            self.tell(Hook::Commit, || CommitEvent { mutations, bundle }.into());
        }
    }

    fn commit_continuation(&self, phase: Option<Phase>) -> Option<(Arc<Bundle>, Arc<[Mutation]>)> {
        let mut bundle = self.empty_bundle();
        bundle.phase = phase;
        let mut core = self.level.core();
        bundle.idx.0 = core.log.len();
        let bundle = Arc::new(bundle);
        self.level.push_bundle(&mut core, Arc::clone(&bundle));
        drop(core);
        self.is_wanted(Hook::Commit).then(|| (bundle, Arc::from([])))
    }

    fn empty_bundle(&self) -> Bundle {
        Bundle::empty(Default::default(), self.shown_name(), self.id().clone(), self.address())
    }

    fn commit_own(self: &Arc<Self>) -> Option<(Arc<Bundle>, Arc<[Mutation]>)> {
        let mut state = lock(&self.state);
        if std::mem::replace(&mut state.committed, true) {
            return None;
        }
        self.sealed.store(true, Ordering::Release);
        let staging = std::mem::take(&mut state.staging);
        // The driver holds one handle; a view is only kept for scopes that outlive the stage.
        if Arc::strong_count(self) > 1 && staging.is_touched() {
            state.last_view = Some(staging.view().clone());
        }
        drop(state);

        let mut bundle = self.empty_bundle();
        bundle.tags = self.tags.clone();
        let told = self.is_wanted(Hook::Commit);
        if !staging.is_touched() {
            bundle.untracked = staging.untracked();
            let mut core = self.level.core();
            bundle.idx.0 = core.log.len();
            let bundle = Arc::new(bundle);
            self.level.push_bundle(&mut core, Arc::clone(&bundle));
            drop(core);
            return told.then(|| (bundle, Arc::from([])));
        }
        if self.run.warnings.is_dev() && self.pass > 0 {
            self.inspect_loop_writes(&staging);
        }
        let (commit, kept) = self.run.redaction(staging.marked(), |redaction| {
            let policy = &self.run.policy;
            let commit = staging.encode(policy.commit_values, policy.write_provenance, redaction);
            (commit, Kept::of(self, &staging, redaction, told))
        });
        bundle.untracked = staging.untracked();
        if !commit.redacted_paths.is_empty() {
            self.run.note_redacted(&commit.redacted_paths);
        }
        let mut core = self.level.core();
        commit.land(&staging, &mut core.state);
        bundle.idx.0 = core.log.len();
        bundle.rows = commit.rows;
        bundle.redacted_paths = commit.redacted_paths;
        let bundle = Arc::new(bundle);
        self.level.push_bundle(&mut core, Arc::clone(&bundle));
        if !kept.tracked.entries.is_empty()
            && let Some(frame) = core.tree.get_mut(self.no)
        {
            frame.tracked = kept.tracked;
        }
        drop(core);
        told.then(|| (bundle, kept.mutations.unwrap_or_default()))
    }

    /// Dev diagnostics: values a loop writes again and again that make a record grow faster than it must.
    fn inspect_loop_writes(&self, staging: &Staging) {
        const LONG_LIST: usize = 64;
        for record in staging.writes() {
            let (Some(value), Some(key)) = (&record.value, record.path.segments().first()) else { continue };
            if is_large(value) {
                let warning = Warning::LargeValueInLoop { stage: self.id().clone(), key: key.clone() };
                self.run.warnings.add(warning);
            }
            let is_list = matches!(value, Value::Array(items) if items.len() > LONG_LIST);
            if is_list && self.run.policy.commit_values == CommitValues::Full {
                let warning = Warning::FullValuesInLoop { stage: self.id().clone(), key: key.clone() };
                self.run.warnings.add(warning);
            }
        }
    }

    /// Commits the seed of a mounted level: the first bundle of *its* log, stamped with this mount.
    pub(in crate::walk) fn seed(&self, inner: &Level, seed: &Object) {
        let policy = &self.run.policy;
        let mut bundle = self.empty_bundle();
        let mut core = inner.core();
        let is_plain = !self.run.is_redacting() && policy.write_provenance == WriteProvenance::Off;
        if is_plain && core.state.is_empty() {
            (bundle.rows, core.state) = first_seed(seed);
        } else {
            let mut staging = Staging::default();
            for op in seed_ops(seed) {
                staging.apply(&core.state, op);
            }
            let commit = self.run.redaction(&[], |redaction| {
                staging.encode(policy.commit_values, policy.write_provenance, redaction)
            });
            if !commit.redacted_paths.is_empty() {
                self.run.note_redacted(&commit.redacted_paths);
            }
            commit.land(&staging, &mut core.state);
            bundle.rows = commit.rows;
            bundle.redacted_paths = commit.redacted_paths;
        }
        bundle.idx.0 = core.log.len();
        inner.push_bundle(&mut core, Arc::new(bundle));
    }
}

/// Whether a value takes more than 1 MiB, roughly.
fn is_large(value: &Value) -> bool {
    const LARGE: usize = 1 << 20;
    let mut size = 0;
    let mut waiting = vec![value.clone()];
    while let Some(value) = waiting.pop() {
        size += size_of::<Value>();
        match &value {
            Value::String(text) => size += text.len(),
            Value::Array(items) => waiting.extend(items.iter().cloned()),
            Value::Object(entries) => waiting.extend(entries.values().cloned()),
            _ => {}
        }
        if size > LARGE {
            return true;
        }
    }
    false
}
