//! The live execution tree of a level: compact records, turned into the snapshot's form on demand.
//!
//! A loop of a million passes keeps one small record per visit here; texts of flow messages and names
//! with a pass suffix are only made when somebody looks (ENG-146, ENG-149).

use std::sync::Arc;

use smallvec::SmallVec;

use crate::chart::{Chart, NodeIdx, SiteIds};
use crate::ids::{ExecutionIndex, RuntimeStageId};
use crate::snapshot::{ExecutionTree, FrameRecord, NodeId};
use crate::value::summary::Marker;
use crate::value::{Array, Object, Str, Value, names};

/// No frame.
pub(crate) const NONE: u32 = u32::MAX;

/// One visit, as the running level keeps it.
pub(crate) struct LiveFrame {
    /// Id and name, by site.
    pub(crate) ids: Arc<SiteIds>,
    pub(crate) node: NodeIdx,
    /// Loop-back count of this visit on its level; 0 when it was not reached by a loop edge.
    pub(crate) pass: u32,
    pub(crate) index: u64,
    pub(crate) hop: Option<Hop>,
    pub(crate) tracked: Tracked,
    pub(crate) extra: Option<Box<FrameExtra>>,
    pub(crate) next: u32,
    pub(crate) is_mount: bool,
    pub(crate) is_bare_fork: bool,
}

/// What a visit read and wrote, as far as the dials keep it: reads first, then writes.
#[derive(Default)]
pub(crate) struct Tracked {
    pub(crate) entries: Box<[(Str, Shown)]>,
    pub(crate) reads: u32,
}

/// A value as a dial keeps it.
#[derive(Clone)]
pub(crate) enum Shown {
    Whole(Value),
    Marker(Marker),
}

impl Shown {
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Whole(value) => value.clone(),
            Self::Marker(marker) => marker.to_value(),
        }
    }
}

impl Tracked {
    fn split(&self) -> (Option<Object>, Option<Object>) {
        let (reads, writes) = self.entries.split_at_checked(self.reads as usize).unwrap_or_default();
        let object = |entries: &[(Str, Shown)]| {
            let shown = entries.iter().map(|(key, shown)| (key, shown.to_value()));
            (!entries.is_empty()).then(|| shown.collect::<Object>())
        };
        (object(reads), object(writes))
    }
}

/// How a visit went on: the last flow message of a frame.
#[derive(Clone, Copy)]
pub(crate) struct Hop {
    pub(crate) at: u64,
    /// The node entered next: of the frame's own place, or, for a loop edge, of the level's chart.
    pub(crate) to: NodeIdx,
    /// The 1-based pass of a loop edge, 0 for a plain edge.
    pub(crate) pass: u64,
}

/// Id, name and description of a frame that is no node of a declared chart.
pub(crate) struct OwnName {
    pub(crate) id: Str,
    pub(crate) name: Str,
    pub(crate) description: Option<Str>,
}

/// What only some frames have.
#[derive(Default)]
pub(crate) struct FrameExtra {
    pub(crate) logs: Object,
    pub(crate) errors: Object,
    pub(crate) metrics: Object,
    pub(crate) evals: Object,
    /// A mount has two, one when it is entered and one when it is left.
    pub(crate) messages: SmallVec<[Message; 2]>,
    pub(crate) children: Vec<u32>,
    pub(crate) own: Option<OwnName>,
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
    Chain { name: Str },
    SubflowEntry { name: Str, path: Str },
    SubflowExit { name: Str, path: Str },
}

impl LiveFrame {
    pub(crate) fn extra(&mut self) -> &mut FrameExtra {
        self.extra.get_or_insert_with(Box::default)
    }

    fn record(&self, chart: &Chart, ids: &Arc<SiteIds>) -> FrameRecord {
        let own = self.extra.as_ref().and_then(|extra| extra.own.as_ref());
        let (id, name) = match own {
            Some(own) => (&own.id, &own.name),
            None => (self.ids.id(self.node).as_shared(), self.ids.name(self.node)),
        };
        let address = RuntimeStageId::new(id.clone(), ExecutionIndex(self.index));
        let mut out = FrameRecord::new(id.clone(), shown_name(name, self.pass), address);
        out.is_fork = self.is_bare_fork;
        out.description = match own {
            Some(own) => own.description.clone(),
            None => chart.node(self.node).description.clone(),
        };
        out.subflow_id = self.is_mount.then(|| id.clone());
        (out.stage_reads, out.stage_writes) = self.tracked.split();
        if let Some(extra) = &self.extra {
            out.logs = extra.logs.clone();
            out.errors = extra.errors.clone();
            out.metrics = extra.metrics.clone();
            out.evals = extra.evals.clone();
            out.flow_messages = extra.messages.iter().map(Message::to_value).collect();
            out.children = extra.children.iter().map(|no| NodeId(*no)).collect();
        }
        if let Some(hop) = &self.hop {
            if hop.pass == 0 {
                out.flow_messages.push(hop.next_message(self.ids.name(hop.to)));
            } else {
                out.flow_messages.push(hop.loop_message(ids.name(hop.to)));
                let target = ids.id(hop.to).as_shared();
                out.logs.insert("dynamicNextTarget", Value::from(target.clone()));
                out.logs.insert("dynamicNextIteration", Value::from(hop.pass - 1));
            }
        }
        out.next = (self.next != NONE).then_some(NodeId(self.next));
        out
    }
}

