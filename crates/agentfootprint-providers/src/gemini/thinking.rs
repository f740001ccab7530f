use agentfootprint_core::llm::{ThinkingError, ThinkingHandler};
use agentfootprint_record::message::ThinkingBlock;
use footprint::value::Value;

use crate::thinking::summary_blocks;

/// The id of this family's thinking handler; blocks carry it as their origin.
const HANDLER_ID: &str = "gemini";

/// Reads what Gemini shows of its thoughts: summaries, which are not sent back. What the vendor needs back is the
/// signature of a call, and that travels on the call.
///
/// ```
/// use agentfootprint_core::llm::ThinkingHandler;
/// use agentfootprint_providers::gemini::GeminiThinking;
///
/// let blocks = GeminiThinking.normalize(&"compared both".into())?;
/// assert_eq!(blocks[0].summary, Some(true));
/// # Ok::<(), agentfootprint_core::llm::ThinkingError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct GeminiThinking;

impl ThinkingHandler for GeminiThinking {
    fn id(&self) -> &str {
        HANDLER_ID
    }

    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        let mut blocks = summary_blocks(raw);
        blocks.iter_mut().for_each(|block| block.origin = Some(HANDLER_ID.into()));
        Ok(blocks)
    }
}
