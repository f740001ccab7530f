//! A run as a future, its handle, and how it begins and ends.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio_util::sync::CancellationToken;

use super::driver::{Driver, Limits, Throttle};
use super::frame::{FrameHandle, GhostOf};
use super::handle::RunHandle;
use super::level::Level;
use super::options::{OptionsError, RunOptions};
use super::resume::Reentry;
use super::setup::{observers_of, policy_of, root_level};
use super::shared::{RunRecord, RunShared, StopCell};
use super::strand::{Cursor, End, Now, Place, Strand};
use super::tree::{Link, NONE};
use super::visit::{drop_guarded, guarded};
use super::visits::Visits;
use super::warn::Warnings;
use crate::chart::{Chart, NodeIdx};
use crate::error::{RunError, StageSource, StructuredError};
use crate::ids::{RunId, RuntimeStageId};
use crate::observe::{
    At, FlowPauseEvent, Hook, LegKind, Observers, Payload, RunEndEvent, RunFailedEvent, RunLeg, RunStartEvent,
};
use crate::pause::{PauseRecord, Resolved};
use crate::report::{Outcome, PausedRun, RunReport};
use crate::scope::StateView;
use crate::state::RunPolicy;
use crate::value::{TypedViews, Value, names};

impl Chart {
    /// Makes a run of this chart. Nothing happens until it is awaited.
    ///
    /// ```
    /// use footprint::chart::{Chart, Stage};
    /// use footprint::report::Outcome;
    /// use footprint::scope::Scope;
    /// use footprint::walk::RunOptions;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let chart = Chart::builder(Stage::new("greet", |_: Scope| async { Ok("hello") })).build().unwrap();
    /// let report = chart.run(RunOptions::new()).await;
    /// assert!(matches!(report.outcome(), Outcome::Completed(Some(_))));
    /// # });
    /// ```
    pub fn run(&self, options: RunOptions) -> Run {
        Run::fresh(self.clone(), options)
    }
}

/// One walk of a chart: `Future<Output = RunReport>`. It always yields a report; dropping it ends the run
/// without one, commits nothing further, and tells inline observers so.
#[must_use = "a run does nothing until it is awaited"]
pub struct Run {
    shared: Arc<RunShared>,
    options: RunOptions,
    chart: Chart,
    state: RunState,
}

enum RunState {
    /// Cannot start.
    Refused(RunError),
    /// Has not been polled.
    Idle(Box<(Driver, Strand)>),
    Walking(Box<Driver>),
    Done,
}

/// How a leg begins.
pub(crate) struct LegStart {
    pub(crate) leg: LegKind,
    pub(crate) root: Arc<Level>,
    pub(crate) record: Arc<RunRecord>,
    pub(crate) observers: Option<Arc<Observers>>,
    pub(crate) policy: Option<Arc<RunPolicy>>,
    pub(crate) visits: Visits,
    pub(crate) next_index: u64,
    pub(crate) resolved: Resolved,
    pub(crate) reentry: Option<Reentry>,
    pub(crate) same_process: bool,
}

impl Run {
    fn fresh(chart: Chart, options: RunOptions) -> Self {
        let refusal = match options.check() {
            Err(error) => Some(RunError::Options(error)),
            Ok(()) => chart
                .contract()
                .and_then(|contract| contract.check_input(options.input.as_ref()).err())
                .map(RunError::InputInvalid),
        };
        let policy = policy_of(&options);
        let run_id = options.run_ids.next_run_id();
        let root = root_level(&chart, &options, &policy, &run_id);
        let start = LegStart {
            leg: LegKind::Fresh,
            root,
            record: Arc::default(),
            observers: None,
            policy: Some(policy),
            visits: Visits::default(),
            next_index: 0,
            resolved: Resolved::new(),
            reentry: None,
            same_process: true,
        };
        Self::leg(chart, options, run_id, start, refusal)
    }

