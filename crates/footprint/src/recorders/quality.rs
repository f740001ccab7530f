//! A user's score per step (OBS-91).

use indexmap::IndexMap;

use super::per_run::{PerRun, close_on_end};
use crate::ids::{RunId, RuntimeStageId};
use crate::observe::*;
use crate::snapshot::PreferredOperation;
use crate::stores::KeyedStore;
use crate::value::{Object, Str, Value};

/// What a score function is told about a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFacts {
    /// The step's name.
    pub stage_name: Str,
    /// The step's stage id.
    pub stage_id: Str,
    /// Keys read so far, each once.
    pub keys_read: Vec<Str>,
    /// Keys written so far, each once.
    pub keys_written: Vec<Str>,
    /// Milliseconds in its function, when known.
    pub duration: Option<u64>,
}

/// A score function's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QualityScore {
    /// 0 is worst, 1 is best; clamped.
    pub score: f64,
    /// What the score is made of.
    pub factors: Vec<Str>,
}

impl From<f64> for QualityScore {
    fn from(score: f64) -> Self {
        Self { score, factors: Vec::new() }
    }
}

/// A scored step.
#[derive(Clone, Debug, PartialEq)]
pub struct QualityEntry {
    /// The step's name.
    pub stage_name: Str,
    /// The step's stage id.
    pub stage_id: Str,
    /// The score, within 0..=1.
    pub score: f64,
    /// What the score is made of.
    pub factors: Vec<Str>,
    /// Keys the step read.
    pub keys_read: Vec<Str>,
    /// Keys the step wrote.
    pub keys_written: Vec<Str>,
}

/// Keys a running step has touched so far, each once.
#[derive(Clone, Debug, Default)]
struct Touched {
    read: Vec<Str>,
    written: Vec<Str>,
}

#[derive(Clone, Debug, Default)]
struct Scores {
    running: KeyedStore<Touched>,
    steps: KeyedStore<QualityEntry>,
}

type ScoreFn = dyn Fn(&RuntimeStageId, &StepFacts) -> QualityScore + Send + Sync;

/// Scores each step with a user's function when the step ends.
///
/// ```
/// use footprint::recorders::Quality;
/// let quality = Quality::new(|_step, facts| if facts.keys_read.is_empty() { 0.5.into() } else { 1.0.into() });
/// assert_eq!(quality.overall(None), 1.0); // nothing scored yet
/// ```
pub struct Quality {
    id: Str,
    score: Box<ScoreFn>,
    runs: PerRun<Scores>,
}

impl std::fmt::Debug for Quality {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quality").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Quality {
    /// Scores with this function, under the id `quality-1`.
    pub fn new(score: impl Fn(&RuntimeStageId, &StepFacts) -> QualityScore + Send + Sync + 'static) -> Self {
        Self { id: "quality-1".into(), score: Box::new(score), runs: PerRun::default() }
    }

    /// Under another id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<Str>) -> Self {
        self.id = id.into();
        self
    }

    /// All scored steps of a run (`None` = the newest), in order.
    pub fn steps(&self, run: Option<&RunId>) -> IndexMap<RuntimeStageId, QualityEntry> {
        let all = |s: &Scores| s.steps.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        self.runs.read(run, all).unwrap_or_default()
    }

    /// Mean score of a run; 1 when nothing was scored.
    pub fn overall(&self, run: Option<&RunId>) -> f64 {
        self.runs.read(run, |s| mean(&s.steps, None)).unwrap_or(1.0)
    }

    /// The first step with the lowest score.
    pub fn lowest(&self, run: Option<&RunId>) -> Option<(RuntimeStageId, QualityEntry)> {
        self.runs.read(run, |s| lowest(&s.steps).map(|(k, v)| (k.clone(), v.clone()))).flatten()
    }

    /// Mean score of the visible steps; 1 when none of them was scored.
    pub fn score_up_to(&self, run: Option<&RunId>, visible: &dyn Fn(&RuntimeStageId) -> bool) -> f64 {
        self.runs.read(run, |s| mean(&s.steps, Some(visible))).unwrap_or(1.0)
    }

    fn touch(&self, cx: &EventCx<'_>, pick: fn(&mut Touched) -> &mut Vec<Str>, key: &Str) {
        self.runs.with(cx.run_id, |scores| {
            let id = cx.traversal.runtime_stage_id.clone();
            let keys = pick(scores.running.get_or_insert_with(id, Default::default));
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        });
    }
}

