//! How a run is refused, and how it fails (AGT §5).

use footprint::error::StageError;
use footprint::value::{Str, Value};

use super::ask_fault::AskComponentFault;
use super::checkpoint::AgentRunCheckpoint;
use super::report::PauseOutcome;
use crate::llm::LlmError;
use crate::tools::Secret;

/// Refused before a run id existed: nothing happened, nothing was recorded, nothing was consumed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunRefusal {
    /// The input is not a message (AGT-19).
    #[error("{runner}: a run needs a non-blank text message, got {received}")]
    InvalidInput {
        /// The call that was made, such as `Agent.run`.
        runner: String,
        /// The shape of what was received; never the value.
        received: String,
    },
    /// A second turn on a conversation while one is open.
    #[error(
        "run {run_id} of this conversation has not finished; a conversation answers one message at a time"
    )]
    RunInFlight {
        /// The open run.
        run_id: Str,
    },
    /// A new turn while a question is unanswered.
    #[error(
        "tool `{tool_name}` (call {tool_call_id}) waits for an answer; resume with the answer, or abandon the pause"
    )]
    PendingQuestion {
        /// The tool that asked.
        tool_name: Str,
        /// The call that waits.
        tool_call_id: Str,
    },
    /// Nothing to continue from.
    #[error("there is no finished turn to continue from: {reason}")]
    NoConversation {
        /// Which of the two reasons.
        reason: NoConversationReason,
    },
    /// A checkpoint of another agent or another conversation.
    #[error("the checkpoint belongs to {what} `{theirs}`, this is {what} `{ours}`")]
    ConversationMismatch {
        /// `agent` or `conversation`.
        what: &'static str,
        /// The id here.
        ours: Str,
        /// The id in the checkpoint.
        theirs: Str,
    },
    /// A checkpoint that cannot be used.
    #[error("the checkpoint is not usable at `{path}`: {what}")]
    InvalidCheckpoint {
        /// The bad field.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// A check-in or an ask resumed without a decision.
    #[error(
        "the {gate} gate{} is resumed with a decision (`{{approved, by}}`), got {received}",
        of_tool(tool_name.as_deref(), middleware.as_deref())
    )]
    DecisionRequired {
        /// `checkIn` or `ask`.
        gate: &'static str,
        /// The tool whose call waits.
        tool_name: Option<Str>,
        /// The middleware that asked.
        middleware: Option<Str>,
        /// The type received.
        received: String,
    },
    /// A decision on something else than what was asked about.
    #[error("the decision was made on `{answered}`, the question is about `{asked}`")]
    StaleDecision {
        /// What was asked about.
        asked: Str,
        /// What was decided on.
        answered: Str,
    },
    /// A plain pause resumed with nothing.
    #[error("tool `{tool_name}` (call {tool_call_id}) asked a question; resume it with an answer")]
    PauseAnswerRequired {
        /// The tool that asked.
        tool_name: Str,
        /// The call that waits.
        tool_call_id: Str,
    },
    /// A declared injection the provider cannot carry, or one without text (CTX-44).
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// Forced tool choice on a provider that does not declare it (TOOL-105).
    #[error(
        "provider `{provider}` does not declare forced tool choice for model `{model}`; use the `instruct` strategy"
    )]
    ForcedToolChoice {
        /// The provider.
        provider: Str,
        /// The model.
        model: Str,
    },
    /// The provider cannot hold an answer to a schema.
    #[error(
        "provider `{provider}` does not declare structured output for model `{model}`; use the `instruct` strategy"
    )]
    OutputSchema {
        /// The provider.
        provider: Str,
        /// The model.
        model: Str,
    },
    /// The chart cannot be resumed from this checkpoint.
    #[error("the run cannot be resumed: {message}")]
    NotResumable {
        /// Why.
        message: String,
    },
}