/// The display name: visits after the first loop-back carry a pass suffix (ENG §5.3).
pub(crate) fn shown_name(name: &Str, pass: u32) -> Str {
    if pass < 2 {
        return name.clone();
    }
    // A loop makes one of these per pass, so it is put together without the formatting machinery.
    const ROOM: usize = 96;
    let mut buffer = [0u8; ROOM];
    let mut at = ROOM;
    let mut rest = pass - 1;
    let mut put = |byte: u8| {
        at = at.saturating_sub(1);
        if let Some(slot) = buffer.get_mut(at) {
            *slot = byte;
        }
    };
    loop {
        put(b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    put(b'.');
    let from = at.saturating_sub(name.len());
    let fits = name.len() <= at;
    if fits && let Some(slot) = buffer.get_mut(from..at) {
        slot.copy_from_slice(name.as_bytes());
        if let Some(Ok(text)) = buffer.get(from..).map(std::str::from_utf8) {
            return text.into();
        }
    }
    format!("{name}.{}", pass - 1).into()
}

/// All frames of a level in creation order; the first one is the root.
///
/// They stand in chunks: a long walk never moves what it has, and room for twice as many is never kept.
#[derive(Default)]
pub(crate) struct LiveTree {
    chunks: Vec<Vec<LiveFrame>>,
}

/// Frames per chunk.
const CHUNK: usize = 256;

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
        let no = self.len() as u32;
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
        match self.chunks.last_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => chunk.push(frame),
            None => {
                // A short walk is spared the room of a chunk.
                let mut chunk = Vec::with_capacity(if no == 0 { 4 } else { CHUNK });
                chunk.push(frame);
                self.chunks.push(chunk);
            }
        }
        no
    }

    /// Makes `no` the successor of `before`, or of the last frame that already follows it: every frame
    /// stays reachable from the root, also where a resumed leg has no predecessor of its own.
    fn follow(&mut self, mut before: u32, no: u32) {
        while let Some(frame) = self.get_mut(before) {
            if frame.next == NONE {
                frame.next = no;
                return;
            }
            before = frame.next;
        }
    }

    pub(crate) fn get_mut(&mut self, no: u32) -> Option<&mut LiveFrame> {
        let no = no as usize;
        self.chunks.get_mut(no / CHUNK)?.get_mut(no % CHUNK)
    }

    fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    /// The snapshot's form; `chart` and `ids` are the level's own.
    pub(crate) fn to_tree(&self, chart: &Chart, ids: &Arc<SiteIds>) -> ExecutionTree {
        self.chunks.iter().flatten().map(|frame| frame.record(chart, ids)).collect()
    }
}

impl Hop {
    fn next_message(&self, to: &Str) -> Value {
        message("next", format!("Continues with {to}."), Some(Value::from(to.clone())), self.at, |_| {})
    }

    fn loop_message(&self, to: &Str) -> Value {
        let text = format!("Loops back to {to}, pass {}.", self.pass);
        message("loop", text, Some(Value::from(to.clone())), self.at, |out| {
            out.insert("iteration", Value::from(self.pass));
        })
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
            What::Chain { name } => message(
                "next",
                format!("Continues with {name}."),
                Some(Value::from(name.clone())),
                at,
                |_| {},
            ),
            What::SubflowEntry { name, path } => message(
                "subflow",
                format!("Enters the subflow {name}."),
                Some(Value::from(path.clone())),
                at,
                |_| {},
            ),
            What::SubflowExit { name, path } => message(
                "subflow",
                format!("Leaves the subflow {name}."),
                Some(Value::from(path.clone())),
                at,
                |_| {},
            ),
        }
    }
}

fn name_list(names: &[Str]) -> Value {
    Value::Array(names.iter().map(|name| Value::from(name.clone())).collect::<Array>())
}

fn message(
    kind: &str,
    text: String,
    target: Option<Value>,
    at: u64,
    more: impl FnOnce(&mut Object),
) -> Value {
    let mut out = Object::new();
    out.insert("type", Value::from(names::shared(kind)));
    out.insert("description", Value::from(text));
    if let Some(target) = target {
        out.insert("targetStage", target);
    }
    more(&mut out);
    out.insert("timestamp", Value::from(at));
    Value::Object(out)
}
