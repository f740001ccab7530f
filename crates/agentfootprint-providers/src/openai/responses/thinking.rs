use agentfootprint_core::llm::{ThinkingError, ThinkingHandler};
use agentfootprint_record::message::ThinkingBlock;
use footprint::value::{Str, Value};
use serde_json::{Value as Json, json};

/// The id of this door's thinking handler; blocks carry it as their origin.
pub(super) const HANDLER_ID: &str = "openai-responses";
/// Where a block keeps the id of its item.
const ITEM_ID: &str = "itemId";

/// Reads the reasoning items of an answer: what is shown of them is the block's text, their encrypted content its
/// signature.
///
/// ```
/// use agentfootprint_core::llm::ThinkingHandler;
/// use agentfootprint_providers::openai::responses::ResponsesThinking;
/// use footprint::value;
///
/// let raw = value!([{ "id": "rs_1", "text": "compared both", "encrypted": "gAAA" }]);
/// let blocks = ResponsesThinking.normalize(&raw)?;
/// assert_eq!((&*blocks[0].content, blocks[0].signature.as_deref()), ("compared both", Some("gAAA")));
/// # Ok::<(), agentfootprint_core::llm::ThinkingError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ResponsesThinking;

impl ThinkingHandler for ResponsesThinking {
    fn id(&self) -> &str {
        HANDLER_ID
    }

    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        let items = raw.as_array().into_iter().flat_map(|items| items.iter());
        Ok(items
            .filter_map(|item| {
                let text = |name| item.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
                let (shown, encrypted) = (text("text"), text("encrypted"));
                if shown.is_none() && encrypted.is_none() {
                    return None;
                }
                let mut block = match shown {
                    Some(shown) => ThinkingBlock::thinking(shown),
                    None => ThinkingBlock::redacted(""),
                };
                block.summary = shown.map(|_| true);
                block.signature = encrypted.map(Str::from);
                block.origin = Some(HANDLER_ID.into());
                if let Some(id) = text("id") {
                    block.extra.insert(ITEM_ID, Value::from(id));
                }
                Some(block)
            })
            .collect())
    }
}

/// The item to send back; `None` for a block of another origin, or one that cannot be verified.
pub(super) fn item(block: &ThinkingBlock) -> Option<Json> {
    let encrypted = block.signature.as_deref().filter(|_| block.origin.as_deref() == Some(HANDLER_ID))?;
    let summary: Vec<Json> = (!block.content.is_empty())
        .then(|| json!({ "type": "summary_text", "text": &*block.content }))
        .into_iter()
        .collect();
    let mut item = json!({ "type": "reasoning", "summary": summary, "encrypted_content": encrypted });
    if let (Some(id), Some(fields)) = (block.extra.get(ITEM_ID).and_then(Value::as_str), item.as_object_mut())
    {
        fields.insert("id".into(), json!(id));
    }
    Some(item)
}
