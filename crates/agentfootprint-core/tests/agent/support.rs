//! A scripted model, and runs that keep what they said.

use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::{Agent, AgentBuilder};
use agentfootprint_core::llm::{
    CallCx, Capabilities, LlmChunk, LlmError, LlmProvider, LlmRequest, LlmResponse, LlmStream, ThinkingError,
    ThinkingHandler,
};
use agentfootprint_core::run::{RunOptions, RunReport, Runner, SequentialIds};
use agentfootprint_core::tools::Tool;
use agentfootprint_record::events::Pattern;
use agentfootprint_record::message::{ThinkingBlock, ToolCall};
use async_trait::async_trait;
use footprint::clock::ManualClock;
use footprint::value::Value;

pub(crate) use footprint::value as json;

type Reply = Arc<dyn Fn(usize, &LlmRequest) -> Result<LlmResponse, LlmError> + Send + Sync>;

/// Answers by a rule, and keeps what it was asked.
#[derive(Clone)]
pub(crate) struct Script {
    reply: Reply,
    capabilities: Capabilities,
    chunks: Option<Arc<Mutex<Vec<Vec<Result<LlmChunk, LlmError>>>>>>,
    hangs: bool,
    pub(crate) requests: Arc<Mutex<Vec<LlmRequest>>>,
}

impl Script {
    /// One reply after the other; a call beyond them fails.
    pub(crate) fn new(replies: impl IntoIterator<Item = LlmResponse>) -> Self {
        let replies: Vec<LlmResponse> = replies.into_iter().collect();
        Self::by(move |at, _| {
            replies
                .get(at)
                .cloned()
                .ok_or_else(|| LlmError::foreign("ScriptError", "the script has no more replies"))
        })
    }

    /// A reply to the n-th call.
    pub(crate) fn by(
        reply: impl Fn(usize, &LlmRequest) -> Result<LlmResponse, LlmError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            reply: Arc::new(reply),
            capabilities: Capabilities::default(),
            chunks: None,
            hangs: false,
            requests: Arc::default(),
        }
    }

    /// Never answers.
    pub(crate) fn hanging() -> Self {
        Self { hangs: true, ..Self::new([]) }
    }

    /// Streams these chunks, one list per call.
    pub(crate) fn streaming(calls: impl IntoIterator<Item = Vec<Result<LlmChunk, LlmError>>>) -> Self {
        let mut script = Self::new([]);
        script.chunks = Some(Arc::new(Mutex::new(calls.into_iter().collect())));
        script.capabilities = Capabilities::default().with_streams(true);
        script
    }

    pub(crate) fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    pub(crate) fn request(&self, at: usize) -> LlmRequest {
        self.requests.lock().unwrap()[at].clone()
    }

    pub(crate) fn calls(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

#[async_trait]
impl LlmProvider for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        self.capabilities.clone()
    }

    async fn complete(&self, request: &LlmRequest, _cx: &CallCx) -> Result<LlmResponse, LlmError> {
        let at = {
            let mut requests = self.requests.lock().unwrap();
            requests.push(request.clone());
            requests.len() - 1
        };
        if self.hangs {
            std::future::pending::<()>().await;
        }
        // As a model far away: other runs come in between.
        tokio::task::yield_now().await;
        (self.reply)(at, request)
    }

    async fn stream(&self, request: &LlmRequest, _cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        let chunks = self.chunks.as_ref()?;
        self.requests.lock().unwrap().push(request.clone());
        let chunks = chunks.lock().unwrap().remove(0);
        Some(Ok(Box::pin(futures_util::stream::iter(chunks))))
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

/// One call of `look`.
pub(crate) fn look(id: &str) -> LlmResponse {
    calls(&[(id, "look", json!({}))])
}

/// A tool that answers with one text.
pub(crate) fn looking(text: &str) -> Tool {
    let text = text.to_owned();
    Tool::builder("look")
        .description("Looks.")
        .input_schema(json!({"type": "object"}))
        .handler(move |_args: Value, _cx| {
            let text = text.clone();
            async move { text }
        })
        .build()
        .unwrap()
}

/// Reads nothing.
pub(crate) struct Plain;

impl ThinkingHandler for Plain {
    fn id(&self) -> &str {
        "plain"
    }

    fn normalize(&self, _raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        Ok(Vec::new())
    }
}

pub(crate) fn agent(script: &Script) -> AgentBuilder {
    Agent::builder(script.clone(), "m")
}

/// What one leg said, in order.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Value>>>);

impl Heard {
    pub(crate) fn options(&self) -> RunOptions {
        self.on(RunOptions::new())
    }

    pub(crate) fn on(&self, options: RunOptions) -> RunOptions {
        let heard = self.0.clone();
        options.listen(Pattern::All, move |event| heard.lock().unwrap().push(event.to_value()))
    }

    pub(crate) fn push(&self, event: &agentfootprint_record::events::Event) {
        self.0.lock().unwrap().push(event.to_value());
    }

    pub(crate) fn all(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }

    /// The names of the events without the prefix, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.all().iter().map(name).collect()
    }

    /// The payloads of one event, in order.
    pub(crate) fn of(&self, wanted: &str) -> Vec<Value> {
        self.all()
            .iter()
            .filter(|event| name(event) == wanted)
            .map(|event| event["payload"].clone())
            .collect()
    }

    pub(crate) fn count(&self, wanted: &str) -> usize {
        self.of(wanted).len()
    }

    /// Whether any event holds a text.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        self.all().iter().any(|event| event.to_string().contains(text))
    }
}

