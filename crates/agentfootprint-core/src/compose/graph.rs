//! Nodes and edges: every node runs once, as soon as its parents have answered (AGT-127).

use std::sync::Arc;

use agentfootprint_record::conventions::ids;
use agentfootprint_record::events::words::{CompositionKind, CompositionStatus};
use footprint::chart::{Chart, ChartBuilder, FanOut, Mount};
use footprint::error::StageError;
use footprint::scope::StateView;
use footprint::value::{Array, Object, Str, Value};

use super::cx::{Cx, finalize, named_stage};
use super::errors::{ComposeError, ComposeErrors, Problems, chart_failed};
use super::member::{Member, one};
use super::open::{BranchFailure, Facts};
use super::runner::{Core, Parts, runner};
use super::workflow::{INPUT, RESULTS, handed, seed};
use crate::run::{ChartRunner, RunNeeds, UiGroup};

const KIND: &str = "Graph";

/// Joins what the parents of a node answered, by node id.
type Join = Arc<dyn Fn(&Object) -> Value + Send + Sync>;

/// A node of a graph.
pub struct Node {
    member: Member,
    join: Option<Join>,
}

impl Node {
    /// A node that runs `runner`.
    pub fn new(id: impl Into<Str>, runner: impl ChartRunner) -> Self {
        Self { member: Member::new(id, runner), join: None }
    }

    /// The name it is shown under.
    #[must_use]
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.member = self.member.named(Some(name.into()));
        self
    }

    /// Makes the node's message — text, or an object — out of what its parents answered. A node with several parents needs it.
    #[must_use]
    pub fn join<V: Into<Value>>(mut self, join: impl Fn(&Object) -> V + Send + Sync + 'static) -> Self {
        self.join = Some(Arc::new(move |parents| join(parents).into()));
        self
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("id", &self.member.id).finish_non_exhaustive()
    }
}

/// A directed graph of members without cycles. It answers what every node answered, by node id.
///
/// ```
/// # use agentfootprint_core::llm::*;
/// # struct Say(&'static str);
/// # #[async_trait::async_trait]
/// # impl LlmProvider for Say {
/// #     fn name(&self) -> &str { "say" }
/// #     fn capabilities(&self, _: &str) -> Capabilities { Capabilities::default() }
/// #     async fn complete(&self, r: &LlmRequest, _: &CallCx) -> Result<LlmResponse, LlmError> {
/// #         Ok(LlmResponse::text(format!("{}({})", self.0, r.last_user_text().unwrap_or_default())))
/// #     }
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use agentfootprint_core::compose::{Graph, LlmCall, Node};
/// use agentfootprint_core::run::Runner;
///
/// let call = |name| LlmCall::builder(Say(name), "m").id(name).build();
/// let graph = Graph::builder("plan")
///     .node(Node::new("a", call("a")?))
///     .node(Node::new("b", call("b")?))
///     .node(Node::new("c", call("c")?).join(|up| format!("{} {}", up.get("a").unwrap(), up.get("b").unwrap())))
///     .edge("a", "c")
///     .edge("b", "c")
///     .build()?;
/// assert_eq!(graph.levels(), [vec!["a", "b"], vec!["c"]]);
/// let report = graph.run("x").await;
/// assert_eq!(report.into_answer()?.get("b").unwrap(), "b(x)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Graph {
    core: Core<Object>,
    levels: Arc<[Vec<Str>]>,
}

runner!(Graph, Object);

impl Graph {
    /// Begins the declaration of a graph with this id.
    pub fn builder(id: impl Into<Str>) -> GraphBuilder {
        GraphBuilder {
            id: id.into(),
            name: KIND.into(),
            nodes: Vec::new(),
            edges: Vec::new(),
            problems: Problems::default(),
        }
    }

    /// Which nodes run together, level by level.
    pub fn levels(&self) -> Vec<Vec<&str>> {
        self.levels.iter().map(|level| level.iter().map(|id| &**id).collect()).collect()
    }
}

/// Declares a graph.
#[must_use = "a graph exists only after `build()`"]
pub struct GraphBuilder {
    id: Str,
    name: Str,
    nodes: Vec<Node>,
    edges: Vec<(Str, Str)>,
    problems: Problems,
}

