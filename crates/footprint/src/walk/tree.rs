//! The live execution tree of a level: compact records, turned into the snapshot's form on demand.
//!
//! A loop of a million passes keeps one small record per visit here; texts of flow messages and names
//! with a pass suffix are only made when somebody looks (ENG-146, ENG-149).

use std::sync::Arc;

use crate::ids::{ExecutionIndex, RuntimeStageId};
use crate::snapshot::{ExecutionTree, FrameRecord, NodeId};
use crate::value::{Array, Object, Str, Value};

/// No frame.
pub(crate) const NONE: u32 = u32::MAX;

/// One visit, as the running level keeps it.
pub(crate) struct LiveFrame {
    pub(crate) id: Str,
    pub(crate) name: Str,
    pub(crate) index: u64,
    pub(crate) description: Option<Str>,
    pub(crate) reads: Option<Object>,
    pub(crate) writes: Option<Object>,
    pub(crate) hop: Option<Hop>,
    pub(crate) extra: Option<Box<FrameExtra>>,
    pub(crate) next: u32,
    /// Loop-back count of this visit on its level; 0 when it was not reached by a loop edge.
    pub(crate) pass: u32,
    pub(crate) is_mount: bool,
    pub(crate) is_bare_fork: bool,
}

/// How a visit went on: the last flow message of a frame.
#[derive(Clone)]
pub(crate) struct Hop {
    pub(crate) at: u64,
    /// Name of the stage entered next.
    pub(crate) to: Str,
    /// For a loop edge: prefixed id of the target and the 1-based pass.
    pub(crate) back: Option<(Str, u64)>,
}

/// What only some frames have.
#[derive(Default)]
pub(crate) struct FrameExtra {
    pub(crate) logs: Object,
    pub(crate) errors: Object,
    pub(crate) metrics: Object,
    pub(crate) evals: Object,
    pub(crate) messages: Vec<Message>,
    pub(crate) children: Vec<u32>,
}

/// A flow message before its text is made.
#[derive(Clone)]
pub(crate) struct Message {
    pub(crate) at: u64,
    pub(crate) what: What,
}

#[derive(Clone)]
pub(crate) enum What {
    Branch { returned: Str, chosen: Str, fell_back: bool },
    Children { names: Arc<[Str]> },
    Truncated { ran: usize, items: usize },
    Selected { names: Arc<[Str]>, total: usize },
    SubflowEntry { name: Str, path: Str },
    SubflowExit { name: Str, path: Str },
}

impl LiveFrame {
    pub(crate) fn extra(&mut self) -> &mut FrameExtra {
        self.extra.get_or_insert_with(Box::default)
    }

    /// The display name: passes after the first loop-back carry a suffix (ENG §5.3).
    pub(crate) fn shown_name(&self) -> Str {
        shown_name(&self.name, self.pass)
    }

    fn record(&self) -> FrameRecord {
        let address = RuntimeStageId::new(self.id.clone(), ExecutionIndex(self.index));
        let mut out = FrameRecord::new(self.id.clone(), self.shown_name(), address);
        out.is_fork = self.is_bare_fork;
        out.description = self.description.clone();
        out.subflow_id = self.is_mount.then(|| self.id.clone());
        out.stage_reads = self.reads.clone();
        out.stage_writes = self.writes.clone();
        if let Some(extra) = &self.extra {
            out.logs = extra.logs.clone();
            out.errors = extra.errors.clone();
            out.metrics = extra.metrics.clone();
            out.evals = extra.evals.clone();
            out.flow_messages = extra.messages.iter().map(Message::to_value).collect();
            out.children = extra.children.iter().map(|no| NodeId(*no)).collect();
        }
        if let Some(hop) = &self.hop {
            out.flow_messages.push(hop.to_value());
            if let Some((target, iteration)) = &hop.back {
                out.logs.insert("dynamicNextTarget", Value::from(target.clone()));
                out.logs.insert("dynamicNextIteration", Value::from(iteration.saturating_sub(1)));
            }
        }
        out.next = (self.next != NONE).then_some(NodeId(self.next));
        out
    }
}

pub(crate) fn shown_name(name: &Str, pass: u32) -> Str {
    if pass < 2 { name.clone() } else { format!("{name}.{}", pass - 1).into() }
}

/// All frames of a level in creation order; the first one is the root.
#[derive(Default)]
pub(crate) struct LiveTree {
    frames: Vec<LiveFrame>,
}

