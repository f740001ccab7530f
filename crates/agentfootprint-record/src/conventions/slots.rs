use super::{ids, state};
use crate::events::words::ContextSlot;

/// The last segment of a path of stage or subflow ids.
///
/// ```
/// use agentfootprint_record::conventions::local_segment;
/// assert_eq!(local_segment("sf-llm-call/sf-tools"), "sf-tools");
/// ```
#[must_use]
pub fn local_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A runtime stage id without its `#n`.
#[must_use]
pub fn without_index(runtime_stage_id: &str) -> &str {
    runtime_stage_id.rsplit_once('#').map_or(runtime_stage_id, |(path, _)| path)
}

fn slot_of_segment(segment: &str) -> Option<ContextSlot> {
    match segment {
        ids::SYSTEM_PROMPT => Some(ContextSlot::SystemPrompt),
        ids::MESSAGES => Some(ContextSlot::Messages),
        ids::TOOLS => Some(ContextSlot::Tools),
        _ => None,
    }
}

/// The slot a subflow id names, by its last path segment (AGT-48).
///
/// ```
/// use agentfootprint_record::conventions::slot_from_subflow_id;
/// use agentfootprint_record::events::words::ContextSlot;
/// assert_eq!(slot_from_subflow_id("sf-llm-call/sf-tools"), Some(ContextSlot::Tools));
/// assert_eq!(slot_from_subflow_id("sf-tools/compose"), None);
/// ```
#[must_use]
pub fn slot_from_subflow_id(subflow_id: &str) -> Option<ContextSlot> {
    slot_of_segment(local_segment(subflow_id))
}

/// The slot a step belongs to: strips `#n` and scans the segments innermost first, so that parallel slots
/// and nested agents resolve to their own slot (AGT-48).
///
/// ```
/// use agentfootprint_record::conventions::slot_from_runtime_stage_id;
/// use agentfootprint_record::events::words::ContextSlot;
/// let inner = "sf-tools/helper/sf-messages/compose#31";
/// assert_eq!(slot_from_runtime_stage_id(inner), Some(ContextSlot::Messages));
/// assert_eq!(slot_from_runtime_stage_id("call-llm#18"), None);
/// ```
#[must_use]
pub fn slot_from_runtime_stage_id(runtime_stage_id: &str) -> Option<ContextSlot> {
    without_index(runtime_stage_id).rsplit('/').find_map(slot_of_segment)
}

/// The state key under which a slot writes its injection records (AGT-47).
#[must_use]
pub fn composed_key_of(slot: &ContextSlot) -> Option<&'static str> {
    match slot {
        ContextSlot::SystemPrompt => Some(state::SYSTEM_PROMPT_INJECTIONS),
        ContextSlot::Messages => Some(state::MESSAGES_INJECTIONS),
        ContextSlot::Tools => Some(state::TOOLS_INJECTIONS),
        ContextSlot::Other(_) => None,
    }
}
