use footprint::value::Str;

use crate::events::record::record;
use crate::events::shared::RefKind;
use crate::events::words::{
    AgentRoute, EvidenceAction, ExhaustedAction, GatePosture, HandoffProtocol, IntegrityPosture, JudgeStage,
    LimitReason, ModelOverride, ReactMode, SkillContinuity,
};
use crate::message::Messages;

record! {
    /// A turn began, also for a denied input.
    pub struct AgentTurnStart {
        req turn_index = "turnIndex": u64,
        /// The text after input middleware; a stated placeholder for a denied input.
        req user_prompt = "userPrompt": Str,
    }

    /// Why a turn ended before the model was finished.
    pub struct StoppedEarly {
        req reason: LimitReason,
        req iteration: u64,
        req pending_tool_calls = "pendingToolCalls": u64,
        flag wrapped_up = "wrappedUp",
    }

    /// The final answer was set.
    pub struct AgentTurnEnd {
        req turn_index = "turnIndex": u64,
        req final_content = "finalContent": Str,
        req total_input_tokens = "totalInputTokens": u64,
        req total_output_tokens = "totalOutputTokens": u64,
        req iteration_count = "iterationCount": u64,
        req duration_ms = "durationMs": u64,
        opt stopped_early = "stoppedEarly": StoppedEarly,
    }

    /// A model call is about to be made.
    pub struct AgentIterationStart {
        req turn_index = "turnIndex": u64,
        req iter_index = "iterIndex": u64,
    }

    /// An iteration closed.
    pub struct AgentIterationEnd {
        req turn_index = "turnIndex": u64,
        req iter_index = "iterIndex": u64,
        req tool_call_count = "toolCallCount": u64,
        /// The whole conversation, on iterations that go on; shared with the state, not copied.
        opt history: Messages,
    }

    /// The branch taken after a model call, once per iteration.
    pub struct AgentRouteDecided {
        req turn_index = "turnIndex": u64,
        req iter_index = "iterIndex": u64,
        req chosen: AgentRoute,
        opt rationale: Str,
    }

    /// One agent handed over to another.
    pub struct AgentHandoff {
        req from_agent_id = "fromAgentId": Str as id,
        req to_agent_id = "toAgentId": Str as id,
        opt reason: Str,
        opt via_protocol = "viaProtocol": HandoffProtocol,
    }

    /// A validation failed inside the reliability loop.
    pub struct AgentOutputSchemaValidationFailed {
        req message: Str,
        req stage: JudgeStage,
        opt path: Str,
        opt raw_output = "rawOutput": Str,
        req attempt: u64,
        req cumulative_retries = "cumulativeRetries": u64,
        /// The draft itself is withheld from the record.
        flag draft_withheld = "draftWithheld",
    }

    /// The answer is asked for again.
    pub struct AgentOutputSchemaRetry {
        req attempt: u64,
        req retries_remaining = "retriesRemaining": u64,
        req iteration: u64,
        req stage: JudgeStage,
        req error: Str,
        opt path: Str,
        req corrective_message_hash = "correctiveMessageHash": Str as id,
    }

    /// The answer ships without meeting its schema.
    pub struct AgentOutputContractUnmet {
        req stage: JudgeStage,
        req error: Str,
        opt path: Str,
        req attempts: u64,
        req retries_spent = "retriesSpent": u64,
        req fallback_configured = "fallbackConfigured": bool,
        req iteration: u64,
        opt broken_by = "brokenBy": Str as name,
    }

    /// A value of the answer no evidence holds.
    pub struct UnsupportedValue {
        req value: Str,
        req shape: Str as name,
    }

    /// The evidence gate judged an answer, or asked for a revision.
    pub struct AgentEvidenceChecked {
        req iteration: u64,
        req posture: GatePosture,
        req candidates: u64,
        req unsupported: Vec<UnsupportedValue>,
        req action: EvidenceAction,
        req after_revision = "afterRevision": bool,
        opt evidence_truncated = "evidenceTruncated": bool,
        /// On `revision-asked`: results the model has not looked into.
        opt staged_refs = "stagedRefs": Vec<RefKind>,
        /// On `revision-asked`: tools that read them.
        opt spender_tools = "spenderTools": Vec<Str> as name,
        flag answer_truncated = "answerTruncated",
        opt summary_only = "summaryOnly": u64,
    }

    /// The models of a run.
    pub struct LlmManifest {
        req provider: Str as name,
        req model: Str as name,
        opt model_overrides = "modelOverrides": Vec<ModelOverride>,
    }

    /// A declared memory.
    pub struct MemoryManifest {
        req id: Str as id,
        req kind = "type": Str as name,
        opt strategy: Str as name,
        opt retrieval: Str as name,
        opt embedder_id = "embedderId": Str as id,
        opt flavor: Str as name,
    }

    /// The declared skill graph.
    pub struct SkillGraphManifest {
        opt routing: GatePosture,
        opt continuity: SkillContinuity,
        opt scorer: Str as name,
    }

    /// What of artifacts is configured.
    pub struct ArtifactsManifest {
        flag placement,
        flag recordings,
    }

    /// A recipe the agent was built with.
    pub struct RecipeManifest {
        req id: Str as id,
        req version: Str as name,
    }

    /// The integrity checks.
    pub struct IntegrityManifest {
        req posture: IntegrityPosture,
        req checks: Vec<Str> as name,
    }

    /// The findings ledger.
    pub struct FindingsManifest {
        req serve: Str as name,
        opt judge: Str as name,
    }

    /// The tool classifier.
    pub struct ToolChoiceManifest {
        req classifier: Str as name,
        req serve: Str as name,
    }

    /// The answer validation.
    pub struct AnswerValidationManifest {
        req id: Str as id,
        req version: Str as name,
        req mode: Str as name,
    }

    /// The manifest of a leg: names only, and absent means not configured.
    pub struct AgentRunConfigured {
        req agent_id = "agentId": Str as id,
        req llm: LlmManifest,
        req react_mode = "reactMode": ReactMode,
        req memories: Vec<MemoryManifest>,
        opt window: Str as name,
        opt skill_graph = "skillGraph": SkillGraphManifest,
        opt evidence_gate = "evidenceGate": GatePosture,
        opt artifacts: ArtifactsManifest,
        opt recipes: Vec<RecipeManifest>,
        opt integrity: IntegrityManifest,
        opt findings: FindingsManifest,
        opt tool_choice = "toolChoice": ToolChoiceManifest,
        opt answer_validation = "answerValidation": AnswerValidationManifest,
    }

    /// A thinking handler failed; the run goes on.
    pub struct AgentThinkingParseFailed {
        req provider_name = "providerName": Str as name,
        req subflow_id = "subflowId": Str as id,
        req error: Str,
        req error_name = "errorName": Str as name,
        req iteration: u64,
    }

    /// The first early stop of a turn.
    pub struct AgentBudgetExhausted {
        req reason: LimitReason,
        req iteration: u64,
        /// For iterations only.
        opt limit: u64,
        req pending_tool_calls = "pendingToolCalls": u64,
        req action: ExhaustedAction,
    }

    /// The line about staged results was added to this request.
    pub struct AgentGroundingNudged {
        req iteration: u64,
        req refs: Vec<RefKind>,
        opt refs_omitted = "refsOmitted": u64,
        req tools: Vec<Str> as name,
    }
}
