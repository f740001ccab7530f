//! Counts and time per step (OBS-88).

use indexmap::IndexMap;

use super::per_run::{PerRun, close_on_end};
use crate::ids::{RunId, RuntimeStageId};
use crate::observe::*;
use crate::snapshot::PreferredOperation;
use crate::stores::{BoundaryStateStore, KeyedStore};
use crate::value::{Object, Str, Value};

/// Counts of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepMetrics {
    /// The step's name.
    pub stage_name: String,
    /// Tracked reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Recorded bundles.
    pub commits: u64,
    /// Pauses.
    pub pauses: u64,
    /// Milliseconds in its function.
    pub duration: u64,
}

/// Counts of all steps of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageMetrics {
    /// How many steps there were.
    pub invocation_count: u64,
    /// Tracked reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Recorded bundles.
    pub commits: u64,
    /// Pauses.
    pub pauses: u64,
    /// Milliseconds in the function.
    pub duration: u64,
}

#[derive(Debug, Default)]
struct Counts {
    steps: KeyedStore<StepMetrics>,
    running: BoundaryStateStore<u64>,
}

impl Clone for Counts {
    fn clone(&self) -> Self {
        Self { steps: self.steps.clone(), running: BoundaryStateStore::new() }
    }
}

/// Whether a stage, by name, is counted.
type StageFilter = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Counts reads, writes, commits, pauses and time, each credited to the step of its event — never to a "current" step.
pub struct Metrics {
    id: Str,
    filter: Option<StageFilter>,
    runs: PerRun<Counts>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::with_id("metrics-1")
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Metrics {
    /// Under the id `metrics-1`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Under this id.
    pub fn with_id(id: impl Into<Str>) -> Self {
        Self { id: id.into(), filter: None, runs: PerRun::default() }
    }

    /// Counts only stages whose name passes.
    #[must_use]
    pub fn stage_filter(mut self, filter: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(Box::new(filter));
        self
    }

    /// Counts per step of a run (`None` = the newest), in order of first event.
    pub fn steps(&self, run: Option<&RunId>) -> IndexMap<RuntimeStageId, StepMetrics> {
        let all = |c: &Counts| c.steps.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        self.runs.read(run, all).unwrap_or_default()
    }

    /// Counts per stage name of a run (`None` = the newest).
    pub fn by_stage(&self, run: Option<&RunId>) -> IndexMap<String, StageMetrics> {
        let mut out: IndexMap<String, StageMetrics> = IndexMap::new();
        for step in self.steps(run).into_values() {
            let sum = out.entry(step.stage_name).or_default();
            sum.invocation_count += 1;
            sum.reads += step.reads;
            sum.writes += step.writes;
            sum.commits += step.commits;
            sum.pauses += step.pauses;
            sum.duration += step.duration;
        }
        out
    }

    fn count(&self, cx: &EventCx<'_>, change: impl FnOnce(&mut StepMetrics)) -> HookResult {
        let name = &cx.traversal.stage_name;
        if self.filter.as_ref().is_some_and(|passes| !passes(name)) {
            return Ok(());
        }
        self.runs.with(cx.run_id, |counts| {
            let fresh = || StepMetrics { stage_name: name.to_string(), ..StepMetrics::default() };
            change(counts.steps.get_or_insert_with(cx.traversal.runtime_stage_id.clone(), fresh));
        });
        Ok(())
    }
}

impl Recorder for Metrics {
    fn id(&self) -> &str {
        &self.id
    }

    fn interest(&self) -> Interest {
        Interest::hooks([
            Hook::Read,
            Hook::Write,
            Hook::Commit,
            Hook::StageStart,
            Hook::StageEnd,
            Hook::ScopePause,
            Hook::RunEnd,
            Hook::RunFailed,
            Hook::FlowPause,
        ])
    }

    fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
        self.runs.leg(leg);
        Ok(())
    }

    fn on_read(&self, cx: &EventCx<'_>, _e: &ReadEvent) -> HookResult {
        self.count(cx, |step| step.reads += 1)
    }

    fn on_write(&self, cx: &EventCx<'_>, _e: &WriteEvent) -> HookResult {
        self.count(cx, |step| step.writes += 1)
    }

    fn on_commit(&self, cx: &EventCx<'_>, _e: &CommitEvent) -> HookResult {
        self.count(cx, |step| step.commits += 1)
    }

    fn on_scope_pause(&self, cx: &EventCx<'_>, _e: &ScopePauseEvent) -> HookResult {
        self.count(cx, |step| step.pauses += 1)
    }

    fn on_stage_start(&self, cx: &EventCx<'_>, _e: &StageStartEvent) -> HookResult {
        let now = cx.timestamp();
        self.runs.with(cx.run_id, |counts| {
            counts.running.stop(&cx.traversal.runtime_stage_id); // an earlier attempt that did not return
            counts.running.start(cx.traversal.runtime_stage_id.clone(), now);
        });
        self.count(cx, |_| {})
    }

    fn on_stage_end(&self, cx: &EventCx<'_>, e: &StageEndEvent) -> HookResult {
        let started = self.runs.with(cx.run_id, |c| c.running.stop(&cx.traversal.runtime_stage_id));
        let measured = || started.map_or(0, |at| cx.timestamp().saturating_sub(at));
        let duration = e.duration.unwrap_or_else(measured);
        self.count(cx, |step| step.duration += duration)
    }

    close_on_end!(runs);

    fn snapshot(&self, run: &RunId) -> Option<RecorderBundle> {
        let steps = self.runs.read(Some(run), |c| c.steps.clone())?;
        let sum =
            |of: fn(&StepMetrics) -> u64| Value::from(steps.aggregate(0, |acc, _, step| acc + of(step)));
        let mut data = Object::new();
        data.insert("numericField", "readCount".into());
        data.insert("grandTotal", sum(|s| s.reads));
        data.insert("totalDuration", sum(|s| s.duration));
        data.insert("totalReads", sum(|s| s.reads));
        data.insert("totalWrites", sum(|s| s.writes));
        data.insert("totalCommits", sum(|s| s.commits));
        data.insert("totalPauses", sum(|s| s.pauses));
        let row = |(id, s): (&RuntimeStageId, &StepMetrics)| (Str::from(id.to_string()), step_row(s));
        data.insert("steps", Value::Object(steps.iter().map(row).collect()));
        Some(RecorderBundle {
            name: "Metrics".into(),
            description: Some("Reads, writes, commits, pauses and time per step".into()),
            preferred_operation: Some(PreferredOperation::Aggregate),
            data: Value::Object(data),
            meta: self.runs.meta(run).map(Value::Object),
        })
    }
}

fn step_row(step: &StepMetrics) -> Value {
    let mut row = Object::new();
    row.insert("stageName", step.stage_name.as_str().into());
    row.insert("readCount", step.reads.into());
    row.insert("writeCount", step.writes.into());
    row.insert("commitCount", step.commits.into());
    row.insert("pauseCount", step.pauses.into());
    row.insert("duration", step.duration.into());
    Value::Object(row)
}
