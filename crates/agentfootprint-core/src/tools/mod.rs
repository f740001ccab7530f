//! Tools: what the model may ask for, and the one pipeline every call goes through.
//!
//! | module | what it owns |
//! |---|---|
//! | [`Tool`], [`ToolBuilder`] | a definition: what the model is shown, what is declared, what runs |
//! | [`ToolOutput`], [`ToolFailure`] | what a handler answers, and how it does not |
//! | [`ToolContext`] | what a handler is told and may do |
//! | [`validate`](ArgValidator) | the honest subset of JSON Schema that arguments are held to |
//! | people | consent, questions and decisions |
//! | credentials | who vends them, and that they never reach a record |

mod arms;
mod builder;
mod context;
mod credentials;
mod declare;
mod dispatch_door;
mod envelope;
mod failure;
mod handler;
mod name;
mod output;
mod people;
#[doc(hidden)]
pub mod private;
mod schema;
mod sessions;
mod tool;
mod validate;

pub use agentfootprint_record::events::words::{
    ContextSource, CredentialMode, Lease, PermissionCapability, ToolResultStatus,
};

pub use self::builder::ToolBuilder;
pub use self::context::ToolContext;
pub use self::credentials::{
    ApiKey, Basic, Bearer, Credential, CredentialAccess, CredentialError, CredentialHeaders, CredentialProvider,
    CredentialRequest, CredentialResponse, HeaderCredential, Secret,
};
pub use self::declare::{
    ColumnKind, ColumnType, CredentialNeed, RepeatedWhen, ResultCeiling, ResultClass, ToolDeclarations, ToolDefError,
    ToolDefProblem, ToolExtensions, ToolOwner, assert_arguments_from, assert_composed_of, assert_needs, assert_owner,
    assert_result_ceiling, assert_result_columns, assert_result_kind, assert_wants,
};
pub use self::dispatch_door::{InnerCallError, ToolDispatch};
pub use self::envelope::{EnvelopeReading, ToolEffect, ToolEnvelope, read_envelope};
pub use self::failure::{PauseRequest, ToolError, ToolFailure, ask_human, pause_here};
#[doc(hidden)]
pub use self::handler::BoxedCall;
pub use self::name::{BadName, MAX_TOOL_NAME, ToolNameError, ToolNamePolicy, check_tool_name, reserved};
pub use self::output::{IntoToolFailure, IntoToolOutput, NO_TOOL_VALUE, ToolOutput, render};
pub use self::people::{
    AskComponent, CheckIn, CheckInDecision, CheckInSituation, DecisionBuilder, DecisionValue, ResumeAnswer,
    check_in_approved, check_in_declined,
};
pub use self::schema::ToolSchema;
pub use self::sessions::{Cleanup, TeardownError, TeardownOptions, TeardownScope};
pub use self::tool::{IntoTool, Tool, ToolHandler};
pub use self::validate::{ArgIssue, ArgValidator, MAX_ISSUES, ToolArgValidation, reduce_schema};
