//! The built graph: a flat arena of nodes with index edges.
//!
//! A loop is an edge kind, never a stub node; the stub exists only in the structure JSON. The root is held apart from the other
//! nodes so that a look-up always has an answer: a chart has at least one node.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::chart::{
    ArrayMergeMode, BranchChartFn, ChartBuilder, Contract, DeciderFn, FanOut, InputMapper, ItemsFn,
    OutputMapper, PausableFn, ResolverFn, ResumeFn, Retry, Root, SelectorFn, SiteIds, StageFn,
};
use crate::error::StageError;
use crate::structure::{Structure, StructureError};
use crate::value::Str;

/// Position of a node in its chart's arena. The root is always 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeIdx(pub(crate) u32);

impl NodeIdx {
    pub(crate) const ROOT: NodeIdx = NodeIdx(0);

    pub(crate) fn at(position: usize) -> NodeIdx {
        NodeIdx(u32::try_from(position).unwrap_or(u32::MAX))
    }

    pub(crate) fn position(self) -> usize {
        self.0 as usize
    }
}

/// How a node continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Plain continuation.
    Next(NodeIdx),
    /// A counted edge to a node that is walked again.
    Loop(NodeIdx),
}

/// One node of a chart, complete.
#[derive(Clone)]
pub(crate) struct Node {
    /// Local (unprefixed) id.
    pub(crate) id: Str,
    pub(crate) name: Str,
    pub(crate) description: Option<Str>,
    pub(crate) icon: Option<Str>,
    pub(crate) tags: Option<Arc<[Str]>>,
    pub(crate) kind: NodeKind,
    pub(crate) retry: Option<Retry>,
    pub(crate) next: Option<Edge>,
    /// The decider, selector or fork this node (or the chain it is on) is a child of.
    pub(crate) parent: Option<NodeIdx>,
}

/// What a node does.
#[derive(Clone)]
pub(crate) enum NodeKind {
    /// Runs a function.
    Stage(Body),
    /// Runs an optional function, then children in parallel. Without a function it is a generated `<id>-fork` node.
    Fork(ForkNode),
    /// Runs a function that picks one branch.
    Decider(DeciderNode),
    /// Runs a function that picks any number of branches, which run in parallel.
    Selector(SelectorNode),
    /// Runs another chart in isolation.
    Mount(MountNode),
    /// Runs one generated chart per item, in parallel.
    ForEach(ForEachNode),
}

/// The function of a stage (also of a stage that became a fork). Detach stages are plain ones.
#[derive(Clone)]
pub(crate) enum Body {
    Plain { run: StageFn },
    Streaming { run: StageFn, stream_id: Str },
    Pausable { run: PausableFn, resume: ResumeFn },
}

#[derive(Clone)]
pub(crate) struct ForkNode {
    pub(crate) body: Option<Body>,
    pub(crate) children: Vec<NodeIdx>,
    pub(crate) mode: FanOut,
}

#[derive(Clone)]
pub(crate) struct DeciderNode {
    pub(crate) run: DeciderFn,
    pub(crate) branches: Vec<BranchNode>,
    /// Position in `branches`: the declared default, or the branch literally named `default`.
    pub(crate) default: Option<usize>,
    /// Whether `default` was declared (and so is part of the structure).
    pub(crate) default_declared: bool,
}

#[derive(Clone)]
pub(crate) struct SelectorNode {
    pub(crate) run: SelectorFn,
    pub(crate) branches: Vec<BranchNode>,
    pub(crate) mode: FanOut,
}

/// A branch; its own node carries its own loop or next edge.
#[derive(Clone, Debug)]
pub(crate) struct BranchNode {
    pub(crate) id: Str,
    pub(crate) node: NodeIdx,
}

#[derive(Clone)]
pub(crate) struct MountNode {
    pub(crate) chart: MountedChart,
    pub(crate) input: Option<InputMapper>,
    pub(crate) output: Option<OutputMapper>,
    pub(crate) array_merge: ArrayMergeMode,
    pub(crate) propagate_break: bool,
    pub(crate) converge_at: Option<Str>,
}

/// The chart behind a mount.
#[derive(Clone)]
pub(crate) enum MountedChart {
    Eager(Chart),
    Lazy(ResolverFn),
}

#[derive(Clone)]
pub(crate) struct ForEachNode {
    pub(crate) items: ItemsFn,
    pub(crate) branch: BranchChartFn,
    pub(crate) max_branches: usize,
    /// The root state key that receives the results.
    pub(crate) into: Str,
    pub(crate) mode: FanOut,
}

/// An immutable flowchart: built once, checked once, shared by any number of runs.
///
/// ```
/// use footprint::chart::{Chart, Stage};
/// use footprint::scope::Scope;
///
/// let chart = Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) }).named("Seed"))
///     .then(Stage::new("score", |_: Scope| async { Ok(7) }))
///     .build()?;
/// assert_eq!(chart.root_id(), "seed");
/// # Ok::<(), footprint::chart::BuildErrors>(())
/// ```
#[derive(Clone)]
pub struct Chart(pub(crate) Arc<ChartInner>);

