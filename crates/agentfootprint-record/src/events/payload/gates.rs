use footprint::value::{Str, Value};

use crate::events::record::record;
use crate::events::words::{
    CostScope, CredentialMode, EvalTarget, Evaluator, FallbackKind, LimitAction, LimitKind,
    PermissionCapability, PermissionResult, PolicyEngine, RiskAction, RiskCategory, RiskDetector,
    RiskSeverity, ThresholdSide,
};

record! {
    /// One argument that does not fit the schema; never its value (TOOL-5).
    pub struct ArgsIssue {
        req path: Str,
        req expected: Str,
        req got: Str,
    }

    /// Arguments fail their schema.
    pub struct ValidationArgsInvalid {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        req issues: Vec<ArgsIssue>,
        req enforced: bool,
    }

    /// A permission was decided.
    pub struct PermissionCheck {
        req capability: PermissionCapability,
        req actor: Str,
        opt target: Str,
        req result: PermissionResult,
        opt policy_engine = "policyEngine": PolicyEngine,
        opt policy_rule_id = "policyRuleId": Str as id,
        opt rationale: Str,
        opt reason: Str,
    }

    /// A gate was opened.
    pub struct PermissionGateOpened {
        req gate_id = "gateId": Str as id,
        req opened_by = "openedBy": Str,
        opt expires_at = "expiresAt": u64,
    }

    /// A gate was closed.
    pub struct PermissionGateClosed {
        req gate_id = "gateId": Str as id,
        req reason: Str,
    }

    /// A checker halted the run.
    pub struct PermissionHalt {
        opt checker_id = "checkerId": Str as id,
        req target: Str,
        req reason: Str,
        opt tell_llm = "tellLLM": Str,
        req iteration: u64,
        req sequence_length = "sequenceLength": u64,
    }

    /// A tool needs a credential.
    pub struct CredentialRequested {
        req service: Str as name,
        opt mode: CredentialMode,
    }

    /// It got one; the credential itself is never here (EVT-25).
    pub struct CredentialAcquired {
        req service: Str as name,
        req kind: Str as name,
        opt expires_at = "expiresAt": u64,
    }

    /// A person must consent; the consent URL is never here (EVT-25).
    pub struct CredentialAuthorizationRequired {
        req service: Str as name,
        req session_id = "sessionId": Str as id,
    }

    /// It got none.
    pub struct CredentialFailed {
        req service: Str as name,
        req reason: Str,
        opt tool: Str as name,
        opt error_class = "errorClass": Str as name,
    }

    /// Somebody flagged a risk.
    pub struct RiskFlagged {
        req severity: RiskSeverity,
        req category: RiskCategory,
        req detector: RiskDetector,
        req evidence: Value,
        req action: RiskAction,
    }

    /// A fallback replaced what failed.
    pub struct FallbackTriggered {
        req kind: FallbackKind,
        req primary: Str as name,
        req fallback: Str as name,
        req reason: Str,
    }

    /// What the scope cost so far.
    pub struct CostTotals {
        req tokens_input = "tokensInput": u64,
        req tokens_output = "tokensOutput": u64,
        req estimated_usd = "estimatedUsd": f64,
    }

    /// A priced call finished.
    pub struct CostTick {
        req scope: CostScope,
        req model: Str as name,
        opt provider: Str as name,
        req tokens_input = "tokensInput": u64,
        req tokens_output = "tokensOutput": u64,
        req estimated_usd = "estimatedUsd": f64,
        req cumulative: CostTotals,
        /// Kinds of tokens without a price (LLM-139).
        opt unpriced: Vec<Str> as name,
    }

    /// A limit was crossed for the first time.
    pub struct CostLimitHit {
        req kind: LimitKind,
        req limit: f64,
        req actual: f64,
        req action: LimitAction,
    }

    /// An evaluation scored something.
    pub struct EvalScore {
        req metric_id = "metricId": Str as id,
        req value: f64,
        opt threshold: f64,
        req target: EvalTarget,
        req target_ref = "targetRef": Str as id,
        opt evaluator: Evaluator,
        opt evidence: Value,
    }

    /// A score crossed its threshold.
    pub struct EvalThresholdCrossed {
        req metric_id = "metricId": Str as id,
        req direction: ThresholdSide,
        req value: f64,
        req threshold: f64,
        opt action_taken = "actionTaken": Str,
    }
}
