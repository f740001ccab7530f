//! Models that answer by a rule, and runs that keep what they said.

use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::Agent;
use agentfootprint_core::compose::LlmCall;
use agentfootprint_core::llm::{CallCx, Capabilities, LlmError, LlmProvider, LlmRequest, LlmResponse};
use agentfootprint_core::run::{RunOptions, RunReport, Runner, SequentialIds};
use agentfootprint_core::tools::{Tool, ask_human};
use agentfootprint_record::events::Pattern;
use agentfootprint_record::message::ToolCall;
use async_trait::async_trait;
use footprint::clock::ManualClock;
use footprint::value::Value;

pub(crate) use footprint::value as json;

type Reply = Arc<dyn Fn(usize, &LlmRequest) -> Result<LlmResponse, LlmError> + Send + Sync>;

/// Answers by a rule, and keeps what it was asked.
#[derive(Clone)]
pub(crate) struct Script {
    reply: Reply,
    pub(crate) requests: Arc<Mutex<Vec<LlmRequest>>>,
}

impl Script {
    /// A reply to the n-th call.
    pub(crate) fn by(
        reply: impl Fn(usize, &LlmRequest) -> Result<LlmResponse, LlmError> + Send + Sync + 'static,
    ) -> Self {
        Self { reply: Arc::new(reply), requests: Arc::default() }
    }

    /// One text after the other; a call beyond them fails.
    pub(crate) fn texts(replies: &[&str]) -> Self {
        let replies: Vec<String> = replies.iter().map(|text| (*text).to_owned()).collect();
        Self::by(move |at, _| match replies.get(at) {
            Some(text) => Ok(LlmResponse::text(text.clone())),
            None => Err(LlmError::foreign("ScriptError", "the script has no more replies")),
        })
    }

    /// `<name>(<message>)`
    pub(crate) fn wrap(name: &'static str) -> Self {
        Self::by(move |_, request| Ok(LlmResponse::text(format!("{name}({})", last(request)))))
    }

    /// Always fails.
    pub(crate) fn broken(message: &'static str) -> Self {
        Self::by(move |_, _| Err(LlmError::foreign("ServiceError", message)))
    }

    /// Never answers.
    pub(crate) fn calls(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// The last user message of every call, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().map(last).collect()
    }
}

pub(crate) fn last(request: &LlmRequest) -> String {
    request.last_user_text().unwrap_or_default().to_owned()
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
        let at = {
            let mut requests = self.requests.lock().unwrap();
            requests.push(request.clone());
            requests.len() - 1
        };
        // As a model far away: siblings and other runs come in between.
        tokio::task::yield_now().await;
        (self.reply)(at, request)
    }
}

/// A model that never answers.
pub(crate) struct Silent;

#[async_trait]
impl LlmProvider for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        Capabilities::default()
    }

    async fn complete(&self, _request: &LlmRequest, _cx: &CallCx) -> Result<LlmResponse, LlmError> {
        std::future::pending().await
    }
}

/// A model call of this id.
pub(crate) fn call(id: &str, script: &Script) -> LlmCall {
    LlmCall::builder(script.clone(), "m").id(id.to_owned()).build().unwrap()
}

/// A call that wraps its message in its own name.
pub(crate) fn wrapping(name: &'static str) -> LlmCall {
    call(name, &Script::wrap(name))
}

/// A call that always fails.
pub(crate) fn failing(id: &str) -> LlmCall {
    call(id, &Script::broken("no answer"))
}

/// An agent that asks a person and then answers `<name>: <answer>`.
pub(crate) fn asking(name: &'static str) -> Agent {
    let script = Script::by(move |_, request| {
        let answered = request.messages().to_string_contents();
        Ok(match answered.last() {
            Some((role, text)) if role == "tool" => LlmResponse::text(format!("{name}: {text}")),
            _ => LlmResponse::tools(vec![ToolCall::new(
                format!("{name}-1"),
                "ask",
                json!({ "question": name }).as_object().unwrap().clone(),
            )]),
        })
    });
    let ask = Tool::builder("ask")
        .description("Asks a person.")
        .input_schema(json!({"type": "object"}))
        .handler(|args: Value, _cx| async move {
            Err::<String, _>(ask_human(
                json!({ "question": (args.get("question").cloned().unwrap_or_default()) }),
            ))
        })
        .build()
        .unwrap();
    Agent::builder(script, "m").id(name).tool(ask).build().unwrap()
}

/// Messages as role and text.
pub(crate) trait Contents {
    fn to_string_contents(&self) -> Vec<(String, String)>;
}

impl Contents for agentfootprint_record::message::ProviderMessages {
    fn to_string_contents(&self) -> Vec<(String, String)> {
        let list = serde_json::to_value(self).unwrap();
        list.as_array()
            .unwrap()
            .iter()
            .map(|message| {
                let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
                (text("role"), text("content"))
            })
            .collect()
    }
}

/// What one leg said, in order.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Value>>>);

impl Heard {
    pub(crate) fn options(&self) -> RunOptions {
        self.on(RunOptions::new()
            .clock(Arc::new(ManualClock::at(1000)))
            .ids(Arc::new(SequentialIds::default())))
    }

    pub(crate) fn on(&self, options: RunOptions) -> RunOptions {
        let heard = self.0.clone();
        options.listen(Pattern::All, move |event| heard.lock().unwrap().push(event.to_value()))
    }

    pub(crate) fn all(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }

    /// `name step` of the events of a domain.
    pub(crate) fn steps(&self, domain: &str) -> Vec<String> {
        self.all()
            .iter()
            .filter(|event| name(event).starts_with(domain))
            .map(|event| format!("{} {}", name(event), event["meta"]["runtimeStageId"].as_str().unwrap()))
            .collect()
    }

    /// The payloads of one event, in order.
    pub(crate) fn of(&self, wanted: &str) -> Vec<Value> {
        self.all()
            .iter()
            .filter(|event| name(event) == wanted)
            .map(|event| event["payload"].clone())
            .collect()
    }

    /// Enters and exits as `+id` and `-id status`, in order.
    pub(crate) fn pairs(&self) -> Vec<String> {
        self.all()
            .iter()
            .filter_map(|event| match name(event).as_str() {
                "composition.enter" => Some(format!("+{}", event["payload"]["id"].as_str().unwrap())),
                "composition.exit" => Some(format!(
                    "-{} {}",
                    event["payload"]["id"].as_str().unwrap(),
                    event["payload"]["status"].as_str().unwrap()
                )),
                _ => None,
            })
            .collect()
    }
}

pub(crate) fn name(event: &Value) -> String {
    event["type"].as_str().unwrap().trim_start_matches("agentfootprint.").to_owned()
}

pub(crate) async fn run<R: Runner + Clone>(runner: &R, message: &str) -> (RunReport<R::Output>, Heard) {
    let heard = Heard::default();
    (runner.run(message).options(heard.options()).await, heard)
}

/// The answer of a run that must have one.
pub(crate) async fn answer<R: Runner<Output = String> + Clone>(runner: &R, message: &str) -> String {
    run(runner, message).await.0.answer().unwrap().clone()
}

pub(crate) async fn error<R: Runner + Clone>(runner: &R, message: &str) -> String {
    run(runner, message).await.0.error().unwrap().to_string()
}
