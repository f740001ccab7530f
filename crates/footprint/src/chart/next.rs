//! Dynamic continuation: what a stage may return to say where this one visit goes on (ENG-43).

use crate::chart::{BuildErrors, Chart, FanOut, ForkChild, Mount, NodeIdx, Stage};
use crate::ids::StageId;

/// Where this visit continues. It never alters the chart and applies to this visit only.
///
/// ```
/// use footprint::chart::{Next, Stage};
/// use footprint::scope::Scope;
///
/// let plan = Stage::new("plan", |_: Scope| async {
///     Ok(Next::Chain(vec![Stage::new("extra", |_: Scope| async { Ok(()) })]))
/// });
/// # let _ = plan;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Next {
    /// Walks on at a node of the same chart: a loop edge, counted as one.
    Goto(StageId),
    /// Runs these stages in order.
    Chain(Vec<Stage>),
    /// Runs another chart.
    Mount(Box<Mount>),
    /// Runs these children in parallel.
    Fork(Vec<ForkChild>, FanOut),
}

/// A [`Next`], checked against the chart it was returned in and laid out for the walk. Fragments are walked on the returning
/// stage's own level: same state, same path, their own `SiteIds`.
#[derive(Clone, Debug)]
pub(crate) enum NextPlan {
    /// An existing node.
    Goto(NodeIdx),
    /// The stages, chained from the fragment's root.
    Chain(Chart),
    /// The fragment's root is the mount.
    Mount(Chart),
    /// The fragment's root is a function-less fork that carries the *returning stage's own* id and name; it is not visited, only
    /// its children are.
    Fork(Chart),
}

impl Next {
    /// Checks ids as `build()` would (ENG-12, ENG-18) and lays the continuation out. `from` is the stage that returned it.
    pub(crate) fn plan(self, chart: &Chart, from: NodeIdx) -> Result<NextPlan, BuildErrors> {
        crate::chart::lower::plan_next(self, chart, from)
    }
}
