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
    ///
    /// ```
    /// # use footprint::chart::*;
    /// # use footprint::scope::Scope;
    /// # let nop = |_: Scope| async { Ok(()) };
    /// let chart = Chart::builder(Stage::new("seed", nop)).then(Stage::new("score", nop)).build()?;
    /// assert_eq!(chart.node_count(), 2);
    /// # Ok::<(), BuildErrors>(())
    /// ```
    pub fn then(self, stage: Stage) -> ChartBuilder {
        self.push(ChainItem::Stage(stage))
    }

    /// Continues with a decider.
    ///
    /// ```
    /// # use footprint::chart::*;
    /// # use footprint::scope::Scope;
    /// # let nop = |_: Scope| async { Ok(()) };
    /// let route = Decider::new("route", |_: Scope| async { Ok("yes") }).branch(Stage::new("yes", nop)).branch(Stage::new("no", nop));
    /// let chart = Chart::builder(Stage::new("seed", nop)).decide(route).build()?;
    /// assert_eq!(chart.node_count(), 4);
    /// # Ok::<(), BuildErrors>(())
    /// ```
    pub fn decide(self, decider: Decider) -> ChartBuilder {
        self.push(ChainItem::Decider(decider))
    }

    /// Continues with a selector.
    ///
    /// ```
    /// # use footprint::chart::*;
    /// # use footprint::scope::Scope;
    /// # let nop = |_: Scope| async { Ok(()) };
    /// let screen = Selector::new("screen", |_: Scope| async { Ok(vec!["blood"]) }).branch(Stage::new("blood", nop));
    /// let chart = Chart::builder(Stage::new("seed", nop)).select(screen).build()?;
    /// assert_eq!(chart.node_count(), 3);
    /// # Ok::<(), BuildErrors>(())
    /// ```
    pub fn select(self, selector: Selector) -> ChartBuilder {
        self.push(ChainItem::Selector(selector))
    }

    /// Continues with a mounted chart.
    ///
    /// ```
    /// # use footprint::chart::*;
    /// # use footprint::scope::Scope;
    /// # let nop = |_: Scope| async { Ok(()) };
    /// let pay = Chart::builder(Stage::new("authorise", nop)).build()?;
    /// let chart = Chart::builder(Stage::new("seed", nop)).mount(Mount::of("sf-pay", &pay)).build()?;
    /// assert!(chart.structure().find("sf-pay/authorise").is_some());
    /// # Ok::<(), BuildErrors>(())
    /// ```
    pub fn mount(self, mount: Mount) -> ChartBuilder {
        self.push(ChainItem::Mount(mount))
    }

    /// Continues with a parallel for-each.
    ///
    /// ```
    /// # use footprint::chart::*;
    /// # use footprint::scope::Scope;
    /// # let nop = |_: Scope| async { Ok(()) };
    /// let review = ForEach::new(
    ///     "review",
    ///     |_: Scope| Ok(vec![1_u32, 2]),
    ///     |_item: &u32, _index| Chart::builder(Stage::new("look", |_: Scope| async { Ok(()) })).build(),
    /// ).max_branches(8).into("reviews");
    /// let chart = Chart::builder(Stage::new("seed", nop)).for_each(review).build()?;
    /// assert_eq!(chart.node_count(), 2);
    /// # Ok::<(), BuildErrors>(())
    /// ```
    pub fn for_each(self, for_each: ForEach) -> ChartBuilder {
        self.push(ChainItem::ForEach(for_each))
    }

    /// Runs children in parallel after the stage before it, which becomes the fork node. After any other node a fork node
    /// `<id>-fork` is generated (ENG-20).
    ///
    /// ```
    /// # use footprint::chart::*;
    /// # use footprint::scope::Scope;
    /// # let nop = |_: Scope| async { Ok(()) };
    /// let children = [Stage::new("left", nop), Stage::new("right", nop)];
    /// let chart = Chart::builder(Stage::new("seed", nop)).fork(children, FanOut::FailFast).build()?;
    /// assert_eq!(chart.structure().root().node_type.as_str(), "fork");
    /// # Ok::<(), BuildErrors>(())
    /// ```
    pub fn fork<C: Into<ForkChild>>(
        self,
        children: impl IntoIterator<Item = C>,
        mode: FanOut,
    ) -> ChartBuilder {
        self.push(ChainItem::Fork(children.into_iter().map(Into::into).collect(), mode))
    }

    /// Ends the chain with an edge back to an earlier node of it (ENG-21).
    ///
    /// ```
    /// # use footprint::chart::*;
    /// # use footprint::scope::Scope;
    /// # let nop = |_: Scope| async { Ok(()) };
    /// let chart = Chart::builder(Stage::new("seed", nop)).then(Stage::new("work", nop)).loop_to("work").build()?;
    /// assert_eq!(chart.structure().find("work").and_then(|work| work.loop_target.clone()).as_deref(), Some("work"));
    /// # Ok::<(), BuildErrors>(())
    /// ```
    pub fn loop_to(self, target: impl Into<Str>) -> ChartBuilder {
        self.push(ChainItem::LoopTo(target.into()))
    }

    /// Continues with a stage that starts a detached chart and forgets it (ENG-44).
    ///
    /// ```
    /// # use footprint::chart::*;
    /// # use footprint::scope::Scope;
    /// # let nop = |_: Scope| async { Ok(()) };
    /// use footprint::detach::{BlockingDriver, Detach};
    ///
    /// let audit = Chart::builder(Stage::new("write", nop)).build()?;
    /// let detach = Detach::new("audit", std::sync::Arc::new(BlockingDriver), &audit);
    /// let chart = Chart::builder(Stage::new("seed", nop)).detach_forget(detach).build()?;
    /// assert_eq!(chart.node_count(), 2);
    /// # Ok::<(), BuildErrors>(())
    /// ```
    pub fn detach_forget(self, detach: Detach) -> ChartBuilder {
        self.push(ChainItem::Stage(detach.into_forget_stage()))
    }

    /// Continues with a stage that starts a detached chart and hands its handle to [`Detach::on_handle`].
    ///
    /// ```
    /// # use footprint::chart::*;
    /// # use footprint::scope::Scope;
    /// # let nop = |_: Scope| async { Ok(()) };
    /// use std::sync::{Arc, Mutex};
    /// use footprint::detach::{BlockingDriver, Detach};
    ///
    /// let handles = Arc::new(Mutex::new(Vec::new()));
    /// let keep = handles.clone();
    /// let audit = Chart::builder(Stage::new("write", nop)).build()?;
    /// let detach = Detach::new("audit", Arc::new(BlockingDriver), &audit)
    ///     .on_handle(move |_, handle| keep.lock().unwrap().push(handle));
    /// let chart = Chart::builder(Stage::new("seed", nop)).detach_join(detach).build()?;
    /// assert_eq!(chart.node_count(), 2);
    /// # Ok::<(), BuildErrors>(())
    /// ```
    pub fn detach_join(self, detach: Detach) -> ChartBuilder {
        self.push(ChainItem::Stage(detach.into_join_stage()))
    }

    /// Declares what the chart takes and gives (ENG-58). A second call replaces the first.
    ///
    /// ```
    /// # use footprint::chart::*;
    /// # use footprint::scope::Scope;
    /// # let nop = |_: Scope| async { Ok(()) };
    /// let contract = Contract::new().mapper(|state| Ok(state.value("fee").unwrap_or_default()));
    /// let chart = Chart::builder(Stage::new("calc", nop)).contract(contract).build()?;
    /// assert!(chart.contract().is_some());
    /// # Ok::<(), BuildErrors>(())
    /// ```
    pub fn contract(mut self, contract: Contract) -> ChartBuilder {
        self.contract = Some(contract);
        self
    }

    /// Adds an observer of the build (ENG-52).
    ///
    /// ```
    /// # use footprint::chart::*;
    /// # use footprint::scope::Scope;
    /// # let nop = |_: Scope| async { Ok(()) };
    /// use footprint::structure::{EdgeAdded, StructureRecorder};
    ///
    /// struct Edges;
    /// impl StructureRecorder for Edges {
    ///     fn id(&self) -> &str {
    ///         "edges"
    ///     }
    ///     fn on_edge_added(&self, edge: &EdgeAdded<'_>) {
    ///         println!("{} -> {}", edge.from, edge.to);
    ///     }
    /// }
    /// let chart = Chart::builder(Stage::new("seed", nop))
    ///     .then(Stage::new("score", nop))
    ///     .observe_structure(std::sync::Arc::new(Edges))
    ///     .build()?;
    /// assert!(chart.structure_errors().is_empty());
    /// # Ok::<(), BuildErrors>(())
    /// ```
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
