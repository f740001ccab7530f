//! Approve once: a question a person answered is not asked again (TOOL-49).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use agentfootprint_record::text::canonical_json;
use async_trait::async_trait;
use footprint::value::{Array, Object, Str, Value};

use super::port::{AskPayload, ToolCallContext, ToolCallOutcome, ToolHooks, ToolMiddleware};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Concerns = dyn Fn(&ToolCallContext) -> bool + Send + Sync;

/// Asks once per tool and arguments, and remembers the approval. One value per session: never share it between
/// sessions.
///
/// ```
/// use agentfootprint_core::tools::{ApproveOnce, AskPayload};
/// let gate = ApproveOnce::new("approve-once", "May the agent do this?").for_tools(["send_mail"]);
/// // …the run paused with this ask; the person said yes:
/// # let key = ApproveOnce::key_of(None, "send_mail", &footprint::value!({ "to": "ann" }));
/// # let ask = AskPayload::new("May the agent do this?").detail(footprint::value!({ "approveOnceKey": (key) }));
/// assert!(gate.remember(&ask.detail.unwrap(), "lea"));
/// ```
pub struct ApproveOnce {
    name: Str,
    question: Str,
    concerns: Box<Concerns>,
    approved: Mutex<HashMap<String, Str>>,
}

/// Where the key stands in the question's detail.
const KEY: &str = "approveOnceKey";

impl ApproveOnce {
    /// Asks about every call of every tool.
    pub fn new(name: impl Into<Str>, question: impl Into<Str>) -> Self {
        Self {
            name: name.into(),
            question: question.into(),
            concerns: Box::new(|_| true),
            approved: Mutex::default(),
        }
    }

    /// Asks about these tools only.
    #[must_use]
    pub fn for_tools<S: Into<Str>>(self, tools: impl IntoIterator<Item = S>) -> Self {
        let tools: Vec<Str> = tools.into_iter().map(Into::into).collect();
        self.when(move |call| tools.contains(&call.tool_name))
    }

    /// Asks about the calls this picks.
    #[must_use]
    pub fn when(mut self, concerns: impl Fn(&ToolCallContext) -> bool + Send + Sync + 'static) -> Self {
        self.concerns = Box::new(concerns);
        self
    }

    /// The key of a call: one canonical array, so that no two calls share one.
    pub fn key_of(source: Option<&str>, tool: &str, args: &Value) -> String {
        let parts = [source.map_or(Value::Null, Value::from), Value::from(tool), args.clone()];
        canonical_json(&Value::Array(parts.into_iter().collect::<Array>()))
    }

    /// Remembers an approval: `ask` is the question the person saw, or its `detail`. False when it is not one of ours.
    pub fn remember(&self, ask: &Value, by: impl Into<Str>) -> bool {
        let key = ask.get(KEY).or_else(|| ask.get("detail").and_then(|detail| detail.get(KEY)));
        let Some(key) = key.and_then(Value::as_str) else { return false };
        self.approved.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), by.into());
        true
    }
}

impl fmt::Debug for ApproveOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApproveOnce({})", self.name)
    }
}

#[async_trait]
impl ToolMiddleware for ApproveOnce {
    fn name(&self) -> &str {
        &self.name
    }

    fn hooks(&self) -> ToolHooks {
        ToolHooks::Call
    }

    async fn on_tool_call(&self, call: &ToolCallContext) -> Result<ToolCallOutcome, BoxError> {
        if !(self.concerns)(call) {
            return Ok(ToolCallOutcome::allow());
        }
        let key = Self::key_of(call.tool_source.as_deref(), &call.tool_name, &call.args);
        let by = self.approved.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(by) = by {
            return Ok(ToolCallOutcome::allow_because(format!("approved earlier by {by}")));
        }
        let mut detail = Object::new();
        detail.insert("tool", Value::from(call.tool_name.clone()));
        detail.insert("args", call.args.clone());
        detail.insert(KEY, Value::from(key));
        Ok(ToolCallOutcome::ask(AskPayload::new(self.question.clone()).detail(detail)))
    }
}

#[cfg(test)]
mod tests {
    use agentfootprint_record::message::Messages;
    use footprint::value;
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn call(tool: &str, args: Value) -> ToolCallContext {
        ToolCallContext {
            tool_name: tool.into(),
            tool_source: None,
            tool_call_id: "c1".into(),
            iteration: 1,
            args,
            history: Messages::new(),
            identity: None,
            cancel: CancellationToken::new(),
        }
    }

    /// Proves TOOL-49.
    #[tokio::test]
    async fn an_approved_call_is_not_asked_again_and_another_one_is() {
        let gate = ApproveOnce::new("once", "Send it?").for_tools(["send"]);
        let asked = gate.on_tool_call(&call("send", value!({ "to": "ann", "n": 1 }))).await.unwrap();
        let ToolCallOutcome::Ask(payload) = asked else { panic!("asks") };
        assert!(gate.remember(&payload.to_value("once"), "lea"));
        let again = gate.on_tool_call(&call("send", value!({ "n": 1.0, "to": "ann" }))).await.unwrap();
        assert_eq!(again, ToolCallOutcome::allow_because("approved earlier by lea"));
        let other = gate.on_tool_call(&call("send", value!({ "to": "bob", "n": 1 }))).await.unwrap();
        assert!(matches!(other, ToolCallOutcome::Ask(_)));
        assert_eq!(gate.on_tool_call(&call("read", value!({}))).await.unwrap(), ToolCallOutcome::allow());
        assert!(!gate.remember(&value!({ "question": "x" }), "lea"));
        // Joined keys would collide: a/b + c and a + b/c.
        assert_ne!(
            ApproveOnce::key_of(Some("a/b"), "c", &value!({})),
            ApproveOnce::key_of(Some("a"), "b/c", &value!({}))
        );
    }
}
