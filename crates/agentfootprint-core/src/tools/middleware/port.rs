//! The ports middleware implements, and the closed set of things a link may say.

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::MemoryIdentity;
use agentfootprint_record::events::words::MessagePhase;
use agentfootprint_record::message::Messages;
use async_trait::async_trait;
use footprint::value::{Object, Str, Value};
use tokio_util::sync::CancellationToken;

use crate::tools::people::AskComponent;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a link says about a call. There is deliberately no way to invent a result: whatever a chain decides, the
/// model finally reads the real tool's output or a refusal.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolCallOutcome {
    /// It may go on, perhaps with other arguments.
    Allow {
        /// The arguments it goes on with, when they change.
        args: Option<Value>,
        /// Why, for the record.
        why: Option<Str>,
    },
    /// It may not; the reason is what the model reads.
    Deny {
        /// The reason.
        reason: Str,
    },
    /// A person decides.
    Ask(AskPayload),
}

/// What a link says about a result. No question: the tool already ran.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolResultOutcome {
    /// The model may read it, perhaps changed.
    Allow {
        /// What the model reads instead.
        result: Option<Value>,
        /// Why, for the record.
        why: Option<Str>,
    },
    /// The model may not read it; it reads the reason.
    Deny {
        /// The reason.
        reason: Str,
    },
}

/// What a link says about a message. No question: a run cannot pause at this boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageOutcome {
    /// It may pass, perhaps rewritten.
    Allow {
        /// The text it passes as.
        content: Option<Str>,
        /// Why, for the record.
        why: Option<Str>,
    },
    /// It may not pass.
    Deny {
        /// The reason.
        reason: Str,
    },
}

/// A question a link asks a person.
#[derive(Clone, Debug, PartialEq)]
pub struct AskPayload {
    /// The question; not empty.
    pub question: Str,
    /// Data for the person.
    pub detail: Option<Value>,
    /// The screen it is shown on.
    pub component: Option<AskComponent>,
}

impl AskPayload {
    /// A question.
    pub fn new(question: impl Into<Str>) -> Self {
        Self { question: question.into(), detail: None, component: None }
    }

    /// Adds data for the person.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<Value>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Shows it on this screen.
    #[must_use]
    pub fn component(mut self, component: AskComponent) -> Self {
        self.component = Some(component);
        self
    }

    /// The recorded form: `{question, detail?, component?, middleware}`.
    pub(crate) fn to_value(&self, middleware: &str) -> Value {
        let mut out = Object::new();
        out.insert("question", Value::from(self.question.clone()));
        if let Some(detail) = &self.detail {
            out.insert("detail", detail.clone());
        }
        if let Some(component) = &self.component {
            out.insert("component", component.to_value());
        }
        out.insert("middleware", Value::from(middleware));
        Value::Object(out)
    }

    /// What is wrong with it, if anything.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.question.trim().is_empty() {
            return Some("asked without a question".to_owned());
        }
        self.component.as_ref().and_then(AskComponent::shape_fault).map(|fault| format!("asked with {fault}"))
    }
}

impl ToolCallOutcome {
    /// Lets the call pass.
    pub fn allow() -> Self {
        Self::Allow { args: None, why: None }
    }

    /// Lets the call pass, with the reason on the record.
    pub fn allow_because(why: impl Into<Str>) -> Self {
        Self::Allow { args: None, why: Some(why.into()) }
    }

    /// Lets the call pass with other arguments; the reason is mandatory.
    pub fn allow_with(args: impl Into<Value>, why: impl Into<Str>) -> Self {
        Self::Allow { args: Some(args.into()), why: Some(why.into()) }
    }

    /// Denies the call; the model reads the reason.
    pub fn deny(reason: impl Into<Str>) -> Self {
        Self::Deny { reason: reason.into() }
    }

    /// Asks a person.
    pub fn ask(question: AskPayload) -> Self {
        Self::Ask(question)
    }
}

impl ToolResultOutcome {
    /// Lets the result pass.
    pub fn allow() -> Self {
        Self::Allow { result: None, why: None }
    }

    /// Lets the result pass, with the reason on the record.
    pub fn allow_because(why: impl Into<Str>) -> Self {
        Self::Allow { result: None, why: Some(why.into()) }
    }

