//! One sequential walk: an explicit stack of what must be returned to, and at most one author future.
//!
//! A run is a set of strands. A chain, a loop and a decider without own continuation are followed flat;
//! only a mount, a fan-out child and a decider that is returned to put something on the stack, so neither
//! the native stack nor anything retained grows with the length of a chain or the number of passes.

use std::sync::Arc;
use std::task::Waker;

use super::fanout::FanId;
use super::frame::FrameHandle;
use super::level::Level;
use super::namespace::Namespace;
use super::timer::Timer;
use super::tree::Link;
use crate::chart::{Chart, MountNode, NodeIdx, SiteIds, Step, StepOutput};
use crate::decide::{Decision, Selection};
use crate::error::{RunError, StageError};
use crate::pause::PauseRecord;
use crate::value::{Str, Value};

pub(crate) type BoxFuture<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// How a chain ended.
pub(crate) enum End {
    /// Ran to its last node.
    Done(Option<Value>),
    /// A stage stopped its level.
    Stopped { output: Option<Value>, reason: Option<Str> },
    /// A stage, or the engine, failed.
    Failed(RunError),
    /// One or more stages ask; the first one is asked first.
    Paused(Vec<PauseRecord>),
}

/// The previous step, as a new frame refers to it.
#[derive(Clone)]
pub(crate) struct Parent {
    pub(crate) id: Str,
    pub(crate) index: u64,
    /// False for the mount above a level's first stage.
    pub(crate) on_level: bool,
}

/// Which chart's nodes are being walked, with their ids.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) chart: Chart,
    pub(crate) ids: Arc<SiteIds>,
    /// A dynamic continuation: walked on its level, but no part of its chart.
    pub(crate) dynamic: bool,
}

/// Where a strand stands on its current level.
#[derive(Clone)]
pub(crate) struct Cursor {
    pub(crate) level: Arc<Level>,
    pub(crate) place: Place,
    pub(crate) ns: Option<Arc<Namespace>>,
    pub(crate) parent: Option<Parent>,
    pub(crate) link: Link,
    /// Prefixed id of the decider, selector or fork that dispatched here last.
    pub(crate) invoker: Option<Str>,
    /// Loop-back count of the node about to be visited.
    pub(crate) pass: u32,
    /// Nesting along this path.
    pub(crate) depth: usize,
    /// Somewhere on the way here a loop edge left a parallel branch's own node, or a dynamic continuation
    /// was taken: such a position cannot be found again by a resume.
    pub(crate) astray: bool,
}

impl Cursor {
    /// The next frame follows this one on the chain.
    pub(crate) fn after(&mut self, frame: &FrameHandle) {
        self.parent = Some(Parent { id: frame.id().clone(), index: frame.index, on_level: true });
        self.link = frame.link_after();
        self.pass = 0;
    }

    /// The next frame hangs under this one.
    pub(crate) fn under(&mut self, frame: &FrameHandle) {
        self.after(frame);
        self.link = frame.link_under();
    }
}

/// What a strand returns to.
pub(crate) enum Activation {
    /// A decider with a continuation of its own, while its branch runs.
    Branch { owner: Arc<FrameHandle>, node: NodeIdx, cursor: Cursor },
    /// A mount, while the inner chart runs.
    Mount(Box<OpenMount>),
}

/// A mount that was entered.
pub(crate) struct OpenMount {
    pub(crate) frame: Arc<FrameHandle>,
    pub(crate) site: MountSite,
    /// The outer position.
    pub(crate) outer: Cursor,
    pub(crate) inner: Arc<Level>,
}

/// Which mount.
pub(crate) enum MountSite {
    /// A node of the outer chart.
    Node(NodeIdx),
    /// A generated branch of a for-each.
    Generated,
}

impl OpenMount {
    pub(crate) fn spec(&self) -> Option<&MountNode> {
        match self.site {
            MountSite::Node(node) => match &self.outer.place.chart.node(node).kind {
                crate::chart::NodeKind::Mount(spec) => Some(spec),
                _ => None,
            },
            MountSite::Generated => None,
        }
    }
}

/// The future of a stage function, by kind.
pub(crate) enum AuthorFuture {
    Stage(BoxFuture<Result<StepOutput, StageError>>),
    Pausable(BoxFuture<Result<Step<Value>, StageError>>),
    Decider(BoxFuture<Result<Decision, StageError>>),
    Selector(BoxFuture<Result<Selection, StageError>>),
}

/// What a stage function answered.
pub(crate) enum Answer {
    Output(StepOutput),
    Pause(Value),
    Decision(Decision),
    Selection(Selection),
}

/// A visit whose function runs.
pub(crate) struct Running {
    pub(crate) frame: Arc<FrameHandle>,
    pub(crate) node: NodeIdx,
    pub(crate) future: Option<AuthorFuture>,
    pub(crate) attempt: u32,
    /// The answer a resumed pausable stage runs with.
    pub(crate) answer: Option<Value>,
}

/// What a strand does next.
pub(crate) enum Now {
    /// Visits a node.
    Visit(NodeIdx),
    /// Enters a generated branch.
    Generated(Box<super::foreach::GeneratedBranch>),
    /// Re-enters the chart at a pause.
    Resume(Box<super::resume::Reentry>),
    /// Starts an attempt of a visit.
    Attempt(Running),
    /// Waits for a function.
    Running(Running),
    /// Waits before the next attempt.
    Backoff(Running, Timer),
    /// Waits for children.
    Waiting(FanId),
    /// The chain ended; returns to the top of the stack.
    Ended(End),
    /// Nothing any more.
    Finished,
}

pub(crate) type StrandId = usize;

/// One sequential walk.
pub(crate) struct Strand {
    pub(crate) id: StrandId,
    pub(crate) cursor: Cursor,
    pub(crate) stack: Vec<Activation>,
    pub(crate) now: Now,
    /// The fan-out this strand is a child of, and its place among the children.
    pub(crate) child_of: Option<(FanId, usize)>,
    /// The child's first frame, which the `repeat` bundle names.
    pub(crate) first: Option<Arc<FrameHandle>>,
    pub(crate) waker: Option<Waker>,
}

impl Strand {
    pub(crate) fn new(id: StrandId, cursor: Cursor, now: Now, child_of: Option<(FanId, usize)>) -> Self {
        Self { id, cursor, stack: Vec::new(), now, child_of, first: None, waker: None }
    }

    /// The strand the run began with.
    pub(crate) fn is_root(&self) -> bool {
        self.child_of.is_none()
    }
}
