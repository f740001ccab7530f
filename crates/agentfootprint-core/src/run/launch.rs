//! The one door through which a run of any runner begins and ends.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agentfootprint_record::MemoryIdentity;
use agentfootprint_record::events::RunFacts;
use footprint::chart::Chart;
use footprint::clock::Clock;
use footprint::error::RunError as EngineError;
use footprint::ids::{RunId, RunIdSource};
use footprint::observe::{Delivery, ObserverQueueConfig};
use footprint::pause::FlowchartCheckpoint;
use footprint::report::{Outcome, RunReport as WalkReport};
use footprint::state::{CommitValues, Tracking, WriteProvenance};
use footprint::value::{Str, Value};
use footprint::walk;
use tokio_util::sync::CancellationToken;

use super::context::{RunContext, RunParts};
use super::effects::{Direct, Effects, IdSource};
use super::error::RunRefusal;
use super::handle::{RunHandle, RunProbe};
use super::identity::RunIdentity;
use super::input::StartMaterial;
use super::integrity::IntegrityLedger;
use super::options::{RunOptions, RunWiring};
use super::report::RunReport;
use crate::events::{EventHub, RunEvents};
use crate::observe::{Keeping, Observers};

/// How a leg begins.
pub(crate) enum Leg {
    /// From the chart's root.
    Fresh,
    /// At a pause, with the answer.
    Resumed(Box<FlowchartCheckpoint>, Value),
}

/// The engine's dials for runs of this runner.
pub(crate) struct Dials {
    pub(crate) max_iterations: u64,
    pub(crate) read_tracking: Tracking,
    pub(crate) commit_values: CommitValues,
    pub(crate) write_provenance: WriteProvenance,
    /// How the observers named by agent and caller are told; the run's own ones always inside the producing call (AGT-12).
    pub(crate) delivery: Delivery,
    pub(crate) queue: Option<ObserverQueueConfig>,
}

/// The walk's ids come from where the run's do.
struct WalkIds {
    ids: Arc<dyn IdSource>,
    clock: Arc<dyn Clock>,
}

impl RunIdSource for WalkIds {
    fn next_run_id(&self) -> RunId {
        self.ids.walk_id(self.clock.now_ms())
    }
}

type Settling<T> = Pin<Box<dyn Future<Output = RunReport<T>> + Send>>;

/// Everything a runner says about one of its runs.
pub(crate) struct Launch<T> {
    pub(crate) chart: Chart,
    pub(crate) hub: EventHub,
    /// The runner that owns the run: `Agent:support`.
    pub(crate) owner: Str,
    pub(crate) dials: Dials,
    pub(crate) observers: Observers,
    pub(crate) identity: Option<MemoryIdentity>,
    pub(crate) start: StartMaterial,
    pub(crate) leg: Leg,
    pub(crate) integrity: IntegrityLedger,
    /// Says what is said before the first stage.
    pub(crate) open: Box<dyn FnOnce(&Arc<RunContext>) + Send>,
    /// Turns the end of the walk into the report, and says what is said after the last stage.
    pub(crate) settle: Box<dyn FnOnce(Arc<RunContext>, WalkReport) -> Settling<T> + Send>,
}

