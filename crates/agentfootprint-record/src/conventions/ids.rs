//! Ids of subflows, stages and pseudo steps (AGT-46, EVT-2).

/// Declares id constants and the list of all of them.
macro_rules! ids {
    ($(#[$list_doc:meta])* $list:ident: $( $name:ident = $id:literal, $doc:literal; )+) => {
        $( #[doc = concat!("`", $id, "`: ", $doc, ".")] pub const $name: &str = $id; )+
        $(#[$list_doc])*
        pub const $list: &[&str] = &[$($name),+];
    };
}

ids! {
    /// Every fixed subflow id.
    SUBFLOWS:
    INJECTION_ENGINE = "sf-injection-engine", "evaluates triggers and skills, once per iteration";
    LLM_CALL = "sf-llm-call", "everything of one model call, in the grouped chart";
    SYSTEM_PROMPT = "sf-system-prompt", "the system prompt slot";
    MESSAGES = "sf-messages", "the messages slot";
    TOOLS = "sf-tools", "the tools slot";
    ROUTE = "sf-route", "the decider after a model call";
    TOOL_CALLS_SUBFLOW = "sf-tool-calls", "reserved spelling; shipped charts use the bare id";
    MERGE = "sf-merge", "a composition's merge";
    FINAL = "final", "the branch that delivers the answer";
    CACHE = "sf-cache", "prompt cache markers";
    CACHE_DECISION = "sf-cache-decision", "the decision inside the cache subflow";
    THINKING = "sf-thinking", "normalises the provider's thinking";
}

ids! {
    /// Every fixed stage id.
    STAGES:
    SEED = "seed", "writes the initial state of a run";
    PICK_ENTRY = "pick-entry", "picks the skill a turn starts in";
    CONTEXT = "context", "the selector over the three slots";
    CLIENT = "client", "the call of a bare model call runner";
    CALL_LLM = "call-llm", "the model call";
    EXTRACT_FINAL = "extract-final", "takes the answer of a bare model call";
    OUTPUT_RETRY = "output-retry", "asks again because the answer failed its schema";
    STEP_NUDGE = "step-nudge", "asks again because declared steps are open";
    EVIDENCE_RECHECK = "evidence-recheck", "asks again because values are unsupported";
    WRAP_UP = "wrap-up", "asks for an answer when the action budget is spent";
    FORMAT_MERGE = "format-merge", "prepares a merge by a model";
    MERGE_LLM = "merge-llm", "the model call of a merge";
    EXTRACT_MERGE = "extract-merge", "takes the answer of a merge";
    COMPACT = "compact", "applies the window strategy";
    DELIVER = "deliver", "appends injected messages to the conversation";
    UPDATE_SKILL_HISTORY = "update-skill-history", "notes the active skill of the iteration";
    CACHE_GATE = "cache-gate", "decides whether markers are applied";
    APPLY_MARKERS = "apply-markers", "places cache markers";
    NO_MARKERS = "no-markers", "skips caching";
    BUILD_LLM_REQUEST = "build-llm-request", "assembles a request";
    TURN_SEED = "turn-seed", "copies keys into the grouped model call";
    PREPARE_FINAL = "prepare-final", "sets the final answer";
    BREAK_FINAL = "break-final", "ends the run";
    TOOL_CALLS = "tool-calls", "executes the tool calls of one assistant turn";
    GATHER = "gather", "engine: collects injections";
    EVALUATE = "evaluate", "engine: evaluates triggers";
    ENGINE_ROUTE = "route", "engine: assigns active injections to slots; also the decider of a Conditional";
    DELTA = "delta", "engine: what changed since the last pass";
    COMPOSE = "compose", "a slot's composition";
    DISCOVER = "discover", "the tools slot asks its provider";
    DECIDE_CACHE_MARKERS = "decide-cache-markers", "plans cache markers";
}

ids! {
    /// Stage ids of compositions.
    COMPOSITION_STAGES:
    MERGE_STAGE = "merge", "joins the branches of a Parallel";
    ITERATION_START = "iteration-start", "starts one pass of a Loop";
    BODY = "body", "the body of a Loop";
    GUARD = "guard", "decides whether a Loop goes on";
    FINALIZE = "finalize", "closes a composition";
}

ids! {
    /// Steps of facts said outside any stage, as they stand in `meta.runtimeStageId` (EVT-2).
    PSEUDO_STEPS:
    RUN_CONFIGURED = "run-configured#0", "the run manifest";
    GRAPH_DECLARED = "graph-declared#0", "the declared skill graph";
    TOOL_TEARDOWN = "tool-teardown#0", "closing tool sessions at the run's end";
    INTEGRITY_DISPOSITION = "integrity-disposition#0", "the closing row of every leg";
    CONSUMER_EMIT = "consumer-emit#0", "an event emitted by the caller, outside the run";
    RUN_BOUNDARY = "__root__#0", "entry and exit of the run itself";
    UNKNOWN_STEP = "unknown#0", "no origin is known; never used for an event meant to be joined";
}

/// The stage named by `error.fatal` when the failure has no stage, and the root of every boundary path: `__root__`.
pub const ROOT_STAGE: &str = "__root__";
/// The kinds of runners a mount's description may begin with (REC-47).
pub const PRIMITIVE_KINDS: [&str; 6] = ["Agent", "LLMCall", "Sequence", "Parallel", "Conditional", "Loop"];
/// The run id of events emitted by the caller outside a run (EVT-2).
pub const CONSUMER_RUN_ID: &str = "consumer-scope";

/// Prefix of a memory's read mount; see [`memory_read`].
pub const MEMORY_READ_PREFIX: &str = "sf-memory-read-";
/// Prefix of a memory's write mount; see [`memory_write`].
pub const MEMORY_WRITE_PREFIX: &str = "sf-memory-write-";
/// The model call inside a router.
pub const ROUTER_LLM: &str = "sf-router-llm";
/// Prefix of the stage of a thinking handler; see [`thinking`].
pub const THINKING_PREFIX: &str = "thinking-";
/// Prefix of the mount of a Sequence step; see [`sequence_step`].
pub const SEQUENCE_STEP_PREFIX: &str = "step-";

/// The mount id of the read pipeline of memory `id`.
#[must_use]
pub fn memory_read(id: &str) -> String {
    format!("{MEMORY_READ_PREFIX}{id}")
}

/// The mount id of the write pipeline of memory `id`.
#[must_use]
pub fn memory_write(id: &str) -> String {
    format!("{MEMORY_WRITE_PREFIX}{id}")
}

/// The stage id of the thinking handler `id`.
#[must_use]
pub fn thinking(id: &str) -> String {
    format!("{THINKING_PREFIX}{id}")
}

/// The mount id of the Sequence step `id`; it cannot collide with the reserved prefix (AGT-45).
#[must_use]
pub fn sequence_step(id: &str) -> String {
    format!("{SEQUENCE_STEP_PREFIX}{id}")
}

/// The pseudo step of `pause.request`: `<pausedStageId>#paused` (EVT-2).
#[must_use]
pub fn paused_step(stage_id: &str) -> String {
    format!("{stage_id}#paused")
}

/// The pseudo step of `pause.resume`: `<pausedStageId>#resumed` (EVT-2).
#[must_use]
pub fn resumed_step(stage_id: &str) -> String {
    format!("{stage_id}#resumed")
}

/// Whether a step id is a pseudo step: said outside any executed stage.
///
/// ```
/// use agentfootprint_record::conventions::ids::is_pseudo_step;
/// assert!(is_pseudo_step("run-configured#0"));
/// assert!(is_pseudo_step("tool-calls#paused"));
/// assert!(!is_pseudo_step("seed#0"));
/// ```
#[must_use]
pub fn is_pseudo_step(runtime_stage_id: &str) -> bool {
    PSEUDO_STEPS.contains(&runtime_stage_id)
        || runtime_stage_id.ends_with("#paused")
        || runtime_stage_id.ends_with("#resumed")
}
