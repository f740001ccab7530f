//! The port a permission checker implements.

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::MemoryIdentity;
use agentfootprint_record::events::words::PermissionCapability;
use agentfootprint_record::message::Messages;
use async_trait::async_trait;
use footprint::value::{Array, Object, Str, Value};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// Decides whether something may happen.
///
/// `tool_call` is always asked. Every other capability is asked only when both sides speak: the tool declares it and
/// [`governs`](Self::governs) lists it (TOOL-34).
#[async_trait]
pub trait PermissionChecker: Send + Sync {
    /// The checker's name: recorded as the checker of a halt.
    fn name(&self) -> &str;

    /// The capabilities it decides besides `tool_call`.
    fn governs(&self) -> &[PermissionCapability] {
        &[]
    }

    /// Whether calls tools make among themselves are asked as well.
    fn governs_inner(&self) -> bool {
        false
    }

    /// Decides. An error is a denial: an outage opens nothing.
    async fn check(&self, request: &PermissionRequest) -> Result<PermissionDecision, CheckError>;
}

/// What a checker is asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PermissionRequest {
    /// What is to be done.
    pub capability: PermissionCapability,
    /// Who acts; always `agent`.
    pub actor: &'static str,
    /// The tool, or `skill:<id>`.
    pub target: Str,
    /// The arguments of the call.
    pub context: Value,
    /// The calls that really ran before this one, in order. Only with `tool_call`.
    pub sequence: CallSequence,
    /// The conversation, including the assistant turn that asks.
    pub history: Messages,
    /// The iteration.
    pub iteration: u32,
    /// The identity the caller stated.
    pub identity: Option<Arc<MemoryIdentity>>,
    /// Cancelled when the run is.
    pub cancel: CancellationToken,
}

/// The calls that ran earlier in a conversation, in order. Cheap to clone at any length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallSequence(Array);

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct SequenceCall<'a>(&'a Value);

impl CallSequence {
    pub(crate) fn push(&mut self, name: Str, args: Value, iteration: u32, provider_id: Option<Str>) {
        let mut row = Object::new();
        row.insert("name", Value::from(name));
        row.insert("args", args);
        row.insert("iteration", Value::from(iteration));
        if let Some(provider) = provider_id {
            row.insert("providerId", Value::from(provider));
        }
        self.0.push(Value::Object(row));
    }

    /// How many ran.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none ran.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The calls in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = SequenceCall<'_>> {
        self.0.iter().map(SequenceCall)
    }

    /// The recorded form: `[{name, args, iteration, providerId?}]`.
    pub fn to_value(&self) -> Value {
        Value::Array(self.0.clone())
    }
}

impl<'a> SequenceCall<'a> {
    /// The tool.
    pub fn name(self) -> &'a str {
        self.0.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Its arguments.
    pub fn args(self) -> &'a Value {
        self.0.get("args").unwrap_or(&Value::Null)
    }

    /// The model call that asked for it, from 1 within its turn.
    pub fn iteration(self) -> u64 {
        self.0.get("iteration").and_then(Value::as_u64).unwrap_or_default()
    }

    /// The provider that supplied the tool, when one did.
    pub fn provider_id(self) -> Option<&'a str> {
        self.0.get("providerId").and_then(Value::as_str)
    }
}

/// What a checker decides.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PermissionDecision {
    /// Whether it may happen.
    pub verdict: PermissionVerdict,
    /// The rule that decided; recorded.
    pub policy_rule_id: Option<Str>,
    /// Why, for people; recorded, and part of a denial the model reads.
    pub rationale: Option<Str>,
    /// The gate that is open.
    pub gate_id: Option<Str>,
    /// A tag for telemetry; recorded, never shown to the model.
    pub reason: Option<Str>,
    /// What the model reads instead of the framework's own text.
    pub tell_llm: Option<Str>,
}

/// The four answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionVerdict {
    /// It may.
    Allow,
    /// It may not; the loop goes on.
    Deny,
    /// It may not, and the run ends.
    Halt,
    /// It may, because a gate is open.
    GateOpen,
}

impl PermissionDecision {
    fn new(verdict: PermissionVerdict) -> Self {
        Self { verdict, policy_rule_id: None, rationale: None, gate_id: None, reason: None, tell_llm: None }
    }

    /// It may.
    pub fn allow() -> Self {
        Self::new(PermissionVerdict::Allow)
    }

    /// It may not, and why: the rationale is what the model reads.
    pub fn deny(rationale: impl Into<Str>) -> Self {
        Self { rationale: Some(rationale.into()), ..Self::new(PermissionVerdict::Deny) }
    }

    /// It may not, and the run ends. The reason is a tag for telemetry; the model never reads it.
    pub fn halt(reason: impl Into<Str>) -> Self {
        Self { reason: Some(reason.into()), ..Self::new(PermissionVerdict::Halt) }
    }

    /// It may, because this gate is open.
    pub fn gate_open(gate_id: impl Into<Str>) -> Self {
        Self { gate_id: Some(gate_id.into()), ..Self::new(PermissionVerdict::GateOpen) }
    }

    /// Names the rule that decided.
    #[must_use]
    pub fn rule(mut self, id: impl Into<Str>) -> Self {
        self.policy_rule_id = Some(id.into());
        self
    }

    /// Says why, for people.
    #[must_use]
    pub fn rationale(mut self, text: impl Into<Str>) -> Self {
        self.rationale = Some(text.into());
        self
    }

    /// Says what the model reads.
    #[must_use]
    pub fn tell_llm(mut self, text: impl Into<Str>) -> Self {
        self.tell_llm = Some(text.into());
        self
    }

    /// Whether it may happen.
    pub fn proceeds(&self) -> bool {
        matches!(self.verdict, PermissionVerdict::Allow | PermissionVerdict::GateOpen)
    }
}

/// A checker that could not decide. The text is for operators: the model never reads it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct CheckError(pub String);

impl CheckError {
    /// An error with this text.
    pub fn new(text: impl fmt::Display) -> Self {
        Self(text.to_string())
    }
}

/// The target of a `skill_read` request: the one owner of the spelling.
#[cfg_attr(not(test), expect(dead_code, reason = "asked by the skill gate (step 8)"))]
pub(crate) fn skill_target(skill_id: &str) -> Str {
    format!("skill:{skill_id}").into()
}

/// The skill a `skill_read` target names; a bare id is taken as it is.
pub fn skill_of_target(target: &str) -> &str {
    target.strip_prefix("skill:").unwrap_or(target)
}
