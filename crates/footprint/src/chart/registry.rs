//! A chart rebuilt from its structure and a registry of functions (ENG-49).

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::chart::branch::BranchNodeValue;
use crate::chart::builder::ChainItem;
use crate::chart::func::{decider_fn, pausable_fn, resume_fn, selector_fn, stage_fn};
use crate::chart::stage::{Label, StageBody};
use crate::chart::{
    Body, Branch, BuildError, BuildErrors, Chart, Decider, DeciderFn, FanOut, ForEach, ForkChild,
    IntoStepOutput, Mount, MountedChart, ResolvesToChart, Retry, Selector, SelectorFn, Stage, StageFn, Step,
};
use crate::decide::{Decision, Selection};
use crate::error::StageError;
use crate::ids::prefixed;
use crate::scope::Scope;
use crate::structure::{NodeType, Structure, StructureRef};
use crate::value::Str;

type ConfigureMount = Arc<dyn Fn(Mount) -> Mount + Send + Sync>;

/// The functions of a chart by id. Ids of nodes inside mounted charts carry the mount path, `sf-pay/authorise`.
///
/// ```
/// use footprint::chart::{Chart, FnRegistry};
/// use footprint::scope::Scope;
/// use footprint::structure::Structure;
///
/// let structure = Structure::from_json(
///     r#"{"name":"Seed","id":"seed","type":"stage","next":{"name":"Score","id":"score","type":"stage"}}"#,
/// )?;
/// let registry = FnRegistry::new()
///     .stage("seed", |_: Scope| async { Ok(()) })
///     .stage("score", |_: Scope| async { Ok(7) });
/// let chart = Chart::from_structure(&structure, &registry)?;
/// assert_eq!(chart.structure(), &structure);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct FnRegistry {
    bodies: HashMap<Str, Body>,
    deciders: HashMap<Str, DeciderFn>,
    selectors: HashMap<Str, SelectorFn>,
    lazy: HashMap<Str, MountedChart>,
    mounts: HashMap<Str, ConfigureMount>,
    for_each: HashMap<Str, ForEach>,
    retries: HashMap<Str, Retry>,
    modes: HashMap<Str, FanOut>,
}

impl FnRegistry {
    /// No functions yet.
    pub fn new() -> FnRegistry {
        FnRegistry::default()
    }

    /// The function of a plain or streaming stage.
    #[must_use]
    pub fn stage<F, Fut, T>(mut self, id: impl Into<Str>, run: F) -> FnRegistry
    where
        F: Fn(Scope) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, StageError>> + Send + 'static,
        T: IntoStepOutput,
    {
        self.bodies.insert(id.into(), Body::Plain { run: stage_fn(run) });
        self
    }

    /// The two functions of a pausable stage.
    #[must_use]
    pub fn pausable<F, Fut, P, G, GFut, A, T>(mut self, id: impl Into<Str>, ask: F, answer: G) -> FnRegistry
    where
        F: Fn(Scope) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Step<P>, StageError>> + Send + 'static,
        P: Serialize + 'static,
        G: Fn(Scope, A) -> GFut + Send + Sync + 'static,
        GFut: Future<Output = Result<T, StageError>> + Send + 'static,
        A: DeserializeOwned + 'static,
        T: IntoStepOutput,
    {
        self.bodies.insert(id.into(), Body::Pausable { run: pausable_fn(ask), resume: resume_fn(answer) });
        self
    }

    /// The function of a decider.
    #[must_use]
    pub fn decider<F, Fut, D>(mut self, id: impl Into<Str>, run: F) -> FnRegistry
    where
        F: Fn(Scope) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<D, StageError>> + Send + 'static,
        D: Into<Decision>,
    {
        self.deciders.insert(id.into(), decider_fn(run));
        self
    }

    /// The function of a selector.
    #[must_use]
    pub fn selector<F, Fut, S>(mut self, id: impl Into<Str>, run: F) -> FnRegistry
    where
        F: Fn(Scope) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S, StageError>> + Send + 'static,
        S: Into<Selection>,
    {
        self.selectors.insert(id.into(), selector_fn(run));
        self
    }

    /// The resolver of a lazy mount.
    #[must_use]
    pub fn lazy<F, R>(mut self, id: impl Into<Str>, resolve: F) -> FnRegistry
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: ResolvesToChart,
    {
        self.lazy.insert(id.into(), MountedChart::Lazy(Arc::new(move || resolve().resolved())));
        self
    }

    /// Mappers and other settings of a mount, which a structure does not carry.
    #[must_use]
    pub fn mount(
        mut self,
        id: impl Into<Str>,
        configure: impl Fn(Mount) -> Mount + Send + Sync + 'static,
    ) -> FnRegistry {
        self.mounts.insert(id.into(), Arc::new(configure));
        self
    }

