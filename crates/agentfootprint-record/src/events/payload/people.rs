use footprint::value::{Str, Value};

use crate::events::record::record;
use crate::events::words::{LoopMoment, MessagePhase, MiddlewareOutcome, MiddlewareTarget};

record! {
    /// The leg ends paused; always dispatched (EVT-6).
    pub struct PauseRequest {
        req reason: Str,
        /// What the person is asked; a consent URL is withheld.
        req question_payload = "questionPayload": Value,
    }

    /// A paused run goes on; always dispatched (EVT-6).
    pub struct PauseResume {
        req resume_input = "resumeInput": Value,
        req paused_duration_ms = "pausedDurationMs": u64,
        opt component_id = "componentId": Str as id,
    }

    /// A check-in gate asks a person.
    pub struct CheckinRequest {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        req request: Value,
    }

    /// The person decided.
    pub struct CheckinDecision {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        req approved: bool,
        req by: Str,
        opt note: Str,
        opt component_id = "componentId": Str as id,
        /// A `DecisionValue` (TOOL-64).
        opt value: Value,
    }

    /// A middleware decided. The message itself is never here; `changed` only says that it was altered.
    pub struct MiddlewareDecision {
        req middleware: Str as name,
        req moment: LoopMoment,
        req at: MiddlewareTarget,
        opt phase: MessagePhase,
        opt tool_name = "toolName": Str as name,
        opt tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        req outcome: MiddlewareOutcome,
        req changed: bool,
        opt why: Str,
        opt component_id = "componentId": Str as id,
    }
}