fn mean(steps: &KeyedStore<QualityEntry>, visible: Option<&dyn Fn(&RuntimeStageId) -> bool>) -> f64 {
    let (sum, count) = steps.accumulate(visible, (0.0, 0_u32), |(sum, n), _, step| (sum + step.score, n + 1));
    if count == 0 { 1.0 } else { sum / f64::from(count) }
}

fn lowest(steps: &KeyedStore<QualityEntry>) -> Option<(&RuntimeStageId, &QualityEntry)> {
    let mut lowest: Option<(&RuntimeStageId, &QualityEntry)> = None;
    for (id, step) in steps.iter() {
        if lowest.is_none_or(|(_, low)| step.score < low.score) {
            lowest = Some((id, step));
        }
    }
    lowest
}

impl Recorder for Quality {
    fn id(&self) -> &str {
        &self.id
    }

    fn interest(&self) -> Interest {
        Interest::hooks([
            Hook::Read,
            Hook::Write,
            Hook::StageStart,
            Hook::StageEnd,
            Hook::RunEnd,
            Hook::RunFailed,
            Hook::FlowPause,
        ])
    }

    fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
        self.runs.leg(leg);
        Ok(())
    }

    fn on_read(&self, cx: &EventCx<'_>, e: &ReadEvent) -> HookResult {
        e.key.iter().for_each(|key| self.touch(cx, |keys| &mut keys.read, key));
        Ok(())
    }

    fn on_write(&self, cx: &EventCx<'_>, e: &WriteEvent) -> HookResult {
        self.touch(cx, |keys| &mut keys.written, &e.key);
        Ok(())
    }

    fn on_stage_start(&self, cx: &EventCx<'_>, _e: &StageStartEvent) -> HookResult {
        // A new attempt starts from nothing, as its writes do.
        self.runs.with(cx.run_id, |scores| scores.running.delete(&cx.traversal.runtime_stage_id));
        Ok(())
    }

    fn on_stage_end(&self, cx: &EventCx<'_>, e: &StageEndEvent) -> HookResult {
        let step = cx.traversal;
        let id = &step.runtime_stage_id;
        let touched = self.runs.with(cx.run_id, |scores| scores.running.delete(id)).unwrap_or_default();
        let facts = StepFacts {
            stage_name: step.stage_name.clone(),
            stage_id: step.stage_id.clone(),
            keys_read: touched.read,
            keys_written: touched.written,
            duration: e.duration,
        };
        let QualityScore { score, factors } = (self.score)(id, &facts);
        if !score.is_finite() {
            return Err(RecorderError::new(format!("quality score of {id} is not a finite number")));
        }
        let entry = QualityEntry {
            stage_name: facts.stage_name,
            stage_id: facts.stage_id,
            score: score.clamp(0.0, 1.0),
            factors,
            keys_read: facts.keys_read,
            keys_written: facts.keys_written,
        };
        self.runs.with(cx.run_id, |scores| scores.steps.set(id.clone(), entry));
        Ok(())
    }

    close_on_end!(runs);

    fn snapshot(&self, run: &RunId) -> Option<RecorderBundle> {
        let steps = self.runs.read(Some(run), |s| s.steps.clone())?;
        let mut data = Object::new();
        data.insert("numericField", "score".into());
        data.insert("overallScore", mean(&steps, None).into());
        if let Some((id, _)) = lowest(&steps) {
            data.insert("lowestStep", id.to_string().into());
        }
        let rows = steps.iter().map(|(id, step)| (Str::from(id.to_string()), entry_row(step)));
        data.insert("steps", Value::Object(rows.collect()));
        Some(RecorderBundle {
            name: "Quality".into(),
            description: Some("A score per step".into()),
            preferred_operation: Some(PreferredOperation::Accumulate),
            data: Value::Object(data),
            meta: self.runs.meta(run).map(Value::Object),
        })
    }
}

fn entry_row(step: &QualityEntry) -> Value {
    let names = |list: &[Str]| Value::Array(list.iter().map(Value::from).collect());
    let mut row = Object::new();
    row.insert("stageName", Value::from(&step.stage_name));
    row.insert("stageId", Value::from(&step.stage_id));
    row.insert("score", step.score.into());
    row.insert("factors", names(&step.factors));
    row.insert("keysRead", names(&step.keys_read));
    row.insert("keysWritten", names(&step.keys_written));
    Value::Object(row)
}
