use agentfootprint_core::llm::{ThinkingError, ThinkingHandler};
use agentfootprint_record::message::ThinkingBlock;
use footprint::value::Value;

use crate::thinking::summary_blocks;

/// The id of this family's thinking handler; blocks carry it as their origin.
pub(super) const HANDLER_ID: &str = "openai";

/// Reads what an OpenAI-like endpoint shows of its reasoning: a text, or a list of `{text}`. The blocks are marked
/// as summaries; nothing on this wire is signed.
///
/// ```
/// use agentfootprint_core::llm::ThinkingHandler;
/// use agentfootprint_providers::openai::OpenAiThinking;
/// use footprint::value;
///
/// let blocks = OpenAiThinking.normalize(&value!([{ "text": "compared both" }]))?;
/// assert_eq!(&*blocks[0].content, "compared both");
/// assert_eq!(blocks[0].summary, Some(true));
/// # Ok::<(), agentfootprint_core::llm::ThinkingError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenAiThinking;

impl ThinkingHandler for OpenAiThinking {
    fn id(&self) -> &str {
        HANDLER_ID
    }

    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        let mut blocks = summary_blocks(raw);
        blocks.iter_mut().for_each(|block| block.origin = Some(HANDLER_ID.into()));
        Ok(blocks)
    }
}

/// The text of the blocks that came from `origin`; blocks of another vendor stay out.
pub(super) fn text_of(blocks: &[ThinkingBlock], origin: &str) -> String {
    let own = blocks.iter().filter(|block| block.origin.as_deref() == Some(origin));
    own.map(|block| &*block.content).collect()
}
