//! The effects envelope: how a tool steers without prose (TOOL-69 to TOOL-72).

use agentfootprint_record::events::words::{EffectKind, Lease, ToolResultStatus, Word as _};
use footprint::value::{Array, Object, Str, Value};

/// Content with typed effects and, optionally, a status.
///
/// ```
/// use agentfootprint_core::tools::{ToolEnvelope, ToolResultStatus};
/// let envelope = ToolEnvelope::new("two of three rows").status(ToolResultStatus::Partial);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ToolEnvelope {
    /// What the model reads.
    pub content: Value,
    /// What the tool proposes.
    pub effects: Vec<ToolEffect>,
    /// How the call went, in the tool's own word.
    pub status: Option<ToolResultStatus>,
}

impl ToolEnvelope {
    /// An envelope without effects or status.
    pub fn new(content: impl Into<Value>) -> Self {
        Self { content: content.into(), effects: Vec::new(), status: None }
    }

    /// Declares how the call went.
    #[must_use]
    pub fn status(mut self, status: ToolResultStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// Adds an effect.
    #[must_use]
    pub fn effect(mut self, effect: ToolEffect) -> Self {
        self.effects.push(effect);
        self
    }

    /// The recorded form, keys in the order `content`, `effects`, `status`.
    pub fn into_value(self) -> Value {
        let mut out = Object::new();
        out.insert("content", self.content);
        out.insert("effects", Value::Array(self.effects.iter().map(ToolEffect::to_value).collect::<Array>()));
        if let Some(status) = self.status {
            out.insert("status", Value::from(status.word()));
        }
        Value::Object(out)
    }
}

/// Something a tool proposes; whether it happens is judged when the result lands.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolEffect {
    /// Move the skill cursor to this skill.
    ProposeTransition {
        /// Where to.
        target_skill_id: Str,
        /// Why, for the record.
        reason: Option<Str>,
    },
    /// Serve this registered instruction for a while.
    RequireInstruction {
        /// Which.
        instruction_id: Str,
        /// For how long.
        lease: Lease,
    },
    /// A known kind with unusable fields: refused by name, never half-applied.
    Malformed {
        /// The kind it claimed.
        kind: EffectKind,
        /// What is wrong.
        fault: &'static str,
    },
}

impl ToolEffect {
    /// Which kind it is.
    pub fn kind(&self) -> EffectKind {
        match self {
            Self::ProposeTransition { .. } => EffectKind::ProposeTransition,
            Self::RequireInstruction { .. } => EffectKind::RequireInstruction,
            Self::Malformed { kind, .. } => kind.clone(),
        }
    }

    fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("kind", Value::from(self.kind().word()));
        match self {
            Self::ProposeTransition { target_skill_id, reason } => {
                out.insert("targetSkillId", Value::from(target_skill_id.clone()));
                if let Some(reason) = reason {
                    out.insert("reason", Value::from(reason.clone()));
                }
            }
            Self::RequireInstruction { instruction_id, lease } => {
                out.insert("instructionId", Value::from(instruction_id.clone()));
                out.insert("deliveryLease", Value::from(lease.word()));
            }
            Self::Malformed { .. } => {}
        }
        Value::Object(out)
    }

    /// Reads one effect; `None` when it is not an object of a known kind.
    fn read(value: &Value) -> Option<Self> {
        let kind = EffectKind::listed(value.get("kind")?.as_str()?)?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let malformed = |fault| Some(Self::Malformed { kind: kind.clone(), fault });
        match &kind {
            EffectKind::ProposeTransition => match (text("targetSkillId"), value.get("reason")) {
                (None, _) => malformed("targetSkillId is missing or blank"),
                (Some(_), Some(reason)) if reason.as_str().is_none() => malformed("reason is not a text"),
                (Some(target), reason) => Some(Self::ProposeTransition {
                    target_skill_id: target.into(),
                    reason: reason.and_then(Value::as_str).map(Str::from),
                }),
            },
            EffectKind::RequireInstruction => {
                match (text("instructionId"), text("deliveryLease").and_then(Lease::listed)) {
                    (None, _) => malformed("instructionId is missing or blank"),
                    (Some(_), None) => malformed("deliveryLease is not next-call or until-skill-exit"),
                    (Some(id), Some(lease)) => {
                        Some(Self::RequireInstruction { instruction_id: id.into(), lease })
                    }
                }
            }
            EffectKind::Other(_) => None,
        }
    }
}

/// What the recogniser says of a structured result.
#[derive(Clone, Debug, PartialEq)]
pub enum EnvelopeReading {
    /// Exactly the envelope's shape.
    Envelope(ToolEnvelope),
    /// `{content, status}` without `effects`: data, but probably meant as an envelope; worth one warning.
    NearMiss,
    /// Plain data, kept byte for byte.
    Data,
}

