//! A scripted model, and runs that keep what they said.

use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::{Agent, AgentBuilder};
use agentfootprint_core::llm::{CallCx, Capabilities, LlmError, LlmProvider, LlmRequest, LlmResponse};
use agentfootprint_core::run::{RunOptions, RunReport, Runner};
use agentfootprint_core::tools::{IntoToolOutput, Tool};
use agentfootprint_record::message::ToolCall;
use async_trait::async_trait;
use footprint::pause::FlowchartCheckpoint;
use footprint::value::{Str, Value};

type Rule = Arc<dyn Fn(&LlmRequest) -> LlmResponse + Send + Sync>;

/// Answers from a list or by a rule, and keeps what it was asked.
#[derive(Clone)]
pub(crate) struct Script {
    replies: Arc<Mutex<Vec<LlmResponse>>>,
    rule: Option<Rule>,
    pub(crate) requests: Arc<Mutex<Vec<Value>>>,
}

impl Script {
    pub(crate) fn new(replies: impl IntoIterator<Item = LlmResponse>) -> Self {
        let replies = Arc::new(Mutex::new(replies.into_iter().collect()));
        Self { replies, rule: None, requests: Arc::default() }
    }

    /// Answers each request by a rule; the same for any number of runs at once.
    pub(crate) fn by(rule: impl Fn(&LlmRequest) -> LlmResponse + Send + Sync + 'static) -> Self {
        Self { rule: Some(Arc::new(rule)), ..Self::new([]) }
    }

    /// The messages of the n-th request.
    pub(crate) fn messages(&self, at: usize) -> Value {
        self.requests.lock().unwrap()[at].get("messages").cloned().unwrap()
    }
}

#[async_trait]
impl LlmProvider for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        Capabilities::default()
    }

    async fn complete(&self, request: &LlmRequest, _cx: &CallCx) -> Result<LlmResponse, LlmError> {
        self.requests.lock().unwrap().push(Value::from_serialize(request).unwrap());
        if let Some(rule) = &self.rule {
            // As a model far away: other runs come in between.
            tokio::task::yield_now().await;
            return Ok(rule(request));
        }
        let mut replies = self.replies.lock().unwrap();
        assert!(!replies.is_empty(), "the script has no more replies");
        Ok(replies.remove(0))
    }
}

pub(crate) fn say(text: &str) -> LlmResponse {
    LlmResponse::text(text)
}

pub(crate) fn calls(list: &[(&str, &str, Value)]) -> LlmResponse {
    LlmResponse::tools(
        list.iter()
            .map(|(id, name, args)| ToolCall::new(*id, *name, args.as_object().unwrap().clone()))
            .collect(),
    )
}

/// A tool over plain JSON.
pub(crate) fn tool<O, K>(
    name: &str,
    schema: Value,
    answer: impl Fn(Value) -> O + Send + Sync + 'static,
) -> Tool
where
    O: IntoToolOutput<K> + Send + 'static,
{
    Tool::builder(name)
        .description("A tool.")
        .input_schema(schema)
        .handler(move |args, _| {
            let answer = answer(args);
            async move { answer }
        })
        .build()
        .unwrap()
}

pub(crate) fn agent(script: &Script) -> AgentBuilder {
    Agent::builder(script.clone(), "m")
}

/// Everything one leg said: `(name without the prefix, payload)`.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<(String, Value)>>>);

impl Heard {
    pub(crate) fn options(&self) -> RunOptions {
        let heard = self.0.clone();
        RunOptions::new().listen(agentfootprint_record::events::Pattern::All, move |event| {
            let value = event.to_value();
            let name = event.name_str().trim_start_matches("agentfootprint.").to_owned();
            heard.lock().unwrap().push((name, value.get("payload").cloned().unwrap_or_default()));
        })
    }

    /// The payloads of one event, in order.
    pub(crate) fn of(&self, name: &str) -> Vec<Value> {
        self.0
            .lock()
            .unwrap()
            .iter()
            .filter(|(heard, _)| heard == name)
            .map(|(_, payload)| payload.clone())
            .collect()
    }

    /// The names of the events of tool dispatch, in order.
    pub(crate) fn dispatch(&self) -> Vec<String> {
        const DOMAINS: [&str; 8] = [
            "artifacts",
            "stream.tool",
            "validation",
            "permission",
            "credential",
            "middleware",
            "checkin",
            "tools",
        ];
        let names = self.0.lock().unwrap();
        let of_dispatch = |name: &&str| DOMAINS.iter().any(|domain| name.starts_with(domain));
        names.iter().map(|(name, _)| name.as_str()).filter(of_dispatch).map(str::to_owned).collect()
    }

    /// Whether any payload holds a text.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        self.0.lock().unwrap().iter().any(|(_, payload)| payload.to_string().contains(text))
    }
}

pub(crate) async fn run(agent: &Agent, message: &str) -> (RunReport<String>, Heard) {
    let heard = Heard::default();
    let report = agent.run(message).options(heard.options()).await;
    (report, heard)
}

pub(crate) async fn resume(
    agent: &Agent,
    paused: &RunReport<String>,
    answer: Option<Value>,
) -> (RunReport<String>, Heard) {
    let heard = Heard::default();
    // Through text, as from a store.
    let stored = paused.paused().unwrap().checkpoint.to_json();
    let checkpoint = FlowchartCheckpoint::from_json(&stored).unwrap();
    let report = agent.resume(checkpoint, answer, heard.options()).unwrap().await;
    (report, heard)
}

pub(crate) fn state(report: &RunReport<String>, key: &str) -> Option<Value> {
    report.record.state().get(key).cloned()
}

/// The tool messages of the final history: `(call, content, resultReason)`.
pub(crate) fn results(report: &RunReport<String>) -> Vec<(String, String, Option<String>)> {
    let history = state(report, "history").unwrap();
    let text = |message: &Value, key: &str| message.get(key).and_then(Value::as_str).map(str::to_owned);
    history
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message.get("role").and_then(Value::as_str) == Some("tool"))
        .map(|message| {
            (
                text(message, "toolCallId").unwrap(),
                text(message, "content").unwrap(),
                text(message, "resultReason"),
            )
        })
        .collect()
}

/// Every call id of the history has exactly one answer directly behind its turn.
pub(crate) fn every_call_is_answered(report: &RunReport<String>) -> bool {
    let history = state(report, "history").unwrap();
    let messages: Vec<Value> = history.as_array().unwrap().iter().cloned().collect();
    messages.iter().enumerate().all(|(at, message)| {
        let Some(calls) = message.get("toolCalls").and_then(Value::as_array) else { return true };
        let ids: Vec<Option<Str>> =
            calls.iter().map(|call| call.get("id").and_then(Value::as_shared_str).cloned()).collect();
        let answers: Vec<Option<Str>> = messages[at + 1..]
            .iter()
            .take_while(|message| message.get("role").and_then(Value::as_str) == Some("tool"))
            .map(|message| message.get("toolCallId").and_then(Value::as_shared_str).cloned())
            .collect();
        ids == answers
    })
}

/// What the visits of `tool-calls` committed, in order: `path verb` per row, in the order of the bundle.
pub(crate) fn commits(report: &RunReport<String>) -> Vec<Vec<String>> {
    let log = &report.record.snapshot().commit_log;
    log.iter()
        .filter(|bundle| &*bundle.stage_id == "tool-calls" && bundle.phase.is_none())
        .map(|bundle| bundle.rows.iter().map(|row| format!("{} {}", row.path, row.verb)).collect())
        .collect()
}
