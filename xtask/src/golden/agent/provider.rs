//! The scripted provider of a scenario.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentfootprint_core::artifacts::ArtifactRef;
use agentfootprint_core::llm::{LlmError, LlmProvider, LlmRequest};
use agentfootprint_providers::mock::{Mock, MockReply, MockResponse, MockUsage};
use agentfootprint_providers::resilience::{FallbackArm, RetryPolicy, with_fallback, with_retry};
use serde_json::{Map, Value, json};

use crate::golden::expr::template;
use crate::golden::text;

/// The providers of a scenario. Those it names are made once and shared by everything that refers to them.
pub(super) struct Providers(HashMap<String, Arc<dyn LlmProvider>>);

impl Providers {
    pub(super) fn of(scenario: &Value) -> Result<Self, String> {
        let mut named = Self(HashMap::new());
        let declared = scenario.get("providers").and_then(Value::as_object).into_iter().flatten();
        let mut open: Vec<(&String, &Value)> = declared.collect();
        // A decorator may name a provider that stands further down.
        while !open.is_empty() {
            let (before, mut why) = (open.len(), String::new());
            open.retain(|(name, declared)| match named.made(declared) {
                Ok(made) => {
                    named.0.insert((*name).clone(), made);
                    false
                }
                Err(refused) => {
                    why = refused;
                    true
                }
            });
            if open.len() == before {
                return Err(why);
            }
        }
        Ok(named)
    }

    /// The provider of the agent: one that is named, or one of its own.
    pub(super) fn of_agent(&self, scenario: &Value) -> Result<Arc<dyn LlmProvider>, String> {
        self.made(&scenario.get("provider").cloned().unwrap_or_default())
    }

    /// A provider by its declaration: one that is named before, a decorator around another one, or a mock.
    fn made(&self, declared: &Value) -> Result<Arc<dyn LlmProvider>, String> {
        if let Some(name) = declared.as_str().or_else(|| declared.get("ref").and_then(Value::as_str)) {
            return self.0.get(name).cloned().ok_or_else(|| format!("no provider {name}"));
        }
        if let Some(inner) = declared.get("retryOf") {
            let number = |key: &str| declared.get(key).and_then(Value::as_u64);
            let mut policy = RetryPolicy::default();
            if let Some(attempts) = number("maxAttempts") {
                policy = policy.max_attempts(u32::try_from(attempts).unwrap_or(u32::MAX));
            }
            if let Some(delay) = number("initialDelayMs") {
                policy = policy.initial_delay(Duration::from_millis(delay));
            }
            if let Some(delay) = number("maxDelayMs") {
                policy = policy.max_delay(Duration::from_millis(delay));
            }
            let retrying = with_retry(self.made(inner)?, policy).map_err(|error| error.to_string())?;
            return Ok(Arc::new(retrying));
        }
        if let Some(pair) = declared.get("fallback") {
            let member = |key: &str| {
                let member = pair.get(key).ok_or_else(|| format!("the fallback names no {key} provider"));
                member.and_then(|member| self.made(member))
            };
            // A scenario names one model, which all of its mocks know.
            let arm = FallbackArm::same_models(member("secondary")?);
            let pair = with_fallback(member("primary")?, arm).map_err(|error| error.to_string())?;
            return Ok(Arc::new(pair));
        }
        mock(declared).map(|mock| Arc::new(mock) as Arc<dyn LlmProvider>)
    }
}

/// What `expect.json` calls the provider of the agent.
pub(super) fn name_of(scenario: &Value) -> &str {
    scenario.pointer("/provider/ref").and_then(Value::as_str).unwrap_or("main")
}

/// The mock of one declaration.
fn mock(declared: &Value) -> Result<Mock, String> {
    if declared.get("thinkingHandler").is_some() {
        return Err("a thinking handler of the provider is not built yet".to_owned());
    }
    let usage: MockUsage = declared.get("usage").map(from).transpose()?.unwrap_or_default();
    let mut mock = if let Some(replies) = declared.get("replies").and_then(Value::as_array) {
        if replies.iter().any(|reply| reply.to_string().contains(REFERENCE)) {
            referring(replies.clone())
        } else {
            Mock::replies(replies.iter().map(reply).collect::<Result<Vec<_>, _>>()?)
        }
    } else if declared.get("echo").is_some() {
        Mock::respond(|request: &LlmRequest| MockReply::from(format!("echo: {}", last_user(request))))
    } else if let Some(pattern) = declared.get("template").and_then(Value::as_str).map(str::to_owned) {
        Mock::respond(move |request: &LlmRequest| {
            MockReply::from(template(&pattern, &json!({"last": last_user(request)})))
        })
    } else {
        Mock::new()
    };
    mock = mock.with_usage(usage);
    if declared.get("stream").and_then(Value::as_bool) == Some(false) {
        mock = mock.without_streaming();
    }
    if let Some(name) = declared.get("name").and_then(Value::as_str) {
        mock = mock.with_name(name);
    }
    Ok(mock)
}

