//! The grouped door (AGT-8). Strategies are given by instance; there is no lookup by a vendor's name, and nothing is exported
//! because of a default.

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::events::{EventName, Pattern};

use super::attached::{Attachment, Observers};
use super::strategy::{
    CostStrategy, CostTick, FlowchartStrategy, ObservabilityStrategy, RecordingStrategy, Strategy,
};
use crate::events::{EventHub, Subscription};
use crate::record::{BoundaryDetail, BoundaryRecorder, RecordOptions, RecordingHandle};

/// Enables strategies for all later runs of a runner.
///
/// ```
/// # use agentfootprint_core::llm::*;
/// # struct Echo;
/// # #[async_trait::async_trait]
/// # impl LlmProvider for Echo {
/// #     fn name(&self) -> &str { "echo" }
/// #     fn capabilities(&self, _: &str) -> Capabilities { Capabilities::default() }
/// #     async fn complete(&self, r: &LlmRequest, _: &CallCx) -> Result<LlmResponse, LlmError> {
/// #         Ok(LlmResponse::text(r.last_user_text().unwrap_or_default()))
/// #     }
/// # }
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use std::sync::Arc;
///
/// use agentfootprint_core::agent::Agent;
/// use agentfootprint_core::observe::{ObservabilityStrategy, Strategy};
/// use agentfootprint_core::run::Runner as _;
/// use agentfootprint_record::events::Event;
///
/// #[derive(Default)]
/// struct Counts(AtomicUsize);
/// impl Strategy for Counts {
///     fn name(&self) -> &str { "counts" }
/// }
/// impl ObservabilityStrategy for Counts {
///     fn export_event(&self, _: &Arc<Event>) { self.0.fetch_add(1, Ordering::Relaxed); }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let agent = Agent::builder(Echo, "echo-1").build().unwrap();
/// let counts = Arc::new(Counts::default());
/// let enabled = agent.enable().observability(counts.clone());
/// agent.run("hello").await;
/// assert!(counts.0.load(Ordering::Relaxed) > 5);
/// drop(enabled); // later runs are not exported; the strategy itself is not stopped
/// # });
/// ```
pub struct Enable<'a> {
    hub: &'a EventHub,
    observers: &'a Observers,
}

impl<'a> Enable<'a> {
    pub(crate) fn new(hub: &'a EventHub, observers: &'a Observers) -> Self {
        Self { hub, observers }
    }

    /// Exports every event.
    pub fn observability<S: ObservabilityStrategy>(&self, strategy: Arc<S>) -> Enabled {
        let exporter = Arc::clone(&strategy);
        let heard = self.hub.on_shared(Pattern::All, Arc::new(move |event| exporter.export_event(event)));
        self.enabled(strategy, None, Some(heard))
    }

    /// Takes what each priced call costs.
    pub fn cost<S: CostStrategy>(&self, strategy: Arc<S>) -> Enabled {
        let biller = Arc::clone(&strategy);
        let listener = Arc::new(move |event: &Arc<agentfootprint_record::events::Event>| {
            if let Some(tick) = CostTick::of(event) {
                biller.record_cost(&tick);
            }
        });
        let heard = self.hub.on_shared(Pattern::Event(EventName::CostTick), listener);
        self.enabled(strategy, None, Some(heard))
    }

    /// Hands over the boundaries of every run, connected to its walk, its events and its commit axis (AGT-9).
    pub fn flowchart<S: FlowchartStrategy>(&self, strategy: Arc<S>) -> Enabled {
        let viewer = Arc::clone(&strategy);
        // A recording of the same run has a boundary recorder of its own.
        let id = format!("boundary-flowchart-{}", strategy.name());
        let wired = self.observers.wire(move |wiring| {
            let boundaries = BoundaryRecorder::connect_as(wiring, BoundaryDetail::default(), &id);
            viewer.run_started(wiring.run_id(), boundaries);
        });
        self.enabled(strategy, Some(wired), None)
    }

    /// Hands over the recording of every run, connected as above. Nothing leaves the process.
    pub fn local_observability<S: RecordingStrategy>(
        &self,
        strategy: Arc<S>,
        options: RecordOptions,
    ) -> Enabled {
        let viewer = Arc::clone(&strategy);
        let wired = self.observers.wire(move |wiring| {
            let recording = RecordingHandle::new(options.clone(), wiring.structure().clone());
            recording.connect(wiring);
            viewer.run_recorded(wiring.run_id(), recording);
        });
        self.enabled(strategy, Some(wired), None)
    }

    fn enabled<S: Strategy>(
        &self,
        strategy: Arc<S>,
        wired: Option<Attachment>,
        heard: Option<Subscription>,
    ) -> Enabled {
        let enlisted = self.observers.enlist(strategy);
        Enabled { enlisted, wired, heard }
    }
}

impl fmt::Debug for Enable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Enable")
    }
}

/// An enabled strategy; dropping it detaches it from later runs and never stops it.
#[derive(Debug)]
#[must_use = "dropping it disables the strategy at once; `keep` it for the runner's life"]
pub struct Enabled {
    enlisted: Attachment,
    wired: Option<Attachment>,
    heard: Option<Subscription>,
}

impl Enabled {
    /// Detaches now.
    pub fn detach(self) {
        drop(self);
    }

    /// Keeps it enabled for as long as the runner lives.
    pub fn keep(self) {
        self.enlisted.keep();
        self.wired.into_iter().for_each(Attachment::keep);
        self.heard.into_iter().for_each(Subscription::keep);
    }
}