impl GraphBuilder {
    /// Its name; `Graph` by default.
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = name.into();
        self
    }

    /// One more node.
    pub fn node(mut self, node: Node) -> Self {
        self.problems.id("node", &node.member.id, true, &[ids::SEED, ids::FINALIZE]);
        if is_join_stage(&node.member.id) {
            let why = "is the name of a stage of the graph itself; choose another name".to_owned();
            self.problems.push(ComposeError::BadId { what: "node", id: node.member.id.to_string(), why });
        }
        self.nodes.push(node);
        self
    }

    /// `to` runs after `from` and gets what it answered.
    pub fn edge(mut self, from: impl Into<Str>, to: impl Into<Str>) -> Self {
        let edge = (from.into(), to.into());
        if !self.edges.contains(&edge) {
            self.edges.push(edge);
        }
        self
    }

    /// Checks everything and answers the graph.
    ///
    /// # Errors
    /// All problems of the declaration, each naming the offender and the fix. A node with several parents and no join is
    /// reported before a cycle.
    pub fn build(self) -> Result<Graph, ComposeErrors> {
        let mut problems = self.problems;
        problems.runner_id("graph", &self.id);
        if self.nodes.is_empty() {
            problems.push(ComposeError::Missing { what: "node", fix: "declare at least one with `node`" });
        }
        problems.duplicates("node", self.nodes.iter().map(|node| &node.member.id));
        let wires = Wires::of(&self.nodes, &self.edges, &mut problems);
        let levels = wires.levels(&mut problems);
        problems.into_result(KIND, &self.id)?;
        let facts = Facts { kind: CompositionKind::Sequence, id: self.id.clone(), name: self.name.clone() };
        let mut extra = Object::new();
        extra.insert("form", Value::from(KIND));
        let shown: Array = levels
            .iter()
            .map(|level| Value::from(level.iter().map(|id| Value::from(id.clone())).collect::<Array>()))
            .collect();
        extra.insert("levels", Value::from(shown));
        let mut group = UiGroup::new("Sequence", self.id.clone(), self.name, Some(Value::from(extra)));
        let mut needs = RunNeeds::default();
        for node in &self.nodes {
            group.members.push((node.member.id.clone(), node.member.runner.ui_group()));
            needs = needs.with(node.member.runner.needs());
        }
        let count = self.nodes.len();
        let described = format!("Sequence: a graph of {count} nodes, level by level");
        let mut chart = Chart::builder(seed(&facts, count, described));
        for (at, level) in levels.iter().enumerate() {
            let mounts = level
                .iter()
                .filter_map(|id| self.nodes.iter().find(|node| node.member.id == *id))
                .map(|node| mount(node, wires.parents(&node.member.id)))
                .collect();
            chart = walk_level(chart, at, level, mounts, &facts);
        }
        let chart = chart.then(finalize(&facts, RESULTS)).build().map_err(chart_failed(KIND, &self.id))?;
        let core = Core::of_values(Parts { word: KIND, chart, group, needs }, |value: Value| {
            Ok(value.as_object().cloned().unwrap_or_default())
        });
        Ok(Graph { core, levels: levels.into() })
    }
}

/// `level-<n>-join`
fn is_join_stage(id: &str) -> bool {
    id.strip_prefix("level-")
        .and_then(|rest| rest.strip_suffix("-join"))
        .is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
}

/// Who follows whom.
struct Wires {
    /// Node ids in declaration order with their parents in edge order.
    parents: Vec<(Str, Vec<Str>)>,
}

impl Wires {
    fn of(nodes: &[Node], edges: &[(Str, Str)], problems: &mut Problems) -> Self {
        let known = |id: &Str| nodes.iter().any(|node| node.member.id == *id);
        let names: Vec<String> = nodes.iter().map(|node| node.member.id.to_string()).collect();
        for (from, to) in edges {
            for end in [from, to].into_iter().filter(|end| !known(end)) {
                let (from, to, unknown) = (from.clone(), to.clone(), end.clone());
                problems.push(ComposeError::UnknownNode { from, to, unknown, known: names.clone() });
            }
        }
        let mut parents: Vec<(Str, Vec<Str>)> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let id = &node.member.id;
            if parents.iter().any(|(known, _)| known == id) {
                continue;
            }
            let of: Vec<Str> = edges
                .iter()
                .filter(|(from, to)| to == id && known(from))
                .map(|(from, _)| from.clone())
                .collect();
            if of.len() > 1 && node.join.is_none() {
                let parents = of.iter().map(|id| format!("`{id}`")).collect();
                problems.push(ComposeError::FanInWithoutJoin { node: id.clone(), parents });
            }
            parents.push((id.clone(), of));
        }
        Self { parents }
    }

    fn parents(&self, id: &Str) -> Vec<Str> {
        self.parents.iter().find(|(known, _)| known == id).map(|(_, of)| of.clone()).unwrap_or_default()
    }

    /// Kahn's levels, in declaration order. What is left over lies on a cycle.
    fn levels(&self, problems: &mut Problems) -> Vec<Vec<Str>> {
        let mut open: Vec<&(Str, Vec<Str>)> = self.parents.iter().collect();
        let mut levels = Vec::new();
        while !open.is_empty() {
            let waits = |of: &[Str]| of.iter().any(|parent| open.iter().any(|(id, _)| id == parent));
            let ready: Vec<Str> =
                open.iter().filter(|(_, of)| !waits(of)).map(|(id, _)| id.clone()).collect();
            if ready.is_empty() {
                problems.push(cycle_of(&open));
                return levels;
            }
            open.retain(|(id, _)| !ready.contains(id));
            levels.push(ready);
        }
        levels
    }
}

