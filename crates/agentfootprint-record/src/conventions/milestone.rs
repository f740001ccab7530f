use std::borrow::Cow;

use super::{ids, local_segment, without_index};

/// What kind of milestone a step is (AGT-50).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MilestoneKind {
    /// A pass of the loop begins.
    Iteration,
    /// A slot was composed.
    Slot,
    /// A model call.
    LlmTurn,
    /// A batch of tool calls.
    ToolCall,
    /// The routing after a model call, or a re-ask.
    Decision,
    /// A kind this version does not know, kept as tagged.
    Other(String),
}

impl MilestoneKind {
    /// The recorded word.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Iteration => "iteration",
            Self::Slot => "slot",
            Self::LlmTurn => "llm-turn",
            Self::ToolCall => "tool-call",
            Self::Decision => "decision",
            Self::Other(word) => word,
        }
    }

    fn parse(word: &str) -> Self {
        match word {
            "iteration" => Self::Iteration,
            "slot" => Self::Slot,
            "llm-turn" => Self::LlmTurn,
            "tool-call" => Self::ToolCall,
            "decision" => Self::Decision,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// A milestone: its kind and the label shown for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Milestone {
    /// The kind.
    pub kind: MilestoneKind,
    /// The label shown in time-travel views.
    pub label: Cow<'static, str>,
}

const KIND_TAG: &str = "milestone:";
const LABEL_TAG: &str = "milestone-label:";

/// The one table: local segment → milestone. It produces tags, reads tags and reads ids (REC-142).
const MILESTONES: &[(&str, MilestoneKind, &str)] = &[
    (ids::INJECTION_ENGINE, MilestoneKind::Iteration, "Iteration"),
    (ids::LLM_CALL, MilestoneKind::Iteration, "Iteration"),
    (ids::SYSTEM_PROMPT, MilestoneKind::Slot, "System prompt"),
    (ids::MESSAGES, MilestoneKind::Slot, "Messages"),
    (ids::TOOLS, MilestoneKind::Slot, "Tools"),
    (ids::CALL_LLM, MilestoneKind::LlmTurn, "LLM turn"),
    (ids::MERGE_LLM, MilestoneKind::LlmTurn, "LLM turn"),
    (ids::TOOL_CALLS, MilestoneKind::ToolCall, "Tool call"),
    (ids::TOOL_CALLS_SUBFLOW, MilestoneKind::ToolCall, "Tool call"),
    (ids::ROUTE, MilestoneKind::Decision, "Route"),
    (ids::OUTPUT_RETRY, MilestoneKind::Decision, "Schema retry"),
    (ids::STEP_NUDGE, MilestoneKind::Decision, "Step nudge"),
    (ids::EVIDENCE_RECHECK, MilestoneKind::Decision, "Evidence recheck"),
    (ids::WRAP_UP, MilestoneKind::Decision, "Wrap up"),
];

impl Milestone {
    /// The two tags a node carries so that its steps are stops without anybody guessing from ids (REC-142).
    #[must_use]
    pub fn tags(&self) -> [String; 2] {
        [format!("{KIND_TAG}{}", self.kind.word()), format!("{LABEL_TAG}{}", self.label)]
    }
}

/// The milestone an id stands for, by its local segment (AGT-50); `id` may be a stage id, a path or a
/// runtime stage id.
///
/// ```
/// use agentfootprint_record::conventions::milestone_for;
/// let route = milestone_for("sf-route#21").unwrap();
/// assert_eq!(route.tags(), ["milestone:decision", "milestone-label:Route"]);
/// assert!(milestone_for("seed").is_none());
/// ```
#[must_use]
pub fn milestone_for(id: &str) -> Option<Milestone> {
    let segment = local_segment(without_index(id));
    MILESTONES
        .iter()
        .find(|(known, ..)| *known == segment)
        .map(|(_, kind, label)| Milestone { kind: kind.clone(), label: Cow::Borrowed(label) })
}

/// The milestone declared by tags; `None` when they declare none. A missing label falls back to the kind.
#[must_use]
pub fn milestone_from_tags<S: AsRef<str>>(tags: &[S]) -> Option<Milestone> {
    let value = |prefix: &str| tags.iter().find_map(|tag| tag.as_ref().strip_prefix(prefix));
    let kind = value(KIND_TAG)?;
    let label = value(LABEL_TAG).unwrap_or(kind).to_owned();
    Some(Milestone { kind: MilestoneKind::parse(kind), label: Cow::Owned(label) })
}

/// How [`milestone_of`] came to its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// The first bundle carries tags, and they declare this milestone.
    Declared(Milestone),
    /// The first bundle is untagged; the id stands for this milestone.
    FromId(Milestone),
    /// Not a stop.
    No,
}

/// Whether a step is a milestone. **Declared tags win over ids**: a tagged first bundle is decided by its
/// tags alone, only an untagged one by its id (REC-142).
///
/// ```
/// use agentfootprint_record::conventions::{Recognised, milestone_of};
/// assert_eq!(milestone_of(Some(&["team:search"]), "call-llm#1"), Recognised::No);
/// assert!(matches!(milestone_of::<&str>(None, "call-llm#1"), Recognised::FromId(_)));
/// ```
#[must_use]
pub fn milestone_of<S: AsRef<str>>(tags: Option<&[S]>, id: &str) -> Recognised {
    match tags {
        Some(tags) => milestone_from_tags(tags).map_or(Recognised::No, Recognised::Declared),
        None => milestone_for(id).map_or(Recognised::No, Recognised::FromId),
    }
}
