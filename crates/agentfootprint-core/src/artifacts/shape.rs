//! References, tickets and payloads.

use std::fmt;

use agentfootprint_record::MemoryIdentity;
use bytes::Bytes;
use footprint::value::{Str, Value};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::mint::ARTIFACT_REF_CHARS;

/// Whose artifacts: the identity a run acts for. One type, not a twin.
pub type ArtifactScope = MemoryIdentity;

/// A ticket's number: `art_` and 22 letters or digits. It is drawn at random and never derived from the payload.
///
/// ```
/// use agentfootprint_core::artifacts::ArtifactRef;
/// assert!(ArtifactRef::parse("art_0123456789abcdefghijKL").is_some());
/// assert!(ArtifactRef::parse("art_0123456789abcdefghijK/").is_none());
/// assert!(ArtifactRef::parse("art_short").is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ArtifactRef(Str);

/// What every reference starts with.
pub(super) const PREFIX: &str = "art_";

impl ArtifactRef {
    /// Reads a reference; anything of another form is none.
    pub fn parse(text: &str) -> Option<Self> {
        let body = text.strip_prefix(PREFIX)?;
        let legal = body.len() == ARTIFACT_REF_CHARS && body.bytes().all(|byte| byte.is_ascii_alphanumeric());
        legal.then(|| Self(text.into()))
    }

    pub(super) fn minted(text: String) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, shared.
    pub fn to_str(&self) -> Str {
        self.0.clone()
    }
}

impl fmt::Display for ArtifactRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ArtifactRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Str::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not an artifact reference"))
    }
}

/// Which call of which run made an artifact. Stamped by the framework, never by a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactOrigin {
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Str>,
    /// The call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Str>,
}

/// The ticket: everything about an artifact except what it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactMeta {
    /// The number.
    #[serde(rename = "ref")]
    pub reference: ArtifactRef,
    /// What kind of thing it is, in the application's own words.
    pub kind: Str,
    /// Its media type.
    pub media_type: Str,
    /// Size of its canonical bytes.
    pub bytes: u64,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Str>,
    /// `sha-256:<hex>` of its canonical bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Str>,
    /// When it leaves, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Which call made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ArtifactOrigin>,
    /// What it was made from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parent_refs: Vec<ArtifactRef>,
    /// When it was minted, Unix milliseconds of the store's clock.
    pub created_at: u64,
    /// Keys of other writers; they survive a round trip.
    #[serde(flatten)]
    pub extra: IndexMap<Str, Value>,
}

/// What an artifact holds. Shared and immutable: a later change of the caller's value cannot reach it.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum ArtifactData {
    /// A text.
    Text(Str),
    /// Raw bytes.
    Binary(Bytes),
    /// A JSON value.
    Json(Value),
}

impl ArtifactData {
    /// A text.
    pub fn text(text: impl Into<Str>) -> Self {
        Self::Text(text.into())
    }

    /// The canonical bytes: UTF-8 of a text, compact JSON, or the bytes themselves.
    pub fn canonical_bytes(&self) -> Bytes {
        match self {
            Self::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
            Self::Binary(bytes) => bytes.clone(),
            Self::Json(value) => Bytes::from(value.to_string()),
        }
    }
}

impl From<Value> for ArtifactData {
    /// A text stays a text; everything else is JSON.
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            other => Self::Json(other),
        }
    }
}

impl fmt::Debug for ArtifactData {
    /// The shape only: payloads reach no log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "Text(..)",
            Self::Binary(_) => "Binary(..)",
            Self::Json(_) => "Json(..)",
        })
    }
}

/// A ticket with its payload.
#[derive(Clone, Debug, PartialEq)]
pub struct ArtifactRecord {
    /// The ticket.
    pub meta: ArtifactMeta,
    /// The payload.
    pub data: ArtifactData,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves MEM-122: a ticket of a newer writer keeps what this one does not know.
    #[test]
    fn unknown_keys_of_a_ticket_survive() {
        let text = r#"{"ref":"art_0123456789abcdefghijKL","kind":"table","mediaType":"text/csv","bytes":3,"createdAt":7,"timeAxis":{"from":1}}"#;
        let meta: ArtifactMeta = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&meta).unwrap(), text);
        assert!(serde_json::from_str::<ArtifactMeta>(&text.replace("art_", "bad_")).is_err());
    }

    /// Proves MEM-4: a payload reaches no log.
    #[test]
    fn a_payload_is_not_printed() {
        let record = format!("{:?}", ArtifactData::text("a secret row"));
        assert_eq!(record, "Text(..)");
    }
}