/// Makes the run. Nothing happens before its handle is awaited.
pub(crate) fn launch<T: Send + 'static>(
    launch: Launch<T>,
    options: RunOptions,
) -> Result<RunHandle<T>, RunRefusal> {
    let effects = effects_of(&options);
    let (clock, ids) = (effects.clock(), effects.ids());
    let now = clock.now_ms();
    let run_id = ids.run_id(now);
    let identity = match (launch.identity.or(options.identity), options.inherited) {
        (None, Some(inherited)) => inherited,
        (named, _) => RunIdentity::resolve(named, options.session_id.clone(), &run_id),
    };
    let mut facts = RunFacts::new(&*run_id, [launch.owner]);
    facts.trace_id = options.trace_id.clone();
    facts.span_id = options.span_id.clone();
    facts.correlation_id = options.correlation_id.clone();
    facts.session_id = options.session_id.clone();
    if let Some(who) = identity.explicit() {
        facts.principal = who.principal.clone();
        facts.tenant = who.tenant.clone();
    }
    let cancel = options.cancel.as_ref().map_or_else(CancellationToken::new, CancellationToken::child_token);
    let events = RunEvents::of(&launch.hub);
    for (pattern, listener) in options.listeners {
        events.hub().on_shared(pattern, listener).keep();
    }
    let probe = RunProbe::default();
    let mut recorders = Vec::new();
    let mut wiring = RunWiring {
        run_id: &run_id,
        events: events.hub(),
        probe: &probe,
        clock: &clock,
        structure: launch.chart.structure(),
        recorders: &mut recorders,
    };
    launch.observers.connect(&mut wiring);
    options.wiring.iter().for_each(|wire| wire(&mut wiring));
    let attached = launch.observers.recorders(&run_id);
    let context = Arc::new(RunContext::new(RunParts {
        turn_id: options.turn_id.unwrap_or_else(|| ids.turn_id(now)),
        run_id: run_id.clone(),
        facts,
        identity,
        cancel: cancel.clone(),
        clock: Arc::clone(&clock),
        effects,
        events,
        barrier: options.barrier,
        redacts: options.redaction.is_some(),
        start: launch.start,
        integrity: launch.integrity,
    }));
    let mut walk_options = walk::RunOptions::new()
        .max_iterations(options.max_iterations.unwrap_or(launch.dials.max_iterations))
        .read_tracking(launch.dials.read_tracking)
        .commit_values(options.commit_values.unwrap_or(launch.dials.commit_values))
        .write_provenance(launch.dials.write_provenance)
        .narrative(options.narrative)
        .run_ids(Arc::new(WalkIds { ids, clock: Arc::clone(&clock) }))
        .clock(clock)
        .label(run_id)
        .default_delivery(launch.dials.delivery)
        .cancel(cancel)
        .extend(Arc::clone(&context));
    if let Some(limit) = options.timeout {
        walk_options = walk_options.timeout(limit);
    }
    if let Some(queue) = launch.dials.queue {
        walk_options = walk_options.observer_queue(queue);
    }
    for recorder in recorders {
        walk_options = walk_options.observe_with(recorder, Delivery::Inline);
    }
    if let Some(policy) = options.redaction {
        walk_options = walk_options.redaction(policy);
    }
    for recorder in attached.into_iter().chain(options.recorders) {
        walk_options = walk_options.observe(recorder);
    }
    let run = match launch.leg {
        Leg::Fresh => launch.chart.run(walk_options),
        Leg::Resumed(checkpoint, answer) => launch
            .chart
            .resume(*checkpoint, answer, walk_options)
            .map_err(|error| RunRefusal::NotResumable { message: error.to_string() })?,
    };
    probe.attach(run.handle());
    let (driven, open, settle) = (Arc::clone(&context), launch.open, launch.settle);
    let keeping = Keeping { observers: launch.observers, probe: probe.clone() };
    let drive = Box::pin(async move {
        driven.begin_leg().await;
        open(&driven);
        let report = run.await;
        if matches!(report.outcome(), Outcome::Failed(EngineError::TimedOut { .. })) {
            // What tools left running learns that nobody waits for it any more.
            driven.cancel.cancel();
        }
        let report = settle(Arc::clone(&driven), report).await;
        driven.events.hub().close();
        keeping.over().await;
        report
    });
    Ok(RunHandle::new(context, probe, drive))
}

fn effects_of(options: &RunOptions) -> Arc<dyn Effects> {
    if let Some(effects) = &options.effects {
        return Arc::clone(effects);
    }
    let mut direct = Direct::new();
    if let Some(clock) = &options.clock {
        direct = direct.with_clock(Arc::clone(clock));
    }
    if let Some(ids) = &options.ids {
        direct = direct.with_ids(Arc::clone(ids));
    }
    Arc::new(direct)
}
