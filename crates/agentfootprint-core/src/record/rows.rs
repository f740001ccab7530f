//! One row of the boundary recorder: a typed fact while the run goes on, JSON when somebody asks.

use std::sync::Arc;

use agentfootprint_record::conventions::ids::{PRIMITIVE_KINDS, ROOT_STAGE};
use agentfootprint_record::conventions::{
    is_agent_internal, is_internal_fork, is_internal_loop, local_segment, slot_from_subflow_id,
};
use agentfootprint_record::events::words::Word as _;
use agentfootprint_record::events::{Event, EventName};
use footprint::ids::RuntimeStageId;
use footprint::value::{Array, Object, Str, Value};

use super::options::BoundaryDetail;

/// Keys a lean row leaves out.
const BULKY: [&str; 5] = ["payload", "args", "result", "content", "contentSummary"];

/// Who spoke to whom around a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrow {
    UserToLlm,
    ToolToLlm,
    LlmToTool,
    LlmToUser,
}

impl Arrow {
    fn word(self) -> &'static str {
        match self {
            Self::UserToLlm => "user→llm",
            Self::ToolToLlm => "tool→llm",
            Self::LlmToTool => "llm→tool",
            Self::LlmToUser => "llm→user",
        }
    }
}

/// What was crossed.
#[derive(Clone, Debug)]
pub(crate) enum Crossing {
    RunEntry { payload: Option<Value> },
    RunExit { payload: Option<Value> },
    SubflowEntry { id: Str, name: Str, description: Option<Str>, payload: Option<Value> },
    SubflowExit { id: Str, name: Str, payload: Option<Value> },
    ForkBranch { parent: Str, child: Str },
    Decision { decider: Str, chosen: Str, rationale: Option<Str> },
    Loop { target: Str, target_id: Str, iteration: u64 },
    Said { event: Arc<Event>, arrow: Option<Arrow> },
}

/// One row: where, when, at which commit, and what.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) step: RuntimeStageId,
    pub(crate) ts: u64,
    pub(crate) commit: usize,
    pub(crate) crossing: Crossing,
}

/// Renames of payload fields in a row, and which fields a row takes at all.
type Fields = &'static [(&'static str, &'static str)];

const LLM_START: Fields = &[
    ("model", "model"),
    ("provider", "provider"),
    ("systemPromptChars", "systemPromptChars"),
    ("messagesCount", "messagesCount"),
    ("toolsCount", "toolsCount"),
];
const LLM_END: Fields = &[
    ("content", "content"),
    ("toolCallCount", "toolCallCount"),
    ("usage", "usage"),
    ("stopReason", "stopReason"),
];
const TOOL_START: Fields = &[("toolName", "toolName"), ("toolCallId", "toolCallId"), ("args", "args")];
const TOOL_END: Fields =
    &[("toolCallId", "toolCallId"), ("result", "result"), ("durationMs", "durationMs"), ("error", "error")];
const INJECTED: Fields = &[
    ("slot", "slot"),
    ("source", "source"),
    ("sourceId", "sourceId"),
    ("asRole", "asRole"),
    ("contentSummary", "contentSummary"),
    ("reason", "reason"),
    ("sectionTag", "sectionTag"),
    ("upstreamRef", "upstreamRef"),
    ("retrievalScore", "retrievalScore"),
    ("rankPosition", "rankPosition"),
];
const COMPOSITION: Fields = &[
    ("kind", "kind"),
    ("id", "compositionId"),
    ("name", "name"),
    ("status", "status"),
    ("durationMs", "durationMs"),
];

/// The row kind of an event and the fields it takes; `None` for events that cross nothing.
fn kind_of(name: EventName) -> Option<(&'static str, Fields)> {
    Some(match name {
        EventName::StreamLlmStart => ("llm.start", LLM_START),
        EventName::StreamLlmEnd => ("llm.end", LLM_END),
        EventName::StreamToolStart => ("tool.start", TOOL_START),
        EventName::StreamToolEnd => ("tool.end", TOOL_END),
        EventName::ContextInjected => ("context.injected", INJECTED),
        EventName::CompositionEnter => ("composition.start", COMPOSITION),
        EventName::CompositionExit => ("composition.end", COMPOSITION),
        _ => return None,
    })
}

/// Whether an event makes a row.
pub(crate) fn is_crossing(event: &Event) -> bool {
    event.name().and_then(kind_of).is_some()
}