    pub(crate) fn leg(
        chart: Chart,
        options: RunOptions,
        run_id: RunId,
        start: LegStart,
        refusal: Option<RunError>,
    ) -> Self {
        let policy = start.policy.unwrap_or_else(|| policy_of(&options));
        let observers = start.observers.unwrap_or_else(|| Arc::new(observers_of(&options, &run_id)));
        let mut env = options.env.clone();
        if env.cancel.is_none() {
            env.cancel = options.cancel.clone();
        }
        let token: Option<CancellationToken> = options.cancel.clone().or_else(|| options.env.cancel.clone());
        let shared = Arc::new(RunShared {
            boundary: OnceLock::new(),
            run_id,
            leg: start.leg,
            label: options.label.clone(),
            policy,
            observers,
            clock: Arc::clone(&options.clock),
            run_ids: Arc::clone(&options.run_ids),
            redaction_policy: options.redaction.clone(),
            env,
            extensions: options.extensions.clone(),
            detacher: options.detacher.clone(),
            stream: options.stream.clone(),
            root: Arc::clone(&start.root),
            record: start.record,
            root_namespace: crate::observe::NamespaceId(names::shared("")),
            runs_key: names::shared(crate::state::RUNS_KEY),
            stop: StopCell::default(),
            closed: AtomicBool::new(false),
            warnings: Warnings::new(options.diagnostics),
            views: std::sync::Mutex::new(TypedViews::default()),
            same_process: start.same_process,
        });
        if let Some(error) = refusal {
            return Self { shared, options, chart, state: RunState::Refused(error) };
        }
        let limits = Limits { max_depth: options.max_depth, max_iterations: options.max_iterations };
        let throttle: Option<Throttle> = options.throttle.clone();
        let mut driver =
            Driver::new(Arc::clone(&shared), limits, start.visits, start.next_index, token, throttle);
        driver.resolved = start.resolved;
        let ids = Arc::clone(&start.root.ids);
        let cursor = Cursor {
            place: Place { chart: start.root.chart.clone(), ids, dynamic: false },
            level: start.root,
            ns: None,
            parent: None,
            link: Link::Tail,
            invoker: None,
            pass: 0,
            depth: 0,
            astray: false,
        };
        let now = match start.reentry {
            Some(reentry) => Now::Resume(Box::new(reentry)),
            None => Now::Visit(NodeIdx::ROOT),
        };
        let strand = Strand::new(0, cursor, now, None);
        Self { shared, options, chart, state: RunState::Idle(Box::new((driver, strand))) }
    }

    /// A handle to look at the run and to cancel it while it is awaited elsewhere.
    pub fn handle(&self) -> RunHandle {
        RunHandle { shared: Arc::clone(&self.shared) }
    }

    /// Redaction marks of the legs before.
    pub(crate) fn remark(&self, marks: Vec<crate::state::Path>) {
        if !marks.is_empty() {
            self.shared.mark(marks);
        }
    }

    fn boundary(&self, hook: Hook, build: impl FnOnce() -> Payload) {
        tell_boundary(&self.shared, hook, build);
    }

    fn begin(&mut self, driver: &mut Driver, strand: Strand) {
        let shared = &self.shared;
        shared.observers.leg(&RunLeg {
            run_id: &shared.run_id,
            kind: &shared.leg,
            label: shared.label.as_deref(),
            same_process: shared.same_process,
        });
        let input = self.options.input.as_ref().filter(|_| matches!(shared.leg, LegKind::Fresh));
        self.boundary(Hook::RunStart, || {
            RunStartEvent { payload: input.map(|input| shared.served_payload(input)) }.into()
        });
        driver.start(strand, self.options.timeout);
    }

    fn finish(&mut self, driver: Option<Box<Driver>>, end: End) -> RunReport {
        let outcome = match end {
            End::Done(value) | End::Stopped { output: value, .. } => self.completed(value),
            End::Failed(error) => self.failed(error),
            End::Paused(asking) => self.paused(driver.as_deref(), asking),
        };
        if let Some(driver) = driver {
            drop_guarded(driver);
        }
        self.shared.close();
        self.shared.observers.flush();
        if matches!(outcome, Outcome::Failed(_)) {
            self.shared.stop.release();
        }
        RunReport::new(Arc::clone(&self.shared), self.chart.clone(), outcome)
    }

    fn completed(&self, value: Option<Value>) -> Outcome {
        if let Some(contract) = self.chart.contract() {
            let output = output_of(&self.shared, &self.chart);
            let refused = match output {
                Ok(output) => contract.check_output(Some(&output)).err().map(RunError::OutputInvalid),
                Err(source) => {
                    Some(RunError::Stage { address: RuntimeStageId::root(), source: StageSource::of(source) })
                }
            };
            if let Some(error) = refused {
                return self.failed(error);
            }
        }
        self.boundary(Hook::RunEnd, || {
            RunEndEvent { payload: value.as_ref().map(|value| self.shared.served_payload(value)) }.into()
        });
        Outcome::Completed(value)
    }

