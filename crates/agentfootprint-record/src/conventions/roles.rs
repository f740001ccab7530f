use super::{ids, local_segment, without_index};

/// How prominent a step is in a trace view (AGT-49).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StageRole {
    /// One of the three slots.
    HeroSlot,
    /// A model call.
    HeroLlm,
    /// The execution of tool calls.
    HeroAction,
    /// Machinery a view may collapse.
    Plumbing,
    /// Entry, exit, re-asks, and everything the framework does not know.
    Boundary,
}

impl StageRole {
    /// The word used in views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::HeroSlot => "hero-slot",
            Self::HeroLlm => "hero-llm",
            Self::HeroAction => "hero-action",
            Self::Plumbing => "plumbing",
            Self::Boundary => "boundary",
        }
    }
}

/// The role of a step, from its local segment; `id` may be a stage id, a path or a runtime stage id.
///
/// ```
/// use agentfootprint_record::conventions::{StageRole, stage_role};
/// assert_eq!(stage_role("sf-llm-call/call-llm#18"), StageRole::HeroLlm);
/// assert_eq!(stage_role("anything-of-yours"), StageRole::Boundary);
/// ```
#[must_use]
pub fn stage_role(id: &str) -> StageRole {
    match local_segment(without_index(id)) {
        ids::SYSTEM_PROMPT | ids::MESSAGES | ids::TOOLS => StageRole::HeroSlot,
        ids::CALL_LLM | ids::MERGE_LLM => StageRole::HeroLlm,
        ids::TOOL_CALLS | ids::TOOL_CALLS_SUBFLOW => StageRole::HeroAction,
        ids::INJECTION_ENGINE
        | ids::LLM_CALL
        | ids::ROUTE
        | ids::MERGE
        | ids::CACHE
        | ids::CACHE_DECISION
        | ids::THINKING
        | ids::CONTEXT
        | ids::CLIENT
        | ids::EXTRACT_FINAL
        | ids::FORMAT_MERGE
        | ids::EXTRACT_MERGE
        | ids::UPDATE_SKILL_HISTORY
        | ids::CACHE_GATE
        | ids::APPLY_MARKERS
        | ids::NO_MARKERS
        | ids::BUILD_LLM_REQUEST => StageRole::Plumbing,
        _ => StageRole::Boundary,
    }
}
