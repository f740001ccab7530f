use agentfootprint_core::llm::{ThinkingError, ThinkingHandler};
use agentfootprint_record::events::words::ThinkingKind;
use agentfootprint_record::message::ThinkingBlock;
use footprint::value::{Str, Value};

use crate::thinking::blocks_of_content;

/// The id of this family's thinking handler; blocks carry it as their origin.
pub(crate) const HANDLER_ID: &str = "anthropic";

/// Reads the thinking of Claude models: `thinking` blocks with their signatures and `redacted_thinking` blocks, whose
/// data travels in the block's `signature`. Both are opaque and kept byte for byte; the next turn needs them.
///
/// ```
/// use agentfootprint_core::llm::ThinkingHandler;
/// use agentfootprint_providers::anthropic::AnthropicThinking;
/// use footprint::value;
///
/// let raw = value!([{ "type": "thinking", "thinking": "two and two", "signature": "c2ln" }]);
/// let blocks = AnthropicThinking.normalize(&raw)?;
/// assert_eq!(&*blocks[0].content, "two and two");
/// assert_eq!(blocks[0].signature.as_deref(), Some("c2ln"));
/// # Ok::<(), agentfootprint_core::llm::ThinkingError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct AnthropicThinking;

impl ThinkingHandler for AnthropicThinking {
    fn id(&self) -> &str {
        HANDLER_ID
    }

    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        let mut blocks = blocks_of_content(raw);
        blocks.iter_mut().for_each(|block| block.origin = Some(HANDLER_ID.into()));
        Ok(blocks)
    }
}

/// A block that can be sent back.
pub(super) enum Sendable {
    Thinking { thinking: Str, signature: Str },
    Redacted { data: Str },
}

/// The blocks this family made and signed. A block of another vendor, or an unsigned one, would be rejected.
pub(super) fn sendable(blocks: Vec<ThinkingBlock>) -> impl Iterator<Item = Sendable> {
    blocks.into_iter().filter(|block| block.origin.as_deref() == Some(HANDLER_ID)).filter_map(|block| {
        let signature = block.signature.filter(|signature| !signature.is_empty())?;
        match block.kind {
            ThinkingKind::RedactedThinking => Some(Sendable::Redacted { data: signature }),
            ThinkingKind::Thinking => Some(Sendable::Thinking { thinking: block.content, signature }),
            _ => None,
        }
    })
}