impl Row {
    /// The row as recorded.
    pub(crate) fn to_value(&self, detail: BoundaryDetail) -> Value {
        let mut out = Object::new();
        out.insert("type", Value::from(self.kind()));
        out.insert("runtimeStageId", Value::from(self.step.to_string()));
        let path = self.path();
        out.insert("depth", Value::from(path.len().saturating_sub(1) as u64));
        out.insert("subflowPath", Value::Array(path));
        out.insert("ts", Value::from(self.ts));
        out.insert("commitIdxBefore", Value::from(self.commit as u64));
        out.insert("commitIdxAfter", Value::from(self.commit as u64));
        self.describe(&mut out);
        if detail == BoundaryDetail::Lean {
            BULKY.iter().for_each(|key| drop(out.remove(key)));
        }
        Value::Object(out)
    }

    fn kind(&self) -> &'static str {
        match &self.crossing {
            Crossing::RunEntry { .. } => "run.entry",
            Crossing::RunExit { .. } => "run.exit",
            Crossing::SubflowEntry { .. } => "subflow.entry",
            Crossing::SubflowExit { .. } => "subflow.exit",
            Crossing::ForkBranch { .. } => "fork.branch",
            Crossing::Decision { .. } => "decision.branch",
            Crossing::Loop { .. } => "loop.iteration",
            Crossing::Said { event, .. } => event.name().and_then(kind_of).map_or("", |(kind, _)| kind),
        }
    }

    /// Rooted path; a mount's own rows stand inside the mount.
    fn path(&self) -> Array {
        let mut path = vec![Value::from(ROOT_STAGE)];
        if let Some(outer) = self.step.subflow_path() {
            path.extend(outer.split('/').map(Value::from));
        }
        if let Crossing::SubflowEntry { id, .. } | Crossing::SubflowExit { id, .. } = &self.crossing {
            path.push(Value::from(local_segment(id)));
        }
        path.into_iter().collect()
    }

    fn describe(&self, out: &mut Object) {
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                out.insert(key, value);
            }
        };
        match &self.crossing {
            Crossing::RunEntry { payload } | Crossing::RunExit { payload } => {
                put("isRoot", Some(Value::from(true)));
                put("payload", payload.clone());
            }
            Crossing::SubflowEntry { id, name, description, payload } => {
                subflow(&mut put, id, name);
                put("description", description.clone().map(Value::from));
                let primitive =
                    description.as_deref().and_then(|text| text.split_once(':')).map(|(kind, _)| kind);
                put(
                    "primitiveKind",
                    primitive.filter(|kind| PRIMITIVE_KINDS.contains(kind)).map(Value::from),
                );
                put("payload", payload.clone());
            }
            Crossing::SubflowExit { id, name, payload } => {
                subflow(&mut put, id, name);
                put("payload", payload.clone());
            }
            Crossing::ForkBranch { parent, child } => {
                put("parentSubflowId", Some(Value::from(parent.clone())));
                put("childName", Some(Value::from(child.clone())));
                put("isAgentInternal", marked(is_internal_fork(parent)));
            }
            Crossing::Decision { decider, chosen, rationale } => {
                put("decider", Some(Value::from(decider.clone())));
                put("chosen", Some(Value::from(chosen.clone())));
                put("rationale", rationale.clone().map(Value::from));
                put("isAgentInternal", marked(is_agent_internal(self.step.local_id())));
            }
            Crossing::Loop { target, target_id, iteration } => {
                put("target", Some(Value::from(target.clone())));
                put("iteration", Some(Value::from(*iteration)));
                put("isAgentInternal", marked(is_internal_loop(target_id)));
            }
            Crossing::Said { event, arrow } => {
                let payload = event.kind.payload();
                for (from, to) in event.name().and_then(kind_of).map_or(&[] as Fields, |(_, fields)| fields) {
                    put(to, payload.get(from).cloned());
                }
                put("budgetTokens", payload.walk(&["budgetSpent", "tokens"]).cloned());
                put("budgetFraction", payload.walk(&["budgetSpent", "fractionOfCap"]).cloned());
                put("actorArrow", arrow.map(|arrow| Value::from(arrow.word())));
            }
        }
    }
}

fn subflow(put: &mut impl FnMut(&str, Option<Value>), id: &Str, name: &Str) {
    put("subflowId", Some(Value::from(id.clone())));
    put("localSubflowId", Some(Value::from(local_segment(id))));
    put("subflowName", Some(Value::from(name.clone())));
    put("slotKind", slot_from_subflow_id(id).map(|slot| Value::from(slot.word())));
    put("isAgentInternal", marked(is_agent_internal(id)));
}

fn marked(yes: bool) -> Option<Value> {
    yes.then(|| Value::from(true))
}
