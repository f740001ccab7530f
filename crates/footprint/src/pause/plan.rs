//! From a checkpoint to a way back into the chart, found before anything runs (ENG-128, ENG-132).

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::record::PauseRecord;
use crate::chart::{Body, Chart, MountedChart, NodeIdx, NodeKind, SiteIds};
use crate::error::{StageError, StageSource};
use crate::ids::parse_branch_segment;
use crate::value::{Object, Str, Value, utf16};

/// Why a run cannot be resumed. Nothing ran, and the checkpoint is as good as before.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// A mount on the path is not in the chart.
    #[error(
        "cannot resume: `{}` of the paused path is no mount of this chart; has the chart changed?",
        clip(segment)
    )]
    UnknownMount {
        /// The segment.
        segment: Str,
    },
    /// The paused stage is not in the chart.
    #[error("cannot resume: stage `{}` is not in this chart; has the chart changed?", clip(stage))]
    UnknownStage {
        /// The prefixed stage id.
        stage: Str,
    },
    /// The paused stage cannot be resumed this way.
    #[error("cannot resume: stage `{}` {why}; has the chart changed?", clip(stage))]
    NotResumable {
        /// The prefixed stage id.
        stage: Str,
        /// What is missing.
        why: &'static str,
    },
    /// A lazy mount or a generated branch on the path could not be made again.
    #[error("cannot resume: `{}` of the paused path could not be made again: {source}", clip(segment))]
    NotRebuilt {
        /// The segment.
        segment: Str,
        /// Why.
        source: StageSource,
    },
    /// The recorded path contradicts the chart.
    #[error("cannot resume: `{}` of the paused path cannot be walked: {why}", clip(segment))]
    Path {
        /// The segment.
        segment: Str,
        /// What contradicts.
        why: &'static str,
    },
    /// This paused run was resumed already.
    #[error("cannot resume: this paused run was resumed already")]
    AlreadyResumed,
    /// The run options cannot work.
    #[error(transparent)]
    Options(#[from] crate::walk::OptionsError),
}

/// A name from a stored checkpoint, short enough for a sentence.
fn clip(name: &str) -> &str {
    const SHOWN: usize = 200;
    utf16::prefix(name, SHOWN)
}

/// One level of the way back.
#[derive(Clone)]
pub(crate) struct PlanLevel {
    pub(crate) chart: Chart,
    pub(crate) ids: Arc<SiteIds>,
    /// The mount, for-each or stage to come back to.
    pub(crate) target: NodeIdx,
    /// Local id of the fan-out child the path goes through, when `owner` is one.
    pub(crate) child: Str,
    /// The decider, selector or fork that must be returned to.
    pub(crate) owner: Option<NodeIdx>,
    /// For a for-each: the branch on the path.
    pub(crate) branch: Option<PlanBranch>,
    /// The captured state of the level below; without it the mount is entered at its root.
    pub(crate) capture: Option<Object>,
}

/// A generated branch, made again from what its seed recorded.
#[derive(Clone)]
pub(crate) struct PlanBranch {
    pub(crate) chart: Chart,
    pub(crate) item: Value,
    pub(crate) index: usize,
}

/// The way back to one question.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) levels: Vec<PlanLevel>,
    /// The last level is the one of the stage itself (as opposed to a mount entered at its root).
    pub(crate) reaches_stage: bool,
}

/// Charts of lazy mounts, by path.
pub(crate) type Resolved = HashMap<Str, (Chart, Arc<SiteIds>)>;

fn contained<T>(call: impl FnOnce() -> Result<T, StageError>) -> Result<T, StageError> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(StageError::from_panic(&*panic)))
}

impl Plan {
    /// Finds the way back. Runs resolvers and branch factories, and nothing else of the author's.
    pub(crate) fn find(
        chart: &Chart,
        record: &PauseRecord,
        resolved: &mut Resolved,
    ) -> Result<Self, ResumeError> {
        let mut levels = Vec::with_capacity(record.path.len() + 1);
        let mut at = (chart.clone(), Arc::clone(chart.root_sites()));
        for path in &record.path {
            let local = local_of(path, &at.1.path)?;
            let capture = record.states.get(path).cloned();
            let (level, below) = match parse_branch_segment(local) {
                Some((for_each, index)) if at.0.find(local).is_none() => {
                    branch_level(&at, path, local, for_each, index, capture)?
                }
                _ => mount_level(&at, path, local, capture, resolved)?,
            };
            let entered_at_root = level.capture.is_none();
            levels.push(level);
            if entered_at_root {
                return Ok(Self { levels, reaches_stage: false });
            }
            at = below;
        }
        levels.push(stage_level(at, record)?);
        Ok(Self { levels, reaches_stage: true })
    }
}

