use footprint::value::{Str, Value};
use indexmap::IndexMap;

use crate::events::record::record;
use crate::events::shared::CoverageItem;
use crate::events::words::{
    Channel, CloseReason, EffectKind, EffectOutcome, Lease, RepeatMode, SessionScope, SupersededBy,
    ToolActivation, ToolDeactivation, ToolResultStatus, WithheldReason,
};

record! {
    /// Which tools a call may use.
    pub struct ToolsOffered {
        req available_ids = "availableIds": Vec<Str> as id,
        req withheld_ids = "withheldIds": Vec<Str> as id,
        req withheld_reasons = "withheldReasons": IndexMap<Str, WithheldReason>,
        req reason: Str,
    }

    /// A tool became available.
    pub struct ToolsActivated {
        req tool_id = "toolId": Str as id,
        req reason: ToolActivation,
        opt source: Str,
    }

    /// A tool became unavailable.
    pub struct ToolsDeactivated {
        req tool_id = "toolId": Str as id,
        req reason: ToolDeactivation,
    }

    /// A tool provider is asked.
    pub struct ToolsDiscoveryStarted {
        opt provider_id = "providerId": Str as id,
        req iteration: u64,
    }

    /// It answered.
    pub struct ToolsDiscoveryCompleted {
        opt provider_id = "providerId": Str as id,
        req iteration: u64,
        req duration_ms = "durationMs": u64,
        req tool_count = "toolCount": u64,
    }

    /// It failed.
    pub struct ToolsDiscoveryFailed {
        opt provider_id = "providerId": Str as id,
        req error: Str,
        req error_name = "errorName": Str as name,
        req iteration: u64,
        req duration_ms = "durationMs": u64,
    }

    /// Two contracts compete for one name in this iteration.
    pub struct ToolsShadowed {
        req tool_name = "toolName": Str as name,
        req iteration: u64,
        req schema_from = "schemaFrom": Channel,
        opt schema_from_id = "schemaFromId": Str as id,
        req dispatch_to = "dispatchTo": Channel,
        opt dispatch_to_id = "dispatchToId": Str as id,
    }

    /// A party's claim to a name is held by another in this iteration (TOOL-122).
    pub struct ToolsClaimSwallowed {
        req tool_name = "toolName": Str as name,
        req iteration: u64,
        req lost_by = "lostBy": Channel,
        opt lost_by_id = "lostById": Str as id,
        req won_by = "wonBy": Channel,
        opt won_by_id = "wonById": Str as id,
    }

    /// A call to a name that was not on this call's wire was dispatched (TOOL-121).
    pub struct ToolsAnsweredOffWire {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        req answered_by = "answeredBy": Channel,
        opt answered_by_id = "answeredById": Str as id,
    }

    /// A tool session was opened.
    pub struct ToolsSessionStarted {
        req tool: Str as name,
        req scope: SessionScope,
        req key_hash = "keyHash": Str as id,
        opt runner_id = "runnerId": Str as id,
        opt label: Str,
    }

    /// A tool session was used again.
    pub struct ToolsSessionReused {
        req tool: Str as name,
        req scope: SessionScope,
        req key_hash = "keyHash": Str as id,
        opt runner_id = "runnerId": Str as id,
        opt label: Str,
        req calls: u64,
    }

    /// A tool session was closed.
    pub struct ToolsSessionClosed {
        req tool: Str as name,
        req scope: SessionScope,
        req key_hash = "keyHash": Str as id,
        opt runner_id = "runnerId": Str as id,
        opt label: Str,
        req reason: CloseReason,
        req duration_ms = "durationMs": u64,
    }

    /// Closing a tool session failed.
    pub struct ToolsSessionCloseFailed {
        req tool: Str as name,
        req scope: SessionScope,
        req key_hash = "keyHash": Str as id,
        opt runner_id = "runnerId": Str as id,
        opt label: Str,
        req reason: CloseReason,
        req duration_ms = "durationMs": u64,
        req error: Str,
        opt error_class = "errorClass": Str as name,
    }

    /// A tool proposed a typed effect.
    pub struct ToolsEffect {
        req kind: EffectKind,
        req outcome: EffectOutcome,
        req tool_name = "toolName": Str as name,
        opt tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        opt target_skill_id = "targetSkillId": Str as id,
        opt reason: Str,
        opt instruction_id = "instructionId": Str as id,
        opt delivery_lease = "deliveryLease": Lease,
        opt refusal_reason = "refusalReason": Str,
        opt superseded_by = "supersededBy": SupersededBy,
        flag stay,
    }

    /// A result is over its declared ceiling.
    pub struct ToolsResultRefused {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        req size_chars = "sizeChars": u64,
        req max_chars = "maxChars": u64,
        opt narrow_by = "narrowBy": Vec<Str> as name,
        opt declared_status = "declaredStatus": ToolResultStatus,
    }

    /// The same call brought the same result again.
    pub struct ToolsRepeatedCall {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        req occurrences: u64,
        req args_fingerprint = "argsFingerprint": Str as id,
        req result_fingerprint = "resultFingerprint": Str as id,
        opt mode: RepeatMode,
    }

    /// A tool answered that it looked and found nothing.
    pub struct ToolsAbsent {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        opt looked_for = "lookedFor": Str,
        req checked: Vec<CoverageItem>,
        opt not_checked = "notChecked": Vec<CoverageItem>,
        opt cannot_cover = "cannotCover": Vec<CoverageItem>,
    }

    /// A result carried a coverage ledger.
    pub struct ToolsCoverageDeclared {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        opt checked: Vec<CoverageItem>,
        opt not_checked = "notChecked": Vec<CoverageItem>,
        opt cannot_cover = "cannotCover": Vec<CoverageItem>,
    }

    /// A result carried typed semantics.
    pub struct ToolsSemanticsDeclared {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        req semantics: Value,
    }

    /// A code runner executed.
    pub struct ToolsCodeRun {
        req tool: Str as name,
        req language: Str as name,
        req staged_inputs = "stagedInputs": u64,
        req output_chars = "outputChars": u64,
        req truncated: bool,
        req ok: bool,
        req shape_hash = "shapeHash": Str as id,
    }
}
