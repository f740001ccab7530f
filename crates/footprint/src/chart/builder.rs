//! The fluent surface: it only collects declarations; `lower` and `check` do the work at `build()`.

use std::fmt;
use std::sync::Arc;

use crate::chart::{
    BuildErrors, Chart, Contract, Decider, FanOut, ForEach, ForkChild, Mount, Selector, Stage,
};
use crate::detach::Detach;
use crate::structure::StructureRecorder;
use crate::value::Str;

/// The first node of a chart.
#[derive(Clone, Debug)]
pub struct Root(pub(crate) ChainItem);

/// One call on the builder.
#[derive(Clone, Debug)]
pub(crate) enum ChainItem {
    Stage(Stage),
    Decider(Decider),
    Selector(Selector),
    Mount(Mount),
    ForEach(ForEach),
    Fork(Vec<ForkChild>, FanOut),
    LoopTo(Str),
}

macro_rules! root_from {
    ($($kind:ident),*) => {$(
        impl From<$kind> for Root {
            fn from(node: $kind) -> Root {
                Root(ChainItem::$kind(node))
            }
        }
    )*};
}
root_from!(Stage, Decider, Selector, Mount, ForEach);

/// Collects the nodes of a chart in order. Every method takes a value that describes one node completely.
///
/// ```
/// use footprint::chart::{Branch, Chart, Decider, FanOut, ForkChild, Stage};
/// use footprint::scope::Scope;
///
/// let nop = |_: Scope| async { Ok(()) };
/// let chart = Chart::builder(Stage::new("seed", nop))
///     .fork([Stage::new("left", nop), Stage::new("right", nop)], FanOut::AllSettled)
///     .decide(
///         Decider::new("route", |_: Scope| async { Ok("done") })
///             .branch(Branch::stage(Stage::new("again", nop)).loop_to("seed"))
///             .branch(Stage::new("done", nop)),
///     )
///     .build()?;
/// assert_eq!(chart.node_count(), 6);
/// # Ok::<(), footprint::chart::BuildErrors>(())
/// ```
#[must_use = "a chart exists only after `build()`"]
pub struct ChartBuilder {
    pub(crate) items: Vec<ChainItem>,
    pub(crate) contract: Option<Contract>,
    pub(crate) observers: Vec<Arc<dyn StructureRecorder>>,
}

impl ChartBuilder {
    pub(crate) fn new(root: Root) -> ChartBuilder {
        ChartBuilder { items: vec![root.0], contract: None, observers: Vec::new() }
    }

    fn push(mut self, item: ChainItem) -> ChartBuilder {
        self.items.push(item);
        self
    }

    /// Continues with a stage.
    pub fn then(self, stage: Stage) -> ChartBuilder {
        self.push(ChainItem::Stage(stage))
    }

    /// Continues with a decider.
    pub fn decide(self, decider: Decider) -> ChartBuilder {
        self.push(ChainItem::Decider(decider))
    }

    /// Continues with a selector.
    pub fn select(self, selector: Selector) -> ChartBuilder {
        self.push(ChainItem::Selector(selector))
    }

    /// Continues with a mounted chart.
    pub fn mount(self, mount: Mount) -> ChartBuilder {
        self.push(ChainItem::Mount(mount))
    }

    /// Continues with a parallel for-each.
    pub fn for_each(self, for_each: ForEach) -> ChartBuilder {
        self.push(ChainItem::ForEach(for_each))
    }

    /// Runs children in parallel after the stage before it, which becomes the fork node. After any other node a fork node
    /// `<id>-fork` is generated (ENG-20).
    pub fn fork<C: Into<ForkChild>>(
        self,
        children: impl IntoIterator<Item = C>,
        mode: FanOut,
    ) -> ChartBuilder {
        self.push(ChainItem::Fork(children.into_iter().map(Into::into).collect(), mode))
    }

    /// Ends the chain with an edge back to an earlier node of it (ENG-21).
    pub fn loop_to(self, target: impl Into<Str>) -> ChartBuilder {
        self.push(ChainItem::LoopTo(target.into()))
    }

    /// Continues with a stage that starts a detached chart and forgets it (ENG-44).
    pub fn detach_forget(self, detach: Detach) -> ChartBuilder {
        self.push(ChainItem::Stage(detach.into_forget_stage()))
    }

    /// Continues with a stage that starts a detached chart and hands its handle to [`Detach::on_handle`].
    pub fn detach_join(self, detach: Detach) -> ChartBuilder {
        self.push(ChainItem::Stage(detach.into_join_stage()))
    }

    /// Declares what the chart takes and gives (ENG-58). A second call replaces the first.
    pub fn contract(mut self, contract: Contract) -> ChartBuilder {
        self.contract = Some(contract);
        self
    }

    /// Adds an observer of the build (ENG-52).
    pub fn observe_structure(mut self, observer: Arc<dyn StructureRecorder>) -> ChartBuilder {
        self.observers.push(observer);
        self
    }

    /// Checks everything and answers the chart, or all problems at once.
    pub fn build(self) -> Result<Chart, BuildErrors> {
        let chart = crate::chart::lower::build(self.items, self.contract)?;
        if !self.observers.is_empty() {
            let failures = crate::structure::observe(&chart, &self.observers);
            chart.set_structure_errors(failures);
        }
        Ok(chart)
    }
}

impl fmt::Debug for ChartBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChartBuilder").field("items", &self.items.len()).finish_non_exhaustive()
    }
}