impl RunRefusal {
    /// The recorded name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::InvalidInput { .. } => "InvalidRunInputError",
            Self::RunInFlight { .. } => "RunInFlightError",
            Self::PendingQuestion { .. } => "PendingQuestionError",
            Self::NoConversation { .. } => "NoConversationError",
            Self::ConversationMismatch { .. } => "ConversationMismatchError",
            Self::InvalidCheckpoint { .. } => "InvalidCheckpointError",
            Self::DecisionRequired { .. } => "DecisionRequiredError",
            Self::StaleDecision { .. } => "StaleDecisionError",
            Self::PauseAnswerRequired { .. } => "PauseAnswerRequiredError",
            Self::Delivery(_) => "DeliveryError",
            Self::ForcedToolChoice { .. } => "UnsupportedToolChoiceError",
            Self::OutputSchema { .. } => "UnsupportedOutputSchemaError",
            Self::NotResumable { .. } => "ResumeError",
        }
    }

    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidInput { .. } => "ERR_INVALID_RUN_INPUT",
            Self::RunInFlight { .. } => "ERR_RUN_IN_FLIGHT",
            Self::PendingQuestion { .. } => "ERR_PENDING_QUESTION",
            Self::NoConversation { .. } => "ERR_NO_CONVERSATION",
            Self::ConversationMismatch { .. } => "ERR_CONVERSATION_MISMATCH",
            Self::InvalidCheckpoint { .. } => "ERR_INVALID_CHECKPOINT",
            Self::DecisionRequired { .. } => "ERR_DECISION_REQUIRED",
            Self::StaleDecision { .. } => "ERR_STALE_DECISION",
            Self::PauseAnswerRequired { .. } => "ERR_PAUSE_ANSWER_REQUIRED",
            Self::Delivery(_) => "ERR_DELIVERY",
            Self::ForcedToolChoice { .. } => "ERR_UNSUPPORTED_TOOL_CHOICE",
            Self::OutputSchema { .. } => "ERR_UNSUPPORTED_OUTPUT_SCHEMA",
            Self::NotResumable { .. } => "ERR_RESUME",
        }
    }
}

/// Why there is nothing to continue from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoConversationReason {
    /// No turn was ever run.
    NeverRun,
    /// The last turn did not finish.
    LastRunUnfinished,
}

impl std::fmt::Display for NoConversationReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NeverRun => "never-run",
            Self::LastRunUnfinished => "last-run-unfinished",
        })
    }
}

/// A message that cannot be delivered to the model (CTX-44, CTX-48).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeliveryError {
    /// The provider does not carry this role in messages.
    #[error("injection `{injection}` says its message as `{role}`, but provider `{provider}` carries only {} in messages; \
             put it in the system prompt or use one of these roles", carries.join(", "))]
    RoleNotCarried {
        /// The injection.
        injection: Str,
        /// Its role.
        role: Str,
        /// The provider.
        provider: Str,
        /// What it carries.
        carries: Vec<String>,
    },
    /// A message without text.
    #[error("injection `{injection}` has a message without text")]
    EmptyContent {
        /// The injection.
        injection: Str,
    },
    /// A message of the conversation without text.
    #[error("message {position} ({role}, from {origin}) has no text; an empty message is never sent")]
    EmptyMessage {
        /// Its index in the conversation.
        position: usize,
        /// Its role.
        role: Str,
        /// Who put it there.
        origin: Str,
    },
}