pub(crate) struct ChartInner {
    root: Node,
    rest: Vec<Node>,
    by_id: HashMap<Str, NodeIdx>,
    contract: Option<Contract>,
    structure: OnceLock<Structure>,
    structure_errors: OnceLock<Vec<StructureError>>,
    sites: OnceLock<Arc<SiteIds>>,
}

impl Chart {
    /// Starts a chart at its first node: a [`Stage`](crate::chart::Stage), or any other node value.
    pub fn builder(root: impl Into<Root>) -> ChartBuilder {
        ChartBuilder::new(root.into())
    }

    /// Id of the first node.
    pub fn root_id(&self) -> &str {
        &self.0.root.id
    }

    /// Number of nodes, inner charts not counted.
    pub fn node_count(&self) -> usize {
        self.0.rest.len() + 1
    }

    /// The declared input and output contract.
    pub fn contract(&self) -> Option<&Contract> {
        self.0.contract.as_ref()
    }

    /// Failures of structure observers while this chart was built (ENG-52).
    pub fn structure_errors(&self) -> &[StructureError] {
        self.0.structure_errors.get().map_or(&[], Vec::as_slice)
    }

    /// The node at a position; an index of another chart answers the root.
    pub(crate) fn node(&self, idx: NodeIdx) -> &Node {
        match idx.position().checked_sub(1) {
            Some(position) => self.0.rest.get(position).unwrap_or(&self.0.root),
            None => &self.0.root,
        }
    }

    /// All nodes in arena order (document order: a node, its children, then what follows it).
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeIdx, &Node)> {
        std::iter::once(&self.0.root)
            .chain(&self.0.rest)
            .enumerate()
            .map(|(at, node)| (NodeIdx::at(at), node))
    }

    /// The node with this local id.
    pub(crate) fn find(&self, id: &str) -> Option<NodeIdx> {
        self.0.by_id.get(id).copied()
    }

    /// Ids and names of this chart's nodes when it is run at the top (no prefix), built once.
    pub(crate) fn root_sites(&self) -> &Arc<SiteIds> {
        self.0.sites.get_or_init(|| SiteIds::build(&"".into(), self))
    }

    pub(crate) fn structure_cell(&self) -> &OnceLock<Structure> {
        &self.0.structure
    }

    pub(crate) fn set_structure_errors(&self, failures: Vec<StructureError>) {
        // Called once, by the builder, before anyone else holds the chart.
        let _ = self.0.structure_errors.set(failures);
    }

    pub(crate) fn assemble(root: Node, rest: Vec<Node>, contract: Option<Contract>) -> Chart {
        let by_id = std::iter::once(&root)
            .chain(&rest)
            .enumerate()
            .map(|(at, node)| (node.id.clone(), NodeIdx::at(at)))
            .collect();
        Chart(Arc::new(ChartInner {
            root,
            rest,
            by_id,
            contract,
            structure: OnceLock::new(),
            structure_errors: OnceLock::new(),
            sites: OnceLock::new(),
        }))
    }
}

/// Charts nest as deep as authors mount them; letting go of them one inside the other would recurse.
impl Drop for ChartInner {
    fn drop(&mut self) {
        let mut waiting = Vec::new();
        take_mounted(self, &mut waiting);
        while let Some(Chart(chart)) = waiting.pop() {
            if let Some(mut inner) = Arc::into_inner(chart) {
                take_mounted(&mut inner, &mut waiting);
            }
        }
    }
}

fn take_mounted(chart: &mut ChartInner, into: &mut Vec<Chart>) {
    for node in std::iter::once(&mut chart.root).chain(&mut chart.rest) {
        if let NodeKind::Mount(mount) = &mut node.kind
            && matches!(mount.chart, MountedChart::Eager(_))
            && let MountedChart::Eager(inner) =
                std::mem::replace(&mut mount.chart, MountedChart::Lazy(gone()))
        {
            into.push(inner);
        }
    }
}

/// Stands where a mounted chart was, in a chart nobody can reach any more.
fn gone() -> ResolverFn {
    Arc::new(|| Err(StageError::new("the mounted chart is gone")))
}

impl fmt::Debug for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chart").field("root", &self.0.root.id).field("nodes", &self.node_count()).finish()
    }
}

/// A thing that exposes a chart and can therefore be mounted: a chart, or a runner built around one (ENG-28).
pub trait IntoChart {
    /// The chart; cheap, because charts are shared.
    fn to_chart(&self) -> Chart;
}

impl IntoChart for Chart {
    fn to_chart(&self) -> Chart {
        self.clone()
    }
}

impl<T: IntoChart + ?Sized> IntoChart for &T {
    fn to_chart(&self) -> Chart {
        (**self).to_chart()
    }
}

impl<T: IntoChart + ?Sized> IntoChart for Arc<T> {
    fn to_chart(&self) -> Chart {
        (**self).to_chart()
    }
}
