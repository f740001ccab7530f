use agentfootprint_core::llm::{ThinkingError, ThinkingHandler};
use agentfootprint_record::message::ThinkingBlock;
use footprint::value::{Object, Value};

/// The id of this family's thinking handler; blocks carry it as their origin.
pub(super) const HANDLER_ID: &str = "ollama";

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Reads what an Ollama model thought: `{kind: "field", thinking}` when the server told it apart from the answer,
/// `{kind: "inline", content}` when it stands in the answer between `<think>` and `</think>`. The answer itself is
/// never edited.
///
/// ```
/// use agentfootprint_core::llm::ThinkingHandler;
/// use agentfootprint_providers::ollama::OllamaThinking;
/// use footprint::value;
///
/// let raw = value!({ "kind": "inline", "content": "<think>two and two</think>Four." });
/// assert_eq!(&*OllamaThinking.normalize(&raw)?[0].content, "two and two");
/// # Ok::<(), agentfootprint_core::llm::ThinkingError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct OllamaThinking;

impl ThinkingHandler for OllamaThinking {
    fn id(&self) -> &str {
        HANDLER_ID
    }

    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        let text = |name| raw.get(name).and_then(Value::as_str).unwrap_or_default();
        let thoughts = match text("kind") {
            "field" => vec![text("thinking")],
            "inline" => inline_thoughts(text("content")),
            _ => Vec::new(),
        };
        let thoughts = thoughts.into_iter().filter(|thought| !thought.trim().is_empty());
        Ok(thoughts
            .map(|thought| {
                let mut block = ThinkingBlock::thinking(thought);
                block.origin = Some(HANDLER_ID.into());
                block
            })
            .collect())
    }
}

/// What stands between the tags; an unclosed tag reaches to the end.
fn inline_thoughts(content: &str) -> Vec<&str> {
    let mut thoughts = Vec::new();
    let mut rest = content;
    while let Some((_, inside)) = rest.split_once(OPEN) {
        let (thought, after) = inside.split_once(CLOSE).unwrap_or((inside, ""));
        thoughts.push(thought.trim());
        rest = after;
    }
    thoughts
}

/// Whether an answer holds its thinking itself.
pub(super) fn is_inline(content: &str) -> bool {
    content.contains(OPEN)
}

/// The raw value for the handler, from the two places thinking can stand in.
pub(super) fn raw(thinking: String, content: &str) -> Option<Value> {
    let (kind, name, text) = if !thinking.is_empty() {
        ("field", "thinking", Value::from(thinking))
    } else if is_inline(content) {
        ("inline", "content", Value::from(content))
    } else {
        return None;
    };
    let mut raw = Object::new();
    raw.insert("kind", Value::from(kind));
    raw.insert(name, text);
    Some(Value::Object(raw))
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    fn thoughts(raw: Value) -> Vec<String> {
        OllamaThinking.normalize(&raw).unwrap().iter().map(|block| block.content.to_string()).collect()
    }

    /// Proves LLM-90.
    #[test]
    fn both_shapes_are_read_and_others_are_nothing() {
        assert_eq!(thoughts(value!({"kind": "field", "thinking": " hm "})), [" hm "]);
        let inline = |content: &str| thoughts(value!({"kind": "inline", "content": content}));
        assert_eq!(inline("<think>\na\n</think>x<think>b</think>"), ["a", "b"]);
        assert_eq!(inline("x <think>never closed"), ["never closed"]);
        assert!(inline("<think> </think>x").is_empty());
        assert!(thoughts(value!({"kind": "other"})).is_empty());
        assert!(thoughts(value!("text")).is_empty());
    }
}
