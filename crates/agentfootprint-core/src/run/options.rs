//! What a caller says about one run (AGT-21).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agentfootprint_record::MemoryIdentity;
use agentfootprint_record::events::{Event, Pattern};
use footprint::clock::Clock;
use footprint::observe::Recorder;
use footprint::state::{CommitValues, RedactionPolicy};
use footprint::structure::Structure;
use footprint::value::Str;
use tokio_util::sync::CancellationToken;

use super::context::DurabilityBarrier;
use super::effects::{Effects, IdSource};
use super::handle::RunProbe;
use super::identity::RunIdentity;
use crate::events::{EventHub, Listener};

/// Attaches something to a run before its first stage.
pub(super) type WireFn = Arc<dyn Fn(&mut RunWiring<'_>) + Send + Sync>;

/// The options of one run. The default is a run nobody named, on the system's clock, without a time limit.
///
/// ```
/// use std::time::Duration;
/// use agentfootprint_core::run::RunOptions;
/// let options = RunOptions::new().session_id("s-7").correlation_id("req-12").timeout(Duration::from_secs(30));
/// ```
#[derive(Clone, Default)]
pub struct RunOptions {
    pub(crate) session_id: Option<Str>,
    pub(crate) correlation_id: Option<Str>,
    pub(crate) trace_id: Option<Str>,
    pub(crate) span_id: Option<Str>,
    pub(crate) identity: Option<MemoryIdentity>,
    pub(crate) turn_id: Option<Str>,
    /// Who the turn acts for that a resumed leg goes on with.
    pub(crate) inherited: Option<RunIdentity>,
    pub(crate) max_iterations: Option<u64>,
    pub(crate) commit_values: Option<CommitValues>,
    pub(crate) narrative: bool,
    pub(crate) cancel: Option<CancellationToken>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) effects: Option<Arc<dyn Effects>>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) ids: Option<Arc<dyn IdSource>>,
    pub(crate) barrier: Option<DurabilityBarrier>,
    pub(crate) listeners: Vec<(Pattern, Listener)>,
    pub(crate) recorders: Vec<Arc<dyn Recorder>>,
    pub(crate) wiring: Vec<WireFn>,
    pub(crate) redaction: Option<RedactionPolicy>,
}

impl RunOptions {
    /// The default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// The session: on every event's meta, and the conversation when no identity is given.
    #[must_use]
    pub fn session_id(mut self, id: impl Into<Str>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// The request this run belongs to; on every event's meta.
    #[must_use]
    pub fn correlation_id(mut self, id: impl Into<Str>) -> Self {
        self.correlation_id = Some(id.into());
        self
    }

    /// The trace this run belongs to; on every event's meta.
    #[must_use]
    pub fn trace_id(mut self, id: impl Into<Str>) -> Self {
        self.trace_id = Some(id.into());
        self
    }

    /// The span of that trace the run is part of; on every event's meta.
    #[must_use]
    pub fn span_id(mut self, id: impl Into<Str>) -> Self {
        self.span_id = Some(id.into());
        self
    }

    /// Who asks. An identity in the input wins over this one.
    #[must_use]
    pub fn identity(mut self, identity: MemoryIdentity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// The turn's stable id across legs; minted when absent.
    #[must_use]
    pub fn turn_id(mut self, id: impl Into<Str>) -> Self {
        self.turn_id = Some(id.into());
        self
    }

    /// Overrides the engine's loop limit for this run. Not the agent's iteration budget.
    #[must_use]
    pub fn max_iterations(mut self, limit: u64) -> Self {
        self.max_iterations = Some(limit);
        self
    }

    /// How the run's commits hold values, instead of what the runner declares. Deltas keep the record of a composition with
    /// long conversations small.
    #[must_use]
    pub fn commit_values(mut self, dial: CommitValues) -> Self {
        self.commit_values = Some(dial);
        self
    }

    /// Also tells the run in prose, as the combined narrative in the snapshot's recorders. It costs about as much as half
    /// the run itself, so it is off unless somebody reads it.
    #[must_use]
    pub fn narrative(mut self, on: bool) -> Self {
        self.narrative = on;
        self
    }

    /// Cancels the run when the token is cancelled.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Ends the run when it takes longer than this.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// The port for everything the run cannot recompute. It brings its own clock and ids.
    #[must_use]
    pub fn effects(mut self, effects: Arc<dyn Effects>) -> Self {
        self.effects = Some(effects);
        self
    }

    /// The clock, for reproducible runs.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where ids come from, for reproducible runs.
    #[must_use]
    pub fn ids(mut self, ids: Arc<dyn IdSource>) -> Self {
        self.ids = Some(ids);
        self
    }

    /// A hook awaited once per batch of tool calls, before any of them runs (HOST-66).
    #[must_use]
    pub fn durability_barrier(mut self, barrier: DurabilityBarrier) -> Self {
        self.barrier = Some(barrier);
        self
    }

    /// Redacts the record: recordings hold the redacted mirror of the state, the run itself works on the real values (AGT-112).
    /// Events are not state; what they hold is theirs.
    #[must_use]
    pub fn redaction(mut self, policy: RedactionPolicy) -> Self {
        self.redaction = Some(policy);
        self
    }

    /// Listens to this run only, from its first event on.
    #[must_use]
    pub fn listen(mut self, pattern: Pattern, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.listeners.push((pattern, Arc::new(move |event| listener(event))));
        self
    }

    /// Observes this run's walk with an engine recorder.
    #[must_use]
    pub fn observe(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorders.push(recorder);
        self
    }

    /// Attaches whatever needs the events, the recorders and the commit counter of one run together (AGT-9).
    #[must_use]
    pub fn wire(mut self, wire: impl Fn(&mut RunWiring<'_>) + Send + Sync + 'static) -> Self {
        self.wiring.push(Arc::new(wire));
        self
    }
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("session_id", &self.session_id)
            .field("correlation_id", &self.correlation_id)
            .field("trace_id", &self.trace_id)
            .field("span_id", &self.span_id)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// The three connections an observer of a run can need, before the first stage: what happens inside the boundaries, the
/// boundaries themselves, and where on the commit axis they lie (AGT-9).
pub struct RunWiring<'a> {
    pub(crate) run_id: &'a Str,
    pub(crate) events: &'a EventHub,
    pub(crate) probe: &'a RunProbe,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) structure: &'a Structure,
    pub(crate) recorders: &'a mut Vec<Arc<dyn Recorder>>,
}

impl RunWiring<'_> {
    /// The run's id.
    pub fn run_id(&self) -> &Str {
        self.run_id
    }

    /// The run's own hub: it hears this run only.
    pub fn events(&self) -> &EventHub {
        self.events
    }

    /// The run's live state, readable from any thread once the run has begun.
    pub fn probe(&self) -> &RunProbe {
        self.probe
    }

    /// The chart the run walks.
    pub fn structure(&self) -> &Structure {
        self.structure
    }

    /// The run's clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.clock
    }

    /// Adds an engine recorder.
    pub fn observe(&mut self, recorder: Arc<dyn Recorder>) {
        self.recorders.push(recorder);
    }
}

impl fmt::Debug for RunWiring<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunWiring").field("run_id", &self.run_id).finish_non_exhaustive()
    }
}
