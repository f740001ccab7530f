//! What a run hands over: its outcome, and always its record (ENG-119).

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use crate::chart::Chart;
use crate::error::{RunError, StageError};
use crate::ids::RunId;
use crate::observe::{LegKind, Recorder};
use crate::pause::{FlowchartCheckpoint, PauseRecord, PendingPause, Plan, Resolved, ResumeError, unlink};
use crate::recorders::{CombinedNarrative, NarrativeEntry};
use crate::snapshot::Snapshot;
use crate::state::RedactionReport;
use crate::structure::Structure;
use crate::value::{Object, Str, Value};
use crate::walk::shared::lock;
use crate::walk::{LegStart, Reentry, Run, RunOptions, RunShared, Visits, Warning, child_of, output_of};

/// How a run ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The walk came to its end, or a stage stopped it cleanly. The value is the last stage's.
    Completed(Option<Value>),
    /// A stage asks.
    Paused(PausedRun),
    /// The walk failed. The record is complete up to there.
    Failed(RunError),
}

/// The end of one leg of a run: outcome and record.
pub struct RunReport {
    shared: Arc<RunShared>,
    chart: Chart,
    outcome: Outcome,
    snapshot: OnceLock<Snapshot>,
    redacted: OnceLock<Snapshot>,
}

impl RunReport {
    pub(crate) fn new(shared: Arc<RunShared>, chart: Chart, outcome: Outcome) -> Self {
        let report = Self { shared, chart, outcome, snapshot: OnceLock::new(), redacted: OnceLock::new() };
        if let Outcome::Paused(paused) = &report.outcome {
            // A resume continues the same log and tree; this report must not grow with them.
            report.snapshot.get_or_init(|| {
                let mut record = paused.record.clone();
                report.shared.add_observers(&mut record);
                record
            });
            if report.shared.is_redacting() {
                report.snapshot_redacted();
            }
        }
        report
    }

    /// How the run ended.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The failure, if the run failed.
    pub fn error(&self) -> Option<&RunError> {
        match &self.outcome {
            Outcome::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// The paused run, if the run paused.
    pub fn paused(&self) -> Option<&PausedRun> {
        match &self.outcome {
            Outcome::Paused(paused) => Some(paused),
            _ => None,
        }
    }

    /// The run's id.
    pub fn run_id(&self) -> &RunId {
        &self.shared.run_id
    }

    /// The record (ENG §9).
    pub fn snapshot(&self) -> &Snapshot {
        self.snapshot.get_or_init(|| self.shared.snapshot(false, true))
    }

    /// The record with the redacted mirrors instead of real state, and without fold bases.
    pub fn snapshot_redacted(&self) -> &Snapshot {
        self.redacted.get_or_init(|| {
            if self.shared.is_redacting() {
                self.shared.snapshot(true, true)
            } else {
                without_fold_bases(self.snapshot())
            }
        })
    }

    /// The chart's structure plus what this run discovered: lazy mounts, generated branches, dynamic
    /// continuations, passes of loops (ENG-59).
    pub fn runtime_structure(&self) -> Structure {
        lock(&self.shared.record.facts).apply(self.chart.structure())
    }

    /// The final state.
    pub fn state(&self) -> Object {
        match self.snapshot.get() {
            Some(snapshot) => snapshot.shared_state.clone(),
            None => self.shared.state_of(&self.shared.root.core(), false),
        }
    }

    /// The chart's output: its contract's mapper over the final state, else the state.
    ///
    /// # Errors
    /// What the mapper failed with.
    pub fn output(&self) -> Result<Value, StageError> {
        output_of(&self.shared, &self.chart)
    }

    /// What was redacted, by name.
    pub fn redaction_report(&self) -> RedactionReport {
        self.shared.redaction_report()
    }

    /// Findings of dev diagnostics.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut all = self.shared.warnings.all();
        all.extend(
            self.shared.observers.slow().into_iter().map(|recorder| Warning::SlowObserver { recorder }),
        );
        all
    }

    /// The observer attached under this id, if it is a `T`.
    pub fn recorder<T: Recorder>(&self, id: &str) -> Option<Arc<T>> {
        self.shared.observers.get(id)
    }

    /// The combined narrative, when it was recorded (by the run option or an attached recorder).
    pub fn narrative_entries(&self) -> Vec<NarrativeEntry> {
        self.recorder::<CombinedNarrative>("combined-narrative")
            .map(|narrative| narrative.entries_of(&self.shared.run_id))
            .unwrap_or_default()
    }

    /// `?`-style use: a failed run becomes an error that keeps the report reachable.
    ///
    /// # Errors
    /// [`RunFailure`] when the run failed.
    pub fn into_result(self) -> Result<Self, RunFailure> {
        match &self.outcome {
            Outcome::Failed(error) => Err(RunFailure { error: error.clone(), report: Box::new(self) }),
            _ => Ok(self),
        }
    }
}

/// The redacted form of a record that holds nothing to redact.
fn without_fold_bases(snapshot: &Snapshot) -> Snapshot {
    let mut out = snapshot.clone();
    out.initial_state = None;
    for result in out.subflow_results.values_mut() {
        let mut bare = (**result).clone();
        bare.tree_context.initial_state = None;
        *result = Arc::new(bare);
    }
    out
}

impl fmt::Debug for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunReport")
            .field("run_id", &self.shared.run_id)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

/// A failed run as an error; the report stays reachable.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct RunFailure {
    #[source]
    error: RunError,
    report: Box<RunReport>,
}