/// A run that failed. The record of what it did until then is in the report that carries this error.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Refused before it began.
    #[error(transparent)]
    Refused(#[from] RunRefusal),
    /// A provider failed and no rule absorbed it.
    #[error(transparent)]
    Llm(LlmError),
    /// A stage failed otherwise.
    #[error("stage `{stage}` failed: {error}")]
    Stage {
        /// Its address.
        stage: Str,
        /// The failure.
        error: StageError,
    },
    /// The engine stopped the run.
    #[error(transparent)]
    Engine(std::sync::Arc<footprint::error::RunError>),
    /// The run was cancelled, or ran out of time.
    #[error("the run was cancelled ({reason})")]
    Cancelled {
        /// Why.
        reason: String,
        /// The stage it stood at, when known.
        at_stage: Option<Str>,
    },
    /// A failure after at least one completed iteration; the checkpoint resumes after it.
    #[error("the run failed after iteration {}: {cause}", checkpoint.last_completed_iteration)]
    Checkpoint {
        /// What failed.
        cause: Box<RunError>,
        /// Where it can be continued.
        checkpoint: Box<AgentRunCheckpoint>,
    },
    /// A message middleware denied the input or the answer.
    #[error("middleware `{middleware}` denied the {phase}: {reason}")]
    MessageDenied {
        /// The reason it gave.
        reason: Str,
        /// `input` or `output`.
        phase: Str,
        /// The middleware.
        middleware: Str,
    },
    /// A permission checker halted the run.
    #[error("the permission checker halted the run at `{target}`: {reason}")]
    PolicyHalt {
        /// Why.
        reason: Str,
        /// The tool or resource.
        target: Str,
        /// The iteration.
        iteration: u32,
        /// The checker.
        checker_id: Option<Str>,
        /// What the model was told.
        tell_llm: Option<Str>,
        /// The calls that ran, in order, and the proposed one last: `{name, args, iteration?}` each.
        sequence: Value,
        /// The conversation as committed.
        history: Value,
    },
    /// A reliability rule gave up.
    #[error("a reliability rule gave up ({kind}): {reason}")]
    ReliabilityFailFast {
        /// The rule's kind.
        kind: Str,
        /// Its reason.
        reason: Str,
        /// Name of the underlying failure.
        cause_name: Option<Str>,
        /// Its text.
        cause_message: Option<Str>,
        /// The recorded facts.
        payload: Value,
    },
    /// The evidence gate refused the answer.
    #[error("the answer states values no tool result supports: {}", value_list(values))]
    UnsupportedValues {
        /// `{value, shape}` each.
        values: Value,
    },
    /// The window cannot be measured.
    #[error(
        "window strategy `{strategy}` cannot measure this conversation: `{provider}` reported 0 tokens in and out. Windows are \
         counted, not guessed: use a provider that reports usage, or a sliding window, which needs none"
    )]
    CompactionUnmeasurable {
        /// The strategy.
        strategy: Str,
        /// The provider.
        provider: Str,
    },
    /// A person must consent, and the run cannot wait.
    #[error("tool `{tool}` needs a person's consent for service `{service}`")]
    CredentialConsentRequired {
        /// The service.
        service: Str,
        /// The tool that needed it.
        tool: Str,
        /// The iteration that asked for it.
        iteration: u32,
        /// What the consent is filed under.
        session_id: Str,
        /// Where to consent. It is itself a secret: it is in no text and on no record.
        authorization_url: Secret,
    },
    /// An integrity check never ran although there was work (dev posture).
    #[error("integrity checks never ran: {}", checks.join(", "))]
    CheckerDead {
        /// The checks.
        checks: Vec<String>,
    },
    /// The final-answer contract blocked delivery.
    #[error("the answer did not pass its validation `{validator}`: {}", checks.join(", "))]
    AnswerValidation {
        /// The validator.
        validator: String,
        /// Check names with dispositions, or why nothing was compared.
        checks: Vec<String>,
        /// The whole report (EVD-905); it holds neither the answer nor a payload.
        report: Value,
    },
    /// A question names a screen that cannot be shown.
    #[error("the question cannot be shown ({door}): {fault}")]
    InvalidAskComponent {
        /// What is wrong.
        fault: AskComponentFault,
        /// How the question was raised.
        door: &'static str,
        /// The reference, when there is one.
        reference: Option<Str>,
    },
    /// A router's reply could not be used.
    #[error("the router's reply is unusable ({what}); known agents: {}", roster.join(", "))]
    RoutingDecision {
        /// What was wrong.
        what: String,
        /// The roster.
        roster: Vec<String>,
    },
    /// A message could not be delivered.
    #[error(transparent)]
    Delivery(DeliveryError),
    /// The evidence recovery stopped.
    #[error("the evidence recovery stopped: {what}")]
    EvidenceRecovery {
        /// Which limit or fault.
        what: String,
    },
    /// A memory could not be written; the answer rides along.
    #[error("memory `{memory}` could not be written at `{stage}`")]
    MemoryWrite {
        /// The memory.
        memory: Str,
        /// The stage.
        stage: Str,
        /// The answer that was given.
        answer: Str,
    },
    /// An answer was asked for and the run is paused.
    #[error("the run is paused and waits for an answer; resume it instead")]
    PausedInstead {
        /// The pause.
        pause: Box<PauseOutcome>,
    },
    /// A member of a composition failed.
    #[error("{composition}: {member} failed: {cause}")]
    Member {
        /// The composition, such as ``Graph `plan` ``.
        composition: Str,
        /// Its member, such as ``node `draft` ``.
        member: Str,
        /// What failed.
        cause: Box<RunError>,
    },
    /// The per-run configuration is not usable (AGT-24).
    #[error("the run's configuration is not usable: {what}")]
    InvalidRunConfig {
        /// What is wrong.
        what: String,
    },
}

fn of_tool(tool: Option<&str>, middleware: Option<&str>) -> String {
    let tool = tool.map(|tool| format!(" of tool `{tool}`")).unwrap_or_default();
    let middleware = middleware.map(|link| format!(" (asked by middleware `{link}`)")).unwrap_or_default();
    tool + &middleware
}

fn value_list(values: &Value) -> String {
    let names: Vec<&str> = values
        .as_array()
        .into_iter()
        .flat_map(footprint::value::Array::iter)
        .filter_map(|entry| entry.get("value").and_then(Value::as_str))
        .collect();
    names.join(", ")
}

