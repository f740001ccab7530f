//! The names on which the runtime and every reader agree: ids, slots, roles, milestones, state keys.
//!
//! A reader of a recording recognises what it sees by the ids of the nodes that ran. Those ids are written
//! once here, together with every question asked of an id, so that the agent chart, the recorders, the
//! debugger and the viewer cannot drift apart. All questions work on the **local** segment of a path:
//! branch stages are bare (`final`, `tool-calls`), and a reader that knows the `sf-` ids alone would miss
//! every real run (AGT-51).
//!
//! | question | item |
//! |---|---|
//! | ids of subflows, stages and pseudo steps | [`ids`] |
//! | is this id the framework's | [`is_reserved_subflow_segment`] (AGT-45) |
//! | which slot did this step fill | [`slot_from_subflow_id`], [`slot_from_runtime_stage_id`] (AGT-48) |
//! | how prominent is this step | [`stage_role`] (AGT-49) |
//! | is it an agent's own machinery | [`is_agent_internal`], [`is_internal_fork`], [`is_internal_loop`] (REC-41) |
//! | is it a milestone | [`milestone_for`], [`Milestone::tags`], [`milestone_of`] (AGT-50, REC-142) |
//! | who wrote this turn | [`Frame`], [`frame_from_prefix`] (AGT-77, EVD-15) |
//! | which keys does agent state have, which cross a boundary | [`state`] (AGT-44, AGT §9) |

mod frames;
pub mod ids;
mod internal;
mod milestone;
mod roles;
mod slots;
pub mod state;

pub use frames::{Frame, ResultOrigin, ResultReason, frame_from_prefix};
pub use internal::{is_agent_internal, is_internal_fork, is_internal_loop};
pub use milestone::{Milestone, MilestoneKind, Recognised, milestone_for, milestone_from_tags, milestone_of};
pub use roles::{StageRole, stage_role};
pub use slots::{
    composed_key_of, local_segment, slot_from_runtime_stage_id, slot_from_subflow_id, without_index,
};

/// The trace tools of REC-93: reserved for the framework in agents, answered by the debugger, offered by the MCP server.
pub const TRACE_TOOL_NAMES: [&str; 11] = [
    "run_overview",
    "find_context_errors",
    "find_in_trace",
    "trace_node",
    "trace_slice",
    "backtrack",
    "who_wrote",
    "get_value",
    "inspect_tool_call",
    "inspect_tool_run",
    "read_narrative",
];

/// The reserved prefix of framework subflows (AGT-45).
pub const RESERVED_PREFIX: &str = "sf-";

/// Whether a node id belongs to the framework: it starts with [`RESERVED_PREFIX`].
///
/// Where a caller names a node (Parallel branch, Conditional arm, Graph node), such an id is refused,
/// because readers filter framework nodes by this prefix and the caller's node would vanish from every
/// trace view (AGT-45).
///
/// ```
/// use agentfootprint_record::conventions::is_reserved_subflow_segment;
/// assert!(is_reserved_subflow_segment("sf-mine"));
/// assert!(!is_reserved_subflow_segment("step-sf-mine"));
/// ```
#[must_use]
pub fn is_reserved_subflow_segment(id: &str) -> bool {
    id.starts_with(RESERVED_PREFIX)
}

#[cfg(test)]
mod tests;
