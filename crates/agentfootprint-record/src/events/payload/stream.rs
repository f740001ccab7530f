use footprint::value::{Str, Value};

use crate::events::record::record;
use crate::events::shared::{NotDispatched, ProviderModel, ThinkingBlock};
use crate::events::words::{BrainVia, ToolProtocol, ToolResultStatus};

record! {
    /// A tool as offered in a request.
    pub struct OfferedTool {
        req name: Str as name,
        opt description: Str,
    }

    /// Who chose another model for this call.
    pub struct Brain {
        req via: BrainVia,
        opt skill_id = "skillId": Str as id,
    }

    /// The provider is about to be called.
    pub struct StreamLlmStart {
        req iteration: u64,
        req provider: Str as name,
        req model: Str as name,
        req system_prompt_chars = "systemPromptChars": u64,
        /// Only with `record_system_prompt`.
        opt system_prompt_text = "systemPromptText": Str,
        req messages_count = "messagesCount": u64,
        req tools_count = "toolsCount": u64,
        opt tools: Vec<OfferedTool>,
        opt estimated_prompt_tokens = "estimatedPromptTokens": u64,
        opt temperature: f64,
        opt provider_request_ref = "providerRequestRef": Str as id,
        opt brain: Brain,
    }

    /// What a call used; the counts are disjoint (LLM-21).
    pub struct LlmUsage {
        req input: u64,
        req output: u64,
        opt cache_read = "cacheRead": u64,
        opt cache_write = "cacheWrite": u64,
        opt thinking: u64,
    }

    /// The response is complete.
    pub struct StreamLlmEnd {
        req iteration: u64,
        req content: Str,
        req tool_call_count = "toolCallCount": u64,
        req usage: LlmUsage,
        req stop_reason = "stopReason": Str as name,
        req duration_ms = "durationMs": u64,
        opt provider_response_ref = "providerResponseRef": Str as id,
        /// The content is withheld from the record.
        flag content_withheld = "contentWithheld",
        /// Who served the call, when not whom it was addressed to (LLM-79).
        opt served_by = "servedBy": ProviderModel,
    }

    /// One non-empty chunk of the answer.
    pub struct StreamToken {
        req iteration: u64,
        req token_index = "tokenIndex": u64,
        req content: Str,
    }

    /// A call is about to pass its gates.
    pub struct StreamToolStart {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req args: Value,
        /// Only when the batch holds more than one call.
        opt parallel_count = "parallelCount": u64,
        opt protocol: ToolProtocol,
        opt not_dispatched = "notDispatched": NotDispatched,
    }

    /// A tool reports while it works.
    pub struct StreamToolProgress {
        req tool_call_id = "toolCallId": Str as id,
        req tool_name = "toolName": Str as name,
        req iteration: u64,
        req payload: Value,
    }

    /// The result of a call is settled.
    pub struct StreamToolEnd {
        req tool_call_id = "toolCallId": Str as id,
        /// Absent when the handler returned nothing.
        opt result: Value,
        opt error: bool,
        req duration_ms = "durationMs": u64,
        opt status: ToolResultStatus,
        opt not_dispatched = "notDispatched": NotDispatched,
    }

    /// One non-empty chunk of the model's thinking.
    pub struct StreamThinkingDelta {
        req iteration: u64,
        req token_index = "tokenIndex": u64,
        req content: Str,
    }

    /// The model's thinking was normalised.
    pub struct StreamThinkingEnd {
        req iteration: u64,
        req block_count = "blockCount": u64,
        req total_chars = "totalChars": u64,
        opt tokens: u64,
        opt blocks: Vec<ThinkingBlock>,
    }
}
