//! Built-in observers (OBS §6). Each keeps its state per run, so one value may be attached to a template that many runs share.
//!
//! | recorder | default id | row | answers |
//! |---|---|---|---|
//! | [`CombinedNarrative`] | `combined-narrative` | `Narrative` | what happened, in order, in words |
//! | [`FlowNarrative`] | `narrative`, `narrative-<strategy>` | — | which way the run went, loops compressed |
//! | [`Metrics`] | `metrics-N` | `Metrics` | reads, writes, commits, pauses, time per step |
//! | [`struct@Debug`] | `debug-N` | `Debug` | one step's detail |
//! | [`Manifest`] | `manifest` | `Manifest` | which subflows ran |
//! | [`Quality`] | `quality-N` | `Quality` | a user's score per step |
//! | [`InOut`] | `inout-N` | `InOut` | what crossed each chart boundary |
//! | [`Topology`] | `topology-N` | `Topology` | subflows and branches as a graph |
//! | [`ControlDeps`] | `control-deps-N` | `ControlDeps` | which decision let a step run |
//! | [`Composite`] | chosen | `Composite` | several recorders under one id |
//! | [`TracingRecorder`] | `tracing` | — | the run as `tracing` spans |
//!
//! ```
//! use footprint::recorders::{Metrics, free_id};
//! let first = Metrics::new();
//! assert_eq!(footprint::observe::Recorder::id(&first), "metrics-1");
//! let second = Metrics::with_id(free_id("metrics", ["metrics-1"]));
//! assert_eq!(footprint::observe::Recorder::id(&second), "metrics-2");
//! ```

mod composite;
mod control;
mod debug;
mod flow;
mod inout;
mod manifest;
mod metrics;
pub mod narrative;
mod per_run;
mod quality;
mod strategy;
#[cfg(test)]
mod tests;
mod topology;
mod trace;

pub use composite::Composite;
pub use control::{ControlData, ControlDeps, ControlMode, Governor};
pub use debug::{Debug, Verbosity};
pub use flow::{FlowNarrative, FlowSentence};
pub use inout::{InOut, InOutEntry, InOutPhase};
pub use manifest::{Manifest, ManifestEntry};
pub use metrics::{Metrics, StageMetrics, StepMetrics};
pub use narrative::{CombinedNarrative, NarrativeEntry, NarrativeOptions, NarrativeQuery, NarrativeType};
pub use quality::{Quality, QualityEntry, QualityScore, StepFacts};
pub use strategy::{InvalidStrategy, LoopStrategy};
pub use topology::{Topology, TopologyEdge, TopologyGraph, TopologyKind, TopologyNode};
pub use trace::TracingRecorder;

/// The first of `base-1`, `base-2`, … that is not taken; how built-in recorders are numbered within one template (OBS-38).
pub fn free_id<'a>(base: &str, taken: impl IntoIterator<Item = &'a str>) -> String {
    let taken: std::collections::HashSet<&str> = taken.into_iter().collect();
    (1_u32..)
        .map(|n| format!("{base}-{n}"))
        .find(|id| !taken.contains(id.as_str()))
        .unwrap_or_else(|| base.to_owned())
}
