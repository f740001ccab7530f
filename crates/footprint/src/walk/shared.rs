//! What everything in one run shares: the frozen policy, observers, environment, clock, and the few
//! cells that change while it runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::level::{Level, LevelCore};
use super::warn::Warnings;
use crate::clock::Clock;
use crate::detach::Detacher;
use crate::env::{Env, Extensions};
use crate::error::{RunError, StructuredError};
use crate::ids::{RunId, RunIdSource, RuntimeStageId};
use crate::observe::{EventPlace, LegKind, NamespaceId, Observers, TraversalContext};
use crate::snapshot::Snapshot;
use crate::state::{Marks, Path, Redaction, RedactionPolicy, RedactionReport, RunPolicy};
use crate::stream::StreamHandler;
use crate::structure::RuntimeFacts;
use crate::value::{Object, Str, TypedViews, Value};

/// One leg of a run.
pub(crate) struct RunShared {
    pub(crate) run_id: RunId,
    pub(crate) leg: LegKind,
    pub(crate) label: Option<Str>,
    pub(crate) policy: Arc<RunPolicy>,
    pub(crate) observers: Arc<Observers>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) run_ids: Arc<dyn RunIdSource>,
    /// The policy as it was given, for detached children.
    pub(crate) redaction_policy: Option<RedactionPolicy>,
    /// False for a leg that runs in another process than the one before it.
    pub(crate) same_process: bool,
    pub(crate) env: Env,
    pub(crate) extensions: Extensions,
    pub(crate) detacher: Option<Detacher>,
    pub(crate) stream: Option<Arc<dyn StreamHandler>>,
    pub(crate) root: Arc<Level>,
    pub(crate) record: Arc<RunRecord>,
    /// Context of the run-boundary events.
    pub(crate) boundary: OnceLock<Arc<EventPlace>>,
    pub(crate) root_namespace: NamespaceId,
    pub(crate) runs_key: Str,
    pub(crate) stop: StopCell,
    pub(crate) closed: AtomicBool,
    pub(crate) warnings: Warnings,
    /// Decoded views of state values, one table per run.
    pub(crate) views: Mutex<TypedViews>,
}

/// What continues over the legs of one process: facts that belong to the record, not to a leg.
#[derive(Default)]
pub(crate) struct RunRecord {
    /// Per-call redaction marks; they hold for the rest of the run.
    pub(crate) marks: Mutex<Marks>,
    /// Mount executions in entry order.
    mounts: Mutex<Vec<Arc<Level>>>,
    /// Structure only the run knew: lazy mounts, generated branches, dynamic continuations, loop passes.
    pub(crate) facts: Mutex<RuntimeFacts>,
    /// A mark was set; until then nobody looks at them.
    marked: AtomicBool,
}

impl RunRecord {
    pub(crate) fn mount_entered(&self, level: &Arc<Level>) {
        lock(&self.mounts).push(Arc::clone(level));
    }

    fn mounts(&self) -> Vec<Arc<Level>> {
        lock(&self.mounts).clone()
    }
}

/// How a run is told from outside to end.
#[derive(Default)]
pub(crate) struct StopCell {
    asked: AtomicBool,
    inner: Mutex<StopInner>,
}

#[derive(Default)]
struct StopInner {
    reason: Option<String>,
    waker: Option<Waker>,
    token: Option<CancellationToken>,
}

impl StopCell {
    /// Whether [`StopCell::cancel`] was called.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    pub(crate) fn cancel(&self, reason: &str) {
        let (waker, token) = {
            let mut inner = lock(&self.inner);
            inner.reason.get_or_insert_with(|| reason.to_owned());
            (inner.waker.take(), inner.token.clone())
        };
        self.asked.store(true, Ordering::Release);
        if let Some(token) = token {
            token.cancel();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn error(&self) -> RunError {
        let reason = lock(&self.inner).reason.clone().unwrap_or_else(|| "cancelled".to_owned());
        RunError::Cancelled { reason }
    }

    /// Remembers who to wake.
    pub(crate) fn register(&self, waker: &Waker) {
        let mut inner = lock(&self.inner);
        match &mut inner.waker {
            Some(known) if known.will_wake(waker) => {}
            slot => *slot = Some(waker.clone()),
        }
    }

    /// The token nested work can take part in; made when somebody asks.
    pub(crate) fn token(&self, parent: Option<&CancellationToken>) -> CancellationToken {
        let token = lock(&self.inner)
            .token
            .get_or_insert_with(|| parent.map_or_else(CancellationToken::new, CancellationToken::child_token))
            .clone();
        if self.is_asked() {
            token.cancel();
        }
        token
    }

    /// Cancels work that took the token, for example because the run ended badly.
    pub(crate) fn release(&self) {
        let token = lock(&self.inner).token.clone();
        if let Some(token) = token {
            token.cancel();
        }
    }
}

/// A lock whose holder never runs foreign code, so a poisoned one is still consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunShared {
    /// The record so far; detached and frozen (ENG-143).
    pub(crate) fn snapshot(&self, redacted: bool, with_observers: bool) -> Snapshot {
        let mut out = Snapshot {
            run_id: Some(self.run_id.as_shared().clone()),
            commit_values: self.policy.commit_values,
            write_provenance: self.policy.write_provenance,
            run_label: self.label.clone(),
            log_address: Some((**self.root.log_address()).clone()),
            ..Snapshot::default()
        };
        {
            let core = self.root.core();
            out.shared_state = self.state_of(&core, redacted);
            out.initial_state = (!redacted).then(|| core.initial.clone());
            out.commit_log = core.log.clone();
            out.execution_tree = core.tree.to_tree(&self.root.chart, &self.root.ids);
        }
        for level in self.record.mounts() {
            let (Some(mounted), Some(result)) = (&level.mounted, level.subflow_result(self, redacted)) else {
                continue;
            };
            let result = Arc::new(result);
            out.subflow_results.insert(mounted.id.clone(), Arc::clone(&result));
            out.subflow_results.insert(mounted.address().to_string().into(), result);
        }
        if with_observers {
            self.add_observers(&mut out);
        }
        out
    }