/// Where a new frame hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// First frame of the level, or a frame whose predecessor is not in this leg's tree.
    Tail,
    /// After a frame of the same chain.
    After(u32),
    /// Under a decider, selector, fork or for-each.
    Under(u32),
}

impl LiveTree {
    pub(crate) fn push(&mut self, frame: LiveFrame, link: Link) -> u32 {
        let no = self.frames.len() as u32;
        match link {
            Link::After(before) => self.follow(before, no),
            Link::Under(parent) => {
                if let Some(parent) = self.get_mut(parent) {
                    parent.extra().children.push(no);
                }
            }
            Link::Tail => {
                if no > 0 {
                    self.follow(0, no);
                }
            }
        }
        self.frames.push(frame);
        no
    }

    /// Makes `no` the successor of `before`, or of the last frame that already follows it: every frame
    /// stays reachable from the root, also where a resumed leg has no predecessor of its own.
    fn follow(&mut self, mut before: u32, no: u32) {
        while let Some(frame) = self.frames.get_mut(before as usize) {
            if frame.next == NONE {
                frame.next = no;
                return;
            }
            before = frame.next;
        }
    }

    pub(crate) fn get_mut(&mut self, no: u32) -> Option<&mut LiveFrame> {
        self.frames.get_mut(no as usize)
    }

    /// The snapshot's form.
    pub(crate) fn to_tree(&self) -> ExecutionTree {
        let mut tree = ExecutionTree::new();
        for frame in &self.frames {
            tree.push(frame.record());
        }
        tree
    }
}

impl Hop {
    fn to_value(&self) -> Value {
        match &self.back {
            None => message(
                "next",
                format!("Continues with {}.", self.to),
                Some(Value::from(self.to.clone())),
                self.at,
                |_| {},
            ),
            Some((_, iteration)) => message(
                "loop",
                format!("Loops back to {}, pass {iteration}.", self.to),
                Some(Value::from(self.to.clone())),
                self.at,
                |out| {
                    out.insert("iteration", Value::from(*iteration));
                },
            ),
        }
    }
}

impl Message {
    fn to_value(&self) -> Value {
        let at = self.at;
        match &self.what {
            What::Branch { returned, chosen, fell_back } => message(
                "branch",
                if *fell_back {
                    format!("Answered `{returned}`, which is no branch; took the default branch {chosen}.")
                } else {
                    format!("Answered `{returned}`; took the branch {chosen}.")
                },
                Some(Value::from(chosen.clone())),
                at,
                |out| {
                    out.insert("rationale", Value::from(format!("answered: {returned}")));
                },
            ),
            What::Children { names } => message(
                "children",
                format!("Runs {} children in parallel: {}.", names.len(), names.join(", ")),
                Some(name_list(names)),
                at,
                |out| {
                    out.insert("count", Value::from(names.len() as u64));
                },
            ),
            What::Truncated { ran, items } => message(
                "children",
                format!("Ceiling reached: runs {ran} of {items} items, {} do not run.", items - ran),
                None,
                at,
                |out| {
                    out.insert("count", Value::from(*ran as u64));
                },
            ),
            What::Selected { names, total } => message(
                "selected",
                format!("Runs {} of {total} branches: {}.", names.len(), names.join(", ")),
                Some(name_list(names)),
                at,
                |out| {
                    out.insert("count", Value::from(names.len() as u64));
                },
            ),
            What::SubflowEntry { name, path } => {
                message("subflow", format!("Enters the subflow {name}."), Some(Value::from(path.clone())), at, |_| {})
            }
            What::SubflowExit { name, path } => {
                message("subflow", format!("Leaves the subflow {name}."), Some(Value::from(path.clone())), at, |_| {})
            }
        }
    }
}

fn name_list(names: &[Str]) -> Value {
    Value::Array(names.iter().map(|name| Value::from(name.clone())).collect::<Array>())
}

fn message(kind: &str, text: String, target: Option<Value>, at: u64, more: impl FnOnce(&mut Object)) -> Value {
    let mut out = Object::new();
    out.insert("type", Value::from(kind));
    out.insert("description", Value::from(text));
    if let Some(target) = target {
        out.insert("targetStage", target);
    }
    more(&mut out);
    out.insert("timestamp", Value::from(at));
    Value::Object(out)
}
