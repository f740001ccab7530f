//! The events of one level of a run.

use agentfootprint_record::conventions::{
    ids, is_agent_internal, is_reserved_subflow_segment, local_segment, without_index,
};
use agentfootprint_record::recording::RecordedEvent;
use footprint::value::Value;

use super::{Anchor, RunStep, StepKind, Transition};

/// One event, as seen from a level.
pub(super) struct Heard<'a> {
    /// Its name without the library's prefix: `stream.llm_start`.
    pub(super) name: &'a str,
    pub(super) payload: Value,
    pub(super) step: String,
    pub(super) ts: u64,
    /// The members it lies in below the level, outermost first; machinery is no member.
    pub(super) inside: Vec<String>,
}

impl Heard<'_> {
    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// Whether it was said at the level itself.
    pub(super) fn own(&self) -> bool {
        self.inside.is_empty()
    }

    pub(super) fn text(&self, key: &str) -> &str {
        self.payload.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn count(&self, key: &str) -> u64 {
        self.payload.get(key).and_then(Value::as_u64).unwrap_or_default()
    }
}

/// A member of the level.
pub(super) struct Member {
    /// Its mount id.
    pub(super) id: String,
    /// Index of its first event, and of its last.
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Member {
    /// What to call it.
    pub(super) fn name(&self) -> &str {
        spoken(&self.id)
    }
}

/// A mount id without the prefix of sequence steps.
pub(super) fn spoken(id: &str) -> &str {
    id.strip_prefix(ids::SEQUENCE_STEP_PREFIX).unwrap_or(id)
}

pub(super) struct Told<'a> {
    pub(super) path: Vec<String>,
    /// The kind and the id of the runner that owns the run.
    pub(super) owner: Option<(String, String)>,
    pub(super) events: Vec<Heard<'a>>,
    pub(super) members: Vec<Member>,
}

impl<'a> Told<'a> {
    pub(super) fn at<S: AsRef<str>>(events: &'a [RecordedEvent], path: &[S]) -> Self {
        let path: Vec<String> = path.iter().map(|part| part.as_ref().to_owned()).collect();
        let heard: Vec<Heard<'a>> = events.iter().filter_map(|event| hear(event, &path)).collect();
        let owner = events.iter().find_map(owner);
        let members = members(&heard);
        Self { path, owner, events: heard, members }
    }

    pub(super) fn only_member(&self) -> Option<&str> {
        self.members.first().map(|member| member.id.as_str())
    }

    /// The id of the runner at this level.
    pub(super) fn id(&self) -> &str {
        match (self.path.last(), &self.owner) {
            (Some(mount), _) => spoken(mount),
            (None, Some((_, id))) => id,
            (None, None) => "run",
        }
    }

    /// A step made by an event of this level.
    pub(super) fn step(
        &self,
        event: &Heard<'_>,
        kind: StepKind,
        label: String,
        transitions: Vec<Transition>,
    ) -> RunStep {
        let subflow_path = self.path.iter().cloned().chain(event.inside.first().cloned()).collect::<Vec<_>>();
        let anchor = Anchor { runtime_stage_id: event.step.clone(), subflow_path };
        let runtime_stage_id = event.step.clone();
        RunStep { seq: 0, kind, transitions, runtime_stage_id, anchor, label, ts_ms: event.ts, meta: None }
    }
}

fn hear<'a>(event: &'a RecordedEvent, path: &[String]) -> Option<Heard<'a>> {
    let name = event.name_str().strip_prefix("agentfootprint.")?;
    let step = event.runtime_stage_id()?.into_owned();
    let (outer, _) = without_index(&step).rsplit_once('/').unwrap_or_default();
    let mut segments = outer.split('/').filter(|part| !part.is_empty());
    if !path.iter().all(|part| segments.next() == Some(part)) {
        return None;
    }
    let inside = segments.filter(|part| is_member(part)).map(str::to_owned).collect();
    let ts = match event.meta() {
        Ok(meta) => meta.wall_clock_ms,
        Err(_) => 0,
    };
    Some(Heard { name, payload: event.payload(), step, ts, inside })
}

/// Whether a mount holds a runner of the caller: neither a library subflow nor machinery of an agent.
fn is_member(segment: &str) -> bool {
    let local = local_segment(segment);
    !is_reserved_subflow_segment(local) && !is_agent_internal(local)
}

fn owner(event: &RecordedEvent) -> Option<(String, String)> {
    let meta = event.meta().ok()?;
    let (kind, id) = meta.composition_path.first()?.split_once(':')?;
    Some((kind.to_owned(), id.to_owned()))
}

fn members(events: &[Heard<'_>]) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let Some(id) = event.inside.first() else { continue };
        match members.iter_mut().find(|member| member.id == *id) {
            Some(member) => member.last = at,
            None => members.push(Member { id: id.clone(), first: at, last: at }),
        }
    }
    members
}
