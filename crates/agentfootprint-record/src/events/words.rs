//! Closed literal sets of the registry (EVT §4 and §5). Each is a Rust enum whose `Other` arm exists only on
//! the reading side (EVT-23).

use crate::word::words;
pub use crate::word::{Unlisted, Word};

/// Declares several closed sets, each with one line of documentation.
macro_rules! sets {
    ($( $doc:literal $name:ident { $( $variant:ident = $word:literal ),+ $(,)? } )+) => {
        $( words! { #[doc = $doc] pub enum $name { $( $variant = $word ),+ } } )+
    };
}

sets! {
    "One of the three parts of a request."
    ContextSlot { SystemPrompt = "system-prompt", Messages = "messages", Tools = "tools" }
    "Where an injected piece of context comes from."
    ContextSource {
        Rag = "rag", Skill = "skill", Memory = "memory", Instructions = "instructions", Steering = "steering",
        Fact = "fact", Custom = "custom", User = "user", ToolResult = "tool-result", Assistant = "assistant",
        Base = "base", Registry = "registry", EvidenceRecovery = "evidence-recovery", Findings = "findings",
        Ontology = "ontology",
    }
    "The role under which a piece of context is sent."
    ContextRole { System = "system", User = "user", Assistant = "assistant", Tool = "tool" }
    "Whether a message is the latest of its kind."
    ContextRecency { Latest = "latest", Earlier = "earlier" }
    "How long a piece of context lives."
    ContextLifetime { Iteration = "iteration", Turn = "turn", Run = "run", Persistent = "persistent" }
    "How a tool is reached."
    ToolProtocol { Native = "native", Mcp = "mcp", Http = "http", PythonFn = "python-fn" }
    "The kind of a composition; Workflow and Graph report `Sequence`."
    CompositionKind { Sequence = "Sequence", Parallel = "Parallel", Conditional = "Conditional", Loop = "Loop" }
    "How a tool call ended."
    ToolResultStatus {
        Success = "success", Failure = "failure", Denied = "denied", Invalid = "invalid", Partial = "partial",
        Pending = "pending", Absent = "absent",
    }
    "What a permission is asked for."
    PermissionCapability {
        ToolCall = "tool_call", SkillRead = "skill_read", MemoryRead = "memory_read",
        MemoryWrite = "memory_write", ExternalNet = "external_net", UserData = "user_data",
    }
    "A moment of the loop at which middleware decides."
    LoopMoment {
        Input = "input", BeforeTool = "before-tool", AfterTool = "after-tool", Window = "window",
        Output = "output",
    }
    "How long an instruction a tool asked for is served."
    Lease { NextCall = "next-call", UntilSkillExit = "until-skill-exit" }
    "What engaged a mounted map."
    EngagedBy {
        Explicit = "explicit", Structural = "structural", Semantic = "semantic", Lexical = "lexical",
        Assumed = "assumed",
    }
    "Which party serves a tool name."
    Channel { Provider = "provider", Registry = "registry", Skill = "skill", Framework = "framework" }
    "Which check of the answer failed."
    JudgeStage { JsonParse = "json-parse", SchemaValidate = "schema-validate" }
    "Which limit ended a turn early."
    LimitReason { MaxIterations = "max-iterations", CostBudget = "cost-budget" }
    "The kind of a thinking block."
    ThinkingKind { Thinking = "thinking", RedactedThinking = "redacted_thinking" }
    "Whether an assertion was made or only quoted."
    Stratum { Asserted = "asserted", Quoted = "quoted" }
    "Where in the loop a contradiction was found."
    Seam { Write = "write", Compose = "compose", Wire = "wire", Choice = "choice", Claim = "claim" }
    "How long a tool session lives."
    SessionScope { Call = "call", Run = "run", Session = "session", Shutdown = "shutdown" }
    "Why a tool session was closed."
    CloseReason {
        CallEnd = "call-end", RunEnd = "run-end", SessionEnd = "session-end", Shutdown = "shutdown",
        Idle = "idle", Evicted = "evicted",
    }
}

// Composition and agent.
sets! {
    "How a composition ended."
    CompositionStatus { Ok = "ok", Err = "err", Break = "break", BudgetExhausted = "budget_exhausted" }
    "How a branch ended."
    BranchStatus { Ok = "ok", Err = "err" }
    "How a Parallel merges."
    MergeStrategy { Llm = "llm", Fn = "fn", OutcomesFn = "outcomes-fn" }
    "Why a loop pass ended."
    IterationExitReason {
        Budget = "budget", GuardFalse = "guard_false", Break = "break", BodyComplete = "body_complete",
    }
    "The branch taken after a model call."
    AgentRoute {
        ToolCalls = "tool-calls", Final = "final", OutputRetry = "output-retry", StepNudge = "step-nudge",
        EvidenceRecheck = "evidence-recheck", WrapUp = "wrap-up",
    }
    "How a handoff travels."
    HandoffProtocol { Native = "native", Mcp = "mcp", Http = "http" }
    "How hard a gate pushes."
    GatePosture { Assist = "assist", Guard = "guard", Rails = "rails" }
    "What the evidence gate did."
    EvidenceAction {
        Grounded = "grounded", Flagged = "flagged", RevisionAsked = "revision-asked", Refused = "refused",
    }
    "What may replace the configured model."
    ModelOverride { Configure = "configure", SkillBrains = "skill-brains" }
    "The shape of the agent's loop."
    ReactMode { Classic = "classic", Dynamic = "dynamic", DynamicGrouped = "dynamic-grouped" }
    "How long a skill cursor lives."
    SkillContinuity { Turn = "turn", Conversation = "conversation" }
    "How hard integrity checks push."
    IntegrityPosture { Observe = "observe", Dev = "dev" }
    "What happened when a budget was exhausted."
    ExhaustedAction { WrappedUp = "wrapped-up", CutShort = "cut-short" }
    "Who chose another model for this call."
    BrainVia { Skill = "skill", Escalation = "escalation" }
}

// Context and memory.
sets! {
    "Why content was evicted."
    EvictionReason {
        Budget = "budget", Stale = "stale", LowScore = "low_score", Policy = "policy",
        UserRevoked = "user_revoked",
    }
    "What is done about a budget under pressure."
    PlanAction { Evict = "evict", Summarize = "summarize", Abort = "abort", None = "none" }
    "The unit of a budget."
    BudgetUnit { Chars = "chars", Tokens = "tokens" }
    "Why an injection was skipped."
    SkipReason {
        PredicateThrew = "predicate-threw", UnknownTriggerKind = "unknown-trigger-kind",
        UnknownFact = "unknown-fact", Parked = "parked",
    }
    "What moved the skill cursor."
    CursorBy {
        Entry = "entry", Route = "route", ModelPick = "model-pick", ToolProposal = "tool-proposal",
        Intent = "intent", Continuity = "continuity", Decider = "decider", Stay = "stay", None = "none",
    }
    "The kind of a memory strategy."
    MemoryStrategyKind {
        SlidingWindow = "sliding-window", Summarizing = "summarizing", Semantic = "semantic",
        FactExtraction = "fact-extraction", Hybrid = "hybrid",
    }
    "Where an attached memory comes from."
    MemorySource { Store = "store", AutoExtract = "auto-extract", Manual = "manual" }
    "Which retriever found a memory."
    Retriever {
        Pinecone = "pinecone", Weaviate = "weaviate", Qdrant = "qdrant", Chroma = "chroma", Custom = "custom",
    }
    "Why a retrieval candidate was not admitted."
    CandidateRejection {
        BelowThreshold = "below-threshold", OverBudget = "over-budget", OverMaxEntries = "over-max-entries",
        OverCharBudget = "over-char-budget",
    }
    "How a store searched."
    SearchMode { Exact = "exact", Approximate = "approximate" }
    "Why a memory left the prompt."
    DetachReason { Stale = "stale", Budget = "budget", ScoreLow = "score_low", Policy = "policy" }
    "Who wrote a memory."
    MemoryWriter { Auto = "auto", Manual = "manual" }
}

// Tools, skills, integrity.
sets! {
    "Why a tool is withheld."
    WithheldReason {
        Permission = "permission", SkillInactive = "skill_inactive", Gated = "gated", CostGuard = "cost_guard",
    }
    "Why a tool became available."
    ToolActivation {
        SkillActivated = "skill_activated", AutoActivate = "autoActivate", PermissionGranted = "permission_granted",
    }
    "Why a tool became unavailable."
    ToolDeactivation { SkillDeactivated = "skill_deactivated", PermissionRevoked = "permission_revoked" }
    "The effect a tool proposed."
    EffectKind { ProposeTransition = "propose-transition", RequireInstruction = "require-instruction" }
    "What became of a proposed effect."
    EffectOutcome { Accepted = "accepted", Refused = "refused", Superseded = "superseded" }
    "What superseded an effect."
    SupersededBy { EarlierProposal = "earlier-proposal" }
    "What made a call a repeated one, when not call and result together."
    RepeatMode { Arguments = "arguments" }
    "Why a skill became active."
    SkillActivation {
        AutoActivate = "autoActivate", ReadSkillResult = "read_skill_result", Manual = "manual",
    }
    "Why a skill request was rejected."
    SkillRejection { SelfCall = "self-call", Unreachable = "unreachable", Posture = "posture" }
    "That a move was proposed by a tool."
    ProposalSource { ToolProposal = "tool-proposal" }
    "What chose the skill a turn starts in."
    TurnRoutedBy {
        Entry = "entry", Intent = "intent", Continuity = "continuity", Menu = "menu", Decider = "decider",
        None = "none",
    }
    "Why a restored cursor was dropped."
    DroppedResumeReason { UnknownSkill = "unknown-skill" }
    "What skipping a step does."
    StepSkipPolicy { Advance = "advance", Hold = "hold" }
    "What happened to unfinished steps."
    UnfinishedAction { Nudged = "nudged", Accepted = "accepted", CutShort = "cut-short" }
    "The kind of an integrity finding."
    ContextErrorKind {
        InvariantViolation = "invariant-violation", UnsupportedArgument = "unsupported-argument",
        DanglingReference = "dangling-reference", DuplicateExecution = "duplicate-execution",
        UnsupportedClaim = "unsupported-claim", EmptyLookup = "empty-lookup",
        ColumnTypeMismatch = "column-type-mismatch", MissingColumn = "missing-column",
        PriorTurnEvidence = "prior-turn-evidence",
    }
}

// Gates, cost, failures.
sets! {
    "A permission decision."
    PermissionResult { Allow = "allow", Deny = "deny", Halt = "halt", GateOpen = "gate_open" }
    "Which engine decided."
    PolicyEngine { Opa = "opa", Cerbos = "cerbos", Custom = "custom" }
    "For whom a credential is asked."
    CredentialMode { Machine = "machine", User = "user" }
    "How severe a risk is."
    RiskSeverity { Low = "low", Medium = "medium", High = "high", Critical = "critical" }
    "What kind of risk."
    RiskCategory {
        Pii = "pii", PromptInjection = "prompt_injection", RunawayLoop = "runaway_loop",
        CostOverrun = "cost_overrun", HallucinationFlag = "hallucination_flag",
    }
    "Who detected a risk."
    RiskDetector {
        NemoGuardrails = "nemo_guardrails", LlamaGuard = "llama_guard", Custom = "custom",
        Heuristic = "heuristic",
    }
    "What was done about a risk."
    RiskAction { Warn = "warn", Redact = "redact", Abort = "abort" }
    "What was replaced by its fallback."
    FallbackKind { Provider = "provider", Tool = "tool", Skill = "skill" }
    "The scope of a cost tick."
    CostScope { Iteration = "iteration", Turn = "turn", Run = "run" }
    "Which cost limit was hit."
    LimitKind {
        MaxTokens = "max_tokens", MaxCost = "max_cost", MaxIterations = "max_iterations",
        MaxWallclock = "max_wallclock",
    }
    "What is done about a limit."
    LimitAction { Abort = "abort", Warn = "warn", Degrade = "degrade" }
    "What an evaluation scores."
    EvalTarget { Iteration = "iteration", Turn = "turn", Run = "run", ToolCall = "toolCall" }
    "Who evaluates."
    Evaluator { Llm = "llm", Fn = "fn", Heuristic = "heuristic" }
    "On which side of a threshold."
    ThresholdSide { Above = "above", Below = "below" }
    "The state of a circuit breaker."
    CircuitState { Closed = "closed", Open = "open", HalfOpen = "half-open" }
    "When a reliability rule spoke."
    ReliabilityPhase { PreCheck = "pre-check", PostDecide = "post-decide" }
    "How a reliability rule retried."
    RetryAction { Retry = "retry", RetryOther = "retry-other" }
    "What recovered a call."
    RecoveredVia { Retry = "retry", RetryOther = "retry-other", Fallback = "fallback" }
    "What a middleware looked at."
    MiddlewareTarget { Tool = "tool", Message = "message" }
    "Which message a middleware looked at."
    MessagePhase { Input = "input", Output = "output" }
    "What a middleware decided."
    MiddlewareOutcome { Allow = "allow", Deny = "deny", Ask = "ask" }
}

// Embeddings, artifacts, findings, tool choice.
sets! {
    "Who computed an embedding."
    EmbeddingProvider {
        Openai = "openai", Cohere = "cohere", Voyage = "voyage", Local = "local", Custom = "custom",
    }
    "What was embedded."
    EmbeddingInput { Query = "query", Document = "document" }
    "How an artifact was read."
    ArtifactVia { Head = "head", Get = "get" }
    "Why an artifact expired."
    ExpiryReason { Ttl = "ttl", MaxBytes = "max-bytes", MaxCount = "max-count" }
    "An artifact operation."
    ArtifactOp {
        Put = "put", Head = "head", Get = "get", Delete = "delete", List = "list", Dispatch = "dispatch",
    }
    "Why an artifact operation was refused."
    ArtifactRefusal {
        NoStore = "no-store", MissingOrExpired = "missing-or-expired", UnknownParent = "unknown-parent",
        DigestMismatch = "digest-mismatch", InvalidInput = "invalid-input", KindMismatch = "kind-mismatch",
    }
    "Why the model calls a tool."
    FindingBasis { Direct = "direct", Exploratory = "exploratory" }
    "What the model expects of a call."
    Expectation { Low = "low", Medium = "medium", High = "high" }
    "What a result is worth."
    Standing { Fact = "fact", Open = "open", Noise = "noise", RuledOut = "ruled-out" }
    "Where a standing was declared."
    DeclaredOn { ToolCall = "tool-call", Answer = "answer" }
    "What a judge read a result against."
    JudgedAgainst { Proposition = "proposition", Question = "question" }
    "Why the tool list was not narrowed."
    NarrowedSkipped {
        Unavailable = "unavailable", TooFew = "too-few", AfterMiss = "after-miss", WrapUp = "wrap-up",
    }
}
