//! Facts of an execution tree that queries need: frames by address, who hangs where, branch namespaces, governing decisions.

use super::index::NONE;
use super::symbols::{Addresses, Seen, Symbols};
use crate::ids::{RuntimeStageId, split_stage_id};
use crate::snapshot::{ExecutionTree, FrameRecord, NodeId};
use crate::state::RUNS_KEY;
use crate::value::{Str, Value};

/// How a frame hangs on the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Root,
    Next(NodeId),
    Child(NodeId),
}

/// What a frame's children are, by its flow messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Children {
    Branch,
    Selected,
    Parallel,
    Unknown,
}

fn children_kind(frame: &FrameRecord) -> Children {
    let said = |word: &str| frame.flow_messages.iter().any(|m| m.get("type").is_some_and(|t| *t == word));
    if said("selected") {
        Children::Selected
    } else if said("branch") {
        Children::Branch
    } else if said("children") {
        Children::Parallel
    } else {
        Children::Unknown
    }
}

/// One pass over a tree, with an explicit stack; malformed arenas (shared or cyclic links) are walked once per frame.
#[derive(Debug, Default)]
pub(super) struct TreeIndex {
    addresses: Addresses,
    links: Vec<Link>,
    /// The decider or selector that let a frame run, as far as the tree says.
    governors: Vec<Option<NodeId>>,
    /// Index into `namespaces`; [`NONE`] at the level's root.
    namespace_of: Vec<u32>,
    namespaces: Vec<Vec<Str>>,
    /// Frames in walking order.
    pub(super) order: Vec<NodeId>,
    pub(super) has_decisions: bool,
    /// Keys of `stageReads`, as symbols of `keys`, in walking order.
    reads: Vec<u32>,
    /// Which of them are a frame's.
    reads_at: Vec<(u32, u32)>,
    pub(super) keys: Symbols,
    /// Whether any frame has `stageReads`.
    pub(super) says_reads: bool,
}

impl TreeIndex {
    pub(super) fn of(tree: &ExecutionTree) -> Self {
        let mut out = Self {
            links: vec![Link::Root; tree.len()],
            governors: vec![None; tree.len()],
            namespace_of: vec![NONE; tree.len()],
            ..Self::default()
        };
        let (mut addressed, mut keys) = (Seen::new(), Seen::new());
        out.addresses.reserve(tree.len());
        out.reads_at = vec![(0, 0); tree.len()];
        out.reads.reserve(tree.len());
        let mut seen = vec![false; tree.len()];
        let mut pending: Vec<(NodeId, Link, Option<NodeId>, u32)> =
            tree.root().map(|root| (root, Link::Root, None, NONE)).into_iter().collect();
        while let Some((id, link, governor, namespace)) = pending.pop() {
            let at = id.0 as usize;
            let (Some(frame), Some(seen)) = (tree.get(id), seen.get_mut(at)) else { continue };
            if std::mem::replace(seen, true) {
                continue;
            }
            out.place(at, link, governor, namespace);
            out.order.push(id);
            out.addresses.place(&frame.runtime_stage_id, &mut addressed, id.0);
            out.take_reads(at, frame, &mut keys);
            if let Some(next) = frame.next {
                pending.push((next, Link::Next(id), governor, namespace));
            }
            if frame.children.is_empty() {
                continue;
            }
            let kind = children_kind(frame);
            let decides = matches!(kind, Children::Branch | Children::Selected);
            out.has_decisions |= decides;
            let governor = if decides { Some(id) } else { governor };
            for child in frame.children.iter().rev() {
                let parallel = matches!(kind, Children::Parallel | Children::Selected);
                let inner = if parallel { out.inner(tree, namespace, *child) } else { namespace };
                pending.push((*child, Link::Child(id), governor, inner));
            }
        }
        out
    }

    /// Frames are far apart in memory: what the log's index needs of one is taken while it is looked at.
    fn take_reads(&mut self, at: usize, frame: &FrameRecord, seen: &mut Seen) {
        let Some(reads) = &frame.stage_reads else { return };
        self.says_reads = true;
        let start = self.reads.len() as u32;
        self.reads.extend(reads.keys().map(|key| self.keys.intern(key, seen)));
        if let Some(slot) = self.reads_at.get_mut(at) {
            *slot = (start, self.reads.len() as u32);
        }
    }

    /// The addresses of all frames, each with the first frame that has it.
    pub(super) fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Keys a frame read, as symbols of `keys`.
    pub(super) fn reads(&self, id: NodeId) -> &[u32] {
        let (from, to) = self.reads_at.get(id.0 as usize).copied().unwrap_or_default();
        self.reads.get(from as usize..to as usize).unwrap_or_default()
    }

    fn place(&mut self, at: usize, link: Link, governor: Option<NodeId>, namespace: u32) {
        if let Some(slot) = self.links.get_mut(at) {
            *slot = link;
        }
        if let Some(slot) = self.governors.get_mut(at) {
            *slot = governor;
        }
        if let Some(slot) = self.namespace_of.get_mut(at) {
            *slot = namespace;
        }
    }

    /// The namespace of a parallel child.
    fn inner(&mut self, tree: &ExecutionTree, outer: u32, child: NodeId) -> u32 {
        let Some(frame) = tree.get(child) else { return outer };
        let mut segments = self.namespaces.get(outer as usize).cloned().unwrap_or_default();
        segments.push(RUNS_KEY.into());
        segments.push(split_stage_id(&frame.id).1.into());
        self.namespaces.push(segments);
        (self.namespaces.len() - 1) as u32
    }

    /// The frame of a step.
    pub(super) fn frame(&self, id: &RuntimeStageId) -> Option<NodeId> {
        self.addresses.get(id).map(NodeId)
    }

    pub(super) fn link(&self, id: NodeId) -> Link {
        self.links.get(id.0 as usize).copied().unwrap_or(Link::Root)
    }

    /// The decider or selector frame that governs a frame, as far as the tree says.
    pub(super) fn governor(&self, id: NodeId) -> Option<NodeId> {
        self.governors.get(id.0 as usize).copied().flatten()
    }

    /// Namespace segments of a frame; none at the level's root.
    pub(super) fn namespace(&self, id: NodeId) -> Option<&[Str]> {
        let at = *self.namespace_of.get(id.0 as usize)?;
        self.namespaces.get(at as usize).map(|n| &**n)
    }
}

/// The keys of a frame's `stageReads`.
pub(super) fn read_keys(frame: &FrameRecord) -> impl Iterator<Item = (&Str, &Value)> {
    frame.stage_reads.iter().flat_map(|reads| reads.iter())
}
