use agentfootprint_core::llm::{ThinkingError, ThinkingHandler};
use agentfootprint_record::message::ThinkingBlock;
use footprint::value;
use footprint::value::Value;

use crate::thinking::{blocks_of_content, summary_blocks};

/// Reads the raw thinking of scripted replies, in both shapes vendors use: a content list of thinking blocks, and
/// a summary text or list of texts.
///
/// ```
/// use agentfootprint_core::llm::ThinkingHandler;
/// use agentfootprint_providers::mock::{MockThinking, raw_summary, raw_thinking};
///
/// let blocks = MockThinking.normalize(&raw_thinking("first, the order", Some("sig-1")))?;
/// assert_eq!(blocks[0].signature.as_deref(), Some("sig-1"));
/// let blocks = MockThinking.normalize(&raw_summary("looked at the order"))?;
/// assert_eq!(blocks[0].summary, Some(true));
/// # Ok::<(), agentfootprint_core::llm::ThinkingError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct MockThinking;

impl ThinkingHandler for MockThinking {
    fn id(&self) -> &str {
        "mock"
    }

    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        let blocks = blocks_of_content(raw);
        Ok(if blocks.is_empty() { summary_blocks(raw) } else { blocks })
    }
}

/// Raw thinking in the shape of signed blocks.
pub fn raw_thinking(text: &str, signature: Option<&str>) -> Value {
    match signature {
        Some(signature) => value!([{ "type": "thinking", "thinking": text, "signature": signature }]),
        None => value!([{ "type": "thinking", "thinking": text }]),
    }
}

/// Raw thinking in the shape of a summary.
pub fn raw_summary(text: &str) -> Value {
    Value::from(text)
}