    fn failed(&self, error: RunError) -> Outcome {
        self.boundary(Hook::RunFailed, || {
            RunFailedEvent { structured_error: self.shared.served_error(error.structured()) }.into()
        });
        Outcome::Failed(error)
    }

    /// The run pauses on its first question.
    fn paused(&self, driver: Option<&Driver>, asking: Vec<PauseRecord>) -> Outcome {
        if let Some(first) = asking.first()
            && !first.told
        {
            self.ask_again(first);
        }
        let (visits, next_index) =
            driver.map_or((Vec::new(), 0), |driver| (driver.visits.all(), driver.next_index));
        Outcome::Paused(PausedRun::new(
            Arc::clone(&self.shared),
            self.chart.clone(),
            self.options.clone(),
            asking,
            visits,
            next_index,
        ))
    }

    /// A question of an earlier leg is the one this leg pauses on: it closes this leg too.
    fn ask_again(&self, record: &PauseRecord) {
        let address = record.address();
        let ghost = FrameHandle::ghost(
            &self.shared,
            GhostOf {
                level: &self.shared.root,
                id: record.stage_id.clone(),
                name: record.stage_name.clone(),
                description: None,
                index: address.map_or(0, |address| address.index().0),
                ns: None,
                no: NONE,
            },
        );
        ghost.tell(Hook::FlowPause, || {
            FlowPauseEvent {
                stage_name: record.stage_name.clone(),
                stage_id: record.stage_id.clone(),
                pause_data: record.data.as_ref().map(|data| self.shared.served_payload(data)),
            }
            .into()
        });
    }
}

impl Future for Run {
    type Output = RunReport;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<RunReport> {
        let run = &mut *self;
        match std::mem::replace(&mut run.state, RunState::Done) {
            RunState::Refused(error) => {
                run.shared.close();
                Poll::Ready(RunReport::new(
                    Arc::clone(&run.shared),
                    run.chart.clone(),
                    Outcome::Failed(error),
                ))
            }
            RunState::Idle(idle) => {
                let (mut driver, strand) = *idle;
                run.begin(&mut driver, strand);
                run.walk(Box::new(driver), cx)
            }
            RunState::Walking(driver) => run.walk(driver, cx),
            RunState::Done => Poll::Pending,
        }
    }
}

impl Run {
    fn walk(&mut self, mut driver: Box<Driver>, cx: &mut Context<'_>) -> Poll<RunReport> {
        match driver.poll(cx) {
            Poll::Pending => {
                self.state = RunState::Walking(driver);
                Poll::Pending
            }
            Poll::Ready(end) => Poll::Ready(self.finish(Some(driver), end)),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let RunState::Walking(mut driver) = std::mem::replace(&mut self.state, RunState::Done) {
            self.shared.close();
            driver.abort_streams();
            drop_guarded(driver);
            tell_boundary(&self.shared, Hook::RunFailed, || {
                let structured_error = StructuredError {
                    code: Some("RUN_DROPPED".to_owned()),
                    ..StructuredError::new("the run was dropped before it ended")
                };
                RunFailedEvent { structured_error }.into()
            });
            self.shared.observers.close();
            self.shared.stop.release();
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("run_id", &self.shared.run_id).finish_non_exhaustive()
    }
}

fn tell_boundary(shared: &RunShared, hook: Hook, build: impl FnOnce() -> Payload) {
    if !shared.observers.wants(hook) {
        return;
    }
    let commits = shared.root.commit_count();
    let at =
        At { place: shared.boundary(), root_commits: commits, log_commits: commits, clock: &*shared.clock };
    shared.observers.emit(at, build());
}

/// The chart's output: its contract's mapper over the final state, else the state.
pub(crate) fn output_of(shared: &RunShared, chart: &Chart) -> Result<Value, crate::error::StageError> {
    let state = shared.root.core().state.clone();
    let view = StateView::of(state.clone());
    match chart.contract().and_then(|contract| guarded_map(contract, view)) {
        Some(mapped) => mapped,
        None => Ok(Value::Object(state)),
    }
}

fn guarded_map(
    contract: &crate::chart::Contract,
    view: StateView,
) -> Option<Result<Value, crate::error::StageError>> {
    match guarded(|| Ok(contract.map_output(view))) {
        Ok(mapped) => mapped,
        Err(panic) => Some(Err(panic)),
    }
}

impl From<OptionsError> for RunError {
    fn from(error: OptionsError) -> Self {
        Self::Options(error)
    }
}
