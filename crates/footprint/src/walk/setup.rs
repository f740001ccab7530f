//! What a run is made of before it begins: its policy, its first level, its observers.

use std::sync::Arc;

use super::level::Level;
use super::options::{Attachment, RunOptions};
use super::visit::guarded;
use crate::chart::Chart;
use crate::ids::RunId;
use crate::observe::{Observers, RunMeta};
use crate::recorders::CombinedNarrative;
use crate::state::{Marks, Redaction, RedactionRule, RunPolicy, starting_state};

pub(crate) fn policy_of(options: &RunOptions) -> Arc<RunPolicy> {
    Arc::new(RunPolicy {
        read_tracking: options.read_tracking,
        write_tracking: options.write_tracking,
        commit_values: options.commit_values,
        write_provenance: options.write_provenance,
        redaction: options.redaction.clone().map(|policy| Arc::new(RedactionRule::new(policy))),
    })
}

pub(crate) fn root_level(
    chart: &Chart,
    options: &RunOptions,
    policy: &RunPolicy,
    run_id: &RunId,
) -> Arc<Level> {
    let initial = starting_state(options.defaults.as_ref(), options.initial.as_ref());
    let marks = Marks::default();
    let mirror =
        policy.redaction.as_deref().map(|rule| Redaction::new(Some(rule), &marks).mirror_of(&initial));
    Level::new(
        chart.clone(),
        Arc::clone(chart.root_sites()),
        options.input.clone(),
        None,
        run_id.as_shared().clone(),
        initial,
        mirror,
        false,
    )
}

/// Builds the run's observers from its options.
pub(super) fn observers_of(options: &RunOptions, run_id: &RunId) -> Observers {
    let meta = RunMeta { run_id, label: options.label.as_deref() };
    let mut observers = Observers::builder(options.delivery, options.queue.clone(), options.diagnostics);
    if options.narrative {
        observers.hidden(Arc::new(CombinedNarrative::new()));
    }
    for attachment in &options.attachments {
        match attachment {
            Attachment::Shared(recorder, delivery) => observers.attach(Arc::clone(recorder), *delivery),
            Attachment::PerRun(make, delivery) => match guarded(|| Ok(make(&meta))) {
                Ok(recorder) => observers.attach(Arc::from(recorder), *delivery),
                Err(error) => {
                    observers.failed("attach", error.to_string());
                }
            },
            Attachment::Async(recorder) => observers.attach_async(Arc::clone(recorder)),
        }
    }
    observers.build()
}
