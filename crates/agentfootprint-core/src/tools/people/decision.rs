//! What a person answered.

use footprint::value::{Object, Str, Value};

/// A person's decision on a gate (TOOL-64).
#[derive(Clone, Debug, PartialEq)]
pub struct CheckInDecision {
    /// Yes or no.
    pub approved: bool,
    /// Who decided.
    pub by: Str,
    /// What they added.
    pub note: Option<Str>,
    /// When, Unix milliseconds; absent when nobody said.
    pub at: Option<u64>,
    /// What they chose; it rides declines too ("none of these").
    pub value: Option<DecisionValue>,
}

/// What the person chose, against which data, out of how much they could see.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionValue {
    /// What kind of choice it is.
    pub kind: Str,
    /// The choice.
    pub value: Value,
    /// The artifact the choice was made against.
    pub from: Option<Str>,
    /// How much the person could see: `{seen, total, filter?}`.
    pub coverage: Option<Value>,
}

/// Approves.
///
/// ```
/// use agentfootprint_core::tools::check_in_approved;
/// let decision = check_in_approved("ann").note("fine").at(1_000).build();
/// assert_eq!(decision.to_value().to_string(), r#"{"approved":true,"by":"ann","note":"fine","at":1000}"#);
/// ```
pub fn check_in_approved(by: impl Into<Str>) -> DecisionBuilder {
    DecisionBuilder::new(true, by)
}

/// Declines.
pub fn check_in_declined(by: impl Into<Str>) -> DecisionBuilder {
    DecisionBuilder::new(false, by)
}

/// Builds a [`CheckInDecision`].
#[derive(Clone, Debug)]
pub struct DecisionBuilder(CheckInDecision);

impl DecisionBuilder {
    fn new(approved: bool, by: impl Into<Str>) -> Self {
        Self(CheckInDecision { approved, by: by.into(), note: None, at: None, value: None })
    }

    /// Adds what the person said.
    #[must_use]
    pub fn note(mut self, note: impl Into<Str>) -> Self {
        self.0.note = Some(note.into());
        self
    }

    /// Says when it was decided.
    #[must_use]
    pub fn at(mut self, unix_ms: u64) -> Self {
        self.0.at = Some(unix_ms);
        self
    }

    /// Adds what the person chose.
    #[must_use]
    pub fn value(mut self, value: DecisionValue) -> Self {
        self.0.value = Some(value);
        self
    }

    /// The decision, stamped with the present unless [`at`](Self::at) said otherwise.
    pub fn build(mut self) -> CheckInDecision {
        self.0.at = self.0.at.or_else(now_ms);
        self.0
    }
}

impl From<DecisionBuilder> for CheckInDecision {
    fn from(builder: DecisionBuilder) -> Self {
        builder.build()
    }
}

/// A decision is made by a person outside any run, so it is timed by the wall clock and not by a run's.
fn now_ms() -> Option<u64> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

impl CheckInDecision {
    /// The recorded form.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("approved", Value::from(self.approved));
        out.insert("by", Value::from(self.by.clone()));
        if let Some(note) = &self.note {
            out.insert("note", Value::from(note.clone()));
        }
        if let Some(at) = self.at {
            out.insert("at", Value::from(at));
        }
        if let Some(value) = &self.value {
            out.insert("value", value.to_value());
        }
        Value::Object(out)
    }

    /// Reads a decision by shape: an object with a boolean `approved` and a text `by` (TOOL-118). Anything else is
    /// no decision.
    pub fn read(value: &Value) -> Option<Self> {
        let members = value.as_object()?;
        Some(Self {
            approved: members.get("approved")?.as_bool()?,
            by: members.get("by")?.as_str()?.into(),
            note: members.get("note").and_then(Value::as_str).map(Str::from),
            at: members.get("at").and_then(Value::as_u64),
            value: members.get("value").and_then(DecisionValue::read),
        })
    }
}

