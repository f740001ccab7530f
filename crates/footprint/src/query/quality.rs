//! Where quality was lost (OBS-177).

use std::collections::HashMap;
use std::sync::Arc;

use super::{LogView, QueryError, ReadSource, SliceOptions};
use crate::ids::RuntimeStageId;
use crate::value::{Object, Str, Value};

/// A step of a quality trace.
#[derive(Clone, Debug, PartialEq)]
pub struct QualityFrame {
    /// The step.
    pub runtime_stage_id: RuntimeStageId,
    /// Its name.
    pub stage_name: Str,
    /// Its score; −1 when it was not scored.
    pub score: f64,
    /// What the score is made of.
    pub factors: Vec<Str>,
    /// The key that led to it.
    pub linked_by: Option<Str>,
    /// Distance from the start.
    pub depth: usize,
}

/// The largest loss of quality between a step and one it depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct RootCause {
    /// Where quality was lost.
    pub frame: QualityFrame,
    /// The step before it, which was still better.
    pub previous_frame: QualityFrame,
    /// How much was lost.
    pub drop: f64,
}

/// Scores along the way back from a step.
#[derive(Clone, Debug, PartialEq)]
pub struct QualityTrace {
    /// The start.
    pub start_id: RuntimeStageId,
    /// Its score; −1 when unknown.
    pub start_score: f64,
    /// The steps, the start first.
    pub frames: Vec<QualityFrame>,
    /// The largest loss, when there is any.
    pub root_cause: Option<RootCause>,
}

fn frame_value(frame: &QualityFrame) -> Value {
    let mut row = Object::new();
    row.insert("runtimeStageId", frame.runtime_stage_id.to_string().into());
    row.insert("stageName", Value::from(&frame.stage_name));
    row.insert("score", frame.score.into());
    row.insert("factors", Value::Array(frame.factors.iter().map(Value::from).collect()));
    row.insert("linkedBy", frame.linked_by.as_ref().map_or(Value::Null, Value::from));
    row.insert("depth", frame.depth.into());
    Value::Object(row)
}

impl QualityTrace {
    /// The JSON object `{startId, startScore, frames, rootCause?}`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("startId", self.start_id.to_string().into());
        out.insert("startScore", self.start_score.into());
        out.insert("frames", Value::Array(self.frames.iter().map(frame_value).collect()));
        if let Some(cause) = &self.root_cause {
            let mut row = Object::new();
            row.insert("frame", frame_value(&cause.frame));
            row.insert("previousFrame", frame_value(&cause.previous_frame));
            row.insert("drop", cause.drop.into());
            out.insert("rootCause", Value::Object(row));
        }
        Value::Object(out)
    }
}

/// The `steps` of a `Quality` row.
struct Scores<'a>(Option<&'a Object>);

impl Scores<'_> {
    fn entry(&self, step: &RuntimeStageId) -> Option<&Value> {
        self.0?.get(&step.to_string())
    }

    fn score(&self, step: &RuntimeStageId) -> f64 {
        self.entry(step).and_then(|e| e.get("score")).and_then(Value::as_f64).unwrap_or(-1.0)
    }
}

fn names(value: Option<&Value>) -> Vec<Str> {
    let list = value.and_then(Value::as_array);
    list.iter().flat_map(|l| l.iter()).filter_map(|v| v.as_shared_str().cloned()).collect()
}

impl LogView {
    /// Follows scores back from a step over the keys its quality entries say were read. Works from the stored `Quality` row; without one all
    /// scores are unknown.
    ///
    /// # Errors
    /// [`QueryError::InvalidLimit`].
    pub fn quality_trace(
        &self,
        start: &RuntimeStageId,
        max_depth: usize,
    ) -> Result<QualityTrace, QueryError> {
        let row = self.lifted.quality.as_ref();
        let scores = Scores(row.and_then(|r| r.get("steps")).and_then(Value::as_object));
        let mut trace = QualityTrace {
            start_id: start.clone(),
            start_score: scores.score(start),
            frames: Vec::new(),
            root_cause: None,
        };
        let reads: HashMap<RuntimeStageId, Vec<Str>> = scores
            .0
            .iter()
            .flat_map(|steps| steps.iter())
            .map(|(id, entry)| (RuntimeStageId::parse(id), names(entry.get("keysRead"))))
            .collect();
        let options = SliceOptions {
            max_depth,
            control: false,
            reads: ReadSource::Map(Arc::new(reads)),
            ..SliceOptions::default()
        };
        let slice = match self.causal_chain(start, &options) {
            Ok(slice) => slice,
            Err(QueryError::StepNotInLog { .. }) => return Ok(trace),
            Err(error) => return Err(error),
        };
        if trace.start_score < 0.0 {
            return Ok(trace);
        }
        trace.frames = slice
            .flatten()
            .iter()
            .map(|node| QualityFrame {
                runtime_stage_id: node.runtime_stage_id.clone(),
                stage_name: node.stage_name.clone(),
                score: scores.score(&node.runtime_stage_id),
                factors: names(scores.entry(&node.runtime_stage_id).and_then(|e| e.get("factors"))),
                linked_by: node.linked_by.clone(),
                depth: node.depth,
            })
            .collect();
        for (node, frame) in slice.flatten().iter().zip(&trace.frames) {
            for parent in node.parents.iter().filter_map(|p| trace.frames.get(p.0 as usize)) {
                let drop = parent.score - frame.score;
                let known = frame.score >= 0.0 && parent.score >= 0.0;
                if known && drop > 0.0 && trace.root_cause.as_ref().is_none_or(|c| drop > c.drop) {
                    let (frame, previous_frame) = (frame.clone(), parent.clone());
                    trace.root_cause = Some(RootCause { frame, previous_frame, drop });
                }
            }
        }
        Ok(trace)
    }
}
