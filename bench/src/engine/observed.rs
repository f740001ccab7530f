//! The counting loop with observers: the narrative inline, and an observer that is told from the queue.

use std::sync::Arc;

use footprint::observe::{Delivery, EventCx, HookResult, Payload, Recorder};
use footprint::recorders::CombinedNarrative;
use footprint::walk::RunOptions;

use super::Workload;
use crate::Sample;

pub(super) fn workloads() -> Vec<Workload> {
    vec![
        Workload {
            name: "loop-narrative",
            steps: 10_000,
            payload_bytes: 0,
            run: |steps| Box::pin(narrated(steps)),
        },
        Workload {
            name: "loop-deferred",
            steps: 10_000,
            payload_bytes: 0,
            run: |steps| Box::pin(deferred(steps)),
        },
    ]
}

async fn narrated(steps: usize) -> Result<Sample, String> {
    let narrative = Arc::new(CombinedNarrative::new());
    let sample = super::count_with(steps, |options| options.observe(narrative.clone())).await?;
    if narrative.len() < steps { Err("the story is too short".to_owned()) } else { Ok(sample) }
}

/// Keeps how many events it saw.
#[derive(Default)]
struct Counter(std::sync::atomic::AtomicUsize);

impl Recorder for Counter {
    fn id(&self) -> &str {
        "counter"
    }
    fn on_event(&self, _: &EventCx<'_>, _: &Payload) -> HookResult {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    }
}

async fn deferred(steps: usize) -> Result<Sample, String> {
    let counter = Arc::new(Counter::default());
    let attach = |options: RunOptions| options.observe_with(counter.clone(), Delivery::Deferred);
    let sample = super::count_with(steps, attach).await?;
    if counter.0.load(std::sync::atomic::Ordering::Relaxed) == 0 {
        return Err("nothing was delivered".to_owned());
    }
    Ok(sample)
}
