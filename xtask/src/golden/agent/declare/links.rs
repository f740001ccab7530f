//! Middleware of a scenario: rules over calls, results and messages.

use agentfootprint_core::agent::AgentBuilder;
use agentfootprint_core::injection::BoxError;
use agentfootprint_core::tools::{
    AskPayload, MessageContext, MessageMiddleware, MessageOutcome, ToolCallContext, ToolCallOutcome,
    ToolHooks, ToolMiddleware, ToolResultContext, ToolResultOutcome, render,
};
use agentfootprint_record::events::words::Word as _;
use async_trait::async_trait;
use footprint::value::Value as Kept;
use serde_json::{Value, json};

use super::{Given, list};
use crate::golden::expr::{holds, template};
use crate::golden::text;

pub(super) fn linked(mut builder: AgentBuilder, declared: &Value) -> AgentBuilder {
    for link in list(declared, "tool") {
        builder = builder.tool_middleware(Link(text(link, "name"), link.clone()));
    }
    for link in list(declared, "message") {
        builder = builder.message_middleware(Link(text(link, "name"), link.clone()));
    }
    builder
}

/// A link with its name and its declaration.
struct Link(String, Value);

impl Link {
    /// The first rule of `list` that fits the tool and what is seen.
    fn rule(&self, list: &str, tool: Option<&str>, seen: &Value) -> Result<Option<&Value>, BoxError> {
        for rule in self::list(&self.1, list) {
            let named = rule.get("tool").and_then(Value::as_str);
            if named.is_some() && named != tool {
                continue;
            }
            let condition = rule.get("if");
            let fits = condition.map_or(Ok(true), |condition| holds(condition, &Given(seen.clone())));
            if fits.map_err(|thrown| BoxError::from(thrown.0))? {
                return Ok(Some(rule));
            }
        }
        Ok(None)
    }
}

#[async_trait]
impl ToolMiddleware for Link {
    fn name(&self) -> &str {
        &self.0
    }

    fn hooks(&self) -> ToolHooks {
        match (self.1.get("onCall").is_some(), self.1.get("onResult").is_some()) {
            (true, true) => ToolHooks::Both,
            (false, true) => ToolHooks::Result,
            _ => ToolHooks::Call,
        }
    }

    async fn on_tool_call(&self, call: &ToolCallContext) -> Result<ToolCallOutcome, BoxError> {
        let seen = seen_call(call);
        let Some(rule) = self.rule("onCall", Some(&call.tool_name), &seen)? else {
            return Ok(ToolCallOutcome::allow());
        };
        if let Some(reason) = rule.get("deny").and_then(Value::as_str) {
            return Ok(ToolCallOutcome::deny(reason));
        }
        if let Some(ask) = rule.get("ask") {
            let mut payload = AskPayload::new(text(ask, "question"));
            if let Some(detail) = ask.get("detail") {
                payload = payload.detail(Kept::from(detail.clone()));
            }
            return Ok(ToolCallOutcome::ask(payload));
        }
        if let Some(more) = rule.get("setArgs").and_then(Value::as_object) {
            let mut args = call.args.to_json();
            if let Some(args) = args.as_object_mut() {
                args.extend(more.clone());
            }
            return Ok(ToolCallOutcome::allow_with(Kept::from(args), text(rule, "why")));
        }
        Ok(ToolCallOutcome::allow())
    }

    async fn on_tool_result(&self, result: &ToolResultContext) -> Result<ToolResultOutcome, BoxError> {
        let mut seen = seen_call(&result.call);
        if let (Some(seen), Some(value)) = (seen.as_object_mut(), &result.result) {
            seen.insert("result".to_owned(), value.to_json());
        }
        let Some(rule) = self.rule("onResult", Some(&result.call.tool_name), &seen)? else {
            return Ok(ToolResultOutcome::allow());
        };
        if let Some(reason) = rule.get("deny").and_then(Value::as_str) {
            return Ok(ToolResultOutcome::deny(reason));
        }
        if let Some(other) = rule.get("result") {
            return Ok(ToolResultOutcome::allow_with(Kept::from(other.clone()), text(rule, "why")));
        }
        Ok(match pair(rule, "replaceText") {
            Some((from, to)) => {
                let replaced = render(result.result.as_ref()).replace(&from, &to);
                ToolResultOutcome::allow_with(replaced, text(rule, "why"))
            }
            None => ToolResultOutcome::allow(),
        })
    }
}

#[async_trait]
impl MessageMiddleware for Link {
    fn name(&self) -> &str {
        &self.0
    }

    async fn on_message(&self, message: &MessageContext) -> Result<MessageOutcome, BoxError> {
        let phase = self.1.get("phase").and_then(Value::as_str);
        if phase.is_some_and(|phase| phase != message.phase.word()) {
            return Ok(MessageOutcome::allow());
        }
        let seen = json!({"content": &*message.content, "phase": message.phase.word()});
        let Some(rule) = self.rule("rules", None, &seen)? else { return Ok(MessageOutcome::allow()) };
        if let Some(reason) = rule.get("deny").and_then(Value::as_str) {
            return Ok(MessageOutcome::deny(reason));
        }
        if let Some(pattern) = rule.get("rewrite").and_then(Value::as_str) {
            return Ok(MessageOutcome::allow_with(template(pattern, &seen), text(rule, "why")));
        }
        Ok(match pair(rule, "replace") {
            Some((from, to)) => {
                MessageOutcome::allow_with(message.content.replace(&from, &to), text(rule, "why"))
            }
            None => MessageOutcome::allow(),
        })
    }
}

fn seen_call(call: &ToolCallContext) -> Value {
    json!({
        "toolName": &*call.tool_name,
        "toolCallId": &*call.tool_call_id,
        "iteration": call.iteration,
        "args": call.args.to_json(),
    })
}

fn pair(rule: &Value, key: &str) -> Option<(String, String)> {
    match list(rule, key) {
        [from, to] => Some((from.as_str()?.to_owned(), to.as_str()?.to_owned())),
        _ => None,
    }
}
