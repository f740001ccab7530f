//! The execution tree: an arena of frames with ids for edges.

use std::sync::Arc;

use crate::ids::RuntimeStageId;
use crate::value::{Object, Str, Value};

/// A frame's place in its [`ExecutionTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// What one executed step left behind (one tree node of ENG §9).
#[derive(Clone, Debug, PartialEq)]
pub struct FrameRecord {
    /// Stage id, prefixed with the mount path.
    pub id: Str,
    /// The step's address.
    pub runtime_stage_id: RuntimeStageId,
    /// Stage name, prefixed with the mount path.
    pub name: Str,
    /// True only for function-less deciders; consumers use the structure for kinds.
    pub is_decider: bool,
    /// True only for function-less forks (in practice the generated fork node).
    pub is_fork: bool,
    /// Diagnostic bag `logs`, with the engine's own keys of ENG-101.
    pub logs: Object,
    /// Diagnostic bag `errors`.
    pub errors: Object,
    /// Diagnostic bag `metrics`.
    pub metrics: Object,
    /// Diagnostic bag `evals`.
    pub evals: Object,
    /// The stage's description.
    pub description: Option<Str>,
    /// Path of the mount this frame is, when it is one.
    pub subflow_id: Option<Str>,
    /// Keys read tracked, with values or summary markers (absent: tracking off or nothing read).
    pub stage_reads: Option<Object>,
    /// Keys written, with values or summary markers.
    pub stage_writes: Option<Object>,
    /// Flow messages in order (`{type, description, targetStage?, …}`, ENG-101).
    pub flow_messages: Vec<Value>,
    /// The frame that followed this one.
    pub next: Option<NodeId>,
    /// Fan-out children, or the decider branch that was taken.
    pub children: Vec<NodeId>,
    /// Fields a newer or foreign writer added, kept for rewriting.
    pub extra: Object,
}

impl FrameRecord {
    /// A silent frame: everything empty but its address.
    pub fn new(id: impl Into<Str>, name: impl Into<Str>, runtime_stage_id: RuntimeStageId) -> Self {
        Self {
            id: id.into(),
            runtime_stage_id,
            name: name.into(),
            is_decider: false,
            is_fork: false,
            logs: Object::new(),
            errors: Object::new(),
            metrics: Object::new(),
            evals: Object::new(),
            description: None,
            subflow_id: None,
            stage_reads: None,
            stage_writes: None,
            flow_messages: Vec::new(),
            next: None,
            children: Vec::new(),
            extra: Object::new(),
        }
    }
}

impl FromIterator<FrameRecord> for ExecutionTree {
    /// The frames in creation order, linked already; the first one is the root.
    fn from_iter<I: IntoIterator<Item = FrameRecord>>(frames: I) -> Self {
        Self { frames: Arc::new(frames.into_iter().map(Arc::new).collect()) }
    }
}

/// The frames of one level. Everything is shared: cloning costs one reference count, and the first change after it one pointer per frame.
/// Dropping, comparing and printing never recurse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionTree {
    frames: Arc<Vec<Arc<FrameRecord>>>,
}

impl ExecutionTree {
    /// A tree without frames.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a frame without linking it and returns its id. The first frame is the root.
    pub fn push(&mut self, frame: FrameRecord) -> NodeId {
        self.push_shared(Arc::new(frame))
    }

    /// Adds a frame that is already shared.
    pub fn push_shared(&mut self, frame: Arc<FrameRecord>) -> NodeId {
        let id = NodeId(u32::try_from(self.frames.len()).unwrap_or(u32::MAX));
        Arc::make_mut(&mut self.frames).push(frame);
        id
    }

    /// The root frame's id.
    pub fn root(&self) -> Option<NodeId> {
        (!self.frames.is_empty()).then_some(NodeId(0))
    }

    /// The frame with this id.
    pub fn get(&self, id: NodeId) -> Option<&FrameRecord> {
        self.frames.get(id.0 as usize).map(|f| &**f)
    }

    /// The frame with this id, for changing; copies it first if a snapshot shares it.
    pub fn get_mut(&mut self, id: NodeId) -> Option<&mut FrameRecord> {
        Arc::make_mut(&mut self.frames).get_mut(id.0 as usize).map(Arc::make_mut)
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether the tree has no frame.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// All frames in creation order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (NodeId, &FrameRecord)> + '_ {
        self.frames.iter().enumerate().map(|(i, f)| (NodeId(i as u32), &**f))
    }
}