    /// Adds what observers have to show.
    pub(crate) fn add_observers(&self, out: &mut Snapshot) {
        out.recorders = self.observers.rows(&self.run_id);
        out.observer_stats = self.observers.stats();
        out.recorder_failures = self.observers.failures();
    }

    /// A level's state, real or as its mirror has it. Marks without a policy keep no mirror; it is made then.
    pub(crate) fn state_of(&self, core: &LevelCore, redacted: bool) -> Object {
        match &core.mirror {
            Some(mirror) if redacted => mirror.clone(),
            None if redacted && self.is_redacting() => {
                self.redaction(&[], |redaction| redaction.mirror_of(&core.state))
            }
            _ => core.state.clone(),
        }
    }

    /// Whether anything may have to be redacted; the one branch an unredacted run pays.
    #[inline]
    pub(crate) fn is_redacting(&self) -> bool {
        self.policy.redaction.is_some() || self.record.marked.load(Ordering::Acquire)
    }

    /// Asks the run's one redaction rule. Only engine code runs inside.
    pub(crate) fn redaction<R>(&self, local: &[Path], ask: impl FnOnce(Redaction<'_>) -> R) -> R {
        if !self.is_redacting() && local.is_empty() {
            return ask(Redaction::new(None, &Marks::default()));
        }
        let marks = lock(&self.record.marks);
        ask(Redaction::new(self.policy.redaction.as_deref(), &marks).with_local(local))
    }

    /// Marks paths for the rest of the run.
    pub(crate) fn mark(&self, paths: impl IntoIterator<Item = Path>) {
        let mut marks = lock(&self.record.marks);
        for path in paths {
            marks.mark(path);
        }
        self.record.marked.store(true, Ordering::Release);
    }

    /// Whether a mark of the run covers a path.
    pub(crate) fn is_marked(&self, path: &Path) -> bool {
        self.record.marked.load(Ordering::Acquire) && lock(&self.record.marks).touches(path)
    }

    /// A deleted key loses its marks.
    pub(crate) fn unmark(&self, path: &Path) {
        lock(&self.record.marks).clear(path);
    }

    pub(crate) fn note_redacted(&self, paths: &[Path]) {
        lock(&self.record.marks).note_redacted(paths);
    }

    pub(crate) fn redaction_report(&self) -> RedactionReport {
        self.redaction(&[], |redaction| redaction.report())
    }

    /// The served form of data that crosses a boundary.
    pub(crate) fn served_payload(&self, value: &Value) -> Value {
        if self.is_redacting() {
            self.redaction(&[], |redaction| redaction.serve_payload(value))
        } else {
            value.clone()
        }
    }

    /// The served form of an error.
    pub(crate) fn served_error(&self, error: StructuredError) -> StructuredError {
        if !self.is_redacting() {
            return error;
        }
        self.served_payload(&error.to_value()).decode().unwrap_or(error)
    }

    /// Whether the run is over: late writes by tasks a stage left behind are refused.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// The synthetic place of run-boundary events.
    pub(crate) fn boundary(&self) -> &Arc<EventPlace> {
        self.boundary.get_or_init(|| {
            let address = RuntimeStageId::root();
            Arc::new(EventPlace {
                run_id: self.run_id.clone(),
                leg: self.leg.clone(),
                traversal: TraversalContext {
                    run_id: self.run_id.clone(),
                    stage_id: address.stage_shared().clone(),
                    stage_name: address.stage_shared().clone(),
                    runtime_stage_id: address,
                    parent_stage_id: None,
                    parent_runtime_stage_id: None,
                    subflow_id: None,
                    subflow_path: None,
                    depth: 0,
                    loop_iteration: None,
                    fork_branch: None,
                    resumed_from: None,
                },
                namespace: self.root_namespace.clone(),
                log: Arc::clone(self.root.log_address()),
            })
        })
    }

    /// Unix milliseconds.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now_ms()
    }
}

/// How long a duration is in whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