fn name(event: &Value) -> String {
    event["type"].as_str().unwrap().trim_start_matches("agentfootprint.").to_owned()
}

pub(crate) async fn run(agent: &Agent, message: &str) -> (RunReport<String>, Heard) {
    let heard = Heard::default();
    let report = agent.run(message).options(heard.options()).await;
    (report, heard)
}

/// A clock that stands, and ids counted from 1.
pub(crate) fn reproducible(options: RunOptions) -> RunOptions {
    options.clock(Arc::new(ManualClock::at(1_700_000_000_000))).ids(Arc::new(SequentialIds::default()))
}

pub(crate) fn state(report: &RunReport<String>, key: &str) -> Option<Value> {
    report.record.state().get(key).cloned()
}

/// The keys of the final state, sorted.
pub(crate) fn state_keys(report: &RunReport<String>) -> Vec<String> {
    let mut keys: Vec<String> = report.record.state().keys().map(|key| key.to_string()).collect();
    keys.sort();
    keys
}

pub(crate) fn history(report: &RunReport<String>) -> Vec<Value> {
    state(report, "history").unwrap().as_array().unwrap().iter().cloned().collect()
}

/// What the strictest provider demands: every call answered directly behind its turn, no two assistant turns in a row,
/// no empty message besides a turn that only calls tools.
pub(crate) fn is_valid(history: &[Value]) -> bool {
    let role = |message: &Value| message["role"].as_str().unwrap().to_owned();
    history.iter().enumerate().all(|(at, message)| {
        let calls: Vec<&str> = match message.get("toolCalls").and_then(Value::as_array) {
            Some(calls) => calls.iter().map(|call| call["id"].as_str().unwrap()).collect(),
            None => Vec::new(),
        };
        let answers: Vec<&str> = history[at + 1..]
            .iter()
            .take_while(|next| role(next) == "tool")
            .map(|next| next["toolCallId"].as_str().unwrap())
            .collect();
        let alternates =
            role(message) != "assistant" || history.get(at + 1).is_none_or(|next| role(next) != "assistant");
        let says_something = !message["content"].as_str().unwrap().is_empty() || !calls.is_empty();
        let answered = role(message) != "assistant" || calls == answers;
        answered && alternates && says_something
    })
}
