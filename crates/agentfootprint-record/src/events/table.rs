//! The registry: one line per event (EVT-20). Everything else — the enum, the names, the domains, parsing,
//! wildcards, the reference page, the schemas — is made from this table by `registry!`.
//!
//! A line is `event Variant [declared] "when" @ "stage";`; the payload is the struct of the variant's name
//! in [`payload`](super::payload). `declared` marks the events only a consumer emits (EVT §9, 2).

use super::registry::registry;

registry! {
    count: 120, domains: 27;

    composition Composition {
        enter CompositionEnter "a composition starts" @ "its `seed`";
        exit CompositionExit "it ends" @ "`finalize`, `merge`, `guard`; the failure path of a fail-fast fork";
        fork_start CompositionForkStart "Parallel forks" @ "`seed`";
        branch_complete CompositionBranchComplete declared "a branch ended" @ "—";
        merge_end CompositionMergeEnd "merge done" @ "`merge`";
        route_decided CompositionRouteDecided "a Conditional or router chose" @ "`route`, router `decide`";
        iteration_start CompositionIterationStart "a loop pass begins" @ "`iteration-start`";
        iteration_exit CompositionIterationExit "a loop pass ends" @ "`guard`";
    }
    agent Agent {
        turn_start AgentTurnStart "a turn begins, also for a denied input" @ "`seed`";
        turn_end AgentTurnEnd "the final answer is set" @ "`final/prepare-final`";
        iteration_start AgentIterationStart "a model call is about to be made" @ "`call-llm`";
        iteration_end AgentIterationEnd "an iteration closed" @ "`tool-calls` and re-ask branches (with `history`), `prepare-final` (without)";
        route_decided AgentRouteDecided "once per iteration" @ "`sf-route`";
        handoff AgentHandoff declared "one agent hands over to another" @ "consumer";
        output_schema_validation_failed AgentOutputSchemaValidationFailed "each failed validation inside the reliability loop" @ "`call-llm`";
        output_schema_retry AgentOutputSchemaRetry "the answer is asked again" @ "`output-retry`";
        output_contract_unmet AgentOutputContractUnmet "the answer ships without meeting its schema" @ "`sf-route`";
        evidence_checked AgentEvidenceChecked "the evidence gate judged, or asked a revision" @ "`sf-route`, `evidence-recheck`";
        run_configured AgentRunConfigured "once per leg, first event (after `pause.resume` on a resumed leg)" @ "`run-configured#0`";
        thinking_parse_failed AgentThinkingParseFailed "a thinking handler failed" @ "`thinking-<id>`";
        budget_exhausted AgentBudgetExhausted "the first early stop" @ "`sf-route`";
        grounding_nudged AgentGroundingNudged "the staged-refs line was added to this request" @ "`call-llm`";
    }
    stream Stream {
        llm_start StreamLlmStart "before the provider call" @ "`call-llm`; also Parallel `merge`, LlmCall, router";
        llm_end StreamLlmEnd "the response is complete" @ "as `llm_start`";
        token StreamToken "per non-empty chunk" @ "`call-llm`";
        tool_start StreamToolStart "before the gates of one call" @ "`tool-calls`";
        tool_progress StreamToolProgress "a tool reports mid-call" @ "`tool-calls`";
        tool_end StreamToolEnd "the result settled, on all dispatch paths" @ "`tool-calls`";
        thinking_delta StreamThinkingDelta "per non-empty thinking chunk" @ "`call-llm`";
        thinking_end StreamThinkingEnd "blocks normalised, at least one" @ "`thinking-<id>`";
    }
    context Context {
        injected ContextInjected "once per distinct content hash of a slot visit" @ "slot `compose`";
        evicted ContextEvicted "the window removed content" @ "`compact`";
        slot_composed ContextSlotComposed "every slot visit" @ "slot `compose`";
        budget_pressure ContextBudgetPressure "over a budget" @ "slot `compose` (chars), `compact` (tokens)";
        evaluated ContextEvaluated "triggers were evaluated" @ "engine `evaluate`";
    }
    memory Memory {
        strategy_applied MemoryStrategyApplied "a memory strategy reduced entries" @ "summarise stage of the memory pipeline";
        attached MemoryAttached "a memory entered the prompt" @ "format stage";
        retrieved MemoryRetrieved "a retrieval ran" @ "load stage";
        detached MemoryDetached declared "a memory left the prompt" @ "—";
        written MemoryWritten declared "a memory was written" @ "—";
    }
    tools Tools {
        offered ToolsOffered declared "which tools a call may use" @ "—";
        activated ToolsActivated declared "a tool became available" @ "—";
        deactivated ToolsDeactivated declared "a tool became unavailable" @ "—";
        discovery_started ToolsDiscoveryStarted "a tool provider is asked" @ "slot `discover`";
        discovery_completed ToolsDiscoveryCompleted "it answered" @ "slot `discover`";
        discovery_failed ToolsDiscoveryFailed "it failed" @ "slot `discover`";
        shadowed ToolsShadowed "two contracts compete for one name this iteration" @ "tools `compose`";
        claim_swallowed ToolsClaimSwallowed "a party's claim to a name is held by another this iteration" @ "tools `compose`";
        answered_off_wire ToolsAnsweredOffWire "a call to a name not on this call's wire was dispatched" @ "`tool-calls`";
        session_started ToolsSessionStarted "a tool session was opened" @ "`tool-calls`";
        session_reused ToolsSessionReused "it was used again" @ "`tool-calls`";
        session_closed ToolsSessionClosed "it was closed" @ "`tool-teardown#0`, or where closed";
        session_close_failed ToolsSessionCloseFailed "closing failed" @ "`tool-teardown#0`, or where closed";
        effect ToolsEffect "a tool proposed a typed effect" @ "`tool-calls`";
        result_refused ToolsResultRefused "a result over its ceiling" @ "`tool-calls`";
        repeated_call ToolsRepeatedCall "same call, same result again" @ "`tool-calls`";
        absent ToolsAbsent "a tool looked and found nothing" @ "`tool-calls`";
        coverage_declared ToolsCoverageDeclared "a result carried a coverage ledger" @ "`tool-calls`";
        semantics_declared ToolsSemanticsDeclared "a result carried typed semantics" @ "`tool-calls`";
        code_run ToolsCodeRun "a code runner executed" @ "`tool-calls`";
    }
    skill Skill {
        activated SkillActivated declared "a skill became active" @ "—";
        deactivated SkillDeactivated declared "a skill is no longer active" @ "—";
        graph_declared SkillGraphDeclared "once per leg, after the manifest, with a graph" @ "`graph-declared#0`";
        rejected SkillRejected "a skill request was refused" @ "`tool-calls`";
        reroute_superseded SkillRerouteSuperseded "a declared edge won over a volunteered move" @ "engine `evaluate`";
        route_conflict SkillRouteConflict "several edges or proposals in one batch" @ "engine `evaluate`; `tool-calls` with `source`";
        turn_routed SkillTurnRouted "the entry of a turn was chosen" @ "`pick-entry`";
        step_advanced SkillStepAdvanced "a step's tool landed" @ "`tool-calls`";
        step_skipped SkillStepSkipped "a step was skipped with a reason" @ "`tool-calls`";
        steps_unfinished SkillStepsUnfinished "an answer with steps open" @ "`step-nudge` (`nudged`), `sf-route` (others)";
        escalated SkillEscalated "the brain was replaced after refusals" @ "`tool-calls`";
    }
    map Map {
        engaged MapEngaged "a mounted map is engaged" @ "engine `evaluate`";
        parked MapParked "it is parked" @ "engine `evaluate`";
    }
    integrity Integrity {
        context_error IntegrityContextError "a check found a contradiction" @ "tools `compose` and `call-llm` (compose, wire, choice), `tool-calls` (write), `sf-route` (claim)";
        disposition IntegrityDisposition "the end of every leg" @ "`integrity-disposition#0`";
        external_ground_used IntegrityExternalGroundUsed "an argument value was grounded by a host-verified value" @ "`call-llm`";
    }
    validation Validation {
        args_invalid ValidationArgsInvalid "arguments fail their schema" @ "`tool-calls`";
    }
    permission Permission {
        check PermissionCheck "every consulted decision" @ "`tool-calls`";
        gate_opened PermissionGateOpened declared "a gate was opened" @ "consumer";
        gate_closed PermissionGateClosed declared "a gate was closed" @ "consumer";
        halt PermissionHalt "a checker halted the run" @ "`tool-calls`";
    }
    credential Credential {
        requested CredentialRequested "a tool needs a credential" @ "`tool-calls`";
        acquired CredentialAcquired "it got one" @ "`tool-calls`";
        authorization_required CredentialAuthorizationRequired "a person must consent" @ "`tool-calls`";
        failed CredentialFailed "it got none" @ "`tool-calls`";
    }
    risk Risk {
        flagged RiskFlagged declared "a risk was flagged" @ "consumer or adapter";
    }
    fallback Fallback {
        triggered FallbackTriggered "a provider fell back" @ "`call-llm`";
    }
    cost Cost {
        tick CostTick "a priced call finished" @ "`call-llm`, `compact`, LlmCall";
        limit_hit CostLimitHit "a budget was crossed for the first time, or iterations are exhausted" @ "`call-llm` (`max_cost`), `sf-route` (`max_iterations`)";
    }
    eval Eval {
        score EvalScore declared "an evaluation scored" @ "consumer";
        threshold_crossed EvalThresholdCrossed declared "a score crossed its threshold" @ "consumer";
    }
    error Error {
        retried ErrorRetried "a provider decorator retries" @ "`call-llm`";
        recovered ErrorRecovered "it then succeeded" @ "`call-llm`";
        fatal ErrorFatal "the run failed; always dispatched" @ "the stage of failure, or `__root__`";
        circuit_changed ErrorCircuitChanged "a breaker changed state" @ "`call-llm`";
    }
    reliability Reliability {
        fail_fast ReliabilityFailFast "a rule gave up" @ "`call-llm`";
        retried ReliabilityRetried "a rule retried" @ "`call-llm`";
        recovered ReliabilityRecovered "a retry or fallback succeeded" @ "`call-llm`";
    }
    resilience Resilience {
        output_fallback_triggered ResilienceOutputFallbackTriggered "a typed read used the fallback" @ "consumer side, after the run";
        output_canned_used ResilienceOutputCannedUsed "the canned value was used" @ "consumer side, after the run";
    }
    pause Pause {
        request PauseRequest "the leg ends paused; always dispatched" @ "`<id>#paused`";
        resume PauseResume "before execution resumes; always dispatched" @ "`<id>#resumed`";
    }
    checkin Checkin {
        request CheckinRequest "a check-in gate opened" @ "`tool-calls`";
        decision CheckinDecision "the person decided" @ "`tool-calls`, on resume";
    }
    middleware Middleware {
        decision MiddlewareDecision "each deciding middleware of a chain" @ "`seed` (input), `tool-calls`, `sf-route` (output)";
    }
    embedding Embedding {
        generated EmbeddingGenerated "an embedding was computed" @ "memory pipelines";
    }
    artifacts Artifacts {
        minted ArtifactsMinted "stored" @ "`tool-calls`; run end for recordings";
        resolved ArtifactsResolved "read" @ "`tool-calls`, hosting door";
        expired ArtifactsExpired "swept" @ "where the sweep ran";
        refused ArtifactsRefused "an operation was refused" @ "where it was asked";
        presented ArtifactsPresented "an artifact was shown to the user by a tool" @ "`tool-calls`";
    }
    findings Findings {
        declared FindingsDeclared "the model declared why it calls, before `tool_start`" @ "`tool-calls`";
        standing FindingsStanding "the model stated what a result is worth" @ "`tool-calls` (next call), `sf-route` (answer)";
        judged FindingsJudged "the classifier read a result" @ "`tool-calls`";
        judge_failed FindingsJudgeFailed "it could not" @ "`tool-calls`";
        contingent FindingsContingent "a value rests only on results declared open, noise or ruled out" @ "`tool-calls`, `sf-route`";
    }
    tool_choice ToolChoice {
        picked ToolChoicePicked "a classifier ranked the tools before the call" @ "tools slot";
        outcome ToolChoiceOutcome "after the model's call" @ "`call-llm`";
        failed ToolChoiceFailed "the classifier failed; the full list was served" @ "tools slot";
    }
    ontology Ontology {
        served OntologyServed "the declared map went into the request" @ "`call-llm`";
    }
}
