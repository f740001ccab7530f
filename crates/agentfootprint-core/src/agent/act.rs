//! The five moments of the loop in one declaration (TOOL-48): sugar over the builder's own doors.

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::events::words::{LoopMoment, MessagePhase};
use async_trait::async_trait;

use super::builder::AgentBuilder;
use super::errors::AgentBuildError;
use crate::injection::BoxError;
use crate::tools::{MessageContext, MessageMiddleware, MessageOutcome, ToolHooks, ToolMiddleware};
use crate::window::{WindowDoor, WindowStrategy};

/// What acts at the moments of the loop, by the moment.
///
/// A rule speaks where its hooks say. One that is named at both tool moments is attached once; one that is named at only one of
/// the message moments is silent at the other.
#[derive(Clone, Default)]
pub struct Act {
    input: Vec<Arc<dyn MessageMiddleware>>,
    before_tool: Vec<Arc<dyn ToolMiddleware>>,
    after_tool: Vec<Arc<dyn ToolMiddleware>>,
    window: Option<Arc<dyn WindowStrategy>>,
    output: Vec<Arc<dyn MessageMiddleware>>,
    window_twice: bool,
}

impl Act {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// On the person's message, before anything sees it.
    #[must_use]
    pub fn input(mut self, rule: Arc<dyn MessageMiddleware>) -> Self {
        self.input.push(rule);
        self
    }

    /// Before a tool runs.
    #[must_use]
    pub fn before_tool(mut self, rule: Arc<dyn ToolMiddleware>) -> Self {
        self.before_tool.push(rule);
        self
    }

    /// On what a tool returned.
    #[must_use]
    pub fn after_tool(mut self, rule: Arc<dyn ToolMiddleware>) -> Self {
        self.after_tool.push(rule);
        self
    }

    /// What leaves the conversation when it grows.
    #[must_use]
    pub fn window(mut self, strategy: Arc<dyn WindowStrategy>) -> Self {
        self.window_twice |= self.window.replace(strategy).is_some();
        self
    }

    /// On the answer, before it is delivered.
    #[must_use]
    pub fn output(mut self, rule: Arc<dyn MessageMiddleware>) -> Self {
        self.output.push(rule);
        self
    }

    /// Everything that is wrong with it.
    fn problems(&self) -> Vec<AgentBuildError> {
        let mut out = Vec::new();
        let mut named = |moment: LoopMoment, name: &str| {
            if name.trim().is_empty() {
                out.push(AgentBuildError::Empty { option: name_of(&moment) });
            }
        };
        self.input.iter().for_each(|rule| named(LoopMoment::Input, rule.name()));
        self.before_tool.iter().for_each(|rule| named(LoopMoment::BeforeTool, rule.name()));
        self.after_tool.iter().for_each(|rule| named(LoopMoment::AfterTool, rule.name()));
        self.output.iter().for_each(|rule| named(LoopMoment::Output, rule.name()));
        let mut silent = |rules: &[Arc<dyn ToolMiddleware>], speaks: fn(ToolHooks) -> bool, key, needs| {
            for rule in rules.iter().filter(|rule| !speaks(rule.hooks())) {
                out.push(AgentBuildError::Needs { what: format!("`{}` in `act.{key}`", rule.name()), needs });
            }
        };
        let calls = |hooks| matches!(hooks, ToolHooks::Call | ToolHooks::Both);
        let results = |hooks| matches!(hooks, ToolHooks::Result | ToolHooks::Both);
        silent(
            &self.before_tool,
            calls,
            "before_tool",
            "the hook for calls; without it the rule never speaks there",
        );
        silent(
            &self.after_tool,
            results,
            "after_tool",
            "the hook for results; without it the rule never speaks there",
        );
        if self.window_twice {
            out.push(AgentBuildError::CalledTwice { method: "act.window" });
        }
        out
    }
}

/// What a rule without a name is called in a refusal, by its moment. A further moment of the loop does not compile without its
/// own name here, and so not without its place in [`Act`].
const fn name_of(moment: &LoopMoment) -> &'static str {
    match moment {
        LoopMoment::Input => "the name of a rule in `act.input`",
        LoopMoment::BeforeTool => "the name of a rule in `act.before_tool`",
        LoopMoment::AfterTool => "the name of a rule in `act.after_tool`",
        LoopMoment::Window => "the name of the strategy in `act.window`",
        LoopMoment::Output => "the name of a rule in `act.output`",
        LoopMoment::Other(_) => "the name of a rule of `act`",
    }
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Act")
            .field("input", &self.input.len())
            .field("before_tool", &self.before_tool.len())
            .field("after_tool", &self.after_tool.len())
            .field("window", &self.window.is_some())
            .field("output", &self.output.len())
            .finish()
    }
}

impl AgentBuilder {
    /// Everything that acts in the loop, by its moment: the same agent as with the single methods.
    pub fn act(mut self, act: Act) -> Self {
        if std::mem::replace(&mut self.acts, true) {
            self.twice("act");
            return self;
        }
        let problems = act.problems();
        if !problems.is_empty() {
            // Nothing of it is attached unless all of it can be.
            self.problems.extend(problems);
            return self;
        }
        let Act { input, before_tool, after_tool, window, output, .. } = act;
        let speaks_in_both = |rule: &Arc<dyn MessageMiddleware>, others: &[Arc<dyn MessageMiddleware>]| {
            others.iter().any(|other| Arc::ptr_eq(other, rule))
        };
        for rule in &input {
            let link = if speaks_in_both(rule, &output) {
                Arc::clone(rule)
            } else {
                Only::at(MessagePhase::Input, rule)
            };
            self.tooling.message_middleware.push(link);
        }
        for rule in output.iter().filter(|rule| !speaks_in_both(rule, &input)) {
            self.tooling.message_middleware.push(Only::at(MessagePhase::Output, rule));
        }
        let repeated =
            |rule: &Arc<dyn ToolMiddleware>| before_tool.iter().any(|other| Arc::ptr_eq(other, rule));
        let after: Vec<_> = after_tool.into_iter().filter(|rule| !repeated(rule)).collect();
        self.tooling.tool_middleware.extend(before_tool.into_iter().chain(after));
        match window {
            Some(strategy) => self.windowed(WindowDoor::Window, strategy),
            None => self,
        }
    }
}

/// A rule that is silent at the other moment.
struct Only {
    phase: MessagePhase,
    rule: Arc<dyn MessageMiddleware>,
}

impl Only {
    fn at(phase: MessagePhase, rule: &Arc<dyn MessageMiddleware>) -> Arc<dyn MessageMiddleware> {
        Arc::new(Self { phase, rule: Arc::clone(rule) })
    }
}

#[async_trait]
impl MessageMiddleware for Only {
    fn name(&self) -> &str {
        self.rule.name()
    }

    async fn on_message(&self, seen: &MessageContext) -> Result<MessageOutcome, BoxError> {
        if seen.phase == self.phase { self.rule.on_message(seen).await } else { Ok(MessageOutcome::allow()) }
    }
}
