//! The five moments of the loop in one declaration.

use std::sync::Arc;

use agentfootprint_core::agent::{Act, Agent, AgentBuilder};
use agentfootprint_core::injection::BoxError;
use agentfootprint_core::run::Runner;
use agentfootprint_core::tools::{
    MessageContext, MessageMiddleware, MessageOutcome, ToolCallContext, ToolCallOutcome, ToolHooks,
    ToolMiddleware, ToolResultContext, ToolResultOutcome,
};
use agentfootprint_core::window::SlidingWindow;
use async_trait::async_trait;
use footprint::value::Value;

use crate::support::*;

/// Marks messages with its name.
struct Marks(&'static str);

#[async_trait]
impl MessageMiddleware for Marks {
    fn name(&self) -> &str {
        self.0
    }

    async fn on_message(&self, seen: &MessageContext) -> Result<MessageOutcome, BoxError> {
        Ok(MessageOutcome::allow_with(format!("{} {}", seen.content, self.0), "marked"))
    }
}

/// Marks calls and results with its name.
struct Rule(&'static str, ToolHooks);

#[async_trait]
impl ToolMiddleware for Rule {
    fn name(&self) -> &str {
        self.0
    }

    fn hooks(&self) -> ToolHooks {
        self.1
    }

    async fn on_tool_call(&self, _: &ToolCallContext) -> Result<ToolCallOutcome, BoxError> {
        Ok(ToolCallOutcome::allow_because(self.0))
    }

    async fn on_tool_result(&self, seen: &ToolResultContext) -> Result<ToolResultOutcome, BoxError> {
        let told = seen.result.as_ref().and_then(Value::as_str).unwrap_or_default();
        Ok(ToolResultOutcome::allow_with(format!("{told} {}", self.0), "marked"))
    }
}

fn builder() -> AgentBuilder {
    agent(&Script::new([look("c1"), say("done")])).tool(looking("seen"))
}

async fn recorded(agent: &Agent) -> (String, Vec<String>) {
    let heard = Heard::default();
    let report = agent.run("hi").options(reproducible(heard.options())).await;
    let events = heard.all().iter().map(Value::to_string).collect();
    (Value::from(report.record.state().clone()).to_string(), events)
}

/// Proves TOOL-48: the bundle is the same agent as the single methods, to the last event and key.
#[tokio::test]
async fn the_bundle_is_the_same_agent() {
    let both = Arc::new(Rule("both", ToolHooks::Both));
    let act = Act::new()
        .input(Arc::new(Marks("all")))
        .before_tool(both.clone())
        .before_tool(Arc::new(Rule("calls", ToolHooks::Call)))
        .after_tool(both.clone())
        .after_tool(Arc::new(Rule("results", ToolHooks::Result)))
        .window(Arc::new(SlidingWindow::keep(50)))
        .output(Arc::new(Marks("all")));
    let bundled = builder().act(act).build().unwrap();
    let (state, events) = recorded(&bundled).await;
    // Each rule spoke where its hooks say, the shared one once.
    let rows: Value = state.parse().unwrap();
    let rows: Vec<String> = rows["middlewareDecisions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{} {}", row["middleware"].as_str().unwrap(), row["moment"].as_str().unwrap()))
        .collect();
    let tools: Vec<&str> = rows.iter().map(String::as_str).filter(|row| row.contains("tool")).collect();
    assert_eq!(tools, ["both before-tool", "calls before-tool", "results after-tool", "both after-tool"]);
    assert!(!events.is_empty());

    let one: Arc<dyn MessageMiddleware> = Arc::new(Marks("both ways"));
    let shared = builder().act(Act::new().input(Arc::clone(&one)).output(one)).build().unwrap();
    let single = builder().message_middleware(Marks("both ways")).build().unwrap();
    assert_eq!(recorded(&shared).await, recorded(&single).await);

    let tools_only = Act::new()
        .before_tool(both.clone())
        .after_tool(both.clone())
        .after_tool(Arc::new(Rule("results", ToolHooks::Result)));
    let shared = builder().act(tools_only.window(Arc::new(SlidingWindow::keep(50)))).build().unwrap();
    let single = builder()
        .tool_middleware(Rule("both", ToolHooks::Both))
        .tool_middleware(Rule("results", ToolHooks::Result))
        .window(SlidingWindow::keep(50))
        .build()
        .unwrap();
    assert_eq!(recorded(&shared).await, recorded(&single).await);
}

/// Proves TOOL-48: a rule at one message moment is silent at the other.
#[tokio::test]
async fn a_rule_speaks_at_its_moment_only() {
    let agent = builder().act(Act::new().output(Arc::new(Marks("out")))).build().unwrap();
    let (report, _) = run(&agent, "hi").await;
    assert_eq!(report.answer().unwrap(), "done out");
    assert_eq!(history(&report)[0]["content"], json!("hi"));
    let agent = builder().act(Act::new().input(Arc::new(Marks("in")))).build().unwrap();
    let (report, _) = run(&agent, "hi").await;
    assert_eq!(
        (report.answer().unwrap().as_str(), &history(&report)[0]["content"]),
        ("done", &json!("hi in"))
    );
}

/// Proves TOOL-48, TOOL-14: everything is looked at before anything is attached; a second call is refused.
#[test]
fn a_bundle_that_cannot_work_is_refused_whole() {
    let act = Act::new()
        .input(Arc::new(Marks(" ")))
        .before_tool(Arc::new(Rule("late", ToolHooks::Result)))
        .after_tool(Arc::new(Rule("early", ToolHooks::Call)))
        .window(Arc::new(SlidingWindow::keep(5)))
        .window(Arc::new(SlidingWindow::keep(6)));
    let refused = builder().act(act).act(Act::new()).build().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the agent cannot be built (5 problems):\n\
         - `the name of a rule in `act.input`` is empty; give it text or leave it out\n\
         - `late` in `act.before_tool` needs the hook for calls; without it the rule never speaks there\n\
         - `early` in `act.after_tool` needs the hook for results; without it the rule never speaks there\n\
         - `act.window` was called twice; the second call would silently replace the first\n\
         - `act` was called twice; the second call would silently replace the first"
    );
}