    /// Changes what the model reads; the reason is mandatory.
    pub fn allow_with(result: impl Into<Value>, why: impl Into<Str>) -> Self {
        Self::Allow { result: Some(result.into()), why: Some(why.into()) }
    }

    /// Hides the result; the model reads the reason.
    pub fn deny(reason: impl Into<Str>) -> Self {
        Self::Deny { reason: reason.into() }
    }
}

impl MessageOutcome {
    /// Lets the message pass.
    pub fn allow() -> Self {
        Self::Allow { content: None, why: None }
    }

    /// Lets the message pass, with the reason on the record.
    pub fn allow_because(why: impl Into<Str>) -> Self {
        Self::Allow { content: None, why: Some(why.into()) }
    }

    /// Rewrites the message; the reason is mandatory.
    pub fn allow_with(content: impl Into<Str>, why: impl Into<Str>) -> Self {
        Self::Allow { content: Some(content.into()), why: Some(why.into()) }
    }

    /// Denies the message.
    pub fn deny(reason: impl Into<Str>) -> Self {
        Self::Deny { reason: reason.into() }
    }
}

/// The moments a tool middleware takes part in; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolHooks {
    /// Before a call.
    Call,
    /// After a result.
    Result,
    /// Both.
    Both,
}

impl ToolHooks {
    pub(crate) fn on_call(self) -> bool {
        matches!(self, Self::Call | Self::Both)
    }

    pub(crate) fn on_result(self) -> bool {
        matches!(self, Self::Result | Self::Both)
    }
}

/// A link around tool calls. Links walk forward before a call and backward after it, so the first one declared has
/// the last word on a result.
#[async_trait]
pub trait ToolMiddleware: Send + Sync {
    /// The link's name; recorded with every decision.
    fn name(&self) -> &str;

    /// The moments it takes part in.
    fn hooks(&self) -> ToolHooks;

    /// Before a call. An error denies it.
    async fn on_tool_call(&self, _call: &ToolCallContext) -> Result<ToolCallOutcome, BoxError> {
        Ok(ToolCallOutcome::allow())
    }

    /// After a call that ran. An error hides the result.
    async fn on_tool_result(&self, _result: &ToolResultContext) -> Result<ToolResultOutcome, BoxError> {
        Ok(ToolResultOutcome::allow())
    }
}

/// A link around messages: what the person said, what the model is about to answer.
#[async_trait]
pub trait MessageMiddleware: Send + Sync {
    /// The link's name; recorded with every decision.
    fn name(&self) -> &str;

    /// The message. An error denies it.
    async fn on_message(&self, message: &MessageContext) -> Result<MessageOutcome, BoxError>;
}

/// A call, as one link sees it.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolCallContext {
    /// The tool.
    pub tool_name: Str,
    /// The server that supplied it; absent for the agent's own.
    pub tool_source: Option<Str>,
    /// The call.
    pub tool_call_id: Str,
    /// The iteration.
    pub iteration: u32,
    /// The arguments, as the links before left them.
    pub args: Value,
    /// The conversation, including the assistant turn that asks.
    pub history: Messages,
    /// The identity the caller stated.
    pub identity: Option<Arc<MemoryIdentity>>,
    /// Cancelled when the run is.
    pub cancel: CancellationToken,
}

impl fmt::Debug for ToolCallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCallContext")
            .field("tool_name", &self.tool_name)
            .field("tool_call_id", &self.tool_call_id)
            .finish_non_exhaustive()
    }
}

/// A result, as one link sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolResultContext {
    /// The call, with the arguments the tool actually ran with.
    pub call: ToolCallContext,
    /// The result, unrendered; absent when the tool returned nothing.
    pub result: Option<Value>,
    /// Whether the tool failed.
    pub error: bool,
}

/// A message, as one link sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MessageContext {
    /// Whether it comes in or goes out.
    pub phase: MessagePhase,
    /// The text, as the links before left it.
    pub content: Str,
    /// The conversation; empty at the input moment.
    pub history: Messages,
    /// The iteration; 0 at the input moment.
    pub iteration: u32,
    /// The identity the caller stated.
    pub identity: Option<Arc<MemoryIdentity>>,
    /// Cancelled when the run is.
    pub cancel: CancellationToken,
}
