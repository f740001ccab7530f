use super::{ids, local_segment, without_index};

/// Subflows and stages that are an agent's own machinery.
const MACHINERY: [&str; 12] = [
    ids::INJECTION_ENGINE,
    ids::LLM_CALL,
    ids::ROUTE,
    ids::TOOL_CALLS_SUBFLOW,
    ids::FINAL,
    ids::MERGE,
    ids::CACHE,
    ids::CACHE_DECISION,
    ids::THINKING,
    ids::CACHE_GATE,
    ids::CLIENT,
    ids::EXTRACT_FINAL,
];

/// Whether a stage, subflow or step is an agent's own machinery, by its last path segment (REC-41): what a view of who did what
/// leaves out.
///
/// ```
/// use agentfootprint_record::conventions::is_agent_internal;
/// assert!(is_agent_internal("sf-cache/cache-gate#16"));
/// assert!(is_agent_internal("helper/thinking-claude"));
/// assert!(!is_agent_internal("tool-calls#22"));
/// ```
#[must_use]
pub fn is_agent_internal(id: &str) -> bool {
    let local = local_segment(without_index(id));
    MACHINERY.contains(&local) || local.starts_with(ids::THINKING_PREFIX)
}

/// Whether a fork is the one over the three slots of an agent: it composes a request and is no composition.
#[must_use]
pub fn is_internal_fork(parent: &str) -> bool {
    local_segment(without_index(parent)) == ids::CONTEXT || is_agent_internal(parent)
}

/// Whether a loop is the one of an agent, back to its injection engine; rows name the target by its display name.
#[must_use]
pub fn is_internal_loop(target: &str) -> bool {
    target == "Injection Engine" || is_agent_internal(target)
}
