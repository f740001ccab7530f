//! The builder's doors around tools: providers, permissions, middleware, check-ins.

use std::sync::Arc;

use super::builder::AgentBuilder;
use super::errors::AgentBuildError;
use crate::artifacts::ArtifactOptions;
use crate::tools::{CheckInOptions, MessageMiddleware, PermissionChecker, ToolMiddleware, ToolProvider};

impl AgentBuilder {
    /// Who supplies tools while the agent runs; asked once per iteration.
    pub fn tool_provider(mut self, provider: impl ToolProvider + 'static) -> Self {
        if self.tooling.provider.replace(Arc::new(provider)).is_some() {
            self.twice("tool_provider");
        }
        self
    }

    /// Who decides whether a call may run. An error of the checker is a denial.
    pub fn permission_checker(mut self, checker: impl PermissionChecker + 'static) -> Self {
        if self.tooling.permission.replace(Arc::new(checker)).is_some() {
            self.twice("permission_checker");
        }
        self
    }

    /// One more link around tool calls: forward before a call, backward after it.
    pub fn tool_middleware(mut self, link: impl ToolMiddleware + 'static) -> Self {
        if link.name().trim().is_empty() {
            self.problems.push(AgentBuildError::Empty { option: "the name of a tool middleware" });
        }
        self.tooling.tool_middleware.push(Arc::new(link));
        self
    }

    /// One more link around messages: what the person says, what the model is about to answer.
    pub fn message_middleware(mut self, link: impl MessageMiddleware + 'static) -> Self {
        if link.name().trim().is_empty() {
            self.problems.push(AgentBuildError::Empty { option: "the name of a message middleware" });
        }
        self.tooling.message_middleware.push(Arc::new(link));
        self
    }

    /// How check-ins are prepared for the person.
    pub fn check_in(mut self, options: CheckInOptions) -> Self {
        if let Some(fault) = options.fault() {
            self.problems.push(AgentBuildError::Needs { what: "check_in".to_owned(), needs: fault });
        }
        if self.tooling.check_in.replace(options).is_some() {
            self.twice("check_in");
        }
        self
    }

    /// Where artifacts are kept. Tools get `ctx.artifacts()`, the model gets the tool `present`, and with
    /// [`place_above`](ArtifactOptions::place_above) long results are stored instead of entering the conversation.
    pub fn artifacts(mut self, artifacts: impl Into<ArtifactOptions>) -> Self {
        if self.tooling.artifacts.replace(artifacts.into()).is_some() {
            self.twice("artifacts");
        }
        self
    }
}
