//! Objects that several payloads hold (EVT §4).

use footprint::value::{Str, Value};

use super::record::record;
use super::words::{Stratum, ThinkingKind};

record! {
    /// The call at which a batch stopped.
    pub struct PausedCall {
        req tool_call_id = "toolCallId": Str as id,
        req tool_name = "toolName": Str as name,
    }

    /// This call never ran, because the batch stopped at another one (TOOL-31).
    pub struct NotDispatched {
        req paused_call = "pausedCall": PausedCall,
    }

    /// One thing that was looked at, was not, or cannot be.
    pub struct CoverageItem {
        req what: Str,
        opt why: Str,
    }

    /// One condition of a guard, judged.
    pub struct GuardConditionRecord {
        req key: Str as name,
        req op: Str as name,
        /// A string, number, boolean, null, or a list of them.
        req value: Value,
        req actual_summary = "actualSummary": Str,
        req passed: bool,
    }

    /// A guard of a skill edge, judged on a tool's result.
    pub struct GuardRecord {
        req from: Str as id,
        req to: Str as id,
        req tool_name = "toolName": Str as name,
        opt tool_call_id = "toolCallId": Str as id,
        req verdict: bool,
        req conditions: Vec<GuardConditionRecord>,
    }

    /// A block of a model's thinking as events carry it: provider data stripped.
    pub struct ThinkingBlock {
        req kind = "type": ThinkingKind,
        req content: Str,
        opt signature: Str,
        opt summary: bool,
    }

    /// What an assertion or finding is about.
    pub struct SubjectRef {
        req kind: Str as name,
        req id: Str,
    }

    /// Something somebody said about a subject.
    pub struct Assertion {
        req subject: SubjectRef,
        req predicate: Str as name,
        req value: Value,
        opt epoch: i64,
        req stratum: Stratum,
        req provenance: Str,
        opt runtime_stage_id = "runtimeStageId": Str as id,
        flag synthetic,
    }

    /// What in a text spoke for a choice.
    pub struct Witness {
        req text: Str,
        opt keyword: Str,
    }

    /// One step of a declared procedure.
    pub struct StepRef {
        req index: u64,
        req total: u64,
        req tool: Str as name,
        req note: Str,
    }

    /// A reference to an artifact and what kind it is.
    pub struct RefKind {
        req reference = "ref": Str as id,
        req kind: Str as name,
    }

    /// A provider and one of its models.
    pub struct ProviderModel {
        req provider: Str as name,
        req model: Str as name,
    }
}

impl From<&crate::message::ThinkingBlock> for ThinkingBlock {
    fn from(block: &crate::message::ThinkingBlock) -> Self {
        Self {
            kind: block.kind.clone(),
            content: block.content.clone(),
            signature: block.signature.clone(),
            summary: block.summary,
        }
    }
}

/// The ground alone, without a reason.
impl From<&str> for CoverageItem {
    fn from(what: &str) -> Self {
        Self::new(what)
    }
}

/// The ground alone, without a reason.
impl From<String> for CoverageItem {
    fn from(what: String) -> Self {
        Self::new(Str::from(what))
    }
}

/// The ground alone, without a reason.
impl From<Str> for CoverageItem {
    fn from(what: Str) -> Self {
        Self::new(what)
    }
}

/// The ground and the reason.
impl<W: Into<Str>, R: Into<Str>> From<(W, R)> for CoverageItem {
    fn from((what, why): (W, R)) -> Self {
        Self { what: what.into(), why: Some(why.into()) }
    }
}