    /// The functions and settings of a for-each; its id and texts come from the structure.
    #[must_use]
    pub fn for_each(mut self, id: impl Into<Str>, for_each: ForEach) -> FnRegistry {
        self.for_each.insert(id.into(), for_each);
        self
    }

    /// The retry policy of a node. Without one, a recorded number of attempts becomes a policy without waits.
    #[must_use]
    pub fn retry(mut self, id: impl Into<Str>, retry: Retry) -> FnRegistry {
        self.retries.insert(id.into(), retry);
        self
    }

    /// What a failing child of this fork or selector does to the others, which a structure does not carry.
    #[must_use]
    pub fn fan_out(mut self, id: impl Into<Str>, mode: FanOut) -> FnRegistry {
        self.modes.insert(id.into(), mode);
        self
    }
}

impl fmt::Debug for FnRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions = self.bodies.len() + self.deciders.len() + self.selectors.len();
        f.debug_struct("FnRegistry").field("functions", &functions).finish_non_exhaustive()
    }
}

impl Chart {
    /// Rebuilds a chart from its structure. What a run discovered (generated branches, resolved lazy mounts, counts) is left out.
    ///
    /// # Errors
    /// [`BuildErrors`] with every missing function, every node this version cannot rebuild, and everything `build()` refuses.
    pub fn from_structure(structure: &Structure, registry: &FnRegistry) -> Result<Chart, BuildErrors> {
        let mut levels = vec![(Str::from(""), structure.root())];
        let mut next = 0;
        while let Some((path, root)) = levels.get(next).cloned() {
            let inner = root.level().filter(|node| {
                !node.is_lazy && !node.is_loop_reference && node.node_type != NodeType::Subflow
            });
            levels.extend(inner.filter_map(|node| Some((prefixed(&path, &node.id), node.subflow()?))));
            next += 1;
        }
        let mut rebuild = Rebuild { registry, charts: HashMap::new(), errors: Vec::new() };
        // Inner charts come after the ones that mount them.
        for (path, root) in levels.into_iter().rev() {
            let chart = rebuild.level(&path, root);
            rebuild.charts.extend(chart.map(|chart| (path, chart)));
        }
        match rebuild.charts.remove("") {
            Some(chart) if rebuild.errors.is_empty() => Ok(chart),
            _ => Err(BuildErrors(rebuild.errors)),
        }
    }
}

struct Rebuild<'r> {
    registry: &'r FnRegistry,
    charts: HashMap<Str, Chart>,
    errors: Vec<BuildError>,
}

