//! The recorded keys of a message (LLM §1.1).

pub(super) const ROLE: &str = "role";
pub(super) const CONTENT: &str = "content";
pub(super) const TOOL_CALL_ID: &str = "toolCallId";
pub(super) const TOOL_NAME: &str = "toolName";
pub(super) const TOOL_CALLS: &str = "toolCalls";
pub(super) const THINKING_BLOCKS: &str = "thinkingBlocks";
pub(super) const EPHEMERAL: &str = "ephemeral";
pub(super) const INJECTED_BY: &str = "injectedBy";
pub(super) const FRAME: &str = "frame";
pub(super) const RESULT_ORIGIN: &str = "resultOrigin";
pub(super) const RESULT_REASON: &str = "resultReason";
pub(super) const NOT_DISPATCHED: &str = "notDispatched";
pub(super) const TOOL_CHARS: &str = "toolChars";
pub(super) const FOLDED_EXEMPT: &str = "foldedExempt";

/// Every known key.
pub(super) const KNOWN: [&str; 14] = [
    ROLE,
    CONTENT,
    TOOL_CALL_ID,
    TOOL_NAME,
    TOOL_CALLS,
    THINKING_BLOCKS,
    EPHEMERAL,
    INJECTED_BY,
    FRAME,
    RESULT_ORIGIN,
    RESULT_REASON,
    NOT_DISPATCHED,
    TOOL_CHARS,
    FOLDED_EXEMPT,
];

/// The fields that say who wrote a message and how it was settled. No provider ever sees them (LLM-2).
pub const FRAMEWORK_ONLY: [&str; 7] =
    [INJECTED_BY, FRAME, RESULT_ORIGIN, RESULT_REASON, NOT_DISPATCHED, TOOL_CHARS, FOLDED_EXEMPT];