/// Recognises an envelope in foreign JSON (TOOL-69): an object whose keys are among `content`, `effects`, `status`,
/// with `content` present, `effects` an array of known kinds, `status` from the closed set, and not both empty.
///
/// Only structured values are looked at, never a text that looks like JSON.
pub fn read_envelope(value: &Value) -> EnvelopeReading {
    let Value::Object(members) = value else { return EnvelopeReading::Data };
    if !members.keys().all(|key| matches!(&**key, "content" | "effects" | "status")) {
        return EnvelopeReading::Data;
    }
    let Some(content) = members.get("content") else { return EnvelopeReading::Data };
    let status = match members.get("status") {
        None => None,
        Some(status) => match status.as_str().and_then(ToolResultStatus::listed) {
            Some(status) => Some(status),
            None => return EnvelopeReading::Data,
        },
    };
    let Some(effects) = members.get("effects") else {
        return if status.is_some() { EnvelopeReading::NearMiss } else { EnvelopeReading::Data };
    };
    let Some(effects) =
        effects.as_array().and_then(|list| list.iter().map(ToolEffect::read).collect::<Option<Vec<_>>>())
    else {
        return EnvelopeReading::Data;
    };
    if effects.is_empty() && status.is_none() {
        return EnvelopeReading::Data;
    }
    EnvelopeReading::Envelope(ToolEnvelope { content: content.clone(), effects, status })
}

#[cfg(test)]
mod tests {
    use footprint::value;
    use proptest::prelude::*;

    use super::*;

    fn envelope(value: Value) -> ToolEnvelope {
        match read_envelope(&value) {
            EnvelopeReading::Envelope(envelope) => envelope,
            other => panic!("{value} read as {other:?}"),
        }
    }

    /// Proves TOOL-69, TOOL-70.
    #[test]
    fn the_exact_shape_is_recognised() {
        let read = envelope(value!({ "content": { "rows": 2 }, "effects": [
            { "kind": "propose-transition", "targetSkillId": "billing", "reason": "an invoice" },
            { "kind": "require-instruction", "instructionId": "careful", "deliveryLease": "next-call" },
            { "kind": "propose-transition", "targetSkillId": " " },
            { "kind": "require-instruction", "instructionId": "careful", "deliveryLease": "forever" },
        ], "status": "partial" }));
        assert_eq!(read.content, value!({ "rows": 2 }));
        assert_eq!(read.status, Some(ToolResultStatus::Partial));
        assert!(
            matches!(&read.effects[0], ToolEffect::ProposeTransition { target_skill_id, .. } if &**target_skill_id == "billing")
        );
        assert!(matches!(&read.effects[1], ToolEffect::RequireInstruction { lease: Lease::NextCall, .. }));
        assert!(
            matches!(&read.effects[2], ToolEffect::Malformed { fault, .. } if fault.contains("targetSkillId"))
        );
        assert!(
            matches!(&read.effects[3], ToolEffect::Malformed { fault, .. } if fault.contains("deliveryLease"))
        );
        for word in ToolResultStatus::WORDS {
            let value = value!({ "content": null, "effects": [], "status": (*word) });
            assert_eq!(envelope(value).status, ToolResultStatus::listed(word));
        }
    }

    /// Proves TOOL-69.
    #[test]
    fn anything_else_is_data() {
        for value in [
            value!("{\"content\":1,\"effects\":[],\"status\":\"success\"}"),
            value!({ "content": 1 }),
            value!({ "content": 1, "effects": [] }),
            value!({ "effects": [], "status": "success" }),
            value!({ "content": 1, "effects": [], "status": "done" }),
            value!({ "content": 1, "effects": [{ "kind": "explode" }], "status": "success" }),
            value!({ "content": 1, "effects": {}, "status": "success" }),
            value!({ "content": 1, "effects": [], "status": "success", "more": 1 }),
        ] {
            assert_eq!(read_envelope(&value), EnvelopeReading::Data, "{value}");
        }
        assert_eq!(read_envelope(&value!({ "content": 1, "status": "success" })), EnvelopeReading::NearMiss);
    }

    proptest! {
        /// Proves TOOL-69.
        #[test]
        fn a_typed_envelope_reads_back(text in ".*", target in "[a-z]{1,8}", status in 0usize..7) {
            let envelope = ToolEnvelope::new(text)
                .status(ToolResultStatus::listed(ToolResultStatus::WORDS[status]).unwrap())
                .effect(ToolEffect::ProposeTransition { target_skill_id: target.into(), reason: None });
            prop_assert_eq!(read_envelope(&envelope.clone().into_value()), EnvelopeReading::Envelope(envelope));
        }
    }
}