/// `$REF1` in a reply stands for the first artifact reference the model was shown, `$REF2` for the second …
const REFERENCE: &str = "$REF";

fn referring(replies: Vec<Value>) -> Mock {
    let next = AtomicUsize::new(0);
    Mock::respond(move |request: &LlmRequest| {
        let at = next.fetch_add(1, Ordering::SeqCst);
        let shown = serde_json::to_value(request.messages()).unwrap_or_default().to_string();
        let mut text = replies.get(at).cloned().unwrap_or_default().to_string();
        // The longest number first: `$REF12` begins with `$REF1`.
        for (at, reference) in references(&shown).iter().enumerate().rev() {
            text = text.replace(&format!("{REFERENCE}{}", at + 1), reference);
        }
        let declared = serde_json::from_str(&text).unwrap_or_default();
        reply(&declared).unwrap_or_else(MockReply::from)
    })
}

/// The artifact references in a text, each once, in the order of their appearance.
fn references(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (at, _) in text.match_indices("art_") {
        let reference = text.get(at..at + 26).and_then(ArtifactRef::parse);
        if let Some(reference) = reference.map(|reference| reference.to_string())
            && !found.contains(&reference)
        {
            found.push(reference);
        }
    }
    found
}

fn last_user(request: &LlmRequest) -> String {
    request.last_user_text().unwrap_or_default().to_owned()
}

fn reply(declared: &Value) -> Result<MockReply, String> {
    if let Some(text) = declared.as_str() {
        return Ok(MockReply::from(text));
    }
    if let Some(error) = declared.get("error") {
        let mut failure = LlmError::foreign(text(error, "name"), text(error, "message"));
        if let Some(status) = error.get("status").and_then(Value::as_u64) {
            failure = failure.with_status(status as u16);
        }
        return Ok(MockReply::from(failure));
    }
    let response: MockResponse = from(declared)?;
    Ok(MockReply::from(response))
}

fn from<T: serde::de::DeserializeOwned>(declared: &Value) -> Result<T, String> {
    serde_json::from_value(declared.clone()).map_err(|error| error.to_string())
}

/// A request in the form of `expect.json`.
pub(in crate::golden) fn request(request: &LlmRequest, by: &str) -> Value {
    let mut out = Map::new();
    out.insert("by".to_owned(), json!(by));
    out.insert("model".to_owned(), json!(&*request.model));
    out.insert("systemPrompt".to_owned(), json!(request.system_prompt().as_deref()));
    let messages = serde_json::to_value(request.messages()).unwrap_or_default();
    out.insert("messages".to_owned(), messages);
    out.insert(
        "tools".to_owned(),
        json!(request.tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>()),
    );
    if let Some(temperature) = request.temperature {
        out.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(tokens) = request.max_tokens {
        out.insert("maxTokens".to_owned(), json!(tokens));
    }
    if let Some(choice) = &request.tool_choice {
        out.insert("toolChoice".to_owned(), serde_json::to_value(choice).unwrap_or_default());
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use agentfootprint_core::llm::CallCx;

    use super::*;

    /// The decorators of a scenario are the library's own; their waits take no time.
    #[tokio::test(start_paused = true)]
    async fn decorators_wrap_what_is_declared() {
        let busy = json!({"error": {"name": "ServiceError", "message": "busy", "status": 503}});
        let scenario = json!({
            "provider": {"ref": "both"},
            "providers": {
                "both": {"fallback": {"primary": {"ref": "patient"}, "secondary": {"replies": ["from the spare"]}}},
                "patient": {
                    "retryOf": {"replies": [busy, busy]}, "maxAttempts": 2, "initialDelayMs": 60_000, "maxDelayMs": 60_000,
                },
            },
        });
        let provider = Providers::of(&scenario).unwrap().of_agent(&scenario).unwrap();
        assert_eq!(provider.name(), "mock+retry|mock");
        let began = tokio::time::Instant::now();
        let request = LlmRequest::new("mock-1").user("hi");
        let answer = provider.complete(&request, &CallCx::detached()).await.unwrap();
        assert_eq!((answer.content.as_str(), began.elapsed().as_secs()), ("from the spare", 60));
    }

    #[test]
    fn a_reference_to_nobody_is_named() {
        let scenario = json!({"providers": {"a": {"retryOf": {"ref": "b"}}}});
        assert_eq!(Providers::of(&scenario).err().unwrap(), "no provider b");
    }
}
