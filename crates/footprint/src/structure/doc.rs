//! The arena of a structure, one node of it, and the cursor readers use.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::value::{Object, Str};

/// The `type` word of a structure node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeType {
    /// `stage`: a plain or pausable stage, or a mount.
    #[default]
    Stage,
    /// `decider`
    Decider,
    /// `selector`
    Selector,
    /// `fork`: a node with parallel children, or a for-each.
    Fork,
    /// `streaming`
    Streaming,
    /// `subflow`: a branch a for-each generated (runtime structure only).
    Subflow,
    /// `loop`: the stub at the end of a loop edge.
    Loop,
    /// A word this version does not know; kept as it is.
    Other(Str),
}

impl NodeType {
    /// The recorded word.
    pub fn as_str(&self) -> &str {
        match self {
            NodeType::Stage => "stage",
            NodeType::Decider => "decider",
            NodeType::Selector => "selector",
            NodeType::Fork => "fork",
            NodeType::Streaming => "streaming",
            NodeType::Subflow => "subflow",
            NodeType::Loop => "loop",
            NodeType::Other(word) => word,
        }
    }

    pub(crate) fn of(word: &Str) -> NodeType {
        match &**word {
            "stage" => NodeType::Stage,
            "decider" => NodeType::Decider,
            "selector" => NodeType::Selector,
            "fork" => NodeType::Fork,
            "streaming" => NodeType::Streaming,
            "subflow" => NodeType::Subflow,
            "loop" => NodeType::Loop,
            _ => NodeType::Other(word.clone()),
        }
    }
}

/// The fields of one structure node, links to other nodes apart. Absent fields do not apply (ENG §4.1).
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "the fields are the recorded ones, in Rust case; the table of ENG 4.1 describes each"
)]
pub struct StructureNode {
    pub name: Str,
    pub id: Str,
    pub node_type: NodeType,
    pub description: Option<Str>,
    pub icon: Option<Str>,
    pub tags: Option<Vec<Str>>,
    pub retry_attempts: Option<u64>,
    pub has_decider: bool,
    pub has_selector: bool,
    pub branch_ids: Option<Vec<Str>>,
    pub default_branch: Option<Str>,
    pub is_streaming: bool,
    pub stream_id: Option<Str>,
    pub is_pausable: bool,
    pub is_parallel_child: bool,
    pub parallel_group_id: Option<Str>,
    pub is_subflow_root: bool,
    pub subflow_id: Option<Str>,
    pub subflow_name: Option<Str>,
    pub is_lazy: bool,
    pub converge_at: Option<Str>,
    pub is_dynamic_parallel: bool,
    pub loop_target: Option<Str>,
    pub is_loop_reference: bool,
    pub iteration_count: Option<u64>,
    /// Fields this version does not know, and known ones in a form it does not know; written back as they were.
    pub extra: Object,
}

/// Handle of a node inside one [`StructureBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructureNodeId(u32);

#[derive(Debug, Default)]
struct Slot {
    node: StructureNode,
    next: Option<u32>,
    children: Option<Vec<u32>>,
    subflow: Option<Subflow>,
}

/// The structure of a mounted chart: shared with that chart, or held by the same arena.
#[derive(Debug)]
enum Subflow {
    Shared(Structure),
    Here(u32),
}

/// The structure of a chart (ENG §4.1). Cheap to clone.
///
/// ```
/// use footprint::chart::{Chart, Stage};
/// use footprint::scope::Scope;
/// use footprint::structure::Structure;
///
/// let chart = Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) }).named("Seed"))
///     .then(Stage::new("score", |_: Scope| async { Ok(()) }))
///     .build()?;
/// let text = chart.structure().to_json();
/// assert_eq!(text, r#"{"name":"Seed","id":"seed","type":"stage","next":{"name":"score","id":"score","type":"stage"}}"#);
/// assert_eq!(&Structure::from_json(&text)?, chart.structure());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Structure(Arc<Inner>);

struct Inner {
    root: Slot,
    rest: Vec<Slot>,
}

impl Inner {
    fn slot(&self, at: u32) -> Option<&Slot> {
        match (at as usize).checked_sub(1) {
            Some(position) => self.rest.get(position),
            None => Some(&self.root),
        }
    }
}

impl Structure {
    /// The first node.
    pub fn root(&self) -> StructureRef<'_> {
        StructureRef { arena: &self.0, slot: &self.0.root }
    }

    /// Nodes of this chart and of every inner chart, loop stubs included.
    pub fn node_count(&self) -> usize {
        let mut waiting = vec![self];
        let mut count = 0;
        while let Some(structure) = waiting.pop() {
            count += 1 + structure.0.rest.len();
            waiting.extend(structure.0.slots().filter_map(Slot::shared));
        }
        count
    }

    /// The node a path of ids leads to: mount ids, then a local id, joined by `/` (a prefixed stage id).
    pub fn find(&self, path: &str) -> Option<StructureRef<'_>> {
        let mut level = self.root();
        let mut segments = path.split(crate::ids::PATH_MARK).peekable();
        while let Some(segment) = segments.next() {
            let found = level.level().find(|node| *node.id == *segment && !node.is_loop_reference)?;
            if segments.peek().is_none() {
                return Some(found);
            }
            level = found.subflow()?;
        }
        None
    }
}

