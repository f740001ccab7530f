//! What each refusal and each failure says: it names the offender and the way on, and no secret.

use agentfootprint_core::llm::LlmError;
use agentfootprint_core::run::{
    AgentRunCheckpoint, AskComponentFault, DeliveryError, NoConversationReason, RunError, RunRefusal,
};
use agentfootprint_core::tools::Secret;
use footprint::error::StageError;

use crate::support::json;

/// Proves AGT-19, AGT-100, AGT-105, TOOL-60, TOOL-105: the refusals of AGT §5.
#[test]
fn every_refusal_names_what_it_must() {
    let cases: Vec<(RunRefusal, &str, &str, &str)> = vec![
        (
            RunRefusal::InvalidInput { runner: "Agent.run".into(), received: "number".into() },
            "InvalidRunInputError",
            "ERR_INVALID_RUN_INPUT",
            "Agent.run: a run needs a non-blank text message, got number",
        ),
        (
            RunRefusal::RunInFlight { run_id: "run-1-2".into() },
            "RunInFlightError",
            "ERR_RUN_IN_FLIGHT",
            "run run-1-2 of this conversation has not finished; a conversation answers one message at a time",
        ),
        (
            RunRefusal::PendingQuestion { tool_name: "pay".into(), tool_call_id: "c1".into() },
            "PendingQuestionError",
            "ERR_PENDING_QUESTION",
            "tool `pay` (call c1) waits for an answer; resume with the answer, or abandon the pause",
        ),
        (
            RunRefusal::ConversationMismatch { what: "agent", ours: "a".into(), theirs: "b".into() },
            "ConversationMismatchError",
            "ERR_CONVERSATION_MISMATCH",
            "the checkpoint belongs to agent `b`, this is agent `a`",
        ),
        (
            RunRefusal::DecisionRequired {
                gate: "ask",
                tool_name: Some("pay".into()),
                middleware: Some("guard".into()),
                received: "string".into(),
            },
            "DecisionRequiredError",
            "ERR_DECISION_REQUIRED",
            "the ask gate of tool `pay` (asked by middleware `guard`) is resumed with a decision (`{approved, by}`), got string",
        ),
        (
            RunRefusal::StaleDecision { asked: "art_1".into(), answered: "art_2".into() },
            "StaleDecisionError",
            "ERR_STALE_DECISION",
            "the decision was made on `art_2`, the question is about `art_1`",
        ),
        (
            RunRefusal::PauseAnswerRequired { tool_name: "ask".into(), tool_call_id: "c1".into() },
            "PauseAnswerRequiredError",
            "ERR_PAUSE_ANSWER_REQUIRED",
            "tool `ask` (call c1) asked a question; resume it with an answer",
        ),
        (
            RunRefusal::Delivery(DeliveryError::EmptyContent { injection: "i".into() }),
            "DeliveryError",
            "ERR_DELIVERY",
            "injection `i` has a message without text",
        ),
    ];
    for (refusal, name, code, text) in cases {
        assert_eq!((refusal.name(), refusal.code(), &*refusal.to_string()), (name, code, text));
        let error = RunError::from(refusal);
        assert_eq!((error.name(), error.code(), &*error.to_string()), (name, Some(code), text));
    }
    for (reason, said) in [
        (NoConversationReason::NeverRun, "there is no finished turn to continue from: "),
        (NoConversationReason::LastRunUnfinished, "there is no finished turn to continue from: "),
    ] {
        let refusal = RunRefusal::NoConversation { reason };
        assert!(refusal.to_string().starts_with(said) && refusal.to_string().len() > said.len());
        assert_eq!(refusal.code(), "ERR_NO_CONVERSATION");
    }
    let malformed = AgentRunCheckpoint::from_json(r#"{"version":2}"#).unwrap_err();
    assert_eq!(malformed.name(), "InvalidCheckpointError");
    assert!(malformed.to_string().contains("version"), "{malformed}");
    let forced = RunRefusal::ForcedToolChoice { provider: "p".into(), model: "m".into() };
    assert!(forced.to_string().contains("`p`") && forced.to_string().contains("`m`"));
}

fn crash() -> RunError {
    let stored = json!({
        "version": 1, "runId": "run-1-1", "history": [{"role": "user", "content": "s3cret words"}],
        "lastCompletedIteration": 3, "originalInput": {"message": "s3cret words"}, "checkpointedAt": 5,
    });
    let checkpoint = AgentRunCheckpoint::from_json(&stored.to_string()).unwrap();
    RunError::Checkpoint {
        cause: Box::new(RunError::Llm(LlmError::foreign("ServiceError", "slow down"))),
        checkpoint: Box::new(checkpoint),
    }
}

/// Proves AGT-27: the failures of AGT §5, their codes, what they name, and which of them end the turn for good.
#[test]
fn every_failure_names_what_it_must() {
    let halt = RunError::PolicyHalt {
        reason: "too-many".into(),
        target: "read".into(),
        iteration: 2,
        checker_id: Some("trip".into()),
        tell_llm: None,
        sequence: json!([{"name": "read", "args": {"path": "s3cret"}}]),
        history: json!([]),
    };
    let cases: Vec<(RunError, &str, &str, bool, &[&str])> = vec![
        (crash(), "RunCheckpointError", "ERR_RUN_CHECKPOINT", true, &["iteration 3", "slow down"]),
        (halt, "PolicyHaltError", "ERR_POLICY_HALT", true, &["`read`", "too-many", "halted"]),
        (
            RunError::MessageDenied {
                reason: "not here".into(),
                phase: "input".into(),
                middleware: "gate".into(),
            },
            "MessageDeniedError",
            "ERR_MESSAGE_DENIED",
            true,
            &["`gate`", "input", "not here"],
        ),
        (
            RunError::ReliabilityFailFast {
                kind: "throttled".into(),
                reason: "gave up".into(),
                cause_name: None,
                cause_message: None,
                payload: json!({}),
            },
            "ReliabilityFailFastError",
            "ERR_RELIABILITY_FAIL_FAST",
            true,
            &["throttled", "gave up"],
        ),
        (
            RunError::UnsupportedValues { values: json!([{"value": "px-1", "shape": "id"}]) },
            "UnsupportedValuesError",
            "ERR_UNSUPPORTED_VALUES",
            true,
            &["px-1"],
        ),
        (
            RunError::CompactionUnmeasurable { strategy: "budget".into(), provider: "echo".into() },
            "CompactionUnmeasurableError",
            "ERR_COMPACTION_UNMEASURABLE",
            true,
            &["`budget`", "`echo`", "counted, not guessed"],
        ),
        (
            RunError::CredentialConsentRequired {
                service: "crm".into(),
                tool: "mail".into(),
                iteration: 1,
                session_id: "c-1".into(),
                authorization_url: Secret::new("https://s3cret"),
            },
            "CredentialConsentRequiredError",
            "ERR_CREDENTIAL_CONSENT_REQUIRED",
            true,
            &["`crm`", "`mail`"],
        ),
        (
            RunError::CheckerDead { checks: vec!["wire".into()] },
            "CheckerDeadError",
            "ERR_CHECKER_DEAD",
            true,
            &["wire"],
        ),
        (
            RunError::AnswerValidation {
                validator: "claims".into(),
                checks: vec!["total (checked-fail)".into()],
                report: json!(null),
            },
            "AnswerValidationError",
            "ERR_ANSWER_VALIDATION",
            true,
            &["claims", "total (checked-fail)"],
        ),
        (
            RunError::InvalidAskComponent {
                fault: AskComponentFault::UnresolvedRef,
                door: "ask_human",
                reference: Some("art_1".into()),
            },
            "InvalidAskComponentError",
            "ERR_INVALID_ASK_COMPONENT",
            false,
            &["ask_human", "cannot be read now"],
        ),
        (
            RunError::RoutingDecision { what: "no JSON".into(), roster: vec!["a".into(), "b".into()] },
            "RoutingDecisionError",
            "ERR_ROUTING_DECISION",
            false,
            &["no JSON", "a, b"],
        ),
        (
            RunError::Delivery(DeliveryError::EmptyMessage {
                position: 4,
                role: "user".into(),
                origin: "fact".into(),
            }),
            "DeliveryError",
            "ERR_DELIVERY",
            false,
            &["message 4", "user", "fact"],
        ),
        (
            RunError::EvidenceRecovery { what: "too many rounds".into() },
            "EvidenceRecoveryError",
            "ERR_EVIDENCE_RECOVERY",
            true,
            &["too many rounds"],
        ),
        (
            RunError::MemoryWrite {
                memory: "facts".into(),
                stage: "write".into(),
                answer: "s3cret answer".into(),
            },
            "MemoryWriteError",
            "ERR_MEMORY_WRITE",
            true,
            &["`facts`", "`write`"],
        ),
        (
            RunError::Cancelled { reason: "by the caller".into(), at_stage: Some("call-llm#18".into()) },
            "Cancelled",
            "ERR_CANCELLED",
            false,
            &["by the caller"],
        ),
        (
            RunError::InvalidRunConfig { what: "configure() returned blank model".into() },
            "InvalidRunConfigError",
            "ERR_INVALID_RUN_CONFIG",
            false,
            &["blank model"],
        ),
        (
            RunError::Stage {
                stage: "seed#0".into(),
                error: StageError::named("Odd", "odd").with_code("ERR_ODD"),
            },
            "Odd",
            "ERR_ODD",
            false,
            &["`seed#0`", "odd"],
        ),
    ];
    for (error, name, code, terminal, named) in cases {
        let text = error.to_string();
        assert_eq!((error.name(), error.code(), error.is_terminal()), (name, Some(code), terminal));
        for word in named {
            assert!(text.contains(word), "{name} says `{text}`, not `{word}`");
        }
        assert!(!text.contains("s3cret"), "{text}");
        assert!(!error.human_message().contains("s3cret"));
    }
}
