use footprint::value::{Object, Str, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::events::field::{Field, Misfit, Shape, object};
use crate::events::record::{optional, record, required};
use crate::events::words::ThinkingKind;
use crate::word::words;

words! {
    /// Who speaks in a message.
    pub enum Role {
        System = "system",
        User = "user",
        Assistant = "assistant",
        Tool = "tool",
    }
}

record! {
    /// Which injection delivered a message (CTX-43).
    pub struct InjectedBy {
        req injection_id = "injectionId": Str as id,
        req flavor: Str as name,
        opt reason: Str,
        req iteration: u64,
    }
}

/// One requested tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Recorded as `id`.
    pub id: Str,
    /// Recorded as `name`.
    pub name: Str,
    /// Recorded as `args`: an object, in the order received (LLM-4).
    pub args: Object,
    /// Recorded as `providerMeta`: what the adapter needs to replay the call.
    pub provider_meta: Option<Value>,
    /// Fields this version does not know.
    pub extra: Object,
}

impl ToolCall {
    /// A call.
    ///
    /// ```
    /// use agentfootprint_record::message::ToolCall;
    /// use footprint::value;
    /// let call = ToolCall::new("t1", "get_order", value!({ "orderId": "A-1001" }).as_object().unwrap().clone());
    /// assert_eq!(
    ///     serde_json::to_string(&call)?,
    ///     r#"{"id":"t1","name":"get_order","args":{"orderId":"A-1001"}}"#
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn new(id: impl Into<Str>, name: impl Into<Str>, args: Object) -> Self {
        Self { id: id.into(), name: name.into(), args, provider_meta: None, extra: Object::new() }
    }
}

impl Field for ToolCall {
    const SHAPE: Shape = Shape::Json;

    fn to_value(&self) -> Value {
        let mut call = Object::new();
        call.insert("id", self.id.to_value());
        call.insert("name", self.name.to_value());
        call.insert("args", Value::Object(self.args.clone()));
        if let Some(meta) = &self.provider_meta {
            call.insert("providerMeta", meta.clone());
        }
        with_extra(call, &self.extra)
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        let call = object(value)?;
        let args = call.get("args").ok_or_else(|| Misfit::missing("args", "an object"))?;
        Ok(Self {
            id: required(call, "id")?,
            name: required(call, "name")?,
            args: object(args).map_err(|misfit| misfit.under("args"))?.clone(),
            provider_meta: optional(call, "providerMeta")?,
            extra: unknown(call, &["id", "name", "args", "providerMeta"]),
        })
    }
}

/// One block of a model's thinking (LLM §8). Signatures are opaque bytes, never trimmed or re-encoded
/// (LLM-91).
#[derive(Clone, Debug, PartialEq)]
pub struct ThinkingBlock {
    /// Recorded as `type`.
    pub kind: ThinkingKind,
    /// Recorded as `content`.
    pub content: Str,
    /// Recorded as `signature`.
    pub signature: Option<Str>,
    /// Recorded as `summary`: the text is a summary of the thinking.
    pub summary: Option<bool>,
    /// Recorded as `providerMeta`; stripped where a block enters state or an event.
    pub provider_meta: Option<Value>,
    /// Recorded as `origin`: the id of the handler that made the block (LLM-92).
    pub origin: Option<Str>,
    /// Fields this version does not know.
    pub extra: Object,
}

impl ThinkingBlock {
    /// A block of plain thinking.
    #[must_use]
    pub fn thinking(content: impl Into<Str>) -> Self {
        Self {
            kind: ThinkingKind::Thinking,
            content: content.into(),
            signature: None,
            summary: None,
            provider_meta: None,
            origin: None,
            extra: Object::new(),
        }
    }

    /// A block whose content the provider encrypted.
    #[must_use]
    pub fn redacted(data: impl Into<Str>) -> Self {
        Self { kind: ThinkingKind::RedactedThinking, ..Self::thinking(data) }
    }

    /// The block without provider data, as state keeps it (LLM-88).
    #[must_use]
    pub fn without_provider_meta(mut self) -> Self {
        self.provider_meta = None;
        self
    }
}

impl Field for ThinkingBlock {
    const SHAPE: Shape = Shape::Json;

    fn to_value(&self) -> Value {
        let mut block = Object::new();
        block.insert("type", self.kind.to_value());
        block.insert("content", self.content.to_value());
        let entries = [
            ("signature", self.signature.as_ref().map(Field::to_value)),
            ("summary", self.summary.as_ref().map(Field::to_value)),
            ("providerMeta", self.provider_meta.clone()),
            ("origin", self.origin.as_ref().map(Field::to_value)),
        ];
        for (key, value) in entries {
            if let Some(value) = value {
                block.insert(key, value);
            }
        }
        with_extra(block, &self.extra)
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        let block = object(value)?;
        Ok(Self {
            kind: required(block, "type")?,
            content: required(block, "content")?,
            signature: optional(block, "signature")?,
            summary: optional(block, "summary")?,
            provider_meta: optional(block, "providerMeta")?,
            origin: optional(block, "origin")?,
            extra: unknown(block, &["type", "content", "signature", "summary", "providerMeta", "origin"]),
        })
    }
}

/// The entries of `object` under keys that are not `known`.
pub(super) fn unknown(object: &Object, known: &[&str]) -> Object {
    object
        .iter()
        .filter(|(key, _)| !known.contains(&&***key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

pub(super) fn with_extra(mut object: Object, extra: &Object) -> Value {
    for (key, value) in extra {
        object.insert(key.clone(), value.clone());
    }
    Value::Object(object)
}

/// serde over the [`Field`] form.
macro_rules! serde_by_field {
    ($($name:ty),+) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.to_value().serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = Value::deserialize(deserializer)?;
                Self::from_value(&value).map_err(serde::de::Error::custom)
            }
        }
    )+};
}

serde_by_field!(ToolCall, ThinkingBlock, super::Message, super::Messages);
