//! What is known of a model by its id, and how Claude's reasoning is read here. The table ages; every answer can be
//! overridden on the builder.

use agentfootprint_core::llm::{ThinkingError, ThinkingHandler, ThinkingMode};
use agentfootprint_record::message::ThinkingBlock;
use footprint::value::Value;

use crate::claude;
use crate::thinking::blocks_of_content;

/// The family whose blocks are understood here: Claude's signatures are the same at every door.
pub(super) const HANDLER_ID: &str = "anthropic";

/// Reads reasoning in Anthropic's shape, `{type: "thinking", thinking, signature?}` and
/// `{type: "redacted_thinking", data}`, which Bedrock's reasoning is handed over in.
///
/// ```
/// use agentfootprint_core::llm::ThinkingHandler;
/// use agentfootprint_providers::bedrock::BedrockThinking;
/// use footprint::value;
///
/// let raw = value!([{ "type": "thinking", "thinking": "two and two", "signature": "c2ln" }]);
/// let blocks = BedrockThinking.normalize(&raw)?;
/// assert_eq!(blocks[0].signature.as_deref(), Some("c2ln"));
/// # Ok::<(), agentfootprint_core::llm::ThinkingError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct BedrockThinking;

impl ThinkingHandler for BedrockThinking {
    fn id(&self) -> &str {
        HANDLER_ID
    }

    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        let mut blocks = blocks_of_content(raw);
        blocks.iter_mut().for_each(|block| block.origin = Some(HANDLER_ID.into()));
        Ok(blocks)
    }
}

/// How a model is asked to think; `None` for models that are not Claude, which are asked in their own words.
pub(super) fn thinking_mode(model: &str) -> Option<ThinkingMode> {
    is_claude(model).then(|| claude::facts(model).thinking)
}

fn is_claude(model: &str) -> bool {
    model.to_lowercase().contains("claude-")
}

/// Which parts of a request a model can cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Caching {
    pub(super) prompts: bool,
    pub(super) tools: bool,
}

/// As documented: Claude from 3.5 Sonnet v2 and 3.5 Haiku on, and Nova, which caches no tools.
pub(super) fn caching(model: &str) -> Caching {
    let claude = is_claude(model)
        && match claude::version(model) {
            Some((3, 5)) => !model.contains("20240620"),
            Some(version) => version > (3, 5),
            None => true,
        };
    let nova = model.contains("amazon.nova-");
    Caching { prompts: claude || nova, tools: claude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_thinks_and_caches_is_told_by_its_id() {
        use ThinkingMode::{Adaptive, Budget, None as Not};
        for (model, mode, prompts, tools) in [
            ("anthropic.claude-3-haiku-20240307-v1:0", Some(Not), false, false),
            ("anthropic.claude-3-5-sonnet-20240620-v1:0", Some(Not), false, false),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0", Some(Not), true, true),
            ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", Some(Budget), true, true),
            ("anthropic.claude-sonnet-4-20250514-v1:0", Some(Budget), true, true),
            ("global.anthropic.claude-haiku-4-5-20251001-v1:0", Some(Budget), true, true),
            (
                "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-6-v1",
                Some(Budget),
                true,
                true,
            ),
            ("us.anthropic.claude-opus-4-7", Some(Adaptive), true, true),
            ("amazon.nova-lite-v1:0", Option::None, true, false),
            ("us.deepseek.r1-v1:0", Option::None, false, false),
            ("anthropic.claude-v2:1", Some(Not), false, false),
        ] {
            assert_eq!(thinking_mode(model), mode, "{model}");
            assert_eq!(caching(model), Caching { prompts, tools }, "{model}");
        }
    }
}
