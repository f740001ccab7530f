//! The shapes vendors hand thinking over in, read in one place and used by the handlers beside each adapter.

use agentfootprint_record::message::ThinkingBlock;
use footprint::value::Value;

/// Blocks of an Anthropic-like content list: `{type: "thinking", thinking, signature?}` and
/// `{type: "redacted_thinking", data}`. Signatures and data are opaque and kept byte for byte.
pub(crate) fn blocks_of_content(raw: &Value) -> Vec<ThinkingBlock> {
    let items = raw.as_array().into_iter().flat_map(|items| items.iter());
    items
        .filter_map(|item| {
            let text = |name| item.get(name).and_then(Value::as_shared_str).cloned();
            match item.get("type").and_then(Value::as_str)? {
                "thinking" => {
                    let mut block = ThinkingBlock::thinking(text("thinking")?);
                    block.signature = text("signature");
                    Some(block)
                }
                "redacted_thinking" => {
                    // The data is opaque like a signature, and travels where a signature does.
                    let mut block = ThinkingBlock::redacted("");
                    block.signature = Some(text("data")?);
                    Some(block)
                }
                _ => None,
            }
        })
        .collect()
}

/// Blocks of a text, or of a list of `{text}`: what a vendor shows of thinking it keeps to itself.
pub(crate) fn summary_blocks(raw: &Value) -> Vec<ThinkingBlock> {
    let summary = |text: &str| {
        let mut block = ThinkingBlock::thinking(text);
        block.summary = Some(true);
        block
    };
    match raw {
        Value::String(text) if !text.is_empty() => vec![summary(text)],
        Value::Array(items) => {
            let texts = items
                .iter()
                .filter_map(|item| item.as_str().or_else(|| item.get("text").and_then(Value::as_str)));
            texts.filter(|text| !text.is_empty()).map(summary).collect()
        }
        _ => Vec::new(),
    }
}