impl RunFailure {
    /// Why the run failed.
    pub fn error(&self) -> &RunError {
        &self.error
    }

    /// The report, with the whole record.
    pub fn report(&self) -> &RunReport {
        &self.report
    }

    /// The report, with the whole record.
    pub fn into_report(self) -> RunReport {
        *self.report
    }
}

/// A run that waits for an answer, in the process it paused in. For another process, store
/// [`PausedRun::checkpoint`] and use [`Chart::resume`].
pub struct PausedRun {
    shared: Arc<RunShared>,
    chart: Chart,
    options: RunOptions,
    asking: Vec<PauseRecord>,
    visits: Vec<(Str, u64)>,
    next_index: u64,
    /// The record when it paused, without what observers add.
    record: Snapshot,
    checkpoint: FlowchartCheckpoint,
    resumed: AtomicBool,
}

impl PausedRun {
    pub(crate) fn new(
        shared: Arc<RunShared>,
        chart: Chart,
        options: RunOptions,
        asking: Vec<PauseRecord>,
        visits: Vec<(Str, u64)>,
        next_index: u64,
    ) -> Self {
        let record = shared.snapshot(false, false);
        let checkpoint = checkpoint_of(&shared, &record, &asking, &visits, next_index);
        Self {
            shared,
            chart,
            options,
            asking,
            visits,
            next_index,
            record,
            checkpoint,
            resumed: AtomicBool::new(false),
        }
    }

    /// Prefixed id of the stage that asks.
    pub fn stage_id(&self) -> &str {
        &self.checkpoint.paused_stage_id
    }

    /// The question, with real values.
    pub fn question(&self) -> Option<&Value> {
        self.checkpoint.pause_data.as_ref()
    }

    /// The run as plain data, for storing.
    pub fn checkpoint(&self) -> &FlowchartCheckpoint {
        &self.checkpoint
    }

    /// Answers the question: a new leg that continues the same log and tree, with the same observers and
    /// options.
    ///
    /// # Errors
    /// [`ResumeError`] when the chart cannot be walked to the stage, or when this run was resumed already.
    /// Nothing ran then.
    pub fn resume(&self, answer: impl Into<Value>) -> Result<Run, ResumeError> {
        self.resume_with(answer, self.options.clone())
    }

    /// As [`PausedRun::resume`], with other limits, cancellation, time budget, environment or stream handler.
    /// Dials, redaction, input and observers stay those of the first leg.
    ///
    /// # Errors
    /// As [`PausedRun::resume`].
    pub fn resume_with(&self, answer: impl Into<Value>, options: RunOptions) -> Result<Run, ResumeError> {
        options.check()?;
        let mut resolved = Resolved::new();
        let (plan, question, queued) = planned(&self.chart, &self.asking, &mut resolved)?;
        if self.resumed.swap(true, Ordering::AcqRel) {
            return Err(ResumeError::AlreadyResumed);
        }
        let top = question.top;
        let reentry = Reentry::new(plan, question, queued, answer.into(), top);
        let run_id = options.run_ids.next_run_id();
        let start = LegStart {
            leg: LegKind::Resumed { previous_run_id: self.shared.run_id.as_shared().clone() },
            root: Arc::clone(&self.shared.root),
            record: Arc::clone(&self.shared.record),
            observers: Some(Arc::clone(&self.shared.observers)),
            policy: Some(Arc::clone(&self.shared.policy)),
            visits: Visits::restored(self.visits.iter().cloned()),
            next_index: self.next_index,
            resolved,
            reentry: Some(reentry),
            same_process: true,
        };
        Ok(Run::leg(self.chart.clone(), options, run_id, start, None))
    }
}

impl fmt::Debug for PausedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PausedRun").field("stage", &self.checkpoint.paused_stage_id).finish_non_exhaustive()
    }
}

