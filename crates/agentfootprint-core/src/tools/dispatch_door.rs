//! `ctx.tools()`: one tool calling another (TOOL §12).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use footprint::value::Value;
use thiserror::Error;

use super::failure::PauseRequest;
use super::output::ToolOutput;

pub(crate) type InnerCall = dyn Fn(String, Value) -> Pin<Box<dyn Future<Output = Result<ToolOutput, InnerCallError>> + Send>>
    + Send
    + Sync;

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
        (self.call)(name.into(), args.into()).await
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
    /// The inner tool asks a person; propagate it, and the outer call pauses.
    #[error("`{name}` asks a person")]
    Paused {
        /// The tool.
        name: String,
        /// Its question.
        pause: PauseRequest,
    },
}
