//! Cleanups a tool registers, and when they run (TOOL-89).

mod key;
mod registry;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use footprint::value::Str;
use thiserror::Error;

pub(crate) use self::key::key_hash;
pub use self::key::tool_session_key;
pub use self::registry::CloseReport;
pub(crate) use self::registry::{Asked, Ends, Registered, ToolSessions, scope_word};

/// When a cleanup runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TeardownScope {
    /// When the call has settled.
    Call,
    /// At the end of the turn that is not a pause (default).
    #[default]
    Run,
    /// When the session's tool sessions are closed.
    Session,
    /// When the agent shuts down.
    Shutdown,
}

impl TeardownScope {
    /// The recorded word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Run => "run",
            Self::Session => "session",
            Self::Shutdown => "shutdown",
        }
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type CleanupFuture = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// What runs at teardown.
pub struct Cleanup(Box<dyn FnOnce() -> CleanupFuture + Send + Sync>);

impl Cleanup {
    /// A cleanup from an async closure.
    pub fn new<F, Fut>(cleanup: F) -> Self
    where
        F: FnOnce() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        Self(Box::new(move || Box::pin(cleanup())))
    }

    pub(crate) fn run(self) -> CleanupFuture {
        (self.0)()
    }
}

impl fmt::Debug for Cleanup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cleanup")
    }
}

/// How a cleanup is filed: registering the same `(tool, scope, key)` again only touches the first registration.
#[derive(Clone, Debug, Default)]
pub struct TeardownOptions {
    /// When it runs.
    pub scope: TeardownScope,
    /// What it belongs to; without a key, to the call.
    pub key: Option<Str>,
    /// A name for the record.
    pub label: Option<Str>,
    /// The runner behind it, for the record.
    pub runner_id: Option<Str>,
}

impl TeardownOptions {
    /// Options for a scope.
    pub fn new(scope: TeardownScope) -> Self {
        Self { scope, ..Self::default() }
    }

    /// Names what the cleanup belongs to.
    #[must_use]
    pub fn key(mut self, key: impl Into<Str>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Names it for the record.
    #[must_use]
    pub fn label(mut self, label: impl Into<Str>) -> Self {
        self.label = Some(label.into());
        self
    }
}

/// A cleanup that cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{door} has no teardown scope `{}`; {}", scope.as_str(), listed(has))]
#[non_exhaustive]
pub struct TeardownError {
    /// The scope asked for.
    pub scope: TeardownScope,
    /// The door that was asked.
    pub door: &'static str,
    /// The scopes it has.
    pub has: Vec<TeardownScope>,
}

impl TeardownError {
    pub(crate) fn unsupported(scope: TeardownScope, door: &'static str, has: &[TeardownScope]) -> Self {
        Self { scope, door, has: has.to_vec() }
    }
}

fn listed(scopes: &[TeardownScope]) -> String {
    if scopes.is_empty() {
        return "it has none".to_owned();
    }
    let words: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    format!("it has {}", words.join(", "))
}

/// Closes what the turn's tools left open; not at the end of a pausing leg, whose turn goes on (TOOL-89, TOOL-95).
pub(crate) async fn tear_down(agent: &crate::agent::AgentCore, run: &crate::run::RunContext) {
    let limit = agent.options.tool_teardown_timeout;
    let say = |event| run.tell_at(agentfootprint_record::conventions::ids::TOOL_TEARDOWN, event);
    agent.sessions.close(Ends::Turn(run.turn_id()), limit, || run.now_ms(), say).await;
}

/// Where a context's cleanups go.
pub(crate) trait TeardownDoor: Send + Sync {
    fn scopes(&self) -> &[TeardownScope];
    fn register(
        &self,
        tool: &str,
        tool_call_id: &str,
        options: TeardownOptions,
        cleanup: Cleanup,
    ) -> Result<(), TeardownError>;
}