impl DecisionValue {
    /// A choice of a kind.
    pub fn new(kind: impl Into<Str>, value: impl Into<Value>) -> Self {
        Self { kind: kind.into(), value: value.into(), from: None, coverage: None }
    }

    /// The artifact the choice was made against.
    #[must_use]
    pub fn from(mut self, reference: impl Into<Str>) -> Self {
        self.from = Some(reference.into());
        self
    }

    /// How much the person could see.
    #[must_use]
    pub fn coverage(mut self, seen: u64, total: u64, filter: Option<Str>) -> Self {
        let mut out = Object::new();
        out.insert("seen", Value::from(seen));
        out.insert("total", Value::from(total));
        if let Some(filter) = filter {
            out.insert("filter", Value::from(filter));
        }
        self.coverage = Some(Value::Object(out));
        self
    }

    /// The recorded form.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("kind", Value::from(self.kind.clone()));
        out.insert("value", self.value.clone());
        if let Some(from) = &self.from {
            out.insert("from", Value::from(from.clone()));
        }
        if let Some(coverage) = &self.coverage {
            out.insert("coverage", coverage.clone());
        }
        Value::Object(out)
    }

    fn read(value: &Value) -> Option<Self> {
        let members = value.as_object()?;
        Some(Self {
            kind: members.get("kind")?.as_str()?.into(),
            value: members.get("value")?.clone(),
            from: members.get("from").and_then(Value::as_str).map(Str::from),
            coverage: members.get("coverage").cloned(),
        })
    }
}

/// What a paused run is resumed with (TOOL-118).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ResumeAnswer {
    /// A person's decision on a gate: a check-in or a middleware's question.
    Decision(CheckInDecision),
    /// Any value; the result of a tool that paused.
    Value(Value),
    /// Nothing: only a consent pause accepts it.
    #[default]
    None,
}

impl ResumeAnswer {
    /// Reads an answer that came as JSON, by shape.
    pub fn read(value: Option<Value>) -> Self {
        match value {
            None => Self::None,
            Some(value) => match CheckInDecision::read(&value) {
                Some(decision) => Self::Decision(decision),
                None => Self::Value(value),
            },
        }
    }

    /// The plain value the engine carries to the paused stage.
    pub fn into_value(self) -> Option<Value> {
        match self {
            Self::Decision(decision) => Some(decision.to_value()),
            Self::Value(value) => Some(value),
            Self::None => None,
        }
    }
}

impl From<CheckInDecision> for ResumeAnswer {
    fn from(decision: CheckInDecision) -> Self {
        Self::Decision(decision)
    }
}

impl From<DecisionBuilder> for ResumeAnswer {
    fn from(decision: DecisionBuilder) -> Self {
        Self::Decision(decision.build())
    }
}

impl From<Value> for ResumeAnswer {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<&str> for ResumeAnswer {
    fn from(text: &str) -> Self {
        Self::Value(Value::from(text))
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    /// Proves TOOL-64, TOOL-118.
    #[test]
    fn answers_are_told_apart_by_shape() {
        let decision = check_in_declined("bob").at(7).note("too much").value(
            DecisionValue::new("seat", value!(null)).from("art_1").coverage(4, 9, Some("free".into())),
        );
        let value = decision.clone().build().to_value();
        assert_eq!(ResumeAnswer::read(Some(value.clone())), ResumeAnswer::Decision(decision.build()));
        assert_eq!(value.walk(&["value", "coverage", "total"]), Some(&value!(9)));
        assert!(check_in_approved("ann").build().at.is_some());
        for plain in [value!({ "approved": "yes", "by": "x" }), value!({ "approved": true }), value!("yes")] {
            assert_eq!(ResumeAnswer::read(Some(plain.clone())), ResumeAnswer::Value(plain));
        }
        assert_eq!(ResumeAnswer::read(None), ResumeAnswer::None);
    }
}