fn local_of<'a>(path: &'a Str, parent: &str) -> Result<&'a str, ResumeError> {
    let local = if parent.is_empty() {
        Some(&**path)
    } else {
        path.strip_prefix(parent).and_then(|rest| rest.strip_prefix('/'))
    };
    local.filter(|local| !local.is_empty() && !local.contains('/')).ok_or_else(|| ResumeError::Path {
        segment: path.clone(),
        why: "it is not below the segment before it",
    })
}

type Site = (Chart, Arc<SiteIds>);

fn mount_level(
    at: &Site,
    path: &Str,
    local: &str,
    capture: Option<Object>,
    resolved: &mut Resolved,
) -> Result<(PlanLevel, Site), ResumeError> {
    let (chart, ids) = at;
    let unknown = || ResumeError::UnknownMount { segment: path.clone() };
    let target = chart.find(local).ok_or_else(unknown)?;
    let NodeKind::Mount(mount) = &chart.node(target).kind else { return Err(unknown()) };
    let below = match (ids.eager_mount(chart, target), &mount.chart) {
        (Some((inner, inner_ids)), _) => (inner.clone(), Arc::clone(inner_ids)),
        (None, MountedChart::Lazy(resolve)) => match resolved.get(path) {
            Some(known) => known.clone(),
            None => {
                let inner = contained(|| resolve()).map_err(|source| ResumeError::NotRebuilt {
                    segment: path.clone(),
                    source: StageSource::of(source),
                })?;
                let site = (inner.clone(), SiteIds::build(path, &inner));
                resolved.insert(path.clone(), site.clone());
                site
            }
        },
        (None, MountedChart::Eager(inner)) => (inner.clone(), SiteIds::build(path, inner)),
    };
    Ok((level(at, target, local, None, capture), below))
}

fn branch_level(
    at: &Site,
    path: &Str,
    local: &str,
    for_each: &str,
    index: usize,
    capture: Option<Object>,
) -> Result<(PlanLevel, Site), ResumeError> {
    let chart = &at.0;
    let unknown = || ResumeError::UnknownMount { segment: path.clone() };
    let target = chart.find(for_each).ok_or_else(unknown)?;
    let NodeKind::ForEach(spec) = &chart.node(target).kind else { return Err(unknown()) };
    let Some(state) = &capture else {
        return Err(ResumeError::Path { segment: path.clone(), why: "the branch's state is missing" });
    };
    let recorded = state.get("index").and_then(Value::as_u64);
    let (Some(item), Some(recorded)) = (state.get("item").cloned(), recorded) else {
        return Err(ResumeError::Path {
            segment: path.clone(),
            why: "the branch's item or index is missing",
        });
    };
    if recorded != index as u64 || index >= spec.max_branches {
        return Err(ResumeError::Path { segment: path.clone(), why: "the branch's index does not fit" });
    }
    let inner = contained(|| (spec.branch)(&item, index)).map_err(|source| ResumeError::NotRebuilt {
        segment: path.clone(),
        source: StageSource::of(source),
    })?;
    let ids = SiteIds::build(path, &inner);
    let branch = PlanBranch { chart: inner.clone(), item, index };
    Ok((level(at, target, local, Some(branch), capture), (inner, ids)))
}

fn stage_level(at: Site, record: &PauseRecord) -> Result<PlanLevel, ResumeError> {
    let stage = &record.stage_id;
    let unknown = || ResumeError::UnknownStage { stage: stage.clone() };
    let local = local_of(stage, &at.1.path).map_err(|_| unknown())?.to_owned();
    let target = at.0.find(&local).ok_or_else(unknown)?;
    let body = match &at.0.node(target).kind {
        NodeKind::Stage(body) => Some(body),
        NodeKind::Fork(fork) => fork.body.as_ref(),
        NodeKind::Decider(_) | NodeKind::Selector(_) if record.by_interrupt => {
            return Ok(level(&at, target, &local, None, None));
        }
        _ => None,
    };
    match body {
        Some(_) if record.by_interrupt => {}
        Some(Body::Pausable { .. }) => {}
        Some(_) => {
            return Err(ResumeError::NotResumable { stage: stage.clone(), why: "is not a pausable stage" });
        }
        None => {
            return Err(ResumeError::NotResumable { stage: stage.clone(), why: "has no function to resume" });
        }
    }
    Ok(level(&at, target, &local, None, None))
}

fn level(
    at: &Site,
    target: NodeIdx,
    local: &str,
    branch: Option<PlanBranch>,
    capture: Option<Object>,
) -> PlanLevel {
    PlanLevel {
        chart: at.0.clone(),
        ids: Arc::clone(&at.1),
        target,
        child: local.into(),
        owner: at.0.node(target).parent,
        branch,
        capture,
    }
}