impl Rebuild<'_> {
    fn level(&mut self, path: &Str, root: StructureRef<'_>) -> Option<Chart> {
        let mut items = Vec::new();
        let mut previous: Option<StructureRef<'_>> = None;
        let mut at = Some(root);
        while let Some(node) = at {
            if node.is_loop_reference {
                items.push(ChainItem::LoopTo(node.node().id.clone()));
                break;
            }
            if !is_generated_fork(previous, node) {
                items.extend(self.chain_item(path, node));
            }
            if node.children().len() > 0
                && !node.has_decider
                && !node.has_selector
                && !node.is_dynamic_parallel
            {
                let children =
                    node.children().filter_map(|child| self.child(path, child)).map(ForkChild).collect();
                items.push(ChainItem::Fork(children, self.mode(&prefixed(path, &node.id))));
            }
            previous = Some(node);
            at = node.next();
        }
        // A missing function has been listed; building without that node would only list what follows from it.
        if !self.errors.is_empty() {
            return None;
        }
        match crate::chart::lower::build(items, None) {
            Ok(chart) => Some(chart),
            Err(problems) => {
                self.errors.extend(problems);
                None
            }
        }
    }

    fn chain_item(&mut self, path: &Str, node: StructureRef<'_>) -> Option<ChainItem> {
        let id = prefixed(path, &node.id);
        if node.has_decider {
            let Some(run) = self.registry.deciders.get(&id).cloned() else {
                return self.missing(id, "decider");
            };
            let mut decider = Decider::with_fn(node.node().id.clone(), run);
            decider.label = label(node);
            decider.retry = self.retry(&id, node);
            decider.default = node.node().default_branch.clone();
            decider.branches = self.branches(path, node);
            return Some(ChainItem::Decider(decider));
        }
        if node.has_selector {
            let Some(run) = self.registry.selectors.get(&id).cloned() else {
                return self.missing(id, "selector");
            };
            let mut selector = Selector::with_fn(node.node().id.clone(), run);
            selector.label = label(node);
            selector.retry = self.retry(&id, node);
            selector.mode = self.mode(&id);
            selector.branches = self.branches(path, node);
            return Some(ChainItem::Selector(selector));
        }
        if node.is_dynamic_parallel {
            let Some(mut for_each) = self.registry.for_each.get(&id).cloned() else {
                return self.missing(id, "for-each");
            };
            for_each.label = label(node);
            return Some(ChainItem::ForEach(for_each));
        }
        Some(match self.stage_or_mount(path, node)? {
            BranchNodeValue::Stage(stage) => ChainItem::Stage(stage),
            BranchNodeValue::Mount(mount) => ChainItem::Mount(mount),
        })
    }

    fn branches(&mut self, path: &Str, node: StructureRef<'_>) -> Vec<Branch> {
        let mut branches = Vec::new();
        for child in node.children() {
            let loop_to: Vec<Str> = child
                .next()
                .filter(|next| next.is_loop_reference)
                .map(|stub| stub.node().id.clone())
                .into_iter()
                .collect();
            if let Some(node) = self.child(path, child) {
                branches.push(Branch { node, loop_to });
            }
        }
        branches
    }

    fn child(&mut self, path: &Str, child: StructureRef<'_>) -> Option<BranchNodeValue> {
        let chained = child.next().is_some_and(|next| !next.is_loop_reference);
        if chained || child.children().len() > 0 {
            self.errors.push(BuildError::UnsupportedStructure {
                id: prefixed(path, &child.id),
                what: Str::from("a branch or fork child is one stage or one mount: move what follows it into a mounted chart"),
            });
            return None;
        }
        self.stage_or_mount(path, child)
    }

    fn stage_or_mount(&mut self, path: &Str, node: StructureRef<'_>) -> Option<BranchNodeValue> {
        let id = prefixed(path, &node.id);
        if node.is_subflow_root {
            return self.mount(node, id).map(BranchNodeValue::Mount);
        }
        match (&node.node_type, self.registry.bodies.get(&id).cloned()) {
            (NodeType::Stage | NodeType::Fork | NodeType::Streaming, Some(body)) => {
                let streams = node.node().stream_id.clone().filter(|_| node.is_streaming);
                let body = match (body, streams) {
                    (Body::Plain { run }, Some(stream_id)) => streaming(run, stream_id),
                    (body, _) => StageBody::Ready(body),
                };
                let mut stage = Stage::with_body(node.node().id.clone(), body);
                stage.label = label(node);
                stage.retry = self.retry(&id, node);
                Some(BranchNodeValue::Stage(stage))
            }
            (NodeType::Stage | NodeType::Fork | NodeType::Streaming, None) => self.missing(id, "stage"),
            (other, _) => {
                let what = Str::from(format!("the node type `{}` has no builder call", other.as_str()));
                self.errors.push(BuildError::UnsupportedStructure { id, what });
                None
            }
        }
    }

    fn mount(&mut self, node: StructureRef<'_>, id: Str) -> Option<Mount> {
        let chart = if node.is_lazy || node.subflow().is_none() {
            let Some(lazy) = self.registry.lazy.get(&id).cloned() else {
                return self.missing(id, "lazy mount");
            };
            lazy
        } else {
            // The inner chart's own problems are listed already.
            MountedChart::Eager(self.charts.remove(&id)?)
        };
        let mut mount = Mount::with_chart(node.node().id.clone(), chart);
        if let Some(configure) = self.registry.mounts.get(&id) {
            mount = configure(mount);
        }
        mount.label = label(node);
        mount.converge_at = node.node().converge_at.clone();
        Some(mount)
    }

    fn retry(&self, id: &Str, node: StructureRef<'_>) -> Option<Retry> {
        let recorded = || {
            node.retry_attempts.map(|attempts| Retry::attempts(u32::try_from(attempts).unwrap_or(u32::MAX)))
        };
        self.registry.retries.get(id).cloned().or_else(recorded)
    }

    fn mode(&self, id: &Str) -> FanOut {
        self.registry.modes.get(id).copied().unwrap_or_default()
    }

    fn missing<T>(&mut self, id: Str, kind: &'static str) -> Option<T> {
        self.errors.push(BuildError::MissingFunction { id, kind });
        None
    }
}

fn streaming(run: StageFn, stream_id: Str) -> StageBody {
    StageBody::Streaming { run, stream_id: Some(stream_id) }
}

fn label(node: StructureRef<'_>) -> Label {
    let fields = node.node();
    Label {
        id: fields.id.clone(),
        name: Some(fields.name.clone()),
        description: fields.description.clone(),
        icon: fields.icon.clone(),
        tags: fields.tags.clone().unwrap_or_default(),
    }
}

/// A fork node `build()` generated: it has the id of the node before it and `-fork`, and that node's children mean something else.
fn is_generated_fork(previous: Option<StructureRef<'_>>, node: StructureRef<'_>) -> bool {
    let Some(previous) = previous else { return false };
    let plain_stage =
        matches!(previous.node_type, NodeType::Stage | NodeType::Streaming) && !previous.is_subflow_root;
    node.node_type == NodeType::Fork
        && !plain_stage
        && node.node().id.strip_suffix("-fork").is_some_and(|owner| *owner == *previous.node().id)
}
