//! `ctx.tools()`: one tool calling another (TOOL §12).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use footprint::value::Value;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::failure::PauseRequest;
use super::output::ToolOutput;

pub(crate) type InnerCalling = Pin<Box<dyn Future<Output = Result<ToolOutput, InnerCallError>> + Send>>;

pub(crate) type InnerCall = dyn Fn(String, Value, InnerCallOptions) -> InnerCalling + Send + Sync;

/// How one inner call is made; see [`ToolDispatch::call_with`].
#[derive(Clone, Debug, Default)]
pub struct InnerCallOptions {
    pub(crate) cancel: Option<CancellationToken>,
    pub(crate) allow_absent: bool,
}

impl InnerCallOptions {
    /// As [`ToolDispatch::call`] makes it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the call when this token is cancelled; the run's own cancellation ends it anyhow.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Takes an [absence](super::absent) as a result to go on with. It means something to a
    /// [runbook](super::runbook_as_tool), whose answer would otherwise be that absence; a plain tool reads every result itself.
    #[must_use]
    pub fn allow_absent(mut self) -> Self {
        self.allow_absent = true;
        self
    }
}

/// Calls other tools of the agent from inside a tool. The inner call is the outer call's work: its result comes back
/// exactly as the inner tool gave it, and nothing of it reaches the model by itself.
#[derive(Clone)]
pub struct ToolDispatch {
    names: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    call: Arc<InnerCall>,
}

impl ToolDispatch {
    pub(crate) fn new(names: Arc<dyn Fn(&str) -> bool + Send + Sync>, call: Arc<InnerCall>) -> Self {
        Self { names, call }
    }

    /// Whether the agent has a tool of this name.
    pub fn has(&self, name: &str) -> bool {
        (self.names)(name)
    }

    /// Calls it.
    pub async fn call(
        &self,
        name: impl Into<String>,
        args: impl Into<Value>,
    ) -> Result<ToolOutput, InnerCallError> {
        self.call_with(name, args, InnerCallOptions::new()).await
    }

    /// Calls it, and says how.
    pub async fn call_with(
        &self,
        name: impl Into<String>,
        args: impl Into<Value>,
        options: InnerCallOptions,
    ) -> Result<ToolOutput, InnerCallError> {
        (self.call)(name.into(), args.into(), options).await
    }

    /// A dispatch that has no tool and refuses every call.
    pub(crate) fn refusing(why: &'static str) -> Self {
        Self::new(
            Arc::new(|_| false),
            Arc::new(move |name, _, _| {
                Box::pin(async move { Err(InnerCallError::Refused { name, why: why.to_owned() }) })
            }),
        )
    }
}

impl fmt::Debug for ToolDispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolDispatch")
    }
}

/// An inner call that gave no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InnerCallError {
    /// No tool of that name.
    #[error("no tool `{name}` can be called from inside `{caller}`")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The calling tool.
        caller: String,
    },
    /// The tool can only be called by the model.
    #[error("`{name}` cannot be called from inside another tool: {why}")]
    Refused {
        /// The tool.
        name: String,
        /// Why.
        why: String,
    },
    /// The inner tool failed.
    #[error("`{name}` failed: {message}")]
    Failed {
        /// The tool.
        name: String,
        /// Its own text.
        message: String,
    },
    /// The caller's own token ended it.
    #[error("the call of `{name}` was cancelled by its caller")]
    Cancelled {
        /// The tool.
        name: String,
    },
    /// The inner tool looked and there is nothing. Only a runbook's dispatch says so, and not to a call that allows an absence:
    /// propagate it, and the absence is the runbook's answer.
    #[error("`{name}` looked and found nothing")]
    Absent {
        /// The tool.
        name: String,
        /// What it answered.
        result: Value,
    },
    /// The inner tool asks a person; propagate it, and the outer call pauses.
    #[error("`{name}` asks a person")]
    Paused {
        /// The tool.
        name: String,
        /// Its question.
        pause: PauseRequest,
    },
}
