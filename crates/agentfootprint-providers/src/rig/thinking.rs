use agentfootprint_core::llm::{ThinkingError, ThinkingHandler};
use agentfootprint_record::events::words::ThinkingKind;
use agentfootprint_record::message::ThinkingBlock;
use footprint::value::{Object, Value};
use rig_core::message::{CallId, Native, Origin, Reasoning, ToolCall};
use serde::{Deserialize, Serialize};

/// The id of this bridge's thinking handler; blocks carry it as their origin.
const HANDLER_ID: &str = "rig";

/// Reads the reasoning of a rig model: a list of `{text, redacted, item?}`. The item is rig's own and opaque to us; it
/// travels as the block's signature.
///
/// ```
/// use agentfootprint_core::llm::ThinkingHandler;
/// use agentfootprint_providers::rig::RigThinking;
/// use footprint::value;
///
/// let blocks = RigThinking.normalize(&value!([{ "text": "compared both" }]))?;
/// assert_eq!(&*blocks[0].content, "compared both");
/// # Ok::<(), agentfootprint_core::llm::ThinkingError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct RigThinking;

impl ThinkingHandler for RigThinking {
    fn id(&self) -> &str {
        HANDLER_ID
    }

    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        let items = raw.as_array().into_iter().flat_map(|items| items.iter());
        Ok(items
            .filter_map(|item| {
                let text = item.get("text").and_then(Value::as_shared_str)?.clone();
                let redacted = item.get("redacted").and_then(Value::as_bool).unwrap_or(false);
                let mut block =
                    if redacted { ThinkingBlock::redacted(text) } else { ThinkingBlock::thinking(text) };
                block.signature = item.get("item").and_then(Value::as_shared_str).cloned();
                block.origin = Some(HANDLER_ID.into());
                Some(block)
            })
            .collect())
    }
}

/// The raw value of an answer's reasoning, for the handler.
pub(super) fn raw<'a>(origin: &Origin, thoughts: impl Iterator<Item = &'a Reasoning>) -> Option<Value> {
    let list: Vec<Value> = thoughts
        .filter(|thought| !thought.text.is_empty() || thought.native.is_some())
        .map(|thought| {
            let mut raw = Object::new();
            raw.insert("text", Value::from(thought.text.as_str()));
            if thought.redacted {
                raw.insert("redacted", Value::from(true));
            }
            if let Some(item) = ThoughtItem::from_answer(origin, thought) {
                raw.insert("item", Value::from(item));
            }
            Value::Object(raw)
        })
        .collect();
    (!list.is_empty()).then(|| Value::Array(list.into_iter().collect()))
}

/// What rig wants back of a piece of reasoning, in the block's signature.
#[derive(Serialize, Deserialize)]
pub(super) struct ThoughtItem {
    origin: Origin,
    native: Native,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    redacted: bool,
}

impl ThoughtItem {
    fn from_answer(origin: &Origin, thought: &Reasoning) -> Option<String> {
        let native = thought.native.clone()?;
        serde_json::to_string(&ThoughtItem { origin: origin.clone(), native, redacted: thought.redacted })
            .ok()
    }

    /// The item of a block, if the block came from here and can be sent.
    pub(super) fn of(block: &ThinkingBlock) -> Option<Self> {
        let known = matches!(block.kind, ThinkingKind::Thinking | ThinkingKind::RedactedThinking);
        let own = known && block.origin.as_deref() == Some(HANDLER_ID);
        serde_json::from_str(block.signature.as_deref().filter(|_| own)?).ok()
    }

    pub(super) fn restore(self, text: &str) -> (Origin, Reasoning) {
        let mut reasoning = Reasoning::new(text);
        reasoning.redacted = self.redacted;
        reasoning.native = Some(self.native);
        (self.origin, reasoning)
    }
}

/// What rig wants back of a tool call, in the call's `providerMeta`.
#[derive(Serialize, Deserialize)]
pub(super) struct CallItem {
    /// The id, where rig made it up because the wire sent none: such an id is never sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<CallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) native: Option<Native>,
}

const META: &str = "rig";

impl CallItem {
    /// What goes into the meta of a call; nothing where rig needs nothing back.
    pub(super) fn meta_of(origin: &Origin, call: &ToolCall) -> Option<Value> {
        let item = CallItem {
            id: call.id.is_local().then(|| call.id.clone()),
            origin: call.native.is_some().then(|| origin.clone()),
            native: call.native.clone(),
        };
        if item.id.is_none() && item.native.is_none() {
            return None;
        }
        let mut meta = Object::new();
        meta.insert(META, Value::from(serde_json::to_value(&item).ok()?));
        Some(Value::Object(meta))
    }

    pub(super) fn of(meta: &Value) -> Option<Self> {
        let item = serde_json::to_value(meta.get(META)?).ok()?;
        serde_json::from_value(item).ok()
    }
}