impl Inner {
    fn slots(&self) -> impl Iterator<Item = &Slot> {
        std::iter::once(&self.root).chain(&self.rest)
    }
}

impl Slot {
    fn shared(&self) -> Option<&Structure> {
        match &self.subflow {
            Some(Subflow::Shared(structure)) => Some(structure),
            _ => None,
        }
    }
}

/// Inner charts nest as deep as their charts do; letting go of them one inside the other would recurse.
impl Drop for Inner {
    fn drop(&mut self) {
        let mut waiting: Vec<Structure> = Vec::new();
        take_shared(self, &mut waiting);
        while let Some(structure) = waiting.pop() {
            if let Some(mut inner) = Arc::into_inner(structure.0) {
                take_shared(&mut inner, &mut waiting);
            }
        }
    }
}

fn take_shared(inner: &mut Inner, into: &mut Vec<Structure>) {
    for slot in std::iter::once(&mut inner.root).chain(&mut inner.rest) {
        if let Some(Subflow::Shared(_)) = &slot.subflow
            && let Some(Subflow::Shared(structure)) = slot.subflow.take()
        {
            into.push(structure);
        }
    }
}

impl fmt::Debug for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Structure")
            .field("root", &self.0.root.node.id)
            .field("nodes", &self.node_count())
            .finish()
    }
}

/// Node for node, whichever arena holds them.
impl PartialEq for Structure {
    fn eq(&self, other: &Structure) -> bool {
        let mut waiting = vec![(self.root(), other.root())];
        while let Some((left, right)) = waiting.pop() {
            if std::ptr::eq(left.slot, right.slot) {
                continue;
            }
            if *left != *right || left.children().len() != right.children().len() {
                return false;
            }
            if left.slot.children.is_some() != right.slot.children.is_some() {
                return false;
            }
            waiting.extend(left.children().zip(right.children()));
            for (a, b) in [(left.next(), right.next()), (left.subflow(), right.subflow())] {
                match (a, b) {
                    (Some(a), Some(b)) => waiting.push((a, b)),
                    (None, None) => {}
                    _ => return false,
                }
            }
        }
        true
    }
}

/// One node in its structure: its fields by deref, its neighbours by method.
#[derive(Clone, Copy)]
pub struct StructureRef<'a> {
    arena: &'a Inner,
    slot: &'a Slot,
}

impl<'a> StructureRef<'a> {
    /// The fields, for as long as the structure lives.
    pub fn node(self) -> &'a StructureNode {
        &self.slot.node
    }

    /// What follows: a node, or the stub of a loop edge.
    pub fn next(self) -> Option<StructureRef<'a>> {
        self.at(self.slot.next?)
    }

    /// Fork children or branches, in declaration order.
    pub fn children(self) -> StructureChildren<'a> {
        StructureChildren { arena: self.arena, rest: self.slot.children.as_deref().unwrap_or_default() }
    }

    /// Whether the node has a list of children, even an empty one.
    pub fn has_children(self) -> bool {
        self.slot.children.is_some()
    }

    /// The first node of the mounted chart.
    pub fn subflow(self) -> Option<StructureRef<'a>> {
        match self.slot.subflow.as_ref()? {
            Subflow::Shared(structure) => Some(structure.root()),
            Subflow::Here(at) => self.at(*at),
        }
    }

    /// This node and every node after or below it on the same level: children before what follows, mounts not entered.
    pub fn level(self) -> impl Iterator<Item = StructureRef<'a>> {
        let mut waiting = vec![self];
        std::iter::from_fn(move || {
            let node = waiting.pop()?;
            waiting.extend(node.next());
            waiting.extend(node.children().rev());
            Some(node)
        })
    }

    /// The shared structure of the mounted chart, when this node shares one.
    pub(crate) fn shared_subflow(self) -> Option<&'a Structure> {
        self.slot.shared()
    }

    fn at(self, position: u32) -> Option<StructureRef<'a>> {
        Some(StructureRef { arena: self.arena, slot: self.arena.slot(position)? })
    }
}

impl Deref for StructureRef<'_> {
    type Target = StructureNode;

    fn deref(&self) -> &StructureNode {
        &self.slot.node
    }
}

impl fmt::Debug for StructureRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.slot.node, f)
    }
}

/// Iterator over the children of a node.
#[derive(Clone)]
pub struct StructureChildren<'a> {
    arena: &'a Inner,
    rest: &'a [u32],
}

impl<'a> Iterator for StructureChildren<'a> {
    type Item = StructureRef<'a>;

