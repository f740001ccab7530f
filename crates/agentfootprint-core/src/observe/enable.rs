//! The grouped door (AGT-8). Strategies are given by instance; there is no lookup by a vendor's name, and nothing is exported
//! because of a default.

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::events::Event;

use super::attached::{Attachment, Enlisted, Observers};
use super::channel::{self, Channel};
use super::life::Hold;
use super::options::EnableOptions;
use super::strategy::{
    CostStrategy, CostTick, FlowchartStrategy, ObservabilityStrategy, RecordingStrategy, Strategy,
};
use crate::events::{EventHub, Subscription};
use crate::injection::BoxError;
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
/// use agentfootprint_core::observe::{ObservabilityStrategy, Strategy, StrategyLife};
/// use agentfootprint_core::run::Runner as _;
/// use agentfootprint_record::events::Event;
///
/// #[derive(Default)]
/// struct Counts { heard: AtomicUsize, life: StrategyLife }
/// impl Strategy for Counts {
///     fn name(&self) -> &str { "counts" }
///     fn life(&self) -> &StrategyLife { &self.life }
/// }
/// impl ObservabilityStrategy for Counts {
///     fn export_event(&self, _: &Arc<Event>) { self.heard.fetch_add(1, Ordering::Relaxed); }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let agent = Agent::builder(Echo, "echo-1").build().unwrap();
/// let counts = Arc::new(Counts::default());
/// let enabled = agent.enable().observability(counts.clone());
/// agent.run("hello").await;
/// assert!(counts.heard.load(Ordering::Relaxed) > 5);
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

    /// Exports events: the standard tier of every run, inside the run.
    pub fn observability(&self, strategy: Arc<dyn ObservabilityStrategy>) -> Enabled {
        self.observability_with(strategy, EnableOptions::default())
    }

    /// Exports events as the options say.
    pub fn observability_with(
        &self,
        strategy: Arc<dyn ObservabilityStrategy>,
        options: EnableOptions,
    ) -> Enabled {
        let exporter = Arc::clone(&strategy);
        self.listening(strategy, options, Box::new(move |event| exporter.export_event(event)))
    }

    /// Takes what each priced call costs.
    pub fn cost(&self, strategy: Arc<dyn CostStrategy>) -> Enabled {
        self.cost_with(strategy, EnableOptions::default())
    }

    /// Takes what each priced call costs, as the options say.
    pub fn cost_with(&self, strategy: Arc<dyn CostStrategy>, options: EnableOptions) -> Enabled {
        let biller = Arc::clone(&strategy);
        let take = move |event: &Arc<Event>| {
            if let Some(tick) = CostTick::of(event) {
                biller.record_cost(&tick);
            }
        };
        self.listening(strategy, options, Box::new(take))
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
        self.wired(strategy, wired)
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
        self.wired(strategy, wired)
    }

    fn listening(
        &self,
        strategy: Arc<dyn Strategy>,
        options: EnableOptions,
        take: Box<dyn Fn(&Arc<Event>) + Send + Sync>,
    ) -> Enabled {
        let channel = Arc::new(Channel::new(Arc::clone(&strategy), options, take));
        let heard = channel.subscriptions().into_iter().map(|pattern| {
            let channel = Arc::clone(&channel);
            self.hub.on_shared(pattern, Arc::new(move |event| channel.hear(event)))
        });
        let heard = heard.collect();
        self.enabled(strategy, channel, None, heard)
    }

    /// A strategy that is handed something per run and told no events.
    fn wired(&self, strategy: Arc<dyn Strategy>, wired: Attachment) -> Enabled {
        let deaf = Channel::new(Arc::clone(&strategy), EnableOptions::default(), Box::new(|_| {}));
        self.enabled(strategy, Arc::new(deaf), Some(wired), Vec::new())
    }

    fn enabled(
        &self,
        strategy: Arc<dyn Strategy>,
        channel: Arc<Channel>,
        wired: Option<Attachment>,
        heard: Vec<Subscription>,
    ) -> Enabled {
        let parts = Enlisted { hold: Arc::new(Hold::of(strategy)), channel };
        let enlisted = self.observers.enlist(parts.clone());
        Enabled { parts, enlisted: Some(enlisted), wired, heard }
    }
}

impl fmt::Debug for Enable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Enable")
    }
}

/// An enabled strategy; dropping it detaches it from later runs and never stops it.
///
/// A strategy may be enabled on several runners. Each handle is one hold of it, and [`stop`](Self::stop) ends the strategy only
/// when no other runner holds it.
#[must_use = "dropping it disables the strategy at once; `keep` it for the runner's life"]
pub struct Enabled {
    parts: Enlisted,
    enlisted: Option<Attachment>,
    wired: Option<Attachment>,
    heard: Vec<Subscription>,
}

impl Enabled {
    /// Tells the strategy nothing more. It is not stopped: what it holds can still be flushed.
    pub fn unsubscribe(&mut self) {
        self.heard.clear();
        self.wired = None;
        self.enlisted = None;
        self.parts.channel.close();
        self.parts.hold.release();
    }

    /// Delivers what waits, then has the strategy ship what it buffered; events that arrive meanwhile are shipped too, within
    /// eight passes. Also after a stop.
    ///
    /// # Errors
    /// What could not be shipped; it is counted on the strategy's [`StrategyLife`](super::StrategyLife).
    pub async fn flush(&self) -> Result<(), BoxError> {
        channel::flush(std::slice::from_ref(&self.parts.channel)).await
    }

    /// Unsubscribes, and stops the strategy when no other runner holds it and it was not stopped before. True when it was
    /// stopped here.
    pub fn stop(&mut self) -> bool {
        self.unsubscribe();
        self.parts.hold.stop()
    }

    /// Flushes, lets go, and stops as [`stop`](Self::stop) does — also when the flush fails.
    ///
    /// # Errors
    /// What could not be shipped.
    pub async fn shutdown(mut self) -> Result<(), BoxError> {
        let flushed = self.flush().await;
        self.stop();
        flushed
    }

    /// How many events a detached delivery had to drop, because the strategy was slower than the runs.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.parts.channel.dropped()
    }

    /// How often the strategy failed, on whichever runner.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.parts.hold.strategy().life().failures()
    }

    /// Detaches now.
    pub fn detach(self) {
        drop(self);
    }

    /// Keeps it enabled for as long as the runner lives.
    pub fn keep(mut self) {
        self.enlisted.take().into_iter().for_each(Attachment::keep);
        self.wired.take().into_iter().for_each(Attachment::keep);
        self.heard.drain(..).for_each(Subscription::keep);
    }
}

impl fmt::Debug for Enabled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Enabled").field(&self.parts.hold.strategy().name()).finish()
    }
}
