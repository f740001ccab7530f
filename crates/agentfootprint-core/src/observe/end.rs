//! Draining, closing tool sessions, shutting down (AGT-10).

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentfootprint_record::conventions::ids;
use agentfootprint_record::events::{AgentEvent, Event, EventMeta, Moment, RunFacts};
use footprint::clock::{Clock as _, SystemClock};
use footprint::ids::RuntimeStageId;
use footprint::observe::DrainReport;
use footprint::value::Str;
use futures_util::FutureExt as _;
use futures_util::future::Shared;

use super::attached::Observers;
use super::channel;
use crate::agent::AgentCore;
use crate::events::EventHub;
use crate::run::lock;
use crate::tools::{CloseReport, Ends};

/// Which tool sessions are closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionSelector {
    /// Those of every session.
    #[default]
    All,
    /// Those of one session.
    Session(Str),
}

impl From<&str> for SessionSelector {
    fn from(id: &str) -> Self {
        Self::Session(id.into())
    }
}

impl From<Option<&str>> for SessionSelector {
    fn from(id: Option<&str>) -> Self {
        id.map_or(Self::All, Self::from)
    }
}

/// How a runner is shut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownOptions {
    /// Whether the strategies are stopped too, after they were flushed.
    pub stop: bool,
    /// How long deferred observers may take to deliver what they hold.
    pub timeout: Duration,
}

impl Default for ShutdownOptions {
    fn default() -> Self {
        Self { stop: false, timeout: Duration::from_secs(30) }
    }
}

impl ShutdownOptions {
    /// Also stops the strategies.
    #[must_use]
    pub fn stopping() -> Self {
        Self { stop: true, ..Self::default() }
    }
}

/// What a shutdown came to.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// How many strategies shipped what they held.
    pub flushed: usize,
    /// What the others said.
    pub failed: Vec<String>,
    /// What deferred observers delivered.
    pub observers: DrainReport,
    /// The tool sessions.
    pub sessions: CloseReport,
    /// How many strategies were stopped.
    pub stopped: usize,
}

type Drained = Shared<Pin<Box<dyn Future<Output = ShutdownReport> + Send>>>;

/// The drain that is under way, which everybody who asks meanwhile shares.
#[derive(Default)]
pub(super) struct Ending(Mutex<Option<Drained>>);

/// Delivers what deferred observers of finished runs still hold, within the time.
pub(crate) async fn drain(observers: &Observers, timeout: Duration) -> DrainReport {
    let until = tokio::time::Instant::now() + timeout;
    let mut out = DrainReport::default();
    for probe in observers.take_runs() {
        let left = until.saturating_duration_since(tokio::time::Instant::now());
        let report = probe.drain(left).await;
        out.done += report.done;
        out.failed += report.failed;
        out.pending += report.pending;
        if report.pending > 0 {
            observers.keep(probe);
        }
    }
    out
}

/// Closes what the tools of these agents left open; nobody's failure is an error.
pub(crate) async fn close_sessions(agents: &[Arc<AgentCore>], hub: &EventHub, ends: &Which) -> CloseReport {
    // No run is under way whose clock this could be.
    let clock = SystemClock::new();
    let say = |event: AgentEvent| {
        let at = Moment { wall_clock_ms: clock.now_ms(), run_offset_ms: 0 };
        let step = RuntimeStageId::parse(ids::TOOL_TEARDOWN);
        hub.publish(Event::new(event, EventMeta::build(Some(step), at, &RunFacts::consumer())));
    };
    let mut out = CloseReport::default();
    for agent in agents {
        let ends = match ends {
            Which::Selected(SessionSelector::All) => Ends::Session(None),
            Which::Selected(SessionSelector::Session(id)) => Ends::Session(Some(id)),
            Which::Everything => Ends::Everything,
        };
        let limit = agent.options.tool_teardown_timeout;
        let report = agent.sessions.close(ends, limit, || clock.now_ms(), say).await;
        out.closed += report.closed;
        out.failed.extend(report.failed);
    }
    out
}

/// Which sessions end, for all agents of a runner.
pub(crate) enum Which {
    Selected(SessionSelector),
    Everything,
}

/// Flushes every strategy and deferred observer, closes the tool sessions, and stops the strategies when asked to. Who asks
/// while it is under way shares it.
pub(crate) async fn shut_down(
    observers: Observers,
    agents: Vec<Arc<AgentCore>>,
    hub: EventHub,
    options: ShutdownOptions,
) -> ShutdownReport {
    let shared = {
        let mut under_way = lock(&observers.inner().ending.0);
        match &*under_way {
            Some(known) => known.clone(),
            None => {
                let work: Pin<Box<dyn Future<Output = ShutdownReport> + Send>> =
                    Box::pin(empty(observers.clone(), agents, hub, options.timeout));
                let begun = work.shared();
                *under_way = Some(begun.clone());
                begun
            }
        }
    };
    let mut report = shared.clone().await;
    {
        let mut under_way = lock(&observers.inner().ending.0);
        if under_way.as_ref().is_some_and(|known| known.ptr_eq(&shared)) {
            *under_way = None;
        }
    }
    if options.stop {
        for enlisted in observers.enlisted() {
            enlisted.channel.close();
            let failures = enlisted.hold.strategy().life().failures();
            report.stopped += usize::from(enlisted.hold.stop());
            if enlisted.hold.strategy().life().failures() > failures {
                let name = enlisted.hold.strategy().name();
                report.failed.push(format!("the strategy `{name}` panicked while it was stopped"));
            }
        }
    }
    report
}

async fn empty(
    observers: Observers,
    agents: Vec<Arc<AgentCore>>,
    hub: EventHub,
    timeout: Duration,
) -> ShutdownReport {
    let mut report = ShutdownReport::default();
    for channels in observers.channels() {
        let name = channels.first().map(|first| first.strategy().name().to_owned()).unwrap_or_default();
        match tokio::time::timeout(timeout, channel::flush(&channels)).await {
            Ok(Ok(())) => report.flushed += 1,
            Ok(Err(error)) => {
                report.failed.push(format!("the strategy `{name}` did not ship all it held: {error}"))
            }
            Err(_) => report.failed.push(format!("the strategy `{name}` was not flushed in time")),
        }
    }
    report.observers = drain(&observers, timeout).await;
    report.sessions = close_sessions(&agents, &hub, &Which::Everything).await;
    report
}