impl RunError {
    /// The recorded name.
    pub fn name(&self) -> &str {
        match self {
            Self::Refused(refusal) => refusal.name(),
            Self::Llm(error) => error.record_name(),
            Self::Stage { error, .. } => error.name(),
            Self::Engine(error) => error.stage_error().map_or("Error", StageError::name),
            Self::Cancelled { .. } => "Cancelled",
            Self::Checkpoint { .. } => "RunCheckpointError",
            Self::MessageDenied { .. } => "MessageDeniedError",
            Self::PolicyHalt { .. } => "PolicyHaltError",
            Self::ReliabilityFailFast { .. } => "ReliabilityFailFastError",
            Self::UnsupportedValues { .. } => "UnsupportedValuesError",
            Self::CompactionUnmeasurable { .. } => "CompactionUnmeasurableError",
            Self::CredentialConsentRequired { .. } => "CredentialConsentRequiredError",
            Self::CheckerDead { .. } => "CheckerDeadError",
            Self::AnswerValidation { .. } => "AnswerValidationError",
            Self::InvalidAskComponent { .. } => "InvalidAskComponentError",
            Self::RoutingDecision { .. } => "RoutingDecisionError",
            Self::Delivery(_) => "DeliveryError",
            Self::EvidenceRecovery { .. } => "EvidenceRecoveryError",
            Self::MemoryWrite { .. } => "MemoryWriteError",
            Self::PausedInstead { .. } => "PausedInstead",
            Self::Member { cause, .. } => cause.name(),
            Self::InvalidRunConfig { .. } => "InvalidRunConfigError",
        }
    }

    /// The stable code, when the error has one.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => Some(refusal.code()),
            Self::Llm(error) => error.record_code(),
            Self::Stage { error, .. } => error.code(),
            Self::Engine(error) => error.stage_error().and_then(StageError::code),
            Self::Cancelled { .. } => Some("ERR_CANCELLED"),
            Self::Checkpoint { .. } => Some("ERR_RUN_CHECKPOINT"),
            Self::MessageDenied { .. } => Some("ERR_MESSAGE_DENIED"),
            Self::PolicyHalt { .. } => Some("ERR_POLICY_HALT"),
            Self::ReliabilityFailFast { .. } => Some("ERR_RELIABILITY_FAIL_FAST"),
            Self::UnsupportedValues { .. } => Some("ERR_UNSUPPORTED_VALUES"),
            Self::CompactionUnmeasurable { .. } => Some("ERR_COMPACTION_UNMEASURABLE"),
            Self::CredentialConsentRequired { .. } => Some("ERR_CREDENTIAL_CONSENT_REQUIRED"),
            Self::CheckerDead { .. } => Some("ERR_CHECKER_DEAD"),
            Self::AnswerValidation { .. } => Some("ERR_ANSWER_VALIDATION"),
            Self::InvalidAskComponent { .. } => Some("ERR_INVALID_ASK_COMPONENT"),
            Self::RoutingDecision { .. } => Some("ERR_ROUTING_DECISION"),
            Self::Delivery(_) => Some("ERR_DELIVERY"),
            Self::EvidenceRecovery { .. } => Some("ERR_EVIDENCE_RECOVERY"),
            Self::MemoryWrite { .. } => Some("ERR_MEMORY_WRITE"),
            Self::PausedInstead { .. } => Some("ERR_PAUSED_INSTEAD"),
            Self::Member { cause, .. } => cause.code(),
            Self::InvalidRunConfig { .. } => Some("ERR_INVALID_RUN_CONFIG"),
        }
    }

    /// The failure itself, without what it was wrapped in: the member of a composition, the checkpoint.
    pub fn root_cause(&self) -> &Self {
        match self {
            Self::Member { cause, .. } | Self::Checkpoint { cause, .. } => cause.root_cause(),
            other => other,
        }
    }

    /// Whether this failure ends the turn for good and is never wrapped in a checkpoint error (AGT-27).
    pub const fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::Refused(_)
                | Self::Checkpoint { .. }
                | Self::PausedInstead { .. }
                | Self::PolicyHalt { .. }
                | Self::ReliabilityFailFast { .. }
                | Self::CompactionUnmeasurable { .. }
                | Self::CredentialConsentRequired { .. }
                | Self::UnsupportedValues { .. }
                | Self::EvidenceRecovery { .. }
                | Self::CheckerDead { .. }
                | Self::MessageDenied { .. }
                | Self::AnswerValidation { .. }
                | Self::MemoryWrite { .. }
        )
    }

    /// Whether running the same turn again from its checkpoint can succeed without a change (AGT-100).
    pub fn is_resumable(&self) -> bool {
        match self {
            Self::Checkpoint { cause, .. } | Self::Member { cause, .. } => cause.is_resumable(),
            Self::Llm(error) => error.is_resumable(),
            other => !other.is_terminal(),
        }
    }

    /// The checkpoint, when this failure has one.
    pub fn checkpoint(&self) -> Option<&AgentRunCheckpoint> {
        match self {
            Self::Checkpoint { checkpoint, .. } => Some(checkpoint),
            _ => None,
        }
    }

    /// The sentence for somebody who is not a developer; what `error.fatal` carries (LLM-33).
    pub fn human_message(&self) -> String {
        match self {
            Self::Llm(error) => error.human_message(),
            Self::Checkpoint { cause, .. } | Self::Member { cause, .. } => cause.human_message(),
            other => other.to_string(),
        }
    }
}