impl Chart {
    /// Resumes a stored run with an answer: a fresh log whose fold base is the checkpoint's state. Observers
    /// start empty; the input is not validated again, and read-only arguments of the top chart exist only
    /// when the options supply the input again.
    ///
    /// # Errors
    /// [`ResumeError`] when this chart cannot be walked to the paused stage. Nothing ran then.
    pub fn resume(
        &self,
        checkpoint: FlowchartCheckpoint,
        answer: impl Into<Value>,
        options: RunOptions,
    ) -> Result<Run, ResumeError> {
        options.check()?;
        let mut asking = vec![checkpoint.question()];
        asking.extend(checkpoint.queued());
        let mut resolved = Resolved::new();
        let (plan, question, queued) = planned(self, &asking, &mut resolved)?;
        let reentry = Reentry::new(plan, question, queued, answer.into(), None);
        let options = RunOptions { initial: Some(checkpoint.shared_state), defaults: None, ..options };
        let policy = crate::walk::policy_of(&options);
        let run_id = options.run_ids.next_run_id();
        let root = crate::walk::root_level(self, &options, &policy, &run_id);
        let previous = checkpoint.paused_execution.map_or_else(|| Str::from(""), |at| at.run_id);
        let visits: Vec<(Str, u64)> = checkpoint.visit_counts.into_iter().collect();
        // Without a recorded count, the visits made are the least the next index can be.
        let visited: u64 = visits.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count));
        let start = LegStart {
            leg: LegKind::Resumed { previous_run_id: previous },
            root,
            record: Arc::default(),
            observers: None,
            policy: Some(policy),
            visits: Visits::restored(visits),
            next_index: checkpoint.execution_count.unwrap_or(visited),
            resolved,
            reentry: Some(reentry),
            same_process: false,
        };
        let run = Run::leg(self.clone(), options, run_id, start, None);
        run.remark(checkpoint.redaction_marks);
        Ok(run)
    }
}

type Planned = (Arc<Plan>, Arc<PauseRecord>, Vec<PauseRecord>);

/// Finds the way back to the first question, and checks that every queued one can be found later.
fn planned(chart: &Chart, asking: &[PauseRecord], resolved: &mut Resolved) -> Result<Planned, ResumeError> {
    let Some((first, rest)) = asking.split_first() else {
        return Err(ResumeError::UnknownStage { stage: "".into() });
    };
    let plan = Plan::find(chart, first, resolved)?;
    let mut queued = Vec::with_capacity(rest.len());
    for record in rest {
        let theirs = Plan::find(chart, record, resolved)?;
        check_queued(&plan, first, record)?;
        let mut record = record.clone();
        if let Some(level) = theirs.levels.last() {
            record.stage_name = level.ids.name(level.target).clone();
        }
        record.told = false;
        queued.push(record);
    }
    Ok((Arc::new(plan), Arc::new(first.clone()), queued))
}

/// A queued question must part from the first one at a fan-out of the first one's path.
fn check_queued(plan: &Plan, first: &PauseRecord, record: &PauseRecord) -> Result<(), ResumeError> {
    for level in &plan.levels {
        let fans_out = level.branch.is_some()
            || level.owner.is_some_and(|owner| {
                matches!(
                    level.chart.node(owner).kind,
                    crate::chart::NodeKind::Fork(_) | crate::chart::NodeKind::Selector(_)
                )
            });
        let path = &level.ids.path;
        let (here, there) = (child_of(first, path), child_of(record, path));
        if here == there {
            continue;
        }
        let same_owner = there.is_some_and(|there| match crate::ids::parse_branch_segment(there) {
            Some((for_each, _)) if level.branch.is_some() => level.chart.find(for_each) == Some(level.target),
            _ => level.chart.find(there).is_some_and(|node| level.chart.node(node).parent == level.owner),
        });
        return if fans_out && same_owner {
            Ok(())
        } else {
            Err(ResumeError::Path {
                segment: record.stage_id.clone(),
                why: "the queued question is no sibling of the first one",
            })
        };
    }
    Err(ResumeError::Path { segment: record.stage_id.clone(), why: "the same question is queued again" })
}

fn checkpoint_of(
    shared: &RunShared,
    record: &Snapshot,
    asking: &[PauseRecord],
    visits: &[(Str, u64)],
    next_index: u64,
) -> FlowchartCheckpoint {
    let Some((first, rest)) = asking.split_first() else { return FlowchartCheckpoint::default() };
    let subflow_results: IndexMap<_, _> = record
        .subflow_results
        .iter()
        .filter(|(key, _)| !crate::ids::is_execution_key(key))
        .map(|(key, result)| {
            let mut result = (**result).clone();
            result.tree_context.history = Default::default();
            (key.clone(), Arc::new(result))
        })
        .collect();
    let mut dispatched_by = IndexMap::new();
    let mut fan_outs = IndexMap::new();
    for record in asking {
        dispatched_by.extend(record.dispatchers.clone());
        fan_outs.extend(record.fans.clone());
    }
    FlowchartCheckpoint {
        shared_state: record.shared_state.clone(),
        execution_tree: record.execution_tree.clone(),
        paused_stage_id: first.stage_id.clone(),
        paused_execution: unlink(first.execution.as_ref()),
        subflow_path: first.path.clone(),
        pause_data: first.data.clone(),
        subflow_states: first.states.clone(),
        execution_count: Some(next_index),
        visit_counts: visits.iter().cloned().collect(),
        subflow_results,
        invoker_stage_id: first.invoker.clone(),
        pending_pauses: rest.iter().map(PendingPause::from).collect(),
        by_interrupt: first.by_interrupt,
        interrupt_answers: first.answers.clone(),
        resumed_with: first.resumed_with.clone(),
        paused_at: shared.now(),
        dispatched_by,
        fan_outs,
        redaction_marks: lock(&shared.record.marks).paths().to_vec(),
    }
}
