//! Keys of agent state: their names, and what crosses into and out of the grouped model call (AGT-44, AGT §9).

/// When a key is threaded across the boundary of the grouped model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// On every crossing.
    Always,
    /// Only when it holds a value, so that an agent without the feature leaves no key (AGT-52).
    Present,
}

/// One direction in which a key crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The key's name inside the group; differs from the outer name when it crosses under an alias.
    pub inner: &'static str,
    /// When it crosses.
    pub when: When,
}

/// In which directions a key crosses the boundary of the grouped model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crosses {
    /// Into the group only.
    In,
    /// Out of the group only.
    Out,
    /// Both ways.
    Both,
    /// Not at all.
    None,
}

/// What `turn-seed` resets a key to inside the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// `[]`
    EmptyList,
    /// `""`
    EmptyText,
}

/// One key of agent state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateKey {
    /// The recorded name.
    pub name: &'static str,
    /// How it enters the grouped model call, if it does.
    pub entry: Option<Crossing>,
    /// How it leaves it, if it does.
    pub exit: Option<Crossing>,
    /// What `turn-seed` resets it to, if it does.
    pub reset: Option<Reset>,
}

impl StateKey {
    const fn new(name: &'static str) -> Self {
        Self { name, entry: None, exit: None, reset: None }
    }

    const fn enters(mut self) -> Self {
        self.entry = Some(Crossing { inner: self.name, when: When::Always });
        self
    }

    const fn enters_as(mut self, inner: &'static str) -> Self {
        self.entry = Some(Crossing { inner, when: When::Always });
        self
    }

    const fn enters_if_present(mut self) -> Self {
        self.entry = Some(Crossing { inner: self.name, when: When::Present });
        self
    }

    const fn enters_if_present_as(mut self, inner: &'static str) -> Self {
        self.entry = Some(Crossing { inner, when: When::Present });
        self
    }

    const fn leaves(mut self) -> Self {
        self.exit = Some(Crossing { inner: self.name, when: When::Always });
        self
    }

    const fn leaves_from(mut self, inner: &'static str) -> Self {
        self.exit = Some(Crossing { inner, when: When::Always });
        self
    }

    const fn leaves_if_present(mut self) -> Self {
        self.exit = Some(Crossing { inner: self.name, when: When::Present });
        self
    }

    const fn leaves_if_present_from(mut self, inner: &'static str) -> Self {
        self.exit = Some(Crossing { inner, when: When::Present });
        self
    }

    const fn empty_list(mut self) -> Self {
        self.reset = Some(Reset::EmptyList);
        self
    }

    const fn empty_text(mut self) -> Self {
        self.reset = Some(Reset::EmptyText);
        self
    }

    /// In which directions the key crosses.
    ///
    /// ```
    /// use agentfootprint_record::conventions::state::{self, Crosses, StateKey};
    /// let history = StateKey::named(state::HISTORY).unwrap();
    /// assert_eq!(history.crosses(), Crosses::Both);
    /// assert_eq!(history.alias(), Some("priorHistory"));
    /// ```
    #[must_use]
    pub const fn crosses(&self) -> Crosses {
        match (self.entry, self.exit) {
            (Some(_), Some(_)) => Crosses::Both,
            (Some(_), None) => Crosses::In,
            (None, Some(_)) => Crosses::Out,
            (None, None) => Crosses::None,
        }
    }

    /// The name under which it enters, when that is not its own: `turn-seed` copies the alias to the name.
    #[must_use]
    pub fn alias(&self) -> Option<&'static str> {
        self.entry.map(|crossing| crossing.inner).filter(|inner| *inner != self.name)
    }

    /// The key of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|key| key.name == name)
    }
}

