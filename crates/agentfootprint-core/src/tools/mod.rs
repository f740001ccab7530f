//! Tools: what the model may ask for, and the one pipeline every call goes through.
//!
//! | module | what it owns |
//! |---|---|
//! | [`Tool`], [`ToolBuilder`] | a definition: what the model is shown, what is declared, what runs |
//! | [`ToolOutput`], [`ToolFailure`] | what a handler answers, and how it does not |
//! | [`ToolContext`] | what a handler is told and may do |
//! | [`validate`](ArgValidator) | the honest subset of JSON Schema that arguments are held to |
//! | people | consent, questions and decisions |
//! | permission | who may call what, decided outside the agent |
//! | middleware | links that change, deny or ask about a call or its result |
//! | catalog | what a catalogue of tools as a whole gets wrong |
//! | chart_tool | a flowchart as a tool, with the records of its walks |
//! | coverage | results that say what was looked at and what was not |
//! | runbook | a procedure whose every answer says what was checked |
//! | code | a tool that runs code the model wrote |
//! | credentials | who vends them, and that they never reach a record |
//! | dispatch | the pipeline itself, step by step |

mod arms;
mod builder;
mod catalog;
mod chart_tool;
mod code;
mod context;
mod coverage;
mod credentials;
mod declare;
mod dispatch;
mod dispatch_door;
mod envelope;
mod failure;
mod handler;
mod middleware;
mod name;
mod output;
mod people;
mod permission;
mod present;
#[doc(hidden)]
pub mod private;
mod provider;
mod registry;
mod runbook;
mod schema;
mod sessions;
mod texts;
mod tool;
mod tooling;
mod validate;

pub use agentfootprint_record::events::words::{
    ContextSource, CredentialMode, Lease, PermissionCapability, ToolResultStatus,
};

pub use self::builder::ToolBuilder;
pub use self::catalog::{
    CatalogFinding, CatalogOptions, CatalogReport, CatalogRule, CheckupFinding, CheckupKind, ContractCheckup,
    LintOptions, LintOutcome, Severity, SimilarityReport, SimilarityThresholds, ToolPair,
    analyze_tool_catalog, analyze_tool_catalog_with, analyze_with, builtin_rules, confusability_text,
    lint_tools, tool_contract_checkup,
};
pub use self::chart_tool::{
    FlowchartTool, InnerChartPaused, InnerOutcome, InnerRunRecord, InnerRunStore, flowchart_as_tool,
};
pub use self::code::{
    CodeRequest, CodeResult, CodeRunner, CodeRunnerError, CodeRunnerTool, CodeSession, LocalCodeRunner,
    OutputCut, ProducedFile, SessionStart, StagedInput, code_runner_tool, local_code_runner,
};
pub use self::context::ToolContext;
pub(crate) use self::coverage::with_limits;
pub use self::coverage::{
    ABSENCE_MARKER, ABSENCE_NOTE, Absence, AbsenceBuilder, COVERAGE_BLOCK_HEADING, COVERAGE_MARKER,
    COVERAGE_NOTE, CoverageBuilder, CoverageError, CoverageFacts, CoverageItem, CoverageKind, CoverageLists,
    CoverageReading, Covered, LedgerReading, SEMANTICS_MARKER, SEMANTICS_NOTE, absence_evidence_projection,
    absent, canonical_notes, coverage, coverage_block, declared_coverage, read_absence, read_coverage,
    read_ledger,
};
pub use self::credentials::{
    ApiKey, Basic, Bearer, Credential, CredentialAccess, CredentialError, CredentialHeaders,
    CredentialProvider, CredentialRequest, CredentialResponse, CredentialRetry, HeaderCredential,
    RetryingCredentials, Secret, StaticTokens, static_tokens, with_credential_retry,
};
pub use self::declare::{
    ColumnKind, ColumnType, CredentialNeed, RepeatedWhen, ResultCeiling, ResultClass, ToolDeclarations,
    ToolDefError, ToolDefProblem, ToolExtensions, ToolOwner, assert_arguments_from, assert_composed_of,
    assert_needs, assert_owner, assert_result_ceiling, assert_result_columns, assert_result_kind,
    assert_wants,
};
pub(crate) use self::dispatch::{OutstandingConsent, dispatched, resume_batch, run_batch};
pub use self::dispatch::{ToolFate, tool_fate};
pub use self::dispatch_door::{InnerCallError, InnerCallOptions, ToolDispatch};
pub use self::envelope::{EnvelopeReading, ToolEffect, ToolEnvelope, read_envelope};
pub use self::failure::{PauseRequest, ToolError, ToolFailure, ask_human, pause_here};
#[doc(hidden)]
pub use self::handler::BoxedCall;
pub use self::middleware::{
    ApproveOnce, AskPayload, MessageContext, MessageMiddleware, MessageOutcome, ToolCallContext,
    ToolCallOutcome, ToolHooks, ToolMiddleware, ToolResultContext, ToolResultOutcome,
};
pub(crate) use self::middleware::{DecisionRow, Ledger};
pub use self::name::{BadName, MAX_TOOL_NAME, ToolNameError, ToolNamePolicy, check_tool_name, reserved};
#[doc(hidden)]
pub use self::output::kind as output_kind;
pub use self::output::{IntoToolFailure, IntoToolOutput, NO_TOOL_VALUE, ToolOutput, render};
pub use self::people::{
    AskComponent, Assembler, CheckIn, CheckInDecision, CheckInOptions, CheckInSituation, DecisionBuilder,
    DecisionValue, Demand, Evidence, EvidenceInput, EvidenceUnit, ResumeAnswer, Scorer, check_in_approved,
    check_in_declined, pause_demands_decision,
};
pub(crate) use self::people::{check_answer, component_id_of, public_pause_data, settle_abandoned};
pub use self::permission::{
    CallSequence, CheckError, PermissionChecker, PermissionDecision, PermissionPolicy, PermissionRequest,
    PermissionVerdict, PolicyError, PolicyRules, SequenceCall, SequencePolicy, skill_of_target,
};
pub(crate) use self::present::present_tool;
pub use self::provider::{
    BlankSkillId, DiscoveryHub, DiscoveryProvider, GatedTools, SkillScopedTools, StaticTools,
    ToolListContext, ToolProvider, ToolProviderError, discovery_provider, gated_tools, skill_scoped_tools,
    static_tools,
};
pub use self::registry::ToolSetError;
pub(crate) use self::registry::check_tool_set;
pub use self::runbook::{Presentation, RunbookTool, UnknownPresentation, runbook_as_tool};
pub use self::schema::ToolSchema;
pub use self::sessions::{
    Cleanup, CloseReport, TeardownError, TeardownOptions, TeardownScope, tool_session_key,
};
pub(crate) use self::sessions::{Ends, ToolSessions, tear_down};
pub use self::tool::{IntoTool, Tool, ToolHandler};
pub(crate) use self::tooling::Tooling;
pub use self::validate::{ArgIssue, ArgValidator, MAX_ISSUES, reduce_schema};
