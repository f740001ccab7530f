//! An agent that uses two tools at once and then answers, with canaries wherever words could leave.

use std::io::Write;
use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::{Agent, AgentBuilder};
use agentfootprint_core::llm::{
    CallCx, Capabilities, LlmError, LlmProvider, LlmRequest, LlmResponse, ModelPrices, StaticPricing, Usage,
};
use agentfootprint_core::run::RunOptions;
use agentfootprint_core::run::SequentialIds;
use agentfootprint_core::tools::Tool;
use agentfootprint_record::message::ToolCall;
use async_trait::async_trait;
use footprint::clock::ManualClock;
use footprint::value::Value;

pub(crate) use footprint::value as json;

/// Stands wherever people, models and tools speak.
pub(crate) const CANARY: &str = "CANARY-7f3a";

type Reply = dyn Fn(&LlmRequest, bool) -> Result<LlmResponse, LlmError> + Send + Sync;

/// Answers by a rule that knows whether tools have answered.
pub(crate) struct Model(Box<Reply>);

impl Model {
    pub(crate) fn by(
        reply: impl Fn(&LlmRequest, bool) -> Result<LlmResponse, LlmError> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(reply))
    }

    pub(crate) fn text(text: &'static str) -> Self {
        Self::by(move |_, _| Ok(LlmResponse::text(text)))
    }

    /// Calls `good` and `bad` at once, then answers.
    pub(crate) fn tools() -> Self {
        Self::by(|_, answered| {
            let mut response = if answered {
                LlmResponse::text(format!("{CANARY} the answer"))
            } else {
                let args = json!({ "city": (CANARY), "days": 3 });
                let args = args.as_object().unwrap();
                LlmResponse::tools(vec![
                    ToolCall::new("call-good", "good", args.clone()),
                    ToolCall::new("call-bad", "bad", args.clone()),
                ])
            };
            let mut usage = Usage::new(100, 20);
            usage.cache_read = Some(7);
            response.usage = usage;
            Ok(response)
        })
    }
}

#[async_trait]
impl LlmProvider for Model {
    fn name(&self) -> &str {
        "script"
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        Capabilities::default()
    }

    async fn complete(&self, request: &LlmRequest, _cx: &CallCx) -> Result<LlmResponse, LlmError> {
        let messages = serde_json::to_value(request.messages()).unwrap();
        let answered = messages.as_array().unwrap().iter().any(|message| message["role"] == "tool");
        // As a model far away: other runs come in between.
        tokio::task::yield_now().await;
        (self.0)(request, answered)
    }
}

fn tool(name: &'static str, fails: bool) -> Tool {
    Tool::builder(name)
        .description("Answers.")
        .input_schema(json!({"type": "object"}))
        .handler(move |_: Value, _cx| async move {
            if fails {
                return Err(agentfootprint_core::tools::ToolError::new(format!("{CANARY} broke")));
            }
            Ok(json!({ "secret": (CANARY) }))
        })
        .build()
        .unwrap()
}

pub(crate) fn builder(model: Model) -> AgentBuilder {
    let prices = ModelPrices { input: Some(0.5), output: Some(2.0), ..Default::default() };
    Agent::builder(model, "m-1")
        .system(format!("{CANARY} You help."))
        .pricing(StaticPricing::new("list").model("m-1", prices))
        .tool(tool("good", false))
        .tool(tool("bad", true))
}

pub(crate) fn agent(id: &str) -> Agent {
    builder(Model::tools()).id(id.to_owned()).build().unwrap()
}

pub(crate) fn options() -> RunOptions {
    RunOptions::new()
        .clock(Arc::new(ManualClock::at(1_700_000_000_000)))
        .ids(Arc::new(SequentialIds::default()))
}

/// What is written, readable while it is written.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Model {
    /// What it would say.
    pub(crate) fn reply(&self, answered: bool) -> Result<LlmResponse, LlmError> {
        (self.0)(&LlmRequest::new("m-1"), answered)
    }
}