macro_rules! state_keys {
    ($( $name:ident = $key:literal, $doc:literal $( => $( $crossing:ident ( $($arg:literal)? ) ).+ )? ; )+) => {
        $( #[doc = concat!("`", $key, "`: ", $doc, ".")] pub const $name: &str = $key; )+

        /// The one table of agent state keys, in the order of AGT §9.
        pub const ALL: &[StateKey] = &[
            $( StateKey::new($key) $( $( .$crossing($($arg)?) )+ )? ),+
        ];
    };
}

state_keys! {
    // Written by `seed` in every run (AGT §9.1).
    USER_MESSAGE = "userMessage", "the message after input middleware" => enters();
    HISTORY = "history", "the conversation" => enters_as("priorHistory").leaves();
    RUN_IDENTITY = "runIdentity", "who acts" => enters();
    RUN_IDENTITY_SOURCE = "runIdentitySource", "where the identity came from";
    NEW_MESSAGES = "newMessages", "what this turn adds to memory";
    TURN_NUMBER = "turnNumber", "count of user turns";
    CONTEXT_TOKENS_REMAINING = "contextTokensRemaining", "the budget memory pipelines see";
    ITERATION = "iteration", "the current iteration, from 1" => enters();
    MAX_ITERATIONS = "maxIterations", "model calls that may act" => enters();
    FINAL_CONTENT = "finalContent", "the answer";
    TOTAL_INPUT_TOKENS = "totalInputTokens", "input tokens of the turn" => enters_as("priorTotalInputTokens").leaves();
    TOTAL_OUTPUT_TOKENS = "totalOutputTokens", "output tokens of the turn" => enters_as("priorTotalOutputTokens").leaves();
    TURN_START_MS = "turnStartMs", "when the turn began";
    SYSTEM_PROMPT_INJECTIONS = "systemPromptInjections", "records of the system prompt slot" => leaves_if_present().empty_list();
    MESSAGES_INJECTIONS = "messagesInjections", "records of the messages slot" => empty_list();
    TOOLS_INJECTIONS = "toolsInjections", "records of the tools slot" => empty_list();
    LLM_LATEST_CONTENT = "llmLatestContent", "text of the latest answer" => leaves().empty_text();
    LLM_LATEST_TOOL_CALLS = "llmLatestToolCalls", "calls of the latest answer" => leaves().empty_list();
    THINKING_BLOCKS = "thinkingBlocks", "thinking of the latest answer" => leaves().empty_list();
    PAUSED_TOOL_CALL_ID = "pausedToolCallId", "the call a pause waits for";
    PAUSED_TOOL_NAME = "pausedToolName", "its tool";
    PAUSED_TOOL_START_MS = "pausedToolStartMs", "when it started";
    CUM_TOKENS_INPUT = "cumTokensInput", "priced input tokens" => enters_as("priorCumTokensInput").leaves();
    CUM_TOKENS_OUTPUT = "cumTokensOutput", "priced output tokens" => enters_as("priorCumTokensOutput").leaves();
    CUM_ESTIMATED_USD = "cumEstimatedUsd", "estimated cost" => enters_as("priorCumEstimatedUsd").leaves();
    COST_BUDGET_HIT = "costBudgetHit", "whether the cost budget was crossed" => enters_as("priorCostBudgetHit").leaves();
    COST_BUDGET_ON_EXCEED = "costBudgetOnExceed", "posture of the cost budget";
    ACTIVE_INJECTIONS = "activeInjections", "what the engine activated" => empty_list();
    ACTIVATED_INJECTION_IDS = "activatedInjectionIds", "skills the model activated" => enters();
    DYNAMIC_TOOL_SCHEMAS = "dynamicToolSchemas", "tool schemas of this call; never leaves the group";
    DELIVERED_MESSAGE_KEYS = "deliveredMessageKeys", "ledger of delivered messages" => enters_as("priorDeliveredMessageKeys").leaves();
    CACHE_MARKERS = "cacheMarkers", "cache markers of this call" => empty_list();
    CACHING_DISABLED = "cachingDisabled", "the option" => enters();
    RECENT_HIT_RATE = "recentHitRate", "recent cache hit rate" => enters();
    SKILL_HISTORY = "skillHistory", "active skill per iteration" => enters_as("priorSkillHistory").leaves();
    CURRENT_SKILL_ID = "currentSkillId", "the cursor" => enters().leaves_from("nextSkillCursor");
    PENDING_SKILL_PICK = "pendingSkillPick", "an accepted pick not yet resolved" => enters();

    // Seeded only when the owning feature is mounted.
    STEP_POINTER = "stepPointer", "where a procedure stands" => enters_if_present().leaves_if_present_from("nextStepPointer");
    STEP_NUDGE_SPENT = "stepNudgeSpent", "latch of the step nudge";
    SKILL_REFUSALS_THIS_TURN = "skillRefusalsThisTurn", "refusals so far";
    SKILL_ESCALATED = "skillEscalated", "latch of the escalation" => enters_if_present();
    EVIDENCE_REVISION_SPENT = "evidenceRevisionSpent", "latch of the evidence revision";
    FOLDED_SPANS = "foldedSpans", "what the window folded away";
    RESOLVED_MODEL = "resolvedModel", "model chosen for this run" => enters_if_present();
    RESOLVED_INSTRUCTIONS = "resolvedInstructions", "base prompt chosen for this run" => enters_if_present();
    FORCED_OUTPUT_TOOL_NAME = "forcedOutputToolName", "the tool that carries the answer";
    FINDINGS_SERVE = "findingsServe", "whether findings are served" => enters_if_present();
    FINDINGS_ANSWER_ASK = "findingsAnswerAsk", "whether standings are asked in the answer" => enters_if_present();
    TOOL_WANTS_BY_NAME = "toolWantsByName", "declared wants of the tools";
    ONTOLOGY = "ontology", "the served ontology" => enters_if_present();

    // Other keys (AGT §9.2).
    ACTIVE_BY_SLOT = "activeByslot", "per-slot delta base; flat chart only";
    NEXT_SKILL_CURSOR = "nextSkillCursor", "the cursor's name inside the group";
    NEXT_STEP_POINTER = "nextStepPointer", "the step pointer's name inside the group";
    NEXT_INSTRUCTION_LEASES = "nextInstructionLeases", "the leases' name inside the group";
    ENTRY_SCORES = "entryScores", "scores of the entry skills" => enters();
    ENTRY_SCORER = "entryScorer", "who scored" => enters();
    TURN_ROUTE = "turnRoute", "the routing record of the turn" => enters();
    LAST_TOOL_RESULT = "lastToolResult", "the latest tool result" => enters();
    TOOL_RESULTS = "toolResults", "results of the current batch" => enters();
    MESSAGES_DELIVERY = "messagesDelivery", "what deliver did on this pass" => leaves();
    PENDING_TOOL_TRANSITION = "pendingToolTransition", "a transition a tool proposed" => enters_if_present();
    INSTRUCTION_LEASES = "instructionLeases", "instructions tools asked for" => enters_if_present().leaves_if_present_from("nextInstructionLeases");
    ACCEPTED_SKILL_PICKS = "acceptedSkillPicks", "picks map mounts read" => enters_if_present();
    MAP_ENGAGEMENT = "mapEngagement", "engagement of mounted maps" => enters_if_present().leaves_if_present();
    SERVED_INJECTION_IDS = "servedInjectionIds", "injections served before" => enters_if_present().leaves_if_present();
    PARKED_TOOL_NAMES = "parkedToolNames", "tools of parked maps" => leaves_if_present();
    HIDDEN_SKILL_IDS = "hiddenSkillIds", "ids hidden by role";
    MIDDLEWARE_DECISIONS = "middlewareDecisions", "rows of middleware decisions";
    MESSAGE_DENIED_REASON = "messageDeniedReason", "why a message was denied";
    MESSAGE_DENIED_PHASE = "messageDeniedPhase", "input or output";
    MESSAGE_DENIED_BY = "messageDeniedBy", "the denying middleware";
    OUTPUT_ATTEMPTS = "outputAttempts", "attempts at the output schema";
    OUTPUT_SCHEMA_FAILURE = "outputSchemaFailure", "carrier for the retry branch";
    OUTPUT_CONTRACT_UNMET = "outputContractUnmet", "the answer ships without meeting its schema";
    ANSWER_GUARANTEE = "answerGuarantee", "what guarantees the answer's form";
    ANSWER_VALIDATION = "answerValidation", "the answer's validation record";
    ANSWER_VALIDATION_BLOCKED = "answerValidationBlocked", "validation blocked the answer";
    ANSWER_VALIDATION_COMMITTED = "answerValidationCommitted", "validation was committed";
    EVIDENCE_UNSUPPORTED = "evidenceUnsupported", "values without support, for the revision";
    UNSUPPORTED_VALUES = "unsupportedValues", "the evidence gate's record";
    EVIDENCE_RECOVERY = "evidenceRecovery", "request-only recovery guidance" => enters_if_present();
    EVIDENCE_RECOVERY_USED = "evidenceRecoveryUsed", "the guidance was served" => enters_if_present();
    CLAIM_FACTS = "claimFacts", "facts the claims judge settled";
    COVERAGE_DECLARED = "coverageDeclared", "the coverage ledger";
    STOPPED_EARLY = "stoppedEarly", "the early stop of the turn";
    WRAP_UP_ASKED = "wrapUpAsked", "the wrap-up was asked for" => enters_if_present();
    PAUSED_TOOL_ARGS = "pausedToolArgs", "arguments of the paused call";
    PAUSED_TURN_ID = "pausedTurnId", "the paused turn";
    PAUSED_TOOL_PARTY = "pausedToolParty", "who serves the paused call";
    PAUSED_CHECK_IN = "pausedCheckIn", "a check-in waits";
    PAUSED_CHECK_IN_ARGS = "pausedCheckInArgs", "its arguments";
    PAUSED_COMPONENT_ID = "pausedComponentId", "the component shown to the person";
    PAUSED_ASK = "pausedAsk", "a middleware question waits";
    PAUSED_ASK_ARGS = "pausedAskArgs", "its arguments";
    PAUSED_ASK_INDEX = "pausedAskIndex", "its place in the chain";
    PAUSED_ASK_MIDDLEWARE = "pausedAskMiddleware", "the asking middleware";
    PAUSED_CREDENTIAL = "pausedCredential", "a consent waits";
    PAUSED_CREDENTIAL_ARGS = "pausedCredentialArgs", "its arguments";
    PAUSED_CREDENTIAL_SERVICE = "pausedCredentialService", "its service";
    POLICY_HALT_REASON = "policyHaltReason", "why a checker halted";
    POLICY_HALT_TELL_LLM = "policyHaltTellLLM", "what the model is told";
    POLICY_HALT_TARGET = "policyHaltTarget", "the halted call";
    POLICY_HALT_ARGS = "policyHaltArgs", "its arguments";
    POLICY_HALT_ITERATION = "policyHaltIteration", "its iteration";
    POLICY_HALT_CHECKER_ID = "policyHaltCheckerId", "the checker";
    RELIABILITY_FAIL_KIND = "reliabilityFailKind", "kind of a reliability failure" => leaves_if_present();
    RELIABILITY_FAIL_PAYLOAD = "reliabilityFailPayload", "its payload" => leaves_if_present();
    RELIABILITY_FAIL_REASON = "reliabilityFailReason", "its reason" => leaves_if_present();
    RELIABILITY_FAIL_CAUSE_MESSAGE = "reliabilityFailCauseMessage", "message of its cause" => leaves_if_present();
    RELIABILITY_FAIL_CAUSE_NAME = "reliabilityFailCauseName", "name of its cause" => leaves_if_present();
    RAW_THINKING = "rawThinking", "the provider's raw thinking";
    RECEIPT = "receipt", "hashes of what the provider was handed" => leaves_if_present();
    TOTAL_CACHE_READ_TOKENS = "totalCacheReadTokens", "cache reads of the turn" => enters_if_present_as("priorTotalCacheReadTokens").leaves_if_present();
    INTEGRITY_FINDING_IDS = "integrityFindingIds", "identities already filed" => enters_if_present().leaves_if_present();
    FINDINGS_LEDGER = "findingsLedger", "standings of results" => enters_if_present().leaves_if_present();
    TOOL_CHOICES = "toolChoices", "rows of the tool classifier" => enters_if_present().leaves_if_present();
    COMPACTIONS = "compactions", "records of the window" => enters_if_present();

    // Composition keys, read by the context recorder (AGT-47).
    SLOT_COMPOSITIONS = "slotCompositions", "what a slot composed";
    SLOT_EVICTIONS = "slotEvictions", "what the window removed";
    SLOT_BUDGET_PRESSURES = "slotBudgetPressures", "budgets exceeded";
}

/// Prefix of the key holding what memory `id` injects; see [`memory_injection`]. Enters the group.
pub const MEMORY_INJECTION_PREFIX: &str = "memoryInjection_";
/// Prefix of the key holding how memory `id` was searched; see [`retrieval_evidence`].
pub const RETRIEVAL_EVIDENCE_PREFIX: &str = "retrievalEvidence_";

/// The key holding what memory `id` injects.
#[must_use]
pub fn memory_injection(id: &str) -> String {
    format!("{MEMORY_INJECTION_PREFIX}{id}")
}

/// The key holding how memory `id` was searched.
#[must_use]
pub fn retrieval_evidence(id: &str) -> String {
    format!("{RETRIEVAL_EVIDENCE_PREFIX}{id}")
}

/// The injection keys: the protocol between slot stages and the context recorder (AGT-47).
pub const INJECTION_KEYS: [&str; 3] = [SYSTEM_PROMPT_INJECTIONS, MESSAGES_INJECTIONS, TOOLS_INJECTIONS];
/// The composition keys of AGT-47.
pub const COMPOSITION_KEYS: [&str; 3] = [SLOT_COMPOSITIONS, SLOT_EVICTIONS, SLOT_BUDGET_PRESSURES];