/// Follows parents among nodes that all wait for one another until one repeats: the last edge is on a cycle.
fn cycle_of(open: &[&(Str, Vec<Str>)]) -> ComposeError {
    let waiting_for = |id: &Str| {
        let (_, of) = open.iter().find(|(known, _)| known == id)?;
        of.iter().find(|parent| open.iter().any(|(known, _)| known == *parent)).cloned()
    };
    let mut path: Vec<Str> = open.first().map(|(id, _)| id.clone()).into_iter().collect();
    while let Some(from) = path.last().and_then(waiting_for) {
        let to = path.last().cloned().unwrap_or_default();
        if path.contains(&from) {
            return ComposeError::Cycle { from, to };
        }
        path.push(from);
    }
    let only = path.last().cloned().unwrap_or_default();
    ComposeError::Cycle { from: only.clone(), to: only }
}

fn mount(node: &Node, parents: Vec<Str>) -> Mount {
    let (id, join) = (node.member.id.clone(), node.join.clone());
    let name = format!("node `{id}`");
    node.member.mount(
        id.clone(),
        move |parent: &StateView| handed(&message_of(parent, &parents, join.as_ref()), &name),
        move |answer, _, _| Ok(one(RESULTS, one(&id, answer))),
    )
}

/// A root gets the graph's input, a node with one parent its answer, any other what its join makes.
fn message_of(state: &StateView, parents: &[Str], join: Option<&Join>) -> Value {
    let results = state.value(RESULTS).and_then(|value| value.as_object().cloned()).unwrap_or_default();
    match (parents, join) {
        ([], _) => state.value(INPUT).unwrap_or_default(),
        ([only], None) => results.get(only).cloned().unwrap_or_default(),
        (_, None) => Value::default(),
        (several, Some(join)) => {
            let upstream = several
                .iter()
                .filter_map(|id| Some((id.clone(), results.get(id)?.clone())))
                .collect::<Object>();
            join(&upstream)
        }
    }
}

/// One node in the chain, or several side by side with a join that looks whether all of them answered.
fn walk_level(
    chart: ChartBuilder,
    at: usize,
    level: &[Str],
    mounts: Vec<Mount>,
    facts: &Facts,
) -> ChartBuilder {
    if mounts.len() < 2 {
        return mounts.into_iter().fold(chart, ChartBuilder::mount);
    }
    let (level, facts) = (level.to_vec(), facts.clone());
    let count = level.len();
    let join = named_stage(format!("level-{at}-join").into(), move |cx: Cx| {
        let (level, facts) = (level.clone(), facts.clone());
        async move { check_level(&cx, &level, &facts) }
    })
    .named(format!("Level {at}"))
    .describe(format!("all {count} nodes of the level answered"));
    chart.fork(mounts, FanOut::AllSettled).then(join)
}

fn check_level(cx: &Cx, level: &[Str], facts: &Facts) -> Result<(), StageError> {
    let results = cx.object(RESULTS)?;
    let failed: Vec<String> = level
        .iter()
        .filter(|id| !results.contains_key(id))
        .map(|id| {
            let failure = cx.run.compositions.failure(cx.prefix(), id).unwrap_or_else(|| BranchFailure {
                name: "Error".into(),
                message: "the node left no answer".into(),
            });
            format!("node `{id}` failed ({failure})")
        })
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    cx.exit(facts, CompositionStatus::Err);
    Err(StageError::new(format!("Graph `{}`: {}", facts.id, failed.join(", "))))
}

impl std::fmt::Debug for GraphBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GraphBuilder")
            .field("id", &self.id)
            .field("nodes", &self.nodes.len())
            .finish_non_exhaustive()
    }
}