    fn next(&mut self) -> Option<StructureRef<'a>> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(StructureRef { arena: self.arena, slot: self.arena.slot(*first)? })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len(), Some(self.rest.len()))
    }
}

impl DoubleEndedIterator for StructureChildren<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (last, rest) = self.rest.split_last()?;
        self.rest = rest;
        Some(StructureRef { arena: self.arena, slot: self.arena.slot(*last)? })
    }
}

impl ExactSizeIterator for StructureChildren<'_> {}

impl fmt::Debug for StructureChildren<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone().map(|child| child.node().id.clone())).finish()
    }
}

/// Puts a structure together by hand: for readers, and for facts discovered at run time. The first node added is the root.
///
/// ```
/// use footprint::structure::{StructureBuilder, StructureNode};
///
/// let mut builder = StructureBuilder::new();
/// let seed = builder.add(StructureNode { id: "seed".into(), name: "Seed".into(), ..StructureNode::default() });
/// let done = builder.add(StructureNode { id: "done".into(), name: "Done".into(), ..StructureNode::default() });
/// builder.set_next(seed, done);
/// let structure = builder.finish().ok_or("no nodes")?;
/// assert_eq!(structure.node_count(), 2);
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Default)]
pub struct StructureBuilder {
    slots: Vec<Slot>,
}

impl StructureBuilder {
    /// No nodes yet.
    pub fn new() -> StructureBuilder {
        StructureBuilder::default()
    }

    /// Adds a node that nothing points to yet.
    pub fn add(&mut self, node: StructureNode) -> StructureNodeId {
        let id = StructureNodeId(u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        self.slots.push(Slot { node, next: None, children: None, subflow: None });
        id
    }

    /// The fields of a node, to complete them.
    pub fn node_mut(&mut self, id: StructureNodeId) -> Option<&mut StructureNode> {
        self.slots.get_mut(id.0 as usize).map(|slot| &mut slot.node)
    }

    /// Makes `to` what follows `from`.
    pub fn set_next(&mut self, from: StructureNodeId, to: StructureNodeId) {
        self.edit(from, |slot| slot.next = Some(to.0));
    }

    /// Makes `child` the last child of `parent`.
    pub fn add_child(&mut self, parent: StructureNodeId, child: StructureNodeId) {
        self.edit(parent, |slot| slot.children.get_or_insert_default().push(child.0));
    }

    /// Gives a node a list of children, empty so far.
    pub fn open_children(&mut self, parent: StructureNodeId) {
        self.edit(parent, |slot| {
            slot.children.get_or_insert_default();
        });
    }

    /// Mounts a shared structure at a node.
    pub fn set_subflow(&mut self, at: StructureNodeId, subflow: Structure) {
        self.edit(at, |slot| slot.subflow = Some(Subflow::Shared(subflow)));
    }

    /// Mounts the chart that begins at `root`, a node of this builder.
    pub fn set_subflow_root(&mut self, at: StructureNodeId, root: StructureNodeId) {
        self.edit(at, |slot| slot.subflow = Some(Subflow::Here(root.0)));
    }

    /// The structure; `None` when no node was added.
    ///
    /// A structure nests, as its JSON does: each node stands in one place, and a link to one that stands somewhere already is left out.
    pub fn finish(mut self) -> Option<Structure> {
        self.leave_out_second_links();
        let mut slots = self.slots.into_iter();
        let root = slots.next()?;
        Some(Structure(Arc::new(Inner { root, rest: slots.collect() })))
    }

    /// For builders that begin with a root: what would be nothing is one empty node.
    pub(crate) fn finish_or_empty(self) -> Structure {
        let mut slots = self.slots.into_iter();
        let root = slots.next().unwrap_or_default();
        Structure(Arc::new(Inner { root, rest: slots.collect() }))
    }

    /// Cuts links into cycles and to nodes that two links reach, so that every walk ends.
    fn leave_out_second_links(&mut self) {
        let mut free = vec![true; self.slots.len()];
        let mut waiting = vec![0_u32];
        if let Some(root) = free.first_mut() {
            *root = false;
        }
        let mut take = |to: u32| free.get_mut(to as usize).is_some_and(std::mem::take);
        while let Some(slot) = waiting.pop().and_then(|at| self.slots.get_mut(at as usize)) {
            if let Some(children) = &mut slot.children {
                children.retain(|child| take(*child));
                waiting.extend(children.iter());
            }
            if let Some(Subflow::Here(inner)) = slot.subflow {
                match take(inner) {
                    true => waiting.push(inner),
                    false => slot.subflow = None,
                }
            }
            slot.next = slot.next.filter(|next| take(*next));
            waiting.extend(slot.next);
        }
    }

    fn edit(&mut self, id: StructureNodeId, change: impl FnOnce(&mut Slot)) {
        if let Some(slot) = self.slots.get_mut(id.0 as usize) {
            change(slot);
        }
    }
}
